//! The adjoint kernel as a whole: [`reverse`].

use crate::access::Place;
use crate::activity::Activity;
use crate::memory::{Aliases, Root, Volatile, roots};
use crate::structure::structure;
use crate::sweep::{Mode, Sweep};
use crate::tangent::{has_arrays, has_floats, leads_to_floats};
use diagnostics::Diagnostic;
use ir::{Attr, FuncRef, Function, FunctionKind, Inst, InstId, Module, Op, Param, Scalar, Type, Value, verify};
use transform::eliminate_dead_code::eliminate_dead_writes;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Per parameter: whether its adjoint is wanted.
    pub wanted: Vec<bool>,
    /// Arrays among the arguments may share memory.
    pub overlap: bool,
}

/// An adjoint kernel.
#[derive(Debug)]
pub struct Adjoint {
    /// Holds the adjoint kernel alone.
    pub module: Module,
    /// One a parameter of the primal kernel.
    pub facts: Vec<Fact>,
}

/// What the adjoint kernel does with an argument of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// It loads from the array, as it was before the launch.
    pub reads: bool,
    /// The kernel loads from the array.
    pub loads: bool,
    /// The kernel writes to the array.
    pub writes: bool,
    /// There is an adjoint for it.
    pub has_adjoint: bool,
    /// Every write is an atomic addition, so that what was there before keeps its adjoint.
    pub only_adds: bool,
}

/// The adjoint parameter of each parameter: `None` where it holds no floats.
pub fn adjoint_params(params: &[Type]) -> Vec<Option<Type>> {
    let adjoint = |&ty: &Type| {
        if leads_to_floats(ty) { Some(ty) } else { has_floats(ty).then(|| Type::array(ty, 1)) }
    };
    params.iter().map(adjoint).collect()
}

/// Makes the adjoint kernel of the module's kernel, or says which lines have no gradient.
pub fn reverse(module: &Module, request: &Request) -> Result<Adjoint, Vec<Diagnostic>> {
    let primal = prepare(module);
    let aliases = Aliases { params_overlap: request.overlap };
    let wanted: Vec<bool> = primal.params.iter().zip(&request.wanted).map(|(_, &wanted)| wanted).collect();
    let volatile = Volatile::of(&primal, aliases);
    let activity = Activity::of(&primal, &wanted);
    let types: Vec<Type> = primal.params.iter().map(|param| param.ty).collect();
    let adjoints = adjoint_params(&types);
    let mut params = primal.params.clone();
    for (param, adjoint) in primal.params.iter().zip(&adjoints) {
        params.extend(adjoint.map(|ty| Param { name: format!("adj_{}", param.name), ty }));
    }
    let n_primal = primal.params.len() as u32;
    let mut out = Function::new(format!("{}.adjoint", primal.name), FunctionKind::Kernel, params, Vec::new());
    let mut sweep = Sweep::new(&primal, &activity, &volatile, aliases, &mut out);
    sweep.whole(&adjoints, &wanted);
    let (mut refused, atomics) = (std::mem::take(&mut sweep.refused), std::mem::take(&mut sweep.atomics));
    let unbounded = std::mem::take(&mut sweep.unbounded);
    let is_scratch = |root: Root| match root {
        Root::Param(index, _) => index < n_primal,
        Root::Local(_) => true,
        Root::Unknown => false,
    };
    for _ in 0..2 {
        for (_, pass) in transform::PASSES {
            let _ = pass(&mut out);
        }
        let _ = eliminate_dead_writes(&mut out, aliases, &is_scratch);
    }
    refuse_orders(&primal, &out, &atomics, &mut refused);
    refuse_unbounded(&primal, &out, &unbounded, &mut refused);
    if !refused.is_empty() {
        return Err(refused);
    }
    let facts = facts(&primal, &out, &adjoints);
    let module = Module { funcs: vec![out], sites: Vec::new(), fast_math: module.fast_math };
    if let Err(errors) = verify::verify(&module) {
        panic!("the adjoint kernel is not valid\n{}", verify::report(&module, &errors));
    }
    Ok(Adjoint { module, facts })
}

