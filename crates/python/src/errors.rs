//! Exceptions that Python sees, and the wall that keeps panics on this side.

use diagnostics::{SourceMap, render};
use pyo3::exceptions::{PyAttributeError, PyBaseException, PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

pyo3::create_exception!(
    gridstride._native,
    CompileError,
    PyRuntimeError,
    "A kernel that cannot be compiled. `diagnostics` lists (code, message, file, line, column) of every mistake."
);
pyo3::create_exception!(
    gridstride._native,
    KernelFault,
    PyRuntimeError,
    "A check that failed while a kernel ran. Attributes: kind, kernel, file, line, thread, array, index, shape."
);

pyo3::create_exception!(
    gridstride._native,
    ExtentError,
    PyValueError,
    "A launch of more threads along a dimension than the kernel's `tid()` counts."
);

/// A kernel that failed to compile, kept so that every launch of it raises the same error.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    text: String,
    diagnostics: Vec<(String, String, String, u32, u32)>,
}

impl Failure {
    pub(crate) fn new(kernel: &str, text: impl Into<String>) -> Failure {
        let text = text.into();
        let diagnostic = ("code-generation".to_owned(), text.clone(), String::new(), 0, 0);
        Failure { text: format!("kernel `{kernel}` cannot be compiled: {text}"), diagnostics: vec![diagnostic] }
    }

    /// `what` is "kernel" or "function".
    pub(crate) fn rejected(what: &str, name: &str, rejected: &frontend::Rejected) -> Failure {
        let n = rejected.diagnostics.len();
        let mut text = format!("{what} `{name}` cannot be compiled: {n} error{}", if n == 1 { "" } else { "s" });
        for diagnostic in &rejected.diagnostics {
            text.push_str("\n\n");
            text.push_str(&render(diagnostic, &rejected.sources));
        }
        let diagnostics = rejected.diagnostics.iter().map(|d| {
            let (file, line, column) = position(&rejected.sources, d.span);
            (d.code.to_owned(), d.message.clone(), file, line, column)
        });
        Failure { text, diagnostics: diagnostics.collect() }
    }

    pub(crate) fn raise(&self, py: Python<'_>) -> PyErr {
        let code = self.diagnostics.first().map_or("", |(code, ..)| code.as_str());
        let error = match compile_error_type(py, code) {
            Ok(class) => PyErr::from_type(class, self.text.clone()),
            Err(failed) => return failed,
        };
        match error.value(py).setattr("diagnostics", self.diagnostics.clone()) {
            Ok(()) => error,
            Err(failed) => failed,
        }
    }
}

/// The class to raise for a kernel whose first mistake has that code: a `CompileError`, and the exception that Python
/// itself raises for such a mistake, so that `except TypeError` finds a wrong type.
fn compile_error_type<'py>(py: Python<'py>, code: &str) -> PyResult<Bound<'py, PyType>> {
    static CLASSES: [PyOnceLock<Py<PyType>>; 4] = [const { PyOnceLock::new() }; 4];
    let (index, name, base) = match code {
        "type-mismatch" | "return-mismatch" | "kernel-return" | "argument-type" | "not-an-index"
        | "not-a-condition" | "not-a-value" | "not-callable" | "not-iterable" | "not-subscriptable" => {
            (0, "CompileTypeError", py.get_type::<PyTypeError>())
        }
        "argument-count" | "index-range" | "literal-range" | "slice-step" | "static-index" | "unpack-count"
        | "wrong-arguments" | "wrong-components" | "zero-step" => {
            (1, "CompileValueError", py.get_type::<PyValueError>())
        }
        "unknown-attribute" | "unknown-method" => (2, "CompileAttributeError", py.get_type::<PyAttributeError>()),
        "unknown-name" | "unknown-function" => (3, "CompileNameError", py.get_type::<PyKeyError>()),
        _ => return Ok(py.get_type::<CompileError>()),
    };
    let class = CLASSES[index].get_or_try_init(py, || {
        let own = py.get_type::<CompileError>();
        if !own.getattr("__dict__")?.contains("__str__")? {
            // A KeyError would show the text quoted, on one line.
            own.setattr("__str__", py.get_type::<PyBaseException>().getattr("__str__")?)?;
        }
        let bases = PyTuple::new(py, [py.get_type::<CompileError>(), base])?;
        let body = PyDict::new(py);
        body.set_item("__module__", "gridstride._native")?;
        body.set_item("__doc__", "A kernel that cannot be compiled, by what is wrong with it first.")?;
        let class = py.get_type::<PyType>().call1((name, bases, body))?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py).clone())
}

/// File, line and column of a span; empty and 0 for text that no user wrote.
pub(crate) fn position(sources: &SourceMap, span: diagnostics::Span) -> (String, u32, u32) {
    let Some(file) = sources.get(span.file) else { return (String::new(), 0, 0) };
    let (line, column) = file.position(span.start);
    (file.name.clone(), line, column)
}

/// The class of errors about arguments: a RuntimeError and a ValueError, which programs written for Warp expect, and a
/// TypeError.
pub(crate) fn argument_error_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let bases = [py.get_type::<PyRuntimeError>(), py.get_type::<PyTypeError>(), py.get_type::<PyValueError>()];
        let bases = PyTuple::new(py, bases)?;
        let body = PyDict::new(py);
        body.set_item("__module__", "gridstride._native")?;
        body.set_item("__doc__", "An argument that a kernel does not take.")?;
        let class = py.get_type::<PyType>().call1(("ArgumentError", bases, body))?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.bind(py))
}

/// Raises an error. One of compiling shows the user's frames alone, so that whoever keeps it keeps no kernel.
pub(crate) fn restore(py: Python<'_>, error: PyErr) {
    if error.is_instance_of::<CompileError>(py) {
        error.set_traceback(py, None);
    }
    error.restore(py);
}

pub(crate) fn argument_error(py: Python<'_>, message: String) -> PyErr {
    match argument_error_type(py) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(failed) => failed,
    }
}

thread_local! {
    /// Whether a panic of this thread becomes an exception, and the last such panic's text and place.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps quiet about panics that become exceptions; others are printed as ever.
pub(crate) fn install_panic_hook() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if GUARDED.get() {
            PANIC.replace(panic.to_string());
        } else {
            print(panic);
        }
    }));
}

/// Runs what Python called. A panic is a bug of ours: it becomes an exception that `except Exception` catches.
pub(crate) fn guarded<T>(run: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(before);
    result.unwrap_or_else(|_| {
        let text = PANIC.take();
        Err(PyRuntimeError::new_err(format!("internal error, please report: {text}")))
    })
}
