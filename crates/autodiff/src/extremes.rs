//! Adjoints of `atomic min` and `atomic max`: who gave the element what it holds in the end takes its adjoint.
//!
//! That is known only when all threads are done. So a *primer* runs before the adjoint kernel, over the arrays as they
//! were: the kernel again, of which no more is left than these operations. Of several threads with the same value one
//! takes the adjoint, by an exchange; where the element kept what it held before the launch, nobody does.
//!
//! ```text
//! atomic max a[i], x    ->    if load a[i] == x { d = atomic exchange da[i], 0 } else { 0 };  dx += d
//! ```

use crate::access::Place;
use crate::memory::{Aliases, Root, roots};
use crate::sweep::Sweep;
use crate::tangent::zero;
use diagnostics::Diagnostic;
use ir::{AtomicOp, Attr, Function, Inst, Op, Type, Value};
use transform::eliminate_dead_code::eliminate_dead_writes;

impl Sweep<'_> {
    /// `primal` and `place` are the same place in the array and in its adjoint.
    pub(crate) fn reverse_extreme(&mut self, inst: &Inst, primal: &Place, place: &Place, value: Value) {
        let found = roots(self.primal, inst.operands[0]);
        if !self.is_extreme_only(&found) {
            return self
                .refuse(
                    inst,
                    "the gradient of a minimum or maximum of an array that the kernel also uses otherwise is not known",
                )
                .help("take the minimum or maximum into an array of its own");
        }
        self.extremes.extend(found);
        let x = self.value(value);
        let ty = self.primal.ty(value);
        let d = if ty.is_composite() {
            let elem = ty.element().map_or(ty, Type::scalar);
            let parts: Vec<Value> = (0..ty.n_components() as u32)
                .map(|index| {
                    let x = self.b.extract(x, index);
                    self.taken(&primal.part(index, elem), &place.part(index, elem), x)
                })
                .collect();
            self.b.construct(ty, &parts)
        } else {
            self.taken(primal, place, x)
        };
        self.accumulate(value, d);
    }

    /// The adjoint of a place, if it holds `x` in the end.
    fn taken(&mut self, primal: &Place, place: &Place, x: Value) -> Value {
        let ty = self.b.ty(x);
        let last = primal.load(&mut self.b);
        let is_ours = self.b.compare(Op::Eq, last, x);
        let (take, leave) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
        let here = self.b.enter(take);
        let nothing = zero(&mut self.b, ty);
        let d = place.exchange(&mut self.b, nothing);
        self.b.yield_(&[d]);
        self.b.enter(leave);
        let nothing = zero(&mut self.b, ty);
        self.b.yield_(&[nothing]);
        self.b.enter(here);
        let test = self.b.push(Op::If, &[is_ours], Attr::None, &[take, leave], &[ty]);
        self.b.func.inst(test).result()
    }

    /// Whether nothing is done to the memory but minima, or maxima.
    fn is_extreme_only(&self, found: &[Root]) -> bool {
        let mut ops = Vec::new();
        for region in &self.primal.regions {
            for &id in &region.insts {
                let inst = self.primal.inst(id);
                let is_access = matches!(inst.op, Op::Load | Op::Store | Op::Atomic | Op::AtomicCas);
                if !is_access && inst.op != Op::Call {
                    continue;
                }
                let others = if is_access {
                    roots(self.primal, inst.operands[0])
                } else {
                    crate::custom::call_roots(self.primal, inst)
                };
                let meets = others.iter().any(|&a| found.iter().any(|&b| self.aliases.may_alias(a, b)));
                match &inst.attr {
                    _ if !meets => {}
                    Attr::Atomic(op @ (AtomicOp::Min | AtomicOp::Max), _) => ops.push(*op),
                    _ => return false,
                }
            }
        }
        found.iter().all(|root| matches!(root, Root::Param(..))) && ops.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// The kernel with no more than what it takes to know the extremes. `like` has the parameters that it shall have.
pub(crate) fn primer(
    mut func: Function,
    like: &Function,
    extremes: &[Root],
    aliases: Aliases,
) -> Result<Function, Vec<Diagnostic>> {
    func.name = format!("{}.primer", func.name);
    for param in &like.params[func.params.len()..] {
        func.add_region_param(func.body, param.ty);
        func.params.push(param.clone());
    }
    for region in 0..func.regions.len() {
        let mut insts = std::mem::take(&mut func.regions[region].insts);
        insts.retain(|&id| !matches!(func.inst(id).op.effect(), ir::op::Effect::Check | ir::op::Effect::Print));
        func.regions[region].insts = insts;
    }
    for _ in 0..2 {
        for (_, pass) in transform::PASSES {
            let _ = pass(&mut func);
        }
        let _ = eliminate_dead_writes(&mut func, aliases, &|root| root != Root::Unknown && !extremes.contains(&root));
    }
    let mut refused = Vec::new();
    for region in &func.regions {
        for &id in &region.insts {
            let inst = func.inst(id);
            let is_other = |root: &Root| !extremes.contains(root) && !matches!(root, Root::Local(_));
            if matches!(inst.op, Op::Store | Op::Atomic | Op::AtomicCas)
                && roots(&func, inst.operands[0]).iter().any(is_other)
            {
                let message =
                    "the gradient of a minimum or maximum that depends on what the kernel writes here is not known";
                let help = "write it in a kernel of its own that is launched before";
                refused.push(Diagnostic::new("no-gradient", inst.span, message).help(help));
            }
        }
    }
    if refused.is_empty() { Ok(func) } else { Err(refused) }
}
