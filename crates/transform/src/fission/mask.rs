//! Flags that say which threads are on.

use super::Fission;
use diagnostics::Span;
use ir::{Attr, Builder, Op, Scalar, Type, Value};

impl Fission<'_> {
    /// A loop of the block over `0..n` that carries values; `step` makes the next ones.
    pub(super) fn block_loop(
        &mut self,
        n: Value,
        first: &[Value],
        step: impl FnOnce(&mut Builder, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        self.close();
        let (zero, one) = (self.shape.zero, self.shape.one);
        let mut b = self.b();
        let types: Vec<Type> = first.iter().map(|&value| b.ty(value)).collect();
        let body = b.func.add_region(&[&[Type::i64()], &types[..]].concat());
        let made = b.push(Op::For, &[&[zero, n, one], first].concat(), Attr::None, &[body], &types);
        b.enter(body);
        let params = b.func.region(body).params.clone();
        let next = step(&mut b, params[0], &params[1..]);
        b.continue_(&next);
        b.func.inst(made).results.to_vec()
    }

    /// Whether any flag is set.
    pub(super) fn any(&mut self, flags: Value) -> Value {
        let (n, no) = (self.shape.n_threads, self.shape.no);
        let found = self.block_loop(n, &[no], |b, t, any| {
            let flag = b.load(flags, &[t], &[], &[]);
            vec![b.binary(Op::Or, any[0], flag)]
        });
        found[0]
    }

    /// Reports unless all threads that have not returned are here. Only where they may have parted.
    pub(super) fn converge(&mut self, span: Span, name: &str) {
        let (Some(mask), Some(&parted)) = (self.mask, self.masked.last()) else { return };
        let parted = self.old.inst(parted).span;
        let (here, there) = (self.site(span, name), self.site(parted, ""));
        let (n, yes, zero, ended) = (self.shape.n_threads, self.shape.yes, self.shape.zero, self.ended);
        let found = self.block_loop(n, &[yes, zero], |b, t, carried| {
            let mut is_fine = b.load(mask, &[t], &[], &[]);
            if let Some(ended) = ended {
                let ended = b.load(ended, &[t], &[], &[]);
                is_fine = b.binary(Op::Or, is_fine, ended);
            }
            let who = b.select(is_fine, carried[1], t);
            vec![b.binary(Op::And, carried[0], is_fine), who]
        });
        let mut b = self.b();
        let there = b.int(Scalar::I64, i128::from(there.0));
        b.check(Op::CheckConverged, &[found[0], found[1], there], here);
    }
}
