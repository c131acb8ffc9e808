//! Bits of integers and floats; conversions that CUDA has functions for; loads with hints for caches.

use super::{Call, Row, row};
use crate::c::lower::Result;
use crate::c::lower::body::{Body, Rvalue};
use crate::c::types::CType;
use ir::{Attr, Op, Scalar, Type, Value};

pub(super) const ROWS: &[Row] = &[
    row("__popc", 1, |body, call| count(body, call, Scalar::U32, Op::PopCount)),
    row("__popcll", 1, |body, call| count(body, call, Scalar::U64, Op::PopCount)),
    row("__clz", 1, |body, call| count(body, call, Scalar::U32, Op::LeadingZeros)),
    row("__clzll", 1, |body, call| count(body, call, Scalar::U64, Op::LeadingZeros)),
    row("__ffs", 1, |body, call| first_set(body, call, Scalar::U32)),
    row("__ffsll", 1, |body, call| first_set(body, call, Scalar::U64)),
    row("__brev", 1, |body, call| reversed(body, call, Scalar::U32)),
    row("__brevll", 1, |body, call| reversed(body, call, Scalar::U64)),
    row("__mulhi", 2, |body, call| simple(body, call, Scalar::I32, Op::MulHigh)),
    row("__umulhi", 2, |body, call| simple(body, call, Scalar::U32, Op::MulHigh)),
    row("__mul64hi", 2, |body, call| simple(body, call, Scalar::I64, Op::MulHigh)),
    row("__umul64hi", 2, |body, call| simple(body, call, Scalar::U64, Op::MulHigh)),
    row("__mul24", 2, |body, call| simple(body, call, Scalar::I32, Op::Mul)),
    row("__umul24", 2, |body, call| simple(body, call, Scalar::U32, Op::Mul)),
    row("__funnelshift_l", 3, |body, call| funnel(body, call, true)),
    row("__funnelshift_r", 3, |body, call| funnel(body, call, false)),
    row("__ldg", 1, loaded),
    row("__ldca", 1, loaded),
    row("__ldcg", 1, loaded),
    row("__ldcs", 1, loaded),
    row("__ldcv", 1, loaded),
    row("__ldlu", 1, loaded),
    row("__stcg", 2, stored),
    row("__stcs", 2, stored),
    row("__stwb", 2, stored),
    row("__stwt", 2, stored),
    row("__hadd", 2, |body, call| simple(body, call, Scalar::F16, Op::Add)),
    row("__hsub", 2, |body, call| simple(body, call, Scalar::F16, Op::Sub)),
    row("__hmul", 2, |body, call| simple(body, call, Scalar::F16, Op::Mul)),
    row("__hdiv", 2, |body, call| simple(body, call, Scalar::F16, Op::Div)),
    row("__hfma", 3, |body, call| simple(body, call, Scalar::F16, Op::Fma)),
];

/// `__float_as_int` and the like: the same bits as another type.
const SAME_BITS: [(&str, Scalar, Scalar); 10] = [
    ("__float_as_int", Scalar::F32, Scalar::I32),
    ("__float_as_uint", Scalar::F32, Scalar::U32),
    ("__int_as_float", Scalar::I32, Scalar::F32),
    ("__uint_as_float", Scalar::U32, Scalar::F32),
    ("__double_as_longlong", Scalar::F64, Scalar::I64),
    ("__longlong_as_double", Scalar::I64, Scalar::F64),
    ("__half_as_short", Scalar::F16, Scalar::I16),
    ("__half_as_ushort", Scalar::F16, Scalar::U16),
    ("__short_as_half", Scalar::I16, Scalar::F16),
    ("__ushort_as_half", Scalar::U16, Scalar::F16),
];

/// Words of conversions such as `__float2int_rn`.
const WORDS: [(&str, Scalar); 10] = [
    ("float", Scalar::F32),
    ("double", Scalar::F64),
    ("int", Scalar::I32),
    ("uint", Scalar::U32),
    ("ll", Scalar::I64),
    ("ull", Scalar::U64),
    ("half", Scalar::F16),
    ("bfloat16", Scalar::BF16),
    ("short", Scalar::I16),
    ("ushort", Scalar::U16),
];

