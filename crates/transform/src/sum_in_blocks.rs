//! Sums up in shared memory what the threads of a block add to a small array, for GPUs: one atomic operation a block
//! and element is left of those that meet in global memory.
//!
//! In: a kernel over threads, the rank of its launches, and the parameters that are small arrays. Out: the same for
//! blocks that are there all the time, with ops over blocks. Their threads take every index that is a grid apart.
//!
//! ```text
//! v3: i32 = atomic add v0[v2], v1    ->    t = shared_array; each thread stores 0 to its part of t; barrier
//!                                          for i = this thread to all threads step the grid { atomic add t[v2], v1 }
//!                                          barrier; each thread adds its part of t to v0
//! ```
//!
//! Legal for arrays that are used for atomics only whose results nobody uses, and which share memory with no other
//! array of the launch: the order in which threads reach an element is free. Sums of floats add up in another order
//! each run, as they do without this.
//!
//! Several indices at a time read what they need before any of them writes, so that reads are on their way together.

mod emit;
mod in_grid;

use crate::Changed;
use crate::exits::{all, is_loop};
use crate::unify_returns;
use emit::Emit;
pub use in_grid::{grid_sums, sum_in_grid};
use ir::op::Effect;
use ir::{AtomicOp, Attr, Function, FunctionKind, Inst, InstId, LeafKind, Op, Scalar, Type, Value};

/// Words of shared memory that a block has for this.
const MAX_WORDS: u64 = 4096;

/// Indices at a time, of bodies with at most so many instructions.
const AT_A_TIME: [(usize, usize); 2] = [(4, 32), (2, 64)];

/// Elements that each of `n` arrays of a type may have.
pub fn capacity(elem: Type, n: usize) -> u64 {
    MAX_WORDS / (n.next_power_of_two() as u64 * elem.n_leaves().max(1) as u64)
}

/// The parameters that may be summed up in blocks, where they are small.
pub fn summed_arrays(func: &Function) -> Vec<usize> {
    if !may_sum(func) {
        return Vec::new();
    }
    let insts = all(func, func.body, |_| true);
    let params = &func.region(func.body).params;
    (0..params.len()).filter(|&param| Sum::of(func, &insts, param).is_some()).collect()
}

/// Whether threads of a kernel may take several indices each, and what they add be kept for later.
fn may_sum(func: &Function) -> bool {
    let hides_an_array = |ty: Type| !ty.is_array() && ty.leaves().iter().any(|leaf| leaf.kind == LeafKind::Pointer);
    if func.kind != FunctionKind::Kernel || func.params.iter().any(|param| hides_an_array(param.ty)) {
        return false;
    }
    let insts = all(func, func.body, |_| true);
    insts.iter().any(|&id| func.inst(id).op == Op::Atomic) && insts.iter().all(|&id| is_free(func, id))
}

/// Those of [`summed_arrays`] whose sums are the same in any order and begin at 0, and the operation.
pub fn exact_sums(func: &Function) -> Vec<(usize, AtomicOp)> {
    let insts = all(func, func.body, |_| true);
    let sums = summed_arrays(func).into_iter().filter_map(|param| Some((param, Sum::of(func, &insts, param)?)));
    sums.filter(|(_, sum)| sum.elem.element().is_some_and(Scalar::is_int))
        .map(|(param, sum)| (param, sum.op))
        .filter(|(_, op)| matches!(op, AtomicOp::Add | AtomicOp::Or | AtomicOp::Xor))
        .collect()
}

/// Sums up in blocks what is added to the arrays of which `wanted` has a bit, by number of the parameter.
pub fn sum_in_blocks(func: &mut Function, rank: u32, wanted: u64) -> Changed {
    let is_wanted = |param: &usize| *param < 64 && wanted >> param & 1 == 1;
    let params: Vec<usize> = summed_arrays(func).into_iter().filter(is_wanted).collect();
    if params.is_empty() {
        return Changed(false);
    }
    let _ = unify_returns(func);
    if func.terminator(func.body).is_none_or(|end| func.inst(end).op != Op::Return) {
        return Changed(false);
    }
    let insts = all(func, func.body, |_| true);
    let sums: Vec<Sum> = params.into_iter().filter_map(|param| Sum::of(func, &insts, param)).collect();
    let n_at_a_time = at_a_time(func, &insts);
    Emit::new(func, rank.max(1), &sums).kernel(&sums, n_at_a_time);
    Changed(true)
}

/// An array that is summed up in blocks.
struct Sum {
    array: Value,
    elem: Type,
    rank: u32,
    /// How a block's part is joined with the rest.
    op: AtomicOp,
    atomics: Vec<InstId>,
}

impl Sum {
    /// `None` where a parameter is no such array.
    fn of(func: &Function, insts: &[InstId], param: usize) -> Option<Sum> {
        let array = func.region(func.body).params[param];
        let (elem, rank) = func.ty(array).as_array()?;
        let scalar = elem.element().filter(|scalar| matches!(scalar, Scalar::I32 | Scalar::U32 | Scalar::F32))?;
        let (mut atomics, mut op) = (Vec::new(), None);
        for &id in insts {
            let inst = func.inst(id);
            let place = inst.operands.iter().position(|&operand| operand == array);
            match (place, inst.op) {
                (None, _) | (Some(0), Op::Extent | Op::WrapIndex) => {}
                (Some(0), Op::Atomic) => {
                    let joined = joined(inst, scalar)?;
                    if *op.get_or_insert(joined) != joined || is_used(func, insts, inst.result()) {
                        return None;
                    }
                    atomics.push(id);
                }
                _ => return None,
            }
        }
        Some(Sum { array, elem, rank, op: op?, atomics })
    }
}

/// The operation that joins a block's part with the rest.
fn joined(inst: &Inst, scalar: Scalar) -> Option<AtomicOp> {
    let Attr::Atomic(op, _) = inst.attr else { return None };
    match op {
        AtomicOp::Add | AtomicOp::Sub => Some(AtomicOp::Add),
        AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor if scalar.is_int() => Some(op),
        _ => None,
    }
}

fn is_used(func: &Function, insts: &[InstId], value: Value) -> bool {
    insts.iter().any(|&id| func.inst(id).operands.contains(&value))
}

/// Whether an instruction may run for any index in any thread.
fn is_free(func: &Function, id: InstId) -> bool {
    let op = func.inst(id).op;
    match op.effect() {
        Effect::Pure => !op.is_over_blocks(),
        Effect::Read | Effect::Write => true,
        Effect::Check | Effect::Sync | Effect::Print => false,
        Effect::Control => {
            matches!(op, Op::If | Op::For | Op::Loop | Op::Yield | Op::Continue | Op::Break | Op::Return)
        }
    }
}

/// How many indices a thread takes at a time: one where that would need many registers, or change the order of what is
/// written and read.
fn at_a_time(func: &Function, insts: &[InstId]) -> usize {
    let is_simple = |&id: &InstId| !is_loop(func.inst(id).op) && !matches!(func.inst(id).op, Op::Store | Op::AtomicCas);
    if !insts.iter().all(is_simple) {
        return 1;
    }
    AT_A_TIME.iter().find(|&&(_, most)| insts.len() <= most).map_or(1, |&(n, _)| n)
}
