//! `launch`: checks, packs, compiles when needed, runs.

use crate::bytes::Reach;
use crate::cuda::{self, CudaReady, CudaStream};
use crate::errors::{ExtentError, guarded};
use crate::fault::{Launched, fault_error};
use crate::function::Kernel;
use crate::infer::infer_types;
use crate::options::CompileOptions;
use crate::pack::{Packed, Signature, Words, collect_args};
use crate::plan::{Ready, UnitKey};
use crate::print;
use crate::recorded::{Launch, Recording};
use crate::state::{self, TAPES};
use crate::subclass::KnownClass;
use crate::tape::{self, Launched as OnTape, Launching};
use pipeline::Unit;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use runtime::abi::MAX_RANK;
use runtime::{Fault, LaunchBounds};
use runtime_cpu::{Length, Pace, Pool};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A launch of more threads than this runs in pieces: the first has this many, and each is four times as large as the
/// one before until one takes `PIECE_TIME`.
pub(crate) const FIRST_PIECE: i64 = 1 << 18;
const PIECE_TIME: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Cpu,
    Interp,
    Cuda(u32),
}

impl Device {
    pub(crate) fn reach(self) -> Reach {
        match self {
            Device::Cpu | Device::Interp => Reach::Host,
            Device::Cuda(ordinal) => Reach::Cuda(ordinal),
        }
    }
}

/// Dimensions of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) bounds: LaunchBounds,
    pub(crate) rank: u32,
    pub(crate) n_threads: i64,
}

impl Grid {
    pub(crate) const ONE: Grid = Grid { bounds: LaunchBounds::new([1; MAX_RANK]), rank: 1, n_threads: 1 };
}

/// Runs `kernel` once per thread of `dim`. With `record`, gives a `Launch` instead of running it. A tape that records has
/// the launch if `on_tape` says so.
#[pyfunction]
#[pyo3(signature = (
    kernel, dim, inputs, outputs=None, device=None, record=false, options=None, on_tape=true, stream=None, block=0
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn launch<'py>(
    py: Python<'py>,
    kernel: &Bound<'py, PyAny>,
    dim: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    outputs: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
    record: bool,
    options: Option<&Bound<'py, PyDict>>,
    on_tape: bool,
    stream: Option<&Bound<'py, CudaStream>>,
    block: u32,
) -> PyResult<Option<Bound<'py, Launch>>> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let grid = grid(&kernel.get().name, dim)?;
        let device = parse_device(device)?;
        let compile = kernel.get().options(options)?;
        let args = collect_args(kernel.get(), inputs, outputs)?;
        let signature = &signature_of(kernel, &args)?;
        let mut words = Words::new();
        let packed = signature.pack(kernel.get(), &args, device.reach(), &mut words)?;
        check_extents(kernel, signature, &grid, compile)?;
        if record {
            let launch = Recording {
                kernel: kernel.clone().unbind(),
                signature: signature.clone(),
                words,
                packed,
                args: args.into_iter().map(Bound::unbind).collect(),
                grid,
                device,
                compile,
                options: options.map(|options| options.copy().map(Bound::unbind)).transpose()?,
                stream: stream.map(|stream| stream.clone().unbind()),
                block,
                ready: None,
                cuda: None,
            };
            return Bound::new(py, Launch::new(launch)).map(Some);
        }
        let held = || (args.iter().map(|arg| arg.clone().unbind()).collect(), n_inputs(&args, outputs));
        let on_tape: Option<tape::Args<'_>> = if on_tape { Some(&held) } else { None };
        let (words, packed) = (&words, &packed);
        let job = Prepared { kernel, signature, words, packed, grid, device, compile, options, on_tape, stream, block };
        job.run()?;
        cuda::keep_while_captured(args);
        Ok(None)
    })
}

pub(crate) fn signature_of<'py>(kernel: &Bound<'py, Kernel>, args: &[Bound<'py, PyAny>]) -> PyResult<Arc<Signature>> {
    match &kernel.get().closed {
        Some(closed) => Ok(closed.clone()),
        None => Ok(kernel.get().signature(&infer_types(kernel.get(), args)?)),
    }
}

