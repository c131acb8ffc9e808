//! Adjoints of ops over tiles.
//!
//! A tile's adjoint is a tile. What goes element by element has a function for its elements, whose derivative with
//! respect to each parameter is a function for the elements of that adjoint ([`Maps`]); what only moves elements is moved
//! back.
//!
//! | primal | adjoint |
//! | --- | --- |
//! | y = map f(x, u) | dx += map f'x(x, u, dy); du += the sum of map f'u(x, u, dy) |
//! | v = view t | dt gets dv added where its elements came from |
//! | s = sum t | dt += ds for each element |
//! | c = a b + c0 | da += dc bᵀ, db += aᵀ dc, dc0 += dc |
//! | t = load a | da gets dt added, atomically |

use crate::activity::Activity;
use crate::function::adjoint_of_param;
use crate::sweep::Sweep;
use crate::tangent::{add, has_arrays, has_floats, row_major, zero};
use crate::threads::Threads;
use diagnostics::Diagnostic;
use ir::{
    AtomicOp, Attr, Builder, CustomGradient, FuncRef, Function, FunctionKind, Inst, InstId, Module, Op, Param, Scalar,
    Type, Value,
};
use std::collections::HashMap;

/// Functions for the elements of adjoints.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    /// By function and parameter; nothing where the function does not depend on it.
    adjoints: HashMap<(FuncRef, usize), Option<FuncRef>>,
    /// Sums of two, by type.
    sums: HashMap<Type, FuncRef>,
    /// Functions that only add their two parameters.
    adders: Vec<FuncRef>,
    pub(crate) threads: Threads,
    /// The functions of the module that adjoint kernels may name.
    funcs: Vec<Function>,
}

impl Maps {
    /// Makes the functions that the maps of a kernel or function need, and adds them to the module.
    pub(crate) fn of(
        module: &mut Module,
        custom: &[CustomGradient],
        primal: &Function,
        activity: &Activity,
        rank: u32,
    ) -> Result<Maps, Vec<Diagnostic>> {
        let mut maps = Maps::default();
        let listed = primal.regions.iter().flat_map(|region| &region.insts).map(|&id| primal.inst(id));
        let over_tiles: Vec<&Inst> = listed.filter(|inst| inst.op.is_over_tiles()).collect();
        if module.block_dim > 1 && !over_tiles.is_empty() {
            maps.threads = Threads::of(primal, module.block_dim, rank);
        }
        for inst in &over_tiles {
            maps.add_sums(module, primal, inst);
            let Attr::Func(func) = inst.attr else { continue };
            if inst.op != Op::TileMap {
                if is_adder(module.func(func)) {
                    maps.adders.push(func);
                }
                continue;
            }
            for (index, &operand) in inst.operands.iter().enumerate() {
                let is_needed = activity.is_active(operand) && activity.is_active(inst.result());
                if !is_needed || maps.adjoints.contains_key(&(func, index)) {
                    continue;
                }
                if module.func(func).params[index].ty.as_tile().is_some() {
                    let message = "elements of a tile that are chosen by other elements have no gradient yet";
                    let refused = Diagnostic::new("no-gradient", inst.span, message);
                    return Err(vec![refused.help("index the tile by numbers, in a loop")]);
                }
                let name = format!("{}.adjoint{index}", module.func(func).name);
                let made = adjoint_of_param(module, custom, func, index, &name).map_err(|mut refused| {
                    refused.iter_mut().filter(|one| one.span.is_none()).for_each(|one| one.span = inst.span);
                    refused
                })?;
                let made = made.map(|made| push(module, made));
                maps.adjoints.insert((func, index), made);
            }
        }
        if !over_tiles.is_empty() {
            maps.funcs.clone_from(&module.funcs);
        }
        Ok(maps)
    }

    /// What sums the adjoints of scalars that every element uses.
    fn add_sums(&mut self, module: &mut Module, primal: &Function, inst: &Inst) {
        let mut types: Vec<Type> = match inst.op {
            Op::TileFill => inst.operands.iter().map(|&v| primal.ty(v)).collect(),
            Op::TileMap => inst.operands.iter().map(|&v| primal.ty(v)).filter(|ty| ty.as_tile().is_none()).collect(),
            Op::TileGet | Op::TileReduce if self.threads.n > 0 => {
                inst.results.iter().map(|&v| primal.ty(v)).filter(|ty| ty.as_tile().is_none()).collect()
            }
            _ => Vec::new(),
        };
        types.retain(|&ty| has_floats(ty) && !has_arrays(ty));
        for ty in types {
            if self.sums.contains_key(&ty) {
                continue;
            }
            let param = |name: &str| Param { name: name.into(), ty };
            let name = format!("adjoint.sum{}", module.funcs.len());
            let mut func = Function::new(name, FunctionKind::Function, vec![param("x"), param("y")], vec![ty]);
            let mut b = Builder::new(&mut func);
            let (x, y) = (b.param(0), b.param(1));
            let sum = add(&mut b, x, y);
            b.ret(&[sum]);
            let made = push(module, func);
            self.sums.insert(ty, made);
        }
    }

