//! Memory behind arrays: addresses verified against the array, then raw accesses.
//!
//! Every access is verified here, whether or not the program checked it before: the array has an address, and each
//! index, also of a dynamic path step, lies in its extent. What the interpreter trusts is the descriptor: memory lies
//! behind all elements that address, extents and strides name.

use crate::code::{Access, AtomicAccess, AtomicOperation, Place, Slot, View, Width};

impl Place {
    /// The address of the piece; `None` where an index is out of range or the array is null.
    pub(crate) fn address(&self, frame: &[u64]) -> Option<u64> {
        let array = self.array as usize;
        let rank = self.rank as usize;
        let descriptor = &frame[array..array + 1 + 2 * rank];
        let mut address = descriptor[0];
        if address == 0 {
            return None;
        }
        for (dim, &slot) in self.indices.iter().enumerate() {
            let (index, extent, stride) =
                (frame[slot as usize] as i64, descriptor[1 + dim] as i64, descriptor[1 + rank + dim]);
            if index < 0 || index >= extent {
                return None;
            }
            address = address.wrapping_add((index as u64).wrapping_mul(stride));
        }
        for &(slot, extent, stride) in &self.path {
            let index = frame[slot as usize];
            if index >= extent {
                return None;
            }
            address = address.wrapping_add(index * stride);
        }
        Some(address.wrapping_add(self.offset))
    }

    /// What a report of a bad access says, as `check_bounds` does: indices, then extents.
    pub(crate) fn values(&self, frame: &[u64]) -> Vec<i64> {
        bounds_values(frame, self.array, self.rank, &self.indices)
    }
}

pub(crate) fn bounds_values(frame: &[u64], array: Slot, rank: u32, indices: &[Slot]) -> Vec<i64> {
    let extents = &frame[array as usize + 1..(array + 1 + rank) as usize];
    indices.iter().map(|&slot| frame[slot as usize] as i64).chain(extents.iter().map(|&n| n as i64)).collect()
}

/// Copies a piece from memory into the frame; `None` where its place is out of range.
///
/// # Safety
/// The array's descriptor is true (module docs).
pub(crate) unsafe fn load(access: &Access, frame: &mut [u64]) -> Option<()> {
    let address = access.place.address(frame)?;
    let words = &mut frame[access.value as usize..][..access.pieces.len()];
    for (word, piece) in words.iter_mut().zip(&access.pieces) {
        // SAFETY: the place is in range of an array whose memory the caller vouches for.
        *word = unsafe { read(address.wrapping_add(piece.offset), piece.width) };
    }
    Some(())
}

/// Copies a value from the frame into memory; `None` where its place is out of range.
///
/// # Safety
/// The array's descriptor is true (module docs).
pub(crate) unsafe fn store(access: &Access, frame: &[u64]) -> Option<()> {
    let address = access.place.address(frame)?;
    let words = &frame[access.value as usize..][..access.pieces.len()];
    for (&word, piece) in words.iter().zip(&access.pieces) {
        // SAFETY: the place is in range of an array whose memory the caller vouches for.
        unsafe { write(address.wrapping_add(piece.offset), piece.width, word) };
    }
    Some(())
}

/// Whether a store to `address` would change what is there.
///
/// # Safety
/// As for [`store`]; `address` is where it goes.
pub(crate) unsafe fn changes(access: &Access, address: u64, frame: &[u64]) -> bool {
    let words = &frame[access.value as usize..][..access.pieces.len()];
    words.iter().zip(&access.pieces).any(|(&word, piece)| {
        // SAFETY: as in `store`.
        word != unsafe { read(address.wrapping_add(piece.offset), piece.width) }
    })
}

/// # Safety
/// As many bytes as `width` says lie at `address`; no alignment is needed.
unsafe fn read(address: u64, width: Width) -> u64 {
    // SAFETY: the caller's promise. Kernels of one launch may race, as on a device: a racing read gives some bits.
    unsafe {
        match width {
            Width::Bool => u64::from((address as *const u8).read() != 0),
            Width::W1 => u64::from((address as *const u8).read()),
            Width::W2 => u64::from((address as *const u16).read_unaligned()),
            Width::W4 => u64::from((address as *const u32).read_unaligned()),
            Width::W8 => (address as *const u64).read_unaligned(),
        }
    }
}

