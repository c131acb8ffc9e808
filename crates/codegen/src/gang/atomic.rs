//! Atomics of a gang: lane after lane, or once where the lanes agree on the address and nobody asks what was there.
//!
//! Sums of floats at one address are taken in the order of the lanes, from what is there on, so that they have the bits
//! that lane after lane would leave.

use crate::llvm::lanes::{as_float, as_int, as_lanes};
use crate::llvm::types::{self, Leaf};
use crate::llvm::value::{Leaves, Lowered};
use crate::llvm::{Lowering, lanes};
use crate::{Error, Result};
use analysis::Lanes;
use inkwell::values::{IntValue, PointerValue};
use ir::{AtomicOp, Attr, Inst, LeafKind, Op, Scalar, Type};

impl<'c> Lowering<'c, '_> {
    pub(super) fn gang_atomic(&mut self, inst: &Inst) -> Result<()> {
        match self.accumulators(inst) {
            Some(to) => self.accumulate(inst, &to),
            None => self.gang_atomic_in_memory(inst),
        }
    }

    pub(crate) fn gang_atomic_in_memory(&mut self, inst: &Inst) -> Result<()> {
        let (array, result) = (inst.operands[0], inst.result());
        self.is_own_memory = self.is_of_block(array);
        self.small_sum = self.small_sum_of(array);
        let (elem, rank) = self.func.ty(array).as_array().ok_or_else(|| Error::Invalid("no array".into()))?;
        let (_, indices, path_indices, _) = inst.access(rank as usize);
        let is_uniform = indices.iter().chain(path_indices).all(|&value| self.lanes(value) == Lanes::Uniform);
        let (ty, _) = super::memory::piece(elem, inst.path())?;
        if let (true, false, &Attr::Atomic(op, _)) = (is_uniform, self.gang()?.is_used[result.index()], &inst.attr) {
            let leaves = super::memory::scalars(ty)?;
            if leaves.iter().all(|&(_, scalar)| is_joined(op, scalar)) {
                return self.at_one_address(inst, op, &leaves);
            }
        }
        self.lane_after_lane(inst, ty)
    }

    /// What the lanes bring, in one step for each scalar.
    fn at_one_address(&mut self, inst: &Inst, op: AtomicOp, scalars: &[(u64, Scalar)]) -> Result<()> {
        let operand = *inst.operands.last().ok_or_else(|| Error::Invalid("an atomic without operand".into()))?;
        let lanes = self.widened(operand)?;
        let (ptr, _, _) = self.access(inst)?;
        let mut before = Leaves::new();
        for (&(offset, scalar), lanes) in scalars.iter().zip(lanes) {
            let at = self.at_byte(ptr, offset)?;
            before.push(match Reduction::of(op, scalar) {
                Some(reduction) => self.reduced(op, scalar, at, lanes, &reduction)?,
                None => self.in_order(op, scalar, at, lanes)?,
            });
        }
        self.define(inst.result(), Lowered::Leaves(before));
        Ok(())
    }

    /// The lanes are combined first: integers, whose order does not show.
    fn reduced(
        &self,
        op: AtomicOp,
        scalar: Scalar,
        at: PointerValue<'c>,
        lanes: Leaf<'c>,
        reduction: &Reduction,
    ) -> Result<Leaf<'c>> {
        let mut x = as_int(lanes)?;
        if let Some(mask) = self.mask() {
            x = self.select_int(mask, x, lanes::number(x.get_type(), reduction.neutral))?;
        }
        let call = self.call(reduction.name, &[as_lanes(x).get_type().into()], &[as_lanes(x).into()])?;
        self.atomic(op, scalar, at, call.try_as_basic_value().unwrap_basic())
    }

    /// One lane after the other, between one look at the memory and one exchange.
    fn in_order(&self, op: AtomicOp, scalar: Scalar, at: PointerValue<'c>, lanes: Leaf<'c>) -> Result<Leaf<'c>> {
        let mask = self.mask();
        let is_sum = matches!(op, AtomicOp::Add | AtomicOp::Sub) && scalar.size() >= 4;
        let all = |old: Leaf<'c>| -> Result<Leaf<'c>> {
            if is_sum {
                return self.sum_in_order(op, old, lanes);
            }
            let mut new = old;
            for lane in 0..self.width() {
                let index = self.ctx.i32_type().const_int(lane.into(), false);
                let x = self.builder.build_extract_element(as_lanes(lanes), index, "")?;
                let next = self.updated(op, scalar, new, x)?;
                new = match mask {
                    None => next,
                    Some(mask) => {
                        let on = as_int(self.builder.build_extract_element(as_lanes(mask), index, "")?)?;
                        self.select(on, next, new)?
                    }
                };
            }
            Ok(new)
        };
        if self.is_own_memory {
            return self.update(scalar, at, &all);
        }
        self.atomic_loop(scalar, at, matches!(op, AtomicOp::Min | AtomicOp::Max), &all)
    }

    /// `old` plus, or minus, every lane. A lane that is off adds -0, which changes nothing.
    fn sum_in_order(&self, op: AtomicOp, old: Leaf<'c>, lanes: Leaf<'c>) -> Result<Leaf<'c>> {
        let b = &self.builder;
        let mut x = as_lanes(lanes);
        if op == AtomicOp::Sub {
            x = as_lanes(b.build_float_neg(as_float(x.into())?, "")?);
        }
        if let Some(mask) = self.mask() {
            let none = b.build_float_neg(as_float(x.get_type().const_zero().into())?, "")?;
            x = as_lanes(self.select(mask, x.into(), as_lanes(none).into())?);
        }
        let call = self.call("llvm.vector.reduce.fadd", &[x.get_type().into()], &[old.into(), x.into()])?;
        Ok(call.try_as_basic_value().unwrap_basic())
    }

    fn lane_after_lane(&mut self, inst: &Inst, ty: Type) -> Result<()> {
        let pointers = self.lane_pointers(inst)?;
        let rank = self.func.ty(inst.operands[0]).as_array().map_or(0, |(_, rank)| rank as usize);
        let (.., rest) = inst.access(rank);
        let operands = rest.iter().map(|&value| self.widened(value)).collect::<Result<Vec<_>>>()?;
        let (mask, width) = (self.mask(), self.width());
        let mut scalars = Vec::new();
        for leaf in ty.leaves() {
            let LeafKind::Scalar(scalar) = leaf.kind else {
                return Err(Error::Invalid(format!("an atomic operation on {ty}")));
            };
            let zero = self.splat_lanes(types::zero(self.ctx, scalar), width)?;
            let slot = self.allocas.build_alloca(zero.get_type(), "")?;
            self.builder.build_store(slot, zero)?;
            scalars.push((leaf.offset, scalar, slot, zero.get_type()));
        }
        let this = &*self;
        this.repeat(u64::from(width), |lane| {
            let (run, next) = (this.block(), this.block());
            match mask {
                Some(mask) => {
                    let on = as_int(this.builder.build_extract_element(as_lanes(mask), lane, "")?)?;
                    this.builder.build_conditional_branch(on, run, next)?;
                }
                None => {
                    this.builder.build_unconditional_branch(run)?;
                }
            }
            this.builder.position_at_end(run);
            let ptr = this.builder.build_extract_element(pointers, lane, "")?.into_pointer_value();
            for (i, &(offset, scalar, slot, slot_ty)) in scalars.iter().enumerate() {
                let at = this.at_byte(ptr, offset)?;
                let before = this.lane_atomic(inst, scalar, at, &operands, i, lane)?;
                let old = as_lanes(this.builder.build_load(slot_ty, slot, "")?);
                let new = this.builder.build_insert_element(old, before, lane, "")?;
                this.builder.build_store(slot, new)?;
            }
            this.builder.build_unconditional_branch(next)?;
            this.builder.position_at_end(next);
            Ok(())
        })?;
        let found = scalars.iter().map(|&(_, _, slot, ty)| Ok(self.builder.build_load(ty, slot, "")?));
        let found = found.collect::<Result<Leaves<'c>>>()?;
        self.define(inst.result(), Lowered::Leaves(found));
        Ok(())
    }

    fn lane_atomic(
        &self,
        inst: &Inst,
        scalar: Scalar,
        at: PointerValue<'c>,
        operands: &[Leaves<'c>],
        leaf: usize,
        lane: IntValue<'c>,
    ) -> Result<Leaf<'c>> {
        let pick = |leaves: &Leaves<'c>| self.builder.build_extract_element(as_lanes(leaves[leaf]), lane, "");
        match (&inst.attr, operands) {
            (Attr::Atomic(op, _), [x]) => self.atomic(*op, scalar, at, pick(x)?),
            (_, [expected, x]) if inst.op == Op::AtomicCas => {
                let (expected, x) = (self.to_bits(scalar, pick(expected)?)?, self.to_bits(scalar, pick(x)?)?);
                let (old, _) = self.exchange_if(at, expected, x)?;
                self.of_bits(scalar, old)
            }
            _ => Err(Error::Invalid("an atomic operation without operands".into())),
        }
    }
}

