//! Launches on a CUDA device: packed arguments onto a stream, and what is heard of them later.
//!
//! A launch returns when the driver has it. Checks that fail write a record, which is read when something has waited for
//! the device; the launch's kernel, arguments and shape are kept until then.

use super::grid_sums::GridSums;
use super::summed::{keeps_sums, summed};
use super::{CudaStream, device, order, raised};
use crate::block_fault::block_fault;
use crate::bytes::Reach;
use crate::fault::{Launched, fault_error};
use crate::function::Kernel;
use crate::launch::{Grid, Prepared};
use crate::options::Order;
use crate::pack::Signature;
use crate::plan::{CudaKey, UnitKey};
use crate::state::{self, VERIFIES};
use crate::tape::{self, places::elements_may_overlap};
use pipeline::{CudaCode, Unit};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use runtime::BlockBounds;
use runtime_cuda::{Device, Error, Given, MemoryKind, RawStream, Slot};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Code that can run on a device.
pub(crate) struct CudaReady {
    pub(crate) unit: Arc<Unit>,
    pub(crate) code: Arc<CudaCode>,
    /// Which arrays its blocks sum up: `CudaKey::summed`.
    summed: u64,
    order: Order,
    /// Whether its blocks keep what all threads add up: `CudaKey::in_grid`.
    in_grid: bool,
    /// The kernel's name, kept for good: messages may need it when the kernel is gone.
    name: &'static String,
}

impl CudaReady {
    pub(crate) fn new(kernel: &Kernel, unit: Arc<Unit>, code: Arc<CudaCode>, order: Order, key: CudaKey) -> CudaReady {
        let CudaKey { summed, in_grid, .. } = key;
        CudaReady { unit, code, summed, order, in_grid, name: Box::leak(Box::new(kernel.name.clone())) }
    }

    /// Whether a launch needs no other code.
    #[inline]
    pub(crate) fn suits(&self, grid: &Grid, signature: &Signature, words: &[u64]) -> bool {
        let device = self.code.kernel.device();
        let n_multiprocessors = device.properties.n_multiprocessors;
        let shape = &self.code.shape;
        let sums = keeps_sums(&self.unit, self.order, signature, words) == self.in_grid
            && (self.in_grid
                || self.unit.summary().summed.is_empty()
                || summed(&self.unit, signature, words, grid, device) == self.summed);
        sums && !shape.is_wasted_on(grid.n_threads, n_multiprocessors) && shape.geometry(&grid.bounds.extents).is_some()
    }

    /// Whether elements of an array that it writes to may share memory: it relies on the contrary.
    pub(crate) fn is_for_others(&self, signature: &Signature, words: &[u64]) -> bool {
        elements_may_overlap(signature.places(), words, &self.unit.summary().written)
    }
}

/// The stream that a launch goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) stream: RawStream,
    /// Whether we made it and no graph is captured from it.
    pub(crate) is_plain: bool,
    /// Whether the device's own stream must wait for it.
    pub(crate) is_borrowed: bool,
}

impl Queue {
    #[inline]
    pub(crate) fn current(device: &'static Device) -> Queue {
        Queue { stream: device.current_stream(), is_plain: device.is_current_plain(), is_borrowed: false }
    }

    /// The stream that is given, or the current one.
    pub(crate) fn of(device: &'static Device, stream: Option<&Bound<'_, CudaStream>>) -> Queue {
        match stream {
            Some(stream) => {
                let stream = stream.get();
                let is_plain = stream.is_ours() && !device.is_capturing();
                Queue { stream: stream.raw(), is_plain, is_borrowed: stream.is_borrowed() }
            }
            None => Queue::current(device),
        }
    }
}

/// A launch whose checks have not been looked at.
struct Pending {
    device: &'static Device,
    slot: Slot,
    unit: Arc<Unit>,
    kernel: &'static String,
    rank: usize,
    /// For a launch over thread blocks its shape.
    blocks: Option<BlockBounds>,
    /// By parameter: whether it was given None for an array.
    nulls: Vec<bool>,
    /// Whether a graph launches it again and again.
    is_captured: bool,
}

static PENDING: Mutex<Vec<Pending>> = Mutex::new(Vec::new());

