//! The gradients of a launch's arguments, as packed arguments of its adjoint kernel.

use crate::array::{self, Array};
use crate::tape::Place;
use crate::tape::state::{Entry, Launched, Shared};
use crate::tape::watch;
use ::tape::Span;
use pyo3::intern;
use pyo3::prelude::*;
use std::collections::HashSet;

/// An array's gradient, where it has one.
pub(crate) fn gradient<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let found = match array::CLASS.known::<Array>(array) {
        Some(_) => array.getattr(intern!(py, "_grad"))?,
        None => match array.getattr_opt(intern!(py, "grad"))? {
            Some(found) => found,
            None => return Ok(None),
        },
    };
    Ok((!found.is_none()).then_some(found))
}

impl Launched {
    /// The array object of a place.
    pub(crate) fn array<'a, 'py>(
        &'a self,
        py: Python<'py>,
        index: usize,
        place: &Place,
    ) -> Option<&'a Bound<'py, PyAny>> {
        if place.path.is_empty() {
            return Some(self.args[place.param].bind(py));
        }
        self.inner.iter().find(|(known, _)| *known == index).map(|(_, array)| array.bind(py))
    }

    /// Calls `visit` with each float array of the launch and its gradient.
    pub(crate) fn gradients<'py>(
        &self,
        py: Python<'py>,
        mut visit: impl FnMut(usize, &Place, Option<Bound<'py, PyAny>>) -> PyResult<()>,
    ) -> PyResult<()> {
        for (index, place) in self.signature.places().iter().enumerate().filter(|(_, place)| place.is_float) {
            let found = match self.array(py, index, place) {
                Some(array) if !array.is_none() => gradient(array)?,
                _ => None,
            };
            visit(index, place, found)?;
        }
        Ok(())
    }

    /// "array `x` of kernel `k`".
    pub(crate) fn name_of(&self, place: &Place) -> String {
        let kernel = self.kernel.get();
        let mut name = kernel.params[place.param].name.clone();
        for field in &place.path {
            name.push('.');
            name.push_str(field);
        }
        format!("array `{name}` of kernel `{}`", kernel.name)
    }
}

/// The descriptor of a gradient, where it fits the place.
pub(crate) fn descriptor<'a>(gradient: &'a Bound<'_, PyAny>, place: &Place) -> Option<&'a Array> {
    let found = array::CLASS.cast::<Array>(gradient)?.get();
    (found.elem == place.elem && found.descriptor.len() == place.n_words()).then_some(found)
}

/// Sets all gradients that entries use to zero.
pub(crate) fn zero(py: Python<'_>, tape: &Shared) -> PyResult<()> {
    tape.edit(|state| state.has_leftovers = false);
    let mut known = HashSet::new();
    let mut found: Vec<Py<PyAny>> = Vec::new();
    tape.read(|state| -> PyResult<()> {
        let mut add = |gradient: Bound<'_, PyAny>| {
            if known.insert(gradient.as_ptr() as usize) {
                found.push(gradient.unbind());
            }
        };
        for entry in &state.entries {
            match entry {
                Entry::Launch(launch) => launch.gradients(py, |_, _, gradient| {
                    gradient.into_iter().for_each(&mut add);
                    Ok(())
                })?,
                Entry::Func(func) => {
                    for array in func.reads.iter().chain(&func.writes) {
                        gradient(array.bind(py))?.into_iter().for_each(&mut add);
                    }
                }
            }
        }
        Ok(())
    })?;
    found.iter().try_for_each(|gradient| zero_one(gradient.bind(py)))
}

pub(crate) fn zero_one(gradient: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = gradient.py();
    if let Some(found) = array::CLASS.cast::<Array>(gradient).map(|found| found.get())
        && found.is_contiguous
    {
        if let Some(span) = Span::of_array(&found.descriptor, found.elem.size()) {
            watch::before_write(span, false, &|| "tape.zero()".to_owned())?;
            if found.place.is_host() {
                // SAFETY: the array's own memory, which it keeps alive.
                unsafe { std::ptr::write_bytes(span.lo as *mut u8, 0, span.n_bytes() as usize) };
            } else {
                crate::cuda::keep_while_captured([gradient.clone()]);
                // SAFETY: as above; it is freed in the order of streams.
                unsafe { watch::memory_of(span).zero(span.lo, span.n_bytes()) };
            }
        }
        return Ok(());
    }
    gradient.call_method0(intern!(py, "zero_")).map(drop)
}
