//! C's types, and how they convert.

use super::ast::Name;
use ir::{Scalar, Type};
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum CType {
    Void,
    Scalar(Scalar),
    /// `float4`, `int2`, `dim3`: components x, y, z, w.
    Vector(Scalar, u32),
    Struct(Rc<StructType>),
    /// A pointer; whether what it points to is `const`.
    Pointer(Rc<CType>, bool),
    Array(Rc<CType>, u64),
    /// An array of any layout with so many dimensions, `CArray<T, n>`; whether its elements are `const`.
    Elements(Rc<CType>, u32, bool),
}

#[derive(Debug, PartialEq)]
pub(super) struct StructType {
    pub(super) name: Name,
    pub(super) fields: Vec<(Name, CType)>,
    pub(super) ir: Type,
}

pub(super) const HELP: &str = "kernels have bool, char, short, int, long, long long, float, double, half, signed or not, \
                               vectors such as float4, structs, arrays and pointers";

impl CType {
    pub(super) const BOOL: CType = CType::Scalar(Scalar::Bool);
    pub(super) const INT: CType = CType::Scalar(Scalar::I32);
    pub(super) const UNSIGNED: CType = CType::Scalar(Scalar::U32);

    pub(super) fn as_scalar(&self) -> Option<Scalar> {
        if let CType::Scalar(scalar) = self { Some(*scalar) } else { None }
    }

    /// What one value of the type is in the IR; of an array, one of its innermost elements. Nothing for `void`.
    pub(super) fn ir(&self) -> Option<Type> {
        match self {
            CType::Void => None,
            CType::Scalar(scalar) => Some(Type::scalar(*scalar)),
            CType::Vector(elem, len) => Some(Type::vector(*elem, *len)),
            CType::Struct(ty) => Some(ty.ir),
            CType::Pointer(to, _) => Some(Type::array(to.cell(), 1)),
            CType::Array(elem, _) => elem.ir(),
            CType::Elements(elem, rank, _) => Some(Type::array(elem.cell(), *rank)),
        }
    }

    /// What memory of this type consists of: innermost elements; bytes for `void`.
    pub(super) fn cell(&self) -> Type {
        self.ir().unwrap_or_else(|| Type::scalar(Scalar::U8))
    }

    /// How many such cells a value takes.
    pub(super) fn n_cells(&self) -> u64 {
        match self {
            CType::Array(elem, len) => elem.n_cells().saturating_mul(*len),
            _ => 1,
        }
    }

    /// C's `sizeof`.
    pub(super) fn size(&self) -> u64 {
        match self {
            CType::Pointer(..) | CType::Elements(..) => 8,
            _ => self.cell().size().saturating_mul(self.n_cells()),
        }
    }

    /// The type as C writes it.
    pub(super) fn name(&self) -> String {
        match self {
            CType::Void => "void".into(),
            CType::Scalar(scalar) => scalar_name(*scalar).into(),
            CType::Vector(elem, len) => {
                let found = VECTORS.iter().find(|(_, scalar)| scalar == elem);
                format!("{}{len}", found.map_or("vector", |(name, _)| name))
            }
            CType::Struct(ty) => ty.name.to_string(),
            CType::Pointer(to, is_const) => format!("{}{}*", if *is_const { "const " } else { "" }, to.name()),
            CType::Array(..) => {
                let (mut inner, mut lengths) = (self, String::new());
                while let CType::Array(elem, len) = inner {
                    lengths.push_str(&format!("[{len}]"));
                    inner = elem;
                }
                format!("{}{lengths}", inner.name())
            }
            CType::Elements(elem, rank, _) => format!("CArray<{}, {rank}>", elem.name()),
        }
    }
}

fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "char",
        Scalar::U8 => "unsigned char",
        Scalar::I16 => "short",
        Scalar::U16 => "unsigned short",
        Scalar::I32 => "int",
        Scalar::U32 => "unsigned int",
        Scalar::I64 => "long long",
        Scalar::U64 => "unsigned long long",
        Scalar::F16 => "half",
        Scalar::BF16 => "__nv_bfloat16",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// Element types of CUDA's vectors by the words that their names begin with.
const VECTORS: [(&str, Scalar); 12] = [
    ("float", Scalar::F32),
    ("double", Scalar::F64),
    ("int", Scalar::I32),
    ("uint", Scalar::U32),
    ("char", Scalar::I8),
    ("uchar", Scalar::U8),
    ("short", Scalar::I16),
    ("ushort", Scalar::U16),
    ("longlong", Scalar::I64),
    ("ulonglong", Scalar::U64),
    ("long", Scalar::I64),
    ("ulong", Scalar::U64),
];

