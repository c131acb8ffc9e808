//! Atomics on the GPU: relaxed, at the scope of the device, as CUDA's are.
//!
//! Float sums are single instructions: f32 and f64, f16 since sm_70, bf16 since sm_90. Other float operations are
//! loops around a compare-and-swap, and so is what LLVM makes of types below 32 bits.

use crate::llvm::Lowering;
use crate::llvm::types::{Leaf, bits_type};
use crate::llvm::value::as_int;
use crate::{Error, Result};
use inkwell::IntPredicate;
use inkwell::values::{AsValueRef, InstructionValue, IntValue, PointerValue};
use ir::{AtomicOp, LeafKind, Op, Scalar, Value};
use llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic as RELAXED;
use llvm_sys::LLVMAtomicRMWBinOp::{self as Rmw, *};
use llvm_sys::core::{
    LLVMBuildAtomicCmpXchgSyncScope, LLVMBuildAtomicRMWSyncScope, LLVMGetSyncScopeID, LLVMSetAtomicSyncScopeID,
};
use std::ffi::CStr;

/// All threads of the device.
const DEVICE: &CStr = c"device";

impl<'c> Lowering<'c, '_> {
    /// The operation as one instruction, where there is one.
    pub(crate) fn device_atomic(
        &self,
        op: AtomicOp,
        scalar: Scalar,
        ptr: PointerValue<'c>,
        x: Leaf<'c>,
    ) -> Result<Option<Leaf<'c>>> {
        let sm = self.device.as_ref().map_or(0, |device| device.sm);
        let float = match scalar {
            Scalar::F32 => Some(self.ctx.f32_type()),
            Scalar::F64 => Some(self.ctx.f64_type()),
            Scalar::F16 => Some(self.ctx.f16_type()),
            Scalar::BF16 if sm >= 90 => Some(self.ctx.bf16_type()),
            _ => None,
        };
        if let (Some(ty), AtomicOp::Add | AtomicOp::Sub) = (float, op) {
            // x - y is x + -y, bit for bit.
            let x = if op == AtomicOp::Sub { self.float_op(Op::Neg, scalar, &[x])? } else { x };
            let x = self.builder.build_bit_cast(x, ty, "")?;
            let before = self.device_rmw(LLVMAtomicRMWBinOpFAdd, ptr, x)?;
            let bits = self.builder.build_bit_cast(before, bits_type(self.ctx, scalar), "")?;
            return self.of_bits(scalar, as_int(bits)?).map(Some);
        }
        let rmw = match (op, scalar.is_float(), scalar.is_signed()) {
            (AtomicOp::Exchange, ..) => LLVMAtomicRMWBinOpXchg,
            (_, true, _) => return Ok(None),
            (AtomicOp::And, ..) => LLVMAtomicRMWBinOpAnd,
            (AtomicOp::Or, ..) => LLVMAtomicRMWBinOpOr,
            (AtomicOp::Xor, ..) => LLVMAtomicRMWBinOpXor,
            _ if scalar == Scalar::Bool => return Ok(None),
            (AtomicOp::Add, ..) => LLVMAtomicRMWBinOpAdd,
            (AtomicOp::Sub, ..) => LLVMAtomicRMWBinOpSub,
            (AtomicOp::Min, _, true) => LLVMAtomicRMWBinOpMin,
            (AtomicOp::Min, ..) => LLVMAtomicRMWBinOpUMin,
            (AtomicOp::Max, _, true) => LLVMAtomicRMWBinOpMax,
            (AtomicOp::Max, ..) => LLVMAtomicRMWBinOpUMax,
        };
        let before = self.device_rmw(rmw, ptr, self.to_bits(scalar, x)?.into())?;
        self.of_bits(scalar, as_int(before)?).map(Some)
    }

    pub(super) fn device_rmw(&self, op: Rmw, ptr: PointerValue<'c>, x: Leaf<'c>) -> Result<Leaf<'c>> {
        // SAFETY: live values at the builder's position, which is in a block; the result has the operand's type.
        unsafe {
            Ok(Leaf::new(LLVMBuildAtomicRMWSyncScope(
                self.builder.as_mut_ptr(),
                op,
                ptr.as_value_ref(),
                x.as_value_ref(),
                RELAXED,
                self.sync_scope(DEVICE),
            )))
        }
    }

    /// Whether an array is one of the thread's own: atomics have no way there, and need none.
    pub(crate) fn is_private(&self, array: Value) -> bool {
        let Some(def) = self.def(array) else { return false };
        match def.op {
            Op::LocalArray => true,
            Op::Row | Op::Subarray => self.is_private(def.operands[0]),
            Op::Select => self.is_private(def.operands[1]) && self.is_private(def.operands[2]),
            _ => false,
        }
    }

    pub(crate) fn private_atomic(
        &self,
        op: AtomicOp,
        scalar: Scalar,
        ptr: PointerValue<'c>,
        x: Leaf<'c>,
    ) -> Result<Leaf<'c>> {
        let kind = LeafKind::Scalar(scalar);
        let before = self.load_leaf(ptr, kind)?;
        let step = match op {
            AtomicOp::Exchange => None,
            AtomicOp::Add => Some(Op::Add),
            AtomicOp::Sub => Some(Op::Sub),
            AtomicOp::Min => Some(Op::Min),
            AtomicOp::Max => Some(Op::Max),
            AtomicOp::And => Some(Op::And),
            AtomicOp::Or => Some(Op::Or),
            AtomicOp::Xor => Some(Op::Xor),
        };
        let after = step.map_or(Ok(x), |step| self.scalar_op(step, scalar, &[before, x]))?;
        self.store_leaf(ptr, kind, after)?;
        Ok(before)
    }

    pub(crate) fn private_cas(
        &self,
        scalar: Scalar,
        ptr: PointerValue<'c>,
        expected: Leaf<'c>,
        x: Leaf<'c>,
    ) -> Result<Leaf<'c>> {
        let kind = LeafKind::Scalar(scalar);
        let before = self.load_leaf(ptr, kind)?;
        let (found, wanted) = (self.to_bits(scalar, before)?, self.to_bits(scalar, expected)?);
        let is_expected = self.builder.build_int_compare(IntPredicate::EQ, found, wanted, "")?;
        self.store_leaf(ptr, kind, self.select(is_expected, x, before)?)?;
        Ok(before)
    }

    /// Compare-and-swap: what was there, and whether it was as expected.
    pub(crate) fn device_exchange_if(
        &self,
        ptr: PointerValue<'c>,
        expected: IntValue<'c>,
        x: IntValue<'c>,
    ) -> Result<(IntValue<'c>, IntValue<'c>)> {
        // SAFETY: live values at the builder's position, which is in a block; the result is a pair.
        let pair = unsafe {
            Leaf::new(LLVMBuildAtomicCmpXchgSyncScope(
                self.builder.as_mut_ptr(),
                ptr.as_value_ref(),
                expected.as_value_ref(),
                x.as_value_ref(),
                RELAXED,
                RELAXED,
                self.sync_scope(DEVICE),
            ))
        };
        let Leaf::StructValue(pair) = pair else { return Err(Error::Invalid("a swap gives a pair".into())) };
        let old = self.builder.build_extract_value(pair, 0, "")?;
        let swapped = self.builder.build_extract_value(pair, 1, "")?;
        Ok((as_int(old)?, as_int(swapped)?))
    }

    /// Marks an atomic load as one among threads of the device.
    pub(crate) fn scope_to_device(&self, load: InstructionValue<'c>) {
        // SAFETY: a live atomic load.
        unsafe { LLVMSetAtomicSyncScopeID(load.as_value_ref(), self.sync_scope(DEVICE)) };
    }

    pub(super) fn sync_scope(&self, name: &CStr) -> u32 {
        // SAFETY: a live context, and a name with its length.
        unsafe { LLVMGetSyncScopeID(self.ctx.raw(), name.as_ptr(), name.to_bytes().len()) }
    }
}
