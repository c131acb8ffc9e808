//! Loop fission: a block kernel becomes a program that one CPU thread runs for a whole thread block.
//!
//! In: a verified block kernel whose calls are inlined. Out: a block program. What lies between two barriers becomes
//! the region of a `threads`, which runs it for one thread after the other; loops and branches around barriers
//! that go the same way for all threads run once for the block.
//!
//! ```text
//! v3: f32 = load v0[v1]              v9: array<f32, 1> = thread_slots {}
//! store v2[v1], v3             ->    threads { v3: f32 = load v0[v1]; store v2[v1], v3; store v9[v8], v3; yield }
//! barrier                            threads { v4: f32 = load v2[v5]; v6: f32 = load v9[v8]; … yield }
//! v4: f32 = load v2[v5]
//! ```
//!
//! A value that another stretch uses is kept for each thread, unless it is the same for the block (then it is computed
//! once) or cheap to compute again from the thread's index. Where threads may part around a barrier, each has a flag
//! that says whether it takes part, and `check_converged` reports a barrier that not all reach. Warp ops exchange
//! values through memory, as a barrier between two stretches; `warp` has them.
//!
//! Stratton, Stone & Hwu, "MCUDA" (LCPC 2008); Karrenberg & Hack, "Improving Performance of OpenCL on CPUs" (CC 2012).

mod construct;
mod divergent_for;
mod home;
mod mask;
mod plan;
mod segment;
mod sync;
mod warp;

use crate::exits::all;
use crate::{Changed, unify_returns};
use diagnostics::Span;
use ir::op::Effect;
use ir::{
    Attr, Builder, Function, FunctionKind, InstId, Module, Op, RegionId, Scalar, Site, SiteId, SiteKind, Type, Value,
};
use plan::Plan;
use segment::Segment;

/// What a block program cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    pub span: Span,
    pub text: String,
}

/// Turns every block kernel of a module into a block program.
pub fn fission_barriers(module: &mut Module) -> Result<Changed, Refused> {
    let mut changed = false;
    for index in 0..module.funcs.len() {
        if module.funcs[index].kind != FunctionKind::BlockKernel {
            continue;
        }
        let mut func = module.funcs[index].clone();
        if let Some(call) = all(&func, func.body, |op| op == Op::Call).first() {
            let text = "a call is left in a kernel over thread blocks".into();
            return Err(Refused { span: func.inst(*call).span, text });
        }
        if let Some(call) = all(&func, func.body, |op| op == Op::CallExtern).first() {
            let text = "code of another compiler runs on a GPU alone".into();
            return Err(Refused { span: func.inst(*call).span, text });
        }
        if !waits(&func) {
            let _ = unify_returns(&mut func);
        }
        divergent_for::lower(&mut func);
        let plan = Plan::new(&func)?;
        module.funcs[index] = Fission::new(&func, &plan, &mut module.sites).run();
        changed = true;
    }
    Ok(Changed(changed))
}

/// Whether a kernel's threads wait for each other anywhere.
fn waits(func: &Function) -> bool {
    !all(func, func.body, is_sync).is_empty()
}

/// Whether an op ends a stretch of code. A fence does not: it waits for no one.
fn is_sync(op: Op) -> bool {
    op.effect() == Effect::Sync && op != Op::Fence
}

/// The program as far as it is made.
struct Fission<'a> {
    old: &'a Function,
    plan: &'a Plan,
    sites: &'a mut Vec<Site>,
    new: Function,
    /// The region being filled at the level of the block.
    at: RegionId,
    /// What comes first in the program: memory, and the block's shape.
    prologue: RegionId,
    shape: Shape,
    /// By old value, what holds it for the whole block.
    block: Vec<Option<Value>>,
    /// By old value, the array with its value of each thread.
    slots: Vec<Option<Value>>,
    /// By old value, the array of one element with its value where it is the same for all threads.
    cells: Vec<Option<Value>>,
    segment: Option<Segment>,
    /// The array of flags of the threads that are on; `None` where all are.
    mask: Option<Value>,
    /// The array of flags of the threads that have returned early.
    ended: Option<Value>,
    /// The constructs around that threads run under masks of their own.
    masked: Vec<InstId>,
    frames: Vec<construct::Frame>,
    /// Regions whose rest runs only where threads are left.
    rests: Vec<RegionId>,
    span: Span,
}

/// Values that every program has.
#[derive(Clone, Copy)]
struct Shape {
    width: Value,
    height: Value,
    n_threads: Value,
    zero: Value,
    one: Value,
    no: Value,
    yes: Value,
}

