//! `math`, and NumPy's functions on scalars.
//!
//! A float32 stays one; integers compute in float64. `math.floor` and its like give integers, NumPy's give floats.

use super::builtins::{Row, row};
use super::types::{self, Number};
use super::{array, complex, warps};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::{Lower, Reported, Result};
use crate::walk::operand::Operand;
use crate::warp::builtins::Call;
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, Value};
use ruff_python_ast::{CmpOp, Operator, UnaryOp};

pub(super) const ROWS: &[Row] = &[
    row("floor", "x", |lower, call| whole(lower, call, Op::Floor)),
    row("ceil", "x", |lower, call| whole(lower, call, Op::Ceil)),
    row("trunc", "x", |lower, call| whole(lower, call, Op::Trunc)),
    row("math.pow", "x, y", pow),
    row("isnan", "x", |lower, call| test(lower, call, Op::IsNan)),
    row("isinf", "x", |lower, call| test(lower, call, Op::IsInf)),
    row("isfinite", "x", |lower, call| test(lower, call, Op::IsFinite)),
    row("hypot", "x, y", hypot),
    row("frexp", "x", |lower, call| library(lower, call, "_frexp")),
    row("ldexp", "x, i", |lower, call| library(lower, call, "_ldexp")),
    row("modf", "x", |lower, call| library(lower, call, "_modf")),
    row("gamma", "x", |lower, call| library(lower, call, "_gamma")),
    row("lgamma", "x", |lower, call| library(lower, call, "_lgamma")),
    row("remainder", "x, y", |lower, call| library(lower, call, "_ieee_remainder")),
    row("nextafter", "x, y", |lower, call| library(lower, call, "_nextafter")),
    row("degrees", "x", |lower, call| scaled(lower, call, 180.0 / std::f64::consts::PI)),
    row("radians", "x", |lower, call| scaled(lower, call, std::f64::consts::PI / 180.0)),
    row("cuda.cbrt", "x", |lower, call| {
        float_op(lower, Op::Cbrt, &call.all().iter().map(|arg| arg.operand.clone()).collect::<Vec<_>>(), call.span)
    }),
    row("numpy.abs", "x", |lower, call| super::builtins::call(lower, "abs", positional(call), call.span)),
    row("numpy.absolute", "x", |lower, call| super::builtins::call(lower, "abs", positional(call), call.span)),
    row("numpy.fabs", "x", |lower, call| float_op(lower, Op::Abs, &positional(call).positional, call.span)),
];

/// Functions of floats that are one op, by their names in `math` and in NumPy.
const FLOATS: [(&str, &str, Op); 33] = [
    ("sqrt", "sqrt", Op::Sqrt),
    ("cbrt", "cbrt", Op::Cbrt),
    ("exp", "exp", Op::Exp),
    ("exp2", "exp2", Op::Exp2),
    ("expm1", "expm1", Op::ExpM1),
    ("log2", "log2", Op::Log2),
    ("log10", "log10", Op::Log10),
    ("log1p", "log1p", Op::Log1P),
    ("sin", "sin", Op::Sin),
    ("cos", "cos", Op::Cos),
    ("tan", "tan", Op::Tan),
    ("asin", "arcsin", Op::Asin),
    ("acos", "arccos", Op::Acos),
    ("atan", "arctan", Op::Atan),
    ("atan2", "arctan2", Op::Atan2),
    ("sinh", "sinh", Op::Sinh),
    ("cosh", "cosh", Op::Cosh),
    ("tanh", "tanh", Op::Tanh),
    ("asinh", "arcsinh", Op::Asinh),
    ("acosh", "arccosh", Op::Acosh),
    ("atanh", "arctanh", Op::Atanh),
    ("erf", "erf", Op::Erf),
    ("erfc", "erfc", Op::Erfc),
    ("copysign", "copysign", Op::CopySign),
    ("fmod", "fmod", Op::Rem),
    ("abs", "fabs", Op::Abs),
    ("log", "log", Op::Log),
    ("fma", "fma", Op::Fma),
    ("_rint", "rint", Op::Rint),
    // The library's own names, where `math` means integers or Python's rules.
    ("_trunc", "", Op::Trunc),
    ("_floor", "", Op::Floor),
    ("_copysign", "", Op::CopySign),
    ("_fmod", "", Op::Rem),
];

