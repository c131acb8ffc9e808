//! Atomic operations, one step a component.
//!
//! Integers map to `atomicrmw`, floats and f16/bf16 to a loop around a compare-and-swap of their bits. The order is
//! sequential consistency: on x86 every locked instruction gives it anyway, so it costs nothing over CUDA's relaxed
//! order, and a lock that a user builds from `atomic_cas` and `exchange` then works as written.

use super::Lowering;
use super::types::{self, Leaf};
use super::value::{Leaves, Lowered, as_int};
use crate::{Error, Result};
use inkwell::AtomicOrdering::SequentiallyConsistent as SeqCst;
use inkwell::AtomicRMWBinOp;
use inkwell::IntPredicate;
use inkwell::values::{BasicValue, IntValue, PointerValue};
use ir::{AtomicOp, Attr, Inst, LeafKind, Op, Scalar};

impl<'c> Lowering<'c, '_> {
    pub(crate) fn atomic_op(&mut self, inst: &Inst) -> Result<Lowered<'c>> {
        self.is_own_memory = self.is_of_block(inst.operands[0]);
        self.small_sum = self.small_sum_of(inst.operands[0]);
        let (ptr, ty, rest) = self.access(inst)?;
        if super::value::is_big(ty) {
            return Err(Error::TooLarge(format!("an atomic operation on {ty} is too large")));
        }
        let operands = rest.iter().map(|&v| self.leaves(v)).collect::<Result<Vec<_>>>()?;
        let is_private = self.device.is_some() && self.is_private(inst.operands[0]);
        let mut before = Leaves::new();
        for (i, leaf) in ty.leaves().into_iter().enumerate() {
            let LeafKind::Scalar(scalar) = leaf.kind else {
                return Err(Error::Invalid(format!("an atomic operation on {ty}")));
            };
            let at = self.at_byte(ptr, leaf.offset)?;
            before.push(match (&inst.attr, operands.as_slice()) {
                (Attr::Atomic(op, _), [x]) if is_private => self.private_atomic(*op, scalar, at, x[i])?,
                (_, [expected, x]) if is_private => self.private_cas(scalar, at, expected[i], x[i])?,
                (Attr::Atomic(op, _), [x]) => self.atomic(*op, scalar, at, x[i])?,
                (_, [expected, x]) => {
                    let (expected, x) = (self.to_bits(scalar, expected[i])?, self.to_bits(scalar, x[i])?);
                    let (old, _) = self.exchange_if(at, expected, x)?;
                    self.of_bits(scalar, old)?
                }
                _ => return Err(Error::Invalid("an atomic operation without operands".into())),
            });
        }
        Ok(Lowered::Leaves(before))
    }

    pub(crate) fn atomic(&self, op: AtomicOp, scalar: Scalar, ptr: PointerValue<'c>, x: Leaf<'c>) -> Result<Leaf<'c>> {
        if self.device.is_some()
            && let Some(before) = self.device_atomic(op, scalar, ptr, x)?
        {
            return Ok(before);
        }
        if self.is_own_memory {
            return self.update(scalar, ptr, &|old| self.updated(op, scalar, old, x));
        }
        if let Some(sum) = &self.small_sum {
            self.sum_up(sum, op, scalar, ptr, x, || self.locked(op, scalar, ptr, x))?;
            return Ok(types::zero(self.ctx, scalar));
        }
        self.locked(op, scalar, ptr, x)
    }

    fn locked(&self, op: AtomicOp, scalar: Scalar, ptr: PointerValue<'c>, x: Leaf<'c>) -> Result<Leaf<'c>> {
        use AtomicRMWBinOp as Rmw;
        let native = match (op, scalar.is_float(), scalar.is_signed()) {
            (AtomicOp::Exchange, ..) => Some(Rmw::Xchg),
            (_, true, _) => None,
            (AtomicOp::And, ..) => Some(Rmw::And),
            (AtomicOp::Or, ..) => Some(Rmw::Or),
            (AtomicOp::Xor, ..) => Some(Rmw::Xor),
            _ if scalar == Scalar::Bool => None,
            (AtomicOp::Add, ..) => Some(Rmw::Add),
            (AtomicOp::Sub, ..) => Some(Rmw::Sub),
            (AtomicOp::Min, _, true) => Some(Rmw::Min),
            (AtomicOp::Min, ..) => Some(Rmw::UMin),
            (AtomicOp::Max, _, true) => Some(Rmw::Max),
            (AtomicOp::Max, ..) => Some(Rmw::UMax),
        };
        if let Some(native) = native {
            let x = self.to_bits(scalar, x)?;
            return self.of_bits(scalar, self.builder.build_atomicrmw(native, ptr, x, SeqCst)?);
        }
        if scalar == Scalar::Bool {
            return Err(Error::Invalid(format!("atomic {} on bool", op.name())));
        }
        let may_stay = matches!(op, AtomicOp::Min | AtomicOp::Max);
        self.atomic_loop(scalar, ptr, may_stay, &|old| self.updated(op, scalar, old, x))
    }

    /// What an atomic puts in the place of `old`.
    pub(crate) fn updated(&self, op: AtomicOp, scalar: Scalar, old: Leaf<'c>, x: Leaf<'c>) -> Result<Leaf<'c>> {
        let op = match op {
            AtomicOp::Add => Op::Add,
            AtomicOp::Sub => Op::Sub,
            AtomicOp::Min => Op::Min,
            AtomicOp::Max => Op::Max,
            AtomicOp::And => Op::And,
            AtomicOp::Or => Op::Or,
            AtomicOp::Xor => Op::Xor,
            AtomicOp::Exchange => return Ok(x),
        };
        self.scalar_op(op, scalar, &[old, x])
    }

    /// As an atomic, in memory that only this machine thread sees.
    pub(crate) fn update(
        &self,
        scalar: Scalar,
        ptr: PointerValue<'c>,
        updated: &dyn Fn(Leaf<'c>) -> Result<Leaf<'c>>,
    ) -> Result<Leaf<'c>> {
        let bits = as_int(self.builder.build_load(types::bits_type(self.ctx, scalar), ptr, "")?)?;
        let old = self.of_bits(scalar, bits)?;
        self.builder.build_store(ptr, self.to_bits(scalar, updated(old)?)?)?;
        Ok(old)
    }

    /// Computes the new value from the one seen and tries to put it in, until nothing came between.
    pub(crate) fn atomic_loop(
        &self,
        scalar: Scalar,
        ptr: PointerValue<'c>,
        may_stay: bool,
        updated: &dyn Fn(Leaf<'c>) -> Result<Leaf<'c>>,
    ) -> Result<Leaf<'c>> {
        let b = &self.builder;
        let ty = types::bits_type(self.ctx, scalar);
        let first = b.build_load(ty, ptr, "")?;
        if let Some(load) = first.as_instruction_value() {
            let atomic = load.set_atomic_ordering(inkwell::AtomicOrdering::Monotonic);
            atomic.map_err(|error| Error::llvm("atomic load", error))?;
            if self.device.is_some() {
                self.scope_to_device(load);
            }
        }
        let before = b.get_insert_block().ok_or_else(|| Error::Invalid("no block to append to".into()))?;
        let (again, done) = (self.block(), self.block());
        b.build_unconditional_branch(again)?;
        b.position_at_end(again);
        let seen = b.build_phi(ty, "")?;
        let old = seen.as_basic_value().into_int_value();
        let new = self.to_bits(scalar, updated(self.of_bits(scalar, old)?)?)?;
        if may_stay {
            // Most leave what is there as it is, and reading it was enough.
            let try_it = self.block();
            b.build_conditional_branch(b.build_int_compare(IntPredicate::EQ, new, old, "")?, done, try_it)?;
            b.position_at_end(try_it);
        }
        let (found, swapped) = self.exchange_if(ptr, old, new)?;
        let last = self.current()?;
        seen.add_incoming(&[(&first, before), (&found, last)]);
        b.build_conditional_branch(swapped, done, again)?;
        b.position_at_end(done);
        self.of_bits(scalar, old)
    }

    /// Compare-and-swap: what was there, and whether it was as expected.
    pub(crate) fn exchange_if(
        &self,
        ptr: PointerValue<'c>,
        expected: IntValue<'c>,
        x: IntValue<'c>,
    ) -> Result<(IntValue<'c>, IntValue<'c>)> {
        if self.device.is_some() {
            return self.device_exchange_if(ptr, expected, x);
        }
        let b = &self.builder;
        if self.is_own_memory {
            let old = as_int(b.build_load(x.get_type(), ptr, "")?)?;
            let is_expected = b.build_int_compare(IntPredicate::EQ, old, expected, "")?;
            b.build_store(ptr, b.build_select(is_expected, x, old, "")?)?;
            return Ok((old, is_expected));
        }
        let pair = b.build_cmpxchg(ptr, expected, x, SeqCst, SeqCst)?;
        let old = b.build_extract_value(pair, 0, "")?;
        let swapped = b.build_extract_value(pair, 1, "")?;
        Ok((as_int(old)?, as_int(swapped)?))
    }

    /// A scalar as the integer that lies in memory.
    pub(crate) fn to_bits(&self, scalar: Scalar, x: Leaf<'c>) -> Result<IntValue<'c>> {
        let ty = types::bits_type(self.ctx, scalar);
        match scalar {
            Scalar::Bool => Ok(self.builder.build_int_z_extend(as_int(x)?, ty, "")?),
            _ => as_int(self.builder.build_bit_cast(x, ty, "")?),
        }
    }

    pub(crate) fn of_bits(&self, scalar: Scalar, bits: IntValue<'c>) -> Result<Leaf<'c>> {
        match scalar {
            Scalar::Bool => {
                Ok(self.compare(Op::Ne, Scalar::U8, bits.into(), types::zero(self.ctx, Scalar::U8))?.into())
            }
            _ => Ok(self.builder.build_bit_cast(bits, types::scalar_type(self.ctx, scalar), "")?),
        }
    }
}
