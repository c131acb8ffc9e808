//! Subscripts of Fabric arrays: elements that lie in buckets, as NVIDIA Omniverse's Fabric keeps them.
//!
//! A Fabric array is a struct of tables over its buckets: the address that element 0 would have if the bucket went back
//! to it, and the number of the element after its last. `x[i]` searches the ends, all threads in as many steps:
//!
//! ```text
//! k = lower_bound(x.ends, i + 1)
//! element at address x.bases[k] + i * size
//! ```
//!
//! Where the elements are rows, there are two such addresses, of a row's address and of its length. The field `element`
//! is always null: it says what the elements are. An indexed Fabric array is a struct of one and a list of indices.

use super::super::call::Args;
use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::{Access, Index, Place};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Site, SiteKind, Type, TypeKind, Value};

/// What a Fabric array, indexed or not, stands for.
#[derive(Clone, Copy)]
pub(super) struct Fabric {
    /// The type of a plain array of the same elements: of two dimensions where the elements are rows.
    pub(super) array: Type,
    is_indexed: bool,
}

/// An element of a Fabric array that is not indexed, and the bucket that it lies in.
#[derive(Clone, Copy)]
struct Found {
    fabric: Value,
    bucket: Value,
    index: Value,
}

impl Fabric {
    pub(super) fn of(ty: Type) -> Option<Fabric> {
        let TypeKind::Struct(s) = ty.kind() else { return None };
        match (s.name.as_str(), &s.fields[..]) {
            ("indexedfabricarray", [(_, base), _]) => {
                Fabric::of(*base).map(|fabric| Fabric { is_indexed: true, ..fabric })
            }
            ("fabricarray", [_, _, (_, element), _]) if element.is_array() => {
                Some(Fabric { array: *element, is_indexed: false })
            }
            ("fabricarray", [_, _, _, (_, element), _]) => {
                Some(Fabric { array: Type::array(element.as_array()?.0, 2), is_indexed: false })
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
        let (elem, _) = self.fabric_kind(fabric).array.as_array().unwrap_or_else(|| panic!("an array of elements"));
        let found = self.fabric_search(fabric, &indices[0], name)?;
        Ok(self.fabric_cell(found, 0, elem, name, span))
    }

    /// Length along a dimension, as the i32 that `shape` holds: how many elements, or rows.
    pub(crate) fn fabric_size(&mut self, fabric: Value) -> Value {
        let size = if self.fabric_kind(fabric).is_indexed {
            let list = self.b().extract(fabric, 1);
            self.b().extent(list, 0)
        } else {
            let last = self.ty(fabric).n_components() as u32 - 1;
            self.b().extract(fabric, last)
        };
        self.b().cast(size, Scalar::I32)
    }

    fn fabric_kind(&self, fabric: Value) -> Fabric {
        Fabric::of(self.ty(fabric)).unwrap_or_else(|| panic!("a Fabric array"))
    }

    /// Row `index`: the array over the memory that its bucket names.
    fn fabric_row(&mut self, fabric: Value, index: &Index, name: &str) -> Result<Value> {
        let (elem, _) = self.fabric_kind(fabric).array.as_array().unwrap_or_else(|| panic!("an array of rows"));
        let found = self.fabric_search(fabric, index, name)?;
        let [address, length] = [0, 1].map(|table| {
            let cell = self.fabric_cell(found, table, Type::scalar(Scalar::U64), name, index.1);
            self.load(&cell)
        });
        let length = self.b().cast(length, Scalar::I64);
        Ok(self.b().push1(Op::ArrayFromAddress, &[address, length], Attr::None, Type::array(elem, 1)))
    }

    /// The element that a search found, in one of the tables of addresses.
    fn fabric_cell(&mut self, found: Found, table: u32, elem: Type, name: &str, span: Span) -> Access {
        let Found { fabric, bucket, index } = found;
        let table = self.b().extract(fabric, table);
        let base = self.b().load(table, &[bucket], &[], &[]);
        let (size, one) = (self.b().int(Scalar::U64, i128::from(elem.size())), self.b().int(Scalar::I64, 1));
        let index = self.b().cast(index, Scalar::U64);
        let offset = self.b().binary(Op::Mul, index, size);
        let address = self.b().binary(Op::Add, base, offset);
        let array = self.b().push1(Op::ArrayFromAddress, &[address, one], Attr::None, Type::array(elem, 1));
        let zero = self.b().int(Scalar::I64, 0);
        let (path, path_indices, name) = (Vec::new(), Vec::new(), name.to_owned());
        Access { array, indices: vec![zero], path, path_indices, ty: elem, name, span }
    }

    /// Which bucket holds element `index` of a Fabric array.
    fn fabric_search(&mut self, fabric: Value, index: &Index, name: &str) -> Result<Found> {
        let (mut fabric, (operand, at)) = (fabric, index.clone());
        let mut value = self.index(&operand, at)?;
        if self.fabric_kind(fabric).is_indexed {
            let list = self.b().extract(fabric, 1);
            let access = self.plain_element(list, &[(operand, at)], name, at)?;
            value = self.load(&access);
            value = self.b().cast(value, Scalar::I64);
            fabric = self.b().extract(fabric, 0);
        }
        let last = self.ty(fabric).n_components() as u32 - 1;
        let size = self.b().extract(fabric, last);
        let zero = self.b().int(Scalar::I64, 0);
        let is_negative = self.b().compare(Op::Lt, value, zero);
        let from_end = self.b().binary(Op::Add, value, size);
        let value = self.b().select(is_negative, from_end, value);
        if self.unit.options.checks_bounds() {
            let site = self.unit.module.add_site(Site { kind: SiteKind::ArrayIndex, span: at, name: name.to_owned() });
            self.b().check(Op::CheckIndex, &[value, size], site);
        }
        let ends = self.b().extract(fabric, last - 2);
        let one = self.b().int(Scalar::I64, 1);
        let next = self.b().binary(Op::Add, value, one);
        let search = [Operand::Value(ends), Operand::Value(next)];
        let found = self.builtin("lower_bound", Args::positional(&search, at), at)?;
        let bucket = self.value(&found, at)?;
        let bucket = self.b().cast(bucket, Scalar::I64);
        Ok(Found { fabric, bucket, index: value })
    }
}
