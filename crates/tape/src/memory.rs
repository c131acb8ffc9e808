//! Copies of memory, wherever the memory is.

use crate::Span;
use std::alloc::{Layout, alloc, dealloc};
use std::fmt;

/// Memory of one device.
pub trait Memory: Sync {
    /// New memory of that size, at a multiple of 64. Freed by [`Memory::free`].
    fn allocate(&self, n_bytes: u64) -> Result<u64, OutOfMemory>;

    /// # Safety
    /// `address` came from [`Memory::allocate`] with this size, and nothing uses it any more.
    unsafe fn free(&self, address: u64, n_bytes: u64);

    /// Copies after all that was asked of the device before, and before all that will be.
    ///
    /// # Safety
    /// Both ranges lie in this device's memory, and do not overlap.
    unsafe fn copy(&self, to: u64, from: u64, n_bytes: u64);

    /// Sets bytes to zero, in the same order.
    ///
    /// # Safety
    /// The range lies in this device's memory.
    unsafe fn zero(&self, at: u64, n_bytes: u64);
}

/// No memory is left for a copy of this many bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct OutOfMemory(pub u64);

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot allocate {} bytes to save values that the backward pass needs", self.0)
    }
}

/// The bytes that a span held at some moment.
pub struct Saved {
    pub span: Span,
    /// Where the byte of `span.lo` is now. Equal to it modulo 64, so that what is aligned stays so.
    pub at: u64,
    memory: &'static dyn Memory,
}

const ALIGN: u64 = 64;

impl Saved {
    /// Copies what `span` holds.
    ///
    /// # Safety
    /// The span lies in that memory.
    pub unsafe fn new(memory: &'static dyn Memory, span: Span) -> Result<Saved, OutOfMemory> {
        let saved = Saved::uninit(memory, span)?;
        // SAFETY: the caller's promise; the copy is new memory of that size.
        unsafe { memory.copy(saved.at, span.lo, span.n_bytes()) };
        Ok(saved)
    }

    /// A place for what a span holds, not filled.
    pub fn uninit(memory: &'static dyn Memory, span: Span) -> Result<Saved, OutOfMemory> {
        let base = memory.allocate(padded(span))?;
        Ok(Saved { span, at: base + span.lo % ALIGN, memory })
    }

    /// Zeros in a place for what a span holds.
    pub fn zeroed(memory: &'static dyn Memory, span: Span) -> Result<Saved, OutOfMemory> {
        let made = Saved::uninit(memory, span)?;
        // SAFETY: new memory of that size.
        unsafe { memory.zero(made.at, span.n_bytes()) };
        Ok(made)
    }

    /// Writes the bytes back to where they came from.
    ///
    /// # Safety
    /// The span's memory is still there.
    pub unsafe fn restore(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.memory.copy(self.span.lo, self.at, self.span.n_bytes()) };
    }

    /// Another copy of the same bytes.
    pub fn again(&self) -> Result<Saved, OutOfMemory> {
        let other = Saved::uninit(self.memory, self.span)?;
        // SAFETY: both are memory of this device, of the span's size.
        unsafe { self.memory.copy(other.at, self.at, self.span.n_bytes()) };
        Ok(other)
    }

    pub fn memory(&self) -> &'static dyn Memory {
        self.memory
    }

    /// Where the copy has what lay at `address`.
    pub fn moved(&self, address: u64) -> u64 {
        address.wrapping_sub(self.span.lo).wrapping_add(self.at)
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        // SAFETY: allocated in `uninit` with this size.
        unsafe { self.memory.free(self.at - self.span.lo % ALIGN, padded(self.span)) };
    }
}

fn padded(span: Span) -> u64 {
    span.n_bytes() + span.lo % ALIGN
}

/// The CPU's memory.
pub static HOST: Host = Host;

pub struct Host;

impl Memory for Host {
    fn allocate(&self, n_bytes: u64) -> Result<u64, OutOfMemory> {
        let layout = layout(n_bytes).ok_or(OutOfMemory(n_bytes))?;
        // SAFETY: the size is not zero.
        let address = unsafe { alloc(layout) } as u64;
        if address == 0 { Err(OutOfMemory(n_bytes)) } else { Ok(address) }
    }

    unsafe fn free(&self, address: u64, n_bytes: u64) {
        if let Some(layout) = layout(n_bytes) {
            // SAFETY: the caller's promise; `allocate` made the same layout.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }

    unsafe fn copy(&self, to: u64, from: u64, n_bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, n_bytes as usize) };
    }

    unsafe fn zero(&self, at: u64, n_bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0, n_bytes as usize) };
    }
}

fn layout(n_bytes: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(n_bytes).ok()?.max(1), ALIGN as usize).ok()
}
