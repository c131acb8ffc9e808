//! Computes before a loop what is the same in each of its rounds.
//!
//! In: a verified function. Out: the same with pure ops moved in front of the loop where no operand is defined in it.
//! Pure ops have a result for all operands, so one may run even where the loop makes no round. Ops under an `if` stay:
//! they may be there because they are dear.
//!
//! ```text
//! for … { v5: f32 = mul v0, v1 … }    ->    v5: f32 = mul v0, v1
//!                                           for … { … }
//! ```

use crate::Changed;
use crate::exits::is_loop;
use ir::{Function, InstId, Op, RegionId};

/// Moves invariant ops out of all loops, inner loops first, so that an op may leave several.
pub fn hoist_loop_invariants(func: &mut Function) -> Changed {
    let mut hoister = Hoister { depth: vec![0; func.values.len()], changed: false };
    let body = func.body;
    hoister.region(func, body, 0);
    Changed(hoister.changed)
}

struct Hoister {
    /// How many loops are around a value's definition.
    depth: Vec<u32>,
    changed: bool,
}

impl Hoister {
    /// `loops` are around the region.
    fn region(&mut self, func: &mut Function, region: RegionId, loops: u32) {
        for &param in &func.region(region).params {
            self.depth[param.index()] = loops;
        }
        let insts = std::mem::take(&mut func.regions[region.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            let inner = func.inst(id).regions.clone();
            let is_loop = is_loop(func.inst(id).op) || func.inst(id).op == Op::Each;
            for region in inner {
                self.region(func, region, loops + u32::from(is_loop));
                if is_loop {
                    self.hoist(func, region, loops, &mut out);
                }
            }
            for &result in &func.inst(id).results {
                self.depth[result.index()] = loops;
            }
            out.push(id);
        }
        func.regions[region.index()].insts = out;
    }

    /// Moves what depends on nothing deeper than `loops` out of the body of a loop.
    fn hoist(&mut self, func: &mut Function, body: RegionId, loops: u32, out: &mut Vec<InstId>) {
        let insts = std::mem::take(&mut func.regions[body.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for id in insts {
            let inst = func.inst(id);
            let is_invariant = inst.op.is_pure() && inst.operands.iter().all(|v| self.depth[v.index()] <= loops);
            if !is_invariant {
                kept.push(id);
                continue;
            }
            for &result in &inst.results {
                self.depth[result.index()] = loops;
            }
            self.changed = true;
            out.push(id);
        }
        func.regions[body.index()].insts = kept;
    }
}
