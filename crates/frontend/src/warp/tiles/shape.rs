//! Views of tiles, and parts of them.

use super::{Tile, row_major, shape_text};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{Attr, Op, Scalar, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[
    own("tile_view", "t, offset, shape?", view),
    own("tile_squeeze", "t, axis?", squeeze),
    own("tile_reshape", "t, shape", reshape),
    own("tile_transpose", "a", transpose),
    own("tile_broadcast", "a, shape", broadcast),
    own("tile_assign", "dst, src, offset?", assign),
    own("tile_extract", "a, *args, i?, j?, k?, l?", extract),
    own("tile_slice_indexed", "t, indices", slice_indexed),
];

impl Lower<'_, '_> {
    /// i * stride0 + j * stride1 + ….
    pub(super) fn start_at(&mut self, offsets: &[Value], strides: &[u64]) -> Value {
        let mut start = self.b().int(Scalar::I64, 0);
        for (&offset, &stride) in offsets.iter().zip(strides) {
            let mut b = self.b();
            let stride = b.int(Scalar::I64, i128::from(stride as i64));
            let at = b.binary(Op::Mul, offset, stride);
            start = b.binary(Op::Add, start, at);
        }
        start
    }
}

/// `tile_view(t, (i, j), shape)`, or `tile_view(t, (i, slice(…)))` as `t[i, …]`.
fn view(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let offset = call.arg(1);
    let Some(shape) = call.get(2).filter(|arg| !arg.operand.is_none()).cloned() else {
        let items = match &offset.operand {
            Operand::Tuple(items) => items.clone(),
            Operand::Static(HostValue::Tuple(_)) => lower.items(&offset.operand, offset.span)?,
            one => vec![one.clone()],
        };
        let indices: Vec<_> = items.into_iter().map(|item| (item, offset.span)).collect();
        let place = lower.tile_place(Operand::Value(tile.value), &indices, call.span)?;
        return lower.read(place);
    };
    let extents = lower.extents_argument(call, &shape)?;
    if extents.len() > tile.extents.len() {
        return Err(lower.wrong_type(call, &shape, "a shape of no more dimensions than the tile has"));
    }
    let mut offsets = match &offset.operand {
        Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => lower.items(&offset.operand, offset.span)?,
        one => vec![one.clone()],
    };
    offsets.resize(tile.extents.len(), Operand::int(0));
    let n_dropped = tile.extents.len() - extents.len();
    for (dim, (operand, &extent)) in offsets.iter().zip(tile.extents).enumerate() {
        let length = dim.checked_sub(n_dropped).map_or(1, |dim| extents[dim]);
        let is_outside = match operand.as_int() {
            Some(offset) => offset < 0 || offset + i128::from(length) > i128::from(extent),
            None => length > extent,
        };
        if is_outside {
            let message =
                format!("this view does not lie within the tile, whose shape is {}", shape_text(tile.extents));
            return Err(lower.error("tile-shape", call.span, message));
        }
    }
    let offsets = offsets.iter().map(|item| lower.index(item, offset.span)).collect::<Result<Vec<_>>>()?;
    let strides = row_major(tile.extents);
    let start = lower.start_at(&offsets, &strides);
    Ok(Operand::Value(lower.view(tile.value, start, strides[n_dropped..].to_vec(), extents)))
}

/// A view of all elements in another shape.
fn reshaped(lower: &mut Lower<'_, '_>, tile: Tile, extents: Vec<u32>) -> Operand {
    let start = lower.tile_index(0);
    Operand::Value(lower.view(tile.value, start, row_major(&extents), extents))
}

fn squeeze(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let rank = tile.extents.len();
    let mut dropped = vec![false; rank];
    match call.get(1).filter(|arg| !arg.operand.is_none()).cloned() {
        None => dropped.iter_mut().zip(tile.extents).for_each(|(dropped, &extent)| *dropped = extent == 1),
        Some(arg) => {
            let items = match &arg.operand {
                Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => lower.items(&arg.operand, arg.span)?,
                one => vec![one.clone()],
            };
            for operand in items {
                let axis = lower.axis_argument(call, &Arg { operand, span: arg.span }, rank)?;
                if tile.extents[axis] != 1 {
                    let message =
                        format!("axis {axis} has {} elements, and only an axis of one goes", tile.extents[axis]);
                    return Err(lower.error("tile-shape", arg.span, message));
                }
                dropped[axis] = true;
            }
        }
    }
    let mut extents: Vec<u32> =
        tile.extents.iter().zip(dropped).filter(|(_, dropped)| !dropped).map(|(&extent, _)| extent).collect();
    if extents.is_empty() {
        extents.push(1);
    }
    Ok(reshaped(lower, tile, extents))
}

fn reshape(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let arg = call.arg(1);
    let mut items = match &arg.operand {
        Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_)) => lower.items(&arg.operand, arg.span)?,
        one => vec![one.clone()],
    };
    // One extent may be left to the others.
    let n = tile.n() as i128;
    if let Some(open) = items.iter().position(|item| item.as_int() == Some(-1)) {
        let others: i128 = items.iter().filter_map(Operand::as_int).filter(|&extent| extent != -1).product();
        if others > 0 && n % others == 0 {
            items[open] = Operand::int(n / others);
        }
    }
    let shape = Arg { operand: Operand::Tuple(items), span: arg.span };
    let extents = lower.extents_argument(call, &shape)?;
    if extents.iter().map(|&extent| i128::from(extent)).product::<i128>() != n {
        let (from, to) = (shape_text(tile.extents), shape_text(&extents));
        let message = format!("a tile of shape {from} has {n} elements and cannot become one of shape {to}");
        return Err(lower.error("tile-shape", arg.span, message));
    }
    Ok(reshaped(lower, tile, extents))
}

