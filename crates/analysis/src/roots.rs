//! Where an array value comes from, and whether two may share memory.
//!
//! In: an array value of a kernel whose calls are inlined. Out: the parameters and local arrays that it may be a view of.

use ir::{Attr, Function, Op, Value, ValueDef};

/// Where an array comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// Parameter of the kernel, and which of the leaves of a struct.
    Param(u32, u32),
    /// A `local_array`, by its result.
    Local(Value),
    /// An array that brings its adjoint along.
    WithAdjoint,
    /// An address that was computed or loaded, or an array that a loop carries.
    Unknown,
}

/// Where the array value comes from: one root unless a condition chooses.
pub fn roots(func: &Function, array: Value) -> Vec<Root> {
    leaf_roots(func, array, 0)
}

fn has_tiles(func: &Function) -> bool {
    func.kind == ir::FunctionKind::Kernel
        && func.insts.iter().any(|inst| inst.op == Op::Each || inst.op.is_over_tiles())
}

/// As [`roots`], of the array that is a leaf of a struct.
pub fn leaf_roots(func: &Function, value: Value, leaf: u32) -> Vec<Root> {
    let mut found = Vec::new();
    collect(func, value, leaf, &mut found);
    found.sort();
    found.dedup();
    found
}

/// `leaf` is the first leaf of the value that is looked for, in `value`.
fn collect(func: &Function, value: Value, leaf: u32, found: &mut Vec<Root>) {
    match func.def(value) {
        ValueDef::Param(region, index) if region == func.body => found.push(Root::Param(index, leaf)),
        ValueDef::Param(..) => found.push(Root::Unknown),
        ValueDef::Result(id, index) => {
            let inst = func.inst(id);
            match (inst.op, &inst.attr) {
                (Op::Row | Op::Subarray, _) => collect(func, inst.operands[0], leaf, found),
                (Op::Extract, Attr::Index(part)) => {
                    let outer = func.ty(inst.operands[0]);
                    collect(func, inst.operands[0], leaf + outer.leaf_start(*part as usize) as u32, found);
                }
                (Op::WithAdjoint, _) => found.push(Root::WithAdjoint),
                (Op::Select, _) => inst.operands[1..].iter().for_each(|&arm| collect(func, arm, leaf, found)),
                (Op::LocalArray, _) => found.push(Root::Local(value)),
                // Of a kernel with tiles: a block is one thread as far as its memory is concerned.
                (Op::SharedArray, _) if has_tiles(func) => found.push(Root::Local(value)),
                (Op::If, _) => {
                    let ends = inst.regions.iter().filter_map(|&arm| func.terminator(arm)).map(|end| func.inst(end));
                    for end in ends.filter(|end| end.op == Op::Yield) {
                        collect(func, end.operands[index as usize], leaf, found);
                    }
                }
                (Op::Construct, _) => {
                    let ty = func.ty(value);
                    let part = (0..ty.n_components()).rev().find(|&part| ty.leaf_start(part) as u32 <= leaf);
                    let part = part.unwrap_or(0);
                    collect(func, inst.operands[part], leaf - ty.leaf_start(part) as u32, found);
                }
                (Op::Insert, Attr::Index(part)) => {
                    let ty = func.ty(value);
                    let first = ty.leaf_start(*part as usize) as u32;
                    let n = func.ty(inst.operands[1]).leaves().len() as u32;
                    match leaf.checked_sub(first) {
                        Some(inner) if inner < n => collect(func, inst.operands[1], inner, found),
                        _ => collect(func, inst.operands[0], leaf, found),
                    }
                }
                _ => found.push(Root::Unknown),
            }
        }
    }
}

/// What two accesses may share.
#[derive(Clone, Copy, Debug)]
pub struct Aliases {
    /// Any two parameters may be views of the same memory.
    pub params_overlap: bool,
}

impl Aliases {
    pub fn may_alias(self, a: Root, b: Root) -> bool {
        match (a, b) {
            (Root::Local(a), Root::Local(b)) => a == b,
            (Root::Local(_), _) | (_, Root::Local(_)) => false,
            (Root::Unknown | Root::WithAdjoint, _) | (_, Root::Unknown | Root::WithAdjoint) => true,
            (a, b) => a == b || self.params_overlap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_lead_to_what_they_are_views_of() {
        let text = "kernel @f(v0: array<f32, 2>, v1: struct S<n: i32, a: array<f32, 1>>, v2: bool) {
            v3: i64 = const 0
            v4: array<f32, 1> = row v0, v3 {0}
            v5: array<f32, 1> = extract v1 {1}
            v6: array<f32, 1> = local_array {4}
            v7: array<f32, 1> = if v2 { yield v4 } else { yield v6 }
            v8: array<f32, 1> = select v2, v7, v5
            v9: struct S<n: i32, a: array<f32, 1>> = insert v1, v4 {1}
            v10: array<f32, 1> = extract v9 {1}
            return
        }";
        let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let func = &module.funcs[0];
        assert_eq!(roots(func, Value(4)), [Root::Param(0, 0)]);
        assert_eq!(roots(func, Value(5)), [Root::Param(1, 1)]);
        assert_eq!(roots(func, Value(10)), [Root::Param(0, 0)]);
        assert_eq!(roots(func, Value(8)), [Root::Param(0, 0), Root::Param(1, 1), Root::Local(Value(6))]);
    }
}
