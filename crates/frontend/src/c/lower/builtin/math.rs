//! Functions of `math.h`, CUDA's forms of them, `min` and `max`.
//!
//! `sinf` and `__sinf` compute in float; `sin` in the type of its argument, in double for integers. The fast forms are as
//! exact as the others.

use super::{Call, Row, open, row};
use crate::c::lower::Result;
use crate::c::lower::body::{Body, Rvalue};
use crate::c::types::{self, CType};
use ir::{Attr, Op, Scalar, Type, Value};

pub(super) const ROWS: &[Row] = &[
    row("min", 2, |body, call| extreme(body, call, Op::Min)),
    row("max", 2, |body, call| extreme(body, call, Op::Max)),
    row("abs", 1, |body, call| absolute(body, call, None)),
    row("labs", 1, |body, call| absolute(body, call, Some(Scalar::I64))),
    row("llabs", 1, |body, call| absolute(body, call, Some(Scalar::I64))),
    row("isnan", 1, |body, call| test(body, call, Op::IsNan)),
    row("isinf", 1, |body, call| test(body, call, Op::IsInf)),
    row("isfinite", 1, |body, call| test(body, call, Op::IsFinite)),
    row("signbit", 1, signbit),
    row("sincos", 3, sincos),
    row("sincosf", 3, sincos),
    row("__sincosf", 3, sincos),
    row("lround", 1, |body, call| rounded(body, call, Op::Round)),
    row("llround", 1, |body, call| rounded(body, call, Op::Round)),
    row("lroundf", 1, |body, call| rounded(body, call, Op::Round)),
    row("lrint", 1, |body, call| rounded(body, call, Op::Rint)),
    row("llrint", 1, |body, call| rounded(body, call, Op::Rint)),
    row("lrintf", 1, |body, call| rounded(body, call, Op::Rint)),
    row("ldexp", 2, scaled),
    row("ldexpf", 2, scaled),
    row("scalbn", 2, scaled),
    row("scalbnf", 2, scaled),
    open("__saturatef", 1, 1, saturated),
];

/// Functions that are one op, by their name without the letter for float.
const OPS: [(&str, usize, Op); 38] = [
    ("sqrt", 1, Op::Sqrt),
    ("cbrt", 1, Op::Cbrt),
    ("exp", 1, Op::Exp),
    ("exp2", 1, Op::Exp2),
    ("expm1", 1, Op::ExpM1),
    ("log", 1, Op::Log),
    ("log2", 1, Op::Log2),
    ("log10", 1, Op::Log10),
    ("log1p", 1, Op::Log1P),
    ("sin", 1, Op::Sin),
    ("cos", 1, Op::Cos),
    ("tan", 1, Op::Tan),
    ("asin", 1, Op::Asin),
    ("acos", 1, Op::Acos),
    ("atan", 1, Op::Atan),
    ("atan2", 2, Op::Atan2),
    ("sinh", 1, Op::Sinh),
    ("cosh", 1, Op::Cosh),
    ("tanh", 1, Op::Tanh),
    ("asinh", 1, Op::Asinh),
    ("acosh", 1, Op::Acosh),
    ("atanh", 1, Op::Atanh),
    ("erf", 1, Op::Erf),
    ("erfc", 1, Op::Erfc),
    ("pow", 2, Op::Pow),
    ("floor", 1, Op::Floor),
    ("ceil", 1, Op::Ceil),
    ("trunc", 1, Op::Trunc),
    ("round", 1, Op::Round),
    ("rint", 1, Op::Rint),
    ("nearbyint", 1, Op::Rint),
    ("fabs", 1, Op::Abs),
    ("copysign", 2, Op::CopySign),
    ("fmod", 2, Op::Rem),
    ("fmin", 2, Op::Min),
    ("fmax", 2, Op::Max),
    ("fma", 3, Op::Fma),
    ("fdivide", 2, Op::Div),
];

