//! Makes one load of two that stand in the arms of an `if`.
//!
//! In: a function. Out: where both arms of an `if` read the same array, its indices are chosen instead, and the load
//! stands before the `if`. Loads of one thread after the other then do not wait for branches.
//!
//! ```text
//! if c { v1 = load a[i]; yield v1 } else { v2 = load a[j]; v3 = add v2, x; yield v3 }
//! ->  v4 = select c, i, j
//!     v5 = load a[v4]
//!     if c { yield v5 } else { v3 = add v5, x; yield v3 }
//! ```
//!
//! Only where all that stands before the loads in the arms is pure: it is done in any case then, and one of the loads
//! was done in any case before. For targets whose loads go anywhere: what was a row on a CPU may be none after it.

use crate::Changed;
use crate::replace::Replacements;
use ir::{Attr, Function, InstId, Op, RegionId, Value};

/// Most pure instructions that are done for both arms.
const MAX_PURE: usize = 16;

pub fn merge_arm_loads(func: &mut Function) -> Changed {
    let mut replacements = Replacements::default();
    let mut changed = false;
    for region in 0..func.regions.len() {
        let mut at = 0;
        while at < func.regions[region].insts.len() {
            let id = func.regions[region].insts[at];
            if let Some(loads) = find(func, id) {
                let added = merge(func, id, loads, &mut replacements);
                at += added.len();
                let insert_at = at - added.len();
                func.regions[region].insts.splice(insert_at..insert_at, added);
                // Loads may follow in the arms.
                changed = true;
                continue;
            }
            at += 1;
        }
    }
    replacements.apply(func);
    Changed(changed)
}

/// The first load of each arm, where both read one piece of one array.
fn find(func: &Function, id: InstId) -> Option<[InstId; 2]> {
    let inst = func.inst(id);
    if inst.op != Op::If {
        return None;
    }
    let [x, y] = [first_load(func, inst.regions[0])?, first_load(func, inst.regions[1])?];
    let (a, b) = (func.inst(x), func.inst(y));
    // Dynamic paths are operands too, and chosen like indices.
    let is_same = a.operands[0] == b.operands[0] && a.attr == b.attr && a.operands.len() == b.operands.len();
    is_same.then_some([x, y])
}

fn first_load(func: &Function, region: RegionId) -> Option<InstId> {
    let insts = &func.region(region).insts;
    let at = insts.iter().position(|&id| !func.inst(id).op.is_pure())?;
    (at <= MAX_PURE && func.inst(insts[at]).op == Op::Load).then(|| insts[at])
}

/// Takes what stands up to the loads out of the arms; gives what is to stand before the `if`.
fn merge(func: &mut Function, id: InstId, loads: [InstId; 2], replacements: &mut Replacements) -> Vec<InstId> {
    let (condition, regions) = (func.inst(id).operands[0], func.inst(id).regions.clone());
    let mut out = Vec::new();
    for (&region, load) in regions.iter().zip(loads) {
        let insts = &mut func.regions[region.index()].insts;
        let Some(at) = insts.iter().position(|&id| id == load) else { continue };
        out.extend(insts.drain(..=at).take(at));
    }
    let [x, y] = loads.map(|load| func.inst(load).clone());
    let mut operands = vec![x.operands[0]];
    for (&i, &j) in x.operands[1..].iter().zip(&y.operands[1..]) {
        if i == j {
            operands.push(i);
            continue;
        }
        let ty = func.ty(i);
        let choice = func.add_inst(Op::Select, &[condition, i, j], Attr::None, &[], &[ty], x.span);
        out.push(choice);
        operands.push(func.inst(choice).result());
    }
    let ty = func.ty(x.result());
    let load = func.add_inst(Op::Load, &operands, x.attr, &[], &[ty], x.span);
    out.push(load);
    let result: Value = func.inst(load).result();
    replacements.set(x.results[0], result);
    replacements.set(y.results[0], result);
    out
}
