//! How the lanes of a gang reach memory: what decides between one wide load, shuffles and a gather.

use crate::uniformity::{Lanes, Uniformity, is_dynamic};
use ir::{Function, InstId};

/// Where the lanes of one memory op lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// In an array that each thread has for itself; whether all lanes access the same element of theirs.
    Own { is_same: bool },
    /// All lanes at one address.
    Uniform,
    /// Neighboring lanes in neighboring elements (the piece accessed may still be smaller than its element).
    Unit,
    /// Neighboring lanes this many elements apart.
    Strided(i64),
    /// Anywhere.
    Gather,
}

/// Classifies a load, store or atomic. `is_contiguous`: the last dimension of every array is densely packed.
pub fn classify(func: &Function, uniformity: &Uniformity, inst: InstId, is_contiguous: bool) -> Access {
    let inst = func.inst(inst);
    let Some((_, rank)) = func.ty(inst.operands[0]).as_array() else { return Access::Gather };
    let (array, indices, path_indices, _) = inst.access(rank as usize);
    let is_uniform = |value| uniformity.is_uniform(value);
    if uniformity.own().is_own(array) {
        return Access::Own { is_same: indices.iter().chain(path_indices).copied().all(is_uniform) };
    }
    if !is_uniform(array) || is_dynamic(inst.path()) && !path_indices.iter().copied().all(is_uniform) {
        return Access::Gather;
    }
    let Some((&last, leading)) = indices.split_last() else { return Access::Uniform };
    if !leading.iter().copied().all(is_uniform) {
        return Access::Gather;
    }
    match uniformity.lanes(last) {
        Lanes::Uniform => Access::Uniform,
        Lanes::Affine(1) if is_contiguous => Access::Unit,
        Lanes::Affine(step) if is_contiguous => Access::Strided(step),
        _ => Access::Gather,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Op;

    fn classes(text: &str) -> Vec<Access> {
        let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        let func = &module.funcs[0];
        let lanes = crate::uniformity(func, 0);
        let accesses = func.region(func.body).insts.iter().copied();
        let accesses = accesses.filter(|&id| matches!(func.inst(id).op, Op::Load | Op::Store));
        accesses.map(|id| classify(func, &lanes, id, true)).collect()
    }

    #[test]
    fn each_class_is_told_apart() {
        let found = classes(
            "kernel @f(v0: array<vec<f32, 3>, 1>, v1: array<i64, 1>, v2: array<f32, 2>) {
               v3: i64 = tid 0
               v4: i64 = const 2
               v5: f32 = load v0[v3].1
               v6: i64 = mul v3, v4
               v7: i64 = load v1[v6]
               v8: f32 = load v2[v4, v4]
               v9: f32 = load v2[v3, v4]
               v10: f32 = load v2[v4, v7]
               return
             }",
        );
        assert_eq!(found, [Access::Unit, Access::Strided(2), Access::Uniform, Access::Gather, Access::Gather]);
    }
}
