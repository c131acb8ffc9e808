//! Control flow that is decided, and values that a loop carries around unchanged.

use super::{Simplifier, defined_by};
use crate::exits::{loop_exits, yields};
use ir::{Attr, Function, Inst, InstId, Op, RegionId, Scalar, Value};

impl Simplifier<'_> {
    /// Simplifies an op that owns regions, with what is in them.
    pub(super) fn control(&mut self, id: InstId) {
        match self.func.inst(id).op {
            Op::If => self.if_(id),
            Op::Each => {
                self.region(self.func.inst(id).regions[0]);
                self.out.push(id);
            }
            _ => self.loop_(id),
        }
    }

    fn if_(&mut self, id: InstId) {
        self.un_negate(id);
        let inst = self.func.inst(id);
        let (condition, arms) = (inst.operands[0], inst.regions.clone());
        if let Some(c) = self.func.as_const(condition) {
            self.changed = true;
            return self.splice_arm(id, arms[usize::from(c.0 == 0)]);
        }
        for (&arm, holds) in arms.iter().zip([true, false]) {
            let n_facts = self.counters.n_facts();
            self.counters.assume(self.func, condition, holds);
            self.region(arm);
            self.counters.forget(n_facts);
        }
        for (i, holds) in [(0, false), (1, true)] {
            // Who took an arm that leaves does not come by here.
            if !yields(self.func, arms[i]) {
                self.counters.assume(self.func, condition, holds);
            }
        }
        if arms.iter().any(|&arm| !yields(self.func, arm)) {
            self.out.push(id);
            if arms.iter().all(|&arm| !yields(self.func, arm)) {
                let span = self.func.inst(id).span;
                let end = self.func.add_inst(Op::Unreachable, &[], Attr::None, &[], &[], span);
                self.out.push(end);
            }
            return;
        }
        self.same_yields(id, &arms);
        let is_bare = arms.iter().all(|&arm| self.func.region(arm).insts.len() == 1);
        if is_bare {
            self.changed = true;
            return self.select_yields(id, &arms);
        }
        self.out.push(id);
    }

    /// `if not c` is `if c` with its arms swapped.
    fn un_negate(&mut self, id: InstId) {
        let condition = self.func.inst(id).operands[0];
        if let Some(not) = defined_by(self.func, condition, Op::Not) {
            let condition = not.operands[0];
            let inst = &mut self.func.insts[id.index()];
            inst.operands[0] = condition;
            inst.regions.swap(0, 1);
            self.changed = true;
        }
    }

    /// Puts the arm that always runs in the place of its `if`.
    fn splice_arm(&mut self, id: InstId, arm: RegionId) {
        let insts = std::mem::take(&mut self.func.regions[arm.index()].insts);
        let results = self.func.inst(id).results.clone();
        self.splice(&insts, &results, Op::Yield);
    }

    /// Appends instructions; where they end in `end`, its operands are what `results` become.
    fn splice(&mut self, insts: &[InstId], results: &[Value], end: Op) {
        let Some((&last, start)) = insts.split_last() else { return };
        self.insts(start);
        if self.out.last().is_some_and(|&last| self.func.inst(last).op.is_terminator()) {
            return;
        }
        if self.func.inst(last).op != end {
            return self.insts(&[last]);
        }
        self.resolve(last);
        for (&result, by) in results.iter().zip(self.func.inst(last).operands.clone()) {
            self.replacements.set(result, by);
        }
    }

    fn yielded(&self, arm: RegionId) -> Vec<Value> {
        self.func.terminator(arm).map_or(Vec::new(), |id| self.func.inst(id).operands.to_vec())
    }

    /// A result that is one value in both arms is that value; it is defined before the `if`.
    fn same_yields(&mut self, id: InstId, arms: &[RegionId]) {
        let results = self.func.inst(id).results.clone();
        let pairs = self.yielded(arms[0]).into_iter().zip(self.yielded(arms[1]));
        for (&result, (a, b)) in results.iter().zip(pairs) {
            if a == b && self.replacements.get(result) == result {
                self.replacements.set(result, a);
            }
        }
    }

    /// An `if` that only chooses among values is a `select` for each.
    fn select_yields(&mut self, id: InstId, arms: &[RegionId]) {
        let inst = self.func.inst(id);
        let (condition, results, span) = (inst.operands[0], inst.results.clone(), inst.span);
        let pairs = self.yielded(arms[0]).into_iter().zip(self.yielded(arms[1]));
        for (&result, (a, b)) in results.iter().zip(pairs) {
            if self.replacements.get(result) != result {
                continue;
            }
            let ty = self.func.ty(result);
            let select = self.func.add_inst(Op::Select, &[condition, a, b], Attr::None, &[], &[ty], span);
            self.replacements.set(result, self.func.inst(select).result());
            self.inst(select);
        }
    }

    fn loop_(&mut self, id: InstId) {
        let body = self.func.inst(id).regions[0];
        if is_never_entered(self.func, self.func.inst(id)) {
            self.changed = true;
            let inst = self.func.inst(id);
            for (&result, &init) in inst.results.iter().zip(&inst.operands[3..]) {
                self.replacements.set(result, init);
            }
            return;
        }
        if let Some(end) = one_round(self.func, id) {
            self.changed = true;
            return self.splice_body(id, body, end);
        }
        self.carried_unchanged(id, body);
        self.region(body);
        self.out.push(id);
    }

    /// Puts the body of a loop that runs once in its place.
    fn splice_body(&mut self, id: InstId, body: RegionId, end: Op) {
        let inst = self.func.inst(id);
        let mut values: Vec<Value> = inst.operands.to_vec();
        if inst.op == Op::For {
            values.drain(1..3);
        }
        let results = inst.results.clone();
        for (param, by) in self.func.region(body).params.clone().into_iter().zip(values) {
            self.replacements.set(param, by);
        }
        let insts = std::mem::take(&mut self.func.regions[body.index()].insts);
        self.splice(&insts, &results, end);
    }

    /// A value that each round hands on as it got it is the initial value, inside the loop and behind it.
    fn carried_unchanged(&mut self, id: InstId, body: RegionId) {
        let inst = self.func.inst(id);
        let (is_for, results, operands) = (inst.op == Op::For, inst.results.clone(), inst.operands.clone());
        let n_fixed = usize::from(is_for);
        let params = self.func.region(body).params[n_fixed..].to_vec();
        let inits: Vec<Value> =
            operands[if is_for { 3 } else { 0 }..].iter().map(|&init| self.replacements.get(init)).collect();
        let exits = loop_exits(self.func, body);
        for (k, (&param, &init)) in params.iter().zip(&inits).enumerate() {
            let is_kept = |&&exit: &&InstId| {
                let value = self.replacements.get(self.func.inst(exit).operands[k]);
                value == param || value == init
            };
            let is_continue = |exit: &&InstId| self.func.inst(**exit).op == Op::Continue;
            if param == init || !exits.iter().filter(is_continue).all(|exit| is_kept(&exit)) {
                continue;
            }
            let is_result = is_for && exits.iter().filter(|exit| !is_continue(exit)).all(|exit| is_kept(&exit));
            if is_result {
                self.replacements.set(results[k], init);
            }
            self.replacements.set(param, init);
        }
        if !is_for {
            self.same_breaks(&results, &inits, &exits);
        }
    }

    /// A result of a `loop` that is one initial value wherever the loop is left is that value.
    fn same_breaks(&mut self, results: &[Value], inits: &[Value], exits: &[InstId]) {
        let breaks: Vec<InstId> = exits.iter().copied().filter(|&exit| self.func.inst(exit).op == Op::Break).collect();
        for (k, &result) in results.iter().enumerate() {
            let mut values = breaks.iter().map(|&exit| self.replacements.get(self.func.inst(exit).operands[k]));
            let Some(first) = values.next() else { continue };
            if inits.contains(&first) && values.all(|value| value == first) && self.replacements.get(result) == result {
                self.replacements.set(result, first);
            }
        }
    }
}

