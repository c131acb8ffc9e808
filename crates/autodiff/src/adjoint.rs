//! The adjoint kernel as a whole: [`reverse`].

use crate::access::Place;
use crate::activity::Activity;
use crate::custom::{Customs, drop_null_accesses};
use crate::extremes::primer;
use crate::memory::{Aliases, Root, Volatile, roots};
use crate::structure::structure;
use crate::sweep::{Mode, Sweep};
use crate::tangent::{has_arrays, has_floats, leads_to_floats};
use crate::tape::{SharedTape, leave_without_part};
use crate::tiles::Maps;
use diagnostics::Diagnostic;
use ir::op::Effect;
use ir::{
    Attr, CustomGradient, FuncRef, Function, FunctionKind, Inst, InstId, Module, Op, Param, Scalar, Type, Value, verify,
};
use transform::Sharing;
use transform::eliminate_dead_code::eliminate_dead_writes;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Per parameter: whether its adjoint is wanted.
    pub wanted: Vec<bool>,
    /// Arrays among the arguments may share memory, at least one of which the kernel writes to, or elements of one that it
    /// writes to.
    pub overlap: bool,
    /// Adjoint arrays may share memory, with each other or with the arguments, or elements of one.
    pub adjoints_overlap: bool,
    /// Dimensions of the launch.
    pub rank: u32,
}

impl Request {
    /// What shares memory where the adjoint kernel writes.
    pub fn shared(&self) -> Sharing {
        Request::sharing(self.overlap || self.adjoints_overlap)
    }

    fn sharing(overlap: bool) -> Sharing {
        if overlap { Sharing::Elements } else { Sharing::Nothing }
    }
}

/// An adjoint kernel.
#[derive(Debug)]
pub struct Adjoint {
    /// Holds the adjoint kernel alone.
    pub module: Module,
    /// One a parameter of the primal kernel.
    pub facts: Vec<Fact>,
    /// It reads memory that the kernel finds by itself: of an object by its id, or at an address.
    pub reads_elsewhere: bool,
    /// A kernel of the same parameters that must run before, over the same memory: see [`crate::extremes`].
    pub primer: Option<Module>,
    /// Types of the tapes in shared memory. The adjoint kernel has a further parameter, an i64 a thread and tape that
    /// says where the thread's part begins, then one array a tape. A thread whose part begins below zero does nothing.
    pub tapes: Vec<Type>,
    /// Where there are tapes: a kernel with the first of these parameters, which says how long each part is.
    pub measure: Option<Module>,
}

/// What the adjoint kernel does with an argument of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// It loads from the array, as it was before the launch.
    pub reads: bool,
    /// It loads from the array, as it was after the launch: a replay function reads what its function left there.
    pub reads_after: bool,
    /// The kernel loads from the array.
    pub loads: bool,
    /// The kernel writes to the array.
    pub writes: bool,
    /// There is an adjoint for it.
    pub has_adjoint: bool,
    /// Every write is an atomic addition, so that what was there before keeps its adjoint.
    pub only_adds: bool,
    /// A gradient of the user's writes to the array itself.
    pub writes_back: bool,
}

/// The adjoint parameter of each parameter: `None` where it holds no floats.
pub fn adjoint_params(params: &[Type]) -> Vec<Option<Type>> {
    let adjoint = |&ty: &Type| {
        if leads_to_floats(ty) { Some(ty) } else { has_floats(ty).then(|| Type::array(ty, 1)) }
    };
    params.iter().map(adjoint).collect()
}

