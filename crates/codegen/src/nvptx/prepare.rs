//! What is done to a kernel's IR for GPUs only, before anything is lowered.
//!
//! In: an optimized module. Out: the same, with loops in the form that a GPU runs fastest: those over the thread's own
//! arrays written out, those over all other threads without a test, for two threads at once, what a warp reads together
//! by way of shared memory, reads several rounds at a time and not behind branches, indices in 64 bits, and neighbors'
//! stores of vectors and sums at one place a warp at a time. `each` becomes loops of the block's threads.

use super::{PtxOptions, exact};
use ir::{FuncRef, Function, FunctionKind, Module};
use transform::{Changed, jam_threads};

/// A transform, and what it does in words.
pub(super) struct Step {
    run: fn(&mut Function, &Target) -> Changed,
    pub says: Says,
}

pub(super) enum Says {
    Nothing,
    /// What it does to a loop: where it does, there are more loops afterwards.
    Loop(&'static str),
    /// That threads run several of the launch.
    Jams,
    /// That blocks stay and sum up what their threads add to small arrays.
    SumsInBlocks,
    /// That warps store their threads' vectors together.
    StoresInWarps,
}

/// What the transforms may rely on.
pub(super) struct Target<'a> {
    pub options: &'a PtxOptions,
    pub fast_math: bool,
}

const SETTLE_HOST: Step = Step { run: |func, _| transform::settle_host(func, false), says: Says::Nothing };
const UNROLL_OWN_ARRAYS: Step = Step {
    run: |func, _| transform::unroll_own_arrays(func),
    says: Says::Loop("is written out, so that the thread's own arrays are in registers"),
};
const SPLIT_AT_ZERO: Step = Step {
    run: |func, _| transform::split_at_zero(func),
    says: Says::Loop("runs apart where indices are negative, which count from an array's end"),
};
const MERGE_ARM_LOADS: Step = Step { run: |func, _| transform::merge_arm_loads(func), says: Says::Nothing };
const FLATTEN_ARMS: Step = Step { run: |func, _| transform::flatten_arms(func), says: Says::Nothing };
const BATCH_READS: Step = Step { run: batch_reads, says: Says::Loop("reads for several rounds at a time") };
const WIDEN_INDICES: Step = Step { run: |func, _| transform::widen_indices(func), says: Says::Nothing };

/// In this order. From `stage_reads` on a kernel over threads has ops over blocks: a GPU's threads are in such anyway.
pub(super) const STEPS: [Step; 13] = [
    SETTLE_HOST,
    UNROLL_OWN_ARRAYS,
    Step {
        run: split_at_thread,
        says: Says::Loop("compares with the thread's index in the 256 rounds around it only"),
    },
    SPLIT_AT_ZERO,
    MERGE_ARM_LOADS,
    FLATTEN_ARMS,
    Step { run: jam, says: Says::Jams },
    Step { run: stage_reads, says: Says::Loop("a warp reads for all of its threads, through shared memory") },
    BATCH_READS,
    WIDEN_INDICES,
    Step { run: sum_in_blocks, says: Says::SumsInBlocks },
    Step { run: store_in_warps, says: Says::StoresInWarps },
    Step { run: sum_in_warps, says: Says::Nothing },
];

/// In place of those, for kernels whose sums are to be the same in every run: first what leaves a kernel over threads.
pub(super) const BEFORE_SUMS_IN_GRID: [Step; 7] =
    [SETTLE_HOST, UNROLL_OWN_ARRAYS, SPLIT_AT_ZERO, MERGE_ARM_LOADS, FLATTEN_ARMS, BATCH_READS, WIDEN_INDICES];

/// The module for a GPU.
pub(super) struct Prepared {
    pub module: Module,
    /// How many threads of the launch a thread of its kernel runs.
    pub n_jammed: u32,
    /// Its blocks stay and take all threads of the launch in turn.
    pub is_resident: bool,
    /// How many of those a thread of theirs takes at a time: blocks that would take fewer are not worth their start.
    pub n_at_a_time: u32,
    /// Its blocks work on what its threads hold together.
    pub has_each: bool,
}

