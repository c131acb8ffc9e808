//! Whether this process is a fork of one that had a pool. Asking the system for the process's number at each launch would
//! take longer than to hand the launch to a worker.

use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between this process and the one that called `watch` first.
pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// Counts the forks from now on.
#[cfg(all(unix, not(miri)))]
pub(crate) fn watch() {
    type Handler = extern "C" fn();
    unsafe extern "C" {
        fn pthread_atfork(prepare: Option<Handler>, parent: Option<Handler>, child: Option<Handler>) -> i32;
    }
    extern "C" fn in_child() {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    static WATCH: std::sync::Once = std::sync::Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler does nothing that a child of a process with threads may not do.
        let refused = unsafe { pthread_atfork(None, None, Some(in_child)) };
        assert_eq!(refused, 0, "pthread_atfork: out of memory");
    });
}

#[cfg(not(all(unix, not(miri))))]
pub(crate) fn watch() {}
