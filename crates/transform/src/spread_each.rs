//! Spreads `each` over the threads of a block, for GPUs.
//!
//! In: a kernel with `each`. Out: loops of every thread over its part of the numbers, and barriers between what threads
//! write and what others read or overwrite.
//!
//! ```text
//! each v1: i64 = v0 {…}    ->    barrier
//!                                for v1 = thread_index 0 to v0 step block_extent 0 {…}
//! ```
//!
//! All threads of a block take the same way through a kernel with tiles, so that all come to each barrier.

use crate::Changed;
use diagnostics::Span;
use ir::op::Effect;
use ir::{Attr, Function, InstId, Op, RegionId, Type, Value, ValueDef};

/// Spreads every `each` of a kernel.
pub fn spread_each(func: &mut Function) -> Changed {
    if !analysis::has_each(func) {
        return Changed(false);
    }
    let mut spread = Spread { is_dirty: false, is_read: false };
    spread.region(func, func.body);
    Changed(true)
}

struct Spread {
    /// Threads may have written since the last barrier what others have not seen.
    is_dirty: bool,
    /// Threads may have read since the last barrier what others may not overwrite yet.
    is_read: bool,
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
                self.wait(func, self.is_dirty || self.is_read, out);
                turn(func, id, out);
                self.is_dirty = true;
            }
            Op::If | Op::For | Op::Loop => {
                let regions = inst.regions.clone();
                if regions.iter().any(|&inner| has_shared(func, inner)) {
                    self.wait(func, self.is_dirty || self.is_read, out);
                    for inner in regions {
                        (self.is_dirty, self.is_read) = (false, false);
                        self.region(func, inner);
                    }
                    (self.is_dirty, self.is_read) = (false, false);
                }
                out.push(id);
                return;
            }
            op if op.is_terminator() => {
                let is_end = op == Op::Return;
                self.wait(func, !is_end && (self.is_dirty || self.is_read), out);
            }
            Op::Load if is_shared(func, inst.operands[0]) => {
                self.wait(func, self.is_dirty, out);
                self.is_read = true;
            }
            Op::Store if is_shared(func, inst.operands[0]) => {
                self.wait(func, self.is_dirty || self.is_read, out);
                out.push(id);
                self.is_dirty = true;
                return;
            }
            op if op.effect() == Effect::Write || op.effect() == Effect::Read => {
                self.wait(func, self.is_dirty, out);
            }
            _ => {}
        }
        out.push(id);
    }

    fn wait(&mut self, func: &mut Function, is_needed: bool, out: &mut Vec<InstId>) {
        if is_needed {
            out.push(func.add_inst(Op::Barrier, &[], Attr::None, &[], &[], Span::NONE));
            (self.is_dirty, self.is_read) = (false, false);
        }
    }
}

/// Makes an `each` the loop of one thread.
fn turn(func: &mut Function, id: InstId, out: &mut Vec<InstId>) {
    let span = func.inst(id).span;
    let mut position = |op: Op| {
        let made = func.add_inst(op, &[], Attr::Index(0), &[], &[Type::i64()], span);
        out.push(made);
        func.inst(made).result()
    };
    let (first, step) = (position(Op::ThreadIndex), position(Op::BlockExtent));
    let inst = &mut func.insts[id.index()];
    let (n, region) = (inst.operands[0], inst.regions[0]);
    inst.op = Op::For;
    inst.operands = [first, n, step].as_slice().into();
    if let Some(end) = func.terminator(region) {
        func.insts[end.index()].op = Op::Continue;
    }
}

/// Whether threads meet in a region.
fn has_shared(func: &Function, region: RegionId) -> bool {
    func.region(region).insts.iter().any(|&id| {
        let inst = func.inst(id);
        inst.op == Op::Each
            || matches!(inst.op, Op::Load | Op::Store) && is_shared(func, inst.operands[0])
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
