//! Subscripts of vectors, matrices, quaternions and transforms.

use super::super::branch::Joined;
use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::{Index, PieceKind, Place};
use diagnostics::Span;
use ir::{Op, Scalar, Site, SiteKind, Type, TypeKind, Value};

/// What a slice that selects no component gives: a vector of none is an empty tuple.
const NOTHING: Place = Place::Operand(Operand::Tuple(Vec::new()));

/// An index along one dimension of a value.
enum Along {
    One(u32),
    /// A slice, as the list of what it selects.
    Many(Vec<u32>),
    Dynamic(Value),
}

impl Lower<'_, '_> {
    /// `v[i]`, `v[a:b]`, `m[i]`, `m[i, j]` and their mixtures.
    pub(crate) fn component_place(&mut self, base: Place, ty: Type, indices: &[Index], span: Span) -> Result<Place> {
        let Some(elem) = ty.element() else { panic!("{ty} has no components") };
        let TypeKind::Matrix { rows, cols, .. } = *ty.kind() else {
            let [index] = indices else {
                return Err(self.too_many_indices(&format!("`{}`", self.name_of(ty)), 1, indices, span));
            };
            let n = ty.n_components() as u32;
            let (kind, ty) = match self.along(index, n, ty, span)? {
                Along::One(k) => (PieceKind::Component(k), Type::scalar(elem)),
                Along::Dynamic(index) => (PieceKind::At(vec![index]), Type::scalar(elem)),
                Along::Many(list) if list.is_empty() => return Ok(NOTHING),
                Along::Many(list) => {
                    let ty = Type::vector(elem, list.len() as u32);
                    (PieceKind::Several(list), ty)
                }
            };
            return Ok(self.piece(base, kind, ty));
        };
        let (row, col) = match indices {
            [row] => (self.along(row, rows, ty, span)?, Along::Many((0..cols).collect())),
            [row, col] => (self.along(row, rows, ty, span)?, self.along(col, cols, ty, span)?),
            _ => return Err(self.too_many_indices(&format!("`{}`", self.name_of(ty)), 2, indices, span)),
        };
        let (kind, ty) = match (row, col) {
            (Along::Many(list), _) | (_, Along::Many(list)) if list.is_empty() => return Ok(NOTHING),
            (Along::One(i), Along::One(j)) => (PieceKind::Component(i * cols + j), Type::scalar(elem)),
            (Along::One(i), Along::Many(js)) => {
                let ty = Type::vector(elem, js.len() as u32);
                (PieceKind::Several(js.iter().map(|j| i * cols + j).collect()), ty)
            }
            (Along::Many(is), Along::One(j)) => {
                let ty = Type::vector(elem, is.len() as u32);
                (PieceKind::Several(is.iter().map(|i| i * cols + j).collect()), ty)
            }
            (Along::Many(is), Along::Many(js)) => {
                let ty = Type::matrix(elem, is.len() as u32, js.len() as u32);
                let list = is.iter().flat_map(|i| js.iter().map(move |j| i * cols + j)).collect();
                (PieceKind::Several(list), ty)
            }
            (Along::Dynamic(index), Along::Many(js)) if js.iter().copied().eq(0..cols) => {
                (PieceKind::Line { index, is_row: true }, Type::vector(elem, cols))
            }
            (Along::Many(is), Along::Dynamic(index)) if is.iter().copied().eq(0..rows) => {
                (PieceKind::Line { index, is_row: false }, Type::vector(elem, rows))
            }
            (Along::Many(_), Along::Dynamic(_)) | (Along::Dynamic(_), Along::Many(_)) => {
                let report = self
                    .report("static-index", span, "a slice of part of a row or column needs a constant index")
                    .help("take the whole row, `m[i]`, then the slice of it");
                return Err(self.emit(report));
            }
            (row, col) => {
                let at = vec![self.along_value(row), self.along_value(col)];
                (PieceKind::At(at), Type::scalar(elem))
            }
        };
        Ok(self.piece(base, kind, ty))
    }

    /// An item of a tuple at a run-time index, where all items have one type.
    pub(crate) fn dynamic_item(&mut self, items: &[Operand], index: &Index, span: Span) -> Result<Operand> {
        let items: Vec<Operand> = items.iter().map(Operand::opened).collect();
        let ty = match self.join(&items.iter().collect::<Vec<_>>()) {
            Some(Joined::One(ty)) => Some(ty),
            Some(Joined::Same(operand)) => self.type_of(&operand),
            Some(joined @ Joined::Tuple(_)) => self.joined_type(&joined),
            None => None,
        };
        let (Some(ty), n) = (ty, items.len() as u32) else {
            let what = self.describe(&index.0);
            let message = format!("a tuple of several types is indexed by constants, found {what}");
            return Err(self.error("static-index", index.1, message));
        };
        let mut values = Vec::new();
        for item in &items {
            values.push(self.value_as(item, ty, span)?);
        }
        if let Some(scalar) = ty.as_scalar() {
            let vector = Type::vector(scalar, n);
            let place = Place::Operand(Operand::Value(self.b().construct(vector, &values)));
            let place = self.component_place(place, vector, std::slice::from_ref(index), span)?;
            return self.read(place);
        }
        let along = self.along(index, n, ty, span)?;
        let index = self.along_value(along);
        // As of vectors, what lies outside is 0.
        let mut chosen = self.zero(ty);
        for (k, &value) in (0..).zip(&values) {
            let k = self.b().int(Scalar::I64, k);
            let is_it = self.b().compare(Op::Eq, index, k);
            chosen = self.b().select(is_it, value, chosen);
        }
        Ok(Operand::Value(chosen))
    }

