//! `Array` and `Buffer`: device memory that a launch reads without calling Python.

use crate::subclass::KnownClass;
use crate::types::{PyIrType, user_name};
use ir::Type;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};
use runtime::abi::MAX_RANK;
use smallvec::SmallVec;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Words of an array's descriptor: pointer, extents, strides in bytes.
pub(crate) type Descriptor = SmallVec<[u64; 1 + 2 * MAX_RANK]>;

/// The class of arrays that programs see.
pub(crate) static CLASS: KnownClass = KnownClass::new();

/// A view of device memory. Strides are in bytes; `owner` lives as long as the view.
#[pyclass(name = "Array", module = "gridstride._native", subclass, frozen)]
pub(crate) struct Array {
    pub(crate) elem: Type,
    pub(crate) descriptor: Descriptor,
    pub(crate) is_contiguous: bool,
    pub(crate) is_aligned: bool,
    pub(crate) is_short: bool,
    pub(crate) place: Where,
    owner: Py<PyAny>,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    Host,
    /// Page-locked memory of the host, which GPUs read and write too.
    Pinned,
    /// On the CUDA device of that number.
    Cuda(u32),
    /// Of the CUDA device of that number, and of the host.
    Managed(u32),
}

impl Where {
    pub(crate) fn from_name(name: &str) -> Option<Where> {
        let number = |text: &str| text.parse().ok();
        match name {
            "cpu" | "interp" => Some(Where::Host),
            "pinned" => Some(Where::Pinned),
            _ => match (name.strip_prefix("cuda:"), name.strip_prefix("managed:")) {
                (Some(ordinal), _) => number(ordinal).map(Where::Cuda),
                (_, Some(ordinal)) => number(ordinal).map(Where::Managed),
                _ => None,
            },
        }
    }

    /// The name that `from_name` takes.
    pub(crate) fn name(self) -> String {
        match self {
            Where::Host => "cpu".to_owned(),
            Where::Pinned => "pinned".to_owned(),
            Where::Cuda(ordinal) => format!("cuda:{ordinal}"),
            Where::Managed(ordinal) => format!("managed:{ordinal}"),
        }
    }

    /// The device, as users call it.
    pub(crate) fn device(self) -> String {
        match self {
            Where::Host | Where::Pinned => "cpu".to_owned(),
            Where::Cuda(ordinal) | Where::Managed(ordinal) => format!("cuda:{ordinal}"),
        }
    }

    /// Where the driver, if it is in use, says that an address leads.
    pub(crate) fn of(ptr: u64) -> Where {
        match runtime_cuda::pointer_place(ptr) {
            runtime_cuda::PointerPlace::Host => Where::Host,
            runtime_cuda::PointerPlace::Device(ordinal) => Where::Cuda(ordinal),
            runtime_cuda::PointerPlace::Pinned | runtime_cuda::PointerPlace::Managed => Where::Pinned,
        }
    }

    #[inline]
    pub(crate) fn is_host(self) -> bool {
        !matches!(self, Where::Cuda(_))
    }
}

#[pymethods]
impl Array {
    #[new]
    #[pyo3(signature = (dtype, ptr, shape, strides, device, owner=None))]
    fn new(
        py: Python<'_>,
        dtype: PyIrType,
        ptr: u64,
        shape: Vec<i64>,
        strides: Vec<i64>,
        device: String,
        owner: Option<Py<PyAny>>,
    ) -> PyResult<Array> {
        let elem = dtype.0;
        let place = Where::from_name(&device)
            .ok_or_else(|| PyValueError::new_err(format!("memory is on no device of the name {device:?}")))?;
        check_view(elem, ptr, &shape, &strides).map_err(PyValueError::new_err)?;
        let descriptor = descriptor(ptr, &shape, &strides);
        Ok(Array {
            elem,
            is_aligned: is_aligned(elem.size(), &descriptor),
            is_short: is_short(&descriptor),
            descriptor,
            is_contiguous: is_contiguous(elem.size() as i64, &shape, &strides),
            place,
            owner: owner.unwrap_or_else(|| py.None()),
        })
    }

