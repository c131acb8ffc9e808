//! Launches whose blocks keep what they add up for the one that comes last: see `transform::sum_in_grid`.
//!
//! In: packed arguments. Out: the same with what the code takes besides, an array for each sum and one for the count of
//! blocks that are done, in memory that the launches of a stream share, or that a graph has of its own.

use super::graph::keep_while_captured;
use super::launch::Queue;
use crate::state::{self, CAPTURES};
use pyo3::prelude::*;
use runtime_cuda::{Allocation, Error, MemoryKind, N_CLEAR};

/// Every array begins at a multiple of this.
const ALIGN: u64 = N_CLEAR as u64;

/// Memory that a captured launch uses whenever its graph runs.
#[pyclass(frozen)]
struct KeptByGraph {
    _memory: Allocation,
}

pub(crate) struct GridSums {
    pub(crate) words: Vec<u64>,
    /// What is the launch's own.
    memory: Option<Allocation>,
    is_captured: bool,
}

impl GridSums {
    /// `sizes` are those of the sums' elements.
    pub(crate) fn new(words: &[u64], sizes: &[u64], n_blocks: u32, queue: Queue) -> Result<GridSums, Error> {
        let (stream, n_blocks) = (queue.stream, u64::from(n_blocks));
        let bytes = |size: u64| (size * n_blocks).next_multiple_of(ALIGN);
        let n_bytes = (ALIGN + sizes.iter().map(|&size| bytes(size)).sum::<u64>()) as usize;
        let device = stream.device();
        let is_captured = state::flags() & CAPTURES != 0;
        let memory = if is_captured {
            Some(device.scratch_of_graph(n_bytes)?)
        } else if queue.is_borrowed {
            // Nobody says when that stream is gone.
            let memory = device.allocate(MemoryKind::Device, n_bytes)?;
            stream.wait_for(device.current_stream())?;
            // SAFETY: the memory is ours, and as long.
            unsafe { stream.fill(memory.ptr(), 0, N_CLEAR) }?;
            Some(memory)
        } else {
            None
        };
        let start = memory.as_ref().map_or_else(|| device.scratch(stream, n_bytes), |memory| Ok(memory.ptr()))?;
        let mut words = Vec::from(words);
        let mut at = start + ALIGN;
        for &size in sizes {
            words.extend([at, n_blocks, size]);
            at += bytes(size);
        }
        words.extend([start, 1, 4]);
        Ok(GridSums { words, memory, is_captured })
    }

    /// After the launch.
    pub(crate) fn give_back(self, py: Python<'_>) -> PyResult<()> {
        if let (Some(memory), true) = (self.memory, self.is_captured) {
            keep_while_captured([Bound::new(py, KeptByGraph { _memory: memory })?.into_any()]);
        }
        Ok(())
    }
}