/// How many of the arguments were given as inputs.
fn n_inputs(args: &[Bound<'_, PyAny>], outputs: Option<&Bound<'_, PyAny>>) -> usize {
    args.len() - outputs.and_then(|outputs| outputs.len().ok()).unwrap_or(0)
}

/// Notes a launch on the tape that records, without running it.
pub(crate) fn note(
    kernel: &Bound<'_, PyAny>,
    dim: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    outputs: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let kernel = kernel_of(kernel)?;
    let grid = grid(&kernel.get().name, dim)?;
    let device = parse_device(device)?;
    let args = collect_args(kernel.get(), inputs, outputs)?;
    let signature = &signature_of(kernel, &args)?;
    let mut words = Words::new();
    signature.pack(kernel.get(), &args, device.reach(), &mut words)?;
    let key = UnitKey { options: kernel.get().options(options)?.on(device), rank: grid.rank };
    let unit = signature.variants.unit(kernel, &signature.types, key)?;
    let held = || (args.iter().map(|arg| arg.clone().unbind()).collect(), n_inputs(&args, outputs));
    let written = &unit.summary().written;
    let launching =
        Launching { kernel, signature, words: &words, grid: &grid, device, key, written, args: Some(&held) };
    tape::before(kernel.py(), &launching).map(tape::after)
}

/// Runs a launch again that a tape has, as a new launch.
pub(crate) fn again(py: Python<'_>, launched: &OnTape) -> PyResult<()> {
    let held = || (launched.args.iter().map(|arg| arg.clone_ref(py)).collect(), launched.n_inputs);
    let job = Prepared {
        kernel: launched.kernel.bind(py),
        signature: &launched.signature,
        words: &launched.words,
        packed: &Packed::default(),
        grid: launched.grid,
        device: launched.device,
        compile: launched.key.options,
        options: None,
        on_tape: Some(&held),
        stream: None,
        block: 0,
    };
    job.run().map(drop)
}

/// Everything one run needs.
#[derive(Clone, Copy)]
pub(crate) struct Prepared<'a, 'py> {
    pub(crate) kernel: &'a Bound<'py, Kernel>,
    pub(crate) signature: &'a Arc<Signature>,
    pub(crate) words: &'a [u64],
    pub(crate) packed: &'a Packed,
    pub(crate) grid: Grid,
    pub(crate) device: Device,
    pub(crate) compile: CompileOptions,
    pub(crate) options: Option<&'a Bound<'py, PyDict>>,
    /// What a tape that records keeps; none for a launch that it shall not have.
    pub(crate) on_tape: Option<tape::Args<'a>>,
    /// For a CUDA device: the stream, else its current one; threads of a block, 0 for what the compiler takes.
    pub(crate) stream: Option<&'a Bound<'py, CudaStream>>,
    pub(crate) block: u32,
}

/// The code that a launch ran, if code ran.
#[derive(Default)]
pub(crate) enum Ran {
    #[default]
    Nothing,
    Cpu(Arc<Ready>),
    Cuda(Arc<CudaReady>),
}

impl Prepared<'_, '_> {
    pub(crate) fn run(&self) -> PyResult<Ran> {
        if self.grid.n_threads == 0 {
            return Ok(Ran::Nothing);
        }
        let types = &self.signature.types;
        let options = self.compile.for_words(self.signature, self.words).on(self.device);
        let key = UnitKey { options, rank: self.grid.rank };
        let key = self.signature.variants.key_for(self.kernel, self.signature, self.words, key)?;
        let job = Job { kernel: self.kernel.get(), signature: self.signature, words: self.words, grid: &self.grid };
        let py = self.kernel.py();
        match self.device {
            Device::Cpu => {
                let variants = &self.signature.variants;
                let cpu = variants.cpu_key(self.kernel, self.signature, self.words, key)?;
                let ready = variants.code(self.kernel, types, key, cpu, self.options)?;
                self.check_writes(&ready.unit)?;
                let pending = self.tell_tapes(key, &ready.unit)?;
                job.run(py, &ready)?;
                tape::after(pending);
                Ok(Ran::Cpu(ready))
            }
            Device::Cuda(ordinal) => self.run_on_gpu(ordinal, key).map(Ran::Cuda),
            Device::Interp => {
                let unit = self.signature.variants.unit(self.kernel, types, key)?;
                self.check_writes(&unit)?;
                let pending = self.tell_tapes(key, &unit)?;
                let fault = Fault::default();
                self.interpret(&unit, &fault);
                job.report(py, &unit, &fault)?;
                tape::after(pending);
                Ok(Ran::Nothing)
            }
        }
    }

    pub(crate) fn tell_tapes(&self, key: UnitKey, unit: &Unit) -> PyResult<Option<tape::Pending>> {
        if state::flags() & TAPES == 0 {
            return Ok(None);
        }
        let Prepared { kernel, signature, words, device, .. } = *self;
        let written = &unit.summary().written;
        let launching =
            Launching { kernel, signature, words, grid: &self.grid, device, key, written, args: self.on_tape };
        tape::before(kernel.py(), &launching)
    }

    fn interpret(&self, unit: &Unit, fault: &Fault) {
        // SAFETY: words are bytes; the slice lives as long as `words`.
        let args = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.words.len() * 8) };
        let run = move || interp::launch(unit.module(), unit.kernel, args, &self.grid.bounds, fault);
        detached(self.kernel.py(), true, run);
    }

    /// Refuses read-only memory for parameters that the kernel writes to.
    pub(crate) fn check_writes(&self, unit: &Unit) -> PyResult<()> {
        Prepared::check_writes_of(self.kernel, self.packed, unit)
    }

    pub(crate) fn check_writes_of(kernel: &Bound<'_, Kernel>, packed: &Packed, unit: &Unit) -> PyResult<()> {
        match packed.read_only.iter().find(|&&index| unit.summary().written[index]) {
            None => Ok(()),
            Some(&index) => {
                let why = "the kernel writes to it, and its memory is read-only".to_owned();
                Err(kernel.get().refuse(kernel.py(), index, "", crate::bytes::Mismatch::Unfit(why)))
            }
        }
    }
}

