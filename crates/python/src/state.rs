//! What every launch asks about the program, kept where asking costs nothing. The package's `config` and `_device`, and
//! the tapes, tell of changes.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

static CHANGES: AtomicU64 = AtomicU64::new(0);
static FLAGS: AtomicU32 = AtomicU32::new(0);
static CUDA: AtomicI32 = AtomicI32::new(-1);

/// Launches print a line.
pub(crate) const PRINTS: u32 = 1;
/// A tape records launches, or has values in memory that a write would destroy.
pub(crate) const TAPES: u32 = 2;
/// The default device is chosen, and it is the CPU.
pub(crate) const ON_CPU: u32 = 4;
/// An array keeps the gradient of what it holds in the end (`retain_grad`).
pub(crate) const RETAINS: u32 = 8;
/// A graph is being captured.
pub(crate) const CAPTURES: u32 = 16;
/// Launches on a GPU are waited for, `config.verify_cuda`.
pub(crate) const VERIFIES: u32 = 32;
/// A launch on the CPU may say how many threads a block has, `config.enable_cpu_blocks`.
pub(crate) const BLOCKS: u32 = 64;

/// Notes what has changed: the count of changes of settings, `config.print_launches`, whether the default device is the
/// CPU, whether an array has `retain_grad`, the number of the CUDA device that is the default one (-1: none),
/// `config.verify_cuda`, `config.enable_cpu_blocks`.
#[pyfunction]
#[pyo3(signature = (*, changes=None, prints=None, on_cpu=None, retains=None, cuda=None, verifies=None, blocks=None))]
pub(crate) fn set_launch_state(
    changes: Option<u64>,
    prints: Option<bool>,
    on_cpu: Option<bool>,
    retains: Option<bool>,
    cuda: Option<i32>,
    verifies: Option<bool>,
    blocks: Option<bool>,
) {
    if let Some(changes) = changes {
        CHANGES.store(changes, Ordering::Relaxed);
    }
    if let Some(cuda) = cuda {
        CUDA.store(cuda, Ordering::Relaxed);
    }
    let flags = [(PRINTS, prints), (ON_CPU, on_cpu), (RETAINS, retains), (VERIFIES, verifies), (BLOCKS, blocks)];
    for (flag, value) in flags {
        if let Some(value) = value {
            set_flag(flag, value);
        }
    }
}

/// Notes whether any tape must hear of launches.
pub(crate) fn set_tapes(any: bool) {
    set_flag(TAPES, any);
}

pub(crate) fn set_flag(flag: u32, is_set: bool) {
    if is_set {
        FLAGS.fetch_or(flag, Ordering::Relaxed);
    } else {
        FLAGS.fetch_and(!flag, Ordering::Relaxed);
    }
}

/// The number of the CUDA device that is the default device.
#[inline]
pub(crate) fn default_cuda() -> Option<u32> {
    u32::try_from(CUDA.load(Ordering::Relaxed)).ok()
}

/// The count of changes of settings.
#[inline]
pub(crate) fn stamp() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

#[inline]
pub(crate) fn flags() -> u32 {
    FLAGS.load(Ordering::Relaxed)
}
