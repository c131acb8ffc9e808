//! `Function` and `Kernel`: Python functions with what the front end needs to find their source and scope.

use crate::bytes::Mismatch;
use crate::call::Called;
use crate::options::{CompileOptions, disk_cache};
use crate::pack::Signature;
use crate::pattern::{find_pattern, pattern};
use crate::types::PyIrType;
use frontend::{Dialect, TypePattern};
use ir::Type;
use pipeline::cache::DiskCache;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::sync::{Arc, Mutex};

/// A function that kernels can call.
#[pyclass(name = "Function", module = "gridstride._native", subclass, frozen)]
pub(crate) struct Function {
    pub(crate) pyfunc: Py<PyAny>,
    pub(crate) annotations: Py<PyDict>,
    /// Every function of this name that a call may choose from; the list may grow later.
    pub(crate) overloads: Py<PyList>,
    pub(crate) dialect: Dialect,
    /// What calls from Python run.
    pub(crate) called: Mutex<Vec<Arc<Called>>>,
}

#[pymethods]
impl Function {
    #[new]
    #[pyo3(signature = (pyfunc, annotations, overloads, *_args, **_kwargs))]
    fn new(
        pyfunc: Py<PyAny>,
        annotations: Py<PyDict>,
        overloads: Py<PyList>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Function> {
        Ok(Function { pyfunc, annotations, overloads, dialect: dialect(_kwargs)?, called: Mutex::default() })
    }

    #[getter]
    fn overloads(&self, py: Python<'_>) -> Py<PyList> {
        self.overloads.clone_ref(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.pyfunc)?;
        visit.call(&self.annotations)?;
        visit.call(&self.overloads)
    }
}

/// A kernel, and everything compiled for it so far.
#[pyclass(name = "Kernel", module = "gridstride._native", subclass, frozen)]
pub(crate) struct Kernel {
    pub(crate) pyfunc: Py<PyAny>,
    pub(crate) name: String,
    pub(crate) params: Vec<Parameter>,
    /// What an annotation says that it returns, which a kernel may not.
    pub(crate) returns: Option<TypePattern>,
    /// The only signature of a kernel without open types.
    pub(crate) closed: Option<Arc<Signature>>,
    /// Signatures met so far.
    pub(crate) open: Mutex<Vec<Arc<Signature>>>,
    /// The options of the last launch, and what they say. The package passes one dictionary again and again.
    last_options: Mutex<Option<(Py<PyDict>, CompileOptions)>>,
    /// Signatures of its adjoint kernels.
    pub(crate) adjoints: Mutex<Vec<Arc<Signature>>>,
    pub(crate) dialect: Dialect,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) pattern: TypePattern,
}

#[pymethods]
impl Kernel {
    #[new]
    #[pyo3(signature = (pyfunc, name, annotations, *_args, **_kwargs))]
    fn new(
        pyfunc: &Bound<'_, PyAny>,
        name: String,
        annotations: &Bound<'_, PyDict>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Kernel> {
        let dialect = dialect(_kwargs)?;
        let names = match dialect {
            // C text has no Python function: what it was asked for its parameters is here.
            Dialect::C => annotations.keys().iter().map(|name| name.extract()).collect::<PyResult<_>>()?,
            _ => param_names(pyfunc)?,
        };
        let mut params = Vec::new();
        for param in names {
            let found = annotations.get_item(&param)?.ok_or_else(|| {
                PyTypeError::new_err(format!("kernel `{name}`: parameter `{param}` has no type annotation"))
            })?;
            let pattern = find_pattern(&found)?.ok_or_else(|| {
                let shown = found.repr().map_or_else(|_| "its annotation".to_owned(), |text| text.to_string());
                let text =
                    format!("kernel `{name}`: parameter `{param}`: {shown} is not a type of the kernel language");
                PyTypeError::new_err(text)
            })?;
            params.push(Parameter { name: param, pattern });
        }
        let returns = annotation(annotations, "return")?;
        let types: Option<Vec<Type>> =
            params.iter().map(|param| if let TypePattern::Is(ty) = param.pattern { Some(ty) } else { None }).collect();
        let closed = types.map(|types| Arc::new(Signature::new(types)));
        Ok(Kernel {
            pyfunc: pyfunc.clone().unbind(),
            name,
            params,
            returns,
            closed,
            open: Mutex::default(),
            last_options: Mutex::default(),
            adjoints: Mutex::default(),
            dialect,
        })
    }

    /// The argument types that launches have met so far.
    #[getter]
    fn _signatures(&self) -> Vec<Vec<PyIrType>> {
        let open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let all = self.closed.iter().chain(open.iter());
        all.map(|signature| signature.types.iter().map(|&ty| PyIrType(ty)).collect()).collect()
    }

    /// Forgets what was compiled: what it calls was defined anew.
    fn _forget(&self) {
        let lock = |signatures: &Mutex<Vec<Arc<Signature>>>| {
            signatures.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
        };
        for signature in self.closed.iter().cloned().chain(lock(&self.open)).chain(lock(&self.adjoints)) {
            signature.forget();
        }
    }

