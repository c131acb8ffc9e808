//! `t[i, j]`, `t[1:3]`, `t[indices]`: elements and views of tiles, read and written.

use super::{Tile, row_major, shape_text};
use crate::walk::lower::Result;
use crate::walk::subscript::{Index, Place};
use crate::walk::{Lower, Operand};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Site, SiteKind, Type, Value};

/// What a subscript of a tile leads to.
#[derive(Clone, Debug)]
pub(crate) enum TilePart {
    /// An element, by its number row by row.
    Element(Value),
    View {
        start: Value,
        strides: Vec<u64>,
        extents: Vec<u32>,
    },
    /// Elements along an axis in the order of a tile of indices.
    Gather(usize, Value),
}

impl Lower<'_, '_> {
    /// The place that a subscript of a tile names.
    pub(crate) fn tile_place(&mut self, tile: Operand, indices: &[Index], span: Span) -> Result<Place> {
        let value = self.value(&tile, span)?;
        let Some(tile) = self.tile_of(value) else { return Err(crate::walk::Reported) };
        let rank = tile.extents.len();
        if let Some(axis) = indices.iter().position(|(operand, _)| self.is_tile(operand)) {
            return self.gather_place(tile, indices, axis, span);
        }
        let n_own = indices.len().min(rank);
        let (own, rest) = indices.split_at(n_own);
        let strides = row_major(tile.extents);
        let (mut offsets, mut left) = (Vec::new(), Vec::new());
        for (dim, (operand, at)) in own.iter().enumerate() {
            let extent = tile.extents[dim];
            if let Operand::Slice(bounds) = operand {
                let (first, step, n) = self.tile_slice(bounds, extent, *at)?;
                offsets.push(first);
                left.push(((strides[dim] as i64).wrapping_mul(step) as u64, n));
            } else {
                offsets.push(self.tile_element_index(operand, extent, *at)?);
            }
        }
        left.extend((n_own..rank).map(|dim| (strides[dim], tile.extents[dim])));
        let start = self.start_at(&offsets, &strides);
        if !left.is_empty() {
            if !rest.is_empty() {
                let message = format!("too many indices for a tile of shape {}", shape_text(tile.extents));
                return Err(self.error("too-many-indices", span, message));
            }
            let (strides, extents) = left.into_iter().unzip();
            return Ok(Place::Tile(value, TilePart::View { start, strides, extents }));
        }
        let element = Place::Tile(value, TilePart::Element(start));
        if rest.is_empty() {
            return Ok(element);
        }
        if !tile.elem.is_composite() {
            let message = format!("too many indices for a tile of shape {}", shape_text(tile.extents));
            return Err(self.error("too-many-indices", span, message));
        }
        self.component_place(element, tile.elem, rest, span)
    }

    fn is_tile(&self, operand: &Operand) -> bool {
        operand.as_value().is_some_and(|value| self.ty(value).as_tile().is_some())
    }

    fn gather_place(&mut self, tile: Tile, indices: &[Index], axis: usize, span: Span) -> Result<Place> {
        let is_whole =
            |operand: &Operand| matches!(operand, Operand::Slice(bounds) if bounds.iter().all(Operand::is_none));
        let others_are_whole = indices.iter().enumerate().all(|(i, (operand, _))| i == axis || is_whole(operand));
        let list = indices[axis].0.as_value().and_then(|value| self.tile_of(value));
        match list {
            Some(list)
                if others_are_whole
                    && indices.len() <= tile.extents.len()
                    && list.extents.len() == 1
                    && list.elem.as_scalar().is_some_and(Scalar::is_int) =>
            {
                Ok(Place::Tile(tile.value, TilePart::Gather(axis, list.value)))
            }
            _ => {
                let report = self.report("not-an-index", span, "a tile is indexed by one tile of integers, and by `:`");
                Err(self.emit(report.help("write `t[indices]`, `t[indices, :]` or `t[:, indices]`")))
            }
        }
    }

    /// First index, step and number of what a slice selects.
    fn tile_slice(&mut self, bounds: &[Operand; 3], extent: u32, span: Span) -> Result<(Value, i64, u32)> {
        let n = i128::from(extent);
        let [lower, upper, step] = bounds;
        let known = |operand: &Operand, default: i128| match operand {
            operand if operand.is_none() => Some(default),
            operand => operand.as_int(),
        };
        let Some(step) = known(step, 1).filter(|&step| step != 0) else {
            return Err(self.error("tile-shape", span, "the step of a slice of a tile is a constant that is not 0"));
        };
        let ends = if step > 0 { [0, n] } else { [n - 1, -1] };
        let clip = |operand: &Operand, default: i128| {
            let is_given = !operand.is_none();
            let index = known(operand, default)?;
            if !is_given {
                return Some(index);
            }
            let index = if index < 0 { index + n } else { index };
            Some(if step > 0 { index.clamp(0, n) } else { index.clamp(-1, n - 1) })
        };
        if let (Some(first), Some(end)) = (clip(lower, ends[0]), clip(upper, ends[1])) {
            let distance = if step > 0 { end - first } else { first - end };
            let count = (distance + step.abs() - 1) / step.abs();
            if count < 1 {
                return Err(self.error("tile-shape", span, "a slice of a tile must hold at least one element"));
            }
            return Ok((self.b().int(Scalar::I64, first), step as i64, count as u32));
        }
        let report = self.report("tile-shape", span, "the bounds of a slice of a tile must be known when compiling");
        Err(self.emit(report.help("`tile_view(t, offset=(i, j), shape=(…))` begins at run-time offsets")))
    }

