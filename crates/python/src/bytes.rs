//! Python values to bytes in the layout of their kernel-language type.
//!
//! In: a number, an instance with `__gs_bytes__()`, a nested sequence. Out: the value's bytes, or what was wrong with it.

use crate::array::{self, Array, Where};
use crate::numpy;
use crate::types::{PyIrType, inner_shape, user_name};
use frontend::scalar_name;
use ir::{Class, Const, LeafKind, Scalar, Type, TypeKind};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

/// Why a value does not become bytes. The caller knows which argument it was.
pub(crate) enum Mismatch {
    /// Another kind of value; the text is what was given: "array(dtype=float64, ndim=1)".
    Given(String),
    /// The right kind, but this one cannot be: "300 is out of range for uint8".
    Range(String),
    /// The right type in a form that cannot be passed: "it is on device cuda:0".
    Unfit(String),
    /// Python code that was asked raised this.
    Python(PyErr),
}

impl From<PyErr> for Mismatch {
    fn from(error: PyErr) -> Mismatch {
        Mismatch::Python(error)
    }
}

type Written = Result<(), Mismatch>;

/// Which memory the launch can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Host,
    /// That of the CUDA device of that number.
    Cuda(u32),
    /// Any: nothing is run.
    Any,
}

impl Reach {
    pub(crate) fn name(self) -> String {
        match self {
            Reach::Host | Reach::Any => "cpu".to_owned(),
            Reach::Cuda(ordinal) => format!("cuda:{ordinal}"),
        }
    }

    #[inline]
    pub(crate) fn has(self, place: Where) -> bool {
        match (self, place) {
            (Reach::Any, _) => true,
            (Reach::Host, place) => place.is_host(),
            (Reach::Cuda(_), Where::Host) => false,
            (Reach::Cuda(_), Where::Pinned | Where::Managed(_)) => true,
            (Reach::Cuda(wanted), Where::Cuda(found)) => wanted == found || crate::cuda::reaches(wanted, found),
        }
    }
}

/// Why an array cannot be passed to a launch.
pub(crate) fn out_of_reach(reach: Reach, device: &str) -> Mismatch {
    let wanted = reach.name();
    Mismatch::Unfit(format!("it is on device {device}, and the launch is on {wanted}; copy it with `.to({wanted:?})`"))
}

/// Writes a value of a type that holds no arrays, or a struct. `out` has the type's size.
pub(crate) fn write_value(ty: Type, value: &Bound<'_, PyAny>, reach: Reach, out: &mut [u8]) -> Written {
    match ty.kind() {
        TypeKind::Scalar(scalar) => write_scalar(*scalar, value, out),
        TypeKind::Array { elem, rank } => write_array(*elem, *rank, value, reach, out),
        TypeKind::Tuple(_) => write_items(ty, value, reach, out),
        TypeKind::Struct(_) => match instance_type(value)? {
            Some(found) if found == ty => write_instance(ty, value, out),
            None if value.cast::<PyTuple>().is_ok() => write_items(ty, value, reach, out),
            _ => Err(given(value)),
        },
        _ => match instance_type(value)? {
            Some(found) if found == ty => write_instance(ty, value, out),
            // Four components mean different things in a quaternion, a vec4 and a mat22.
            Some(found) if inner_shape(found) != inner_shape(ty) => Err(given(value)),
            _ => write_components(ty, value, out),
        },
    }
}

/// Writes a kernel's argument: one number of NumPy's, or a flag, fills a vector, with a warning that names the parameter.
pub(crate) fn write_argument(ty: Type, param: &str, value: &Bound<'_, PyAny>, reach: Reach, out: &mut [u8]) -> Written {
    let written = write_value(ty, value, reach, out);
    if !ty.is_composite() || !matches!(written, Err(Mismatch::Given(_))) {
        return written;
    }
    let py = value.py();
    let class = py.import(intern!(py, "gridstride._types"))?.call_method1("class_of", (PyIrType(ty),))?;
    let place = format!("kernel parameter '{param}'");
    let filled = py.import(intern!(py, "gridstride._filled"))?.call_method1("filled", (class, value, place))?;
    if filled.is_none() { written } else { write_value(ty, &filled, reach, out) }
}

