//! A `for` around a barrier whose threads may count different rounds becomes a `loop` that counts down by itself.
//!
//! ```text
//! v9: f32 = for v5: i64 = v0 to v1 step v2 with (v6: f32 = v3) { … continue v7 }
//! ->  v9: f32 = loop (v5: i64 = v0, v6: f32 = v3, v8: u64 = rounds) {
//!       if v8 == 0 { break v6 } else { yield }
//!       … continue v5 + v2, v7, v8 - 1
//!     }
//! ```

use super::plan::Split;
use crate::exits::loop_exits;
use analysis::block_uniformity;
use ir::{Attr, Builder, Function, InstId, Op, RegionId, Scalar, Type, Value};

/// Rewrites all of them.
pub(super) fn lower(func: &mut Function) {
    // What a loop carries varies once it is rewritten, which may part other loops.
    while let Some((region, at, id)) = find(func) {
        rewrite(func, region, at, id);
    }
}

fn find(func: &Function) -> Option<(RegionId, usize, InstId)> {
    let split = Split::new(func, &block_uniformity(func));
    let is_wanted =
        |id: InstId| func.inst(id).op == Op::For && split.is_split[id.index()] && split.is_masked[id.index()];
    (0u32..).zip(&func.regions).find_map(|(index, region)| {
        let at = region.insts.iter().position(|&id| is_wanted(id))?;
        Some((RegionId(index), at, region.insts[at]))
    })
}

fn rewrite(func: &mut Function, region: RegionId, at: usize, id: InstId) {
    let inst = func.inst(id).clone();
    let body = inst.regions[0];
    let (counter, carried) = {
        let params = &func.region(body).params;
        (params[0], params[1..].to_vec())
    };
    let Some(scalar) = func.ty(counter).as_scalar() else { return };
    let exits = loop_exits(func, body);
    let before = func.add_region(&[]);
    let step = inst.operands[2];
    let rounds = {
        let mut b = Builder::new(func);
        b.enter(before);
        b.span = inst.span;
        rounds(&mut b, inst.operands[0], inst.operands[1], step, scalar)
    };
    let left = func.add_region_param(body, Type::scalar(Scalar::U64));
    let test = func.add_region(&[]);
    {
        let mut b = Builder::new(func);
        b.enter(test);
        b.span = inst.span;
        let zero = b.int(Scalar::U64, 0);
        let is_done = b.compare(Op::Eq, left, zero);
        let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
        b.push(Op::If, &[is_done], Attr::None, &arms, &[]);
        b.enter(arms[0]);
        b.break_(&carried);
        b.enter(arms[1]);
        b.yield_(&[]);
    }
    for exit in exits {
        if func.inst(exit).op == Op::Continue {
            go_on(func, exit, counter, step, left);
        }
    }
    let test = std::mem::take(&mut func.regions[test.index()].insts);
    func.regions[body.index()].insts.splice(0..0, test);
    let before = std::mem::take(&mut func.regions[before.index()].insts);
    let inst = &mut func.insts[id.index()];
    inst.op = Op::Loop;
    let initial: Vec<Value> =
        inst.operands.iter().copied().enumerate().filter(|(i, _)| *i == 0 || *i > 2).map(|pair| pair.1).collect();
    inst.operands = initial.into_iter().chain([rounds]).collect();
    func.regions[region.index()].insts.splice(at..at, before);
}

/// Hands the counter and what is left of the rounds on.
fn go_on(func: &mut Function, exit: InstId, counter: Value, step: Value, left: Value) {
    let Some(region) = func.regions.iter().position(|region| region.insts.last() == Some(&exit)) else { return };
    func.regions[region].insts.pop();
    let mut b = Builder::new(func);
    b.enter(RegionId(region as u32));
    let next = b.binary(Op::Add, counter, step);
    let one = b.int(Scalar::U64, 1);
    let left = b.binary(Op::Sub, left, one);
    let inst = &mut func.insts[exit.index()];
    inst.operands.insert(0, next);
    inst.operands.push(left);
    func.regions[region].insts.push(exit);
}

/// How many rounds there are, u64: distances are counted in 64 bits, which hold those of all types.
fn rounds(b: &mut Builder, lo: Value, hi: Value, step: Value, scalar: Scalar) -> Value {
    let none = b.int(scalar, 0);
    let is_up = b.compare(Op::Gt, step, none);
    let moves = b.compare(Op::Ne, step, none);
    let [lo64, hi64, step64] = [lo, hi, step].map(|x| b.cast(x, Scalar::U64));
    let [up, down] = [(hi64, lo64), (lo64, hi64)].map(|(x, y)| b.binary(Op::Sub, x, y));
    let distance = b.select(is_up, up, down);
    let [is_below, is_above] = [(lo, hi), (hi, lo)].map(|(x, y)| b.compare(Op::Lt, x, y));
    let is_apart = b.select(is_up, is_below, is_above);
    let has_any = b.binary(Op::And, is_apart, moves);
    let back = b.unary(Op::Neg, step64);
    let size = b.select(is_up, step64, back);
    let [zero, one] = [0, 1].map(|n| b.int(Scalar::U64, n));
    let before = b.binary(Op::Sub, distance, one);
    let full = b.binary(Op::Div, before, size);
    let all = b.binary(Op::Add, full, one);
    b.select(has_any, all, zero)
}
