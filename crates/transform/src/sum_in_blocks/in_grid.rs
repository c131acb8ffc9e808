//! Sums that all threads of a launch add to, in an order that depends on the launch alone, for GPUs.
//!
//! In: a kernel over threads, and the rank of its launches. Out: the same for blocks that are there all the time, with ops
//! over blocks, and more parameters: for each of `analysis::LaunchSums` an array with an element for each block, and in the
//! end an array with one u32, zero. Each thread adds to an element of shared memory of its own; a block adds up its threads'
//! and leaves that in the array; the block that comes last adds up all of them and adds that to the place.
//!
//! ```text
//! v3: f32 = atomic add v1[v2], v0    ->    t = shared_array, -0 in each; for i = this thread to all threads step the grid
//!                                            { t[thread] = t[thread] + v0 }
//!                                          barrier; p[block] = t[0] + t[1] + …; fence; n = atomic add ticket[0], 1
//!                                          in the block with the last n: atomic add v1[v2], p[0] + p[1] + …
//! ```
//!
//! Legal where the arrays with sums share memory with no other of the launch.

use super::emit::{Emit, position};
use crate::Changed;
use crate::unify_returns;
use analysis::LaunchSums;
use diagnostics::Span;
use ir::op::FenceScope;
use ir::{AtomicOp, Attr, Builder, Function, Inst, InstId, Op, Param, PathElem, RegionId, Scalar, Type, Value};

/// Bytes of shared memory that a block has for its sums.
const MAX_BYTES: u64 = 32 << 10;

/// One of the sums.
struct GridSum {
    /// What an atomic adds at a time.
    ty: Type,
    array: Value,
    place: Vec<Value>,
    path: Box<[PathElem]>,
    /// An element for each thread of a block, and one for each block.
    own: Value,
    kept: Value,
}

/// The types of the elements that each block of `n_threads` keeps, one of each sum; none where blocks cannot add up the
/// kernel's sums so.
pub fn grid_sums(func: &Function, n_threads: u32) -> Vec<Type> {
    let sums = LaunchSums::of(func);
    let sites = sites(func, &sums);
    let types: Vec<Type> = sites.iter().filter_map(|ids| Some(func.ty(func.inst(*ids.first()?).result()))).collect();
    if types.iter().map(|ty| ty.size()).sum::<u64>() * u64::from(n_threads) > MAX_BYTES || !super::may_sum(func) {
        return Vec::new();
    }
    types
}

/// For blocks of `n_threads`.
pub fn sum_in_grid(func: &mut Function, rank: u32, n_threads: u32) -> Changed {
    let types = grid_sums(func, n_threads);
    if types.is_empty() {
        return Changed(false);
    }
    let _ = unify_returns(func);
    if func.terminator(func.body).is_none_or(|end| func.inst(end).op != Op::Return) {
        return Changed(false);
    }
    let sites = sites(func, &LaunchSums::of(func));
    let thread = func.add_inst(Op::ThreadIndex, &[], Attr::Index(0), &[], &[Type::i64()], Span::NONE);
    let mut first = vec![thread];
    let mut sums = Vec::new();
    for (ids, &ty) in sites.iter().zip(&types) {
        let extents = Attr::Extents([n_threads.into()].into());
        let own = func.add_inst(Op::SharedArray, &[], extents, &[], &[Type::array(ty, 1)], Span::NONE);
        first.push(own);
        let inst = func.inst(ids[0]).clone();
        let (own, kept) = (func.inst(own).result(), parameter(func, "kept", ty));
        let place = inst.operands[1..inst.operands.len() - 1].to_vec();
        sums.push(GridSum { ty, array: inst.operands[0], place, path: inst.path().into(), own, kept });
    }
    let ticket = parameter(func, "ticket", Type::scalar(Scalar::U32));
    let thread = func.inst(thread).result();
    for (ids, sum) in sites.iter().zip(&sums) {
        add_to_own(func, ids, sum.own, thread);
    }
    let emit = Emit::new(func, rank.max(1), &[]);
    let body = emit.b.region();
    emit.b.func.regions[body.index()].insts.extend(first);
    Grid { emit, thread, ticket }.kernel(&sums);
    Changed(true)
}

