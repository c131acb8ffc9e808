//! NVIDIA devices for Python: memory, streams, events, graphs and launches, as `runtime-cuda` has them.
//!
//! Functions take a device's number; copies and fills go to its current stream unless one is given. Errors of the
//! driver are `RuntimeError`s that name the call, and the kernels where a kernel failed.

mod dlpack;
mod graph;
mod grid_sums;
mod launch;
mod memory;
mod stream;
mod summed;

pub(crate) use graph::keep_while_captured;
pub(crate) use launch::{CudaReady, Queue, submit, submit_blocks};
pub(crate) use memory::memory_at;
pub(crate) use stream::CudaStream;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use runtime_cuda::{Device, Error, RawStream, Stream, driver};
use std::sync::atomic::{AtomicU64, Ordering};

const MAX_DEVICES: usize = 64;

/// By device: a bit for each device whose memory its kernels may use.
static PEERS: [AtomicU64; MAX_DEVICES] = [const { AtomicU64::new(0) }; MAX_DEVICES];

/// Whether kernels of one device may use memory of another.
#[inline]
pub(crate) fn reaches(device: u32, memory: u32) -> bool {
    PEERS.get(device as usize).is_some_and(|peers| peers.load(Ordering::Relaxed) >> (memory & 63) & 1 == 1)
}

fn note_peer(device: u32, memory: u32, is_enabled: bool) {
    let bit = 1 << (memory & 63);
    if let Some(peers) = PEERS.get(device as usize) {
        if is_enabled {
            peers.fetch_or(bit, Ordering::Relaxed)
        } else {
            peers.fetch_and(!bit, Ordering::Relaxed)
        };
    }
}

/// The exception for an error of the driver.
#[cold]
pub(crate) fn raised(error: Error) -> PyErr {
    PyRuntimeError::new_err(launch::with_kernels(&error))
}

pub(crate) fn device(ordinal: u32) -> PyResult<&'static Device> {
    Device::get(ordinal).map_err(raised)
}

/// Number of CUDA devices: 0 without a driver.
#[pyfunction]
fn cuda_device_count() -> u32 {
    driver::device_count()
}

/// Whether the driver has been started.
#[pyfunction]
fn cuda_is_started() -> bool {
    driver::is_started()
}

/// Why there is no driver; None where there is one.
#[pyfunction]
fn cuda_missing() -> Option<String> {
    driver::start().err().map(|error| error.to_string())
}

#[pyfunction]
fn cuda_driver_version() -> PyResult<(u32, u32)> {
    driver::version().map_err(raised)
}

