//! How a value differs between the lanes of a gang.
//!
//! A gang is a run of threads that are neighbors along one dimension of the launch. Within it a value is the same in
//! all lanes, or grows by a constant from lane to lane, or differs freely:
//!
//! ```text
//! v0: i64 = tid 0          affine 1     (lane dimension 0)
//! v1: i64 = mul v0, 3      affine 3
//! v2: f32 = load v9[v0]    varying
//! v3: i64 = extent v9 {0}  uniform
//! ```
//!
//! A local array is one value for the whole gang, in which each lane has elements of its own ([`OwnArrays`]).
//!
//! Values are lowered until nothing changes (an optimistic fixpoint over a lattice of height three, so it ends). Control
//! flow counts as in Karrenberg & Hack, "Whole-Function Vectorization" (CGO 2011): where lanes take different ways, what
//! the ways define differs even if each definition is uniform. What crosses a merge is uniform or varying.

mod each;
mod lattice;
mod own;
mod rows;

pub use each::{has_each, shares_tiles};
use each::{shared_root, stored};
use ir::{Function, FunctionKind, Inst, InstId, Op, PathElem, RegionId, Scalar, Value};
use lattice::{meet, scaled, sum};
pub use own::OwnArrays;
pub use rows::{Division, Divisor};

/// What the lanes of a gang hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// The same in every lane that is on.
    Uniform,
    /// An integer that grows by this much from lane to lane, as long as it does not wrap.
    Affine(i64),
    Varying,
}

/// The result of the analysis of one kernel.
#[derive(Clone, Debug)]
pub struct Uniformity {
    lanes: Vec<Lanes>,
    /// By instruction: `if`s whose lanes may take both ways, loops whose lanes may leave in different rounds.
    is_divergent: Vec<bool>,
    own: OwnArrays,
    divisions: Vec<Division>,
}

impl Uniformity {
    pub fn lanes(&self, value: Value) -> Lanes {
        self.lanes[value.index()]
    }

    pub fn is_uniform(&self, value: Value) -> bool {
        self.lanes(value) == Lanes::Uniform
    }

    /// The arrays that each thread has for itself.
    pub fn own(&self) -> &OwnArrays {
        &self.own
    }

    /// The divisions of which it was taken for granted that gangs end where their quotients change.
    pub fn divisions(&self) -> &[Division] {
        &self.divisions
    }

    /// For `if`: the condition is not uniform. For a loop: lanes may leave it in different rounds.
    pub fn is_divergent(&self, inst: InstId) -> bool {
        self.is_divergent[inst.index()]
    }
}

/// Analyzes a kernel for gangs along dimension `lane_dim` of the launch; of a block program along x.
pub fn uniformity(func: &Function, lane_dim: u32) -> Uniformity {
    analyze(func, Some(lane_dim), None)
}

/// As [`uniformity`], for gangs that end where the quotient of one of [`Uniformity::divisions`] changes.
pub fn uniformity_in_rows(func: &Function, lane_dim: u32) -> Uniformity {
    analyze(func, Some(lane_dim), Some(rows::Start::of(func)))
}

/// Analyzes a block kernel for all threads of a block at once: no value is affine.
pub fn block_uniformity(func: &Function) -> Uniformity {
    analyze(func, None, None)
}

fn analyze(func: &Function, lane_dim: Option<u32>, start: Option<rows::Start>) -> Uniformity {
    let own = OwnArrays::of(func);
    let mut analysis = Analysis {
        func,
        lane_dim,
        start,
        writes: written_scalars(func, &own),
        own,
        lanes: vec![None; func.values.len()],
        is_divergent: vec![false; func.insts.len()],
        at_block: false,
        has_each: has_each(func),
        stored: Vec::new(),
        changed: true,
    };
    while analysis.changed {
        analysis.changed = false;
        analysis.at_block = func.kind == FunctionKind::BlockProgram || analysis.has_each;
        analysis.region(func.body, &Context::default());
    }
    let divisions = analysis.divisions();
    let lanes = analysis.lanes.into_iter().map(|lanes| lanes.unwrap_or(Lanes::Uniform)).collect();
    Uniformity { lanes, is_divergent: analysis.is_divergent, own: analysis.own, divisions }
}

/// Where the walk stands.
#[derive(Clone, Default)]
struct Context {
    /// The loops around, outermost first, each with whether divergent control lies between it and here.
    loops: Vec<(InstId, bool)>,
    /// Whether some lanes may be off here that are on at the start of the innermost loop, or of the kernel.
    is_partial: bool,
    /// Whether some lanes may be off here that are on at the start of the kernel.
    is_masked: bool,
}