/// The items of a sequence as the components of a tuple, or as the fields of the struct that a named tuple is.
fn write_items(ty: Type, value: &Bound<'_, PyAny>, reach: Reach, out: &mut [u8]) -> Written {
    let given = sequence(value)?.ok_or_else(|| given(value))?;
    if given.len() != ty.n_components() {
        return Err(Mismatch::Given(format!("a sequence of {} items", given.len())));
    }
    for (index, item) in given.iter().enumerate() {
        let (at, Some(part)) = (ty.offset(index) as usize, ty.component(index)) else { continue };
        write_value(part, item, reach, &mut out[at..at + part.size() as usize])?;
    }
    Ok(())
}

/// The type of an instance of a kernel-language class.
pub(crate) fn instance_type(value: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    let py = value.py();
    if value.cast::<PyType>().is_ok() {
        return Ok(None);
    }
    let class = value.get_type();
    let mut found = class.getattr_opt(intern!(py, "__gs_type__"))?;
    // Of indexed arrays and Fabric arrays each instance has its own type.
    if found.is_none() && class.hasattr(intern!(py, "__gs_instance_type__"))? {
        found = value.getattr_opt(intern!(py, "__gs_instance_type__"))?;
    }
    Ok(found.and_then(|found| found.cast::<PyIrType>().ok().map(|ty| ty.get().0)))
}

/// The bytes of such an instance.
pub(crate) fn instance_bytes(value: &Bound<'_, PyAny>, n_bytes: usize) -> PyResult<Vec<u8>> {
    let found = value.call_method0(intern!(value.py(), "__gs_bytes__"))?;
    let bytes = match (found.cast::<PyBytes>(), found.cast::<PyByteArray>()) {
        (Ok(bytes), _) => bytes.as_bytes().to_vec(),
        (_, Ok(bytes)) => bytes.to_vec(),
        _ => return Err(PyTypeError::new_err("`__gs_bytes__` must give bytes")),
    };
    if bytes.len() != n_bytes {
        let text = format!("`__gs_bytes__` gave {} bytes where the type has {n_bytes}", bytes.len());
        return Err(PyTypeError::new_err(text));
    }
    Ok(bytes)
}

fn write_instance(ty: Type, value: &Bound<'_, PyAny>, out: &mut [u8]) -> Written {
    let is_written = if ty.is_composite() { write_numbers(ty, value, out)? } else { write_fields(ty, value, out)? };
    if !is_written {
        out.copy_from_slice(&instance_bytes(value, out.len())?);
    }
    Ok(())
}

/// A vector's components, where its class keeps them as a list of numbers: no Python code runs.
fn write_numbers(ty: Type, value: &Bound<'_, PyAny>, out: &mut [u8]) -> Result<bool, Mismatch> {
    let numbers = value.getattr_opt(intern!(value.py(), "_c"))?;
    let (Some(Ok(numbers)), Some(elem)) =
        (numbers.as_ref().map(|numbers| numbers.cast_exact::<PyList>()), ty.element())
    else {
        return Ok(false);
    };
    if numbers.len() != ty.n_components() {
        return Ok(false);
    }
    for (number, place) in numbers.iter().zip(out.chunks_exact_mut(elem.size() as usize)) {
        write_scalar(elem, &number, place)?;
    }
    Ok(true)
}

