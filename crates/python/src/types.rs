//! `Type`: the IR's types as Python objects, and their names in messages.

use frontend::scalar_name;
use ir::{Scalar, StructType, TypeKind};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A type of the kernel language: immutable, hashable, equal by meaning.
#[pyclass(name = "Type", module = "gridstride._native", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PyIrType(pub(crate) ir::Type);

#[pymethods]
impl PyIrType {
    #[staticmethod]
    fn scalar(name: &str) -> PyResult<PyIrType> {
        let scalar = Scalar::from_name(name);
        let scalar = scalar.ok_or_else(|| PyValueError::new_err(format!("there is no scalar type {name:?}")))?;
        Ok(PyIrType(ir::Type::scalar(scalar)))
    }

    #[staticmethod]
    fn vector(elem: PyIrType, length: u32) -> PyResult<PyIrType> {
        Ok(PyIrType(ir::Type::vector(elem.as_scalar("vector")?, positive(length)?)))
    }

    #[staticmethod]
    fn matrix(elem: PyIrType, rows: u32, cols: u32) -> PyResult<PyIrType> {
        Ok(PyIrType(ir::Type::matrix(elem.as_scalar("matrix")?, positive(rows)?, positive(cols)?)))
    }

    #[staticmethod]
    fn quat(elem: PyIrType) -> PyResult<PyIrType> {
        Ok(PyIrType(ir::Type::quat(elem.as_scalar("quaternion")?)))
    }

    #[staticmethod]
    fn transform(elem: PyIrType) -> PyResult<PyIrType> {
        Ok(PyIrType(ir::Type::transform(elem.as_scalar("transform")?)))
    }

    #[staticmethod]
    #[pyo3(name = "struct")]
    fn structure(name: String, fields: Vec<(String, PyIrType)>) -> PyIrType {
        PyIrType(ir::Type::structure(name, fields.into_iter().map(|(name, ty)| (name, ty.0)).collect()))
    }

    #[staticmethod]
    fn tuple(items: Vec<PyIrType>) -> PyIrType {
        PyIrType(ir::Type::tuple(items.into_iter().map(|ty| ty.0).collect()))
    }

    #[staticmethod]
    fn array(elem: PyIrType, rank: u32) -> PyResult<PyIrType> {
        if !(1..=4).contains(&rank) {
            return Err(PyValueError::new_err(format!("an array has 1 to 4 dimensions, not {rank}")));
        }
        if elem.0.is_array() {
            return Err(PyTypeError::new_err("an array cannot hold arrays; a struct with an array in it can"));
        }
        Ok(PyIrType(ir::Type::array(elem.0, rank)))
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            TypeKind::Scalar(_) => "scalar",
            TypeKind::Vector { .. } => "vector",
            TypeKind::Matrix { .. } => "matrix",
            TypeKind::Quat(_) => "quat",
            TypeKind::Transform(_) => "transform",
            TypeKind::Struct(_) => "struct",
            TypeKind::Tuple(_) => "tuple",
            TypeKind::Array { .. } => "array",
            TypeKind::Tile { .. } => "tile",
        }
    }

    /// IR text.
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    /// The name in messages: `vec3f`, `array(dtype=float32, ndim=1)`.
    #[getter]
    fn user_name(&self) -> String {
        user_name(self.0)
    }

    #[getter]
    fn size(&self) -> u64 {
        self.0.size()
    }

    #[getter]
    fn align(&self) -> u64 {
        self.0.align()
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, inner_shape(self.0))
    }

    #[getter]
    fn elem(&self) -> Option<PyIrType> {
        match self.0.kind() {
            TypeKind::Array { elem, .. } => Some(PyIrType(*elem)),
            _ if self.0.is_composite() => self.0.element().map(|elem| PyIrType(ir::Type::scalar(elem))),
            _ => None,
        }
    }

    #[getter]
    fn rank(&self) -> u32 {
        self.0.as_array().map_or(0, |(_, rank)| rank)
    }

    /// Of a struct: name, type and byte offset of each field. Of a tuple: the same with empty names.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let field = |index: usize, name: &str| {
            let ty = self.0.component(index).unwrap_or(self.0);
            (name.to_owned(), PyIrType(ty), self.0.offset(index))
        };
        match self.0.kind() {
            TypeKind::Struct(StructType { fields, .. }) => {
                PyTuple::new(py, fields.iter().enumerate().map(|(i, (name, _))| field(i, name)))
            }
            TypeKind::Tuple(items) => PyTuple::new(py, (0..items.len()).map(|i| field(i, ""))),
            _ => Ok(PyTuple::empty(py)),
        }
    }

    /// Name of a struct.
    #[getter]
    fn struct_name(&self) -> Option<&'static str> {
        if let TypeKind::Struct(s) = self.0.kind() { Some(&s.name) } else { None }
    }

    fn __repr__(&self) -> String {
        format!("<Type {}>", self.0)
    }
}

