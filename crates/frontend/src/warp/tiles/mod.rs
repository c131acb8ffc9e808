//! Tiles: `wp.tile_load`, `wp.tile_map`, `t[i, j]` and their like, to ops over tiles of the IR.
//!
//! ```text
//! t = wp.tile_load(a, shape=(4, 8))    ->    v5: tile<f32, 4, 8> = tile_load v0, v4, v4
//! s = wp.tile_map(wp.sin, t)                 v6: tile<f32, 4, 8> = tile_map @sin(v5)
//! t[0, 1] = 2.0                              v8: tile<f32, 4, 8> = tile_set v5, v7, v1
//! ```
//!
//! Tiles are values in the IR, and things that several names may hold in Python: what changes one of them ([`change`])
//! gives all names of it, of its views and of what it is a view of a new value.

mod arange;
pub(crate) mod change;
mod fold;
mod linear;
mod make;
mod map;
mod memory;
mod product;
mod scatter;
mod shape;
mod subscript;

pub(crate) use change::{Cells, TilePlace};
pub(crate) use subscript::TilePart;

use super::builtins::{Arg, Call, Row};
use crate::HostValue;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, Value};

pub(super) const ROWS: [&[Row]; 9] = [
    make::ROWS,
    arange::ROWS,
    memory::ROWS,
    shape::ROWS,
    map::ROWS,
    fold::ROWS,
    product::ROWS,
    scatter::ROWS,
    linear::ROWS,
];

/// Functions that change a tile, and by which argument it is given.
pub(crate) const CHANGED: &[(&str, usize)] = &[
    ("tile_assign", 0),
    ("tile_matmul", 2),
    ("tile_axpy", 2),
    ("tile_sort", 0),
    ("tile_sort", 1),
    ("tile_scatter_add", 0),
    ("tile_scatter_masked", 0),
    ("tile_cholesky_inplace", 0),
    ("tile_cholesky_solve_inplace", 1),
    ("tile_lower_solve_inplace", 1),
    ("tile_upper_solve_inplace", 1),
    ("tile_fft", 0),
    ("tile_ifft", 0),
];

/// A tile and what its type says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub value: Value,
    pub elem: Type,
    pub extents: &'static [u32],
}

impl Tile {
    pub(super) fn ty(&self) -> Type {
        Type::tile(self.elem, self.extents.to_vec())
    }

    pub(super) fn n(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent)).product()
    }
}

/// The strides of a tile's elements, row by row.
pub(super) fn row_major(extents: &[u32]) -> Vec<u64> {
    let mut strides = vec![1; extents.len()];
    for dim in (1..extents.len()).rev() {
        strides[dim - 1] = strides[dim] * u64::from(extents[dim]);
    }
    strides
}

impl Lower<'_, '_> {
    pub(super) fn tile_of(&self, value: Value) -> Option<Tile> {
        let (elem, extents) = self.ty(value).as_tile()?;
        Some(Tile { value, elem, extents })
    }

    pub(super) fn tile_argument(&mut self, call: &Call<'_>, arg: &Arg) -> Result<Tile> {
        match &arg.operand {
            Operand::Value(value) if self.ty(*value).as_tile().is_some() => {
                self.tile_of(*value).ok_or(crate::walk::Reported)
            }
            _ => Err(self.wrong_type(call, arg, "a tile")),
        }
    }

    /// The extents of a tile: positive numbers that are known when compiling.
    pub(super) fn extents_argument(&mut self, call: &Call<'_>, arg: &Arg) -> Result<Vec<u32>> {
        let operands = match &arg.operand {
            Operand::Tuple(_) | Operand::Static(HostValue::Tuple(_) | HostValue::Composite(..)) => {
                self.items(&arg.operand, arg.span)?
            }
            one => vec![one.clone()],
        };
        let mut extents = Vec::new();
        for operand in &operands {
            match operand.as_int() {
                Some(n) if n > 0 && u32::try_from(n).is_ok() => extents.push(n as u32),
                Some(n) => {
                    let message = format!("the extents of a tile must be positive integers, found {n}");
                    let report = self.report("tile-shape", arg.span, message);
                    return Err(self.emit(report.help("a tile has at least one element along each dimension")));
                }
                None => {
                    let found = self.describe(operand);
                    let message = format!("the shape of a tile must be known when compiling, found {found}");
                    let report = self.report("tile-shape", arg.span, message);
                    let help = "use literals, `wp.constant(…)`, globals or `wp.static(…)`";
                    return Err(self.emit(report.help(help)));
                }
            }
        }
        if !(1..=4).contains(&extents.len()) {
            return Err(self.wrong_type(call, arg, "a shape of 1 to 4 numbers"));
        }
        self.check_size(&extents, arg.span)?;
        Ok(extents)
    }

