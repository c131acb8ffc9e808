//! Annotations: a `Type`, or a tuple that stands for several types.
//!
//! In: what `gridstride._types` writes down for an annotation, ("array", ("any",), 2). Out: a [`TypePattern`], its name
//! in messages, and whether a type fits it.

use crate::types::{PyIrType, user_name};
use frontend::{TypePattern, scalar_name};
use ir::{Class, Scalar, Type, TypeKind};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple, PyType};

/// The pattern that an annotation stands for; `None` for an object that is no annotation at all.
pub(crate) fn find_pattern(annotation: &Bound<'_, PyAny>) -> PyResult<Option<TypePattern>> {
    let py = annotation.py();
    if let Ok(ty) = annotation.cast::<PyIrType>() {
        return Ok(Some(TypePattern::Is(ty.get().0)));
    }
    if let Ok(class) = annotation.cast::<PyType>()
        && let Some(scalar) = python_scalar(class)
    {
        return Ok(Some(TypePattern::Is(Type::scalar(scalar))));
    }
    if let Ok(tuple) = annotation.cast::<PyTuple>() {
        return from_tuple(tuple).map(Some);
    }
    if annotation.is(typing_any(py)?) {
        return Ok(Some(TypePattern::Any));
    }
    if let Some(inner) = annotation.getattr_opt(intern!(py, "__gs_type__"))? {
        // A class whose `__gs_type__` is itself would never end.
        return if inner.is(annotation) { Ok(None) } else { find_pattern(&inner) };
    }
    Ok(None)
}

pub(crate) fn pattern(annotation: &Bound<'_, PyAny>) -> PyResult<TypePattern> {
    find_pattern(annotation)?.ok_or_else(|| {
        let shown = annotation.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string());
        PyTypeError::new_err(format!("{shown} is not a type of the kernel language"))
    })
}

/// `int`, `float` and `bool` in an annotation.
pub(crate) fn python_scalar(class: &Bound<'_, PyType>) -> Option<Scalar> {
    let py = class.py();
    if class.is(py.get_type::<PyInt>()) {
        Some(Scalar::I32)
    } else if class.is(py.get_type::<PyFloat>()) {
        Some(Scalar::F32)
    } else if class.is(py.get_type::<PyBool>()) {
        Some(Scalar::Bool)
    } else {
        None
    }
}

fn typing_any(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static ANY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ANY.import(py, "typing", "Any")
}

fn from_tuple(tuple: &Bound<'_, PyTuple>) -> PyResult<TypePattern> {
    let kind: String = tuple.get_item(0)?.extract()?;
    let inner = |index: usize| -> PyResult<Box<TypePattern>> {
        let item = tuple.get_item(index)?;
        Ok(Box::new(if item.is_none() { TypePattern::AnyScalar } else { pattern(&item)? }))
    };
    let length = |index: usize| -> PyResult<Option<u32>> { tuple.get_item(index)?.extract() };
    let open = match kind.as_str() {
        "any" => TypePattern::Any,
        "scalar" => TypePattern::AnyScalar,
        "float" => TypePattern::AnyFloat,
        "int" => TypePattern::AnyInt,
        "callable" => TypePattern::Callable,
        "vector" => TypePattern::Vector { elem: inner(1)?, len: length(2)? },
        "matrix" => TypePattern::Matrix { elem: inner(1)?, rows: length(2)?, cols: length(3)? },
        "quat" => TypePattern::Quat(inner(1)?),
        "transform" => TypePattern::Transform(inner(1)?),
        "array" => TypePattern::Array { elem: inner(1)?, rank: tuple.get_item(2)?.extract()? },
        "tuple" => TypePattern::Tuple(tuple.iter().skip(1).map(|item| pattern(&item)).collect::<PyResult<_>>()?),
        "ref" => TypePattern::Ref(inner(1)?),
        _ => return Err(PyTypeError::new_err(format!("there is no type pattern {kind:?}"))),
    };
    Ok(closed(&open).map_or(open, TypePattern::Is))
}

