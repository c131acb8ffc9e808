//! `BlockLauncher`: `kernel[grid, block, stream, shared]`, which a call launches.
//!
//! In: a launch configuration, and the arguments of calls. Out: the kernel has run, or an exception. A launch like the
//! one before goes straight to the code that ran then. For any other, with new types, host arrays, changed settings, the
//! package's own `launch` decides what it means; then this learns which code it ran.

use crate::array::{Array, is_aligned};
use crate::blocks::{BlockLaunch, bounds};
use crate::cuda::{self, CudaReady, CudaStream, Queue};
use crate::errors::{KernelFault, guarded};
use crate::function::Kernel;
use crate::numpy::plain_scalar;
use crate::pack::{Layout, Signature, Words, plain_int};
use crate::plan::Ready;
use crate::state::{self, CAPTURES};
use frontend::Dialect;
use ir::{Const, Scalar};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use runtime::{BlockBounds, Fault};
use std::sync::{Arc, Mutex, MutexGuard};

/// A kernel with the shape of its grid and blocks. `launch(self, args)` launches what is not known, and
/// `explained(fault)` gives the exception for a failed check.
#[pyclass(name = "BlockLauncher", module = "gridstride._native", subclass, frozen)]
pub(crate) struct BlockLauncher {
    bounds: BlockBounds,
    stream: Option<Py<CudaStream>>,
    launch: Py<PyAny>,
    explained: Py<PyAny>,
    known: Mutex<Option<Arc<Known>>>,
}

/// What the last launch ran.
pub(crate) struct Known {
    pub(crate) kernel: Py<Kernel>,
    pub(crate) signature: Arc<Signature>,
    pub(crate) layout: Layout,
    pub(crate) code: Code,
    /// The count of changed settings that it was compiled under.
    pub(crate) stamp: u64,
}

pub(crate) enum Code {
    Cpu(Arc<Ready>),
    Cuda(Arc<CudaReady>),
}

#[pymethods]
impl BlockLauncher {
    #[new]
    #[pyo3(signature = (grid, block, dynamic_shared, stream, launch, explained, *_args))]
    fn new(
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        dynamic_shared: i64,
        stream: Option<Py<CudaStream>>,
        launch: Py<PyAny>,
        explained: Py<PyAny>,
        _args: &Bound<'_, PyTuple>,
    ) -> PyResult<BlockLauncher> {
        let bounds = bounds("kernel", grid, block, dynamic_shared)?;
        Ok(BlockLauncher { bounds, stream, launch, explained, known: Mutex::new(None) })
    }

    /// Launches the kernel.
    #[pyo3(signature = (*args))]
    fn __call__(slf: &Bound<'_, BlockLauncher>, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        let this = slf.get();
        match guarded(|| this.again(args)) {
            Ok(true) => Ok(()),
            Ok(false) => this.launch.bind(slf.py()).call1((slf, args)).map(drop),
            Err(error) if error.is_instance_of::<KernelFault>(slf.py()) => {
                Err(PyErr::from_value(this.explained.bind(slf.py()).call1((error,))?))
            }
            Err(error) => Err(error),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.launch)?;
        visit.call(&self.explained)?;
        match self.known.try_lock().ok().as_deref() {
            Some(Some(known)) => visit.call(&known.kernel),
            _ => Ok(()),
        }
    }
}

impl BlockLauncher {
    fn known(&self) -> MutexGuard<'_, Option<Arc<Known>>> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn learn(&self, known: Known) {
        let before = self.known().replace(Arc::new(known));
        // Freed without the lock: that may run Python code.
        drop(before);
    }

    /// Launches as the last time; false where this launch is another.
    fn again(&self, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let py = args.py();
        let Some(known) = self.known().clone() else { return Ok(false) };
        if known.stamp != state::stamp() || state::flags() & CAPTURES != 0 {
            return Ok(false);
        }
        let mut words = Words::new();
        if !known.pack(args, &mut words) {
            return Ok(false);
        }
        match &known.code {
            Code::Cpu(ready) => {
                let launch = BlockLaunch { kernel: known.kernel.bind(py), words: &words, bounds: self.bounds };
                let fault = Fault::default();
                launch.run(ready, &fault)?;
                let is_null = |param: usize| known.signature.is_null(param, &words);
                launch.report(&ready.unit, &fault, &is_null)?;
            }
            Code::Cuda(ready) => {
                let stream = self.stream.as_ref().map(|stream| stream.bind(py));
                let queue = Queue::of(ready.code.kernel.device(), stream);
                cuda::submit_blocks(py, ready, &known.signature, &words, &self.bounds, queue)?;
            }
        }
        Ok(true)
    }
}

