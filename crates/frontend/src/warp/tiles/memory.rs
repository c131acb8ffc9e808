//! Tiles of the elements of arrays.

use super::{Tile, shape_text};
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{AtomicOp, Attr, Op, Scalar, Type, Value};

const AT: &str = "a, indices, t, offset?, axis?";

pub(super) const ROWS: &[Row] = &[
    own("tile_load", "a, shape, offset?, storage?, bounds_check?, aligned?", load),
    own("tile_store", "a, t, offset?, bounds_check?, aligned?", |lower, call| store(lower, call, Op::TileStore)),
    own("tile_atomic_add", "a, t, offset?, bounds_check?", |lower, call| store(lower, call, Op::TileAtomic)),
    own("tile_load_indexed", "a, indices, shape, offset?, axis?, storage?", load_at),
    own("tile_store_indexed", AT, |lower, call| store_at(lower, call, Op::TileStoreAt)),
    own("tile_atomic_add_indexed", AT, |lower, call| store_at(lower, call, Op::TileAtomicAt)),
];

impl Lower<'_, '_> {
    /// An array whose elements tiles hold.
    fn tile_array(&mut self, call: &Call<'_>, arg: &Arg) -> Result<(Value, Type, usize)> {
        let ty = self.type_of(&arg.operand);
        let Some((elem, rank)) = ty.and_then(Type::as_array) else {
            return Err(self.wrong_type(call, arg, "an array"));
        };
        Ok((self.arg_value(arg)?, elem, rank as usize))
    }

    fn require_rank(&mut self, call: &Call<'_>, arg: &Arg, extents: &[u32], rank: usize) -> Result<()> {
        if extents.len() == rank {
            return Ok(());
        }
        let found = shape_text(extents);
        let message = format!("`{}` needs a tile of {rank} dimensions for this array, found {found}", call.name);
        let report = self.report("tile-shape", arg.span, message);
        let help = "a tile has the array's dimensions: index the array for one of fewer, `a[i]`";
        Err(self.emit(report.help(help).also(call.arg(0).span, format!("this has {rank} dimensions"))))
    }
}

fn load(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (array, elem, rank) = lower.tile_array(call, call.arg(0))?;
    let extents = lower.extents_argument(call, call.arg(1))?;
    lower.require_rank(call, call.arg(1), &extents, rank)?;
    lower.check_storage(call, call.get(3))?;
    let offsets = lower.offsets(call, call.get(2), rank)?;
    let operands = [&[array], &offsets[..]].concat();
    let ty = Type::tile(elem, extents);
    Ok(Operand::Value(lower.b().push1(Op::TileLoad, &operands, Attr::None, ty)))
}

fn store(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let (array, elem, rank) = lower.tile_array(call, call.arg(0))?;
    let tile = lower.tile_argument(call, call.arg(1))?;
    lower.require_rank(call, call.arg(1), tile.extents, rank)?;
    lower.require_same_elements(call, elem, tile.elem, call.arg(1).span)?;
    if op == Op::TileAtomic {
        lower.require_addable(call, elem)?;
    }
    let offsets = lower.offsets(call, call.get(2), rank)?;
    let operands = [&[array], &offsets[..], &[tile.value]].concat();
    Ok(push(lower, op, &operands, 0, tile))
}

fn push(lower: &mut Lower<'_, '_>, op: Op, operands: &[Value], axis: u32, tile: Tile) -> Operand {
    let attr = match op {
        Op::TileStore => Attr::None,
        Op::TileAtomic => Attr::Atomic(AtomicOp::Add, Box::default()),
        _ => Attr::Index(axis),
    };
    if matches!(op, Op::TileStore | Op::TileStoreAt) {
        lower.b().push(op, operands, attr, &[], &[]);
        return Operand::NONE;
    }
    Operand::Value(lower.b().push1(op, operands, attr, tile.ty()))
}

impl Lower<'_, '_> {
    fn require_addable(&mut self, call: &Call<'_>, elem: Type) -> Result<()> {
        if elem.element().is_some_and(|scalar| scalar != Scalar::Bool) {
            return Ok(());
        }
        Err(self.wrong_type(call, call.arg(0), "an array of numbers or vectors"))
    }

    /// The tile of indices along an axis, i32.
    fn indices_argument(&mut self, call: &Call<'_>, arg: &Arg, n: u32) -> Result<Value> {
        let indices = self.tile_argument(call, arg)?;
        if indices.elem.as_scalar().is_none_or(|scalar| !scalar.is_int()) || indices.extents != [n] {
            let message =
                format!("`{}` needs a tile of {n} integers here, found {}", call.name, shape_text(indices.extents));
            let report = self.report("tile-shape", arg.span, message);
            return Err(self.emit(report.help("there is one index for each element along the axis")));
        }
        self.tile_as(indices, Type::i32(), arg.span)
    }
}

fn load_at(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (array, elem, rank) = lower.tile_array(call, call.arg(0))?;
    let extents = lower.extents_argument(call, call.arg(2))?;
    lower.require_rank(call, call.arg(2), &extents, rank)?;
    lower.check_storage(call, call.get(5))?;
    let axis = call.get(4).cloned().map(|arg| lower.axis_argument(call, &arg, rank)).transpose()?.unwrap_or(0);
    let indices = lower.indices_argument(call, call.arg(1), extents[axis])?;
    let offsets = lower.offsets(call, call.get(3), rank)?;
    let operands = [&[array, indices], &offsets[..]].concat();
    let ty = Type::tile(elem, extents);
    Ok(Operand::Value(lower.b().push1(Op::TileLoadAt, &operands, Attr::Index(axis as u32), ty)))
}

fn store_at(lower: &mut Lower<'_, '_>, call: &Call<'_>, op: Op) -> Result<Operand> {
    let (array, elem, rank) = lower.tile_array(call, call.arg(0))?;
    let tile = lower.tile_argument(call, call.arg(2))?;
    lower.require_rank(call, call.arg(2), tile.extents, rank)?;
    lower.require_same_elements(call, elem, tile.elem, call.arg(2).span)?;
    if op == Op::TileAtomicAt {
        lower.require_addable(call, elem)?;
    }
    let axis = call.get(4).cloned().map(|arg| lower.axis_argument(call, &arg, rank)).transpose()?.unwrap_or(0);
    let indices = lower.indices_argument(call, call.arg(1), tile.extents[axis])?;
    let offsets = lower.offsets(call, call.get(3), rank)?;
    let operands = [&[array, indices], &offsets[..], &[tile.value]].concat();
    Ok(push(lower, op, &operands, axis as u32, tile))
}
