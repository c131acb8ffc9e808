//! Work of the host itself on the pool's threads.

use crate::{Pace, Pool};
use runtime::{EntryPoint, Fault, LaunchBounds};

impl Pool {
    /// Calls a function with 0 to before `n`, on all threads, and returns when all calls are done.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let sum = AtomicUsize::new(0);
    /// runtime_cpu::Pool::new(2).for_each(5, |i| { sum.fetch_add(i, Ordering::Relaxed); });
    /// assert_eq!(sum.into_inner(), 10);
    /// ```
    ///
    /// # Panics
    /// A call that panics ends the process: there is no way to unwind out of a launch.
    pub fn for_each<F: Fn(usize) + Sync>(&self, n: usize, f: F) {
        self.for_each_at(&Pace::EAGER, n, f);
    }

    /// As [`Pool::for_each`], with the caller's own idea of when other threads pay.
    pub(crate) fn for_each_at<F: Fn(usize) + Sync>(&self, pace: &Pace, n: usize, f: F) {
        let bounds = LaunchBounds::new([n as i64, 1, 1, 1]);
        // SAFETY: `call` finds `f` at its arguments, which may be called from several threads, and the launch returns when
        // all is done.
        unsafe { self.launch_at(pace, call::<F> as EntryPoint, (&raw const f).cast(), &bounds, &Fault::default()) };
    }
}

unsafe extern "C" fn call<F: Fn(usize) + Sync>(
    f: *const u8,
    _: *const LaunchBounds,
    begin: i64,
    end: i64,
    _: *const Fault,
) {
    // SAFETY: `for_each_at` passes an `F` that outlives the launch.
    let f = unsafe { &*f.cast::<F>() };
    (begin..end).for_each(|i| f(i as usize));
}
