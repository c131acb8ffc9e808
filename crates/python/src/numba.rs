//! Python values as the numba dialect sees them: types of arguments, and what only that dialect knows as constants.

use crate::infer;
use crate::types::PyIrType;
use frontend::{HostValue, TypePattern};
use ir::{Const, Scalar, Type};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyInt, PyTuple};

/// The type that a value has for Numba: Python's int is int64, or uint64 where only that holds it; its float is float64.
pub(crate) fn natural_type(value: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    if value.is_exact_instance_of::<PyInt>() {
        let is_signed = value.extract::<i64>().is_ok();
        return Ok(Some(Type::scalar(if is_signed { Scalar::I64 } else { Scalar::U64 })));
    }
    if value.is_exact_instance_of::<PyFloat>() {
        return Ok(Some(Type::scalar(Scalar::F64)));
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        let types = items.iter().map(|item| natural_type(&item)).collect::<PyResult<Option<Vec<_>>>>()?;
        let Some(types) = types else { return Ok(None) };
        // A named tuple is a struct of its fields.
        let Some(names) = items.getattr_opt("_fields")? else { return Ok(Some(Type::tuple(types))) };
        let names: Vec<String> = names.extract()?;
        let class: String = items.get_type().name()?.extract()?;
        return Ok(Some(Type::structure(class, names.into_iter().zip(types).collect())));
    }
    infer::natural_type(value)
}

/// `numpy.sqrt` for the function of that name that works on whole arrays.
pub(crate) fn ufunc_name(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let class = value.get_type();
    if class.name()? != "ufunc" || class.module()? != "numpy" {
        return Ok(None);
    }
    let name: String = value.getattr(intern!(value.py(), "__name__"))?.extract()?;
    Ok(Some(format!("numpy.{name}")))
}

/// Values that only the numba dialect knows: complex numbers, and dtypes as types.
pub(crate) fn of_numba(value: &Bound<'_, PyAny>) -> PyResult<Option<HostValue>> {
    let py = value.py();
    let module = value.get_type().module()?;
    let is_numpy = module.to_str().is_ok_and(|module| module.starts_with("numpy"));
    if value.cast::<PyComplex>().is_err() && !is_numpy {
        return Ok(None);
    }
    let ty = if value.hasattr(intern!(py, "isbuiltin"))? && value.hasattr(intern!(py, "itemsize"))? {
        let found = native_type(value)?;
        return Ok(found.map(|ty| HostValue::Type(TypePattern::Is(ty))));
    } else if value.cast::<PyComplex>().is_ok() {
        native_type(&value.getattr_opt(intern!(py, "dtype"))?.unwrap_or(value.get_type().into_any()))?
    } else if value.get_type().name()? == "complex64" {
        native_type(&value.getattr(intern!(py, "dtype"))?)?
    } else {
        None
    };
    let Some(ty) = ty else { return Ok(None) };
    let parts: (f64, f64) =
        (value.getattr(intern!(py, "real"))?.extract()?, value.getattr(intern!(py, "imag"))?.extract()?);
    let Some(part) = ty.component(0).and_then(Type::as_scalar) else { return Ok(None) };
    Ok(Some(HostValue::Composite(ty, vec![Const::float(part, parts.0), Const::float(part, parts.1)])))
}

/// The type of the kernel language that holds values of a dtype.
pub(crate) fn native_type(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    let py = dtype.py();
    let found = py.import(intern!(py, "gridstride.numba._dtypes"))?.call_method1(intern!(py, "find"), (dtype,))?;
    Ok(found.extract::<PyIrType>().ok().map(|ty| ty.0))
}
