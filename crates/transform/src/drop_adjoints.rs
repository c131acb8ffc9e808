//! Drops what only differentiating asks for, from IR that will run.
//!
//! ```text
//! v3: array<f32, 1> = with_adjoint v1, v2    ->    v1 in the place of v3
//! ```

use crate::Changed;
use crate::replace::Replacements;
use ir::{Function, Op};

pub fn drop_adjoints(func: &mut Function) -> Changed {
    let mut replacements = Replacements::default();
    for region in 0..func.regions.len() {
        let mut insts = std::mem::take(&mut func.regions[region].insts);
        insts.retain(|&id| {
            let inst = func.inst(id);
            if inst.op == Op::WithAdjoint {
                replacements.set(inst.result(), inst.operands[0]);
            }
            inst.op != Op::WithAdjoint
        });
        func.regions[region].insts = insts;
    }
    replacements.apply(func);
    Changed(!replacements.is_empty())
}
