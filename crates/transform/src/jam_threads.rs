//! Has each thread of a GPU run two neighbors of the launch, so that what both read is read once.
//!
//! In: a kernel over threads. Out: the same for every second thread along `dim`, with the work of the next one in it:
//! loops that all threads run alike are run once for both, all else once for each, and what depends on no thread once.
//!
//! ```text
//! for j … with (a = x) {            ->    for j … with (a0 = x0, a1 = x1) {
//!   b = load m[j]                           b = load m[j]
//!   c = sub b, p                            c0 = sub b, p0
//!   d = add a, c                            c1 = sub b, p1
//!   continue d                              d0 = add a0, c0
//! }                                         d1 = add a1, c1
//!                                           continue d0, d1
//!                                         }
//! ```
//!
//! Where there is no second thread, its half computes what the first does, and stores nothing. Each thread keeps the
//! order of its own rounds; that both go on together is one of the orders in which threads may run.
//!
//! Callahan, Carr, Kennedy, "Improving register allocation for subscripted variables" (1990), of threads in place of an
//! outer loop's rounds.

mod plan;

use crate::Changed;
use crate::copy::Copies;
use diagnostics::Span;
use ir::{Attr, Const, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value};
use plan::{Plan, Way};

/// Threads of the launch that a thread runs.
pub const WIDTH: u32 = 2;

/// Changes kernels that gain by it. `dim` is the launch's last dimension.
pub fn jam_threads(func: &mut Function, dim: u32) -> Changed {
    let Some(plan) = plan::plan(func, dim) else { return Changed(false) };
    let insts = func.regions[func.body.index()].insts.clone();
    let mut jam = Jam { func, plan: &plan, lanes: Default::default(), indices: [Value(0); 2], is_there: Value(0) };
    let mut out = Vec::new();
    jam.index(dim, &mut out);
    jam.region(&insts, &mut out);
    func.regions[func.body.index()].insts = out;
    Changed(true)
}

/// Whether [`jam_threads`] would change a kernel.
pub fn can_jam(func: &Function, dim: u32) -> bool {
    plan::plan(func, dim).is_some()
}

struct Jam<'f> {
    func: &'f mut Function,
    plan: &'f Plan,
    /// What a value is for each of the two threads.
    lanes: [Copies; 2],
    /// Their numbers along the last dimension.
    indices: [Value; 2],
    /// Whether there is a second thread.
    is_there: Value,
}

impl Jam<'_> {
    fn index(&mut self, dim: u32, out: &mut Vec<InstId>) {
        let mut add = |op, operands: &[Value], attr, ty| {
            let id = self.func.add_inst(op, operands, attr, &[], &[ty], Span::NONE);
            out.push(id);
            self.func.inst(id).result()
        };
        let ty = Type::i64();
        let first = add(Op::Tid, &[], Attr::Index(dim), ty);
        let extent = add(Op::LaunchExtent, &[], Attr::Index(dim), ty);
        let one = add(Op::Const, &[], Attr::Const(Const::int(Scalar::I64, 1)), ty);
        let next = add(Op::Add, &[first, one], Attr::None, ty);
        self.is_there = add(Op::Lt, &[next, extent], Attr::None, Type::bool());
        let second = add(Op::Select, &[self.is_there, next, first], Attr::None, ty);
        self.indices = [first, second];
    }

    fn region(&mut self, insts: &[InstId], out: &mut Vec<InstId>) {
        for &id in insts {
            let inst = self.func.inst(id).clone();
            match self.plan.way(id) {
                Way::Index => {
                    for (lane, index) in self.lanes.iter_mut().zip(self.indices) {
                        lane.set(inst.result(), index);
                    }
                }
                Way::Once => {
                    out.push(self.lanes[0].inst(self.func, id));
                    for &result in &inst.results {
                        self.lanes[1].set(result, self.lanes[0].get(result));
                    }
                }
                Way::Each => {
                    for lane in &mut self.lanes {
                        out.push(lane.inst(self.func, id));
                    }
                }
                Way::EachThatIsThere => {
                    out.push(self.lanes[0].inst(self.func, id));
                    let copy = self.lanes[1].inst(self.func, id);
                    out.push(self.where_there(copy, &inst));
                }
                Way::Jam => out.push(self.jam(&inst)),
                Way::End => {
                    let operands = self.expand(&inst.operands, |_, i| self.plan.end_varies(id, i));
                    out.push(self.func.add_inst(inst.op, &operands, inst.attr, &[], &[], inst.span));
                }
            }
        }
    }

    /// The instruction in a branch for threads that are there.
    fn where_there(&mut self, copy: InstId, inst: &Inst) -> InstId {
        let mut arm = |insts: &[InstId]| {
            let region = self.func.add_region(&[]);
            let end = self.func.add_inst(Op::Yield, &[], Attr::None, &[], &[], inst.span);
            self.func.regions[region.index()].insts = [insts, &[end]].concat();
            region
        };
        let arms = [arm(&[copy]), arm(&[])];
        self.func.add_inst(Op::If, &[self.is_there], Attr::None, &arms, &[], inst.span)
    }

    /// One value for both threads, or one for each.
    fn expand(&self, values: &[Value], varies: impl Fn(Value, usize) -> bool) -> Vec<Value> {
        let mut expanded = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            let both = self.lanes.each_ref().map(|lane| lane.get(value));
            expanded.extend_from_slice(&both[..if varies(value, i) { 2 } else { 1 }]);
        }
        expanded
    }

    /// A loop or branch that both threads go through together.
    fn jam(&mut self, inst: &Inst) -> InstId {
        let n_fixed = if inst.op == Op::For { 3 } else { 1 };
        let (fixed, carried) = inst.operands.split_at(n_fixed);
        let mut operands = self.lanes[0].all(fixed);
        operands.extend(self.expand(carried, |_, i| self.plan.varies(inst.results[i])));
        let regions: Vec<RegionId> = inst.regions.iter().map(|&region| self.copy(region)).collect();
        let mut types = Vec::new();
        for &result in &inst.results {
            types.extend(std::iter::repeat_n(self.func.ty(result), if self.plan.varies(result) { 2 } else { 1 }));
        }
        let copy = self.func.add_inst(inst.op, &operands, inst.attr.clone(), &regions, &types, inst.span);
        let results = self.func.inst(copy).results.to_vec();
        self.set_all(&inst.results, &results);
        copy
    }

    fn copy(&mut self, region: RegionId) -> RegionId {
        let (params, insts) = (self.func.region(region).params.clone(), self.func.region(region).insts.clone());
        let mut types = Vec::new();
        for &param in &params {
            types.extend(std::iter::repeat_n(self.func.ty(param), if self.plan.varies(param) { 2 } else { 1 }));
        }
        let new = self.func.add_region(&types);
        let by = self.func.region(new).params.clone();
        self.set_all(&params, &by);
        let mut out = Vec::new();
        self.region(&insts, &mut out);
        self.func.regions[new.index()].insts = out;
        new
    }

    /// Says what `values` are: the next of `by`, or the next two.
    fn set_all(&mut self, values: &[Value], by: &[Value]) {
        let mut by = by.iter().copied();
        for &value in values {
            let Some(first) = by.next() else { return };
            let second = if self.plan.varies(value) { by.next().unwrap_or(first) } else { first };
            self.lanes[0].set(value, first);
            self.lanes[1].set(value, second);
        }
    }
}
