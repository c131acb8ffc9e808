//! Loops whose counter meets the threads' own index, cut where it does.
//!
//! In: a loop that counts up by one, the same in all lanes, with an `if` over whether the counter is the thread's own
//! index, as where bodies pull at all others. Out: three loops over the same rounds in the same order. Only the middle
//! one, as many rounds as there are lanes, has to ask:
//!
//! ```text
//! for j in 0..n: if j != i { … }    ->    for j in 0..first:              …
//!                                         for j in first..first + lanes:  if j != i { … }
//!                                         for j in first + lanes..n:      …
//! ```

use super::control::{Cost, Frame, MIN_DOUBLE};
use super::loops::Range;
use super::slots::Slots;
use crate::Result;
use crate::llvm::Lowering;
use crate::llvm::lanes::{as_int, number};
use analysis::Lanes;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::IntValue;
use ir::{Inst, Op, Scalar, Value};

/// Rounds of which one takes its root from the divider.
const ROUNDS: usize = 4;

/// Where a loop's counter meets the lanes.
pub(super) struct Crossing<'c> {
    condition: Value,
    /// What the condition is in rounds that are not at the crossing.
    elsewhere: bool,
    /// The first lane's index, less the counter's first value.
    distance: IntValue<'c>,
}

impl<'c> Lowering<'c, '_> {
    /// The crossing of a loop that is worth cutting. All lanes are on and stay on.
    pub(super) fn crossing(&mut self, inst: &Inst) -> Result<Option<Crossing<'c>>> {
        let (func, body) = (self.func, inst.regions[0]);
        let counter = func.region(body).params[0];
        let scalar = func.ty(counter).as_scalar().unwrap_or(Scalar::I64);
        let is_by_one = func.as_const(inst.operands[2]).is_some_and(|step| step.as_int(scalar) == 1);
        let n_insts = Cost::of(self, body).n_insts;
        if !is_by_one || self.lanes(counter) != Lanes::Uniform || n_insts > self.gang()?.budget || n_insts < MIN_DOUBLE
        {
            return Ok(None);
        }
        for &id in &func.region(body).insts {
            if func.inst(id).op != Op::If {
                continue;
            }
            let condition = func.inst(id).operands[0];
            let Some(compare) = self.def(condition).filter(|def| matches!(def.op, Op::Ne | Op::Eq)) else { continue };
            let [x, y] = [compare.operands[0], compare.operands[1]];
            let index = if x == counter { y } else { x };
            let is_exact = self.gang()?.exact[index.index()].is_none();
            if (x == counter || y == counter)
                && self.lanes(index) == Lanes::Affine(1)
                && is_exact
                && self.is_defined(index)
            {
                self.gang_mut()?.budget -= n_insts;
                let first = self.int(inst.operands[0])?;
                let distance = self.builder.build_int_sub(self.int(index)?, first, "")?;
                return Ok(Some(Crossing { condition, elsewhere: compare.op == Op::Ne, distance }));
            }
        }
        Ok(None)
    }

    pub(super) fn split_loop(
        &mut self,
        inst: &Inst,
        range: &Range<'c>,
        crossing: &Crossing<'c>,
        carried: Vec<Slots<'c>>,
        results: &[Slots<'c>],
    ) -> Result<()> {
        let [phase, turn, again, leave, exit] = [(); 5].map(|()| self.block());
        let (near, far) = self.rounds_at(range, crossing)?;
        let end = self.new_slot(near)?;
        self.builder.build_unconditional_branch(phase)?;

        self.builder.position_at_end(phase);
        let until = as_int(self.builder.build_load(range.count_type, end, "")?)?;
        let before = self.gang_mut()?.known.replace((crossing.condition, crossing.elsewhere));
        self.stretch(inst, range, until, &carried, results, [turn, exit])?;
        self.gang_mut()?.known = before;
        self.forget_region(inst.regions[0])?;

        self.builder.position_at_end(turn);
        let count = as_int(self.builder.build_load(range.count_type, range.count, "")?)?;
        let more = self.builder.build_int_compare(IntPredicate::ULT, count, range.rounds, "")?;
        let crossed = self.block();
        self.builder.build_conditional_branch(more, crossed, leave)?;
        self.builder.position_at_end(crossed);
        self.stretch(inst, range, far, &carried, results, [again, exit])?;

        self.builder.position_at_end(again);
        self.builder.build_store(end, range.rounds)?;
        self.builder.build_unconditional_branch(phase)?;

        self.builder.position_at_end(leave);
        self.set_mask(None);
        let params = &self.func.region(inst.regions[0]).params[1..];
        self.define_from(params, &carried)?;
        self.store_slots(results, params, None)?;
        self.builder.build_unconditional_branch(exit)?;

        self.builder.position_at_end(exit);
        self.define_from(&inst.results, results)
    }

    /// The first round at the crossing and the first one behind it, neither past the last round. The distance wraps
    /// where the lanes' indices begin below the counter's first value.
    fn rounds_at(&self, range: &Range<'c>, crossing: &Crossing<'c>) -> Result<(IntValue<'c>, IntValue<'c>)> {
        let b = &self.builder;
        let (near, ty) = (crossing.distance, crossing.distance.get_type());
        let far = b.build_int_add(near, number(ty, u64::from(self.width())), "")?;
        let wraps = b.build_int_compare(IntPredicate::ULT, far, near, "")?;
        let near = self.select_int(wraps, ty.const_zero(), near)?;
        let within = |x: IntValue<'c>| {
            let less = b.build_int_compare(IntPredicate::ULT, x, range.rounds, "")?;
            self.select_int(less, x, range.rounds)
        };
        Ok((within(near)?, within(far)?))
    }

    /// Rounds up to number `until`, then on to `next`; `break` leads to `exit`.
    fn stretch(
        &mut self,
        inst: &Inst,
        range: &Range<'c>,
        until: IntValue<'c>,
        carried: &[Slots<'c>],
        results: &[Slots<'c>],
        [next, exit]: [BasicBlock<'c>; 2],
    ) -> Result<()> {
        let body = inst.regions[0];
        let params = &self.func.region(body).params;
        if self.mixes_roots(inst)? {
            self.several_rounds(inst, range, until, carried, results, exit)?;
        }
        let (head, run, latch) = (self.block(), self.block(), self.block());
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(head);
        self.set_mask(None);
        self.define_from(&params[1..], carried)?;
        self.define_from(&params[..1], std::slice::from_ref(&range.induction))?;
        let count = as_int(self.builder.build_load(range.count_type, range.count, "")?)?;
        let more = self.builder.build_int_compare(IntPredicate::ULT, count, until, "")?;
        self.builder.build_conditional_branch(more, run, next)?;

        self.builder.position_at_end(run);
        let (carried, results) = (carried.to_vec(), results.to_vec());
        self.gang_mut()?.frames.push(Frame::Loop { carried, results, live: None, latch, exit, round: None });
        self.region(body)?;
        self.gang_mut()?.frames.pop();

        self.builder.position_at_end(latch);
        self.advance(range)?;
        self.builder.build_unconditional_branch(head)?;
        Ok(())
    }

    /// Whether rounds with roots run several at a time, the last of which takes its root from the divider: the
    /// divider then has no more to do than what computes the others.
    fn mixes_roots(&mut self, inst: &Inst) -> Result<bool> {
        let insts = &self.func.region(inst.regions[0]).insts;
        let inside = insts.iter().flat_map(|&id| &self.func.inst(id).regions).map(|&arm| &self.func.region(arm).insts);
        let has_root = inside.chain([insts]).flatten().any(|&id| self.is_soft_root(id));
        let cost = Cost::of(self, inst.regions[0]).n_insts * ROUNDS;
        let gang = self.gang_mut()?;
        if gang.known.is_none() || !has_root || cost > gang.budget {
            return Ok(false);
        }
        gang.budget -= cost;
        Ok(true)
    }

    /// As many times [`ROUNDS`] rounds as there are up to number `until`.
    fn several_rounds(
        &mut self,
        inst: &Inst,
        range: &Range<'c>,
        until: IntValue<'c>,
        carried: &[Slots<'c>],
        results: &[Slots<'c>],
        exit: BasicBlock<'c>,
    ) -> Result<()> {
        let body = inst.regions[0];
        let params = &self.func.region(body).params;
        let (head, rest) = (self.block(), self.block());
        self.builder.build_unconditional_branch(head)?;

        self.builder.position_at_end(head);
        let count = as_int(self.builder.build_load(range.count_type, range.count, "")?)?;
        let left = self.builder.build_int_sub(until, count, "")?;
        let rounds = number(left.get_type(), ROUNDS as u64);
        let mut run = self.block();
        let more = self.builder.build_int_compare(IntPredicate::UGE, left, rounds, "")?;
        self.builder.build_conditional_branch(more, run, rest)?;
        for round in 1..=ROUNDS {
            self.builder.position_at_end(run);
            self.set_mask(None);
            self.define_from(&params[1..], carried)?;
            self.define_from(&params[..1], std::slice::from_ref(&range.induction))?;
            let latch = self.block();
            let (carried, results) = (carried.to_vec(), results.to_vec());
            self.gang_mut()?.divides_roots = round == ROUNDS;
            self.gang_mut()?.frames.push(Frame::Loop { carried, results, live: None, latch, exit, round: None });
            self.region(body)?;
            self.gang_mut()?.frames.pop();
            self.forget_region(body)?;

            self.builder.position_at_end(latch);
            self.advance(range)?;
            run = if round == ROUNDS { head } else { self.block() };
            self.builder.build_unconditional_branch(run)?;
        }
        self.gang_mut()?.divides_roots = false;
        self.builder.position_at_end(rest);
        Ok(())
    }
}
