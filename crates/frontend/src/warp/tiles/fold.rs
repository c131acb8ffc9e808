//! Sums, extremes, scans and sorts of tiles.

use super::{Tile, row_major};
use crate::walk::call::Args;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use diagnostics::Span;
use ir::{Attr, Class, Const, FuncRef, Op, Scalar, Type, Value};

pub(super) const ROWS: &[Row] = &[
    own("tile_sum", "a, axis?", |lower, call| reduce_by(lower, call, "add")),
    own("tile_min", "a", |lower, call| reduce_by(lower, call, "min")),
    own("tile_max", "a", |lower, call| reduce_by(lower, call, "max")),
    own("tile_argmin", "a", |lower, call| extreme_index(lower, call, Op::Lt)),
    own("tile_argmax", "a", |lower, call| extreme_index(lower, call, Op::Gt)),
    own("tile_reduce", "op, a, axis?", reduce),
    own("tile_dot", "a, b", dot),
    own("tile_axpy", "alpha, src, dest", axpy),
    own("tile_scan_inclusive", "a", |lower, call| scan(lower, call, "add", false)),
    own("tile_scan_exclusive", "a", |lower, call| scan(lower, call, "add", true)),
    own("tile_scan_max_inclusive", "a", |lower, call| scan(lower, call, "max", false)),
    own("tile_scan_min_inclusive", "a", |lower, call| scan(lower, call, "min", false)),
    own("tile_sort", "keys, values", sort),
];

fn reduce_by(lower: &mut Lower<'_, '_>, call: &Call<'_>, name: &str) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    if name != "add" && tile.elem.as_scalar().is_none() || tile.elem.as_scalar() == Some(Scalar::Bool) {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of numbers"));
    }
    let func = lower.sum_function(name, tile.elem, call)?;
    folded(lower, call, tile, func, call.get(1))
}

fn reduce(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(1))?;
    let callee = call.arg(0).operand.clone();
    let span = call.span;
    let func = lower.fold_function("reduce", tile.elem, span, &mut |lower, args| {
        lower.apply(&callee, Args::positional(args, span), span)
    })?;
    folded(lower, call, tile, func, call.get(2))
}

impl Lower<'_, '_> {
    /// A function of two elements that gives one.
    fn fold_function(
        &mut self,
        name: &str,
        elem: Type,
        span: Span,
        element: super::map::Element<'_>,
    ) -> Result<FuncRef> {
        let func = self
            .unit
            .wrapper(&format!("tile_{name}"), &[elem, elem], |lower, args| element(lower, &args.positional))?;
        let result = self.element_result(func, span)?;
        if result == elem {
            return Ok(func);
        }
        let (elem, found) = (self.name_of(elem), self.name_of(result));
        let message = format!("a function that folds elements of type `{elem}` must give one, found `{found}`");
        Err(self.error("tile-function", span, message))
    }

    /// `add`, `min` or `max` of two elements, component by component.
    fn sum_function(&mut self, name: &str, elem: Type, call: &Call<'_>) -> Result<FuncRef> {
        let span = call.span;
        self.fold_function(name, elem, span, &mut |lower, args| {
            let (x, y) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
            if name == "add" {
                return Ok(Operand::Value(lower.sum_of(x, y)));
            }
            Ok(Operand::Value(lower.b().binary(if name == "min" { Op::Min } else { Op::Max }, x, y)))
        })
    }

    /// x + y, field by field in structs; what has no sum stays x's.
    pub(super) fn sum_of(&mut self, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        match ty.element() {
            Some(scalar) if scalar.class() == Class::Bool => return x,
            Some(_) => return self.b().binary(Op::Add, x, y),
            None => {}
        }
        let mut parts = Vec::new();
        for index in 0..ty.n_components() as u32 {
            let (a, b) = (self.b().extract(x, index), self.b().extract(y, index));
            parts.push(self.sum_of(a, b));
        }
        if parts.is_empty() { x } else { self.b().construct(ty, &parts) }
    }

