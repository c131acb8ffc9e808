//! Copies and fills of arrays in the host's memory, whatever their strides.

use crate::array::Array;
use ::tape::Span;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use runtime_cpu::{Elements, Pool, copy_elements};

/// From so many bytes on, other Python threads may run meanwhile.
const LONG: u64 = 1 << 20;

/// Copies every element to an array of the same shape and size of element, as if through a third array.
#[pyfunction]
pub(crate) fn copy_host(py: Python<'_>, dest: &Bound<'_, Array>, src: &Bound<'_, Array>) -> PyResult<()> {
    let (dest, src) = (Side::of(dest.get())?, Side::of(src.get())?);
    if dest.extents != src.extents || dest.size != src.size {
        return Err(PyValueError::new_err("the arrays must have one shape and one size of element"));
    }
    let (Some(to), Some(from)) = (dest.span, src.span) else { return Ok(()) };
    let run = || {
        if to.overlaps(from) {
            let mut between = vec![0u8; dest.size as usize * dest.extents.iter().product::<i64>() as usize];
            let packed = Side { first: between.as_mut_ptr(), strides: row_major(&dest), ..dest.clone() };
            packed.copy_from(&src);
            dest.copy_from(&packed);
        } else {
            dest.copy_from(&src);
        }
    };
    if to.n_bytes() < LONG {
        run()
    } else {
        py.detach(run)
    }
    Ok(())
}

/// Sets every element to a value's bytes.
#[pyfunction]
pub(crate) fn fill_host(py: Python<'_>, dest: &Bound<'_, Array>, value: &[u8]) -> PyResult<()> {
    let dest = Side::of(dest.get())?;
    if value.len() as u64 != dest.size {
        let text = format!("elements have {} bytes, the value has {}", dest.size, value.len());
        return Err(PyValueError::new_err(text));
    }
    let Some(span) = dest.span else { return Ok(()) };
    let mut value = value.to_vec();
    let source = Side { first: value.as_mut_ptr(), strides: vec![0; dest.extents.len()], ..dest.clone() };
    if span.n_bytes() < LONG {
        dest.copy_from(&source)
    } else {
        py.detach(|| dest.copy_from(&source))
    }
    Ok(())
}

/// An array's elements.
#[derive(Clone)]
struct Side {
    first: *mut u8,
    size: u64,
    extents: Vec<i64>,
    strides: Vec<i64>,
    /// Nothing where there are no elements.
    span: Option<Span>,
}

// SAFETY: the memory is plain bytes; who else writes to it meanwhile is the program's business, as with any NumPy array.
unsafe impl Sync for Side {}

impl Side {
    fn of(array: &Array) -> PyResult<Side> {
        if !array.place.is_host() {
            return Err(PyValueError::new_err(format!("memory of {} is not the host's", array.place.device())));
        }
        let (size, descriptor) = (array.elem.size(), &array.descriptor);
        let (extents, strides) = descriptor[1..].split_at(descriptor.len() / 2);
        let words = |words: &[u64]| words.iter().map(|&word| word as i64).collect();
        Ok(Side {
            first: descriptor[0] as *mut u8,
            size,
            extents: words(extents),
            strides: words(strides),
            span: Span::of_array(descriptor, size),
        })
    }

    /// Copies the elements of a side of the same extents and size that has no byte in common with this one.
    fn copy_from(&self, source: &Side) {
        fn elements(side: &Side) -> Elements<'_> {
            Elements { first: side.first, strides: &side.strides }
        }
        // SAFETY: an array's memory is as long as its view says, and its owner lives as long as the arrays that the
        // caller holds.
        unsafe {
            copy_elements(Pool::global(), self.size as usize, &self.extents, elements(self), elements(source));
        }
    }
}

fn row_major(side: &Side) -> Vec<i64> {
    let mut strides = vec![side.size as i64; side.extents.len()];
    for d in (1..strides.len()).rev() {
        strides[d - 1] = strides[d] * side.extents[d];
    }
    strides
}
