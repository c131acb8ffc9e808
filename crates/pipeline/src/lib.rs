//! Every pass in order: from a live kernel to code that can run.
//!
//! In: a kernel as the host sees it, the types of its arguments, options. Out: loaded code, or every mistake found.
//!
//! ```text
//! build: on disk? ─> frontend::lower_kernel ─> Unit
//! build_adjoint: frontend::lower_kernel ─> autodiff::reverse ─> Unit
//! load:  Unit + Specialization ─> loaded before? ─> on disk? ─> transform::optimize ─> codegen::compile ─> codegen::load
//! load_cuda: the same for a GPU ─> codegen::nvptx::compile ─> the driver's compiler ─> a kernel on the device
//! ```
//!
//! [`cache`] keeps objects on disk, [`ahead`] puts kernels compiled ahead of time into one file, [`counters`] says how often each phase ran and how long it took.

pub mod ahead;
mod answers;
mod build;
mod bytes;
pub mod cache;
mod code;
pub mod counters;
mod cuda;
mod kept;
pub mod key;
mod order;
mod recall;
mod summary;
mod summed;
mod text;
mod unit;
mod writes;

pub use answers::Asked;
pub use autodiff::{Fact, Request, adjoint_params, leads_to_floats};
pub use build::{Part, build, build_adjoint, build_with_nulls, lower, lower_function, unit, with_derivatives};
pub use code::{Specialization, code_key, cpu_name, load};
pub use codegen::nvptx::{Lines, has_few_threads};
pub use codegen::{Error, LoadedModule, llvm_version};
pub use cuda::{CudaCode, CudaError, CudaSpecialization, CudaTuning, LinkBy, Linked, jams, load_cuda, ptx};
pub use summary::Summary;
pub use summed::{GivenArray, summed};
pub use text::{CudaText, Stage, TextError, text};
pub use unit::Unit;

/// Changes with the text of every crate that decides what becomes of a unit: part of the name of all that is cached.
const FINGERPRINT: &str = env!("COMPILER");

/// Changes with the text of every crate that decides which IR a program gives.
const FRONT_END: &str = env!("FRONT_END");
