//! Tapes: what a second run of an instruction would not give again.
//!
//! In: loads from volatile memory, inside arms and loops. Out: a place on a tape for each value, in the order in which
//! the first copy computes them; a later copy reads on from where its region began.

use crate::memory::roots;
use crate::sweep::Sweep;
use crate::tangent::zero;
use crate::trips::static_trips;
use ir::op::Effect;
use ir::{Attr, Builder, Function, Inst, InstId, Op, Param, RegionId, Scalar, Type, Value, ValueDef};

/// Bytes that one tape of a thread takes at most.
const MAX_TAPE: u64 = 1 << 16;

/// Values of one type, in the order in which they were first computed.
pub(crate) struct Tape {
    pub(crate) ty: Type,
    /// None where the values are only counted.
    pub(crate) array: Option<Value>,
    pub(crate) at: Value,
}

/// A tape in memory that all threads share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedTape {
    pub(crate) ty: Type,
    pub(crate) array: Option<Value>,
    /// Where each thread's part begins; of a kernel that counts, how long it is.
    starts: Value,
    slot: Value,
    /// An instruction that pushes on it.
    pub(crate) source: InstId,
}

/// How many values of a type are pushed; `source` is one of the instructions that push.
struct Size {
    ty: Type,
    n: Option<u64>,
    source: InstId,
}

