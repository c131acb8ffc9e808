//! Python values as the front end sees them, and back.

use crate::array::Array;
use crate::bytes::{instance_bytes, instance_type, read_leaves, read_scalar, typed_scalar};
use crate::function::{Function, Kernel};
use crate::pattern::find_pattern;
use crate::types::PyIrType;
use frontend::{HostValue, ObjectId, TypePattern};
use ir::{Const, Scalar, Type};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyCFunction, PyFloat, PyInt, PyList, PyModule, PyString, PyTuple, PyType};

/// What a Python value is to the front end.
pub(crate) enum Found<'py> {
    Value(HostValue),
    /// A tuple or list of these.
    Tuple(Vec<Bound<'py, PyAny>>),
    /// The object itself, a function that kernels can call.
    Func,
    /// The object itself; only its attributes can be used.
    Object,
}

pub(crate) fn to_host_value<'py>(value: &Bound<'py, PyAny>) -> PyResult<Found<'py>> {
    let py = value.py();
    if value.is_none() {
        return Ok(Found::Value(HostValue::None));
    }
    // What most names begin with.
    if value.cast::<PyModule>().is_ok() {
        return Ok(Found::Object);
    }
    if let Ok(x) = value.cast::<PyBool>() {
        return Ok(Found::Value(HostValue::Bool(x.is_true())));
    }
    if value.is_instance(enum_base(py)?)? {
        return to_host_value(&value.getattr(intern!(py, "value"))?);
    }
    if value.cast::<Function>().is_ok() {
        return Ok(Found::Func);
    }
    // Device memory is no constant: it changes behind the kernel's back.
    if value.cast::<Kernel>().is_ok() || value.cast::<Array>().is_ok() {
        return Ok(Found::Object);
    }
    if let Ok(class) = value.cast::<PyType>() {
        return of_class(class);
    }
    if let Some(found) = of_number_or_text(value)? {
        return Ok(Found::Value(found));
    }
    if let Some(ty) = instance_type(value)? {
        return Ok(of_instance(ty, value)?.map_or(Found::Object, Found::Value));
    }
    if let Some(name) = builtin_name(value)? {
        return Ok(Found::Value(HostValue::Builtin(name)));
    }
    if let Some(found) = crate::numba::of_numba(value)? {
        return Ok(Found::Value(found));
    }
    if value.cast::<PyIrType>().is_err() {
        if let Ok(items) = value.cast::<PyTuple>() {
            return Ok(Found::Tuple(items.iter().collect()));
        }
        if let Ok(items) = value.cast::<PyList>() {
            return Ok(Found::Tuple(items.iter().collect()));
        }
    }
    // Annotations that are objects, not classes: `wp.array(dtype=float)`, `typing.Any`, `wp.Float`.
    Ok(find_pattern(value).ok().flatten().map_or(Found::Object, |pattern| Found::Value(HostValue::Type(pattern))))
}

fn enum_base(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ENUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ENUM.import(py, "enum", "Enum")
}

/// Untyped literals, text and scalars that know their type. A float64 of NumPy's is a Python float, and counts as one.
fn of_number_or_text(value: &Bound<'_, PyAny>) -> PyResult<Option<HostValue>> {
    if let Ok(x) = value.cast::<PyFloat>() {
        return Ok(Some(HostValue::Float(x.value())));
    }
    if value.cast::<PyInt>().is_ok() {
        // An int beyond 128 bits fits no type.
        return Ok(value.extract::<i128>().ok().map(HostValue::Int));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(HostValue::Str(text.to_str()?.to_owned())));
    }
    Ok(typed_scalar(value)?.map(|(scalar, constant)| HostValue::Scalar(scalar, constant)))
}

fn of_class<'py>(class: &Bound<'py, PyType>) -> PyResult<Found<'py>> {
    if let Some(pattern) = find_pattern(class.as_any()).ok().flatten() {
        return Ok(Found::Value(HostValue::Type(pattern)));
    }
    if let Some(name) = builtin_name(class.as_any())? {
        return Ok(Found::Value(HostValue::Builtin(name)));
    }
    if class.module()?.to_str()? == "numpy" {
        let name = class.name()?.to_str()?.trim_end_matches('_').to_owned();
        if let Some(scalar) = crate::numpy::scalar_of_dtype(&name) {
            return Ok(Found::Value(HostValue::Type(TypePattern::Is(Type::scalar(scalar)))));
        }
        if name.starts_with("complex")
            && let Some(ty) = crate::numba::native_type(class.as_any())?
        {
            return Ok(Found::Value(HostValue::Type(TypePattern::Is(ty))));
        }
    }
    Ok(Found::Object)
}