impl Prepared<'_, '_> {
    /// Runs it on a CUDA device.
    pub(crate) fn run_on_gpu(&self, ordinal: u32, key: UnitKey) -> PyResult<Arc<CudaReady>> {
        let py = self.kernel.py();
        let device = device(ordinal)?;
        let queue = Queue::of(device, self.stream);
        let layout = self.signature.layout(self.words, Reach::Cuda(ordinal));
        let has_few_threads = pipeline::has_few_threads(self.grid.n_threads, device.properties.n_multiprocessors);
        let unit = self.signature.variants.unit(self.kernel, &self.signature.types, key)?;
        let in_grid = keeps_sums(&unit, key.options.order, self.signature, self.words);
        let summed = if in_grid { 0 } else { summed(&unit, self.signature, self.words, &self.grid, device) };
        let usual = CudaKey::usual(ordinal, layout);
        // Blocks that keep sums are as many as there is work for.
        let mut cuda =
            CudaKey { block: self.block, has_few_threads: has_few_threads && !in_grid, summed, in_grid, ..usual };
        let code =
            |cuda| self.signature.variants.cuda_code(self.kernel, &self.signature.types, key, cuda, self.options);
        let mut ready = code(cuda)?;
        if ready.code.shape.geometry(&self.grid.bounds.extents).is_none() {
            cuda.is_strided = true;
            ready = code(cuda)?;
        }
        self.check_writes(&ready.unit)?;
        let pending = self.tell_tapes(key, &ready.unit)?;
        // Other libraries' work on the arguments comes before, and what they do next comes after.
        for &(_, stream) in &self.packed.streams {
            order(queue.stream, stream, true)?;
        }
        submit(py, &ready, self.signature, self.words, &self.grid, queue)?;
        for &(_, stream) in &self.packed.streams {
            order(queue.stream, stream, false)?;
        }
        tape::after(pending);
        Ok(ready)
    }
}

/// Puts a launch onto its stream.
#[inline]
pub(crate) fn submit(
    py: Python<'_>,
    ready: &CudaReady,
    signature: &Signature,
    words: &[u64],
    grid: &Grid,
    queue: Queue,
) -> PyResult<()> {
    let code = &*ready.code;
    let Some(geometry) = code.shape.geometry(&grid.bounds.extents) else {
        return Err(too_many_blocks(ready.name));
    };
    let dynamic_shared_bytes = code.asked_shared_bytes();
    let shape = runtime_cuda::Shape { grid: geometry.grid, block: geometry.block, dynamic_shared_bytes };
    let fault = match code.has_checks {
        true => note_pending(py, ready, signature, words, grid.rank, None, queue)?,
        false => 0,
    };
    let sizes = &ready.unit.summary().grid_sums;
    let sums = match ready.in_grid {
        true => Some(GridSums::new(words, sizes, shape.grid[0], queue).map_err(raised)?),
        false => None,
    };
    let args = sums.as_ref().map_or(words, |sums| &sums.words);
    let given = Given { args, bounds: &grid.bounds.extents, fault };
    // SAFETY: the arguments were packed for the signature that this code was compiled for. The memory that they point
    // to is freed in the order of streams, after the launch.
    let result = unsafe {
        if queue.is_plain {
            code.kernel.launch_again(queue.stream, &shape, &given)
        } else {
            code.kernel.launch(queue.stream, &shape, &given)
        }
    };
    sums.map_or(Ok(()), |sums| sums.give_back(py))?;
    sent(py, ready, queue, result)
}

/// What comes after a launch was handed to the driver.
#[inline]
fn sent(py: Python<'_>, ready: &CudaReady, queue: Queue, result: Result<(), Error>) -> PyResult<()> {
    note_recent(ready.name);
    if let Err(error) = result {
        return Err(refused(ready.name, queue, &error));
    }
    if queue.is_borrowed {
        queue.stream.device().own_stream().raw().wait_for(queue.stream).map_err(raised)?;
    }
    if state::flags() & VERIFIES != 0 && queue.is_plain {
        return verify(py, ready.name, queue);
    }
    Ok(())
}

/// Most blocks of a grid along each dimension.
const MAX_GRID: [i64; 3] = [i32::MAX as i64, 65535, 65535];

