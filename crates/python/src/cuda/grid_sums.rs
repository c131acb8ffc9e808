//! Launches whose blocks keep what they add up for the one that comes last: see `transform::sum_in_grid`.
//!
//! In: packed arguments. Out: the same with what the code takes besides, an array for each sum and one for the count of
//! blocks that are done, in memory of the launch's own.

use super::graph::keep_while_captured;
use super::launch::Queue;
use crate::state::{self, CAPTURES};
use pyo3::prelude::*;
use runtime_cuda::{Allocation, Error, MemoryKind};

/// Every array begins at a multiple of this.
const ALIGN: u64 = 16;

/// Memory that a captured launch uses whenever its graph runs.
#[pyclass(frozen)]
struct KeptByGraph {
    _memory: Allocation,
}

/// A launch's own memory, which is given back in the order of streams.
pub(crate) struct GridSums {
    pub(crate) words: Vec<u64>,
    memory: Allocation,
}

impl GridSums {
    /// `sizes` are those of the sums' elements.
    pub(crate) fn new(words: &[u64], sizes: &[u64], n_blocks: u32, queue: Queue) -> Result<GridSums, Error> {
        let (device, n_blocks) = (queue.stream.device(), u64::from(n_blocks));
        let bytes = |size: u64| (size * n_blocks).next_multiple_of(ALIGN);
        let n_bytes = ALIGN + sizes.iter().map(|&size| bytes(size)).sum::<u64>();
        let memory = device.allocate(MemoryKind::Device, n_bytes as usize)?;
        if state::flags() & CAPTURES == 0 {
            // Memory comes in the order of that stream.
            queue.stream.wait_for(device.current_stream())?;
        }
        // SAFETY: the memory is ours, and as long.
        unsafe { queue.stream.fill(memory.ptr(), 0, ALIGN as usize) }?;
        let (mut words, mut at) = (words.to_vec(), memory.ptr() + ALIGN);
        for &size in sizes {
            words.extend([at, n_blocks, size]);
            at += bytes(size);
        }
        words.extend([memory.ptr(), 1, 4]);
        Ok(GridSums { words, memory })
    }

    /// After the launch.
    pub(crate) fn give_back(self, py: Python<'_>) -> PyResult<()> {
        if state::flags() & CAPTURES != 0 {
            keep_while_captured([Bound::new(py, KeptByGraph { _memory: self.memory })?.into_any()]);
        }
        Ok(())
    }
}
