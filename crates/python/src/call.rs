//! `call`: functions and builtins of the kernel language on the host, by the interpreter.

use crate::bytes::{Mismatch, Reach, write_value};
use crate::errors::{Failure, argument_error, guarded};
use crate::function::Function;
use crate::host::LiveHost;
use crate::pack::natural_type;
use crate::types::{PyIrType, user_name};
use frontend::Options;
use interp::{InterpValue, Program};
use ir::{FuncRef, Type};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Builtins that were called before, by name, argument types and argument names. Functions are lowered anew at each call, since what
/// they capture may have changed.
static BUILTINS: Mutex<Option<Builtins>> = Mutex::new(None);
type Builtins = HashMap<(String, Vec<Type>, Vec<String>), Arc<Callable>>;

/// A function that is ready to run.
struct Callable {
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
    let py = function.py();
    let is_builtin = function.cast::<Function>().is_err();
    let lock = || BUILTINS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let key = (name.to_owned(), types.to_vec(), names);
    if let Some(known) = lock().as_ref().filter(|_| is_builtin).and_then(|builtins| builtins.get(&key)) {
        return Ok(known.clone());
    }
    let (host, options) = (LiveHost::new(py), Options::default());
    let lowered = if is_builtin {
        frontend::lower_builtin(&host, name, types, &key.2, &options)
    } else {
        frontend::lower_function(&host, host.register(function), types, &options)
    };
    host.interrupted()?;
    let lowered = lowered.and_then(pipeline::with_derivatives);
    let lowered = lowered.map_err(|rejected| Failure::rejected("function", name, &rejected).raise(py))?;
    let module = lowered.module;
    let entry = FuncRef(module.funcs.len() as u32 - 1);
    let results = module.func(entry).results.clone();
    let callable = Arc::new(Callable { program: Program::new(&module), entry, results });
    if is_builtin {
        lock().get_or_insert_default().insert(key, callable.clone());
    }
    Ok(callable)
}
