//! Memory of devices, copies and fills.

use super::launch::settle;
use super::stream::CudaStream;
use super::{device, raised};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runtime_cuda::{
    Allocation, Device, HANDLE_BYTES, HostLock, MemoryKind, PointerPlace, RawStream, handle_of, pointer_place, range_of,
};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// Larger copies let other Python threads run meanwhile.
const RELEASE_BYTES: usize = 1 << 20;

/// Owned memory: "device", "pinned" (the host's, page-locked) or "managed". Freed in the order of streams.
#[pyclass(name = "CudaBuffer", module = "gridstride._native", frozen, weakref)]
pub(crate) struct CudaBuffer(Allocation);

#[pymethods]
impl CudaBuffer {
    #[new]
    #[pyo3(signature = (ordinal, n_bytes, kind="device"))]
    fn new(ordinal: u32, n_bytes: usize, kind: &str) -> PyResult<CudaBuffer> {
        let kind = match kind {
            "device" => MemoryKind::Device,
            "pinned" => MemoryKind::Pinned,
            "managed" => MemoryKind::Managed,
            _ => return Err(PyValueError::new_err(format!("there is no memory of the kind {kind:?}"))),
        };
        device(ordinal)?.allocate(kind, n_bytes.max(1)).map(CudaBuffer).map_err(raised)
    }

    /// Memory of another process, by its handle.
    #[staticmethod]
    fn of_handle(ordinal: u32, handle: [u8; HANDLE_BYTES]) -> PyResult<CudaBuffer> {
        Allocation::open(device(ordinal)?, handle).map(CudaBuffer).map_err(raised)
    }

    #[getter]
    fn ptr(&self) -> u64 {
        self.0.ptr()
    }

    #[getter]
    fn n_bytes(&self) -> usize {
        self.0.n_bytes()
    }
}

