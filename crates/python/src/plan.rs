//! What was compiled for one signature of a kernel, and what failed to.
//!
//! In: a kernel, options, the launch's rank and whether its arrays are contiguous. Out: code that is ready to run, or
//! the error that compiling it gave the first time.

use crate::cuda::CudaReady;
use crate::errors::Failure;
use crate::external;
use crate::function::Kernel;
use crate::host::LiveHost;
use crate::options::{CompileOptions, Order, disk_cache};
use crate::pack::{Layout, Signature};
use crate::tape::places;
use ir::Type;
use pipeline::{CudaError, CudaSpecialization, CudaTuning, Linked, LoadedModule, Part, Request, Specialization, Unit};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use runtime::abi::MAX_RANK;
use runtime::{BlockEntryPoint, EntryPoint, Sums};
use runtime_cpu::{Code, Pace, Watch};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// A GPU cannot run a kernel whose launches shall be deterministic.
pub(crate) fn no_order(kernel: &str) -> PyErr {
    PyNotImplementedError::new_err(format!(
        "kernel `{kernel}`: on a GPU the order of its threads decides what its atomics leave. Deterministic are atomics on \
         integers, minima and maxima, and sums of floats at places that are the same for all threads, in arrays that are \
         used for nothing else and share memory with no other, where nobody uses what they give; on device='cpu' all are"
    ))
}

type Outcome<T> = Result<Arc<T>, Arc<Failure>>;

/// Units and code of one signature.
#[derive(Default)]
pub(crate) struct Variants {
    /// Set where the code is that of the kernel's adjoint kernel.
    adjoint: Option<Differentiated>,
    units: Mutex<Vec<(UnitKey, Outcome<Unit>)>>,
    codes: Mutex<Vec<(UnitKey, CpuKey, Outcome<Ready>)>>,
    cuda: Mutex<Vec<(UnitKey, CudaKey, Outcome<CudaReady>)>>,
    /// Code of other compilers that a unit is linked with, by the objects of the program that name it.
    linked: Mutex<Vec<(UnitKey, Vec<Py<PyAny>>)>>,
    /// Code that others took the place of: plans may still lead to it.
    retired: Mutex<Retired>,
}

#[derive(Default)]
struct Retired {
    codes: Vec<Outcome<Ready>>,
    cuda: Vec<Outcome<CudaReady>>,
}

/// What code for the CPU depends on besides the IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuKey {
    pub(crate) is_contiguous: bool,
    /// No array that the kernel writes to shares memory with another, and the code relies on it.
    pub(crate) are_distinct: bool,
}

impl CpuKey {
    /// For code that relies on nothing else.
    pub(crate) fn usual(is_contiguous: bool) -> CpuKey {
        CpuKey { is_contiguous, are_distinct: false }
    }
}

/// What code for a GPU depends on besides the IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CudaKey {
    pub(crate) ordinal: u32,
    pub(crate) layout: Layout,
    /// Whether the launch has more blocks than a grid.
    pub(crate) is_strided: bool,
    /// Whether it has too few threads for one to do the work of several.
    pub(crate) has_few_threads: bool,
    /// Which arrays blocks may sum up: a bit each, by number of the parameter.
    pub(crate) summed: u64,
    /// Whether blocks keep what all threads add up: those of `Summary::grid_sums`.
    pub(crate) in_grid: bool,
    /// Threads of a block; 0 for what the compiler takes.
    pub(crate) block: u32,
    /// What its author asks for.
    pub(crate) tuning: CudaTuning,
}

impl CudaKey {
    /// A launch that asks for nothing special.
    pub(crate) fn usual(ordinal: u32, layout: Layout) -> CudaKey {
        let tuning = CudaTuning::default();
        CudaKey {
            ordinal,
            layout,
            is_strided: false,
            has_few_threads: false,
            summed: 0,
            in_grid: false,
            block: 0,
            tuning,
        }
    }
}

/// What an adjoint kernel is made from.
#[derive(PartialEq)]
pub(crate) struct Differentiated {
    /// Types of the kernel's own arguments.
    pub(crate) types: Vec<Type>,
    pub(crate) request: Request,
    pub(crate) part: Part,
    /// Types of further arguments, behind the adjoints.
    pub(crate) further: Vec<Type>,
}

