//! Operators on numbers: Python's meaning, in Numba's types.

use super::types::{Number, arithmetic, float, integer};
use super::{complex, types};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::{Lower, Reported, Result};
use crate::walk::operand::Operand;
use crate::walk::operator::compare::ordering;
use crate::walk::operator::{Sides, tuple_items};
use diagnostics::Span;
use ir::{Op, Scalar, Type, Value};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

/// A power by a constant up to here is a product.
const MAX_PRODUCT: i128 = 64;

pub(crate) fn binary(
    lower: &mut Lower<'_, '_>,
    op: Operator,
    a: &Operand,
    b: &Operand,
    sides: Sides,
) -> Result<Operand> {
    if let (Operand::Static(x), Operand::Static(y)) = (a, b)
        && let Some(folded) = fold(op, x, y)
    {
        return Ok(Operand::Static(folded));
    }
    if let (Operand::Static(HostValue::Str(x)), Operand::Static(HostValue::Str(y))) = (a, b)
        && op == Operator::Add
    {
        return Ok(Operand::Static(HostValue::Str(format!("{x}{y}"))));
    }
    if op == Operator::Add
        && let (Some(x), Some(y)) = (tuple_items(a), tuple_items(b))
    {
        return Ok(Operand::Tuple([x, y].concat()));
    }
    let number = |operand: &Operand| lower.type_of(operand).and_then(Number::of);
    let (Some(x), Some(y)) = (number(a), number(b)) else {
        return Err(refuse(lower, op, a, b, sides));
    };
    if let (Number::Real(s), Number::Real(t)) = (x, y) {
        return real(lower, op, (a, s), (b, t), sides);
    }
    let Number::Complex(part) = arithmetic(x, y) else { return Err(refuse(lower, op, a, b, sides)) };
    let x = lower.value_as(a, types::complex(part), sides.left)?;
    let y = lower.value_as(b, types::complex(part), sides.right)?;
    match complex::binary(lower, op, x, y) {
        Some(value) => Ok(Operand::Value(value)),
        None if op == Operator::Pow => complex::power(lower, x, y, b, sides.whole),
        None => Err(refuse(lower, op, a, b, sides)),
    }
}

fn refuse(lower: &mut Lower<'_, '_>, op: Operator, a: &Operand, b: &Operand, sides: Sides) -> Reported {
    let (x, y) = (lower.describe(a), lower.describe(b));
    lower.error("type-mismatch", sides.whole, format!("cannot apply `{}` to {x} and {y}", op.as_str()))
}

fn real(
    lower: &mut Lower<'_, '_>,
    op: Operator,
    (a, s): (&Operand, Scalar),
    (b, t): (&Operand, Scalar),
    sides: Sides,
) -> Result<Operand> {
    let is_float = s.is_float() || t.is_float();
    let (op, scalar) = match op {
        Operator::BitAnd | Operator::BitOr | Operator::BitXor if !is_float => {
            let op = match op {
                Operator::BitAnd => Op::And,
                Operator::BitOr => Op::Or,
                _ => Op::Xor,
            };
            (op, if s == Scalar::Bool && t == Scalar::Bool { Scalar::Bool } else { integer(s, t) })
        }
        Operator::LShift | Operator::RShift if !is_float => {
            let scalar = integer(s, s);
            (if op == Operator::LShift { Op::Shl } else { Op::Shr }, scalar)
        }
        Operator::Add | Operator::Sub | Operator::Mult | Operator::FloorDiv | Operator::Mod => {
            let op = match op {
                Operator::Add => Op::Add,
                Operator::Sub => Op::Sub,
                Operator::Mult => Op::Mul,
                Operator::FloorDiv => Op::FloorDiv,
                _ => Op::Mod,
            };
            (op, if is_float { float(s, t) } else { integer(s, t) })
        }
        Operator::Div => (Op::Div, if is_float { float(s, t) } else { Scalar::F64 }),
        Operator::Pow => return power(lower, (a, s), (b, t), sides),
        _ => return Err(refuse(lower, op, a, b, sides)),
    };
    let x = lower.value_as(a, Type::scalar(scalar), sides.left)?;
    let y = lower.value_as(b, Type::scalar(scalar), sides.right)?;
    if !s.is_float() && !t.is_float() && op == Op::Div && lower.unit.options.checked {
        let divisor = lower.value_as(b, Type::scalar(integer(t, t)), sides.right)?;
        lower.check_divisor(Op::Div, divisor, sides);
    }
    lower.check_divisor(op, y, sides);
    let options = &lower.unit.options;
    if scalar.is_float() && (s.is_float() || t.is_float()) && options.checked && !options.fast_math {
        // As in Python, where floats that are divided by zero are a mistake too.
        let is_other = lower.b().cast(y, Scalar::Bool);
        let divisor = lower.b().cast(is_other, Scalar::I32);
        lower.check_divisor(op, divisor, sides);
    }
    if let (Op::FloorDiv | Op::Mod, true) = (op, scalar.is_float()) {
        // What Python says of floats takes more than an op: `1.0 // 0.1` is 9, though the quotient rounds to 10.
        let name = if op == Op::FloorDiv { "_floor_quotient" } else { "_modulo" };
        let args = Args::positional(&[Operand::Value(x), Operand::Value(y)], sides.whole);
        return lower.call_library(name, args, sides.whole).unwrap_or(Err(Reported));
    }
    Ok(Operand::Value(lower.b().binary(op, x, y)))
}

