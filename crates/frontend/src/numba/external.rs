//! Calls of functions of other compilers, `cuda.declare_device`: by name, with numbers and addresses.
//!
//! ```text
//! _external("times2", int32, out, x)    ->    v5: u64 = address v3;  v6: i32 = call_extern "times2", v5, v4
//! ```
//!
//! The package writes the device function around it, which has the function's signature and its way to give a result.

use super::blocks;
use super::builtins::{Row, row};
use crate::HostValue;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::warp::builtins::Call;
use ir::{Attr, Op, Scalar, Type};

pub(super) const ROWS: &[Row] = &[row("_external", "name, result, *args", external)];

/// Arrays are passed as the addresses of their first elements.
fn external(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let Operand::Static(HostValue::Str(name)) = &call.arg(0).operand else {
        return Err(lower.wrong_type(call, call.arg(0), "the name of a function"));
    };
    let result = match &call.arg(1).operand {
        operand if operand.is_none() => None,
        _ => Some(blocks::dtype(lower, call, call.arg(1))?),
    };
    let mut operands = Vec::new();
    for arg in &call.rest {
        let value = lower.arg_value(arg)?;
        operands.push(match lower.ty(value) {
            ty if ty.is_array() => lower.b().push1(Op::Address, &[value], Attr::None, Type::scalar(Scalar::U64)),
            ty if ty.as_scalar().is_some() => value,
            _ => return Err(lower.wrong_type(call, arg, "a number or an array")),
        });
    }
    let results: Vec<Type> = result.into_iter().collect();
    let made = lower.b().push(Op::CallExtern, &operands, Attr::Text(name.as_str().into()), &[], &results);
    Ok(lower.func.inst(made).results.first().map_or(Operand::NONE, |&value| Operand::Value(value)))
}
