//! Turns atomic updates of an element that only its own thread touches into plain ones.
//!
//! `y[tid()] += x` is atomic by the language's rule, yet no other thread can reach that element, nor any of a local
//! array. In: a kernel whose calls are inlined, and the rank of its launches. Out: the same kernel; such an update is a
//! load, an op and a store, which vectorize, where a locked instruction does not.
//!
//! ```text
//! v3: f32 = atomic add v1[v2], v0    ->    v3: f32 = load v1[v2]
//!                                          v4: f32 = add v3, v0
//!                                          store v1[v2], v4
//! ```
//!
//! Legal where the kernel writes one array parameter only of that scalar type, every write of it goes to the element with
//! the thread's own index in each dimension of the launch, and no array reaches the kernel inside a struct: two arrays may
//! be views of the same memory. Where the caller says that they are not, of any number of arrays, in structs too; where
//! it says that elements of one array may share memory, of local arrays only.

use crate::Changed;
use analysis::{Root, roots};
use ir::{AtomicOp, Attr, Function, FunctionKind, Inst, InstId, LeafKind, Op, Scalar, TypeKind, Value, ValueDef};

/// What in the arguments of a launch may share memory, where the kernel writes to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// An array that it writes to shares memory with no other.
    Nothing,
    /// Two arrays may.
    #[default]
    Arrays,
    /// Two elements of one array may besides: one whose stride is 0, or whose rows overlap.
    Elements,
}

/// Demotes the atomics of a kernel that is launched over `rank` dimensions.
pub fn demote_atomics(func: &mut Function, rank: u32, sharing: Sharing) -> Changed {
    demote_some(func, rank, sharing, &|_| true)
}

/// As [`demote_atomics`], of those whose result is used: what they give does not depend on the order of the threads.
pub fn demote_used_atomics(func: &mut Function, rank: u32, sharing: Sharing) -> Changed {
    let mut is_used = vec![false; func.values.len()];
    for &id in func.regions.iter().flat_map(|region| &region.insts) {
        func.inst(id).operands.iter().for_each(|value| is_used[value.index()] = true);
    }
    demote_some(func, rank, sharing, &|result| is_used[result.index()])
}

/// Whether there is something to demote in launches where no array that the kernel writes to shares memory with another.
pub fn has_distinct_atomics(func: &Function, rank: u32) -> bool {
    !private_atomics(func, rank, Sharing::Nothing).is_empty()
}

/// The atomics whose elements are reached by their own threads only.
fn private_atomics(func: &Function, rank: u32, sharing: Sharing) -> Vec<InstId> {
    let are_distinct = sharing == Sharing::Nothing;
    let hides = if are_distinct { is_out_of_sight } else { hides_an_array };
    let may_be_own = func.kind == FunctionKind::Kernel
        && sharing != Sharing::Elements
        && !func.params.iter().any(|param| hides(param.ty));
    let is_private =
        |id| is_local(func, func.inst(id).operands[0]) || may_be_own && is_private(func, id, rank, are_distinct);
    let listed = func.regions.iter().flat_map(|region| &region.insts).copied();
    listed.filter(|&id| plain_op(func.inst(id)).is_some() && is_private(id)).collect()
}

fn demote_some(func: &mut Function, rank: u32, sharing: Sharing, is_wanted: &dyn Fn(Value) -> bool) -> Changed {
    let mut private = private_atomics(func, rank, sharing);
    private.retain(|&id| is_wanted(func.inst(id).result()));
    let mut changed = false;
    for region in 0..func.regions.len() {
        let mut at = 0;
        while let Some(&id) = func.regions[region].insts.get(at) {
            at += 1;
            if private.contains(&id) {
                let n_added = demote(func, region, at - 1, id);
                at += n_added;
                changed = true;
            }
        }
    }
    Changed(changed)
}

fn hides_an_array(ty: ir::Type) -> bool {
    !ty.is_array() && ty.leaves().iter().any(|leaf| leaf.kind == LeafKind::Pointer)
}

/// Whether a parameter holds arrays that a launch does not look at when it compares what memory arrays have.
fn is_out_of_sight(ty: ir::Type) -> bool {
    match ty.kind() {
        TypeKind::Array { .. } => false,
        TypeKind::Struct(s) => s.fields.iter().any(|&(_, field)| is_out_of_sight(field)),
        _ => hides_an_array(ty),
    }
}

/// The op that an atomic applies.
fn plain_op(inst: &Inst) -> Option<Op> {
    let Attr::Atomic(op, _) = inst.attr else { return None };
    Some(match op {
        AtomicOp::Add => Op::Add,
        AtomicOp::Sub => Op::Sub,
        AtomicOp::Min => Op::Min,
        AtomicOp::Max => Op::Max,
        AtomicOp::And => Op::And,
        AtomicOp::Or => Op::Or,
        AtomicOp::Xor => Op::Xor,
        AtomicOp::Exchange => return None,
    })
}

