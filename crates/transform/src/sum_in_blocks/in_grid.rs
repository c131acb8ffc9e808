//! Sums that all threads of a launch add to, in an order that depends on the launch alone, for GPUs.
//!
//! In: a kernel over threads, and the rank of its launches. Out: the same for blocks that are there all the time, of whole
//! warps, with ops over blocks, and more parameters: for each of `analysis::LaunchSums` an array with an element for each
//! block, and in the end an array with one u32, zero before and after. Each thread adds to a number of its own; a block adds up
//! its threads' in warps and leaves that in the array; the block that comes last adds up all of them and adds that to the
//! place. A block that is alone does so at once.
//!
//! ```text
//! v3: f32 = atomic add v1[v2], v0    ->    t = -0; for i = this thread to all threads step the grid { t = t + v0 }
//!                                          p[block] = t of all threads; fence; n = atomic add ticket[0], 1
//!                                          in the block with the last n: t = p[thread] + p[thread + threads] + …;
//!                                          atomic add v1[v2], t of all threads; ticket[0] = 0
//! ```
//!
//! Legal where the arrays with sums share memory with no other of the launch.

use super::at_a_time;
use super::emit::{Emit, position};
use crate::exits::all;
use crate::sum_in_warps::in_warp;
use crate::unify_returns;
use analysis::LaunchSums;
use diagnostics::Span;
use ir::op::FenceScope;
use ir::{AtomicOp, Attr, Builder, Function, Inst, InstId, Op, Param, PathElem, RegionId, Scalar, Type, Value};

/// Scalars that a kernel's sums may have: each takes ten shuffles, and registers all the time.
const MAX_SCALARS: usize = 32;

/// Threads of a warp, and most warps of a block.
const WARP: u32 = 32;

/// One of the sums.
struct GridSum {
    /// What an atomic adds at a time.
    ty: Type,
    array: Value,
    place: Vec<Value>,
    path: Box<[PathElem]>,
    /// The thread's own, an element for each warp of the block, and one for each block.
    own: Value,
    of_warps: Value,
    kept: Value,
}

/// The types of the elements that each block keeps, one of each sum; none where blocks cannot add up the kernel's sums so,
/// and where there are sums of integers alone, which are the same in any order.
pub fn grid_sums(func: &Function) -> Vec<Type> {
    let sums = LaunchSums::of_numbers(func);
    if sums.sums.is_empty() || !super::may_sum(func) {
        return Vec::new();
    }
    let is_exact = sums.sums.iter().flat_map(|sum| &sum.leaves).all(|(_, scalar)| scalar.is_int());
    if is_exact {
        return Vec::new();
    }
    let sites = sites(func, &sums);
    let types: Vec<Type> = sites.iter().filter_map(|ids| Some(func.ty(func.inst(*ids.first()?).result()))).collect();
    if types.iter().map(|ty| ty.n_leaves()).sum::<usize>() > MAX_SCALARS { Vec::new() } else { types }
}

