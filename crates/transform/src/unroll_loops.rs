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
use ir::{Attr, Const, Function, Inst, InstId, Op, PathElem, RegionId, Type, Value};

/// Most rounds of a loop that is written out.
const MAX_ROUNDS: i128 = 64;

/// Most instructions that one loop becomes.
const MAX_INSTS: usize = 3000;

/// Unrolls the loops of a function, inner ones first.
pub fn unroll_loops(func: &mut Function) -> Changed {
    let mut replacements = Replacements::default();
    let body = func.body;
    let changed = unroll_in(func, body, &mut replacements);
    replacements.apply(func);
    Changed(changed)
}

fn unroll_in(func: &mut Function, region: RegionId, replacements: &mut Replacements) -> bool {
    let mut changed = false;
    let insts = std::mem::take(&mut func.regions[region.index()].insts);
    let mut out = Vec::with_capacity(insts.len());
    for id in insts {
        for inner in func.inst(id).regions.clone() {
            if unroll_in(func, inner, replacements) {
                changed = true;
                // What is copied next must not name results that are gone.
                replacements.apply(func);
            }
        }
        match counters(func, id) {
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
fn counters(func: &Function, id: InstId) -> Option<Vec<i128>> {
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
    insts.iter().any(|&id| indexes(func.inst(id))).then(|| (0..n).map(|k| lo + k * step).collect())
}

/// Whether an instruction asks for a component by a number known at run time only.
fn indexes(inst: &Inst) -> bool {
    matches!(inst.op, Op::ExtractDyn | Op::InsertDyn) || inst.path().contains(&PathElem::Dynamic)
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
