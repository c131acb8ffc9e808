//! Moves a kernel's stores behind its loads, where no two of its arrays share memory.
//!
//! A compiler of machine code takes for granted that any store may change what a later load reads, and loads one after
//! the other wait for memory each on its own. In: a kernel whose arrays are distinct. Out: stores of its own region to an
//! array that nothing later looks at stand at its end, in their order.
//!
//! ```text
//! v3 = load v1[v0]        v3 = load v1[v0]
//! store v1[v0], v4   ->   v5 = load v2[v0]
//! v5 = load v2[v0]        store v1[v0], v4
//! return                  return
//! ```

use crate::Changed;
use analysis::{Root, roots};
use ir::op::Effect;
use ir::{Function, InstId, Op, RegionId};

pub fn sink_stores(func: &mut Function) -> Changed {
    let body = func.body;
    let insts = func.region(body).insts.clone();
    let Some((&end, insts)) = insts.split_last() else { return Changed(false) };
    let (mut kept, mut sunk): (Vec<InstId>, Vec<InstId>) = (Vec::new(), Vec::new());
    // From the last to the first: the arrays that what comes later looks at, or none where that is not known.
    let mut later: Option<Vec<Root>> = Some(Vec::new());
    for &id in insts.iter().rev() {
        let inst = func.inst(id);
        let found = roots_of(func, id);
        if inst.op == Op::Store
            && let (Some(found), Some(later)) = (&found, &later)
            && found.iter().all(|root| matches!(root, Root::Param(..)) && !later.contains(root))
        {
            sunk.push(id);
            continue;
        }
        later = later.zip(found).map(|(later, found)| [later, found].concat());
        kept.push(id);
    }
    let order: Vec<InstId> = kept.into_iter().rev().chain(sunk.into_iter().rev()).chain([end]).collect();
    let changed = func.region(body).insts != order;
    func.regions[body.index()].insts = order;
    Changed(changed)
}

/// The arrays that an instruction reaches, with all that it contains; none where it may leave the kernel, wait or report,
/// so that what comes before must have happened.
fn roots_of(func: &Function, id: InstId) -> Option<Vec<Root>> {
    let inst = func.inst(id);
    let is_plain = match inst.op {
        Op::If | Op::For | Op::Loop | Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => true,
        Op::Yield | Op::Continue | Op::Break => true,
        op => op.effect() == Effect::Pure,
    };
    if !is_plain {
        return None;
    }
    let mut found = Vec::new();
    if matches!(inst.op, Op::Load | Op::Store | Op::Atomic | Op::AtomicCas) {
        found = roots(func, inst.operands[0]);
        if found.contains(&Root::Unknown) || found.contains(&Root::WithAdjoint) {
            return None;
        }
    }
    for &region in &inst.regions {
        found.extend(roots_under(func, region)?);
    }
    Some(found)
}

fn roots_under(func: &Function, region: RegionId) -> Option<Vec<Root>> {
    let parts: Option<Vec<_>> = func.region(region).insts.iter().map(|&id| roots_of(func, id)).collect();
    Some(parts?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        let mut module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        let _ = sink_stores(&mut module.funcs[0]);
        assert!(ir::verify::verify(&module).is_ok(), "{module}");
        module.to_string()
    }

    #[test]
    fn stores_go_behind_loads_of_other_arrays() {
        let text = check(
            "kernel @f(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
               v3: i64 = tid 0
               v4: f32 = load v1[v3]
               store v1[v3], v0
               v5: f32 = load v2[v3]
               store v2[v3], v4
               store v1[v3], v5
               return
             }",
        );
        // The last store to an array is the last still.
        let after = &text[text.find("v5: f32 = load").unwrap_or_default()..];
        let places = ["store v1[v3], v0", "store v2[v3], v4", "store v1[v3], v5"].map(|store| after.find(store));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
    }

    #[test]
    fn what_is_looked_at_later_stays() {
        let text = check(
            "kernel @f(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
               v3: i64 = tid 0
               store v1[v3], v0
               v4: bool = lt v0, v0
               if v4 { v5: f32 = load v1[v3]; store v2[v3], v5; yield } else { yield }
               return
             }",
        );
        assert!(text.find("store v1") < text.find("load v1"), "{text}");
        let text = check(
            "kernel @f(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
               v3: i64 = tid 0
               store v1[v3], v0
               v4: bool = lt v0, v0
               if v4 { return } else { yield }
               v5: f32 = load v2[v3]
               store v2[v3], v5
               return
             }",
        );
        assert!(text.find("store v1") < text.find("if v4"), "{text}");
    }
}