/// For blocks of `n_threads`, a multiple of 32. Says how many of the launch's threads each of theirs takes at a time; none
/// where the kernel is left as it is.
pub fn sum_in_grid(func: &mut Function, rank: u32, n_threads: u32) -> Option<u32> {
    let types = grid_sums(func);
    if types.is_empty() || !n_threads.is_multiple_of(WARP) {
        return None;
    }
    let _ = unify_returns(func);
    if func.terminator(func.body).is_none_or(|end| func.inst(end).op != Op::Return) {
        return None;
    }
    let insts = all(func, func.body, |_| true);
    let n_at_a_time = at_a_time(func, &insts);
    let sites = sites(func, &LaunchSums::of_numbers(func));
    let thread = func.add_inst(Op::ThreadIndex, &[], Attr::Index(0), &[], &[Type::i64()], Span::NONE);
    let mut first = vec![thread];
    let mut sums = Vec::new();
    for (ids, &ty) in sites.iter().zip(&types) {
        let mut array = |op: Op, n: u32| {
            let made = func.add_inst(op, &[], Attr::Extents([n.into()].into()), &[], &[Type::array(ty, 1)], Span::NONE);
            first.push(made);
            func.inst(made).result()
        };
        let (own, of_warps) = (array(Op::LocalArray, 1), array(Op::SharedArray, n_threads / WARP));
        let inst = func.inst(ids[0]).clone();
        let kept = parameter(func, "kept", ty);
        let place = inst.operands[1..inst.operands.len() - 1].to_vec();
        sums.push(GridSum { ty, array: inst.operands[0], place, path: inst.path().into(), own, of_warps, kept });
    }
    let ticket = parameter(func, "ticket", Type::scalar(Scalar::U32));
    let thread = func.inst(thread).result();
    let mut emit = Emit::new(func, rank.max(1), &[]);
    let body = emit.b.region();
    emit.b.func.regions[body.index()].insts.extend(first);
    let zero = emit.number(0);
    for (ids, sum) in sites.iter().zip(&sums) {
        for id in ids {
            // Still an atomic, which stays behind what is read for several threads at a time.
            let inst = &mut emit.b.func.insts[id.index()];
            let value = inst.operands[inst.operands.len() - 1];
            inst.operands = [sum.own, zero, value].into_iter().collect();
            if let Attr::Atomic(op, _) = inst.attr {
                inst.attr = Attr::Atomic(op, [].into());
            }
        }
    }
    Grid { emit, thread, zero, ticket, n_threads }.kernel(&sums, n_at_a_time);
    let owns: Vec<Value> = sums.iter().map(|sum| sum.own).collect();
    add_to_own(func, &owns);
    Some(n_at_a_time as u32)
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

/// Atomic additions to what nobody else touches become plain ones.
fn add_to_own(func: &mut Function, owns: &[Value]) {
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        for id in insts {
            let Inst { op, operands, attr, span, .. } = func.inst(id).clone();
            if op != Op::Atomic || !owns.contains(&operands[0]) {
                func.regions[region].insts.push(id);
                continue;
            }
            let (own, place, part) = (operands[0], operands[1], operands[2]);
            let mut b = Builder::new(func);
            b.span = span;
            b.enter(RegionId(region as u32));
            let old = b.load(own, &[place], &[], &[]);
            let is_sub = matches!(attr, Attr::Atomic(AtomicOp::Sub, _));
            let new = b.binary(if is_sub { Op::Sub } else { Op::Add }, old, part);
            b.store(own, &[place], &[], &[], new);
        }
    }
}

struct Grid<'f> {
    emit: Emit<'f>,
    thread: Value,
    zero: Value,
    ticket: Value,
    n_threads: u32,
}

