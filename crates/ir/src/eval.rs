//! Scalar ops on constants: what they compute, bit for bit, in the interpreter and when constants are folded.
//!
//! In: an op, the scalar type of its operands, their constants. Out: the result, or `None` for ops that are no
//! scalar computation or that need the runtime's math library (`sin`, `pow` …).
//!
//! ```
//! use gridstride_ir::{Const, Op, Scalar, eval};
//! let int = |x| Const::int(Scalar::I32, x);
//! assert_eq!(eval::scalar_op(Op::Div, Scalar::I32, &[int(7), int(0)]), Some(int(0)));
//! ```
//!
//! f16 and bf16 are widened to f32, computed, and rounded to nearest even after every op.

use crate::constant::Const;
use crate::op::Op;
use crate::types::{Class, Scalar};

/// The result of an op on scalars of type `scalar`; bool for comparisons and float tests.
/// `cast` and `bitcast` need a second type: see [`cast`].
pub fn scalar_op(op: Op, scalar: Scalar, args: &[Const]) -> Option<Const> {
    match (op, args) {
        (Op::Select, &[condition, a, b]) => Some(if condition.0 != 0 { a } else { b }),
        (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, &[a, b]) => compare(op, scalar, a, b),
        (Op::IsNan | Op::IsInf | Op::IsFinite, &[a]) => float_test(op, scalar, a),
        _ => match scalar.class() {
            Class::Bool => bool_op(op, args),
            Class::Int => int_op(op, scalar, args),
            Class::Float => float_op(op, scalar, args),
        },
    }
}

/// `cast` of one scalar.
pub fn cast(from: Scalar, to: Scalar, value: Const) -> Const {
    match from.class() {
        _ if from == to => value,
        Class::Float => Const::float(to, value.as_float(from)),
        _ => Const::int(to, value.as_int(from)),
    }
}

fn compare(op: Op, scalar: Scalar, a: Const, b: Const) -> Option<Const> {
    fn holds<T: PartialOrd>(op: Op, a: T, b: T) -> Option<bool> {
        Some(match op {
            Op::Eq => a == b,
            Op::Ne => a != b,
            Op::Lt => a < b,
            Op::Le => a <= b,
            Op::Gt => a > b,
            Op::Ge => a >= b,
            _ => return None,
        })
    }
    let result = if scalar.is_float() {
        holds(op, a.as_float(scalar), b.as_float(scalar))
    } else {
        holds(op, a.as_int(scalar), b.as_int(scalar))
    };
    result.map(Const::bool)
}

fn float_test(op: Op, scalar: Scalar, a: Const) -> Option<Const> {
    let x = a.as_float(scalar);
    Some(Const::bool(match op {
        _ if !scalar.is_float() => return None,
        Op::IsNan => x.is_nan(),
        Op::IsInf => x.is_infinite(),
        _ => x.is_finite(),
    }))
}

fn bool_op(op: Op, args: &[Const]) -> Option<Const> {
    Some(Const::bool(match (op, args) {
        (Op::And, [a, b]) => a.0 & b.0 != 0,
        (Op::Or, [a, b]) => a.0 | b.0 != 0,
        (Op::Xor, [a, b]) => a.0 != b.0,
        (Op::Not, [a]) => a.0 == 0,
        _ => return None,
    }))
}

/// All of it in i128, which holds every sum, difference and product of 64-bit integers; the result then wraps.
fn int_op(op: Op, scalar: Scalar, args: &[Const]) -> Option<Const> {
    let bits = scalar.bits();
    let x = args.first()?.as_int(scalar);
    let low = u128::from(args[0].0);
    let value = match (op, args) {
        (Op::Neg, [_]) => -x,
        (Op::Abs, [_]) => x.abs(),
        (Op::Not, [_]) => !x,
        (Op::PopCount, [_]) => i128::from(low.count_ones()),
        (Op::LeadingZeros, [_]) => i128::from(low.leading_zeros() - (128 - bits)),
        (Op::TrailingZeros, [_]) => i128::from(low.trailing_zeros().min(bits)),
        (_, &[_, b]) => int_binary(op, scalar, x, b)?,
        _ => return None,
    };
    Some(Const::int(scalar, value))
}

