//! Values of threads that go into tiles: each thread says where, and whether.

use crate::walk::lower::Result;
use crate::walk::operator::Sides;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{Attr, Op, Scalar, Type, Value};
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
    let n_threads = lower.unit.options.block_dim.max(1);
    if n_threads == 1 {
        let changed = lower.scattered(tile.value, [has_value, value, at], adds, call)?;
        lower.change_tile(tile.value, changed);
        return Ok(Operand::NONE);
    }
    // One thread's value after the other's, in each of them.
    let given = [has_value, value, at];
    let spread = given.map(|value| {
        let ty = Type::tile(lower.ty(value), vec![n_threads]);
        lower.b().push1(Op::TileOfThreads, &[value], Attr::None, ty)
    });
    let [first, end, step] = [0, i128::from(n_threads), 1].map(|x| lower.b().int(Scalar::I64, x));
    let ty = tile.ty();
    let (region, changed) = lower.in_region(&[Type::i64(), ty], |lower| -> Result<()> {
        let params = lower.func.region(lower.region).params.clone();
        let mut one = Vec::new();
        for (tile, value) in spread.into_iter().zip(given) {
            let ty = lower.ty(value);
            one.push(lower.b().push1(Op::TileGet, &[tile, params[0]], Attr::None, ty));
        }
        let next = lower.scattered(params[1], [one[0], one[1], one[2]], adds, call)?;
        lower.b().continue_(&[next]);
        Ok(())
    });
    changed?;
    let inst = lower.b().push(Op::For, &[first, end, step, tile.value], Attr::None, &[region], &[ty]);
    let changed = lower.func.inst(inst).result();
    lower.change_tile(tile.value, changed);
    Ok(Operand::NONE)
}

impl Lower<'_, '_> {
    /// A tile with a value at a place, or added there, where there is one.
    fn scattered(
        &mut self,
        tile: Value,
        [has_value, value, at]: [Value; 3],
        adds: bool,
        call: &Call<'_>,
    ) -> Result<Value> {
        let ty = self.ty(tile);
        let elem = self.ty(value);
        // A place that is not meant may be anywhere.
        let zero = self.tile_index(0);
        let at = self.b().select(has_value, at, zero);
        let before = self.b().push1(Op::TileGet, &[tile, at], Attr::None, elem);
        let mut after = value;
        if adds {
            let operands = [before, value].map(Operand::Value);
            let sum = self.binary_at(Operator::Add, &operands[0], &operands[1], Sides::at(call.span))?;
            after = self.value(&sum, call.span)?;
        }
        let after = self.b().select(has_value, after, before);
        Ok(self.b().push1(Op::TileSet, &[tile, after, at], Attr::None, ty))
    }
}
