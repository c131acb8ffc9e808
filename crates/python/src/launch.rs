//! `launch`: checks, packs, compiles when needed, runs.

use crate::errors::guarded;
use crate::fault::{Launched, fault_error};
use crate::function::Kernel;
use crate::options::CompileOptions;
use crate::pack::{Packed, Signature, Words, collect_args, infer_types};
use crate::plan::{Ready, UnitKey};
use crate::print;
use crate::subclass::KnownClass;
use pipeline::Unit;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use runtime::abi::MAX_RANK;
use runtime::{Fault, LaunchBounds};
use std::sync::Arc;

/// Launches of at least this many threads let other Python threads run meanwhile. Taking Python's lock back may take
/// long when another thread has it, so that short launches keep it.
const RELEASE_THREADS: i64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Cpu,
    Interp,
}

/// Dimensions of a launch.
#[derive(Clone, Copy, Debug)]
struct Grid {
    bounds: LaunchBounds,
    rank: u32,
    n_threads: i64,
}

/// Runs `kernel` once per thread of `dim`. With `record`, gives a `Launch` instead of running it.
#[pyfunction]
#[pyo3(signature = (kernel, dim, inputs, outputs=None, device=None, record=false, options=None))]
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
) -> PyResult<Option<Bound<'py, Launch>>> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let grid = grid(&kernel.get().name, dim)?;
        let device = parse_device(device)?;
        let compile = kernel.get().options(options)?;
        let args = collect_args(kernel.get(), inputs, outputs)?;
        let open;
        let signature = match &kernel.get().closed {
            Some(closed) => closed,
            None => {
                open = kernel.get().signature(&infer_types(kernel.get(), &args)?);
                &open
            }
        };
        let mut words = Words::new();
        let packed = signature.pack(kernel.get(), &args, &mut words)?;
        if record {
            let launch = Launch {
                kernel: kernel.clone().unbind(),
                signature: signature.clone(),
                words,
                packed,
                args: args.into_iter().map(Bound::unbind).collect(),
                grid,
                device,
                compile,
                options: options.map(|options| options.copy().map(Bound::unbind)).transpose()?,
            };
            return Bound::new(py, launch).map(Some);
        }
        let job = Prepared { kernel, signature, words: &words, packed: &packed, grid, device, compile, options };
        job.run()?;
        Ok(None)
    })
}

/// Everything one run needs.
struct Prepared<'a, 'py> {
    kernel: &'a Bound<'py, Kernel>,
    signature: &'a Signature,
    words: &'a [u64],
    packed: &'a Packed,
    grid: Grid,
    device: Device,
    compile: CompileOptions,
    options: Option<&'a Bound<'py, PyDict>>,
}

impl Prepared<'_, '_> {
    fn run(&self) -> PyResult<()> {
        if self.grid.n_threads == 0 {
            return Ok(());
        }
        let py = self.kernel.py();
        let types = &self.signature.types;
        let key = UnitKey { options: self.compile, rank: self.grid.rank };
        let fault = Fault::default();
        let ready: Arc<Ready>;
        let interpreted: Arc<Unit>;
        let unit: &Unit = match self.device {
            Device::Cpu => {
                let is_contiguous = self.signature.is_contiguous(self.words);
                let variants = &self.signature.variants;
                ready = variants.code(self.kernel, types, key, is_contiguous, self.options)?;
                self.check_writes(&ready.unit)?;
                self.run_code(&ready, &fault);
                &ready.unit
            }
            Device::Interp => {
                interpreted = self.signature.variants.unit(self.kernel, types, key)?;
                self.check_writes(&interpreted)?;
                self.interpret(&interpreted, &fault);
                &interpreted
            }
        };
        print::flush(py)?;
        match fault.take() {
            None => Ok(()),
            Some(record) => {
                let kernel = &self.kernel.get().name;
                let rank = self.grid.rank as usize;
                let launched = Launched { kernel, rank, signature: self.signature, words: self.words };
                Err(fault_error(py, unit, &record, &launched))
            }
        }
    }

    fn run_code(&self, ready: &Ready, fault: &Fault) {
        let entry = ready.module.entry();
        let args = Address(self.words.as_ptr().cast());
        let run = move || {
            // The whole struct goes into the closure, not its pointer alone.
            let args = args;
            // SAFETY: the arguments were packed for the signature that this code was compiled for, and they and the
            // memory that they point into are held by the caller until this returns.
            unsafe { runtime_cpu::Pool::global().launch(entry, args.0, &self.grid.bounds, fault) };
        };
        self.detached(run);
    }

