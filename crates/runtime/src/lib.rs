//! What every device shares: the calling convention of compiled kernels, failure records, text output, math.
//!
//! In: a compiled kernel's entry point and packed arguments. Out: the launch's effects, and at most one [`Fault`].
//! [`sums`] says how floats that all threads add up are added. The interpreter and compiled code call the very functions of [`math`] and [`format`], so their bits agree.

pub mod abi;
pub mod atomics;
pub mod blocks;
mod float_format;
pub mod format;
pub mod math;
pub mod narrow;
pub mod sums;

pub use abi::{BlockBounds, BlockEntryPoint, EntryPoint, Fault, FaultRecord, LaunchBounds};
pub use sums::{Sites, Sums};
