//! Memory that the launches of a stream use one after the other, so that none of them allocates and clears its own.
//!
//! In: a stream, and how many bytes a launch needs. Out: their address. The first [`N_CLEAR`] bytes are zero when a launch
//! begins, and it leaves them so.

use crate::device::{Device, lock};
use crate::error::Error;
use crate::memory::{Allocation, MemoryKind};
use crate::stream::{RawStream, Stream};

pub const N_CLEAR: usize = 16;

/// What most launches need is there at once.
const MIN_BYTES: usize = 32 << 10;

/// By the stream's handle.
pub(crate) type Scratch = Vec<(usize, Allocation)>;

impl Device {
    /// For the next launch on a stream that no graph is captured from and that lets its device know when it is destroyed.
    pub fn scratch(&'static self, stream: RawStream, n_bytes: usize) -> Result<u64, Error> {
        let mut known = lock(&self.scratch);
        let place = known.iter().position(|(handle, _)| *handle == stream.0 as usize);
        if let Some(place) = place
            && known[place].1.n_bytes() >= n_bytes
        {
            return Ok(known[place].1.ptr());
        }
        let made = self.allocate(MemoryKind::Device, n_bytes.next_power_of_two().max(MIN_BYTES))?;
        // Memory comes in the order of that stream.
        stream.wait_for(self.current_stream())?;
        // SAFETY: the memory is ours, and as long.
        unsafe { stream.fill(made.ptr(), 0, N_CLEAR) }?;
        let ptr = made.ptr();
        match place {
            Some(place) => known[place].1 = made,
            None => known.push((stream.0 as usize, made)),
        }
        Ok(ptr)
    }

    /// For a graph: such memory of its own, cleared before this returns.
    pub fn scratch_of_graph(&'static self, n_bytes: usize) -> Result<Allocation, Error> {
        let made = self.allocate(MemoryKind::Device, n_bytes.max(N_CLEAR))?;
        let (aside, current) = (Stream::unordered(self)?, self.current_stream());
        // What is allocated while a stream is captured is there at once.
        if !current.is_capturing()? {
            aside.raw().wait_for(current)?;
        }
        // SAFETY: the memory is ours, and as long.
        unsafe { aside.raw().fill(made.ptr(), 0, N_CLEAR) }?;
        aside.raw().synchronize()?;
        Ok(made)
    }

    /// The stream is about to be destroyed, or its owner has it back.
    pub(crate) fn forget_scratch(&self, stream: RawStream) {
        let mut known = lock(&self.scratch);
        let place = known.iter().position(|(handle, _)| *handle == stream.0 as usize);
        let memory = place.map(|place| known.swap_remove(place).1);
        drop(known);
        // It is freed in the order of the work that uses it.
        drop(memory);
    }
}
