//! Settles which arrays have memory, for launches that leave some out.
//!
//! ```text
//! v3: bool = is_null v1      ->    v3: bool = const true
//! check_bounds v0[v2]        ->
//! ```
//!
//! In: a kernel that calls nothing any more, and which arrays among its arguments have no memory: a bit for each, in the
//! order in which they lie there. Out: the same; only accesses to what has none are still checked. The other passes then
//! remove branches that are never taken, so that most kernels have no check left.

use crate::Changed;
use ir::{Attr, Const, Function, LeafKind, Op, Scalar, Type, Value, ValueDef};

pub fn settle_nulls(func: &mut Function, nulls: u64) -> Changed {
    let mut changed = false;
    for region in 0..func.regions.len() {
        let mut insts = std::mem::take(&mut func.regions[region].insts);
        insts.retain(|&id| {
            let inst = func.inst(id);
            if !matches!(inst.op, Op::IsNull | Op::CheckBounds) {
                return true;
            }
            let Some(number) = number(func, inst.operands[0]).filter(|&number| number < u64::BITS) else { return true };
            let is_null = nulls >> number & 1 == 1;
            if inst.op == Op::CheckBounds {
                changed |= !is_null;
                return is_null;
            }
            let inst = &mut func.insts[id.index()];
            (inst.op, inst.attr) = (Op::Const, Attr::Const(Const::int(Scalar::Bool, is_null.into())));
            inst.operands.clear();
            changed = true;
            true
        });
        func.regions[region].insts = insts;
    }
    Changed(changed)
}

/// The number of an argument's array, or of one inside an argument.
fn number(func: &Function, array: Value) -> Option<u32> {
    match func.def(array) {
        ValueDef::Param(region, index) if region == func.body => {
            let before = &func.region(region).params[..index as usize];
            Some(before.iter().map(|&param| n_arrays(func.ty(param))).sum())
        }
        ValueDef::Result(id, _) if func.inst(id).op == Op::Extract => {
            let inst = func.inst(id);
            let (whole, Attr::Index(index)) = (inst.operands[0], &inst.attr) else { return None };
            let before = (0..*index as usize).filter_map(|i| func.ty(whole).component(i)).map(n_arrays);
            Some(number(func, whole)? + before.sum::<u32>())
        }
        _ => None,
    }
}

fn n_arrays(ty: Type) -> u32 {
    ty.leaves().iter().filter(|leaf| leaf.kind == LeafKind::Pointer).count() as u32
}