/// A struct's fields, where its class keeps them in the instance's dictionary. The caller sees to where arrays are.
fn write_fields(ty: Type, value: &Bound<'_, PyAny>, out: &mut [u8]) -> Result<bool, Mismatch> {
    let py = value.py();
    let TypeKind::Struct(layout) = ty.kind() else { return Ok(false) };
    if value.get_type().getattr_opt(intern!(py, "__gs_fields__"))?.is_none() {
        return Ok(false);
    }
    let fields = value.getattr(intern!(py, "__dict__"))?;
    let Ok(fields) = fields.cast_exact::<PyDict>() else { return Ok(false) };
    out.fill(0);
    let mut at = 0u64;
    for (name, part) in &layout.fields {
        at = at.next_multiple_of(part.align());
        let place = &mut out[at as usize..(at + part.size()) as usize];
        at += part.size();
        let Some(field) = fields.get_item(&**name)? else { return Ok(false) };
        match part.kind() {
            TypeKind::Array { elem, rank } => write_array(*elem, *rank, &field, Reach::Any, place)?,
            TypeKind::Scalar(scalar) => write_scalar(*scalar, &field, place)?,
            _ if field.is_none() => place.fill(0),
            _ => write_instance(*part, &field, place)?,
        }
    }
    Ok(true)
}

fn write_array(elem: Type, rank: u32, value: &Bound<'_, PyAny>, reach: Reach, out: &mut [u8]) -> Written {
    array_words(elem, rank, value, reach, &mut |words| {
        for (word, place) in words.iter().zip(out.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
    })
    .map(|_| ())
}

/// What is to be kept in mind about an array's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) is_read_only: bool,
    /// The stream of another library that the memory is in use on.
    pub(crate) stream: Option<u64>,
}

/// Hands an array's descriptor to `put`: nothing for None, whose descriptor is zero.
pub(crate) fn array_words(
    elem: Type,
    rank: u32,
    value: &Bound<'_, PyAny>,
    reach: Reach,
    put: &mut dyn FnMut(&[u64]),
) -> Result<Taken, Mismatch> {
    if let Some(array) = array::CLASS.cast::<Array>(value) {
        let array = array.get();
        if array.elem != elem || array.descriptor.len() != 1 + 2 * rank as usize {
            return Err(Mismatch::Given(user_name(array.ty())));
        }
        if !reach.has(array.place) {
            return Err(out_of_reach(reach, &array.place.device()));
        }
        put(&array.descriptor);
        return Ok(Taken::default());
    }
    if value.is_none() {
        return Ok(Taken::default());
    }
    // On the CPU, what describes its memory as NumPy's arrays do is taken at its word.
    if matches!(reach, Reach::Host)
        && let Some(view) = numpy::view(value, elem, rank)?
    {
        put(&view.descriptor);
        return Ok(Taken { is_read_only: view.is_read_only, stream: None });
    }
    if let Some(foreign) = crate::foreign::view(value, elem, rank)? {
        if !reach.has(foreign.place) {
            return Err(out_of_reach(reach, &foreign.place.device()));
        }
        put(&foreign.descriptor);
        return Ok(Taken { is_read_only: foreign.is_read_only, stream: foreign.stream });
    }
    let view = numpy::view(value, elem, rank)?.ok_or_else(|| given(value))?;
    if matches!(reach, Reach::Cuda(_)) {
        let place = runtime_cuda::pointer_place(view.descriptor[0]);
        if place == runtime_cuda::PointerPlace::Host && view.descriptor[1..][..rank as usize].iter().all(|&n| n != 0) {
            return Err(out_of_reach(reach, "cpu"));
        }
    }
    put(&view.descriptor);
    Ok(Taken { is_read_only: view.is_read_only, stream: None })
}

/// Scalars of any class: exact Python numbers first, then whatever acts as a number.
pub(crate) fn write_scalar(scalar: Scalar, value: &Bound<'_, PyAny>, out: &mut [u8]) -> Written {
    let constant = scalar_constant(scalar, value)?;
    out.copy_from_slice(&constant.0.to_ne_bytes()[..out.len()]);
    Ok(())
}

