//! Operators on operands that are known while lowering.
//!
//! Plain literals are exact: integers of any size up to 128 bits, floats in double precision. `/` on integers
//! truncates and `%` has the sign of the dividend, as in kernels at run time. Scalars of a known type (`float32(1.0)`
//! captured from Python) compute as the op does at run time.

use super::literal_as;
use crate::HostValue;
use ir::{Const, Op, Scalar, eval};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};
use std::cmp::Ordering;

/// Why literals cannot be combined.
#[derive(Debug, PartialEq)]
pub(crate) struct Mistake {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn of(value: &HostValue) -> Option<Number> {
        match value {
            HostValue::Bool(v) => Some(Number::Int(i128::from(*v))),
            HostValue::Int(v) => Some(Number::Int(*v)),
            HostValue::Float(v) => Some(Number::Float(*v)),
            _ => None,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::Float(v) => v,
        }
    }
}

/// The folded result; `None` where these operands are not folded.
pub(crate) fn binary(op: Operator, a: &HostValue, b: &HostValue) -> Result<Option<HostValue>, Mistake> {
    if let (HostValue::Str(x), HostValue::Str(y)) = (a, b) {
        return Ok((op == Operator::Add).then(|| HostValue::Str(format!("{x}{y}"))));
    }
    if let (HostValue::Bool(x), HostValue::Bool(y)) = (a, b) {
        let folded = match op {
            Operator::BitAnd => Some(x & y),
            Operator::BitOr => Some(x | y),
            Operator::BitXor => Some(x ^ y),
            _ => None,
        };
        if let Some(value) = folded {
            return Ok(Some(HostValue::Bool(value)));
        }
    }
    match (Number::of(a), Number::of(b)) {
        (Some(Number::Int(x)), Some(Number::Int(y))) => integers(op, x, y).map(Some),
        (Some(x), Some(y)) => Ok(floats(op, x.float(), y.float()).map(HostValue::Float)),
        _ => Ok(typed(op, a, b)),
    }
}

fn integers(op: Operator, x: i128, y: i128) -> Result<HostValue, Mistake> {
    let is_division = matches!(op, Operator::Div | Operator::FloorDiv | Operator::Mod);
    if is_division && y == 0 {
        return Err(Mistake { code: "division-by-zero", message: format!("`{x} {} 0` divides by zero", op.as_str()) });
    }
    let shift = u32::try_from(y).ok();
    let folded = match op {
        Operator::Add => x.checked_add(y),
        Operator::Sub => x.checked_sub(y),
        Operator::Mult => x.checked_mul(y),
        Operator::Div => x.checked_div(y),
        Operator::FloorDiv => x.checked_div_euclid(y).map(|q| if y < 0 && x.rem_euclid(y) != 0 { q - 1 } else { q }),
        Operator::Mod => x.checked_rem(y),
        Operator::Pow if y < 0 => return Ok(HostValue::Float((x as f64).powf(y as f64))),
        Operator::Pow => shift.and_then(|y| x.checked_pow(y)),
        Operator::LShift => shift.filter(|&y| y < 127).and_then(|y| x.checked_mul(1 << y)),
        Operator::RShift => shift.map(|y| x >> y.min(127)),
        Operator::BitAnd => Some(x & y),
        Operator::BitOr => Some(x | y),
        Operator::BitXor => Some(x ^ y),
        Operator::MatMult => None,
    };
    folded.map(HostValue::Int).ok_or_else(|| Mistake {
        code: "literal-range",
        message: format!("`{x} {} {y}` does not fit any integer type", op.as_str()),
    })
}

fn floats(op: Operator, x: f64, y: f64) -> Option<f64> {
    Some(match op {
        Operator::Add => x + y,
        Operator::Sub => x - y,
        Operator::Mult => x * y,
        Operator::Div => x / y,
        Operator::FloorDiv => (x / y).floor(),
        Operator::Mod => x % y,
        Operator::Pow => x.powf(y),
        _ => return None,
    })
}

