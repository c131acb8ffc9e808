//! Types of values. A [`Type`] is a small handle to an interned description: copying is free, equality is identity.

use crate::literal::print_name;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, OnceLock};

/// Signedness is part of an integer's type: `div`, `shr`, comparisons and casts mean what the type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

/// The kinds of scalar that an op's typing rule distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    Bool,
    Int,
    Float,
}

impl Scalar {
    pub const ALL: [Scalar; 13] = [
        Scalar::Bool,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::U8,
        Scalar::U16,
        Scalar::U32,
        Scalar::U64,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
    ];

    /// The name in IR text: `f32`, `i64`, `bool`.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::U8 => "u8",
            Scalar::U16 => "u16",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::F16 => "f16",
            Scalar::BF16 => "bf16",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Size and alignment in memory, in bytes. A bool takes one byte.
    pub fn size(self) -> u64 {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    /// Bits of the value itself: 1 for a bool.
    pub fn bits(self) -> u32 {
        if self == Scalar::Bool { 1 } else { self.size() as u32 * 8 }
    }

    pub fn class(self) -> Class {
        match self {
            Scalar::Bool => Class::Bool,
            Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => Class::Float,
            _ => Class::Int,
        }
    }

    pub fn is_int(self) -> bool {
        self.class() == Class::Int
    }

    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64) || self.is_float()
    }
}

/// A struct's identity is its name and its fields: two Python classes of one shape and name are one type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType {
    pub name: String,
    pub fields: Vec<(String, Type)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    Scalar(Scalar),
    Vector {
        elem: Scalar,
        len: u32,
    },
    /// Row major.
    Matrix {
        elem: Scalar,
        rows: u32,
        cols: u32,
    },
    /// Components x, y, z, w.
    Quat(Scalar),
    /// Seven components: position x, y, z, then a quaternion.
    Transform(Scalar),
    Struct(StructType),
    Tuple(Vec<Type>),
    /// A view of device memory: base pointer, `rank` extents, `rank` strides in bytes.
    Array {
        elem: Type,
        rank: u32,
    },
    /// Elements of static extents that the threads of a block hold together, row by row.
    Tile {
        elem: Type,
        extents: Vec<u32>,
    },
}

/// A handle to an interned [`TypeKind`].
#[derive(Clone, Copy)]
pub struct Type(&'static TypeKind);

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0 as *const TypeKind).hash(state);
    }
}

impl Type {
    /// The handle of a description. Descriptions live as long as the process: a program uses few distinct types.
    pub fn new(kind: TypeKind) -> Type {
        static TYPES: OnceLock<Mutex<HashSet<&'static TypeKind>>> = OnceLock::new();
        let mut types = TYPES.get_or_init(Default::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = types.get(&kind) {
            return Type(known);
        }
        let kind: &'static TypeKind = Box::leak(Box::new(kind));
        types.insert(kind);
        Type(kind)
    }

    pub fn kind(self) -> &'static TypeKind {
        self.0
    }

    pub fn scalar(scalar: Scalar) -> Type {
        Type::new(TypeKind::Scalar(scalar))
    }

    pub fn vector(elem: Scalar, len: u32) -> Type {
        Type::new(TypeKind::Vector { elem, len })
    }

    pub fn matrix(elem: Scalar, rows: u32, cols: u32) -> Type {
        Type::new(TypeKind::Matrix { elem, rows, cols })
    }

    pub fn quat(elem: Scalar) -> Type {
        Type::new(TypeKind::Quat(elem))
    }

    pub fn transform(elem: Scalar) -> Type {
        Type::new(TypeKind::Transform(elem))
    }

    pub fn array(elem: Type, rank: u32) -> Type {
        Type::new(TypeKind::Array { elem, rank })
    }

    pub fn tile(elem: Type, extents: Vec<u32>) -> Type {
        Type::new(TypeKind::Tile { elem, extents })
    }

    pub fn tuple(items: Vec<Type>) -> Type {
        Type::new(TypeKind::Tuple(items))
    }

    pub fn structure(name: impl Into<String>, fields: Vec<(String, Type)>) -> Type {
        Type::new(TypeKind::Struct(StructType { name: name.into(), fields }))
    }

    pub fn bool() -> Type {
        Type::scalar(Scalar::Bool)
    }

    pub fn i32() -> Type {
        Type::scalar(Scalar::I32)
    }

    pub fn i64() -> Type {
        Type::scalar(Scalar::I64)
    }

    pub fn f32() -> Type {
        Type::scalar(Scalar::F32)
    }

    pub fn as_scalar(self) -> Option<Scalar> {
        if let TypeKind::Scalar(scalar) = self.0 { Some(*scalar) } else { None }
    }

