//! `gridstride.launch` without a step through Python, for launches as they usually are.
//!
//! In: the arguments of a call, as Python passes them. Out: the kernel has run, or an exception is set. Whatever is not
//! usual goes to the package's own `launch`, which decides what it means: keywords that it does not have, options that
//! changed since the kernel's last launch, a tape that records … So every rule is written there, and this file only
//! knows when none of them matters.

use crate::bytes::Reach;
use crate::cuda::{self, Queue};
use crate::errors::guarded;
use crate::function::Kernel;
use crate::items::{Items, is_block, plain_grid};
use crate::launch::{Device, Grid, Job, KERNELS};
use crate::pack::{Layout, Signature, Words, collect_args};
use crate::plan::{Ready, UnitKey};
use crate::state::{self, BLOCKS, CAPTURES, ON_CPU, PRINTS, TAPES};
use crate::tape::{self, Launching};
use crate::vectorcall::{Call, answer, attached, method_def, slow_call};
use frontend::TypePattern;
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use runtime::Fault;
use runtime_cpu::Length;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Parameters of `launch`, in order.
const PARAMETERS: [&str; 13] = [
    "kernel",
    "dim",
    "inputs",
    "outputs",
    "adj_inputs",
    "adj_outputs",
    "device",
    "stream",
    "adjoint",
    "record_tape",
    "record_cmd",
    "max_blocks",
    "block_dim",
];
const KERNEL: usize = 0;
const DIM: usize = 1;
const INPUTS: usize = 2;
const OUTPUTS: usize = 3;
const DEVICE: usize = 6;
const STREAM: usize = 7;
const ADJOINT: usize = 8;
const RECORD_TAPE: usize = 9;
const RECORD_CMD: usize = 10;
const MAX_BLOCKS: usize = 11;
const BLOCK_DIM: usize = 12;

/// Packed arguments of more words than this take the careful way.
const MAX_WORDS: usize = 64;

/// What `launch` compares with, kept for good.
struct Known {
    names: [*mut PyObject; PARAMETERS.len()],
    slow: *mut PyObject,
    /// The CPU's name and its `Device`.
    cpu: [*mut PyObject; 2],
}

static KNOWN: AtomicPtr<Known> = AtomicPtr::new(null_mut());

/// The names and the `Device` objects of CUDA devices, by number.
type CudaDevices = Vec<[*mut PyObject; 2]>;
static CUDA_DEVICES: AtomicPtr<CudaDevices> = AtomicPtr::new(null_mut());

/// Tells `launch` the CUDA devices by number: their names, which are interned, and their `Device`s.
#[pyfunction]
pub(crate) fn set_cuda_devices(devices: Vec<(Bound<'_, PyString>, Bound<'_, PyAny>)>) -> PyResult<()> {
    let mut known = CudaDevices::new();
    for (name, device) in devices {
        let name = PyString::intern(name.py(), name.to_str()?);
        known.push([name.into_ptr(), device.into_ptr()]);
    }
    // An earlier list is leaked: it may be in use.
    CUDA_DEVICES.store(Box::into_raw(Box::new(known)), Ordering::Release);
    Ok(())
}

/// The number of the CUDA device that an argument names.
#[inline]
fn cuda_ordinal(device: *mut PyObject) -> Option<u32> {
    // SAFETY: null, or put in by `set_cuda_devices` and never freed.
    let known = unsafe { CUDA_DEVICES.load(Ordering::Acquire).as_ref() }?;
    known.iter().position(|names| names.contains(&device)).map(|ordinal| ordinal as u32)
}

/// A `launch` that runs usual launches itself and calls `slow` for any other. `cpu` is the CPU's `Device`, `module` and
/// `doc` are the function's own.
#[pyfunction]
pub(crate) fn fast_launch<'py>(
    slow: &Bound<'py, PyAny>,
    cpu: &Bound<'py, PyAny>,
    module: &Bound<'py, PyString>,
    doc: String,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slow.py();
    let known = Known {
        names: PARAMETERS.map(|name| PyString::intern(py, name).into_ptr()),
        slow: slow.clone().into_ptr(),
        cpu: [PyString::intern(py, "cpu").into_ptr(), cpu.clone().into_ptr()],
    };
    let def = method_def(c"launch", launch, doc)?;
    // An earlier one is leaked: its function may be in use.
    KNOWN.store(Box::into_raw(Box::new(known)), Ordering::Release);
    // SAFETY: a definition that is never freed; the result is a new reference or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCFunction_NewEx(def, null_mut(), module.as_ptr())) }
}

