//! Runs eight rounds at a time of loops that walk over memory by their counter, so that the reads of all eight come
//! together: neighbors are then one access, and none waits for the round before.
//!
//! ```text
//! for v1: i32 = lo to hi step 1 { … load a[v1] … }
//! ->  for v1: i32 = lo to mid step 8 { … load a[v1] … load a[v1 + 7] … }
//!     for v2: i32 = mid to hi step 1 { … load a[v2] … }
//! ```
//!
//! In: a function. Out: the same, with the rounds in their order. Loops that are short enough, count by 1, run to their
//! end, contain no other region, and read an element whose index is the counter and what does not change in the loop,
//! or some other that the rounds before do not decide on.
//! Where exact roots and quotients of ordinary numbers are cheaper, a batch tests for them ([`domains`]).

mod domains;
mod guards;

use crate::Changed;
use crate::copy::Copies;
use crate::replace::Replacements;
use ir::op::Effect;
use ir::{Attr, Const, Function, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};
use std::collections::HashSet;

/// Rounds at a time, of short bodies and of long ones.
const ROUNDS: [i128; 2] = [8, 4];

/// Rounds at a time of short bodies that read anywhere.
const ROUNDS_APART: i128 = 4;

/// Most instructions of a short body, and of a long one.
const MAX_INSTS: [usize; 2] = [32, 64];

/// `tests_domains`: whether exact roots and quotients are cheaper for numbers that were tested.
pub fn batch_reads(func: &mut Function, tests_domains: bool) -> Changed {
    let mut replacements = Replacements::default();
    let mut changed = false;
    // Loops that this adds are not looked at again.
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            match rounds(func, id) {
                Some(rounds) => {
                    let body = batch(func, id, rounds, &mut out, &mut replacements);
                    if tests_domains {
                        domains::check_domains(func, body, func.inst(id).regions[0], rounds, domains::MAX_LEVELS);
                    }
                    changed = true;
                }
                None => match guards::find(func, id) {
                    Some(found) => {
                        guards::batch(func, id, &found, tests_domains, &mut out, &mut replacements);
                        changed = true;
                    }
                    None => out.push(id),
                },
            }
        }
        func.regions[region].insts = out;
    }
    replacements.apply(func);
    Changed(changed)
}

/// How many rounds of a loop run at a time; `None` where it stays.
fn rounds(func: &Function, id: InstId) -> Option<i128> {
    let inst = func.inst(id);
    if inst.op != Op::For {
        return None;
    }
    let scalar = func.ty(inst.operands[0]).as_scalar().filter(|scalar| matches!(scalar, Scalar::I32 | Scalar::I64))?;
    let step = func.as_const(inst.operands[2])?.as_int(scalar);
    let body = inst.regions[0];
    let region = func.region(body);
    let (&end, insts) = region.insts.split_last()?;
    let is_straight = insts.iter().all(|&id| {
        let inst = func.inst(id);
        inst.regions.is_empty() && matches!(inst.op.effect(), Effect::Pure | Effect::Read)
    });
    if step != 1 || func.inst(end).op != Op::Continue || !is_straight {
        return None;
    }
    let kind = MAX_INSTS.iter().position(|&most| insts.len() <= most)?;
    if insts.iter().any(|&id| walks(func, body, id)) {
        return Some(ROUNDS[kind]);
    }
    (kind == 0 && reads_apart(func, body)).then_some(ROUNDS_APART)
}

/// Whether a loop reads where its counter decides, and no round before does.
fn reads_apart(func: &Function, body: RegionId) -> bool {
    let region = func.region(body);
    let [counter, carried @ ..] = &region.params[..] else { return false };
    let (mut by_counter, mut by_carried) = (HashSet::from([*counter]), carried.iter().copied().collect::<HashSet<_>>());
    for &id in &region.insts {
        let inst = func.inst(id);
        let depends = |on: &HashSet<Value>, values: &[Value]| values.iter().any(|value| on.contains(value));
        let is_apart = depends(&by_counter, &inst.operands) && !depends(&by_carried, &inst.operands);
        if inst.op == Op::Load && is_apart {
            return true;
        }
        for set in [&mut by_counter, &mut by_carried] {
            if depends(set, &inst.operands) {
                set.extend(inst.results.iter().copied());
            }
        }
    }
    false
}

