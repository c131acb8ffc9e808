//! NumPy arrays and scalars as arguments, without a copy and without linking to NumPy.

use crate::array::{Descriptor, check_view, descriptor, is_contiguous};
use crate::bytes::Mismatch;
use crate::types::inner_shape;
use ir::{Scalar, Type, TypeKind};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict};
use smallvec::SmallVec;
use std::ffi::{c_char, c_int, c_void};

/// A NumPy array seen as an array of the kernel language.
pub(crate) struct View {
    pub(crate) descriptor: Descriptor,
    pub(crate) is_read_only: bool,
}

/// The scalar type of a NumPy dtype by its name.
pub(crate) fn scalar_of_dtype(name: &str) -> Option<Scalar> {
    Some(match name {
        "bool" => Scalar::Bool,
        "int8" => Scalar::I8,
        "int16" => Scalar::I16,
        "int32" => Scalar::I32,
        "int64" => Scalar::I64,
        "uint8" => Scalar::U8,
        "uint16" => Scalar::U16,
        "uint32" => Scalar::U32,
        "uint64" => Scalar::U64,
        "float16" => Scalar::F16,
        "bfloat16" => Scalar::BF16,
        "float32" => Scalar::F32,
        "float64" => Scalar::F64,
        _ => return None,
    })
}

/// A NumPy scalar of one of the usual classes and its word, known by the class itself.
pub(crate) fn plain_scalar(value: &Bound<'_, PyAny>) -> Option<(Scalar, u64)> {
    static CLASSES: PyOnceLock<Vec<(usize, Scalar)>> = PyOnceLock::new();
    let py = value.py();
    let classes = CLASSES.get_or_init(py, || {
        let numpy = py.import(intern!(py, "numpy"));
        let class = |name: &str| Some(numpy.as_ref().ok()?.getattr(name).ok()?.as_ptr() as usize);
        ["float32", "float64", "int32", "int64", "uint32", "uint64"]
            .into_iter()
            .filter_map(|name| Some((class(name)?, scalar_of_dtype(name)?)))
            .collect()
    });
    let class = value.get_type_ptr() as usize;
    let &(_, scalar) = classes.iter().find(|(known, _)| *known == class)?;
    Some((
        scalar,
        match scalar {
            Scalar::F32 => u64::from((value.extract::<f64>().ok()? as f32).to_bits()),
            Scalar::F64 => value.extract::<f64>().ok()?.to_bits(),
            Scalar::U64 => value.extract::<u64>().ok()?,
            _ => {
                let bits = scalar.bits();
                let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
                value.extract::<i64>().ok()? as u64 & mask
            }
        },
    ))
}

/// The type of a NumPy scalar (`np.float32(1)`); none for anything else.
pub(crate) fn scalar_type(value: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let py = value.py();
    let module = value.get_type().module()?;
    if !module.to_str().is_ok_and(|module| module == "numpy" || module == "ml_dtypes") || is_array(value) {
        return Ok(None);
    }
    let Some(dtype) = value.getattr_opt(intern!(py, "dtype"))? else { return Ok(None) };
    dtype_scalar(&dtype)
}

fn dtype_scalar(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    let Some(name) = dtype.getattr_opt(intern!(dtype.py(), "name"))? else { return Ok(None) };
    Ok(name.extract::<String>().ok().and_then(|name| scalar_of_dtype(&name)))
}

/// Whether a value describes its memory as NumPy arrays do. NumPy's scalars do too, but are not arrays.
pub(crate) fn is_array(value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    plain(value).is_some()
        || value.getattr_opt(intern!(py, "__array_interface__")).is_ok_and(|found| found.is_some())
            && value.getattr_opt(intern!(py, "strides")).is_ok_and(|found| found.is_some())
            && value.getattr_opt(intern!(py, "flags")).is_ok_and(|found| found.is_some())
            && !value.get_type().mro().iter().any(|class| {
                class.cast::<pyo3::types::PyType>().is_ok_and(|class| {
                    class.name().is_ok_and(|name| name == "generic")
                        && class.module().is_ok_and(|module| module == "numpy")
                })
            })
}

/// A NumPy array, or one over the memory of an object that only has `__array_interface__`; none for other values.
fn as_numpy<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if is_array(value) {
        return Ok(Some(value.clone()));
    }
    let has_interface = value.getattr_opt(intern!(py, "__array_interface__")).is_ok_and(|found| found.is_some());
    if !has_interface || scalar_type(value)?.is_some() || crate::bytes::instance_type(value)?.is_some() {
        return Ok(None);
    }
    py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "asarray"), (value,)).map(Some)
}

