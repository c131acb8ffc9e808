//! Loops whose rounds a branch may skip, as those over the neighbors of a cell: where no round is skipped, all of them
//! run together without branches.
//!
//! ```text
//! for v1 = 0 to 4 step 1 with (v2 = x) { c = …; if c { … load … yield y } else { yield v2 } … continue }
//! ->  if c of all four rounds { the four rounds, with what stands behind c } else { the loop as it was }
//! ```
//!
//! In: a loop of few rounds, of which the counter and what does not change in it decide the conditions. Threads within a
//! grid take the first way, those at its edges the second.

use super::{Copies, domains, several};
use crate::replace::Replacements;
use crate::simplify::rounds;
use ir::op::Effect;
use ir::{Attr, Const, Function, InstId, Op, RegionId, Type, Value, ValueDef};
use std::collections::HashSet;

/// Most rounds.
const MAX_ROUNDS: i128 = 8;

/// Most instructions of a round.
const MAX_INSTS: usize = 64;

/// A loop of that kind.
pub(super) struct Guarded {
    pub rounds: i128,
    /// The branch.
    pub branch: InstId,
    /// What its condition is computed by, in order.
    tests: Vec<InstId>,
}

pub(super) fn find(func: &Function, id: InstId) -> Option<Guarded> {
    let inst = func.inst(id);
    let body = inst.regions.first().copied().filter(|_| inst.op == Op::For)?;
    let scalar = func.ty(inst.operands[0]).as_scalar()?;
    let rounds = rounds(func, inst).filter(|n| (2..=MAX_ROUNDS).contains(n))?;
    let (&end, insts) = func.region(body).insts.split_last()?;
    let branches: Vec<InstId> = insts.iter().copied().filter(|&id| !func.inst(id).regions.is_empty()).collect();
    let &[branch] = &branches[..] else { return None };
    if func.as_const(inst.operands[2])?.as_int(scalar) != 1
        || func.inst(end).op != Op::Continue
        || func.inst(branch).op != Op::If
        || !insts.iter().all(|&id| id == branch || is_plain(func, id))
    {
        return None;
    }
    let arms: Vec<&[InstId]> = func.inst(branch).regions.iter().map(|&arm| &func.region(arm).insts[..]).collect();
    let [then, other] = arms[..] else { return None };
    let is_arm = |arm: &[InstId]| {
        let Some((&end, insts)) = arm.split_last() else { return false };
        func.inst(end).op == Op::Yield && insts.iter().all(|&id| is_plain(func, id))
    };
    let reads = |arm: &[InstId]| arm.iter().any(|&id| func.inst(id).op == Op::Load);
    if !is_arm(then) || !is_arm(other) || !reads(then) || reads(other) || insts.len() + then.len() > MAX_INSTS {
        return None;
    }
    let tests = tests(func, body, branch)?;
    Some(Guarded { rounds, branch, tests })
}

/// Puts a loop of one round in the place of the loop.
pub(super) fn batch(
    func: &mut Function,
    id: InstId,
    found: &Guarded,
    tests_domains: bool,
    out: &mut Vec<InstId>,
    replacements: &mut Replacements,
) {
    let inst = func.inst(id).clone();
    let (one, rounds, ty, span) = (inst.regions[0], found.rounds, func.ty(inst.operands[0]), inst.span);
    let types: Vec<Type> = inst.results.iter().map(|&value| func.ty(value)).collect();
    let number = |value| Attr::Const(ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, value)));
    let body = several(func, one, rounds, Some(found.branch));
    if tests_domains {
        domains::check_domains(func, body, one, rounds, 1);
    }
    let mut fast = std::mem::take(&mut func.regions[body.index()].insts);
    if let Some(&end) = fast.last() {
        func.insts[end.index()].op = Op::Yield;
    }
    let counter = func.region(body).params[0];
    let (mut insts, mut all_hold): (Vec<InstId>, Option<Value>) = (Vec::new(), None);
    for round in 0..rounds {
        let mut add = |func: &mut Function, op, operands: &[Value], attr, ty| {
            let id = func.add_inst(op, operands, attr, &[], &[ty], span);
            insts.push(id);
            func.inst(id).result()
        };
        let number = add(func, Op::Const, &[], number(round), ty);
        let at = add(func, Op::Add, &[counter, number], Attr::None, ty);
        let mut copies = Copies::default();
        copies.set(func.region(one).params[0], at);
        for &id in &found.tests {
            insts.push(copies.inst(func, id));
        }
        let holds = copies.get(func.inst(found.branch).operands[0]);
        all_hold = Some(match all_hold {
            None => holds,
            Some(others) => {
                let id = func.add_inst(Op::And, &[others, holds], Attr::None, &[], &[Type::bool()], span);
                insts.push(id);
                func.inst(id).result()
            }
        });
    }
    let arm = func.add_region(&[]);
    func.regions[arm.index()].insts = std::mem::take(&mut fast);
    let slow = domains::arm_of_rounds(func, body, one, rounds, id);
    let branch = func.add_inst(Op::If, all_hold.as_slice(), Attr::None, &[arm, slow], &types, span);
    let results = func.inst(branch).results.to_vec();
    let end = func.add_inst(Op::Continue, &results, Attr::None, &[], &[], span);
    insts.extend([branch, end]);
    func.regions[body.index()].insts = insts;
    let step = func.add_inst(Op::Const, &[], number(rounds), &[], &[ty], span);
    let operands = [&inst.operands[..2], &[func.inst(step).result()], &inst.operands[3..]].concat();
    let whole = func.add_inst(Op::For, &operands, Attr::None, &[body], &types, span);
    out.extend([step, whole]);
    for (&result, by) in inst.results.iter().zip(func.inst(whole).results.clone()) {
        replacements.set(result, by);
    }
}

fn is_plain(func: &Function, id: InstId) -> bool {
    let inst = func.inst(id);
    inst.regions.is_empty() && matches!(inst.op.effect(), Effect::Pure | Effect::Read)
}

/// What decides a branch, where that is cheap and compares an order of whole numbers only, as those of a grid do.
fn tests(func: &Function, body: RegionId, branch: InstId) -> Option<Vec<InstId>> {
    let region = func.region(body);
    let mut wanted: HashSet<Value> = HashSet::from([func.inst(branch).operands[0]]);
    let mut found = Vec::new();
    let at = region.insts.iter().position(|&id| id == branch)?;
    for &id in region.insts[..at].iter().rev() {
        let inst = func.inst(id);
        if inst.results.iter().any(|value| wanted.contains(value)) {
            if inst.op.effect() != Effect::Pure {
                return None;
            }
            wanted.extend(inst.operands.iter().copied());
            found.push(id);
        }
    }
    let is_carried = |value: &Value| region.params[1..].contains(value);
    if wanted.iter().any(is_carried) || !orders(func, func.inst(branch).operands[0]) {
        return None;
    }
    found.reverse();
    Some(found)
}

/// Whether a condition asks whether whole numbers are less or more than others, all of it.
fn orders(func: &Function, condition: Value) -> bool {
    let ValueDef::Result(id, _) = func.def(condition) else { return false };
    let inst = func.inst(id);
    match inst.op {
        Op::And => inst.operands.iter().all(|&part| orders(func, part)),
        Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            func.ty(inst.operands[0]).as_scalar().is_some_and(|scalar| scalar.is_int())
        }
        _ => false,
    }
}