/// Whether lanes at one address take one step together.
fn is_joined(op: AtomicOp, scalar: Scalar) -> bool {
    let is_arithmetic = matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Min | AtomicOp::Max);
    Reduction::of(op, scalar).is_some() || scalar.is_float() && is_arithmetic
}

/// How lanes are combined into one operand.
struct Reduction {
    name: &'static str,
    /// What a lane that is off contributes.
    neutral: u64,
}

impl Reduction {
    fn of(op: AtomicOp, scalar: Scalar) -> Option<Reduction> {
        if !scalar.is_int() {
            return None;
        }
        let top = 1u64 << (scalar.bits() - 1);
        let (name, neutral) = match (op, scalar.is_signed()) {
            (AtomicOp::Add | AtomicOp::Sub, _) => ("llvm.vector.reduce.add", 0),
            (AtomicOp::And, _) => ("llvm.vector.reduce.and", u64::MAX),
            (AtomicOp::Or, _) => ("llvm.vector.reduce.or", 0),
            (AtomicOp::Xor, _) => ("llvm.vector.reduce.xor", 0),
            (AtomicOp::Min, true) => ("llvm.vector.reduce.smin", top - 1),
            (AtomicOp::Max, true) => ("llvm.vector.reduce.smax", top),
            (AtomicOp::Min, false) => ("llvm.vector.reduce.umin", u64::MAX),
            (AtomicOp::Max, false) => ("llvm.vector.reduce.umax", 0),
            (AtomicOp::Exchange, _) => return None,
        };
        Some(Reduction { name, neutral })
    }
}
