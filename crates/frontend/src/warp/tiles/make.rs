//! Tiles made of nothing, of a value, and of the values of threads.

use super::Tile;
use crate::HostValue;
use crate::walk::lower::Result;
use crate::walk::operand::literal_as;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{Attr, Const, Op, Scalar, Type, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[
    own("tile_zeros", "shape, dtype?, storage?", |lower, call| filled(lower, call, 0)),
    own("tile_empty", "shape, dtype?, storage?", |lower, call| filled(lower, call, 0)),
    own("tile_ones", "shape, dtype?, storage?", |lower, call| filled(lower, call, 1)),
    own("tile_full", "shape, value, dtype?, storage?", full),
    own("tile", "x, preserve_type?", of_threads),
    own("untile", "a", of_thread),
    own("tile_from_thread", "shape, value, thread_idx, storage?", from_thread),
    own("_tile_index", "shape, axis", index),
];

fn filled(lower: &mut Lower<'_, '_>, call: &Call<'_>, number: i128) -> Result<Operand> {
    let extents = lower.extents_argument(call, call.arg(0))?;
    let elem = match call.get(1) {
        Some(arg) => lower.type_argument(call, arg)?,
        None => Type::f32(),
    };
    lower.check_storage(call, call.get(2))?;
    let value = lower.all_components(elem, number);
    Ok(lower.fill(value, extents))
}

impl Lower<'_, '_> {
    /// A value whose components are all a number.
    fn all_components(&mut self, ty: Type, number: i128) -> Value {
        if number == 0 {
            return self.zero(ty);
        }
        match ty.element() {
            Some(scalar) => {
                let one = self.b().constant(scalar, Const::int(scalar, number));
                if ty.as_scalar().is_some() { one } else { self.b().splat(ty, one) }
            }
            None => {
                let parts: Vec<Type> = (0..ty.n_components()).filter_map(|index| ty.component(index)).collect();
                if parts.is_empty() {
                    return self.zero(ty);
                }
                let parts: Vec<Value> = parts.into_iter().map(|part| self.all_components(part, number)).collect();
                self.b().construct(ty, &parts)
            }
        }
    }

    /// A value as an element type that is asked for.
    fn element_as(&mut self, call: &Call<'_>, arg: &Arg, dtype: Option<Type>) -> Result<Value> {
        let Some(ty) = dtype else { return self.arg_value(arg) };
        let scalar = ty.as_scalar().filter(|_| self.type_of(&arg.operand).is_some_and(|ty| ty.as_scalar().is_some()));
        let Some(scalar) = scalar else { return self.unified(call, std::slice::from_ref(arg), arg, ty) };
        if let Operand::Static(value) = &arg.operand
            && let Some(constant) = literal_as(value, scalar)
        {
            return Ok(self.b().constant(scalar, constant));
        }
        let value = self.arg_value(arg)?;
        Ok(self.b().cast(value, scalar))
    }
}

fn full(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let extents = lower.extents_argument(call, call.arg(0))?;
    let dtype = call.get(2).filter(|arg| !arg.operand.is_none()).cloned();
    let dtype = dtype.map(|arg| lower.type_argument(call, &arg)).transpose()?;
    lower.check_storage(call, call.get(3))?;
    let value = lower.element_as(call, call.arg(1), dtype)?;
    if lower.ty(value).leaves().is_empty() || lower.ty(value).is_array() {
        return Err(lower.wrong_type(call, call.arg(1), "a number, a vector, a matrix or a struct"));
    }
    Ok(lower.fill(value, extents))
}

/// A value of each thread as a tile, the threads along the last dimension.
fn of_threads(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let value = lower.arg_value(call.arg(0))?;
    let keeps = call.get(1).is_some_and(|arg| arg.operand == Operand::Static(HostValue::Bool(true)));
    let ty = lower.ty(value);
    let n_threads = lower.unit.options.block_dim.max(1);
    if ty.leaves().is_empty() || ty.is_array() {
        return Err(lower.wrong_type(call, call.arg(0), "a value of this thread"));
    }
    let leading = match *ty.kind() {
        TypeKind::Vector { len, .. } if !keeps => vec![len],
        TypeKind::Matrix { rows, cols, .. } if !keeps => vec![rows, cols],
        _ => return Ok(Operand::Value(lower.threads_tile(value, n_threads))),
    };
    let elem = ty.element().map_or(ty, Type::scalar);
    let zero = lower.zero(elem);
    let extents = [&leading[..], &[n_threads]].concat();
    let mut tile = match lower.fill(zero, extents) {
        Operand::Value(tile) => tile,
        other => return Ok(other),
    };
    for component in 0..ty.n_components() as u32 {
        let part = lower.b().extract(value, component);
        let part = lower.threads_tile(part, n_threads);
        let start = lower.tile_index(u64::from(component) * u64::from(n_threads));
        let whole = lower.ty(tile);
        tile = lower.b().push1(Op::TilePut, &[tile, part, start], Attr::Extents([1].into()), whole);
    }
    Ok(Operand::Value(tile))
}

impl Lower<'_, '_> {
    fn threads_tile(&mut self, value: Value, n_threads: u32) -> Value {
        let ty = Type::tile(self.ty(value), vec![n_threads]);
        let op = if n_threads == 1 { Op::TileFill } else { Op::TileOfThreads };
        self.b().push1(op, &[value], Attr::None, ty)
    }

    fn thread_element(&mut self, tile: Tile) -> Value {
        if tile.n() == 1 {
            return self.get(tile, 0);
        }
        self.b().push1(Op::TileOfThread, &[tile.value], Attr::None, tile.elem)
    }
}

fn of_thread(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let n_threads = lower.unit.options.block_dim.max(1);
    let [leading @ .., last] = tile.extents else { return Err(crate::walk::Reported) };
    if *last != n_threads || leading.len() > 2 || !leading.is_empty() && tile.elem.as_scalar().is_none() {
        let found = super::shape_text(tile.extents);
        let message = format!("`untile` needs an element for each of the block's {n_threads} threads, found {found}");
        let report = lower.report("tile-shape", call.arg(0).span, message);
        return Err(lower.emit(report.help("the last dimension of the tile is `wp.block_dim()`")));
    }
    if leading.is_empty() {
        return Ok(Operand::Value(lower.thread_element(tile)));
    }
    let n: u32 = leading.iter().product();
    let mut components = Vec::new();
    for component in 0..n {
        let start = lower.tile_index(u64::from(component) * u64::from(n_threads));
        let row = lower.view(tile.value, start, vec![1], vec![n_threads]);
        components.push(lower.thread_element(Tile {
            value: row,
            elem: tile.elem,
            extents: &tile.extents[leading.len()..],
        }));
    }
    let scalar = tile.elem.as_scalar().unwrap_or(Scalar::F32);
    let ty = match *leading {
        [n] => Type::vector(scalar, n),
        [rows, cols, ..] => Type::matrix(scalar, rows, cols),
        [] => tile.elem,
    };
    Ok(Operand::Value(lower.b().construct(ty, &components)))
}

/// The value of one thread in every element.
fn from_thread(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let extents = lower.extents_argument(call, call.arg(0))?;
    lower.check_storage(call, call.get(3))?;
    let value = lower.arg_value(call.arg(1))?;
    let thread = lower.index(&call.arg(2).operand, call.arg(2).span)?;
    let n_threads = lower.unit.options.block_dim.max(1);
    let tile = lower.threads_tile(value, n_threads);
    let elem = lower.ty(value);
    let value = lower.b().push1(Op::TileGet, &[tile, thread], Attr::None, elem);
    Ok(lower.fill(value, extents))
}

/// For the library: each element's index along an axis.
fn index(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let extents = lower.extents_argument(call, call.arg(0))?;
    let axis = lower.axis_argument(call, call.arg(1), extents.len())?;
    let ty = Type::tile(Type::i32(), extents);
    Ok(Operand::Value(lower.b().push1(Op::TileIndex, &[], Attr::Index(axis as u32), ty)))
}