/// Makes the adjoint kernel of the module's kernel, or says which lines have no gradient.
pub fn reverse(module: &Module, custom: &[CustomGradient], request: &Request) -> Result<Adjoint, Vec<Diagnostic>> {
    let mut module = module.clone();
    let forward = forward(&module);
    let customs = Customs::of(&mut module, custom);
    let Some(kernel) = module.kernel() else { panic!("no kernel to differentiate:\n{module}") };
    let primal = prepare(&module, &customs, kernel, Some(request));
    refuse_blocks(&primal)?;
    let aliases = Aliases { params_overlap: request.overlap };
    let volatile = Volatile::of(&primal, aliases, &customs);
    let activity = Activity::of(&primal, &request.wanted);
    let maps = Maps::of(&mut module, custom, &primal, &activity, request.rank)?;
    let whole = Whole { module, primal, aliases, volatile, activity, customs, maps, rank: request.rank };
    let types: Vec<Type> = whole.primal.params.iter().map(|param| param.ty).collect();
    let adjoints = adjoint_params(&types);
    let Swept { func: mut out, mut refused, atomics, extremes, tapes, written_back } =
        whole.sweep(&adjoints, &request.wanted, false);
    refuse_orders(&whole.primal, &out, &atomics, &mut refused);
    let tapes = whole.used_tapes(&mut out, &tapes, &mut refused);
    if !tapes.is_empty() {
        leave_without_part(&mut out, request.rank, tapes.len());
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut facts = facts(&forward, &whole.primal, &out, &adjoints);
    for root in written_back {
        if let Root::Param(index, _) = root
            && let Some(fact) = facts.get_mut(index as usize)
        {
            // As it is on the way back: it is no value of the kernel.
            (fact.writes_back, fact.reads, fact.reads_after) = (true, false, false);
        }
    }
    let primer = match extremes.as_slice() {
        [] => None,
        extremes => Some(whole.in_module(primer(forward, &out, extremes, aliases)?)),
    };
    let measure = if tapes.is_empty() {
        None
    } else {
        Some(whole.in_module(whole.sweep(&adjoints, &request.wanted, true).counting(&types, &adjoints, request)?))
    };
    let reads_elsewhere = listed(&out)
        .any(|(_, inst)| inst.op.effect() == Effect::Read && roots(&out, inst.operands[0]).contains(&Root::Unknown));
    Ok(Adjoint { module: whole.in_module(out), facts, reads_elsewhere, primer, measure, tapes })
}

/// What is known of a kernel or function that is differentiated.
pub(crate) struct Whole {
    pub(crate) module: Module,
    pub(crate) primal: Function,
    pub(crate) aliases: Aliases,
    pub(crate) volatile: Volatile,
    pub(crate) activity: Activity,
    pub(crate) customs: Customs,
    pub(crate) maps: Maps,
    pub(crate) rank: u32,
}

/// What sweeps made.
pub(crate) struct Swept {
    pub(crate) func: Function,
    pub(crate) refused: Vec<Diagnostic>,
    pub(crate) atomics: Vec<(InstId, InstId)>,
    pub(crate) extremes: Vec<Root>,
    pub(crate) tapes: Vec<SharedTape>,
    /// Arrays of the kernel's own that gradients of the user's write to.
    pub(crate) written_back: Vec<Root>,
}

impl Whole {
    /// The adjoint kernel, or the one that counts what is pushed on tapes; without what is not needed.
    fn sweep(&self, adjoints: &[Option<Type>], wanted: &[bool], only_counts: bool) -> Swept {
        let primal = &self.primal;
        let mut params = primal.params.clone();
        for (param, adjoint) in primal.params.iter().zip(adjoints) {
            params.extend(adjoint.map(|ty| Param { name: format!("adj_{}", param.name), ty }));
        }
        let name = format!("{}.{}", primal.name, if only_counts { "counts" } else { "adjoint" });
        let n_scratch = if only_counts { params.len() } else { primal.params.len() } as u32;
        let mut func = Function::new(name, primal.kind, params, Vec::new());
        let mut sweep =
            Sweep::new(primal, &self.activity, &self.volatile, &self.customs, &self.maps, self.aliases, &mut func);
        sweep.only_counts = only_counts;
        sweep.whole(adjoints, wanted, self.rank);
        let Sweep { mut refused, atomics, mut extremes, shared_tapes: tapes, .. } = sweep;
        extremes.sort();
        extremes.dedup();
        let starts = func.params.len() as u32 - tapes.iter().filter(|tape| tape.array.is_some()).count() as u32;
        let written_back = self.customs.written_back(&func, primal, self.aliases, &mut refused);
        let is_scratch = |root: Root| match root {
            Root::Param(..) if written_back.contains(&root) => false,
            // The tapes themselves are behind where they start.
            Root::Param(index, _) => index < n_scratch || index >= starts,
            Root::Local(_) => true,
            Root::WithAdjoint | Root::Unknown => false,
        };
        if self.module.funcs.len() > 1 {
            func = self.with_calls_inlined(func);
        }
        // Nothing but the tapes themselves leads to their memory.
        let aliases = self.aliases;
        for _ in 0..2 {
            for (_, pass) in transform::PASSES {
                let _ = pass(&mut func);
            }
            let _ = eliminate_dead_writes(&mut func, aliases, &is_scratch);
        }
        Swept { func, refused, atomics, extremes, tapes, written_back }
    }

    /// Types of the tapes in shared memory, if any of them is needed; else their parameters go.
    pub(crate) fn used_tapes(
        &self,
        out: &mut Function,
        tapes: &[SharedTape],
        refused: &mut Vec<Diagnostic>,
    ) -> Vec<Type> {
        let is_loaded = |tape: &SharedTape| {
            listed(out).any(|(_, inst)| inst.op == Op::Load && Some(inst.operands[0]) == tape.array)
        };
        let Some(used) = tapes.iter().find(|tape| is_loaded(tape)) else {
            if !tapes.is_empty() {
                let n = out.params.len() - tapes.len() - 1;
                out.params.truncate(n);
                let body = out.body;
                out.regions[body.index()].params.truncate(n);
            }
            return Vec::new();
        };
        if out.kind != FunctionKind::Kernel {
            let message = "a gradient needs what is read here, which the kernel overwrites in a loop of unknown length";
            let help = "make the number of rounds a constant, or write to another array than is read";
            refused.push(Diagnostic::new("no-gradient", self.primal.inst(used.source).span, message).help(help));
        }
        tapes.iter().map(|tape| tape.ty).collect()
    }

    /// What the user's gradients do, in the place of their calls.
    fn with_calls_inlined(&self, out: Function) -> Function {
        let mut module = self.module.clone();
        let Some(kernel) = module.kernel() else { return out };
        module.funcs[kernel.index()] = out;
        let _ = transform::inline_calls(&mut module);
        let mut out = module.funcs.swap_remove(kernel.index());
        let _ = transform::simplify(&mut out);
        drop_null_accesses(&mut out);
        out
    }

    /// A module of its own, verified.
    fn in_module(&self, func: Function) -> Module {
        let module = self.maps.in_module(&self.module, func);
        if let Err(errors) = verify::verify(&module) {
            panic!("differentiating gave an invalid kernel\n{}", verify::report(&module, &errors));
        }
        module
    }
}

impl Swept {
    /// The kernel that counts. It runs over copies of the arrays that it writes to, before the adjoint kernel, and must
    /// count what that one will push: where it reads what it wrote, no other thread may have a part in it.
    fn counting(
        self,
        types: &[Type],
        adjoints: &[Option<Type>],
        request: &Request,
    ) -> Result<Function, Vec<Diagnostic>> {
        let n = types.len() + adjoints.iter().flatten().count();
        let func = self.func;
        let is_write = |inst: &Inst| matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas);
        // Beside the counts themselves, and the thread's own arrays.
        let reached = |inst: &Inst| -> Vec<Root> {
            let found = roots(&func, inst.operands[0]).into_iter();
            found.filter(|root| !matches!(root, Root::Local(_)) && !is_behind(*root, n)).collect()
        };
        let mut written: Vec<Root> =
            listed(&func).filter(|(_, inst)| is_write(inst)).flat_map(|(_, inst)| reached(inst)).collect();
        written.sort();
        written.dedup();
        let aliases = Aliases { params_overlap: request.overlap };
        let is_shared = |inst: &Inst| {
            matches!(inst.op, Op::Load | Op::Store | Op::Atomic | Op::AtomicCas)
                && reached(inst).iter().any(|&root| {
                    matches!(root, Root::Unknown | Root::WithAdjoint) && is_write(inst)
                        || written.iter().any(|&other| {
                            aliases.may_alias(root, other)
                                && !(root == other && transform::has_own_index(&func, inst, request.rank))
                        })
                })
        };
        let refused: Vec<Diagnostic> = listed(&func)
            .filter(|(_, inst)| is_shared(inst))
            .map(|(_, inst)| {
                let message = "the number of rounds of a loop depends on what is read or written here, and a gradient needs values that it overwrites";
                let help = "read and write it at the thread's own index alone, or keep what the loop's condition reads in a variable";
                Diagnostic::new("no-gradient", inst.span, message).help(help)
            })
            .collect();
        if refused.is_empty() { Ok(func) } else { Err(refused) }
    }
}

