//! The forward sweep: the kernel's own computation inside the differentiated kernel, as often as the reverse sweep
//! needs it.
//!
//! In: a region of the primal kernel. Out: a copy of its instructions, and which value stands for which. The first copy
//! of everything runs in program order and may write; a copy made for the reverse sweep of an arm or a round must give
//! the same values again, whatever was written since: what it would load from volatile memory was pushed on a *tape* by
//! the first copy, and is read from there. A tape is one array a type and thread; where a round begins on it is part of
//! what a loop carries.
//!
//! ```text
//! first copy                            a later copy
//! v3: f32 = load v1[v2]                 v9: f32 = load tape[v8]
//! store tape[v4], v3
//! v5: i64 = add v4, one                 v10: i64 = add v8, one
//! ```

use crate::activity::{Activity, Counterpart, carried};
use crate::custom::Customs;
use crate::kept::Record;
use crate::memory::{Aliases, Root, Volatile, roots};
use crate::tangent::{has_arrays, leads_to_floats, zero};
use crate::tape::{SharedTape, Tape};
use crate::tiles::Maps;
use diagnostics::Diagnostic;
use ir::op::Effect;
use ir::{Attr, Builder, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value};
use std::collections::{HashMap, HashSet};

pub(crate) struct Sweep<'a> {
    pub(crate) primal: &'a Function,
    pub(crate) activity: &'a Activity,
    pub(crate) volatile: &'a Volatile,
    pub(crate) customs: &'a Customs,
    pub(crate) maps: &'a Maps,
    pub(crate) aliases: Aliases,
    pub(crate) b: Builder<'a>,
    /// The newest copy of each primal value.
    pub(crate) values: Vec<Option<Value>>,
    /// The adjoint array, or struct of adjoint arrays, beside each array.
    pub(crate) shadows: Vec<Option<Value>>,
    /// Adjoints of values that are used further on.
    pub(crate) adjoints: Vec<Option<Value>>,
    pub(crate) tapes: Vec<Tape>,
    /// Where the tapes stood before an `if` that pushes.
    pub(crate) marks: HashMap<InstId, Vec<Value>>,
    /// What the reverse sweep of a loop needs.
    pub(crate) records: HashMap<InstId, Record>,
    /// Instructions with regions that push on a tape.
    pub(crate) recording: HashSet<InstId>,
    pub(crate) is_used: Vec<bool>,
    /// Arrays of the thread, made before all else.
    pub(crate) entry: Vec<InstId>,
    /// Copies of atomics whose result is used, and where they come from.
    pub(crate) atomics: Vec<(InstId, InstId)>,
    pub(crate) shared_tapes: Vec<SharedTape>,
    /// What is pushed on tapes in shared memory is only counted.
    pub(crate) only_counts: bool,
    /// Memory of which minima or maxima are taken.
    pub(crate) extremes: Vec<Root>,
    pub(crate) refused: Vec<Diagnostic>,
}

/// Which copy is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// The first one: it writes, and pushes on the tapes.
    pub(crate) is_first: bool,
    /// Inside an arm or a loop.
    pub(crate) is_nested: bool,
    /// The reverse sweep of the same region follows.
    pub(crate) is_reversed: bool,
}

/// How the body of a structured loop ends.
pub(crate) struct LoopEnd {
    /// Instructions before the end.
    pub(crate) n_plain: usize,
    /// Of a `loop`: whether this is the last round, and its results.
    pub(crate) last: Option<(Value, Vec<Value>)>,
    pub(crate) next: Vec<Value>,
    /// No round comes to its end.
    pub(crate) is_nowhere: bool,
}