unsafe extern "C" fn launch(
    _: *mut PyObject,
    args: *const *mut PyObject,
    n_args: ffi::Py_ssize_t,
    names: *mut PyObject,
) -> *mut PyObject {
    let call = Call { args, n_args, names };
    // SAFETY: called by Python with its lock held, and with references that its caller keeps; `fast_launch` made what
    // `KNOWN` points to before it made this function.
    unsafe {
        let py = Python::assume_attached();
        let known = &*KNOWN.load(Ordering::Acquire);
        let mut grid = Grid::ONE;
        let Some(given) = Given::read(py, known, &call, &mut grid) else {
            return slow_call(known.slow, null_mut(), &call);
        };
        match given.run(py) {
            Outcome::Ran(result) => answer(py, result),
            Outcome::Unusual => slow_call(known.slow, null_mut(), &call),
            Outcome::Unplanned => {
                let result = slow_call(known.slow, null_mut(), &call);
                if !result.is_null() {
                    attached(|py| given.learn(py));
                }
                result
            }
        }
    }
}

/// Arguments of a launch that looks usual.
struct Given<'a, 'py> {
    kernel: Borrowed<'a, 'py, Kernel>,
    inputs: Borrowed<'a, 'py, PyAny>,
    outputs: Option<Borrowed<'a, 'py, PyAny>>,
    grid: &'a Grid,
    /// Tapes must hear of it.
    is_taped: bool,
    /// The CUDA device to run on; none for the CPU.
    cuda: Option<u32>,
}

enum Outcome {
    Ran(PyResult<()>),
    Unusual,
    /// Usual, but the code for it is not known.
    Unplanned,
}

impl<'a, 'py> Given<'a, 'py> {
    /// Nothing where the package's own `launch` must look at the call. Runs no Python code.
    ///
    /// # Safety
    /// `call` is what Python passed to the function that this is called by.
    #[inline(always)]
    unsafe fn read(py: Python<'py>, known: &Known, call: &'a Call, grid: &'a mut Grid) -> Option<Given<'a, 'py>> {
        let flags = state::flags();
        if flags & PRINTS != 0 || call.n_args as usize > PARAMETERS.len() {
            return None;
        }
        let mut given = [null_mut::<PyObject>(); PARAMETERS.len()];
        let n_args = call.n_args as usize;
        // SAFETY: Python passes `n_args` arguments, and one more for each of the names, a tuple.
        unsafe {
            for (at, given) in given[..n_args].iter_mut().enumerate() {
                *given = *call.args.add(at);
            }
            if !call.names.is_null() {
                // Mostly in order: each is looked for after the one before.
                let mut next = n_args;
                for index in 0..ffi::PyTuple_Size(call.names) {
                    let name = ffi::PyTuple_GetItem(call.names, index);
                    let at = (next..PARAMETERS.len()).chain(n_args..next).find(|&at| known.names[at] == name)?;
                    if !given[at].is_null() {
                        return None;
                    }
                    given[at] = *call.args.add(n_args + index as usize);
                    next = at + 1;
                }
            }
            let is_none_or = |at: usize, object: *mut PyObject| given[at].is_null() || given[at] == object;
            let is_usual = is_none_or(BLOCK_DIM, ffi::Py_None()) || flags & BLOCKS == 0 && is_block(given[BLOCK_DIM]);
            if !is_none_or(ADJOINT, ffi::Py_False()) || !is_none_or(RECORD_CMD, ffi::Py_False()) || !is_usual {
                return None;
            }
            let is_taped = flags & TAPES != 0;
            if is_taped && !is_none_or(RECORD_TAPE, ffi::Py_True()) {
                return None;
            }
            let is_cpu = if is_none_or(DEVICE, ffi::Py_None()) {
                flags & ON_CPU != 0
            } else {
                known.cpu.contains(&given[DEVICE])
            };
            let cuda = if is_cpu {
                None
            } else {
                // What the CPU has no use for.
                let is_plain = |at| is_none_or(at, ffi::Py_None());
                if !(is_plain(STREAM) && is_plain(BLOCK_DIM) && is_plain(MAX_BLOCKS)) || flags & (CAPTURES | TAPES) != 0
                {
                    return None;
                }
                let is_default = is_plain(DEVICE);
                Some(if is_default { state::default_cuda()? } else { cuda_ordinal(given[DEVICE])? })
            };
            if given[KERNEL].is_null() || given[DIM].is_null() || given[INPUTS].is_null() {
                return None;
            }
            let kernel = Borrowed::from_ptr(py, given[KERNEL]);
            KERNELS.known::<Kernel>(&kernel)?;
            plain_grid(&Borrowed::from_ptr(py, given[DIM]), grid)?;
            Some(Given {
                kernel: kernel.cast_unchecked(),
                inputs: Borrowed::from_ptr(py, given[INPUTS]),
                outputs: Borrowed::from_ptr_or_opt(py, given[OUTPUTS]),
                grid,
                is_taped,
                cuda,
            })
        }
    }

