//! Which terminators leave which op: `continue` and `break` belong to the nearest enclosing loop, `yield` to its `if`.

use ir::{Function, InstId, Op, RegionId};

/// The `continue`s and `break`s of the loop whose body is `region`, in program order.
pub fn loop_exits(func: &Function, region: RegionId) -> Vec<InstId> {
    let mut found = Vec::new();
    collect(func, region, &mut |op| matches!(op, Op::Continue | Op::Break), false, &mut found);
    found
}

/// The `return`s under `region` that are in no loop within it.
pub fn returns_outside_loops(func: &Function, region: RegionId) -> Vec<InstId> {
    let mut found = Vec::new();
    collect(func, region, &mut |op| op == Op::Return, false, &mut found);
    found
}

/// Every instruction under `region` with an op that is wanted, in loops too.
pub fn all(func: &Function, region: RegionId, mut is_wanted: impl FnMut(Op) -> bool) -> Vec<InstId> {
    let mut found = Vec::new();
    collect(func, region, &mut is_wanted, true, &mut found);
    found
}

fn collect(
    func: &Function,
    region: RegionId,
    is_wanted: &mut dyn FnMut(Op) -> bool,
    into_loops: bool,
    found: &mut Vec<InstId>,
) {
    for &id in &func.region(region).insts {
        let inst = func.inst(id);
        if is_wanted(inst.op) {
            found.push(id);
        }
        if into_loops || !is_loop(inst.op) {
            for &inner in &inst.regions {
                collect(func, inner, is_wanted, into_loops, found);
            }
        }
    }
}

pub fn is_loop(op: Op) -> bool {
    matches!(op, Op::For | Op::Loop)
}

/// Whether a region ends by leaving its `if` with a value, rather than by leaving a loop or the function.
pub fn yields(func: &Function, region: RegionId) -> bool {
    func.terminator(region).is_some_and(|id| func.inst(id).op == Op::Yield)
}
