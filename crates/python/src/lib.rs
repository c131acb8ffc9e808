//! `gridstride._native`: the Python face of the compiler and runtime.
//!
//! In: Python objects. Out: calls of the crates below, whose results and errors become Python objects. Nothing is
//! decided here that could be decided, and tested, without Python. `python/gridstride/_native.pyi` is the interface.

mod adjoint;
mod ahead;
mod array;
mod block_fault;
mod blocks;
mod bytes;
mod c_text;
mod call;
mod cuda;
mod elements;
mod errors;
mod external;
mod fast;
mod fault;
mod foreign;
mod function;
mod geometry;
mod host;
mod infer;
mod items;
mod launch;
mod launcher;
mod loop_memory;
mod numba;
mod numpy;
mod objects;
mod options;
mod pack;
mod pattern;
mod plan;
mod print;
mod recorded;
mod state;
mod subclass;
mod tape;
mod types;
mod value;
mod vectorcall;

use crate::errors::{Failure, guarded};
use crate::function::Kernel;
use crate::host::LiveHost;
use crate::launch::kernel_of;
use crate::options::CompileOptions;
use crate::plan::UnitKey;
use crate::types::PyIrType;
use pipeline::{Request, Specialization, Stage};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Compiles a kernel for argument types, contiguous arrays and launches of one dimension, unless it is compiled.
#[pyfunction]
#[pyo3(signature = (kernel, arg_types, options=None, rank=1, device=None))]
fn compile<'py>(
    kernel: &Bound<'py, PyAny>,
    arg_types: Vec<PyIrType>,
    options: Option<&Bound<'py, PyDict>>,
    rank: u32,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<()> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let device = launch::parse_device(device)?;
        let types = checked_types(kernel.get(), &arg_types)?;
        let signature = kernel.get().signature(&types);
        let key = UnitKey { options: CompileOptions::read(options)?.on(device), rank: checked_rank(rank)? };
        match device {
            launch::Device::Cuda(ordinal) => {
                let cuda = signature.variants.usual_cuda(kernel, &types, key, ordinal)?;
                signature.variants.cuda_code(kernel, &types, key, cuda, options).map(|_| ())
            }
            launch::Device::Cpu => {
                let are_distinct = signature.variants.unit(kernel, &types, key)?.summary().gains_by_distinct;
                let cpu = plan::CpuKey { is_contiguous: true, are_distinct };
                signature.variants.code(kernel, &types, key, cpu, options).map(|_| ())
            }
            launch::Device::Interp => signature.variants.unit(kernel, &types, key).map(|_| ()),
        }
    })
}

/// A kernel's code for a CUDA device, compiled unless it is: what `cuda_kernel_properties` looks at.
pub(crate) fn cuda_code_of<'py>(
    kernel: &Bound<'py, PyAny>,
    arg_types: &[PyIrType],
    device: &'static runtime_cuda::Device,
    options: Option<&Bound<'py, PyDict>>,
    rank: u32,
) -> PyResult<std::sync::Arc<cuda::CudaReady>> {
    let kernel = kernel_of(kernel)?;
    let types = checked_types(kernel.get(), arg_types)?;
    let signature = kernel.get().signature(&types);
    let options_on = CompileOptions::read(options)?.on(launch::Device::Cuda(device.ordinal));
    let key = UnitKey { options: options_on, rank: checked_rank(rank)? };
    let tuning = options::tuning(options)?;
    let cuda = plan::CudaKey { tuning, ..signature.variants.usual_cuda(kernel, &types, key, device.ordinal)? };
    signature.variants.cuda_code(kernel, &types, key, cuda, options)
}