    /// What it is compiled for: the number of a CUDA device, None for the CPU, and the threads of a block.
    #[getter]
    fn _compiled(&self) -> Vec<(Option<u32>, u32)> {
        let open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.closed.iter().chain(open.iter()).flat_map(|signature| signature.variants.compiled()).collect()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.pyfunc)
    }
}

impl Kernel {
    /// The signature for given types, made on first use.
    pub(crate) fn signature(&self, types: &[Type]) -> Arc<Signature> {
        if let Some(closed) = &self.closed
            && closed.types == types
        {
            return closed.clone();
        }
        let mut open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = open.iter().find(|signature| signature.types == types) {
            return known.clone();
        }
        let signature = Arc::new(Signature::new(types.to_vec()));
        open.push(signature.clone());
        signature
    }

    /// All signatures met so far.
    pub(crate) fn signatures(&self) -> Vec<Arc<Signature>> {
        let open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.closed.iter().chain(open.iter()).cloned().collect()
    }

    /// The first signature of open types that is like it; none while another thread adds one.
    pub(crate) fn signature_like(&self, is_it: impl Fn(&Signature) -> bool) -> Option<Arc<Signature>> {
        self.open.try_lock().ok()?.iter().find(|signature| is_it(signature)).cloned()
    }

    /// What a dictionary of options says. It must not be changed after a launch.
    pub(crate) fn options(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<CompileOptions> {
        let Some(given) = options else { return CompileOptions::read(None) };
        let lock = || self.last_options.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, known)) = lock().as_ref().filter(|(dict, _)| dict.is(given)) {
            return Ok(*known);
        }
        // Without the lock, as what frees the dictionary before: either may run Python code, which may come back here, or
        // wait for Python's lock while a thread that holds that one waits for this.
        let read = CompileOptions::read(options)?;
        let before = lock().replace((given.clone().unbind(), read));
        drop(before);
        Ok(read)
    }

    /// The disk cache that its last options named.
    pub(crate) fn disk(&self, py: Python<'_>) -> PyResult<Option<DiskCache>> {
        // A warning may run Python code, which may come back here: without the lock.
        let last = {
            let last = self.last_options.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            last.as_ref().map(|(dict, _)| dict.clone_ref(py))
        };
        disk_cache(py, last.as_ref().map(|dict| dict.bind(py)))
    }

    /// The name of parameter number `index`; none for an adjoint.
    pub(crate) fn param_name(&self, index: usize) -> &str {
        self.params.get(index).map_or("", |param| &param.name)
    }

    /// "kernel `k`, argument 2 `x`", where messages about an argument begin.
    fn place(&self, index: usize) -> String {
        match self.params.get(index) {
            Some(param) => format!("kernel `{}`, argument {} `{}`", self.name, index + 1, param.name),
            None => format!("kernel `{}`, an adjoint", self.name),
        }
    }

    /// The exception for an argument that does not fit; `expected` names the parameter's type.
    pub(crate) fn refuse(&self, py: Python<'_>, index: usize, expected: &str, mismatch: Mismatch) -> PyErr {
        let place = self.place(index);
        match mismatch {
            Mismatch::Given(found) => {
                crate::errors::argument_error(py, format!("{place}: expected {expected}, got {found}"))
            }
            Mismatch::Unfit(why) => crate::errors::argument_error(py, format!("{place}: cannot be passed: {why}")),
            Mismatch::Range(why) => pyo3::exceptions::PyOverflowError::new_err(format!("{place}: {why}")),
            Mismatch::Python(error) => error,
        }
    }
}

/// The dialect that a function is made for: `dialect="numba"`, `"c"`, or Warp's.
fn dialect(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Dialect> {
    let given = keywords.map(|keywords| keywords.get_item("dialect")).transpose()?.flatten();
    Ok(match given {
        Some(name) if name.extract::<&str>()? == "numba" => Dialect::Numba,
        Some(name) if name.extract::<&str>()? == "c" => Dialect::C,
        _ => Dialect::Warp,
    })
}

/// Names of a Python function's parameters, in order: positional ones, then keyword-only ones.
pub(crate) fn param_names(pyfunc: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = pyfunc.py();
    let code = pyfunc.getattr(intern!(py, "__code__"))?;
    let n_positional: usize = code.getattr(intern!(py, "co_argcount"))?.extract()?;
    let n_keyword: usize = code.getattr(intern!(py, "co_kwonlyargcount"))?.extract()?;
    let names: Vec<String> = code.getattr(intern!(py, "co_varnames"))?.extract()?;
    Ok(names.into_iter().take(n_positional + n_keyword).collect())
}

/// The pattern of a function's parameter or result; `None` where it has no annotation, or `-> None`.
pub(crate) fn annotation(annotations: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<TypePattern>> {
    match annotations.get_item(name)? {
        Some(found) if !found.is_none() => pattern(&found).map(Some),
        _ => Ok(None),
    }
}