/// `x ** y`: products where `y` is a small constant, a loop where both are integers, `pow` else.
fn power(
    lower: &mut Lower<'_, '_>,
    (a, s): (&Operand, Scalar),
    (b, t): (&Operand, Scalar),
    sides: Sides,
) -> Result<Operand> {
    let is_exact = !s.is_float() && !t.is_float();
    let base = match (s.is_float(), t.is_float()) {
        (false, false) => integer(s, t),
        // A float keeps its type under an integer power.
        (true, false) => s,
        _ => float(s, t),
    };
    if let Some(n) = b.as_int().filter(|n| n.abs() <= MAX_PRODUCT && !t.is_float()) {
        let base = if n < 0 && !base.is_float() { Scalar::F64 } else { base };
        let x = lower.value_as(a, Type::scalar(base), sides.left)?;
        return Ok(Operand::Value(product(lower, x, n)));
    }
    let x = lower.value_as(a, Type::scalar(base), sides.left)?;
    if is_exact {
        let y = lower.value_as(b, Type::scalar(base), sides.right)?;
        let args = Args::positional(&[Operand::Value(x), Operand::Value(y)], sides.whole);
        return lower.call_library("_int_power", args, sides.whole).unwrap_or(Err(Reported));
    }
    let y = lower.value_as(b, Type::scalar(base), sides.right)?;
    Ok(Operand::Value(lower.b().binary(Op::Pow, x, y)))
}

/// x to the power n by squaring; 1 / x^-n where n is negative.
fn product(lower: &mut Lower<'_, '_>, x: Value, n: i128) -> Value {
    let scalar = lower.ty(x).as_scalar().unwrap_or(Scalar::F64);
    let one = lower
        .b()
        .constant(scalar, if scalar.is_float() { ir::Const::float(scalar, 1.0) } else { ir::Const::int(scalar, 1) });
    let mut result: Option<Value> = None;
    let (mut square, mut rest) = (x, n.unsigned_abs());
    while rest > 0 {
        if rest & 1 == 1 {
            result = Some(result.map_or(square, |known| lower.b().binary(Op::Mul, known, square)));
        }
        rest >>= 1;
        if rest > 0 {
            square = lower.b().binary(Op::Mul, square, square);
        }
    }
    let result = result.unwrap_or(one);
    if n < 0 { lower.b().binary(Op::Div, one, result) } else { result }
}

pub(crate) fn unary(lower: &mut Lower<'_, '_>, op: UnaryOp, operand: &Operand, span: Span) -> Result<Operand> {
    let folded = match (op, operand) {
        (UnaryOp::USub, Operand::Static(HostValue::Int(v))) => v.checked_neg().map(HostValue::Int),
        (UnaryOp::USub, Operand::Static(HostValue::Float(v))) => Some(HostValue::Float(-v)),
        (UnaryOp::Invert, Operand::Static(HostValue::Int(v))) => Some(HostValue::Int(!v)),
        _ => None,
    };
    if let Some(folded) = folded {
        return Ok(Operand::Static(folded));
    }
    let number = lower.type_of(operand).and_then(Number::of);
    let (ir_op, ty) = match (op, number) {
        (UnaryOp::Invert, Some(Number::Real(Scalar::Bool))) => (Op::Not, Type::bool()),
        (UnaryOp::Invert, Some(Number::Real(scalar))) if scalar.is_int() => {
            (Op::Not, Type::scalar(integer(scalar, scalar)))
        }
        (UnaryOp::USub | UnaryOp::UAdd, Some(Number::Real(scalar))) => {
            (Op::Neg, Type::scalar(if scalar.is_float() { scalar } else { integer(scalar, scalar) }))
        }
        (UnaryOp::USub, Some(Number::Complex(_))) => {
            let value = lower.value(operand, span)?;
            return Ok(Operand::Value(complex::negated(lower, value)));
        }
        (UnaryOp::UAdd, Some(Number::Complex(_))) => return Ok(operand.clone()),
        _ => {
            let what = lower.describe(operand);
            return Err(lower.error("type-mismatch", span, format!("cannot apply `{}` to {what}", op.as_str())));
        }
    };
    if op == UnaryOp::UAdd {
        return Ok(Operand::Value(lower.value_as(operand, ty, span)?));
    }
    // The result is wider, but has the bits of the operand's own type: `-uint8(1)` is 255.
    let narrow = match number {
        Some(Number::Real(scalar)) if scalar.is_int() => Type::scalar(scalar),
        _ => ty,
    };
    let value = lower.value_as(operand, narrow, span)?;
    let value = lower.b().unary(ir_op, value);
    Ok(Operand::Value(ty.as_scalar().map_or(value, |wide| lower.b().cast(value, wide))))
}

