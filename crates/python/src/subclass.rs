//! A cheaper test for instances of our classes, which are always instances of one Python subclass.

use pyo3::PyTypeInfo;
use pyo3::ffi::PyTypeObject;
use pyo3::prelude::*;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The first subclass met of one of our classes.
pub(crate) struct KnownClass(AtomicPtr<PyTypeObject>);

impl KnownClass {
    pub(crate) const fn new() -> KnownClass {
        KnownClass(AtomicPtr::new(null_mut()))
    }

    /// As `cast`, for instances of the class met first alone: no look at Python's class tree.
    #[inline]
    pub(crate) fn known<'a, 'py, T: PyTypeInfo>(&self, value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, T>> {
        let is_known = self.0.load(Ordering::Relaxed) == value.get_type_ptr();
        // SAFETY: `cast` stored this class when an instance of it was a `T`.
        is_known.then(|| unsafe { value.cast_unchecked::<T>() })
    }

    /// `value` as a `T`. One `KnownClass` serves one `T`.
    #[inline]
    pub(crate) fn cast<'a, 'py, T: PyTypeInfo>(&self, value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, T>> {
        let class = value.get_type_ptr();
        if self.0.load(Ordering::Relaxed) == class {
            // SAFETY: this class was stored below, when an instance of it was a `T`.
            return Some(unsafe { value.cast_unchecked::<T>() });
        }
        let found = value.cast::<T>().ok()?;
        if self.0.compare_exchange(null_mut(), class, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            // Kept for good: its address must never be that of another class.
            std::mem::forget(value.get_type());
        }
        Some(found)
    }
}
