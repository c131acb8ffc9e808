//! Sums and the like: `tile_reduce` and `tile_scan`.

use super::element::Index;
use super::{Rep, Tiles};
use ir::{Attr, Inst, Op, Type, Value};

/// So many partials are joined without a loop.
const FEW: u64 = 8;

/// How many partials the elements of a tile are folded into at first.
fn n_partials(n: u64) -> u64 {
    let below = |n: u64| 1 << n.max(1).ilog2();
    if n <= 32 { below(n) } else { below(n / 16).clamp(32, 256) }
}

impl Tiles<'_> {
    fn folded(&mut self, inst: &Inst, x: Value, y: Value) -> Value {
        let ty = self.func.ty(x);
        let mut b = self.b();
        b.span = inst.span;
        b.push1(Op::Call, &[x, y], inst.attr.clone(), ty)
    }

    pub(super) fn reduce(&mut self, inst: &Inst) {
        let tile = inst.operands[0];
        let (_, extents) = self.func.ty(tile).as_tile().unwrap_or((Type::i64(), &[]));
        if self.func.ty(inst.result()).as_tile().is_some() {
            let array = self.array(self.func.ty(inst.result()));
            let [rows @ .., n] = extents else { return };
            self.guarded(&[tile], None, &mut |tiles| {
                tiles.over(rows, &mut |tiles, index| {
                    let total = tiles.along_row(inst, index, u64::from(*n), &mut |_, _, _| {});
                    tiles.b().store(array, &[index.flat], &[], &[], total);
                });
            });
            self.reps.insert(inst.result(), Rep::Memory(array));
            return;
        }
        let total = self.total(inst, extents);
        self.plan.replaced.set(inst.result(), total);
    }

    /// A fold over all elements.
    fn total(&mut self, inst: &Inst, extents: &[u32]) -> Value {
        let tile = inst.operands[0];
        let (elem, _) = self.func.ty(tile).as_tile().unwrap_or((Type::i64(), &[]));
        let n: u64 = extents.iter().map(|&extent| u64::from(extent)).product();
        let mut p = n_partials(n);
        let partials = self.array_of(elem, p);
        self.guarded(&[tile], None, &mut |tiles| {
            tiles.each(p, &mut |tiles, first| {
                let at = |tiles: &mut Self, flat: Value| {
                    let dims = tiles.split(flat, extents);
                    tiles.element(tile, &Index { dims, flat })
                };
                let mut total = at(tiles, first);
                // All lanes go the same number of rounds; only the last may lack some.
                let at_round = |tiles: &mut Self, k: Value| {
                    let p = tiles.int(p);
                    let offset = tiles.b().binary(Op::Mul, k, p);
                    tiles.b().binary(Op::Add, first, offset)
                };
                if n / p > 1 {
                    total = tiles.count(1, n / p, 1, &[total], &mut |tiles, k, carried| {
                        let flat = at_round(tiles, k);
                        let element = at(tiles, flat);
                        vec![tiles.folded(inst, carried[0], element)]
                    })[0];
                }
                if !n.is_multiple_of(p) {
                    let (k, end) = (tiles.int(n / p), tiles.int(n));
                    let flat = at_round(tiles, k);
                    let is_there = tiles.b().compare(Op::Lt, flat, end);
                    total = tiles.either(is_there, total, &mut |tiles| {
                        let element = at(tiles, flat);
                        tiles.folded(inst, total, element)
                    });
                }
                tiles.b().store(partials, &[first], &[], &[], total);
            });
        });
        while p > FEW {
            p /= 2;
            self.each(p, &mut |tiles, i| {
                let half = tiles.int(p);
                let other = tiles.b().binary(Op::Add, i, half);
                let x = tiles.b().load(partials, &[i], &[], &[]);
                let y = tiles.b().load(partials, &[other], &[], &[]);
                let joined = tiles.folded(inst, x, y);
                tiles.b().store(partials, &[i], &[], &[], joined);
            });
        }
        let mut left: Vec<Value> = Vec::new();
        for i in 0..p {
            let i = self.int(i);
            left.push(self.b().load(partials, &[i], &[], &[]));
        }
        while left.len() > 1 {
            let half = left.len() / 2;
            left = (0..half).map(|i| self.folded(inst, left[i], left[i + half])).collect();
        }
        self.free.push(partials);
        left[0]
    }

    /// What `run` gives where a condition holds, else a value.
    fn either(&mut self, holds: Value, or: Value, run: &mut dyn FnMut(&mut Self) -> Value) -> Value {
        let arms = [true, false].map(|is_first| {
            let region = self.func.add_region(&[]);
            self.within(region, &mut |tiles| {
                let value = if is_first { run(tiles) } else { or };
                tiles.b().yield_(&[value]);
            });
            region
        });
        let ty = self.func.ty(or);
        let made = self.b().push(Op::If, &[holds], Attr::None, &arms, &[ty]);
        self.func.inst(made).result()
    }

    /// Folds a row from its first element on; `visit` sees every element's number and what is folded so far.
    fn along_row(&mut self, inst: &Inst, row: &Index, n: u64, visit: &mut dyn FnMut(&mut Self, Value, Value)) -> Value {
        let tile = inst.operands[0];
        let at = |tiles: &mut Self, k: Value| {
            let n = tiles.int(n);
            let start = tiles.b().binary(Op::Mul, row.flat, n);
            let flat = tiles.b().binary(Op::Add, start, k);
            (tiles.element(tile, &Index { dims: [&row.dims[..], &[k]].concat(), flat }), flat)
        };
        let zero = self.int(0);
        let (first, flat) = at(self, zero);
        visit(self, flat, first);
        self.count(1, n, 1, &[first], &mut |tiles, k, carried| {
            let (element, flat) = at(tiles, k);
            let next = tiles.folded(inst, carried[0], element);
            visit(tiles, flat, next);
            vec![next]
        })[0]
    }

    pub(super) fn scan(&mut self, inst: &Inst) {
        let tile = inst.operands[0];
        let ty = self.func.ty(tile);
        let (_, extents) = ty.as_tile().unwrap_or((ty, &[]));
        let [rows @ .., n] = extents else { return };
        let array = self.array(ty);
        self.guarded(&[tile], None, &mut |tiles| {
            let mut row = |tiles: &mut Self, index: &Index| {
                tiles.along_row(inst, index, u64::from(*n), &mut |tiles, flat, total| {
                    tiles.b().store(array, &[flat], &[], &[], total);
                });
            };
            if rows.is_empty() {
                tiles.each(1, &mut |tiles, flat| row(tiles, &Index { dims: Vec::new(), flat }));
            } else {
                tiles.over(rows, &mut row);
            }
        });
        self.reps.insert(inst.result(), Rep::Memory(array));
    }
}
