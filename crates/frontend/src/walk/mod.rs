//! The walk over a function's body that every dialect shares: statements, control flow, names and places, to IR.
//!
//! ```text
//! y[i] = a * x[i] + y[i]    ->    v8: f32 = load v1[v7]
//!                                 v9: f32 = mul v0, v8
//!                                 …
//!                                 store v2[v7], v12
//! ```
//!
//! A [`Unit`] is one kernel and the functions that it calls. A [`Lower`] fills one function body: statements change
//! its environment of names, expressions give [`Operand`]s. Names are resolved, types inferred and ops appended in
//! one walk; a loop whose literals turn out to need another type is walked again. Where a dialect means something of
//! its own by a construct, its [`Rules`](crate::rules::Rules) are asked.

mod after_loop;
mod argument;
mod assign;
mod attribute;
pub(crate) mod bits;
pub(crate) mod branch;
pub(crate) mod call;
pub(crate) mod closure;
mod derivative;
pub(crate) mod expression;
mod gradient;
pub(crate) mod instance;
mod iterate;
mod loop_else;
pub(crate) mod lower;
pub(crate) mod operand;
pub(crate) mod operator;
pub(crate) mod pattern;
mod query;
mod range;
mod reference;
pub(crate) mod repeat;
pub(crate) mod scan;
mod statement;
pub(crate) mod subscript;
mod unit;
mod unroll;

pub(crate) use lower::{Lower, Reported};
pub(crate) use operand::Operand;
pub(crate) use pattern::library_type;
pub use pattern::scalar_name;
pub(crate) use unit::Unit;

use crate::{Host, Lowered, ObjectId, Options, Rejected};
use ir::Type;

/// Lowers a kernel for arguments of the given types, one a parameter.
pub fn lower_kernel(
    host: &dyn Host,
    kernel: ObjectId,
    args: &[Type],
    options: &Options,
) -> std::result::Result<Lowered, Rejected> {
    let mut unit = Unit::new(host, options);
    let result = with_room(|| unit.kernel(kernel, args));
    unit.finish(result)
}

/// Lowers a function for arguments of the given types; it is the module's last function.
pub fn lower_function(
    host: &dyn Host,
    func: ObjectId,
    args: &[Type],
    options: &Options,
) -> std::result::Result<Lowered, Rejected> {
    let mut unit = Unit::new(host, options);
    let result = with_room(|| unit.entry_function(func, args));
    unit.finish(result)
}

/// Lowers a call of a builtin by name to a function `name` of the module. `names` are those of the last arguments.
pub fn lower_builtin(
    host: &dyn Host,
    name: &str,
    args: &[Type],
    names: &[String],
    options: &Options,
) -> std::result::Result<Lowered, Rejected> {
    let mut unit = Unit::new(host, options);
    let result = with_room(|| unit.builtin_function(name, args, names));
    unit.finish(result)
}

/// Lowering recurses as deep as expressions nest; a thread's own stack may be too small for what Python accepts.
fn with_room<T>(lower: impl FnOnce() -> T) -> T {
    const STACK: usize = 64 << 20;
    stacker::grow(STACK, lower)
}
