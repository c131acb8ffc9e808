//! Kernels of the Warp dialect, one construct at a time: text in, IR or reports out.

mod assignment;
mod lowered;
mod mistakes;
mod operators;
mod places;
mod random;
mod subscripts;
mod unset;
mod unsupported;
