//! Workers and how they join a job.
//!
//! One word says everything: the number of the job, whether it is open, and how many workers are in it. A worker joins
//! by adding itself while the job is open; the launching thread closes the job when no chunk is left and waits until
//! the workers have gone. So nobody touches a job after its launch returned, however late a worker wakes.

use crate::shares::Shares;
use crate::summed::Kept;
use runtime::{EntryPoint, Fault, LaunchBounds};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

pub(crate) const MAX_WORKERS: usize = 1023;

/// How long a worker looks for the next job before it parks.
const SPIN: Duration = Duration::from_micros(50);

/// So many jobs in a row are a series: to wake a worker takes as long as a few short jobs.
const MANY_MISSED: u32 = 8;

/// A kernel's code has at most half a megabyte of locals; text output may call back into the host language.
const STACK: usize = 8 << 20;

const OPEN: u64 = 1 << 16;
const COUNT: u64 = OPEN - 1;
const NUMBER: u64 = !(OPEN | COUNT);
const NEXT_NUMBER: u64 = OPEN << 1;

/// A launch, cut into chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'s> {
    pub(crate) entry: EntryPoint,
    pub(crate) args: *const u8,
    pub(crate) bounds: *const LaunchBounds,
    pub(crate) fault: *const Fault,
    /// The number in the launch of the first thread of the job; the job counts from there.
    pub(crate) base: i64,
    pub(crate) n: i64,
    pub(crate) chunk: i64,
    /// Chunks that a thread takes at once.
    pub(crate) batch: i64,
    /// For a kernel with sums that are kept by chunk.
    pub(crate) kept: Option<Kept<'s>>,
}

impl Job<'_> {
    pub(crate) fn n_chunks(&self) -> i64 {
        self.n / self.chunk + i64::from(self.n % self.chunk != 0)
    }

    /// The first thread of a chunk, or `n` past the last chunk.
    pub(crate) fn start(&self, chunk: i64) -> i64 {
        chunk.checked_mul(self.chunk).map_or(self.n, |start| start.min(self.n))
    }

    /// The same job for workers, who look at it only while its launch waits.
    ///
    /// # Safety
    /// Nothing is done with it later.
    unsafe fn extended(self) -> Job<'static> {
        // SAFETY: the two differ in a lifetime only.
        unsafe { std::mem::transmute::<Job<'_>, Job<'static>>(self) }
    }

    /// Runs threads `begin..end` here.
    ///
    /// # Safety
    /// The launch's pointers are live and fit its kernel, and `begin..end` lies in `0..n`. A chunk starts at `begin`, and
    /// no chunk is left over at `end`.
    pub(crate) unsafe fn run(&self, begin: i64, end: i64) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.kept {
                None => (self.entry)(self.args, self.bounds, self.base + begin, self.base + end, self.fault),
                Some(kept) => kept.run(self, begin, end),
            }
        }
    }
}

#[derive(Debug)]
struct Shared {
    /// Number of the job, `OPEN`, count of workers in it.
    state: AtomicU64,
    job: UnsafeCell<Option<Job<'static>>>,
    /// The chunks that nobody has. The caller's share is the first, then come those of the workers.
    shares: Shares,
    /// Workers that have joined the job.
    n_joined: AtomicU32,
    /// All workers, once they have started.
    workers: OnceLock<Box<[Worker]>>,
    /// The job is worth workers below this number.
    n_wanted: AtomicUsize,
    /// The next worker that nobody has looked after.
    next_asleep: AtomicUsize,
    stops: AtomicBool,
}

// SAFETY: `job` is written only while no job is open and no worker is in one, which `state` orders.
unsafe impl Sync for Shared {}
// SAFETY: the pointers in `job` are used only while their launch waits.
unsafe impl Send for Shared {}

#[derive(Debug)]
struct Worker {
    thread: Thread,
    sleeps: Arc<AtomicBool>,
}

impl Worker {
    /// Wakes it if it sleeps, and says whether it did. One that is awake costs nothing.
    fn wake(&self) -> bool {
        let sleeps = self.sleeps.swap(false, Ordering::SeqCst);
        if sleeps {
            self.thread.unpark();
        }
        sleeps
    }
}

#[derive(Debug)]
pub(crate) struct Crew {
    /// How many workers were asked for; fewer where the system refused to start them.
    pub(crate) wanted: usize,
    shared: Arc<Shared>,
    /// Jobs in a row that workers would have been welcome to, had they been awake.
    n_missed: AtomicU32,
    handles: Vec<JoinHandle<()>>,
}