/// Puts a launch over thread blocks onto its stream.
pub(crate) fn submit_blocks(
    py: Python<'_>,
    ready: &CudaReady,
    signature: &Signature,
    words: &[u64],
    bounds: &BlockBounds,
    queue: Queue,
) -> PyResult<()> {
    let code = &*ready.code;
    let device = code.kernel.device();
    if bounds.grid.iter().zip(MAX_GRID).any(|(&n_blocks, most)| n_blocks > most) {
        let (kernel, grid) = (ready.name, bounds.grid);
        let text = format!("kernel `{kernel}`: a grid of {grid:?} blocks is more than the {MAX_GRID:?} of a GPU");
        return Err(PyValueError::new_err(text));
    }
    let fault = match code.has_checks {
        true => note_pending(py, ready, signature, words, 4, Some(*bounds), queue)?,
        false => 0,
    };
    let shape = runtime_cuda::Shape {
        grid: bounds.grid.map(|n_blocks| n_blocks as u32),
        block: bounds.block.map(|n_threads| n_threads as u32),
        dynamic_shared_bytes: bounds.dynamic_shared as u32,
    };
    let ([gx, gy, gz], [bx, by, bz]) = (bounds.grid, bounds.block);
    let mut extents = [gx, gy, gz, bx, by, bz, bounds.dynamic_shared, 0];
    // A word of zeros for the blocks to meet at. It is freed in the order of streams, after the launch.
    let meeting = match code.is_cooperative {
        true => Some(device.allocate(MemoryKind::Device, 8).map_err(raised)?),
        false => None,
    };
    // SAFETY: as in `submit`; the word was just allocated.
    let result = unsafe {
        match &meeting {
            None => {
                let given = Given { args: words, bounds: &extents[..7], fault };
                if queue.is_plain {
                    code.kernel.launch_again(queue.stream, &shape, &given)
                } else {
                    code.kernel.launch(queue.stream, &shape, &given)
                }
            }
            Some(word) => {
                extents[7] = word.ptr() as i64;
                let given = Given { args: words, bounds: &extents, fault };
                let zeroed = queue.stream.fill(word.ptr(), 0, 8);
                zeroed.and_then(|()| code.kernel.launch_together(queue.stream, &shape, &given))
            }
        }
    };
    sent(py, ready, queue, result)
}

#[cold]
fn too_many_blocks(kernel: &str) -> PyErr {
    let text = format!("kernel `{kernel}`: a launch of this shape has more blocks than a grid may have");
    PyValueError::new_err(text)
}

#[cold]
fn refused(kernel: &str, queue: Queue, error: &Error) -> PyErr {
    let device = queue.stream.device().ordinal;
    PyRuntimeError::new_err(format!("kernel `{kernel}` on cuda:{device}: {}", with_kernels(error)))
}

/// `config.verify_cuda`: waits for the launch, so that what fails is known by name.
#[cold]
fn verify(py: Python<'_>, kernel: &str, queue: Queue) -> PyResult<()> {
    py.detach(|| queue.stream.synchronize()).map_err(|error| {
        let device = queue.stream.device().ordinal;
        PyRuntimeError::new_err(format!("kernel `{kernel}` failed on cuda:{device}: {error}"))
    })?;
    settle(py, queue.stream.device())
}

/// The address of a record for a launch whose checks can fail.
#[cold]
fn note_pending(
    py: Python<'_>,
    ready: &CudaReady,
    signature: &Signature,
    words: &[u64],
    rank: u32,
    blocks: Option<BlockBounds>,
    queue: Queue,
) -> PyResult<u64> {
    let device = queue.stream.device();
    let is_captured = device.is_capturing() && queue.stream.is_capturing().map_err(raised)?;
    let mut taken = device.take_fault_slot().map_err(raised)?;
    if taken.is_none() && !is_captured {
        settle(py, device)?;
        taken = device.take_fault_slot().map_err(raised)?;
    }
    let Some((slot, address)) = taken else {
        return Err(PyRuntimeError::new_err("too many launches with checks are part of graphs"));
    };
    let nulls = (0..signature.types.len()).map(|param| signature.is_null(param, words)).collect();
    let (unit, rank, kernel) = (ready.unit.clone(), rank as usize, ready.name);
    pending().push(Pending { device, slot, unit, kernel, rank, blocks, nulls, is_captured });
    Ok(address)
}

