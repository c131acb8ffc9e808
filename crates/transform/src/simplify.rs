//! Replaces computations by simpler ones of the same result.
//!
//! In: a verified function. Out: the same function with constants folded (by [`ir::eval`], so as the interpreter
//! computes them), laws of integer and IEEE arithmetic applied, components forwarded from where they were put together,
//! indices that cannot be negative left unwrapped, and decided control flow resolved.
//!
//! ```text
//! v2: i32 = const 0
//! v3: i32 = add v0, v2                  ->    (v3 becomes v0)
//! v5: bool = const true
//! v6: f32 = if v5 { yield v1 } else …   ->    (v6 becomes v1)
//! ```
//!
//! One walk in program order; operands are simple when an instruction is looked at. What a rule leaves unused,
//! `eliminate_dead_code` removes.

mod arrays;
mod components;
mod control;
mod conversions;
mod scalars;

pub(crate) use control::rounds;

use crate::Changed;
use crate::range::{Counters, Range};
use crate::replace::Replacements;
use diagnostics::Span;
use ir::{Attr, Const, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};

/// Simplifies every instruction, outermost regions first.
pub fn simplify(func: &mut Function) -> Changed {
    let body = func.body;
    let counters = Counters::new(func);
    let replacements = Replacements::default();
    let mut simplifier = Simplifier { func, counters, replacements, out: Vec::new(), changed: false };
    simplifier.region(body);
    let changed = simplifier.changed;
    let replacements = simplifier.replacements;
    // Uses before the replacement was known: in loops.
    replacements.apply(func);
    Changed(changed)
}

/// What an instruction with one result may become.
pub(crate) enum Simpler {
    Const(Const),
    Value(Value),
    /// Another op with the same result.
    Op(Op, Vec<Value>, Attr),
}

struct Simplifier<'f> {
    func: &'f mut Function,
    counters: Counters,
    replacements: Replacements,
    /// The region being rebuilt.
    out: Vec<InstId>,
    changed: bool,
}

/// Rules may enable each other on one instruction; a cycle among them must not hang.
const MAX_STEPS: usize = 8;

impl Simplifier<'_> {
    fn region(&mut self, region: RegionId) {
        let insts = std::mem::take(&mut self.func.regions[region.index()].insts);
        let outer = std::mem::take(&mut self.out);
        let n_facts = self.counters.n_facts();
        self.insts(&insts);
        self.counters.forget(n_facts);
        self.func.regions[region.index()].insts = std::mem::replace(&mut self.out, outer);
    }

    /// Appends simplified instructions to the region being rebuilt, up to its end.
    fn insts(&mut self, insts: &[InstId]) {
        for &id in insts {
            self.resolve(id);
            if self.func.inst(id).regions.is_empty() {
                self.inst(id);
            } else {
                self.control(id);
            }
            // An arm that leaves may have been spliced in: what follows never runs.
            if self.out.last().is_some_and(|&last| self.func.inst(last).op.is_terminator()) {
                break;
            }
        }
    }

    fn resolve(&mut self, id: InstId) {
        for operand in &mut self.func.insts[id.index()].operands {
            *operand = self.replacements.get(*operand);
        }
    }

    fn inst(&mut self, id: InstId) {
        for _ in 0..MAX_STEPS {
            let inst = self.func.inst(id);
            if is_idle_check(self, inst) {
                self.changed = true;
                return;
            }
            let [result] = inst.results[..] else { break };
            if inst.op == Op::Const {
                break;
            }
            let Some(simpler) = self.simpler(id) else { break };
            self.changed = true;
            let inst = &mut self.func.insts[id.index()];
            match simpler {
                Simpler::Value(value) => {
                    self.replacements.set(result, value);
                    return;
                }
                Simpler::Const(value) => {
                    (inst.op, inst.attr) = (Op::Const, Attr::Const(value));
                    inst.operands.clear();
                }
                Simpler::Op(op, operands, attr) => {
                    (inst.op, inst.attr) = (op, attr);
                    inst.operands = operands.into();
                }
            }
        }
        self.out.push(id);
    }

    fn simpler(&mut self, id: InstId) -> Option<Simpler> {
        scalars::fold(self.func, self.func.inst(id))
            .or_else(|| scalars::laws(self, id))
            .or_else(|| conversions::simpler(self, self.func.inst(id)))
            .or_else(|| components::simpler(self, id))
            .or_else(|| arrays::simpler(self, self.func.inst(id)))
    }

    fn range(&self, value: Value) -> Option<Range> {
        self.counters.range(self.func, value)
    }

    /// A new constant before the current instruction.
    fn constant(&mut self, scalar: Scalar, value: Const, span: Span) -> Value {
        self.push(Op::Const, &[], Attr::Const(value), Type::scalar(scalar), span)
    }

    fn push(&mut self, op: Op, operands: &[Value], attr: Attr, ty: Type, span: Span) -> Value {
        let inst = self.func.add_inst(op, operands, attr, &[], &[ty], span);
        self.out.push(inst);
        self.func.inst(inst).result()
    }
}

/// The instruction that defines a value by its op `op`.
pub(crate) fn defined_by(func: &Function, value: Value, op: Op) -> Option<&Inst> {
    let ValueDef::Result(inst, _) = func.def(value) else { return None };
    let inst = func.inst(inst);
    (inst.op == op).then_some(inst)
}

/// A check that cannot fail.
fn is_idle_check(cx: &Simplifier, inst: &Inst) -> bool {
    let constant = |v: Value| cx.func.ty(v).as_scalar().zip(cx.func.as_const(v));
    match (inst.op, &inst.operands[..]) {
        (Op::Assert, &[condition]) => constant(condition).is_some_and(|(_, value)| value.0 != 0),
        (Op::CheckNonZero, &[x]) => cx.range(x).is_some_and(|r| r.lo > 0 || r.hi < 0),
        (Op::CheckFinite, &[x]) => constant(x).is_some_and(|(scalar, value)| value.as_float(scalar).is_finite()),
        (Op::CheckIndex, &[i, n]) => arrays::is_index_below(cx, i, n),
        (Op::CheckBounds, &[array, ref indices @ ..]) => arrays::is_within_local_array(cx, array, indices),
        _ => false,
    }
}
