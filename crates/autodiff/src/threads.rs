//! Numbers that all threads of a block have, beside the tiles that they share.
//!
//! In: a kernel with tiles whose blocks have several threads. The adjoint of a number is spread over the threads: what
//! each of them holds adds up to it, so that what threads add to the gradients of arrays does too. Hence what a tile
//! gives to a number's adjoint goes to the first thread alone, and what a number's adjoint gives to a tile's is the sum
//! over the threads.
//!
//! ```text
//! t = fill x         dx += thread_index == 0 ? sum dt : 0
//! x = get t, i       dt[i] += sum (of_threads dx)
//! store a[0], x      if thread_index == 0 { dx += da[0]; da[0] = 0 }      as all threads store the same number there
//! x = get t, thread  dt[thread] += dx, one thread after the other
//! ```

use crate::sweep::Sweep;
use crate::tangent::{add, zero};
use ir::{Attr, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};
use std::collections::HashSet;

/// What the threads of a block do alike.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// Threads of a block; 0 where a block is one thread, or nothing is shared.
    pub(crate) n: u32,
    /// Stores to arrays and tiles by which all threads write one element.
    alike: HashSet<InstId>,
    /// Elements of tiles that threads read each at its own index.
    apart: HashSet<InstId>,
    /// Reads of tiles that only some threads come to.
    parted: HashSet<InstId>,
}

impl Threads {
    /// For a kernel launched over `rank` dimensions: a block's threads lie along the last.
    pub(crate) fn of(kernel: &Function, n: u32, rank: u32) -> Threads {
        let lane_dim = rank.saturating_sub(1);
        let mut walk = Walk { func: kernel, lane_dim, differs: HashSet::new(), loops: Vec::new(), changed: true };
        let mut threads = Threads { n, ..Threads::default() };
        while walk.changed {
            walk.changed = false;
            threads.alike.clear();
            threads.apart.clear();
            threads.parted.clear();
            walk.region(kernel.body, false, &mut threads);
        }
        threads
    }
}

/// Which values may differ between the threads of a block.
struct Walk<'f> {
    func: &'f Function,
    lane_dim: u32,
    differs: HashSet<Value>,
    /// The loops around: what they carry, their results, and whether threads run different numbers of rounds.
    loops: Vec<(Vec<Value>, Vec<Value>, bool)>,
    changed: bool,
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId, is_parted: bool, threads: &mut Threads) {
        for &id in &self.func.region(region).insts {
            let inst = self.func.inst(id);
            let any = |walk: &Self, values: &[Value]| values.iter().any(|value| walk.differs.contains(value));
            match inst.op {
                Op::If => {
                    let parts = is_parted || self.differs.contains(&inst.operands[0]);
                    for &arm in &inst.regions {
                        self.region(arm, parts, threads);
                        if let Some(end) = self.func.terminator(arm).map(|end| self.func.inst(end))
                            && end.op == Op::Yield
                        {
                            self.give(&inst.results, &end.operands, self.differs.contains(&inst.operands[0]));
                        }
                    }
                }
                Op::For | Op::Loop => {
                    let n_bounds = if inst.op == Op::For { 3 } else { 0 };
                    let parts = is_parted || any(self, &inst.operands[..n_bounds]) || self.leaves(inst.regions[0]);
                    let params = self.func.region(inst.regions[0]).params.clone();
                    let carried = &params[usize::from(inst.op == Op::For)..];
                    if any(self, &inst.operands[..n_bounds]) {
                        self.mark(&params[..1]);
                    }
                    self.give(carried, &inst.operands[n_bounds..], false);
                    if inst.op == Op::For {
                        self.give(&inst.results, carried, parts);
                    }
                    self.loops.push((carried.to_vec(), inst.results.to_vec(), parts));
                    self.region(inst.regions[0], parts, threads);
                    self.loops.pop();
                }
                Op::Continue | Op::Break => {
                    let Some((carried, results, parts)) = self.loops.last().cloned() else { continue };
                    let given = if inst.op == Op::Break { results } else { carried };
                    self.give(&given, &inst.operands, parts);
                }
                Op::Tid if matches!(inst.attr, Attr::Index(dim) if dim == self.lane_dim) => self.mark(&inst.results),
                Op::ThreadIndex | Op::TileOfThread | Op::Atomic | Op::AtomicCas => self.mark(&inst.results),
                Op::Store => {
                    if !is_parted && !any(self, &inst.operands[..inst.operands.len() - 1]) {
                        threads.alike.insert(id);
                    }
                    if is_parted || any(self, &inst.operands) {
                        self.mark_own_array(inst.operands[0]);
                    }
                }
                Op::TileSet if !is_parted && !self.differs.contains(&inst.operands[2]) => {
                    threads.alike.insert(id);
                }
                Op::TileGet | Op::TileReduce => {
                    if is_parted {
                        threads.parted.insert(id);
                    }
                    if inst.op == Op::TileGet && self.differs.contains(&inst.operands[1]) {
                        threads.apart.insert(id);
                        self.mark(&inst.results);
                    }
                }
                // The threads share them.
                op if op.is_over_tiles() && inst.results.iter().all(|&r| self.func.ty(r).as_tile().is_some()) => {}
                _ if any(self, &inst.operands) => self.mark(&inst.results),
                _ => {}
            }
        }
    }

    fn mark(&mut self, values: &[Value]) {
        for &value in values {
            self.changed |= self.differs.insert(value);
        }
    }

    /// An array of the thread's own in which threads have different elements.
    fn mark_own_array(&mut self, array: Value) {
        let ValueDef::Result(id, _) = self.func.def(array) else { return };
        match self.func.inst(id).op {
            Op::LocalArray => self.mark(&[array]),
            Op::Row | Op::Subarray => self.mark_own_array(self.func.inst(id).operands[0]),
            _ => {}
        }
    }

    /// Marks what gets values that differ, all of it where threads come from different places.
    fn give(&mut self, given: &[Value], operands: &[Value], parts: bool) {
        for (&value, operand) in given.iter().zip(operands) {
            if parts || self.differs.contains(operand) {
                self.mark(&[value]);
            }
        }
    }

    /// Whether threads may leave a loop in different rounds.
    fn leaves(&self, region: RegionId) -> bool {
        self.func.region(region).insts.iter().any(|&id| {
            let inst = self.func.inst(id);
            match inst.op {
                Op::If => {
                    let differs = self.differs.contains(&inst.operands[0]);
                    differs && inst.regions.iter().any(|&arm| self.jumps(arm))
                        || inst.regions.iter().any(|&arm| self.leaves(arm))
                }
                _ => false,
            }
        })
    }

    fn jumps(&self, region: RegionId) -> bool {
        self.func.region(region).insts.iter().any(|&id| {
            let inst = self.func.inst(id);
            matches!(inst.op, Op::Break | Op::Continue | Op::Return)
                || inst.op == Op::If && inst.regions.iter().any(|&arm| self.jumps(arm))
        })
    }
}

