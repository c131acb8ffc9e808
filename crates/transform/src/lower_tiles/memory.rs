//! Tiles and the memory of arrays, and tiles of which a part changes.

use super::element::Index;
use super::{Rep, Tiles};
use ir::{AtomicOp, Attr, Inst, Op, PathElem, Scalar, Type, Value};

/// An access to a tile of an array's elements.
struct Access {
    array: Value,
    /// The tile of the indices along one dimension, where that is not counted.
    indices: Option<(usize, Value)>,
    offsets: Vec<Value>,
}

impl Access {
    fn of(inst: &Inst) -> Access {
        let rest = match inst.op {
            Op::TileStore | Op::TileStoreAt | Op::TileAtomic | Op::TileAtomicAt => 1,
            _ => 0,
        };
        let operands = &inst.operands[..inst.operands.len() - rest];
        let dim = match (&inst.attr, inst.op) {
            (Attr::Index(dim), Op::TileLoadAt | Op::TileStoreAt | Op::TileAtomicAt) => Some(*dim as usize),
            _ => None,
        };
        let indices = dim.map(|dim| (dim, operands[1]));
        let first = if indices.is_some() { 2 } else { 1 };
        Access { array: operands[0], indices, offsets: operands[first..].to_vec() }
    }
}

impl Tiles<'_> {
    /// Emits loops over elements: once without tests where whole tiles lie within their arrays, and once with them.
    pub(super) fn guarded(&mut self, tiles: &[Value], also: Option<&Inst>, run: &mut dyn FnMut(&mut Self)) {
        let mut loads = Vec::new();
        tiles.iter().for_each(|&tile| self.collect_loads(tile, &mut loads));
        let store = also.filter(|inst| matches!(inst.op, Op::TileStore | Op::TileAtomic));
        let types = loads.iter().map(|inst| self.func.ty(inst.result()));
        let store_type = store.and_then(|inst| inst.operands.last()).map(|&tile| self.func.ty(tile));
        let accesses: Vec<(Inst, Type)> =
            loads.iter().cloned().zip(types).chain(store.cloned().zip(store_type)).collect();
        let mut inside = None;
        for (inst, ty) in &accesses {
            let (_, extents) = ty.as_tile().unwrap_or((*ty, &[]));
            let access = Access::of(inst);
            for (dim, (&offset, &extent)) in access.offsets.iter().zip(extents).enumerate() {
                let (zero, extent) = (self.int(0), self.int(extent.into()));
                let mut b = self.b();
                let length = b.extent(access.array, dim as u32);
                let room = b.binary(Op::Sub, length, extent);
                let holds = [b.compare(Op::Ge, offset, zero), b.compare(Op::Le, offset, room)];
                for holds in holds {
                    inside = Some(inside.map_or(holds, |before| b.binary(Op::And, before, holds)));
                }
            }
        }
        let Some(inside) = inside else { return run(self) };
        let [within, across] = [true, false].map(|is_inside| {
            let region = self.func.add_region(&[]);
            let outer = std::mem::replace(&mut self.is_inside, is_inside);
            self.within(region, &mut |tiles| {
                run(tiles);
                tiles.b().yield_(&[]);
            });
            self.is_inside = outer;
            region
        });
        self.b().push(Op::If, &[inside], Attr::None, &[within, across], &[]);
    }

    /// The indices of an element in the array, and whether it is within, where that is not known.
    fn position(&mut self, access: &Access, index: &Index) -> (Vec<Value>, Option<Value>) {
        let mut at = Vec::new();
        for (dim, &offset) in access.offsets.iter().enumerate() {
            let mut count = index.dims[dim];
            if let Some((_, tile)) = access.indices.filter(|(along, _)| *along == dim) {
                let found = self.element(tile, &Index { dims: vec![count], flat: count });
                count = self.b().cast(found, Scalar::I64);
            }
            at.push(self.b().binary(Op::Add, offset, count));
        }
        if self.is_inside && access.indices.is_none() {
            return (at, None);
        }
        let mut inside = None;
        for (dim, &index) in at.iter().enumerate() {
            let zero = self.int(0);
            let mut b = self.b();
            let extent = b.extent(access.array, dim as u32);
            for holds in [b.compare(Op::Ge, index, zero), b.compare(Op::Lt, index, extent)] {
                inside = Some(inside.map_or(holds, |before| b.binary(Op::And, before, holds)));
            }
        }
        (at, inside)
    }

    /// Runs code where a condition holds, and gives its value, else 0.
    fn where_(
        &mut self,
        holds: Option<Value>,
        ty: Option<Type>,
        run: &mut dyn FnMut(&mut Self) -> Vec<Value>,
    ) -> Option<Value> {
        let Some(holds) = holds else { return run(self).first().copied() };
        let arms = [true, false].map(|is_first| {
            let region = self.func.add_region(&[]);
            self.within(region, &mut |tiles| {
                let values = if is_first { run(tiles) } else { ty.map(|ty| tiles.zero(ty)).into_iter().collect() };
                tiles.b().yield_(&values);
            });
            region
        });
        let types: Vec<Type> = ty.into_iter().collect();
        let made = self.b().push(Op::If, &[holds], Attr::None, &arms, &types);
        self.func.inst(made).results.first().copied()
    }

    /// An element of a tile that is loaded where it is used.
    pub(super) fn loaded(&mut self, inst: &Inst, index: &Index) -> Value {
        let elem = self.func.ty(inst.result()).as_tile().map_or(Type::i64(), |(elem, _)| elem);
        let access = Access::of(inst);
        let (at, inside) = self.position(&access, index);
        let loaded = self.where_(inside, Some(elem), &mut |tiles| vec![tiles.b().load(access.array, &at, &[], &[])]);
        loaded.unwrap_or_else(|| self.zero(elem))
    }

    /// `tile_store` and `tile_atomic`.
    pub(super) fn store(&mut self, inst: &Inst) {
        let &tile = inst.operands.last().unwrap_or_else(|| panic!("a store without its tile"));
        let ty = self.func.ty(tile);
        let (elem, extents) = ty.as_tile().unwrap_or((ty, &[]));
        let access = Access::of(inst);
        if let Some((_, indices)) = access.indices {
            self.in_memory(indices);
        }
        let old = inst.results.first().filter(|&&old| self.plan.is_used(old)).map(|&old| (old, self.array(ty)));
        let atomic = match (&inst.attr, inst.op) {
            (Attr::Atomic(op, _), _) => Some(*op),
            (_, Op::TileAtomicAt) => Some(AtomicOp::Add),
            _ => None,
        };
        self.guarded(&[tile], Some(inst), &mut |tiles| {
            tiles.over(extents, &mut |tiles, index| {
                let element = tiles.element(tile, index);
                let (at, inside) = tiles.position(&access, index);
                let found = tiles.where_(inside, old.map(|_| elem), &mut |tiles| {
                    let Some(op) = atomic else {
                        tiles.b().store(access.array, &at, &[], &[], element);
                        return Vec::new();
                    };
                    if elem.element().is_none() {
                        tiles.add_floats(access.array, &at, &mut Vec::new(), element);
                        return old.map(|_| element).into_iter().collect();
                    }
                    let found = tiles.b().atomic(op, access.array, &at, &[], &[], element);
                    old.map(|_| found).into_iter().collect()
                });
                if let (Some((_, array)), Some(found)) = (old, found) {
                    tiles.b().store(array, &[index.flat], &[], &[], found);
                }
            });
        });
        if let Some((old, array)) = old {
            self.reps.insert(old, Rep::Memory(array));
        }
    }

    /// Adds the floats of a struct, as adjoints are added: each is one step.
    fn add_floats(&mut self, array: Value, at: &[Value], path: &mut Vec<PathElem>, x: Value) {
        let ty = self.func.ty(x);
        match ty.element() {
            Some(scalar) if scalar.is_float() => {
                self.b().atomic(AtomicOp::Add, array, at, path, &[], x);
            }
            Some(_) => {}
            None => {
                for index in 0..ty.n_components() as u32 {
                    let part = self.b().extract(x, index);
                    path.push(PathElem::Static(index));
                    self.add_floats(array, at, path, part);
                    path.pop();
                }
            }
        }
    }

    /// `tile_put` and `tile_scatter`.
    pub(super) fn put(&mut self, inst: &Inst) {
        let [tile, part, start] = inst.operands[..] else { panic!("`tile_put` takes three operands") };
        let array = self.changed(tile, &[part]);
        let (_, extents) = self.func.ty(part).as_tile().unwrap_or((Type::i64(), &[]));
        let add = (inst.op == Op::TileScatter).then(|| self.func.ty(part));
        let Attr::Extents(strides) = &inst.attr else { panic!("`tile_put` without strides") };
        // Elements that go to one place are added one after the other.
        let parallel: Vec<u32> =
            extents.iter().zip(strides).map(|(&extent, &stride)| if stride == 0 { 1 } else { extent }).collect();
        let serial: Vec<u32> =
            extents.iter().zip(strides).map(|(&extent, &stride)| if stride == 0 { extent } else { 1 }).collect();
        self.guarded(&[part], None, &mut |tiles| {
            tiles.over(&parallel, &mut |tiles, index| {
                let at = tiles.place(start, &inst.attr, &index.dims);
                let Some(ty) = add else {
                    let element = tiles.element(part, index);
                    return tiles.b().store(array, &[at], &[], &[], element);
                };
                let before = tiles.b().load(array, &[at], &[], &[]);
                let total = tiles.sum_along(part, ty, index, &serial, before);
                tiles.b().store(array, &[at], &[], &[], total);
            });
        });
        self.reps.insert(inst.result(), Rep::Memory(array));
    }

    /// The sum of elements along some dimensions, row by row from `before` on.
    fn sum_along(&mut self, tile: Value, ty: Type, index: &Index, serial: &[u32], before: Value) -> Value {
        let (_, extents) = ty.as_tile().unwrap_or((ty, &[]));
        let n: u64 = serial.iter().map(|&n| u64::from(n)).product();
        if n == 1 {
            let element = self.element(tile, index);
            return self.add(before, element);
        }
        let total = self.count(0, n, 1, &[before], &mut |tiles, k, carried| {
            let along = tiles.split(k, serial);
            let mut dims = Vec::new();
            for ((&own, along), &n) in index.dims.iter().zip(along).zip(serial) {
                dims.push(if n == 1 { own } else { along });
            }
            let flat = tiles.join(&dims, extents);
            let element = tiles.element(tile, &Index { dims, flat });
            vec![tiles.add(carried[0], element)]
        });
        total[0]
    }

    /// Component by component.
    pub(super) fn add(&mut self, x: Value, y: Value) -> Value {
        let ty = self.func.ty(x);
        if ty.element().is_some() {
            return self.b().binary(Op::Add, x, y);
        }
        let mut components = Vec::new();
        for index in 0..ty.n_components() as u32 {
            let (a, b) = (self.b().extract(x, index), self.b().extract(y, index));
            components.push(self.add(a, b));
        }
        self.b().construct(ty, &components)
    }

    pub(super) fn get(&mut self, tile: Value, at: Value) -> Value {
        if let Rep::Lazy(id) = self.rep(tile) {
            let inst = self.func.inst(id).clone();
            if inst.op == Op::TileFill {
                return inst.operands[0];
            }
            if inst.op == Op::TileView {
                let (_, extents) = self.func.ty(tile).as_tile().unwrap_or((Type::i64(), &[]));
                let dims = self.split(at, extents);
                return self.element(tile, &Index { dims, flat: at });
            }
        }
        let array = self.in_memory(tile);
        self.b().load(array, &[at], &[], &[])
    }

    /// Values of threads, by the thread's index in its block.
    pub(super) fn of_threads(&mut self, inst: &Inst) {
        let index = self.b().push1(Op::ThreadIndex, &[], Attr::Index(0), Type::i64());
        if inst.op == Op::TileOfThread {
            let element = self.get(inst.operands[0], index);
            return self.plan.replaced.set(inst.result(), element);
        }
        let ty = self.func.ty(inst.result());
        let array = self.array(ty);
        // The last block along a launch may have fewer threads: what they would give is 0.
        let zero = self.zero(self.func.ty(inst.operands[0]));
        self.each(ty.n_elements(), &mut |tiles, at| tiles.b().store(array, &[at], &[], &[], zero));
        self.b().store(array, &[index], &[], &[], inst.operands[0]);
        self.reps.insert(inst.result(), Rep::Memory(array));
    }
}