/// Whether an instruction reads an element whose last index follows the counter of the loop.
fn walks(func: &Function, body: RegionId, id: InstId) -> bool {
    let inst = func.inst(id);
    let Some((_, rank)) = inst.operands.first().and_then(|&array| func.ty(array).as_array()) else { return false };
    if inst.op != Op::Load || rank == 0 {
        return false;
    }
    let inside: HashSet<InstId> = func.region(body).insts.iter().copied().collect();
    let (_, indices, ..) = inst.access(rank as usize);
    let is_fixed = |value: &Value| !depends(func, body, &inside, *value);
    indices[..indices.len() - 1].iter().all(is_fixed) && follows(func, body, &inside, indices[indices.len() - 1])
}

/// Whether a value is the counter, as it is or cast, plus or minus what does not change in the loop.
fn follows(func: &Function, body: RegionId, inside: &HashSet<InstId>, value: Value) -> bool {
    match func.def(value) {
        ValueDef::Param(region, index) => region == body && index == 0,
        ValueDef::Result(id, _) if !inside.contains(&id) => false,
        ValueDef::Result(id, _) => {
            let inst = func.inst(id);
            let follows = |value| follows(func, body, inside, value);
            let is_fixed = |value| !depends(func, body, inside, value);
            match (inst.op, &inst.operands[..]) {
                (Op::Cast, &[x]) => follows(x),
                (Op::Add, &[x, y]) => follows(x) && is_fixed(y) || is_fixed(x) && follows(y),
                (Op::Sub, &[x, y]) => follows(x) && is_fixed(y),
                _ => false,
            }
        }
    }
}

/// Whether a value is computed in the loop, other than a constant.
fn depends(func: &Function, body: RegionId, inside: &HashSet<InstId>, value: Value) -> bool {
    match func.def(value) {
        ValueDef::Param(region, _) => region == body,
        ValueDef::Result(id, _) => inside.contains(&id) && func.as_const(value).is_none(),
    }
}

/// Gives the body of several rounds.
fn batch(
    func: &mut Function,
    id: InstId,
    rounds: i128,
    out: &mut Vec<InstId>,
    replacements: &mut Replacements,
) -> RegionId {
    let inst = func.inst(id).clone();
    let (lo, hi, one, ty) = (inst.operands[0], inst.operands[1], inst.operands[2], func.ty(inst.operands[0]));
    let mut emit = |func: &mut Function, op, operands: &[Value], attr, ty| {
        let id = func.add_inst(op, operands, attr, &[], &[ty], inst.span);
        out.push(id);
        func.inst(id).result()
    };
    let number = |value| Attr::Const(ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, value)));
    let step = emit(func, Op::Const, &[], number(rounds), ty);
    let whole = emit(func, Op::Const, &[], number(-rounds), ty);
    // Wrapping, the distance is right as an unsigned number, and its multiples of a power of two too.
    let distance = emit(func, Op::Sub, &[hi, lo], Attr::None, ty);
    let batched = emit(func, Op::And, &[distance, whole], Attr::None, ty);
    let end = emit(func, Op::Add, &[lo, batched], Attr::None, ty);
    let is_any = emit(func, Op::Gt, &[hi, lo], Attr::None, Type::bool());
    let mid = emit(func, Op::Select, &[is_any, end, lo], Attr::None, ty);

    let body = several(func, inst.regions[0], rounds, None);
    let types: Vec<Type> = inst.results.iter().map(|&value| func.ty(value)).collect();
    let operands = [&[lo, mid, step], &inst.operands[3..]].concat();
    let first = func.add_inst(Op::For, &operands, Attr::None, &[body], &types, inst.span);
    let rest = Copies::default().region(func, inst.regions[0]);
    let operands = [&[mid, hi, one], &func.inst(first).results[..]].concat();
    let second = func.add_inst(Op::For, &operands, Attr::None, &[rest], &types, inst.span);
    out.extend([first, second]);
    for (&result, by) in inst.results.iter().zip(func.inst(second).results.clone()) {
        replacements.set(result, by);
    }
    body
}

