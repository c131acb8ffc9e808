//! Types of arguments: what a value is by itself, and what a kernel with open parameters takes it for.

use crate::bytes::{Mismatch, describe, instance_type};
use crate::function::Kernel;
use crate::pattern::{fits, pattern_name};
use crate::{numba, numpy};
use frontend::{Dialect, TypePattern};
use ir::Type;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

/// The types that a kernel with open parameters takes for these arguments.
pub(crate) fn infer_types(kernel: &Kernel, args: &[Bound<'_, PyAny>]) -> PyResult<Vec<Type>> {
    let infer = |(index, arg): (usize, &Bound<'_, PyAny>)| {
        let pattern = &kernel.params[index].pattern;
        let refused = |mismatch| kernel.refuse(arg.py(), index, &pattern_name(pattern), mismatch);
        if let TypePattern::Is(ty) = pattern {
            return Ok(*ty);
        }
        let own = match kernel.dialect {
            Dialect::Numba => numba::natural_type(arg)?,
            Dialect::Warp | Dialect::C => natural_type(arg)?,
        };
        let found = own.or_else(|| shaped_type(pattern, arg));
        match found {
            Some(ty) if fits(pattern, ty) => Ok(ty),
            Some(_) => shaped_type(pattern, arg).ok_or_else(|| refused(Mismatch::Given(describe(arg)))),
            None => Err(refused(Mismatch::Given(format!("{}, whose type is not known", describe(arg))))),
        }
    };
    args.iter().enumerate().map(infer).collect()
}

/// The type that a value has by itself: Python's int is int32, its float is float32.
pub(crate) fn natural_type(value: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    if let Ok(array) = value.cast::<crate::array::Array>() {
        return Ok(Some(array.get().ty()));
    }
    if let Some(ty) = instance_type(value)? {
        return Ok(Some(ty));
    }
    if let Some(scalar) = numpy::scalar_type(value)? {
        return Ok(Some(Type::scalar(scalar)));
    }
    if value.cast::<PyBool>().is_ok() {
        return Ok(Some(Type::bool()));
    }
    if value.cast::<PyInt>().is_ok() {
        return Ok(Some(Type::i32()));
    }
    if value.cast::<PyFloat>().is_ok() {
        return Ok(Some(Type::f32()));
    }
    if let Some(facts) = crate::foreign::facts(value)? {
        return Ok(facts.natural_type());
    }
    numpy::natural_type(value)
}

/// The type of a value that only a pattern can name: a list for a vector of a known scalar type, a NumPy array whose
/// last dimensions are the components of vectors.
fn shaped_type(pattern: &TypePattern, value: &Bound<'_, PyAny>) -> Option<Type> {
    match pattern {
        TypePattern::Vector { elem, len } => {
            let TypePattern::Is(elem) = **elem else { return None };
            let found = value.len().ok()? as u32;
            let is_wanted = len.is_none_or(|len| len == found) && found > 0;
            is_wanted.then_some(Type::vector(elem.as_scalar()?, found))
        }
        TypePattern::Array { elem, rank } => {
            let (scalar, found_rank) = numpy::natural_type(value).ok()??.as_array()?;
            let shape: Vec<u32> = value.getattr("shape").ok()?.extract().ok()?;
            let inner = shape.get(*rank as usize..)?;
            let scalar = scalar.as_scalar()?;
            let ty = match (&**elem, inner) {
                (_, []) if found_rank == *rank => Type::scalar(scalar),
                (TypePattern::Vector { .. }, &[len]) => Type::vector(scalar, len),
                (TypePattern::Matrix { .. }, &[rows, cols]) => Type::matrix(scalar, rows, cols),
                (TypePattern::Quat(_), [4]) => Type::quat(scalar),
                (TypePattern::Transform(_), [7]) => Type::transform(scalar),
                _ => return None,
            };
            fits(elem, ty).then_some(Type::array(ty, *rank))
        }
        _ => None,
    }
}