/// Whether the element of an atomic is reached by its own thread only.
fn is_private(func: &Function, id: InstId, rank: u32, are_distinct: bool) -> bool {
    let atomic = func.inst(id);
    let array = atomic.operands[0];
    let own = origin(func, array);
    let written = scalars_written(func, atomic);
    func.insts.iter().filter(|inst| matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas)).all(|inst| {
        let other = origin(func, inst.operands[0]);
        let is_same = inst.operands[0] == array || other.is_some() && other == own;
        if !is_same && is_local(func, inst.operands[0]) {
            return true;
        }
        let overlaps = scalars_written(func, inst).iter().any(|scalar| written.contains(scalar));
        // Same bits under another type: a view may be reinterpreted, so sizes count, not names.
        if is_same { has_own_index(func, inst, rank) } else { !overlaps || are_distinct && other.is_some() }
    }) && own.is_some()
}

/// The parameter that an array is, or the one whose field it is and which.
fn origin(func: &Function, array: Value) -> Option<Root> {
    let mut value = array;
    while let ValueDef::Result(id, _) = func.def(value) {
        let inst = func.inst(id);
        if inst.op != Op::Extract {
            return None;
        }
        value = inst.operands[0];
    }
    match roots(func, array)[..] {
        [root @ Root::Param(..)] => Some(root),
        _ => None,
    }
}

fn is_local(func: &Function, array: Value) -> bool {
    // Threads of a block share what holds their tiles.
    let is_own = |value: Value| match func.def(value) {
        ValueDef::Result(inst, _) => func.inst(inst).op != Op::SharedArray,
        ValueDef::Param(..) => true,
    };
    roots(func, array).iter().all(|root| matches!(root, Root::Local(value) if is_own(*value)))
}

/// The scalar types of the elements of the array that an op writes to.
fn scalars_written(func: &Function, inst: &Inst) -> Vec<Scalar> {
    let Some((elem, _)) = func.ty(inst.operands[0]).as_array() else { return Scalar::ALL.to_vec() };
    let leaves = elem.leaves().into_iter();
    leaves.filter_map(|leaf| if let LeafKind::Scalar(scalar) = leaf.kind { Some(scalar) } else { None }).collect()
}

/// Whether an access names the thread's own index in every dimension of the launch, so that no other thread reaches the
/// element by the like.
pub fn has_own_index(func: &Function, inst: &Inst, rank: u32) -> bool {
    let TypeKind::Array { rank: n, .. } = *func.ty(inst.operands[0]).kind() else { return false };
    let (array, indices, _, _) = inst.access(n as usize);
    let mut all = indices.to_vec();
    add_rows(func, array, &mut all);
    (0..rank).all(|dim| all.iter().any(|&index| own_dimension(func, index) == Some(dim)))
}

/// Adds the indices of the rows that an array is.
fn add_rows(func: &Function, array: Value, indices: &mut Vec<Value>) {
    if let ValueDef::Result(id, _) = func.def(array)
        && let inst = func.inst(id)
        && inst.op == Op::Row
    {
        indices.extend(&inst.operands[1..]);
        add_rows(func, inst.operands[0], indices);
    }
}

/// The dimension of the launch whose thread index a value is.
fn own_dimension(func: &Function, value: Value) -> Option<u32> {
    let ValueDef::Result(inst, _) = func.def(value) else { return None };
    let inst = func.inst(inst);
    match inst.op {
        Op::Tid => {
            if let Attr::Index(dim) = inst.attr {
                Some(dim)
            } else {
                None
            }
        }
        // Thread indices fit 32 bits, so widening and narrowing keep them.
        Op::Cast if func.ty(value).as_scalar().is_some_and(|to| to.is_int() && to.size() >= 4) => {
            own_dimension(func, inst.operands[0])
        }
        Op::WrapIndex => own_dimension(func, inst.operands[1]),
        _ => None,
    }
}