/// `__float_as_int(x)`, `__float2int_rn(x)`; nothing for other names.
pub(super) fn conversion(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Option<Result<Rvalue>> {
    if let Some(&(_, from, to)) = SAME_BITS.iter().find(|(name, ..)| *name == call.name) {
        return Some(one(body, call, from, &|body, x| {
            let value = body.b().push1(Op::Bitcast, &[x], Attr::None, Type::scalar(to));
            Rvalue::scalar(to, value)
        }));
    }
    let (from, to) = call.name.strip_prefix("__")?.split_once('2')?;
    let (to, rounding) = match to.rsplit_once('_') {
        Some((to, rounding)) => (to, Some(rounding)),
        None => (to, None),
    };
    let scalar = |word: &str| WORDS.iter().find(|(known, _)| *known == word).map(|(_, scalar)| *scalar);
    let (from, to) = (scalar(from)?, scalar(to)?);
    let rounds = match rounding {
        None | Some("rn" | "rz" | "rd" | "ru") if from.is_float() && to.is_int() => match rounding {
            Some("rn") | None => Some(Op::Rint),
            Some("rd") => Some(Op::Floor),
            Some("ru") => Some(Op::Ceil),
            _ => None,
        },
        None | Some("rn") => None,
        // To an integer or by another mode: a float is rounded to nearest alone.
        Some(_) => return None,
    };
    Some(one(body, call, from, &|body, x| {
        let x = match rounds {
            Some(op) => body.b().unary(op, x),
            None => x,
        };
        let value = body.b().cast(x, to);
        Rvalue::scalar(to, value)
    }))
}

fn one(
    body: &mut Body<'_, '_, '_>,
    call: &Call<'_>,
    scalar: Scalar,
    compute: &dyn Fn(&mut Body<'_, '_, '_>, Value) -> Rvalue,
) -> Result<Rvalue> {
    if call.args.len() != 1 {
        return Err(body.wrong_count(call, (1, 1)));
    }
    let x = body.number_arg(call, 0, scalar)?;
    Ok(compute(body, x))
}

/// One op over arguments of one type.
fn simple(body: &mut Body<'_, '_, '_>, call: &Call<'_>, scalar: Scalar, op: Op) -> Result<Rvalue> {
    let mut values = Vec::new();
    for index in 0..call.args.len() {
        values.push(body.number_arg(call, index, scalar)?);
    }
    let value = body.b().push1(op, &values, Attr::None, Type::scalar(scalar));
    Ok(Rvalue::scalar(scalar, value))
}

fn count(body: &mut Body<'_, '_, '_>, call: &Call<'_>, scalar: Scalar, op: Op) -> Result<Rvalue> {
    let x = body.number_arg(call, 0, scalar)?;
    let value = body.b().unary(op, x);
    let value = body.b().cast(value, Scalar::I32);
    Ok(Rvalue::value(CType::INT, value))
}

/// Position of the lowest one bit, from 1; 0 where there is none.
fn first_set(body: &mut Body<'_, '_, '_>, call: &Call<'_>, scalar: Scalar) -> Result<Rvalue> {
    let x = body.number_arg(call, 0, scalar)?;
    let (zero, one) = (body.b().int(scalar, 0), body.b().int(scalar, 1));
    let trailing = body.b().unary(Op::TrailingZeros, x);
    let position = body.b().binary(Op::Add, trailing, one);
    let is_zero = body.b().compare(Op::Eq, x, zero);
    let value = body.b().select(is_zero, zero, position);
    let value = body.b().cast(value, Scalar::I32);
    Ok(Rvalue::value(CType::INT, value))
}

/// Bits in the other order: neighbors are swapped, then pairs, and so on.
fn reversed(body: &mut Body<'_, '_, '_>, call: &Call<'_>, scalar: Scalar) -> Result<Rvalue> {
    let value = body.number_arg(call, 0, scalar)?;
    let value = crate::walk::bits::reversed(&mut body.b(), value, scalar);
    Ok(Rvalue::scalar(scalar, value))
}

/// The high word of hi:lo shifted left, or the low word shifted right, by n mod 32.
fn funnel(body: &mut Body<'_, '_, '_>, call: &Call<'_>, is_left: bool) -> Result<Rvalue> {
    let word = |body: &mut Body<'_, '_, '_>, index| body.number_arg(call, index, Scalar::U32);
    let (lo, hi, n) = (word(body, 0)?, word(body, 1)?, word(body, 2)?);
    let (mask, width) = (body.b().int(Scalar::U32, 31), body.b().int(Scalar::U64, 32));
    let n = body.b().binary(Op::And, n, mask);
    let n = body.b().cast(n, Scalar::U64);
    let (lo, hi) = (body.b().cast(lo, Scalar::U64), body.b().cast(hi, Scalar::U64));
    let hi = body.b().binary(Op::Shl, hi, width);
    let both = body.b().binary(Op::Or, hi, lo);
    let mut value = body.b().binary(if is_left { Op::Shl } else { Op::Shr }, both, n);
    if is_left {
        value = body.b().binary(Op::Shr, value, width);
    }
    let value = body.b().cast(value, Scalar::U32);
    Ok(Rvalue::value(CType::UNSIGNED, value))
}

/// `__ldg(p)`: a load.
fn loaded(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let place = body.pointee_place(&call.args[0], call.span)?;
    body.read(&place)
}

/// `__stcs(p, x)`: a store.
fn stored(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let value = body.expr(&call.args[1])?;
    let place = body.pointee_place(&call.args[0], call.span)?;
    body.require_assignable(&place)?;
    body.write(&place, value)?;
    Ok(Rvalue::VOID)
}
