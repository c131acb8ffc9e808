//! Puts the bodies of called functions in the place of the calls.
//!
//! In: a module without recursion. Out: the same without calls. Callees come first, so that each body is copied
//! complete. A callee that returns early is brought to one return at its end by `unify_returns` before it is copied.
//!
//! ```text
//! v1: f32 = call @twice(v0)    ->    v2: f32 = add v0, v0      (v1 becomes v2)
//! ```

use crate::replace::Replacements;
use crate::{Changed, unify_returns};
use ir::{Attr, FuncRef, Function, FunctionKind, Inst, InstId, Module, Op, RegionId, Type, Value};
use std::collections::HashMap;

/// Inlines every call of the module.
pub fn inline_calls(module: &mut Module) -> Changed {
    inline_calls_except(module, &|_| false)
}

/// Inlines every call but those of functions that `stays` names.
pub fn inline_calls_except(module: &mut Module, stays: &dyn Fn(FuncRef) -> bool) -> Changed {
    let mut changed = Changed(false);
    // Callees in the form in which they are copied.
    let mut ready: HashMap<usize, Function> = HashMap::new();
    for index in callees_first(module) {
        let callees = callees(&module.funcs[index]);
        for callee in callees {
            // A callee that is not done yet is part of a cycle; the verifier reports it.
            let is_function = module.funcs.get(callee).is_some_and(|f| f.kind == FunctionKind::Function);
            if is_function && callee != index && !stays(FuncRef(callee as u32)) {
                ready.entry(callee).or_insert_with(|| {
                    let mut func = module.funcs[callee].clone();
                    let _ = unify_returns(&mut func);
                    func
                });
            }
        }
        changed |= inline_into(&mut module.funcs[index], &ready);
    }
    changed
}

fn callees(func: &Function) -> Vec<usize> {
    let callee = |inst: &Inst| if let Attr::Func(callee) = inst.attr { Some(callee.index()) } else { None };
    func.regions.iter().flat_map(|region| &region.insts).filter_map(|&id| callee(func.inst(id))).collect()
}

/// Indices of all functions, each after those it calls.
fn callees_first(module: &Module) -> Vec<usize> {
    let mut order = Vec::new();
    let mut is_seen = vec![false; module.funcs.len()];
    for root in 0..module.funcs.len() {
        let mut stack = vec![(root, None::<Vec<usize>>)];
        while let Some((func, rest)) = stack.pop() {
            let mut rest = match rest {
                Some(rest) => rest,
                None if is_seen[func] => continue,
                None => {
                    is_seen[func] = true;
                    callees(&module.funcs[func])
                }
            };
            match rest.pop() {
                Some(callee) => {
                    stack.push((func, Some(rest)));
                    if is_seen.get(callee) == Some(&false) {
                        stack.push((callee, None));
                    }
                }
                None => order.push(func),
            }
        }
    }
    order
}

fn inline_into(func: &mut Function, ready: &HashMap<usize, Function>) -> Changed {
    let mut replacements = Replacements::default();
    let mut changed = false;
    // Regions that the copies add have no calls.
    for index in 0..func.regions.len() {
        let insts = std::mem::take(&mut func.regions[index].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            let inst = func.inst(id);
            let callee = match inst.attr {
                Attr::Func(callee) if inst.op == Op::Call => ready.get(&callee.index()),
                _ => None,
            };
            let Some(callee) = callee else {
                out.push(id);
                continue;
            };
            changed = true;
            let (arguments, results) = (inst.operands.clone(), inst.results.clone());
            let Some(returned) = copy_body(func, callee, &arguments, &mut out) else {
                // The callee never returns, so nothing after the call runs.
                break;
            };
            for (&result, &by) in results.iter().zip(&returned) {
                replacements.set(result, by);
            }
        }
        func.regions[index].insts = out;
    }
    replacements.apply(func);
    Changed(changed)
}

/// Copies a body to the end of `out`; gives what it returns, or `None` where it ends in `unreachable`.
fn copy_body(func: &mut Function, callee: &Function, arguments: &[Value], out: &mut Vec<InstId>) -> Option<Vec<Value>> {
    let mut values: Vec<Option<Value>> = vec![None; callee.values.len()];
    let body = callee.region(callee.body);
    for (&param, &argument) in body.params.iter().zip(arguments) {
        values[param.index()] = Some(argument);
    }
    let ends_in_return = callee.terminator(callee.body).map(|id| callee.inst(id)).filter(|inst| inst.op == Op::Return);
    let n = body.insts.len() - usize::from(ends_in_return.is_some());
    let mut copy = Copy { func, callee, values };
    for &id in &body.insts[..n] {
        out.push(copy.inst(id));
    }
    ends_in_return.map(|inst| copy.operands(&inst.operands))
}

struct Copy<'a> {
    func: &'a mut Function,
    callee: &'a Function,
    /// The copies of the callee's values.
    values: Vec<Option<Value>>,
}

impl Copy<'_> {
    fn operands(&self, operands: &[Value]) -> Vec<Value> {
        operands.iter().map(|v| self.values[v.index()].expect("a value is copied before its uses")).collect()
    }

    fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|&v| self.callee.ty(v)).collect()
    }

    fn set(&mut self, values: &[Value], copies: &[Value]) {
        for (value, &copy) in values.iter().zip(copies) {
            self.values[value.index()] = Some(copy);
        }
    }

    fn inst(&mut self, id: InstId) -> InstId {
        let callee = self.callee;
        let inst = callee.inst(id);
        let operands = self.operands(&inst.operands);
        let regions: Vec<RegionId> = inst.regions.iter().map(|&region| self.region(region)).collect();
        let results = self.types(&inst.results);
        let copy = self.func.add_inst(inst.op, &operands, inst.attr.clone(), &regions, &results, inst.span);
        let copies = self.func.inst(copy).results.clone();
        self.set(&inst.results, &copies);
        copy
    }

    fn region(&mut self, region: RegionId) -> RegionId {
        let region = self.callee.region(region);
        let copy = self.func.add_region(&self.types(&region.params));
        let params = self.func.region(copy).params.clone();
        self.set(&region.params, &params);
        for &id in &region.insts {
            let inst = self.inst(id);
            self.func.regions[copy.index()].insts.push(inst);
        }
        copy
    }
}