/// What the IR depends on besides the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitKey {
    pub(crate) options: CompileOptions,
    pub(crate) rank: u32,
}

/// Code that can run.
pub(crate) struct Ready {
    pub(crate) unit: Arc<Unit>,
    pub(crate) key: UnitKey,
    pub(crate) entry: EntryPoint,
    pub(crate) watch: Watch,
    cpu: CpuKey,
    /// What all threads of a launch add up.
    pub(crate) sums: Option<Sums>,
    /// Keeps the code of `entry`.
    module: Arc<LoadedModule>,
}

impl Ready {
    fn new(unit: Arc<Unit>, key: UnitKey, cpu: CpuKey, module: Arc<LoadedModule>) -> Ready {
        let (entry, watch, sums) = (module.entry(), Watch::default(), unit.summary().sums.clone());
        Ready { unit, key, entry, watch, cpu, sums, module }
    }

    /// When launches with these arguments are shared with other cores: never, where they must run in order.
    ///
    /// # Safety
    /// `args` are packed for the code.
    pub(crate) unsafe fn pace(&self, args: *const u8) -> Pace {
        let depends_on_order = || {
            // SAFETY: the caller's promise.
            let are_apart = |sums: &Sums| unsafe { sums.are_apart(args) };
            self.unit.summary().depends_on_order || !self.sums.as_ref().is_none_or(are_apart)
        };
        let is_alone = self.key.options.order == Order::Threads && depends_on_order();
        if is_alone { Pace { share_above: Duration::from_nanos(u64::MAX), ..Pace::DEFAULT } } else { Pace::DEFAULT }
    }

    pub(crate) fn code(&self) -> Code<'_> {
        Code { entry: self.entry, sums: self.sums.as_ref() }
    }

    /// The entry point of a kernel over thread blocks.
    pub(crate) fn block_entry(&self) -> BlockEntryPoint {
        self.module.block_entry()
    }
}

/// Code that the last launches with a signature ran, found without a lock. By stamp: the count of changes of settings (see
/// `state`) that its options belong to. Written and read under Python's lock.
#[derive(Default)]
pub(crate) struct Plans {
    /// One more than the stamp, so that a new kernel has none.
    stamp: AtomicU64,
    /// By rank, then by whether every array is contiguous. Where there is code for distinct arrays, that.
    ready: [[AtomicPtr<Ready>; 2]; MAX_RANK],
    /// Code for usual launches on one CUDA device, by rank, whether blocks sum up, and layout.
    cuda: [[[AtomicPtr<CudaReady>; 4]; 2]; MAX_RANK],
    /// One more than that device's number.
    cuda_device: AtomicU64,
}

fn place(layout: Layout) -> usize {
    usize::from(layout.is_contiguous) + 2 * usize::from(layout.is_aligned)
}

impl Plans {
    #[inline]
    pub(crate) fn is_current(&self, stamp: u64) -> bool {
        self.stamp.load(Ordering::Relaxed) == stamp.wrapping_add(1)
    }

    /// Code for a rank of 1 to 4 and these arguments; the signature keeps it.
    #[inline]
    pub(crate) fn get(&self, rank: u32, is_contiguous: bool, signature: &Signature, words: &[u64]) -> Option<&Ready> {
        let ready = self.ready[rank as usize - 1][usize::from(is_contiguous)].load(Ordering::Relaxed);
        // SAFETY: null, or put in by `learn`, from an `Arc` that lives as long as the signature, and so as `self`.
        let ready = unsafe { ready.as_ref() };
        ready.filter(|ready| {
            let written = || &ready.unit.summary().written;
            if ready.cpu.are_distinct {
                return places::are_distinct(signature.places(), words, written());
            }
            is_contiguous || !places::elements_may_overlap(signature.places(), words, written())
        })
    }