/// Functions of several ops, by their name without the letter for float.
const OWN: [(&str, usize, Own); 15] = [
    ("rsqrt", 1, |body, scalar, x| {
        let root = body.b().unary(Op::Sqrt, x[0]);
        let one = body.b().float(scalar, 1.0);
        Ok(body.b().binary(Op::Div, one, root))
    }),
    ("rcbrt", 1, |body, scalar, x| {
        let root = body.b().unary(Op::Cbrt, x[0]);
        let one = body.b().float(scalar, 1.0);
        Ok(body.b().binary(Op::Div, one, root))
    }),
    ("exp10", 1, |body, scalar, x| {
        let ten = body.b().float(scalar, 10.0);
        Ok(body.b().binary(Op::Pow, ten, x[0]))
    }),
    ("fdim", 2, |body, scalar, x| {
        let zero = body.b().float(scalar, 0.0);
        let difference = body.b().binary(Op::Sub, x[0], x[1]);
        let is_less = body.b().compare(Op::Le, x[0], x[1]);
        Ok(body.b().select(is_less, zero, difference))
    }),
    ("hypot", 2, |body, scalar, x| {
        // In double the squares of floats neither overflow nor vanish.
        if scalar == Scalar::F32 {
            let (a, b) = (body.b().cast(x[0], Scalar::F64), body.b().cast(x[1], Scalar::F64));
            let (a, b) = (body.b().binary(Op::Mul, a, a), body.b().binary(Op::Mul, b, b));
            let sum = body.b().binary(Op::Add, a, b);
            let root = body.b().unary(Op::Sqrt, sum);
            return Ok(body.b().cast(root, Scalar::F32));
        }
        let (a, b) = (body.b().unary(Op::Abs, x[0]), body.b().unary(Op::Abs, x[1]));
        let (large, small) = (body.b().binary(Op::Max, a, b), body.b().binary(Op::Min, a, b));
        let zero = body.b().float(scalar, 0.0);
        let quotient = body.b().binary(Op::Div, small, large);
        let square = body.b().binary(Op::Mul, quotient, quotient);
        let one = body.b().float(scalar, 1.0);
        let sum = body.b().binary(Op::Add, one, square);
        let root = body.b().unary(Op::Sqrt, sum);
        let product = body.b().binary(Op::Mul, large, root);
        let is_plain = body.b().compare(Op::Gt, small, zero);
        let is_infinite = body.b().push1(Op::IsInf, &[large], Attr::None, Type::bool());
        let is_plain = {
            let is_finite = body.b().unary(Op::Not, is_infinite);
            body.b().binary(Op::And, is_plain, is_finite)
        };
        // A NaN beside a finite number stays one: `max` and `min` leave it out.
        let bad = body.b().binary(Op::Add, a, b);
        let is_bad = body.b().push1(Op::IsNan, &[bad], Attr::None, Type::bool());
        let edge = body.b().select(is_bad, bad, large);
        let edge = body.b().select(is_infinite, large, edge);
        Ok(body.b().select(is_plain, product, edge))
    }),
    ("sinpi", 1, |body, scalar, x| {
        let y = half_turns(body, scalar, x[0]);
        Ok(body.b().unary(Op::Sin, y))
    }),
    ("cospi", 1, |body, scalar, x| {
        let y = half_turns(body, scalar, x[0]);
        Ok(body.b().unary(Op::Cos, y))
    }),
    ("lgamma", 1, |body, _, x| body.library("_lgamma", x)),
    ("tgamma", 1, |body, _, x| body.library("_gamma", x)),
    ("erfinv", 1, |body, _, x| body.library("erfinv", x)),
    ("erfcinv", 1, |body, _, x| body.library("erfcinv", x)),
    ("remainder", 2, |body, _, x| body.library("_ieee_remainder", x)),
    ("nextafter", 2, |body, _, x| body.library("_nextafter", x)),
    ("normcdf", 1, |body, scalar, x| {
        let root = body.b().float(scalar, -std::f64::consts::FRAC_1_SQRT_2);
        let scaled = body.b().binary(Op::Mul, x[0], root);
        let tail = body.b().unary(Op::Erfc, scaled);
        let half = body.b().float(scalar, 0.5);
        Ok(body.b().binary(Op::Mul, half, tail))
    }),
    ("rhypot", 2, |body, scalar, x| {
        let found = OWN_HYPOT(body, scalar, x)?;
        let one = body.b().float(scalar, 1.0);
        Ok(body.b().binary(Op::Div, one, found))
    }),
];

type Own = fn(&mut Body<'_, '_, '_>, Scalar, &[Value]) -> Result<Value>;
const OWN_HYPOT: Own = OWN[4].2;

/// pi x, for x brought near 0 by whole turns.
fn half_turns(body: &mut Body<'_, '_, '_>, scalar: Scalar, x: Value) -> Value {
    let (half, two, pi) =
        (body.b().float(scalar, 0.5), body.b().float(scalar, 2.0), body.b().float(scalar, std::f64::consts::PI));
    let turns = body.b().binary(Op::Mul, x, half);
    let turns = body.b().unary(Op::Rint, turns);
    let whole = body.b().binary(Op::Mul, two, turns);
    let rest = body.b().binary(Op::Sub, x, whole);
    body.b().binary(Op::Mul, pi, rest)
}

pub(super) fn op_names() -> impl Iterator<Item = &'static str> {
    OPS.iter().map(|(name, ..)| *name).chain(OWN.iter().map(|(name, ..)| *name))
}