/// What to call a NumPy array or scalar in a message.
pub(crate) fn describe(value: &Bound<'_, PyAny>) -> Option<String> {
    let py = value.py();
    let dtype = value.getattr_opt(intern!(py, "dtype")).ok()??.str().ok()?;
    if is_array(value) {
        let rank = value.getattr_opt(intern!(py, "ndim")).ok()??.extract::<usize>().ok()?;
        return Some(format!(
            "a NumPy array of dtype {dtype} with {rank} dimension{}",
            if rank == 1 { "" } else { "s" }
        ));
    }
    scalar_type(value).ok()?.map(|_| format!("a NumPy {dtype}"))
}

/// What NumPy says of an array of numbers in one call: `PyArrayInterface` of its C interface.
#[repr(C)]
struct Interface {
    two: c_int,
    rank: c_int,
    kind: c_char,
    item_size: c_int,
    flags: c_int,
    shape: *const isize,
    /// In bytes.
    strides: *const isize,
    data: *mut c_void,
}

/// Bits of [`Interface::flags`].
const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;

/// An array of numbers, seen by [`Interface`].
struct Plain {
    scalar: Scalar,
    item_size: i64,
    ptr: u64,
    shape: SmallVec<[i64; 4]>,
    strides: SmallVec<[i64; 4]>,
    is_read_only: bool,
}

/// A `numpy.ndarray` of numbers in this machine's byte order; none for anything else, which takes the longer way.
fn plain(value: &Bound<'_, PyAny>) -> Option<Plain> {
    static CLASS: PyOnceLock<usize> = PyOnceLock::new();
    let py = value.py();
    let class = CLASS.get_or_init(py, || {
        let class = py.import(intern!(py, "numpy")).and_then(|numpy| numpy.getattr(intern!(py, "ndarray")));
        class.map_or(0, |class| class.as_ptr() as usize)
    });
    if value.get_type_ptr() as usize != *class {
        return None;
    }
    let capsule = value.getattr(intern!(py, "__array_struct__")).ok()?.cast_into::<PyCapsule>().ok()?;
    let pointer = capsule.pointer_checked(None).ok()?;
    // SAFETY: the class is NumPy's own, so that the capsule holds its structure, alive as long as the capsule.
    let found = unsafe { pointer.cast::<Interface>().as_ref() };
    let scalar = match (found.kind as u8, found.item_size) {
        (b'b', 1) => Scalar::Bool,
        (b'i', 1) => Scalar::I8,
        (b'i', 2) => Scalar::I16,
        (b'i', 4) => Scalar::I32,
        (b'i', 8) => Scalar::I64,
        (b'u', 1) => Scalar::U8,
        (b'u', 2) => Scalar::U16,
        (b'u', 4) => Scalar::U32,
        (b'u', 8) => Scalar::U64,
        (b'f', 2) => Scalar::F16,
        (b'f', 4) => Scalar::F32,
        (b'f', 8) => Scalar::F64,
        _ => return None,
    };
    if found.two != 2 || found.flags & NOT_SWAPPED == 0 {
        return None;
    }
    let rank = usize::try_from(found.rank).ok()?;
    // SAFETY: `rank` numbers each, owned by the array; there may be no memory where there are none.
    let numbers = |at: *const isize| (0..rank).map(|dim| unsafe { *at.add(dim) } as i64).collect();
    Some(Plain {
        scalar,
        item_size: found.item_size.into(),
        ptr: found.data as u64,
        shape: numbers(found.shape),
        strides: numbers(found.strides),
        is_read_only: found.flags & WRITEABLE == 0,
    })
}

/// The type that a NumPy array has by itself: scalars and its own rank.
pub(crate) fn natural_type(value: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    let py = value.py();
    if let Some(plain) = plain(value) {
        let rank = plain.shape.len() as u32;
        return Ok((1..=4).contains(&rank).then(|| Type::array(Type::scalar(plain.scalar), rank)));
    }
    let Some(value) = &as_numpy(value)? else { return Ok(None) };
    let Some(scalar) = dtype_scalar(&value.getattr(intern!(py, "dtype"))?)? else { return Ok(None) };
    let rank: u32 = value.getattr(intern!(py, "ndim"))?.extract()?;
    Ok((1..=4).contains(&rank).then(|| Type::array(Type::scalar(scalar), rank)))
}

