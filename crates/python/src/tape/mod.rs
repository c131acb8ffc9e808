//! `Tape`: what ran while it recorded, in order, and the way back.
//!
//! In: launches as they happen, and functions that Python wants called on the way back. Out: gradients, in the `grad`
//! of arrays. [`record`] notes a launch, [`watch`] hears of every write, [`backward`] walks the entries in reverse,
//! [`replay`] runs stretches of launches again that kept no values of their own.

mod backward;
mod facts;
mod gradients;
mod lost;
pub(crate) mod places;
pub(crate) mod record;
mod replay;
mod report;
mod state;
pub(crate) mod watch;

pub(crate) use facts::Facts;
pub(crate) use places::{Place, places};
pub(crate) use record::{Args, Launching, Pending, after, before};
pub(crate) use state::Launched;

use crate::array::Array;
use crate::errors::guarded;
use crate::launch::{self, Device};
use ::tape::Span;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};
use state::{Shared, State};
use std::sync::Arc;

/// A tape. The package's own class adds the rest.
#[pyclass(name = "Tape", module = "gridstride._native", subclass, frozen)]
pub(crate) struct Tape {
    shared: Arc<Shared>,
}

#[pymethods]
impl Tape {
    #[new]
    #[pyo3(signature = (*_args, save_overwritten=true, **_kwargs))]
    fn new(_args: &Bound<'_, PyAny>, save_overwritten: bool, _kwargs: Option<&Bound<'_, PyDict>>) -> Tape {
        Tape { shared: Arc::new(Shared::new(State::new(save_overwritten))) }
    }

    /// Starts recording. Raises `RuntimeError` while another tape records.
    fn _start(&self) -> PyResult<()> {
        if watch::active().is_some() {
            return Err(PyRuntimeError::new_err(
                "a tape is recording already: end its `with` block first, or write `with tape.paused():` around",
            ));
        }
        watch::set_active(Some(self.shared.clone()));
        watch::watch(&self.shared);
        Ok(())
    }

    /// Stops recording. Says whether this tape was recording.
    fn _stop(&self) -> bool {
        let is_active = watch::active().is_some_and(|active| Arc::ptr_eq(&active, &self.shared));
        if is_active {
            watch::set_active(None);
            if !self.shared.read(State::is_watching) {
                watch::unwatch(&self.shared);
            }
        }
        is_active
    }

    /// Notes a launch as if it had run just now.
    #[allow(clippy::too_many_arguments)]
    fn _record_launch(
        &self,
        kernel: &Bound<'_, PyAny>,
        dim: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        outputs: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        guarded(|| {
            let before = watch::set_active(Some(self.shared.clone()));
            let noted = launch::note(kernel, dim, inputs, outputs, device, options);
            watch::set_active(before);
            watch::watch(&self.shared);
            noted
        })
    }

    /// Notes a function for the way back; `reads` and `writes` are the arrays that the way forward has read and
    /// written, `forward` does it again.
    #[pyo3(signature = (name, backward, reads, writes, forward=None))]
    fn _record_func(
        &self,
        name: String,
        backward: Option<Py<PyAny>>,
        reads: Vec<Py<PyAny>>,
        writes: Vec<Py<PyAny>>,
        forward: Option<Py<PyAny>>,
    ) {
        record::function(&self.shared, name, backward, reads, writes, forward);
    }

    /// Walks the tape in reverse. `seeds` are the arrays whose gradients were set. Gives warnings.
    fn _backward(&self, py: Python<'_>, seeds: Vec<Py<PyAny>>, is_named: bool) -> PyResult<Vec<String>> {
        guarded(|| backward::run(py, &self.shared, &seeds, is_named))
    }