/// Numbers as a float type holds them.
#[pyfunction]
pub(crate) fn round_floats<'py>(dtype: PyIrType, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let Some(scalar) = dtype.0.as_scalar() else { return Err(PyTypeError::new_err("not a scalar type")) };
    let rounded = PyList::empty(values.py());
    for value in values.try_iter()? {
        rounded.append(Const::float(scalar, value?.extract::<f64>()?).as_float(scalar))?;
    }
    Ok(rounded)
}

fn scalar_constant(scalar: Scalar, value: &Bound<'_, PyAny>) -> Result<Const, Mismatch> {
    match scalar.class() {
        Class::Float => float_value(value).map(|x| Const::float(scalar, x)),
        Class::Int => int_value(scalar, value).map(|x| Const::int(scalar, x)),
        Class::Bool => bool_value(value).map(Const::bool),
    }
}

fn float_value(value: &Bound<'_, PyAny>) -> Result<f64, Mismatch> {
    if let Ok(x) = value.cast_exact::<PyFloat>() {
        return Ok(x.value());
    }
    if value.is_exact_instance_of::<PyInt>() {
        return Ok(value.extract::<f64>()?);
    }
    if let Some((scalar, constant)) = typed_scalar(value)? {
        return Ok(constant.as_float(scalar));
    }
    // Text is no number, and neither is an array of one element, although NumPy would make it one.
    if value.cast::<PyString>().is_ok() || numpy::is_array(value) {
        return Err(given(value));
    }
    value.extract::<f64>().map_err(|error| replace_type_error(error, value))
}

fn int_value(scalar: Scalar, value: &Bound<'_, PyAny>) -> Result<i128, Mismatch> {
    let exact = if value.is_exact_instance_of::<PyInt>() {
        python_int(scalar, value)?
    } else {
        match typed_scalar(value)? {
            Some((found, constant)) if !found.is_float() => constant.as_int(found),
            Some(_) => return Err(given(value)),
            None if numpy::is_array(value) => return Err(given(value)),
            None => python_int(scalar, value)?,
        }
    };
    if Const::int(scalar, exact).as_int(scalar) != exact {
        return Err(out_of_range(scalar, exact.to_string()));
    }
    Ok(exact)
}

/// Whatever acts as an int, up to 64 bits.
fn python_int(scalar: Scalar, value: &Bound<'_, PyAny>) -> Result<i128, Mismatch> {
    match value.extract::<i64>() {
        Ok(exact) => Ok(i128::from(exact)),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => match value.extract::<u64>() {
            Ok(exact) => Ok(i128::from(exact)),
            Err(_) => Err(out_of_range(scalar, value.str()?.to_string())),
        },
        Err(error) => Err(replace_type_error(error, value)),
    }
}

fn bool_value(value: &Bound<'_, PyAny>) -> Result<bool, Mismatch> {
    if let Ok(x) = value.cast_exact::<PyBool>() {
        return Ok(x.is_true());
    }
    match typed_scalar(value)? {
        Some((found, constant)) if !found.is_float() => Ok(constant.as_int(found) != 0),
        None if value.cast::<PyInt>().is_ok() => Ok(value.is_truthy()?),
        _ => Err(given(value)),
    }
}

fn out_of_range(scalar: Scalar, value: String) -> Mismatch {
    let bits = scalar.bits();
    let (low, high) =
        if scalar.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    Mismatch::Range(format!("{value} is out of range for {} ({low} to {high})", scalar_name(scalar)))
}

/// A scalar that knows its type: an instance of a kernel-language class, or a NumPy scalar.
pub(crate) fn typed_scalar(value: &Bound<'_, PyAny>) -> PyResult<Option<(Scalar, Const)>> {
    if value.cast_exact::<PyFloat>().is_ok() || value.cast_exact::<PyInt>().is_ok() {
        return Ok(None);
    }
    if let Some((scalar, word)) = numpy::plain_scalar(value) {
        return Ok(Some((scalar, Const(word))));
    }
    if let Some(scalar) = instance_type(value)?.and_then(Type::as_scalar) {
        let bytes = instance_bytes(value, scalar.size() as usize)?;
        return Ok(Some((scalar, read_scalar(scalar, &bytes))));
    }
    let Some(scalar) = numpy::scalar_type(value)? else { return Ok(None) };
    let item = value.call_method0(intern!(value.py(), "item"))?;
    let constant = match scalar.class() {
        Class::Float => Const::float(scalar, item.extract::<f64>()?),
        _ => Const::int(
            scalar,
            item.extract::<i64>().map(i128::from).or_else(|_| item.extract::<u64>().map(i128::from))?,
        ),
    };
    Ok(Some((scalar, constant)))
}