/// A kernel's text at a stage: "typed", "optimized", "llvm", "assembly"; with `adjoint` its adjoint kernel's.
#[pyfunction]
#[pyo3(name = "ir", signature = (kernel, arg_types, options=None, stage="optimized", rank=1, adjoint=false))]
fn text<'py>(
    py: Python<'py>,
    kernel: &Bound<'py, PyAny>,
    arg_types: Vec<PyIrType>,
    options: Option<&Bound<'py, PyDict>>,
    stage: &str,
    rank: u32,
    adjoint: bool,
) -> PyResult<String> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let types = checked_types(kernel.get(), &arg_types)?;
        let stage = Stage::from_name(stage).ok_or_else(|| {
            let names = Stage::ALL.map(Stage::name).join("`, `");
            PyValueError::new_err(format!("there is no stage {stage:?}; there are `{names}`"))
        })?;
        let cuda = options::cuda_text(options)?;
        let is_for_gpus = matches!(stage, Stage::Ptx | Stage::LlvmCuda | Stage::PtxFunction | Stage::ExplainCuda);
        let read = CompileOptions::read(options)?;
        let read = if is_for_gpus { read.on(launch::Device::Cuda(0)) } else { read };
        let options = read.for_rank(checked_rank(rank)?);
        let host = LiveHost::new(py);
        let id = host.register(kernel.as_any());
        let special = Specialization { contiguous: true, distinct: false, rank };
        let request =
            adjoint.then(|| Request { wanted: vec![true; types.len()], overlap: false, adjoints_overlap: false, rank });
        let text = pipeline::text(&host, id, &types, &options, special, cuda, stage, request.as_ref());
        host.interrupted()?;
        text.map_err(|error| match error {
            pipeline::TextError::Rejected(rejected) => {
                Failure::rejected("kernel", &kernel.get().name, &rejected).raise(py)
            }
            pipeline::TextError::Code(error) => PyRuntimeError::new_err(error.to_string()),
        })
    })
}

fn checked_types(kernel: &Kernel, types: &[PyIrType]) -> PyResult<Vec<ir::Type>> {
    if types.len() != kernel.params.len() {
        let (name, n) = (&kernel.name, kernel.params.len());
        return Err(PyValueError::new_err(format!("kernel `{name}` takes {n} arguments, got {} types", types.len())));
    }
    for (param, ty) in kernel.params.iter().zip(types) {
        if !pattern::fits(&param.pattern, ty.0) {
            let expected = pattern::pattern_name(&param.pattern);
            let found = types::user_name(ty.0);
            let text = format!("kernel `{}`, argument `{}`: expected {expected}, got {found}", kernel.name, param.name);
            return Err(PyValueError::new_err(text));
        }
    }
    Ok(types.iter().map(|ty| ty.0).collect())
}

fn checked_rank(rank: u32) -> PyResult<u32> {
    if (1..=4).contains(&rank) {
        Ok(rank)
    } else {
        Err(PyValueError::new_err(format!("a launch has 1 to 4 dimensions, not {rank}")))
    }
}

/// Kernels that went through each phase of compilation, and the milliseconds spent in each (`ms_*`).
#[pyfunction]
fn counters(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let counters = PyDict::new(py);
    for (name, value) in pipeline::counters::counters() {
        counters.set_item(name, value)?;
    }
    Ok(counters)
}

/// How many threads of the machine run a launch, the calling one included.
#[pyfunction]
fn set_num_threads(py: Python<'_>, n: usize) -> PyResult<()> {
    if n == 0 {
        return Err(PyValueError::new_err("a launch needs at least 1 thread"));
    }
    guarded(|| {
        py.detach(|| runtime_cpu::set_num_threads(n));
        Ok(())
    })
}

#[pyfunction]
fn get_num_threads() -> usize {
    runtime_cpu::num_threads()
}

#[pyfunction]
fn llvm_version() -> String {
    pipeline::llvm_version()
}

/// LLVM's name of this machine's processor.
#[pyfunction]
fn cpu_name() -> &'static str {
    pipeline::cpu_name()
}