fn is_behind(root: Root, n: usize) -> bool {
    matches!(root, Root::Param(index, _) if index as usize >= n)
}

/// The kernel as it runs forward.
fn forward(module: &Module) -> Function {
    let mut module = module.clone();
    let _ = transform::inline_calls(&mut module);
    let Some(kernel) = module.kernel() else { panic!("no kernel to differentiate:\n{module}") };
    module.funcs.swap_remove(kernel.index())
}

/// A kernel or function with all calls inlined but those with gradients of the user's, in the form that is
/// differentiated. `request` is that of a kernel.
pub(crate) fn prepare(module: &Module, customs: &Customs, of: FuncRef, request: Option<&Request>) -> Function {
    let mut module = module.clone();
    let _ = transform::inline_calls_except(&mut module, &|callee| customs.stays(callee));
    let func = &mut module.funcs[of.index()];
    transform::run_passes(func);
    if let Some(request) = request {
        let _ = transform::demote_used_atomics(func, request.rank, Request::sharing(request.overlap));
    }
    structure(func);
    let _ = transform::eliminate_dead_code(func);
    check(&module, of);
    module.funcs.swap_remove(of.index())
}

fn check(module: &Module, kernel: FuncRef) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify::verify(module)
    {
        panic!("`structure` broke {}\n{}", module.func(kernel).name, verify::report(module, &errors));
    }
}