/// Whether the bounds of a `for` are constants that it has no round for.
fn is_never_entered(func: &Function, inst: &Inst) -> bool {
    inst.op == Op::For && rounds(func, inst) == Some(0)
}

/// How many rounds a `for` with constant bounds makes, unless it leaves early.
pub(crate) fn rounds(func: &Function, inst: &Inst) -> Option<i128> {
    let scalar: Scalar = func.ty(inst.operands[0]).as_scalar()?;
    let step = func.as_const(inst.operands[2])?.as_int(scalar);
    if step == 0 || inst.operands[0] == inst.operands[1] {
        return Some(0);
    }
    let constant = |i: usize| func.as_const(inst.operands[i]).map(|c| c.as_int(scalar));
    let (lo, hi) = (constant(0)?, constant(1)?);
    let distance = if step > 0 { hi - lo } else { lo - hi };
    Some(if distance <= 0 { 0 } else { (distance + step.abs() - 1) / step.abs() })
}

/// Whether a loop's body runs exactly once and is left at its end only: the terminator that ends it.
fn one_round(func: &Function, id: InstId) -> Option<Op> {
    let inst = func.inst(id);
    let body = inst.regions[0];
    let end = func.terminator(body)?;
    let op = func.inst(end).op;
    if inst.op == Op::For && rounds(func, inst) != Some(1) {
        return None;
    }
    let ends_loop = op == Op::Break || inst.op == Op::For && op == Op::Continue;
    (ends_loop && loop_exits(func, body) == [end]).then_some(op)
}
