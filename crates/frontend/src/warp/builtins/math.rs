//! Scalar mathematics.

use super::{Accepts, Arg, Call, Row, op, own};
use crate::HostValue;
use crate::walk::lower::Result;
use crate::walk::operator::Sides;
use crate::walk::{Lower, Operand};
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};
use ruff_python_ast::{Operator, UnaryOp};
use std::f64::consts::PI;

use Accepts::{Float, Int, Number, Numbers};

pub(super) const ROWS: &[Row] = &[
    op("sqrt", "x", Op::Sqrt, Float),
    op("cbrt", "x", Op::Cbrt, Float),
    op("exp", "x", Op::Exp, Float),
    op("exp2", "x", Op::Exp2, Float),
    op("expm1", "x", Op::ExpM1, Float),
    op("log", "x", Op::Log, Float),
    op("log2", "x", Op::Log2, Float),
    op("log10", "x", Op::Log10, Float),
    op("log1p", "x", Op::Log1P, Float),
    op("sin", "x", Op::Sin, Float),
    op("cos", "x", Op::Cos, Float),
    op("tan", "x", Op::Tan, Float),
    own("asin", "x", asin),
    own("acos", "x", acos),
    op("atan", "x", Op::Atan, Float),
    op("atan2", "y, x", Op::Atan2, Float),
    op("sinh", "x", Op::Sinh, Float),
    op("cosh", "x", Op::Cosh, Float),
    op("tanh", "x", Op::Tanh, Float),
    op("asinh", "x", Op::Asinh, Float),
    op("acosh", "x", Op::Acosh, Float),
    op("atanh", "x", Op::Atanh, Float),
    op("erf", "x", Op::Erf, Float),
    op("erfc", "x", Op::Erfc, Float),
    op("pow", "x, y", Op::Pow, Float),
    op("copysign", "x, y", Op::CopySign, Float),
    op("fma", "a, b, c", Op::Fma, Float),
    op("fmod", "x, y", Op::Rem, Float),
    op("floor", "x", Op::Floor, Float),
    op("ceil", "x", Op::Ceil, Float),
    op("trunc", "x", Op::Trunc, Float),
    op("round", "x", Op::Round, Float),
    op("rint", "x", Op::Rint, Float),
    own("frac", "x", frac),
    own("degrees", "x", degrees),
    own("radians", "x", radians),
    own("abs", "x", abs),
    op("fabs", "x", Op::Abs, Float),
    own("min", "a, *args", min),
    own("max", "a, *args", max),
    own("clamp", "x, low, high", clamp),
    own("sign", "x", sign),
    own("step", "x", step),
    own("nonzero", "x", nonzero),
    own("isnan", "a", isnan),
    own("isinf", "a", isinf),
    own("isfinite", "a", isfinite),
    own("bit_count", "x", bit_count),
    op("div_approx", "a, b", Op::Div, Numbers),
    // The operators as functions: what `wp.map` and tile functions are given.
    own("add", "a, b", |lower, call| operator(lower, call, Operator::Add)),
    own("sub", "a, b", |lower, call| operator(lower, call, Operator::Sub)),
    own("mod", "a, b", |lower, call| operator(lower, call, Operator::Mod)),
    own("floordiv", "a, b", |lower, call| operator(lower, call, Operator::FloorDiv)),
    own("bit_and", "a, b", |lower, call| operator(lower, call, Operator::BitAnd)),
    own("bit_or", "a, b", |lower, call| operator(lower, call, Operator::BitOr)),
    own("bit_xor", "a, b", |lower, call| operator(lower, call, Operator::BitXor)),
    own("lshift", "a, b", |lower, call| operator(lower, call, Operator::LShift)),
    own("rshift", "a, b", |lower, call| operator(lower, call, Operator::RShift)),
    own("neg", "x", |lower, call| lower.unary(UnaryOp::USub, &call.arg(0).operand, call.span)),
    own("invert", "x", |lower, call| lower.unary(UnaryOp::Invert, &call.arg(0).operand, call.span)),
];

fn operator(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Operator) -> Result<Operand> {
    let (a, b) = (call.arg(0), call.arg(1));
    let sides = Sides { left: a.span, right: b.span, whole: call.span };
    lower.binary_at(op, &a.operand, &b.operand, sides)
}

/// The only argument as a value that `accepts` allows.
fn only(lower: &mut Lower<'_, '_>, call: &Call<'_>, accepts: Accepts) -> Result<Value> {
    Ok(lower.one_type(call, &[call.arg(0).clone()], accepts)?[0])
}

/// Arguments outside [-1, 1] count as the nearer end, as in Warp; NaN stays NaN.
fn clamped_to_unit(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let x = only(lower, call, Float)?;
    let mut b = lower.b();
    let scalar = b.ty(x).as_scalar().unwrap_or(Scalar::F32);
    let (low, high) = (b.float(scalar, -1.0), b.float(scalar, 1.0));
    let is_low = b.compare(Op::Lt, x, low);
    let raised = b.select(is_low, low, x);
    let is_high = b.compare(Op::Gt, raised, high);
    let clamped = b.select(is_high, high, raised);
    Ok(Operand::Value(b.unary(op, clamped)))
}

fn asin(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    clamped_to_unit(lower, call, Op::Asin)
}

fn acos(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    clamped_to_unit(lower, call, Op::Acos)
}

fn frac(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = only(lower, call, Float)?;
    let mut b = lower.b();
    let whole = b.unary(Op::Trunc, x);
    Ok(Operand::Value(b.binary(Op::Sub, x, whole)))
}