    /// As `get`, for a CUDA device.
    #[inline]
    pub(crate) fn get_cuda(&self, rank: u32, ordinal: u32, layout: Layout, sums: bool) -> Option<&CudaReady> {
        if self.cuda_device.load(Ordering::Relaxed) != u64::from(ordinal) + 1 {
            return None;
        }
        let ready = self.cuda[rank as usize - 1][usize::from(sums)][place(layout)].load(Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { ready.as_ref() }
    }

    /// Notes what is compiled of a signature for a CUDA device.
    pub(crate) fn learn_cuda(&self, variants: &Variants, key: UnitKey, stamp: u64, ordinal: u32) {
        if !self.is_current(stamp) || self.cuda_device.load(Ordering::Relaxed) != u64::from(ordinal) + 1 {
            self.forget(stamp);
            self.cuda_device.store(u64::from(ordinal) + 1, Ordering::Relaxed);
        }
        for (known, cuda, outcome) in lock(&variants.cuda).iter() {
            if let Ok(ready) = outcome
                && *known == key
                && *cuda
                    == (CudaKey { summed: cuda.summed, in_grid: cuda.in_grid, ..CudaKey::usual(ordinal, cuda.layout) })
            {
                // As in `learn`.
                let ready = Arc::as_ptr(ready).cast_mut();
                let plans = &self.cuda[key.rank as usize - 1][usize::from(cuda.summed != 0)];
                plans[place(cuda.layout)].store(ready, Ordering::Relaxed);
            }
        }
    }

    fn forget(&self, stamp: u64) {
        self.ready.iter().flatten().for_each(|ready| ready.store(null_mut(), Ordering::Relaxed));
        self.cuda.iter().flatten().flatten().for_each(|ready| ready.store(null_mut(), Ordering::Relaxed));
        self.stamp.store(stamp.wrapping_add(1), Ordering::Relaxed);
    }

    /// Notes what is compiled of a signature for these options.
    pub(crate) fn learn(&self, variants: &Variants, key: UnitKey, stamp: u64) {
        if !self.is_current(stamp) {
            self.forget(stamp);
        }
        for (known, cpu, outcome) in lock(&variants.codes).iter() {
            let place = &self.ready[key.rank as usize - 1][usize::from(cpu.is_contiguous)];
            if let Ok(ready) = outcome
                && *known == key
                && (cpu.are_distinct || place.load(Ordering::Relaxed).is_null())
            {
                // Outcomes are never removed, and the signature has these: this address stays good.
                place.store(Arc::as_ptr(ready).cast_mut(), Ordering::Relaxed);
            }
        }
    }
}

impl Variants {
    pub(crate) fn of_adjoint(adjoint: Differentiated) -> Variants {
        Variants { adjoint: Some(adjoint), ..Variants::default() }
    }

    pub(crate) fn adjoint(&self) -> Option<&Differentiated> {
        self.adjoint.as_ref()
    }

    /// A kernel's unit for this signature.
    pub(crate) fn unit(&self, kernel: &Bound<'_, Kernel>, types: &[Type], key: UnitKey) -> PyResult<Arc<Unit>> {
        let py = kernel.py();
        let known = lock(&self.units).iter().find(|(known, _)| *known == key).map(|(_, outcome)| outcome.clone());
        let outcome = match known {
            Some(outcome) => outcome,
            None => {
                // Without the lock: the kernel's source may run Python code that launches it.
                let outcome = self.build(kernel, types, key)?;
                let mut units = lock(&self.units);
                match units.iter().find(|(known, _)| *known == key) {
                    Some((_, first)) => first.clone(),
                    None => {
                        units.push((key, outcome.clone()));
                        outcome
                    }
                }
            }
        };
        outcome.map_err(|failure| failure.raise(py))
    }

    /// The key of the unit for a launch with these arguments.
    pub(crate) fn key_for(
        &self,
        kernel: &Bound<'_, Kernel>,
        signature: &Signature,
        words: &[u64],
        mut key: UnitKey,
    ) -> PyResult<UnitKey> {
        // An adjoint kernel's request says what overlaps.
        if self.adjoint.is_none() && signature.places().iter().any(|place| place.elements_may_overlap(words)) {
            let unit = self.unit(kernel, &signature.types, key)?;
            let overlap = places::elements_may_overlap(signature.places(), words, &unit.summary().written);
            key.options.elements_overlap = overlap;
        }
        Ok(key)
    }

    /// What code for a launch with these arguments may rely on.
    pub(crate) fn cpu_key(
        &self,
        kernel: &Bound<'_, Kernel>,
        signature: &Signature,
        words: &[u64],
        key: UnitKey,
    ) -> PyResult<CpuKey> {
        let unit = self.unit(kernel, &signature.types, key)?;
        let are_distinct = unit.summary().gains_by_distinct
            && places::are_distinct(signature.places(), words, &unit.summary().written);
        Ok(CpuKey { is_contiguous: signature.is_contiguous(words), are_distinct })
    }