/// # Safety
/// As for [`read`].
unsafe fn write(address: u64, width: Width, word: u64) {
    // SAFETY: as in `read`.
    unsafe {
        match width {
            Width::Bool | Width::W1 => (address as *mut u8).write(word as u8),
            Width::W2 => (address as *mut u16).write_unaligned(word as u16),
            Width::W4 => (address as *mut u32).write_unaligned(word as u32),
            Width::W8 => (address as *mut u64).write_unaligned(word),
        }
    }
}

/// What the threads of a chunk add up in (`runtime::sums`).
#[derive(Clone, Copy)]
pub(crate) struct Accumulators {
    pub(crate) memory: *mut u8,
    /// Which of them the thread that runs adds to.
    pub(crate) lane: usize,
}

/// Performs an atomic op component by component; `None` where its place is out of range, or not aligned, which the
/// hardware cannot do in one step. In a chunk with `accumulators`, what has some goes there.
///
/// # Safety
/// The array's descriptor is true (module docs).
pub(crate) unsafe fn atomic(
    access: &AtomicAccess,
    frame: &mut [u64],
    accumulators: Option<&Accumulators>,
) -> Option<()> {
    let address = access.place.address(frame)?;
    if access.pieces.iter().any(|(offset, align)| !address.wrapping_add(*offset).is_multiple_of(*align)) {
        return None;
    }
    let sums = accumulators.zip(access.accumulators.as_ref());
    if let Some((chunk, &(noted, _))) = sums {
        // SAFETY: the offset is the sum's own.
        unsafe { chunk.memory.add(noted as usize).cast::<u64>().write(address) };
    }
    for (i, (offset, align)) in access.pieces.iter().enumerate() {
        let ptr = match sums {
            // SAFETY: as above; the piece is aligned to its size.
            Some((chunk, (_, parts))) => unsafe { chunk.memory.add(parts[i] as usize + chunk.lane * *align as usize) },
            None => address.wrapping_add(*offset) as *mut u8,
        };
        // SAFETY: the component lies in the array's memory, or that of the chunk, and is aligned. Others access it atomically or race, as on
        // a device.
        let old = unsafe {
            match access.operation {
                AtomicOperation::Rmw { function, value } => function(ptr, frame[value as usize + i]),
                AtomicOperation::Cas { function, expected, value } => {
                    function(ptr, frame[expected as usize + i], frame[value as usize + i])
                }
            }
        };
        frame[access.dst as usize + i] = old;
    }
    Some(())
}

/// `row` and `subarray`. Computing a view never fails, but one that reaches outside its array has a null address, so
/// that every access through it is reported.
pub(crate) fn view(view: &View, frame: &mut [u64]) {
    let (array, rank, dim) = (view.array as usize, view.rank as usize, view.dim as usize);
    let word = |slot: Slot| frame[slot as usize] as i64;
    let (base, extent, stride) = (frame[array], frame[array + 1 + dim] as i64, frame[array + 1 + rank + dim] as i64);
    let start = word(view.start);
    let count_step = view.count_step.map(|(count, step)| (word(count), word(step)));
    let (count, step) = count_step.unwrap_or((1, 1));
    let last = (count.wrapping_sub(1)).checked_mul(step).and_then(|distance| distance.checked_add(start));
    let range = 0..extent;
    let is_inside = count <= 0 || (range.contains(&start) && last.is_some_and(|last| range.contains(&last)));
    let dst = view.dst as usize;
    frame[dst] = if base == 0 || !is_inside { 0 } else { base.wrapping_add(start.wrapping_mul(stride) as u64) };
    if let Some((count, step)) = count_step {
        frame.copy_within(array + 1..array + 1 + 2 * rank, dst + 1);
        frame[dst + 1 + dim] = count as u64;
        frame[dst + 1 + rank + dim] = stride.wrapping_mul(step) as u64;
    } else {
        // The other dimensions' extents and strides close up.
        let others = (0..rank).filter(|other| *other != dim).enumerate();
        for (to, from) in others {
            frame[dst + 1 + to] = frame[array + 1 + from];
            frame[dst + rank + to] = frame[array + 1 + rank + from];
        }
    }
}