    /// Sets the gradients of all arrays on the tape to zero.
    fn _zero(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| gradients::zero(py, &self.shared))
    }

    /// Forgets everything.
    fn _reset(&self) {
        let entries = self.shared.edit(State::clear);
        // Freeing arguments may run Python code.
        drop(entries);
        if watch::active().is_none_or(|active| !Arc::ptr_eq(&active, &self.shared)) {
            watch::unwatch(&self.shared);
        }
    }

    /// Begins a stretch whose launches keep no values of their own, and its first step.
    fn _begin_stretch(&self, progress: Option<Py<PyAny>>) -> PyResult<()> {
        self.shared.edit(|state| state.begin_stretch(Vec::new(), progress)).map_err(PyRuntimeError::new_err)
    }

    /// Begins another step; with `is_part` it is a moment to come back to.
    fn _step(&self, is_part: bool) {
        self.shared.edit(|state| state.step(is_part));
    }

    /// Says how many steps the parts of a part have, and the parts of those.
    fn _split(&self, inner: Vec<usize>) {
        self.shared.edit(|state| {
            if let Some(stretch) = state.stretches.last_mut() {
                stretch.inner = inner;
            }
        });
    }

    fn _end_stretch(&self) {
        self.shared.edit(State::end_stretch);
    }

    /// Bytes that were saved because a write came before the backward pass.
    #[getter]
    fn saved_bytes(&self) -> u64 {
        self.shared.read(State::saved_bytes)
    }

    /// Number of entries.
    #[getter]
    fn _n_entries(&self) -> usize {
        self.shared.read(|state| state.entries.len())
    }

    /// Every entry: (kernel, dim, number of inputs, arguments, device, threads of a block) of a launch, (name, backward,
    /// reads, writes) of a function.
    fn _entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        report::entries(py, &self.shared)
    }

    /// For a launch's number: for each parameter whether its arrays are read and written, and whether the way back reads
    /// what was there before.
    fn _accesses(&self, py: Python<'_>, index: usize) -> PyResult<Vec<(bool, bool, bool)>> {
        report::accesses(py, &self.shared, index)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.shared.visit(|object| visit.call(object))
    }

    fn __clear__(&self) {
        drop(self.shared.edit(State::clear));
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        watch::unwatch(&self.shared);
    }
}

/// Announces a write to an array by `what`, to be made from Python. `is_recorded`: the tape will have it.
#[pyfunction]
#[pyo3(signature = (array, what, is_recorded=false))]
pub(crate) fn before_write(array: &Bound<'_, PyAny>, what: &str, is_recorded: bool) -> PyResult<()> {
    if crate::state::flags() & crate::state::TAPES == 0 {
        return Ok(());
    }
    match span_of(array)? {
        Some(span) => watch::before_write(span, is_recorded, &|| what.to_owned()),
        None => Ok(()),
    }
}

/// Whether a tape records.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    crate::state::flags() & crate::state::TAPES != 0 && watch::active().is_some()
}

/// Whether a tape has the array's values in place, so that a write from outside would go unseen.
#[pyfunction]
pub(crate) fn is_watched(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    if crate::state::flags() & crate::state::TAPES == 0 {
        return Ok(false);
    }
    Ok(span_of(array)?.is_some_and(watch::is_watched))
}

/// Whether two arrays may have memory in common.
#[pyfunction]
pub(crate) fn overlap(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(span_of(a)?.zip(span_of(b)?).is_some_and(|(a, b)| a.overlaps(b)))
}

/// Whether an entry of the recording tape has touched the array's memory, or it must have every write.
#[pyfunction]
pub(crate) fn is_on_tape(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (Some(tape), Some(span)) = (watch::active(), span_of(array)?) else { return Ok(false) };
    Ok(tape.read(|state| state.in_stretch() || state.touches(span)))
}

/// Notes a function on the tape that records, if one does.
#[pyfunction]
#[pyo3(signature = (name, backward, reads, writes, forward=None))]
pub(crate) fn record_func(
    name: String,
    backward: Option<Py<PyAny>>,
    reads: Vec<Py<PyAny>>,
    writes: Vec<Py<PyAny>>,
    forward: Option<Py<PyAny>>,
) {
    if let Some(tape) = watch::active() {
        record::function(&tape, name, backward, reads, writes, forward);
    }
}

fn span_of(array: &Bound<'_, PyAny>) -> PyResult<Option<Span>> {
    let found = crate::array::CLASS.cast::<Array>(array);
    let found = found.ok_or_else(|| PyTypeError::new_err(format!("not an array: {array:?}")))?.get();
    Ok(Span::of_array(&found.descriptor, found.elem.size()))
}

/// The device of a launch, as Python names it.
fn device_name(device: Device) -> String {
    match device {
        Device::Cpu => "cpu".to_owned(),
        Device::Interp => "interp".to_owned(),
        Device::Cuda(ordinal) => format!("cuda:{ordinal}"),
    }
}
