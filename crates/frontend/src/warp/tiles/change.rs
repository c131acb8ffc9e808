//! Changing tiles. A tile that has a name lies in a cell; names of it and of its views say where they look.
//!
//! ```text
//! t = tile_load(…)      cell 1 is v5                     t is cell 1
//! row = t[2]                                             row is cell 1 at [2]
//! row += x              cell 1 is v9 = tile_put v5, …    t and row read v9 from here on
//! ```
//!
//! A cell is a hidden name, which loops carry and branches join as any other.

use crate::walk::lower::{Binding, Names, Result};
use crate::walk::operator::Sides;
use crate::walk::scan::Assigned;
use crate::walk::{Lower, Operand};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, Value};
use ruff_python_ast::{Operator, UnaryOp};
use std::collections::HashMap;

/// Where a name looks: at a cell, or at a view of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TilePlace {
    /// The hidden name.
    pub(crate) cell: String,
    /// Views of views, from the cell on.
    views: Vec<View>,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug, PartialEq)]
struct View {
    start: Value,
    strides: Attr,
    ty: Type,
}

impl View {
    /// Whether several of its elements are one of what it looks at.
    fn is_spread(&self) -> bool {
        matches!(&self.strides, Attr::Extents(strides) if strides.contains(&0))
    }
}

/// What is known of the cells of a body.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// By tile: where it was read.
    places: HashMap<Value, TilePlace>,
    n: usize,
    /// Cells that hold one of several tiles of other names: which one, a branch or a round of a loop decides.
    mixed: Vec<String>,
}

impl Cells {
    /// Forgets the values from a number on.
    pub(crate) fn rewind(&mut self, n_values: usize) {
        self.places.retain(|value, _| value.index() < n_values);
    }
}

impl Lower<'_, '_> {
    /// Gives a name what an expression gave; tiles get a cell, or look at that of another name.
    pub(crate) fn bind_name(&mut self, name: &str, operand: Operand) {
        let operand = self.in_cells(operand);
        self.names.set(name, Binding::Is(operand));
    }

    /// The cell of a tile's name, and of anything else the name itself.
    pub(crate) fn cell_of(&self, name: &str) -> String {
        match self.names.get(name) {
            Some(Binding::Is(Operand::Tile(place))) => place.cell.clone(),
            _ => name.to_owned(),
        }
    }

