//! Code in memory.
//!
//! In: the bytes of an object file that [`crate::compile`] made, now or in another run. Out: a [`LoadedModule`] whose
//! code stays until it is dropped. Pages are written first and executed later, never both.

use crate::link::{Image, link};
use crate::{Error, Result, symbols};
use runtime::{BlockEntryPoint, EntryPoint};
use std::ptr::NonNull;

/// Machine code in memory. Dropping it frees the code: no launch may run it then.
#[derive(Debug)]
pub struct LoadedModule {
    entry: EntryPoint,
    /// Keeps the code of `entry`.
    _pages: Pages,
}

impl LoadedModule {
    pub fn entry(&self) -> EntryPoint {
        self.entry
    }

    /// The entry point of a block program. What it is given must be what the kernel's kind demands, as for `entry`.
    pub fn block_entry(&self) -> BlockEntryPoint {
        // SAFETY: the two differ in what one pointer points to; calling it is up to the caller.
        unsafe { std::mem::transmute::<EntryPoint, BlockEntryPoint>(self.entry) }
    }
}

/// Links an object file's code into this process.
pub fn load(object: &[u8], symbol: &str) -> Result<LoadedModule> {
    let image = link(object, symbol, symbols::find)?;
    let pages = Pages::of(&image)?;
    // SAFETY: the entry point lies in the pages with code, and the object was made by `compile`, whose entry points have
    // this type.
    let entry = unsafe { std::mem::transmute::<*mut u8, EntryPoint>(pages.begin.as_ptr().add(image.entry)) };
    Ok(LoadedModule { entry, _pages: pages })
}

/// Memory of our own that is not written to any more.
#[derive(Debug)]
struct Pages {
    begin: NonNull<u8>,
    size: usize,
}

// SAFETY: the pages belong to no thread, and nobody writes to them.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn of(image: &Image) -> Result<Pages> {
        let size = image.bytes.len();
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new pages, wherever there is room.
        let begin = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
        let pages = match NonNull::new(begin.cast::<u8>()).filter(|_| begin != libc::MAP_FAILED) {
            Some(begin) => Pages { begin, size },
            None => return Err(failed("mmap")),
        };
        // SAFETY: the pages are as long as the image, and nobody else knows of them yet.
        unsafe { pages.begin.as_ptr().copy_from_nonoverlapping(image.bytes.as_ptr(), size) };
        pages.protect(0..image.n_code, libc::PROT_READ | libc::PROT_EXEC)?;
        pages.protect(image.n_code..size, libc::PROT_READ)?;
        Ok(pages)
    }

    fn protect(&self, range: std::ops::Range<usize>, access: i32) -> Result<()> {
        // SAFETY: whole pages of our own; without any, nothing happens.
        let result = unsafe { libc::mprotect(self.begin.as_ptr().add(range.start).cast(), range.len(), access) };
        if result == 0 { Ok(()) } else { Err(failed("mprotect")) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the pages are our own, and whoever drops them promises that no code in them runs.
        unsafe { libc::munmap(self.begin.as_ptr().cast(), self.size) };
    }
}

fn failed(call: &'static str) -> Error {
    Error::llvm(call, std::io::Error::last_os_error())
}
