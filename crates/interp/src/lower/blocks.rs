//! Ops over blocks of threads.

use super::{Lower, index};
use crate::code::{Check, Position, Step, Sync, SyncKind, ThreadSlots};
use crate::value::contiguous_strides;
use ir::{Attr, Inst, Op};

impl Lower<'_> {
    pub(super) fn over_blocks(&mut self, inst: &Inst) {
        match inst.op {
            Op::ThreadIndex => self.position(inst, Position::ThreadIndex(index(inst))),
            Op::BlockIndex => self.position(inst, Position::BlockIndex(index(inst))),
            Op::BlockExtent => self.position(inst, Position::BlockExtent(index(inst))),
            Op::GridExtent => self.position(inst, Position::GridExtent(index(inst))),
            Op::LaneId => self.position(inst, Position::Lane),
            Op::SharedArray => self.shared_array(inst),
            Op::DynamicShared => {
                let dst = self.define(inst.result());
                let (elem, _) = self.array(inst.result());
                let offset = self.slot(inst.operands[0]);
                self.push(Step::DynamicShared { dst, offset, elem_size: elem.size() });
            }
            Op::ThreadSlots => {
                let Attr::Extents(extents) = &inst.attr else { panic!("`thread_slots` without its extents") };
                let pointer = self.define(inst.result());
                let (elem, _) = self.array(inst.result());
                let slots = ThreadSlots { pointer, extents: extents.clone(), elem_size: elem.size() };
                self.push(Step::ThreadSlots(Box::new(slots)));
            }
            Op::Threads => {
                self.push(Step::ThreadsEnter);
                let body = self.here();
                self.in_scope(inst.regions[0]);
                self.push(Step::ThreadsNext { body });
            }
            Op::CheckConverged => {
                let Attr::Site(site) = inst.attr else { panic!("a check without its site") };
                let [holds, thread, place] = [0, 1, 2].map(|i| self.slot(inst.operands[i]));
                self.push(Step::Check { check: Box::new(Check::Converged { holds, thread, place }), site: site.0 });
            }
            _ => self.sync(inst),
        }
    }

    fn position(&mut self, inst: &Inst, position: Position) {
        let dst = self.define(inst.result());
        self.push(Step::Position { dst, position });
    }

    fn shared_array(&mut self, inst: &Inst) {
        let Attr::Extents(extents) = &inst.attr else { panic!("`shared_array` without its extents") };
        let pointer = self.define(inst.result());
        let (elem, _) = self.array(inst.result());
        let extents: Vec<i64> = extents.iter().map(|&extent| extent as i64).collect();
        let descriptor = extents.iter().copied().chain(contiguous_strides(elem, &extents));
        for (slot, word) in (pointer as usize + 1..).zip(descriptor) {
            self.code.template[slot] = word as u64;
        }
        let offset = self.shared;
        let size = extents.iter().fold(elem.size(), |size, &extent| size * extent as u64);
        self.shared = (offset + size).next_multiple_of(16);
        self.push(Step::SharedArray { pointer, offset });
    }

    fn sync(&mut self, inst: &Inst) {
        let kind = match (inst.op, &inst.attr) {
            (Op::Barrier, _) => SyncKind::Barrier,
            (Op::BarrierCount, _) => SyncKind::Count,
            (Op::BarrierAnd, _) => SyncKind::And,
            (Op::BarrierOr, _) => SyncKind::Or,
            (Op::GridBarrier, _) => SyncKind::Grid,
            (Op::WarpBarrier, _) => SyncKind::Warp,
            (Op::Fence, _) => SyncKind::Fence,
            (Op::Shuffle, Attr::Shuffle(mode)) => SyncKind::Shuffle(*mode),
            (Op::Vote, Attr::Vote(mode)) => SyncKind::Vote(*mode),
            (Op::MatchAny, _) => SyncKind::MatchAny,
            (Op::MatchAll, _) => SyncKind::MatchAll,
            (Op::ActiveMask, _) => SyncKind::Active,
            (op, _) => panic!("`{}` does not communicate", op.name()),
        };
        let operands = self.slots(&inst.operands);
        let results = inst.results.iter().map(|&result| self.define(result)).collect();
        self.push(Step::Sync(Box::new(Sync { kind, span: inst.span, operands, results })));
    }
}
