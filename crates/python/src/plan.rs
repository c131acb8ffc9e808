//! What was compiled for one signature of a kernel, and what failed to.
//!
//! In: a kernel, options, the launch's rank and whether its arrays are contiguous. Out: code that is ready to run, or
//! the error that compiling it gave the first time.

use crate::errors::Failure;
use crate::function::Kernel;
use crate::host::LiveHost;
use crate::options::{CompileOptions, disk_cache};
use ir::Type;
use pipeline::{LoadedModule, Specialization, Unit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, MutexGuard};

type Outcome<T> = Result<Arc<T>, Arc<Failure>>;

/// Units and code of one signature.
#[derive(Default)]
pub(crate) struct Variants {
    units: Mutex<Vec<(UnitKey, Outcome<Unit>)>>,
    codes: Mutex<Vec<(UnitKey, bool, Outcome<Ready>)>>,
}

/// What the IR depends on besides the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitKey {
    pub(crate) options: CompileOptions,
    pub(crate) rank: u32,
}

/// Code that can run.
pub(crate) struct Ready {
    pub(crate) unit: Arc<Unit>,
    pub(crate) module: Arc<LoadedModule>,
}

impl Variants {
    /// The optimized IR of a kernel for this signature.
    pub(crate) fn unit(&self, kernel: &Bound<'_, Kernel>, types: &[Type], key: UnitKey) -> PyResult<Arc<Unit>> {
        let py = kernel.py();
        let known = lock(&self.units).iter().find(|(known, _)| *known == key).map(|(_, outcome)| outcome.clone());
        let outcome = match known {
            Some(outcome) => outcome,
            None => {
                // Without the lock: the kernel's source may run Python code that launches it.
                let outcome = build(kernel, types, key);
                let mut units = lock(&self.units);
                match units.iter().find(|(known, _)| *known == key) {
                    Some((_, first)) => first.clone(),
                    None => {
                        units.push((key, outcome.clone()));
                        outcome
                    }
                }
            }
        };
        outcome.map_err(|failure| failure.raise(py))
    }

    /// Code for this signature, compiled on first use.
    pub(crate) fn code(
        &self,
        kernel: &Bound<'_, Kernel>,
        types: &[Type],
        key: UnitKey,
        is_contiguous: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Arc<Ready>> {
        let py = kernel.py();
        if let Some((.., outcome)) = lock(&self.codes).iter().find(|(k, c, _)| *k == key && *c == is_contiguous) {
            return outcome.clone().map_err(|failure| failure.raise(py));
        }
        let unit = self.unit(kernel, types, key)?;
        let disk = disk_cache(py, options)?;
        let special = Specialization { contiguous: is_contiguous, rank: key.rank };
        let loaded = py.detach(|| pipeline::load(&unit, special, disk.as_ref()));
        let outcome = match loaded {
            Ok(module) => Ok(Arc::new(Ready { unit, module })),
            Err(error) => Err(Arc::new(Failure::new(&kernel.get().name, error.to_string()))),
        };
        lock(&self.codes).push((key, is_contiguous, outcome.clone()));
        outcome.map_err(|failure| failure.raise(py))
    }
}

fn build(kernel: &Bound<'_, Kernel>, types: &[Type], key: UnitKey) -> Outcome<Unit> {
    let host = LiveHost::new(kernel.py());
    let id = host.register(kernel.as_any());
    let unit = pipeline::build(&host, id, types, &key.options.for_rank(key.rank));
    unit.map(Arc::new).map_err(|rejected| Arc::new(Failure::rejected("kernel", &kernel.get().name, &rejected)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
