//! Loops over the elements of tiles, and what one element is.

use super::plan::{elementwise, param_types};
use super::{Rep, Tiles};
use crate::unify_returns::zero;
use ir::{Attr, Function, FunctionKind, Inst, Op, Scalar, Type, Value};

/// The shortest last dimension that is worth a loop of its own.
const MIN_ROW: u32 = 8;

/// A round of a loop: its number, and what it carries; gives what the next round gets.
type Round<'a, 'm> = &'a mut dyn FnMut(&mut Tiles<'m>, Value, &[Value]) -> Vec<Value>;

/// Where an element is.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub dims: Vec<Value>,
    /// Its number, row by row.
    pub flat: Value,
}

impl<'m> Tiles<'m> {
    /// A loop over all elements of a tile of these extents.
    pub(super) fn over(&mut self, extents: &[u32], body: &mut dyn FnMut(&mut Self, &Index)) {
        let last = extents.last().copied().unwrap_or(1);
        let n: u64 = extents.iter().map(|&extent| u64::from(extent)).product();
        if extents.len() == 1 || self.by_element || last < MIN_ROW {
            return self.each(n, &mut |tiles, flat| {
                let dims = tiles.split(flat, extents);
                body(tiles, &Index { dims, flat });
            });
        }
        let rows = &extents[..extents.len() - 1];
        self.each(last.into(), &mut |tiles, column| {
            tiles.nest(rows, &mut Vec::new(), &mut |tiles, dims| {
                let start = tiles.join(dims, extents);
                let flat = tiles.b().binary(Op::Add, start, column);
                body(tiles, &Index { dims: [dims, &[column]].concat(), flat });
            });
        });
    }

    /// `each i = n`.
    pub(super) fn each(&mut self, n: u64, body: &mut dyn FnMut(&mut Self, Value)) {
        let n = self.int(n);
        let region = self.func.add_region(&[Type::i64()]);
        let index = self.func.region(region).params[0];
        self.within(region, &mut |tiles| {
            body(tiles, index);
            tiles.b().yield_(&[]);
        });
        self.b().push(Op::Each, &[n], Attr::None, &[region], &[]);
    }

    /// Loops over indices below `extents`, the last the innermost.
    fn nest(&mut self, extents: &[u32], dims: &mut Vec<Value>, body: &mut dyn FnMut(&mut Self, &[Value])) {
        let [n, rest @ ..] = extents else { return body(self, dims) };
        self.count(0, u64::from(*n), 1, &[], &mut |tiles, index, _| {
            dims.push(index);
            tiles.nest(rest, dims, body);
            dims.pop();
            Vec::new()
        });
    }

    /// A loop that carries values; gives them at its end.
    pub(super) fn count(&mut self, from: u64, to: u64, step: u64, init: &[Value], body: Round<'_, 'm>) -> Vec<Value> {
        let from = self.int(from);
        self.count_from(from, to, step, init, body)
    }

    pub(super) fn count_from(
        &mut self,
        from: Value,
        to: u64,
        step: u64,
        init: &[Value],
        body: Round<'_, 'm>,
    ) -> Vec<Value> {
        let (to, step) = (self.int(to), self.int(step));
        let types: Vec<Type> = init.iter().map(|&value| self.func.ty(value)).collect();
        let region = self.func.add_region(&[&[Type::i64()], &types[..]].concat());
        let params = self.func.region(region).params.to_vec();
        self.within(region, &mut |tiles| {
            let next = body(tiles, params[0], &params[1..]);
            tiles.b().continue_(&next);
        });
        let operands = [&[from, to, step], init].concat();
        let made = self.b().push(Op::For, &operands, Attr::None, &[region], &types);
        self.func.inst(made).results.to_vec()
    }

    /// Fills a new region.
    pub(super) fn within(&mut self, region: ir::RegionId, fill: &mut dyn FnMut(&mut Self)) {
        let outer = std::mem::replace(&mut self.region, region);
        fill(self);
        self.region = outer;
    }

    /// The index of element number `flat`.
    pub(super) fn split(&mut self, flat: Value, extents: &[u32]) -> Vec<Value> {
        let mut dims = vec![flat; extents.len()];
        let mut rest = flat;
        for (dim, &extent) in extents.iter().enumerate().skip(1).rev() {
            let extent = self.int(extent.into());
            dims[dim] = self.b().binary(Op::Rem, rest, extent);
            rest = self.b().binary(Op::Div, rest, extent);
        }
        dims[0] = rest;
        dims
    }

    /// The number of the first element at the leading indices.
    pub(super) fn join(&mut self, leading: &[Value], extents: &[u32]) -> Value {
        let mut at = leading.first().copied();
        for (dim, &extent) in extents.iter().enumerate().skip(1) {
            let Some(before) = at else { continue };
            let extent = self.int(extent.into());
            let mut next = self.b().binary(Op::Mul, before, extent);
            if let Some(&index) = leading.get(dim) {
                next = self.b().binary(Op::Add, next, index);
            }
            at = Some(next);
        }
        at.unwrap_or_else(|| self.int(0))
    }

    /// Computes a lazy tile into an array, or copies one.
    pub(super) fn compute_into(&mut self, array: Value, tile: Value) {
        let (_, extents) = self.func.ty(tile).as_tile().unwrap_or((Type::i64(), &[]));
        self.guarded(&[tile], None, &mut |tiles| {
            tiles.over(extents, &mut |tiles, index| {
                let element = tiles.element(tile, index);
                tiles.b().store(array, &[index.flat], &[], &[], element);
            });
        });
    }

