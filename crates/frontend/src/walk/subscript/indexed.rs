//! Subscripts of indexed arrays: an array seen through lists of indices.
//!
//! An indexed array is a struct of the array, `base`, and for each dimension a list `index0`, `index1` …, null where
//! that dimension is not indexed. `x[i]` is `x.base[x.index0[i]]`.

use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::fabric::Fabric;
use super::{Index, Place};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};

/// Whether a type is a struct that finds the elements of an array: an indexed array, a Fabric array.
pub(crate) fn is_mapped_array(ty: Type) -> bool {
    rank(ty).is_some() || Fabric::of(ty).is_some()
}

/// The type of an array, or of a plain array of what such a struct finds.
pub(crate) fn array_type(ty: Type) -> Option<Type> {
    match ty.kind() {
        TypeKind::Array { .. } => Some(ty),
        TypeKind::Struct(s) if rank(ty).is_some() => s.fields.first().map(|(_, base)| *base),
        TypeKind::Struct(_) => Fabric::of(ty).map(|fabric| fabric.array),
        _ => None,
    }
}

fn rank(ty: Type) -> Option<u32> {
    let TypeKind::Struct(s) = ty.kind() else { return None };
    let (_, base) = s.fields.first()?;
    let (_, rank) = base.as_array()?;
    (s.name == "indexedarray" && s.fields.len() == rank as usize + 1).then_some(rank)
}

impl Lower<'_, '_> {
    /// `x[i, j]`: an element where every dimension has an index, else an indexed array of the dimensions left.
    pub(super) fn indexed_place(&mut self, indexed: Value, indices: &[Index], name: &str, span: Span) -> Result<Place> {
        let ty = self.ty(indexed);
        let rank = rank(ty).unwrap_or(0);
        let is_slice = |(operand, _): &Index| matches!(operand, Operand::Slice(_));
        if indices.len() > rank as usize || indices.iter().any(is_slice) {
            let message = format!("`{name}` is an indexed array: it takes up to {rank} integer indices, and no slices");
            return Err(self.error("unsupported-slice", span, message));
        }
        if indices.len() == rank as usize {
            return self.element(indexed, indices, name, span).map(Place::Memory);
        }
        let (mut base, mapped) = self.mapped(indexed, indices, name)?;
        for (index, at) in &mapped {
            let index = self.wrapped(base, index, 0, *at)?;
            self.check_row(base, index, 0, name, span);
            base = self.b().row(base, index, 0);
        }
        let mut parts = vec![base];
        for dim in mapped.len() as u32..rank {
            parts.push(self.b().extract(indexed, dim + 1));
        }
        let fields = (1..).zip(&parts[1..]).map(|(k, &list)| (format!("index{}", k - 1), self.ty(list)));
        let fields = [("base".to_owned(), self.ty(base))].into_iter().chain(fields).collect();
        let view = self.b().construct(Type::structure("indexedarray", fields), &parts);
        Ok(Place::Operand(Operand::Value(view)))
    }

    /// The array behind an indexed array, and the indices into it.
    pub(super) fn mapped(&mut self, indexed: Value, indices: &[Index], name: &str) -> Result<(Value, Vec<Index>)> {
        let base = self.b().extract(indexed, 0);
        let mut mapped = Vec::new();
        for (dim, (index, at)) in (0..).zip(indices) {
            let list = self.b().extract(indexed, dim + 1);
            let value = self.mapped_index(base, list, dim, index, name, *at)?;
            mapped.push((Operand::Value(value), *at));
        }
        Ok((base, mapped))
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
            let access = lower.plain_element(list, &[(index.clone(), at)], name, at)?;
            let value = lower.b().load(access.array, &access.indices, &[], &[]);
            let value = lower.b().cast(value, Scalar::I64);
            lower.b().yield_(&[value]);
            Ok(())
        });
        found?;
        let inst = self.b().push(Op::If, &[is_null], Attr::None, &[direct, through], &[Type::i64()]);
        Ok(self.func.inst(inst).result())
    }

    /// How many dimensions the shape of an array behind a struct has: one for a Fabric array, rows or not.
    pub(crate) fn mapped_rank(&self, mapped: Value) -> u32 {
        rank(self.ty(mapped)).unwrap_or(1)
    }

    /// Its length along a dimension, as the i32 that `shape` holds.
    pub(crate) fn mapped_extent(&mut self, mapped: Value, dim: u32) -> Value {
        if Fabric::of(self.ty(mapped)).is_some() {
            return self.fabric_size(mapped);
        }
        let indexed = mapped;
        let base = self.b().extract(indexed, 0);
        let list = self.b().extract(indexed, dim + 1);
        let is_null = self.b().push1(Op::IsNull, &[list], Attr::None, Type::bool());
        let (whole, listed) = (self.extent_of(base, dim), self.extent_of(list, 0));
        self.b().select(is_null, whole, listed)
    }
}