    /// Refuses a tile that no machine thread has room for.
    fn check_size(&mut self, extents: &[u32], span: Span) -> Result<()> {
        const MOST: u64 = 1 << 20;
        let n = extents.iter().fold(1u64, |n, &extent| n.saturating_mul(extent.into()));
        if n <= MOST {
            return Ok(());
        }
        let message = format!("a tile of {n} elements is too large: at most {MOST}");
        let report = self.report("tile-shape", span, message);
        Err(self.emit(report.help("load the array in several tiles")))
    }

    /// The number of a dimension, where negative ones count from the end.
    pub(super) fn axis_argument(&mut self, call: &Call<'_>, arg: &Arg, rank: usize) -> Result<usize> {
        let axis = match &arg.operand {
            Operand::Tuple(items) if items.len() == 1 => items[0].as_int(),
            operand => operand.as_int(),
        };
        let rank = rank as i128;
        match axis {
            Some(axis) if (-rank..rank).contains(&axis) => Ok(axis.rem_euclid(rank) as usize),
            Some(axis) => {
                let message = format!("`{}` has no axis {axis}: the tile has {rank} dimensions", call.name);
                Err(self.error("tile-shape", arg.span, message))
            }
            None => Err(self.wrong_type(call, arg, "an axis that is known when compiling")),
        }
    }

    /// Offsets, one a dimension; 0 where none are given.
    pub(super) fn offsets(&mut self, call: &Call<'_>, arg: Option<&Arg>, rank: usize) -> Result<Vec<Value>> {
        let Some(arg) = arg.filter(|arg| !arg.operand.is_none()) else {
            let zero = self.b().int(Scalar::I64, 0);
            return Ok(vec![zero; rank]);
        };
        let is_one = self.type_of(&arg.operand).is_some_and(|ty| ty.as_scalar().is_some());
        let items = if is_one { vec![arg.operand.clone()] } else { self.items(&arg.operand, arg.span)? };
        if items.len() != rank {
            let plural = if rank == 1 { "" } else { "s" };
            let message = format!("`{}` needs {rank} offset{plural} here, found {}", call.name, items.len());
            return Err(self.error("argument-count", arg.span, message));
        }
        items.iter().map(|item| self.index(item, arg.span)).collect()
    }

    /// Refuses another storage than Warp's two; both are the same here.
    pub(super) fn check_storage(&mut self, call: &Call<'_>, arg: Option<&Arg>) -> Result<()> {
        match arg.map(|arg| &arg.operand) {
            None => Ok(()),
            Some(Operand::Static(HostValue::Str(text))) if text == "register" || text == "shared" => Ok(()),
            _ => {
                let span = arg.map_or(call.span, |arg| arg.span);
                let report = self.report("argument-type", span, format!("`{}` has no such storage", call.name));
                Err(self.emit(report.help("`storage` is \"register\" or \"shared\"")))
            }
        }
    }

    pub(super) fn fill(&mut self, elem: Value, extents: Vec<u32>) -> Operand {
        let ty = Type::tile(self.ty(elem), extents);
        Operand::Value(self.b().push1(Op::TileFill, &[elem], Attr::None, ty))
    }

    pub(super) fn get(&mut self, tile: Tile, index: u64) -> Value {
        let index = self.b().int(Scalar::I64, index.into());
        self.b().push1(Op::TileGet, &[tile.value, index], Attr::None, tile.elem)
    }

    /// Two tiles whose shapes must agree.
    pub(super) fn require_same_shape(&mut self, call: &Call<'_>, a: Tile, b: Tile, span: Span) -> Result<()> {
        if a.extents == b.extents {
            return Ok(());
        }
        let (x, y) = (shape_text(a.extents), shape_text(b.extents));
        let message = format!("`{}` needs tiles of one shape, found {x} and {y}", call.name);
        let report = self.report("tile-shape", span, message);
        Err(self.emit(report.help("`tile_broadcast` spreads a tile over a larger shape")))
    }

    pub(super) fn require_same_elements(&mut self, call: &Call<'_>, a: Type, b: Type, span: Span) -> Result<()> {
        if a == b {
            return Ok(());
        }
        let message = format!(
            "`{}` needs elements of one type, found `{}` and `{}`",
            call.name,
            self.name_of(a),
            self.name_of(b)
        );
        let report = self.report("type-mismatch", span, message);
        Err(self.emit(report.help(format!("convert the tile: `tile_astype(…, {})`", self.name_of(a)))))
    }
}

pub(super) fn shape_text(extents: &[u32]) -> String {
    let comma = if extents.len() == 1 { "," } else { "" };
    let extents: Vec<_> = extents.iter().map(u32::to_string).collect();
    format!("({}{comma})", extents.join(", "))
}
