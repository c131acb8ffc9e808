//! Changing a tile: every name that holds it, a view of it, or what it is a view of holds the new value.

use crate::walk::Lower;
use crate::walk::Operand;
use crate::walk::lower::Binding;
use ir::{Attr, Inst, Op, Scalar, Value, ValueDef};

impl Lower<'_, '_> {
    /// What was `old` is `new` from here on.
    pub(crate) fn change_tile(&mut self, old: Value, new: Value) {
        if old == new {
            return;
        }
        self.rename_tile(old, new);
        self.renew_views(old, new);
        let Some(view) = self.view_of(old) else { return };
        let (parent, start) = (view.operands[0], view.operands[1]);
        let is_spread = matches!(&view.attr, Attr::Extents(strides) if strides.contains(&0));
        if self.is_held(parent) && !is_spread {
            let ty = self.ty(parent);
            let changed = self.b().push1(Op::TilePut, &[parent, new, start], view.attr.clone(), ty);
            self.rename_tile(old, new);
            self.change_tile(parent, changed);
            // Other views of the parent were renewed with it; these names keep looking into it.
            let ty = self.ty(new);
            let fresh = self.b().push1(Op::TileView, &[changed, start], view.attr, ty);
            self.rename_tile(new, fresh);
        }
    }

    fn rename_tile(&mut self, old: Value, new: Value) {
        let holding: Vec<String> = self.tile_names().filter(|(_, value)| *value == old).map(|(name, _)| name).collect();
        for name in holding {
            self.names.set(&name, Binding::Is(Operand::Value(new)));
        }
    }

    /// Names of views of a tile look into the new one.
    fn renew_views(&mut self, old: Value, new: Value) {
        let views: Vec<(String, Value)> = self.tile_names().collect();
        for (name, value) in views {
            let Some(view) = self.view_of(value).filter(|view| view.operands[0] == old) else { continue };
            let ty = self.ty(value);
            let renewed = self.b().push1(Op::TileView, &[new, view.operands[1]], view.attr, ty);
            self.names.set(&name, Binding::Is(Operand::Value(renewed)));
            self.renew_views(value, renewed);
        }
    }

    fn tile_names(&self) -> impl Iterator<Item = (String, Value)> + '_ {
        self.names.iter().filter_map(|(name, binding)| match binding {
            Binding::Is(Operand::Value(value)) if self.ty(*value).as_tile().is_some() => Some((name.clone(), *value)),
            _ => None,
        })
    }

    fn view_of(&self, tile: Value) -> Option<Inst> {
        let ValueDef::Result(inst, _) = self.func.def(tile) else { return None };
        Some(self.func.inst(inst).clone()).filter(|inst| inst.op == Op::TileView)
    }

    /// Whether a name holds a tile, or what it is a view of.
    fn is_held(&self, tile: Value) -> bool {
        self.tile_names().any(|(_, value)| value == tile)
            || self.view_of(tile).is_some_and(|view| self.is_held(view.operands[0]))
    }

    /// Adds to names those of tiles that change with theirs.
    pub(crate) fn add_tile_aliases(&self, names: &mut Vec<String>) {
        let tiles: Vec<(String, Value)> = self.tile_names().collect();
        let root = |tile: Value| {
            let mut tile = tile;
            while let Some(view) = self.view_of(tile) {
                tile = view.operands[0];
            }
            tile
        };
        let changed: Vec<Value> =
            tiles.iter().filter(|(name, _)| names.contains(name)).map(|(_, value)| root(*value)).collect();
        for (name, value) in tiles {
            if changed.contains(&root(value)) && !names.contains(&name) {
                names.push(name);
            }
        }
    }

    pub(crate) fn tile_index(&mut self, index: u64) -> Value {
        self.b().int(Scalar::I64, index.into())
    }
}
