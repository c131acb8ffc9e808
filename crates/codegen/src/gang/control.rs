//! Control flow of a gang: uniform branches as for one thread, divergent ones under masks.
//!
//! Values that leave a construct go through slots of memory, which LLVM's own pass turns into registers. A lane that
//! leaves early is taken out of the mask until the end of what it left to.

use super::cases::Cases;
use super::slots::Slots;
use crate::llvm::Lowering;
use crate::llvm::lanes::as_lanes;
use crate::llvm::value::Lowered;
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PointerValue};
use ir::op::Effect;
use ir::{Function, Inst, InstId, Op, RegionId};

/// A construct that terminators may leave.
#[derive(Clone)]
pub(super) enum Frame<'c> {
    If {
        slots: Vec<Slots<'c>>,
        /// Collects the lanes that reach the end of an arm, where not all do.
        reached: Option<PointerValue<'c>>,
        /// Where an arm goes on; `None` where it stays in its block.
        join: Option<BasicBlock<'c>>,
        is_masked: bool,
    },
    Loop {
        carried: Vec<Slots<'c>>,
        results: Vec<Slots<'c>>,
        /// Collects the lanes that take part in the next round, where not all do.
        live: Option<PointerValue<'c>>,
        latch: BasicBlock<'c>,
        exit: BasicBlock<'c>,
        /// The lanes that are on at the start of a round.
        round: Option<IntValue<'c>>,
    },
}

/// Pure arms of at most so many instructions run without a branch.
const MAX_STRAIGHT: usize = 24;
/// Arms of at most so many instructions are not worth a test whether all lanes take one.
pub(super) const MIN_DOUBLE: usize = 6;

