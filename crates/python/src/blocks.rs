//! `launch_blocks`: launches over a grid of thread blocks.

use crate::block_fault::block_fault;
use crate::cuda::{self, CudaStream, Queue};
use crate::errors::guarded;
use crate::fault::{Launched, fault_error};
use crate::function::Kernel;
use crate::launch::{Device, Prepared, detached, kernel_of, parse_device, signature_of};
use crate::launcher::{BlockLauncher, Code, Known, learner_of};
use crate::options::tuning;
use crate::pack::{Words, collect_args};
use crate::plan::{CpuKey, CudaKey, Ready, UnitKey};
use crate::{print, state};
use pipeline::Unit;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};
use runtime::{BlockBounds, Fault};
use runtime_cpu::{Length, Pool};
use std::time::{Duration, Instant};

/// Most threads of a block, on every device.
const MAX_THREADS: i64 = 1024;
/// Most dynamic shared bytes, as the largest GPU has.
const MAX_SHARED: i64 = 227 << 10;

/// As for launches over threads: the first piece has so many threads.
const FIRST_PIECE: i64 = 1 << 18;
const PIECE_TIME: Duration = Duration::from_millis(20);

/// Runs `kernel` once per thread of `grid` blocks of `block` threads, x first; on a GPU in the order of a stream, the
/// current one if none is given.
#[pyfunction]
#[pyo3(signature = (
    kernel, grid, block, inputs, dynamic_shared=0, device=None, options=None, stream=None, learner=None
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn launch_blocks<'py>(
    kernel: &Bound<'py, PyAny>,
    grid: &Bound<'py, PyAny>,
    block: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    dynamic_shared: i64,
    device: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
    stream: Option<&Bound<'py, CudaStream>>,
    learner: Option<&Bound<'py, BlockLauncher>>,
) -> PyResult<()> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let device = parse_device(device)?;
        let bounds = bounds(&kernel.get().name, grid, block, dynamic_shared)?;
        let compile = kernel.get().options(options)?;
        let args = collect_args(kernel.get(), inputs, None)?;
        let signature = &signature_of(kernel, &args)?;
        let mut words = Words::new();
        let packed = signature.pack(kernel.get(), &args, device.reach(), &mut words)?;
        let key = UnitKey { options: compile.for_words(signature, &words), rank: 1 };
        let unit = signature.variants.unit(kernel, &signature.types, key)?;
        if !unit.is_over_blocks() {
            let name = &kernel.get().name;
            let text = format!("kernel `{name}` is launched over threads, not over thread blocks: use `launch`");
            return Err(PyTypeError::new_err(text));
        }
        Prepared::check_writes_of(kernel, &packed, &unit)?;
        let learner =
            learner_of(learner, options)?.filter(|_| !key.options.check_bounds && packed == Default::default());
        let learn = |code| {
            if let Some(learner) = learner {
                let (kernel, signature, layout) =
                    (kernel.clone().unbind(), signature.clone(), signature.layout(&words, device.reach()));
                learner.learn(Known { kernel, signature, layout, code, stamp: state::stamp() });
            }
        };
        let launch = BlockLaunch { kernel, words: &words, bounds };
        let fault = Fault::default();
        if let (Some(name), false) = (unit.summary().external.as_deref(), matches!(device, Device::Cuda(_))) {
            let kernel = &kernel.get().name;
            let text = format!("kernel `{kernel}`: `{name}` is code of another compiler, which runs on a GPU alone");
            return Err(PyNotImplementedError::new_err(text));
        }
        let unit = match device {
            Device::Cpu => {
                let cpu = CpuKey::usual(signature.is_contiguous(&words));
                let ready = signature.variants.code(kernel, &signature.types, key, cpu, options)?;
                launch.run(&ready, &fault)?;
                learn(Code::Cpu(ready.clone()));
                ready.unit.clone()
            }
            Device::Interp => {
                launch.interpret(&unit, key.options.checked, &fault);
                unit
            }
            Device::Cuda(ordinal) => {
                let block = code_block(bounds.n_threads().unwrap_or(1));
                let layout = signature.layout(&words, device.reach());
                let cuda = CudaKey { block, tuning: tuning(options)?, ..CudaKey::usual(ordinal, layout) };
                let ready = signature.variants.cuda_code(kernel, &signature.types, key, cuda, options)?;
                let queue = Queue::of(cuda::device(ordinal)?, stream);
                for &(_, other) in &packed.streams {
                    cuda::order(queue.stream, other, true)?;
                }
                cuda::submit_blocks(kernel.py(), &ready, signature, &words, &bounds, queue)?;
                for &(_, other) in &packed.streams {
                    cuda::order(queue.stream, other, false)?;
                }
                learn(Code::Cuda(ready));
                cuda::keep_while_captured(args);
                return Ok(());
            }
        };
        let is_null = |param: usize| signature.is_null(param, &words);
        launch.report(&unit, &fault, &is_null)
    })
}

/// Most threads of a block that code for a GPU is compiled for: few sizes, so that few codes are.
fn code_block(n_threads: i64) -> u32 {
    match n_threads {
        ..=256 => 256,
        257..=512 => 512,
        _ => 1024,
    }
}

/// A launch whose arguments are packed. The caller holds them.
pub(crate) struct BlockLaunch<'a, 'py> {
    pub(crate) kernel: &'a Bound<'py, Kernel>,
    pub(crate) words: &'a [u64],
    pub(crate) bounds: BlockBounds,
}

