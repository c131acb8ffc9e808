//! Functions whose gradient the user gives.
//!
//! In: a module, and which of its functions have a gradient or a replay function. Out: the module with every replay
//! function in the place of its function, and [`Customs`]: calls that stay calls while the kernel is differentiated,
//! and what is called in the reverse sweep. Only then are they inlined.
//!
//! ```text
//! v3: f32 = call @f(v1, v2)    ->    forward  v3: f32 = call @f(v1, v2)
//!                                    reverse  d1: f32 = call @adj_f(v1, v2, d3, shadow of v2)
//! ```

use crate::activity::Counterpart;
use crate::memory::{Aliases, Root, roots};
use crate::sweep::Sweep;
use crate::tangent::{has_arrays, has_floats, leads_to_floats, zero};
use analysis::leaf_roots;
use diagnostics::Diagnostic;
use ir::{Attr, CustomGradient, FuncRef, Function, Inst, InstId, Module, Op, Type, Value, ValueDef};
use std::collections::HashMap;

/// What is called, and what it does.
#[derive(Debug, Default)]
pub(crate) struct Customs {
    by_callee: HashMap<FuncRef, Custom>,
    accesses: HashMap<FuncRef, Accesses>,
}

/// Arrays of a function's parameters: number of the parameter, and which of its leaves.
#[derive(Debug, Default)]
struct Accesses {
    /// Read or written.
    touched: Vec<(u32, u32)>,
    written: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Custom {
    gradient: FuncRef,
    /// The function loads or writes memory, and so may give another result when it runs again.
    pub(crate) touches_memory: bool,
    pub(crate) writes: bool,
}

impl Customs {
    /// Puts replay functions in their places.
    pub(crate) fn of(module: &mut Module, custom: &[CustomGradient]) -> Customs {
        let extra: Vec<FuncRef> = custom.iter().flat_map(|one| [one.gradient, one.replay]).flatten().collect();
        for (index, func) in module.funcs.iter_mut().enumerate() {
            if extra.contains(&FuncRef(index as u32)) {
                continue;
            }
            for inst in func.insts.iter_mut().filter(|inst| inst.op == Op::Call) {
                let Attr::Func(callee) = inst.attr else { continue };
                if let Some(replay) = custom.iter().find(|one| one.func == callee).and_then(|one| one.replay) {
                    inst.attr = Attr::Func(replay);
                }
            }
        }
        let mut inlined = module.clone();
        let _ = transform::inline_calls(&mut inlined);
        let (mut by_callee, mut accesses) = (HashMap::new(), HashMap::new());
        for one in custom {
            let Some(gradient) = one.gradient else { continue };
            let callee = one.replay.unwrap_or(one.func);
            let body = inlined.func(callee);
            let has =
                |ops: &[Op]| body.regions.iter().flat_map(|r| &r.insts).any(|&id| ops.contains(&body.inst(id).op));
            let writes = has(&[Op::Store, Op::Atomic, Op::AtomicCas]);
            by_callee.insert(callee, Custom { gradient, touches_memory: writes || has(&[Op::Load]), writes });
            accesses.insert(callee, Accesses::of(body));
            // What comes after the arguments are adjoints.
            let mut of_gradient = Accesses::of(inlined.func(gradient));
            of_gradient.written.retain(|&(param, _)| (param as usize) < body.params.len());
            accesses.insert(gradient, of_gradient);
        }
        Customs { by_callee, accesses }
    }

    pub(crate) fn stays(&self, callee: FuncRef) -> bool {
        self.by_callee.contains_key(&callee)
    }

    pub(crate) fn get(&self, inst: &Inst) -> Option<Custom> {
        match inst.attr {
            Attr::Func(callee) if inst.op == Op::Call => self.by_callee.get(&callee).copied(),
            _ => None,
        }
    }
}

impl Customs {
    /// The kernel's own arrays that the gradient functions called in an adjoint kernel write to. Of these the adjoint
    /// kernel knows no earlier state, so that the kernel must leave them alone.
    pub(crate) fn written_back(
        &self,
        adjoint: &Function,
        primal: &Function,
        aliases: Aliases,
        refused: &mut Vec<Diagnostic>,
    ) -> Vec<Root> {
        let mut found = Vec::new();
        for inst in calls(adjoint) {
            let Attr::Func(callee) = inst.attr else { continue };
            let Some(Accesses { written, .. }) = self.accesses.get(&callee) else { continue };
            if !self.by_callee.values().any(|custom| custom.gradient == callee) {
                continue;
            }
            let written: Vec<Root> = written.iter().flat_map(|&at| roots_of(adjoint, inst, at)).collect();
            if self.touches(primal, &written, aliases) {
                let message = "the gradient of a function writes to an array that the kernel uses as well";
                let help = "let it write to another array, or add to `wp.adjoint[…]`";
                refused.push(Diagnostic::new("no-gradient", inst.span, message).help(help));
            }
            found.extend(written);
        }
        found.sort();
        found.dedup();
        found
    }

    /// Whether a kernel reads or writes any of this memory.
    fn touches(&self, primal: &Function, memory: &[Root], aliases: Aliases) -> bool {
        let overlaps =
            |found: Vec<Root>| found.iter().any(|&root| memory.iter().any(|&other| aliases.may_alias(root, other)));
        primal.regions.iter().flat_map(|region| &region.insts).map(|&id| primal.inst(id)).any(|inst| match inst.op {
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => overlaps(roots(primal, inst.operands[0])),
            Op::Call => match inst.attr {
                Attr::Func(callee) => self
                    .accesses
                    .get(&callee)
                    .is_some_and(|found| found.touched.iter().any(|&at| overlaps(roots_of(primal, inst, at)))),
                _ => false,
            },
            _ => false,
        })
    }
}

fn calls(func: &Function) -> impl Iterator<Item = &Inst> {
    let insts = func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id));
    insts.filter(|inst| inst.op == Op::Call)
}