impl Sweep<'_> {
    /// The forward sweep, the reverse sweep, and what the arguments get.
    fn whole(&mut self, adjoints: &[Option<Type>], wanted: &[bool], rank: u32) {
        let primal = self.primal;
        let params = primal.region(primal.body).params.clone();
        let mut next = params.len();
        let mut totals: Vec<(Value, Value)> = Vec::new();
        for (index, &param) in params.iter().enumerate() {
            self.values[param.index()] = Some(self.b.param(index));
            if adjoints[index].is_none() {
                continue;
            }
            let adjoint = self.b.param(next);
            next += 1;
            if has_arrays(primal.ty(param)) {
                self.shadows[param.index()] = wanted[index].then_some(adjoint);
            } else if wanted[index] {
                totals.push((param, adjoint));
            }
        }
        self.make_tapes(rank);
        let n = primal.region(primal.body).insts.len() - 1;
        let is_reversed = !self.only_counts;
        self.forward(primal.body, n, Mode { is_first: true, is_nested: false, is_reversed });
        if self.only_counts {
            self.store_counts();
            return self.end(&[]);
        }
        self.reverse(primal.body, n);
        for (param, adjoint) in totals {
            if let Some(d) = self.adjoints[param.index()].take() {
                let zero = self.b.int(Scalar::I64, 0);
                Place::element(adjoint, zero, primal.ty(param)).add(&mut self.b, d);
            }
        }
        self.end(&[]);
    }

    pub(crate) fn end(&mut self, results: &[Value]) {
        self.b.ret(results);
        let body = self.b.func.body;
        let entry = std::mem::take(&mut self.entry);
        self.b.func.regions[body.index()].insts.splice(0..0, entry);
    }
}

