//! What the host builds for queries in kernels: points sorted by the cells of a grid, and trees of bounds.
//!
//! In: slices of numbers and bounds. Out: arrays that `python/gridstride/lib` reads, the same for any number of threads.
//! Queries themselves are written in the kernel language; on a GPU kernels build, too.

pub mod build;
pub mod sort;
pub mod tree;
pub mod wide;
