//! Control flow of random functions. Every loop ends: `for` has few rounds, `loop` counts its rounds.

use super::{Loop, Maker};
use crate::builder::Builder;
use crate::func::{Attr, RegionId, Value};
use crate::op::Op;
use crate::types::{Scalar, Type};

/// Most rounds of a loop.
const MAX_ROUNDS: i128 = 4;

impl Maker<'_, '_> {
    pub(super) fn if_(&mut self, b: &mut Builder) {
        let is_guard = self.arrays.is_some() && self.source.pick(3) == 0;
        let condition = if is_guard { self.guard(b) } else { self.value(b, Type::bool()) };
        let results: Vec<Type> = (0..self.source.pick(3)).map(|_| self.source.inner_type()).collect();
        let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
        for arm in arms {
            self.nested(b, arm, |maker, b| {
                maker.body(b);
                if b.is_terminated() {
                    return;
                }
                match maker.source.pick(8) {
                    1 if !maker.loops.is_empty() => maker.continue_(b),
                    2 if !maker.loops.is_empty() => maker.break_(b),
                    3 => maker.return_(b),
                    _ => {
                        let values: Vec<Value> = results.iter().map(|&ty| maker.value(b, ty)).collect();
                        b.yield_(&values);
                    }
                }
            });
        }
        let inst = b.push(Op::If, &[condition], Attr::None, &arms, &results);
        self.scope.extend(b.func.inst(inst).results.iter().copied());
    }

    pub(super) fn for_(&mut self, b: &mut Builder) {
        const COUNTERS: [Scalar; 4] = [Scalar::I32, Scalar::I64, Scalar::U8, Scalar::I8];
        let scalar = COUNTERS[self.source.pick(4)];
        let step = self.source.pick(6) as i128 - if scalar.is_signed() { 2 } else { 0 };
        let rounds = self.source.pick(MAX_ROUNDS as usize) as i128;
        let lo = if self.source.pick(2) == 0 {
            b.int(scalar, self.source.pick(20) as i128)
        } else {
            self.value(b, Type::scalar(scalar))
        };
        // hi = lo + rounds * step may wrap, which makes the loop empty.
        let span = b.int(scalar, rounds * step);
        let hi = b.binary(Op::Add, lo, span);
        let step = b.int(scalar, step);
        let carried: Vec<Type> = (0..self.source.pick(3)).map(|_| self.source.inner_type()).collect();
        let mut operands = vec![lo, hi, step];
        operands.extend(carried.iter().map(|&ty| self.value(b, ty)));
        let region = b.func.add_region(&[&[Type::scalar(scalar)], &carried[..]].concat());
        self.loops.push(Loop { carried: carried.clone(), results: carried.clone(), counter: None });
        self.nested(b, region, |maker, b| {
            maker.body(b);
            if !b.is_terminated() {
                maker.continue_(b);
            }
        });
        self.loops.pop();
        let inst = b.push(Op::For, &operands, Attr::None, &[region], &carried);
        self.scope.extend(b.func.inst(inst).results.iter().copied());
    }

    /// The first thing in the region is the test that leaves after some rounds.
    pub(super) fn loop_(&mut self, b: &mut Builder) {
        let mut carried = vec![Type::i32()];
        carried.extend((0..self.source.pick(3)).map(|_| self.source.inner_type()));
        let results: Vec<Type> = (0..self.source.pick(3)).map(|_| self.source.inner_type()).collect();
        let mut operands = vec![b.int(Scalar::I32, 0)];
        operands.extend(carried[1..].iter().map(|&ty| self.value(b, ty)));
        let region = b.func.add_region(&carried);
        let counter = b.region_param(region, 0);
        self.loops.push(Loop { carried, results: results.clone(), counter: Some(counter) });
        self.nested(b, region, |maker, b| {
            let rounds = maker.source.pick(MAX_ROUNDS as usize) as i128;
            let limit = b.int(Scalar::I32, rounds);
            let is_over = b.compare(Op::Ge, counter, limit);
            let (leave, stay) = (b.func.add_region(&[]), b.func.add_region(&[]));
            maker.nested(b, leave, |maker, b| maker.break_(b));
            maker.nested(b, stay, |_, b| b.yield_(&[]));
            b.push(Op::If, &[is_over], Attr::None, &[leave, stay], &[]);
            maker.body(b);
            match maker.source.pick(4) {
                _ if b.is_terminated() => {}
                0 => maker.break_(b),
                _ => maker.continue_(b),
            }
        });
        self.loops.pop();
        let inst = b.push(Op::Loop, &operands, Attr::None, &[region], &results);
        self.scope.extend(b.func.inst(inst).results.iter().copied());
    }

    fn nested(&mut self, b: &mut Builder, region: RegionId, fill: impl FnOnce(&mut Self, &mut Builder)) {
        let outer = b.enter(region);
        let n_visible = self.scope.len();
        self.scope.extend(b.func.region(region).params.iter().copied());
        self.depth += 1;
        fill(self, b);
        self.depth -= 1;
        self.scope.truncate(n_visible);
        b.enter(outer);
    }

    fn continue_(&mut self, b: &mut Builder) {
        let Some(innermost) = self.loops.last() else { return };
        let (types, counter) = (innermost.carried.clone(), innermost.counter);
        let mut values: Vec<Value> = Vec::new();
        for ty in types {
            values.push(match counter {
                Some(counter) if values.is_empty() => {
                    let one = b.int(Scalar::I32, 1);
                    b.binary(Op::Add, counter, one)
                }
                _ => self.value(b, ty),
            });
        }
        b.continue_(&values);
    }

    fn break_(&mut self, b: &mut Builder) {
        let Some(innermost) = self.loops.last() else { return };
        let types = innermost.results.clone();
        let values: Vec<Value> = types.into_iter().map(|ty| self.value(b, ty)).collect();
        b.break_(&values);
    }
}
