//! Derivatives of kernels, as a pass on the IR.
//!
//! In: a kernel, and which of its parameters have an adjoint. Out of [`reverse`]: the *adjoint kernel*, a kernel of its
//! own over the same launch, which runs the kernel's computation again and then backward, and adds to the adjoints of
//! what the kernel read. It is optimized and compiled as any kernel.
//!
//! ```text
//! kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {      kernel @k.adjoint(v0, v1, v2, v3) {
//!   v2: i64 = tid 0                                        v4: i64 = tid 0
//!   v3: f32 = load v0[v2]                                  v5: f32 = load v0[v4]
//!   v4: f32 = sin v3                                       v6: f32 = load v3[v4]       d4
//!   store v1[v2], v4                                       store v3[v4], 0
//!   return                                                 v7: f32 = cos v5
//! }                                                        v8: f32 = mul v6, v7        d3
//!                                                          atomic add v2[v4], v8
//!                                                          return
//!                                                        }
//! ```
//!
//! Its parameters are the kernel's, then one adjoint for each that holds floats: an array of the same type for an
//! array, an array of one element for a value, a struct of adjoint arrays for a struct that holds arrays. A parameter
//! that is not wanted has its adjoint in the list, and it is never touched.
//!
//! The order of work: [`structure`](mod@structure) brings the kernel to one exit a region; [`memory`] says what a second
//! run would load differently; [`activity`] what derivatives flow through; [`sweep`], [`tape`] and [`kept`] copy the computation,
//! [`reverse`](mod@reverse), [`linear`] and [`access`] add the adjoints, and what turns out not to be needed is removed.
//!
//! [`differentiate`] makes the derivative of a function that a kernel calls.
//!
//! [`forward`](mod@forward) is forward mode: a kernel that computes tangents beside values, from the same table.
//!
//! Griewank & Walther, "Evaluating Derivatives" (2008).

mod access;
mod activity;
mod adjoint;
mod custom;
mod extremes;
mod forward;
mod function;
mod kept;
mod linear;
mod memory;
mod reverse;
pub mod rules;
mod structure;
mod sweep;
mod tangent;
mod tape;
mod threads;
mod tiles;
mod trips;

pub use adjoint::{Adjoint, Fact, Request, adjoint_params, reverse};
pub use forward::forward;
pub use function::differentiate;
pub use tangent::leads_to_floats;
