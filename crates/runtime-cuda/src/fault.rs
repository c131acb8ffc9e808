//! Records of failed checks, in memory of the host that kernels write to.
//!
//! A launch of checked code gets a [`Slot`]. The first failing thread fills it; the host looks at it when the launch is
//! known to be over. The layout is the one that generated code writes:
//!
//! ```text
//! u32 flag (taken by compare and swap), u32 site, i64 thread[4], i64 n, i64 values[8]
//! ```

use crate::device::{Device, lock};
use crate::error::Error;
use crate::memory::{Allocation, MemoryKind};
use runtime::FaultRecord;
use runtime::abi::MAX_RANK;
use std::sync::Mutex;

const MAX_VALUES: usize = 2 * MAX_RANK;
const SLOTS_AT_ONCE: u32 = 256;
/// More launches than this are not pending at a time.
const MAX_SLOTS: u32 = 1 << 14;

/// As generated code sees it.
#[repr(C, align(128))]
struct Record {
    flag: u32,
    site: u32,
    thread: [i64; MAX_RANK],
    n: i64,
    values: [i64; MAX_VALUES],
}

/// A device's records.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    pages: Vec<Allocation>,
    free: Vec<u32>,
}

/// The number of a record that a launch writes to. Whoever has it gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Device {
    /// A record for a launch, and its address; none where too many are in use.
    pub fn take_fault_slot(&'static self) -> Result<Option<(Slot, u64)>, Error> {
        let mut slots = lock(&self.faults.0);
        if slots.free.is_empty() {
            let first = slots.pages.len() as u32 * SLOTS_AT_ONCE;
            if first >= MAX_SLOTS {
                return Ok(None);
            }
            let n_bytes = SLOTS_AT_ONCE as usize * size_of::<Record>();
            let page = self.allocate(MemoryKind::Pinned, n_bytes)?;
            // SAFETY: memory of the host with that many bytes, of which nobody else knows yet.
            unsafe { (page.ptr() as *mut u8).write_bytes(0, n_bytes) };
            slots.pages.push(page);
            slots.free.extend((first..first + SLOTS_AT_ONCE).rev());
        }
        let slot = slots.free.pop().unwrap_or_else(|| unreachable!("filled above"));
        Ok(Some((Slot(slot), slots.record(Slot(slot)) as u64)))
    }

    /// What a launch that is over has written, if anything. The record is empty then.
    pub fn read_fault(&self, slot: Slot) -> Option<FaultRecord> {
        let slots = lock(&self.faults.0);
        let record = slots.record(slot);
        // SAFETY: a record in a page of ours; the launch that writes to it is over.
        unsafe {
            if (&raw const (*record).flag).read_volatile() == 0 {
                return None;
            }
            let found = record.read_volatile();
            (&raw mut (*record).flag).write_volatile(0);
            let n = (found.n.max(0) as usize).min(MAX_VALUES);
            Some(FaultRecord { site: found.site, thread: found.thread, values: found.values[..n].to_vec() })
        }
    }

    pub fn give_fault_slot(&self, slot: Slot) {
        lock(&self.faults.0).free.push(slot.0);
    }
}

impl Slots {
    fn record(&self, slot: Slot) -> *mut Record {
        let page = &self.pages[(slot.0 / SLOTS_AT_ONCE) as usize];
        (page.ptr() as *mut Record).wrapping_add((slot.0 % SLOTS_AT_ONCE) as usize)
    }
}
