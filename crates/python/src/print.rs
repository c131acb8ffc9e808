//! Text that kernels print, on its way to Python's `sys.stdout`.
//!
//! Workers only queue it: waiting for Python's lock, which the launching thread may hold, would never end. The
//! launching thread writes the queue out when its launch is over.

use pyo3::intern;
use pyo3::prelude::*;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

static QUEUE: Mutex<String> = Mutex::new(String::new());
static IS_FILLED: AtomicBool = AtomicBool::new(false);

/// A queue of this length is written by whoever fills it, straight to the process's output.
const MAX_QUEUED: usize = 16 << 20;

/// Sends what kernels print here.
pub(crate) fn install() {
    runtime::format::set_print_sink(queue);
}

fn queue(text: &str) {
    let mut queue = lock();
    queue.push_str(text);
    IS_FILLED.store(true, Ordering::Release);
    if queue.len() > MAX_QUEUED {
        let mut stdout = std::io::stdout().lock();
        // There is nobody left to tell about a closed output.
        let _ = stdout.write_all(queue.as_bytes()).and_then(|()| stdout.flush());
        queue.clear();
    }
}

/// Whether `flush` has something to write.
#[inline]
pub(crate) fn is_filled() -> bool {
    IS_FILLED.load(Ordering::Acquire)
}

/// Writes what was queued.
pub(crate) fn flush(py: Python<'_>) -> PyResult<()> {
    if !is_filled() {
        return Ok(());
    }
    IS_FILLED.store(false, Ordering::Release);
    let text = std::mem::take(&mut *lock());
    if text.is_empty() {
        return Ok(());
    }
    let stdout = py.import(intern!(py, "sys"))?.getattr(intern!(py, "stdout"))?;
    if !stdout.is_none() {
        stdout.call_method1(intern!(py, "write"), (text,))?;
    }
    Ok(())
}

fn lock() -> MutexGuard<'static, String> {
    QUEUE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
