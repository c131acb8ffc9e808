//! What every launch asks about the program, kept where asking costs nothing. The package's `config`, `_device` and
//! `_tape` tell of changes.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static CHANGES: AtomicU64 = AtomicU64::new(0);
static FLAGS: AtomicU32 = AtomicU32::new(0);

/// Launches print a line.
pub(crate) const PRINTS: u32 = 1;
/// A tape records launches.
pub(crate) const TAPES: u32 = 2;
/// The default device is chosen, and it is the CPU.
pub(crate) const ON_CPU: u32 = 4;

/// Notes what has changed: the count of changes of settings, `config.print_launches`, whether a tape records, whether
/// the default device is the CPU.
#[pyfunction]
#[pyo3(signature = (*, changes=None, prints=None, tapes=None, on_cpu=None))]
pub(crate) fn set_launch_state(changes: Option<u64>, prints: Option<bool>, tapes: Option<bool>, on_cpu: Option<bool>) {
    if let Some(changes) = changes {
        CHANGES.store(changes, Ordering::Relaxed);
    }
    for (flag, value) in [(PRINTS, prints), (TAPES, tapes), (ON_CPU, on_cpu)] {
        match value {
            Some(true) => FLAGS.fetch_or(flag, Ordering::Relaxed),
            Some(false) => FLAGS.fetch_and(!flag, Ordering::Relaxed),
            None => continue,
        };
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