    /// A module of an adjoint kernel and of the functions that it names.
    pub(crate) fn in_module(&self, module: &Module, kernel: Function) -> Module {
        let mut funcs = self.funcs.clone();
        let at = funcs.iter().position(|func| func.kind.is_kernel());
        match at {
            Some(at) => funcs[at] = kernel,
            None => funcs = vec![kernel],
        }
        Module { funcs, sites: module.sites.clone(), ..*module }
    }
}

fn push(module: &mut Module, func: Function) -> FuncRef {
    module.funcs.push(func);
    FuncRef(module.funcs.len() as u32 - 1)
}

/// Whether a function gives the sum of its two parameters.
fn is_adder(func: &Function) -> bool {
    let body = func.region(func.body);
    let [sum, end] = body.insts[..] else { return false };
    let (sum, end) = (func.inst(sum), func.inst(end));
    sum.op == Op::Add
        && end.op == Op::Return
        && end.operands[..] == sum.results[..]
        && sum.operands[..] == body.params[..]
}

impl Sweep<'_> {
    pub(crate) fn reverse_tile(&mut self, id: InstId, inst: &Inst, d: Value) {
        match inst.op {
            Op::TileGet | Op::TileReduce if self.refuse_parted(id, inst) => {}
            Op::TileMap => self.reverse_map(inst, d),
            Op::TileFill if self.activity.is_active(inst.operands[0]) => {
                let d = self.sum(d);
                let d = self.of_first_thread(d);
                self.accumulate(inst.operands[0], d);
            }
            Op::TileReduce => self.reverse_reduce(inst, d),
            Op::TileScan => self.reverse_scan(inst, d),
            Op::TileView => {
                let start = self.value(inst.operands[1]);
                self.scatter(inst.operands[0], d, start, inst.attr.clone());
            }
            Op::TilePut => {
                let start = self.value(inst.operands[2]);
                let ty = self.primal.ty(inst.operands[1]);
                let part = self.b.push1(Op::TileView, &[d, start], inst.attr.clone(), ty);
                self.accumulate(inst.operands[1], part);
                let nothing = zero(&mut self.b, ty);
                let rest = self.b.ty(d);
                let rest = self.b.push1(Op::TilePut, &[d, nothing, start], inst.attr.clone(), rest);
                self.accumulate(inst.operands[0], rest);
            }
            Op::TileScatter => {
                let start = self.value(inst.operands[2]);
                let ty = self.primal.ty(inst.operands[1]);
                let part = self.b.push1(Op::TileView, &[d, start], inst.attr.clone(), ty);
                self.accumulate(inst.operands[1], part);
                self.accumulate(inst.operands[0], d);
            }
            Op::TileGet => {
                let at = self.value(inst.operands[1]);
                if self.add_apart(id, inst.operands[0], at, d) {
                    return;
                }
                let d = self.of_all_threads(d);
                let one = Type::tile(self.b.ty(d), vec![1]);
                let part = self.b.push1(Op::TileFill, &[d], Attr::None, one);
                self.scatter(inst.operands[0], part, at, Attr::Extents([1].into()));
            }
            Op::TileSet => {
                let at = self.value(inst.operands[2]);
                let (elem, ty) = (self.primal.ty(inst.operands[1]), self.b.ty(d));
                let part = self.b.push1(Op::TileGet, &[d, at], Attr::None, elem);
                let part = self.of_first_where_alike(id, part);
                self.accumulate(inst.operands[1], part);
                let nothing = zero(&mut self.b, elem);
                let rest = self.b.push1(Op::TileSet, &[d, nothing, at], Attr::None, ty);
                self.accumulate(inst.operands[0], rest);
            }
            Op::TileUpdate => {
                let at = self.value(inst.operands[2]);
                let elem = self.primal.ty(inst.operands[1]);
                let part = self.b.push1(Op::TileGet, &[d, at], Attr::None, elem);
                let part = match inst.attr {
                    Attr::Atomic(AtomicOp::Sub, _) => self.b.unary(Op::Neg, part),
                    _ => part,
                };
                self.accumulate(inst.operands[1], part);
                self.accumulate(inst.operands[0], d);
            }
            Op::TileMatMul => self.reverse_product(inst, d),
            Op::TileOfThreads => {
                let ty = self.primal.ty(inst.operands[0]);
                let d = self.b.push1(Op::TileOfThread, &[d], Attr::None, ty);
                self.accumulate(inst.operands[0], d);
            }
            Op::TileOfThread => {
                let ty = self.primal.ty(inst.operands[0]);
                let d = self.b.push1(Op::TileOfThreads, &[d], Attr::None, ty);
                self.accumulate(inst.operands[0], d);
            }
            _ => {}
        }
    }

    /// Adds a part to the adjoint of a tile.
    fn scatter(&mut self, tile: Value, part: Value, start: Value, strides: Attr) {
        if !self.activity.is_active(tile) {
            return;
        }
        let ty = self.primal.ty(tile);
        let known = self.adjoints[tile.index()].take();
        let known = known.unwrap_or_else(|| zero(&mut self.b, ty));
        let sum = self.b.push1(Op::TileScatter, &[known, part, start], strides, ty);
        self.adjoints[tile.index()] = Some(sum);
    }

    pub(crate) fn sum(&mut self, tile: Value) -> Value {
        let (elem, _) = self.b.ty(tile).as_tile().unwrap_or((Type::f32(), &[]));
        let Some(&func) = self.maps.sums.get(&elem) else { panic!("no sum of {elem}") };
        self.b.push1(Op::TileReduce, &[tile], Attr::Func(func), elem)
    }

    fn reverse_map(&mut self, inst: &Inst, d: Value) {
        let Attr::Func(func) = inst.attr else { return };
        let (_, extents) = self.primal.ty(inst.result()).as_tile().unwrap_or((Type::f32(), &[]));
        for (index, &operand) in inst.operands.iter().enumerate() {
            let Some(&Some(adjoint)) = self.maps.adjoints.get(&(func, index)) else { continue };
            if !self.activity.is_active(operand) {
                continue;
            }
            let operands = [&self.all(&inst.operands)[..], &[d]].concat();
            let ty = self.primal.ty(operand);
            let elem = ty.as_tile().map_or(ty, |(elem, _)| elem);
            let made = Type::tile(elem, extents.to_vec());
            let part = self.b.push1(Op::TileMap, &operands, Attr::Func(adjoint), made);
            let part = match ty.as_tile() {
                Some(_) => part,
                None => {
                    let sum = self.sum(part);
                    self.of_first_thread(sum)
                }
            };
            self.accumulate(operand, part);
        }
    }

    fn reverse_reduce(&mut self, inst: &Inst, d: Value) {
        let tile = inst.operands[0];
        if !self.activity.is_active(tile) {
            return;
        }
        let Attr::Func(func) = inst.attr else { return };
        if !self.maps.adders.contains(&func) {
            self.refuse(inst, "a fold of a tile by another function than a sum has no gradient")
                .help("sum with `tile_sum`, or store the tile and fold its elements in another kernel");
            return;
        }
        let ty = self.primal.ty(tile);
        let spread = match self.b.ty(d).as_tile() {
            None => {
                let d = self.of_all_threads(d);
                self.b.push1(Op::TileFill, &[d], Attr::None, ty)
            }
            Some((_, rows)) => {
                let start = self.b.int(Scalar::I64, 0);
                let strides = [&row_major(rows)[..], &[0]].concat();
                self.b.push1(Op::TileView, &[d, start], Attr::Extents(strides.into()), ty)
            }
        };
        self.accumulate(tile, spread);
    }

    /// Each element counts for all sums from its own on.
    fn reverse_scan(&mut self, inst: &Inst, d: Value) {
        let tile = inst.operands[0];
        if !self.activity.is_active(tile) {
            return;
        }
        let Attr::Func(func) = inst.attr else { return };
        let ty = self.primal.ty(tile);
        let (_, extents) = ty.as_tile().unwrap_or((ty, &[]));
        let [n] = *extents else { return };
        if !self.maps.adders.contains(&func) {
            self.refuse(inst, "a scan of a tile by another function than a sum has no gradient")
                .help("scan with `tile_scan_inclusive`");
            return;
        }
        let last = self.b.int(Scalar::I64, i128::from(n) - 1);
        let backward = || Attr::Extents([u64::MAX].into());
        let turned = self.b.push1(Op::TileView, &[d, last], backward(), ty);
        let sums = self.b.push1(Op::TileScan, &[turned], inst.attr.clone(), ty);
        let d = self.b.push1(Op::TileView, &[sums, last], backward(), ty);
        self.accumulate(tile, d);
    }

    fn reverse_product(&mut self, inst: &Inst, d: Value) {
        let [a, b, c] = inst.operands[..] else { return };
        let (x, y) = (self.value(a), self.value(b));
        let (x, y) = (self.turned(x), self.turned(y));
        for (operand, left, right) in [(a, d, y), (b, x, d)] {
            if self.activity.is_active(operand) {
                let ty = self.primal.ty(operand);
                let nothing = zero(&mut self.b, ty);
                let product = self.b.push1(Op::TileMatMul, &[left, right, nothing], Attr::None, ty);
                self.accumulate(operand, product);
            }
        }
        self.accumulate(c, d);
    }

    /// The transposed matrix.
    fn turned(&mut self, tile: Value) -> Value {
        let Some((elem, &[rows, columns])) = self.b.ty(tile).as_tile() else { return tile };
        let start = self.b.int(Scalar::I64, 0);
        let ty = Type::tile(elem, vec![columns, rows]);
        self.b.push1(Op::TileView, &[tile, start], Attr::Extents([1, columns.into()].into()), ty)
    }

    /// Loads and stores of tiles.
    pub(crate) fn reverse_tile_access(&mut self, inst: &Inst) {
        let d = inst.results.first().and_then(|old| self.adjoints[old.index()].take());
        let Some(array) = self.adjoint_array(inst) else { return };
        let is_load = matches!(inst.op, Op::TileLoad | Op::TileLoadAt);
        let n = inst.operands.len() - usize::from(!is_load);
        let place = [&[array][..], &self.all(&inst.operands[1..n])].concat();
        let is_at = matches!(inst.op, Op::TileLoadAt | Op::TileStoreAt | Op::TileAtomicAt);
        let (load, store) = if is_at { (Op::TileLoadAt, Op::TileStoreAt) } else { (Op::TileLoad, Op::TileStore) };
        let attr = if is_at { inst.attr.clone() } else { Attr::None };
        if is_load {
            let Some(d) = d else { return };
            let ty = self.b.ty(d);
            let operands = [&place[..], &[d]].concat();
            let (op, attr) = match is_at {
                true => (Op::TileAtomicAt, attr),
                false => (Op::TileAtomic, Attr::Atomic(AtomicOp::Add, Box::default())),
            };
            self.b.push1(op, &operands, attr, ty);
            return;
        }
        if d.is_some() {
            self.refuse(inst, "the values that an atomic operation gives depend on the order of the threads")
                .help("a gradient can flow through what is added, not through what was there before");
            return;
        }
        let &tile = inst.operands.last().unwrap_or_else(|| panic!("a store without its tile"));
        let ty = self.primal.ty(tile);
        let d = self.b.push1(load, &place, attr.clone(), ty);
        self.accumulate(tile, d);
        if matches!(inst.op, Op::TileStore | Op::TileStoreAt) {
            let nothing = zero(&mut self.b, ty);
            let operands = [&place[..], &[nothing]].concat();
            self.b.push(store, &operands, attr, &[], &[]);
        }
    }

    /// Room for `n` values of a type that a loop carries.
    pub(crate) fn slots(&mut self, ty: Type, n: u64) -> Value {
        let Some((elem, _)) = ty.as_tile() else { return self.local_array(ty, n) };
        let attr = Attr::Extents([n, ty.n_elements()].into());
        let id = self.b.func.add_inst(Op::SharedArray, &[], attr, &[], &[Type::array(elem, 2)], self.b.span);
        self.entry.push(id);
        self.b.func.inst(id).result()
    }

    pub(crate) fn keep_in(&mut self, slots: Value, slot: Value, value: Value) {
        let ty = self.b.ty(value);
        let Some((elem, _)) = ty.as_tile() else { return self.b.store(slots, &[slot], &[], &[], value) };
        let (row, start) = (self.b.row(slots, slot, 0), self.b.int(Scalar::I64, 0));
        let flat = Type::tile(elem, vec![ty.n_elements() as u32]);
        let flat = self.b.push1(Op::TileView, &[value, start], Attr::Extents([1].into()), flat);
        self.b.push(Op::TileStore, &[row, start, flat], Attr::None, &[], &[]);
    }

    pub(crate) fn kept_in(&mut self, slots: Value, slot: Value, ty: Type) -> Value {
        let Some((elem, extents)) = ty.as_tile() else { return self.b.load(slots, &[slot], &[], &[]) };
        let (row, start) = (self.b.row(slots, slot, 0), self.b.int(Scalar::I64, 0));
        let flat = Type::tile(elem, vec![ty.n_elements() as u32]);
        let flat = self.b.push1(Op::TileLoad, &[row, start], Attr::None, flat);
        self.b.push1(Op::TileView, &[flat, start], Attr::Extents(row_major(extents)), ty)
    }
}
