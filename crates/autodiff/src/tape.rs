//! Tapes: what a second run of an instruction would not give again.
//!
//! In: loads from volatile memory, inside arms and loops. Out: a place on a tape for each value, in the order in which
//! the first copy computes them; a later copy reads on from where its region began.

use crate::memory::roots;
use crate::sweep::Sweep;
use crate::trips::static_trips;
use ir::{Inst, InstId, Op, RegionId, Scalar, Type, Value};

/// Bytes that one tape of a thread takes at most.
const MAX_TAPE: u64 = 1 << 16;

/// Values of one type, in the order in which they were first computed.
pub(crate) struct Tape {
    pub(crate) ty: Type,
    pub(crate) array: Value,
    pub(crate) at: Value,
}

/// How many values of a type are pushed; `source` is one of the instructions that push.
struct Size {
    ty: Type,
    n: Option<u64>,
    source: InstId,
}

impl Sweep<'_> {
    /// Makes the tapes that the kernel needs, empty.
    pub(crate) fn make_tapes(&mut self) {
        let mut sizes = Vec::new();
        self.count(self.primal.body, Some(1), false, &mut sizes);
        for Size { ty, n, source } in sizes {
            let fits = n.filter(|n| n.saturating_mul(ty.size()) <= MAX_TAPE);
            let array = self.local_array(ty, fits.unwrap_or(1));
            if fits.is_none() {
                self.unbounded.push((array, source));
            }
            let at = self.b.int(Scalar::I64, 0);
            self.tapes.push(Tape { ty, array, at });
        }
    }

    /// Adds what a region pushes in `times` runs; `None` where that is not known.
    fn count(&mut self, region: RegionId, times: Option<u64>, is_nested: bool, sizes: &mut Vec<Size>) -> bool {
        let primal = self.primal;
        let mut pushes = false;
        for &id in &primal.region(region).insts {
            let inst = primal.inst(id);
            if is_nested && self.is_pushed(inst) {
                pushes = true;
                let ty = primal.ty(inst.result());
                let at = sizes.iter().position(|known| known.ty == ty).unwrap_or_else(|| {
                    sizes.push(Size { ty, n: Some(0), source: id });
                    sizes.len() - 1
                });
                let sum = sizes[at].n.zip(times).and_then(|(n, times)| n.checked_add(times));
                if sum.is_none() && sizes[at].n.is_some() {
                    sizes[at].source = id;
                }
                sizes[at].n = sum;
            }
            let times = match inst.op {
                Op::For => times.zip(static_trips(primal, id)).and_then(|(times, n)| times.checked_mul(n)),
                Op::Loop => None,
                _ => times,
            };
            for &inner in &inst.regions {
                if self.count(inner, times, true, sizes) {
                    self.recording.insert(id);
                    pushes = true;
                }
            }
        }
        pushes
    }

    /// Whether a second run of the instruction may give another result.
    pub(crate) fn is_pushed(&self, inst: &Inst) -> bool {
        match inst.op {
            Op::Load => self.volatile.is_volatile(&roots(self.primal, inst.operands[0])),
            Op::Atomic | Op::AtomicCas => self.is_used[inst.result().index()],
            _ => false,
        }
    }

    fn tape_of(&self, value: Value) -> usize {
        let ty = self.primal.ty(value);
        self.tapes.iter().position(|tape| tape.ty == ty).unwrap_or_else(|| panic!("no tape for {ty}"))
    }

    pub(crate) fn push_on_tape(&mut self, value: Value) {
        let tape = self.tape_of(value);
        let (array, at, value) = (self.tapes[tape].array, self.tapes[tape].at, self.value(value));
        self.b.store(array, &[at], &[], &[], value);
        self.advance_tape(tape);
    }

    pub(crate) fn read_from_tape(&mut self, value: Value) {
        let tape = self.tape_of(value);
        let (array, at) = (self.tapes[tape].array, self.tapes[tape].at);
        self.values[value.index()] = Some(self.b.load(array, &[at], &[], &[]));
        self.advance_tape(tape);
    }

    fn advance_tape(&mut self, tape: usize) {
        let one = self.b.int(Scalar::I64, 1);
        self.tapes[tape].at = self.b.binary(Op::Add, self.tapes[tape].at, one);
    }

    pub(crate) fn positions(&self) -> Vec<Value> {
        self.tapes.iter().map(|tape| tape.at).collect()
    }

    pub(crate) fn set_positions(&mut self, positions: &[Value]) {
        for (tape, &at) in self.tapes.iter_mut().zip(positions) {
            tape.at = at;
        }
    }
}
