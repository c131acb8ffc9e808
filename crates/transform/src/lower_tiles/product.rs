//! Products of matrices.
//!
//! A lane has one column of the result, and several of its rows at a time: each element of b that is read meets as many
//! of a, which all lanes share. Where columns are few, a lane has one element.

use super::element::Index;
use super::{Rep, Tiles};
use ir::{Attr, Inst, Op, Scalar, Value};

/// Rows that a lane computes at a time: their sums are in registers.
const ROWS: u64 = 8;
/// Columns from which on lanes are columns.
const MIN_COLUMNS: u64 = 8;

/// A matrix in memory.
#[derive(Clone, Copy)]
struct Matrix {
    array: Value,
    start: Value,
    strides: [u64; 2],
}

impl Tiles<'_> {
    pub(super) fn product(&mut self, inst: &Inst) {
        let [a, b, c] = inst.operands[..] else { panic!("`tile_matmul` takes three operands") };
        let ty = self.func.ty(c);
        let (elem, extents) = ty.as_tile().unwrap_or((ty, &[]));
        let [m, n] = extents.iter().map(|&n| u64::from(n)).collect::<Vec<_>>()[..] else { return };
        let k = self.func.ty(a).as_tile().map_or(0, |(_, extents)| u64::from(extents[1]));
        let (left, right) = (self.matrix(a), self.matrix(b));
        let array = self.sum_memory(c, [left.array, right.array]);
        let scalar = elem.as_scalar().unwrap_or(Scalar::F32);
        let block = |tiles: &mut Self, row: Value, n_rows: u64, column: Value| {
            let rows: Vec<Value> = (0..n_rows).map(|r| tiles.offset(row, r)).collect();
            let at: Vec<Index> = rows.iter().map(|&row| tiles.element_at(row, column, n)).collect();
            let init: Vec<Value> = at.iter().map(|at| tiles.element(c, at)).collect();
            let sums = tiles.count(0, k, 1, &init, &mut |tiles, k, sums| {
                let y = tiles.entry(right, k, column, scalar);
                let add = |(&row, &sum): (&Value, &Value)| {
                    let x = tiles.entry(left, row, k, scalar);
                    let product = tiles.b().binary(Op::Mul, x, y);
                    tiles.b().binary(Op::Add, sum, product)
                };
                rows.iter().zip(sums).map(add).collect()
            });
            for (at, &sum) in at.iter().zip(&sums) {
                tiles.b().store(array, &[at.flat], &[], &[], sum);
            }
        };
        self.guarded(&[c], None, &mut |tiles| {
            if tiles.by_element || n < MIN_COLUMNS {
                return tiles.each(m * n, &mut |tiles, flat| {
                    let at = tiles.split(flat, extents);
                    block(tiles, at[0], 1, at[1]);
                });
            }
            tiles.each(n, &mut |tiles, column| {
                let full = m - m % ROWS;
                if full > 0 {
                    tiles.count(0, full, ROWS, &[], &mut |tiles, row, _| {
                        block(tiles, row, ROWS, column);
                        Vec::new()
                    });
                }
                if m > full {
                    let row = tiles.int(full);
                    block(tiles, row, m - full, column);
                }
            });
        });
        self.reps.insert(inst.result(), Rep::Memory(array));
    }

    /// Memory for the sums: that of `c` where nothing needs it any more.
    fn sum_memory(&mut self, c: Value, read: [Value; 2]) -> Value {
        let array = self.destination(c);
        if read.contains(&array) { self.array(self.func.ty(c)) } else { array }
    }

    /// A tile in memory, or what looks into one.
    fn matrix(&mut self, tile: Value) -> Matrix {
        if let Rep::Lazy(id) = self.rep(tile)
            && self.func.inst(id).op == Op::TileView
        {
            let view = self.func.inst(id).clone();
            if let Attr::Extents(strides) = &view.attr {
                let array = self.in_memory(view.operands[0]);
                return Matrix { array, start: view.operands[1], strides: [strides[0], strides[1]] };
            }
        }
        let columns = self.func.ty(tile).as_tile().map_or(1, |(_, extents)| u64::from(extents[1]));
        Matrix { array: self.in_memory(tile), start: self.int(0), strides: [columns, 1] }
    }

    fn entry(&mut self, matrix: Matrix, row: Value, column: Value, scalar: Scalar) -> Value {
        let at = self.place(matrix.start, &Attr::Extents(matrix.strides.into()), &[row, column]);
        let entry = self.b().load(matrix.array, &[at], &[], &[]);
        self.b().cast(entry, scalar)
    }

    fn offset(&mut self, row: Value, by: u64) -> Value {
        let by = self.int(by);
        self.b().binary(Op::Add, row, by)
    }

    fn element_at(&mut self, row: Value, column: Value, n: u64) -> Index {
        let n = self.int(n);
        let start = self.b().binary(Op::Mul, row, n);
        let flat = self.b().binary(Op::Add, start, column);
        Index { dims: vec![row, column], flat }
    }
}
