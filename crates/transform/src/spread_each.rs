//! Spreads `each` over the threads of a block.
//!
//! In: a kernel with `each`. Out: loops of every thread over its part of the numbers, and barriers between what threads
//! write and what others read or overwrite.
//!
//! ```text
//! each v1: i64 = v0 {…}    ->    barrier
//!                                for v1 = thread_index 0 to v0 step v2 {…}        v2: the threads of the block
//! ```
//!
//! All threads of a block take the same way through a kernel with tiles, so that all come to each barrier.

use crate::Changed;
use diagnostics::Span;
use ir::op::Effect;
use ir::{Attr, Builder, Function, InstId, Op, RegionId, Type, Value, ValueDef};

/// Spreads every `each` of a kernel. `n_threads` gives the threads of the block at hand: the last block along a launch
/// may have fewer than the others.
pub fn spread_each(func: &mut Function, n_threads: impl FnOnce(&mut Builder<'_>) -> Value) -> Changed {
    if !analysis::shares_tiles(func) {
        return Changed(false);
    }
    let prologue = func.add_region(&[]);
    let mut b = Builder::new(func);
    b.enter(prologue);
    let thread = b.push1(Op::ThreadIndex, &[], Attr::Index(0), Type::i64());
    let n_threads = n_threads(&mut b);
    let mut spread = Spread { thread, n_threads, since: Since::default() };
    spread.region(func, func.body);
    let prologue = std::mem::take(&mut func.regions[prologue.index()].insts);
    func.regions[func.body.index()].insts.splice(0..0, prologue);
    Changed(true)
}

/// The threads of a block of a launch on a GPU: those along dimension `last` that are left from its first one on.
pub fn threads_of_block(b: &mut Builder<'_>, last: u32) -> Value {
    let mut number = |op: Op, dim: u32| b.push1(op, &[], Attr::Index(dim), Type::i64());
    let [most, all, index] = [number(Op::BlockExtent, 0), number(Op::LaunchExtent, last), number(Op::Tid, last)];
    let thread = number(Op::ThreadIndex, 0);
    let first = b.binary(Op::Sub, index, thread);
    let left = b.binary(Op::Sub, all, first);
    b.binary(Op::Min, most, left)
}

struct Spread {
    /// The thread's index in its block, and how many threads that has.
    thread: Value,
    n_threads: Value,
    since: Since,
}

/// What threads may have done since the last barrier.
#[derive(Clone, Copy, Default)]
struct Since {
    /// Written what others have not seen.
    wrote: bool,
    /// The same, by atomics alone.
    updated: bool,
    /// Read what others may not overwrite yet.
    read: bool,
}

impl Since {
    fn wrote_anything(self) -> bool {
        self.wrote || self.updated
    }

    fn anything(self) -> bool {
        self.wrote_anything() || self.read
    }
}

impl Spread {
    fn region(&mut self, func: &mut Function, region: RegionId) {
        let insts = std::mem::take(&mut func.regions[region.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for id in insts {
            self.inst(func, id, &mut out);
        }
        func.regions[region.index()].insts = out;
    }

    fn inst(&mut self, func: &mut Function, id: InstId, out: &mut Vec<InstId>) {
        let inst = func.inst(id);
        match inst.op {
            Op::Each => {
                self.wait(func, self.since.anything(), out);
                self.turn(func, id);
                self.since.wrote = true;
            }
            Op::If | Op::For | Op::Loop => {
                let regions = inst.regions.clone();
                if regions.iter().any(|&inner| has_shared(func, inner)) {
                    self.wait(func, self.since.anything(), out);
                    let mut after = Since::default();
                    for inner in regions {
                        self.since = Since::default();
                        self.region(func, inner);
                        after.wrote |= self.since.wrote;
                        after.updated |= self.since.updated;
                        after.read |= self.since.read;
                    }
                    self.since = after;
                }
                out.push(id);
                return;
            }
            // Threads that took another arm do not come to a barrier in this one: it stands behind the `if`.
            Op::Yield | Op::Return => {}
            op if op.is_terminator() => self.wait(func, self.since.anything(), out),
            Op::Load if is_shared(func, inst.operands[0]) => {
                self.wait(func, self.since.wrote_anything(), out);
                self.since.read = true;
            }
            Op::Store if is_shared(func, inst.operands[0]) => {
                self.wait(func, self.since.anything(), out);
                self.since.wrote = true;
            }
            // Atomics of several threads do not disturb each other.
            Op::Atomic if is_shared(func, inst.operands[0]) => {
                self.wait(func, self.since.wrote || self.since.read, out);
                self.since.updated = true;
            }
            op if op.effect() == Effect::Write || op.effect() == Effect::Read => {
                self.wait(func, self.since.wrote_anything(), out);
            }
            _ => {}
        }
        out.push(id);
    }

    fn wait(&mut self, func: &mut Function, is_needed: bool, out: &mut Vec<InstId>) {
        if is_needed {
            out.push(func.add_inst(Op::Barrier, &[], Attr::None, &[], &[], Span::NONE));
            self.since = Since::default();
        }
    }

    /// Makes an `each` the loop of one thread.
    fn turn(&self, func: &mut Function, id: InstId) {
        let inst = &mut func.insts[id.index()];
        let (n, region) = (inst.operands[0], inst.regions[0]);
        inst.op = Op::For;
        inst.operands = [self.thread, n, self.n_threads].as_slice().into();
        if let Some(end) = func.terminator(region) {
            func.insts[end.index()].op = Op::Continue;
        }
    }
}

/// Whether threads meet in a region.
fn has_shared(func: &Function, region: RegionId) -> bool {
    func.region(region).insts.iter().any(|&id| {
        let inst = func.inst(id);
        inst.op == Op::Each
            || matches!(inst.op, Op::Load | Op::Store | Op::Atomic) && is_shared(func, inst.operands[0])
            || inst.regions.iter().any(|&inner| has_shared(func, inner))
    })
}

fn is_shared(func: &Function, array: Value) -> bool {
    let ValueDef::Result(inst, _) = func.def(array) else { return false };
    let inst = func.inst(inst);
    match inst.op {
        Op::Row | Op::Subarray => is_shared(func, inst.operands[0]),
        op => op == Op::SharedArray,
    }
}
