//! Values of threads that go into tiles: each thread says where, and whether.

use super::Tile;
use crate::walk::lower::Result;
use crate::walk::operator::Sides;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use diagnostics::Span;
use ir::{AtomicOp, Attr, Op, Scalar, Type, Value};
use ruff_python_ast::Operator;

pub(super) const ROWS: &[Row] = &[
    own("tile_scatter_add", "a, *args, i?, j?, k?, l?, value?, has_value?, atomic?", |lower, call| {
        scatter(lower, call, true)
    }),
    own("tile_scatter_masked", "a, *args, i?, j?, k?, l?, value?, has_value?", |lower, call| {
        scatter(lower, call, false)
    }),
];

fn scatter(lower: &mut Lower<'_, '_>, call: &Call<'_>, adds: bool) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let rank = tile.extents.len();
    let mut all: Vec<Arg> = call.rest.iter().chain((1..7).filter_map(|i| call.get(i))).cloned().collect();
    if all.len() == rank + 3 && adds {
        all.pop();
    }
    if all.len() != rank + 2 {
        let message = format!("`{}` needs {rank} indices, a value, and whether there is one", call.name);
        return Err(lower.error("argument-count", call.span, message));
    }
    let (places, rest) = all.split_at(rank);
    let has_value = lower.truth(&rest[1].operand, rest[1].span)?;
    let has_value = lower.value(&has_value, rest[1].span)?;
    let value = lower.unified(call, &rest[..1], &rest[0], tile.elem)?;
    let mut offsets = Vec::new();
    for place in places {
        offsets.push(lower.index(&place.operand, place.span)?);
    }
    let strides = super::row_major(tile.extents);
    let at = lower.start_at(&offsets, &strides);
    let op = adds.then_some(Operator::Add);
    let given = [has_value, value, at];
    let changed = lower.thread_by_thread(tile, &given, &mut |lower, tile, given| {
        lower.scattered(tile, [given[0], given[1], given[2]], op, call.span)
    })?;
    lower.change_tile(tile.value, changed);
    Ok(Operand::NONE)
}

/// What a tile is after one thread's values.
type Step<'a> = &'a mut dyn FnMut(&mut Lower<'_, '_>, Value, &[Value]) -> Result<Value>;

impl Lower<'_, '_> {
    /// `t[i] += x`, where each thread of the block has an i and an x.
    pub(crate) fn update_element(
        &mut self,
        tile: Value,
        at: Value,
        op: AtomicOp,
        by: &Operand,
        span: Span,
    ) -> Option<Result<()>> {
        let (elem, _) = self.ty(tile).as_tile()?;
        let is_bits = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        let is_known = elem.element().is_some_and(|scalar| scalar.is_int() || !is_bits && scalar.is_float());
        if self.unit.options.block_dim <= 1 || !is_known {
            return None;
        }
        let value = self.value_as(by, elem, span);
        Some(value.map(|value| {
            let ty = self.ty(tile);
            let attr = Attr::Atomic(op, Box::default());
            let changed = self.b().push1(Op::TileUpdate, &[tile, value, at], attr, ty);
            self.change_tile(tile, changed);
        }))
    }

    /// One thread's values after the other's, in each of them.
    fn thread_by_thread(&mut self, tile: Tile, given: &[Value], step: Step<'_>) -> Result<Value> {
        let n_threads = self.unit.options.block_dim.max(1);
        if n_threads == 1 {
            return step(self, tile.value, given);
        }
        let mut spread = Vec::new();
        for &value in given {
            let ty = Type::tile(self.ty(value), vec![n_threads]);
            spread.push(self.b().push1(Op::TileOfThreads, &[value], Attr::None, ty));
        }
        let [first, end, by] = [0, i128::from(n_threads), 1].map(|x| self.b().int(Scalar::I64, x));
        let ty = tile.ty();
        let (region, changed) = self.in_region(&[Type::i64(), ty], |lower| -> Result<()> {
            let params = lower.func.region(lower.region).params.clone();
            let mut one = Vec::new();
            for (tile, &value) in spread.into_iter().zip(given) {
                let ty = lower.ty(value);
                one.push(lower.b().push1(Op::TileGet, &[tile, params[0]], Attr::None, ty));
            }
            let next = step(lower, params[1], &one)?;
            lower.b().continue_(&[next]);
            Ok(())
        });
        changed?;
        let inst = self.b().push(Op::For, &[first, end, by, tile.value], Attr::None, &[region], &[ty]);
        Ok(self.func.inst(inst).result())
    }

    /// A tile with a value at a place, or joined with what is there, where there is one.
    fn scattered(
        &mut self,
        tile: Value,
        [has_value, value, at]: [Value; 3],
        op: Option<Operator>,
        span: Span,
    ) -> Result<Value> {
        let ty = self.ty(tile);
        let elem = self.ty(tile).as_tile().map_or(ty, |(elem, _)| elem);
        // A place that is not meant may be anywhere.
        let zero = self.tile_index(0);
        let at = self.b().select(has_value, at, zero);
        let before = self.b().push1(Op::TileGet, &[tile, at], Attr::None, elem);
        let mut after = Operand::Value(value);
        if let Some(op) = op {
            after = self.binary_at(op, &Operand::Value(before), &after, Sides::at(span))?;
        }
        let after = self.value_as(&after, elem, span)?;
        let after = self.b().select(has_value, after, before);
        Ok(self.b().push1(Op::TileSet, &[tile, after, at], Attr::None, ty))
    }
}