/// One side, or both, of a known scalar type.
fn typed(op: Operator, a: &HostValue, b: &HostValue) -> Option<HostValue> {
    let (scalar, x, y) = constants(a, b)?;
    let class = scalar.class();
    let op = match op {
        Operator::BitAnd => Op::And,
        Operator::BitOr => Op::Or,
        Operator::BitXor => Op::Xor,
        _ if class == ir::Class::Bool => return None,
        Operator::Add => Op::Add,
        Operator::Sub => Op::Sub,
        Operator::Mult => Op::Mul,
        Operator::Div => Op::Div,
        Operator::FloorDiv => Op::FloorDiv,
        Operator::Mod => Op::Rem,
        Operator::LShift => Op::Shl,
        Operator::RShift => Op::Shr,
        Operator::Pow | Operator::MatMult => return None,
    };
    // A division by zero stays an op, so that checked mode reports it where it runs.
    if matches!(op, Op::Div | Op::FloorDiv | Op::Rem) && scalar.is_int() && y.0 == 0 {
        return None;
    }
    eval::scalar_op(op, scalar, &[x, y]).map(|value| HostValue::Scalar(scalar, value))
}

/// Two scalars of one type, at least one of which has it already.
fn constants(a: &HostValue, b: &HostValue) -> Option<(Scalar, Const, Const)> {
    let scalar = match (a, b) {
        (HostValue::Scalar(scalar, _), _) | (_, HostValue::Scalar(scalar, _)) => *scalar,
        _ => return None,
    };
    for value in [a, b] {
        if let HostValue::Int(value) = *value
            && !fits(value, scalar)
        {
            return None;
        }
    }
    Some((scalar, literal_as(a, scalar)?, literal_as(b, scalar)?))
}

pub(crate) fn unary(op: UnaryOp, value: &HostValue) -> Option<HostValue> {
    match (op, value) {
        (UnaryOp::USub, HostValue::Scalar(scalar, constant)) if *scalar != Scalar::Bool => {
            eval::scalar_op(Op::Neg, *scalar, &[*constant]).map(|value| HostValue::Scalar(*scalar, value))
        }
        (UnaryOp::Invert, HostValue::Scalar(scalar, constant)) if scalar.is_int() => {
            eval::scalar_op(Op::Not, *scalar, &[*constant]).map(|value| HostValue::Scalar(*scalar, value))
        }
        _ => match (op, Number::of(value)?) {
            (UnaryOp::USub, Number::Int(v)) => v.checked_neg().map(HostValue::Int),
            (UnaryOp::USub, Number::Float(v)) => Some(HostValue::Float(-v)),
            (UnaryOp::UAdd, Number::Int(v)) => Some(HostValue::Int(v)),
            (UnaryOp::UAdd, Number::Float(v)) => Some(HostValue::Float(v)),
            (UnaryOp::Invert, Number::Int(v)) => Some(HostValue::Int(!v)),
            _ => None,
        },
    }
}

/// Whether a comparison holds; `None` where these operands are not compared while lowering.
pub(crate) fn compare(op: CmpOp, a: &HostValue, b: &HostValue) -> Option<bool> {
    if let (Some(x), Some(y)) = (Number::of(a), Number::of(b)) {
        let order = match (x, y) {
            (Number::Int(x), Number::Int(y)) => Some(x.cmp(&y)),
            _ => x.float().partial_cmp(&y.float()),
        };
        return holds(op, order);
    }
    if let Some((scalar, x, y)) = constants(a, b) {
        let order = if scalar.is_float() {
            x.as_float(scalar).partial_cmp(&y.as_float(scalar))
        } else {
            Some(x.as_int(scalar).cmp(&y.as_int(scalar)))
        };
        return holds(op, order);
    }
    // Tuples compare item by item, elsewhere.
    let is_plain =
        |value: &HostValue| !matches!(value, HostValue::Scalar(..) | HostValue::Composite(..) | HostValue::Tuple(_));
    match op {
        CmpOp::Eq if is_plain(a) && is_plain(b) => Some(a == b),
        CmpOp::NotEq if is_plain(a) && is_plain(b) => Some(a != b),
        _ => match (a, b) {
            (HostValue::Str(x), HostValue::Str(y)) => holds(op, Some(x.cmp(y))),
            _ => None,
        },
    }
}

