//! When objects changed that kernels find by their ids: meshes, hierarchies, hash grids.
//!
//! In: ids of objects whose memory was renewed or given up. Out: whether a launch recorded before that had one of them
//! among its arguments: its adjoint kernel would read another object than it did.

use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

static N_CHANGES: AtomicU64 = AtomicU64::new(0);
/// By id: the number of its last change.
static CHANGES: LazyLock<Mutex<HashMap<u64, u64>>> = LazyLock::new(Mutex::default);

/// Notes that the object with this id has changed, or is no more.
#[pyfunction]
pub(crate) fn object_changed(id: u64) {
    let mut changes = CHANGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let n = N_CHANGES.fetch_add(1, Ordering::Relaxed) + 1;
    changes.insert(id, n);
}

pub(crate) fn n_changes() -> u64 {
    N_CHANGES.load(Ordering::Relaxed)
}

/// Whether one of these words is the id of an object that changed after so many changes.
pub(crate) fn changed_since(n_changes: u64, words: &[u64]) -> bool {
    if self::n_changes() == n_changes {
        return false;
    }
    let changes = CHANGES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    words.iter().any(|word| changes.get(word).is_some_and(|&n| n > n_changes))
}
