//! How often each phase of compilation ran in this process, and how long it took in all.
//!
//! In: one [`record`] per phase and kernel. Out: [`counters`], which `gridstride._native.counters()` hands to Python:
//! `generated` is the number of kernels that LLVM compiled, `ms_generated` the milliseconds it needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A phase on the way from a Python function to loaded code, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Source text and scope of a kernel and what it calls were read.
    Captured,
    /// The disk had what the front end would make.
    Recalled,
    /// The kernel was resolved, inferred and lowered to typed IR.
    Inferred,
    Optimized,
    /// LLVM made an object, or PTX.
    Generated,
    /// The driver made machine code of PTX.
    Assembled,
    /// An object came from the disk cache.
    Cached,
    /// An object was linked into this process.
    Loaded,
    /// Code loaded earlier in this process was taken again.
    Reused,
}

/// Something that went wrong with the disk cache and cost nothing but time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// An entry was truncated, altered or of another version.
    Damaged,
    /// An entry could not be written.
    Unwritten,
}

const PHASES: [(&str, &str); 9] = [
    ("captured", "ms_captured"),
    ("recalled", "ms_recalled"),
    ("inferred", "ms_inferred"),
    ("optimized", "ms_optimized"),
    ("generated", "ms_generated"),
    ("assembled", "ms_assembled"),
    ("cached", "ms_cached"),
    ("loaded", "ms_loaded"),
    ("reused", "ms_reused"),
];
const MISHAPS: [&str; 2] = ["damaged", "unwritten"];

static COUNTS: [AtomicU64; PHASES.len()] = [const { AtomicU64::new(0) }; PHASES.len()];
static NANOSECONDS: [AtomicU64; PHASES.len()] = [const { AtomicU64::new(0) }; PHASES.len()];
static MISHAP_COUNTS: [AtomicU64; MISHAPS.len()] = [const { AtomicU64::new(0) }; MISHAPS.len()];

/// Counts one kernel that went through a phase.
pub fn record(phase: Phase, time: Duration) {
    COUNTS[phase as usize].fetch_add(1, Ordering::Relaxed);
    NANOSECONDS[phase as usize].fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

/// Runs one phase of one kernel and counts it.
pub fn timed<T>(phase: Phase, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    record(phase, start.elapsed());
    result
}

pub fn record_mishap(mishap: Mishap) {
    MISHAP_COUNTS[mishap as usize].fetch_add(1, Ordering::Relaxed);
}

/// Every counter by name, in a fixed order: a count per phase, milliseconds per phase, mishaps of the cache.
pub fn counters() -> Vec<(&'static str, f64)> {
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let counts = PHASES.iter().zip(&COUNTS).map(|((name, _), count)| (*name, load(count)));
    let times = PHASES.iter().zip(&NANOSECONDS).map(|((_, name), time)| (*name, load(time) / 1e6));
    let mishaps = MISHAPS.iter().zip(&MISHAP_COUNTS).map(|(name, count)| (*name, load(count)));
    counts.chain(times).chain(mishaps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(name: &str) -> f64 {
        counters().into_iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| value)
    }

    #[test]
    fn a_phase_counts_runs_and_time() {
        let (count, time) = (counter("reused"), counter("ms_reused"));
        record(Phase::Reused, Duration::from_millis(3));
        assert!(counter("reused") >= count + 1.0);
        assert!(counter("ms_reused") >= time + 3.0);
    }
}