fn int_binary(op: Op, scalar: Scalar, x: i128, b: Const) -> Option<i128> {
    let bits = scalar.bits();
    let y = b.as_int(scalar);
    // Shift amounts are unsigned whatever the type.
    let amount = b.0.min(127) as u32;
    Some(match op {
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => x.wrapping_mul(y),
        Op::MulHigh if scalar.is_signed() => (x * y) >> bits,
        Op::MulHigh => ((x as u128 * y as u128) >> bits) as i128,
        Op::Div | Op::FloorDiv if y == 0 => 0,
        Op::Rem | Op::Mod if y == 0 => x,
        Op::Div => x / y,
        Op::Rem => x % y,
        Op::FloorDiv => {
            let quotient = x / y;
            if x % y != 0 && (x < 0) != (y < 0) { quotient - 1 } else { quotient }
        }
        Op::Mod => {
            let rest = x % y;
            if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
        }
        Op::Min => x.min(y),
        Op::Max => x.max(y),
        Op::And => x & y,
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::Shl if b.0 >= u64::from(bits) => 0,
        Op::Shl => x << amount,
        Op::Shr if b.0 >= u64::from(bits) => x >> 127,
        Op::Shr => x >> amount,
        _ => return None,
    })
}

fn float_op(op: Op, scalar: Scalar, args: &[Const]) -> Option<Const> {
    // Only the sign bit changes, of NaNs too.
    let sign = 1u64 << (scalar.bits() - 1);
    match (op, args) {
        (Op::Neg, [a]) => return Some(Const(a.0 ^ sign)),
        (Op::Abs, [a]) => return Some(Const(a.0 & !sign)),
        (Op::CopySign, [a, b]) => return Some(Const((a.0 & !sign) | (b.0 & sign))),
        (Op::Min | Op::Max, &[a, b]) => {
            let (x, y) = (a.as_float(scalar), b.as_float(scalar));
            let is_first = y.is_nan() || if op == Op::Min { x < y } else { x > y };
            return Some(if is_first { a } else { b });
        }
        (Op::Lesser | Op::Greater, &[a, b]) => {
            let (x, y) = (a.as_float(scalar), b.as_float(scalar));
            return Some(if if op == Op::Lesser { x < y } else { x > y } { a } else { b });
        }
        _ => {}
    }
    if scalar == Scalar::F64 {
        let args: Vec<f64> = args.iter().map(|a| f64::from_bits(a.0)).collect();
        return f64_op(op, &args).map(|x| Const(x.to_bits()));
    }
    let args: Vec<f32> = args.iter().map(|a| a.as_float(scalar) as f32).collect();
    let x = f32_op(op, &args)?;
    Some(if scalar == Scalar::F32 { Const(x.to_bits().into()) } else { Const::float(scalar, x.into()) })
}

macro_rules! float_ops {
    ($name:ident, $float:ty) => {
        fn $name(op: Op, args: &[$float]) -> Option<$float> {
            Some(match (op, args) {
                (Op::Add, [a, b]) => a + b,
                (Op::Sub, [a, b]) => a - b,
                (Op::Mul, [a, b]) => a * b,
                (Op::Div, [a, b]) => a / b,
                (Op::Rem, [a, b]) => a % b,
                (Op::FloorDiv, [a, b]) => (a / b).floor(),
                (Op::Mod, [a, b]) => {
                    let rest = a % b;
                    if rest != 0.0 && rest.is_sign_negative() != b.is_sign_negative() { rest + b } else { rest }
                }
                (Op::Fma, [a, b, c]) => a.mul_add(*b, *c),
                (Op::Sqrt, [a]) => a.sqrt(),
                (Op::Floor, [a]) => a.floor(),
                (Op::Ceil, [a]) => a.ceil(),
                (Op::Trunc, [a]) => a.trunc(),
                (Op::Round, [a]) => a.round(),
                (Op::Rint, [a]) => a.round_ties_even(),
                _ => return None,
            })
        }
    };
}

