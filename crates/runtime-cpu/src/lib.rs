//! The CPU's thread pool: runs a compiled kernel over all threads of a launch, on every core.
//!
//! In: an entry point of `runtime::abi`, packed arguments, the launch's shape, its failure record. Out: all threads have
//! run when [`Pool::launch`] returns.
//!
//! The caller takes part. It runs the first chunks alone, measuring; only work that is worth the hand-off is opened to
//! the workers, and only long work wakes those that sleep. So a small launch costs no more than a call, whatever the
//! kernel. Each thread begins with a share of its own, the same in every launch of a series, for the sake of its core's
//! caches. Workers spin for a moment after a launch, since launches come in series, and then park.
//!
//! ```
//! use runtime::{Fault, LaunchBounds};
//! use runtime_cpu::Pool;
//! unsafe extern "C" fn kernel(args: *const u8, _: *const LaunchBounds, begin: i64, end: i64, _: *const Fault) {
//!     for i in begin..end {
//!         // SAFETY: the launch below passes ten elements, and each thread writes its own.
//!         unsafe { *args.cast_mut().cast::<i64>().add(i as usize) = i };
//!     }
//! }
//! let mut out = [0i64; 10];
//! let bounds = LaunchBounds::new([10, 1, 1, 1]);
//! // SAFETY: `kernel` writes the ten elements only.
//! unsafe { Pool::global().launch(kernel as runtime::EntryPoint, out.as_mut_ptr().cast(), &bounds, &Fault::default()) };
//! assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
//! ```

mod crew;
mod each;
mod elements;
mod forks;
mod grid;
mod pace;
mod shares;
mod summed;
mod watch;

pub use elements::{Elements, copy_elements};
pub use grid::{GridError, MAX_GRID};
pub use pace::Pace;
pub use summed::Code;
pub use watch::{Length, Watch};

use crew::{Crew, Job};
use runtime::{BlockBounds, BlockEntryPoint, EntryPoint, Fault, LaunchBounds};
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

/// Worker threads that wait for launches. Several threads may launch at once: who finds the workers taken runs alone.
#[derive(Debug)]
pub struct Pool {
    /// Threads that a launch may use, the caller among them. The crew follows at the next launch that wants it.
    wanted: AtomicUsize,
    /// Belongs to the process of `Workers::forks`; a child made by `fork` has none of the threads and starts anew.
    workers: AtomicPtr<Workers>,
}

#[derive(Debug)]
struct Workers {
    /// The count of forks when these were made.
    forks: u32,
    /// Locked while a launch uses the workers.
    crew: Mutex<Option<Crew>>,
}

impl Workers {
    fn new() -> Box<Workers> {
        forks::watch();
        Box::new(Workers { forks: forks::count(), crew: Mutex::new(None) })
    }
}

impl Pool {
    /// A pool whose launches use `n_threads` threads, at least one: the caller. Workers start when first needed.
    pub fn new(n_threads: usize) -> Pool {
        let workers = AtomicPtr::new(Box::into_raw(Workers::new()));
        Pool { wanted: AtomicUsize::new(n_threads.max(1)), workers }
    }