    /// Element type.
    #[getter]
    fn _type(&self) -> PyIrType {
        PyIrType(self.elem)
    }

    #[getter]
    fn ptr(&self) -> u64 {
        self.descriptor[0]
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.extents().iter().map(|&extent| extent as i64))
    }

    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.descriptor[1 + self.ndim()..].iter().map(|&stride| stride as i64))
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.descriptor.len() / 2
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> u64 {
        self.extents().iter().product()
    }

    #[getter]
    fn is_contiguous(&self) -> bool {
        self.is_contiguous
    }

    /// Where the memory is: "cpu", "pinned", "cuda:0", "managed:0".
    #[getter]
    fn _place(&self) -> String {
        self.place.name()
    }

    /// Whether the CPU reads the memory.
    #[getter]
    fn _is_host(&self) -> bool {
        self.place.is_host()
    }

    #[getter]
    fn _owner(&self, py: Python<'_>) -> Py<PyAny> {
        self.owner.clone_ref(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

impl Array {
    /// An array with the extents and strides of a descriptor, at another address. Nothing keeps the memory for it.
    pub(crate) fn part(elem: Type, words: &[u64], ptr: u64) -> Array {
        let dims = words[1..].iter().map(|&word| word as i64).collect::<Vec<_>>();
        let (shape, strides) = dims.split_at(dims.len() / 2);
        let descriptor = descriptor(ptr, shape, strides);
        Array {
            elem,
            is_aligned: is_aligned(elem.size(), &descriptor),
            is_short: is_short(&descriptor),
            descriptor,
            is_contiguous: is_contiguous(elem.size() as i64, shape, strides),
            place: Where::of(ptr),
            owner: Python::attach(|py| py.None()),
        }
    }

    pub(crate) fn ty(&self) -> Type {
        Type::array(self.elem, self.ndim() as u32)
    }

    pub(crate) fn extents(&self) -> &[u64] {
        &self.descriptor[1..1 + self.ndim()]
    }
}

pub(crate) fn descriptor(ptr: u64, shape: &[i64], strides: &[i64]) -> Descriptor {
    std::iter::once(ptr).chain(shape.iter().chain(strides).map(|&word| word as u64)).collect()
}

/// What a view must keep to, so that compiled code may rely on it.
pub(crate) fn check_view(elem: Type, ptr: u64, shape: &[i64], strides: &[i64]) -> Result<(), String> {
    if !(1..=MAX_RANK).contains(&shape.len()) {
        return Err(format!("an array has 1 to {MAX_RANK} dimensions, not {}", shape.len()));
    }
    if shape.len() != strides.len() {
        return Err(format!("{} extents need as many strides, not {}", shape.len(), strides.len()));
    }
    if let Some(extent) = shape.iter().find(|&&extent| extent < 0) {
        return Err(format!("an extent of {extent} is negative"));
    }
    let size = shape.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent));
    if size.and_then(|size| size.checked_mul(elem.size() as i64)).is_none() {
        return Err("an array of this shape does not fit into memory".to_owned());
    }
    let align = elem.align();
    let is_aligned = |word: i64| word.unsigned_abs().is_multiple_of(align);
    if size != Some(0) && !(ptr.is_multiple_of(align) && strides.iter().all(|&stride| is_aligned(stride))) {
        let name = user_name(elem);
        return Err(format!("elements of type {name} must lie at multiples of {align} bytes; copy the array first"));
    }
    Ok(())
}

/// Bytes of the widest access of a GPU's thread.
const WIDEST: u64 = 16;

/// Whether an array begins at a multiple of the widest access, and so does every row of one without gaps.
pub(crate) fn is_aligned(elem_size: u64, descriptor: &[u64]) -> bool {
    let rank = descriptor.len() / 2;
    descriptor[0].is_multiple_of(WIDEST) && (rank == 1 || (descriptor[rank] * elem_size).is_multiple_of(WIDEST))
}

