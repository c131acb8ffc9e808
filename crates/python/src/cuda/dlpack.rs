//! Arrays on a GPU for other libraries, by DLPack.
//!
//! In: an array. Out: a capsule over its memory, which keeps the array alive until the consumer is done with it.
//! The structures are those of `dlpack.h`, versions 0.8 and 1.0.

use super::{device, raised};
use crate::array::{Array, Where};
use crate::types::inner_shape;
use ir::{Class, Scalar};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use runtime_cuda::Stream;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What a capsule keeps.
struct Kept {
    _array: Py<PyAny>,
    /// Extents, then strides in elements.
    words: Vec<i64>,
}

const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const CUDA_MANAGED: i32 = 13;

/// A capsule over an array's memory. `stream` is the consumer's: what is on the device's current stream comes before
/// what the consumer puts there from now on; None and 1 are the legacy default stream, -1 asks for no order.
#[pyfunction]
#[pyo3(signature = (array, stream=None, is_versioned=false))]
fn cuda_to_dlpack<'py>(
    array: &Bound<'py, Array>,
    stream: Option<i64>,
    is_versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let found = array.get();
    let (device_type, device_id) = match found.place {
        Where::Cuda(ordinal) => (CUDA, ordinal),
        Where::Managed(ordinal) => (CUDA_MANAGED, ordinal),
        Where::Pinned => (CUDA_HOST, 0),
        Where::Host => return Err(PyBufferError::new_err("the array is not on a CUDA device")),
    };
    let Some(scalar) = found.elem.element() else {
        return Err(PyBufferError::new_err("DLPack has no type for structs"));
    };
    if device_type == CUDA && stream != Some(-1) {
        let device = device(device_id)?;
        // 0 is ambiguous in the protocol; both meanings are the legacy default stream here.
        let consumer = Stream::foreign(device, stream.unwrap_or(1).max(0) as u64);
        consumer.raw().wait_for(device.current_stream()).map_err(raised)?;
    }
    let rank = found.descriptor.len() / 2;
    let size = scalar.size() as i64;
    let inner: Vec<i64> = inner_shape(found.elem).into_iter().map(i64::from).collect();
    let words = &found.descriptor[1..];
    let mut shape: Vec<i64> = words[..rank].iter().map(|&extent| extent as i64).collect();
    let mut strides: Vec<i64> = words[rank..].iter().map(|&stride| stride as i64 / size).collect();
    for dim in 0..inner.len() {
        strides.push(inner[dim + 1..].iter().product());
    }
    shape.extend(&inner);
    let ndim = shape.len();
    shape.extend(strides);
    let mut kept = Box::new(Kept { _array: array.clone().into_any().unbind(), words: shape });
    let (code, bits) = (code(scalar), scalar.size() as u8 * 8);
    let shape = kept.words.as_mut_ptr();
    let tensor = Tensor {
        data: found.descriptor[0] as *mut c_void,
        device_type,
        device_id: device_id as i32,
        ndim: ndim as i32,
        code,
        bits,
        lanes: 1,
        shape,
        strides: shape.wrapping_add(ndim),
        byte_offset: 0,
    };
    let context = Box::into_raw(kept).cast();
    let capsule = if is_versioned {
        let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut Versioned));
        let made = Versioned { major: 1, minor: 0, context, deleter, flags: 0, tensor };
        let made = Box::into_raw(Box::new(made)).cast();
        // SAFETY: a name that is never freed and a destructor that knows what is inside.
        unsafe { ffi::PyCapsule_New(made, VERSIONED.as_ptr(), Some(drop_capsule)) }
    } else {
        let made = Managed { tensor, context, deleter: Some(delete_managed) };
        let made = Box::into_raw(Box::new(made)).cast();
        // SAFETY: as above.
        unsafe { ffi::PyCapsule_New(made, MANAGED.as_ptr(), Some(drop_capsule)) }
    };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

const MANAGED: &std::ffi::CStr = c"dltensor";
const VERSIONED: &std::ffi::CStr = c"dltensor_versioned";

fn code(scalar: Scalar) -> u8 {
    match scalar {
        Scalar::Bool => 6,
        Scalar::BF16 => 4,
        _ if scalar.class() == Class::Float => 2,
        _ if scalar.is_signed() => 0,
        _ => 1,
    }
}

unsafe extern "C" fn delete_managed(managed: *mut Managed) {
    // SAFETY: made above, and deleted once, by the consumer or with the capsule.
    let managed = unsafe { Box::from_raw(managed) };
    delete_kept(managed.context);
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as above.
    let managed = unsafe { Box::from_raw(managed) };
    delete_kept(managed.context);
}

/// Any thread may come here, and Python may be gone.
fn delete_kept(context: *mut c_void) {
    // SAFETY: made above.
    let kept = unsafe { Box::from_raw(context.cast::<Kept>()) };
    match Python::try_attach(|_| ()) {
        Some(()) => Python::attach(|_| drop(kept)),
        None => std::mem::forget(kept),
    }
}

/// A capsule that nobody took deletes what is inside; a consumer has renamed it.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    let take = |name: *const c_char| {
        // SAFETY: a capsule, in its destructor.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule, name) != 0 {
                ffi::PyCapsule_GetPointer(capsule, name)
            } else {
                null_mut()
            }
        }
    };
    let (managed, versioned) = (take(MANAGED.as_ptr()), take(VERSIONED.as_ptr()));
    // SAFETY: what `cuda_to_dlpack` put in under that name.
    unsafe {
        if !managed.is_null() {
            delete_managed(managed.cast());
        } else if !versioned.is_null() {
            delete_versioned(versioned.cast());
        }
    }
}

/// Makes the device's current stream wait for the stream of another library, or that one for ours.
#[pyfunction]
fn cuda_order(ordinal: u32, stream: u64, ours_waits: bool) -> PyResult<()> {
    super::order(device(ordinal)?.current_stream(), stream, ours_waits)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(cuda_to_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(cuda_order, m)?)
}
