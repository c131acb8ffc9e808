//! Launches of kernels with sums that all threads add to (`runtime::sums`): each chunk has accumulators of its own, and
//! what they hold is added to memory once all chunks have run, in their order.

use crate::crew::Job;
use runtime::{EntryPoint, Fault, LaunchBounds, Sums};
use std::mem::MaybeUninit;

/// Compiled code, and the sums that it can keep in accumulators.
#[derive(Clone, Copy, Debug)]
pub struct Code<'s> {
    pub entry: EntryPoint,
    pub sums: Option<&'s Sums>,
}

impl Code<'_> {
    /// Runs a whole launch of `n` threads, one at least, on this thread: for launches that are over before another could
    /// join.
    ///
    /// # Safety
    /// As for [`crate::Pool::launch`].
    #[inline]
    pub unsafe fn run_alone(&self, args: *const u8, bounds: &LaunchBounds, n: i64, fault: &Fault) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.sums {
                None => (self.entry)(args, bounds, 0, n, fault),
                Some(sums) => self.run_summed(sums, args, bounds, n, fault),
            }
        }
    }

    unsafe fn run_summed(&self, sums: &Sums, args: *const u8, bounds: &LaunchBounds, n: i64, fault: &Fault) {
        let job =
            Job { entry: self.entry, args, bounds, fault, base: 0, n, chunk: sums.chunk(n), batch: 1, kept: None };
        // SAFETY: the caller's promise.
        unsafe {
            if sums.are_apart(args) {
                with_sums(job, sums, |job| {
                    job.run(0, n);
                    1
                });
            } else {
                job.run(0, n);
            }
        }
    }
}

impl From<EntryPoint> for Code<'_> {
    fn from(entry: EntryPoint) -> Self {
        Code { entry, sums: None }
    }
}

/// What a job keeps of each of its chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'s> {
    sums: &'s Sums,
    words: *mut u64,
}

impl Kept<'_> {
    /// Runs the chunks from thread `begin`, where one starts, to `end`.
    ///
    /// # Safety
    /// As for [`Job::run`].
    pub(crate) unsafe fn run(&self, job: &Job<'_>, begin: i64, end: i64) {
        let mut at = begin;
        while at < end {
            let stop = at.saturating_add(job.chunk).min(end);
            // SAFETY: the caller's promise; `words` has room for every chunk of the job, and each runs once.
            unsafe {
                let kept = self.words.add((at / job.chunk) as usize * self.sums.n_words());
                self.sums.run_chunk(kept, |accumulators| {
                    let bounds = (*job.bounds).with_sums(accumulators);
                    (job.entry)(job.args, &bounds, job.base + at, job.base + stop, job.fault);
                });
            }
            at = stop;
        }
    }
}

/// Words that need no memory of their own: enough for short launches.
const N_INLINE: usize = 256;

/// Runs a job with room for what it keeps, by `run`, and adds that to memory.
///
/// # Safety
/// As for [`Job::run`]; `run` runs all of the job, and no array of the launch shares memory with those that have sums.
pub(crate) unsafe fn with_sums<'s>(job: Job<'s>, sums: &'s Sums, run: impl FnOnce(Job<'s>) -> u32) -> u32 {
    let n_words = usize::try_from(job.n_chunks()).unwrap_or(usize::MAX).saturating_mul(sums.n_words());
    let mut inline = [const { MaybeUninit::<u64>::uninit() }; N_INLINE];
    let mut allocated = Vec::new();
    let words = if n_words <= N_INLINE {
        &mut inline[..n_words]
    } else {
        allocated.resize(n_words, MaybeUninit::uninit());
        &mut allocated[..]
    };
    let words = words.as_mut_ptr().cast::<u64>();
    let n_shared = run(Job { kept: Some(Kept { sums, words }), ..job });
    // SAFETY: every chunk has run and written its words; the rest is the caller's promise.
    unsafe { sums.add_up(std::slice::from_raw_parts(words, n_words)) };
    n_shared
}
