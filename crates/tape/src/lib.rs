//! What a tape knows about memory: which values a recorded launch needs again, and where they are now.
//!
//! In: the spans of addresses that launches read and write, in the order in which they run. Out: for each value that
//! the backward pass reads, whether it still lies where it was, in a copy made before the next write to it, or nowhere.
//! Arrays are known here by the memory that they cover, so that views, slices and other arrays over the same memory
//! need no care.
//!
//! [`versions`] keeps what single launches read, [`undo`] keeps what a stretch of launches overwrites as a whole, so
//! that the stretch can run again, and [`paths`] finds where a gradient got lost between two launches.

pub mod memory;
pub mod paths;
pub mod span;
pub mod undo;
pub mod versions;

pub use memory::{HOST, Memory, OutOfMemory, Saved};
pub use span::{Span, SpanMap};
pub use undo::Undo;
pub use versions::{Policy, State, VersionId, Versions};
