//! Writes out the rounds of short loops that index vectors and matrices by their counter.
//!
//! In: a function. Out: the same with each such `for` replaced by a copy of its body a round, so that the indices are
//! constants: a vector of constants is then no longer looked up, and one that is built up stays in registers.
//!
//! ```text
//! for v1: i32 = 0 to 3 step 1 with (…) {    ->    v4: f32 = extract v0 {0}
//!   v2: i64 = cast v1                             …
//!   v3: f32 = extract_dyn v0, v2                  v7: f32 = extract v0 {1}
//!   …                                             …
//! ```
//!
//! Only loops of known bounds that run to their end: nothing in them breaks, continues early or returns.

use crate::Changed;
use crate::copy::Copies;
use crate::exits::{all, loop_exits};
use crate::replace::Replacements;
use crate::simplify::rounds;
use ir::{Attr, Const, Function, Inst, InstId, Op, PathElem, RegionId, Scalar, Type, Value, ValueDef};

/// Most rounds of a loop that is written out.
const MAX_ROUNDS: i128 = 64;

/// Most instructions that one loop becomes.
const MAX_INSTS: usize = 3000;

/// Whether a loop with this counter and these instructions, copied so many times, is to be unrolled.
type Wanted = fn(&Function, Value, &[InstId], usize) -> bool;

/// Unrolls the loops of a function, inner ones first.
pub fn unroll_loops(func: &mut Function) -> Changed {
    unroll(func, |func, _, insts, _| insts.iter().any(|&id| indexes(func.inst(id))))
}

/// Unrolls loops that index the thread's own arrays by their counter, so that LLVM keeps these in registers: on a GPU
/// they lie in the device's memory otherwise.
pub fn unroll_own_arrays(func: &mut Function) -> Changed {
    unroll(func, |func, counter, insts, _| insts.iter().any(|&id| indexes_own_array(func, func.inst(id), counter)))
}

/// Most instructions that a loop becomes for what a quotient of its counter gains.
const MAX_DIVIDED: usize = 400;

/// Unrolls short loops that divide a sum with their counter, as where neighbors of an index wrap around: what is divided
/// is then known before the loop.
pub fn unroll_divisions(func: &mut Function) -> Changed {
    unroll(func, |func, counter, insts, rounds| {
        let divides = |&id: &InstId| {
            let inst = func.inst(id);
            let is_int = |&value: &Value| func.ty(value).as_scalar().is_some_and(Scalar::is_int);
            matches!(inst.op, Op::Div | Op::FloorDiv | Op::Rem | Op::Mod)
                && inst.operands.iter().all(is_int)
                && follows(func, inst.operands[0], counter)
        };
        insts.len() * rounds <= MAX_DIVIDED && insts.iter().any(divides)
    })
}

fn unroll(func: &mut Function, wanted: Wanted) -> Changed {
    let mut replacements = Replacements::default();
    let body = func.body;
    let changed = unroll_in(func, body, wanted, &mut replacements);
    replacements.apply(func);
    Changed(changed)
}

fn unroll_in(func: &mut Function, region: RegionId, wanted: Wanted, replacements: &mut Replacements) -> bool {
    let mut changed = false;
    let insts = std::mem::take(&mut func.regions[region.index()].insts);
    let mut out = Vec::with_capacity(insts.len());
    for id in insts {
        for inner in func.inst(id).regions.clone() {
            if unroll_in(func, inner, wanted, replacements) {
                changed = true;
                // What is copied next must not name results that are gone.
                replacements.apply(func);
            }
        }
        match counters(func, id, wanted) {
            Some(counters) => {
                write_out(func, id, &counters, &mut out, replacements);
                changed = true;
            }
            None => out.push(id),
        }
    }
    func.regions[region.index()].insts = out;
    changed
}