    /// The process's pool: as many threads as `GRIDSTRIDE_NUM_THREADS` says, else as the machine can run at once.
    pub fn global() -> &'static Pool {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(|| {
            let chosen = std::env::var("GRIDSTRIDE_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
            let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
            Pool::new(chosen.filter(|&n| n > 0).unwrap_or_else(available))
        })
    }

    /// Threads that a launch may use, the caller among them.
    pub fn num_threads(&self) -> usize {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Changes how many threads later launches may use; 0 counts as 1.
    pub fn set_num_threads(&self, n_threads: usize) {
        self.wanted.store(n_threads.clamp(1, crew::MAX_WORKERS + 1), Ordering::Relaxed);
    }

    /// Runs every thread of a launch and returns when all are done. A launch with an extent of 0 runs nothing; so does
    /// one whose thread count does not fit an i64, which the caller refuses beforehand.
    ///
    /// # Safety
    /// `code` is a kernel's, with its own sums. It finds its arguments at `args`, and may run on several threads at once.
    pub unsafe fn launch<'s>(&self, code: impl Into<Code<'s>>, args: *const u8, bounds: &LaunchBounds, fault: &Fault) {
        // SAFETY: the caller's promise.
        unsafe { self.launch_at(&Pace::DEFAULT, code, args, bounds, fault) };
    }

    /// As [`Pool::launch`], with the caller's own idea of when other threads pay. Gives how many threads took part.
    ///
    /// # Safety
    /// As for [`Pool::launch`].
    pub unsafe fn launch_at<'s>(
        &self,
        pace: &Pace,
        code: impl Into<Code<'s>>,
        args: *const u8,
        bounds: &LaunchBounds,
        fault: &Fault,
    ) -> u32 {
        let Some(n) = bounds.n_threads().filter(|&n| n > 0 && bounds.extents.iter().all(|&extent| extent > 0)) else {
            return 1;
        };
        // SAFETY: the caller's promise.
        unsafe { self.run_range(pace, code, args, bounds, 0..n, fault) }
    }

    /// Runs some of a launch's threads, by their numbers: a long launch in pieces, between which the caller looks at
    /// something else.
    ///
    /// Sums that the code can keep in accumulators have the same bits in every run where the pieces are: where each is a
    /// number of whole chunks, that is, of [`runtime::Sums::chunk`].
    ///
    /// # Safety
    /// As for [`Pool::launch`]; the numbers are those of threads of the launch.
    pub unsafe fn run_range<'s>(
        &self,
        pace: &Pace,
        code: impl Into<Code<'s>>,
        args: *const u8,
        bounds: &LaunchBounds,
        threads: Range<i64>,
        fault: &Fault,
    ) -> u32 {
        let Code { entry, sums } = code.into();
        let n = threads.end - threads.start;
        let job =
            Job { entry, args, bounds, fault, base: threads.start, n, chunk: pace.chunk(n), batch: 1, kept: None };
        // SAFETY: the caller's promise.
        unsafe {
            match sums.filter(|sums| n > 0 && sums.are_apart(args)) {
                None => self.run_job(pace, job),
                Some(sums) => {
                    let job = Job { chunk: sums.chunk(bounds.n_threads().unwrap_or(n)), ..job };
                    summed::with_sums(job, sums, |job| self.run_job(pace, job))
                }
            }
        }
    }

    /// # Safety
    /// As for [`Pool::launch`].
    unsafe fn run_job(&self, pace: &Pace, mut job: Job<'_>) -> u32 {
        let n = job.n;
        if self.num_threads() == 1 || job.n_chunks() == 1 {
            // SAFETY: the caller's promise, for this and what follows.
            unsafe { job.run(0, n) };
            return 1;
        }
        // SAFETY: as above.
        let Some((first, rest)) = (unsafe { pace.start(&job) }) else { return 1 };
        let Ok(mut crew) = self.workers().crew.try_lock() else {
            // Another launch has the workers, or this one was made from within a launch.
            // SAFETY: as above.
            unsafe { job.run(first * job.chunk, n) };
            return 1;
        };
        let n_workers = self.num_threads() - 1;
        job.batch = pace.batch(job.n_chunks() - first, rest, n_workers);
        if crew.as_ref().is_none_or(|crew| crew.wanted != n_workers) {
            *crew = None;
            *crew = Some(Crew::start(n_workers));
        }
        match crew.as_ref() {
            // SAFETY: as above; the lock makes this the crew's only job.
            Some(crew) => unsafe { crew.run(&job, first, rest > pace.wake_above) },
            None => 1,
        }
    }

    /// Runs every block of a launch over thread blocks, as [`Pool::launch`] runs threads.
    ///
    /// # Safety
    /// As for [`Pool::launch`]; the kernel waits for no other block.
    pub unsafe fn launch_blocks(&self, entry: BlockEntryPoint, args: *const u8, bounds: &BlockBounds, fault: &Fault) {
        let Some(n) = bounds.n_blocks() else { return };
        // SAFETY: the caller's promise.
        unsafe { self.run_blocks(&Pace::DEFAULT, entry, args, bounds, 0..n, fault) }
    }

    /// Runs some of a launch's blocks, by their numbers.
    ///
    /// # Safety
    /// As for [`Pool::launch_blocks`]; the numbers are those of blocks of the launch.
    pub unsafe fn run_blocks(
        &self,
        pace: &Pace,
        entry: BlockEntryPoint,
        args: *const u8,
        bounds: &BlockBounds,
        blocks: Range<i64>,
        fault: &Fault,
    ) {
        // SAFETY: the two differ in what one pointer points to, and the job hands on the one that belongs to the entry.
        let entry = unsafe { std::mem::transmute::<BlockEntryPoint, EntryPoint>(entry) };
        let (base, n) = (blocks.start, blocks.end - blocks.start);
        let pace = Pace { min_chunk: 1, ..*pace };
        let bounds_of = bounds;
        let bounds: *const LaunchBounds = std::ptr::from_ref(bounds).cast();
        let has_threads = bounds_of.n_threads().is_some_and(|n| n > 0);
        if n > 0 && has_threads {
            let job = Job { entry, args, bounds, fault, base, n, chunk: pace.chunk(n), batch: 1, kept: None };
            // SAFETY: the caller's promise.
            unsafe { self.run_job(&pace, job) };
        }
    }

    fn workers(&self) -> &Workers {
        let current = self.workers.load(Ordering::Acquire);
        // SAFETY: the pointer comes from a box that is freed by `drop` only, or leaked below.
        let workers = unsafe { &*current };
        if workers.forks == forks::count() {
            return workers;
        }
        // A child process: the workers do not exist here, and the lock may be held by a thread that does not either.
        let fresh = Box::into_raw(Workers::new());
        match self.workers.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: from the box above, now the pool's. The old one is leaked: others may still look at it.
            Ok(_) => unsafe { &*fresh },
            // SAFETY: the box was not shared; the other pointer was just put in by a thread of this process.
            Err(other) => unsafe {
                drop(Box::from_raw(fresh));
                &*other
            },
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let workers = *self.workers.get_mut();
        // SAFETY: the pointer comes from a box, and nobody else has the pool.
        let workers = unsafe { Box::from_raw(workers) };
        if workers.forks != forks::count() {
            // The threads to join belong to the parent process.
            std::mem::forget(workers);
        }
    }
}

/// [`Pool::num_threads`] of the process's pool.
pub fn num_threads() -> usize {
    Pool::global().num_threads()
}

/// [`Pool::set_num_threads`] of the process's pool.
pub fn set_num_threads(n_threads: usize) {
    Pool::global().set_num_threads(n_threads);
}