    pub(super) fn folded_all(&mut self, tile: Tile, func: FuncRef) -> Value {
        self.b().push1(Op::TileReduce, &[tile.value], Attr::Func(func), tile.elem)
    }
}

/// All elements as a tile of one, or those along an axis.
fn folded(
    lower: &mut Lower<'_, '_>,
    call: &Call<'_>,
    tile: Tile,
    func: FuncRef,
    axis: Option<&Arg>,
) -> Result<Operand> {
    let axis = axis.filter(|arg| !arg.operand.is_none()).cloned();
    let rank = tile.extents.len();
    let axis = axis.map(|arg| lower.axis_argument(call, &arg, rank)).transpose()?;
    let Some(axis) = axis.filter(|_| rank > 1) else {
        let total = lower.folded_all(tile, func);
        return Ok(lower.fill(total, vec![1]));
    };
    let mut order: Vec<usize> = (0..rank).filter(|&dim| dim != axis).collect();
    order.push(axis);
    let strides = row_major(tile.extents);
    let mut source = tile.value;
    if axis != rank - 1 {
        let start = lower.tile_index(0);
        let moved = order.iter().map(|&dim| strides[dim]).collect();
        source = lower.view(source, start, moved, order.iter().map(|&dim| tile.extents[dim]).collect());
    }
    let rows = order[..rank - 1].iter().map(|&dim| tile.extents[dim]).collect();
    let ty = Type::tile(tile.elem, rows);
    Ok(Operand::Value(lower.b().push1(Op::TileReduce, &[source], Attr::Func(func), ty)))
}

/// The number, row by row, of the first of the least or greatest elements.
fn extreme_index(lower: &mut Lower<'_, '_>, call: &Call<'_>, order: Op) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    if tile.elem.as_scalar().is_none() {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of numbers"));
    }
    let span = call.span;
    let pair = Type::structure("extreme", vec![("value".into(), tile.elem), ("index".into(), Type::i32())]);
    let n = tile.n() as u32;
    let start = lower.tile_index(0);
    let flat = lower.view(tile.value, start, vec![1], vec![n]);
    let number = lower.b().push1(Op::TileIndex, &[], Attr::Index(0), Type::tile(Type::i32(), vec![n]));
    let operands = [Operand::Value(flat), Operand::Value(number)];
    let pairs = lower.map_values("number", &operands, span, &mut |lower, args| {
        let parts = [lower.value(&args[0], span)?, lower.value(&args[1], span)?];
        Ok(Operand::Value(lower.b().construct(pair, &parts)))
    })?;
    let func = lower.fold_function("extreme", pair, span, &mut |lower, args| {
        let (x, y) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
        let mut b = lower.b();
        let [a, i] = [b.extract(x, 0), b.extract(x, 1)];
        let [c, j] = [b.extract(y, 0), b.extract(y, 1)];
        let (is_better, is_equal, is_later) =
            (b.compare(order, c, a), b.compare(Op::Eq, c, a), b.compare(Op::Lt, j, i));
        let is_first = b.binary(Op::And, is_equal, is_later);
        let is_second = b.binary(Op::Or, is_better, is_first);
        Ok(Operand::Value(b.select(is_second, y, x)))
    })?;
    let pairs = lower.value(&pairs, span)?;
    let found = lower.b().push1(Op::TileReduce, &[pairs], Attr::Func(func), pair);
    let index = lower.b().extract(found, 1);
    Ok(lower.fill(index, vec![1]))
}

/// The sum of the products of the elements of two tiles, of their components where they are vectors.
fn dot(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (a, b) = (lower.tile_argument(call, call.arg(0))?, lower.tile_argument(call, call.arg(1))?);
    lower.require_same_shape(call, a, b, call.arg(1).span)?;
    lower.require_same_elements(call, a.elem, b.elem, call.arg(1).span)?;
    let Some(scalar) = a.elem.element().filter(|scalar| scalar.class() != Class::Bool) else {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of numbers"));
    };
    let span = call.span;
    let operands = [Operand::Value(a.value), Operand::Value(b.value)];
    let products = lower.map_values("product", &operands, span, &mut |lower, args| {
        let (x, y) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
        let product = lower.b().binary(Op::Mul, x, y);
        let n = a.elem.n_components() as u32;
        let mut total = if n == 0 { product } else { lower.b().extract(product, 0) };
        for index in 1..n {
            let part = lower.b().extract(product, index);
            total = lower.b().binary(Op::Add, total, part);
        }
        Ok(Operand::Value(total))
    })?;
    let elem = Type::scalar(scalar);
    let func = lower.sum_function("add", elem, call)?;
    let products = lower.value(&products, span)?;
    let total = lower.folded_all(Tile { value: products, elem, extents: a.extents }, func);
    Ok(lower.fill(total, vec![1]))
}

