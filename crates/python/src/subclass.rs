//! A cheaper test for instances of our classes, which are instances of few Python subclasses: one a style.

use pyo3::PyTypeInfo;
use pyo3::ffi::PyTypeObject;
use pyo3::prelude::*;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The first subclasses met of one of our classes.
pub(crate) struct KnownClass([AtomicPtr<PyTypeObject>; 4]);

impl KnownClass {
    pub(crate) const fn new() -> KnownClass {
        KnownClass([const { AtomicPtr::new(null_mut()) }; 4])
    }

    /// As `cast`, for instances of the classes met first alone: no look at Python's class tree.
    #[inline]
    pub(crate) fn known<'a, 'py, T: PyTypeInfo>(&self, value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, T>> {
        let class = value.get_type_ptr();
        let is_known = self.0.iter().any(|known| known.load(Ordering::Relaxed) == class);
        // SAFETY: `cast` stored this class when an instance of it was a `T`.
        is_known.then(|| unsafe { value.cast_unchecked::<T>() })
    }

    /// `value` as a `T`. One `KnownClass` serves one `T`.
    #[inline]
    pub(crate) fn cast<'a, 'py, T: PyTypeInfo>(&self, value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, T>> {
        if let Some(found) = self.known(value) {
            return Some(found);
        }
        let found = value.cast::<T>().ok()?;
        self.learn(value);
        Some(found)
    }

    #[cold]
    fn learn(&self, value: &Bound<'_, PyAny>) {
        let class = value.get_type_ptr();
        let takes = |place: &AtomicPtr<PyTypeObject>| {
            place.compare_exchange(null_mut(), class, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if self.0.iter().any(takes) {
            // Kept for good: its address must never be that of another class.
            std::mem::forget(value.get_type());
        }
    }
}
