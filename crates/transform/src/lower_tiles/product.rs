//! Products of matrices.
//!
//! A lane has one column of the result, and several of its rows at a time: each element of b that is read meets as many
//! of a, which all lanes share. Where columns are few, a lane has one element. A thread of a block has several rows and
//! columns, as many as leave work for the others: its sums are in registers, and each element that it reads meets several.

use super::element::Index;
use super::{Rep, Tiles};
use ir::{Attr, Inst, Op, Scalar, Value};

/// Rows that a lane computes at a time: their sums are in registers.
const ROWS: u64 = 8;
/// Columns from which on lanes are columns.
const MIN_COLUMNS: u64 = 8;

/// Rows and columns of what a thread of a block computes at a time.
const SHARES: [[u64; 2]; 6] = [[8, 8], [8, 4], [4, 4], [4, 2], [2, 2], [2, 1]];

/// The largest share of a product of `m` rows and `n` columns that leaves one for each thread.
fn share(m: u64, n: u64, n_threads: u64) -> [u64; 2] {
    let fits = |[rows, columns]: &[u64; 2]| {
        m.is_multiple_of(*rows) && n.is_multiple_of(*columns) && (m / rows) * (n / columns) >= n_threads
    };
    SHARES.into_iter().find(fits).unwrap_or([1, 1])
}

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
        let block = |tiles: &mut Self, rows: &[Value], columns: &[Value]| {
            let mut at: Vec<Index> = Vec::new();
            for &row in rows {
                at.extend(columns.iter().map(|&column| tiles.element_at(row, column, n)));
            }
            let init: Vec<Value> = at.iter().map(|at| tiles.element(c, at)).collect();
            let sums = tiles.count(0, k, 1, &init, &mut |tiles, k, sums| {
                let ys: Vec<Value> = columns.iter().map(|&column| tiles.entry(right, k, column, scalar)).collect();
                let mut next = Vec::with_capacity(sums.len());
                for (&row, sums) in rows.iter().zip(sums.chunks(columns.len())) {
                    let x = tiles.entry(left, row, k, scalar);
                    for (&y, &sum) in ys.iter().zip(sums) {
                        let product = tiles.b().binary(Op::Mul, x, y);
                        next.push(tiles.b().binary(Op::Add, sum, product));
                    }
                }
                next
            });
            for (at, &sum) in at.iter().zip(&sums) {
                tiles.b().store(array, &[at.flat], &[], &[], sum);
            }
        };
        let n_threads = u64::from(self.module.block_dim);
        self.guarded(&[c], None, &mut |tiles| {
            if tiles.by_element || n < MIN_COLUMNS {
                // Neighbors have neighboring columns, and the rows and columns of one thread lie far apart.
                let [rows, columns] = if tiles.by_element { share(m, n, n_threads) } else { [1, 1] };
                let [down, across] = [m / rows, n / columns];
                return tiles.each(down * across, &mut |tiles, flat| {
                    let at = tiles.split(flat, &[down as u32, across as u32]);
                    let rows: Vec<Value> = (0..rows).map(|i| tiles.offset(at[0], i * down)).collect();
                    let columns: Vec<Value> = (0..columns).map(|i| tiles.offset(at[1], i * across)).collect();
                    block(tiles, &rows, &columns);
                });
            }
            tiles.each(n, &mut |tiles, column| {
                let some_rows = |tiles: &mut Self, row: Value, n_rows: u64| {
                    let rows: Vec<Value> = (0..n_rows).map(|i| tiles.offset(row, i)).collect();
                    block(tiles, &rows, &[column]);
                };
                let full = m - m % ROWS;
                if full > 0 {
                    tiles.count(0, full, ROWS, &[], &mut |tiles, row, _| {
                        some_rows(tiles, row, ROWS);
                        Vec::new()
                    });
                }
                if m > full {
                    let row = tiles.int(full);
                    some_rows(tiles, row, m - full);
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
