//! Lists, tuples and shapes of Python's own classes, read without running Python code.

use crate::launch::Grid;
use crate::pack::plain_int;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use runtime::LaunchBounds;
use runtime::abi::MAX_RANK;

const MAX_EXTENT: i64 = i32::MAX as i64;

/// Whether an object is an int that any device takes as the threads of a block.
///
/// # Safety
/// Python's lock is held, and this is an object.
pub(crate) unsafe fn is_block(object: *mut ffi::PyObject) -> bool {
    const MOST: std::ffi::c_long = 1024;
    let mut overflow = 0;
    // SAFETY: the caller's promise; reading an int cannot fail.
    let n = unsafe {
        if ffi::PyLong_CheckExact(object) == 0 {
            return false;
        }
        ffi::PyLong_AsLongAndOverflow(object, &mut overflow)
    };
    n <= MOST && overflow == 0
}

/// Arguments in a list or tuple of Python's own class.
pub(crate) enum Items<'a, 'py> {
    List(&'a Bound<'py, PyList>),
    Tuple(&'a Bound<'py, PyTuple>),
}

impl<'a, 'py> Items<'a, 'py> {
    #[inline(always)]
    pub(crate) fn of(value: &'a Bound<'py, PyAny>) -> Option<Items<'a, 'py>> {
        if let Ok(list) = value.cast_exact::<PyList>() {
            return Some(Items::List(list));
        }
        value.cast_exact::<PyTuple>().ok().map(Items::Tuple)
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Items::List(list) => list.len(),
            Items::Tuple(tuple) => tuple.len(),
        }
    }

    /// An item by number, without a reference taken: it lives until the list is changed.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<Borrowed<'a, 'py, PyAny>> {
        // SAFETY: a list and a tuple, which hold the item while nothing changes them; a wrong number gives null, with
        // an exception that there is no way to: the callers count to `len`.
        unsafe {
            let (py, item) = match self {
                Items::List(list) => (list.py(), ffi::PyList_GetItem(list.as_ptr(), index as ffi::Py_ssize_t)),
                Items::Tuple(tuple) => (tuple.py(), ffi::PyTuple_GetItem(tuple.as_ptr(), index as ffi::Py_ssize_t)),
            };
            Borrowed::from_ptr_or_opt(py, item)
        }
    }
}

/// A shape of exact Python ints, with at least one thread. Written where it stays: a launch is too short for copies.
#[inline(always)]
pub(crate) fn plain_grid(dim: &Bound<'_, PyAny>, grid: &mut Grid) -> Option<()> {
    let extent = |item: &Bound<'_, PyAny>| plain_int(item).filter(|extent| (1..=MAX_EXTENT).contains(extent));
    grid.bounds = LaunchBounds::new([1; MAX_RANK]);
    if let Some(n_threads) = extent(dim) {
        (grid.bounds.extents[0], grid.rank, grid.n_threads) = (n_threads, 1, n_threads);
        return Some(());
    }
    let items = Items::of(dim)?;
    let rank = items.len();
    if !(1..=MAX_RANK).contains(&rank) {
        return None;
    }
    for (index, place) in grid.bounds.extents[..rank].iter_mut().enumerate() {
        let item = items.get(index)?;
        *place = extent(&item)?;
    }
    (grid.rank, grid.n_threads) = (rank as u32, grid.bounds.n_threads()?);
    Some(())
}