impl Sweep<'_> {
    /// Makes the tapes that the kernel needs, empty. One of a length that no one knows lies in memory that all threads
    /// share, from where the launch says that the thread's part begins.
    pub(crate) fn make_tapes(&mut self, rank: u32) {
        let mut sizes = Vec::new();
        self.count(self.primal.body, Some(1), false, &mut sizes);
        let is_bounded = |size: &Size| size.n.is_some_and(|n| n.saturating_mul(size.ty.size()) <= MAX_TAPE);
        let (bounded, unbounded): (Vec<Size>, Vec<Size>) = sizes.into_iter().partition(is_bounded);
        for Size { ty, n, .. } in bounded {
            let array = self.local_array(ty, n.unwrap_or(1).max(1));
            let at = self.b.int(Scalar::I64, 0);
            self.tapes.push(Tape { ty, array: Some(array), at });
        }
        let n_shared = unbounded.len();
        if n_shared == 0 {
            return;
        }
        let starts = self.add_param("starts", Type::array(Type::i64(), 1));
        for (number, Size { ty, source, .. }) in unbounded.into_iter().enumerate() {
            let slot = slot_of_thread(&mut self.b, rank, n_shared, number);
            let (array, at) = if self.only_counts {
                (None, self.b.int(Scalar::I64, 0))
            } else {
                let array = self.add_param("tape", Type::array(ty, 1));
                (Some(array), self.b.load(starts, &[slot], &[], &[]))
            };
            self.shared_tapes.push(SharedTape { ty, array, starts, slot, source });
            self.tapes.push(Tape { ty, array, at });
        }
    }

    /// Says how many values the thread has pushed on each tape in shared memory.
    pub(crate) fn store_counts(&mut self) {
        for at in 0..self.shared_tapes.len() {
            let SharedTape { ty, starts, slot, .. } = self.shared_tapes[at];
            if let Some(tape) = self.tapes.iter().find(|tape| tape.ty == ty) {
                self.b.store(starts, &[slot], &[], &[], tape.at);
            }
        }
    }

    fn add_param(&mut self, name: &str, ty: Type) -> Value {
        let body = self.b.func.body;
        self.b.func.params.push(Param { name: name.into(), ty });
        self.b.func.add_region_param(body, ty)
    }

    /// Adds what a region pushes in `times` runs; `None` where that is not known.
    fn count(&mut self, region: RegionId, times: Option<u64>, is_nested: bool, sizes: &mut Vec<Size>) -> bool {
        let primal = self.primal;
        let mut pushes = false;
        for &id in &primal.region(region).insts {
            let inst = primal.inst(id);
            if is_nested && self.is_pushed(inst) {
                pushes = true;
                for &result in inst.results.iter().filter(|&&result| primal.ty(result).as_tile().is_none()) {
                    add(sizes, primal.ty(result), times, id);
                }
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
            op if op.effect() == Effect::Read => self.volatile.is_volatile(&roots(self.primal, inst.operands[0])),
            op if op.effect() == Effect::Write => inst.results.first().is_some_and(|old| self.is_used[old.index()]),
            Op::Call => self.customs.get(inst).is_some_and(|custom| custom.touches_memory),
            _ => false,
        }
    }

    fn tape_of(&self, value: Value) -> usize {
        let ty = self.primal.ty(value);
        self.tapes.iter().position(|tape| tape.ty == ty).unwrap_or_else(|| panic!("no tape for {ty}"))
    }

    pub(crate) fn push_on_tape(&mut self, value: Value) {
        if self.primal.ty(value).as_tile().is_some() {
            return self.refuse_tape(value);
        }
        let tape = self.tape_of(value);
        let (at, value) = (self.tapes[tape].at, self.value(value));
        if let Some(array) = self.tapes[tape].array {
            self.b.store(array, &[at], &[], &[], value);
        }
        self.advance_tape(tape);
    }

    pub(crate) fn read_from_tape(&mut self, value: Value) {
        if self.primal.ty(value).as_tile().is_some() {
            let zero = zero(&mut self.b, self.primal.ty(value));
            self.values[value.index()] = Some(zero);
            return;
        }
        let tape = self.tape_of(value);
        if let Some(array) = self.tapes[tape].array {
            let at = self.tapes[tape].at;
            self.values[value.index()] = Some(self.b.load(array, &[at], &[], &[]));
        }
        self.advance_tape(tape);
    }

    fn refuse_tape(&mut self, value: Value) {
        let ValueDef::Result(id, _) = self.primal.def(value) else { return };
        self.refuse(
            self.primal.inst(id),
            "a gradient needs a tile that is loaded here and overwritten later, in a loop",
        )
        .help("store to another array than is loaded, or load before the loop");
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

/// The thread's number in the launch, times the number of tapes, plus a tape's number.
fn slot_of_thread(b: &mut Builder<'_>, rank: u32, n_tapes: usize, number: usize) -> Value {
    let mut slot = b.int(Scalar::I64, 0);
    for dim in 0..rank {
        let extent = b.push1(Op::LaunchExtent, &[], Attr::Index(dim), Type::i64());
        let index = b.push1(Op::Tid, &[], Attr::Index(dim), Type::i64());
        slot = b.binary(Op::Mul, slot, extent);
        slot = b.binary(Op::Add, slot, index);
    }
    let n_tapes = b.int(Scalar::I64, n_tapes as i128);
    let number = b.int(Scalar::I64, number as i128);
    slot = b.binary(Op::Mul, slot, n_tapes);
    b.binary(Op::Add, slot, number)
}

/// Lets a thread do nothing whose part of the shared tapes, the last parameters, begins below zero: it is another
/// piece's of the launch.
pub(crate) fn leave_without_part(func: &mut Function, rank: u32, n_tapes: usize) {
    let body = func.body;
    let rest = std::mem::take(&mut func.regions[body.index()].insts);
    let starts = func.region(body).params[func.params.len() - n_tapes - 1];
    let mut b = Builder::new(func);
    let slot = slot_of_thread(&mut b, rank, n_tapes, 0);
    let begin = b.load(starts, &[slot], &[], &[]);
    let zero = b.int(Scalar::I64, 0);
    let is_none = b.compare(Op::Lt, begin, zero);
    let (leave, stay) = (b.func.add_region(&[]), b.func.add_region(&[]));
    let here = b.enter(leave);
    b.ret(&[]);
    b.enter(stay);
    b.yield_(&[]);
    b.enter(here);
    b.push(Op::If, &[is_none], Attr::None, &[leave, stay], &[]);
    func.regions[body.index()].insts.extend(rest);
}

fn add(sizes: &mut Vec<Size>, ty: Type, times: Option<u64>, source: InstId) {
    let at = sizes.iter().position(|known| known.ty == ty).unwrap_or_else(|| {
        sizes.push(Size { ty, n: Some(0), source });
        sizes.len() - 1
    });
    let sum = sizes[at].n.zip(times).and_then(|(n, times)| n.checked_add(times));
    if sum.is_none() && sizes[at].n.is_some() {
        sizes[at].source = source;
    }
    sizes[at].n = sum;
}