/// Whether the elements are so few that 32 bits number them.
pub(crate) fn is_short(descriptor: &[u64]) -> bool {
    let most = 1 << 31;
    let product = |n: u64, &extent: &u64| n.checked_mul(extent).filter(|&n| n < most && extent < most);
    descriptor[1..=descriptor.len() / 2].iter().try_fold(1, product).is_some()
}

/// Row-major without gaps. Dimensions of one element may have any stride, and empty arrays any strides.
pub(crate) fn is_contiguous(elem_size: i64, shape: &[i64], strides: &[i64]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = elem_size;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        if extent != 1 && stride != expected {
            return false;
        }
        expected *= extent;
    }
    true
}

/// Owned CPU memory at a multiple of 64 bytes. Freed with the object.
#[pyclass(name = "Buffer", module = "gridstride._native", frozen, weakref)]
pub(crate) struct Buffer {
    base: *mut u8,
    layout: Layout,
    ptr: u64,
    n_bytes: usize,
}

// SAFETY: the memory is plain bytes; who writes to it when is the program's business, as with any NumPy array.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

const CACHE_LINE: usize = 64;
const PAGE: usize = 4096;
/// Arrays of so many bytes begin at different places of a page.
const STAGGERED: usize = 64 << 10;

#[pymethods]
impl Buffer {
    #[new]
    #[pyo3(signature = (n_bytes, zeroed=true))]
    fn new(n_bytes: usize, zeroed: bool) -> PyResult<Buffer> {
        let too_large = || PyMemoryError::new_err(format!("cannot allocate {n_bytes} bytes"));
        // Asking for malloc's own alignment lets the system hand out zero pages; the rest is done by hand.
        let slack = if n_bytes >= STAGGERED { PAGE } else { CACHE_LINE };
        let padded = n_bytes.checked_add(slack).ok_or_else(too_large)?;
        let layout = Layout::from_size_align(padded, 16).map_err(|_| too_large())?;
        // SAFETY: the layout's size is at least CACHE_LINE.
        let base = unsafe { if zeroed { alloc_zeroed(layout) } else { alloc(layout) } };
        if base.is_null() {
            return Err(too_large());
        }
        ask_for_huge_pages(base, padded);
        let place = if n_bytes >= STAGGERED { place_in_page() } else { 0 };
        // The first address from `base` on that is as far from a multiple of `slack` as `place` is.
        let ptr = (base as usize + place.wrapping_sub(base as usize) % slack) as u64;
        Ok(Buffer { base, layout, ptr, n_bytes })
    }

    #[getter]
    fn ptr(&self) -> u64 {
        self.ptr
    }

    #[getter]
    fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

/// Where in a page the next large array begins, in bytes: a multiple of a cache line, far from the last few.
///
/// `malloc` begins every large array at the same place of a page. A processor tells a load from the stores before it by
/// the lowest 12 bits of their addresses, so that `b[i] = a[i - 1] + a[i + 1]` over two such arrays makes loads wait for
/// stores that they do not depend on: a 3-point stencil is 1.3 times as fast with its arrays apart (Intel 64 and IA-32
/// Architectures Optimization Reference Manual, "4-KByte memory aliasing").
fn place_in_page() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    // The part of a page nearest to the golden ratio that is an odd number of lines: all 64 places come in turn, and
    // those of neighbors are 1600 bytes apart or more.
    const STEP: usize = 39 * CACHE_LINE;
    COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP) % PAGE
}

/// A kernel that streams through large arrays spends much of its time on the page table where pages are small. The
/// system may refuse; then they stay small.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(base: *mut u8, n_bytes: usize) {
    if n_bytes >= 4 << 20 {
        let start = (base as usize).next_multiple_of(PAGE);
        let end = (base as usize + n_bytes) & !(PAGE - 1);
        // SAFETY: the range lies within the allocation; the advice changes no byte.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: *mut u8, _: usize) {}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.base, self.layout) }
    }
}