    pub fn is_array(self) -> bool {
        matches!(self.0, TypeKind::Array { .. })
    }

    /// Element type and rank of an array.
    pub fn as_array(self) -> Option<(Type, u32)> {
        if let TypeKind::Array { elem, rank } = self.0 { Some((*elem, *rank)) } else { None }
    }

    /// Element type and extents of a tile.
    pub fn as_tile(self) -> Option<(Type, &'static [u32])> {
        if let TypeKind::Tile { elem, extents } = self.0 { Some((*elem, extents)) } else { None }
    }

    /// Elements of a tile; 0 for other types.
    pub fn n_elements(self) -> u64 {
        self.as_tile().map_or(0, |(_, extents)| extents.iter().fold(1, |n, &extent| n * u64::from(extent)))
    }

    /// The scalar type of a scalar, vector, matrix, quaternion or transform.
    pub fn element(self) -> Option<Scalar> {
        match self.0 {
            TypeKind::Scalar(elem)
            | TypeKind::Vector { elem, .. }
            | TypeKind::Matrix { elem, .. }
            | TypeKind::Quat(elem)
            | TypeKind::Transform(elem) => Some(*elem),
            TypeKind::Struct(_) | TypeKind::Tuple(_) | TypeKind::Array { .. } | TypeKind::Tile { .. } => None,
        }
    }

    /// Vector, matrix, quaternion or transform: a fixed number of scalars of one type.
    pub fn is_composite(self) -> bool {
        self.element().is_some() && self.as_scalar().is_none()
    }

    /// The type of the same shape over another scalar type; `None` for structs, tuples and arrays.
    pub fn with_element(self, elem: Scalar) -> Option<Type> {
        Some(match self.0 {
            TypeKind::Scalar(_) => Type::scalar(elem),
            TypeKind::Vector { len, .. } => Type::vector(elem, *len),
            TypeKind::Matrix { rows, cols, .. } => Type::matrix(elem, *rows, *cols),
            TypeKind::Quat(_) => Type::quat(elem),
            TypeKind::Transform(_) => Type::transform(elem),
            _ => return None,
        })
    }

    /// How many components `construct` takes and `extract` can name: fields, items or scalars. A scalar has none.
    pub fn n_components(self) -> usize {
        match self.0 {
            TypeKind::Scalar(_) | TypeKind::Array { .. } | TypeKind::Tile { .. } => 0,
            TypeKind::Vector { len, .. } => *len as usize,
            TypeKind::Matrix { rows, cols, .. } => *rows as usize * *cols as usize,
            TypeKind::Quat(_) => 4,
            TypeKind::Transform(_) => 7,
            TypeKind::Struct(s) => s.fields.len(),
            TypeKind::Tuple(items) => items.len(),
        }
    }

    /// The type of a component. Matrix components are numbered row by row.
    pub fn component(self, index: usize) -> Option<Type> {
        if index >= self.n_components() {
            return None;
        }
        match self.0 {
            TypeKind::Struct(s) => Some(s.fields[index].1),
            TypeKind::Tuple(items) => Some(items[index]),
            _ => self.element().map(Type::scalar),
        }
    }
}

impl fmt::Display for Type {
    /// IR text: `f32`, `vec<f32, 3>`, `mat<f32, 3, 3>`, `quat<f32>`, `transform<f32>`, `array<f32, 1>`,
    /// `tile<f32, 4, 8>`, `tuple<f32, i32>`, `struct Ray<origin: vec<f32, 3>, t: f32>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TypeKind::Scalar(scalar) => f.write_str(scalar.name()),
            TypeKind::Vector { elem, len } => write!(f, "vec<{}, {len}>", elem.name()),
            TypeKind::Matrix { elem, rows, cols } => write!(f, "mat<{}, {rows}, {cols}>", elem.name()),
            TypeKind::Quat(elem) => write!(f, "quat<{}>", elem.name()),
            TypeKind::Transform(elem) => write!(f, "transform<{}>", elem.name()),
            TypeKind::Array { elem, rank } => write!(f, "array<{elem}, {rank}>"),
            TypeKind::Tile { elem, extents } => {
                write!(f, "tile<{elem}")?;
                extents.iter().try_for_each(|extent| write!(f, ", {extent}"))?;
                f.write_str(">")
            }
            TypeKind::Tuple(items) => {
                f.write_str("tuple<")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(">")
            }
            TypeKind::Struct(s) => {
                write!(f, "struct {}<", print_name(&s.name))?;
                for (i, (name, ty)) in s.fields.iter().enumerate() {
                    write!(f, "{}{}: {ty}", if i == 0 { "" } else { ", " }, print_name(name))?;
                }
                f.write_str(">")
            }
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
