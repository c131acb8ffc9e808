//! The calling convention between a launch and a compiled kernel on the CPU.
//!
//! Arguments are packed one after the other, each aligned to 8 bytes, in the layout of `ir::layout`.
//! Threads are numbered row by row: thread `t` of a launch over (n0, n1, n2, n3) has the index
//! (t / (n1 n2 n3), t / (n2 n3) mod n1, t / n3 mod n2, t mod n3). A launch of rank r uses the first r extents; the
//! rest are 1, so that the last used dimension runs fastest.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most dimensions of a launch and of an array.
pub const MAX_RANK: usize = 4;

/// The shape of a launch. Unused extents are 1.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchBounds {
    pub extents: [i64; MAX_RANK],
    /// The accumulators of the chunk that an entry point is called for (`crate::sums`); null where sums go to memory.
    sums: Accumulators,
}

/// Where accumulators lie.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Accumulators(*mut u8);

// SAFETY: an address, which only unsafe code looks behind.
unsafe impl Send for Accumulators {}
// SAFETY: as above.
unsafe impl Sync for Accumulators {}

/// Bytes from a launch's shape to the address of its accumulators.
pub const SUMS_OFFSET: u64 = 8 * MAX_RANK as u64;

impl LaunchBounds {
    pub const fn new(extents: [i64; MAX_RANK]) -> LaunchBounds {
        LaunchBounds { extents, sums: Accumulators(std::ptr::null_mut()) }
    }

    /// The same shape for one chunk of threads that has accumulators.
    pub fn with_sums(&self, accumulators: *mut u8) -> LaunchBounds {
        LaunchBounds { sums: Accumulators(accumulators), ..*self }
    }

    /// Number of threads; `None` where it does not fit an i64.
    pub fn n_threads(&self) -> Option<i64> {
        self.extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent))
    }

    /// The index of thread number `thread`. All extents must be positive.
    pub fn index(&self, thread: i64) -> [i64; MAX_RANK] {
        let mut rest = thread;
        let mut index = [0; MAX_RANK];
        for dim in (0..MAX_RANK).rev() {
            index[dim] = rest % self.extents[dim];
            rest /= self.extents[dim];
        }
        index
    }
}

/// The shape of a launch over thread blocks; x comes first and runs fastest. Unused extents are 1.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBounds {
    pub grid: [i64; 3],
    pub block: [i64; 3],
    /// Bytes of `dynamic_shared`.
    pub dynamic_shared: i64,
}

impl BlockBounds {
    /// Number of thread blocks; `None` where it does not fit an i64. 0 where an extent is not positive.
    pub fn n_blocks(&self) -> Option<i64> {
        product(&self.grid)
    }

    /// Threads of one block, as [`BlockBounds::n_blocks`].
    pub fn n_threads(&self) -> Option<i64> {
        product(&self.block)
    }

    /// The index of thread block number `block`. All extents must be positive.
    pub fn block_index(&self, block: i64) -> [i64; 3] {
        split(block, &self.grid)
    }

    /// The index of the thread of a linear index. All extents must be positive.
    pub fn thread_index(&self, linear: i64) -> [i64; 3] {
        split(linear, &self.block)
    }
}

fn product(extents: &[i64; 3]) -> Option<i64> {
    if extents.iter().any(|&extent| extent <= 0) {
        return Some(0);
    }
    extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent))
}

fn split(linear: i64, extents: &[i64; 3]) -> [i64; 3] {
    let row = linear / extents[0];
    [linear % extents[0], row % extents[1], row / extents[1]]
}

/// Runs thread blocks `begin..end` of a launch, numbered with x fastest; else as [`EntryPoint`].
pub type BlockEntryPoint =
    unsafe extern "C" fn(args: *const u8, bounds: *const BlockBounds, begin: i64, end: i64, fault: *const Fault);

/// Runs threads `begin..end` of a launch.
///
/// `args` points to the packed arguments, `bounds` to the launch's shape, `fault` to the launch's failure record; all
/// outlive the call.
pub type EntryPoint =
    unsafe extern "C" fn(args: *const u8, bounds: *const LaunchBounds, begin: i64, end: i64, fault: *const Fault);

/// What the first failing thread saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRecord {
    /// Index into the module's sites.
    pub site: u32,
    /// The thread's index. In a launch over thread blocks the number of the block, then the index within it.
    pub thread: [i64; MAX_RANK],
    /// `check_bounds`: indices, then extents. `check_index`: index, extent. `check_converged`: thread, site. Else empty.
    pub values: Vec<i64>,
}

/// One launch's failure record: the first thread to report wins, later ones are dropped.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Fault {
    // First: code looks at it by the record's own address.
    is_set: AtomicBool,
    record: Mutex<Option<FaultRecord>>,
}

impl Fault {
    pub fn report(&self, record: FaultRecord) {
        if !self.is_set.swap(true, Ordering::Relaxed) {
            *self.record.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(record);
        }
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    pub fn take(&self) -> Option<FaultRecord> {
        if !self.is_set() {
            return None;
        }
        self.record.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }
}

/// The function that compiled code calls, by the name `gs_fault`, when a check fails.
///
/// # Safety
/// `fault` points to a live record, `thread` to `MAX_RANK` words, `values` to `n_values` words.
pub unsafe extern "C" fn gs_fault(
    fault: *const Fault,
    site: u32,
    thread: *const i64,
    values: *const i64,
    n_values: u32,
) {
    // SAFETY: the caller promises what the pointers point to.
    let (fault, thread, values) = unsafe {
        let values = if n_values == 0 { &[] } else { std::slice::from_raw_parts(values, n_values as usize) };
        (&*fault, *thread.cast::<[i64; MAX_RANK]>(), values)
    };
    fault.report(FaultRecord { site, thread, values: values.to_vec() });
}
