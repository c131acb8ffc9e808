//! Values as the interpreter takes and gives them.

use ir::{Const, LeafKind, Scalar, Type, TypeKind};
use std::fmt;

/// A value of any type: one word a leaf (`Type::leaves`), a scalar's bits in the low end and the rest zero.
///
/// ```
/// use interp::InterpValue;
/// let x = InterpValue::float(ir::Scalar::F16, 1.5);
/// assert_eq!((x.to_string(), x.to_bytes()), ("1.5".to_string(), vec![0x00, 0x3e]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct InterpValue {
    pub ty: Type,
    pub words: Vec<u64>,
}

impl InterpValue {
    pub fn constant(scalar: Scalar, value: Const) -> InterpValue {
        InterpValue { ty: Type::scalar(scalar), words: vec![value.0] }
    }

    /// Converts as `Const::int` does.
    pub fn int(scalar: Scalar, value: i128) -> InterpValue {
        InterpValue::constant(scalar, Const::int(scalar, value))
    }

    /// Converts as `Const::float` does.
    pub fn float(scalar: Scalar, value: f64) -> InterpValue {
        InterpValue::constant(scalar, Const::float(scalar, value))
    }

    pub fn bool(value: bool) -> InterpValue {
        InterpValue::constant(Scalar::Bool, Const::bool(value))
    }

    pub fn i32(value: i32) -> InterpValue {
        InterpValue::int(Scalar::I32, i128::from(value))
    }

    pub fn i64(value: i64) -> InterpValue {
        InterpValue::int(Scalar::I64, i128::from(value))
    }

    pub fn f32(value: f32) -> InterpValue {
        InterpValue { ty: Type::f32(), words: vec![u64::from(value.to_bits())] }
    }

    pub fn f64(value: f64) -> InterpValue {
        InterpValue { ty: Type::scalar(Scalar::F64), words: vec![value.to_bits()] }
    }

    /// A composite, struct or tuple from its components in order.
    pub fn composite(ty: Type, components: &[InterpValue]) -> InterpValue {
        let words: Vec<u64> = components.iter().flat_map(|c| c.words.iter().copied()).collect();
        assert_eq!(words.len(), ty.n_leaves(), "components of {ty}");
        InterpValue { ty, words }
    }

    /// A contiguous array over memory at `address`. Whoever runs code on it promises that the memory lives and is as
    /// large as the extents say.
    pub fn array(elem: Type, address: u64, extents: &[i64]) -> InterpValue {
        let mut words = vec![address];
        words.extend(extents.iter().map(|&n| n as u64));
        words.extend(contiguous_strides(elem, extents).into_iter().map(|s| s as u64));
        InterpValue { ty: Type::array(elem, extents.len() as u32), words }
    }

    /// Reads a value from its memory layout (`ir::layout`), as in packed arguments. `bytes` holds `ty.size()` bytes.
    pub fn from_bytes(ty: Type, bytes: &[u8]) -> InterpValue {
        let word = |offset: u64, size: u64| {
            let mut word = [0; 8];
            word[..size as usize].copy_from_slice(&bytes[offset as usize..(offset + size) as usize]);
            u64::from_le_bytes(word)
        };
        let words = ty.leaves().into_iter().map(|leaf| match leaf.kind {
            LeafKind::Scalar(Scalar::Bool) => u64::from(word(leaf.offset, 1) != 0),
            kind => word(leaf.offset, leaf_size(kind)),
        });
        InterpValue { ty, words: words.collect() }
    }

    /// The value in its memory layout; padding is 0.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.ty.size() as usize];
        for (leaf, word) in self.ty.leaves().into_iter().zip(&self.words) {
            let (start, size) = (leaf.offset as usize, leaf_size(leaf.kind) as usize);
            bytes[start..start + size].copy_from_slice(&word.to_le_bytes()[..size]);
        }
        bytes
    }

    /// The bits of a scalar.
    pub fn as_const(&self) -> Option<Const> {
        self.ty.as_scalar().map(|_| Const(self.words[0]))
    }

    /// A component of a composite, struct or tuple.
    pub fn component(&self, index: usize) -> Option<InterpValue> {
        let ty = self.ty.component(index)?;
        let start = self.ty.leaf_start(index);
        Some(InterpValue { ty, words: self.words[start..start + ty.n_leaves()].to_vec() })
    }
}

/// Bytes that a leaf takes in memory.
pub(crate) fn leaf_size(kind: LeafKind) -> u64 {
    if let LeafKind::Scalar(scalar) = kind { scalar.size() } else { 8 }
}

/// Row-major strides in bytes; the last is the element's size.
pub(crate) fn contiguous_strides(elem: Type, extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![0; extents.len()];
    let mut stride = elem.size() as i64;
    for (slot, extent) in strides.iter_mut().zip(extents).rev() {
        *slot = stride;
        stride = stride.wrapping_mul(*extent);
    }
    strides
}

impl fmt::Display for InterpValue {
    /// A scalar as a number, a composite, struct or tuple as `(a, b, …)`, an array as its type and extents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty.kind() {
            TypeKind::Scalar(Scalar::Bool) => write!(f, "{}", self.words[0] != 0),
            TypeKind::Scalar(Scalar::F32) => write!(f, "{:?}", f32::from_bits(self.words[0] as u32)),
            TypeKind::Scalar(scalar) if scalar.is_float() => write!(f, "{:?}", Const(self.words[0]).as_float(*scalar)),
            TypeKind::Scalar(scalar) => write!(f, "{}", Const(self.words[0]).as_int(*scalar)),
            TypeKind::Array { rank, .. } => write!(f, "{}{:?}", self.ty, &self.words[1..1 + *rank as usize]),
            _ => {
                f.write_str("(")?;
                for (i, component) in (0..).map_while(|i| Some((i, self.component(i)?))) {
                    write!(f, "{}{component}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Debug for InterpValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.ty)
    }
}