fn is_wide_counter(func: &Function, id: InstId, counter: Value) -> bool {
    let inst = func.inst(id);
    inst.op == Op::Cast && inst.operands[0] == counter && func.ty(inst.result()) == Type::i64()
}

/// cast counter, a constant, and their sum.
fn wide_counter(func: &mut Function, id: InstId, counter: Value, round: i128) -> [InstId; 3] {
    let (ty, span) = (Type::i64(), func.inst(id).span);
    let cast = func.add_inst(Op::Cast, &[counter], Attr::None, &[], &[ty], span);
    let number = Attr::Const(Const::int(Scalar::I64, round));
    let number = func.add_inst(Op::Const, &[], number, &[], &[ty], span);
    let operands = [func.inst(cast).result(), func.inst(number).result()];
    let sum = func.add_inst(Op::Add, &operands, Attr::None, &[], &[ty], span);
    [cast, number, sum]
}

/// A body that runs several rounds of `body`, all through the first arm of `branch`.
fn several(func: &mut Function, body: RegionId, rounds: i128, branch: Option<InstId>) -> RegionId {
    let region = func.region(body).clone();
    let types: Vec<Type> = region.params.iter().map(|&param| func.ty(param)).collect();
    let new = func.add_region(&types);
    let params = func.region(new).params.clone();
    let Some((&end, insts)) = region.insts.split_last() else { return new };
    let (counter, span) = (params[0], func.inst(end).span);
    let mut carried = params[1..].to_vec();
    let mut all = Vec::new();
    for round in 0..rounds {
        let mut copies = Copies::default();
        let mut at = counter;
        if round > 0 {
            let bits = types[0].as_scalar().map_or(Const(0), |scalar| Const::int(scalar, round));
            let number = func.add_inst(Op::Const, &[], Attr::Const(bits), &[], &[types[0]], span);
            let operands = [counter, func.inst(number).result()];
            let sum = func.add_inst(Op::Add, &operands, Attr::None, &[], &[types[0]], span);
            all.extend([number, sum]);
            at = func.inst(sum).result();
        }
        copies.set(region.params[0], at);
        for (&param, &value) in region.params[1..].iter().zip(&carried) {
            copies.set(param, value);
        }
        for &id in insts {
            if round > 0 && is_wide_counter(func, id, region.params[0]) {
                // In 64 bits from the first round's counter: no counter before `mid` wraps, and neighbors then differ
                // by a constant.
                let added = wide_counter(func, id, counter, round);
                copies.set(func.inst(id).result(), func.inst(added[2]).result());
                all.extend(added);
                continue;
            }
            if Some(id) == branch {
                arm(func, id, &mut copies, &mut all);
                continue;
            }
            all.push(copies.inst(func, id));
        }
        carried = copies.all(&func.inst(end).operands.clone());
    }
    all.push(func.add_inst(Op::Continue, &carried, Attr::None, &[], &[], span));
    func.regions[new.index()].insts = all;
    new
}

/// Copies the first arm of a branch, whose condition holds.
fn arm(func: &mut Function, id: InstId, copies: &mut Copies, all: &mut Vec<InstId>) {
    let branch = func.inst(id).clone();
    let insts = func.region(branch.regions[0]).insts.clone();
    let Some((&end, insts)) = insts.split_last() else { return };
    for &id in insts {
        all.push(copies.inst(func, id));
    }
    let yielded = copies.all(&func.inst(end).operands.clone());
    for (&result, value) in branch.results.iter().zip(yielded) {
        copies.set(result, value);
    }
}