/// The instructions that add to each sum.
fn sites(func: &Function, sums: &LaunchSums) -> Vec<Vec<InstId>> {
    let mut found = vec![Vec::new(); sums.sums.len()];
    for &id in func.regions.iter().flat_map(|region| &region.insts) {
        if let Some(sum) = sums.sum_of(func, func.inst(id)) {
            found[sum].push(id);
        }
    }
    found
}

fn parameter(func: &mut Function, name: &str, elem: Type) -> Value {
    let ty = Type::array(elem, 1);
    func.params.push(Param { name: name.into(), ty });
    func.add_region_param(func.body, ty)
}

/// An atomic addition becomes one to the thread's own element, which nobody else touches.
fn add_to_own(func: &mut Function, ids: &[InstId], own: Value, thread: Value) {
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        for id in insts {
            if !ids.contains(&id) {
                func.regions[region].insts.push(id);
                continue;
            }
            let Inst { operands, attr, span, .. } = func.inst(id).clone();
            let mut b = Builder::new(func);
            b.span = span;
            b.enter(RegionId(region as u32));
            let old = b.load(own, &[thread], &[], &[]);
            let is_sub = matches!(attr, Attr::Atomic(AtomicOp::Sub, _));
            let new = b.binary(if is_sub { Op::Sub } else { Op::Add }, old, operands[operands.len() - 1]);
            b.store(own, &[thread], &[], &[], new);
        }
    }
}

struct Grid<'f> {
    emit: Emit<'f>,
    thread: Value,
    ticket: Value,
}

