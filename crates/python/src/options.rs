//! Options of a kernel, from a dictionary.

use crate::launch::Device;
use crate::pack::Signature;
use frontend::Options;
use ir::LeafKind;
use pipeline::cache::{DiskCache, default_dir};
use pipeline::{CudaText, CudaTuning, Lines};
use pyo3::exceptions::{PyRuntimeWarning, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Mutex;

/// What reaches the compiler, in one word: equal words mean equal code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompileOptions {
    pub(crate) checked: bool,
    /// Set for a launch that passes None for an array, whatever the options say.
    pub(crate) check_bounds: bool,
    /// The arrays that have no memory, as for `transform::settle_nulls`, where that is known.
    pub(crate) nulls: Option<u64>,
    pub(crate) check_finite: bool,
    pub(crate) fast_math: bool,
    /// Set for a launch on a GPU with fast math, which has instructions for functions.
    pub(crate) approximate: bool,
    pub(crate) max_unroll: u32,
    /// Threads of a block that the launch asks for; 0 for what its device has by default.
    pub(crate) block_dim: u32,
    /// Set for a launch in which elements of an array that the kernel writes to may share memory.
    pub(crate) elements_overlap: bool,
    pub(crate) order: Order,
}

/// What is the same in every run of what atomics leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// What does not depend on the order of the threads.
    Free,
    /// Also sums that all threads add to.
    Sums,
    /// All.
    Threads,
}

impl CompileOptions {
    /// Names that are not ours are left to the package.
    pub(crate) fn read(options: Option<&Bound<'_, PyDict>>) -> PyResult<CompileOptions> {
        let mut found = CompileOptions {
            checked: false,
            check_bounds: false,
            nulls: None,
            check_finite: false,
            fast_math: false,
            approximate: false,
            max_unroll: 16,
            block_dim: 0,
            elements_overlap: false,
            order: Order::Sums,
        };
        let Some(options) = options else { return Ok(found) };
        let py = options.py();
        let flag = |name: &Bound<'_, pyo3::types::PyString>| -> PyResult<bool> {
            options.get_item(name)?.map_or(Ok(false), |value| value.is_truthy())
        };
        found.checked = flag(intern!(py, "checked"))?;
        found.check_finite = flag(intern!(py, "check_finite"))?;
        found.fast_math = flag(intern!(py, "fast_math"))?;
        if let Some(value) = options.get_item(intern!(py, "order"))? {
            found.order = Order::read(&value)?;
        }
        if let Some(value) = options.get_item(intern!(py, "max_unroll"))?
            && !value.is_none()
        {
            let wrong = |_| PyTypeError::new_err("`max_unroll` must be an int of 0 or more");
            found.max_unroll = value.extract().map_err(wrong)?;
        }
        if let Some(value) = options.get_item(intern!(py, "block_dim"))? {
            found.block_dim = value.extract()?;
        }
        Ok(found)
    }

    /// For a launch on a device: what it leaves open is what that device does.
    pub(crate) fn on(self, device: Device) -> CompileOptions {
        const CUDA_BLOCK: u32 = 256;
        match device {
            Device::Cuda(_) => {
                let block_dim = if self.block_dim == 0 { CUDA_BLOCK } else { self.block_dim };
                CompileOptions { block_dim, approximate: self.fast_math, ..self }
            }
            _ => self,
        }
    }

    /// Options for a launch of packed arguments. A kernel may be given None for an array that it then leaves alone; if it
    /// does not, that must be an exception.
    pub(crate) fn for_words(self, signature: &Signature, words: &[u64]) -> CompileOptions {
        if !signature.has_null(words) {
            return self;
        }
        let (mut nulls, mut number) = (0, 0u32);
        for (param, ty) in signature.types.iter().enumerate() {
            for leaf in ty.leaves().iter().filter(|leaf| leaf.kind == LeafKind::Pointer) {
                let is_null = words[signature.word_of(param) + leaf.offset as usize / 8] == 0;
                nulls |= u64::from(is_null).checked_shl(number).unwrap_or(0);
                number += 1;
            }
        }
        CompileOptions { check_bounds: true, nulls: Some(nulls), ..self }
    }

    pub(crate) fn for_rank(self, rank: u32) -> Options {
        Options {
            checked: self.checked,
            check_bounds: self.check_bounds,
            check_finite: self.check_finite,
            fast_math: self.fast_math,
            approximate: self.approximate,
            max_unroll: self.max_unroll,
            launch_rank: rank,
            block_dim: self.block_dim.max(1),
            gradients: false,
        }
    }
}

