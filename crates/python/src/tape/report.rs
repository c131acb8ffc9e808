//! What is on a tape, for Python.

use crate::tape::device_name;
use crate::tape::state::{Entry, Shared};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Every entry as a tuple.
pub(crate) fn entries<'py>(py: Python<'py>, tape: &Shared) -> PyResult<Bound<'py, PyList>> {
    let found = tape.read(|state| {
        let entry = |entry: &Entry| match entry {
            Entry::Launch(launch) => {
                let extents = &launch.grid.bounds.extents[..launch.grid.rank as usize];
                let args = PyList::new(py, launch.args.iter().map(|arg| arg.bind(py)))?;
                let (dim, device) = (PyTuple::new(py, extents)?, device_name(launch.device));
                let block_dim = launch.key.options.block_dim.max(1);
                (&launch.kernel, dim, launch.n_inputs, args, device, block_dim).into_pyobject(py).map(Bound::into_any)
            }
            Entry::Func(func) => {
                let list = |arrays: &[Py<PyAny>]| PyList::new(py, arrays.iter().map(|array| array.bind(py)));
                (func.name.as_str(), &func.backward, list(&func.reads)?, list(&func.writes)?)
                    .into_pyobject(py)
                    .map(Bound::into_any)
            }
        };
        state.entries.iter().map(entry).collect::<PyResult<Vec<_>>>()
    })?;
    PyList::new(py, found)
}

/// For each parameter of a launch whether its arrays are read and written, and whether the way back reads what was there.
pub(crate) fn accesses(_py: Python<'_>, tape: &Shared, index: usize) -> PyResult<Vec<(bool, bool, bool)>> {
    tape.read(|state| match state.entries.get(index) {
        Some(Entry::Launch(launch)) => {
            Ok(launch.facts.params.iter().map(|param| (param.loads, param.writes, param.reads)).collect())
        }
        _ => Err(PyIndexError::new_err(format!("entry {index} of the tape is no launch"))),
    })
}