/// The counter's values, where the loop is to be unrolled.
fn counters(func: &Function, id: InstId, wanted: Wanted) -> Option<Vec<i128>> {
    let inst = func.inst(id);
    if inst.op != Op::For {
        return None;
    }
    let scalar = func.ty(inst.operands[0]).as_scalar()?;
    let bound = |i: usize| func.as_const(inst.operands[i]).map(|value| value.as_int(scalar));
    let (n, lo, step) = (rounds(func, inst)?, bound(0)?, bound(2)?);
    let body = inst.regions[0];
    let runs_to_its_end = loop_exits(func, body) == func.terminator(body).as_slice()
        && func.terminator(body).is_some_and(|end| func.inst(end).op == Op::Continue)
        && all(func, body, |op| op == Op::Return).is_empty();
    let insts = all(func, body, |_| true);
    if !(1..=MAX_ROUNDS).contains(&n) || !runs_to_its_end || insts.len() * n as usize > MAX_INSTS {
        return None;
    }
    wanted(func, func.region(body).params[0], &insts, n as usize).then(|| (0..n).map(|k| lo + k * step).collect())
}

/// Whether an instruction asks for a component by a number known at run time only.
fn indexes(inst: &Inst) -> bool {
    matches!(inst.op, Op::ExtractDyn | Op::InsertDyn) || inst.path().contains(&PathElem::Dynamic)
}

/// Whether it reads or writes an array of the thread's own at a place that the counter and constants tell.
fn indexes_own_array(func: &Function, inst: &Inst, counter: Value) -> bool {
    if !matches!(inst.op, Op::Load | Op::Store) {
        return false;
    }
    let Some((_, rank)) = func.ty(inst.operands[0]).as_array() else { return false };
    let (array, indices, ..) = inst.access(rank as usize);
    let ValueDef::Result(made, _) = func.def(array) else { return false };
    func.inst(made).op == Op::LocalArray
        && indices.iter().all(|&index| is_known(func, index))
        && indices.iter().any(|&index| follows(func, index, counter))
}

/// Whether counters of loops and constants tell a value.
fn is_known(func: &Function, value: Value) -> bool {
    match func.def(value) {
        ValueDef::Param(region, _) => region != func.body,
        ValueDef::Result(id, _) => {
            let inst = func.inst(id);
            inst.op == Op::Const || is_index_math(inst.op) && inst.operands.iter().all(|&one| is_known(func, one))
        }
    }
}

fn follows(func: &Function, value: Value, counter: Value) -> bool {
    let ValueDef::Result(id, _) = func.def(value) else { return value == counter };
    let inst = func.inst(id);
    is_index_math(inst.op) && inst.operands.iter().any(|&one| follows(func, one, counter))
}

fn is_index_math(op: Op) -> bool {
    matches!(op, Op::Cast | Op::Add | Op::Sub | Op::Mul | Op::Shl)
}

fn write_out(
    func: &mut Function,
    id: InstId,
    counters: &[i128],
    out: &mut Vec<InstId>,
    replacements: &mut Replacements,
) {
    let inst = func.inst(id).clone();
    let body = inst.regions[0];
    let region = func.region(body).clone();
    let mut carried: Vec<Value> = inst.operands[3..].iter().map(|&value| replacements.get(value)).collect();
    for &counter in counters {
        let ty = func.ty(region.params[0]);
        let number = constant(func, ty, counter, &inst);
        out.push(number);
        let mut copies = Copies::default();
        copies.set(region.params[0], func.inst(number).result());
        for (&param, &value) in region.params[1..].iter().zip(&carried) {
            copies.set(param, value);
        }
        let Some((&end, insts)) = region.insts.split_last() else { return };
        for &id in insts {
            out.push(copies.inst(func, id));
        }
        let next: Vec<Value> = func.inst(end).operands.iter().map(|&value| replacements.get(value)).collect();
        carried = copies.all(&next);
    }
    for (&result, &value) in inst.results.iter().zip(&carried) {
        replacements.set(result, value);
    }
}

fn constant(func: &mut Function, ty: Type, value: i128, like: &Inst) -> InstId {
    let bits = ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, value));
    func.add_inst(Op::Const, &[], Attr::Const(bits), &[], &[ty], like.span)
}
