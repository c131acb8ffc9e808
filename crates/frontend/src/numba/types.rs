//! Numba's types: the type of a literal, of what two values become together, and names.

use crate::HostValue;
use ir::{Scalar, Type, TypeKind};

/// `int` is int64 where it fits, else uint64; `float` is float64.
pub(crate) fn literal(value: &HostValue) -> Option<Scalar> {
    Some(match value {
        HostValue::Bool(_) => Scalar::Bool,
        HostValue::Int(value) if i64::try_from(*value).is_ok() => Scalar::I64,
        HostValue::Int(value) if u64::try_from(*value).is_ok() => Scalar::U64,
        HostValue::Float(_) => Scalar::F64,
        HostValue::Scalar(scalar, _) => *scalar,
        _ => return None,
    })
}

/// A number: real, or complex of two floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Real(Scalar),
    Complex(Scalar),
}

impl Number {
    pub(crate) fn of(ty: Type) -> Option<Number> {
        match ty.kind() {
            TypeKind::Scalar(scalar) => Some(Number::Real(*scalar)),
            TypeKind::Struct(s) if s.name == "complex64" => Some(Number::Complex(Scalar::F32)),
            TypeKind::Struct(s) if s.name == "complex128" => Some(Number::Complex(Scalar::F64)),
            _ => None,
        }
    }

    pub(crate) fn scalar(self) -> Scalar {
        let (Number::Real(scalar) | Number::Complex(scalar)) = self;
        scalar
    }

    pub(crate) fn ty(self) -> Type {
        match self {
            Number::Real(scalar) => Type::scalar(scalar),
            Number::Complex(scalar) => complex(scalar),
        }
    }
}

/// The type of complex numbers whose parts are `part`.
pub(crate) fn complex(part: Scalar) -> Type {
    let name = if part == Scalar::F32 { "complex64" } else { "complex128" };
    Type::structure(name, ["real", "imag"].map(|field| (field.to_owned(), Type::scalar(part))).to_vec())
}

/// The type in which `+`, `-` and `*` compute: 64-bit integers, signed unless both are unsigned, or floats.
pub(crate) fn arithmetic(a: Number, b: Number) -> Number {
    let (x, y) = (a.scalar(), b.scalar());
    if let (Number::Real(_), Number::Real(_)) = (a, b) {
        return Number::Real(if x.is_float() || y.is_float() { float(x, y) } else { integer(x, y) });
    }
    Number::Complex(if float(x, y) == Scalar::F64 { Scalar::F64 } else { Scalar::F32 })
}

/// The integer type in which operators compute.
pub(crate) fn integer(x: Scalar, y: Scalar) -> Scalar {
    let is_unsigned = |scalar: Scalar| scalar.is_int() && !scalar.is_signed();
    if is_unsigned(x) && is_unsigned(y) { Scalar::U64 } else { Scalar::I64 }
}

/// The float type that holds both: small integers fit a float32, others need a float64.
pub(crate) fn float(x: Scalar, y: Scalar) -> Scalar {
    let least = |scalar: Scalar| match scalar {
        Scalar::Bool | Scalar::I8 | Scalar::U8 | Scalar::I16 => Scalar::F32,
        _ if scalar.is_float() => scalar,
        _ => Scalar::F64,
    };
    if x == y && x.is_float() {
        return x;
    }
    let is_half = |scalar: Scalar| matches!(scalar, Scalar::F16 | Scalar::BF16);
    let is_tiny = |scalar: Scalar| matches!(scalar, Scalar::Bool | Scalar::I8 | Scalar::U8);
    match (is_half(x), is_half(y)) {
        (true, false) if is_tiny(y) => x,
        (false, true) if is_tiny(x) => y,
        _ if least(x) == Scalar::F64 || least(y) == Scalar::F64 => Scalar::F64,
        _ => Scalar::F32,
    }
}

/// The type of a name that is an `a` on one path and a `b` on another, and of `min(a, b)`.
pub(crate) fn unify(a: Type, b: Type) -> Option<Type> {
    if a == b {
        return Some(a);
    }
    if let (TypeKind::Tuple(x), TypeKind::Tuple(y)) = (a.kind(), b.kind()) {
        let items = x.iter().zip(y).map(|(&x, &y)| unify(x, y)).collect::<Option<Vec<_>>>()?;
        return (x.len() == y.len()).then(|| Type::tuple(items));
    }
    let (x, y) = (Number::of(a)?, Number::of(b)?);
    let (s, t) = (x.scalar(), y.scalar());
    let is_complex = matches!((x, y), (Number::Complex(_), _) | (_, Number::Complex(_)));
    if is_complex || s.is_float() || t.is_float() {
        return Some(arithmetic(x, y).ty());
    }
    let wider = |s: Scalar, t: Scalar| if s.bits() >= t.bits() { s } else { t };
    Some(Type::scalar(match (s, t) {
        (Scalar::Bool, other) | (other, Scalar::Bool) => other,
        _ if s.is_signed() == t.is_signed() => wider(s, t),
        _ => {
            let (signed, unsigned) = if s.is_signed() { (s, t) } else { (t, s) };
            match unsigned.bits() {
                bits if bits < signed.bits() => signed,
                8 => Scalar::I16,
                16 => Scalar::I32,
                32 => Scalar::I64,
                _ => Scalar::F64,
            }
        }
    }))
}

/// A type as its user writes it.
pub(crate) fn name(ty: Type) -> String {
    match ty.kind() {
        TypeKind::Array { elem, rank } => format!("array({}, {rank}d)", name(*elem)),
        TypeKind::Vector { elem, len } => format!("{}x{len}", name(Type::scalar(*elem))),
        TypeKind::Tuple(items) => {
            format!("Tuple({})", items.iter().map(|&item| name(item)).collect::<Vec<_>>().join(", "))
        }
        TypeKind::Struct(s) if s.name == super::record::VIEW => {
            s.fields.first().and_then(|(_, array)| array.as_array()).map_or("record".into(), |(elem, _)| name(elem))
        }
        _ => crate::walk::pattern::user_name(ty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::*;

    #[test]
    fn arithmetic_is_in_64_bits_or_floats() {
        let table = [
            (I32, I32, I64),
            (Bool, Bool, I64),
            (U8, U32, U64),
            (U64, I8, I64),
            (F32, I8, F32),
            (F32, I16, F32),
            (F32, U16, F64),
            (F32, I64, F64),
            (F32, F32, F32),
            (F64, F32, F64),
            (F16, F16, F16),
            (F16, F32, F32),
        ];
        for (x, y, expected) in table {
            assert_eq!(arithmetic(Number::Real(x), Number::Real(y)), Number::Real(expected), "{x:?} {y:?}");
        }
    }

    #[test]
    fn names_unify_to_the_type_that_holds_both() {
        let table = [(I32, I64, I64), (I32, U32, I64), (I8, U8, I16), (I32, U16, I32), (I64, U64, F64), (Bool, U8, U8)];
        for (x, y, expected) in table {
            assert_eq!(unify(Type::scalar(x), Type::scalar(y)), Some(Type::scalar(expected)), "{x:?} {y:?}");
        }
    }
}