/// Threads that hand values to each other have no reverse sweep of their own.
pub(crate) fn refuse_blocks(primal: &Function) -> Result<(), Vec<Diagnostic>> {
    let is_shared =
        |inst: &Inst| inst.op.effect() == Effect::Sync || matches!(inst.op, Op::SharedArray | Op::DynamicShared);
    let refused = listed(primal).filter(|(_, inst)| is_shared(inst)).map(|(_, inst)| {
        let message = "the gradient of a kernel whose threads share memory or wait for each other is not known";
        let help = "write it as kernels without shared memory, one for each stretch between two barriers";
        Diagnostic::new("no-gradient", inst.span, message).help(help)
    });
    let refused: Vec<Diagnostic> = refused.collect();
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

fn listed(func: &Function) -> impl Iterator<Item = (InstId, &Inst)> {
    func.reached().into_iter().map(|id| (id, func.inst(id)))
}

/// What an atomic gave the first time it may not give again.
fn refuse_orders(primal: &Function, out: &Function, atomics: &[(InstId, InstId)], refused: &mut Vec<Diagnostic>) {
    let used: Vec<Value> = listed(out).flat_map(|(_, inst)| inst.operands.iter().copied()).collect();
    for &(copy, source) in atomics {
        let is_there = listed(out).any(|(id, _)| id == copy);
        if is_there && used.contains(&out.inst(copy).result()) {
            let name = if out.inst(copy).op == Op::AtomicCas { "atomic_cas" } else { "an atomic operation" };
            let message = format!(
                "the gradient depends on the value that {name} gives, which depends on the order of the threads"
            );
            let help =
                "move it to a function with `@func_replay`, which gives the same value when the kernel runs again";
            refused.push(Diagnostic::new("no-gradient", primal.inst(source).span, message).help(help));
        }
    }
}

fn facts(forward: &Function, primal: &Function, out: &Function, adjoints: &[Option<Type>]) -> Vec<Fact> {
    let mut facts = vec![Fact { only_adds: true, ..Fact::default() }; forward.params.len()];
    let mark = |facts: &mut [Fact], func: &Function, array: Value, set: &dyn Fn(&mut Fact)| {
        for root in roots(func, array) {
            match root {
                Root::Param(index, _) => facts.get_mut(index as usize).into_iter().for_each(set),
                Root::Local(_) => {}
                Root::WithAdjoint | Root::Unknown => facts.iter_mut().for_each(set),
            }
        }
    };
    for (fact, adjoint) in facts.iter_mut().zip(adjoints) {
        fact.has_adjoint = adjoint.is_some();
    }
    for (_, inst) in listed(out) {
        if inst.op.effect() == Effect::Read || inst.op.effect() == Effect::Write && !inst.results.is_empty() {
            mark(&mut facts, out, inst.operands[0], &|fact| fact.reads = true);
        }
    }
    for (_, inst) in listed(forward) {
        if inst.op.effect() == Effect::Read {
            mark(&mut facts, forward, inst.operands[0], &|fact| fact.loads = true);
        }
        let is_add =
            matches!(inst.attr, Attr::Atomic(ir::AtomicOp::Add | ir::AtomicOp::Sub, _)) || inst.op == Op::TileAtomicAt;
        if inst.op.effect() == Effect::Write {
            mark(&mut facts, forward, inst.operands[0], &|fact| {
                fact.writes = true;
                fact.only_adds &= is_add;
            });
        }
    }
    let mut is_written_again = vec![Fact::default(); facts.len()];
    for (_, inst) in listed(primal) {
        if inst.op.effect() == Effect::Write {
            mark(&mut is_written_again, primal, inst.operands[0], &|fact| fact.writes = true);
        } else if inst.op == Op::Call {
            is_written_again.iter_mut().for_each(|fact| fact.writes = true);
        }
    }
    for (fact, again) in facts.iter_mut().zip(&is_written_again) {
        fact.only_adds &= fact.writes;
        fact.reads_after = fact.reads && fact.writes && !again.writes;
        fact.reads &= !fact.reads_after;
    }
    facts
}
