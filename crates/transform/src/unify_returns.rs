//! Brings a function to one `return`, the last instruction of its body.
//!
//! In: a function that may return anywhere. Out: one that ends in its only `return` (or never returns at all).
//! Runs on callees before they are inlined.
//!
//! 1. A `return` inside a loop becomes a `break` that carries a flag and the results; a test behind the loop returns:
//!
//! ```text
//! v9: i32 = loop { … return v1 … break v2 }
//! ->  v9: i32, v10: bool, v11: f32 = loop { … break zero, true, v1 … break v2, false, zero }
//!     if v10 { return v11 } else { yield }
//! ```
//!
//! 2. Where one arm of an `if` returns and the other does not, what follows moves into the other arm. Then both arms
//!    return, and the `if` can yield the results instead.
//! 3. Where neither arm always returns, moving would copy what follows. The body becomes a loop of one round, and each
//!    `return` its `break`.

use crate::Changed;
use crate::exits::{all, is_loop, loop_exits, returns_outside_loops, yields};
use crate::replace::Replacements;
use diagnostics::Span;
use ir::{Attr, Const, Function, InstId, Op, RegionId, Scalar, Type, TypeKind, Value};

/// Leaves one `return`, at the end of the body.
pub fn unify_returns(func: &mut Function) -> Changed {
    let body = func.body;
    let returns = all(func, body, |op| op == Op::Return);
    if returns.iter().all(|&id| func.terminator(body) == Some(id)) {
        return Changed(false);
    }
    leave_loops(func, body);
    let mut replacements = Replacements::default();
    sink(func, body, &mut replacements);
    replacements.apply(func);
    if all_at_tails(func, body) {
        yield_results(func, body);
    } else {
        wrap_in_loop(func);
    }
    Changed(true)
}

/// Turns every `return` inside a loop into a `break` with a flag, innermost loops first.
fn leave_loops(func: &mut Function, region: RegionId) {
    let mut at = 0;
    while at < func.region(region).insts.len() {
        let id = func.region(region).insts[at];
        for inner in func.inst(id).regions.clone() {
            leave_loops(func, inner);
        }
        if is_loop(func.inst(id).op) {
            let body = func.inst(id).regions[0];
            if !returns_outside_loops(func, body).is_empty() {
                at += leave_loop(func, region, at, id);
            }
        }
        at += 1;
    }
}

/// Rewrites one loop, the instruction at `at` of `region`; gives how many instructions were added.
fn leave_loop(func: &mut Function, region: RegionId, at: usize, id: InstId) -> usize {
    let body = func.inst(id).regions[0];
    let returns = returns_outside_loops(func, body);
    let exits = loop_exits(func, body);
    let is_for = func.inst(id).op == Op::For;
    let span = func.inst(id).span;
    let result_types: Vec<Type> = func.inst(id).results.iter().map(|&v| func.ty(v)).collect();
    let mut added_types = vec![Type::bool()];
    added_types.extend(func.results.iter().copied());

    let mut before = Vec::new();
    let no = constant(func, Const::bool(false), span, &mut before);
    let yes = constant(func, Const::bool(true), span, &mut before);
    let mut unset = vec![no];
    for ty in func.results.clone() {
        unset.push(zero(func, ty, span, &mut before));
    }
    // What the loop's own results are when the function returns: no one reads them.
    let own: Vec<Value> = if is_for {
        let own = func.region(body).params[1..].to_vec();
        for &ty in &added_types {
            func.add_region_param(body, ty);
        }
        func.insts[id.index()].operands.extend(unset.iter().copied());
        own
    } else {
        result_types.iter().map(|&ty| zero(func, ty, span, &mut before)).collect()
    };
    for exit in exits {
        if is_for || func.inst(exit).op == Op::Break {
            func.insts[exit.index()].operands.extend(unset.iter().copied());
        }
    }
    for exit in returns {
        let inst = &mut func.insts[exit.index()];
        inst.op = Op::Break;
        let returned = std::mem::take(&mut inst.operands);
        inst.operands.extend(own.iter().copied().chain([yes]).chain(returned));
    }
    let mut added = Vec::new();
    for &ty in &added_types {
        let n = func.inst(id).results.len() as u32;
        let value = func.add_value(ty, ir::ValueDef::Result(id, n));
        func.insts[id.index()].results.push(value);
        added.push(value);
    }
    let test = return_where(func, added[0], &added[1..], span);
    let n_added = before.len() + 1;
    let insts = &mut func.regions[region.index()].insts;
    insts.insert(at + 1, test);
    insts.splice(at..at, before);
    n_added
}

/// `if flag { return results } else { yield }`.
fn return_where(func: &mut Function, flag: Value, results: &[Value], span: Span) -> InstId {
    let (then, or) = (func.add_region(&[]), func.add_region(&[]));
    let leave = func.add_inst(Op::Return, results, Attr::None, &[], &[], span);
    let stay = func.add_inst(Op::Yield, &[], Attr::None, &[], &[], span);
    func.regions[then.index()].insts.push(leave);
    func.regions[or.index()].insts.push(stay);
    func.add_inst(Op::If, &[flag], Attr::None, &[then, or], &[], span)
}

fn constant(func: &mut Function, value: Const, span: Span, out: &mut Vec<InstId>) -> Value {
    push(func, Op::Const, &[], Attr::Const(value), Type::bool(), span, out)
}