/// A vector, matrix or struct instance. One that refers to device memory is not a constant.
fn of_instance(ty: Type, value: &Bound<'_, PyAny>) -> PyResult<Option<HostValue>> {
    if ty.is_array() || value.getattr_opt(intern!(value.py(), "__gs_bytes__"))?.is_none() {
        return Ok(None);
    }
    let bytes = instance_bytes(value, ty.size() as usize)?;
    Ok(match ty.as_scalar() {
        Some(scalar) => Some(HostValue::Scalar(scalar, read_scalar(scalar, &bytes))),
        None => read_leaves(ty, &bytes).map(|leaves| HostValue::Composite(ty, leaves)),
    })
}

/// The builtin that an object stands for: the package's own say so, Python's are known by identity.
fn builtin_name(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = value.py();
    if let Some(name) = value.getattr_opt(intern!(py, "__gs_builtin__"))? {
        return Ok(name.extract::<String>().ok());
    }
    if let Some(name) = python_name(value)? {
        return Ok(Some(name));
    }
    // Few programs load `cmath`, so it is not imported to learn its functions: they name it themselves.
    if let Ok(function) = value.cast::<PyCFunction>()
        && function.getattr(intern!(py, "__module__"))?.eq("cmath")?
    {
        return Ok(Some(format!("cmath.{}", function.getattr(intern!(py, "__name__"))?)));
    }
    crate::numba::ufunc_name(value)
}

/// The builtin that a function or class of Python's own modules stands for.
fn python_name(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = value.py();
    if value.cast::<PyCFunction>().is_err() && value.cast::<PyType>().is_err() {
        return Ok(None);
    }
    let name = value.getattr(intern!(py, "__name__"))?;
    let Ok(name) = name.cast::<PyString>() else { return Ok(None) };
    for module in [intern!(py, "builtins"), intern!(py, "math"), intern!(py, "operator")] {
        if py.import(module)?.getattr_opt(name)?.is_none_or(|member| !member.is(value)) {
            continue;
        }
        return Ok(match (module.to_str()?, name.to_str()?) {
            (_, name) if name.starts_with('_') => None,
            (_, "fabs") => Some("abs".to_owned()),
            // Python's own `pow` keeps integers.
            (module @ "math", name @ "pow") | (module @ "operator", name) => Some(format!("{module}.{name}")),
            (_, name) => Some(name.to_owned()),
        });
    }
    Ok(None)
}

/// A host value as a Python object, for `wp.static`; none for one that Python has no object for.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &HostValue,
    object: &dyn Fn(ObjectId) -> Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(Some(match value {
        HostValue::None => py.None().into_bound(py),
        HostValue::Bool(x) => PyBool::new(py, *x).to_owned().into_any(),
        HostValue::Int(x) => x.into_pyobject(py)?.into_any(),
        HostValue::Float(x) => PyFloat::new(py, *x).into_any(),
        HostValue::Str(text) => PyString::new(py, text).into_any(),
        HostValue::Scalar(scalar, constant) => scalar_to_python(py, *scalar, *constant)?,
        HostValue::Composite(ty, leaves) => {
            let mut bytes = vec![0u8; ty.size() as usize];
            for (leaf, constant) in ty.leaves().iter().zip(leaves) {
                let ir::LeafKind::Scalar(scalar) = leaf.kind else { return Ok(None) };
                let (at, n) = (leaf.offset as usize, scalar.size() as usize);
                bytes[at..at + n].copy_from_slice(&constant.0.to_ne_bytes()[..n]);
            }
            from_native(py, *ty, &bytes)?
        }
        HostValue::Tuple(items) => {
            let items = items.iter().map(|item| to_python(py, item, object));
            let Some(items) = items.collect::<PyResult<Option<Vec<_>>>>()? else { return Ok(None) };
            PyTuple::new(py, items)?.into_any()
        }
        HostValue::Type(TypePattern::Is(ty)) => {
            py.import("gridstride._types")?.call_method1("class_of", (PyIrType(*ty),))?
        }
        HostValue::Builtin(name) => match py.import("gridstride")?.getattr_opt(name.as_str())? {
            Some(found) => found,
            None => return py.import("builtins")?.getattr_opt(name.as_str()),
        },
        HostValue::Func(id) | HostValue::Object(id) => object(*id),
        HostValue::Type(_) => return Ok(None),
    }))
}

fn scalar_to_python(py: Python<'_>, scalar: Scalar, constant: Const) -> PyResult<Bound<'_, PyAny>> {
    let number = if scalar == Scalar::Bool {
        PyBool::new(py, constant.0 != 0).to_owned().into_any()
    } else if scalar.is_float() {
        PyFloat::new(py, constant.as_float(scalar)).into_any()
    } else {
        constant.as_int(scalar).into_pyobject(py)?.into_any()
    };
    // Of its own class, so that its type is known to whoever reads it.
    py.import("gridstride._types")?.call_method1("class_of", (PyIrType(Type::scalar(scalar)),))?.call1((number,))
}

/// A Python object from a value's bytes.
pub(crate) fn from_native<'py>(py: Python<'py>, ty: Type, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.import("gridstride._types")?.call_method1("from_native", (PyIrType(ty), PyBytes::new(py, bytes)))
}
