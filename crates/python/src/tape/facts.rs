//! What the backward pass of a kernel needs, found once for each signature and option.

use crate::array::Array;
use crate::plan::UnitKey;
use crate::tape::record::Launching;
use crate::tape::state::Launched;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use std::sync::Arc;

/// One parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ParamFacts {
    /// The backward pass reads the array's values from before the launch.
    pub(crate) reads: bool,
    /// The forward pass reads it.
    pub(crate) loads: bool,
    /// The forward pass writes it.
    pub(crate) writes: bool,
    /// The adjoint kernel has a parameter for its gradient.
    pub(crate) adjoint: bool,
}

pub(crate) struct Facts {
    pub(crate) params: Vec<ParamFacts>,
}

/// The facts of a launch's kernel.
pub(crate) fn of(launching: &Launching<'_, '_>) -> PyResult<Arc<Facts>> {
    let _: UnitKey = launching.key;
    let param = |(index, &ty): (usize, &ir::Type)| {
        let adjoint = crate::tape::places::carries_derivatives(ty)
            || launching.signature.places().iter().any(|place| place.param == index && place.is_float);
        ParamFacts { reads: adjoint, loads: true, writes: launching.written[index], adjoint }
    };
    Ok(Arc::new(Facts { params: launching.signature.types.iter().enumerate().map(param).collect() }))
}

impl Facts {
    /// Runs the adjoint kernel. `words` are the arguments with arrays as they were before the launch; `gradients` has
    /// one for each place, or none.
    pub(crate) fn run(
        &self,
        _py: Python<'_>,
        _launch: &Launched,
        _words: &[u64],
        _gradients: &[Option<&Array>],
    ) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("gradients are not available yet"))
    }
}
