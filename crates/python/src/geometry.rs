//! What the host builds for queries in kernels, over arrays in the host's memory.

use crate::array::Array;
use crate::types::PyIrType;
use geometry::sort::{self, Key};
use ir::{Scalar, Type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A struct that the kernel library declares.
#[pyfunction]
pub(crate) fn library_struct(name: &str) -> PyResult<PyIrType> {
    let found = frontend::library_struct(name).map(PyIrType);
    found.ok_or_else(|| PyValueError::new_err(format!("the kernel library has no struct {name:?}")))
}

/// Sorts points by cell: `keys` are cells (uint32), or cells and groups (uint64), and are sorted; `ids` gets the points'
/// numbers in that order, `starts` where each cell begins, and their number last.
#[pyfunction]
pub(crate) fn sort_by_cell(py: Python<'_>, keys: &Array, ids: &Array, starts: &Array) -> PyResult<()> {
    match keys.elem.as_scalar() {
        Some(Scalar::U32) => sorted::<u32>(py, keys, Scalar::U32, ids, starts),
        Some(Scalar::U64) => sorted::<u64>(py, keys, Scalar::U64, ids, starts),
        _ => Err(PyValueError::new_err("keys are uint32 or uint64")),
    }
}

fn sorted<K: Key>(py: Python<'_>, keys: &Array, scalar: Scalar, ids: &Array, starts: &Array) -> PyResult<()> {
    // SAFETY: the arrays are the caller's own, of this type, and nobody else uses them meanwhile.
    let (keys, ids, starts) =
        unsafe { (host_slice::<K>(keys, scalar)?, host_slice(ids, Scalar::I32)?, host_slice(starts, Scalar::I32)?) };
    let n_cells = starts.len().saturating_sub(1);
    if ids.len() != keys.len() || keys.iter().any(|key| key.cell() >= n_cells) {
        return Err(PyValueError::new_err("one id a key, and one start a cell and one more"));
    }
    py.detach(|| {
        sort::sort(keys, ids);
        sort::starts_of_cells(keys, starts);
    });
    Ok(())
}

/// The elements of a contiguous array in the host's memory.
///
/// # Safety
/// `T` has the size and meaning of the scalar, and nothing else reads or writes the memory meanwhile.
unsafe fn host_slice<'a, T>(array: &Array, scalar: Scalar) -> PyResult<&'a mut [T]> {
    let n: u64 = array.extents().iter().product();
    if array.elem != Type::scalar(scalar) || !array.place.is_host() || !array.is_contiguous || !array.is_aligned {
        return Err(PyValueError::new_err(format!("expected a contiguous array of {} on the host", scalar.name())));
    }
    if n == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the array's view is of valid memory that its owner keeps; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(array.descriptor[0] as *mut T, n as usize) })
}
