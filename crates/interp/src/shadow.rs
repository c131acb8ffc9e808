//! Checked launches: who touched which byte last, and whether an order is known between the two.
//!
//! Two accesses of different threads to one byte are in order where a barrier that both take part in lies between them,
//! where both are atomic, or where the earlier thread's block has passed a fence since (then some flag or counter
//! that this does not follow may order them). A store of the bits that are there already harms nobody and passes.

use crate::code::{Access, AtomicAccess, Place, Width};
use crate::memory;
use crate::run::{Stop, Thread};
use crate::{RACE, UNINITIALIZED};
use diagnostics::Span;
use std::collections::HashMap;

/// What is about to be done to memory.
#[derive(Clone, Copy)]
pub(crate) enum Touch<'a> {
    Load(&'a Access),
    Store(&'a Access),
    Atomic(&'a AtomicAccess),
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) block: i64,
    pub(crate) thread: i64,
    /// Barriers of the block, the warp and the grid that the thread has passed.
    pub(crate) phase: u32,
    pub(crate) warp_phase: u32,
    pub(crate) grid_phase: u32,
    /// Fences that its block has passed.
    pub(crate) fences: u32,
    pub(crate) span: Span,
    pub(crate) is_atomic: bool,
}

/// The last accesses to each byte.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    cells: HashMap<u64, Cell>,
    fences: HashMap<i64, u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Option<Visit>,
    /// Of two threads, so that a writer finds a reader besides itself.
    reads: [Option<Visit>; 2],
}

impl Shadow {
    pub(crate) fn fence(&mut self, block: i64) {
        *self.fences.entry(block).or_default() += 1;
    }

    fn fences(&self, block: i64) -> u32 {
        self.fences.get(&block).copied().unwrap_or(0)
    }

    fn is_stored(&self, address: u64) -> bool {
        self.cells.get(&address).is_some_and(|cell| cell.write.is_some())
    }

    /// Notes an access to a byte; gives an earlier one without order. `fences` counts those of each block.
    fn visit(&mut self, address: u64, now: Visit, is_write: bool, fences: impl Fn(i64) -> u32) -> Option<Visit> {
        let cell = self.cells.entry(address).or_default();
        let clashes = |earlier: &Visit| {
            let are_atomic = earlier.is_atomic && now.is_atomic;
            !are_atomic && !is_ordered(earlier, &now, &fences)
        };
        let found = cell.write.filter(clashes);
        let found = found.or_else(|| cell.reads.into_iter().flatten().find(clashes).filter(|_| is_write));
        if is_write {
            *cell = Cell { write: Some(now), reads: [None; 2] };
        } else if let Some(own) = cell.reads.iter_mut().flatten().find(|read| is_same_thread(read, &now)) {
            *own = now;
        } else {
            cell.reads = [Some(now), cell.reads[0]];
        }
        found
    }
}

fn is_same_thread(x: &Visit, y: &Visit) -> bool {
    (x.block, x.thread) == (y.block, y.thread)
}

fn is_ordered(earlier: &Visit, now: &Visit, fences: &impl Fn(i64) -> u32) -> bool {
    let is_past = if earlier.block != now.block {
        earlier.grid_phase != now.grid_phase
    } else if earlier.thread / 32 == now.thread / 32 {
        (earlier.phase, earlier.warp_phase) != (now.phase, now.warp_phase)
    } else {
        earlier.phase != now.phase
    };
    is_past || is_same_thread(earlier, now) || fences(earlier.block) > earlier.fences
}

impl Thread<'_> {
    /// Looks whether an access that is about to happen is in order with those before it.
    #[inline(never)]
    pub(crate) fn watch(&self, place: &Place, touch: Touch, frame: &[u64]) -> Result<(), Stop> {
        // One that is out of range is reported where it happens.
        let (Some(address), Some(seat)) = (place.address(frame), &self.seat) else { return Ok(()) };
        let Some((global, shared)) = seat.shadows() else { return Ok(()) };
        if self.is_local(address) {
            return Ok(());
        }
        let is_shared = seat.is_shared(address);
        let is_write = match touch {
            Touch::Load(_) => false,
            // SAFETY: the place is in range of an array whose descriptor is true, as for the store itself.
            Touch::Store(access) => unsafe { memory::changes(access, address, frame) },
            Touch::Atomic(_) => true,
        };
        let mut now = seat.visit(place.span);
        now.is_atomic = matches!(touch, Touch::Atomic(_));
        now.fences = global.borrow().fences(now.block);
        for byte in bytes(touch) {
            let byte = address.wrapping_add(byte);
            let is_first_store = matches!(touch, Touch::Store(_)) && is_shared && !shared.borrow().is_stored(byte);
            if !matches!(touch, Touch::Store(_)) && is_shared && !shared.borrow().is_stored(byte) {
                return Err(self.fault(UNINITIALIZED, span_values(place.span).to_vec()));
            }
            if matches!(touch, Touch::Store(_)) && !is_write && !is_first_store {
                continue;
            }
            let is_write = is_write || is_first_store;
            let found = if is_shared {
                let global = global.borrow();
                shared.borrow_mut().visit(byte, now, is_write, |block| global.fences(block))
            } else {
                let mut global = global.borrow_mut();
                let fences = std::mem::take(&mut global.fences);
                let found = global.visit(byte, now, is_write, |block| fences.get(&block).copied().unwrap_or(0));
                global.fences = fences;
                found
            };
            if let Some(earlier) = found {
                let mut values = [span_values(place.span), span_values(earlier.span)].concat();
                values.extend([earlier.block, earlier.thread]);
                return Err(self.fault(RACE, values));
            }
        }
        Ok(())
    }

    pub(crate) fn fence(&self) {
        if let Some(seat) = &self.seat
            && let Some((global, _)) = seat.shadows()
        {
            global.borrow_mut().fence(seat.block);
        }
    }
}

/// A span among a report's values.
pub(crate) fn span_values(span: Span) -> [i64; 3] {
    [i64::from(span.file.0), i64::from(span.start), i64::from(span.end)]
}

/// The bytes that are touched, from the piece's start.
fn bytes(touch: Touch) -> Vec<u64> {
    let size = |width| match width {
        Width::Bool | Width::W1 => 1,
        Width::W2 => 2,
        Width::W4 => 4,
        Width::W8 => 8,
    };
    let pieces: Vec<(u64, u64)> = match touch {
        Touch::Load(access) | Touch::Store(access) => {
            access.pieces.iter().map(|piece| (piece.offset, size(piece.width))).collect()
        }
        Touch::Atomic(access) => access.pieces.to_vec(),
    };
    pieces.into_iter().flat_map(|(offset, size)| offset..offset + size).collect()
}
