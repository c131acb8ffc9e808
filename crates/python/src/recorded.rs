//! `Launch`: a recorded launch, its arguments packed once.
//!
//! In: what `launch` made of its arguments. Out: an object whose `launch()` costs little more than the kernel.

use crate::cuda::{self, CudaReady, CudaStream, Queue};
use crate::errors::guarded;
use crate::function::Kernel;
use crate::launch::{Device, Grid, Job, Prepared, Ran, check_extents, grid};
use crate::options::{CompileOptions, Order};
use crate::pack::{Packed, Signature, Words};
use crate::plan::Ready;
use crate::state::{self, CAPTURES};
use crate::vectorcall::{Call, answer, attached, method_def, slow_call};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use runtime::Fault;
use std::cell::{Ref, RefCell, RefMut};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// What a launch needs each time.
pub(crate) struct Recording {
    pub(crate) kernel: Py<Kernel>,
    pub(crate) signature: Arc<Signature>,
    pub(crate) words: Words,
    pub(crate) packed: Packed,
    /// Kept alive: the words point into their memory.
    pub(crate) args: Vec<Py<PyAny>>,
    pub(crate) grid: Grid,
    pub(crate) device: Device,
    pub(crate) compile: CompileOptions,
    pub(crate) options: Option<Py<PyDict>>,
    pub(crate) stream: Option<Py<CudaStream>>,
    pub(crate) block: u32,
    /// The code that these very arguments ran last.
    pub(crate) ready: Option<Arc<Ready>>,
    pub(crate) cuda: Option<Arc<CudaReady>>,
}

impl Recording {
    fn copied(&self, py: Python<'_>) -> Recording {
        Recording {
            kernel: self.kernel.clone_ref(py),
            signature: self.signature.clone(),
            words: self.words.clone(),
            packed: self.packed.clone(),
            args: self.args.iter().map(|arg| arg.clone_ref(py)).collect(),
            grid: self.grid,
            device: self.device,
            compile: self.compile,
            options: self.options.as_ref().map(|options| options.clone_ref(py)),
            stream: self.stream.as_ref().map(|stream| stream.clone_ref(py)),
            block: self.block,
            ready: self.ready.clone(),
            cuda: self.cuda.clone(),
        }
    }
}

/// A recorded launch.
#[pyclass(name = "Launch", module = "gridstride._native", subclass, frozen)]
pub(crate) struct Launch {
    state: Locked,
    /// Whether nothing must be read again before a launch.
    is_plain: AtomicBool,
    /// One more than the count of changed settings for which its threads may run in any order.
    unordered: AtomicU64,
}

fn in_use(how: &str) -> PyErr {
    PyRuntimeError::new_err(format!("this recorded launch {how} in another thread: record one for each thread"))
}

/// Borrowed and given back by whoever holds Python's lock; a loan may last while the lock is let go.
struct Locked(RefCell<Recording>);

// SAFETY: the cell's count of loans is read and written under Python's lock alone (a free-threaded Python has another
// binary interface than the one that this module is built for), and what it holds may be shared and sent.
unsafe impl Sync for Locked {}

impl Launch {
    pub(crate) fn new(recording: Recording) -> Launch {
        Launch { state: Locked(RefCell::new(recording)), is_plain: AtomicBool::new(true), unordered: AtomicU64::new(0) }
    }

    fn read(&self) -> PyResult<Ref<'_, Recording>> {
        self.state.0.try_borrow().map_err(|_| in_use("is being changed"))
    }

    fn write(&self) -> PyResult<RefMut<'_, Recording>> {
        self.state.0.try_borrow_mut().map_err(|_| in_use("runs or is being changed"))
    }
}

#[pymethods]
impl Launch {
    /// A copy, for the package's own class.
    #[new]
    #[pyo3(signature = (recorded, *_args))]
    fn copied(recorded: &Bound<'_, Launch>, _args: &Bound<'_, PyTuple>) -> PyResult<Launch> {
        Ok(Launch::new(recorded.get().read()?.copied(recorded.py())))
    }