impl<'c> Lowering<'c, '_> {
    pub(super) fn gang_control(&mut self, id: InstId, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::If if self.gang()?.uniformity.is_divergent(id) => self.divergent_if(inst),
            Op::If => self.uniform_if(inst),
            Op::For | Op::Loop => self.gang_loop(id, inst),
            Op::Yield => self.gang_yield(inst),
            Op::Continue | Op::Break => self.gang_jump(inst),
            Op::Return => {
                self.builder.build_unconditional_branch(self.thread.end)?;
                Ok(())
            }
            _ => {
                self.builder.build_unreachable()?;
                Ok(())
            }
        }
    }

    fn arm(&mut self, region: RegionId, frame: Frame<'c>, mask: Option<IntValue<'c>>) -> Result<()> {
        self.set_mask(mask);
        self.gang_mut()?.frames.push(frame);
        self.region(region)?;
        self.gang_mut()?.frames.pop();
        Ok(())
    }

    fn uniform_if(&mut self, inst: &Inst) -> Result<()> {
        let condition = self.int(inst.operands[0])?;
        let slots = self.new_slots(&inst.results)?;
        let loses_lanes = self.loses_lanes(inst, false)?;
        let reached = if loses_lanes { Some(self.new_slot(self.no_lanes())?) } else { None };
        let before = self.mask();
        let (yes, no, join) = (self.block(), self.block(), self.block());
        self.builder.build_conditional_branch(condition, yes, no)?;
        for (block, &region) in [yes, no].into_iter().zip(&inst.regions) {
            self.builder.position_at_end(block);
            let frame = Frame::If { slots: slots.clone(), reached, join: Some(join), is_masked: false };
            self.arm(region, frame, before)?;
        }
        self.builder.position_at_end(join);
        self.set_mask(before);
        self.define_from(&inst.results, &slots)?;
        if let Some(reached) = reached {
            let mask = self.load_mask(reached)?;
            self.go_on_with(mask)?;
        }
        Ok(())
    }

    fn divergent_if(&mut self, inst: &Inst) -> Result<()> {
        if let Some((_, holds)) = self.gang()?.known.filter(|(known, _)| *known == inst.operands[0]) {
            let arm = inst.regions[usize::from(!holds)];
            if end(self.func, arm, Op::Yield).is_some() && !jumps(self.func, arm) {
                return self.known_arm(inst, arm);
            }
        }
        let condition = self.wide_int(inst.operands[0])?;
        let has_exits = exits(self.func, inst);
        let [first, second] = [0, 1].map(|arm| Cost::of(self, inst.regions[arm]));
        let n_insts = first.n_insts + second.n_insts;
        let is_straight = !has_exits && first.is_pure && second.is_pure && n_insts <= MAX_STRAIGHT;
        let touches_lanes = first.touches_lanes || second.touches_lanes;
        let may_double = self.mask().is_none() && !has_exits && n_insts <= self.gang()?.budget;
        // Two scalar tests cost less than to blend what a few instructions compute.
        if may_double && (touches_lanes || n_insts > MIN_DOUBLE) {
            let cases = self.end_cases(inst.operands[0])?;
            if cases.is_some() || touches_lanes {
                self.gang_mut()?.budget -= n_insts;
                return self.arms_by_case(inst, condition, cases, is_straight);
            }
        }
        if is_straight {
            return self.straight_arms(inst, condition);
        }
        self.masked_arms(inst, condition, has_exits)
    }

    /// The arm that all lanes are known to take.
    fn known_arm(&mut self, inst: &Inst, arm: RegionId) -> Result<()> {
        let slots = self.new_slots(&inst.results)?;
        let frame = Frame::If { slots: slots.clone(), reached: None, join: None, is_masked: false };
        let mask = self.mask();
        self.arm(arm, frame, mask)?;
        self.define_from(&inst.results, &slots)
    }

    /// Both arms one after the other, no branch.
    fn straight_arms(&mut self, inst: &Inst, condition: IntValue<'c>) -> Result<()> {
        let before = self.mask();
        let mut slots = Vec::new();
        for (arm, &region) in inst.regions.iter().enumerate() {
            let mask = self.arm_mask(condition, arm)?;
            slots.push(self.new_slots(&inst.results)?);
            let frame = Frame::If { slots: slots[arm].clone(), reached: None, join: None, is_masked: true };
            self.arm(region, frame, Some(mask))?;
            self.set_mask(before);
        }
        self.choose(inst, condition, &slots)
    }

    fn arm_mask(&self, condition: IntValue<'c>, arm: usize) -> Result<IntValue<'c>> {
        if arm == 0 { self.on(condition) } else { self.on(self.builder.build_not(condition, "")?) }
    }

    /// Defines the results from those of both arms, where at least one yields.
    fn choose(&mut self, inst: &Inst, condition: IntValue<'c>, slots: &[Vec<Slots<'c>>]) -> Result<()> {
        let func = self.func;
        let yields: Vec<Option<&Inst>> = inst.regions.iter().map(|&region| end(func, region, Op::Yield)).collect();
        for (i, &result) in inst.results.iter().enumerate() {
            let lowered = match (yields[0], yields[1]) {
                (Some(x), Some(y)) if x.operands[i] == y.operands[i] => match self.lanes(result) {
                    Lanes::Varying => Lowered::Leaves(self.widened(x.operands[i])?),
                    _ => self.narrow_value(x.operands[i])?,
                },
                (Some(_), None) => Lowered::Leaves(self.load_slots(&slots[0][i])?),
                (None, _) => Lowered::Leaves(self.load_slots(&slots[1][i])?),
                _ => {
                    let (x, y) = (self.load_slots(&slots[0][i])?, self.load_slots(&slots[1][i])?);
                    let chosen = x.into_iter().zip(y).map(|(x, y)| self.select(condition, x, y));
                    Lowered::Leaves(chosen.collect::<Result<_>>()?)
                }
            };
            self.define(result, lowered);
            self.gang_mut()?.exact[result.index()] = None;
        }
        Ok(())
    }

    /// Each arm under its mask, skipped where no lane takes it.
    fn masked_arms(&mut self, inst: &Inst, condition: IntValue<'c>, has_exits: bool) -> Result<()> {
        let before = self.mask();
        let (mut slots, mut reached) = (Vec::new(), Vec::new());
        for (arm, &region) in inst.regions.iter().enumerate() {
            self.set_mask(before);
            let mask = self.arm_mask(condition, arm)?;
            slots.push(self.new_slots(&inst.results)?);
            reached.push(if has_exits { Some(self.new_slot(self.no_lanes())?) } else { None });
            let is_trivial = self.func.region(region).insts.len() == 1 && end(self.func, region, Op::Yield).is_some();
            let join = if is_trivial { None } else { Some(self.block()) };
            if let Some(join) = join {
                let run = self.block();
                self.builder.build_conditional_branch(self.any(mask)?, run, join)?;
                self.builder.position_at_end(run);
            }
            if let Some(join) = join
                && let Some(yields) = self.shared_arm(region)?
            {
                self.store_leaves(&slots[arm], yields)?;
                if let Some(reached) = reached[arm] {
                    self.builder.build_store(reached, as_lanes(mask))?;
                }
                self.builder.build_unconditional_branch(join)?;
            } else {
                let frame = Frame::If { slots: slots[arm].clone(), reached: reached[arm], join, is_masked: true };
                self.arm(region, frame, Some(mask))?;
            }
            if let Some(join) = join {
                self.builder.position_at_end(join);
            }
        }
        self.set_mask(before);
        self.choose(inst, condition, &slots)?;
        if let [Some(first), Some(second)] = reached[..] {
            let mask = self.builder.build_or(self.load_mask(first)?, self.load_mask(second)?, "")?;
            self.go_on_with(mask)?;
        }
        Ok(())
    }

    /// All lanes in one arm: that arm without a mask. Else both under masks.
    fn arms_by_case(
        &mut self,
        inst: &Inst,
        condition: IntValue<'c>,
        cases: Option<Cases<'c>>,
        is_straight: bool,
    ) -> Result<()> {
        let slots = self.new_slots(&inst.results)?;
        let join = self.block();
        let cases = match cases {
            Some(Cases { all, none }) => [all, none],
            None => [self.all(condition)?, self.builder.build_not(self.any(condition)?, "")?],
        };
        for (&region, case) in inst.regions.iter().zip(cases) {
            let (run, next) = (self.block(), self.block());
            let holds = self.early(region)?;
            let go = self.both(holds, case)?;
            self.builder.build_conditional_branch(go, run, next)?;
            self.builder.position_at_end(run);
            let frame = Frame::If { slots: slots.clone(), reached: None, join: Some(join), is_masked: false };
            self.arm(region, frame, None)?;
            self.forget_region(region)?;
            self.builder.position_at_end(next);
        }
        self.set_mask(None);
        if is_straight {
            self.straight_arms(inst, condition)?
        } else {
            self.masked_arms(inst, condition, false)?
        }
        self.store_slots(&slots, &inst.results, None)?;
        self.builder.build_unconditional_branch(join)?;
        self.builder.position_at_end(join);
        self.set_mask(None);
        self.define_from(&inst.results, &slots)
    }

    /// Goes on with fewer lanes; where none is left, straight to what they left to.
    fn go_on_with(&mut self, mask: IntValue<'c>) -> Result<()> {
        let go_on = self.block();
        let target = self.way_out()?;
        self.builder.build_conditional_branch(self.any(mask)?, go_on, target)?;
        self.builder.position_at_end(go_on);
        self.set_mask(Some(mask));
        Ok(())
    }

    /// Where control goes on after the lanes that are on have left: the other lanes of an enclosing arm, or the end of
    /// the round.
    fn way_out(&self) -> Result<BasicBlock<'c>> {
        for frame in self.gang()?.frames.iter().rev() {
            match frame {
                Frame::If { join: Some(join), is_masked: true, .. } => return Ok(*join),
                Frame::Loop { latch, .. } => return Ok(*latch),
                Frame::If { .. } => {}
            }
        }
        Err(Error::Invalid("a jump out of no loop".into()))
    }

    pub(super) fn is_in_loop(&self) -> Result<bool> {
        Ok(self.gang()?.frames.iter().any(|frame| matches!(frame, Frame::Loop { .. })))
    }

    fn gang_yield(&mut self, inst: &Inst) -> Result<()> {
        let Some(Frame::If { slots, reached, join, .. }) = self.gang()?.frames.last().cloned() else {
            return Err(Error::Invalid("`yield` outside of what it ends".into()));
        };
        self.store_slots(&slots, &inst.operands, None)?;
        if let Some(reached) = reached {
            let mask = self.mask().unwrap_or_else(|| self.all_lanes());
            self.builder.build_store(reached, as_lanes(mask))?;
        }
        if let Some(join) = join {
            self.builder.build_unconditional_branch(join)?;
        }
        Ok(())
    }

    fn gang_jump(&mut self, inst: &Inst) -> Result<()> {
        let frame = self.gang()?.frames.iter().rev().find(|frame| matches!(frame, Frame::Loop { .. })).cloned();
        let Some(Frame::Loop { carried, results, live, exit, round, .. }) = frame else {
            return Err(Error::Invalid(format!("`{}` outside of a loop", inst.op.name())));
        };
        let mask = self.mask();
        if inst.op == Op::Continue {
            self.store_slots(&carried, &inst.operands, if mask == round { None } else { mask })?;
            if let (Some(live), Some(mask)) = (live, mask) {
                let all = self.builder.build_or(self.load_mask(live)?, mask, "")?;
                self.builder.build_store(live, as_lanes(all))?;
            }
        } else if live.is_some() {
            self.store_slots(&results, &inst.operands, mask)?;
        } else {
            self.store_slots(&results, &inst.operands, None)?;
            self.builder.build_unconditional_branch(exit)?;
            return Ok(());
        }
        let target = self.way_out()?;
        self.builder.build_unconditional_branch(target)?;
        Ok(())
    }

    /// Whether only part of the lanes may reach the end of an `if` that all lanes enter.
    fn loses_lanes(&self, inst: &Inst, is_divergent: bool) -> Result<bool> {
        let func = self.func;
        for &region in &inst.regions {
            for &id in &func.region(region).insts {
                let inner = func.inst(id);
                let found = match inner.op {
                    Op::Continue | Op::Break => is_divergent,
                    Op::If => self.loses_lanes(inner, is_divergent || self.gang()?.uniformity.is_divergent(id))?,
                    _ => false,
                };
                if found {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The terminator of a region, if it is of one kind.
fn end(func: &Function, region: RegionId, op: Op) -> Option<&Inst> {
    func.terminator(region).map(|id| func.inst(id)).filter(|inst| inst.op == op)
}

/// Whether an `if` contains a jump out of it.
fn exits(func: &Function, inst: &Inst) -> bool {
    inst.regions.iter().any(|&region| jumps(func, region))
}

fn jumps(func: &Function, region: RegionId) -> bool {
    func.region(region).insts.iter().any(|&id| {
        let inner = func.inst(id);
        matches!(inner.op, Op::Continue | Op::Break) || inner.op == Op::If && exits(func, inner)
    })
}

/// What an arm would cost.
pub(super) struct Cost {
    pub(super) n_insts: usize,
    is_pure: bool,
    /// Accesses memory lane by lane, so that a mask costs something.
    touches_lanes: bool,
}

impl Cost {
    pub(super) fn of(lowering: &Lowering<'_, '_>, region: RegionId) -> Cost {
        let func = lowering.func;
        let mut cost = Cost { n_insts: 0, is_pure: true, touches_lanes: false };
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            cost.n_insts += 1;
            cost.is_pure &= inst.op.effect() == Effect::Pure || matches!(inst.op, Op::If | Op::Yield);
            cost.touches_lanes |= matches!(inst.op, Op::Load | Op::Store)
                && !inst.operands[1..].iter().all(|&operand| lowering.lanes(operand) == Lanes::Uniform);
            for &inner in &inst.regions {
                let inner = Cost::of(lowering, inner);
                cost.n_insts += inner.n_insts;
                cost.is_pure &= inner.is_pure;
                cost.touches_lanes |= inner.touches_lanes;
            }
        }
        cost
    }
}
