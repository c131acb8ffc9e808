//! How a launch is cut into chunks, and when it is worth other threads.
//!
//! Chunks depend on the number of threads of the launch alone, never on the number of workers. One that takes short
//! chunks takes several at once.

use crate::crew::Job;
use std::time::Duration;

/// When a launch is shared. All but the defaults are for tests and for callers that know a kernel's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A launch is cut into about this many chunks.
    pub n_chunks: i64,
    /// A chunk has at least this many threads, but a sixteenth of the launch is always enough.
    pub min_chunk: i64,
    /// A measured stretch shorter than this tells nothing about the rest.
    pub min_sample: Duration,
    /// A thread takes as many chunks at once as last so long: to take some costs a tenth of a microsecond where others do,
    /// and the kernel's start a hundredth.
    pub min_taken: Duration,
    /// Work expected to take longer than this is opened to workers that are awake.
    pub share_above: Duration,
    /// Work expected to take longer than this wakes workers.
    pub wake_above: Duration,
    /// What one thread would take for the whole launch, as far as the caller knows from those before; else zero. The
    /// launch is then shared from its start, where it is to be shared at all.
    pub expected: Duration,
}

impl Pace {
    /// A worker that spins joins within a microsecond, one that is parked in about 20 microseconds.
    pub const DEFAULT: Pace = Pace {
        n_chunks: 256,
        min_chunk: 32,
        min_sample: Duration::from_nanos(500),
        min_taken: Duration::from_nanos(400),
        share_above: Duration::from_micros(2),
        wake_above: Duration::from_micros(40),
        expected: Duration::ZERO,
    };

    /// Shares every launch of two chunks or more at once, chunk by chunk.
    pub const EAGER: Pace = Pace {
        n_chunks: 256,
        min_chunk: 1,
        min_sample: Duration::ZERO,
        min_taken: Duration::ZERO,
        share_above: Duration::ZERO,
        wake_above: Duration::ZERO,
        expected: Duration::ZERO,
    };

    /// Threads in each chunk of a launch of `n`; the last one may be smaller.
    pub fn chunk(&self, n: i64) -> i64 {
        let ceil = |parts: i64| n / parts + i64::from(n % parts != 0);
        let chunk = ceil(self.n_chunks.max(1)).max(self.min_chunk.min(ceil(16))).max(1);
        // Whole cache lines, so that two threads rarely write to one; whole gangs, since what is left of one runs thread
        // by thread.
        let unit = if chunk >= 64 { 64 } else { 16 };
        if chunk > 8 { chunk.checked_add(unit - 1).map_or(chunk, |n| n & !(unit - 1)) } else { chunk }
    }

    /// Chunks that a thread takes at once, of those that are left. Every thread still takes several times.
    pub(crate) fn batch(&self, n_left: i64, rest: Duration, n_workers: usize) -> i64 {
        let in_time = n_left.unsigned_abs() as u128 * self.min_taken.as_nanos() / rest.as_nanos().max(1);
        let most = n_left / (4 * (n_workers as i64 + 1));
        i64::try_from(in_time).unwrap_or(i64::MAX).min(most).max(1)
    }

    /// Runs nothing of a job that is known to be worth other threads, else as [`Pace::run_alone`].
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn start(&self, job: &Job<'_>) -> Option<(i64, Duration)> {
        if !self.expected.is_zero() && self.expected >= self.share_above {
            return Some((0, self.expected));
        }
        // SAFETY: the caller's promise.
        unsafe { self.run_alone(job) }
    }

    /// Runs a job on this thread while that is best. `None` when it is done; else the first chunk that is left and the
    /// time that the rest would take.
    ///
    /// Each stretch is eight times as long as the one before, so that a cheap job costs few looks at the clock and one whose start is cheaper than the
    /// rest is still found out.
    ///
    /// # Safety
    /// As for [`Job::run`].
    unsafe fn run_alone(&self, job: &Job<'_>) -> Option<(i64, Duration)> {
        let n_chunks = job.n_chunks();
        let nanos = |time: Duration| time.as_nanos() as u64;
        let (min_sample, share_above) = (nanos(self.min_sample), nanos(self.share_above));
        let (mut first, mut stretch) = (0, 1);
        let mut before = clock::now();
        loop {
            let end = (first + stretch).min(n_chunks);
            // SAFETY: the caller's promise; the chunk number is below `n_chunks`.
            unsafe { job.run(first * job.chunk, job.start(end)) };
            let left = n_chunks - end;
            if left == 0 {
                return None;
            }
            let now = clock::now();
            let sample = clock::nanos(before, now);
            let rest = sample.saturating_mul(left.unsigned_abs()) / (end - first).unsigned_abs();
            if sample >= min_sample && rest >= share_above {
                return Some((end, Duration::from_nanos(rest)));
            }
            (first, stretch, before) = (end, 8 * stretch, now);
        }
    }
}

/// The processor's own counter: a look at the system's clock costs as much as a small launch. Its frequency is only
/// known to be some gigahertz, which is good enough to tell microseconds from tens of them.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod clock {
    const TICKS_PER_NANOSECOND: u64 = 3;

    pub(super) fn now() -> u64 {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    /// A thread that moved to another core may see its counter go back a little.
    pub(super) fn nanos(before: u64, after: u64) -> u64 {
        after.saturating_sub(before) / TICKS_PER_NANOSECOND
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod clock {
    use std::time::Instant;

    pub(super) fn now() -> Instant {
        Instant::now()
    }

    pub(super) fn nanos(before: Instant, after: Instant) -> u64 {
        after.saturating_duration_since(before).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_job_is_taken_in_larger_pieces() {
        let batch = |micros, n_workers| Pace::DEFAULT.batch(128, Duration::from_micros(micros), n_workers);
        assert_eq!([batch(4, 1), batch(4, 7), batch(100, 1), batch(0, 1), batch(0, 1000)], [12, 4, 1, 16, 1]);
    }

    #[test]
    fn chunks_are_few_and_not_tiny() {
        let chunks: Vec<i64> = [1, 8, 100, 1000, 10_000, 1 << 20].map(|n| Pace::DEFAULT.chunk(n)).into();
        assert_eq!(chunks, [1, 1, 7, 32, 48, 4096]);
        assert!(Pace::DEFAULT.chunk(i64::MAX) > i64::MAX / 257);
    }
}