/// Rounding modes of intrinsics such as `__fadd_rn`: to nearest is how every op rounds.
const INTRINSICS: [(&str, usize, Op, Scalar); 12] = [
    ("__fadd_rn", 2, Op::Add, Scalar::F32),
    ("__fsub_rn", 2, Op::Sub, Scalar::F32),
    ("__fmul_rn", 2, Op::Mul, Scalar::F32),
    ("__fdiv_rn", 2, Op::Div, Scalar::F32),
    ("__fsqrt_rn", 1, Op::Sqrt, Scalar::F32),
    ("__fmaf_rn", 3, Op::Fma, Scalar::F32),
    ("__dadd_rn", 2, Op::Add, Scalar::F64),
    ("__dsub_rn", 2, Op::Sub, Scalar::F64),
    ("__dmul_rn", 2, Op::Mul, Scalar::F64),
    ("__ddiv_rn", 2, Op::Div, Scalar::F64),
    ("__dsqrt_rn", 1, Op::Sqrt, Scalar::F64),
    ("__fma_rn", 3, Op::Fma, Scalar::F64),
];

/// Calls of functions of the tables; nothing where the name is in none.
pub(super) fn op(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Option<Result<Rvalue>> {
    if let Some(&(_, n_args, op, scalar)) = INTRINSICS.iter().find(|(name, ..)| *name == call.name) {
        return Some(of_scalar(body, call, n_args, scalar, &|body, values| {
            Ok(body.b().push1(op, values, Attr::None, Type::scalar(scalar)))
        }));
    }
    let fast = call.name.strip_prefix("__");
    let plain = fast.unwrap_or(call.name);
    // `__fdividef` and `__powf` are of float alone; `f` behind a name says so too.
    let (base, is_float) = match plain.strip_suffix('f').filter(|base| is_known(base)) {
        Some(base) => (base, true),
        None if fast.is_none() && is_known(plain) => (plain, false),
        None => return None,
    };
    let one = OPS.iter().find(|(name, ..)| *name == base).map(|(_, n_args, op)| (*n_args, *op));
    let own = OWN.iter().find(|(name, ..)| *name == base).map(|(_, n_args, own)| (*n_args, *own));
    let n_args = one.map(|(n, _)| n).or(own.map(|(n, _)| n))?;
    if call.args.len() != n_args {
        return Some(Err(body.wrong_count(call, (n_args, n_args))));
    }
    let scalar = match is_float {
        true => Ok(Scalar::F32),
        false => computed_in(body, call),
    };
    let scalar = match scalar {
        Ok(scalar) => scalar,
        Err(reported) => return Some(Err(reported)),
    };
    Some(of_scalar(body, call, n_args, scalar, &|body, values| match (one, own) {
        (Some((_, op)), _) => Ok(body.b().push1(op, values, Attr::None, Type::scalar(scalar))),
        (_, Some((_, own))) => own(body, scalar, values),
        _ => Ok(values[0]),
    }))
}

fn is_known(base: &str) -> bool {
    OPS.iter().any(|(name, ..)| *name == base) || OWN.iter().any(|(name, ..)| *name == base)
}

/// The float type that a function without a letter computes in: that of its arguments, double for integers alone.
fn computed_in(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Scalar> {
    let mut scalar: Option<Scalar> = None;
    for arg in call.args {
        if let Some(found) = body.type_of(arg)?.as_scalar() {
            scalar = Some(scalar.map_or(types::promoted(found), |known| types::common(known, found)));
        }
    }
    Ok(scalar.filter(|scalar| scalar.is_float()).unwrap_or(Scalar::F64))
}

fn of_scalar(
    body: &mut Body<'_, '_, '_>,
    call: &Call<'_>,
    n_args: usize,
    scalar: Scalar,
    compute: &dyn Fn(&mut Body<'_, '_, '_>, &[Value]) -> Result<Value>,
) -> Result<Rvalue> {
    if call.args.len() != n_args {
        return Err(body.wrong_count(call, (n_args, n_args)));
    }
    let mut values = Vec::new();
    for index in 0..n_args {
        values.push(body.number_arg(call, index, scalar)?);
    }
    let value = compute(body, &values)?;
    let value = body.b().cast(value, scalar);
    Ok(Rvalue::scalar(scalar, value))
}

/// `min(x, y)` in the type that both have in common.
fn extreme(body: &mut Body<'_, '_, '_>, call: &Call<'_>, op: Op) -> Result<Rvalue> {
    let types = [body.type_of(&call.args[0])?, body.type_of(&call.args[1])?];
    let [Some(x), Some(y)] = types.map(|ty| ty.as_scalar()) else {
        let message = format!("`{}` takes numbers", call.name);
        return Err(body.error("argument-type", call.span, message, "give two numbers"));
    };
    let scalar = if x == y { types::promoted(x) } else { types::common(x, y) };
    let (x, y) = (body.number_arg(call, 0, scalar)?, body.number_arg(call, 1, scalar)?);
    let value = body.b().binary(op, x, y);
    Ok(Rvalue::scalar(scalar, value))
}

fn absolute(body: &mut Body<'_, '_, '_>, call: &Call<'_>, scalar: Option<Scalar>) -> Result<Rvalue> {
    let found = body.type_of(&call.args[0])?.as_scalar().unwrap_or(Scalar::I32);
    let scalar = scalar.unwrap_or(types::promoted(found));
    let x = body.number_arg(call, 0, scalar)?;
    let value = body.b().unary(Op::Abs, x);
    Ok(Rvalue::scalar(scalar, value))
}

fn test(body: &mut Body<'_, '_, '_>, call: &Call<'_>, op: Op) -> Result<Rvalue> {
    let scalar = computed_in(body, call)?;
    let x = body.number_arg(call, 0, scalar)?;
    let value = body.b().push1(op, &[x], Attr::None, Type::bool());
    Ok(Rvalue::value(CType::BOOL, value))
}

fn signbit(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let scalar = computed_in(body, call)?;
    let x = body.number_arg(call, 0, scalar)?;
    let one = body.b().float(scalar, 1.0);
    let signed = body.b().push1(Op::CopySign, &[one, x], Attr::None, Type::scalar(scalar));
    let zero = body.b().float(scalar, 0.0);
    let value = body.b().compare(Op::Lt, signed, zero);
    Ok(Rvalue::value(CType::BOOL, value))
}

/// `sincos(x, &s, &c)`.
fn sincos(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let scalar = if call.name.ends_with('f') { Scalar::F32 } else { computed_in_first(body, call)? };
    let x = body.number_arg(call, 0, scalar)?;
    for (index, op) in [(1, Op::Sin), (2, Op::Cos)] {
        let (memory, ty) = body.target(&call.args[index])?;
        let value = body.b().unary(op, x);
        let place = body.memory_place(memory, ty, call.args[index].span);
        body.write(&place, Rvalue::scalar(scalar, value))?;
    }
    Ok(Rvalue::VOID)
}

fn computed_in_first(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Scalar> {
    let first = Call { args: &call.args[..1], ..*call };
    computed_in(body, &first)
}

/// `lround(x)`: a long.
fn rounded(body: &mut Body<'_, '_, '_>, call: &Call<'_>, op: Op) -> Result<Rvalue> {
    let scalar = computed_in(body, call)?;
    let x = body.number_arg(call, 0, scalar)?;
    let whole = body.b().unary(op, x);
    let value = body.b().cast(whole, Scalar::I64);
    Ok(Rvalue::scalar(Scalar::I64, value))
}

/// `ldexp(x, n)`: x times 2 to the power n.
fn scaled(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let scalar = if call.name.ends_with('f') { Scalar::F32 } else { computed_in_first(body, call)? };
    let x = body.number_arg(call, 0, scalar)?;
    let n = body.number_arg(call, 1, Scalar::I32)?;
    let value = body.library("_ldexp", &[x, n])?;
    let value = body.b().cast(value, scalar);
    Ok(Rvalue::scalar(scalar, value))
}

fn saturated(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let x = body.number_arg(call, 0, Scalar::F32)?;
    let (zero, one) = (body.b().float(Scalar::F32, 0.0), body.b().float(Scalar::F32, 1.0));
    let value = body.b().binary(Op::Max, x, zero);
    let value = body.b().binary(Op::Min, value, one);
    Ok(Rvalue::scalar(Scalar::F32, value))
}
