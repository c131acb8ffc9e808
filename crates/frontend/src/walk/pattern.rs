//! Types and type patterns by the names that users know.

use crate::warp::builtins;
use crate::{HostValue, TypePattern};
use ir::{Scalar, Type, TypeKind};

/// Whether a type is one of those that a pattern stands for.
pub(crate) fn matches(pattern: &TypePattern, ty: Type) -> bool {
    let elem_matches = |elem: &TypePattern, found: Scalar| matches(elem, Type::scalar(found));
    match (pattern, ty.kind()) {
        (TypePattern::Is(wanted), _) => *wanted == ty,
        (TypePattern::Ref(inner), _) => matches(inner, ty),
        (TypePattern::Any, _) => true,
        (TypePattern::AnyScalar, TypeKind::Scalar(_)) => true,
        (TypePattern::AnyFloat, TypeKind::Scalar(scalar)) => scalar.is_float(),
        (TypePattern::AnyInt, TypeKind::Scalar(scalar)) => scalar.is_int(),
        (TypePattern::Vector { elem, len }, TypeKind::Vector { elem: found, len: n }) => {
            len.is_none_or(|len| len == *n) && elem_matches(elem, *found)
        }
        (TypePattern::Matrix { elem, rows, cols }, TypeKind::Matrix { elem: found, rows: r, cols: c }) => {
            rows.is_none_or(|rows| rows == *r) && cols.is_none_or(|cols| cols == *c) && elem_matches(elem, *found)
        }
        (TypePattern::Quat(elem), TypeKind::Quat(found)) => elem_matches(elem, *found),
        (TypePattern::Transform(elem), TypeKind::Transform(found)) => elem_matches(elem, *found),
        (TypePattern::Array { elem, rank }, TypeKind::Array { elem: found, rank: n }) => {
            rank == n && matches(elem, *found)
        }
        (TypePattern::Tuple(items), TypeKind::Tuple(found)) => {
            items.len() == found.len() && items.iter().zip(found).all(|(item, &ty)| matches(item, ty))
        }
        _ => false,
    }
}

/// What users call a scalar type: `float32`, `int32`, `bool`.
pub fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8",
        Scalar::I16 => "int16",
        Scalar::I32 => "int32",
        Scalar::I64 => "int64",
        Scalar::U8 => "uint8",
        Scalar::U16 => "uint16",
        Scalar::U32 => "uint32",
        Scalar::U64 => "uint64",
        Scalar::F16 => "float16",
        Scalar::BF16 => "bfloat16",
        Scalar::F32 => "float32",
        Scalar::F64 => "float64",
    }
}

/// The suffixes of vector and matrix names: `vec3d`, `vec2ub`.
const SUFFIXES: [(&str, Scalar); 12] = [
    ("b", Scalar::I8),
    ("ub", Scalar::U8),
    ("s", Scalar::I16),
    ("us", Scalar::U16),
    ("i", Scalar::I32),
    ("ui", Scalar::U32),
    ("l", Scalar::I64),
    ("ul", Scalar::U64),
    ("h", Scalar::F16),
    ("f", Scalar::F32),
    ("d", Scalar::F64),
    ("", Scalar::F32),
];

fn suffix(scalar: Scalar) -> Option<&'static str> {
    if scalar == Scalar::F32 {
        return Some("");
    }
    SUFFIXES.iter().find(|(_, known)| *known == scalar).map(|(text, _)| *text)
}

/// A type as its user writes it.
pub(crate) fn user_name(ty: Type) -> String {
    match ty.kind() {
        TypeKind::Scalar(scalar) => scalar_name(*scalar).into(),
        TypeKind::Vector { elem, len } => match suffix(*elem) {
            Some(suffix) if (2..=4).contains(len) => format!("vec{len}{suffix}"),
            Some(suffix) if *len == 6 && elem.is_float() => format!("spatial_vector{suffix}"),
            _ => format!("vector(length={len}, dtype={})", scalar_name(*elem)),
        },
        TypeKind::Matrix { elem, rows, cols } => match suffix(*elem) {
            Some(suffix) if rows == cols && (2..=4).contains(rows) => format!("mat{rows}{cols}{suffix}"),
            _ => format!("matrix(shape=({rows}, {cols}), dtype={})", scalar_name(*elem)),
        },
        TypeKind::Quat(elem) => format!("quat{}", suffix(*elem).unwrap_or("")),
        TypeKind::Transform(elem) => format!("transform{}", suffix(*elem).unwrap_or("")),
        TypeKind::Struct(s) => s.name.clone(),
        TypeKind::Tuple(items) => {
            format!("({})", items.iter().map(|&item| user_name(item)).collect::<Vec<_>>().join(", "))
        }
        TypeKind::Tile { elem, extents } => {
            let comma = if extents.len() == 1 { "," } else { "" };
            let extents: Vec<_> = extents.iter().map(u32::to_string).collect();
            format!("tile(dtype={}, shape=({}{comma}))", user_name(*elem), extents.join(", "))
        }
        TypeKind::Array { elem, rank: 1 } => format!("array(dtype={})", user_name(*elem)),
        TypeKind::Array { elem, rank } => format!("array{rank}d(dtype={})", user_name(*elem)),
    }
}

