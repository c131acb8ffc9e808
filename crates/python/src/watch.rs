//! How long launches of some code take, so that those that take long let other Python threads run.
//!
//! The number of threads does not say it: one thread may loop for a second. The last launch is taken for the next one's
//! measure, and before the first nothing is known, so that it counts as long.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Taking Python's lock back from a busy thread may take its switch interval, 5 ms, so that short launches keep it.
const LONG_MICROS: u64 = 200;

#[derive(Debug)]
pub(crate) struct Watch {
    is_long: AtomicBool,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch { is_long: AtomicBool::new(true) }
    }

    /// Whether the last launch took long.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.is_long.load(Relaxed)
    }

    /// Runs a launch and measures it.
    #[inline]
    pub(crate) fn run<R>(&self, launch: impl FnOnce() -> R) -> R {
        let start = clock::now();
        let result = launch();
        let is_long = clock::now().wrapping_sub(start) >= clock::PER_MICRO * LONG_MICROS;
        if is_long != self.is_long() {
            self.is_long.store(is_long, Relaxed);
        }
        result
    }
}

/// The processor's own counter: reading the system's clock twice takes a tenth of the shortest launch.
#[cfg(target_arch = "x86_64")]
mod clock {
    /// Counters run at 2 to 4 GHz; the limit need not be exact.
    pub(super) const PER_MICRO: u64 = 3000;

    #[inline]
    pub(super) fn now() -> u64 {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod clock {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) const PER_MICRO: u64 = 1;

    pub(super) fn now() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_micros() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_long_launch_is_noticed_and_forgotten_again() {
        let watch = Watch::new();
        assert!(watch.is_long());
        watch.run(|| ());
        assert!(!watch.is_long());
        watch.run(|| std::thread::sleep(Duration::from_micros(10 * LONG_MICROS)));
        assert!(watch.is_long());
    }
}