/// NumPy's functions that round and keep floats floats.
const ROUNDING: [(&str, Op); 3] = [("floor", Op::Floor), ("ceil", Op::Ceil), ("trunc", Op::Trunc)];

/// NumPy's operators by name.
const OPERATORS: [(&str, Operator); 19] = [
    ("add", Operator::Add),
    ("subtract", Operator::Sub),
    ("multiply", Operator::Mult),
    ("divide", Operator::Div),
    ("true_divide", Operator::Div),
    ("floor_divide", Operator::FloorDiv),
    ("remainder", Operator::Mod),
    ("mod", Operator::Mod),
    ("power", Operator::Pow),
    ("float_power", Operator::Pow),
    ("bitwise_and", Operator::BitAnd),
    ("bitwise_or", Operator::BitOr),
    ("bitwise_xor", Operator::BitXor),
    ("logical_and", Operator::BitAnd),
    ("logical_or", Operator::BitOr),
    ("logical_xor", Operator::BitXor),
    ("left_shift", Operator::LShift),
    ("right_shift", Operator::RShift),
    ("matmul", Operator::MatMult),
];

const COMPARISONS: [(&str, CmpOp); 6] = [
    ("equal", CmpOp::Eq),
    ("not_equal", CmpOp::NotEq),
    ("less", CmpOp::Lt),
    ("less_equal", CmpOp::LtE),
    ("greater", CmpOp::Gt),
    ("greater_equal", CmpOp::GtE),
];

/// What NumPy has of complex numbers by the order of their real parts, then of their imaginary ones.
const COMPLEX_ORDER: [&str; 8] =
    ["less", "less_equal", "greater", "greater_equal", "minimum", "maximum", "fmin", "fmax"];

fn complex_order(lower: &mut Lower<'_, '_>, function: &str, sides: [&Operand; 2], span: Span) -> Result<Operand> {
    let numbers = sides.map(|side| lower.type_of(side).and_then(Number::of));
    let [Some(x), Some(y)] = numbers else {
        return Err(lower.error("argument-type", span, "this function takes numbers"));
    };
    let ty = types::arithmetic(x, y).ty();
    let mut operands = Vec::new();
    for side in sides {
        operands.push(Operand::Value(lower.value_as(side, ty, span)?));
    }
    let args = Args::positional(&operands, span);
    lower.call_library(&format!("_complex_{function}"), args, span).unwrap_or(Err(Reported))
}

fn positional(call: &Call<'_>) -> Args {
    let operands: Vec<Operand> = call.all().into_iter().map(|arg| arg.operand).collect();
    Args::positional(&operands, call.span)
}