float_ops!(f32_op, f32);
float_ops!(f64_op, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::{parse_const, print_const};

    /// `op scalar args…` evaluated, as text.
    fn check(op: Op, scalar: Scalar, args: &[&str]) -> String {
        let args: Vec<_> = args.iter().map(|text| parse_const(scalar, text).unwrap()).collect();
        let result = scalar_op(op, scalar, &args).unwrap();
        let is_bool = matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::IsNan);
        print_const(if is_bool { Scalar::Bool } else { scalar }, result)
    }

    #[test]
    fn integer_division_is_total() {
        use Scalar::{I8, I64, U8};
        assert_eq!(check(Op::Div, I8, &["7", "0"]), "0");
        assert_eq!(check(Op::Rem, I8, &["7", "0"]), "7");
        assert_eq!(check(Op::FloorDiv, I8, &["-7", "0"]), "0");
        assert_eq!(check(Op::Mod, I8, &["-7", "0"]), "-7");
        assert_eq!(check(Op::Div, I8, &["-128", "-1"]), "-128");
        assert_eq!(check(Op::Rem, I8, &["-128", "-1"]), "0");
        assert_eq!(check(Op::Div, I64, &["-9223372036854775808", "-1"]), "-9223372036854775808");
        assert_eq!(check(Op::FloorDiv, I8, &["-7", "2"]), "-4");
        assert_eq!(check(Op::Mod, I8, &["-7", "2"]), "1");
        assert_eq!(check(Op::Mod, I8, &["7", "-2"]), "-1");
        assert_eq!(check(Op::Div, U8, &["200", "3"]), "66");
    }

    #[test]
    fn integers_wrap_and_shift_by_unsigned_amounts() {
        use Scalar::{I8, I32, U8, U64};
        assert_eq!(check(Op::Mul, I8, &["100", "3"]), "44");
        assert_eq!(check(Op::Abs, I8, &["-128"]), "-128");
        assert_eq!(check(Op::Mul, U64, &["18446744073709551615", "18446744073709551615"]), "1");
        assert_eq!(check(Op::MulHigh, U64, &["18446744073709551615", "18446744073709551615"]), "18446744073709551614");
        assert_eq!(check(Op::MulHigh, I32, &["-1", "1"]), "-1");
        assert_eq!(check(Op::Shl, I8, &["1", "8"]), "0");
        assert_eq!(check(Op::Shl, I8, &["1", "-1"]), "0");
        assert_eq!(check(Op::Shr, I8, &["-3", "1"]), "-2");
        assert_eq!(check(Op::Shr, I8, &["-3", "100"]), "-1");
        assert_eq!(check(Op::Shr, U8, &["255", "8"]), "0");
        assert_eq!(check(Op::LeadingZeros, I8, &["1"]), "7");
        assert_eq!(check(Op::LeadingZeros, I8, &["0"]), "8");
        assert_eq!(check(Op::TrailingZeros, U8, &["0"]), "8");
        assert_eq!(check(Op::PopCount, I8, &["-1"]), "8");
        assert_eq!(check(Op::Not, U8, &["1"]), "254");
    }

    #[test]
    fn a_nan_counts_as_missing_in_min_and_max() {
        use Scalar::F32;
        assert_eq!(check(Op::Min, F32, &["nan", "1"]), "1.0");
        assert_eq!(check(Op::Max, F32, &["1", "nan"]), "1.0");
        assert_eq!(check(Op::Min, F32, &["0", "-0.0"]), "-0.0");
        assert_eq!(check(Op::Min, F32, &["-0.0", "0"]), "0.0");
        assert_eq!(check(Op::Lt, F32, &["nan", "1"]), "false");
        assert_eq!(check(Op::Ne, F32, &["nan", "nan"]), "true");
    }

    #[test]
    fn floats_follow_the_op_table() {
        use Scalar::{BF16, F16, F32, F64};
        assert_eq!(check(Op::Mod, F32, &["-1", "3"]), "2.0");
        assert_eq!(check(Op::Rem, F32, &["-1", "3"]), "-1.0");
        assert_eq!(check(Op::FloorDiv, F64, &["-1", "3"]), "-1.0");
        assert_eq!(check(Op::Round, F64, &["-2.5"]), "-3.0");
        assert_eq!(check(Op::Rint, F64, &["2.5"]), "2.0");
        assert_eq!(check(Op::Add, F16, &["65504", "65504"]), "inf");
        assert_eq!(check(Op::Add, BF16, &["256", "1"]), "256.0");
        assert_eq!(check(Op::Neg, F32, &["0x7fc00001"]), "0xffc00001");
        assert_eq!(scalar_op(Op::Sin, F32, &[Const(0)]), None);
    }

    #[test]
    fn casts_saturate_wrap_and_round() {
        let check = |from, to, text| print_const(to, cast(from, to, parse_const(from, text).unwrap()));
        assert_eq!(check(Scalar::F32, Scalar::I8, "1e9"), "127");
        assert_eq!(check(Scalar::F32, Scalar::U8, "-3.5"), "0");
        assert_eq!(check(Scalar::F32, Scalar::I32, "nan"), "0");
        assert_eq!(check(Scalar::F32, Scalar::Bool, "nan"), "true");
        assert_eq!(check(Scalar::F32, Scalar::Bool, "-0.0"), "false");
        assert_eq!(check(Scalar::I32, Scalar::U8, "-1"), "255");
        assert_eq!(check(Scalar::I64, Scalar::F32, "16777217"), "16777216.0");
        assert_eq!(check(Scalar::F64, Scalar::F16, "70000"), "inf");
        assert_eq!(check(Scalar::Bool, Scalar::F32, "true"), "1.0");
    }
}