/// A launch of compiled code whose arguments are packed for it. The caller holds them.
pub(crate) struct Job<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) signature: &'a Signature,
    pub(crate) words: &'a [u64],
    pub(crate) grid: &'a Grid,
}

impl Job<'_> {
    pub(crate) fn run(&self, py: Python<'_>, ready: &Ready) -> PyResult<()> {
        let fault = Fault::default();
        if self.grid.n_threads <= FIRST_PIECE {
            let n_threads = self.grid.n_threads;
            let is_long = ready.watch.expect(n_threads) == Length::Long;
            detached(py, is_long, || ready.watch.run_shared(n_threads, || ((), self.run_code(ready, &fault))));
        } else {
            self.run_pieces(py, ready, &fault)?;
        }
        self.report(py, &ready.unit, &fault)
    }

    /// Runs a large launch in pieces. Between them Python sees its signals, so that Ctrl-C ends the launch.
    fn run_pieces(&self, py: Python<'_>, ready: &Ready, fault: &Fault) -> PyResult<()> {
        let n_threads = self.grid.n_threads;
        let (mut begin, mut size) = (0, FIRST_PIECE);
        // Sums are of whole chunks.
        let chunk = ready.sums.as_ref().map_or(1, |sums| sums.chunk(n_threads));
        while begin < n_threads {
            let end = begin.saturating_add(size.saturating_add(chunk - 1) / chunk * chunk).min(n_threads);
            let start = Instant::now();
            self.run_range(py, ready, begin..end, fault)?;
            begin = end;
            if start.elapsed() < PIECE_TIME {
                size = size.saturating_mul(4);
            }
        }
        Ok(())
    }

    /// Runs threads `threads` of the launch while other Python threads may run, then lets Python see its signals.
    fn run_range(&self, py: Python<'_>, ready: &Ready, threads: std::ops::Range<i64>, fault: &Fault) -> PyResult<()> {
        detached(py, true, || {
            let (pool, args) = (Pool::global(), self.words.as_ptr().cast());
            // SAFETY: as in `run_code`; the numbers are below the launch's thread count.
            unsafe {
                pool.run_range(&ready.pace(args), ready.code(), args, &self.grid.bounds, threads, fault);
            }
        });
        py.check_signals()
    }

    /// Runs some of the launch's threads.
    pub(crate) fn run_part(&self, py: Python<'_>, ready: &Ready, threads: std::ops::Range<i64>) -> PyResult<()> {
        let fault = Fault::default();
        self.run_range(py, ready, threads, &fault)?;
        self.report(py, &ready.unit, &fault)
    }

    /// Runs a launch that is expected to be short, without letting other Python threads run. Says whether `report` has
    /// something to tell; nothing where the launch is expected to take long.
    #[inline]
    pub(crate) fn run_short(&self, ready: &Ready, fault: &Fault) -> Option<PyResult<bool>> {
        let n_threads = self.grid.n_threads;
        match ready.watch.expect(n_threads) {
            _ if n_threads > FIRST_PIECE => return None,
            Length::Long => return None,
            Length::Tiny => {
                let (args, bounds) = (self.words.as_ptr().cast(), &self.grid.bounds);
                // SAFETY: as in `run_code`; these are all threads of the launch.
                ready.watch.run(n_threads, || unsafe { ready.code().run_alone(args, bounds, n_threads, fault) });
            }
            Length::Short => {
                let run = || {
                    ready.watch.run_shared(n_threads, || ((), self.run_code(ready, fault)));
                    Ok(())
                };
                if let Err(error) = guarded(run) {
                    return Some(Err(error));
                }
            }
        }
        Some(Ok(fault.is_set() || print::is_filled()))
    }

    /// Gives how many of the pool's threads took part.
    fn run_code(&self, ready: &Ready, fault: &Fault) -> u32 {
        let args = self.words.as_ptr().cast();
        // SAFETY: the arguments were packed for the signature that this code was compiled for, and they and the memory
        // that they point into are held by the caller until this returns.
        unsafe {
            let pace = Pace { expected: ready.watch.expected(self.grid.n_threads), ..ready.pace(args) };
            Pool::global().launch_at(&pace, ready.code(), args, &self.grid.bounds, fault)
        }
    }

    /// What the launch printed, and the exception for the check that failed.
    pub(crate) fn report(&self, py: Python<'_>, unit: &Unit, fault: &Fault) -> PyResult<()> {
        print::flush(py)?;
        match fault.take() {
            None => Ok(()),
            Some(record) => {
                let rank = self.grid.rank as usize;
                let kernel = &self.kernel.name;
                let is_null = |param| self.signature.is_null(param, self.words);
                let launched = Launched { kernel, rank, is_null: &is_null, blocks: None };
                Err(fault_error(py, unit, &record, &launched))
            }
        }
    }
}

