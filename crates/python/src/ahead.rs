//! Kernels compiled ahead of time: to the bytes of a file, and back into live kernels.
//!
//! In: kernels with the names and argument types that they are known by. A kernel that is installed runs the file's
//! code for these types, whatever its source says now.

use crate::cuda;
use crate::errors::{Failure, guarded};
use crate::function::Kernel;
use crate::launch::{Device, kernel_of, parse_device};
use crate::options::{CompileOptions, disk_cache};
use crate::pack::Signature;
use crate::plan::UnitKey;
use crate::types::PyIrType;
use ir::Type;
use pipeline::CudaError;
use pipeline::ahead::{self, Compiled};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// A kernel by its name in its module, with the types of its arguments.
type Named<'py> = (String, Bound<'py, PyAny>, Vec<PyIrType>);

fn label(name: &str, types: &[Type], options: CompileOptions) -> String {
    let types: Vec<String> = types.iter().map(Type::to_string).collect();
    format!("{name}({}) {options:?}", types.join(", "))
}

fn signature<'a>(kernel: &'a Bound<'_, PyAny>, types: &[PyIrType]) -> PyResult<(&'a Kernel, Arc<Signature>)> {
    let kernel = kernel_of(kernel)?.get();
    Ok((kernel, kernel.signature(&crate::checked_types(kernel, types)?)))
}

/// Compiles kernels for a device, or for a CUDA architecture: each for launches with as many dimensions as it asks for indices, and at least one.
#[pyfunction]
#[pyo3(signature = (kernels, device, options, arch=None))]
pub(crate) fn compile_ahead<'py>(
    py: Python<'py>,
    kernels: Vec<Named<'py>>,
    device: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    arch: Option<u32>,
) -> PyResult<Bound<'py, PyBytes>> {
    guarded(|| {
        let device = if arch.is_some() { Device::Cuda(0) } else { parse_device(Some(device))? };
        let compile = CompileOptions::read(Some(options))?.on(device);
        let disk = disk_cache(py, Some(options))?;
        let mut compiled = Vec::new();
        for (name, kernel, types) in &kernels {
            let (_, signature) = signature(kernel, types)?;
            let kernel = kernel_of(kernel)?;
            let unit = |rank| signature.variants.unit(kernel, &signature.types, UnitKey { options: compile, rank });
            let mut found = unit(1)?;
            let rank = found.indexed.iter().rposition(|&is_indexed| is_indexed).map_or(1, |last| last as u32 + 1);
            if rank > 1 {
                found = unit(rank)?;
            }
            let label = label(name, &signature.types, compile);
            let refused = |error: String| Failure::new(&kernel.get().name, error).raise(py);
            compiled.push(match (device, arch) {
                (_, Some(sm)) => {
                    let made = py.detach(|| Compiled::for_architecture(label, found, rank, sm));
                    made.map_err(|error| refused(error.to_string()))?
                }
                (Device::Cuda(ordinal), _) => {
                    let device = cuda::device(ordinal)?;
                    let made = py.detach(|| Compiled::for_cuda(label, found, rank, device, disk.as_ref()));
                    made.map_err(|error| match error {
                        CudaError::Code(error) => refused(error.to_string()),
                        CudaError::Driver(error) => cuda::raised_for(&kernel.get().name, ordinal, error),
                    })?
                }
                _ => {
                    let made = py.detach(|| Compiled::for_cpu(label, found, rank, disk.as_ref()));
                    made.map_err(|error| refused(error.to_string()))?
                }
            });
        }
        Ok(PyBytes::new(py, &ahead::pack(&compiled)))
    })
}

/// Gives live kernels the code of a file. Gives the names of those that the file has no code for.
#[pyfunction]
pub(crate) fn install_ahead<'py>(
    file: &[u8],
    kernels: Vec<Named<'py>>,
    device: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Vec<String>> {
    guarded(|| {
        let compile = CompileOptions::read(Some(options))?.on(parse_device(Some(device))?);
        let mut compiled = ahead::unpack(file).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let mut missing = Vec::new();
        for (name, kernel, types) in &kernels {
            let (_, signature) = signature(kernel, types)?;
            let label = label(name, &signature.types, compile);
            match compiled.iter().find(|known| known.label == label) {
                Some(Compiled { unit, rank, .. }) if unit.summary().written.len() == types.len() => {
                    signature.variants.install(UnitKey { options: compile, rank: *rank }, unit.clone());
                }
                Some(_) => return Err(PyRuntimeError::new_err(format!("the code for `{name}` is not for its types"))),
                None => missing.push(name.clone()),
            }
        }
        ahead::install(compiled.iter_mut().flat_map(|known| std::mem::take(&mut known.codes)).collect());
        Ok(missing)
    })
}