/// dest += alpha * src.
fn axpy(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (source, dest) = (lower.tile_argument(call, call.arg(1))?, lower.tile_argument(call, call.arg(2))?);
    lower.require_same_shape(call, dest, source, call.arg(1).span)?;
    lower.require_same_elements(call, dest.elem, source.elem, call.arg(1).span)?;
    let Some(scalar) = dest.elem.element() else {
        return Err(lower.wrong_type(call, call.arg(2), "a tile of numbers"));
    };
    let alpha = lower.unified(call, &[call.arg(0).clone()], call.arg(0), Type::scalar(scalar))?;
    let span = call.span;
    let products =
        lower.map_values("product", &[alpha, source.value].map(Operand::Value), span, &mut |lower, args| {
            let (alpha, x) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
            let ty = lower.ty(x);
            let alpha = if ty.as_scalar().is_some() { alpha } else { lower.b().splat(ty, alpha) };
            Ok(Operand::Value(lower.b().binary(Op::Mul, alpha, x)))
        })?;
    let more = lower.value(&products, span)?;
    if lower.is_spread(dest.value) {
        lower.add_to_tile(dest.value, more);
        return Ok(Operand::NONE);
    }
    let operands = [dest.value, more].map(Operand::Value);
    let changed = lower.map_values("axpy", &operands, span, &mut |lower, args| {
        let (x, y) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
        Ok(Operand::Value(lower.b().binary(Op::Add, x, y)))
    })?;
    let changed = lower.value(&changed, span)?;
    lower.change_tile(dest.value, changed);
    Ok(Operand::NONE)
}

fn scan(lower: &mut Lower<'_, '_>, call: &Call<'_>, name: &str, is_exclusive: bool) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let Some(scalar) = tile.elem.as_scalar().filter(|scalar| scalar.class() != Class::Bool) else {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of numbers"));
    };
    let n = tile.n() as u32;
    let func = lower.sum_function(name, tile.elem, call)?;
    let start = lower.tile_index(0);
    let flat = lower.view(tile.value, start, vec![1], vec![n]);
    let ty = lower.ty(flat);
    let mut scanned = lower.b().push1(Op::TileScan, &[flat], Attr::Func(func), ty);
    if is_exclusive {
        let zero = lower.b().constant(scalar, Const::int(scalar, 0));
        let zeros = lower.fill(zero, vec![n]);
        let zeros = lower.value(&zeros, call.span)?;
        if n == 1 {
            scanned = zeros;
        } else {
            let before = lower.view(scanned, start, vec![1], vec![n - 1]);
            let one = lower.tile_index(1);
            scanned = lower.b().push1(Op::TilePut, &[zeros, before, one], Attr::Extents([1].into()), ty);
        }
    }
    let strides = row_major(tile.extents);
    Ok(Operand::Value(lower.view(scanned, start, strides, tile.extents.to_vec())))
}

