//! The kernel for blocks that stay: shared arrays, the walk over all threads of the launch, and what comes after.

use super::{Sum, capacity};
use crate::copy::Copies;
use crate::exits::all;
use crate::replace::Replacements;
use diagnostics::Span;
use ir::op::Effect;
use ir::{AtomicOp, Attr, Builder, Const, Function, InstId, Op, RegionId, Scalar, Type, Value};

/// The number of a thread of the launch, and its index along each dimension.
#[derive(Clone)]
struct Place {
    number: Value,
    index: Vec<Value>,
}

pub(super) struct Emit<'f> {
    pub(super) b: Builder<'f>,
    rank: u32,
    /// Threads along each dimension of the launch.
    extents: Vec<Value>,
    /// What the kernel did for one thread, and its indices there.
    insts: Vec<InstId>,
    index: Vec<Value>,
}

impl<'f> Emit<'f> {
    pub(super) fn new(func: &'f mut Function, rank: u32, sums: &[Sum]) -> Emit<'f> {
        let body = func.body;
        sums.iter().for_each(|sum| number_elements(func, sum));
        let index = collect_indices(func, rank);
        let mut insts = std::mem::take(&mut func.regions[body.index()].insts);
        insts.pop();
        let mut b = Builder::new(func);
        let extents = (0..rank).map(|dim| position(&mut b, Op::LaunchExtent, dim)).collect();
        Emit { b, rank, extents, insts, index }
    }

    pub(super) fn kernel(mut self, sums: &[Sum], n_at_a_time: usize) {
        let thread = position(&mut self.b, Op::ThreadIndex, 0);
        let n_threads = position(&mut self.b, Op::BlockExtent, 0);
        let sizes: Vec<Value> = sums.iter().map(|sum| self.size(sum)).collect();
        let shared: Vec<Value> = sums.iter().map(|sum| self.shared_array(sum, sums.len())).collect();
        for ((sum, &size), &shared) in sums.iter().zip(&sizes).zip(&shared) {
            self.walk(thread, size, n_threads, |this, at| {
                let start = this.start(sum);
                this.b.store(shared, &[at], &[], &[], start);
            });
        }
        self.b.push(Op::Barrier, &[], Attr::None, &[], &[]);
        for (sum, &shared) in sums.iter().zip(&shared) {
            self.redirect(sum, shared);
        }
        self.threads(thread, n_threads, n_at_a_time);
        self.b.push(Op::Barrier, &[], Attr::None, &[], &[]);
        for ((sum, &size), &shared) in sums.iter().zip(&sizes).zip(&shared) {
            self.walk(thread, size, n_threads, |this, at| this.join(sum, shared, at));
        }
        self.b.ret(&[]);
    }

    pub(super) fn number(&mut self, value: i128) -> Value {
        self.b.int(Scalar::I64, value)
    }

    // ---- arrays

    fn size(&mut self, sum: &Sum) -> Value {
        let mut size = self.b.extent(sum.array, 0);
        for dim in 1..sum.rank {
            let extent = self.b.extent(sum.array, dim);
            size = self.b.binary(Op::Mul, size, extent);
        }
        size
    }

    fn shared_array(&mut self, sum: &Sum, n_sums: usize) -> Value {
        let extents = Attr::Extents([capacity(sum.elem, n_sums)].into());
        self.b.push1(Op::SharedArray, &[], extents, Type::array(sum.elem, 1))
    }

    /// What leaves every operand as it is.
    fn start(&mut self, sum: &Sum) -> Value {
        let scalar = sum.elem.element().unwrap_or(Scalar::I32);
        let (least, most) =
            if scalar == Scalar::I32 { (i32::MIN.into(), i32::MAX.into()) } else { (0, u32::MAX.into()) };
        let start = match sum.op {
            AtomicOp::Add if scalar.is_float() => self.b.float(scalar, -0.0),
            AtomicOp::Min => self.b.int(scalar, most),
            AtomicOp::Max => self.b.int(scalar, least),
            AtomicOp::And => self.b.constant(scalar, Const(u32::MAX.into())),
            _ => self.b.int(scalar, 0),
        };
        if sum.elem.is_composite() { self.b.splat(sum.elem, start) } else { start }
    }

    /// The kernel's atomics on the array itself become ones on the block's.
    fn redirect(&mut self, sum: &Sum, shared: Value) {
        for &id in &sum.atomics {
            self.b.func.insts[id.index()].operands[0] = shared;
        }
    }

    /// Joins an element of a block's part with the array.
    fn join(&mut self, sum: &Sum, shared: Value, at: Value) {
        let part = self.b.load(shared, &[at], &[], &[]);
        let extents: Vec<Value> = (0..sum.rank).map(|dim| self.b.extent(sum.array, dim)).collect();
        let indices = split(&mut self.b, at, &extents);
        if sum.elem.is_composite() {
            self.b.atomic(sum.op, sum.array, &indices, &[], &[], part);
            return;
        }
        let start = self.start(sum);
        let is_touched = self.differs(part, start);
        let add = |this: &mut Self| {
            this.b.atomic(sum.op, sum.array, &indices, &[], &[], part);
        };
        self.branch(is_touched, add, None);
    }

    /// Whether bits differ.
    pub(super) fn differs(&mut self, x: Value, y: Value) -> Value {
        let [x, y] = [x, y].map(|value| match self.b.ty(value).as_scalar() {
            Some(Scalar::F32) => self.b.push1(Op::Bitcast, &[value], Attr::None, Type::scalar(Scalar::U32)),
            Some(Scalar::F64) => self.b.push1(Op::Bitcast, &[value], Attr::None, Type::scalar(Scalar::U64)),
            _ => value,
        });
        self.b.compare(Op::Ne, x, y)
    }

    // ---- loops

    /// A loop from `first` to before `end`.
    pub(super) fn walk(&mut self, first: Value, end: Value, step: Value, fill: impl FnOnce(&mut Self, Value)) {
        let body = self.b.func.add_region(&[Type::i64()]);
        let at = self.b.region_param(body, 0);
        let around = self.b.enter(body);
        self.leave_unless_below(at, end, &[]);
        fill(self, at);
        let next = self.b.binary(Op::Add, at, step);
        self.b.continue_(&[next]);
        self.b.enter(around);
        self.b.push(Op::Loop, &[first], Attr::None, &[body], &[]);
    }

    fn leave_unless_below(&mut self, at: Value, end: Value, results: &[Value]) {
        let goes_on = self.b.compare(Op::Lt, at, end);
        self.branch(goes_on, |_| {}, Some(results));
    }

    /// `if condition { fill }`; else the loop around ends with what `leaves` says, if it does.
    pub(super) fn branch(&mut self, condition: Value, fill: impl FnOnce(&mut Self), leaves: Option<&[Value]>) {
        let (then, other) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
        let around = self.b.enter(then);
        fill(self);
        self.b.yield_(&[]);
        self.b.enter(other);
        match leaves {
            Some(results) => self.b.break_(results),
            None => self.b.yield_(&[]),
        }
        self.b.enter(around);
        self.b.push(Op::If, &[condition], Attr::None, &[then, other], &[]);
    }

    /// What the kernel does for all threads of the launch.
    pub(super) fn threads(&mut self, thread: Value, n_threads: Value, n_at_a_time: usize) {
        let (block, n_blocks) = (position(&mut self.b, Op::BlockIndex, 0), position(&mut self.b, Op::GridExtent, 0));
        let before = self.b.binary(Op::Mul, block, n_threads);
        let first = self.b.binary(Op::Add, before, thread);
        let stride = self.b.binary(Op::Mul, n_blocks, n_threads);
        let extents = self.extents.clone();
        let mut total = extents[0];
        for &extent in &extents[1..] {
            total = self.b.binary(Op::Mul, total, extent);
        }
        let step = Place { number: stride, index: split(&mut self.b, stride, &extents) };
        let mut place = Place { number: first, index: split(&mut self.b, first, &extents) };
        if n_at_a_time > 1 {
            let others = self.number(n_at_a_time as i128 - 1);
            let ahead = self.b.binary(Op::Mul, stride, others);
            let end = self.b.binary(Op::Sub, total, ahead);
            place = self.rounds(&place, end, &step, n_at_a_time);
        }
        self.rounds(&place, total, &step, 1);
    }

    /// A loop over `n` indices a round; gives the first that is left.
    fn rounds(&mut self, first: &Place, end: Value, step: &Place, n: usize) -> Place {
        let types = vec![Type::i64(); self.carried(first).len()];
        let body = self.b.func.add_region(&types);
        let params = self.b.func.region(body).params.clone();
        let around = self.b.enter(body);
        self.leave_unless_below(params[0], end, &params);
        let mut place = self.place(&params);
        let mut copies = Vec::new();
        for _ in 0..n {
            let mut one = Copies::default();
            for (&old, &new) in self.index.iter().zip(&place.index) {
                one.set(old, new);
            }
            copies.push(one);
            place = self.advance(&place, step);
        }
        let insts = self.insts.clone();
        self.together(&insts, &mut copies);
        let next = self.carried(&place);
        self.b.continue_(&next);
        self.b.enter(around);
        let found = self.b.push(Op::Loop, &self.carried(first), Attr::None, &[body], &types);
        let results = self.b.func.inst(found).results.to_vec();
        self.place(&results)
    }

    /// What a loop carries of a place: in one dimension the number is the index.
    fn carried(&self, place: &Place) -> Vec<Value> {
        if self.rank == 1 { vec![place.number] } else { [&[place.number], &place.index[..]].concat() }
    }

    fn place(&self, carried: &[Value]) -> Place {
        Place { number: carried[0], index: carried[usize::from(self.rank > 1)..].to_vec() }
    }

    /// The place that is `step` further: indices are added digit by digit.
    fn advance(&mut self, place: &Place, step: &Place) -> Place {
        let number = self.b.binary(Op::Add, place.number, step.number);
        if self.rank == 1 {
            return Place { number, index: vec![number] };
        }
        let (zero, one) = (self.number(0), self.number(1));
        let (mut index, mut carry) = (place.index.clone(), zero);
        for dim in (0..index.len()).rev() {
            let sum = self.b.binary(Op::Add, place.index[dim], step.index[dim]);
            let sum = self.b.binary(Op::Add, sum, carry);
            index[dim] = sum;
            if dim > 0 {
                let extent = self.extents[dim];
                let is_over = self.b.compare(Op::Ge, sum, extent);
                let rest = self.b.binary(Op::Sub, sum, extent);
                index[dim] = self.b.select(is_over, rest, sum);
                carry = self.b.select(is_over, one, zero);
            }
        }
        Place { number, index }
    }

    /// Copies instructions for several threads: first what reads, of all, then what writes, one by one. Where a branch
    /// decides whether there is anything to do, those that all take it go through it together.
    fn together(&mut self, insts: &[InstId], copies: &mut [Copies]) {
        let writes = |&id: &InstId| {
            let inst = self.b.func.inst(id);
            let is_write = |id: &InstId| self.b.func.inst(*id).op.effect() == Effect::Write;
            is_write(&id) || inst.regions.iter().any(|&region| all(self.b.func, region, |_| true).iter().any(is_write))
        };
        let first_write = insts.iter().position(writes).unwrap_or(insts.len());
        let (reads, mut writes) = insts.split_at(first_write);
        for &id in reads {
            copies.iter_mut().for_each(|one| self.copy(id, one));
        }
        if let [branch, rest @ ..] = writes
            && copies.len() > 1
            && let Some(then) = self.guarded(*branch)
        {
            writes = rest;
            let condition = self.b.func.inst(*branch).operands[0];
            let conditions: Vec<Value> = copies.iter().map(|one| one.get(condition)).collect();
            let mut all_go = conditions[0];
            for &other in &conditions[1..] {
                all_go = self.b.binary(Op::And, all_go, other);
            }
            let (fast, slow) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
            let around = self.b.enter(fast);
            self.together(&then, copies);
            self.b.yield_(&[]);
            self.b.enter(slow);
            copies.iter_mut().for_each(|one| self.copy(*branch, one));
            self.b.yield_(&[]);
            self.b.enter(around);
            self.b.push(Op::If, &[all_go], Attr::None, &[fast, slow], &[]);
        }
        for one in copies {
            for &id in writes {
                self.copy(id, one);
            }
        }
    }

    fn copy(&mut self, id: InstId, copies: &mut Copies) {
        let copy = copies.inst(self.b.func, id);
        let region = self.b.region();
        self.b.func.regions[region.index()].insts.push(copy);
    }

    /// What an `if` without results runs where its condition holds, if it does nothing else.
    fn guarded(&self, id: InstId) -> Option<Vec<InstId>> {
        let inst = self.b.func.inst(id);
        let insts = |region: RegionId| &self.b.func.region(region).insts;
        match (inst.op, &inst.regions[..]) {
            (Op::If, &[then, other]) if inst.results.is_empty() && insts(other).len() == 1 => {
                insts(then).split_last().map(|(_, insts)| insts.to_vec())
            }
            _ => None,
        }
    }
}

pub(super) fn position(b: &mut Builder<'_>, op: Op, dim: u32) -> Value {
    b.push1(op, &[], Attr::Index(dim), Type::i64())
}

/// The index of element `at` along each dimension, row by row.
fn split(b: &mut Builder<'_>, at: Value, extents: &[Value]) -> Vec<Value> {
    let (mut index, mut rest) = (vec![at; extents.len()], at);
    for dim in (1..extents.len()).rev() {
        index[dim] = b.binary(Op::Rem, rest, extents[dim]);
        rest = b.binary(Op::Div, rest, extents[dim]);
    }
    index[0] = rest;
    index
}

/// Has the kernel know one value for its thread's index along each dimension: whoever copies its instructions says what
/// that is.
fn collect_indices(func: &mut Function, rank: u32) -> Vec<Value> {
    let listed = all(func, func.body, |op| op == Op::Tid);
    let mut replacements = Replacements::default();
    let mut index = Vec::new();
    for dim in 0..rank {
        let id = func.add_inst(Op::Tid, &[], Attr::Index(dim), &[], &[Type::i64()], Span::NONE);
        index.push(func.inst(id).result());
    }
    for &id in &listed {
        if let Attr::Index(dim) = func.inst(id).attr
            && let Some(&by) = index.get(dim as usize)
        {
            replacements.set(func.inst(id).result(), by);
        }
    }
    for region in 0..func.regions.len() {
        func.regions[region].insts.retain(|id| !listed.contains(id));
    }
    replacements.apply(func);
    index
}

/// Gives the atomics on an array of several dimensions the element's number in place of its indices.
fn number_elements(func: &mut Function, sum: &Sum) {
    if sum.rank == 1 {
        return;
    }
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        for id in insts {
            if sum.atomics.contains(&id) {
                let operands = func.inst(id).operands.clone();
                let mut b = Builder::new(func);
                b.enter(RegionId(region as u32));
                let mut number = operands[1];
                for dim in 1..sum.rank {
                    let extent = b.extent(sum.array, dim);
                    let row = b.binary(Op::Mul, number, extent);
                    number = b.binary(Op::Add, row, operands[1 + dim as usize]);
                }
                let rest = &operands[1 + sum.rank as usize..];
                func.insts[id.index()].operands = [&[sum.array, number], rest].concat().into();
            }
            func.regions[region].insts.push(id);
        }
    }
}
