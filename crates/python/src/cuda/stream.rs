//! Streams and events, and waiting for them.

use super::launch::settle;
use super::{device, raised};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runtime_cuda::{Event, EventOptions, HANDLE_BYTES, RawStream, Stream};

/// A stream. With `handle` it is one that others made and keep, as long as it is used here or, with `is_borrowed`, while
/// they like; with `is_own` the one that the device's work goes to at first.
#[pyclass(name = "CudaStream", module = "gridstride._native", subclass, frozen)]
pub(crate) struct CudaStream(Stream);

#[pymethods]
impl CudaStream {
    #[new]
    #[pyo3(signature = (ordinal, priority=0, handle=None, is_own=false, is_borrowed=false))]
    fn new(ordinal: u32, priority: i32, handle: Option<u64>, is_own: bool, is_borrowed: bool) -> PyResult<CudaStream> {
        let device = device(ordinal)?;
        match handle {
            _ if is_own => Ok(CudaStream(device.own_stream().clone())),
            Some(handle) if is_borrowed => Ok(CudaStream(Stream::borrowed(device, handle))),
            Some(handle) => Ok(CudaStream(Stream::foreign(device, handle))),
            None => Stream::new(device, priority).map(CudaStream).map_err(raised),
        }
    }

    #[getter]
    fn handle(&self) -> u64 {
        self.raw().handle()
    }

    #[getter]
    fn priority(&self) -> PyResult<i32> {
        self.0.priority().map_err(raised)
    }

    #[getter]
    fn is_complete(&self) -> PyResult<bool> {
        self.raw().is_complete().map_err(raised)
    }

    #[getter]
    fn is_capturing(&self) -> PyResult<bool> {
        self.raw().is_capturing().map_err(raised)
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let raw = self.raw();
        py.detach(|| raw.synchronize()).map_err(raised)?;
        settle(py, raw.device())
    }

    fn wait_event(&self, event: &Bound<'_, CudaEvent>) -> PyResult<()> {
        self.raw().wait_event(&event.get().0).map_err(raised)
    }

    /// Later work here waits for what is on `other` now.
    fn wait_stream(&self, other: &Bound<'_, CudaStream>) -> PyResult<()> {
        self.raw().wait_for(other.get().raw()).map_err(raised)
    }

    /// Makes it the stream that the device's work goes to where none is named.
    fn make_current(&self) {
        self.raw().device().set_current_stream(&self.0);
    }
}

impl CudaStream {
    pub(crate) fn raw(&self) -> RawStream {
        self.0.raw()
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.0.is_ours()
    }

    pub(crate) fn is_borrowed(&self) -> bool {
        self.0.is_borrowed()
    }
}

/// An event. With `handle` it is one that others made and keep, with `shared_handle` one of another process.
#[pyclass(name = "CudaEvent", module = "gridstride._native", subclass, frozen)]
pub(crate) struct CudaEvent(Event);

#[pymethods]
impl CudaEvent {
    #[new]
    #[pyo3(signature = (ordinal, has_time=false, sleeps=false, handle=None, is_shared=false, shared_handle=None))]
    fn new(
        ordinal: u32,
        has_time: bool,
        sleeps: bool,
        handle: Option<u64>,
        is_shared: bool,
        shared_handle: Option<[u8; HANDLE_BYTES]>,
    ) -> PyResult<CudaEvent> {
        let device = device(ordinal)?;
        match (handle, shared_handle) {
            (Some(handle), _) => Ok(CudaEvent(Event::foreign(device, handle))),
            (None, Some(handle)) => Event::open(device, handle).map(CudaEvent).map_err(raised),
            (None, None) => {
                let options = EventOptions { has_time, sleeps, is_shared };
                Event::new(device, options).map(CudaEvent).map_err(raised)
            }
        }
    }

    /// What another process opens the event by.
    fn ipc_handle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.shared_handle().map_err(raised)?))
    }

    #[getter]
    fn handle(&self) -> u64 {
        self.0.handle()
    }

    #[getter]
    fn is_complete(&self) -> PyResult<bool> {
        self.0.is_complete().map_err(raised)
    }

    fn record(&self, stream: &Bound<'_, CudaStream>) -> PyResult<()> {
        self.0.record(stream.get().raw()).map_err(raised)
    }

    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(raised)?;
        settle(py, self.0.device())
    }

    /// Milliseconds to a later event.
    fn elapsed(&self, end: &Bound<'_, CudaEvent>) -> PyResult<f32> {
        self.0.elapsed_ms(&end.get().0).map_err(raised)
    }
}

/// Waits for all work of a device.
#[pyfunction]
fn cuda_synchronize(py: Python<'_>, ordinal: u32) -> PyResult<()> {
    let device = device(ordinal)?;
    py.detach(|| device.synchronize()).map_err(raised)?;
    settle(py, device)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<CudaStream>()?;
    m.add_class::<CudaEvent>()?;
    m.add_function(wrap_pyfunction!(cuda_synchronize, m)?)
}