    fn interpret(&self, unit: &Unit, fault: &Fault) {
        // SAFETY: words are bytes; the slice lives as long as `words`.
        let args = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.words.len() * 8) };
        self.detached(move || interp::launch(&unit.module, unit.kernel, args, &self.grid.bounds, fault));
    }

    /// Lets other Python threads run during a large launch. None of what the launch reads belongs to Python.
    fn detached(&self, run: impl FnOnce()) {
        if self.grid.n_threads < RELEASE_THREADS {
            return run();
        }
        struct Crossing<F>(F);
        // SAFETY: the closure runs on this very thread; only Python's lock is let go meanwhile.
        unsafe impl<F> Send for Crossing<F> {}
        let crossing = Crossing(run);
        self.kernel.py().detach(move || {
            let crossing = crossing;
            (crossing.0)()
        });
    }

    /// Refuses read-only memory for parameters that the kernel writes to.
    fn check_writes(&self, unit: &Unit) -> PyResult<()> {
        match self.packed.read_only.iter().find(|&&index| unit.written[index]) {
            None => Ok(()),
            Some(&index) => {
                let why = "the kernel writes to it, and its memory is read-only".to_owned();
                Err(self.kernel.get().refuse(self.kernel.py(), index, "", crate::bytes::Mismatch::Unfit(why)))
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Address(*const u8);

/// A recorded launch: arguments packed once.
#[pyclass(name = "Launch", module = "gridstride._native")]
pub(crate) struct Launch {
    kernel: Py<Kernel>,
    signature: Arc<Signature>,
    words: Words,
    packed: Packed,
    /// Kept alive: the words point into their memory.
    args: Vec<Py<PyAny>>,
    grid: Grid,
    device: Device,
    compile: CompileOptions,
    options: Option<Py<PyDict>>,
}

#[pymethods]
impl Launch {
    /// Runs it.
    fn launch(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| {
            let job = Prepared {
                kernel: self.kernel.bind(py),
                signature: &self.signature,
                words: &self.words,
                packed: &self.packed,
                grid: self.grid,
                device: self.device,
                compile: self.compile,
                options: self.options.as_ref().map(|options| options.bind(py)),
            };
            job.run()
        })
    }

    /// Replaces an argument by its number.
    fn set_param_at_index(&mut self, py: Python<'_>, index: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            if index >= self.args.len() {
                let n = self.args.len();
                return Err(PyIndexError::new_err(format!("there is no argument {index}: the kernel takes {n}")));
            }
            // Written to a copy: a value that does not fit leaves the launch as it was.
            let (mut words, mut packed) = (self.words.clone(), self.packed.clone());
            self.signature.pack_one(self.kernel.get(), index, value, &mut words, &mut packed)?;
            (self.words, self.packed) = (words, packed);
            self.args[index] = value.clone().unbind();
            let _ = py;
            Ok(())
        })
    }

    /// Replaces the dimensions.
    fn set_dim(&mut self, py: Python<'_>, dim: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            self.grid = grid(&self.kernel.bind(py).get().name, dim)?;
            Ok(())
        })
    }

    #[getter]
    fn dim(&self) -> Vec<i64> {
        self.grid.bounds.extents[..self.grid.rank as usize].to_vec()
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.kernel)?;
        self.args.iter().try_for_each(|arg| visit.call(arg))?;
        visit.call(&self.options)
    }
}

pub(crate) fn kernel_of<'a, 'py>(kernel: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Kernel>> {
    static CLASS: KnownClass = KnownClass::new();
    CLASS.cast(kernel).ok_or_else(|| {
        let found = crate::bytes::describe(kernel);
        PyTypeError::new_err(format!("only kernels can be launched, not {found}; decorate it with `@kernel`"))
    })
}

fn parse_device(device: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
    let Some(device) = device.filter(|device| !device.is_none()) else { return Ok(Device::Cpu) };
    if device.is(pyo3::intern!(device.py(), "cpu")) {
        return Ok(Device::Cpu);
    }
    match device.cast::<PyString>().ok().map(|name| name.to_str()).transpose()? {
        Some("cpu") => Ok(Device::Cpu),
        Some("interp") => Ok(Device::Interp),
        _ => Err(PyValueError::new_err(format!("there is no device {}; there are `cpu` and `interp`", device.repr()?))),
    }
}

fn grid(kernel: &str, dim: &Bound<'_, PyAny>) -> PyResult<Grid> {
    let mut bounds = LaunchBounds { extents: [1; MAX_RANK] };
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

fn extent(kernel: &str, item: &Bound<'_, PyAny>) -> PyResult<i64> {
    let too_large = |shown: String| {
        PyValueError::new_err(format!(
            "kernel `{kernel}`: a launch dimension must be less than 2**31, since `tid()` gives 32-bit numbers, not \
             {shown}; more threads need more dimensions"
        ))
    };
    let is_int = item.cast::<PyInt>().is_ok() || item.hasattr(pyo3::intern!(item.py(), "__index__"))?;
    if !is_int {
        let found = crate::bytes::describe(item);
        return Err(PyTypeError::new_err(format!("kernel `{kernel}`: launch dimensions are ints, not {found}")));
    }
    match item.extract::<i64>() {
        Ok(extent) if extent < 0 => {
            Err(PyValueError::new_err(format!("kernel `{kernel}`: a launch dimension of {extent} is negative")))
        }
        Ok(extent) if extent < 1 << 31 => Ok(extent),
        Ok(extent) => Err(too_large(extent.to_string())),
        Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => Err(too_large(item.str()?.to_string())),
        Err(error) => Err(error),
    }
}
