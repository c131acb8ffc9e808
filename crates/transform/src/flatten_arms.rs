//! Runs both arms of small branches in loops, and chooses among what they give.
//!
//! In: a function. Out: the same, with what short arms compute in front of their `if`, which `simplify` turns into
//! `select`s then. A body without branches runs several rounds at a time.
//!
//! ```text
//! if c { v1 = mul x, x; v2 = add a, v1; yield v2 } else { yield a }
//! ->  v1 = mul x, x
//!     v2 = add a, v1
//!     if c { yield v2 } else { yield a }
//! ```
//!
//! Only where the arms do nothing but compute, by cheap instructions: for targets on which a branch that part of a
//! warp takes costs as much as both arms.

use crate::Changed;
use ir::op::Effect;
use ir::{Function, InstId, Op, RegionId};

/// Most instructions of both arms.
const MAX_INSTS: usize = 12;

pub fn flatten_arms(func: &mut Function) -> Changed {
    let body = func.body;
    Changed(in_region(func, body, false))
}

fn in_region(func: &mut Function, region: RegionId, is_in_loop: bool) -> bool {
    let mut changed = false;
    let insts = std::mem::take(&mut func.regions[region.index()].insts);
    let mut out = Vec::with_capacity(insts.len());
    for id in insts {
        let op = func.inst(id).op;
        // Inner ones first, so that an arm with a branch may become one without.
        for inner in func.inst(id).regions.clone() {
            changed |= in_region(func, inner, is_in_loop || matches!(op, Op::For | Op::Loop));
        }
        if is_in_loop && is_small(func, id) {
            for arm in func.inst(id).regions.clone() {
                let insts = &mut func.regions[arm.index()].insts;
                let end = insts.len() - 1;
                changed |= end > 0;
                out.extend(insts.drain(..end));
            }
        }
        out.push(id);
    }
    func.regions[region.index()].insts = out;
    changed
}

fn is_small(func: &Function, id: InstId) -> bool {
    let inst = func.inst(id);
    let arms = || inst.regions.iter().flat_map(|&region| func.region(region).insts.split_last());
    let yields = arms().all(|(&end, _)| func.inst(end).op == Op::Yield);
    let n_insts: usize = arms().map(|(_, insts)| insts.len()).sum();
    let is_cheap = |&id: &InstId| {
        let inst = func.inst(id);
        let is_empty = inst.regions.iter().all(|&region| func.region(region).insts.len() == 1);
        match inst.op {
            // One whose arms were emptied.
            Op::If => is_empty,
            Op::Div | Op::Rem | Op::FloorDiv | Op::Mod | Op::Sqrt | Op::MatMul => false,
            op => op.effect() == Effect::Pure,
        }
    };
    inst.op == Op::If && yields && n_insts <= MAX_INSTS && arms().all(|(_, insts)| insts.iter().all(is_cheap))
}