/// Names of headers that are no words of C.
const SCALARS: [(&str, Scalar); 28] = [
    ("int8_t", Scalar::I8),
    ("uint8_t", Scalar::U8),
    ("int16_t", Scalar::I16),
    ("uint16_t", Scalar::U16),
    ("int32_t", Scalar::I32),
    ("uint32_t", Scalar::U32),
    ("int64_t", Scalar::I64),
    ("uint64_t", Scalar::U64),
    ("size_t", Scalar::U64),
    ("ssize_t", Scalar::I64),
    ("ptrdiff_t", Scalar::I64),
    ("intptr_t", Scalar::I64),
    ("uintptr_t", Scalar::U64),
    ("uchar", Scalar::U8),
    ("ushort", Scalar::U16),
    ("uint", Scalar::U32),
    ("ulong", Scalar::U64),
    ("half", Scalar::F16),
    ("__half", Scalar::F16),
    ("float16", Scalar::F16),
    ("__nv_bfloat16", Scalar::BF16),
    ("nv_bfloat16", Scalar::BF16),
    ("bfloat16", Scalar::BF16),
    ("char8_t", Scalar::U8),
    ("int_fast32_t", Scalar::I32),
    ("float_t", Scalar::F32),
    ("double_t", Scalar::F64),
    ("clock_t", Scalar::I64),
];

/// The array of any layout that generated kernels take.
pub(super) const ELEMENTS: &str = "CArray";

/// A type that headers name.
pub(super) fn known(name: &str) -> Option<CType> {
    if let Some((_, scalar)) = SCALARS.iter().find(|(known, _)| *known == name) {
        return Some(CType::Scalar(*scalar));
    }
    if name == "dim3" {
        return Some(CType::Vector(Scalar::U32, 3));
    }
    let len = name.chars().last()?.to_digit(10).filter(|len| (1..=4).contains(len))?;
    let word = &name[..name.len() - 1];
    VECTORS.iter().find(|(known, _)| *known == word).map(|(_, elem)| CType::Vector(*elem, len))
}

/// Whether a name is a type without being declared.
pub(super) fn is_known(name: &str) -> bool {
    matches!(name, "void" | "auto" | "bool" | ELEMENTS) || known(name).is_some()
}

/// C's integer promotion: what is narrower than `int` computes as `int`.
pub(super) fn promoted(scalar: Scalar) -> Scalar {
    if !scalar.is_float() && scalar.size() < 4 { Scalar::I32 } else { scalar }
}

/// The type in which two numbers are computed with: C's usual arithmetic conversions.
pub(super) fn common(x: Scalar, y: Scalar) -> Scalar {
    let (x, y) = (promoted(x), promoted(y));
    match (x.is_float(), y.is_float()) {
        (true, true) if x == y => x,
        // A half and a bfloat16 meet in float.
        (true, true) if x.size() == y.size() => Scalar::F32,
        (true, true) => {
            if x.size() > y.size() {
                x
            } else {
                y
            }
        }
        (true, false) => x,
        (false, true) => y,
        (false, false) => {
            let (small, large) = if x.size() <= y.size() { (x, y) } else { (y, x) };
            if small.size() == large.size() && small != large { if x.is_signed() { y } else { x } } else { large }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_meet_as_c_says() {
        assert_eq!(common(Scalar::I8, Scalar::U16), Scalar::I32);
        assert_eq!(common(Scalar::I32, Scalar::U32), Scalar::U32);
        assert_eq!(common(Scalar::I64, Scalar::U32), Scalar::I64);
        assert_eq!(common(Scalar::I64, Scalar::U64), Scalar::U64);
        assert_eq!(common(Scalar::F32, Scalar::I64), Scalar::F32);
        assert_eq!(common(Scalar::F32, Scalar::F64), Scalar::F64);
        assert_eq!(common(Scalar::Bool, Scalar::Bool), Scalar::I32);
    }

    #[test]
    fn names_are_those_of_c() {
        assert_eq!(known("float4"), Some(CType::Vector(Scalar::F32, 4)));
        assert_eq!(known("float5"), None);
        assert_eq!(CType::Array(Rc::new(CType::Array(Rc::new(CType::INT), 3)), 2).name(), "int[2][3]");
    }
}
