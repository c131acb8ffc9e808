//! Goes back over a stretch of launches that kept no values: part by part it puts memory back to how it was before the
//! part, runs the part again on a tape of its own, and walks that tape.
//!
//! For n launches in parts of k, what is held at any time is the memory that n / k parts overwrote and what k launches
//! need: least where k is near the root of n.

use crate::launch;
use crate::tape::backward;
use crate::tape::state::{Entry, Part, Shared, State, Stretch};
use crate::tape::watch::{self, out_of_memory};
use ::tape::Undo;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Arc;

/// `finals` gets what memory holds now, to be put back in the end.
pub(crate) fn back(py: Python<'_>, entries: &[Entry], stretch: &Stretch, finals: &mut Undo) -> PyResult<()> {
    if let Some(writer) = &stretch.spoiled {
        return Err(PyRuntimeError::new_err(format!(
            "a checkpointed loop cannot run again: inside of it {writer} wrote to its memory without being recorded"
        )));
    }
    for undo in stretch.parts.iter().map(|part| &part.undo).chain([&stretch.after]) {
        for (span, memory) in undo.spans() {
            // SAFETY: the entries keep the arrays alive.
            unsafe { finals.before_write(span, memory) }.map_err(out_of_memory)?;
        }
    }
    // SAFETY: the entries keep the arrays alive; so do those of each part.
    unsafe { stretch.after.restore() };
    for part in stretch.parts.iter().rev() {
        // SAFETY: as above.
        unsafe { part.undo.restore() };
        let again = Arc::new(Shared::new(State::new(true)));
        watch::alone(&again, || forward(py, entries, stretch, part, &again))?;
        watch::alone(&again, || {
            watch::set_active(None);
            backward::run_part(py, &again)
        })?;
        // SAFETY: as above.
        unsafe { part.undo.restore() };
        if let Some(progress) = &stretch.progress {
            progress.bind(py).call0()?;
        }
    }
    Ok(())
}

fn forward(py: Python<'_>, entries: &[Entry], stretch: &Stretch, part: &Part, again: &Arc<Shared>) -> PyResult<()> {
    let mut steps = stretch.steps_of(part).enumerate().peekable();
    let inner = stretch.inner.split_first();
    if let Some((_, rest)) = inner {
        again.edit(|state| state.begin_stretch(rest.to_vec(), None)).map_err(PyRuntimeError::new_err)?;
    }
    for (index, entry) in (part.first..).zip(&entries[part.first..part.end]) {
        while let Some((n, _)) = steps.next_if(|(_, mark)| *mark <= index) {
            if let Some((every, _)) = inner.filter(|_| n > 0) {
                again.edit(|state| state.step(n % *every == 0));
            }
        }
        match entry {
            Entry::Launch(launched) => launch::again(py, launched)?,
            Entry::Func(func) => match &func.forward {
                Some(forward) => forward.bind(py).call0().map(drop)?,
                None => {
                    return Err(PyRuntimeError::new_err(format!(
                        "a checkpointed loop cannot run again: `{}` is a function of Python's that only says how to go \
                         back; record it outside of `tape.checkpoint`",
                        func.name
                    )));
                }
            },
        }
    }
    Ok(())
}