/// Looks at what the checks of a device's launches wrote, once all of them are over; the first failure is raised.
pub(crate) fn settle(py: Python<'_>, device: &'static Device) -> PyResult<()> {
    if !pending().iter().any(|launch| launch.device.ordinal == device.ordinal) || device.is_capturing() {
        return Ok(());
    }
    // What was waited for may have been another stream than theirs.
    py.detach(|| device.synchronize()).map_err(raised)?;
    let mut failed = None;
    pending().retain(|launch| {
        if launch.device.ordinal != device.ordinal {
            return true;
        }
        if let Some(record) = device.read_fault(launch.slot)
            && failed.is_none()
        {
            let Pending { unit, kernel, rank, blocks, nulls, .. } = launch;
            failed = Some((unit.clone(), *kernel, *rank, *blocks, nulls.clone(), record));
        }
        if !launch.is_captured {
            device.give_fault_slot(launch.slot);
        }
        launch.is_captured
    });
    match failed {
        None => Ok(()),
        Some((unit, kernel, rank, blocks, nulls, record)) => {
            let is_null = |param: usize| nulls.get(param).copied().unwrap_or(false);
            let launched = Launched { kernel, rank, is_null: &is_null, blocks: blocks.as_ref() };
            let between = blocks.and_then(|bounds| block_fault(py, &unit, &record, &launched, &bounds));
            Err(between.unwrap_or_else(|| fault_error(py, &unit, &record, &launched)))
        }
    }
}

fn pending() -> MutexGuard<'static, Vec<Pending>> {
    PENDING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Names of the last kernels launched, the next one's place.
static RECENT: [AtomicPtr<String>; 8] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 8];
static NEXT: AtomicUsize = AtomicUsize::new(0);

#[inline]
fn note_recent(name: &'static String) {
    let at = NEXT.fetch_add(1, Ordering::Relaxed) % RECENT.len();
    RECENT[at].store(std::ptr::from_ref(name).cast_mut(), Ordering::Relaxed);
}

/// An error's text. Where a kernel failed that ran earlier, it names those that may have.
#[cold]
pub(super) fn with_kernels(error: &Error) -> String {
    if !error.is_from_kernel() {
        return error.to_string();
    }
    let mut names: Vec<String> = Vec::new();
    let next = NEXT.load(Ordering::Relaxed);
    for back in 1..=RECENT.len() {
        let name = RECENT[next.wrapping_sub(back) % RECENT.len()].load(Ordering::Relaxed);
        // SAFETY: null, or a name that is kept for good.
        let Some(name) = (unsafe { name.as_ref() }) else { continue };
        let shown = format!("`{name}`");
        if !names.contains(&shown) {
            names.push(shown);
        }
    }
    let names = names.join(", ");
    format!(
        "{error}: a kernel that ran before has failed; the last ones launched were {names}, the latest first. The device \
         cannot be used by this process any more. Run it again with `wp.config.mode = \"debug\"`, which finds indices out \
         of bounds, or with `wp.config.verify_cuda = True`, which waits for each launch and names the one that fails"
    )
}

/// What a kernel's code for a device needs: registers, shared and local bytes, threads of a block at most, blocks that a
/// multiprocessor runs at a time, of `block` threads and so many dynamic shared bytes, or of the compiler's block.
#[pyfunction]
#[pyo3(signature = (kernel, arg_types, ordinal, options=None, rank=1, block=0, dynamic_shared=0))]
pub(crate) fn cuda_kernel_properties(
    kernel: &Bound<'_, PyAny>,
    arg_types: Vec<crate::types::PyIrType>,
    ordinal: u32,
    options: Option<&Bound<'_, pyo3::types::PyDict>>,
    rank: u32,
    block: u32,
    dynamic_shared: u32,
) -> PyResult<[u32; 6]> {
    let ready = crate::cuda_code_of(kernel, &arg_types, device(ordinal)?, options, rank)?;
    let code = &ready.code;
    let found = code.kernel.properties().map_err(raised)?;
    let block = if block > 0 { block } else { code.shape.max_threads.min(found.max_threads_per_block) };
    let blocks = code.kernel.blocks_per_multiprocessor(block, dynamic_shared).map_err(raised)?;
    Ok([found.n_registers, found.shared_bytes, found.local_bytes, found.max_threads_per_block, block, blocks])
}