pub(crate) fn compare(lower: &mut Lower<'_, '_>, op: CmpOp, a: &Operand, b: &Operand, sides: Sides) -> Result<Operand> {
    let number = |operand: &Operand| lower.type_of(operand).and_then(Number::of);
    let (Some(x), Some(y)) = (number(a), number(b)) else {
        return Err(lower.refuse_comparison(op, a, b, sides));
    };
    match (x, y) {
        (Number::Real(s), Number::Real(t)) => {
            let (x, y) = (lower.value(a, sides.left)?, lower.value(b, sides.right)?);
            let is_float = s.is_float() || t.is_float();
            // An int64 and a uint64 would be compared as floats.
            let common = types::unify(Type::scalar(s), Type::scalar(t)).and_then(Type::as_scalar);
            let common = common.filter(|common| common.is_float() == is_float);
            Ok(Operand::Value(lower.compare_numbers(ordering(op), common, x, (y, t))))
        }
        _ if matches!(op, CmpOp::Eq | CmpOp::NotEq) => {
            let Number::Complex(part) = arithmetic(x, y) else { return Err(lower.refuse_comparison(op, a, b, sides)) };
            let x = lower.value_as(a, types::complex(part), sides.left)?;
            let y = lower.value_as(b, types::complex(part), sides.right)?;
            let equal = complex::equal(lower, x, y);
            Ok(Operand::Value(if op == CmpOp::Eq { equal } else { lower.b().unary(Op::Not, equal) }))
        }
        _ => Err(lower.refuse_comparison(op, a, b, sides)),
    }
}

/// Python's arithmetic on literals; `None` leaves it to run time.
fn fold(op: Operator, a: &HostValue, b: &HostValue) -> Option<HostValue> {
    let int = |value: &HostValue| match value {
        HostValue::Int(value) => Some(*value),
        HostValue::Bool(value) => Some(i128::from(*value)),
        _ => None,
    };
    if let (HostValue::Bool(_), HostValue::Bool(_)) = (a, b)
        && matches!(op, Operator::BitAnd | Operator::BitOr | Operator::BitXor)
    {
        return None;
    }
    if let (Some(x), Some(y)) = (int(a), int(b)) {
        let shift = u32::try_from(y).ok();
        let folded = match op {
            Operator::Add => x.checked_add(y),
            Operator::Sub => x.checked_sub(y),
            Operator::Mult => x.checked_mul(y),
            Operator::Div if y != 0 => return Some(HostValue::Float(x as f64 / y as f64)),
            Operator::FloorDiv if y != 0 => floor_div(x, y),
            Operator::Mod if y != 0 => x.checked_sub(floor_div(x, y)?.checked_mul(y)?),
            Operator::Pow if y >= 0 => shift.and_then(|y| x.checked_pow(y)),
            Operator::Pow if x != 0 => return Some(HostValue::Float((x as f64).powf(y as f64))),
            Operator::LShift => shift.filter(|&y| y < 64).and_then(|y| x.checked_mul(1 << y)),
            Operator::RShift => shift.map(|y| x >> y.min(127)),
            Operator::BitAnd => Some(x & y),
            Operator::BitOr => Some(x | y),
            Operator::BitXor => Some(x ^ y),
            _ => None,
        };
        return folded
            .filter(|value| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(value))
            .map(HostValue::Int);
    }
    let number = |value: &HostValue| match value {
        HostValue::Float(value) => Some(*value),
        other => int(other).map(|value| value as f64),
    };
    let (x, y) = (number(a)?, number(b)?);
    Some(HostValue::Float(match op {
        Operator::Add => x + y,
        Operator::Sub => x - y,
        Operator::Mult => x * y,
        Operator::Div => x / y,
        Operator::Pow => x.powf(y),
        _ => return None,
    }))
}

fn floor_div(x: i128, y: i128) -> Option<i128> {
    let quotient = x.checked_div(y)?;
    Some(if x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_fold_as_python_computes() {
        let int = |op, x, y| fold(op, &HostValue::Int(x), &HostValue::Int(y));
        assert_eq!(int(Operator::FloorDiv, -7, 2), Some(HostValue::Int(-4)));
        assert_eq!(int(Operator::Mod, -7, 2), Some(HostValue::Int(1)));
        assert_eq!(int(Operator::Mod, 7, -2), Some(HostValue::Int(-1)));
        assert_eq!(int(Operator::Div, 1, 2), Some(HostValue::Float(0.5)));
        assert_eq!(int(Operator::FloorDiv, 1, 0), None);
        assert_eq!(int(Operator::LShift, 1, 64), None);
    }
}