impl<'a> Sweep<'a> {
    pub(crate) fn new(
        primal: &'a Function,
        activity: &'a Activity,
        volatile: &'a Volatile,
        customs: &'a Customs,
        maps: &'a Maps,
        aliases: Aliases,
        out: &'a mut Function,
    ) -> Sweep<'a> {
        let n = primal.values.len();
        let mut is_used = vec![false; n];
        for region in &primal.regions {
            for &id in &region.insts {
                primal.inst(id).operands.iter().for_each(|v| is_used[v.index()] = true);
            }
        }
        Sweep {
            primal,
            activity,
            volatile,
            customs,
            maps,
            aliases,
            b: Builder::new(out),
            values: vec![None; n],
            shadows: vec![None; n],
            adjoints: vec![None; n],
            tapes: Vec::new(),
            marks: HashMap::new(),
            records: HashMap::new(),
            recording: HashSet::new(),
            is_used,
            entry: Vec::new(),
            atomics: Vec::new(),
            shared_tapes: Vec::new(),
            only_counts: false,
            extremes: Vec::new(),
            refused: Vec::new(),
        }
    }

    pub(crate) fn value(&self, primal: Value) -> Value {
        self.values[primal.index()].unwrap_or_else(|| panic!("v{} has no copy here", primal.0))
    }

    pub(crate) fn all(&self, primal: &[Value]) -> Vec<Value> {
        primal.iter().map(|&v| self.value(v)).collect()
    }

    pub(crate) fn set(&mut self, primal: &[Value], copies: &[Value]) {
        for (primal, &copy) in primal.iter().zip(copies) {
            self.values[primal.index()] = Some(copy);
        }
    }

    /// An array private to the thread.
    pub(crate) fn local_array(&mut self, elem: Type, n: u64) -> Value {
        let attr = Attr::Extents([n].into());
        let id = self.b.func.add_inst(Op::LocalArray, &[], attr, &[], &[Type::array(elem, 1)], self.b.span);
        self.entry.push(id);
        self.b.func.inst(id).result()
    }

    /// Copies the first `n` instructions of a region.
    pub(crate) fn forward(&mut self, region: RegionId, n: usize, mode: Mode) {
        for &id in &self.primal.region(region).insts[..n] {
            self.b.span = self.primal.inst(id).span;
            self.forward_inst(id, mode);
        }
    }

    fn forward_inst(&mut self, id: InstId, mode: Mode) {
        let inst = self.primal.inst(id);
        match inst.op {
            Op::CheckBounds | Op::CheckIndex | Op::CheckNonZero | Op::CheckFinite | Op::Assert | Op::Print => {}
            Op::If => self.forward_if(id, mode),
            Op::For | Op::Loop => self.forward_loop(id, mode),
            op if (matches!(op.effect(), Effect::Read | Effect::Write) || op == Op::Call)
                && self.is_pushed(inst)
                && mode.is_nested =>
            {
                if mode.is_first {
                    self.copy(id);
                }
                for &result in &inst.results {
                    if mode.is_first {
                        self.push_on_tape(result);
                    } else {
                        self.read_from_tape(result);
                    }
                }
            }
            op if op.effect() == Effect::Write => {
                let keeps = || self.volatile.keeps(&roots(self.primal, inst.operands[0]), self.aliases);
                if mode.is_first && (self.is_pushed(inst) || keeps()) {
                    self.copy(id);
                }
            }
            Op::WithAdjoint => {
                let [array, adjoint] = [0, 1].map(|index| self.value(inst.operands[index]));
                self.set(&inst.results, &[array]);
                self.shadows[inst.result().index()] = Some(adjoint);
            }
            _ => {
                self.copy(id);
                self.shadow(inst);
            }
        }
    }

    fn copy(&mut self, id: InstId) {
        let inst = self.primal.inst(id);
        let operands = self.all(&inst.operands);
        let types: Vec<Type> = inst.results.iter().map(|&v| self.primal.ty(v)).collect();
        let copy = self.b.push(inst.op, &operands, inst.attr.clone(), &[], &types);
        let results = self.b.func.inst(copy).results.clone();
        self.set(&inst.results, &results);
        if inst.op.effect() == Effect::Write && !inst.results.is_empty() {
            self.atomics.push((copy, id));
        }
    }

    /// Makes the adjoint counterpart of an array-valued result.
    fn shadow(&mut self, inst: &Inst) {
        let [result] = inst.results[..] else { return };
        let ty = self.primal.ty(result);
        if !leads_to_floats(ty) || !has_arrays(ty) {
            return;
        }
        let of = |value: Value| self.shadows[value.index()];
        let shadow = match inst.op {
            Op::LocalArray => Some(Vec::new()),
            Op::Row | Op::Subarray => of(inst.operands[0]).map(|array| {
                let mut operands = vec![array];
                operands.extend(self.all(&inst.operands[1..]));
                operands
            }),
            Op::Extract => of(inst.operands[0]).map(|record| vec![record]),
            Op::Select => of(inst.operands[1]).zip(of(inst.operands[2])).map(|(then, or)| {
                let condition = self.value(inst.operands[0]);
                vec![condition, then, or]
            }),
            Op::Construct | Op::Insert => {
                let operands: Vec<Value> = inst.operands.to_vec();
                Some(operands.into_iter().map(|v| self.shadow_or_value(v)).collect())
            }
            _ => None,
        };
        if let Some(operands) = shadow {
            let shadow = self.b.push1(inst.op, &operands, inst.attr.clone(), ty);
            self.shadows[result.index()] = Some(shadow);
        }
    }

    fn shadow_or_value(&mut self, value: Value) -> Value {
        let ty = self.primal.ty(value);
        match self.shadows[value.index()] {
            Some(shadow) => shadow,
            None if has_arrays(ty) => zero(&mut self.b, ty),
            None => self.value(value),
        }
    }

    /// The adjoint array beside an array that has one, for an access at `inst`.
    pub(crate) fn adjoint_array(&mut self, inst: &Inst) -> Option<Value> {
        let array = inst.operands[0];
        match self.activity.counterpart(self.primal, array) {
            Counterpart::Absent => None,
            Counterpart::Present if self.shadows[array.index()].is_some() => self.shadows[array.index()],
            _ => {
                self.refuse(inst, "the gradient of an array that is chosen while the kernel runs is not known")
                    .help("access each array under a condition of its own");
                None
            }
        }
    }

    pub(crate) fn refuse(&mut self, inst: &Inst, message: impl Into<String>) -> Refusal<'_> {
        let refused = Diagnostic::new("no-gradient", inst.span, message);
        let at = self.refused.iter().position(|known| known.span == refused.span).unwrap_or_else(|| {
            self.refused.push(refused);
            self.refused.len() - 1
        });
        Refusal(&mut self.refused[at])
    }

    fn forward_if(&mut self, id: InstId, mode: Mode) {
        let inst = self.primal.inst(id);
        let condition = self.value(inst.operands[0]);
        let before = self.positions();
        let pushes = self.recording.contains(&id);
        if pushes {
            self.marks.insert(id, before.clone());
        }
        let mut regions = Vec::new();
        for &arm in &inst.regions {
            let region = self.b.func.add_region(&[]);
            let here = self.b.enter(region);
            self.set_positions(&before);
            let n = self.primal.region(arm).insts.len() - 1;
            self.forward(arm, n, Mode { is_nested: true, is_reversed: false, ..mode });
            let end = self.primal.inst(self.primal.region(arm).insts[n]);
            if end.op == Op::Yield {
                let mut values = self.all(&end.operands);
                for (&operand, &result) in end.operands.iter().zip(&inst.results) {
                    if leads_to_floats(self.primal.ty(result)) {
                        values.push(self.shadow_or_value(operand));
                    }
                }
                if pushes {
                    values.extend(self.positions());
                }
                self.b.yield_(&values);
            } else {
                self.b.push(Op::Unreachable, &[], Attr::None, &[], &[]);
            }
            self.b.enter(here);
            regions.push(region);
        }
        self.b.span = inst.span;
        let mut types: Vec<Type> = inst.results.iter().map(|&v| self.primal.ty(v)).collect();
        let shadowed: Vec<Value> =
            inst.results.iter().copied().filter(|&v| leads_to_floats(self.primal.ty(v))).collect();
        types.extend(shadowed.iter().map(|&v| self.primal.ty(v)));
        if pushes {
            types.extend(self.tapes.iter().map(|_| Type::i64()));
        }
        let copy = self.b.push(Op::If, &[condition], Attr::None, &regions, &types);
        let results = self.b.func.inst(copy).results.clone();
        self.set(&inst.results, &results);
        let rest = &results[inst.results.len()..];
        for (value, &shadow) in shadowed.iter().zip(rest) {
            self.shadows[value.index()] = Some(shadow);
        }
        self.set_positions(if pushes { &rest[shadowed.len()..] } else { &before });
    }

    /// How a loop's body ends.
    pub(crate) fn loop_end(&self, id: InstId) -> LoopEnd {
        let primal = self.primal;
        let inst = primal.inst(id);
        let insts = &primal.region(inst.regions[0]).insts;
        let end = primal.inst(insts[insts.len() - 1]);
        let next = end.operands.to_vec();
        if end.op == Op::Unreachable {
            return LoopEnd { n_plain: insts.len() - 1, last: None, next, is_nowhere: true };
        }
        if inst.op == Op::For {
            return LoopEnd { n_plain: insts.len() - 1, last: None, next, is_nowhere: false };
        }
        let test = primal.inst(insts[insts.len() - 2]);
        let leave = primal.inst(primal.region(test.regions[0]).insts[0]);
        let last = Some((test.operands[0], leave.operands.to_vec()));
        LoopEnd { n_plain: insts.len() - 2, last, next, is_nowhere: false }
    }

    fn forward_loop(&mut self, id: InstId, mode: Mode) {
        let inst = self.primal.inst(id);
        let is_for = inst.op == Op::For;
        let (initial, params) = carried(self.primal, inst);
        let mut operands = if is_for { self.all(&inst.operands[..3]) } else { Vec::new() };
        operands.extend(self.all(initial));
        let pushes = self.recording.contains(&id);
        if pushes {
            operands.extend(self.positions());
        }
        let counts = mode.is_reversed;
        if counts {
            operands.push(self.b.int(Scalar::I64, 0));
        }
        let n_bounds = if is_for { 3 } else { 0 };
        let state: Vec<Type> = operands[n_bounds..].iter().map(|&v| self.b.ty(v)).collect();
        let record = counts.then(|| self.record(id, &operands[..n_bounds], &state[..state.len() - 1]));
        let mut types = state.clone();
        if is_for {
            types.insert(0, self.b.ty(operands[0]));
        }
        let body = self.b.func.add_region(&types);
        let here = self.b.enter(body);
        let mut current = self.b.func.region(body).params.to_vec();
        if is_for {
            let induction = current.remove(0);
            self.values[self.primal.region(inst.regions[0]).params[0].index()] = Some(induction);
        }
        self.set(params, &current);
        if pushes {
            self.set_positions(&current[params.len()..]);
        }
        if let Some(record) = &record {
            let (state, k) = current.split_at(current.len() - 1);
            self.keep_first(record, k[0], state);
        }
        let end = self.loop_end(id);
        self.forward(inst.regions[0], end.n_plain, Mode { is_nested: true, is_reversed: false, ..mode });
        self.b.span = inst.span;
        let mut added = if pushes { self.positions() } else { Vec::new() };
        if counts {
            let one = self.b.int(Scalar::I64, 1);
            added.push(self.b.binary(Op::Add, current[current.len() - 1], one));
        }
        self.end_round(&end, &added);
        self.b.enter(here);
        let mut types: Vec<Type> = inst.results.iter().map(|&v| self.primal.ty(v)).collect();
        types.extend(&state[params.len()..]);
        let copy = self.b.push(inst.op, &operands, Attr::None, &[body], &types);
        let results = self.b.func.inst(copy).results.clone();
        self.set(&inst.results, &results);
        let added = &results[inst.results.len()..];
        if pushes {
            self.set_positions(added);
        }
        if let Some(mut record) = record {
            if !is_for {
                record.n = added[added.len() - 1];
            }
            self.records.insert(id, record);
        }
    }

    /// The copy of a round's end, with values that the copy carries besides.
    fn end_round(&mut self, end: &LoopEnd, added: &[Value]) {
        if end.is_nowhere {
            self.b.push(Op::Unreachable, &[], Attr::None, &[], &[]);
            return;
        }
        if let Some((last, out)) = &end.last {
            let condition = self.value(*last);
            let (leave, stay) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
            let here = self.b.enter(leave);
            let values = [self.all(out), added.to_vec()].concat();
            self.b.break_(&values);
            self.b.enter(stay);
            self.b.yield_(&[]);
            self.b.enter(here);
            self.b.push(Op::If, &[condition], Attr::None, &[leave, stay], &[]);
        }
        let values = [self.all(&end.next), added.to_vec()].concat();
        self.b.continue_(&values);
    }
}

/// A refusal whose words may be added to.
pub(crate) struct Refusal<'d>(&'d mut Diagnostic);

impl Refusal<'_> {
    pub(crate) fn help(self, text: impl Into<String>) {
        self.0.help = Some(text.into());
    }
}