impl Sweep<'_> {
    fn is_first_thread(&mut self) -> Value {
        let index = self.b.push1(Op::ThreadIndex, &[], Attr::Index(0), Type::i64());
        let zero = self.b.int(Scalar::I64, 0);
        self.b.compare(Op::Eq, index, zero)
    }

    /// Adds what each thread has of a number's adjoint to the element that it read, one thread after the other.
    pub(crate) fn add_apart(&mut self, id: InstId, tile: Value, at: Value, d: Value) -> bool {
        if !self.maps.threads.apart.contains(&id) {
            return false;
        }
        if !self.activity.is_active(tile) {
            return true;
        }
        let n = self.maps.threads.n;
        let of_threads = |sweep: &mut Self, value: Value| {
            let ty = Type::tile(sweep.b.ty(value), vec![n]);
            sweep.b.push1(Op::TileOfThreads, &[value], Attr::None, ty)
        };
        let (all_at, all_d) = (of_threads(self, at), of_threads(self, d));
        let (ty, elem) = (self.primal.ty(tile), self.b.ty(d));
        let known = self.adjoints[tile.index()].take();
        let known = known.unwrap_or_else(|| zero(&mut self.b, ty));
        let [first, end, step] = [0, i128::from(n), 1].map(|x| self.b.int(Scalar::I64, x));
        let region = self.b.func.add_region(&[Type::i64(), ty]);
        let params = self.b.func.region(region).params.clone();
        let here = self.b.enter(region);
        let at = self.b.push1(Op::TileGet, &[all_at, params[0]], Attr::None, Type::i64());
        let d = self.b.push1(Op::TileGet, &[all_d, params[0]], Attr::None, elem);
        let before = self.b.push1(Op::TileGet, &[params[1], at], Attr::None, elem);
        let sum = add(&mut self.b, before, d);
        let next = self.b.push1(Op::TileSet, &[params[1], sum, at], Attr::None, ty);
        self.b.continue_(&[next]);
        self.b.enter(here);
        let made = self.b.push(Op::For, &[first, end, step, known], Attr::None, &[region], &[ty]);
        self.adjoints[tile.index()] = Some(self.b.func.inst(made).result());
        true
    }

    /// A number's adjoint that the first thread alone has, where all threads do alike.
    pub(crate) fn of_first_where_alike(&mut self, id: InstId, d: Value) -> Value {
        if self.maps.threads.alike.contains(&id) { self.of_first_thread(d) } else { d }
    }

    /// A number's adjoint that the first thread alone has.
    pub(crate) fn of_first_thread(&mut self, d: Value) -> Value {
        if self.maps.threads.n == 0 {
            return d;
        }
        let is_first = self.is_first_thread();
        let ty = self.b.ty(d);
        let nothing = zero(&mut self.b, ty);
        self.b.select(is_first, d, nothing)
    }

    /// The sum of what all threads have of a number's adjoint.
    pub(crate) fn of_all_threads(&mut self, d: Value) -> Value {
        let n = self.maps.threads.n;
        if n == 0 {
            return d;
        }
        let ty = Type::tile(self.b.ty(d), vec![n]);
        let spread = self.b.push1(Op::TileOfThreads, &[d], Attr::None, ty);
        self.sum(spread)
    }

    /// Does what all threads would do alike in the first one; gives the value that it then has, in the others zero.
    pub(crate) fn in_first_thread(&mut self, id: InstId, ty: Type, run: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.maps.threads.alike.contains(&id) {
            return run(self);
        }
        let is_first = self.is_first_thread();
        let regions = [(); 2].map(|()| self.b.func.add_region(&[]));
        let here = self.b.enter(regions[0]);
        let value = run(self);
        self.b.yield_(&[value]);
        self.b.enter(regions[1]);
        let nothing = zero(&mut self.b, ty);
        self.b.yield_(&[nothing]);
        self.b.enter(here);
        let made = self.b.push(Op::If, &[is_first], Attr::None, &regions, &[ty]);
        self.b.func.inst(made).result()
    }

    /// Refuses what would have threads wait for others that do not come.
    pub(crate) fn refuse_parted(&mut self, id: InstId, inst: &Inst) -> bool {
        let is_parted = self.maps.threads.n > 0 && self.maps.threads.parted.contains(&id);
        if is_parted {
            self.refuse(inst, "a number that only some threads of a block take from a tile has no gradient")
                .help("take it where all threads do, outside of the branch");
        }
        is_parted
    }
}