impl Grid<'_> {
    fn kernel(mut self, sums: &[GridSum]) {
        let thread = self.thread;
        let n_threads = position(&mut self.emit.b, Op::BlockExtent, 0);
        let (block, n_blocks) =
            (position(&mut self.emit.b, Op::BlockIndex, 0), position(&mut self.emit.b, Op::GridExtent, 0));
        let is_last = self.emit.b.push1(Op::SharedArray, &[], Attr::Extents([1].into()), Type::array(Type::i32(), 1));
        self.start(sums);
        self.emit.threads(thread, n_threads, 1);
        self.add_up_block(sums, n_threads);
        let (zero, one) = (self.emit.number(0), self.emit.b.int(Scalar::U32, 1));
        self.alone(|grid| {
            for sum in sums {
                let part = grid.emit.b.load(sum.own, &[zero], &[], &[]);
                grid.emit.b.store(sum.kept, &[block], &[], &[], part);
            }
            grid.fence();
            let before = grid.emit.b.atomic(AtomicOp::Add, grid.ticket, &[zero], &[], &[], one);
            let after = grid.emit.b.binary(Op::Add, before, one);
            let after = grid.emit.b.cast(after, Scalar::I64);
            let comes_last = grid.emit.b.compare(Op::Eq, after, n_blocks);
            let comes_last = grid.emit.b.cast(comes_last, Scalar::I32);
            grid.emit.b.store(is_last, &[zero], &[], &[], comes_last);
            grid.fence();
        });
        self.barrier();
        // In all other blocks the loop has no rounds: every thread comes to every barrier.
        let comes_last = self.emit.b.load(is_last, &[zero], &[], &[]);
        let comes_last = self.emit.b.cast(comes_last, Scalar::I64);
        let n_kept = self.emit.b.binary(Op::Mul, comes_last, n_blocks);
        self.start(sums);
        self.emit.walk(thread, n_kept, n_threads, |emit, at| {
            for sum in sums {
                let part = emit.b.load(sum.kept, &[at], &[], &[]);
                add(emit, sum, thread, part);
            }
        });
        self.add_up_block(sums, n_threads);
        self.alone(|grid| sums.iter().for_each(|sum| grid.add_to_place(sum)));
        self.emit.b.ret(&[]);
    }

    /// -0 in the thread's own elements: it changes no sum.
    fn start(&mut self, sums: &[GridSum]) {
        for sum in sums {
            let none = none(&mut self.emit, sum.ty);
            self.emit.b.store(sum.own, &[self.thread], &[], &[], none);
        }
    }

    /// Leaves the sum of all threads' elements in the first: every 32nd by each of 32 threads, then those by one.
    fn add_up_block(&mut self, sums: &[GridSum], n_threads: Value) {
        let (thread, width) = (self.thread, self.emit.number(32));
        let one = self.emit.number(1);
        self.barrier();
        let second = self.emit.b.binary(Op::Add, thread, width);
        let is_first = self.emit.b.compare(Op::Lt, thread, width);
        let n = self.emit.number(0);
        let n = self.emit.b.select(is_first, n_threads, n);
        self.gather(sums, second, n, width);
        self.barrier();
        let n = self.emit.b.binary(Op::Min, n_threads, width);
        self.alone(|grid| grid.gather(sums, one, n, one));
        self.barrier();
    }

    /// Adds the elements from `first` on to the thread's own.
    fn gather(&mut self, sums: &[GridSum], first: Value, end: Value, step: Value) {
        let thread = self.thread;
        self.emit.walk(first, end, step, |emit, at| {
            for sum in sums {
                let part = emit.b.load(sum.own, &[at], &[], &[]);
                add(emit, sum, thread, part);
            }
        });
    }

    /// What the first thread of the block does.
    fn alone(&mut self, fill: impl FnOnce(&mut Self)) {
        let zero = self.emit.number(0);
        let is_first = self.emit.b.compare(Op::Eq, self.thread, zero);
        let (then, other) = (self.emit.b.func.add_region(&[]), self.emit.b.func.add_region(&[]));
        let around = self.emit.b.enter(then);
        fill(self);
        self.emit.b.yield_(&[]);
        self.emit.b.enter(other);
        self.emit.b.yield_(&[]);
        self.emit.b.enter(around);
        self.emit.b.push(Op::If, &[is_first], Attr::None, &[then, other], &[]);
    }

    /// What nothing was added to stays as it is; its place may not be there.
    fn add_to_place(&mut self, sum: &GridSum) {
        let zero = self.emit.number(0);
        let total = self.emit.b.load(sum.own, &[zero], &[], &[]);
        let none = none(&mut self.emit, sum.ty);
        let parts = |emit: &mut Emit<'_>, value: Value| match sum.ty.is_composite() {
            true => (0..sum.ty.n_components() as u32).map(|index| emit.b.extract(value, index)).collect(),
            false => vec![value],
        };
        let (totals, nones) = (parts(&mut self.emit, total), parts(&mut self.emit, none));
        let mut is_any = self.emit.b.bool(false);
        for (x, y) in totals.into_iter().zip(nones) {
            let differs = self.emit.differs(x, y);
            is_any = self.emit.b.binary(Op::Or, is_any, differs);
        }
        self.emit.branch(
            is_any,
            |emit| {
                let operands: Vec<Value> = sum.place.iter().map(|&index| again(&mut emit.b, index)).collect();
                let operands = [&[sum.array], &operands[..], &[total]].concat();
                emit.b.push(Op::Atomic, &operands, Attr::Atomic(AtomicOp::Add, sum.path.clone()), &[], &[sum.ty]);
            },
            None,
        );
    }

    fn barrier(&mut self) {
        self.emit.b.push(Op::Barrier, &[], Attr::None, &[], &[]);
    }

    fn fence(&mut self) {
        self.emit.b.push(Op::Fence, &[], Attr::Scope(FenceScope::Device), &[], &[]);
    }
}

fn add(emit: &mut Emit<'_>, sum: &GridSum, thread: Value, part: Value) {
    let old = emit.b.load(sum.own, &[thread], &[], &[]);
    let new = emit.b.binary(Op::Add, old, part);
    emit.b.store(sum.own, &[thread], &[], &[], new);
}

fn none(emit: &mut Emit<'_>, ty: Type) -> Value {
    let none = emit.b.float(ty.element().unwrap_or(Scalar::F32), -0.0);
    if ty.is_composite() { emit.b.splat(ty, none) } else { none }
}

/// Computes an index of a place once more.
fn again(b: &mut Builder<'_>, index: Value) -> Value {
    let ir::ValueDef::Result(id, _) = b.func.def(index) else { return index };
    let Inst { op, operands, attr, .. } = b.func.inst(id).clone();
    let operands: Vec<Value> = operands.iter().map(|&operand| again(b, operand)).collect();
    let ty = b.func.ty(index);
    b.push1(op, &operands, attr, ty)
}
