//! Arrays of other libraries on a GPU as arguments, without a copy: PyTorch's tensors, and whatever has
//! `__cuda_array_interface__` (CuPy, Numba, JAX), versions 0 to 3.
//!
//! Out: a descriptor, where the memory is, and the stream that it is in use on, which a launch must be in order with.

use crate::array::{Descriptor, Where};
use crate::bytes::Mismatch;
use crate::numpy::{Memory, row_major, scalar_of_dtype};
use crate::types::inner_shape;
use ir::{Scalar, Type, TypeKind};
use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use runtime_cuda::driver;

/// An array of another library.
pub(crate) struct View {
    pub(crate) descriptor: Descriptor,
    pub(crate) place: Where,
    pub(crate) is_read_only: bool,
    /// The stream that its library uses it on; none where that is in order with every stream of ours.
    pub(crate) stream: Option<u64>,
}

/// What a library says of an array.
pub(crate) struct Facts {
    /// None for records.
    pub(crate) scalar: Option<Scalar>,
    pub(crate) item_size: i64,
    pub(crate) ptr: u64,
    pub(crate) shape: Vec<i64>,
    /// In bytes.
    pub(crate) strides: Vec<i64>,
    pub(crate) place: Where,
    pub(crate) is_read_only: bool,
    pub(crate) stream: Option<u64>,
}

/// A value as an array of `elem` with `rank` dimensions; none for a value that is no array of another library's.
pub(crate) fn view(value: &Bound<'_, PyAny>, elem: Type, rank: u32) -> Result<Option<View>, Mismatch> {
    let Some(facts) = facts(value)? else { return Ok(None) };
    let wrong = || Mismatch::Given(facts.describe(value));
    let inner: Vec<i64> = match elem.kind() {
        TypeKind::Struct(_) if facts.scalar.is_none() && facts.item_size == elem.size() as i64 => vec![],
        TypeKind::Struct(_) => return Err(wrong()),
        _ if facts.scalar != elem.element() => return Err(wrong()),
        _ => inner_shape(elem).into_iter().map(i64::from).collect(),
    };
    let memory = Memory { ptr: facts.ptr, shape: &facts.shape, strides: &facts.strides, item_size: facts.item_size };
    let descriptor = memory.fit(elem, rank, &inner, &wrong)?;
    let Facts { place, is_read_only, stream, .. } = facts;
    Ok(Some(View { descriptor, place, is_read_only, stream }))
}

/// What a library says of its array; none for a value that is none.
pub(crate) fn facts(value: &Bound<'_, PyAny>) -> PyResult<Option<Facts>> {
    let py = value.py();
    let module = value.get_type().module()?;
    let module = module.to_str()?;
    if module == "numpy" || module == "builtins" {
        return Ok(None);
    }
    if module.split('.').next() == Some("torch") && value.hasattr(intern!(py, "data_ptr"))? {
        return of_tensor(value).map(Some);
    }
    match value.getattr_opt(intern!(py, "__cuda_array_interface__"))? {
        Some(interface) => of_interface(&interface).map(Some),
        None => Ok(None),
    }
}

/// A tensor says more than its interface, which lacks bfloat16 and refuses tensors with gradients.
fn of_tensor(tensor: &Bound<'_, PyAny>) -> PyResult<Facts> {
    let py = tensor.py();
    let dtype = tensor.getattr(intern!(py, "dtype"))?.str()?;
    let scalar = scalar_of_dtype(dtype.to_str()?.trim_start_matches("torch."));
    let item_size: i64 = tensor.call_method0(intern!(py, "element_size"))?.extract()?;
    let device = tensor.getattr(intern!(py, "device"))?;
    let kind = device.getattr(intern!(py, "type"))?;
    let is_cuda = kind.cast::<PyString>()?.to_str()? == "cuda";
    let ordinal =
        if is_cuda { device.getattr(intern!(py, "index"))?.extract::<Option<u32>>()?.unwrap_or(0) } else { 0 };
    let strides: Vec<i64> = tensor.call_method0(intern!(py, "stride"))?.extract()?;
    let stream = if is_cuda {
        let cuda = py.import(intern!(py, "torch"))?.getattr(intern!(py, "cuda"))?;
        let stream = cuda.call_method1(intern!(py, "current_stream"), (ordinal,))?;
        not_legacy(stream.getattr(intern!(py, "cuda_stream"))?.extract()?)
    } else {
        None
    };
    Ok(Facts {
        scalar,
        item_size,
        ptr: tensor.call_method0(intern!(py, "data_ptr"))?.extract()?,
        shape: tensor.getattr(intern!(py, "shape"))?.extract()?,
        strides: strides.into_iter().map(|stride| stride * item_size).collect(),
        place: if is_cuda { Where::Cuda(ordinal) } else { Where::Host },
        is_read_only: false,
        stream,
    })
}

