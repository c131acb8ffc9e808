//! Subscripts of Fabric arrays: elements that lie in buckets, as NVIDIA Omniverse's Fabric keeps them.
//!
//! A Fabric array is a struct of its buckets, where each of them ends, and the number of elements. A bucket holds the
//! number of its first element and its elements, or the addresses and lengths of its rows. `x[i]` searches the ends:
//!
//!     k = lower_bound(x.ends, i + 1)
//!     x.buckets[k].data[i - x.buckets[k].start]
//!
//! An indexed Fabric array is a struct of a Fabric array and a list of indices into it.

use super::super::call::Args;
use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::{Access, Index, Place};
use diagnostics::Span;
use ir::{Attr, Op, PathElem, Scalar, Site, SiteKind, Type, TypeKind, Value};

/// What a Fabric array, indexed or not, stands for.
#[derive(Clone, Copy)]
pub(super) struct Fabric {
    /// The type of a plain array of the same elements: of two dimensions where the elements are rows.
    pub(super) array: Type,
    is_indexed: bool,
}

impl Fabric {
    pub(super) fn of(ty: Type) -> Option<Fabric> {
        let TypeKind::Struct(s) = ty.kind() else { return None };
        match (s.name.as_str(), &s.fields[..]) {
            ("indexedfabricarray", [(_, base), _]) => {
                Fabric::of(*base).map(|fabric| Fabric { is_indexed: true, ..fabric })
            }
            ("fabricarray", [(_, buckets), _, _]) => {
                let TypeKind::Struct(bucket) = buckets.as_array()?.0.kind() else { return None };
                let (_, row) = bucket.fields.last()?;
                let array = match bucket.name.as_str() {
                    "FabricBucket" => *row,
                    "FabricRows" => Type::array(row.as_array()?.0, 2),
                    _ => return None,
                };
                Some(Fabric { array, is_indexed: false })
            }
            _ => None,
        }
    }

    fn has_rows(self) -> bool {
        self.array.as_array().is_some_and(|(_, rank)| rank == 2)
    }
}

impl Lower<'_, '_> {
    /// `x[i]`: an element, or a row where the elements are rows; `x[i, j]`: an element of a row.
    pub(super) fn fabric_place(&mut self, fabric: Value, indices: &[Index], name: &str, span: Span) -> Result<Place> {
        let kind = self.fabric_kind(fabric);
        let is_slice = |(operand, _): &Index| matches!(operand, Operand::Slice(_));
        let most = if kind.has_rows() { 2 } else { 1 };
        if indices.len() > most || indices.is_empty() || indices.iter().any(is_slice) {
            let takes = if most == 1 { "one integer index" } else { "up to 2 integer indices" };
            let message = format!("`{name}` is a Fabric array: it takes {takes}, and no slices");
            return Err(self.error("unsupported-slice", span, message));
        }
        if kind.has_rows() && indices.len() == 1 {
            let row = self.fabric_row(fabric, &indices[0], name)?;
            return Ok(Place::Operand(Operand::Value(row)));
        }
        self.fabric_element(fabric, indices, name, span).map(Place::Memory)
    }

    /// The element at one integer a dimension.
    pub(super) fn fabric_element(
        &mut self,
        fabric: Value,
        indices: &[Index],
        name: &str,
        span: Span,
    ) -> Result<Access> {
        if self.fabric_kind(fabric).has_rows() {
            let row = self.fabric_row(fabric, &indices[0], name)?;
            return self.plain_element(row, &indices[1..], name, span);
        }
        let (buckets, bucket, within) = self.fabric_bucket(fabric, &indices[0], name)?;
        let data = self.b().load(buckets, &[bucket], &[PathElem::Static(1)], &[]);
        self.plain_element(data, &[(Operand::Value(within), span)], name, span)
    }

    /// Length along a dimension, as the i32 that `shape` holds: how many elements, or rows.
    pub(crate) fn fabric_size(&mut self, fabric: Value) -> Value {
        let size = if self.fabric_kind(fabric).is_indexed {
            let list = self.b().extract(fabric, 1);
            self.b().extent(list, 0)
        } else {
            self.b().extract(fabric, 2)
        };
        self.b().cast(size, Scalar::I32)
    }

    fn fabric_kind(&self, fabric: Value) -> Fabric {
        Fabric::of(self.ty(fabric)).unwrap_or_else(|| panic!("a Fabric array"))
    }

    /// Row `index`: the array over the memory that its bucket names.
    fn fabric_row(&mut self, fabric: Value, index: &Index, name: &str) -> Result<Value> {
        let (elem, _) = self.fabric_kind(fabric).array.as_array().unwrap_or_else(|| panic!("an array of rows"));
        let (buckets, bucket, within) = self.fabric_bucket(fabric, index, name)?;
        let [address, length] = [1, 2].map(|field| {
            let list = self.b().load(buckets, &[bucket], &[PathElem::Static(field)], &[]);
            self.b().load(list, &[within], &[], &[])
        });
        let length = self.b().cast(length, Scalar::I64);
        Ok(self.b().push1(Op::ArrayFromAddress, &[address, length], Attr::None, Type::array(elem, 1)))
    }

    /// The buckets, which of them holds element `index`, and where in it that lies.
    fn fabric_bucket(&mut self, fabric: Value, index: &Index, name: &str) -> Result<(Value, Value, Value)> {
        let (mut fabric, (operand, at)) = (fabric, index.clone());
        let mut value = self.index(&operand, at)?;
        if self.fabric_kind(fabric).is_indexed {
            let list = self.b().extract(fabric, 1);
            let access = self.plain_element(list, &[(operand, at)], name, at)?;
            value = self.load(&access);
            value = self.b().cast(value, Scalar::I64);
            fabric = self.b().extract(fabric, 0);
        }
        let size = self.b().extract(fabric, 2);
        let zero = self.b().int(Scalar::I64, 0);
        let is_negative = self.b().compare(Op::Lt, value, zero);
        let from_end = self.b().binary(Op::Add, value, size);
        let value = self.b().select(is_negative, from_end, value);
        if self.unit.options.checks_bounds() {
            let site = self.unit.module.add_site(Site { kind: SiteKind::ArrayIndex, span: at, name: name.to_owned() });
            self.b().check(Op::CheckIndex, &[value, size], site);
        }
        let (buckets, ends) = (self.b().extract(fabric, 0), self.b().extract(fabric, 1));
        let one = self.b().int(Scalar::I64, 1);
        let next = self.b().binary(Op::Add, value, one);
        let search = [Operand::Value(ends), Operand::Value(next)];
        let found = self.builtin("lower_bound", Args::positional(&search, at), at)?;
        let bucket = self.value(&found, at)?;
        let bucket = self.b().cast(bucket, Scalar::I64);
        let start = self.b().load(buckets, &[bucket], &[PathElem::Static(0)], &[]);
        Ok((buckets, bucket, self.b().binary(Op::Sub, value, start)))
    }
}
