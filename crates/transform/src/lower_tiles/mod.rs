//! Turns tiles into arrays that the threads of a block share, and ops over tiles into `each`.
//!
//! In: a kernel with its calls inlined. Out: the same without tiles. What goes element by element is computed where it
//! is used and never stored; everything else gets memory, which later values take over.
//!
//! ```text
//! v2: tile<f32, 64> = tile_load v0, v1           each v9 = 64 {
//! v3: tile<f32, 64> = tile_map @sin(v2)     ->     v10 = load v0[v1 + v9];  v11 = sin v10;  store v8[v9], v11
//! tile_store v4, v1, v3                          }
//!                                                each v12 = 64 { v13 = load v8[v12];  store v4[v1 + v12], v13 }
//! ```
//!
//! On a CPU the numbers that `each` counts are lanes of vectors along a tile's last dimension, with loops over the others
//! within; where a block has several threads they are all elements.

mod control;
mod element;
mod fold;
mod memory;
mod plan;
mod product;

use crate::Changed;
use ir::{Attr, Builder, Function, InstId, Module, Op, RegionId, Scalar, Type, Value};
use plan::Plan;
use std::collections::HashMap;

/// Lowers the tiles of a module's kernel.
pub fn lower_tiles(module: &mut Module) -> Changed {
    let Some(kernel) = module.kernel() else { return Changed(false) };
    let func = module.func(kernel);
    let mut listed = func.regions.iter().flat_map(|region| &region.insts);
    if !listed.any(|&id| func.inst(id).op.is_over_tiles()) {
        return Changed(false);
    }
    let empty = Function::new("", func.kind, vec![], vec![]);
    let func = std::mem::replace(&mut module.funcs[kernel.index()], empty);
    let plan = Plan::new(&func, module);
    let body = func.body;
    let mut tiles = Tiles {
        by_element: module.block_dim > 1,
        module,
        func,
        plan,
        reps: HashMap::new(),
        free: Vec::new(),
        loops: Vec::new(),
        entry: Vec::new(),
        over_arrays: HashMap::new(),
        is_inside: false,
        region: body,
        at: 0,
    };
    tiles.region(body);
    let Tiles { mut func, entry, plan, .. } = tiles;
    plan.replaced.apply(&mut func);
    func.regions[body.index()].insts.splice(0..0, entry);
    module.funcs[kernel.index()] = func;
    Changed(true)
}

/// What stands for a tile.
#[derive(Clone, Copy, Debug)]
enum Rep {
    /// An array of one dimension, row by row.
    Memory(Value),
    /// Each element is computed where it is used.
    Lazy(InstId),
}

struct Tiles<'m> {
    module: &'m mut Module,
    func: Function,
    plan: Plan,
    reps: HashMap<Value, Rep>,
    /// Arrays whose tile is not needed any more.
    free: Vec<Value>,
    loops: Vec<control::Loop>,
    /// The arrays, made before all else.
    entry: Vec<InstId>,
    /// Functions of whole tiles, as functions of arrays.
    over_arrays: HashMap<ir::FuncRef, ir::FuncRef>,
    /// Whether `each` counts all elements.
    by_element: bool,
    /// Whether what is loaded and stored is known to be within its arrays.
    is_inside: bool,
    /// Where the walk stands in the kernel as it was.
    region: RegionId,
    at: usize,
}

