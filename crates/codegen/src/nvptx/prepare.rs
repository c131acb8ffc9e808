//! What is done to a kernel's IR for GPUs only, before anything is lowered.
//!
//! In: an optimized module. Out: the same, with loops in the form that a GPU runs fastest: short ones over the
//! components of vectors written out, those over all other threads without a test, reads several rounds at a time and
//! not behind branches, and indices in 64 bits.

use super::PtxOptions;
use ir::{FuncRef, Function, FunctionKind, Module};

pub(super) fn prepare(module: &Module, kernel: FuncRef, options: &PtxOptions) -> Module {
    let mut module = module.clone();
    let Some(func) = module.funcs.get_mut(kernel.index()) else { return module };
    if crate::x86::is_deep(func) {
        return module;
    }
    if transform::unroll_loops(func).0 {
        // Each pass makes constants for the others.
        clean(func, 3);
    }
    if func.kind == FunctionKind::Kernel && transform::split_at_thread(func, options.rank.saturating_sub(1)).0 {
        clean(func, 2);
    }
    if transform::split_at_zero(func).0 {
        clean(func, 2);
    }
    if transform::merge_arm_loads(func).0 {
        clean(func, 1);
    }
    if func.kind == FunctionKind::Kernel {
        // From here on it has ops over blocks: the threads of the GPU are in such anyway.
        let n_warps = u64::from(options.max_threads / 32);
        if transform::stage_reads(func, options.rank.saturating_sub(1), n_warps).0 {
            clean(func, 1);
        }
    }
    if transform::batch_reads(func).0 {
        clean(func, 1);
    }
    if transform::widen_indices(func).0 {
        clean(func, 1);
    }
    module
}

fn clean(func: &mut Function, rounds: usize) {
    for _ in 0..rounds {
        let mut changed = false;
        for (_, pass) in transform::PASSES {
            changed |= pass(func).0;
        }
        if !changed {
            break;
        }
    }
}