impl Grid<'_> {
    fn kernel(mut self, sums: &[GridSum], n_at_a_time: usize) {
        let (thread, zero) = (self.thread, self.zero);
        let n_threads = self.emit.number(self.n_threads.into());
        let (block, n_blocks) =
            (position(&mut self.emit.b, Op::BlockIndex, 0), position(&mut self.emit.b, Op::GridExtent, 0));
        let is_last = self.emit.b.push1(Op::SharedArray, &[], Attr::Extents([1].into()), Type::array(Type::i32(), 1));
        let one = self.emit.number(1);
        let is_alone = self.emit.b.compare(Op::Eq, n_blocks, one);
        let is_one_of_many = self.emit.b.compare(Op::Ne, n_blocks, one);
        self.start(sums);
        self.emit.threads(thread, n_threads, n_at_a_time);
        self.add_up_block(sums);
        self.by_first(|grid| {
            let none = grid.emit.b.int(Scalar::I32, 0);
            grid.emit.b.store(is_last, &[zero], &[], &[], none);
            grid.only_if(is_alone, |grid| sums.iter().for_each(|sum| grid.add_to_place(sum)));
            grid.only_if(is_one_of_many, |grid| grid.keep(sums, block, n_blocks, is_last));
        });
        self.barrier();
        // In all other blocks the loop has no rounds: every thread comes to every barrier.
        let comes_last = self.emit.b.load(is_last, &[zero], &[], &[]);
        let none = self.emit.b.int(Scalar::I32, 0);
        let resets = self.emit.b.compare(Op::Ne, comes_last, none);
        let comes_last = self.emit.b.cast(comes_last, Scalar::I64);
        let n_kept = self.emit.b.binary(Op::Mul, comes_last, n_blocks);
        self.start(sums);
        self.emit.walk(thread, n_kept, n_threads, |emit, at| {
            for sum in sums {
                let part = emit.b.load(sum.kept, &[at], &[], &[]);
                let old = emit.b.load(sum.own, &[zero], &[], &[]);
                let new = emit.b.binary(Op::Add, old, part);
                emit.b.store(sum.own, &[zero], &[], &[], new);
            }
        });
        self.add_up_block(sums);
        self.by_first(|grid| {
            sums.iter().for_each(|sum| grid.add_to_place(sum));
            grid.only_if(resets, |grid| {
                let none = grid.emit.b.int(Scalar::U32, 0);
                grid.emit.b.store(grid.ticket, &[zero], &[], &[], none);
            });
        });
        self.emit.b.ret(&[]);
    }

    /// -0, or an integer's 0, in the thread's own number: it changes no sum.
    fn start(&mut self, sums: &[GridSum]) {
        for sum in sums {
            let none = none(&mut self.emit, sum.ty);
            self.emit.b.store(sum.own, &[self.zero], &[], &[], none);
        }
    }

    /// Leaves the sum of all threads' own numbers in that of the first: each warp's sum, then that of the warps.
    fn add_up_block(&mut self, sums: &[GridSum]) {
        let (thread, zero) = (self.thread, self.zero);
        let [width, n_warps] = [WARP, self.n_threads / WARP].map(|n| self.emit.number(n.into()));
        let (warp, lane) = (self.emit.b.binary(Op::Div, thread, width), self.emit.b.binary(Op::Rem, thread, width));
        let is_first_lane = self.emit.b.compare(Op::Eq, lane, zero);
        self.add_up_warp(sums);
        self.only_if(is_first_lane, |grid| {
            for sum in sums {
                let total = grid.emit.b.load(sum.own, &[zero], &[], &[]);
                grid.emit.b.store(sum.of_warps, &[warp], &[], &[], total);
            }
        });
        self.barrier();
        let is_first_warp = self.emit.b.compare(Op::Lt, thread, width);
        let has_part = self.emit.b.compare(Op::Lt, thread, n_warps);
        self.only_if(is_first_warp, |grid| {
            grid.start(sums);
            grid.only_if(has_part, |grid| {
                for sum in sums {
                    let part = grid.emit.b.load(sum.of_warps, &[thread], &[], &[]);
                    grid.emit.b.store(sum.own, &[zero], &[], &[], part);
                }
            });
            grid.add_up_warp(sums);
        });
    }

    fn add_up_warp(&mut self, sums: &[GridSum]) {
        let all_lanes = self.emit.b.int(Scalar::U32, u32::MAX.into());
        for sum in sums {
            let part = self.emit.b.load(sum.own, &[self.zero], &[], &[]);
            let total = in_warp(&mut self.emit.b, Op::Add, part, all_lanes);
            self.emit.b.store(sum.own, &[self.zero], &[], &[], total);
        }
    }

    /// What the first thread of a block does where there are others: it leaves the block's sums, and notes whether it is
    /// the last to do so.
    fn keep(&mut self, sums: &[GridSum], block: Value, n_blocks: Value, is_last: Value) {
        let zero = self.zero;
        for sum in sums {
            let part = self.emit.b.load(sum.own, &[zero], &[], &[]);
            self.emit.b.store(sum.kept, &[block], &[], &[], part);
        }
        self.fence();
        let one = self.emit.b.int(Scalar::U32, 1);
        let before = self.emit.b.atomic(AtomicOp::Add, self.ticket, &[zero], &[], &[], one);
        let after = self.emit.b.binary(Op::Add, before, one);
        let after = self.emit.b.cast(after, Scalar::I64);
        let comes_last = self.emit.b.compare(Op::Eq, after, n_blocks);
        let comes_last = self.emit.b.cast(comes_last, Scalar::I32);
        self.emit.b.store(is_last, &[zero], &[], &[], comes_last);
        self.fence();
    }

    fn by_first(&mut self, fill: impl FnOnce(&mut Self)) {
        let is_first = self.emit.b.compare(Op::Eq, self.thread, self.zero);
        self.only_if(is_first, fill);
    }

    fn only_if(&mut self, condition: Value, fill: impl FnOnce(&mut Self)) {
        let (then, other) = (self.emit.b.func.add_region(&[]), self.emit.b.func.add_region(&[]));
        let around = self.emit.b.enter(then);
        fill(self);
        self.emit.b.yield_(&[]);
        self.emit.b.enter(other);
        self.emit.b.yield_(&[]);
        self.emit.b.enter(around);
        self.emit.b.push(Op::If, &[condition], Attr::None, &[then, other], &[]);
    }

    /// What nothing was added to stays as it is; its place may not be there.
    fn add_to_place(&mut self, sum: &GridSum) {
        let total = self.emit.b.load(sum.own, &[self.zero], &[], &[]);
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

fn none(emit: &mut Emit<'_>, ty: Type) -> Value {
    let scalar = ty.element().unwrap_or(Scalar::F32);
    let none = if scalar.is_int() { emit.b.int(scalar, 0) } else { emit.b.float(scalar, -0.0) };
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
