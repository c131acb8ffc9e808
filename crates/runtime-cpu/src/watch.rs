//! How long launches of some code take: whether one is over before a worker could join it, and whether it takes so long
//! that other Python threads should run meanwhile.
//!
//! The number of threads does not say it: one thread may loop for a second. The launch measured last is the measure for
//! the next one, in proportion where that has more threads; what workers of the pool shared counts as if one thread had
//! done all. Before the first nothing is known, so that it counts as long.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Taking Python's lock back from a busy thread may take its switch interval, 5 ms, so that short launches keep it.
const LONG_MICROS: u64 = 200;

/// From here on the pool looks for help.
const TINY_MICROS: u64 = 2;

/// A look at the clock takes a tenth of the shortest launch: after so many tiny ones in a row every eighth is measured.
const TRUSTED: u32 = 16;
const MEASURED_EVERY: u32 = 8;

/// What to expect of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Not worth a second thread.
    Tiny,
    Short,
    /// Other Python threads should run meanwhile.
    Long,
}

/// What was measured of some code.
#[derive(Debug)]
pub struct Watch {
    /// Of the launch measured last: ticks of the clock in the high half, threads in the low half.
    last: AtomicU64,
    /// Tiny launches in a row.
    streak: AtomicU32,
}

/// Nothing measured yet.
impl Default for Watch {
    fn default() -> Watch {
        Watch { last: AtomicU64::new(u64::MAX), streak: AtomicU32::new(0) }
    }
}

impl Watch {
    /// Ticks that a launch is expected to take without workers.
    #[inline]
    fn ticks(&self, n_threads: i64) -> u64 {
        let last = self.last.load(Relaxed);
        let (ticks, n_last, n) = (last >> 32, last & u64::from(u32::MAX), n_threads.unsigned_abs());
        if n <= n_last { ticks } else { ticks.saturating_mul(n) / n_last.max(1) }
    }

    /// The time that a launch is expected to take without workers; zero where none was measured.
    pub fn expected(&self, n_threads: i64) -> Duration {
        let is_known = self.last.load(Relaxed) != u64::MAX;
        let nanos = || (u128::from(self.ticks(n_threads)) * 1000 / u128::from(clock::PER_MICRO)).try_into();
        if is_known { Duration::from_nanos(nanos().unwrap_or(u64::MAX)) } else { Duration::ZERO }
    }

    /// What to expect of a launch of so many threads.
    #[inline]
    pub fn expect(&self, n_threads: i64) -> Length {
        match self.ticks(n_threads) / clock::PER_MICRO {
            ..TINY_MICROS => Length::Tiny,
            TINY_MICROS..LONG_MICROS => Length::Short,
            _ => Length::Long,
        }
    }

    /// Runs a launch of so many threads, and measures it mostly.
    #[inline]
    pub fn run<R>(&self, n_threads: i64, launch: impl FnOnce() -> R) -> R {
        self.run_shared(n_threads, || (launch(), 1))
    }

    /// As [`Watch::run`], of a launch that also says how many of the pool's threads took part.
    #[inline]
    pub fn run_shared<R>(&self, n_threads: i64, launch: impl FnOnce() -> (R, u32)) -> R {
        let streak = self.streak.load(Relaxed);
        if streak >= TRUSTED && !streak.is_multiple_of(MEASURED_EVERY) {
            self.streak.store(streak.wrapping_add(1), Relaxed);
            return launch().0;
        }
        let start = clock::now();
        let (result, n_shared) = launch();
        let ticks = clock::now().saturating_sub(start).saturating_mul(n_shared.into()).min(u32::MAX.into());
        let n_threads = n_threads.unsigned_abs().min(u32::MAX.into());
        self.last.store(ticks << 32 | n_threads, Relaxed);
        let is_tiny = ticks < clock::PER_MICRO * TINY_MICROS;
        self.streak.store(if is_tiny { streak.wrapping_add(1) } else { 0 }, Relaxed);
        result
    }
}

/// The processor's own counter: reading the system's clock twice takes a tenth of the shortest launch.
#[cfg(target_arch = "x86_64")]
mod clock {
    /// Counters run at 2 to 4 GHz; the limits need not be exact.
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

    pub(super) const PER_MICRO: u64 = 1000;

    pub(super) fn now() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleep() {
        std::thread::sleep(Duration::from_micros(10 * LONG_MICROS));
    }

    #[test]
    fn a_long_launch_is_noticed_and_forgotten_again() {
        let watch = Watch::default();
        assert_eq!(watch.expect(1), Length::Long);
        watch.run(1, || ());
        assert_eq!(watch.expect(1), Length::Tiny);
        watch.run(1, sleep);
        assert_eq!(watch.expect(1), Length::Long);
        watch.run(1, || ());
        assert_eq!(watch.expect(1), Length::Tiny);
    }

    #[test]
    fn after_many_tiny_launches_one_of_some_is_measured() {
        let watch = Watch::default();
        (0..100).for_each(|_| watch.run(1, || ()));
        (0..MEASURED_EVERY).for_each(|_| watch.run(1, sleep));
        assert_eq!(watch.expect(1), Length::Long);
    }

    #[test]
    fn more_threads_take_longer() {
        let watch = Watch::default();
        watch.run(1, || ());
        assert_eq!(watch.expect(1 << 40), Length::Long);
        watch.run(1000, sleep);
        assert_eq!(watch.expect(1), Length::Long);
    }

    #[test]
    fn what_workers_shared_counts_as_if_one_thread_had_done_it() {
        let watch = Watch::default();
        assert_eq!(watch.expected(1), Duration::ZERO);
        watch.run_shared(1, || (sleep(), 100));
        // The clock's frequency is known within a factor of two or three.
        assert!(watch.expected(1) > Duration::from_micros(100 * LONG_MICROS), "{watch:?}");
        assert!(watch.expected(1000) > 500 * watch.expected(1));
    }
}
