//! Structured control flow to blocks and phis.
//!
//! Every construct that values leave (an `if`, a round of a loop, a loop) is a [`Merge`]: a block and the list of who
//! jumps there with which values. Values in memory are copied into the merge's own slots before the jump.

use super::Lowering;
use super::lanes::{n_lanes, number};
use super::value::{Leaves, Lowered, is_big};
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{InstructionValue, IntValue, PhiValue, PointerValue};
use ir::{Inst, Op, RegionId, Scalar, Type, Value};

/// Where control flow and values come together.
pub(crate) struct Merge<'c> {
    pub(crate) block: BasicBlock<'c>,
    types: Vec<Type>,
    /// The memory of each value that is not in leaves.
    slots: Vec<Option<PointerValue<'c>>>,
    incoming: Vec<(BasicBlock<'c>, Vec<Leaves<'c>>)>,
}

/// A construct that terminators may leave.
pub(crate) enum Frame<'c> {
    If(Merge<'c>),
    Loop { next: Merge<'c>, exit: Merge<'c> },
}

/// The values that a loop carries, at the start of a round.
struct Carried<'c> {
    types: Vec<Type>,
    values: Vec<Lowered<'c>>,
    phis: Vec<Vec<PhiValue<'c>>>,
}

impl<'c> Lowering<'c, '_> {
    pub(crate) fn control(&mut self, inst: &Inst) -> Result<()> {
        match inst.op {
            Op::If => self.if_op(inst),
            Op::For => self.for_op(inst),
            Op::Loop => self.loop_op(inst),
            Op::Yield => self.leave(inst, |frames| match frames.last_mut() {
                Some(Frame::If(merge)) => Some(merge),
                _ => None,
            }),
            Op::Continue => self.leave(inst, |frames| innermost_loop(frames).map(|(next, _)| next)),
            Op::Break => self.leave(inst, |frames| innermost_loop(frames).map(|(_, exit)| exit)),
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

    pub(crate) fn current(&self) -> Result<BasicBlock<'c>> {
        self.builder.get_insert_block().ok_or_else(|| Error::Invalid("no block to append to".into()))
    }

    pub(crate) fn merge(&mut self, types: Vec<Type>) -> Result<Merge<'c>> {
        let slots = types.iter().map(|&ty| is_big(ty).then(|| self.slot(ty)).transpose()).collect::<Result<_>>()?;
        Ok(Merge { block: self.block(), types, slots, incoming: Vec::new() })
    }

    /// Ends the current block with a jump to a merge of an enclosing construct, carrying the operands.
    fn leave(
        &mut self,
        inst: &Inst,
        find: impl for<'m> Fn(&'m mut Vec<Frame<'c>>) -> Option<&'m mut Merge<'c>>,
    ) -> Result<()> {
        let missing = || Error::Invalid(format!("`{}` outside of what it ends", inst.op.name()));
        let values = inst.operands.iter().map(|&v| self.value(v)).collect::<Result<Vec<_>>>()?;
        let mut frames = std::mem::take(&mut self.frames);
        let result = find(&mut frames).ok_or_else(missing).and_then(|merge| self.jump(merge, &values));
        self.frames = frames;
        result
    }

    fn jump(&self, merge: &mut Merge<'c>, values: &[Lowered<'c>]) -> Result<()> {
        if values.len() != merge.types.len() {
            return Err(Error::Invalid(format!("{} values where {} are due", values.len(), merge.types.len())));
        }
        let mut leaves = Vec::with_capacity(values.len());
        for ((value, slot), &ty) in values.iter().zip(&merge.slots).zip(&merge.types) {
            match (value, slot) {
                (Lowered::Leaves(value), None) => leaves.push(value.clone()),
                (Lowered::Memory(from), Some(slot)) => {
                    self.copy(*slot, *from, ty)?;
                    leaves.push(Leaves::new());
                }
                _ => return Err(Error::Invalid("a value of another shape than is due".into())),
            }
        }
        merge.incoming.push((self.current()?, leaves));
        self.builder.build_unconditional_branch(merge.block)?;
        Ok(())
    }

    /// Goes on at a merge, with the values that reach it. One that nothing reaches is dead code.
    pub(crate) fn arrive(&self, merge: Merge<'c>) -> Result<Vec<Lowered<'c>>> {
        self.builder.position_at_end(merge.block);
        let mut values = Vec::with_capacity(merge.types.len());
        for (i, (&ty, slot)) in merge.types.iter().zip(&merge.slots).enumerate() {
            values.push(match (slot, merge.incoming.as_slice()) {
                (Some(slot), _) => Lowered::Memory(*slot),
                (None, [(_, only)]) => Lowered::Leaves(only[i].clone()),
                (None, incoming) => {
                    let mut leaves = Leaves::new();
                    for (n, llvm_ty) in self.leaf_types(ty).into_iter().enumerate() {
                        if incoming.is_empty() {
                            leaves.push(llvm_ty.const_zero());
                            continue;
                        }
                        let phi = self.builder.build_phi(llvm_ty, "")?;
                        for (from, values) in incoming {
                            phi.add_incoming(&[(&values[i][n], *from)]);
                        }
                        leaves.push(phi.as_basic_value());
                    }
                    Lowered::Leaves(leaves)
                }
            });
        }
        Ok(values)
    }

    fn leaf_types(&self, ty: Type) -> Vec<BasicTypeEnum<'c>> {
        ty.leaves().into_iter().map(|leaf| super::types::leaf_type(self.ctx, leaf.kind)).collect()
    }

    fn result_types(&self, inst: &Inst) -> Vec<Type> {
        inst.results.iter().map(|&v| self.func.ty(v)).collect()
    }

    fn define_results(&mut self, inst: &Inst, values: Vec<Lowered<'c>>) {
        for (&result, value) in inst.results.iter().zip(values) {
            self.define(result, value);
        }
    }

    fn if_op(&mut self, inst: &Inst) -> Result<()> {
        let condition = self.int(inst.operands[0])?;
        let merge = self.merge(self.result_types(inst))?;
        let (yes, no) = (self.block(), self.block());
        self.builder.build_conditional_branch(condition, yes, no)?;
        self.frames.push(Frame::If(merge));
        for (block, &region) in [yes, no].into_iter().zip(&inst.regions) {
            self.builder.position_at_end(block);
            if let Some(yields) = self.shared_arm(region)? {
                let values: Vec<_> = yields.into_iter().map(Lowered::Leaves).collect();
                self.yield_values(&values)?;
            } else {
                self.region(region)?;
            }
        }
        let Some(Frame::If(merge)) = self.frames.pop() else {
            return Err(Error::Invalid("regions do not nest".into()));
        };
        let values = self.arrive(merge)?;
        self.define_results(inst, values);
        Ok(())
    }

    /// Ends an arm of the innermost `if`.
    fn yield_values(&mut self, values: &[Lowered<'c>]) -> Result<()> {
        let Some(Frame::If(mut merge)) = self.frames.pop() else {
            return Err(Error::Invalid("regions do not nest".into()));
        };
        self.jump(&mut merge, values)?;
        self.frames.push(Frame::If(merge));
        Ok(())
    }

    fn loop_op(&mut self, inst: &Inst) -> Result<()> {
        let head = self.block();
        let carried = self.enter_loop(head, &inst.operands)?;
        let next = self.merge(carried.types.clone())?;
        let exit = self.merge(self.result_types(inst))?;
        self.frames.push(Frame::Loop { next, exit });
        let body = inst.regions[0];
        self.define_params(body, 0, &carried.values);
        self.region(body)?;
        let (next, exit) = self.pop_loop()?;
        let values = self.arrive(next)?;
        let _ = self.repeat_loop(head, &carried, &values)?;
        let values = self.arrive(exit)?;
        self.define_results(inst, values);
        Ok(())
    }

    /// `for` counts its rounds beforehand: the induction variable could otherwise run past the type's last value.
    fn for_op(&mut self, inst: &Inst) -> Result<()> {
        let ty = self.func.ty(inst.operands[0]);
        let scalar = ty.as_scalar().filter(|s| s.is_int()).ok_or_else(|| Error::Invalid(format!("`for` over {ty}")))?;
        let (lo, hi, step) = (self.int(inst.operands[0])?, self.int(inst.operands[1])?, self.int(inst.operands[2])?);
        let rounds = self.round_count(scalar, lo, hi, step)?;
        let before = self.current()?;
        let head = self.block();
        let carried = self.enter_loop(head, &inst.operands[3..])?;
        let (int_ty, b) = (lo.get_type(), &self.builder);
        let counter = b.build_phi(int_ty, "")?;
        let induction = b.build_phi(int_ty, "")?;
        let count = counter.as_basic_value().into_int_value();
        let i = induction.as_basic_value().into_int_value();
        let zero = int_ty.const_zero();
        counter.add_incoming(&[(&zero, before)]);
        induction.add_incoming(&[(&lo, before)]);
        let more = b.build_int_compare(IntPredicate::ULT, count, rounds, "")?;
        let body_block = self.block();
        let next = self.merge(carried.types.clone())?;
        let mut exit = self.merge(self.result_types(inst))?;
        // The way out at the end of the range carries the values of the last round.
        let leaving = self.block();
        self.builder.build_conditional_branch(more, body_block, leaving)?;
        self.builder.position_at_end(leaving);
        self.jump(&mut exit, &carried.values)?;
        self.builder.position_at_end(body_block);
        self.frames.push(Frame::Loop { next, exit });
        let body = inst.regions[0];
        let param = self.func.region(body).params.first().copied();
        self.define(param.ok_or_else(|| Error::Invalid("`for` without an induction variable".into()))?, i.into());
        self.define_params(body, 1, &carried.values);
        self.region(body)?;
        let (next, exit) = self.pop_loop()?;
        let values = self.arrive(next)?;
        let b = &self.builder;
        let count_next = b.build_int_nuw_add(count, int_ty.const_int(1, false), "")?;
        // Past the last round the sum may wrap; it is then not used.
        let i_next =
            if scalar.is_signed() { b.build_int_nsw_add(i, step, "")? } else { b.build_int_nuw_add(i, step, "")? };
        let latch = self.current()?;
        counter.add_incoming(&[(&count_next, latch)]);
        induction.add_incoming(&[(&i_next, latch)]);
        let jump = self.repeat_loop(head, &carried, &values)?;
        self.mark_loop(inst, jump);
        let values = self.arrive(exit)?;
        self.define_results(inst, values);
        Ok(())
    }

    /// How often the body runs: (hi - lo) / step rounded up, as an unsigned number; 0 where the range is empty.
    pub(crate) fn round_count(
        &self,
        scalar: Scalar,
        lo: IntValue<'c>,
        hi: IntValue<'c>,
        step: IntValue<'c>,
    ) -> Result<IntValue<'c>> {
        let b = &self.builder;
        let ty = lo.get_type();
        let (zero, one) = (ty.const_zero(), number(ty, 1));
        let less = if scalar.is_signed() { IntPredicate::SLT } else { IntPredicate::ULT };
        // By rounds of `size` over a distance that is not 0.
        let rounds = |distance, size| -> Result<IntValue<'c>> {
            if size == one {
                return Ok(distance);
            }
            let last = b.build_int_sub(distance, one, "")?;
            Ok(b.build_int_add(b.build_int_unsigned_div(last, size, "")?, one, "")?)
        };
        let up_size = self.select_int(b.build_int_compare(IntPredicate::EQ, step, zero, "")?, one, step)?;
        let up = rounds(b.build_int_sub(hi, lo, "")?, up_size)?;
        let goes_up = b.build_int_compare(less, lo, hi, "")?;
        let step_up =
            b.build_int_compare(if scalar.is_signed() { IntPredicate::SGT } else { IntPredicate::NE }, step, zero, "")?;
        let up = self.select_int(b.build_and(goes_up, step_up, "")?, up, zero)?;
        let always_up = n_lanes(&step_up).is_none() && step_up.get_zero_extended_constant() == Some(1);
        if !scalar.is_signed() || always_up {
            return Ok(up);
        }
        let down_size = b.build_int_neg(up_size, "")?;
        let down = rounds(b.build_int_sub(lo, hi, "")?, down_size)?;
        let goes_down = b.build_int_compare(less, hi, lo, "")?;
        let step_down = b.build_int_compare(IntPredicate::SLT, step, zero, "")?;
        self.select_int(b.build_and(goes_down, step_down, "")?, down, up)
    }

    /// Branches to a loop's head and starts it with phis for what the loop carries.
    fn enter_loop(&mut self, head: BasicBlock<'c>, initial: &[Value]) -> Result<Carried<'c>> {
        let before = self.current()?;
        let mut carried = Carried { types: Vec::new(), values: Vec::new(), phis: Vec::new() };
        let initial_values = initial.iter().map(|&v| self.value(v)).collect::<Result<Vec<_>>>()?;
        for (&value, lowered) in initial.iter().zip(&initial_values) {
            let ty = self.func.ty(value);
            carried.types.push(ty);
            if let Lowered::Memory(from) = lowered {
                let slot = self.slot(ty)?;
                self.copy(slot, *from, ty)?;
                carried.values.push(Lowered::Memory(slot));
            }
        }
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let mut in_memory = std::mem::take(&mut carried.values).into_iter();
        for lowered in initial_values {
            let Lowered::Leaves(leaves) = lowered else {
                carried.values.extend(in_memory.next());
                carried.phis.push(Vec::new());
                continue;
            };
            let mut phis = Vec::with_capacity(leaves.len());
            for leaf in leaves {
                let phi = self.builder.build_phi(leaf.get_type(), "")?;
                phi.add_incoming(&[(&leaf, before)]);
                phis.push(phi);
            }
            carried.values.push(Lowered::Leaves(phis.iter().map(|phi| phi.as_basic_value()).collect()));
            carried.phis.push(phis);
        }
        Ok(carried)
    }

    /// Closes a loop: from the current block back to its head with the next round's values.
    fn repeat_loop(
        &self,
        head: BasicBlock<'c>,
        carried: &Carried<'c>,
        next: &[Lowered<'c>],
    ) -> Result<InstructionValue<'c>> {
        let latch = self.current()?;
        for (i, value) in next.iter().enumerate() {
            match (value, &carried.values[i]) {
                // The round's values lie in slots of their own, so copying one after the other loses none.
                (Lowered::Memory(from), Lowered::Memory(to)) => self.copy(*to, *from, carried.types[i])?,
                (Lowered::Leaves(leaves), Lowered::Leaves(_)) => {
                    for (phi, leaf) in carried.phis[i].iter().zip(leaves) {
                        phi.add_incoming(&[(leaf, latch)]);
                    }
                }
                _ => return Err(Error::Invalid("a loop carries a value of another shape".into())),
            }
        }
        Ok(self.builder.build_unconditional_branch(head)?)
    }

    fn define_params(&mut self, region: RegionId, from: usize, values: &[Lowered<'c>]) {
        let func = self.func;
        for (&param, value) in func.region(region).params[from..].iter().zip(values) {
            self.define(param, value.clone());
        }
    }

    fn pop_loop(&mut self) -> Result<(Merge<'c>, Merge<'c>)> {
        match self.frames.pop() {
            Some(Frame::Loop { next, exit }) => Ok((next, exit)),
            _ => Err(Error::Invalid("regions do not nest".into())),
        }
    }
}

fn innermost_loop<'m, 'c>(frames: &'m mut [Frame<'c>]) -> Option<(&'m mut Merge<'c>, &'m mut Merge<'c>)> {
    frames.iter_mut().rev().find_map(|frame| match frame {
        Frame::Loop { next, exit } => Some((next, exit)),
        Frame::If(_) => None,
    })
}
