//! Splits loops over indices that may be negative, which count from an array's end, at 0.
//!
//! ```text
//! for v1: i32 = lo to hi step 1 { … wrap_index a, v1 … }
//! ->  for v1: i32 = lo to min(hi, 0) step 1 { … wrap_index a, v1 … }
//!     for v2: i32 = max(lo, 0) to hi step 1 { … v2 … }
//! ```
//!
//! In: a function. Out: the same; `simplify` then takes the wrapping out of the second loop, which is all that ever
//! runs in most programs. Only loops that count by 1 from where nothing is known, and run to their end.

use crate::Changed;
use crate::copy::Copies;
use crate::exits::{all, loop_exits};
use crate::range::Counters;
use crate::replace::Replacements;
use ir::{Attr, Const, Function, InstId, Op, Scalar, Type, Value, ValueDef};

pub fn split_at_zero(func: &mut Function) -> Changed {
    let ranges = Counters::new(func);
    let mut replacements = Replacements::default();
    let mut changed = false;
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            if is_wanted(func, &ranges, id) {
                split(func, id, &mut out, &mut replacements);
                changed = true;
            } else {
                out.push(id);
            }
        }
        func.regions[region].insts = out;
    }
    replacements.apply(func);
    Changed(changed)
}

fn is_wanted(func: &Function, ranges: &Counters, id: InstId) -> bool {
    let inst = func.inst(id);
    if inst.op != Op::For {
        return false;
    }
    let Some(scalar) = func.ty(inst.operands[0]).as_scalar() else { return false };
    let body = inst.regions[0];
    let counter = func.region(body).params[0];
    let counts_by_one = func.as_const(inst.operands[2]).is_some_and(|step| step.as_int(scalar) == 1);
    let runs_to_its_end = loop_exits(func, body) == func.terminator(body).as_slice()
        && func.terminator(body).is_some_and(|end| func.inst(end).op == Op::Continue)
        && all(func, body, |op| op == Op::Return).is_empty();
    let may_be_negative = ranges.range(func, inst.operands[0]).is_none_or(|range| range.lo < 0 && range.hi > 0);
    let wraps =
        |&id: &InstId| func.inst(id).op == Op::WrapIndex && is_counter(func, func.inst(id).operands[1], counter);
    matches!(scalar, Scalar::I32 | Scalar::I64)
        && counts_by_one
        && runs_to_its_end
        && may_be_negative
        && func.region(body).insts.iter().any(wraps)
}

fn is_counter(func: &Function, value: Value, counter: Value) -> bool {
    if value == counter {
        return true;
    }
    let ValueDef::Result(id, _) = func.def(value) else { return false };
    func.inst(id).op == Op::Cast && is_counter(func, func.inst(id).operands[0], counter)
}

fn split(func: &mut Function, id: InstId, out: &mut Vec<InstId>, replacements: &mut Replacements) {
    let inst = func.inst(id).clone();
    let (lo, hi, one, ty) = (inst.operands[0], inst.operands[1], inst.operands[2], func.ty(inst.operands[0]));
    let mut emit = |func: &mut Function, op, operands: &[Value], attr| {
        let id = func.add_inst(op, operands, attr, &[], &[ty], inst.span);
        out.push(id);
        func.inst(id).result()
    };
    let bits = ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, 0));
    let zero = emit(func, Op::Const, &[], Attr::Const(bits));
    let (end, start) = (emit(func, Op::Min, &[hi, zero], Attr::None), emit(func, Op::Max, &[lo, zero], Attr::None));
    let types: Vec<Type> = inst.results.iter().map(|&value| func.ty(value)).collect();
    let mut carried = inst.operands[3..].to_vec();
    for (lo, hi) in [(lo, end), (start, hi)] {
        let body = Copies::default().region(func, inst.regions[0]);
        let operands = [&[lo, hi, one], &carried[..]].concat();
        let copy = func.add_inst(Op::For, &operands, Attr::None, &[body], &types, inst.span);
        out.push(copy);
        carried = func.inst(copy).results.to_vec();
    }
    for (&result, &value) in inst.results.iter().zip(&carried) {
        replacements.set(result, value);
    }
}
