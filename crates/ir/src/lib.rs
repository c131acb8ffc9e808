//! Gridstride's intermediate representation: structured, typed SSA.
//!
//! A [`Module`] holds functions; a function body is a tree of regions; a region is one straight list of
//! instructions that ends with a terminator. `if`, `for` and `loop` own regions. Values are defined once and may
//! be used by later instructions of the same region and of every region nested in it.
//!
//! ```text
//! kernel @saxpy(v0: f32, v1: array<f32, 1>, v2: array<f32, 1>) {
//!   v3: i64 = tid 0
//!   v4: f32 = load v1[v3]
//!   v5: f32 = mul v0, v4
//!   v6: f32 = load v2[v3]
//!   v7: f32 = add v5, v6
//!   store v2[v3], v7
//!   return
//! }
//! ```
//!
//! Every op is a row of the table in [`op`]; its meaning is what `interp` does.

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod builder;
pub mod constant;
pub mod eval;
pub mod func;
pub mod layout;
pub mod literal;
pub mod op;
pub mod parse;
pub mod path;
pub mod print;
pub mod sync;
pub mod types;
pub mod verify;

pub use builder::Builder;
pub use constant::Const;
pub use func::{
    Attr, CustomGradient, FuncRef, Function, FunctionKind, Inst, InstId, Module, Param, PathElem, Region, RegionId,
    Site, SiteId, SiteKind, Value, ValueDef,
};
pub use layout::{Leaf, LeafKind};
pub use op::{AtomicOp, FenceScope, Op, ShuffleMode, VoteMode};
pub use types::{Class, Scalar, StructType, Type, TypeKind};