impl Known {
    /// Packs arguments that are as the last ones were; runs no Python code.
    fn pack(&self, args: &Bound<'_, PyTuple>, words: &mut Words) -> bool {
        let signature = &*self.signature;
        if args.len() != signature.types.len() {
            return false;
        }
        words.resize(signature.n_words(), 0);
        let is_open = self.kernel.get().closed.is_none();
        let mut layout = Layout::BEST;
        for (index, (arg, ty)) in args.iter_borrowed().zip(&signature.types).enumerate() {
            let place = signature.word_of(index);
            if let Some(scalar) = ty.as_scalar() {
                let Some(word) = number(&arg, scalar, is_open) else { return false };
                words[place] = word;
                continue;
            }
            let (Some((elem, _)), Ok(array)) = (ty.as_array(), arg.cast::<Array>()) else { return false };
            let array = array.get();
            let place = &mut words[place..];
            let reach = match &self.code {
                Code::Cpu(_) => crate::bytes::Reach::Host,
                Code::Cuda(ready) => crate::bytes::Reach::Cuda(ready.code.kernel.device().ordinal),
            };
            let n_words = ty.size() as usize / 8;
            let is_there = array.descriptor.first().is_some_and(|&address| address != 0);
            if array.elem != elem || !is_there || !reach.has(array.place) {
                return false;
            }
            if array.descriptor.len() == n_words {
                place[..n_words].copy_from_slice(&array.descriptor);
                layout = layout.and(Layout::of(array, reach));
                continue;
            }
            // To C, an array without gaps is a pointer, whatever its dimensions.
            let is_pointer = self.kernel.get().dialect == Dialect::C && n_words == POINTER_WORDS;
            if !is_pointer || !array.is_contiguous {
                return false;
            }
            let rank = array.descriptor.len() / 2;
            let flat = [array.descriptor[0], array.descriptor[1..=rank].iter().product(), elem.size()];
            place[..n_words].copy_from_slice(&flat);
            layout = layout.and(Layout { is_aligned: is_aligned(elem.size(), &flat), ..Layout::of(array, reach) });
        }
        match self.code {
            Code::Cpu(_) => layout.is_contiguous == self.layout.is_contiguous,
            Code::Cuda(_) => layout == self.layout,
        }
    }
}

/// Of an array of one dimension.
const POINTER_WORDS: usize = 3;

/// The word of a number whose own type is `scalar`, or that a signature's parameter of that type takes.
fn number(arg: &Bound<'_, PyAny>, scalar: Scalar, is_open: bool) -> Option<u64> {
    if let Some((found, word)) = plain_scalar(arg) {
        return if found == scalar { Some(word) } else { integer(found, word, scalar).filter(|_| !is_open) };
    }
    if !is_open {
        return crate::pack::plain_word(scalar, arg);
    }
    match scalar {
        Scalar::F64 => arg.cast_exact::<PyFloat>().ok().map(|float| float.value().to_bits()),
        Scalar::I64 => plain_int(arg).map(|int| int as u64),
        Scalar::Bool => arg.cast_exact::<PyBool>().ok().map(|flag| u64::from(flag.is_true())),
        _ => None,
    }
}

/// The word of an integer as another type of integers that holds it.
fn integer(from: Scalar, word: u64, to: Scalar) -> Option<u64> {
    let value = Const(word).as_int(from);
    let is_held = from.is_int() && to.is_int() && Const::int(to, value).as_int(to) == value;
    is_held.then(|| Const::int(to, value).0)
}

/// The launcher that a launch teaches, where it is one that may be repeated so.
pub(crate) fn learner_of<'a, 'py>(
    learner: Option<&'a Bound<'py, BlockLauncher>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<&'a BlockLauncher>> {
    let is_checked = match options {
        Some(options) => options.get_item("checked")?.map_or(Ok(false), |checked| checked.is_truthy())?,
        None => false,
    };
    Ok(learner.filter(|_| !is_checked).map(Bound::get))
}