    /// Runs it, on `stream` if one is given; in the order of its options where none is.
    #[pyo3(signature = (order=None, stream=None))]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        order: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, CudaStream>>,
    ) -> PyResult<()> {
        guarded(|| {
            let recording = self.read()?;
            let order = order.map_or(Ok(recording.compile.order), Order::read)?;
            let held = || (recording.args.iter().map(|arg| arg.clone_ref(py)).collect(), recording.args.len());
            let job = Prepared {
                kernel: recording.kernel.bind(py),
                signature: &recording.signature,
                words: &recording.words,
                packed: &recording.packed,
                grid: recording.grid,
                device: recording.device,
                compile: CompileOptions { order, ..recording.compile },
                options: recording.options.as_ref().map(|options| options.bind(py)),
                on_tape: Some(&held),
                stream: stream.or_else(|| recording.stream.as_ref().map(|stream| stream.bind(py))),
                block: recording.block,
            };
            let ran = job.run()?;
            cuda::keep_while_captured(recording.args.iter().map(|arg| arg.bind(py).clone()));
            drop(recording);
            // A launch meanwhile, from what was printed or from another thread, has it noted or will.
            if let Ok(mut recording) = self.write() {
                match ran {
                    Ran::Cpu(ready) => recording.ready = Some(ready),
                    Ran::Cuda(ready) => recording.cuda = Some(ready),
                    Ran::Nothing => {}
                }
            }
            Ok(())
        })
    }

    /// Says whether any argument must be read again before each launch; the caller does that.
    fn _set_plain(&self, is_plain: bool) {
        self.is_plain.store(is_plain, Ordering::Relaxed);
    }

    /// Says that its threads may run in any order while the count of changed settings is this.
    fn _set_unordered(&self, stamp: u64) {
        self.unordered.store(stamp.wrapping_add(1), Ordering::Relaxed);
    }

    /// Replaces an argument by its number.
    fn set_param_at_index(&self, index: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let mut recording = self.write()?;
            if index >= recording.args.len() {
                let n = recording.args.len();
                return Err(PyIndexError::new_err(format!("there is no argument {index}: the kernel takes {n}")));
            }
            // Written to a copy: a value that does not fit leaves the launch as it was.
            let (mut words, mut packed) = (recording.words.clone(), recording.packed.clone());
            let kernel = recording.kernel.bind(value.py()).get();
            let reach = recording.device.reach();
            recording.signature.pack_one(kernel, index, value, reach, &mut words, &mut packed)?;
            (recording.words, recording.packed) = (words, packed);
            (recording.ready, recording.cuda) = (None, None);
            let before = std::mem::replace(&mut recording.args[index], value.clone().unbind());
            // Freeing it may run Python code, which may come back here.
            drop(recording);
            drop(before);
            Ok(())
        })
    }

    /// Replaces the dimensions.
    fn set_dim(&self, py: Python<'_>, dim: &Bound<'_, PyAny>) -> PyResult<()> {
        guarded(|| {
            let mut recording = self.write()?;
            let kernel = recording.kernel.bind(py);
            let grid = grid(&kernel.get().name, dim)?;
            check_extents(kernel, &recording.signature, &grid, recording.compile)?;
            recording.grid = grid;
            (recording.ready, recording.cuda) = (None, None);
            Ok(())
        })
    }

    #[getter]
    fn dim(&self) -> PyResult<Vec<i64>> {
        let grid = self.read()?.grid;
        Ok(grid.bounds.extents[..grid.rank as usize].to_vec())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let Ok(recording) = self.state.0.try_borrow() else { return Ok(()) };
        visit.call(&recording.kernel)?;
        recording.args.iter().try_for_each(|arg| visit.call(arg))?;
        visit.call(&recording.options)
    }
}

/// The package's own `launch` method, for what the fast one leaves alone.
static SLOW: AtomicPtr<PyObject> = AtomicPtr::new(null_mut());

/// A method `launch` for the class `cls`, a subclass of `Launch`: runs a launch that ran before and was not changed
/// since, and calls `slow` for any other.
#[pyfunction]
pub(crate) fn fast_recorded<'py>(
    cls: &Bound<'py, PyType>,
    slow: Py<PyAny>,
    doc: String,
) -> PyResult<Bound<'py, PyAny>> {
    if !cls.is_subclass_of::<Launch>()? {
        return Err(PyTypeError::new_err("not a class of recorded launches"));
    }
    // Kept for good: the method is.
    SLOW.store(slow.into_ptr(), Ordering::Release);
    let def = method_def(c"launch", run, doc)?;
    // SAFETY: a class and a definition that is never freed; the result is a new reference or an error.
    unsafe { Bound::from_owned_ptr_or_err(cls.py(), ffi::PyDescr_NewMethod(cls.as_type_ptr(), def)) }
}

unsafe extern "C" fn run(
    launch: *mut PyObject,
    args: *const *mut PyObject,
    n_args: ffi::Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: called by Python, as a method of the class given above, which is one of `Launch`; `call` holds for the
    // whole of this function.
    unsafe {
        let py = Python::assume_attached();
        let object = Borrowed::from_ptr(py, launch);
        if names.is_null()
            && n_args == 0
            && let Some(result) = run_again(object.cast_unchecked::<Launch>().get())
        {
            return answer(py, result);
        }
        slow_call(SLOW.load(Ordering::Acquire), launch, &Call { args, n_args, names })
    }
}

/// The result of a launch that could be run at once.
///
/// # Safety
/// Python's lock is held.
#[inline]
unsafe fn run_again(launch: &Launch) -> Option<PyResult<()>> {
    let is_unordered = launch.unordered.load(Ordering::Relaxed) == state::stamp().wrapping_add(1);
    let is_watched = state::flags() & state::TAPES != 0;
    if is_watched || !(is_unordered && launch.is_plain.load(Ordering::Relaxed)) {
        return None;
    }
    let recording = launch.state.0.try_borrow().ok()?;
    let Recording { kernel, signature, words, grid, .. } = &*recording;
    if let Some(ready) = recording.cuda.as_deref() {
        let is_usual = recording.stream.is_none() && recording.packed.streams.is_empty();
        if !is_usual || state::flags() & CAPTURES != 0 || is_watched {
            return None;
        }
        let queue = Queue::current(ready.code.kernel.device());
        // SAFETY: the caller's promise.
        let py = unsafe { Python::assume_attached() };
        return Some(cuda::submit(py, ready, signature, words, grid, queue));
    }
    let ready = recording.ready.as_deref()?;
    // SAFETY: the caller's promise.
    let kernel = unsafe { kernel.bind(Python::assume_attached()) }.get();
    let job = Job { kernel, signature, words, grid };
    let fault = Fault::default();
    Some(match job.run_short(ready, &fault) {
        Some(Ok(false)) => Ok(()),
        // SAFETY: as above.
        Some(Ok(true)) => unsafe { attached(|py| guarded(|| job.report(py, &ready.unit, &fault))) },
        Some(Err(error)) => Err(error),
        // SAFETY: as above.
        None => unsafe { attached(|py| guarded(|| job.run(py, ready))) },
    })
}
