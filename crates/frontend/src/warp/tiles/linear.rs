//! Factors and solutions of linear systems, transforms, and random numbers: functions of the kernel library.

use super::{Tile, row_major, shape_text};
use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use crate::warp::builtins::{Arg, Call, Row, own};
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};

pub(super) const ROWS: &[Row] = &[
    own("tile_cholesky", "A, fill_mode?", |lower, call| cholesky(lower, call, false)),
    own("tile_cholesky_inplace", "A, fill_mode?", |lower, call| cholesky(lower, call, true)),
    own("tile_cholesky_solve", "L, y, fill_mode?", |lower, call| solve(lower, call, Factor::Both, false)),
    own("tile_cholesky_solve_inplace", "L, y, fill_mode?", |lower, call| solve(lower, call, Factor::Both, true)),
    own("tile_lower_solve", "L, y", |lower, call| solve(lower, call, Factor::Lower, false)),
    own("tile_lower_solve_inplace", "L, y", |lower, call| solve(lower, call, Factor::Lower, true)),
    own("tile_upper_solve", "U, z", |lower, call| solve(lower, call, Factor::Upper, false)),
    own("tile_upper_solve_inplace", "U, z", |lower, call| solve(lower, call, Factor::Upper, true)),
    own("tile_fft", "inout", |lower, call| transform(lower, call, -1.0)),
    own("tile_ifft", "inout", |lower, call| transform(lower, call, 1.0)),
    own("tile_randf", "shape, rng, min?, max?, storage?", |lower, call| random(lower, call, "_random_float")),
    own("tile_randi", "shape, rng, min?, max?, storage?", |lower, call| random(lower, call, "_random_int")),
    own("_tile_build", "op, like, *args", build),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Factor {
    Lower,
    Upper,
    /// First the factor, then its transpose.
    Both,
}

impl Lower<'_, '_> {
    fn square_argument(&mut self, call: &Call<'_>, arg: &Arg) -> Result<Tile> {
        let tile = self.tile_argument(call, arg)?;
        let is_float = matches!(tile.elem.as_scalar(), Some(Scalar::F32 | Scalar::F64));
        if is_float && matches!(tile.extents, [m, n] if m == n) {
            return Ok(tile);
        }
        let found = format!("{} of {}", shape_text(tile.extents), self.name_of(tile.elem));
        let message = format!("`{}` needs a square tile of float32 or float64, found {found}", call.name);
        Err(self.error("tile-shape", arg.span, message))
    }

    /// Whether the upper triangle is meant.
    fn is_upper(&mut self, call: &Call<'_>, arg: Option<&Arg>) -> Result<bool> {
        match arg.map(|arg| &arg.operand) {
            None => Ok(false),
            Some(Operand::Static(HostValue::Str(mode))) if mode == "lower" || mode == "upper" => Ok(mode == "upper"),
            _ => {
                let span = arg.map_or(call.span, |arg| arg.span);
                let report = self.report("argument-type", span, format!("`{}` has no such `fill_mode`", call.name));
                Err(self.emit(report.help("`fill_mode` is \"lower\" or \"upper\"")))
            }
        }
    }

    fn turned(&mut self, tile: Value) -> Value {
        let Some(Tile { extents: &[rows, columns], .. }) = self.tile_of(tile) else { return tile };
        let start = self.tile_index(0);
        self.view(tile, start, vec![1, columns.into()], vec![columns, rows])
    }

    fn library_tile(&mut self, name: &str, operands: &[Operand], call: &Call<'_>) -> Result<Value> {
        let made = self.builtin(name, Args::positional(operands, call.span), call.span)?;
        self.value(&made, call.span)
    }
}

fn cholesky(lower: &mut Lower<'_, '_>, call: &Call<'_>, in_place: bool) -> Result<Operand> {
    let tile = lower.square_argument(call, call.arg(0))?;
    let is_upper = lower.is_upper(call, call.get(1))?;
    let source = if is_upper { lower.turned(tile.value) } else { tile.value };
    let mut factor = lower.library_tile("_tile_cholesky", &[Operand::Value(source)], call)?;
    if is_upper {
        factor = lower.turned(factor);
    }
    Ok(lower.given(tile, factor, in_place))
}

impl Lower<'_, '_> {
    /// A result, in the place of a tile where that is asked for.
    fn given(&mut self, tile: Tile, made: Value, in_place: bool) -> Operand {
        if !in_place {
            return Operand::Value(made);
        }
        let (zero, strides) = (self.tile_index(0), row_major(tile.extents));
        let attr = Attr::Extents(strides.into());
        let changed = self.b().push1(Op::TilePut, &[tile.value, made, zero], attr, tile.ty());
        self.change_tile(tile.value, changed);
        Operand::NONE
    }
}

fn solve(lower: &mut Lower<'_, '_>, call: &Call<'_>, factor: Factor, in_place: bool) -> Result<Operand> {
    let tile = lower.square_argument(call, call.arg(0))?;
    let right = lower.tile_argument(call, call.arg(1))?;
    if right.extents.first() != tile.extents.first() || right.extents.len() > 2 {
        let (x, y) = (shape_text(tile.extents), shape_text(right.extents));
        let message = format!("`{}` cannot solve a system of shape {x} for a right side of shape {y}", call.name);
        return Err(lower.error("tile-shape", call.arg(1).span, message));
    }
    lower.require_same_elements(call, tile.elem, right.elem, call.arg(1).span)?;
    let is_upper = factor == Factor::Both && lower.is_upper(call, call.get(2))?;
    let turned = lower.turned(tile.value);
    let (below, above) = match factor {
        Factor::Lower => (Some(tile.value), None),
        Factor::Upper => (None, Some(tile.value)),
        Factor::Both if is_upper => (Some(turned), Some(tile.value)),
        Factor::Both => (Some(tile.value), Some(turned)),
    };
    // As a matrix, whose columns are right sides.
    let column = [right.extents, &[1]].concat();
    let shape = if right.extents.len() == 1 { &column[..] } else { right.extents };
    let zero = lower.tile_index(0);
    let mut found = match right.extents.len() {
        1 => lower.view(right.value, zero, row_major(shape), shape.to_vec()),
        _ => right.value,
    };
    for (name, factor) in [("_tile_lower_solve", below), ("_tile_upper_solve", above)] {
        if let Some(factor) = factor {
            found = lower.library_tile(name, &[Operand::Value(factor), Operand::Value(found)], call)?;
        }
    }
    if right.extents.len() == 1 {
        found = lower.view(found, zero, vec![1], right.extents.to_vec());
    }
    Ok(lower.given(right, found, in_place))
}

/// In place, row by row; the inverse is not divided by the number of elements.
fn transform(lower: &mut Lower<'_, '_>, call: &Call<'_>, sign: f64) -> Result<Operand> {
    let tile = lower.tile_argument(call, call.arg(0))?;
    let scalar = match *tile.elem.kind() {
        TypeKind::Vector { elem, len: 2 } if matches!(elem, Scalar::F32 | Scalar::F64) => elem,
        _ => return Err(lower.wrong_type(call, call.arg(0), "a tile of `vec2` or `vec2d`")),
    };
    let [leading @ .., n] = tile.extents else { return Err(crate::walk::Reported) };
    let (rows, n) = (leading.iter().product(), *n);
    let start = lower.tile_index(0);
    let matrix = lower.view(tile.value, start, vec![n.into(), 1], vec![rows, n]);
    let turn = lower.b().float(scalar, sign * std::f64::consts::PI);
    let name = if n.is_power_of_two() { "_tile_fft" } else { "_tile_dft" };
    let made = lower.library_tile(name, &[matrix, turn].map(Operand::Value), call)?;
    let shaped = lower.view(made, start, row_major(tile.extents), tile.extents.to_vec());
    Ok(lower.given(tile, shaped, true))
}

fn random(lower: &mut Lower<'_, '_>, call: &Call<'_>, name: &str) -> Result<Operand> {
    let extents = lower.extents_argument(call, call.arg(0))?;
    lower.check_storage(call, call.get(4))?;
    let n: u32 = extents.iter().product();
    let ty = Type::tile(Type::i32(), vec![n]);
    let number = lower.b().push1(Op::TileIndex, &[], Attr::Index(0), ty);
    let mut operands = vec![Operand::Value(number), call.arg(1).operand.clone()];
    match (call.get(2), call.get(3)) {
        (Some(low), Some(high)) => operands.extend([low.operand.clone(), high.operand.clone()]),
        _ if name == "_random_float" => {
            operands.extend([0.0, 1.0].map(|x| Operand::Static(HostValue::Float(x))));
        }
        _ => {}
    }
    let span = call.span;
    let made = lower.map_values("random", &operands, span, &mut |lower, args| {
        lower.builtin(name, Args::positional(args, span), span)
    })?;
    let (made, start) = (lower.value(&made, span)?, lower.tile_index(0));
    let strides = row_major(&extents);
    Ok(Operand::Value(lower.view(made, start, strides, extents)))
}

/// For the library: the tile of what a function gives for each index and the arguments, tiles as a whole.
fn build(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let like = lower.tile_argument(call, call.arg(1))?;
    let callee = call.arg(0).operand.clone();
    let mut operands = Vec::new();
    for dim in 0..like.extents.len() as u32 {
        let ty = Type::tile(Type::i32(), like.extents.to_vec());
        operands.push(Operand::Value(lower.b().push1(Op::TileIndex, &[], Attr::Index(dim), ty)));
    }
    let mut whole = vec![false; operands.len()];
    operands.extend(call.rest.iter().map(|arg| arg.operand.clone()));
    whole.resize(operands.len(), true);
    let span = call.span;
    lower.map_elements("build", &operands, &whole, span, &mut |lower, args| {
        lower.apply(&callee, Args::positional(args, span), span)
    })
}
