//! The reverse sweep: adjoints from the last instruction to the first.
//!
//! In: a region whose forward sweep has just been copied. Out: what it adds to the adjoints of the values it used. An
//! arm and a round are copied again before they are swept, since nothing of their first run is left but what was kept.
//!
//! ```text
//! v1 = if v0 { A; yield v2 } else { B; yield v3 }
//! ->
//! d4 = if v0 { A; d2 += d1; reverse A; yield d4 } else { B; d3 += d1; reverse B; yield 0 }
//! ```

use crate::activity::{Counterpart, carried};
use crate::kept::Record;
use crate::rules::{Partial, Rule, partials, rule};
use crate::sweep::{Mode, Sweep};
use crate::tangent::{self, zero};
use ir::op::Effect;
use ir::{Attr, Inst, InstId, Op, RegionId, Scalar, Type, Value};

/// A copy inside a region that is swept next.
const AGAIN: Mode = Mode { is_first: false, is_nested: true, is_reversed: true };

impl Sweep<'_> {
    /// Sweeps the first `n` instructions of a region.
    pub(crate) fn reverse(&mut self, region: RegionId, n: usize) {
        let primal = self.primal;
        for &id in primal.region(region).insts[..n].iter().rev() {
            self.b.span = primal.inst(id).span;
            self.reverse_inst(id);
        }
    }

    fn reverse_inst(&mut self, id: InstId) {
        let inst = self.primal.inst(id);
        match inst.op {
            Op::If | Op::For | Op::Loop => {
                let has_adjoint = inst.results.iter().any(|v| self.adjoints[v.index()].is_some());
                if !has_adjoint && !inst.regions.iter().any(|&region| self.writes(region)) {
                    return;
                }
                if inst.op == Op::If { self.reverse_if(id) } else { self.reverse_loop(id) }
            }
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => self.reverse_access(id, inst),
            op if op.is_over_tiles() && matches!(op.effect(), Effect::Read | Effect::Write) => {
                self.reverse_tile_access(inst);
            }
            Op::Call => self.reverse_call(inst),
            _ => {
                let Some(&result) = inst.results.first() else { return };
                let Some(d) = self.adjoints[result.index()].take() else { return };
                self.reverse_value(id, inst, d);
            }
        }
    }

    /// Whether a region writes to memory that has an adjoint.
    fn writes(&self, region: RegionId) -> bool {
        let primal = self.primal;
        primal.region(region).insts.iter().any(|&id| {
            let inst = primal.inst(id);
            inst.op.effect() == Effect::Write
                && self.activity.counterpart(primal, inst.operands[0]) != Counterpart::Absent
                || self.reaches_adjoints(inst)
                || inst.regions.iter().any(|&inner| self.writes(inner))
        })
    }

    /// Adds to the adjoint of a primal value.
    pub(crate) fn accumulate(&mut self, value: Value, d: Value) {
        if !self.activity.is_active(value) {
            return;
        }
        let sum = match self.adjoints[value.index()] {
            Some(known) => tangent::add(&mut self.b, known, d),
            None => d,
        };
        self.adjoints[value.index()] = Some(sum);
    }

    fn reverse_value(&mut self, id: InstId, inst: &Inst, d: Value) {
        match rule(inst.op) {
            Some(Rule::Flat) => {}
            Some(Rule::Whole(row)) => {
                let (operands, result) = (self.all(&inst.operands), self.value(inst.result()));
                let found = partials(row, &mut self.b, &operands, result);
                for (&operand, partial) in inst.operands.iter().zip(found) {
                    if let Some(d) = times(self, partial, d) {
                        self.accumulate(operand, d);
                    }
                }
            }
            Some(Rule::Scalar(row)) => self.reverse_scalars(inst, row, d),
            None if inst.op.is_over_tiles() => self.reverse_tile(id, inst, d),
            None => self.reverse_linear(inst, d),
        }
    }

    /// An op whose rule is for scalars, component by component.
    fn reverse_scalars(
        &mut self,
        inst: &Inst,
        row: fn(&mut crate::rules::Eval<'_, '_>, &[Value], Value) -> Vec<Partial>,
        d: Value,
    ) {
        let ty = self.primal.ty(inst.result());
        let (operands, result) = (self.all(&inst.operands), self.value(inst.result()));
        if !ty.is_composite() {
            let found = partials(row, &mut self.b, &operands, result);
            for (&operand, partial) in inst.operands.iter().zip(found) {
                if let Some(d) = times(self, partial, d) {
                    self.accumulate(operand, d);
                }
            }
            return;
        }
        let mut parts: Vec<Vec<Value>> = vec![Vec::new(); operands.len()];
        for index in 0..ty.n_components() as u32 {
            let xs: Vec<Value> = operands.iter().map(|&x| self.b.extract(x, index)).collect();
            let (y, d) = (self.b.extract(result, index), self.b.extract(d, index));
            let found = partials(row, &mut self.b, &xs, y);
            for (part, partial) in parts.iter_mut().zip(found) {
                let none = self.b.ty(d);
                part.push(times(self, partial, d).unwrap_or_else(|| zero(&mut self.b, none)));
            }
        }
        for (&operand, part) in inst.operands.iter().zip(&parts) {
            let d = self.b.construct(ty, part);
            self.accumulate(operand, d);
        }
    }

    fn reverse_if(&mut self, id: InstId) {
        let inst = self.primal.inst(id);
        let condition = self.value(inst.operands[0]);
        let seeds: Vec<Option<Value>> = inst.results.iter().map(|v| self.adjoints[v.index()].take()).collect();
        let marks = self.marks.get(&id).cloned();
        let n_values = self.adjoints.len();
        let outer = std::mem::replace(&mut self.adjoints, vec![None; n_values]);
        let mut arms = Vec::new();
        for &arm in &inst.regions {
            let region = self.b.func.add_region(&[]);
            let here = self.b.enter(region);
            if let Some(marks) = &marks {
                self.set_positions(marks);
            }
            let n = self.primal.region(arm).insts.len() - 1;
            self.forward(arm, n, AGAIN);
            let end = self.primal.inst(self.primal.region(arm).insts[n]);
            if end.op == Op::Yield {
                for (&operand, seed) in end.operands.iter().zip(&seeds) {
                    if let &Some(seed) = seed {
                        self.accumulate(operand, seed);
                    }
                }
                self.reverse(arm, n);
            }
            let found = std::mem::replace(&mut self.adjoints, vec![None; n_values]);
            arms.push((region, found, end.op == Op::Yield));
            self.b.enter(here);
        }
        self.adjoints = outer;
        self.b.span = inst.span;
        let reached: Vec<usize> =
            (0..n_values).filter(|&v| arms.iter().any(|(_, found, _)| found[v].is_some())).collect();
        let types: Vec<Type> = reached.iter().map(|&v| self.primal.values[v].ty).collect();
        for (region, found, goes_on) in &arms {
            let here = self.b.enter(*region);
            if *goes_on {
                let parts = reached.iter().zip(&types);
                let values: Vec<Value> =
                    parts.map(|(&v, &ty)| found[v].unwrap_or_else(|| zero(&mut self.b, ty))).collect();
                self.b.yield_(&values);
            } else {
                self.b.push(Op::Unreachable, &[], Attr::None, &[], &[]);
            }
            self.b.enter(here);
        }
        let regions: Vec<RegionId> = arms.iter().map(|(region, ..)| *region).collect();
        let copy = self.b.push(Op::If, &[condition], Attr::None, &regions, &types);
        let results = self.b.func.inst(copy).results.clone();
        for (&v, &d) in reached.iter().zip(&results) {
            self.accumulate(Value(v as u32), d);
        }
    }

    /// Active values from outside that a loop's body uses.
    fn used_from_outside(&self, region: RegionId) -> Vec<Value> {
        let (mut used, mut defined) = (Vec::new(), vec![false; self.primal.values.len()]);
        self.uses(region, &mut used, &mut defined);
        used.retain(|v| !defined[v.index()] && self.activity.is_active(*v));
        used.retain(|v| tangent::has_floats(self.primal.ty(*v)));
        used.sort();
        used.dedup();
        used
    }

    fn uses(&self, region: RegionId, used: &mut Vec<Value>, defined: &mut [bool]) {
        let primal = self.primal;
        primal.region(region).params.iter().for_each(|v| defined[v.index()] = true);
        for &id in &primal.region(region).insts {
            let inst = primal.inst(id);
            used.extend(&inst.operands);
            inst.results.iter().for_each(|v| defined[v.index()] = true);
            inst.regions.iter().for_each(|&inner| self.uses(inner, used, defined));
        }
    }

    /// Runs the rounds of a loop from the last to the first. It carries the adjoints of the state, and those of values
    /// from outside.
    fn reverse_loop(&mut self, id: InstId) {
        let primal = self.primal;
        let inst = primal.inst(id);
        let end = self.loop_end(id);
        let (initial, params) = carried(primal, inst);
        let is_for = inst.op == Op::For;
        let seeds: Vec<Option<Value>> = inst.results.iter().map(|v| self.adjoints[v.index()].take()).collect();
        if end.is_nowhere {
            return;
        }
        if params.iter().any(|&v| tangent::has_arrays(primal.ty(v))) {
            return self
                .refuse(inst, "the gradient of a loop that changes an array variable is not known")
                .help("choose the array before the loop, or index one array");
        }
        let Some(record) = self.records.get(&id).cloned() else { panic!("a loop was not recorded") };
        let state: Vec<Value> = params.iter().copied().filter(|&v| self.is_summed(v)).collect();
        let outside = self.used_from_outside(inst.regions[0]);
        let mut operands = self.backward_bounds(&record);
        for &param in &state {
            let index = params.iter().position(|&v| v == param).unwrap_or(0);
            let seed = if is_for { seeds[index] } else { None };
            operands.push(self.or_zero(seed, primal.ty(param)));
        }
        for &value in &outside {
            let known = self.adjoints[value.index()];
            operands.push(self.or_zero(known, primal.ty(value)));
        }
        if !record.has_all {
            operands.push(self.first_top(&record));
        }
        let types: Vec<Type> = operands[3..].iter().map(|&v| self.b.ty(v)).collect();
        let body = self.b.func.add_region(&[&[Type::i64()][..], &types].concat());
        let here = self.b.enter(body);
        let current = self.b.func.region(body).params.to_vec();
        let n_values = self.adjoints.len();
        let mut outer = std::mem::replace(&mut self.adjoints, vec![None; n_values]);
        let (k, current) = (current[0], &current[1..]);
        let top = if record.has_all { None } else { current.last().copied() };
        for (&value, &sum) in outside.iter().zip(&current[state.len()..]) {
            self.adjoints[value.index()] = Some(sum);
        }
        let top = self.restore(id, &record, k, top);
        self.forward(inst.regions[0], end.n_plain, AGAIN);
        for (&param, &d) in state.iter().zip(current) {
            let index = params.iter().position(|&v| v == param).unwrap_or(0);
            self.accumulate(end.next[index], d);
        }
        if let Some((_, out)) = &end.last {
            self.seed_last_round(&record, k, out, &seeds);
        }
        self.reverse(inst.regions[0], end.n_plain);
        self.b.span = inst.span;
        let mut values = Vec::new();
        for &param in &state {
            let d = self.adjoints[param.index()].take();
            values.push(self.or_zero(d, primal.ty(param)));
        }
        let sums: Vec<Value> = outside.iter().filter_map(|v| self.adjoints[v.index()]).collect();
        values.extend(&sums);
        values.extend(top);
        self.b.continue_(&values);
        self.b.enter(here);
        let run = self.b.push(Op::For, &operands, Attr::None, &[body], &types);
        let results = self.b.func.inst(run).results.to_vec();
        for ((&value, &result), (&sum, &before)) in
            outside.iter().zip(&results[state.len()..]).zip(sums.iter().zip(&current[state.len()..]))
        {
            // What no round adds to stays as it was.
            if sum != before {
                outer[value.index()] = Some(result);
            }
        }
        self.adjoints = outer;
        for (&param, &d) in state.iter().zip(&results) {
            let index = params.iter().position(|&v| v == param).unwrap_or(0);
            self.accumulate(initial[index], d);
        }
    }

    /// Whether a loop carries an adjoint for one of its parameters.
    fn is_summed(&self, value: Value) -> bool {
        self.activity.is_active(value) && tangent::has_floats(self.primal.ty(value))
    }

    /// n - 1 down to 0.
    fn backward_bounds(&mut self, record: &Record) -> Vec<Value> {
        let (one, minus) = (self.b.int(Scalar::I64, 1), self.b.int(Scalar::I64, -1));
        let last = self.b.binary(Op::Sub, record.n, one);
        vec![last, minus, minus]
    }

    fn or_zero(&mut self, d: Option<Value>, ty: Type) -> Value {
        d.unwrap_or_else(|| zero(&mut self.b, ty))
    }

    /// The last round of a `loop` gives its results.
    fn seed_last_round(&mut self, record: &Record, k: Value, out: &[Value], seeds: &[Option<Value>]) {
        let one = self.b.int(Scalar::I64, 1);
        let last = self.b.binary(Op::Sub, record.n, one);
        let is_last = self.b.compare(Op::Eq, k, last);
        for (&value, seed) in out.iter().zip(seeds) {
            if let &Some(seed) = seed {
                let d = tangent::only_where(&mut self.b, is_last, seed);
                self.accumulate(value, d);
            }
        }
    }
}

/// `d` times a partial derivative.
fn times(sweep: &mut Sweep<'_>, partial: Partial, d: Value) -> Option<Value> {
    match partial {
        Partial::Zero => None,
        Partial::One => Some(d),
        Partial::MinusOne => Some(sweep.b.unary(Op::Neg, d)),
        Partial::By(factor) => Some(sweep.b.binary(Op::Mul, d, factor)),
    }
}
