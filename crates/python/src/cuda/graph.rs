//! Graphs: work captured once and launched many times.

use super::launch::settle;
use super::raised;
use super::stream::CudaStream;
use crate::state::{self, CAPTURES};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use runtime_cuda::{Condition, Graph, begin_capture, end_body, end_capture};
use std::sync::{Mutex, MutexGuard};

/// What captured work uses, for as long as the graph lives.
static KEPT: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());
static N_CAPTURES: Mutex<usize> = Mutex::new(0);

/// A captured graph. It keeps the arguments of its launches, and the arrays that its copies use, alive.
#[pyclass(name = "CudaGraph", module = "gridstride._native", frozen)]
pub(crate) struct CudaGraph {
    graph: Graph,
    kept: Mutex<Vec<Py<PyAny>>>,
}

#[pymethods]
impl CudaGraph {
    fn launch(&self, stream: &Bound<'_, CudaStream>) -> PyResult<()> {
        self.graph.launch(stream.get().raw()).map_err(raised)
    }

    /// Moves it to the device ahead of its first launch.
    fn upload(&self, stream: &Bound<'_, CudaStream>) -> PyResult<()> {
        self.graph.upload(stream.get().raw()).map_err(raised)
    }

    /// Number of operations.
    #[getter]
    fn n_nodes(&self) -> PyResult<usize> {
        self.graph.n_nodes().map_err(raised)
    }

    fn write_dot(&self, path: &str, is_verbose: bool) -> PyResult<()> {
        self.graph.write_dot(path, is_verbose).map_err(raised)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.kept.try_lock() {
            Ok(kept) => kept.iter().try_for_each(|object| visit.call(object)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        drop(std::mem::take(&mut *lock(&self.kept)));
    }
}

/// Keeps an object until the graph that is being captured is gone. Without a capture it does nothing.
#[pyfunction]
fn cuda_keep(object: &Bound<'_, PyAny>) {
    keep_while_captured([object.clone()]);
}

pub(crate) fn keep_while_captured<'py>(objects: impl IntoIterator<Item = Bound<'py, PyAny>>) {
    if *lock(&N_CAPTURES) != 0 {
        lock(&KEPT).extend(objects.into_iter().map(Bound::unbind));
    }
}

/// Begins to capture the work of a stream instead of running it.
#[pyfunction]
fn cuda_begin_capture(py: Python<'_>, stream: &Bound<'_, CudaStream>) -> PyResult<()> {
    let raw = stream.get().raw();
    // Failed checks of launches before are not those of the graph.
    settle(py, raw.device())?;
    begin_capture(raw).map_err(raised)?;
    *lock(&N_CAPTURES) += 1;
    state::set_flag(CAPTURES, true);
    Ok(())
}

/// Ends the capture and makes the graph of it.
#[pyfunction]
fn cuda_end_capture(stream: &Bound<'_, CudaStream>) -> PyResult<CudaGraph> {
    let graph = end_capture(stream.get().raw());
    let mut n_captures = lock(&N_CAPTURES);
    *n_captures = n_captures.saturating_sub(1);
    let is_last = *n_captures == 0;
    drop(n_captures);
    let kept = std::mem::take(&mut *lock(&KEPT));
    if is_last {
        state::set_flag(CAPTURES, false);
    }
    Ok(CudaGraph { graph: graph.map_err(raised)?, kept: Mutex::new(kept) })
}

/// What decides whether bodies of the graph that is captured from a stream run: a number on the device that is not zero,
/// or is zero, when the graph gets here.
#[pyclass(name = "CudaCondition", module = "gridstride._native", frozen)]
pub(crate) struct CudaCondition(Condition);

#[pymethods]
impl CudaCondition {
    #[new]
    #[pyo3(signature = (stream, address, is_negated=false))]
    fn new(stream: &Bound<'_, CudaStream>, address: u64, is_negated: bool) -> PyResult<CudaCondition> {
        Condition::new(stream.get().raw(), address, is_negated).map(CudaCondition).map_err(raised)
    }

    /// Reads the number anew at this point of a stream.
    fn read(&self, stream: &Bound<'_, CudaStream>, address: u64) -> PyResult<()> {
        self.0.read(stream.get().raw(), address).map_err(raised)
    }

    /// Adds a body to the graph, and begins to capture it from another stream.
    fn begin_body(&self, stream: &Bound<'_, CudaStream>, inner: &Bound<'_, CudaStream>, is_loop: bool) -> PyResult<()> {
        self.0.begin_body(stream.get().raw(), inner.get().raw(), is_loop).map_err(raised)
    }

    #[staticmethod]
    fn end_body(inner: &Bound<'_, CudaStream>) -> PyResult<()> {
        end_body(inner.get().raw()).map_err(raised)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<CudaGraph>()?;
    m.add_class::<CudaCondition>()?;
    m.add_function(wrap_pyfunction!(cuda_keep, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_begin_capture, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_end_capture, m)?)
}