/// A function of `math` or NumPy that the other tables do not have. A last argument that is an array takes the results
/// for the elements of the others.
pub(super) fn ufunc(lower: &mut Lower<'_, '_>, name: &str, args: &Args, span: Span) -> Option<Result<Operand>> {
    let operands = args.positional.as_slice();
    let Some(function) = name.strip_prefix("numpy.") else {
        if name == "log"
            && let [x, base] = operands
        {
            let logs = [x, base].map(|operand| float_op(lower, Op::Log, std::slice::from_ref(operand), span));
            let [Ok(x), Ok(base)] = logs else { return Some(Err(Reported)) };
            return Some(lower.binary(Operator::Div, &x, &base, span));
        }
        let (_, _, op) = FLOATS.iter().find(|(known, ..)| *known == name)?;
        return Some(float_op(lower, *op, operands, span));
    };
    let last = operands.last().and_then(|last| lower.type_of(last)).filter(|ty| ty.is_array());
    if last.is_some() && operands.len() > 1 {
        let (target, operands) = operands.split_last()?;
        return Some(over_arrays(lower, name, operands, target, span));
    }
    if let Some((_, op)) = OPERATORS.iter().find(|(known, _)| *known == function)
        && let [a, b] = operands
    {
        if function.starts_with("logical") {
            let sides = [a, b].map(|operand| lower.truth(operand, span));
            let [Ok(a), Ok(b)] = sides else { return Some(Err(Reported)) };
            return Some(lower.binary(*op, &a, &b, span));
        }
        return Some(lower.binary(*op, a, b, span));
    }
    if let [a, b] = operands
        && (is_complex(lower, a) || is_complex(lower, b))
        && COMPLEX_ORDER.contains(&function)
    {
        return Some(complex_order(lower, function, [a, b], span));
    }
    if let Some((_, op)) = COMPARISONS.iter().find(|(known, _)| *known == function)
        && let [a, b] = operands
    {
        return Some(lower.compare(*op, a, b, span));
    }
    if let [x] = operands {
        match function {
            "negative" => return Some(lower.unary(UnaryOp::USub, x, span)),
            "positive" => return Some(lower.unary(UnaryOp::UAdd, x, span)),
            "invert" | "bitwise_not" => return Some(lower.unary(UnaryOp::Invert, x, span)),
            "logical_not" => return Some(lower.unary(UnaryOp::Not, x, span)),
            "conjugate" | "conj" => return Some(conjugate(lower, x, span)),
            "square" => return Some(lower.binary(Operator::Mult, x, x, span)),
            "reciprocal" => return Some(lower.binary(Operator::Div, &Operand::Static(HostValue::Float(1.0)), x, span)),
            "sign" => return Some(sign(lower, x, span)),
            "isnan" | "isinf" | "isfinite" | "degrees" | "radians" | "frexp" | "modf" => {
                return Some(super::builtins::call(lower, function, args.clone(), span));
            }
            "deg2rad" | "rad2deg" => {
                let function = if function == "deg2rad" { "radians" } else { "degrees" };
                return Some(super::builtins::call(lower, function, args.clone(), span));
            }
            "bitwise_count" => {
                return Some(lower.value(x, span).map(|value| Operand::Value(warps::bit_count(lower, value))));
            }
            _ => {}
        }
        if let Some((_, op)) = ROUNDING.iter().find(|(known, _)| *known == function) {
            let is_float = lower.type_of(x).and_then(Type::as_scalar).is_some_and(Scalar::is_float);
            return Some(if is_float { float_op(lower, *op, operands, span) } else { Ok(x.clone()) });
        }
        if is_complex(lower, x)
            && let Some((known, ..)) = FLOATS.iter().find(|(_, known, _)| *known == function)
        {
            return lower.call_library(&format!("_cmath_{known}"), args.clone(), span);
        }
    }
    if let [a, b] = operands {
        match function {
            "minimum" | "fmin" => return Some(choose(lower, Op::Min, a, b, function == "minimum", span)),
            "maximum" | "fmax" => return Some(choose(lower, Op::Max, a, b, function == "maximum", span)),
            "logaddexp" | "logaddexp2" | "nextafter" | "hypot" | "ldexp" | "gcd" | "lcm" => {
                let library = format!("_{function}");
                return match function {
                    "hypot" | "nextafter" | "ldexp" => Some(super::builtins::call(lower, function, args.clone(), span)),
                    _ => {
                        let args = floats(lower, operands, span).map(|values| {
                            let operands: Vec<Operand> = values.into_iter().map(Operand::Value).collect();
                            Args::positional(&operands, span)
                        });
                        args.map_or(Some(Err(Reported)), |args| lower.call_library(&library, args, span))
                    }
                };
            }
            _ => {}
        }
    }
    let (_, _, op) = FLOATS.iter().find(|(_, known, _)| *known == function)?;
    Some(float_op(lower, *op, operands, span))
}

/// `np.add(a, b, out)`: the function of each element of the arrays, and of numbers beside them.
fn over_arrays(
    lower: &mut Lower<'_, '_>,
    name: &str,
    operands: &[Operand],
    target: &Operand,
    span: Span,
) -> Result<Operand> {
    let out = lower.value(target, span)?;
    let Some((elem, rank)) = lower.ty(out).as_array() else { return Ok(Operand::NONE) };
    array::each(lower, out, rank, &mut Vec::new(), &mut |lower, indices| {
        let mut items = Vec::new();
        for operand in operands {
            let shape = lower.type_of(operand).and_then(Type::as_array);
            items.push(match shape {
                Some((_, n)) if n <= rank => {
                    let source = lower.value(operand, span)?;
                    let at = &indices[(rank - n) as usize..];
                    Operand::Value(lower.b().load(source, at, &[], &[]))
                }
                _ => operand.clone(),
            });
        }
        let result = super::builtins::call(lower, name, Args::positional(&items, span), span)?;
        let value = lower.value_as(&result, elem, span)?;
        lower.b().store(out, indices, &[], &[], value);
        Ok(())
    })?;
    Ok(Operand::NONE)
}