impl BlockLaunch<'_, '_> {
    fn n_blocks(&self) -> i64 {
        self.bounds.n_blocks().unwrap_or(0)
    }

    fn block_size(&self) -> i64 {
        self.bounds.n_threads().unwrap_or(1)
    }

    /// Runs compiled code. Between the pieces of a long launch Python sees its signals.
    pub(crate) fn run(&self, ready: &Ready, fault: &Fault) -> PyResult<()> {
        let py = self.kernel.py();
        let (n_blocks, block_size) = (self.n_blocks(), self.block_size());
        let n_threads = n_blocks.saturating_mul(block_size);
        let is_long = ready.watch.expect(n_threads) == Length::Long;
        let args = self.words.as_ptr().cast::<u8>();
        if ready.unit.summary().waits_for_grid {
            // SAFETY: the arguments were packed for the signature that this code was compiled for, and they and what
            // they point to are held by the caller until this returns. The unit is over blocks, and so its code.
            let run = || unsafe { Pool::global().launch_grid(ready.block_entry(), args, &self.bounds, fault) };
            let mut done = Ok(());
            detached(py, is_long, || ready.watch.run(n_threads, || done = run()));
            return done
                .map_err(|error| PyValueError::new_err(format!("kernel `{}`: {error}", self.kernel.get().name)));
        }
        let (mut begin, mut size) = (0, (FIRST_PIECE / block_size).max(1));
        while begin < n_blocks && !fault.is_set() {
            let blocks = begin..begin.saturating_add(size).min(n_blocks);
            let n_threads = (blocks.end - begin).saturating_mul(block_size);
            begin = blocks.end;
            let start = Instant::now();
            // SAFETY: as above.
            let run = || unsafe {
                let (pace, entry) = (ready.pace(args), ready.block_entry());
                Pool::global().run_blocks(&pace, entry, args, &self.bounds, blocks, fault)
            };
            detached(py, is_long, || ready.watch.run(n_threads, run));
            if begin < n_blocks {
                py.check_signals()?;
            }
            if start.elapsed() < PIECE_TIME {
                size = size.saturating_mul(4);
            }
        }
        Ok(())
    }

    fn interpret(&self, unit: &Unit, is_checked: bool, fault: &Fault) {
        // SAFETY: words are bytes; the slice lives as long as `words`.
        let args = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.words.len() * 8) };
        let program = interp::Program::new(unit.module());
        detached(self.kernel.py(), true, || program.launch_blocks(unit.kernel, args, &self.bounds, fault, is_checked));
    }

    pub(crate) fn report(&self, unit: &Unit, fault: &Fault, is_null: &dyn Fn(usize) -> bool) -> PyResult<()> {
        let py = self.kernel.py();
        print::flush(py)?;
        let Some(record) = fault.take() else { return Ok(()) };
        let kernel = &self.kernel.get().name;
        let launched = Launched { kernel, rank: 4, is_null, blocks: Some(&self.bounds) };
        Err(block_fault(py, unit, &record, &launched, &self.bounds)
            .unwrap_or_else(|| fault_error(py, unit, &record, &launched)))
    }
}

pub(crate) fn bounds(
    kernel: &str,
    grid: &Bound<'_, PyAny>,
    block: &Bound<'_, PyAny>,
    dynamic_shared: i64,
) -> PyResult<BlockBounds> {
    let bounds = BlockBounds {
        grid: extents(kernel, "grid", grid)?,
        block: extents(kernel, "thread block", block)?,
        dynamic_shared,
    };
    let refuse = |text: String| Err(PyValueError::new_err(format!("kernel `{kernel}`: {text}")));
    match bounds.n_threads() {
        Some(n) if n <= MAX_THREADS => {}
        _ => return refuse(format!("a thread block has at most {MAX_THREADS} threads, not {:?}", bounds.block)),
    }
    if bounds.n_blocks().and_then(|n| n.checked_mul(MAX_THREADS)).is_none() {
        return refuse(format!("a grid of {:?} has more threads than 64 bits count", bounds.grid));
    }
    if !(0..=MAX_SHARED).contains(&dynamic_shared) {
        return refuse(format!("dynamic shared memory has 0 to {MAX_SHARED} bytes, not {dynamic_shared}"));
    }
    Ok(bounds)
}

fn extents(kernel: &str, what: &str, given: &Bound<'_, PyAny>) -> PyResult<[i64; 3]> {
    let mut extents = [1; 3];
    let items: Vec<Bound<'_, PyAny>> = if given.cast::<PyInt>().is_ok() || given.hasattr("__index__")? {
        vec![given.clone()]
    } else {
        given.try_iter()?.collect::<PyResult<_>>()?
    };
    if !(1..=3).contains(&items.len()) {
        let text = format!("kernel `{kernel}`: a {what} has 1 to 3 dimensions, not {}", items.len());
        return Err(PyValueError::new_err(text));
    }
    for (extent, item) in extents.iter_mut().zip(items) {
        *extent = item.extract()?;
        if !(1..1 << 31).contains(extent) {
            let text =
                format!("kernel `{kernel}`: each extent of a {what} is at least 1 and less than 2**31, not {extent}");
            return Err(PyValueError::new_err(text));
        }
    }
    Ok(extents)
}
