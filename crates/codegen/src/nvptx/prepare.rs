//! What is done to a kernel's IR for GPUs only, before anything is lowered.
//!
//! In: an optimized module. Out: the same, with loops in the form that a GPU runs fastest: those over the thread's own
//! arrays written out, those over all other threads without a test, what a warp reads together by way of shared memory, reads several rounds at a time and not behind
//! branches, and indices in 64 bits.

use super::PtxOptions;
use ir::{FuncRef, Function, FunctionKind, Module};
use transform::Changed;

/// A transform, and what it does to a loop in words.
pub(super) struct Step {
    run: fn(&mut Function, &PtxOptions) -> Changed,
    pub loops: Option<&'static str>,
}

/// In this order. From `stage_reads` on a kernel over threads has ops over blocks: a GPU's threads are in such anyway.
pub(super) const STEPS: [Step; 7] = [
    Step {
        run: |func, _| transform::unroll_own_arrays(func),
        loops: Some("is written out, so that the thread's own arrays are in registers"),
    },
    Step { run: split_at_thread, loops: Some("compares with the thread's index in the 256 rounds around it only") },
    Step {
        run: |func, _| transform::split_at_zero(func),
        loops: Some("runs apart where indices are negative, which count from an array's end"),
    },
    Step { run: |func, _| transform::merge_arm_loads(func), loops: None },
    Step { run: stage_reads, loops: Some("a warp reads for all of its threads, through shared memory") },
    Step { run: |func, _| transform::batch_reads(func), loops: Some("reads for several rounds at a time") },
    Step { run: |func, _| transform::widen_indices(func), loops: None },
];

pub(super) fn prepare(module: &Module, kernel: FuncRef, options: &PtxOptions) -> Module {
    let mut module = module.clone();
    if let Some(func) = module.funcs.get_mut(kernel.index()).filter(|func| !crate::x86::is_deep(func)) {
        for step in &STEPS {
            step.apply(func, options);
        }
    }
    module
}

impl Step {
    pub(super) fn apply(&self, func: &mut Function, options: &PtxOptions) {
        if !(self.run)(func, options).0 {
            return;
        }
        // What one pass reveals another may use.
        for _ in 0..2 {
            if !transform::PASSES.into_iter().fold(false, |changed, (_, pass)| pass(func).0 | changed) {
                break;
            }
        }
    }
}

/// The dimension along which neighboring threads differ.
fn last_dimension(options: &PtxOptions) -> u32 {
    options.rank.saturating_sub(1)
}

fn split_at_thread(func: &mut Function, options: &PtxOptions) -> Changed {
    match func.kind {
        FunctionKind::Kernel => transform::split_at_thread(func, last_dimension(options)),
        _ => Changed(false),
    }
}

fn stage_reads(func: &mut Function, options: &PtxOptions) -> Changed {
    match (func.kind, options.max_threads / 32) {
        (FunctionKind::Kernel, n_warps @ 1..) => {
            transform::stage_reads(func, last_dimension(options), u64::from(n_warps))
        }
        _ => Changed(false),
    }
}