fn transpose(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let &[rows, columns] = tile.extents else {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of two dimensions"));
    };
    let start = lower.tile_index(0);
    Ok(Operand::Value(lower.view(tile.value, start, vec![1, columns.into()], vec![columns, rows])))
}

fn broadcast(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let extents = lower.extents_argument(call, call.arg(1))?;
    let more = extents.len().checked_sub(tile.extents.len());
    let fits =
        more.is_some_and(|more| tile.extents.iter().zip(&extents[more..]).all(|(&from, &to)| from == to || from == 1));
    let (Some(more), true) = (more, fits) else {
        let (from, to) = (shape_text(tile.extents), shape_text(&extents));
        let message = format!("a tile of shape {from} cannot be spread over the shape {to}");
        let report = lower.report("tile-shape", call.arg(1).span, message);
        return Err(lower.emit(report.help("from the last dimension on, extents must be equal or 1")));
    };
    let own = row_major(tile.extents);
    let strides = (0..extents.len()).map(|dim| match dim.checked_sub(more) {
        Some(from) if tile.extents[from] == extents[dim] => own[from],
        _ => 0,
    });
    let strides = strides.collect();
    let start = lower.tile_index(0);
    Ok(Operand::Value(lower.view(tile.value, start, strides, extents)))
}

/// Puts a tile into another one.
fn assign(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let source = lower.tile_argument(call, call.arg(1))?;
    if source.extents.len() != tile.extents.len() || source.extents.iter().zip(tile.extents).any(|(from, to)| from > to)
    {
        let (from, to) = (shape_text(source.extents), shape_text(tile.extents));
        let message = format!("a tile of shape {from} does not fit into one of shape {to}");
        return Err(lower.error("tile-shape", call.arg(1).span, message));
    }
    let part = match source.elem == tile.elem {
        true => source.value,
        false => lower.tile_as(source, tile.elem, call.span)?,
    };
    let found = lower.ty(part).as_tile().map_or(source.elem, |(elem, _)| elem);
    lower.require_same_elements(call, tile.elem, found, call.arg(1).span)?;
    let offsets = lower.offsets(call, call.get(2), tile.extents.len())?;
    let strides = row_major(tile.extents);
    let start = lower.start_at(&offsets, &strides);
    let ty = tile.ty();
    let changed = lower.b().push1(Op::TilePut, &[tile.value, part, start], Attr::Extents(strides.into()), ty);
    lower.change_tile(tile.value, changed);
    Ok(Operand::NONE)
}

/// An element, or a component of one that is a vector or matrix.
fn extract(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let all: Vec<Arg> = call.rest.iter().chain((1..5).filter_map(|i| call.get(i))).cloned().collect();
    let rank = tile.extents.len();
    let more = match tile.elem.kind() {
        TypeKind::Matrix { .. } => 2,
        _ if tile.elem.is_composite() => 1,
        _ => 0,
    };
    if all.len() < rank || all.len() > rank + more {
        let message = format!("`tile_extract` needs {rank} indices for this tile, found {}", all.len());
        return Err(lower.error("argument-count", call.span, message));
    }
    let indices: Vec<_> = all.into_iter().map(|arg| (arg.operand, arg.span)).collect();
    let place = lower.tile_place(Operand::Value(tile.value), &indices, call.span)?;
    lower.read(place)
}

/// `tile_slice_indexed(t, (indices, slice(None)))`: elements along one axis in the order of a tile of indices.
fn slice_indexed(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let arg = call.arg(1);
    let items = match &arg.operand {
        Operand::Tuple(items) => items.clone(),
        one => vec![one.clone()],
    };
    let indices: Vec<_> = items.into_iter().map(|item| (item, arg.span)).collect();
    let place = lower.tile_place(Operand::Value(tile.value), &indices, call.span)?;
    lower.read(place)
}

impl Lower<'_, '_> {
    /// Elements whose index along an axis a tile says, negative ones from the end.
    pub(super) fn gathered(
        &mut self,
        tile: Tile,
        axis: usize,
        indices: Tile,
        span: diagnostics::Span,
    ) -> Result<Value> {
        let mut extents = tile.extents.to_vec();
        extents[axis] = indices.extents[0];
        // As (what is outside of the axis, the axis, what is within it).
        let flat = |extents: &[u32]| {
            let product = |part: &[u32]| part.iter().product::<u32>();
            vec![product(&extents[..axis]), extents[axis], product(&extents[axis + 1..])]
        };
        let start = self.tile_index(0);
        let (from, to) = (flat(tile.extents), flat(&extents));
        let source = self.view(tile.value, start, row_major(&from), from);
        let zero = self.zero(tile.elem);
        let like = self.fill(zero, to);
        let operands = [Operand::Value(source), Operand::Value(indices.value), like];
        let made = self.builtin("_tile_gather", Args::positional(&operands, span), span)?;
        let made = self.value(&made, span)?;
        Ok(self.view(made, start, row_major(&extents), extents))
    }
}
