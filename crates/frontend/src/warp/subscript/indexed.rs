//! Subscripts of indexed arrays: an array seen through lists of indices.
//!
//! An indexed array is a struct of the array, `base`, and for each dimension a list `index0`, `index1` …, null where
//! that dimension is not indexed. `x[i]` is `x.base[x.index0[i]]`.

use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::{Access, Index};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};

/// Whether a type is that of indexed arrays.
pub(crate) fn is_indexed_array(ty: Type) -> bool {
    rank(ty).is_some()
}

fn rank(ty: Type) -> Option<u32> {
    let TypeKind::Struct(s) = ty.kind() else { return None };
    let (_, base) = s.fields.first()?;
    let (_, rank) = base.as_array()?;
    (s.name == "indexedarray" && s.fields.len() == rank as usize + 1).then_some(rank)
}

impl Lower<'_, '_> {
    pub(super) fn indexed_place(
        &mut self,
        indexed: Value,
        indices: &[Index],
        name: &str,
        span: Span,
    ) -> Result<Access> {
        let rank = rank(self.ty(indexed)).unwrap_or(0) as usize;
        let has_slice = indices.iter().any(|(operand, _)| matches!(operand, Operand::Slice(_)));
        if indices.len() != rank || has_slice {
            let message = format!("`{name}` is an indexed array: it takes {rank} integer indices, and no slices");
            return Err(self.error("unsupported-slice", span, message));
        }
        let base = self.b().extract(indexed, 0);
        let mut mapped = Vec::new();
        for (dim, (index, at)) in (0..).zip(indices) {
            let list = self.b().extract(indexed, dim + 1);
            let value = self.mapped_index(base, list, dim, index, name, *at)?;
            mapped.push((Operand::Value(value), *at));
        }
        self.element(base, &mapped, name, span)
    }

    /// The index into `base` that the list gives for `index`, or `index` where there is no list.
    fn mapped_index(
        &mut self,
        base: Value,
        list: Value,
        dim: u32,
        index: &Operand,
        name: &str,
        at: Span,
    ) -> Result<Value> {
        let is_null = self.b().push1(Op::IsNull, &[list], Attr::None, Type::bool());
        let (direct, found) = self.in_region(&[], |lower| {
            let value = lower.wrapped(base, index, dim, at)?;
            lower.b().yield_(&[value]);
            Ok(())
        });
        found?;
        let (through, found) = self.in_region(&[], |lower| {
            let access = lower.element(list, &[(index.clone(), at)], name, at)?;
            let value = lower.b().load(access.array, &access.indices, &[], &[]);
            let value = lower.b().cast(value, Scalar::I64);
            lower.b().yield_(&[value]);
            Ok(())
        });
        found?;
        let inst = self.b().push(Op::If, &[is_null], Attr::None, &[direct, through], &[Type::i64()]);
        Ok(self.func.inst(inst).result())
    }

    /// Length of an indexed array along a dimension, as the i32 that `shape` holds.
    pub(crate) fn indexed_extent(&mut self, indexed: Value, dim: u32) -> Value {
        let base = self.b().extract(indexed, 0);
        let list = self.b().extract(indexed, dim + 1);
        let is_null = self.b().push1(Op::IsNull, &[list], Attr::None, Type::bool());
        let (whole, listed) = (self.extent_i32(base, dim), self.extent_i32(list, 0));
        self.b().select(is_null, whole, listed)
    }
}