/// Which jumps out of a construct part of the lanes may take.
#[derive(Default)]
struct Exits {
    /// To the enclosing loop.
    some_jump: bool,
    some_return: bool,
}

struct Analysis<'f> {
    func: &'f Function,
    /// `None` where the lanes are the threads of a block.
    lane_dim: Option<u32>,
    /// Where gangs are of one row each.
    start: Option<rows::Start>,
    /// Scalar types that the kernel stores to arrays of others.
    writes: Vec<Scalar>,
    own: OwnArrays,
    /// `None` until a definition was seen.
    lanes: Vec<Option<Lanes>>,
    is_divergent: Vec<bool>,
    /// Whether the walk is at what is run once for all lanes: by a block program, or around each `each`.
    at_block: bool,
    /// Lanes are the numbers that `each` counts, not threads.
    has_each: bool,
    /// The shared arrays that the `each` at hand stores to.
    stored: Vec<Value>,
    changed: bool,
}

impl Analysis<'_> {
    fn of(&self, value: Value) -> Lanes {
        self.lanes[value.index()].unwrap_or(Lanes::Uniform)
    }

    /// As [`Self::lower`] for what crosses a merge of control flow: there an affine value varies, so that whoever keeps
    /// only the first lane of affine values need not merge what is known about the others.
    fn merge(&mut self, value: Value, lanes: Lanes) {
        self.lower(value, if matches!(lanes, Lanes::Affine(_)) { Lanes::Varying } else { lanes });
    }

    /// Lowers a value to the meet of what it is and `lanes`.
    fn lower(&mut self, value: Value, lanes: Lanes) {
        let old = self.lanes[value.index()];
        let new = meet(old, lanes);
        if new != old {
            self.lanes[value.index()] = new;
            self.changed = true;
        }
    }

    fn diverge(&mut self, inst: InstId) {
        if !self.is_divergent[inst.index()] {
            self.is_divergent[inst.index()] = true;
            self.changed = true;
        }
    }

    fn region(&mut self, region: RegionId, context: &Context) {
        let func = self.func;
        let mut context = context.clone();
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            match inst.op {
                Op::If => {
                    self.branch(id, inst, &context);
                    self.lose_lanes(inst, &mut context, self.is_divergent(id));
                }
                Op::For | Op::Loop => {
                    self.repeat(id, inst, &context);
                    self.lose_lanes(inst, &mut context, self.is_divergent(id));
                }
                Op::Continue | Op::Break => self.jump(inst, &context),
                Op::Return => self.leave(&context),
                Op::Yield | Op::Unreachable => {}
                // It begins with all lanes, whatever is around.
                Op::Threads => {
                    self.at_block = false;
                    self.region(inst.regions[0], &Context::default());
                    self.at_block = true;
                }
                Op::Each => {
                    let body = inst.regions[0];
                    self.lower(func.region(body).params[0], Lanes::Affine(1));
                    self.at_block = false;
                    self.stored = stored(func, body);
                    self.region(body, &Context::default());
                    self.at_block = true;
                }
                _ => {
                    if matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas) {
                        self.write(inst, context.is_masked);
                    }
                    let lanes = if self.at_block { Lanes::Uniform } else { self.op(id, inst) };
                    for &result in &inst.results {
                        self.lower(result, lanes);
                    }
                }
            }
        }
    }

    /// Behind a construct that only some lanes leave by its end, the others are off until the end of what they left to.
    fn lose_lanes(&self, inst: &Inst, context: &mut Context, is_divergent: bool) {
        let exits = self.exits(inst, is_divergent, inst.op != Op::If);
        context.is_masked |= exits.some_return || exits.some_jump;
        if exits.some_return {
            context.is_partial = true;
            context.loops.iter_mut().for_each(|frame| frame.1 = true);
        }
        if exits.some_jump
            && let Some(frame) = context.loops.last_mut()
        {
            frame.1 = true;
        }
    }

    /// The jumps under a construct that part of the lanes may take. `in_loop`: `continue` and `break` end there.
    fn exits(&self, inst: &Inst, is_divergent: bool, in_loop: bool) -> Exits {
        let mut found = Exits::default();
        for &region in &inst.regions {
            for &id in &self.func.region(region).insts {
                let inner = self.func.inst(id);
                match inner.op {
                    Op::Continue | Op::Break => found.some_jump |= is_divergent && !in_loop,
                    Op::Return => found.some_return |= is_divergent,
                    Op::If | Op::For | Op::Loop => {
                        let nested =
                            self.exits(inner, is_divergent || self.is_divergent(id), in_loop || inner.op != Op::If);
                        found.some_jump |= nested.some_jump;
                        found.some_return |= nested.some_return;
                    }
                    _ => {}
                }
            }
        }
        found
    }

    fn is_divergent(&self, inst: InstId) -> bool {
        self.is_divergent[inst.index()]
    }

    fn branch(&mut self, id: InstId, inst: &Inst, context: &Context) {
        let condition = inst.operands[0];
        let is_divergent = self.of(condition) != Lanes::Uniform;
        if is_divergent {
            self.diverge(id);
        }
        let mut inner = context.clone();
        inner.is_partial |= is_divergent;
        inner.is_masked |= is_divergent;
        for frame in &mut inner.loops {
            frame.1 |= is_divergent;
        }
        for &region in &inst.regions {
            self.region(region, &inner);
        }
        let yields: Vec<Inst> = inst
            .regions
            .iter()
            .filter_map(|&region| self.func.terminator(region))
            .map(|end| self.func.inst(end).clone())
            .filter(|end| end.op == Op::Yield)
            .collect();
        for (i, &result) in inst.results.iter().enumerate() {
            let operands: Vec<Value> = yields.iter().map(|end| end.operands[i]).collect();
            let is_one = operands.windows(2).all(|pair| pair[0] == pair[1]);
            let lanes = operands.iter().map(|&value| self.of(value)).fold(None, meet).unwrap_or(Lanes::Uniform);
            self.merge(result, if is_divergent && !is_one { Lanes::Varying } else { lanes });
        }
    }

    fn repeat(&mut self, id: InstId, inst: &Inst, context: &Context) {
        let body = inst.regions[0];
        let params = self.func.region(body).params.clone();
        let (initial, carried) = if inst.op == Op::For {
            let [lo, hi, step] = [0, 1, 2].map(|i| self.of(inst.operands[i]));
            // The induction variable is lo + k step: all lanes that are on are in the same round k.
            let lanes = if step == Lanes::Uniform { lo } else { Lanes::Varying };
            self.merge(params[0], lanes);
            if [lo, hi, step].iter().any(|&lanes| lanes != Lanes::Uniform) {
                self.diverge(id);
            }
            (&inst.operands[3..], &params[1..])
        } else {
            (&inst.operands[..], &params[..])
        };
        for (&param, &value) in carried.iter().zip(initial) {
            let lanes = self.of(value);
            self.merge(param, lanes);
        }
        let mut inner = context.clone();
        inner.loops.push((id, false));
        inner.is_partial = self.is_divergent[id.index()];
        inner.is_masked |= inner.is_partial;
        self.region(body, &inner);
        // A result is what the lane carried in its own last round.
        let is_divergent = self.is_divergent[id.index()];
        for (&result, &param) in inst.results.iter().zip(carried) {
            let lanes = if inst.op == Op::For { self.of(param) } else { Lanes::Uniform };
            self.merge(result, if is_divergent && !self.is_invariant(param, body) { Lanes::Varying } else { lanes });
        }
    }

    /// `continue` and `break`: their values meet those of other ways to the same place.
    fn jump(&mut self, inst: &Inst, context: &Context) {
        let Some(&(target, is_partial)) = context.loops.last() else { return };
        let head = self.func.inst(target).clone();
        if inst.op == Op::Break {
            if is_partial {
                self.diverge(target);
            }
            for (&result, &value) in head.results.iter().zip(&inst.operands) {
                let lanes = self.of(value);
                self.merge(result, if self.is_divergent[target.index()] { Lanes::Varying } else { lanes });
            }
            return;
        }
        let params = self.func.region(head.regions[0]).params.clone();
        let carried = if head.op == Op::For { &params[1..] } else { &params[..] };
        for (&param, &value) in carried.iter().zip(&inst.operands) {
            // Lanes that came here by another `continue` bring other values.
            let lanes = if is_partial && value != param { Lanes::Varying } else { self.of(value) };
            self.merge(param, lanes);
        }
    }

    /// `return` where only some lanes are on: every loop around is left in different rounds.
    fn leave(&mut self, context: &Context) {
        for &(id, is_partial) in &context.loops {
            if is_partial || context.is_partial {
                self.diverge(id);
            }
        }
    }

    /// Whether a loop carries a value round unchanged.
    fn is_invariant(&self, param: Value, body: RegionId) -> bool {
        let index = self.func.region(body).params.iter().position(|&known| known == param);
        let end = self.func.terminator(body).map(|end| self.func.inst(end));
        match (index, end) {
            (Some(index), Some(end)) if end.op == Op::Continue => {
                let n_extra = self.func.region(body).params.len() - end.operands.len();
                end.operands.get(index.wrapping_sub(n_extra)) == Some(&param)
            }
            _ => false,
        }
    }

    /// A write to an own array: the lanes hold the same in it as long as all of them put the same into the same element.
    fn write(&mut self, inst: &Inst, is_masked: bool) {
        let is_same = !is_masked && inst.op == Op::Store && inst.operands.iter().all(|&v| self.of(v) == Lanes::Uniform);
        self.changed |= !is_same && self.own.part(inst.operands[0]);
    }

    fn op(&self, id: InstId, inst: &Inst) -> Lanes {
        let of = |i: usize| self.of(inst.operands[i]);
        let is_uniform = inst.operands.iter().all(|&value| self.of(value) == Lanes::Uniform);
        match inst.op {
            Op::Tid if self.has_each => Lanes::Uniform,
            Op::Tid => match inst.attr {
                ir::Attr::Index(dim) if Some(dim) == self.lane_dim => Lanes::Affine(1),
                _ => Lanes::Uniform,
            },
            Op::ThreadIndex => match inst.attr {
                _ if self.lane_dim.is_none() => Lanes::Varying,
                ir::Attr::Index(0) => Lanes::Affine(1),
                _ => Lanes::Uniform,
            },
            Op::BarrierCount | Op::BarrierAnd | Op::BarrierOr => Lanes::Uniform,
            Op::LaneId | Op::Shuffle | Op::Vote | Op::MatchAny | Op::MatchAll | Op::ActiveMask => Lanes::Varying,
            // The threads of a block are not in one gang.
            Op::LocalArray if self.lane_dim.is_some() && self.own.is_own(inst.result()) => Lanes::Uniform,
            Op::LocalArray => Lanes::Varying,
            Op::Atomic | Op::AtomicCas | Op::Call => Lanes::Varying,
            // Another lane's store may come between; only memory that nothing writes is surely the same for all.
            Op::Load if self.own.is_own(inst.operands[0]) => {
                if is_uniform && !self.own.is_parted(inst.operands[0]) {
                    Lanes::Uniform
                } else {
                    Lanes::Varying
                }
            }
            Op::Load if shared_root(self.func, inst.operands[0]).is_some_and(|root| !self.stored.contains(&root)) => {
                if is_uniform {
                    Lanes::Uniform
                } else {
                    Lanes::Varying
                }
            }
            Op::Load => {
                let is_written = self.loaded(inst).is_none_or(|scalar| self.writes.contains(&scalar));
                if is_uniform && !is_written { Lanes::Uniform } else { Lanes::Varying }
            }
            _ if is_uniform => Lanes::Uniform,
            Op::Add => sum(of(0), of(1), 1),
            Op::Sub => sum(of(0), of(1), -1),
            Op::Neg => sum(Lanes::Uniform, of(0), -1),
            Op::Mul => match (self.factor(inst.operands[0]), self.factor(inst.operands[1])) {
                (_, Some(factor)) => scaled(of(0), factor),
                (Some(factor), _) => scaled(of(1), factor),
                _ => Lanes::Varying,
            },
            // Widening keeps the steps; narrowing too, as thread indices fit 32 bits.
            Op::Cast if self.is_int(inst.operands[0]) && self.is_int(inst.result()) => of(0),
            // The gang's end points tell whether any lane is negative; if none is, the index stays affine.
            Op::WrapIndex if of(0) == Lanes::Uniform => of(1),
            Op::Select if of(0) == Lanes::Uniform && of(1) == of(2) => of(1),
            _ => self.in_row(id),
        }
    }

    fn is_int(&self, value: Value) -> bool {
        self.func.ty(value).as_scalar().is_some_and(Scalar::is_int)
    }

    /// A small constant factor.
    fn factor(&self, value: Value) -> Option<i64> {
        let scalar = self.func.ty(value).as_scalar().filter(|scalar| scalar.is_int())?;
        let constant = self.func.as_const(value)?.as_int(scalar);
        i64::try_from(constant).ok()
    }

    /// The scalar type that a load reads; `None` where it is not one.
    fn loaded(&self, inst: &Inst) -> Option<Scalar> {
        self.func.ty(inst.result()).element()
    }
}

/// Scalar types that the kernel stores to arrays that are not its threads' own: a load of another type cannot see them.
fn written_scalars(func: &Function, own: &OwnArrays) -> Vec<Scalar> {
    let mut written = Vec::new();
    for inst in &func.insts {
        if !matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas) || own.is_own(inst.operands[0]) {
            continue;
        }
        let Some(&value) = inst.operands.last() else { continue };
        for leaf in func.ty(value).leaves() {
            match leaf.kind {
                ir::LeafKind::Scalar(scalar) if !written.contains(&scalar) => written.push(scalar),
                _ => {}
            }
        }
    }
    written
}

/// Whether a path has a step that is chosen at run time.
pub(crate) fn is_dynamic(path: &[PathElem]) -> bool {
    path.contains(&PathElem::Dynamic)
}

#[cfg(test)]
mod tests;