fn scaled(lower: &mut Lower<'_, '_>, call: &Call<'_>, factor: f64) -> Result<Operand> {
    let x = only(lower, call, Float)?;
    let mut b = lower.b();
    let scalar = b.ty(x).as_scalar().unwrap_or(Scalar::F32);
    let factor = b.float(scalar, factor);
    Ok(Operand::Value(b.binary(Op::Mul, x, factor)))
}

fn degrees(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    scaled(lower, call, 180.0 / PI)
}

fn radians(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    scaled(lower, call, PI / 180.0)
}

/// Literals stay literals, so that `range(min(n, 4))` and `zeros(shape=max(2, N))` are known when compiling.
fn abs(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    match &call.arg(0).operand {
        Operand::Static(HostValue::Int(x)) => Ok(Operand::int(x.saturating_abs())),
        Operand::Static(HostValue::Float(x)) => Ok(Operand::Static(HostValue::Float(x.abs()))),
        _ => {
            let x = only(lower, call, Numbers)?;
            Ok(Operand::Value(lower.b().unary(Op::Abs, x)))
        }
    }
}

fn min(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    extremum(lower, call, Op::Min)
}

fn max(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    extremum(lower, call, Op::Max)
}

/// Of one vector its least or greatest component; of several arguments the extremum, component by component.
fn extremum(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let mut args = call.all();
    if let [only] = args.as_slice() {
        args = components(lower, call, only)?;
    }
    let ints: Option<Vec<i128>> = args.iter().map(|arg| literal_int(&arg.operand)).collect();
    if let Some(ints) = ints {
        let found = if op == Op::Min { ints.iter().min() } else { ints.iter().max() };
        return Ok(Operand::int(found.copied().unwrap_or_default()));
    }
    let values = lower.one_type(call, &args, Numbers)?;
    let (first, rest) = values.split_at(1);
    Ok(Operand::Value(rest.iter().fold(first[0], |found, &x| lower.b().binary(op, found, x))))
}

fn literal_int(operand: &Operand) -> Option<i128> {
    if let Operand::Static(HostValue::Int(value)) = operand { Some(*value) } else { None }
}

/// The components of a vector or the items of a tuple.
fn components(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg) -> Result<Vec<Arg>> {
    let is_vector = match lower.type_of(&arg.operand) {
        Some(ty) => matches!(ty.kind(), TypeKind::Vector { .. } | TypeKind::Tuple(_)),
        None => matches!(arg.operand, Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_))),
    };
    if !is_vector {
        return Err(lower.wrong_type(call, arg, "two or more numbers or one vector"));
    }
    let items = lower.items(&arg.operand, arg.span)?;
    Ok(items.into_iter().map(|operand| Arg { operand, span: arg.span }).collect())
}

fn clamp(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let values = lower.one_type(call, &call.all(), Numbers)?;
    let mut b = lower.b();
    let raised = b.binary(Op::Max, values[1], values[0]);
    Ok(Operand::Value(b.binary(Op::Min, raised, values[2])))
}

/// `yes` where the comparison of a component with zero holds, else `no`.
fn by_zero(lower: &mut Lower<'_, '_>, x: Value, op: Op, yes: i128, no: i128) -> Operand {
    let ty = lower.ty(x);
    let mut b = lower.b();
    let one = |b: &mut ir::Builder<'_>, x: Value| {
        let scalar = b.ty(x).as_scalar().unwrap_or(Scalar::F32);
        let (zero, yes, no) = (b.int(scalar, 0), b.int(scalar, yes), b.int(scalar, no));
        let holds = b.compare(op, x, zero);
        b.select(holds, yes, no)
    };
    if ty.as_scalar().is_some() {
        return Operand::Value(one(&mut b, x));
    }
    let components: Vec<Value> = (0..ty.n_components() as u32)
        .map(|i| {
            let component = b.extract(x, i);
            one(&mut b, component)
        })
        .collect();
    Operand::Value(b.construct(ty, &components))
}

/// -1 below zero, else 1: also for zero.
fn sign(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = only(lower, call, Numbers)?;
    Ok(by_zero(lower, x, Op::Lt, -1, 1))
}

/// 1 below zero, else 0.
fn step(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = only(lower, call, Number)?;
    Ok(by_zero(lower, x, Op::Lt, 1, 0))
}

fn nonzero(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = only(lower, call, Number)?;
    Ok(by_zero(lower, x, Op::Ne, 1, 0))
}

/// The test of all components, joined by `join`; an integer passes as a finite number.
fn float_test(lower: &mut Lower<'_, '_>, call: &Call<'_>, test: Op, join: Op) -> Result<Operand> {
    let x = only(lower, call, Numbers)?;
    let ty = lower.ty(x);
    if ty.element().is_some_and(|scalar| !scalar.is_float()) {
        return Ok(Operand::Static(HostValue::Bool(test == Op::IsFinite)));
    }
    let mut b = lower.b();
    let one = |b: &mut ir::Builder<'_>, x| b.push1(test, &[x], Attr::None, Type::bool());
    if ty.as_scalar().is_some() {
        return Ok(Operand::Value(one(&mut b, x)));
    }
    let mut found = None;
    for i in 0..ty.n_components() as u32 {
        let component = b.extract(x, i);
        let holds = one(&mut b, component);
        found = Some(found.map_or(holds, |all| b.binary(join, all, holds)));
    }
    Ok(found.map_or(Operand::Static(HostValue::Bool(join == Op::And)), Operand::Value))
}

fn isnan(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    float_test(lower, call, Op::IsNan, Op::Or)
}

fn isinf(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    float_test(lower, call, Op::IsInf, Op::Or)
}

fn isfinite(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    float_test(lower, call, Op::IsFinite, Op::And)
}

fn bit_count(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let x = only(lower, call, Int)?;
    let mut b = lower.b();
    let count = b.unary(Op::PopCount, x);
    Ok(Operand::Value(b.cast(count, Scalar::I32)))
}
