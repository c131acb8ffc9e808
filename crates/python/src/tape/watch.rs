//! Which tapes must hear of writes, and what they do about them.
//!
//! Every write to device memory that the package makes is announced here before it happens: by launches, by copies, by
//! `fill_`. While no tape records, and none waits for its backward pass, that is one look at a flag.

use crate::state;
use crate::tape::Shared;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Arc, Weak};
use tape::{HOST, OutOfMemory, Span};

/// Read and written by whoever holds Python's lock, never across anything that may let it go.
struct Locked<T>(RefCell<T>);

// SAFETY: as said above; a free-threaded Python has another binary interface than the one this module is built for.
unsafe impl<T> Sync for Locked<T> {}

#[derive(Default)]
struct Tapes {
    /// The one that records.
    active: Option<Arc<Shared>>,
    /// Those with values in memory that a write would destroy.
    watching: Vec<Weak<Shared>>,
}

static TAPES: Locked<Tapes> = Locked(RefCell::new(Tapes { active: None, watching: Vec::new() }));

/// The tape that records now.
pub(crate) fn active() -> Option<Arc<Shared>> {
    TAPES.0.borrow().active.clone()
}

/// Makes a tape, or none, the one that records; gives the one before.
pub(crate) fn set_active(tape: Option<Arc<Shared>>) -> Option<Arc<Shared>> {
    let before = std::mem::replace(&mut TAPES.0.borrow_mut().active, tape);
    note();
    before
}

/// From now on `tape` hears of writes, as long as it lives.
pub(crate) fn watch(tape: &Arc<Shared>) {
    let mut tapes = TAPES.0.borrow_mut();
    tapes.watching.retain(|known| known.strong_count() > 0);
    if !tapes.watching.iter().any(|known| known.as_ptr() == Arc::as_ptr(tape)) {
        tapes.watching.push(Arc::downgrade(tape));
    }
    drop(tapes);
    note();
}

pub(crate) fn unwatch(tape: &Shared) {
    TAPES.0.borrow_mut().watching.retain(|known| known.strong_count() > 0 && !std::ptr::eq(known.as_ptr(), tape));
    note();
}

/// Runs `run` while only `tape` records and hears of writes.
pub(crate) fn alone<R>(tape: &Arc<Shared>, run: impl FnOnce() -> R) -> R {
    struct Back(Option<Tapes>);
    impl Drop for Back {
        fn drop(&mut self) {
            *TAPES.0.borrow_mut() = self.0.take().unwrap_or_default();
            note();
        }
    }
    let only = Tapes { active: Some(tape.clone()), watching: vec![Arc::downgrade(tape)] };
    let back = Back(Some(TAPES.0.replace(only)));
    note();
    let result = run();
    drop(back);
    result
}

fn note() {
    let tapes = TAPES.0.borrow();
    state::set_tapes(tapes.active.is_some() || !tapes.watching.is_empty());
}

/// Announces a write by something that `writer` names. `is_recorded`: the active tape has it, or will have it.
pub(crate) fn before_write(span: Span, is_recorded: bool, writer: &dyn Fn() -> String) -> PyResult<()> {
    let n = TAPES.0.borrow().watching.len();
    for index in 0..n {
        let tapes = TAPES.0.borrow();
        let Some(tape) = tapes.watching.get(index).and_then(Weak::upgrade) else { continue };
        let is_recorded = is_recorded && tapes.active.as_ref().is_some_and(|active| Arc::ptr_eq(active, &tape));
        drop(tapes);
        tape.edit(|state| state.before_write(span, is_recorded, writer)).map_err(out_of_memory)?;
    }
    Ok(())
}

/// Whether some tape that has not gone back yet has values of that memory in place.
pub(crate) fn is_watched(span: Span) -> bool {
    let tapes = TAPES.0.borrow();
    tapes.watching.iter().filter_map(Weak::upgrade).any(|tape| tape.read(|state| state.is_watched(span)))
}

pub(crate) fn out_of_memory(error: OutOfMemory) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}

/// The memory that an address lies in.
pub(crate) fn memory_of(span: Span) -> &'static dyn tape::Memory {
    crate::cuda::memory_at(span.lo).unwrap_or(&HOST)
}