/// A pattern as its user writes it.
pub(crate) fn pattern_name(pattern: &TypePattern) -> String {
    let number = |n: &Option<u32>| n.map_or("Any".to_owned(), |n| n.to_string());
    match pattern {
        TypePattern::Is(ty) => user_name(*ty),
        TypePattern::Any => "Any".into(),
        TypePattern::AnyScalar => "Scalar".into(),
        TypePattern::AnyFloat => "Float".into(),
        TypePattern::AnyInt => "Int".into(),
        TypePattern::Vector { elem, len } => format!("vector(length={}, dtype={})", number(len), pattern_name(elem)),
        TypePattern::Matrix { elem, rows, cols } => {
            format!("matrix(shape=({}, {}), dtype={})", number(rows), number(cols), pattern_name(elem))
        }
        TypePattern::Quat(elem) => format!("quaternion(dtype={})", pattern_name(elem)),
        TypePattern::Transform(elem) => format!("transformation(dtype={})", pattern_name(elem)),
        TypePattern::Array { elem, rank } => format!("array(dtype={}, ndim={rank})", pattern_name(elem)),
        TypePattern::Tuple(items) => format!("({})", items.iter().map(pattern_name).collect::<Vec<_>>().join(", ")),
        TypePattern::Callable => "Callable".into(),
        TypePattern::Ref(inner) => format!("ref[{}]", pattern_name(inner)),
    }
}

/// A type by its public name: `float32`, `vec3d`, `mat33`, `quat`, `transformd`, `spatial_vector`.
pub(crate) fn named_type(name: &str) -> Option<Type> {
    match name {
        "int" => return Some(Type::i32()),
        "float" => return Some(Type::f32()),
        _ => {}
    }
    if let Some(scalar) = Scalar::ALL.into_iter().find(|&scalar| scalar_name(scalar) == name) {
        return Some(Type::scalar(scalar));
    }
    for (suffix, scalar) in SUFFIXES {
        let Some(stem) = name.strip_suffix(suffix) else { continue };
        let found = match stem {
            "vec2" => Type::vector(scalar, 2),
            "vec3" => Type::vector(scalar, 3),
            "vec4" => Type::vector(scalar, 4),
            "mat22" if scalar.is_float() => Type::matrix(scalar, 2, 2),
            "mat33" if scalar.is_float() => Type::matrix(scalar, 3, 3),
            "mat44" if scalar.is_float() => Type::matrix(scalar, 4, 4),
            "quat" if scalar.is_float() => Type::quat(scalar),
            "transform" if scalar.is_float() => Type::transform(scalar),
            "spatial_vector" if scalar.is_float() => Type::vector(scalar, 6),
            "spatial_matrix" if scalar.is_float() => Type::matrix(scalar, 6, 6),
            _ => continue,
        };
        return Some(found);
    }
    None
}

/// A type or pattern that the kernel library may name in an annotation.
pub(crate) fn library_type(name: &str) -> Option<TypePattern> {
    let float = || Box::new(TypePattern::AnyFloat);
    let scalar = || Box::new(TypePattern::AnyScalar);
    let vector = |elem, len| TypePattern::Vector { elem, len };
    let matrix = |elem, n| TypePattern::Matrix { elem, rows: n, cols: n };
    Some(match name {
        "Any" => TypePattern::Any,
        "Scalar" => TypePattern::AnyScalar,
        "Float" => TypePattern::AnyFloat,
        "Int" => TypePattern::AnyInt,
        "Callable" => TypePattern::Callable,
        "Vector" => vector(scalar(), None),
        "FloatVector" => vector(float(), None),
        "Vector2" => vector(float(), Some(2)),
        "Vector3" => vector(float(), Some(3)),
        "Vector4" => vector(float(), Some(4)),
        "Vector6" => vector(float(), Some(6)),
        "Matrix" => matrix(scalar(), None),
        "FloatMatrix" => matrix(float(), None),
        "Matrix22" => matrix(float(), Some(2)),
        "Matrix33" => matrix(float(), Some(3)),
        "Matrix44" => matrix(float(), Some(4)),
        "Quaternion" => TypePattern::Quat(float()),
        "Transformation" => TypePattern::Transform(float()),
        "Octet" => TypePattern::Is(Type::vector(Scalar::F32, 8)),
        "FloatArray" => TypePattern::Is(Type::array(Type::f32(), 1)),
        "Array" => TypePattern::Array { elem: Box::new(TypePattern::Any), rank: 1 },
        _ => return named_type(name).or_else(|| builtins::library_struct(name)).map(TypePattern::Is),
    })
}

/// What a name means inside the kernel library.
pub(crate) fn library_name(name: &str) -> Option<HostValue> {
    if let Some(ty) = named_type(name).or_else(|| builtins::library_struct(name)) {
        return Some(HostValue::Type(TypePattern::Is(ty)));
    }
    builtins::is_builtin(name).then(|| HostValue::Builtin(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_match_both_ways() {
        for name in ["float32", "vec3", "vec2ub", "mat33d", "quath", "transform", "spatial_vectord"] {
            let ty = named_type(name).unwrap_or_else(|| panic!("{name} is a type"));
            assert_eq!(user_name(ty), name);
        }
        assert_eq!(named_type("vec3f"), named_type("vec3"));
        assert_eq!(named_type("vec5"), None);
    }
}