    /// Code for this signature, compiled on first use.
    pub(crate) fn code(
        &self,
        kernel: &Bound<'_, Kernel>,
        types: &[Type],
        key: UnitKey,
        cpu: CpuKey,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Arc<Ready>> {
        let py = kernel.py();
        let known = lock(&self.codes).iter().find(|(k, c, _)| *k == key && *c == cpu).map(|(.., code)| code.clone());
        if let Some(outcome) = known {
            return outcome.map_err(|failure| failure.raise(py));
        }
        let unit = self.unit(kernel, types, key)?;
        let disk = disk_cache(py, options)?;
        let CpuKey { is_contiguous: contiguous, are_distinct: distinct } = cpu;
        let special = Specialization { contiguous, distinct, rank: key.rank };
        let loaded = py.detach(|| pipeline::load(&unit, special, disk.as_ref()));
        let outcome = match loaded {
            Ok(module) => Ok(Arc::new(Ready::new(unit, key, cpu, module))),
            Err(error) => Err(Arc::new(Failure::new(&kernel.get().name, error.to_string()))),
        };
        lock(&self.codes).push((key, cpu, outcome.clone()));
        outcome.map_err(|failure| failure.raise(py))
    }

    /// What the code of most launches on a CUDA device relies on.
    pub(crate) fn usual_cuda(
        &self,
        kernel: &Bound<'_, Kernel>,
        types: &[Type],
        key: UnitKey,
        ordinal: u32,
    ) -> PyResult<CudaKey> {
        let keeps_sums = !self.unit(kernel, types, key)?.summary().grid_sums.is_empty();
        let in_grid = keeps_sums && key.options.order != Order::Free;
        Ok(CudaKey { in_grid, ..CudaKey::usual(ordinal, Layout::BEST) })
    }

    /// Code for this signature on a CUDA device, compiled on first use.
    pub(crate) fn cuda_code(
        &self,
        kernel: &Bound<'_, Kernel>,
        types: &[Type],
        key: UnitKey,
        cuda: CudaKey,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Arc<CudaReady>> {
        let py = kernel.py();
        let known = lock(&self.cuda).iter().find(|(k, c, _)| *k == key && *c == cuda).map(|(.., code)| code.clone());
        if let Some(outcome) = known {
            return outcome.map_err(|failure| failure.raise(py));
        }
        let unit = self.unit(kernel, types, key)?;
        let disk = disk_cache(py, options)?;
        let device = crate::cuda::device(cuda.ordinal)?;
        let special = CudaSpecialization {
            contiguous: cuda.layout.is_contiguous,
            aligned: cuda.layout.is_aligned,
            rank: key.rank,
            strided: cuda.is_strided,
            few_threads: cuda.has_few_threads,
            summed: cuda.summed,
            max_threads: cuda.block,
            in_order: cuda.in_grid,
            tuning: cuda.tuning,
        };
        let has_free_sums = unit.summary().sums.is_some() && !cuda.in_grid;
        if key.options.order == Order::Threads && (unit.summary().depends_on_order || has_free_sums) {
            return Err(no_order(&kernel.get().name));
        }
        let linked = self.linked_with(py, key);
        let inputs = external::inputs(py, &linked, device.properties.sm)?;
        if cuda.has_few_threads && !pipeline::jams(&unit, special, device.properties.sm, disk.as_ref()) {
            // The same code as for launches of many.
            let usual = CudaKey { has_few_threads: false, ..cuda };
            let ready = self.cuda_code(kernel, types, key, usual, options)?;
            lock(&self.cuda).push((key, cuda, Ok(ready.clone())));
            return Ok(ready);
        }
        let name = &kernel.get().name;
        let sm = device.properties.sm;
        let load = |linked: Linked<'_>| pipeline::load_cuda(&unit, special, device, disk.as_ref(), linked);
        let outcome = match py.detach(|| external::with_linked(&inputs, sm, load)) {
            Ok(code) => {
                let code = external::set_up(kernel, types, &linked, code)?;
                Ok(Arc::new(CudaReady::new(kernel.get(), unit, code, key.options.order, cuda)))
            }
            Err(CudaError::Code(error)) => Err(Arc::new(Failure::new(name, error.to_string()))),
            // Not the kernel's fault: the next launch tries again.
            Err(CudaError::Driver(error)) => return Err(crate::cuda::raised_for(name, cuda.ordinal, error)),
        };
        lock(&self.cuda).push((key, cuda, outcome.clone()));
        outcome.map_err(|failure| failure.raise(py))
    }

    fn linked_with(&self, py: Python<'_>, key: UnitKey) -> Vec<Py<PyAny>> {
        let linked = lock(&self.linked);
        let found = linked.iter().find(|(known, _)| *known == key);
        found.map_or(Vec::new(), |(_, objects)| objects.iter().map(|object| object.clone_ref(py)).collect())
    }

    /// The devices (None: the CPU) and threads of a block that there is code for.
    pub(crate) fn compiled(&self) -> Vec<(Option<u32>, u32)> {
        let block = |key: &UnitKey| key.options.block_dim.max(1);
        let codes = lock(&self.codes);
        let cuda = lock(&self.cuda);
        let on_cpu = codes.iter().filter(|(.., outcome)| outcome.is_ok()).map(|(key, ..)| (None, block(key)));
        let on_gpus = cuda.iter().filter(|(.., outcome)| outcome.is_ok());
        on_cpu.chain(on_gpus.map(|(key, cuda, _)| (Some(cuda.ordinal), block(key)))).collect()
    }

    /// From now on everything is made anew.
    pub(crate) fn forget(&self) {
        lock(&self.units).clear();
        let linked = std::mem::take(&mut *lock(&self.linked));
        // Without the lock: freeing objects may run Python code.
        drop(linked);
        let mut retired = lock(&self.retired);
        retired.codes.extend(lock(&self.codes).drain(..).map(|(.., code)| code));
        retired.cuda.extend(lock(&self.cuda).drain(..).map(|(.., code)| code));
    }

    /// From now on launches run this unit. What compiled code there is stays, for who runs it.
    pub(crate) fn install(&self, key: UnitKey, unit: Arc<Unit>) {
        lock(&self.units).insert(0, (key, Ok(unit)));
        // Found in order; code that was found stays where it is.
        let mut retired = lock(&self.retired);
        retired.codes.extend(lock(&self.codes).extract_if(.., |(known, ..)| *known == key).map(|(.., code)| code));
        retired.cuda.extend(lock(&self.cuda).extract_if(.., |(known, ..)| *known == key).map(|(.., code)| code));
    }

    /// The unit or why there is none; an error where Python was interrupted meanwhile, which says nothing of the kernel.
    fn build(&self, kernel: &Bound<'_, Kernel>, types: &[Type], key: UnitKey) -> PyResult<Outcome<Unit>> {
        let host = LiveHost::new(kernel.py());
        let id = host.register(kernel.as_any());
        let options = key.options.for_rank(key.rank);
        let disk = kernel.get().disk(kernel.py())?;
        let (what, unit) = match (&self.adjoint, key.options.nulls) {
            (None, None) => ("kernel", pipeline::build(&host, id, types, &options, disk.as_ref())),
            (None, Some(nulls)) => {
                ("kernel", pipeline::build_with_nulls(&host, id, types, &options, nulls, disk.as_ref()))
            }
            (Some(Differentiated { types, request, part, .. }), _) => {
                let unit = pipeline::build_adjoint(&host, id, types, &options, request, *part, disk.as_ref());
                ("gradient of kernel", unit)
            }
        };
        host.interrupted()?;
        if self.adjoint.is_none() {
            host.warn_of(&kernel.get().name)?;
        }
        let linked = external::linked(kernel, &host)?;
        if !linked.is_empty() {
            lock(&self.linked).push((key, linked));
        }
        let unit = unit.map(|unit| if key.options.elements_overlap { unit.with_shared_elements() } else { unit });
        let unit = unit.inspect(|unit| unit.look_in(disk.as_ref()));
        let name = &kernel.get().name;
        Ok(unit.map(Arc::new).map_err(|rejected| Arc::new(Failure::rejected(what, name, &rejected))))
    }
}

/// Never held across anything that may let go of Python's lock: a thread that holds that one may wait here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
