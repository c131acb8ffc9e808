//! What a pool promises: every thread runs exactly once, a launch returns when all are done, and nothing hangs.

use runtime::{EntryPoint, Fault, LaunchBounds};
use runtime_cpu::{Pace, Pool};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

fn bounds(extents: [i64; 4]) -> LaunchBounds {
    LaunchBounds::new(extents)
}

/// Counts each thread's runs.
unsafe extern "C" fn count(args: *const u8, _: *const LaunchBounds, begin: i64, end: i64, _: *const Fault) {
    for i in begin..end {
        // SAFETY: the launch passes as many counters as it has threads.
        unsafe { (*args.cast::<AtomicU32>().add(i as usize)).fetch_add(1, Ordering::Relaxed) };
    }
}

fn launch(pool: &Pool, pace: &Pace, entry: EntryPoint, args: *const u8, extents: [i64; 4]) -> u32 {
    // SAFETY: every test passes what its kernel expects.
    unsafe { pool.launch_at(pace, entry, args, &bounds(extents), &Fault::default()) }
}

fn counted(pool: &Pool, pace: &Pace, extents: [i64; 4]) -> Vec<u32> {
    let n = extents.iter().product::<i64>() as usize;
    let counters: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
    launch(pool, pace, count, counters.as_ptr().cast(), extents);
    counters.into_iter().map(AtomicU32::into_inner).collect()
}

#[test]
fn every_thread_runs_once() {
    for n_threads in [1, 2, 5] {
        let pool = Pool::new(n_threads);
        for n in if cfg!(miri) { vec![1, 17, 100] } else { vec![1, 2, 17, 255, 256, 257, 1000, 100_003] } {
            for pace in [Pace::DEFAULT, Pace::EAGER] {
                assert_eq!(counted(&pool, &pace, [n, 1, 1, 1]), vec![1; n as usize]);
            }
        }
        assert_eq!(counted(&pool, &Pace::EAGER, [3, 4, 5, 2]), vec![1; 120]);
    }
}

#[test]
fn an_empty_or_impossible_launch_runs_nothing() {
    let pool = Pool::new(2);
    for extents in [[0, 1, 1, 1], [5, 0, 7, 1], [-3, -2, 1, 1], [i64::MAX, 2, 1, 1]] {
        // The kernel would write to a null pointer.
        launch(&pool, &Pace::EAGER, count, std::ptr::null(), extents);
    }
}

#[test]
fn series_of_launches_across_changes_of_size() {
    let pool = Pool::new(3);
    for round in 0..if cfg!(miri) { 5 } else { 300 } {
        pool.set_num_threads(1 + round % 4);
        assert_eq!(pool.num_threads(), 1 + round % 4);
        assert_eq!(counted(&pool, &Pace::EAGER, [64, 1, 1, 1]), vec![1; 64]);
    }
    pool.set_num_threads(0);
    assert_eq!(pool.num_threads(), 1);
}

/// The second of two threads runs once the first has come.
unsafe extern "C" fn meet(args: *const u8, _: *const LaunchBounds, _: i64, _: i64, _: *const Fault) {
    // SAFETY: the launch passes one counter.
    let n_arrived = unsafe { &*args.cast::<AtomicU32>() };
    n_arrived.fetch_add(1, Ordering::Relaxed);
    while n_arrived.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
}

#[test]
fn a_launch_that_is_known_to_be_long_is_shared_from_its_start() {
    let pool = Pool::new(2);
    let n_arrived = AtomicU32::new(0);
    // One thread alone would never get through its first chunk.
    let pace = Pace { min_chunk: 1, expected: std::time::Duration::from_secs(1), ..Pace::DEFAULT };
    let n_shared = launch(&pool, &pace, meet, std::ptr::from_ref(&n_arrived).cast(), [2, 1, 1, 1]);
    assert_eq!((n_shared, n_arrived.into_inner()), (2, 2));
    assert_eq!(launch(&pool, &Pace::DEFAULT, count, [AtomicU32::new(0)].as_ptr().cast(), [1, 1, 1, 1]), 1);
}

#[test]
fn a_series_of_short_launches_wakes_a_worker() {
    let pool = Pool::new(2);
    let counters = [const { AtomicU32::new(0) }; 256];
    let pace = Pace { expected: Pace::DEFAULT.share_above, wake_above: std::time::Duration::MAX, ..Pace::DEFAULT };
    let once = || launch(&pool, &pace, count, counters.as_ptr().cast(), [256, 1, 1, 1]);
    once();
    // Long enough for the worker to park.
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert!((0..1_000_000).any(|_| once() == 2));
}

#[test]
fn parked_workers_come_back() {
    let pool = Pool::new(3);
    for _ in 0..5 {
        assert_eq!(counted(&pool, &Pace::EAGER, [100, 1, 1, 1]), vec![1; 100]);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn several_threads_launch_at_once() {
    let pool = Pool::new(3);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..if cfg!(miri) { 2 } else { 200 } {
                    assert_eq!(counted(&pool, &Pace::EAGER, [50, 1, 1, 1]), vec![1; 50]);
                }
            });
        }
    });
}

/// Each of its threads launches `count` on the same pool.
unsafe extern "C" fn nest(args: *const u8, _: *const LaunchBounds, begin: i64, end: i64, _: *const Fault) {
    // SAFETY: the launch passes a pool and a counter.
    let (pool, total) = unsafe { &*args.cast::<(Pool, AtomicI64)>() };
    for _ in begin..end {
        let runs = counted(pool, &Pace::EAGER, [20, 1, 1, 1]);
        total.fetch_add(runs.iter().map(|&n| i64::from(n)).sum(), Ordering::Relaxed);
    }
}

#[test]
fn a_launch_from_within_a_launch() {
    let args = (Pool::new(3), AtomicI64::new(0));
    launch(&args.0, &Pace::EAGER, nest, (&raw const args).cast(), [30, 1, 1, 1]);
    assert_eq!(args.1.into_inner(), 30 * 20);
}

/// Notes the widest range it was given.
unsafe extern "C" fn widest(args: *const u8, _: *const LaunchBounds, begin: i64, end: i64, _: *const Fault) {
    // SAFETY: the launch passes a number.
    unsafe { (*args.cast::<AtomicI64>()).fetch_max(end - begin, Ordering::Relaxed) };
}

#[test]
fn shared_chunks_do_not_depend_on_the_number_of_workers() {
    for n_threads in [2, 4] {
        let most = AtomicI64::new(0);
        let pool = Pool::new(n_threads);
        launch(&pool, &Pace::EAGER, widest, (&raw const most).cast(), [1 << 16, 1, 1, 1]);
        assert_eq!(most.into_inner(), 256);
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no processes")]
fn a_forked_child_launches_too() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let pool = Pool::new(3);
    assert_eq!(counted(&pool, &Pace::EAGER, [500, 1, 1, 1]), vec![1; 500]);
    // SAFETY: the child uses the pool and leaves without running destructors of the parent's.
    unsafe {
        let child = fork();
        if child == 0 {
            let is_right = counted(&pool, &Pace::EAGER, [500, 1, 1, 1]) == vec![1; 500];
            _exit(if is_right { 0 } else { 1 });
        }
        let mut status = -1;
        assert_eq!(waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0);
    }
    assert_eq!(counted(&pool, &Pace::EAGER, [500, 1, 1, 1]), vec![1; 500]);
}
