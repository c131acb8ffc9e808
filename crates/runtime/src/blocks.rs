//! What compiled block programs ask of the machine thread that runs them: memory for a block, and the grid's barrier.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::null_mut;

const ALIGN: usize = 64;

/// Memory that one block after the other uses.
#[derive(Debug)]
pub struct BlockMemory {
    base: *mut u8,
    size: usize,
}

impl BlockMemory {
    pub const fn new() -> BlockMemory {
        BlockMemory { base: null_mut(), size: 0 }
    }

    /// At least `size` bytes, aligned to a cache line; the same as before while that is large enough.
    pub fn get(&mut self, size: usize) -> *mut u8 {
        if size > self.size || self.base.is_null() {
            self.release();
            let size = size.max(1).next_power_of_two().max(1 << 12);
            let layout = Layout::from_size_align(size, ALIGN).unwrap_or(Layout::new::<u8>());
            // SAFETY: the size is not 0.
            let base = unsafe { alloc(layout) };
            if base.is_null() {
                handle_alloc_error(layout);
            }
            (self.base, self.size) = (base, size);
        }
        self.base
    }

    fn release(&mut self) {
        if let (false, Ok(layout)) = (self.base.is_null(), Layout::from_size_align(self.size, ALIGN)) {
            // SAFETY: allocated above with this layout.
            unsafe { dealloc(self.base, layout) };
        }
        (self.base, self.size) = (null_mut(), 0);
    }
}

impl Default for BlockMemory {
    fn default() -> BlockMemory {
        BlockMemory::new()
    }
}

impl Drop for BlockMemory {
    fn drop(&mut self) {
        self.release();
    }
}

/// A block that takes turns with others on one machine thread.
pub trait Turns {
    /// Memory of this block alone.
    fn memory(&self, size: usize) -> *mut u8;
    /// Lets the others run, and comes back when all blocks of the grid have waited.
    fn wait_for_grid(&self);
}

thread_local! {
    static MEMORY: RefCell<BlockMemory> = const { RefCell::new(BlockMemory::new()) };
    static TURNS: Cell<Option<*const dyn Turns>> = const { Cell::new(None) };
}

/// Says which block runs on this machine thread from now on; `None` where blocks run to their ends.
///
/// # Safety
/// The block outlives its turn.
pub unsafe fn set_turns(turns: Option<*const dyn Turns>) {
    TURNS.set(turns);
}

/// Memory for the blocks that a call of compiled code runs.
pub extern "C" fn gs_block_memory(size: i64) -> *mut u8 {
    let size = usize::try_from(size).unwrap_or(0);
    match TURNS.get() {
        // SAFETY: whoever set it keeps it alive meanwhile.
        Some(turns) => unsafe { (*turns).memory(size) },
        None => MEMORY.with_borrow_mut(|memory| memory.get(size)),
    }
}

/// Waits for all blocks of a cooperative launch.
pub extern "C" fn gs_grid_barrier() {
    if let Some(turns) = TURNS.get() {
        // SAFETY: as above.
        unsafe { (*turns).wait_for_grid() };
    }
}
