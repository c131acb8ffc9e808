//! Code of other compilers that kernels are linked with: which a kernel needs, as bytes for the driver, and what a program
//! does once it is loaded. `gridstride.numba.cuda._linkable` has the objects.

use crate::cuda::raised_for;
use crate::function::Kernel;
use crate::host::LiveHost;
use ir::Type;
use pipeline::{CudaCode, Linked};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use runtime_cuda::{LinkInput, LinkKind, LinkOptions};
use std::sync::Arc;

/// What a kernel is linked with: what its decorator names, then what the functions that it calls need, each once.
pub(crate) fn linked(kernel: &Bound<'_, Kernel>, host: &LiveHost<'_>) -> PyResult<Vec<Py<PyAny>>> {
    let py = kernel.py();
    let mut found: Vec<Py<PyAny>> = Vec::new();
    let named = kernel.as_any().getattr_opt(intern!(py, "__gs_link__"))?.into_iter();
    for list in named.chain(host.linked()) {
        for object in list.try_iter()? {
            let object = object?.unbind();
            if !found.iter().any(|known| known.is(&object)) {
                found.push(object);
            }
        }
    }
    Ok(found)
}

/// The bytes that the driver links, for a compute capability.
pub(crate) fn inputs(py: Python<'_>, linked: &[Py<PyAny>], sm: u32) -> PyResult<Vec<LinkInput>> {
    let input = |object: &Py<PyAny>| {
        let found = object.bind(py).call_method1(intern!(py, "for_driver"), (sm,))?;
        let (kind, bytes, name): (String, Vec<u8>, String) = found.extract()?;
        match LinkKind::from_extension(&kind) {
            Some(kind) => Ok(LinkInput { kind, bytes, name }),
            None => Err(PyValueError::new_err(format!("the driver does not link code of the kind {kind:?}"))),
        }
    };
    linked.iter().map(input).collect()
}

/// What a kernel is linked with, for the compiler. LTO-IR is for NVIDIA's own linker, which Python calls.
pub(crate) fn with_linked<T>(inputs: &[LinkInput], sm: u32, then: impl FnOnce(Linked<'_>) -> T) -> T {
    let by = |ptx: &str, options: LinkOptions| {
        let given = inputs.iter().map(|input| (input.kind.extension(), &input.bytes[..], &input.name[..]));
        Python::attach(|py| {
            let linkable = py.import(intern!(py, "gridstride.numba.cuda._linkable"))?;
            let given = (ptx, given.collect::<Vec<_>>(), sm, options.max_registers);
            linkable.call_method1(intern!(py, "link_with_optimization"), given)?.extract()
        })
        .map_err(|error: PyErr| error.to_string())
    };
    let needs_it = inputs.iter().any(|input| input.kind == LinkKind::LtoIr);
    then(Linked { inputs, by: needs_it.then_some(&by) })
}

/// Tells the program that its code is loaded, where it wants to know: then Python loads it, and gives the library.
pub(crate) fn set_up(
    kernel: &Bound<'_, Kernel>,
    types: &[Type],
    linked: &[Py<PyAny>],
    code: Arc<CudaCode>,
) -> PyResult<Arc<CudaCode>> {
    let py = kernel.py();
    let (Some(image), false) = (&code.image, linked.is_empty()) else { return Ok(code) };
    let objects: Vec<&Bound<'_, PyAny>> = linked.iter().map(|object| object.bind(py)).collect();
    let modules = py.import(intern!(py, "gridstride.numba.cuda._modules"))?;
    let signature = types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let given = (kernel, signature, PyBytes::new(py, image), objects);
    let library = modules.call_method1(intern!(py, "set_up"), given)?;
    if library.is_none() {
        return Ok(code);
    }
    // SAFETY: the kernel keeps the library that `set_up` gives.
    let loaded = unsafe { code.of_library(library.extract()?) };
    Ok(Arc::new(loaded.map_err(|error| raised_for(&kernel.get().name, code.kernel.device().ordinal, error))?))
}