/// The one type that a pattern stands for, where no part of it is open.
fn closed(pattern: &TypePattern) -> Option<Type> {
    let scalar = |elem: &TypePattern| closed(elem)?.as_scalar();
    Some(match pattern {
        TypePattern::Is(ty) => *ty,
        TypePattern::Vector { elem, len } => Type::vector(scalar(elem)?, (*len)?),
        TypePattern::Matrix { elem, rows, cols } => Type::matrix(scalar(elem)?, (*rows)?, (*cols)?),
        TypePattern::Quat(elem) => Type::quat(scalar(elem)?),
        TypePattern::Transform(elem) => Type::transform(scalar(elem)?),
        TypePattern::Array { elem, rank } => Type::array(closed(elem)?, *rank),
        TypePattern::Tuple(items) => Type::tuple(items.iter().map(closed).collect::<Option<_>>()?),
        TypePattern::Any | TypePattern::AnyScalar | TypePattern::AnyFloat | TypePattern::AnyInt => return None,
        TypePattern::Callable | TypePattern::Ref(_) => return None,
    })
}

/// Whether a type is one of those that a pattern stands for.
pub(crate) fn fits(pattern: &TypePattern, ty: Type) -> bool {
    let scalar = |elem: &TypePattern, found: Scalar| fits(elem, Type::scalar(found));
    match (pattern, ty.kind()) {
        (TypePattern::Is(expected), _) => *expected == ty,
        (TypePattern::Ref(inner), _) => fits(inner, ty),
        (TypePattern::Any, _) => true,
        (TypePattern::AnyScalar, TypeKind::Scalar(_)) => true,
        (TypePattern::AnyFloat, TypeKind::Scalar(found)) => found.class() == Class::Float,
        (TypePattern::AnyInt, TypeKind::Scalar(found)) => found.class() == Class::Int,
        (TypePattern::Vector { elem, len }, TypeKind::Vector { elem: found, len: n }) => {
            scalar(elem, *found) && len.is_none_or(|len| len == *n)
        }
        (TypePattern::Matrix { elem, rows, cols }, TypeKind::Matrix { elem: found, rows: r, cols: c }) => {
            scalar(elem, *found) && rows.is_none_or(|rows| rows == *r) && cols.is_none_or(|cols| cols == *c)
        }
        (TypePattern::Quat(elem), TypeKind::Quat(found)) => scalar(elem, *found),
        (TypePattern::Transform(elem), TypeKind::Transform(found)) => scalar(elem, *found),
        (TypePattern::Array { elem, rank }, TypeKind::Array { elem: found, rank: n }) => {
            fits(elem, *found) && rank == n
        }
        (TypePattern::Tuple(items), TypeKind::Tuple(found)) => {
            items.len() == found.len() && items.iter().zip(found).all(|(item, &ty)| fits(item, ty))
        }
        _ => false,
    }
}

/// What users call a pattern.
pub(crate) fn pattern_name(pattern: &TypePattern) -> String {
    let length = |n: &Option<u32>| n.map_or("Any".to_owned(), |n| n.to_string());
    match pattern {
        TypePattern::Is(ty) => ty.as_scalar().map_or_else(|| user_name(*ty), |scalar| scalar_name(scalar).to_owned()),
        TypePattern::Any => "Any".to_owned(),
        TypePattern::AnyScalar => "Scalar".to_owned(),
        TypePattern::AnyFloat => "Float".to_owned(),
        TypePattern::AnyInt => "Int".to_owned(),
        TypePattern::Callable => "Callable".to_owned(),
        TypePattern::Ref(inner) => format!("ref[{}]", pattern_name(inner)),
        TypePattern::Vector { elem, len } => format!("vector(length={}, dtype={})", length(len), pattern_name(elem)),
        TypePattern::Matrix { elem, rows, cols } => {
            format!("matrix(shape=({}, {}), dtype={})", length(rows), length(cols), pattern_name(elem))
        }
        TypePattern::Quat(elem) => format!("quaternion(dtype={})", pattern_name(elem)),
        TypePattern::Transform(elem) => format!("transformation(dtype={})", pattern_name(elem)),
        TypePattern::Array { elem, rank } => format!("array(dtype={}, ndim={rank})", pattern_name(elem)),
        TypePattern::Tuple(items) => {
            format!("tuple({})", items.iter().map(pattern_name).collect::<Vec<_>>().join(", "))
        }
    }
}