/// Lets other Python threads run during a long launch. None of what the launch reads belongs to Python.
pub(crate) fn detached(py: Python<'_>, is_long: bool, run: impl FnOnce()) {
    if !is_long {
        return run();
    }
    struct Crossing<F>(F);
    // SAFETY: the closure runs on this very thread; only Python's lock is let go meanwhile.
    unsafe impl<F> Send for Crossing<F> {}
    let crossing = Crossing(run);
    py.detach(move || {
        let crossing = crossing;
        (crossing.0)()
    });
}

/// The class of kernels that programs see.
pub(crate) static KERNELS: KnownClass = KnownClass::new();

pub(crate) fn kernel_of<'a, 'py>(kernel: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Kernel>> {
    KERNELS.cast(kernel).ok_or_else(|| {
        let found = crate::bytes::describe(kernel);
        PyTypeError::new_err(format!("only kernels can be launched, not {found}; decorate it with `@kernel`"))
    })
}

pub(crate) fn parse_device(device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
    let Some(device) = device.filter(|device| !device.is_none()) else { return Ok(Device::Cpu) };
    if device.is(pyo3::intern!(device.py(), "cpu")) {
        return Ok(Device::Cpu);
    }
    match device.cast::<PyString>().ok().map(|name| name.to_str()).transpose()? {
        Some("cpu") => Ok(Device::Cpu),
        Some("interp") => Ok(Device::Interp),
        Some(name) => {
            let ordinal = name.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok());
            ordinal.map(Device::Cuda).ok_or_else(|| PyValueError::new_err(format!("there is no device {name:?}")))
        }
        None => Err(PyValueError::new_err(format!("a device is named by text, not {}", device.repr()?))),
    }
}