fn is_complex(lower: &Lower<'_, '_>, operand: &Operand) -> bool {
    matches!(lower.type_of(operand).and_then(Number::of), Some(Number::Complex(_)))
}

/// All operands as floats of the type that holds them.
fn floats(lower: &mut Lower<'_, '_>, operands: &[Operand], span: Span) -> Result<Vec<Value>> {
    let mut scalar: Option<Scalar> = None;
    for operand in operands {
        let Some(found) = lower.type_of(operand).and_then(Type::as_scalar) else {
            let what = lower.describe(operand);
            return Err(lower.error("argument-type", span, format!("this function takes real numbers, found {what}")));
        };
        // An integer beside a float counts as float64, whatever its size.
        let found = if found.is_float() { found } else { types::float(found, Scalar::I64) };
        scalar = Some(scalar.map_or(found, |known| types::float(known, found)));
    }
    let ty = Type::scalar(scalar.unwrap_or(Scalar::F64));
    operands.iter().map(|operand| lower.value_as(operand, ty, span)).collect()
}

fn float_op(lower: &mut Lower<'_, '_>, op: Op, operands: &[Operand], span: Span) -> Result<Operand> {
    let n = match op {
        Op::Atan2 | Op::CopySign | Op::Rem | Op::Pow => 2,
        Op::Fma => 3,
        _ => 1,
    };
    if operands.len() != n {
        return Err(lower.error(
            "argument-count",
            span,
            format!("this function takes {n} arguments, found {}", operands.len()),
        ));
    }
    let values = floats(lower, operands, span)?;
    let ty = lower.ty(values[0]);
    Ok(Operand::Value(lower.b().push1(op, &values, Attr::None, ty)))
}

fn library(lower: &mut Lower<'_, '_>, call: &Call<'_>, name: &str) -> Result<Operand> {
    let first = call.arg(0).operand.clone();
    let is_integer_second = matches!(name, "_ldexp");
    let mut operands: Vec<Operand> = call.all().into_iter().map(|arg| arg.operand).collect();
    if is_integer_second {
        let value = floats(lower, &[first], call.span)?[0];
        let second = lower.value_as(&operands[1], Type::i64(), call.span)?;
        operands = vec![Operand::Value(value), Operand::Value(second)];
    } else {
        operands = floats(lower, &operands, call.span)?.into_iter().map(Operand::Value).collect();
    }
    lower.call_library(name, Args::positional(&operands, call.span), call.span).unwrap_or(Err(Reported))
}

/// `math.floor(x)`: an int64.
fn whole(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let arg = call.arg(0);
    match lower.type_of(&arg.operand).and_then(Type::as_scalar) {
        Some(scalar) if scalar.is_float() => {
            let value = lower.arg_value(arg)?;
            let rounded = lower.b().unary(op, value);
            Ok(Operand::Value(lower.b().cast(rounded, Scalar::I64)))
        }
        Some(scalar) => {
            Ok(Operand::Value(lower.value_as(&arg.operand, Type::scalar(types::integer(scalar, scalar)), arg.span)?))
        }
        None => Err(lower.wrong_type(call, arg, "a real number")),
    }
}

/// `math.pow`: always floats; an integer power is a product where it is known.
fn pow(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (x, y) = (&call.arg(0).operand, &call.arg(1).operand);
    let is_int = |operand: &Operand| lower.type_of(operand).and_then(Type::as_scalar).is_some_and(Scalar::is_int);
    let x =
        if is_int(x) { Operand::Value(lower.value_as(x, Type::scalar(Scalar::F64), call.span)?) } else { x.clone() };
    lower.binary(Operator::Pow, &x, y, call.span)
}