/// What a device is, by name. Makes no context.
#[pyfunction]
fn cuda_properties(py: Python<'_>, ordinal: u32) -> PyResult<Bound<'_, PyDict>> {
    let found = driver::properties(ordinal).map_err(raised)?;
    let properties = PyDict::new(py);
    properties.set_item("name", found.name)?;
    properties.set_item("arch", found.sm)?;
    properties.set_item("sm_count", found.n_multiprocessors)?;
    properties.set_item("max_threads_per_block", found.max_threads_per_block)?;
    properties.set_item("max_shared_memory_per_block", found.max_shared_bytes)?;
    properties.set_item("total_memory", found.total_memory)?;
    properties.set_item("uuid", found.uuid)?;
    properties.set_item("pci_bus_id", found.pci_bus_id)?;
    properties.set_item("is_uva", found.has_unified_addressing)?;
    properties.set_item("is_mempool_supported", found.has_pools)?;
    properties.set_item("is_managed_memory_supported", found.has_managed_memory)?;
    properties.set_item("is_concurrent_managed_access_supported", found.has_concurrent_managed_access)?;
    properties.set_item("is_cpu_memory_access_from_gpu_supported", found.reads_host_memory)?;
    properties.set_item("is_ipc_supported", found.has_ipc)?;
    properties.set_item("clock_khz", found.clock_khz)?;
    Ok(properties)
}

/// Bytes of memory that are free, and all.
#[pyfunction]
fn cuda_memory(ordinal: u32) -> PyResult<(u64, u64)> {
    device(ordinal)?.memory().map_err(raised)
}

/// Address of the primary context, made when it is not there.
#[pyfunction]
fn cuda_context(ordinal: u32) -> PyResult<u64> {
    Ok(device(ordinal)?.context_address())
}

/// Lets a profiler that waits for it collect from now on, or no longer.
#[pyfunction]
fn cuda_set_profiled(ordinal: u32, is_profiled: bool) -> PyResult<()> {
    device(ordinal)?.set_profiled(is_profiled).map_err(raised)
}

/// Address of the calling thread's current context, 0 where there is none.
#[pyfunction]
fn cuda_current_context() -> PyResult<u64> {
    runtime_cuda::current_context().map_err(raised)
}

/// Makes a context the calling thread's current one until it is popped.
#[pyfunction]
fn cuda_push_context(context: u64) -> PyResult<()> {
    // SAFETY: the package passes the primary context, or one that a library vouches for.
    unsafe { runtime_cuda::push_context(context) }.map_err(raised)
}

/// Takes the current context off; gives its address, 0 where there is none.
#[pyfunction]
fn cuda_pop_context() -> PyResult<u64> {
    runtime_cuda::pop_context().map_err(raised)
}

/// Whether the device's context is in use.
#[pyfunction]
fn cuda_is_opened(ordinal: u32) -> bool {
    Device::opened(ordinal).is_some()
}

#[pyfunction]
fn cuda_can_access(ordinal: u32, peer: u32) -> PyResult<bool> {
    device(ordinal)?.can_access(device(peer)?).map_err(raised)
}

/// Whether kernels of a device may use memory of another.
#[pyfunction]
fn cuda_has_access(ordinal: u32, peer: u32) -> bool {
    ordinal == peer || reaches(ordinal, peer)
}

/// Lets kernels of a device use memory of `peer`, from its pool or not, or no longer.
#[pyfunction]
fn cuda_set_access(ordinal: u32, peer: u32, is_enabled: bool) -> PyResult<()> {
    let (device, other) = (device(ordinal)?, device(peer)?);
    device.set_peer_access(other, is_enabled).map_err(raised)?;
    if other.properties.has_pools {
        other.set_pool_access(device, is_enabled).map_err(raised)?;
    }
    note_peer(ordinal, peer, is_enabled);
    Ok(())
}

/// Whether memory comes from the device's pool; `is_enabled` changes it.
#[pyfunction]
#[pyo3(signature = (ordinal, is_enabled=None))]
fn cuda_pool_enabled(ordinal: u32, is_enabled: Option<bool>) -> PyResult<bool> {
    let device = device(ordinal)?;
    if let Some(is_enabled) = is_enabled {
        device.enable_pool(is_enabled).map_err(raised)?;
    }
    Ok(device.is_pool_enabled())
}

/// Bytes that the device's pool keeps although nobody uses them; `n_bytes` changes it.
#[pyfunction]
#[pyo3(signature = (ordinal, n_bytes=None))]
fn cuda_pool_threshold(ordinal: u32, n_bytes: Option<u64>) -> PyResult<u64> {
    let device = device(ordinal)?;
    if let Some(n_bytes) = n_bytes {
        device.set_release_threshold(n_bytes).map_err(raised)?;
    }
    device.release_threshold().map_err(raised)
}

/// Bytes of the pool in use: now, and at most so far.
#[pyfunction]
fn cuda_pool_used(ordinal: u32) -> PyResult<(u64, u64)> {
    device(ordinal)?.pool_used().map_err(raised)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(cuda_device_count, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_is_started, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_missing, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_driver_version, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_properties, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_memory, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_context, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_set_profiled, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_current_context, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_push_context, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_pop_context, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_is_opened, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_can_access, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_has_access, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_set_access, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_pool_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_pool_threshold, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_pool_used, m)?)?;
    memory::register(m)?;
    stream::register(m)?;
    graph::register(m)?;
    dlpack::register(m)?;
    m.add_function(wrap_pyfunction!(launch::cuda_kernel_properties, m)?)
}

/// As `raised`, for what happened while a kernel was made ready for a device.
#[cold]
pub(crate) fn raised_for(kernel: &str, ordinal: u32, error: Error) -> PyErr {
    PyRuntimeError::new_err(format!("kernel `{kernel}` on cuda:{ordinal}: {}", launch::with_kernels(&error)))
}

/// Orders a stream of ours and one of another library's: ours waits for what is there, or the other way round.
pub(crate) fn order(stream: RawStream, other: u64, ours_waits: bool) -> PyResult<()> {
    let foreign = Stream::foreign(stream.device(), other);
    let (first, second) = if ours_waits { (foreign.raw(), stream) } else { (stream, foreign.raw()) };
    second.wait_for(first).map_err(raised)
}