pub(crate) fn grid(kernel: &str, dim: &Bound<'_, PyAny>) -> PyResult<Grid> {
    let mut bounds = LaunchBounds::new([1; MAX_RANK]);
    let rank = if dim.cast::<PyInt>().is_ok() {
        bounds.extents[0] = extent(kernel, dim)?;
        1
    } else if let Ok(items) = dim.try_iter() {
        let mut rank = 0;
        for item in items {
            if rank == MAX_RANK {
                return Err(PyValueError::new_err(format!("kernel `{kernel}`: a launch has at most 4 dimensions")));
            }
            bounds.extents[rank] = extent(kernel, &item?)?;
            rank += 1;
        }
        rank
    } else {
        bounds.extents[0] = extent(kernel, dim)?;
        1
    };
    if rank == 0 {
        return Err(PyValueError::new_err(format!("kernel `{kernel}`: a launch has at least 1 dimension")));
    }
    // A zero anywhere is no threads, whatever the others multiply to.
    let n_threads = if bounds.extents.contains(&0) { Some(0) } else { bounds.n_threads() };
    let n_threads = n_threads.ok_or_else(|| {
        let extents = &bounds.extents[..rank];
        PyValueError::new_err(format!("kernel `{kernel}`: a launch of {extents:?} has more threads than 64 bits count"))
    })?;
    Ok(Grid { bounds, rank: rank as u32, n_threads })
}

/// `tid()` gives 32-bit numbers: a dimension along which a kernel asks for it has no more threads than they count.
pub(crate) fn check_extents(
    kernel: &Bound<'_, Kernel>,
    signature: &Signature,
    grid: &Grid,
    compile: CompileOptions,
) -> PyResult<()> {
    const MOST: i64 = 1 << 31;
    let is_large = |extent: &i64| *extent > MOST;
    if grid.n_threads == 0 || !grid.bounds.extents.iter().any(is_large) {
        return Ok(());
    }
    let key = UnitKey { options: compile, rank: grid.rank };
    let unit = signature.variants.unit(kernel, &signature.types, key)?;
    for (dim, extent) in grid.bounds.extents.iter().enumerate().filter(|(_, extent)| is_large(extent)) {
        if unit.indexed[dim] {
            let name = &kernel.get().name;
            let message = format!(
                "kernel `{name}` uses `tid()` with extent {extent} in dimension {dim}; 32-bit indices count to {MOST}: \
                 split the launch, or use more dimensions"
            );
            return Err(ExtentError::new_err(message));
        }
    }
    Ok(())
}

fn extent(kernel: &str, item: &Bound<'_, PyAny>) -> PyResult<i64> {
    let too_large = |shown: String| {
        PyValueError::new_err(format!("kernel `{kernel}`: a launch dimension must be less than 2**63, not {shown}"))
    };
    let is_int = item.cast::<PyInt>().is_ok() || item.hasattr(pyo3::intern!(item.py(), "__index__"))?;
    if !is_int {
        let found = crate::bytes::describe(item);
        return Err(PyTypeError::new_err(format!("kernel `{kernel}`: launch dimensions are ints, not {found}")));
    }
    match item.extract::<i64>() {
        Ok(extent) if extent < 0 => Err(PyValueError::new_err(format!(
            "kernel `{kernel}`: launch dimensions must be non-negative, {extent} is negative"
        ))),
        Ok(extent) => Ok(extent),
        Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => Err(too_large(item.str()?.to_string())),
        Err(error) => Err(error),
    }
}
