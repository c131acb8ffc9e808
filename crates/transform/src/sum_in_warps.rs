//! Adds up in a warp what all of its lanes add to one place, for GPUs: one of 32 atomic operations is left.
//!
//! In: a kernel over threads, and the rank of its launches. Out: an atomic sum whose result nobody uses, at a place that
//! is the same for all threads of the launch, is made of shuffles where the warp is whole; else each lane makes its own.
//! Minima and maxima of integers likewise. The order in which threads reach a place is free; within a warp it is a tree.
//!
//! ```text
//! v3: f32 = atomic add v1[v2], v0    ->    v4: u32 = active_mask
//!                                          if all of v4 {
//!                                            v5 = v0 + that of lane ^ 16, … ^ 8, ^ 4, ^ 2, ^ 1
//!                                            if lane 0 { atomic add v1[v2], v5 }
//!                                          } else { atomic add v1[v2], v0 }
//! ```
//!
//! Legal for places that do not change in loops: lanes may be in different rounds. What a lane did before to the place
//! comes before, and what it does next after: barriers of the warp stand around.

use crate::Changed;
use analysis::{Uniformity, uniformity};
use ir::op::ShuffleMode;
use ir::{AtomicOp, Attr, Builder, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value};

/// Scalars that a place may have: each takes five shuffles.
const MAX_SCALARS: usize = 9;

pub fn sum_in_warps(func: &mut Function, rank: u32) -> Changed {
    sum_up(func, rank, |_| true)
}

/// As `sum_in_warps`, where floats are added up in another way.
pub fn sum_integers_in_warps(func: &mut Function, rank: u32) -> Changed {
    sum_up(func, rank, Scalar::is_int)
}

fn sum_up(func: &mut Function, rank: u32, of: fn(Scalar) -> bool) -> Changed {
    let finder = Finder::of(func, rank, of);
    let mut changed = false;
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        for id in insts {
            if finder.is_common_sum(func, id) {
                replace(func, RegionId(region as u32), id);
                changed = true;
            } else {
                func.regions[region].insts.push(id);
            }
        }
    }
    Changed(changed)
}

struct Finder {
    /// One a dimension of the launch.
    dims: Vec<Uniformity>,
    is_used: Vec<bool>,
    /// By value: a loop computes it, so that it may differ from round to round.
    is_of_loop: Vec<bool>,
    /// The scalars that are summed up.
    of: fn(Scalar) -> bool,
}

impl Finder {
    fn of(func: &Function, rank: u32, of: fn(Scalar) -> bool) -> Finder {
        let n = func.values.len();
        let mut finder = Finder {
            dims: (0..rank.max(1)).map(|dim| uniformity(func, dim)).collect(),
            is_used: vec![false; n],
            is_of_loop: vec![false; n],
            of,
        };
        finder.walk(func, func.body, false);
        finder
    }

    fn walk(&mut self, func: &Function, region: RegionId, in_loop: bool) {
        if in_loop {
            func.region(region).params.iter().for_each(|value| self.is_of_loop[value.index()] = true);
        }
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            inst.operands.iter().for_each(|value| self.is_used[value.index()] = true);
            if in_loop && inst.op != Op::Const {
                inst.results.iter().for_each(|value| self.is_of_loop[value.index()] = true);
            }
            let is_loop = matches!(inst.op, Op::For | Op::Loop);
            inst.regions.iter().for_each(|&inner| self.walk(func, inner, in_loop || is_loop));
        }
    }

    fn is_common_sum(&self, func: &Function, id: InstId) -> bool {
        let inst = func.inst(id);
        let &Attr::Atomic(op, _) = &inst.attr else { return false };
        let Some((&value, place)) = inst.operands.split_last() else { return false };
        let is_common = |v: &Value| !self.is_of_loop[v.index()] && self.dims.iter().all(|dim| dim.is_uniform(*v));
        let is_own = self.dims[0].own().is_own(place[0]);
        !self.is_used[inst.result().index()]
            && !is_own
            && place.iter().all(is_common)
            && scalars(func.ty(value))
                .is_some_and(|(scalar, n)| n <= MAX_SCALARS && (self.of)(scalar) && joining(op, scalar).is_some())
    }
}