    fn in_cells(&mut self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(value) if self.ty(value).as_tile().is_some() => Operand::Tile(self.place_of(value).into()),
            Operand::Tuple(items) => Operand::Tuple(items.into_iter().map(|item| self.in_cells(item)).collect()),
            other => other,
        }
    }

    fn place_of(&mut self, tile: Value) -> TilePlace {
        if let Some(place) = self.cells.places.get(&tile)
            && self.names.get(&place.cell).is_some()
        {
            return place.clone();
        }
        // No name of the user's has a space.
        self.cells.n += 1;
        let cell = format!("tile {}", self.cells.n);
        self.names.set(&cell, Binding::Is(Operand::Value(tile)));
        let place = TilePlace { cell, views: Vec::new(), ty: self.ty(tile) };
        self.cells.places.insert(tile, place.clone());
        place
    }

    /// What names hold, with the tiles that lie in cells now.
    pub(crate) fn opened(&mut self, operand: &Operand) -> Operand {
        match operand {
            Operand::Tile(place) => self.looked(place).map_or(Operand::NONE, Operand::Value),
            Operand::Tuple(items) => Operand::Tuple(items.iter().map(|item| self.opened(item)).collect()),
            Operand::Method(base, mark) => Operand::Method(self.opened(base).into(), mark.clone()),
            other => other.clone(),
        }
    }

    /// The tile at a place; nothing where its cell is not set on every path.
    pub(crate) fn looked(&mut self, place: &TilePlace) -> Option<Value> {
        self.seen(place)?.last().copied()
    }

    /// What lies in the cell, then each view.
    fn seen(&mut self, place: &TilePlace) -> Option<Vec<Value>> {
        let Some(Binding::Is(Operand::Value(root))) = self.names.get(&place.cell) else { return None };
        let mut seen = vec![*root];
        let mut at = TilePlace { cell: place.cell.clone(), views: Vec::new(), ty: self.ty(*root) };
        self.cells.places.insert(*root, at.clone());
        for view in &place.views {
            let looked_at = *seen.last()?;
            let made = self.b().push1(Op::TileView, &[looked_at, view.start], view.strides.clone(), view.ty);
            at.views.push(view.clone());
            at.ty = view.ty;
            self.cells.places.insert(made, at.clone());
            seen.push(made);
        }
        Some(seen)
    }

    /// A view, which shares its elements with the tile.
    pub(super) fn view(&mut self, tile: Value, start: Value, strides: Vec<u64>, extents: Vec<u32>) -> Value {
        let elem = self.ty(tile).as_tile().map_or(Type::f32(), |(elem, _)| elem);
        let ty = Type::tile(elem, extents);
        let strides = Attr::Extents(strides.into());
        let made = self.b().push1(Op::TileView, &[tile, start], strides.clone(), ty);
        let view = View { start, strides, ty };
        // What nothing else names is the view's alone, unless its elements are fewer.
        let place = if view.is_spread() { Some(self.place_of(tile)) } else { self.cells.places.get(&tile).cloned() };
        if let Some(mut place) = place {
            place.views.push(view);
            place.ty = ty;
            self.cells.places.insert(made, place);
        }
        made
    }

    /// Another tile of the same elements.
    pub(super) fn copied(&mut self, tile: super::Tile) -> Value {
        let (start, strides) = (self.tile_index(0), super::row_major(tile.extents));
        self.b().push1(Op::TileView, &[tile.value, start], Attr::Extents(strides.into()), tile.ty())
    }

    /// What names hold as `old` is `new` from here on.
    pub(crate) fn change_tile(&mut self, old: Value, new: Value) {
        let Some(place) = self.cells.places.get(&old).cloned().filter(|_| old != new) else { return };
        if place.views.iter().any(View::is_spread) {
            let report = self.report("tile-shape", self.span, "this tile is spread: several of its elements are one");
            self.emit(report.help("add to it with `+=` or `tile_axpy`, or change the tile that `tile_broadcast` got"));
            return;
        }
        self.change(&place, new, Op::TilePut);
    }

    /// Adds a tile to one that names hold; elements that are one get all that is added to them.
    pub(crate) fn add_to_tile(&mut self, old: Value, more: Value) {
        if let Some(place) = self.cells.places.get(&old).cloned() {
            self.change(&place, more, Op::TileScatter);
        }
    }

    /// `t += x` where several elements of `t` are one.
    pub(crate) fn add_to_spread(&mut self, op: Operator, tile: Value, by: &Operand, sides: Sides) -> Result<()> {
        let more = match op {
            Operator::Add => by.clone(),
            Operator::Sub => self.unary(UnaryOp::USub, by, sides.right)?,
            _ => Operand::NONE,
        };
        match more {
            Operand::Value(more) if self.ty(more) == self.ty(tile) => self.add_to_tile(tile, more),
            _ => {
                let message = "this tile is spread: several of its elements are one";
                let report = self.report("tile-shape", sides.whole, message);
                return Err(self.emit(report.help("`+=` and `-=` take a tile of its shape and elements here")));
            }
        }
        Ok(())
    }

    /// Whether several elements of a tile are one.
    pub(crate) fn is_spread(&self, tile: Value) -> bool {
        self.cells.places.get(&tile).is_some_and(|place| place.views.iter().any(View::is_spread))
    }

    fn change(&mut self, place: &TilePlace, part: Value, op: Op) {
        if self.cells.mixed.contains(&place.cell) {
            let message = "this tile may be that of one name or of another: a branch or a loop decides";
            let report = self.report("tile-alias", self.span, message);
            self.emit(report.help("change each under its own name, or make a tile of its own: `tile_map`, `t + 0.0`"));
            return;
        }
        let Some(seen) = self.seen(place) else { return };
        let mut changed = part;
        for (number, (view, &looked_at)) in place.views.iter().zip(&seen).enumerate().rev() {
            let ty = self.ty(looked_at);
            // What is added goes on as what is added, until it reaches the cell.
            let is_added = op == Op::TileScatter && number > 0;
            let onto = if is_added { self.zero(ty) } else { looked_at };
            changed = self.b().push1(op, &[onto, changed, view.start], view.strides.clone(), ty);
        }
        self.names.set(&place.cell, Binding::Is(Operand::Value(changed)));
        let root = TilePlace { cell: place.cell.clone(), views: Vec::new(), ty: self.ty(changed) };
        self.cells.places.insert(changed, root);
    }

    /// Whether a change of what a name holds would be one of another name's tile too.
    pub(crate) fn shares_cell(&self, names: &Names, name: &str, operand: &Operand) -> bool {
        let Operand::Tile(place) = operand else { return false };
        let holds = |operand: &Operand| matches!(operand, Operand::Tile(other) if other.cell == place.cell);
        !place.views.is_empty()
            || names.iter().any(|(other, binding)| other != name && matches!(binding, Binding::Is(o) if holds(o)))
    }

    /// Gives a name one of several tiles; those that have other names it may not change.
    pub(crate) fn bind_mixed(&mut self, name: &str, operand: Operand, is_mixed: bool) {
        if name.starts_with("tile ") {
            return self.names.set(name, Binding::Is(operand));
        }
        self.bind_name(name, operand);
        if is_mixed && let Some(Binding::Is(Operand::Tile(place))) = self.names.get(name) {
            self.cells.mixed.push(place.cell.clone());
        }
    }

    /// What a loop carries under a name that held something before it.
    pub(crate) fn bind_carried(&mut self, name: &str, operand: Operand, before: &Names) {
        let is_mixed = matches!(before.get(name), Some(Binding::Is(held)) if self.shares_cell(before, name, held));
        self.bind_mixed(name, operand, is_mixed);
    }

    /// Names, and cells, that a body changes: a tile that is changed in place is its cell's.
    pub(crate) fn with_cells(&self, assigned: &Assigned, changed: Vec<String>) -> Vec<String> {
        let place = |name: &String| match self.names.get(name) {
            Some(Binding::Is(Operand::Tile(place))) => Some(place),
            _ => None,
        };
        let mut found: Vec<String> = Vec::new();
        let mut add = |name: &str| {
            if !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        };
        for name in &changed {
            if place(name).is_none() || assigned.rebinds(name) {
                add(name);
            }
        }
        assigned.in_place().iter().filter_map(place).for_each(|place| add(&place.cell));
        assigned.cells.iter().for_each(|cell| add(cell));
        found
    }

    pub(crate) fn tile_index(&mut self, index: u64) -> Value {
        self.b().int(Scalar::I64, index.into())
    }

    /// Reports a tile whose cell is not set on every path.
    pub(crate) fn unset_tile(&mut self, span: Span) -> crate::walk::Reported {
        let report = self.report("maybe-unset", span, "this tile may not be set here");
        self.emit(report.help("make it before the branch or loop"))
    }
}