impl PyIrType {
    fn as_scalar(self, what: &str) -> PyResult<Scalar> {
        let wrong = || PyTypeError::new_err(format!("a {what} has scalar components, not {}", user_name(self.0)));
        self.0.as_scalar().ok_or_else(wrong)
    }
}

fn positive(length: u32) -> PyResult<u32> {
    // A value of more components than this could not be handled as one value anyway.
    if (1..=1 << 16).contains(&length) {
        Ok(length)
    } else {
        Err(PyValueError::new_err(format!("a length must be between 1 and 65536, not {length}")))
    }
}

/// Extents of a composite's components: (3,) for a vec3, (2, 2) for a mat22, (7,) for a transform.
pub(crate) fn inner_shape(ty: ir::Type) -> Vec<u32> {
    match ty.kind() {
        TypeKind::Vector { len, .. } => vec![*len],
        TypeKind::Matrix { rows, cols, .. } => vec![*rows, *cols],
        TypeKind::Quat(_) => vec![4],
        TypeKind::Transform(_) => vec![7],
        _ => vec![],
    }
}

/// What users call a type.
pub(crate) fn user_name(ty: ir::Type) -> String {
    let suffix = |elem: Scalar| match elem {
        Scalar::Bool => Some(""),
        Scalar::I8 => Some("b"),
        Scalar::U8 => Some("ub"),
        Scalar::I16 => Some("s"),
        Scalar::U16 => Some("us"),
        Scalar::I32 => Some("i"),
        Scalar::U32 => Some("ui"),
        Scalar::I64 => Some("l"),
        Scalar::U64 => Some("ul"),
        Scalar::F16 => Some("h"),
        Scalar::F32 => Some("f"),
        Scalar::F64 => Some("d"),
        Scalar::BF16 => None,
    };
    match ty.kind() {
        TypeKind::Scalar(scalar) => scalar_name(*scalar).to_owned(),
        TypeKind::Vector { elem, len } => match suffix(*elem) {
            Some(suffix) if !suffix.is_empty() && (2..=4).contains(len) => format!("vec{len}{suffix}"),
            _ => format!("vector(length={len}, dtype={})", scalar_name(*elem)),
        },
        TypeKind::Matrix { elem, rows, cols } => match suffix(*elem) {
            Some(suffix) if elem.is_float() && rows == cols && (2..=4).contains(rows) => {
                format!("mat{rows}{cols}{suffix}")
            }
            _ => format!("matrix(shape=({rows}, {cols}), dtype={})", scalar_name(*elem)),
        },
        TypeKind::Quat(elem) => format!("quat{}", suffix(*elem).unwrap_or("")),
        TypeKind::Transform(elem) => format!("transform{}", suffix(*elem).unwrap_or("")),
        TypeKind::Struct(s) => s.name.clone(),
        TypeKind::Tuple(items) => {
            let items: Vec<_> = items.iter().map(|&item| user_name(item)).collect();
            format!("tuple({})", items.join(", "))
        }
        TypeKind::Array { elem, rank } => format!("array(dtype={}, ndim={rank})", user_name(*elem)),
        TypeKind::Tile { elem, extents } => format!("tile(dtype={}, shape={extents:?})", user_name(*elem)),
    }
}