/// The cache directory that is used where none is named; None where the environment names no place.
#[pyfunction]
fn default_cache_dir() -> Option<std::ffi::OsString> {
    // Not a path: Python would import pathlib for it, which takes as long as all else that a first launch does.
    pipeline::cache::default_dir().map(std::path::PathBuf::into_os_string)
}

#[pymodule]
#[pyo3(name = "_native")]
fn native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    print::install();
    errors::install_panic_hook();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<PyIrType>()?;
    m.add_class::<array::Array>()?;
    m.add_class::<array::Buffer>()?;
    m.add_class::<function::Function>()?;
    m.add_class::<Kernel>()?;
    m.add_class::<c_text::CText>()?;
    m.add_class::<recorded::Launch>()?;
    m.add_class::<launcher::BlockLauncher>()?;
    m.add_class::<tape::Tape>()?;
    m.add_class::<geometry::WideTree>()?;
    m.add("CompileError", py.get_type::<errors::CompileError>())?;
    m.add("KernelFault", py.get_type::<errors::KernelFault>())?;
    m.add("ExtentError", py.get_type::<errors::ExtentError>())?;
    m.add("ArgumentError", errors::argument_error_type(py)?)?;
    m.add_function(wrap_pyfunction!(launch::launch, m)?)?;
    m.add_function(wrap_pyfunction!(blocks::launch_blocks, m)?)?;
    m.add_function(wrap_pyfunction!(adjoint::adjoint_facts, m)?)?;
    m.add_function(wrap_pyfunction!(adjoint::launch_adjoint, m)?)?;
    m.add_function(wrap_pyfunction!(adjoint::launch_tangent, m)?)?;
    m.add_function(wrap_pyfunction!(fast::fast_launch, m)?)?;
    m.add_function(wrap_pyfunction!(fast::set_cuda_devices, m)?)?;
    m.add_function(wrap_pyfunction!(elements::copy_host, m)?)?;
    m.add_function(wrap_pyfunction!(elements::fill_host, m)?)?;
    m.add_function(wrap_pyfunction!(bytes::round_floats, m)?)?;
    m.add_function(wrap_pyfunction!(foreign::foreign_array, m)?)?;
    m.add_function(wrap_pyfunction!(recorded::fast_recorded, m)?)?;
    m.add_function(wrap_pyfunction!(state::set_launch_state, m)?)?;
    m.add_function(wrap_pyfunction!(tape::before_write, m)?)?;
    m.add_function(wrap_pyfunction!(tape::is_recording, m)?)?;
    m.add_function(wrap_pyfunction!(tape::is_watched, m)?)?;
    m.add_function(wrap_pyfunction!(tape::is_on_tape, m)?)?;
    m.add_function(wrap_pyfunction!(tape::overlap, m)?)?;
    m.add_function(wrap_pyfunction!(tape::record_func, m)?)?;
    m.add_function(wrap_pyfunction!(ahead::compile_ahead, m)?)?;
    m.add_function(wrap_pyfunction!(ahead::install_ahead, m)?)?;
    m.add_function(wrap_pyfunction!(compile, m)?)?;
    m.add_function(wrap_pyfunction!(text, m)?)?;
    m.add_function(wrap_pyfunction!(call::call, m)?)?;
    m.add_function(wrap_pyfunction!(objects::object_changed, m)?)?;
    m.add_function(wrap_pyfunction!(geometry::library_struct, m)?)?;
    m.add_function(wrap_pyfunction!(geometry::sort_by_cell, m)?)?;
    m.add_function(wrap_pyfunction!(geometry::build_bvh, m)?)?;
    m.add_function(wrap_pyfunction!(geometry::refit_bvh, m)?)?;
    m.add_function(wrap_pyfunction!(counters, m)?)?;
    m.add_function(wrap_pyfunction!(set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(get_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(llvm_version, m)?)?;
    m.add_function(wrap_pyfunction!(cpu_name, m)?)?;
    m.add_function(wrap_pyfunction!(default_cache_dir, m)?)?;
    cuda::register(m)
}