impl Tiles<'_> {
    fn region(&mut self, region: RegionId) {
        let outer = (self.region, self.at);
        let insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        for (at, id) in insts.into_iter().enumerate() {
            (self.region, self.at) = (region, at);
            self.inst(id);
            self.release(region, at);
        }
        (self.region, self.at) = outer;
    }

    fn b(&mut self) -> Builder<'_> {
        let mut b = Builder::new(&mut self.func);
        b.enter(self.region);
        b
    }

    fn int(&mut self, value: u64) -> Value {
        self.b().int(Scalar::I64, i128::from(value))
    }

    fn inst(&mut self, id: InstId) {
        let inst = self.func.inst(id).clone();
        match inst.op {
            Op::TileFill | Op::TileIndex | Op::TileView | Op::TileMap | Op::TileLoad | Op::TileLoadAt => {
                if let Op::TileView = inst.op {
                    self.in_memory(inst.operands[0]);
                }
                if let Op::TileLoadAt = inst.op {
                    self.in_memory(inst.operands[1]);
                }
                self.reps.insert(inst.result(), Rep::Lazy(id));
                if inst.op == Op::TileMap {
                    self.whole_operands(&inst);
                }
                if !self.plan.is_lazy(inst.result()) {
                    self.in_memory(inst.result());
                }
            }
            Op::Select if self.func.ty(inst.result()).as_tile().is_some() => {
                self.reps.insert(inst.result(), Rep::Lazy(id));
                if !self.plan.is_lazy(inst.result()) {
                    self.in_memory(inst.result());
                }
            }
            Op::TilePut | Op::TileScatter => self.put(&inst),
            Op::TileGet => {
                let element = self.get(inst.operands[0], inst.operands[1]);
                self.plan.replaced.set(inst.result(), element);
            }
            Op::TileSet => {
                let array = self.changed(inst.operands[0], &[]);
                let index = inst.operands[2];
                self.b().store(array, &[index], &[], &[], inst.operands[1]);
                self.reps.insert(inst.result(), Rep::Memory(array));
            }
            Op::TileUpdate => {
                let array = self.changed(inst.operands[0], &[]);
                let &Attr::Atomic(op, _) = &inst.attr else { panic!("`tile_update` without its operation") };
                self.b().atomic(op, array, &[inst.operands[2]], &[], &[], inst.operands[1]);
                self.reps.insert(inst.result(), Rep::Memory(array));
            }
            Op::TileReduce => self.reduce(&inst),
            Op::TileScan => self.scan(&inst),
            Op::TileMatMul => self.product(&inst),
            Op::TileOfThreads | Op::TileOfThread => self.of_threads(&inst),
            Op::TileStore | Op::TileStoreAt | Op::TileAtomic | Op::TileAtomicAt => self.store(&inst),
            Op::If | Op::For | Op::Loop | Op::Yield | Op::Continue | Op::Break => self.control(id),
            _ => self.func.regions[self.region.index()].insts.push(id),
        }
    }

    /// An array for a tile's elements.
    fn array(&mut self, ty: Type) -> Value {
        let (elem, _) = ty.as_tile().unwrap_or((ty, &[]));
        self.array_of(elem, ty.n_elements().max(1))
    }

    fn array_of(&mut self, elem: Type, n: u64) -> Value {
        let size = |func: &Function, array: Value| match func.def(array) {
            ir::ValueDef::Result(inst, _) => match &func.inst(inst).attr {
                Attr::Extents(extents) => extents[0],
                _ => 0,
            },
            ir::ValueDef::Param(..) => 0,
        };
        let ty = Type::array(elem, 1);
        let fits = |&at: &usize| self.func.ty(self.free[at]) == ty && size(&self.func, self.free[at]) >= n;
        if let Some(at) = (0..self.free.len()).filter(fits).min_by_key(|&at| size(&self.func, self.free[at])) {
            return self.free.swap_remove(at);
        }
        let attr = Attr::Extents([n].into());
        let made = self.func.add_inst(Op::SharedArray, &[], attr, &[], &[ty], diagnostics::Span::NONE);
        self.entry.push(made);
        self.func.inst(made).result()
    }

    /// Gives back the arrays of tiles that nothing behind an instruction uses.
    fn release(&mut self, region: RegionId, at: usize) {
        for value in self.plan.last_used_at(region, at) {
            let Some(Rep::Memory(array)) = self.reps.remove(&value) else { continue };
            let is_shared = self.reps.values().any(|rep| matches!(rep, Rep::Memory(other) if *other == array));
            if !is_shared && !self.loops.iter().any(|found| found.keeps(array)) && !self.free.contains(&array) {
                self.free.push(array);
            }
        }
    }

    /// The tile's memory; what was lazy is computed now.
    fn in_memory(&mut self, tile: Value) -> Value {
        match self.rep(tile) {
            Rep::Memory(array) => array,
            Rep::Lazy(_) => {
                let array = self.destination(tile);
                self.compute_into(array, tile);
                self.reps.insert(tile, Rep::Memory(array));
                array
            }
        }
    }

    fn rep(&self, tile: Value) -> Rep {
        *self.reps.get(&tile).unwrap_or_else(|| {
            let made = match self.func.def(tile) {
                ir::ValueDef::Result(id, _) => self.func.inst(id).op.name(),
                ir::ValueDef::Param(..) => "a parameter",
            };
            panic!("v{}, of {made}, is no tile that is there in `{}`", tile.0, self.func.name)
        })
    }

    /// Memory for a lazy tile: that of one which it alone still reads, element by element.
    fn destination(&mut self, tile: Value) -> Value {
        let mut read = Vec::new();
        self.collect_reads(tile, true, &mut read);
        let ty = self.func.ty(tile);
        for &(source, is_own) in &read {
            let Rep::Memory(array) = self.rep(source) else { continue };
            let only_own = is_own
                && !read
                    .iter()
                    .any(|&(other, own)| !own && matches!(self.rep(other), Rep::Memory(found) if found == array));
            let from = self.func.ty(source);
            if only_own
                && from == ty
                && self.plan.dies_at(source, self.region, self.at)
                && !self.is_aliased(source, array)
            {
                return array;
            }
        }
        self.array(ty)
    }

    /// Whether another tile that is still needed lies in the same array.
    fn is_aliased(&self, tile: Value, array: Value) -> bool {
        self.reps.iter().any(|(&other, rep)| {
            other != tile
                && matches!(rep, Rep::Memory(found) if *found == array)
                && !self.plan.dies_at(other, self.region, self.at)
        })
    }

    /// An array that holds a tile and may be overwritten: the tile's own where nothing needs it any more, else a copy.
    /// `others` are read while it is overwritten.
    fn changed(&mut self, tile: Value, others: &[Value]) -> Value {
        let mut read = Vec::new();
        for &other in others {
            self.collect_reads(other, true, &mut read);
        }
        let reads = |tiles: &Self, array: Value| {
            read.iter().any(|&(found, _)| matches!(tiles.rep(found), Rep::Memory(a) if a == array))
        };
        if let Some(array) = self.input_array(tile).filter(|&array| !reads(self, array)) {
            return array;
        }
        if let Rep::Memory(array) = self.rep(tile)
            && !reads(self, array)
            && self.plan.dies_at(tile, self.region, self.at)
            && !self.is_aliased(tile, array)
        {
            return array;
        }
        let array = self.array(self.func.ty(tile));
        self.compute_into(array, tile);
        array
    }
}