/// Sorts by the network of Batcher's odd-even merges in the form for any number of elements (Knuth, TAOCP vol. 3, 5.2.2 M).
fn sort(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let (keys, values) = (lower.tile_argument(call, call.arg(0))?, lower.tile_argument(call, call.arg(1))?);
    if keys.n() != values.n() {
        lower.require_same_shape(call, keys, values, call.arg(1).span)?;
    }
    if keys.elem.as_scalar().is_none_or(|scalar| scalar.class() == Class::Bool) {
        return Err(lower.wrong_type(call, call.arg(0), "a tile of numbers"));
    }
    let span = call.span;
    let n = keys.n() as u32;
    let start = lower.tile_index(0);
    let [mut k, mut v] = [keys, values].map(|tile| lower.view(tile.value, start, vec![1], vec![n]));
    let number = lower.b().push1(Op::TileIndex, &[], Attr::Index(0), Type::tile(Type::i32(), vec![n]));
    for round in merges(n) {
        let chosen = lower.chosen(k, number, round, keys.elem, span)?;
        for (tile, elem) in [(&mut k, keys.elem), (&mut v, values.elem)] {
            let operands = [Operand::Value(chosen), Operand::Value(*tile)];
            let moved = lower.map_elements("moved", &operands, &[false, true], span, &mut |lower, args| {
                let (at, tile) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
                let at = lower.b().cast(at, Scalar::I64);
                Ok(Operand::Value(lower.b().push1(Op::TileGet, &[tile, at], Attr::None, elem)))
            })?;
            *tile = lower.value(&moved, span)?;
        }
    }
    for (tile, sorted) in [(keys, k), (values, v)] {
        let shaped = lower.view(sorted, start, row_major(tile.extents), tile.extents.to_vec());
        let ty = tile.ty();
        let zero = lower.tile_index(0);
        let attr = Attr::Extents(row_major(tile.extents).into());
        let changed = lower.b().push1(Op::TilePut, &[tile.value, shaped, zero], attr, ty);
        lower.change_tile(tile.value, changed);
    }
    Ok(Operand::NONE)
}

/// The parameters p, r, d of each round of exchanges.
fn merges(n: u32) -> Vec<[u32; 3]> {
    let mut rounds = Vec::new();
    if n < 2 {
        return rounds;
    }
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            rounds.push([p, r, d]);
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    rounds
}

impl Lower<'_, '_> {
    /// For each place, where the element comes from that is there after a round of exchanges.
    fn chosen(&mut self, keys: Value, number: Value, round: [u32; 3], elem: Type, span: Span) -> Result<Value> {
        let n = self.ty(keys).n_elements() as u32;
        let [p, r, d] = round;
        let operands = [Operand::Value(number), Operand::Value(keys)];
        let chosen = self.map_elements("exchange", &operands, &[false, true], span, &mut |lower, args| {
            let (i, keys) = (lower.value(&args[0], span)?, lower.value(&args[1], span)?);
            let mut b = lower.b();
            let [p, r, d, last] = [p, r, d, n].map(|x| b.int(Scalar::I32, x.into()));
            let zero = b.int(Scalar::I32, 0);
            // i is the lower of a pair where i & p == r, and i + d is there.
            let above = b.binary(Op::Add, i, d);
            let below = b.binary(Op::Sub, i, d);
            let is_in = |b: &mut ir::Builder<'_>, i: Value| {
                let bits = b.binary(Op::And, i, p);
                b.compare(Op::Eq, bits, r)
            };
            let (has_room, lower_bits) = (b.compare(Op::Lt, above, last), is_in(&mut b, i));
            let is_lower = b.binary(Op::And, has_room, lower_bits);
            let (is_behind, upper_bits) = (b.compare(Op::Ge, below, zero), is_in(&mut b, below));
            let is_upper = b.binary(Op::And, is_behind, upper_bits);
            let partner = b.select(is_upper, below, i);
            let partner = b.select(is_lower, above, partner);
            let [own, other] = [i, partner].map(|at| {
                let at = b.cast(at, Scalar::I64);
                b.push1(Op::TileGet, &[keys, at], Attr::None, elem)
            });
            let (less, greater) = (b.compare(Op::Lt, other, own), b.compare(Op::Gt, other, own));
            let moves_up = b.binary(Op::And, is_lower, less);
            let moves_down = b.binary(Op::And, is_upper, greater);
            let moves = b.binary(Op::Or, moves_up, moves_down);
            Ok(Operand::Value(b.select(moves, partner, i)))
        })?;
        self.value(&chosen, span)
    }
}