impl Order {
    /// From 0, 1 or 2, in the order of the variants.
    pub(crate) fn read(value: &Bound<'_, PyAny>) -> PyResult<Order> {
        match value.extract()? {
            0 => Ok(Order::Free),
            1 => Ok(Order::Sums),
            2 => Ok(Order::Threads),
            other => Err(PyTypeError::new_err(format!("`order` must be 0, 1 or 2, not {other}"))),
        }
    }
}

/// What options ask of code for a GPU: `max_registers`, `launch_bounds`, `lines` ("directives" or "full") and
/// `unoptimized`.
pub(crate) fn tuning<'py>(options: Option<&Bound<'py, PyDict>>) -> PyResult<CudaTuning> {
    let Some(options) = options else { return Ok(CudaTuning::default()) };
    let py = options.py();
    let get = |name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(options.get_item(name)?.filter(|value| !value.is_none()))
    };
    let bounds: Vec<u32> = get(intern!(py, "launch_bounds"))?.map_or(Ok(Vec::new()), |value| value.extract())?;
    let bound = |index: usize| bounds.get(index).copied().unwrap_or(0);
    let lines: Option<String> = get(intern!(py, "lines"))?.map(|value| value.extract()).transpose()?;
    Ok(CudaTuning {
        max_registers: get(intern!(py, "max_registers"))?.map_or(Ok(0), |value| value.extract())?,
        max_threads: bound(0),
        min_blocks: bound(1),
        max_cluster: bound(2),
        lines: match lines.as_deref() {
            Some("directives") => Lines::Directives,
            Some("full") => Lines::Full,
            _ => Lines::None,
        },
        is_unoptimized: get(intern!(py, "unoptimized"))?.map_or(Ok(false), |value| value.is_truthy())?,
    })
}

/// What text for a GPU is for: `arch`, as 90 or "90a", besides what `tuning` reads.
pub(crate) fn cuda_text(options: Option<&Bound<'_, PyDict>>) -> PyResult<CudaText> {
    let tuning = tuning(options)?;
    let given = options.map(|options| options.get_item(intern!(options.py(), "arch"))).transpose()?.flatten();
    let Some(arch) = given.filter(|value| !value.is_none()) else {
        return Ok(CudaText { tuning, ..Default::default() });
    };
    let text = arch.str()?.to_string();
    let variant = text.chars().last().filter(char::is_ascii_alphabetic);
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let wrong = |_| PyTypeError::new_err("`arch` must be a compute capability as 90 or \"90a\"");
    Ok(CudaText { sm: number.parse().map_err(wrong)?, variant, tuning })
}

/// The disk cache that options name: `cache_dir` where it is given (None: no cache), else the user's own. A directory
/// that must not be trusted gives one warning and no cache.
pub(crate) fn disk_cache(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Option<DiskCache>> {
    static OPENED: Mutex<Option<HashMap<PathBuf, Option<DiskCache>>>> = Mutex::new(None);
    let named = options.map(|options| options.get_item(intern!(py, "cache_dir"))).transpose()?.flatten();
    let dir = match named {
        Some(dir) if dir.is_none() => None,
        // A str as it is: for anything else Python imports pathlib.
        Some(dir) => Some(match dir.cast_exact::<PyString>() {
            Ok(dir) => PathBuf::from(dir.extract::<OsString>()?),
            Err(_) => dir.extract::<PathBuf>()?,
        }),
        None => default_dir(),
    };
    let Some(dir) = dir else { return Ok(None) };
    let lock = || OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = lock().as_ref().and_then(|opened| opened.get(&dir)) {
        // It may have been removed since; a process that runs for long makes it again.
        if known.is_none() || dir.is_dir() {
            return Ok(known.clone());
        }
    }
    let opened = DiskCache::open(&dir);
    let cache = opened.as_ref().ok().cloned();
    lock().get_or_insert_default().insert(dir, cache.clone());
    if let Err(refused) = opened {
        let text = std::ffi::CString::new(refused.to_string()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)?;
    }
    Ok(cache)
}
