//! Loops of a gang. Where lanes leave a loop in different rounds, a mask keeps those that are still in it.

use super::control::Frame;
use super::slots::Slots;
use crate::llvm::Lowering;
use crate::llvm::lanes::{as_int, as_lanes, n_lanes, number};
use crate::llvm::types;
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{IntValue, PointerValue};
use ir::{Inst, InstId, Op, Value};

impl<'c> Lowering<'c, '_> {
    pub(super) fn gang_loop(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        let func = self.func;
        let is_divergent = self.gang()?.uniformity.is_divergent(id);
        let body = inst.regions[0];
        let params = &func.region(body).params[..];
        let n_bounds = if inst.op == Op::For { 3 } else { 0 };
        let carried_params = &params[n_bounds / 3..];
        let carried = self.new_slots(carried_params)?;
        let results = self.new_slots(&inst.results)?;
        self.store_slots(&carried, &inst.operands[n_bounds..], None)?;
        let before = self.mask();
        let live = if is_divergent { Some(self.new_slot(before.unwrap_or_else(|| self.all_lanes()))?) } else { None };
        let range = if inst.op == Op::For { Some(self.range(inst, params[0])?) } else { None };
        if let (Some(range), None, None) = (&range, before, live)
            && let Some(crossing) = self.crossing(inst)?
        {
            return self.split_loop(inst, range, &crossing, carried, &results);
        }
        let (head, run, latch, exit) = (self.block(), self.block(), self.block(), self.block());
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(head);
        let mut round = match live {
            Some(live) => Some(self.load_mask(live)?),
            None => before,
        };
        self.set_mask(round);
        self.define_from(carried_params, &carried)?;
        match &range {
            Some(range) => {
                self.define_from(&params[..1], std::slice::from_ref(&range.induction))?;
                round = self.next_round(range, round, live.is_some(), carried_params, &results, [run, exit])?;
            }
            None => {
                self.builder.build_unconditional_branch(run)?;
            }
        }

        self.builder.position_at_end(run);
        if let Some(live) = live {
            self.builder.build_store(live, as_lanes(self.no_lanes()))?;
        }
        self.set_mask(round);
        let frame = Frame::Loop { carried, results: results.clone(), live, latch, exit, round };
        self.gang_mut()?.frames.push(frame);
        self.region(body)?;
        self.gang_mut()?.frames.pop();

        self.builder.position_at_end(latch);
        if let Some(range) = &range {
            self.advance(range)?;
        }
        match live {
            Some(live) => {
                let any = self.any(self.load_mask(live)?)?;
                self.builder.build_conditional_branch(any, head, exit)?;
            }
            None => {
                self.builder.build_unconditional_branch(head)?;
            }
        }
        self.builder.position_at_end(exit);
        self.set_mask(before);
        self.define_from(&inst.results, &results)
    }

    /// Starts the next round of a `for` with the lanes that have one left; the others take what they carry as results.
    fn next_round(
        &mut self,
        range: &Range<'c>,
        round: Option<IntValue<'c>>,
        is_divergent: bool,
        carried: &[Value],
        results: &[Slots<'c>],
        [run, exit]: [BasicBlock<'c>; 2],
    ) -> Result<Option<IntValue<'c>>> {
        let b = &self.builder;
        let count = as_int(b.build_load(range.count_type, range.count, "")?)?;
        if !is_divergent {
            let more = b.build_int_compare(IntPredicate::ULT, count, range.rounds, "")?;
            let leave = self.block();
            self.builder.build_conditional_branch(more, run, leave)?;
            self.builder.position_at_end(leave);
            self.store_slots(results, carried, None)?;
            self.builder.build_unconditional_branch(exit)?;
            return Ok(round);
        }
        let (count, rounds) = self.same_shape(count.into(), range.rounds.into())?;
        let rounds = self.splat_lanes(rounds, self.width())?;
        let count = self.splat_lanes(count, self.width())?;
        let more = b.build_int_compare(IntPredicate::ULT, as_int(count)?, as_int(rounds)?, "")?;
        let leaving = self.on(b.build_not(more, "")?)?;
        let staying = self.on(more)?;
        self.store_slots(results, carried, Some(leaving))?;
        self.builder.build_conditional_branch(self.any(staying)?, run, exit)?;
        Ok(Some(staying))
    }

    /// Counts the rounds of a `for`, in every lane where they differ.
    fn range(&mut self, inst: &Inst, param: Value) -> Result<Range<'c>> {
        let [lo, hi, step] = [0, 1, 2].map(|i| inst.operands[i]);
        let scalar = self.func.ty(lo).as_scalar().ok_or_else(|| Error::Invalid("`for` over no scalar".into()))?;
        let is_uniform = [lo, hi, step].iter().all(|&bound| self.lanes(bound) == Lanes::Uniform);
        let read = |this: &Self, value| if is_uniform { this.int(value) } else { this.wide_int(value) };
        let [first, last, distance] = [read(self, lo)?, read(self, hi)?, read(self, step)?];
        let rounds = self.round_count(scalar, first, last, distance)?;
        let induction = self.new_slots(&[param])?.remove(0);
        self.store_slots(std::slice::from_ref(&induction), &[lo], None)?;
        let zero = types::int_of_bits(self.ctx, scalar.bits()).const_zero();
        let count = self.new_slot(zero)?;
        let distance = if induction.is_wide { self.wide_int(step)? } else { self.int(step)? };
        let count_type = zero.get_type().as_basic_type_enum();
        Ok(Range { rounds, count, count_type, induction, distance, is_signed: scalar.is_signed() })
    }

    pub(super) fn advance(&self, range: &Range<'c>) -> Result<()> {
        let b = &self.builder;
        let count = as_int(b.build_load(range.count_type, range.count, "")?)?;
        b.build_store(range.count, b.build_int_nuw_add(count, number(count.get_type(), 1), "")?)?;
        for &(at, ty) in &range.induction.leaves {
            let i = as_int(b.build_load(ty, at, "")?)?;
            if n_lanes(&i).is_some() {
                b.build_store(at, as_lanes(b.build_int_add(i, range.distance, "")?))?;
                continue;
            }
            // Past the last round, which is the last for all lanes, the sum may wrap; it is then not used.
            let next = match range.is_signed {
                true => b.build_int_nsw_add(i, range.distance, "")?,
                false => b.build_int_nuw_add(i, range.distance, "")?,
            };
            b.build_store(at, next)?;
        }
        Ok(())
    }
}

/// How far a `for` is.
pub(super) struct Range<'c> {
    /// A scalar, or one a lane.
    pub(super) rounds: IntValue<'c>,
    pub(super) count: PointerValue<'c>,
    pub(super) count_type: BasicTypeEnum<'c>,
    pub(super) induction: Slots<'c>,
    distance: IntValue<'c>,
    is_signed: bool,
}
