//! States of a loop, kept so that its rounds can run backward.
//!
//! A round's *state* is what the loop carries into it. The first rounds' states are kept as the loop runs, in slots of
//! arrays of the thread: all of them where the number of rounds is known and small. Else there are a fixed number of
//! slots, whatever the number of rounds turns out to be, and they are used as a stack. The reverse sweep needs the
//! states from the last to the first; to get one it goes forward from the nearest state below that is kept, and on the
//! way keeps more where slots are free: every state if they suffice, else evenly, with half of the slots, so that the
//! same can be done again inside each piece. With s slots and n rounds, a round is computed about log(n) / log(s) + 1
//! times.
//!
//! Griewank & Walther, "Algorithm 799: Revolve" (2000), has the optimal schedule; this one needs no table, and is
//! within a round or two of it.

use crate::activity::carried;
use crate::sweep::{Mode, Sweep};
use crate::trips::{induction, static_trips, trip_count};
use ir::{Attr, InstId, Op, Scalar, Type, Value};

/// Bytes of a thread's states that are all kept where the number of rounds is known.
const MAX_ALL: u64 = 4096;
/// Slots of a loop otherwise.
const SLOTS: u64 = 32;

/// What the reverse sweep of a loop needs, in values of the differentiated kernel.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Number of rounds, i64.
    pub(crate) n: Value,
    /// Of a `for`: its first value and step.
    start: Option<(Value, Value)>,
    n_slots: u64,
    /// Every state is kept, in the slot of its round.
    pub(crate) has_all: bool,
    /// One array a carried value.
    states: Vec<Value>,
    types: Vec<Type>,
    /// The rounds whose states the slots hold.
    rounds: Option<Value>,
}

