//! `call`: functions and builtins of the kernel language on the host, by the interpreter.

use crate::bytes::{Mismatch, Reach, write_value};
use crate::errors::{Failure, argument_error, guarded};
use crate::function::Function;
use crate::host::LiveHost;
use crate::infer::natural_type;
use crate::types::{PyIrType, user_name};
use frontend::Options;
use interp::{InterpValue, Program};
use ir::{FuncRef, Module, Type};
use pipeline::Asked;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Builtins that were called before, by name, argument types and argument names.
static BUILTINS: Mutex<Option<Builtins>> = Mutex::new(None);
type Builtins = HashMap<(String, Vec<Type>, Vec<String>), Arc<Callable>>;

/// The types that a function was called with, what its code depends on in the program, and the code.
pub(crate) type Called = (Vec<Type>, Asked, Arc<Callable>);

/// So many are kept of a function, the newest ones.
const MAX_CALLED: usize = 8;

/// A function that is ready to run.
pub(crate) struct Callable {
    program: Program,
    entry: FuncRef,
    results: Vec<Type>,
}

/// Runs a function, or a builtin by its name; gives the result's type and bytes: a tuple type for none
/// or several results. `names` are those of a builtin's last arguments.
#[pyfunction]
#[pyo3(signature = (function, args, names=Vec::new()))]
pub(crate) fn call<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyAny>,
    names: Vec<String>,
) -> PyResult<(PyIrType, Bound<'py, PyBytes>)> {
    guarded(|| {
        let name = name_of(function)?;
        let args: Vec<_> = args.try_iter()?.collect::<PyResult<_>>()?;
        let (types, values): (Vec<_>, Vec<_>) = args
            .iter()
            .enumerate()
            .map(|(index, arg)| interp_value(&name, index, arg))
            .collect::<PyResult<Vec<_>>>()?
            .into_iter()
            .unzip();
        let callable = callable(function, &name, &types, names)?;
        let results = callable.program.call(callable.entry, &values);
        crate::print::flush(py)?;
        let results = results.map_err(|error| PyRuntimeError::new_err(format!("`{name}`: {error}")))?;
        let result_types = &callable.results;
        let bytes: Vec<_> = results.iter().map(InterpValue::to_bytes).collect();
        Ok(match (&result_types[..], &bytes[..]) {
            ([ty], [bytes]) => (PyIrType(*ty), PyBytes::new(py, bytes)),
            _ => {
                let ty = Type::tuple(result_types.clone());
                let mut all = vec![0u8; ty.size() as usize];
                for (index, bytes) in bytes.iter().enumerate() {
                    let at = ty.offset(index) as usize;
                    all[at..at + bytes.len()].copy_from_slice(bytes);
                }
                (PyIrType(ty), PyBytes::new(py, &all))
            }
        })
    })
}

fn name_of(function: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(name) = function.cast::<PyString>() {
        return Ok(name.to_str()?.to_owned());
    }
    match function.cast::<Function>() {
        Ok(function) => function.get().pyfunc.bind(function.py()).getattr("__name__")?.extract(),
        Err(_) => Err(PyTypeError::new_err("only kernel functions and builtins can be called")),
    }
}

fn interp_value(name: &str, index: usize, arg: &Bound<'_, PyAny>) -> PyResult<(Type, InterpValue)> {
    let py = arg.py();
    let place = || format!("`{name}`, argument {}", index + 1);
    let Some(ty) = natural_type(arg)? else {
        let given = crate::bytes::describe(arg);
        return Err(argument_error(py, format!("{}: {given} is no value of the kernel language", place())));
    };
    let mut bytes = vec![0u8; ty.size() as usize];
    write_value(ty, arg, Reach::Host, &mut bytes).map_err(|mismatch| match mismatch {
        Mismatch::Given(given) => argument_error(py, format!("{}: expected {}, got {given}", place(), user_name(ty))),
        Mismatch::Unfit(why) => argument_error(py, format!("{}: cannot be passed: {why}", place())),
        Mismatch::Range(why) => pyo3::exceptions::PyOverflowError::new_err(format!("{}: {why}", place())),
        Mismatch::Python(error) => error,
    })?;
    Ok((ty, InterpValue::from_bytes(ty, &bytes)))
}

fn callable(function: &Bound<'_, PyAny>, name: &str, types: &[Type], names: Vec<String>) -> PyResult<Arc<Callable>> {
    match function.cast::<Function>() {
        Ok(function) => of_function(function, name, types),
        Err(_) => of_builtin(function.py(), name, types, names),
    }
}

/// Of what was called before, where it would be lowered to the same again.
fn of_function(function: &Bound<'_, Function>, name: &str, types: &[Type]) -> PyResult<Arc<Callable>> {
    let py = function.py();
    let host = LiveHost::new(py);
    let root = host.register(function.as_any());
    let lock = || function.get().called.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // Without the lock: answers may run Python code, which may call it again.
    let known: Vec<_> = lock().iter().filter(|called| called.0 == types).cloned().collect();
    if let Some(called) = known.into_iter().find(|called| called.1.holds(&host, root)) {
        return Ok(called.2.clone());
    }
    let host = LiveHost::new(py);
    let lowered = pipeline::lower_function(&host, host.register(function.as_any()), types, &Options::default());
    host.interrupted()?;
    let (lowered, asked) = lowered.map_err(|rejected| Failure::rejected("function", name, &rejected).raise(py))?;
    let callable = Arc::new(Callable::new(&lowered.module));
    if let Some(asked) = asked {
        let mut called = lock();
        called.insert(0, Arc::new((types.to_vec(), asked, callable.clone())));
        called.truncate(MAX_CALLED);
    }
    Ok(callable)
}

fn of_builtin(py: Python<'_>, name: &str, types: &[Type], names: Vec<String>) -> PyResult<Arc<Callable>> {
    let lock = || BUILTINS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (name.to_owned(), types.to_vec(), names);
    if let Some(known) = lock().as_ref().and_then(|builtins| builtins.get(&key)) {
        return Ok(known.clone());
    }
    let host = LiveHost::new(py);
    let lowered = frontend::lower_builtin(&host, name, types, &key.2, &Options::default());
    host.interrupted()?;
    let lowered = lowered.and_then(pipeline::with_derivatives);
    let lowered = lowered.map_err(|rejected| Failure::rejected("function", name, &rejected).raise(py))?;
    let callable = Arc::new(Callable::new(&lowered.module));
    lock().get_or_insert_default().insert(key, callable.clone());
    Ok(callable)
}

impl Callable {
    /// Of a module whose last function it is.
    fn new(module: &Module) -> Callable {
        let entry = FuncRef(module.funcs.len() as u32 - 1);
        Callable { program: Program::new(module), entry, results: module.func(entry).results.clone() }
    }
}