    /// An index as i64, negative ones from the end; checked in checked mode.
    fn tile_element_index(&mut self, operand: &Operand, extent: u32, span: Span) -> Result<Value> {
        let n = i128::from(extent);
        if let Some(index) = operand.as_int() {
            if !(-n..n).contains(&index) {
                let message = format!("index {index} is outside of a tile with {n} elements along this dimension");
                return Err(self.error("index-range", span, message));
            }
            return Ok(self.b().int(Scalar::I64, index.rem_euclid(n)));
        }
        let index = self.index(operand, span)?;
        let mut b = self.b();
        let (zero, extent) = (b.int(Scalar::I64, 0), b.int(Scalar::I64, n));
        let (is_negative, from_end) = (b.compare(Op::Lt, index, zero), b.binary(Op::Add, index, extent));
        let index = b.select(is_negative, from_end, index);
        if self.unit.options.checks_bounds() {
            let name = self.text_at(span).unwrap_or_default();
            let site = self.unit.module.add_site(Site { kind: SiteKind::ComponentIndex, span, name });
            self.b().check(Op::CheckIndex, &[index, extent], site);
        }
        Ok(index)
    }

    pub(crate) fn tile_part_type(&self, tile: Value, part: &TilePart) -> Option<Type> {
        let (elem, extents) = self.ty(tile).as_tile()?;
        Some(match part {
            TilePart::Element(_) => elem,
            TilePart::View { extents, .. } => Type::tile(elem, extents.clone()),
            TilePart::Gather(axis, indices) => {
                let mut extents = extents.to_vec();
                extents[*axis] = self.ty(*indices).as_tile()?.1[0];
                Type::tile(elem, extents)
            }
        })
    }

    pub(crate) fn read_tile_part(&mut self, tile: Value, part: &TilePart) -> Result<Operand> {
        let Some(whole) = self.tile_of(tile) else { return Err(crate::walk::Reported) };
        let span = self.span;
        Ok(Operand::Value(match part {
            TilePart::Element(at) => self.b().push1(Op::TileGet, &[tile, *at], Attr::None, whole.elem),
            TilePart::View { start, strides, extents } => self.view(tile, *start, strides.clone(), extents.clone()),
            TilePart::Gather(axis, indices) => {
                let Some(indices) = self.tile_of(*indices) else { return Err(crate::walk::Reported) };
                self.gathered(whole, *axis, indices, span)?
            }
        }))
    }

    pub(crate) fn write_tile_part(&mut self, tile: Value, part: &TilePart, value: &Operand, span: Span) -> Result<()> {
        let Some(whole) = self.tile_of(tile) else { return Err(crate::walk::Reported) };
        let changed = match part {
            TilePart::Element(at) => {
                let value = self.value_as(value, whole.elem, span)?;
                self.b().push1(Op::TileSet, &[tile, value, *at], Attr::None, whole.ty())
            }
            TilePart::View { start, strides, extents } => {
                let part = self.part_of_shape(value, whole, extents, span)?;
                let attr = Attr::Extents(strides.clone().into());
                self.b().push1(Op::TilePut, &[tile, part, *start], attr, whole.ty())
            }
            TilePart::Gather(..) => {
                let report = self.report("not-assignable", span, "elements at a tile of indices cannot be assigned");
                return Err(self.emit(report.help("assign them in a loop")));
            }
        };
        self.change_tile(tile, changed);
        Ok(())
    }

    /// What is assigned to a part of a tile: a tile of its shape, or a value for every element.
    fn part_of_shape(&mut self, value: &Operand, whole: Tile, extents: &[u32], span: Span) -> Result<Value> {
        let Some(source) = value.as_value().and_then(|value| self.tile_of(value)) else {
            let value = self.value_as(value, whole.elem, span)?;
            let filled = self.fill(value, extents.to_vec());
            return self.value(&filled, span);
        };
        if source.extents != extents {
            let (from, to) = (shape_text(source.extents), shape_text(extents));
            let message = format!("a tile of shape {from} cannot be assigned to a part of shape {to}");
            return Err(self.error("tile-shape", span, message));
        }
        let part = self.tile_as(source, whole.elem, span)?;
        match self.ty(part).as_tile() {
            Some((elem, _)) if elem == whole.elem => Ok(part),
            _ => {
                let (from, to) = (self.name_of(source.elem), self.name_of(whole.elem));
                let message = format!("elements of type `{from}` cannot be assigned to elements of type `{to}`");
                Err(self.error("type-mismatch", span, message))
            }
        }
    }
}