fn holds(op: CmpOp, order: Option<Ordering>) -> Option<bool> {
    Some(match op {
        CmpOp::Eq => order == Some(Ordering::Equal),
        CmpOp::NotEq => order != Some(Ordering::Equal),
        CmpOp::Lt => order == Some(Ordering::Less),
        CmpOp::LtE => order.is_some_and(Ordering::is_le),
        CmpOp::Gt => order == Some(Ordering::Greater),
        CmpOp::GtE => order.is_some_and(Ordering::is_ge),
        CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => return None,
    })
}

/// Whether an integer literal is meant for a scalar type: signed and unsigned readings of its bits both count.
pub(crate) fn fits(value: i128, scalar: Scalar) -> bool {
    !scalar.is_int() || (-(1i128 << (scalar.bits() - 1)) <= value && value < 1i128 << scalar.bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(op: Operator, x: i128, y: i128) -> Result<HostValue, &'static str> {
        integers(op, x, y).map_err(|mistake| mistake.code)
    }

    #[test]
    fn integer_division_follows_kernels() {
        for (x, y, quotient, floor, remainder) in
            [(7, 2, 3, 3, 1), (-7, 2, -3, -4, -1), (7, -2, -3, -4, 1), (-7, -2, 3, 3, -1), (6, -2, -3, -3, 0)]
        {
            assert_eq!(int(Operator::Div, x, y), Ok(HostValue::Int(quotient)), "{x} / {y}");
            assert_eq!(int(Operator::FloorDiv, x, y), Ok(HostValue::Int(floor)), "{x} // {y}");
            assert_eq!(int(Operator::Mod, x, y), Ok(HostValue::Int(remainder)), "{x} % {y}");
        }
        assert_eq!(int(Operator::Mod, 1, 0), Err("division-by-zero"));
        assert_eq!(int(Operator::Div, i128::MIN, -1), Err("literal-range"));
        assert_eq!(int(Operator::FloorDiv, i128::MIN, -1), Err("literal-range"));
    }

    #[test]
    fn powers_and_shifts_are_exact_or_refused() {
        assert_eq!(int(Operator::Pow, 2, 100), Ok(HostValue::Int(1 << 100)));
        assert_eq!(int(Operator::Pow, 2, 127), Err("literal-range"));
        assert_eq!(int(Operator::Pow, 2, -1), Ok(HostValue::Float(0.5)));
        assert_eq!(int(Operator::LShift, -3, 4), Ok(HostValue::Int(-48)));
        assert_eq!(int(Operator::LShift, 1, 127), Err("literal-range"));
        assert_eq!(int(Operator::LShift, 1, -1), Err("literal-range"));
        assert_eq!(int(Operator::RShift, -5, 200), Ok(HostValue::Int(-1)));
    }

    #[test]
    fn a_typed_scalar_computes_in_its_type() {
        let u8 = |v| HostValue::Scalar(Scalar::U8, Const::int(Scalar::U8, v));
        assert_eq!(binary(Operator::Add, &u8(250), &HostValue::Int(10)), Ok(Some(u8(4))));
        assert_eq!(binary(Operator::Div, &u8(250), &HostValue::Int(0)), Ok(None));
        assert_eq!(binary(Operator::Add, &u8(250), &HostValue::Float(1.0)), Ok(None));
        assert_eq!(compare(CmpOp::Lt, &u8(3), &HostValue::Int(4)), Some(true));
    }

    #[test]
    fn bools_are_numbers_except_among_themselves() {
        let (yes, no) = (HostValue::Bool(true), HostValue::Bool(false));
        assert_eq!(binary(Operator::Add, &yes, &yes), Ok(Some(HostValue::Int(2))));
        assert_eq!(binary(Operator::BitOr, &yes, &no), Ok(Some(HostValue::Bool(true))));
        assert_eq!(unary(UnaryOp::USub, &yes), Some(HostValue::Int(-1)));
    }

    #[test]
    fn an_int_literal_fits_either_reading_of_its_bits() {
        assert!(fits(0xFFFF_FFFF, Scalar::I32) && fits(-1, Scalar::U32) && fits(300, Scalar::F16));
        assert!(!fits(300, Scalar::U8) && !fits(1 << 32, Scalar::I32) && !fits(-129, Scalar::I8));
    }
}