/// Reads a scalar's bits from memory.
pub(crate) fn read_scalar(scalar: Scalar, bytes: &[u8]) -> Const {
    let mut word = [0; 8];
    let n = scalar.size() as usize;
    word[..n].copy_from_slice(&bytes[..n]);
    Const(u64::from_ne_bytes(word))
}

/// The constants of a value's leaves, where no leaf is part of an array.
pub(crate) fn read_leaves(ty: Type, bytes: &[u8]) -> Option<Vec<Const>> {
    let leaf = |leaf: ir::Leaf| match leaf.kind {
        LeafKind::Scalar(scalar) => Some(read_scalar(scalar, &bytes[leaf.offset as usize..])),
        _ => None,
    };
    ty.leaves().into_iter().map(leaf).collect()
}

/// A vector, matrix, quaternion or transform from numbers in any nesting.
fn write_components(ty: Type, value: &Bound<'_, PyAny>, out: &mut [u8]) -> Written {
    let Some(elem) = ty.element() else { return Err(given(value)) };
    let size = elem.size() as usize;
    let mut places = out.chunks_exact_mut(size);
    let n = ty.n_components();
    let mut n_found = 0;
    flatten(value, 0, &mut |number| {
        n_found += 1;
        places.next().map_or(Ok(()), |place| write_scalar(elem, number, place))
    })?;
    if n_found == n { Ok(()) } else { Err(Mismatch::Given(format!("{n_found} numbers"))) }
}

fn flatten(value: &Bound<'_, PyAny>, depth: usize, take: &mut dyn FnMut(&Bound<'_, PyAny>) -> Written) -> Written {
    match sequence(value)? {
        // Deeper nesting than any type has: a list that holds itself would never end.
        Some(_) if depth > 4 => Err(given(value)),
        Some(items) => items.iter().try_for_each(|item| flatten(item, depth + 1, take)),
        None if depth == 0 => Err(given(value)),
        None => take(value),
    }
}

/// The items of a list, tuple, vector instance or NumPy array; none for numbers and text.
fn sequence<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if value.cast::<PyString>().is_ok() || value.cast::<PyFloat>().is_ok() || value.cast::<PyInt>().is_ok() {
        return Ok(None);
    }
    if value.len().is_err() || value.cast::<PyDict>().is_ok() {
        return Ok(None);
    }
    value.try_iter()?.collect::<PyResult<Vec<_>>>().map(Some)
}

fn replace_type_error(error: PyErr, value: &Bound<'_, PyAny>) -> Mismatch {
    if error.is_instance_of::<PyTypeError>(value.py()) { given(value) } else { Mismatch::Python(error) }
}

/// What a value is, in the user's words.
pub(crate) fn given(value: &Bound<'_, PyAny>) -> Mismatch {
    Mismatch::Given(describe(value))
}

pub(crate) fn describe(value: &Bound<'_, PyAny>) -> String {
    if value.is_none() {
        return "None".to_owned();
    }
    if let Ok(array) = value.cast::<Array>() {
        return user_name(array.get().ty());
    }
    if let Ok(Some(ty)) = instance_type(value) {
        return user_name(ty);
    }
    if let Some(text) = numpy::describe(value) {
        return text;
    }
    let class = value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    match value.repr() {
        Ok(text) if text.to_str().is_ok_and(|text| text.len() <= 40) => format!("{class} {text}"),
        _ => class,
    }
}