/// A NumPy array as an array of `elem` with `rank` dimensions; none for a value that is no array at all. Components of
/// vectors and matrices may be the array's last dimensions.
pub(crate) fn view(value: &Bound<'_, PyAny>, elem: Type, rank: u32) -> Result<Option<View>, Mismatch> {
    let py = value.py();
    if let Some(plain) = plain(value)
        && elem.element() == Some(plain.scalar)
    {
        let inner: SmallVec<[i64; 4]> = inner_shape(elem).into_iter().map(i64::from).collect();
        let Plain { ptr, shape, strides, item_size, is_read_only, .. } = &plain;
        let memory = Memory { ptr: *ptr, shape, strides, item_size: *item_size };
        let wrong = || Mismatch::Given(describe(value).unwrap_or_else(|| "an array".to_owned()));
        return Ok(Some(View { descriptor: memory.fit(elem, rank, &inner, &wrong)?, is_read_only: *is_read_only }));
    }
    let Some(value) = &as_numpy(value)? else { return Ok(None) };
    let interface = value.getattr(intern!(py, "__array_interface__"))?;
    let interface = interface.cast::<PyDict>().map_err(PyErr::from)?;
    let field = |name: &str| -> PyResult<Bound<'_, PyAny>> {
        interface.get_item(name)?.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))
    };
    let shape: Vec<i64> = field("shape")?.extract()?;
    let (ptr, is_read_only): (u64, bool) = field("data")?.extract()?;
    let item_size: i64 = value.getattr(intern!(py, "itemsize"))?.extract()?;
    let strides = match interface.get_item("strides")? {
        Some(strides) if !strides.is_none() => strides.extract::<Vec<i64>>()?,
        _ => row_major(item_size, &shape),
    };
    let wrong = || Mismatch::Given(describe(value).unwrap_or_else(|| "an array".to_owned()));
    let dtype = value.getattr(intern!(py, "dtype"))?;
    let inner: Vec<i64> = match elem.kind() {
        TypeKind::Struct(_) => {
            if !same_record(elem, &dtype)? {
                return Err(wrong());
            }
            vec![]
        }
        _ => {
            if dtype_scalar(&dtype)? != elem.element() || !is_native(&dtype)? {
                return Err(wrong());
            }
            inner_shape(elem).into_iter().map(i64::from).collect()
        }
    };
    let memory = Memory { ptr, shape: &shape, strides: &strides, item_size };
    let descriptor = memory.fit(elem, rank, &inner, &wrong)?;
    Ok(Some(View { descriptor, is_read_only }))
}

/// Memory as others describe it: extents and strides, the components of vectors among them.
pub(crate) struct Memory<'a> {
    pub(crate) ptr: u64,
    pub(crate) shape: &'a [i64],
    /// In bytes.
    pub(crate) strides: &'a [i64],
    pub(crate) item_size: i64,
}

impl Memory<'_> {
    /// The descriptor of an array of `elem` with `rank` dimensions over it, where the last extents are `inner`.
    pub(crate) fn fit(
        &self,
        elem: Type,
        rank: u32,
        inner: &[i64],
        wrong: &dyn Fn() -> Mismatch,
    ) -> Result<Descriptor, Mismatch> {
        let rank = rank as usize;
        if self.shape.len() != rank + inner.len() || self.shape[rank..] != *inner {
            return Err(wrong());
        }
        if !is_contiguous(self.item_size, inner, &self.strides[rank..]) {
            return Err(Mismatch::Unfit("the components of its elements do not lie side by side".to_owned()));
        }
        let (shape, strides) = (&self.shape[..rank], &self.strides[..rank]);
        check_view(elem, self.ptr, shape, strides).map_err(Mismatch::Unfit)?;
        Ok(descriptor(self.ptr, shape, strides))
    }
}

pub(crate) fn row_major(item_size: i64, shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![item_size; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim].saturating_mul(shape[dim]);
    }
    strides
}

/// Whether numbers are stored in this machine's byte order.
fn is_native(dtype: &Bound<'_, PyAny>) -> PyResult<bool> {
    dtype.getattr(intern!(dtype.py(), "isnative"))?.extract()
}

/// Whether a record dtype has the very layout of a struct.
fn same_record(ty: Type, dtype: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = dtype.py();
    let size: u64 = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
    if size != ty.size() {
        return Ok(false);
    }
    if let TypeKind::Struct(s) = ty.kind() {
        let fields = dtype.getattr(intern!(py, "fields"))?;
        let Ok(fields) = fields.cast_into::<pyo3::types::PyMapping>() else { return Ok(false) };
        if fields.len()? != s.fields.len() {
            return Ok(false);
        }
        for (index, (name, field)) in s.fields.iter().enumerate() {
            let Ok(entry) = fields.get_item(name) else { return Ok(false) };
            let offset: u64 = entry.get_item(1)?.extract()?;
            if offset != ty.offset(index) || !same_record(*field, &entry.get_item(0)?)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let base = dtype.getattr(intern!(py, "base"))?;
    let shape: Vec<u32> = dtype.getattr(intern!(py, "shape"))?.extract()?;
    Ok(!ty.is_array() && dtype_scalar(&base)? == ty.element() && is_native(&base)? && shape == inner_shape(ty))
}
