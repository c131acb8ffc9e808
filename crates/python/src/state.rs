//! What every launch asks about the program, kept where asking costs nothing. The package's `config` and `_device`, and
//! the tapes, tell of changes.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static CHANGES: AtomicU64 = AtomicU64::new(0);
static FLAGS: AtomicU32 = AtomicU32::new(0);

/// Launches print a line.
pub(crate) const PRINTS: u32 = 1;
/// A tape records launches, or has values in memory that a write would destroy.
pub(crate) const TAPES: u32 = 2;
/// The default device is chosen, and it is the CPU.
pub(crate) const ON_CPU: u32 = 4;
/// An array keeps the gradient of what it holds in the end (`retain_grad`).
pub(crate) const RETAINS: u32 = 8;

/// Notes what has changed: the count of changes of settings, `config.print_launches`, whether the default device is the
/// CPU, whether an array has `retain_grad`.
#[pyfunction]
#[pyo3(signature = (*, changes=None, prints=None, on_cpu=None, retains=None))]
pub(crate) fn set_launch_state(
    changes: Option<u64>,
    prints: Option<bool>,
    on_cpu: Option<bool>,
    retains: Option<bool>,
) {
    if let Some(changes) = changes {
        CHANGES.store(changes, Ordering::Relaxed);
    }
    for (flag, value) in [(PRINTS, prints), (ON_CPU, on_cpu), (RETAINS, retains)] {
        if let Some(value) = value {
            set_flag(flag, value);
        }
    }
}

/// Notes whether any tape must hear of launches.
pub(crate) fn set_tapes(any: bool) {
    set_flag(TAPES, any);
}

fn set_flag(flag: u32, is_set: bool) {
    if is_set {
        FLAGS.fetch_or(flag, Ordering::Relaxed);
    } else {
        FLAGS.fetch_and(!flag, Ordering::Relaxed);
    }
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
