//! How values lie in memory: the layout of C, which NumPy's aligned records and the packed arguments share.

use crate::types::{Scalar, Type, TypeKind};

/// One machine-level piece of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Bytes from the start of the value.
    pub offset: u64,
    pub kind: LeafKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafKind {
    Scalar(Scalar),
    /// An array's base address.
    Pointer,
    /// An array's extent along a dimension, i64.
    Extent(u32),
    /// An array's stride along a dimension in bytes, i64.
    Stride(u32),
}

impl Type {
    pub fn align(self) -> u64 {
        match self.kind() {
            TypeKind::Array { .. } => 8,
            TypeKind::Tile { elem, .. } => elem.align(),
            TypeKind::Struct(s) => s.fields.iter().map(|(_, ty)| ty.align()).max().unwrap_or(1),
            TypeKind::Tuple(items) => items.iter().map(|ty| ty.align()).max().unwrap_or(1),
            _ => self.element().map_or(1, Scalar::size),
        }
    }

    /// Bytes a value takes, padded to its alignment. An array's descriptor is pointer, extents, strides.
    pub fn size(self) -> u64 {
        match self.kind() {
            TypeKind::Array { rank, .. } => 8 * (1 + 2 * u64::from(*rank)),
            TypeKind::Scalar(scalar) => scalar.size(),
            TypeKind::Tile { elem, .. } => self.n_elements() * elem.size(),
            TypeKind::Struct(_) | TypeKind::Tuple(_) => {
                let n = self.n_components();
                let end = if n == 0 { 0 } else { self.offset(n - 1) + self.component(n - 1).map_or(0, Type::size) };
                end.next_multiple_of(self.align()).max(1)
            }
            _ => self.n_components() as u64 * self.element().map_or(0, Scalar::size),
        }
    }

    /// Bytes from the start of a value to its component.
    pub fn offset(self, index: usize) -> u64 {
        match self.kind() {
            TypeKind::Struct(_) | TypeKind::Tuple(_) => {
                let mut at = 0u64;
                for i in 0..=index {
                    let ty = self.component(i).unwrap_or_else(|| panic!("{self} has no component {i}"));
                    at = at.next_multiple_of(ty.align());
                    if i < index {
                        at += ty.size();
                    }
                }
                at
            }
            _ => index as u64 * self.element().map_or(0, Scalar::size),
        }
    }

    /// The value flattened to machine-level pieces, in order.
    pub fn leaves(self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        collect(self, 0, &mut leaves);
        leaves
    }

    /// How many leaves a value has, without listing them.
    pub fn n_leaves(self) -> usize {
        match self.kind() {
            TypeKind::Scalar(_) => 1,
            TypeKind::Array { rank, .. } => 1 + 2 * *rank as usize,
            TypeKind::Struct(s) => s.fields.iter().map(|(_, ty)| ty.n_leaves()).sum(),
            TypeKind::Tuple(items) => items.iter().map(|ty| ty.n_leaves()).sum(),
            _ => self.n_components(),
        }
    }

    /// Index of the first leaf of a component.
    pub fn leaf_start(self, index: usize) -> usize {
        (0..index).map(|i| self.component(i).map_or(0, Type::n_leaves)).sum()
    }
}

fn collect(ty: Type, base: u64, leaves: &mut Vec<Leaf>) {
    match ty.kind() {
        TypeKind::Scalar(scalar) => leaves.push(Leaf { offset: base, kind: LeafKind::Scalar(*scalar) }),
        TypeKind::Array { rank, .. } => {
            leaves.push(Leaf { offset: base, kind: LeafKind::Pointer });
            let rank64 = u64::from(*rank);
            leaves.extend((0..*rank).map(|d| Leaf { offset: base + 8 + 8 * u64::from(d), kind: LeafKind::Extent(d) }));
            leaves.extend(
                (0..*rank)
                    .map(|d| Leaf { offset: base + 8 + 8 * rank64 + 8 * u64::from(d), kind: LeafKind::Stride(d) }),
            );
        }
        _ => {
            for i in 0..ty.n_components() {
                if let Some(component) = ty.component(i) {
                    collect(component, base + ty.offset(i), leaves);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_padded_as_in_c() {
        let vec3 = Type::vector(Scalar::F32, 3);
        let ty = Type::structure(
            "S",
            vec![
                ("flag".into(), Type::bool()),
                ("p".into(), vec3),
                ("d".into(), Type::scalar(Scalar::F64)),
                ("b".into(), Type::bool()),
            ],
        );
        let offsets: Vec<_> = (0..4).map(|i| ty.offset(i)).collect();
        assert_eq!(offsets, [0, 4, 16, 24]);
        assert_eq!((ty.size(), ty.align(), ty.n_leaves()), (32, 8, 6));
        assert_eq!(ty.leaf_start(2), 4);
    }

    #[test]
    fn an_array_is_pointer_extents_strides() {
        let kinds: Vec<_> =
            Type::array(Type::f32(), 2).leaves().into_iter().map(|leaf| (leaf.offset, leaf.kind)).collect();
        let expected = [
            (0, LeafKind::Pointer),
            (8, LeafKind::Extent(0)),
            (16, LeafKind::Extent(1)),
            (24, LeafKind::Stride(0)),
            (32, LeafKind::Stride(1)),
        ];
        assert_eq!(kinds, expected);
    }
}