    fn along_value(&mut self, along: Along) -> Value {
        match along {
            Along::One(k) => self.b().int(Scalar::I64, i128::from(k)),
            Along::Dynamic(value) => value,
            Along::Many(_) => panic!("a slice is no scalar index"),
        }
    }

    /// One index of a value of `n` components in that direction.
    fn along(&mut self, (index, at): &Index, n: u32, ty: Type, span: Span) -> Result<Along> {
        if let Operand::Slice(bounds) = index {
            let list = self.static_slice(bounds, n, *at)?;
            return Ok(Along::Many(list));
        }
        if let Some(index) = index.as_int() {
            let what = format!("`{}`", self.name_of(ty));
            return self.static_index(index, n, &what, *at).map(Along::One);
        }
        let value = self.index(index, *at)?;
        let value = if self.may_be_negative(index) {
            let zero = self.b().int(Scalar::I64, 0);
            let n = self.b().int(Scalar::I64, i128::from(n));
            let is_negative = self.b().compare(Op::Lt, value, zero);
            let wrapped = self.b().binary(Op::Add, value, n);
            self.b().select(is_negative, wrapped, value)
        } else {
            value
        };
        if self.unit.options.checked {
            let name = self.name_of(ty);
            let site = self.unit.module.add_site(Site { kind: SiteKind::ComponentIndex, span, name });
            let n = self.b().int(Scalar::I64, i128::from(n));
            self.b().check(Op::CheckIndex, &[value, n], site);
        }
        Ok(Along::Dynamic(value))
    }

    /// Whether a run-time index has a type with negative values.
    pub(super) fn may_be_negative(&self, index: &Operand) -> bool {
        match index.as_int() {
            Some(value) => value < 0,
            None => self.type_of(index).and_then(Type::as_scalar).is_none_or(Scalar::is_signed),
        }
    }

    /// A constant index into `n` items, from the end where negative.
    pub(super) fn static_index(&mut self, index: i128, n: u32, what: &str, at: Span) -> Result<u32> {
        let from_start = if index < 0 { index + i128::from(n) } else { index };
        if let Ok(k) = u32::try_from(from_start)
            && k < n
        {
            return Ok(k);
        }
        let mut report = self.report("index-range", at, format!("index {index} is out of range for {what}"));
        if n > 0 {
            report = report.help(format!("it goes from 0 to {}, or from -{n} to -1", n - 1));
        }
        Err(self.emit(report))
    }

    /// The items that a constant slice selects of `n`, as Python does.
    pub(super) fn static_slice(&mut self, bounds: &[Operand; 3], n: u32, at: Span) -> Result<Vec<u32>> {
        let mut numbers = [None; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            *number = bound.as_int();
            if number.is_none() && !bound.is_none() {
                let what = self.describe(bound);
                let report = self
                    .report("static-index", at, format!("the bounds of this slice must be constants, found {what}"))
                    .help("the number of components is part of a value's type");
                return Err(self.emit(report));
            }
        }
        let [start, stop, step] = numbers;
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(self.error("slice-step", at, "slice step cannot be zero"));
        }
        Ok(selected(start, stop, step, n))
    }

    pub(super) fn too_many_indices(
        &mut self,
        what: &str,
        rank: usize,
        indices: &[Index],
        span: Span,
    ) -> super::super::Reported {
        let plural = if rank == 1 { "index" } else { "indices" };
        let message = format!("{what} takes {rank} {plural}, found {}", indices.len());
        self.error("too-many-indices", span, message)
    }
}

/// The indices of `range(n)[start:stop:step]`.
fn selected(start: Option<i128>, stop: Option<i128>, step: i128, n: u32) -> Vec<u32> {
    let n = i128::from(n);
    let (least, most) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let bound = |given: Option<i128>, default: i128| match given {
        Some(value) => (if value < 0 { value.saturating_add(n) } else { value }).clamp(least, most),
        None => default,
    };
    let (mut at, stop) =
        if step > 0 { (bound(start, 0), bound(stop, n)) } else { (bound(start, n - 1), bound(stop, -1)) };
    let mut list = Vec::new();
    while if step > 0 { at < stop } else { at > stop } {
        list.push(at as u32);
        at = at.saturating_add(step);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::selected;

    #[test]
    fn slices_select_what_python_selects() {
        assert_eq!(selected(None, None, 1, 4), [0, 1, 2, 3]);
        assert_eq!(selected(None, None, -1, 4), [3, 2, 1, 0]);
        assert_eq!(selected(Some(-2), None, 1, 4), [2, 3]);
        assert_eq!(selected(Some(-99), Some(99), 3, 4), [0, 3]);
        assert_eq!(selected(Some(3), Some(0), -2, 4), [3, 1]);
        assert_eq!(selected(Some(2), Some(1), 1, 4), []);
        assert_eq!(selected(Some(0), None, i128::MAX, 4), [0]);
    }
}