fn test(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let arg = call.arg(0);
    let one = |lower: &mut Lower<'_, '_>, value| lower.b().push1(op, &[value], Attr::None, Type::bool());
    match lower.type_of(&arg.operand).and_then(Number::of) {
        Some(Number::Real(scalar)) if scalar.is_float() => {
            let value = lower.arg_value(arg)?;
            Ok(Operand::Value(one(lower, value)))
        }
        Some(Number::Real(_)) => Ok(Operand::Static(HostValue::Bool(op == Op::IsFinite))),
        Some(Number::Complex(_)) => {
            let value = lower.arg_value(arg)?;
            let (real, imag) = complex::parts(lower, value);
            let (real, imag) = (one(lower, real), one(lower, imag));
            let both = if op == Op::IsFinite { Op::And } else { Op::Or };
            Ok(Operand::Value(lower.b().binary(both, real, imag)))
        }
        None => Err(lower.wrong_type(call, arg, "a number")),
    }
}

fn hypot(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let values = floats(lower, &positional(call).positional, call.span)?;
    Ok(Operand::Value(complex::hypot(lower, values[0], values[1])))
}

fn scaled(lower: &mut Lower<'_, '_>, call: &Call<'_>, factor: f64) -> Result<Operand> {
    let value = floats(lower, &positional(call).positional, call.span)?[0];
    let scalar = lower.ty(value).as_scalar().unwrap_or(Scalar::F64);
    let factor = lower.b().float(scalar, factor);
    Ok(Operand::Value(lower.b().binary(Op::Mul, value, factor)))
}

fn conjugate(lower: &mut Lower<'_, '_>, x: &Operand, span: Span) -> Result<Operand> {
    if !is_complex(lower, x) {
        return Ok(x.clone());
    }
    let value = lower.value(x, span)?;
    Ok(Operand::Value(complex::conjugate(lower, value)))
}

fn sign(lower: &mut Lower<'_, '_>, x: &Operand, span: Span) -> Result<Operand> {
    let value = lower.value(x, span)?;
    let ty = lower.ty(value);
    let number = |lower: &mut Lower<'_, '_>, n| lower.value_as(&Operand::int(n), ty, span);
    let (zero, one, minus) = (number(lower, 0)?, number(lower, 1)?, number(lower, -1)?);
    let mut b = lower.b();
    let (is_more, is_less) = (b.compare(Op::Gt, value, zero), b.compare(Op::Lt, value, zero));
    // A NaN is what is left: as in NumPy it has itself for a sign.
    let is_zero = b.compare(Op::Eq, value, zero);
    let rest = b.select(is_zero, zero, value);
    let rest = b.select(is_less, minus, rest);
    Ok(Operand::Value(b.select(is_more, one, rest)))
}

/// `numpy.minimum` passes a NaN on, `numpy.fmin` leaves it out as the op does.
fn choose(
    lower: &mut Lower<'_, '_>,
    op: Op,
    a: &Operand,
    b: &Operand,
    passes_nan: bool,
    span: Span,
) -> Result<Operand> {
    let types = [a, b].map(|operand| lower.type_of(operand));
    let [Some(x), Some(y)] = types else {
        return Err(lower.error("argument-type", span, "this function takes numbers"));
    };
    let Some(ty) = types::unify(x, y).filter(|ty| ty.as_scalar().is_some()) else {
        return Err(lower.error("argument-type", span, "this function takes real numbers"));
    };
    let (x, y) = (lower.value_as(a, ty, span)?, lower.value_as(b, ty, span)?);
    let chosen = lower.b().binary(op, x, y);
    if !passes_nan || !ty.element().is_some_and(Scalar::is_float) {
        return Ok(Operand::Value(chosen));
    }
    let mut make = lower.b();
    let is_nan = make.push1(Op::IsNan, &[x], Attr::None, Type::bool());
    let chosen = make.select(is_nan, x, chosen);
    let is_nan = make.push1(Op::IsNan, &[y], Attr::None, Type::bool());
    Ok(Operand::Value(make.select(is_nan, y, chosen)))
}