fn push(
    func: &mut Function,
    op: Op,
    operands: &[Value],
    attr: Attr,
    ty: Type,
    span: Span,
    out: &mut Vec<InstId>,
) -> Value {
    let inst = func.add_inst(op, operands, attr, &[], &[ty], span);
    out.push(inst);
    func.inst(inst).result()
}

/// A value of any type, made of zeros; an array without memory.
pub(crate) fn zero(func: &mut Function, ty: Type, span: Span, out: &mut Vec<InstId>) -> Value {
    match ty.kind() {
        TypeKind::Scalar(_) => push(func, Op::Const, &[], Attr::Const(Const(0)), ty, span, out),
        TypeKind::Array { rank, .. } => {
            let address = zero(func, Type::scalar(Scalar::U64), span, out);
            let extent = zero(func, Type::i64(), span, out);
            let mut operands = vec![address];
            operands.extend(std::iter::repeat_n(extent, *rank as usize));
            push(func, Op::ArrayFromAddress, &operands, Attr::None, ty, span, out)
        }
        TypeKind::Tile { elem, .. } => {
            let elem = zero(func, *elem, span, out);
            push(func, Op::TileFill, &[elem], Attr::None, ty, span, out)
        }
        TypeKind::Struct(_) | TypeKind::Tuple(_) => {
            let components: Vec<Type> = (0..ty.n_components()).filter_map(|i| ty.component(i)).collect();
            let components: Vec<Value> = components.into_iter().map(|ty| zero(func, ty, span, out)).collect();
            push(func, Op::Construct, &components, Attr::None, ty, span, out)
        }
        _ => {
            let elem = zero(func, ty.element().map_or(Type::bool(), Type::scalar), span, out);
            push(func, Op::Splat, &[elem], Attr::None, ty, span, out)
        }
    }
}

/// The first `if` of a region with a `return` in it.
fn returning_if(func: &Function, region: RegionId) -> Option<(usize, InstId)> {
    let insts = &func.region(region).insts;
    insts.iter().copied().enumerate().find(|&(_, id)| {
        let inst = func.inst(id);
        inst.op == Op::If && inst.regions.iter().any(|&arm| !returns_outside_loops(func, arm).is_empty())
    })
}

/// Moves what follows an `if` into its only arm that goes on. `region` itself never goes on.
fn sink(func: &mut Function, region: RegionId, replacements: &mut Replacements) {
    let Some((at, id)) = returning_if(func, region) else { return };
    let arms = func.inst(id).regions.clone();
    let going_on: Vec<RegionId> = arms.iter().copied().filter(|&arm| yields(func, arm)).collect();
    if going_on.len() == 2 {
        return;
    }
    let span = func.inst(id).span;
    let mut rest = func.regions[region.index()].insts.split_off(at + 1);
    let end = func.add_inst(Op::Unreachable, &[], Attr::None, &[], &[], span);
    func.regions[region.index()].insts.push(end);
    let results = std::mem::take(&mut func.insts[id.index()].results);
    if let [arm] = going_on[..]
        && let Some(last) = func.regions[arm.index()].insts.pop()
    {
        for (&result, &value) in results.iter().zip(&func.inst(last).operands) {
            replacements.set(result, value);
        }
        func.regions[arm.index()].insts.append(&mut rest);
    }
    for arm in arms {
        sink(func, arm, replacements);
    }
}

/// Whether each `return` ends its region, and each `if` around it is followed by nothing.
fn all_at_tails(func: &Function, region: RegionId) -> bool {
    let Some((at, id)) = returning_if(func, region) else { return true };
    let inst = func.inst(id);
    at + 2 == func.region(region).insts.len()
        && inst.regions.iter().all(|&arm| !yields(func, arm) && all_at_tails(func, arm))
        && func.terminator(region).is_some_and(|end| func.inst(end).op == Op::Unreachable)
}

/// Turns returns at tails into results of the `if`s around them, up to the body's `return`.
fn yield_results(func: &mut Function, region: RegionId) {
    let end = if region == func.body { Op::Return } else { Op::Yield };
    let Some(last) = func.terminator(region) else { return };
    if func.inst(last).op == Op::Return {
        func.insts[last.index()].op = end;
        return;
    }
    let Some((_, id)) = returning_if(func, region) else { return };
    for arm in func.inst(id).regions.clone() {
        yield_results(func, arm);
    }
    for (i, ty) in (0u32..).zip(func.results.clone()) {
        let value = func.add_value(ty, ir::ValueDef::Result(id, i));
        func.insts[id.index()].results.push(value);
    }
    let results = func.inst(id).results.to_vec();
    let last = &mut func.insts[last.index()];
    last.op = end;
    last.operands = results.into();
}

/// `return loop { body with break for return }`.
fn wrap_in_loop(func: &mut Function) {
    let body = func.body;
    let inner = func.add_region(&[]);
    let insts = std::mem::take(&mut func.regions[body.index()].insts);
    func.regions[inner.index()].insts = insts;
    for id in returns_outside_loops(func, inner) {
        func.insts[id.index()].op = Op::Break;
    }
    let results = func.results.clone();
    let wrapped = func.add_inst(Op::Loop, &[], Attr::None, &[inner], &results, Span::NONE);
    let returned = func.inst(wrapped).results.clone();
    let end = func.add_inst(Op::Return, &returned, Attr::None, &[], &[], Span::NONE);
    func.regions[body.index()].insts = vec![wrapped, end];
}