/// The kernel with all calls inlined, in the form that is differentiated.
fn prepare(module: &Module) -> Function {
    let mut module = module.clone();
    let _ = transform::inline_calls(&mut module);
    let Some(kernel) = module.kernel() else { panic!("no kernel to differentiate:\n{module}") };
    let func = &mut module.funcs[kernel.index()];
    for _ in 0..2 {
        for (_, pass) in transform::PASSES {
            let _ = pass(func);
        }
    }
    structure(func);
    let _ = transform::eliminate_dead_code(func);
    check(&module, kernel);
    module.funcs.swap_remove(kernel.index())
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
    fn whole(&mut self, adjoints: &[Option<Type>], wanted: &[bool]) {
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
        self.make_tapes();
        let n = primal.region(primal.body).insts.len() - 1;
        self.forward(primal.body, n, Mode { is_first: true, is_nested: false, is_reversed: true });
        self.reverse(primal.body, n);
        for (param, adjoint) in totals {
            if let Some(d) = self.adjoints[param.index()].take() {
                let zero = self.b.int(Scalar::I64, 0);
                Place::element(adjoint, zero, primal.ty(param)).add(&mut self.b, d);
            }
        }
        self.b.ret(&[]);
        let body = self.b.func.body;
        let entry = std::mem::take(&mut self.entry);
        self.b.func.regions[body.index()].insts.splice(0..0, entry);
    }
}

fn listed(func: &Function) -> impl Iterator<Item = (InstId, &Inst)> {
    func.regions.iter().flat_map(|region| &region.insts).map(|&id| (id, func.inst(id)))
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

/// Tapes without a known end, where they are needed.
fn refuse_unbounded(primal: &Function, out: &Function, unbounded: &[(Value, InstId)], refused: &mut Vec<Diagnostic>) {
    for &(tape, source) in unbounded {
        if listed(out).any(|(_, inst)| inst.op == Op::Load && inst.operands[0] == tape) {
            let message = "a gradient needs what is read here, which the kernel overwrites, in a loop whose number of rounds is not known";
            let help = "make the number of rounds a constant, or write to another array than is read";
            refused.push(Diagnostic::new("no-gradient", primal.inst(source).span, message).help(help));
        }
    }
}

fn facts(primal: &Function, out: &Function, adjoints: &[Option<Type>]) -> Vec<Fact> {
    let mut facts = vec![Fact { only_adds: true, ..Fact::default() }; primal.params.len()];
    let mark = |facts: &mut [Fact], func: &Function, array: Value, set: &dyn Fn(&mut Fact)| {
        for root in roots(func, array) {
            match root {
                Root::Param(index, _) => facts.get_mut(index as usize).into_iter().for_each(set),
                Root::Local(_) => {}
                Root::Unknown => facts.iter_mut().for_each(set),
            }
        }
    };
    for (fact, adjoint) in facts.iter_mut().zip(adjoints) {
        fact.has_adjoint = adjoint.is_some();
    }
    for (_, inst) in listed(out) {
        if matches!(inst.op, Op::Load | Op::Atomic | Op::AtomicCas) {
            mark(&mut facts, out, inst.operands[0], &|fact| fact.reads = true);
        }
    }
    for (_, inst) in listed(primal) {
        if matches!(inst.op, Op::Load) {
            mark(&mut facts, primal, inst.operands[0], &|fact| fact.loads = true);
        }
        let is_add = matches!(inst.attr, Attr::Atomic(ir::AtomicOp::Add | ir::AtomicOp::Sub, _));
        if matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas) {
            mark(&mut facts, primal, inst.operands[0], &|fact| {
                fact.writes = true;
                fact.only_adds &= is_add;
            });
        }
    }
    for fact in &mut facts {
        fact.only_adds &= fact.writes;
    }
    facts
}