impl Sweep<'_> {
    /// Makes room for the states of a loop that is about to run.
    pub(crate) fn record(&mut self, id: InstId, bounds: &[Value], state: &[Type]) -> Record {
        let n_bytes: u64 = state.iter().map(|ty| ty.size()).sum();
        let static_n = static_trips(self.primal, id);
        let has_all = static_n.is_some_and(|n| n.saturating_mul(n_bytes) <= MAX_ALL);
        let n_slots = if has_all { static_n.unwrap_or(1).max(1) } else { SLOTS };
        let (n, start) = match *bounds {
            [lo, hi, step] => (trip_count(&mut self.b, lo, hi, step), Some((lo, step))),
            _ => (self.b.int(Scalar::I64, 0), None),
        };
        let states = state.iter().map(|&ty| self.slots(ty, n_slots)).collect();
        let rounds = (!has_all).then(|| self.local_array(Type::i64(), n_slots));
        Record { n, start, n_slots, has_all, states, types: state.to_vec(), rounds }
    }

    /// Keeps the state of round `k` if it is one of the first.
    pub(crate) fn keep_first(&mut self, record: &Record, k: Value, state: &[Value]) {
        if record.has_all {
            return self.keep(record, k, k, state);
        }
        let n_slots = self.b.int(Scalar::I64, i128::from(record.n_slots));
        let is_first = self.b.compare(Op::Lt, k, n_slots);
        let (keep, pass) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
        let here = self.b.enter(keep);
        self.keep(record, k, k, state);
        self.b.yield_(&[]);
        self.b.enter(pass);
        self.b.yield_(&[]);
        self.b.enter(here);
        self.b.push(Op::If, &[is_first], Attr::None, &[keep, pass], &[]);
    }

    fn keep(&mut self, record: &Record, slot: Value, k: Value, state: &[Value]) {
        for (&array, &value) in record.states.iter().zip(state) {
            self.keep_in(array, slot, value);
        }
        if let Some(rounds) = record.rounds {
            self.b.store(rounds, &[slot], &[], &[], k);
        }
    }

    fn kept(&mut self, record: &Record, slot: Value) -> Vec<Value> {
        record.states.iter().zip(&record.types).map(|(&array, &ty)| self.kept_in(array, slot, ty)).collect()
    }

    /// The slot on top of the stack when the reverse sweep begins. Where the slots did not suffice only the first is
    /// left: the others are needed for states further on.
    pub(crate) fn first_top(&mut self, record: &Record) -> Value {
        let (zero, one) = (self.b.int(Scalar::I64, 0), self.b.int(Scalar::I64, 1));
        let n_slots = self.b.int(Scalar::I64, i128::from(record.n_slots));
        let suffices = self.b.compare(Op::Le, record.n, n_slots);
        let last = self.b.binary(Op::Sub, record.n, one);
        self.b.select(suffices, last, zero)
    }

    /// Brings back the state of round `k`; gives the slot that is on top of the stack after that round.
    pub(crate) fn restore(&mut self, id: InstId, record: &Record, k: Value, top: Option<Value>) -> Option<Value> {
        let Some((top, rounds)) = top.zip(record.rounds) else {
            let state = self.kept(record, k);
            self.begin_round(id, record, k, &state);
            return None;
        };
        let from = self.b.load(rounds, &[top], &[], &[]);
        let state = self.kept(record, top);
        let results = self.go_forward(id, record, (from, k), top, &state);
        let is_kept = self.b.compare(Op::Eq, from, k);
        let one = self.b.int(Scalar::I64, 1);
        let below = self.b.binary(Op::Sub, top, one);
        let top = self.b.select(is_kept, below, results[0]);
        self.begin_round(id, record, k, &results[2..]);
        Some(top)
    }

    /// Sets what a round begins with.
    fn begin_round(&mut self, id: InstId, record: &Record, k: Value, state: &[Value]) {
        let inst = self.primal.inst(id);
        let (_, params) = carried(self.primal, inst);
        self.set(params, state);
        if self.recording.contains(&id) {
            self.set_positions(&state[params.len()..]);
        }
        if let Some((lo, step)) = record.start {
            let value = induction(&mut self.b, lo, step, k);
            self.values[self.primal.region(inst.regions[0]).params[0].index()] = Some(value);
        }
    }

    /// Runs rounds `from` to `to`, without the latter, from the state in slot `top`; gives the new top, the next round
    /// to keep, and the state.
    fn go_forward(
        &mut self,
        id: InstId,
        record: &Record,
        (from, to): (Value, Value),
        top: Value,
        state: &[Value],
    ) -> Vec<Value> {
        let one = self.b.int(Scalar::I64, 1);
        let n_slots = self.b.int(Scalar::I64, i128::from(record.n_slots));
        let last_slot = self.b.binary(Op::Sub, n_slots, one);
        let spacing = self.spacing((from, to), top, last_slot);
        let next = self.b.binary(Op::Add, from, spacing);
        let types: Vec<Type> = state.iter().map(|&v| self.b.ty(v)).collect();
        let body = self.b.func.add_region(&[&[Type::i64(); 3][..], &types].concat());
        let here = self.b.enter(body);
        let params = self.b.func.region(body).params.to_vec();
        let (k, old_top, old_next, state_now) = (params[0], params[1], params[2], &params[3..]);
        let is_due = self.b.compare(Op::Eq, k, old_next);
        let is_free = self.b.compare(Op::Lt, old_top, last_slot);
        let keeps = self.b.binary(Op::And, is_due, is_free);
        let (keep, pass) = (self.b.func.add_region(&[]), self.b.func.add_region(&[]));
        self.b.enter(keep);
        let slot = self.b.binary(Op::Add, old_top, one);
        self.keep(record, slot, k, state_now);
        let after = self.b.binary(Op::Add, k, spacing);
        self.b.yield_(&[slot, after]);
        self.b.enter(pass);
        self.b.yield_(&[old_top, old_next]);
        self.b.enter(body);
        let test = self.b.push(Op::If, &[keeps], Attr::None, &[keep, pass], &[Type::i64(); 2]);
        let tops = self.b.func.inst(test).results.to_vec();
        self.begin_round(id, record, k, state_now);
        let end = self.loop_end(id);
        let mode = Mode { is_first: false, is_nested: true, is_reversed: false };
        self.forward(self.primal.inst(id).regions[0], end.n_plain, mode);
        let mut values = [tops, self.all(&end.next)].concat();
        if self.recording.contains(&id) {
            values.extend(self.positions());
        }
        self.b.continue_(&values);
        self.b.enter(here);
        let operands = [&[from, to, one, top, next], state].concat();
        let types = [&[Type::i64(); 2][..], &types].concat();
        let run = self.b.push(Op::For, &operands, Attr::None, &[body], &types);
        self.b.func.inst(run).results.to_vec()
    }

    /// How many rounds apart states are kept on the way from one round to another.
    fn spacing(&mut self, (from, to): (Value, Value), top: Value, last_slot: Value) -> Value {
        let (one, two) = (self.b.int(Scalar::I64, 1), self.b.int(Scalar::I64, 2));
        let distance = self.b.binary(Op::Sub, to, from);
        let n_free = self.b.binary(Op::Sub, last_slot, top);
        let suffices = self.b.compare(Op::Le, distance, n_free);
        let half = self.b.binary(Op::Div, n_free, two);
        let rounded = self.b.binary(Op::Add, distance, half);
        let n_pieces = self.b.binary(Op::Add, half, one);
        let spacing = self.b.binary(Op::Div, rounded, n_pieces);
        self.b.select(suffices, one, spacing)
    }
}
