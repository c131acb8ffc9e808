//! Conversions: by themselves where a value is stored or passed, and by calls of types, `float32(x)`.

use super::types::Number;
use super::{complex, fp8, record};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use diagnostics::Span;
use ir::{Const, Scalar, Type, TypeKind, Value, eval};

/// A value as another type, where Numba converts by itself: between numbers, but no complex one to a real one.
pub(crate) fn convert(lower: &mut Lower<'_, '_>, value: Value, to: Type) -> Option<Value> {
    let from = lower.ty(value);
    if from == to {
        return Some(value);
    }
    if let Some(elem) = record::of_view(from)
        && elem == to
    {
        let array = lower.b().extract(value, 0);
        let zero = lower.b().int(Scalar::I64, 0);
        return Some(lower.b().load(array, &[zero], &[], &[]));
    }
    if let (TypeKind::Tuple(given), TypeKind::Tuple(wanted)) = (from.kind(), to.kind()) {
        if given.len() != wanted.len() {
            return None;
        }
        let mut items = Vec::new();
        for (index, &item) in (0..).zip(wanted) {
            let part = lower.b().extract(value, index);
            items.push(convert(lower, part, item)?);
        }
        return Some(lower.b().construct(to, &items));
    }
    match (Number::of(from)?, Number::of(to)?) {
        (Number::Real(_), Number::Real(scalar)) => Some(lower.b().cast(value, scalar)),
        (_, Number::Complex(part)) => Some(complex::widen(lower, value, part)),
        (Number::Complex(_), Number::Real(_)) => None,
    }
}

/// Calls a type.
pub(crate) fn construct(lower: &mut Lower<'_, '_>, ty: Type, args: Args, span: Span) -> Result<Operand> {
    if let TypeKind::Vector { elem, len } = *ty.kind() {
        return vector(lower, elem, len, &args, span);
    }
    if let Some(kind) = fp8::kind_of(ty) {
        return fp8::construct(lower, ty, kind, &args, span);
    }
    if fp8::is_raw(ty) {
        return fp8::raw(lower, ty, &args, span);
    }
    match Number::of(ty) {
        Some(Number::Real(scalar)) => cast(lower, scalar, &args, span),
        Some(Number::Complex(part)) => complex::construct(lower, part, &args, span),
        None => {
            let name = lower.name_of(ty);
            Err(lower.error("not-callable", span, format!("`{name}` cannot be called in a kernel")))
        }
    }
}

/// `float32(x)`, `int(x)`: known while compiling where `x` is.
pub(crate) fn cast(lower: &mut Lower<'_, '_>, to: Scalar, args: &Args, span: Span) -> Result<Operand> {
    let operand = match args.positional.as_slice() {
        [] => return Ok(Operand::Static(HostValue::Scalar(to, Const(0)))),
        [operand] => operand,
        _ => return Err(lower.error("argument-count", span, "a conversion takes one value")),
    };
    if let Operand::Static(value) = operand
        && let Some(constant) = static_cast(value, to)
    {
        return Ok(Operand::Static(HostValue::Scalar(to, constant)));
    }
    let mut value = lower.value(operand, span)?;
    if let Some(kind) = fp8::kind_of(lower.ty(value)) {
        value = fp8::value(lower, value, kind, span)?;
    }
    match Number::of(lower.ty(value)) {
        Some(Number::Real(_)) => Ok(Operand::Value(lower.b().cast(value, to))),
        _ => {
            let (found, to) = (lower.describe(operand), lower.name_of(Type::scalar(to)));
            Err(lower.error("argument-type", span, format!("{found} cannot be converted to `{to}`")))
        }
    }
}

fn static_cast(value: &HostValue, to: Scalar) -> Option<Const> {
    match *value {
        HostValue::Bool(value) => {
            Some(if to == Scalar::Bool { Const::bool(value) } else { number(to, i128::from(value)) })
        }
        HostValue::Int(value) if to == Scalar::Bool => Some(Const::bool(value != 0)),
        HostValue::Int(value) => Some(number(to, value)),
        HostValue::Float(value) if to.is_float() => Some(Const::float(to, value)),
        HostValue::Float(value) => Some(eval::cast(Scalar::F64, to, Const::float(Scalar::F64, value))),
        HostValue::Scalar(from, value) => Some(eval::cast(from, to, value)),
        _ => None,
    }
}

fn number(to: Scalar, value: i128) -> Const {
    if to.is_float() { Const::float(to, value as f64) } else { Const::int(to, value) }
}

/// `float32x3(x, y, z)`: of numbers and of shorter vectors.
fn vector(lower: &mut Lower<'_, '_>, elem: Scalar, len: u32, args: &Args, span: Span) -> Result<Operand> {
    let mut parts = Vec::new();
    for operand in &args.positional {
        let value = lower.value(operand, span)?;
        match lower.ty(value).kind() {
            TypeKind::Vector { len, .. } => parts.extend((0..*len).map(|k| lower.b().extract(value, k))),
            _ => parts.push(value),
        }
    }
    let is_splat = parts.len() == 1 && args.positional.len() == 1;
    if parts.is_empty() || (parts.len() != len as usize && !is_splat) {
        let message =
            format!("`{}` takes {len} numbers, found {}", lower.name_of(Type::vector(elem, len)), parts.len());
        return Err(lower.error("argument-count", span, message));
    }
    let mut items = Vec::new();
    for k in 0..len as usize {
        let part = Operand::Value(parts[if is_splat { 0 } else { k }]);
        items.push(lower.value_as(&part, Type::scalar(elem), span)?);
    }
    Ok(Operand::Value(lower.b().construct(Type::vector(elem, len), &items)))
}
