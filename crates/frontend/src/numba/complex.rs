//! Complex numbers: structs of two floats, `real` and `imag`.

use super::types::{self, Number};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::{Lower, Reported, Result};
use crate::walk::operand::Operand;
use diagnostics::Span;
use ir::{Const, Op, Scalar, Type, Value};
use ruff_python_ast::Operator;

/// `1 + 2j` as Python reads it: a complex128.
pub(crate) fn literal(real: f64, imag: f64) -> Operand {
    let part = |value| Const::float(Scalar::F64, value);
    Operand::Static(HostValue::Composite(types::complex(Scalar::F64), vec![part(real), part(imag)]))
}

/// Real and imaginary part.
pub(crate) fn parts(lower: &mut Lower<'_, '_>, value: Value) -> (Value, Value) {
    (lower.b().extract(value, 0), lower.b().extract(value, 1))
}

pub(crate) fn of_parts(lower: &mut Lower<'_, '_>, real: Value, imag: Value) -> Value {
    let part = lower.ty(real).as_scalar().unwrap_or(Scalar::F64);
    lower.b().construct(types::complex(part), &[real, imag])
}

/// A number as a complex one whose parts are `part`.
pub(crate) fn widen(lower: &mut Lower<'_, '_>, value: Value, part: Scalar) -> Value {
    let (real, imag) = match Number::of(lower.ty(value)) {
        Some(Number::Complex(_)) => parts(lower, value),
        _ => (value, lower.b().int(Scalar::I64, 0)),
    };
    let (real, imag) = (lower.b().cast(real, part), lower.b().cast(imag, part));
    of_parts(lower, real, imag)
}

/// `complex64(x)`, `complex(x, y)`.
pub(crate) fn construct(lower: &mut Lower<'_, '_>, part: Scalar, args: &Args, span: Span) -> Result<Operand> {
    let mut values = Vec::new();
    for operand in &args.positional {
        values.push(lower.value(operand, span)?);
    }
    let value = match *values.as_slice() {
        [] => {
            let zero = lower.b().constant(part, Const(0));
            of_parts(lower, zero, zero)
        }
        [one] if Number::of(lower.ty(one)).is_some() => widen(lower, one, part),
        [real, imag] if lower.ty(real).as_scalar().is_some() && lower.ty(imag).as_scalar().is_some() => {
            let (real, imag) = (lower.b().cast(real, part), lower.b().cast(imag, part));
            of_parts(lower, real, imag)
        }
        _ => return Err(lower.error("argument-type", span, "a complex number is made of one or two numbers")),
    };
    Ok(Operand::Value(value))
}

/// Sum, difference, product, quotient of two complex numbers of one type.
pub(crate) fn binary(lower: &mut Lower<'_, '_>, op: Operator, x: Value, y: Value) -> Option<Value> {
    let ((a, b), (c, d)) = (parts(lower, x), parts(lower, y));
    let mut make = lower.b();
    let (real, imag) = match op {
        Operator::Add => (make.binary(Op::Add, a, c), make.binary(Op::Add, b, d)),
        Operator::Sub => (make.binary(Op::Sub, a, c), make.binary(Op::Sub, b, d)),
        Operator::Mult => {
            let (ac, bd) = (make.binary(Op::Mul, a, c), make.binary(Op::Mul, b, d));
            let (ad, bc) = (make.binary(Op::Mul, a, d), make.binary(Op::Mul, b, c));
            (make.binary(Op::Sub, ac, bd), make.binary(Op::Add, ad, bc))
        }
        Operator::Div => return Some(quotient(lower, (a, b), (c, d))),
        _ => return None,
    };
    Some(of_parts(lower, real, imag))
}

/// R. L. Smith, "Algorithm 116: Complex division", CACM 5 (1962): no overflow where the quotient has none.
fn quotient(lower: &mut Lower<'_, '_>, (a, b): (Value, Value), (c, d): (Value, Value)) -> Value {
    let mut make = lower.b();
    let (size_c, size_d) = (make.unary(Op::Abs, c), make.unary(Op::Abs, d));
    let is_real = make.compare(Op::Ge, size_c, size_d);
    // The larger part divides; where the imaginary part does, a + bi and c + di are turned by i first.
    let (large, small) = (make.select(is_real, c, d), make.select(is_real, d, c));
    let (first, second) = (make.select(is_real, a, b), make.select(is_real, b, a));
    let ratio = make.binary(Op::Div, small, large);
    let scaled = make.binary(Op::Mul, small, ratio);
    let divisor = make.binary(Op::Add, large, scaled);
    let product = make.binary(Op::Mul, second, ratio);
    let real = make.binary(Op::Add, first, product);
    let real = make.binary(Op::Div, real, divisor);
    let product = make.binary(Op::Mul, first, ratio);
    let imag = make.binary(Op::Sub, second, product);
    let turned = make.binary(Op::Sub, product, second);
    let imag = make.select(is_real, imag, turned);
    let imag = make.binary(Op::Div, imag, divisor);
    of_parts(lower, real, imag)
}