/// Replaces the atomic at `at` by load, op, store; gives how many ops were added.
fn demote(func: &mut Function, region: usize, at: usize, id: InstId) -> usize {
    let atomic = func.inst(id).clone();
    let (Some(op), Attr::Atomic(_, path)) = (plain_op(&atomic), atomic.attr.clone()) else { return 0 };
    let Some((&value, access)) = atomic.operands.split_last() else { return 0 };
    let old = atomic.result();
    let ty = func.ty(old);
    let apply = func.add_inst(op, &[old, value], Attr::None, &[], &[ty], atomic.span);
    let new = func.inst(apply).result();
    let store = func.add_inst(Op::Store, &[access, &[new]].concat(), Attr::Path(path.clone()), &[], &[], atomic.span);
    let load = &mut func.insts[id.index()];
    load.op = Op::Load;
    load.operands.pop();
    load.attr = Attr::Path(path);
    func.regions[region].insts.splice(at + 1..at + 1, [apply, store]);
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, rank: u32) -> String {
        check_of(text, rank, Sharing::Arrays)
    }

    fn check_of(text: &str, rank: u32, sharing: Sharing) -> String {
        let mut module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        let changed = demote_atomics(&mut module.funcs[0], rank, sharing);
        assert!(ir::verify::verify(&module).is_ok(), "{module}");
        let text = module.to_string();
        assert_eq!(changed.0, !text.contains("atomic"), "{text}");
        text
    }

    #[test]
    fn an_update_of_the_own_element_becomes_plain() {
        let text = check(
            "kernel @f(v0: f32, v1: array<f32, 1>) { v2: i64 = tid 0; v3: f32 = atomic add v1[v2], v0; return }",
            1,
        );
        assert!(text.contains("v4: f32 = add v3, v0") && text.contains("store v1[v2], v4"), "{text}");
    }

    #[test]
    fn an_update_of_elements_that_share_memory_stays_atomic() {
        let text = "kernel @f(v0: f32, v1: array<f32, 1>) { v2: i64 = tid 0; v3: f32 = atomic add v1[v2], v0; return }";
        assert!(check_of(text, 1, Sharing::Elements).contains("atomic"));
    }

    #[test]
    fn an_update_of_a_shared_element_stays_atomic() {
        check(
            "kernel @f(v0: f32, v1: array<f32, 1>) { v2: i64 = const 0; v3: f32 = atomic add v1[v2], v0; return }",
            1,
        );
        // One index of a launch over two dimensions: a row of threads shares the element.
        check("kernel @f(v0: f32, v1: array<f32, 1>) { v2: i64 = tid 0; v3: f32 = atomic add v1[v2], v0; return }", 2);
    }

    #[test]
    fn an_update_of_a_local_array_becomes_plain() {
        let text = check(
            "kernel @f(v0: f32, v1: array<f32, 1>, v2: struct S<a: array<f32, 1>>) {
               v3: i64 = const 0
               v4: array<f32, 2> = local_array {2, 2}
               v5: array<f32, 1> = row v4, v3 {0}
               v6: f32 = atomic add v5[v3], v0
               store v1[v3], v6
               return
             }",
            1,
        );
        assert!(text.contains("store v5[v3], v"), "{text}");
    }

    #[test]
    fn arrays_of_a_struct_are_told_apart_where_they_are_distinct() {
        let text = "kernel @f(v0: f32, v1: struct S<a: array<f32, 1>, n: i64, b: array<f32, 1>>, v2: i64) {
            v3: i64 = tid 0
            v4: array<f32, 1> = extract v1 {0}
            v5: array<f32, 1> = extract v1 {2}
            v6: f32 = atomic add v4[v3], v0
            v7: array<f32, 1> = extract v1 {2}
            store v7[v3], v6
            v8: f32 = atomic sub v5[v3], v0
            return
        }";
        assert!(check_of(text, 1, Sharing::Nothing).contains("store v4[v3]"));
        assert!(check_of(text, 1, Sharing::Arrays).contains("atomic"));
        let elsewhere = text.replace("store v7[v3]", "store v7[v2]");
        let mut module = ir::parse::parse_module(&elsewhere).unwrap_or_else(|error| panic!("{error:?}"));
        assert!(demote_atomics(&mut module.funcs[0], 1, Sharing::Nothing).0);
        let text = module.to_string();
        assert!(!text.contains("atomic add") && text.contains("atomic sub v5[v3]"), "{text}");
    }

    #[test]
    fn a_row_of_the_own_index_is_own() {
        let text = "kernel @f(v0: f32, v1: array<f32, 2>, v2: i64) {
            v3: i64 = tid 0
            v4: array<f32, 1> = row v1, v3 {0}
            v5: array<f32, 1> = row v1, v2 {0}
            store v4[v2], v0
            store v5[v2], v0
            return
        }";
        let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
        let func = &module.funcs[0];
        let found = func.insts.iter().filter(|inst| inst.op == Op::Store);
        assert_eq!(found.map(|inst| has_own_index(func, inst, 1)).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_second_array_of_the_type_keeps_both_atomic() {
        let text = "kernel @f(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
            v3: i64 = tid 0
            v4: f32 = atomic add v1[v3], v0
            store v2[v3], v0
            return
        }";
        check(text, 1);
    }
}