impl<'a> Fission<'a> {
    fn new(old: &'a Function, plan: &'a Plan, sites: &'a mut Vec<Site>) -> Fission<'a> {
        let mut new = Function::new(old.name.clone(), FunctionKind::BlockProgram, old.params.clone(), Vec::new());
        let prologue = new.add_region(&[]);
        let mut b = Builder::new(&mut new);
        b.enter(prologue);
        let [width, height, depth] = [0, 1, 2].map(|dim| b.push1(Op::BlockExtent, &[], Attr::Index(dim), Type::i64()));
        let area = b.binary(Op::Mul, width, height);
        let n_threads = b.binary(Op::Mul, area, depth);
        let [zero, one] = [0, 1].map(|n| b.int(Scalar::I64, n));
        let [no, yes] = [false, true].map(|flag| b.bool(flag));
        let at = new.body;
        let mut block = vec![None; old.values.len()];
        for (&from, &to) in old.region(old.body).params.iter().zip(&new.region(new.body).params) {
            block[from.index()] = Some(to);
        }
        Fission {
            old,
            plan,
            sites,
            new,
            at,
            prologue,
            shape: Shape { width, height, n_threads, zero, one, no, yes },
            block,
            slots: vec![None; old.values.len()],
            cells: vec![None; old.values.len()],
            segment: None,
            mask: None,
            ended: None,
            masked: Vec::new(),
            frames: Vec::new(),
            rests: Vec::new(),
            span: Span::NONE,
        }
    }

    fn run(mut self) -> Function {
        if self.plan.has_masked()
            && !all(self.old, self.old.body, |op| op == Op::Return).iter().all(|&id| self.is_last(id))
        {
            let ended = self.flags();
            self.ended = Some(ended);
            let no = self.shape.no;
            self.for_all(|this, lin| this.push_store(ended, &[lin], no));
        }
        self.walk(self.old.body);
        let prologue = std::mem::take(&mut self.new.regions[self.prologue.index()].insts);
        let body = self.new.body;
        self.new.regions[body.index()].insts.splice(0..0, prologue);
        self.new
    }

    fn is_last(&self, id: InstId) -> bool {
        self.old.terminator(self.old.body) == Some(id)
    }

    /// A builder at the level of the block.
    fn b(&mut self) -> Builder<'_> {
        let (at, span) = (self.at, self.span);
        let mut b = Builder::new(&mut self.new);
        b.enter(at);
        b.span = span;
        b
    }

    /// Memory with an element for each thread.
    fn thread_slots(&mut self, elem: Type, extents: &[u64]) -> Value {
        let prologue = self.prologue;
        let mut b = Builder::new(&mut self.new);
        b.enter(prologue);
        let ty = Type::array(elem, extents.len() as u32 + 1);
        b.push1(Op::ThreadSlots, &[], Attr::Extents(extents.into()), ty)
    }

    fn flags(&mut self) -> Value {
        self.thread_slots(Type::bool(), &[])
    }

    /// Where a value is kept for each thread.
    fn slot(&mut self, value: Value) -> Value {
        let value = self.plan.slot_owner(value);
        if let Some(slot) = self.slots[value.index()] {
            return slot;
        }
        let spread = home::definition(self.old, value).filter(|_| self.plan.home(value) == home::Home::Spread);
        let slot = match (spread.map(|id| &self.old.inst(id).attr), self.old.ty(value).as_array()) {
            (Some(Attr::Extents(extents)), Some((elem, _))) => self.thread_slots(elem, extents),
            _ => self.thread_slots(self.old.ty(value), &[]),
        };
        self.slots[value.index()] = Some(slot);
        slot
    }

    /// Where a value that all threads have in common is left for the block.
    fn cell(&mut self, value: Value) -> Value {
        if let Some(cell) = self.cells[value.index()] {
            return cell;
        }
        let (prologue, ty) = (self.prologue, Type::array(self.old.ty(value), 1));
        let mut b = Builder::new(&mut self.new);
        b.enter(prologue);
        let cell = b.push1(Op::SharedArray, &[], Attr::Extents([1].into()), ty);
        self.cells[value.index()] = Some(cell);
        cell
    }

    /// A value at the level of the block.
    fn at_block(&mut self, value: Value) -> Value {
        if let Some(value) = self.block[value.index()] {
            return value;
        }
        self.close();
        let (cell, zero) = (self.cell(value), self.shape.zero);
        self.b().load(cell, &[zero], &[], &[])
    }

    /// A place that a report can name.
    fn site(&mut self, span: Span, name: &str) -> SiteId {
        self.sites.push(Site { kind: SiteKind::Divergence, span, name: name.into() });
        SiteId(self.sites.len() as u32 - 1)
    }

    /// Instructions of a region of the kernel one after the other.
    fn walk(&mut self, region: RegionId) {
        let old = self.old;
        let n_rests = self.rests.len();
        for &id in &old.region(region).insts {
            let inst = old.inst(id);
            self.span = inst.span;
            if inst.op.is_terminator() {
                self.terminator(id);
            } else if is_sync(inst.op) {
                self.sync(id);
            } else if self.plan.is_split(id) {
                self.construct(id);
            } else {
                self.plain(id);
            }
        }
        self.end_rests(n_rests);
    }

    /// An instruction that waits for no one and leaves nothing that does.
    fn plain(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        match inst.results.first().map(|&result| self.plan.home(result)) {
            Some(home::Home::Block) if inst.op == Op::SharedArray => {
                let (prologue, ty) = (self.prologue, self.old.ty(inst.result()));
                let mut b = Builder::new(&mut self.new);
                b.enter(prologue);
                b.span = inst.span;
                self.block[inst.result().index()] = Some(b.push1(inst.op, &[], inst.attr.clone(), ty));
            }
            Some(home::Home::Block) => {
                let operands: Vec<Value> = inst.operands.iter().map(|&operand| self.at_block(operand)).collect();
                let ty = self.old.ty(inst.result());
                let value = self.b().push1(inst.op, &operands, inst.attr.clone(), ty);
                self.block[inst.result().index()] = Some(value);
            }
            // Made where it is used.
            Some(home::Home::Again) => {}
            Some(home::Home::Spread) => self.clear_spread(id),
            _ => self.copy(id),
        }
    }
}