/// What another process opens memory by.
#[pyfunction]
fn cuda_memory_handle(py: Python<'_>, ordinal: u32, ptr: u64) -> PyResult<Bound<'_, PyBytes>> {
    let handle = handle_of(device(ordinal)?, ptr).map_err(raised)?;
    Ok(PyBytes::new(py, &handle))
}

/// The allocation that an address lies in: its first byte, and how many it has.
#[pyfunction]
fn cuda_memory_range(ordinal: u32, ptr: u64) -> PyResult<(u64, usize)> {
    range_of(device(ordinal)?, ptr).map_err(raised)
}

/// Memory of the host that is page-locked as long as this lives.
#[pyclass(name = "CudaHostLock", module = "gridstride._native", frozen)]
pub(crate) struct CudaHostLock {
    _lock: HostLock,
}

#[pymethods]
impl CudaHostLock {
    #[new]
    fn new(ordinal: u32, ptr: u64, n_bytes: usize) -> PyResult<CudaHostLock> {
        // SAFETY: the package keeps the memory's owner beside the lock.
        unsafe { HostLock::new(device(ordinal)?, ptr, n_bytes) }
            .map(|lock| CudaHostLock { _lock: lock })
            .map_err(raised)
    }
}

/// The stream that is given, or the device's current one.
fn queue(ordinal: u32, stream: Option<&Bound<'_, CudaStream>>) -> PyResult<RawStream> {
    match stream {
        Some(stream) => Ok(stream.get().raw()),
        None => Ok(device(ordinal)?.current_stream()),
    }
}

/// Refuses what a graph cannot hold while one is captured.
fn refuse_in_capture(stream: RawStream, what: &str) -> PyResult<()> {
    if stream.device().is_capturing() && stream.is_capturing().map_err(raised)? {
        return Err(PyRuntimeError::new_err(format!(
            "cannot {what} while a graph is captured on cuda:{}: a graph runs again without the host; do it before the \
             capture begins or after it ends",
            stream.device().ordinal
        )));
    }
    Ok(())
}

/// Copies from the host. With `is_lasting` the caller keeps the memory as it is until the stream has read it; else it
/// may change at once.
#[pyfunction]
#[pyo3(signature = (ordinal, dst, src, n_bytes, is_lasting=false, stream=None))]
fn cuda_upload(
    py: Python<'_>,
    ordinal: u32,
    dst: u64,
    src: u64,
    n_bytes: usize,
    is_lasting: bool,
    stream: Option<&Bound<'_, CudaStream>>,
) -> PyResult<()> {
    let stream = queue(ordinal, stream)?;
    if !is_lasting {
        refuse_in_capture(stream, "copy values from the host")?;
    }
    let copy = move || {
        // SAFETY: the package passes the addresses and sizes of arrays.
        unsafe { stream.upload(dst, src as *const u8, n_bytes) }?;
        // The driver has copied memory that it does not know before it returns; page-locked memory it reads later.
        if !is_lasting && pointer_place(src) != PointerPlace::Host { stream.synchronize() } else { Ok(()) }
    };
    if n_bytes < RELEASE_BYTES { copy() } else { py.detach(copy) }.map_err(raised)
}

/// Copies to the host. With `waits` the bytes are there when it returns, and so are failures of kernels before.
#[pyfunction]
#[pyo3(signature = (ordinal, dst, src, n_bytes, waits=true, stream=None))]
fn cuda_download(
    py: Python<'_>,
    ordinal: u32,
    dst: u64,
    src: u64,
    n_bytes: usize,
    waits: bool,
    stream: Option<&Bound<'_, CudaStream>>,
) -> PyResult<()> {
    let stream = queue(ordinal, stream)?;
    if waits {
        refuse_in_capture(stream, "read an array on the host")?;
    }
    let copy = move || {
        // SAFETY: the package passes the addresses and sizes of arrays.
        unsafe { stream.download(dst as *mut u8, src, n_bytes) }?;
        if waits { stream.synchronize() } else { Ok(()) }
    };
    py.detach(copy).map_err(raised)?;
    if waits { settle(py, stream.device()) } else { Ok(()) }
}

/// Copies between devices, or within one, on a stream of the destination.
#[pyfunction]
#[pyo3(signature = (ordinal, dst, src_ordinal, src, n_bytes, stream=None))]
fn cuda_copy(
    ordinal: u32,
    dst: u64,
    src_ordinal: u32,
    src: u64,
    n_bytes: usize,
    stream: Option<&Bound<'_, CudaStream>>,
) -> PyResult<()> {
    let stream = queue(ordinal, stream)?;
    let (to, from) = (device(ordinal)?, device(src_ordinal)?);
    if ordinal == src_ordinal {
        // SAFETY: the package passes the addresses and sizes of arrays.
        return unsafe { stream.copy((to, dst), (from, src), n_bytes) }.map_err(raised);
    }
    if to.is_capturing() && stream.is_capturing().map_err(raised)? {
        // The graph knows its own work alone: whoever launches it orders it with other devices.
        // SAFETY: as above.
        return unsafe { stream.copy((to, dst), (from, src), n_bytes) }.map_err(raised);
    }
    // After what the source's device has to do, and before what it does next.
    let other = from.current_stream();
    stream.wait_for(other).map_err(raised)?;
    // SAFETY: as above.
    unsafe { stream.copy((to, dst), (from, src), n_bytes) }.map_err(raised)?;
    other.wait_for(stream).map_err(raised)
}

/// Sets `count` elements to a value's bytes, where the driver can. Says whether it did.
#[pyfunction]
#[pyo3(signature = (ordinal, dst, value, count, stream=None))]
fn cuda_fill(
    ordinal: u32,
    dst: u64,
    value: &[u8],
    count: usize,
    stream: Option<&Bound<'_, CudaStream>>,
) -> PyResult<bool> {
    let stream = queue(ordinal, stream)?;
    // SAFETY: the package passes the address and size of an array.
    unsafe { stream.fill_elements(dst, value, count) }.map_err(raised)
}

/// Moves managed memory to a device, or to the host, ahead of its use there.
#[pyfunction]
#[pyo3(signature = (ordinal, ptr, n_bytes, to_host=false))]
fn cuda_prefetch(ordinal: u32, ptr: u64, n_bytes: usize, to_host: bool) -> PyResult<()> {
    let device = device(ordinal)?;
    if !device.properties.has_concurrent_managed_access || n_bytes == 0 {
        return Ok(());
    }
    // SAFETY: the package passes the addresses and sizes of arrays.
    unsafe { device.current_stream().prefetch(ptr, n_bytes, to_host) }.map_err(raised)
}

/// Where the driver says that an address leads: "cpu", "pinned", "cuda:0", "managed".
#[pyfunction]
fn cuda_place(ptr: u64) -> String {
    match pointer_place(ptr) {
        PointerPlace::Host => "cpu".to_owned(),
        PointerPlace::Pinned => "pinned".to_owned(),
        PointerPlace::Managed => "managed".to_owned(),
        PointerPlace::Device(ordinal) => format!("cuda:{ordinal}"),
    }
}

/// Memory of a device, where tapes keep values. Copies go to the current stream, in order with launches.
struct DeviceMemory {
    ordinal: u32,
    owned: Mutex<Option<HashMap<u64, Allocation>>>,
}

static MEMORIES: [DeviceMemory; super::MAX_DEVICES] = {
    let mut memories = [const { DeviceMemory { ordinal: 0, owned: Mutex::new(None) } }; super::MAX_DEVICES];
    let mut ordinal = 0;
    while ordinal < memories.len() {
        memories[ordinal].ordinal = ordinal as u32;
        ordinal += 1;
    }
    memories
};

/// The device's memory that an address lies in; none for the host's.
pub(crate) fn memory_at(address: u64) -> Option<&'static dyn tape::Memory> {
    match pointer_place(address) {
        PointerPlace::Device(ordinal) => {
            MEMORIES.get(ordinal as usize).map(|memory| memory as &'static dyn tape::Memory)
        }
        _ => None,
    }
}

impl DeviceMemory {
    fn owned(&self) -> MutexGuard<'_, Option<HashMap<u64, Allocation>>> {
        self.owned.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl tape::Memory for DeviceMemory {
    fn allocate(&self, n_bytes: u64) -> Result<u64, tape::OutOfMemory> {
        let made = Device::get(self.ordinal)
            .and_then(|device| device.allocate(MemoryKind::Device, (n_bytes as usize).max(1)))
            .map_err(|_| tape::OutOfMemory(n_bytes))?;
        let address = made.ptr();
        self.owned().get_or_insert_default().insert(address, made);
        Ok(address)
    }

    unsafe fn free(&self, address: u64, _n_bytes: u64) {
        let freed = self.owned().get_or_insert_default().remove(&address);
        drop(freed);
    }

    unsafe fn zero(&self, at: u64, n_bytes: u64) {
        let Ok(device) = Device::get(self.ordinal) else { return };
        // SAFETY: the caller's promise.
        let _ = unsafe { device.current_stream().fill(at, 0, n_bytes as usize) };
    }

    unsafe fn copy(&self, to: u64, from: u64, n_bytes: u64) {
        let Ok(device) = Device::get(self.ordinal) else { return };
        // The next call that waits tells of an error here.
        // SAFETY: the caller's promise.
        let _ = unsafe { device.current_stream().copy((device, to), (device, from), n_bytes as usize) };
    }
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<CudaBuffer>()?;
    m.add_class::<CudaHostLock>()?;
    m.add_function(wrap_pyfunction!(cuda_memory_handle, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_memory_range, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_upload, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_download, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_copy, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_fill, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_prefetch, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_place, m)?)
}