impl Crew {
    pub(crate) fn start(n_workers: usize) -> Crew {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            shares: Shares::new(n_workers.min(MAX_WORKERS) + 1),
            n_joined: AtomicU32::new(0),
            workers: OnceLock::new(),
            n_wanted: AtomicUsize::new(0),
            next_asleep: AtomicUsize::new(0),
            stops: AtomicBool::new(false),
        });
        let n_missed = AtomicU32::new(0);
        let mut crew = Crew { wanted: n_workers, shared, n_missed, handles: Vec::new() };
        let mut workers = Vec::new();
        for own in 1..=n_workers.min(MAX_WORKERS) {
            let (shared, sleeps) = (crew.shared.clone(), Arc::new(AtomicBool::new(false)));
            let its_sleeps = sleeps.clone();
            let builder = std::thread::Builder::new().name("gridstride".into()).stack_size(STACK);
            // A system out of threads still has this one.
            let Ok(handle) = builder.spawn(move || work(&shared, &its_sleeps, own)) else { break };
            workers.push(Worker { thread: handle.thread().clone(), sleeps });
            crew.handles.push(handle);
        }
        crew.shared.workers.get_or_init(|| workers.into());
        crew
    }

    /// Runs the chunks from `first` on, together with the workers that are awake; those that sleep are woken if `wake`
    /// says so. Gives how many threads took part.
    ///
    /// # Safety
    /// As for [`Job::run`], and no other job runs on this crew.
    pub(crate) unsafe fn run(&self, job: &Job<'_>, first: i64, wake: bool) -> u32 {
        let shared = &*self.shared;
        // SAFETY: no job is open and no worker is in one, so nobody reads the cell; below it waits until they have gone.
        unsafe { *shared.job.get() = Some(job.extended()) };
        shared.shares.deal(first..job.n_chunks());
        shared.n_joined.store(0, Ordering::Relaxed);
        let n_left = usize::try_from(job.n_chunks() - first).unwrap_or(usize::MAX);
        let n_wanted = if wake { n_left } else { n_left.min(self.n_overdue()) };
        shared.n_wanted.store(n_wanted, Ordering::Relaxed);
        shared.next_asleep.store(0, Ordering::Relaxed);
        let number = (shared.state.load(Ordering::Relaxed) & NUMBER).wrapping_add(NEXT_NUMBER);
        // Sequentially consistent, like the sleeper's side: either it sees the job or we see it asleep.
        shared.state.store(number | OPEN, Ordering::SeqCst);
        shared.wake_two();
        // SAFETY: the caller's promise.
        unsafe { shared.run_chunks(job, 0) };
        shared.state.fetch_and(!OPEN, Ordering::Relaxed);
        let mut rounds = 0u32;
        while shared.state.load(Ordering::Acquire) & COUNT != 0 {
            rounds += 1;
            // At most a chunk's time is left, unless the system has taken the worker off its core.
            if rounds < 1000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        shared.n_joined.load(Ordering::Relaxed) + 1
    }
}

impl Crew {
    /// How many workers to wake for a job that alone is not worth it: one where many such have come in a row, which will
    /// go on. It stays awake as long as they do.
    fn n_overdue(&self) -> usize {
        let is_missed = self.shared.workers().first().is_some_and(|worker| worker.sleeps.load(Ordering::Relaxed));
        let n_missed = if is_missed { self.n_missed.load(Ordering::Relaxed) + 1 } else { 0 };
        let is_overdue = n_missed >= MANY_MISSED;
        self.n_missed.store(if is_overdue { 0 } else { n_missed }, Ordering::Relaxed);
        usize::from(is_overdue)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::SeqCst);
        for worker in self.shared.workers() {
            worker.wake();
        }
        for handle in self.handles.drain(..) {
            // A worker does not panic; were it to, there is nothing left to do for it.
            let _ = handle.join();
        }
    }
}

impl Shared {
    fn workers(&self) -> &[Worker] {
        self.workers.get().map_or(&[], |workers| workers)
    }

    /// Wakes two workers that sleep, if the job wants them. Everybody who joins a job does so: waking takes some
    /// microseconds each, and the last of many would wait for all before it.
    fn wake_two(&self) {
        let wanted = self.n_wanted.load(Ordering::Relaxed).min(self.workers().len());
        let mut n_woken = 0;
        while n_woken < 2 && self.next_asleep.load(Ordering::Relaxed) < wanted {
            let next = self.next_asleep.fetch_add(1, Ordering::Relaxed);
            n_woken += u32::from(next < wanted && self.workers()[next].wake());
        }
    }

    /// Runs chunks until none is left, those of the thread's own share first.
    ///
    /// # Safety
    /// As for [`Job::run`].
    unsafe fn run_chunks(&self, job: &Job<'_>, own: usize) {
        let mut at = own;
        while let Some(chunks) = self.shares.take(own, &mut at, job.batch) {
            // SAFETY: the caller's promise; the chunk numbers are below `n_chunks`.
            unsafe { job.run(job.start(chunks.start), job.start(chunks.end)) };
        }
    }
}

fn work(shared: &Shared, sleeps: &AtomicBool, own: usize) {
    // No job has this number.
    let mut done = u64::MAX;
    loop {
        let Some(state) = wait(shared, sleeps, done) else { return };
        let joined = shared.state.compare_exchange_weak(state, state + 1, Ordering::AcqRel, Ordering::Relaxed);
        if joined.is_err() {
            continue;
        }
        done = state & NUMBER;
        shared.n_joined.fetch_add(1, Ordering::Relaxed);
        shared.wake_two();
        // SAFETY: the job was open and now counts this worker, so its launch waits and the cell does not change.
        unsafe {
            if let Some(job) = *shared.job.get() {
                shared.run_chunks(&job, own);
            }
        }
        shared.state.fetch_sub(1, Ordering::Release);
    }
}

/// Waits for an open job other than `done`: spins, then parks. `None` when the crew is dismissed.
fn wait(shared: &Shared, sleeps: &AtomicBool, done: u64) -> Option<u64> {
    let is_new = |state: u64| state & OPEN != 0 && state & NUMBER != done;
    let mut start = None;
    let mut rounds = 0u32;
    loop {
        let state = shared.state.load(Ordering::Acquire);
        if is_new(state) {
            return Some(state);
        }
        if shared.stops.load(Ordering::Relaxed) {
            return None;
        }
        std::hint::spin_loop();
        rounds += 1;
        // The clock costs more than a look at the state.
        if !rounds.is_multiple_of(64) || start.get_or_insert_with(Instant::now).elapsed() < SPIN {
            continue;
        }
        sleeps.store(true, Ordering::SeqCst);
        while sleeps.load(Ordering::SeqCst) {
            if is_new(shared.state.load(Ordering::SeqCst)) || shared.stops.load(Ordering::SeqCst) {
                sleeps.store(false, Ordering::SeqCst);
                break;
            }
            std::thread::park();
        }
        start = None;
    }
}