    #[inline(always)]
    fn run(&self, py: Python<'py>) -> Outcome {
        let kernel = self.kernel.get();
        if let Some(signature) = kernel.closed.as_ref() {
            return self.run_as(py, kernel, signature);
        }
        match kernel.signature_like(|signature| self.has_types(kernel, signature)) {
            Some(signature) => self.run_as(py, kernel, &signature),
            None => Outcome::Unusual,
        }
    }

    /// Whether the arguments of open parameters are such that they have a signature's types by themselves.
    fn has_types(&self, kernel: &Kernel, signature: &Signature) -> bool {
        let mut n = 0;
        for list in [Some(self.inputs), self.outputs].into_iter().flatten() {
            let Some(list) = Items::of(&list) else { return false };
            for index in 0..list.len() {
                let (Some(item), Some(param)) = (list.get(index), kernel.params.get(n)) else { return false };
                let is_open = !matches!(param.pattern, TypePattern::Is(_));
                if is_open && !signature.is_plainly(n, &item) {
                    return false;
                }
                n += 1;
            }
        }
        n == kernel.params.len()
    }

    #[inline(always)]
    fn run_as(&self, py: Python<'py>, kernel: &Kernel, signature: &Arc<Signature>) -> Outcome {
        let stamp = state::stamp();
        if !signature.plans.is_current(stamp) {
            return Outcome::Unplanned;
        }
        if let Some(ordinal) = self.cuda {
            return self.run_on_gpu(py, signature, ordinal);
        }
        // While other threads run, nothing but references of our own would keep the arguments.
        if signature.n_words() <= MAX_WORDS {
            let mut words = [MaybeUninit::<u64>::uninit(); MAX_WORDS];
            if let Some(Layout { is_contiguous, .. }) = self.pack_plain(signature, Reach::Host, &mut words) {
                // SAFETY: `pack_plain` has written every argument's words, and these are all.
                let words = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u64>(), signature.n_words()) };
                if let Some(outcome) = self.run_packed(py, kernel, signature, words, is_contiguous) {
                    return outcome;
                }
            }
        }
        // SAFETY: Python's lock is held: there is a `py`.
        unsafe { attached(|_| self.run_held(py, kernel, signature, stamp)) }
    }

    /// Packs without a reference taken: nothing that could free an argument runs until the launch is over.
    #[inline(always)]
    fn pack_plain(
        &self,
        signature: &Signature,
        reach: Reach,
        words: &mut [MaybeUninit<u64>; MAX_WORDS],
    ) -> Option<Layout> {
        let mut layout = Layout::BEST;
        let mut n = 0;
        for list in [Some(self.inputs), self.outputs].into_iter().flatten() {
            let list = Items::of(&list)?;
            let n_items = list.len();
            if n + n_items > signature.types.len() {
                return None;
            }
            for index in 0..n_items {
                let item = list.get(index)?;
                layout = layout.and(signature.pack_plain(n + index, &item, reach, words)?);
            }
            n += n_items;
        }
        (n == signature.types.len()).then_some(layout)
    }

    /// A launch on a GPU returns at once, so that other threads need not run meanwhile.
    #[inline(always)]
    fn run_on_gpu(&self, py: Python<'py>, signature: &Signature, ordinal: u32) -> Outcome {
        let mut words = [MaybeUninit::<u64>::uninit(); MAX_WORDS];
        if signature.n_words() > MAX_WORDS {
            return Outcome::Unusual;
        }
        let Some(layout) = self.pack_plain(signature, Reach::Cuda(ordinal), &mut words) else {
            return Outcome::Unusual;
        };
        // SAFETY: `pack_plain` has written every argument's words, and these are all.
        let words = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u64>(), signature.n_words()) };
        let plans = [false, true].map(|sums| signature.plans.get_cuda(self.grid.rank, ordinal, layout, sums));
        let suits = |ready: &&cuda::CudaReady| {
            ready.suits(self.grid, signature, words) && (layout.is_contiguous || !ready.is_for_others(signature, words))
        };
        let Some(ready) = plans.into_iter().flatten().find(suits) else {
            let is_all = plans[0].is_some_and(|usual| usual.unit.summary().summed.is_empty() || plans[1].is_some());
            return if is_all { Outcome::Unusual } else { Outcome::Unplanned };
        };
        let queue = Queue::current(ready.code.kernel.device());
        Outcome::Ran(cuda::submit(py, ready, signature, words, self.grid, queue))
    }

    /// `None` where the launch takes long, so that other threads should run meanwhile.
    #[inline(always)]
    fn run_packed(
        &self,
        py: Python<'py>,
        kernel: &Kernel,
        signature: &Arc<Signature>,
        words: &[u64],
        is_contiguous: bool,
    ) -> Option<Outcome> {
        let grid = self.grid;
        let ready = signature.plans.get(grid.rank, is_contiguous, signature, words);
        let Some(ready) = ready else { return Some(Outcome::Unplanned) };
        let job = Job { kernel, signature, words, grid };
        if self.is_taped {
            if ready.watch.expect(grid.n_threads) == Length::Long {
                return None;
            }
            // SAFETY: Python's lock is held: there is a `py`.
            let ran = unsafe { attached(|_| guarded(|| self.run_taped(py, signature, &job, ready))) };
            return Some(Outcome::Ran(ran));
        }
        let fault = Fault::default();
        Some(Outcome::Ran(match job.run_short(ready, &fault)? {
            Ok(false) => Ok(()),
            // SAFETY: Python's lock is held, as `self.kernel` shows.
            Ok(true) => unsafe { attached(|py| guarded(|| job.report(py, &ready.unit, &fault))) },
            Err(error) => Err(error),
        }))
    }

    /// A launch that tapes hear of, and that the one that records gets.
    #[cold]
    fn run_taped(&self, py: Python<'py>, signature: &Arc<Signature>, job: &Job<'_>, ready: &Ready) -> PyResult<()> {
        let held = || {
            let of = |list: &Bound<'py, PyAny>| -> Vec<Py<PyAny>> {
                let Some(items) = Items::of(list) else { return Vec::new() };
                (0..items.len()).filter_map(|index| items.get(index)).map(|item| item.to_owned().unbind()).collect()
            };
            let mut args = of(&self.inputs);
            let n_inputs = args.len();
            args.extend(self.outputs.iter().flat_map(|list| of(list)));
            (args.into_boxed_slice(), n_inputs)
        };
        let (kernel, written, args) = (&self.kernel, &ready.unit.summary().written, Some(&held as tape::Args<'_>));
        let (words, grid, device, key) = (job.words, job.grid, Device::Cpu, ready.key);
        let launching = Launching { kernel, signature, words, grid, device, key, written, args };
        let pending = tape::before(py, &launching)?;
        // Other threads may run meanwhile: what the tape does not keep is kept here.
        let _kept = pending.is_none().then(held);
        job.run(py, ready)?;
        tape::after(pending);
        Ok(())
    }

    /// The careful way: arguments of any kind, each held until the launch is over.
    #[inline(never)]
    fn run_held(&self, py: Python<'py>, kernel: &Kernel, signature: &Arc<Signature>, stamp: u64) -> Outcome {
        let run = || {
            if [Some(self.inputs), self.outputs].into_iter().flatten().any(|list| Items::of(&list).is_none()) {
                return Ok(None);
            }
            let args = collect_args(kernel, &self.inputs, self.outputs.as_deref())?;
            let mut words = Words::new();
            let packed = signature.pack(kernel, &args, Reach::Host, &mut words)?;
            // Packing may have run Python code, and read-only memory asks for a look at what the kernel writes to.
            // Without memory for an array the code must check its bounds.
            if !packed.read_only.is_empty() || signature.has_null(&words) || !signature.plans.is_current(stamp) {
                return Ok(None);
            }
            let job = Job { kernel, signature, words: &words, grid: self.grid };
            match signature.plans.get(self.grid.rank, signature.is_contiguous(&words), signature, &words) {
                Some(ready) if self.is_taped => self.run_taped(py, signature, &job, ready).map(Some),
                Some(ready) => job.run(py, ready).map(Some),
                None => Ok(None),
            }
        };
        match guarded(run) {
            Ok(Some(())) => Outcome::Ran(Ok(())),
            Ok(None) => Outcome::Unplanned,
            Err(error) => Outcome::Ran(Err(error)),
        }
    }

    /// After a launch by the package: notes the code for the options in force. What goes wrong here was no error there.
    #[cold]
    fn learn(&self, py: Python<'_>) {
        let kernel = self.kernel.get();
        let options = || -> PyResult<_> {
            let found = self.kernel.as_any().call_method0(intern!(py, "compile_options"))?.cast_into::<PyDict>()?;
            Ok(kernel.options(Some(&found))?.on(self.cuda.map_or(Device::Cpu, Device::Cuda)))
        };
        if let Ok(options) = options() {
            let key = UnitKey { options, rank: self.grid.rank };
            for signature in kernel.signatures() {
                match self.cuda {
                    None => signature.plans.learn(&signature.variants, key, state::stamp()),
                    Some(ordinal) => signature.plans.learn_cuda(&signature.variants, key, state::stamp(), ordinal),
                }
            }
        }
    }
}
