//! Facts about IR that transforms and code generation ask for. Analyses compute and never change a function.
//!
//! In: a verified kernel whose calls are inlined. Out: [`Uniformity`], how each value differs between the lanes of a
//! gang, and the [`Access`] class of each memory op; [`roots`], where an array comes from; [`LaunchSums`], what all
//! threads of a launch add to.

pub mod access;
pub mod launch_sums;
pub mod roots;
pub mod uniformity;

pub use access::{Access, classify};
pub use launch_sums::{LaunchSum, LaunchSums};
pub use roots::{Aliases, Root, leaf_roots, roots};
pub use uniformity::{
    Division, Divisor, Lanes, OwnArrays, Uniformity, block_uniformity, has_each, shares_tiles, uniformity,
    uniformity_in_rows,
};
