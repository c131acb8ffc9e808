//! Functions that Python calls without making a tuple of their arguments, and the way from there to usual ones.

use crate::errors::restore;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

/// A definition that lives for good.
pub(crate) fn method_def(
    name: &'static CStr,
    method: ffi::PyCFunctionFastWithKeywords,
    doc: String,
) -> PyResult<*mut ffi::PyMethodDef> {
    Ok(Box::into_raw(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: method },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: CString::new(doc)?.into_raw(),
    })))
}

/// Arguments as Python passes them to a function: positional ones, then those that `names` names.
pub(crate) struct Call {
    pub(crate) args: *const *mut PyObject,
    pub(crate) n_args: ffi::Py_ssize_t,
    pub(crate) names: *mut PyObject,
}

/// What Python gets.
#[inline]
pub(crate) fn answer(py: Python<'_>, result: PyResult<()>) -> *mut PyObject {
    match result {
        Ok(()) => py.None().into_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}

/// Calls `function` with `first`, unless null, and the arguments of a call.
///
/// # Safety
/// Python's lock is held; `call` is what Python passed.
#[cold]
pub(crate) unsafe fn slow_call(function: *mut PyObject, first: *mut PyObject, call: &Call) -> *mut PyObject {
    // SAFETY: the caller's promise.
    let made = unsafe {
        attached(|py| {
            let borrowed = |at| Borrowed::from_ptr(py, *call.args.add(at)).to_owned();
            let n_args = call.n_args as usize;
            let first = Borrowed::from_ptr_or_opt(py, first).map(|first| first.to_owned());
            let args = PyTuple::new(py, first.into_iter().chain((0..n_args).map(borrowed)).collect::<Vec<_>>())?;
            let mut keywords = None;
            if !call.names.is_null() {
                let found = PyDict::new(py);
                let names = Borrowed::from_ptr(py, call.names);
                for (index, name) in names.cast_unchecked::<PyTuple>().iter().enumerate() {
                    found.set_item(name, borrowed(n_args + index))?;
                }
                keywords = Some(found);
            }
            Borrowed::from_ptr(py, function).call(args, keywords.as_ref()).map(Bound::into_ptr)
        })
    };
    made.unwrap_or_else(|error: PyErr| {
        // SAFETY: the caller's promise.
        restore(unsafe { Python::assume_attached() }, error);
        null_mut()
    })
}

/// Runs `run` so that PyO3 knows that this thread has Python's lock, which it must to free objects at once.
///
/// # Safety
/// Python's lock is held.
pub(crate) unsafe fn attached<R>(run: impl FnOnce(Python<'_>) -> R) -> R {
    let mut run = Some(run);
    let result = Python::try_attach(|py| run.take().map(|run| run(py)));
    match (result.flatten(), run) {
        (Some(result), _) => result,
        // Python is being shut down: what is freed now may stay.
        // SAFETY: the caller's promise.
        (None, Some(run)) => run(unsafe { Python::assume_attached() }),
        (None, None) => unreachable!("what was taken has run"),
    }
}