/// Where an array comes from that a call passes.
fn roots_of(func: &Function, call: &Inst, (param, leaf): (u32, u32)) -> Vec<Root> {
    leaf_roots(func, call.operands[param as usize], leaf)
}

impl Accesses {
    /// Of a function without calls.
    fn of(func: &Function) -> Accesses {
        let mut found = Accesses::default();
        for inst in func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id)) {
            let writes = matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas);
            if !writes && inst.op != Op::Load {
                continue;
            }
            for root in roots(func, inst.operands[0]) {
                let Root::Param(index, leaf) = root else { continue };
                found.touched.push((index, leaf));
                found.written.extend(writes.then_some((index, leaf)));
            }
        }
        found
    }
}

impl Sweep<'_> {
    /// Whether a call has an argument whose adjoint array its gradient may read or add to.
    pub(crate) fn reaches_adjoints(&self, inst: &Inst) -> bool {
        let is_present = |&v: &Value| self.activity.counterpart(self.primal, v) != Counterpart::Absent;
        inst.op == Op::Call && inst.operands.iter().any(is_present)
    }

    pub(crate) fn reverse_call(&mut self, inst: &Inst) {
        let Some(custom) = self.customs.get(inst) else { return };
        let seeds: Vec<Option<Value>> = inst.results.iter().map(|v| self.adjoints[v.index()].take()).collect();
        if seeds.iter().all(Option::is_none) && !self.reaches_adjoints(inst) {
            return;
        }
        let mut operands = self.all(&inst.operands);
        // An array that the function gives is a parameter passed by reference: memory has no adjoint but its own.
        let numbers = |&(&result, _): &(&Value, Option<Value>)| !self.primal.ty(result).is_array();
        for (&result, seed) in inst.results.iter().zip(seeds).filter(numbers) {
            let ty = self.primal.ty(result);
            operands.push(seed.unwrap_or_else(|| zero(&mut self.b, ty)));
        }
        let (mut sums, mut types) = (Vec::new(), Vec::new());
        for &operand in &inst.operands {
            let ty = self.primal.ty(operand);
            if leads_to_floats(ty) {
                let shadow = self.shadows[operand.index()];
                operands.push(shadow.unwrap_or_else(|| zero(&mut self.b, ty)));
            } else if has_floats(ty) && !has_arrays(ty) {
                sums.push(operand);
                types.push(ty);
            }
        }
        let call = self.b.push(Op::Call, &operands, Attr::Func(custom.gradient), &[], &types);
        let results = self.b.func.inst(call).results.to_vec();
        for (&operand, &d) in sums.iter().zip(&results) {
            self.accumulate(operand, d);
        }
    }
}

/// Removes what is done to arrays without memory, as adjoints that are not wanted are: reading gives zero, writing does
/// nothing.
pub(crate) fn drop_null_accesses(func: &mut Function) {
    let accesses: Vec<InstId> = func
        .regions
        .iter()
        .flat_map(|region| region.insts.iter().copied())
        .filter(|&id| {
            let inst = func.inst(id);
            matches!(inst.op, Op::Load | Op::Store | Op::Atomic) && is_null(func, inst.operands[0])
        })
        .collect();
    for region in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[region].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for id in insts {
            if accesses.contains(&id) {
                if let Some(&result) = func.inst(id).results.first() {
                    let inst = zero_in_place(func, id, func.ty(result), &mut kept);
                    kept.push(inst);
                }
                continue;
            }
            kept.push(id);
        }
        func.regions[region].insts = kept;
    }
}

/// Turns an access into one that gives zero; what it needs goes to `before`.
fn zero_in_place(func: &mut Function, id: InstId, ty: Type, before: &mut Vec<InstId>) -> InstId {
    let here = func.add_region(&[]);
    let mut b = ir::Builder::new(func);
    b.span = b.func.inst(id).span;
    b.enter(here);
    let nothing = zero(&mut b, ty);
    let condition = b.bool(true);
    before.extend(std::mem::take(&mut func.regions[here.index()].insts));
    let inst = &mut func.insts[id.index()];
    inst.op = Op::Select;
    inst.operands = [condition, nothing, nothing].into_iter().collect();
    inst.attr = Attr::None;
    id
}

/// Whether an array surely has no memory behind it.
fn is_null(func: &Function, array: Value) -> bool {
    let ValueDef::Result(id, _) = func.def(array) else { return false };
    let inst = func.inst(id);
    match inst.op {
        Op::Row | Op::Subarray => is_null(func, inst.operands[0]),
        Op::ArrayFromAddress => func.as_const(inst.operands[0]).is_some_and(|address| address.0 == 0),
        _ => false,
    }
}

/// The roots of every array among the operands of a call.
pub(crate) fn call_roots(func: &Function, inst: &Inst) -> Vec<Root> {
    let arrays = inst.operands.iter().filter(|&&v| has_arrays(func.ty(v)));
    arrays
        .flat_map(|&v| if func.ty(v).is_array() { crate::memory::roots(func, v) } else { vec![Root::Unknown] })
        .collect()
}