/// The legacy default stream is in order with every stream of ours.
fn not_legacy(stream: u64) -> Option<u64> {
    Some(stream).filter(|&stream| stream > 1)
}

fn of_interface(interface: &Bound<'_, PyAny>) -> PyResult<Facts> {
    let interface = interface.cast::<PyDict>()?;
    let field = |name: &str| interface.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()));
    if interface.get_item("mask")?.is_some_and(|mask| !mask.is_none()) {
        return Err(pyo3::exceptions::PyTypeError::new_err("arrays with a mask cannot be passed"));
    }
    let (scalar, item_size) = typestr(field("typestr")?.cast::<PyString>()?.to_str()?);
    let shape: Vec<i64> = field("shape")?.extract()?;
    let data = field("data")?;
    let data = data.cast::<PyTuple>()?;
    let ptr = data.get_item(0)?.extract::<Option<u64>>()?.unwrap_or(0);
    let strides = match interface.get_item("strides")? {
        Some(strides) if !strides.is_none() => strides.extract()?,
        _ => row_major(item_size, &shape),
    };
    let stream = match interface.get_item("stream")? {
        Some(stream) => stream.extract::<Option<u64>>()?.and_then(not_legacy),
        None => None,
    };
    // Arrays without elements have no address that the driver knows.
    let place = match (ptr, driver::start()) {
        (0, _) => Where::Pinned,
        (_, Err(_)) => Where::Cuda(0),
        _ => Where::of(ptr),
    };
    let is_read_only = data.get_item(1)?.is_truthy()?;
    Ok(Facts { scalar, item_size, ptr, shape, strides, place, is_read_only, stream })
}

/// The scalar and the size that a type string stands for: `<f4` is float32.
fn typestr(text: &str) -> (Option<Scalar>, i64) {
    let (kind, size) = (text.get(1..2).unwrap_or(""), text.get(2..).and_then(|size| size.parse().ok()).unwrap_or(0));
    let scalar = match (kind, size) {
        _ if text.starts_with('>') => None,
        ("b", 1) => Some(Scalar::Bool),
        ("i", 1) => Some(Scalar::I8),
        ("i", 2) => Some(Scalar::I16),
        ("i", 4) => Some(Scalar::I32),
        ("i", 8) => Some(Scalar::I64),
        ("u", 1) => Some(Scalar::U8),
        ("u", 2) => Some(Scalar::U16),
        ("u", 4) => Some(Scalar::U32),
        ("u", 8) => Some(Scalar::U64),
        ("f", 2) => Some(Scalar::F16),
        ("f", 4) => Some(Scalar::F32),
        ("f", 8) => Some(Scalar::F64),
        _ => None,
    };
    (scalar, size)
}

impl Facts {
    fn describe(&self, value: &Bound<'_, PyAny>) -> String {
        let class = value.get_type().name().map_or_else(|_| "an array".to_owned(), |name| name.to_string());
        let dtype = value
            .getattr("dtype")
            .and_then(|dtype| dtype.str())
            .map_or_else(|_| format!("{} bytes", self.item_size), |dtype| dtype.to_string());
        format!("{class} of dtype {dtype} and shape {:?} on device {}", self.shape, self.place.device())
    }

    /// The type that the array has by itself: scalars and its own rank.
    pub(crate) fn natural_type(&self) -> Option<Type> {
        let rank = self.shape.len() as u32;
        self.scalar.filter(|_| (1..=4).contains(&rank)).map(|scalar| Type::array(Type::scalar(scalar), rank))
    }
}

/// What another library's array is: the scalar's name (None for records), bytes of an element, address, extents,
/// strides in bytes, place, whether it is read-only, the stream it is in use on; None for a value that is none.
#[pyfunction]
pub(crate) fn foreign_array<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = value.py();
    let Some(facts) = facts(value)? else { return Ok(None) };
    let Facts { scalar, item_size, ptr, shape, strides, place, is_read_only, stream } = facts;
    let scalar = scalar.map(frontend::scalar_name);
    let place = place.name();
    let items = (scalar, item_size, ptr, shape, strides, place, is_read_only, stream);
    items.into_pyobject(py).map(Some)
}
