//! Barriers: where one stretch ends and all threads are waited for.

use super::Fission;
use ir::{Attr, InstId, Op, Scalar, Type, Value};

impl Fission<'_> {
    pub(super) fn sync(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        match inst.op {
            Op::Barrier => {
                self.close();
                self.converge(inst.span, "barrier");
            }
            Op::GridBarrier => {
                self.close();
                self.converge(inst.span, "barrier of the grid");
                self.b().push(Op::GridBarrier, &[], Attr::None, &[], &[]);
            }
            Op::BarrierCount | Op::BarrierAnd | Op::BarrierOr => {
                let flag = self.local(inst.operands[0]);
                let flags = self.flags();
                let lin = self.open();
                self.push_store(flags, &[lin], flag);
                self.close();
                self.converge(inst.span, "barrier");
                let result = self.reduce(inst.op, flags);
                self.block[inst.result().index()] = Some(result);
            }
            Op::WarpBarrier => self.close(),
            _ => self.warp_op(id),
        }
    }

    /// The number of flags set, or whether all or any are, among the threads that are on.
    fn reduce(&mut self, op: Op, flags: Value) -> Value {
        let (n, mask) = (self.shape.n_threads, self.mask);
        let first = self.b().int(Scalar::I32, i128::from(op == Op::BarrierAnd));
        let found = self.block_loop(n, &[first], |b, t, sum| {
            let mut flag = b.load(flags, &[t], &[], &[]);
            if let Some(mask) = mask {
                let is_on = b.load(mask, &[t], &[], &[]);
                let other = b.bool(op == Op::BarrierAnd);
                flag = b.select(is_on, flag, other);
            }
            let flag = b.push1(Op::Cast, &[flag], Attr::None, Type::i32());
            let merge = match op {
                Op::BarrierCount => Op::Add,
                Op::BarrierAnd => Op::And,
                _ => Op::Or,
            };
            vec![b.binary(merge, sum[0], flag)]
        });
        found[0]
    }
}
