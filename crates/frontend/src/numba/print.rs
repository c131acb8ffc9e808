//! `print`: values with blanks between, integers and floats as C's `%lld` and `%f`, as numba-cuda prints.

use super::blocks;
use super::builtins::{Row, row};
use super::types::Number;
use crate::HostValue;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::warp::builtins::{Arg, Call};
use ir::{Attr, Op, Scalar, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[row("print", "*args", print)];

fn print(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (mut format, mut operands) = (String::new(), Vec::new());
    for (k, arg) in call.rest.iter().enumerate() {
        format.push_str(if k == 0 { "" } else { " " });
        one(lower, call, arg, &mut format, &mut operands)?;
    }
    format.push('\n');
    lower.b().push(Op::Print, &operands, Attr::Text(format.into()), &[], &[]);
    Ok(Operand::NONE)
}

fn one(
    lower: &mut Lower<'_, '_>,
    call: &Call<'_>,
    arg: &Arg,
    format: &mut String,
    operands: &mut Vec<Value>,
) -> Result<()> {
    match &arg.operand {
        Operand::Static(HostValue::Str(text)) => format.push_str(&text.replace('%', "%%")),
        Operand::Static(HostValue::None) => format.push_str("None"),
        Operand::Static(HostValue::Builtin(name)) if let Some(items) = blocks::positions(lower, name) => {
            several(lower, call, arg, &items, format, operands)?;
        }
        Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => {
            let items = lower.items(&arg.operand, arg.span)?;
            several(lower, call, arg, &items, format, operands)?;
        }
        _ => {
            let value = lower.arg_value(arg)?;
            let ty = lower.ty(value);
            match (Number::of(ty), ty.kind()) {
                (Some(Number::Real(scalar)), _) => {
                    format.push_str(conversion(scalar));
                    operands.push(value);
                }
                (Some(Number::Complex(_)), _) => {
                    format.push_str("(%f%+fj)");
                    operands.push(lower.b().extract(value, 0));
                    operands.push(lower.b().extract(value, 1));
                }
                (None, TypeKind::Tuple(_) | TypeKind::Vector { .. }) => {
                    let items = lower.items(&Operand::Value(value), arg.span)?;
                    several(lower, call, arg, &items, format, operands)?;
                }
                _ => return Err(lower.wrong_type(call, arg, "numbers, tuples of them and text")),
            }
        }
    }
    Ok(())
}

fn several(
    lower: &mut Lower<'_, '_>,
    call: &Call<'_>,
    arg: &Arg,
    items: &[Operand],
    format: &mut String,
    operands: &mut Vec<Value>,
) -> Result<()> {
    format.push('(');
    for (k, operand) in items.iter().enumerate() {
        format.push_str(if k == 0 { "" } else { ", " });
        one(lower, call, &Arg { operand: operand.clone(), span: arg.span }, format, operands)?;
    }
    format.push_str(if items.len() == 1 { ",)" } else { ")" });
    Ok(())
}

fn conversion(scalar: Scalar) -> &'static str {
    match scalar {
        // Not C's: prints True or False.
        Scalar::Bool => "%?",
        Scalar::I64 => "%lld",
        Scalar::U64 => "%llu",
        Scalar::U8 | Scalar::U16 | Scalar::U32 => "%u",
        _ if scalar.is_float() => "%f",
        _ => "%d",
    }
}

/// The type of a value that can be printed is a number's.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_has_a_conversion() {
        for scalar in Scalar::ALL {
            assert!(conversion(scalar).starts_with('%'), "{scalar:?}");
        }
    }
}