/// The scalar that a number, vector or matrix is made of, and how many there are.
fn scalars(ty: Type) -> Option<(Scalar, usize)> {
    Some((ty.element()?, ty.n_leaves()))
}

/// How two lanes' operands become one.
fn joining(op: AtomicOp, scalar: Scalar) -> Option<Op> {
    if !matches!(scalar.size(), 4 | 8) {
        return None;
    }
    match op {
        AtomicOp::Add | AtomicOp::Sub => Some(Op::Add),
        AtomicOp::Min if scalar.is_int() => Some(Op::Min),
        AtomicOp::Max if scalar.is_int() => Some(Op::Max),
        _ => None,
    }
}

fn replace(func: &mut Function, region: RegionId, id: InstId) {
    let inst = func.inst(id).clone();
    let mut b = Builder::new(func);
    b.span = inst.span;
    b.enter(region);
    let mask = b.push1(Op::ActiveMask, &[], Attr::None, Type::scalar(Scalar::U32));
    let all = b.int(Scalar::U32, i128::from(u32::MAX));
    let is_whole = b.compare(Op::Eq, mask, all);
    let (whole, part) = (b.func.add_region(&[]), b.func.add_region(&[]));
    b.enter(whole);
    b.push(Op::WarpBarrier, &[all], Attr::None, &[], &[]);
    once(&mut b, &inst, all);
    b.push(Op::WarpBarrier, &[all], Attr::None, &[], &[]);
    b.yield_(&[]);
    b.enter(part);
    let ty = b.func.ty(inst.result());
    b.push(inst.op, &inst.operands, inst.attr.clone(), &[], &[ty]);
    b.yield_(&[]);
    b.enter(region);
    b.push(Op::If, &[is_whole], Attr::None, &[whole, part], &[]);
}

/// The sum of all lanes' operands, and the atomic by the first lane.
fn once(b: &mut Builder<'_>, inst: &Inst, all: Value) {
    let (Some((&value, place)), &Attr::Atomic(op, _)) = (inst.operands.split_last(), &inst.attr) else { return };
    let ty = b.ty(value);
    let Some(join) = ty.element().and_then(|scalar| joining(op, scalar)) else { return };
    let sum = in_warp(b, join, value, all);
    let lane = b.push1(Op::LaneId, &[], Attr::None, Type::i32());
    let zero = b.int(Scalar::I32, 0);
    let is_first = b.compare(Op::Eq, lane, zero);
    let (first, others) = (b.func.add_region(&[]), b.func.add_region(&[]));
    let here = b.enter(first);
    b.push(inst.op, &[place, &[sum]].concat(), inst.attr.clone(), &[], &[ty]);
    b.yield_(&[]);
    b.enter(others);
    b.yield_(&[]);
    b.enter(here);
    b.push(Op::If, &[is_first], Attr::None, &[first, others], &[]);
}

/// A value joined with that of all other lanes, component by component.
pub(crate) fn in_warp(b: &mut Builder<'_>, join: Op, value: Value, all: Value) -> Value {
    let ty = b.ty(value);
    if ty.is_composite() {
        let parts: Vec<Value> = (0..ty.n_components() as u32)
            .map(|index| {
                let part = b.extract(value, index);
                in_warp(b, join, part, all)
            })
            .collect();
        return b.construct(ty, &parts);
    }
    let width = b.int(Scalar::I32, 32);
    let mut sum = value;
    for distance in [16, 8, 4, 2, 1] {
        let distance = b.int(Scalar::I32, distance);
        let operands = [all, sum, distance, width];
        let found = b.push(Op::Shuffle, &operands, Attr::Shuffle(ShuffleMode::Xor), &[], &[ty, Type::bool()]);
        let other = b.func.inst(found).results[0];
        sum = b.binary(join, sum, other);
    }
    sum
}