pub(super) fn prepare(module: &Module, kernel: FuncRef, options: &PtxOptions) -> Prepared {
    let mut prepared =
        Prepared { module: module.clone(), n_jammed: 1, is_resident: false, n_at_a_time: 1, has_each: false };
    let target = Target { options, fast_math: module.fast_math };
    let func = prepared.module.funcs.get_mut(kernel.index()).filter(|func| !crate::plan::is_deep(func));
    let Some(func) = func else { return prepared };
    if transform::spread_each(func, |b| transform::threads_of_block(b, last_dimension(options))).0 {
        prepared.has_each = true;
        return prepared;
    }
    if let Some(n_at_a_time) = sum_in_grid(func, &target) {
        (prepared.is_resident, prepared.n_at_a_time) = (true, n_at_a_time);
        return prepared;
    }
    for step in &STEPS {
        if step.apply(func, &target) {
            match step.says {
                Says::Jams => prepared.n_jammed = jam_threads::WIDTH,
                Says::SumsInBlocks => prepared.is_resident = true,
                Says::Nothing | Says::Loop(_) | Says::StoresInWarps => {}
            }
        }
    }
    prepared
}

/// Whether threads of a kernel run several of the launch, where there are enough.
pub fn jams(module: &Module, kernel: FuncRef, options: &PtxOptions) -> bool {
    prepare(module, kernel, options).n_jammed > 1
}

impl Step {
    /// Whether anything changed.
    pub(super) fn apply(&self, func: &mut Function, target: &Target) -> bool {
        if !(self.run)(func, target).0 {
            return false;
        }
        settle(func);
        true
    }
}

/// What one pass reveals another may use.
fn settle(func: &mut Function) {
    for _ in 0..2 {
        if !transform::PASSES.into_iter().fold(false, |changed, (_, pass)| pass(func).0 | changed) {
            break;
        }
    }
}

/// The dimension along which neighboring threads differ.
fn last_dimension(options: &PtxOptions) -> u32 {
    options.rank.saturating_sub(1)
}

fn split_at_thread(func: &mut Function, target: &Target) -> Changed {
    match func.kind {
        FunctionKind::Kernel => transform::split_at_thread(func, last_dimension(target.options)),
        _ => Changed(false),
    }
}

fn jam(func: &mut Function, target: &Target) -> Changed {
    match func.kind {
        FunctionKind::Kernel if !target.options.few_threads && !target.options.is_function => {
            transform::jam_threads(func, last_dimension(target.options))
        }
        _ => Changed(false),
    }
}

fn batch_reads(func: &mut Function, target: &Target) -> Changed {
    transform::batch_reads(func, !target.fast_math && exact::is_checked(target.options.sm))
}

/// Whether blocks add up what all threads add to one place, in order.
pub(super) fn sums_in_grid(func: &Function, target: &Target) -> bool {
    target.options.in_order && !transform::grid_sums(func).is_empty()
}

/// As `transform::sum_in_grid`. What launches give the kernel depends on whether it was such a one to begin with.
fn sum_in_grid(func: &mut Function, target: &Target) -> Option<u32> {
    let PtxOptions { rank, max_threads, .. } = *target.options;
    if !sums_in_grid(func, target) {
        return None;
    }
    let plain = func.clone();
    for step in &BEFORE_SUMS_IN_GRID {
        step.apply(func, target);
    }
    if transform::grid_sums(func) != transform::grid_sums(&plain) {
        *func = plain;
    }
    let n_at_a_time = transform::sum_in_grid(func, rank, max_threads)?;
    settle(func);
    if transform::sum_integers_in_warps(func, rank).0 {
        settle(func);
    }
    Some(n_at_a_time)
}

fn sum_in_blocks(func: &mut Function, target: &Target) -> Changed {
    let options = target.options;
    match options.summed {
        1.. if options.contiguous && !options.is_function => {
            transform::sum_in_blocks(func, options.rank, options.summed)
        }
        _ => Changed(false),
    }
}

/// Where all arrays are without gaps, and blocks are of whole warps.
fn store_in_warps(func: &mut Function, target: &Target) -> Changed {
    let PtxOptions { contiguous, max_threads, is_function, rank, .. } = *target.options;
    if contiguous && max_threads > 0 && max_threads.is_multiple_of(32) && !is_function {
        transform::store_in_warps(func, rank)
    } else {
        Changed(false)
    }
}

fn sum_in_warps(func: &mut Function, target: &Target) -> Changed {
    match (func.kind, target.options.max_threads / 32) {
        (FunctionKind::Kernel, 1..) => transform::sum_in_warps(func, target.options.rank),
        _ => Changed(false),
    }
}

fn stage_reads(func: &mut Function, target: &Target) -> Changed {
    match (func.kind, target.options.max_threads / 32) {
        (FunctionKind::Kernel, n_warps @ 1..) if !target.options.is_function => {
            transform::stage_reads(func, last_dimension(target.options), u64::from(n_warps))
        }
        _ => Changed(false),
    }
}
