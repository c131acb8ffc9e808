//! Making instructions one after the other, in regions within regions.

use diagnostics::Span;
use ir::op::{ShuffleMode, VoteMode};
use ir::{Attr, Const, Function, InstId, Op, RegionId, Scalar, Type, Value};

/// Appends to a list of instructions.
pub(super) struct Emit<'a> {
    pub func: &'a mut Function,
    span: Span,
    /// The type of [`Emit::number`].
    counter: Type,
    insts: Vec<InstId>,
}

impl<'a> Emit<'a> {
    pub(super) fn new(func: &'a mut Function, span: Span, counter: Type) -> Emit<'a> {
        Emit { func, span, counter, insts: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<InstId> {
        self.insts
    }

    pub(super) fn list(&mut self, id: InstId) {
        self.insts.push(id);
    }

    pub(super) fn push(&mut self, op: Op, operands: &[Value], regions: &[RegionId], types: &[Type]) -> Vec<Value> {
        self.push_with(op, operands, Attr::None, regions, types)
    }

    fn push_with(
        &mut self,
        op: Op,
        operands: &[Value],
        attr: Attr,
        regions: &[RegionId],
        types: &[Type],
    ) -> Vec<Value> {
        let id = self.func.add_inst(op, operands, attr, regions, types, self.span);
        self.insts.push(id);
        self.func.inst(id).results.to_vec()
    }

    pub(super) fn add(&mut self, op: Op, operands: &[Value], ty: Type) -> Value {
        self.push(op, operands, &[], &[ty])[0]
    }

    pub(super) fn binary(&mut self, op: Op, x: Value, y: Value) -> Value {
        let ty = self.func.ty(x);
        self.add(op, &[x, y], ty)
    }

    pub(super) fn cast(&mut self, x: Value, ty: Type) -> Value {
        if self.func.ty(x) == ty { x } else { self.add(Op::Cast, &[x], ty) }
    }

    pub(super) fn effect(&mut self, op: Op, operands: &[Value]) {
        self.push(op, operands, &[], &[]);
    }

    pub(super) fn end(&mut self, op: Op, operands: &[Value]) {
        self.effect(op, operands);
    }

    /// A region of what `fill` appends.
    pub(super) fn region(&mut self, fill: impl FnOnce(&mut Self)) -> RegionId {
        self.region_with(&[], |e, _| fill(e))
    }

    pub(super) fn region_with(&mut self, types: &[Type], fill: impl FnOnce(&mut Self, &[Value])) -> RegionId {
        let region = self.func.add_region(types);
        let params = self.func.region(region).params.clone();
        let around = std::mem::take(&mut self.insts);
        fill(self, &params);
        self.func.regions[region.index()].insts = std::mem::replace(&mut self.insts, around);
        region
    }

    // ---- constants

    fn constant(&mut self, ty: Type, bits: Const) -> Value {
        self.push_with(Op::Const, &[], Attr::Const(bits), &[], &[ty])[0]
    }

    fn int(&mut self, ty: Type, value: i128) -> Value {
        let bits = ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, value));
        self.constant(ty, bits)
    }

    /// A constant once more; any other value as it is.
    pub(super) fn again(&mut self, value: Value) -> Value {
        match self.func.as_const(value) {
            Some(bits) => self.constant(self.func.ty(value), bits),
            None => value,
        }
    }

    /// Of the counter's type.
    pub(super) fn number(&mut self, value: i128) -> Value {
        self.int(self.counter, value)
    }

    pub(super) fn number32(&mut self, value: i128) -> Value {
        self.int(Type::i32(), value)
    }

    pub(super) fn index(&mut self, value: i128) -> Value {
        self.int(Type::i64(), value)
    }

    pub(super) fn word(&mut self, value: u32) -> Value {
        self.int(Type::scalar(Scalar::U32), value.into())
    }

    pub(super) fn flag(&mut self, value: bool) -> Value {
        self.constant(Type::bool(), Const::bool(value))
    }

    // ---- memory

    pub(super) fn shared_array(&mut self, elem: Type, extents: &[u64]) -> Value {
        let ty = Type::array(elem, extents.len() as u32);
        self.push_with(Op::SharedArray, &[], Attr::Extents(extents.into()), &[], &[ty])[0]
    }

    pub(super) fn load(&mut self, array: Value, indices: &[Value], elem: Type) -> Value {
        let operands = [&[array], indices].concat();
        self.push_with(Op::Load, &operands, Attr::Path([].into()), &[], &[elem])[0]
    }

    pub(super) fn store(&mut self, array: Value, indices: &[Value], x: Value) {
        let operands = [&[array], indices, &[x]].concat();
        self.push_with(Op::Store, &operands, Attr::Path([].into()), &[], &[]);
    }

    // ---- warps

    /// The number of this thread's warp in its block, i64.
    pub(super) fn warp_number(&mut self) -> Value {
        let mut axis = |op, dim| self.push_with(op, &[], Attr::Index(dim), &[], &[Type::i64()])[0];
        let [x, y, z] = [0, 1, 2].map(|dim| axis(Op::ThreadIndex, dim));
        let [width, height] = [0, 1].map(|dim| axis(Op::BlockExtent, dim));
        let depth = self.binary(Op::Mul, height, z);
        let row = self.binary(Op::Add, y, depth);
        let start = self.binary(Op::Mul, width, row);
        let linear = self.binary(Op::Add, x, start);
        let shift = self.index(5);
        self.binary(Op::Shr, linear, shift)
    }

    pub(super) fn vote(&mut self, mode: VoteMode, everyone: Value, x: Value) -> Value {
        let ty = if mode == VoteMode::Ballot { Type::scalar(Scalar::U32) } else { Type::bool() };
        self.push_with(Op::Vote, &[everyone, x], Attr::Vote(mode), &[], &[ty])[0]
    }

    fn shuffle(&mut self, mode: ShuffleMode, everyone: Value, x: Value, lane: Value) -> Value {
        let (ty, width) = (self.func.ty(x), self.number32(32));
        let types = [ty, Type::bool()];
        self.push_with(Op::Shuffle, &[everyone, x, lane, width], Attr::Shuffle(mode), &[], &types)[0]
    }

    /// What another lane holds, the first one unless said.
    pub(super) fn of_lane(&mut self, everyone: Value, x: Value, lane: Option<Value>) -> Value {
        let lane = lane.unwrap_or_else(|| self.number32(0));
        self.shuffle(ShuffleMode::Index, everyone, x, lane)
    }

    /// The largest of a warp's numbers.
    pub(super) fn largest(&mut self, everyone: Value, x: Value) -> Value {
        let mut largest = x;
        for distance in [16, 8, 4, 2, 1] {
            let distance = self.number32(distance);
            let other = self.shuffle(ShuffleMode::Xor, everyone, largest, distance);
            largest = self.binary(Op::Max, largest, other);
        }
        largest
    }

    /// Where the range of a lane starts that has one: an index that can be read.
    pub(super) fn nonempty_start(&mut self, everyone: Value, lo: Value, n: Value) -> Value {
        let zero = self.number(0);
        let is_any = self.add(Op::Gt, &[n, zero], Type::bool());
        let lanes = self.vote(VoteMode::Ballot, everyone, is_any);
        let first = self.add(Op::TrailingZeros, &[lanes], Type::scalar(Scalar::U32));
        let first = self.cast(first, Type::i32());
        self.of_lane(everyone, lo, Some(first))
    }
}