    /// One element of a tile.
    pub(super) fn element(&mut self, tile: Value, index: &Index) -> Value {
        let id = match self.rep(tile) {
            Rep::Memory(array) => return self.b().load(array, &[index.flat], &[], &[]),
            Rep::Lazy(id) => id,
        };
        let inst = self.func.inst(id).clone();
        match inst.op {
            Op::TileFill => inst.operands[0],
            Op::TileIndex => {
                let Attr::Index(dim) = inst.attr else { panic!("`tile_index` without its dimension") };
                self.b().cast(index.dims[dim as usize], Scalar::I32)
            }
            Op::TileView => {
                let at = self.place(inst.operands[1], &inst.attr, &index.dims);
                let array = self.in_memory(inst.operands[0]);
                self.b().load(array, &[at], &[], &[])
            }
            Op::TileMap => self.mapped(&inst, index),
            Op::Select => {
                let [x, y] = [1, 2].map(|i| self.element(inst.operands[i], index));
                self.b().select(inst.operands[0], x, y)
            }
            _ => self.loaded(&inst, index),
        }
    }

    /// start + the products of indices and strides.
    pub(super) fn place(&mut self, start: Value, strides: &Attr, dims: &[Value]) -> Value {
        let Attr::Extents(strides) = strides else { return start };
        let mut at = start;
        for (&dim, &stride) in dims.iter().zip(strides).filter(|(_, stride)| **stride != 0) {
            let stride = self.int(stride);
            let offset = self.b().binary(Op::Mul, dim, stride);
            at = self.b().binary(Op::Add, at, offset);
        }
        at
    }

    fn mapped(&mut self, inst: &Inst, index: &Index) -> Value {
        let Attr::Func(callee) = inst.attr else { panic!("`tile_map` without its function") };
        let params = param_types(self.module, inst);
        let mut operands = Vec::new();
        for (&operand, param) in inst.operands.iter().zip(params) {
            operands.push(match self.func.ty(operand).as_tile() {
                Some((elem, _)) if elem == param => self.element(operand, index),
                Some(_) => self.in_memory(operand),
                None => operand,
            });
        }
        let callee = self.over_arrays.get(&callee).copied().unwrap_or(callee);
        let result = self.func.ty(inst.result()).as_tile().map_or(Type::i64(), |(elem, _)| elem);
        let mut b = self.b();
        b.span = inst.span;
        b.push1(Op::Call, &operands, Attr::Func(callee), result)
    }

    /// Whole tiles that the function of a map takes get memory; the function takes arrays instead.
    pub(super) fn whole_operands(&mut self, inst: &Inst) {
        let Attr::Func(callee) = inst.attr else { return };
        let params = param_types(self.module, inst);
        if params.iter().all(|param| param.as_tile().is_none()) {
            return;
        }
        for (&operand, param) in inst.operands.iter().zip(&params) {
            if param.as_tile().is_some() {
                self.in_memory(operand);
            }
        }
        if !self.over_arrays.contains_key(&callee) {
            let made = over_arrays(self.module.func(callee));
            self.over_arrays.insert(callee, ir::FuncRef(self.module.funcs.len() as u32));
            self.module.funcs.push(made);
        }
    }

    /// The tiles with memory that the elements of a tile are computed from, each with whether an element reads only
    /// the one of its own number.
    pub(super) fn collect_reads(&self, tile: Value, is_own: bool, out: &mut Vec<(Value, bool)>) {
        let id = match self.rep(tile) {
            Rep::Memory(_) => return out.push((tile, is_own)),
            Rep::Lazy(id) => id,
        };
        let inst = self.func.inst(id);
        match inst.op {
            Op::TileView => self.collect_reads(inst.operands[0], false, out),
            Op::TileLoadAt => self.collect_reads(inst.operands[1], false, out),
            Op::TileMap | Op::Select => {
                let own = elementwise(&self.func, inst, self.module);
                for &operand in inst.operands.iter().filter(|&&operand| self.func.ty(operand).as_tile().is_some()) {
                    self.collect_reads(operand, is_own && own.contains(&operand), out);
                }
            }
            _ => {}
        }
    }

    /// The loads that the elements of a tile are computed from.
    pub(super) fn collect_loads(&self, tile: Value, out: &mut Vec<Inst>) {
        let Some(&Rep::Lazy(id)) = self.reps.get(&tile) else { return };
        let inst = self.func.inst(id);
        match inst.op {
            Op::TileLoad => out.push(inst.clone()),
            Op::TileMap | Op::Select => {
                for &operand in inst.operands.iter().filter(|&&operand| self.func.ty(operand).as_tile().is_some()) {
                    self.collect_loads(operand, out);
                }
            }
            _ => {}
        }
    }

    pub(super) fn zero(&mut self, ty: Type) -> Value {
        let mut made = Vec::new();
        let value = zero(&mut self.func, ty, diagnostics::Span::NONE, &mut made);
        self.func.regions[self.region.index()].insts.extend(made);
        value
    }
}

/// A function of whole tiles as one of arrays.
fn over_arrays(func: &Function) -> Function {
    let mut made = func.clone();
    made.kind = FunctionKind::Function;
    made.name = format!("{}.arrays", func.name);
    let array = |ty: Type| ty.as_tile().map_or(ty, |(elem, _)| Type::array(elem, 1));
    for param in &mut made.params {
        param.ty = array(param.ty);
    }
    for value in &mut made.values {
        value.ty = array(value.ty);
    }
    for inst in made.insts.iter_mut().filter(|inst| inst.op == Op::TileGet) {
        (inst.op, inst.attr) = (Op::Load, Attr::Path(Box::default()));
    }
    made
}