/// `z ** w`: products where w is a small integer, else exp(w log z).
pub(crate) fn power(lower: &mut Lower<'_, '_>, x: Value, y: Value, exponent: &Operand, span: Span) -> Result<Operand> {
    if let Some(n) = exponent.as_int().filter(|n| (0..=16).contains(n)) {
        let ty = lower.ty(x);
        let mut result = lower.value_as(&Operand::int(1), ty, span)?;
        for _ in 0..n {
            result = binary(lower, Operator::Mult, result, x).ok_or(Reported)?;
        }
        return Ok(Operand::Value(result));
    }
    // In double precision: the angle of a product grows with the exponent, and so does its error.
    let Some(part) = lower.ty(x).component(0).and_then(Type::as_scalar) else { return Err(Reported) };
    let (x, y) = (widen(lower, x, Scalar::F64), widen(lower, y, Scalar::F64));
    let ((a, b), (c, d)) = (parts(lower, x), parts(lower, y));
    let size = hypot(lower, a, b);
    let mut make = lower.b();
    let (log, angle) = (make.unary(Op::Log, size), make.binary(Op::Atan2, b, a));
    let (cl, da) = (make.binary(Op::Mul, c, log), make.binary(Op::Mul, d, angle));
    let (ca, dl) = (make.binary(Op::Mul, c, angle), make.binary(Op::Mul, d, log));
    let (real, imag) = (make.binary(Op::Sub, cl, da), make.binary(Op::Add, ca, dl));
    let size = make.unary(Op::Exp, real);
    let (cos, sin) = (make.unary(Op::Cos, imag), make.unary(Op::Sin, imag));
    let (real, imag) = (make.binary(Op::Mul, size, cos), make.binary(Op::Mul, size, sin));
    let power = of_parts(lower, real, imag);
    // 0 to the power 0 is 1, and to any other 0.
    let zero = lower.b().float(Scalar::F64, 0.0);
    let nothing = of_parts(lower, zero, zero);
    let one = lower.b().float(Scalar::F64, 1.0);
    let one = of_parts(lower, one, zero);
    let (is_base_zero, is_exponent_zero) = (equal(lower, x, nothing), equal(lower, y, nothing));
    let of_zero = lower.b().select(is_exponent_zero, one, nothing);
    let power = lower.b().select(is_base_zero, of_zero, power);
    Ok(Operand::Value(widen(lower, power, part)))
}

/// sqrt(a^2 + b^2) without overflow in between.
pub(crate) fn hypot(lower: &mut Lower<'_, '_>, a: Value, b: Value) -> Value {
    let scalar = lower.ty(a).as_scalar().unwrap_or(Scalar::F64);
    if scalar != Scalar::F64 {
        // The squares of narrower floats fit a float64.
        let mut make = lower.b();
        let (a, b) = (make.cast(a, Scalar::F64), make.cast(b, Scalar::F64));
        let (a, b) = (make.binary(Op::Mul, a, a), make.binary(Op::Mul, b, b));
        let sum = make.binary(Op::Add, a, b);
        let root = make.unary(Op::Sqrt, sum);
        return make.cast(root, scalar);
    }
    let mut make = lower.b();
    let (a, b) = (make.unary(Op::Abs, a), make.unary(Op::Abs, b));
    let is_ordered = make.compare(Op::Ge, a, b);
    let (large, small) = (make.select(is_ordered, a, b), make.select(is_ordered, b, a));
    let zero = make.float(scalar, 0.0);
    let one = make.float(scalar, 1.0);
    let is_zero = make.compare(Op::Eq, large, zero);
    let divisor = make.select(is_zero, one, large);
    let ratio = make.binary(Op::Div, small, divisor);
    let square = make.binary(Op::Mul, ratio, ratio);
    let sum = make.binary(Op::Add, one, square);
    let root = make.unary(Op::Sqrt, sum);
    let product = make.binary(Op::Mul, large, root);
    // An infinity beside anything is infinite: inf / inf would be NaN.
    let is_infinite = make.push1(Op::IsInf, &[large], ir::Attr::None, ir::Type::bool());
    let is_infinite_small = make.push1(Op::IsInf, &[small], ir::Attr::None, ir::Type::bool());
    let product = make.select(is_infinite, large, product);
    make.select(is_infinite_small, small, product)
}

pub(crate) fn negated(lower: &mut Lower<'_, '_>, value: Value) -> Value {
    let (real, imag) = parts(lower, value);
    let (real, imag) = (lower.b().unary(Op::Neg, real), lower.b().unary(Op::Neg, imag));
    of_parts(lower, real, imag)
}

pub(crate) fn conjugate(lower: &mut Lower<'_, '_>, value: Value) -> Value {
    let (real, imag) = parts(lower, value);
    let imag = lower.b().unary(Op::Neg, imag);
    of_parts(lower, real, imag)
}

pub(crate) fn equal(lower: &mut Lower<'_, '_>, x: Value, y: Value) -> Value {
    let ((a, b), (c, d)) = (parts(lower, x), parts(lower, y));
    let mut make = lower.b();
    let (real, imag) = (make.compare(Op::Eq, a, c), make.compare(Op::Eq, b, d));
    make.binary(Op::And, real, imag)
}

/// A complex number is true unless both parts are 0.
pub(crate) fn truth(lower: &mut Lower<'_, '_>, value: Value) -> Option<Value> {
    let Some(Number::Complex(part)) = Number::of(lower.ty(value)) else { return None };
    let (real, imag) = parts(lower, value);
    let zero = lower.b().constant(part, Const(0));
    let (real, imag) = (lower.b().compare(Op::Ne, real, zero), lower.b().compare(Op::Ne, imag, zero));
    Some(lower.b().binary(Op::Or, real, imag))
}
