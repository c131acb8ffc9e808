//! One lowering for scalars and for vectors of lanes.
//!
//! LLVM's builder makes the same instruction for a scalar and for a vector, and only constants and types must be asked
//! for in the right shape. So an `IntValue` or `FloatValue` here may hold a vector of such values: [`number`],
//! [`Lowering::int_type`] and [`Lowering::float_type`] give what fits beside it, and [`Lowering::same_shape`] repeats a
//! scalar where its partner is a vector.
//!
//! ```text
//! add i32 %x, 1          ->  add <16 x i32> %x, splat (i32 1)
//! ```

use super::Lowering;
use super::types::{self, Leaf};
use crate::{Error, Result};
use inkwell::types::{AsTypeRef, FloatType, IntType};
use inkwell::values::{AsValueRef, FloatValue, IntValue, PointerValue, VectorValue};
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::{
    LLVMConstVector, LLVMGetElementType, LLVMGetTypeKind, LLVMGetVectorSize, LLVMIsAConstantFP, LLVMTypeOf,
    LLVMVectorType,
};
use llvm_sys::prelude::LLVMTypeRef;

pub(crate) fn as_int(leaf: Leaf<'_>) -> Result<IntValue<'_>> {
    match leaf {
        Leaf::IntValue(int) => Ok(int),
        // SAFETY: a live value; the module doc says what it may be used for.
        Leaf::VectorValue(lanes) => Ok(unsafe { IntValue::new(lanes.as_value_ref()) }),
        _ => Err(Error::Invalid("expected an integer".into())),
    }
}

pub(crate) fn as_float(leaf: Leaf<'_>) -> Result<FloatValue<'_>> {
    match leaf {
        Leaf::FloatValue(float) => Ok(float),
        // SAFETY: as in `as_int`.
        Leaf::VectorValue(lanes) => Ok(unsafe { FloatValue::new(lanes.as_value_ref()) }),
        _ => Err(Error::Invalid("expected a float".into())),
    }
}

pub(crate) fn as_pointer(leaf: Leaf<'_>) -> Result<PointerValue<'_>> {
    if let Leaf::PointerValue(ptr) = leaf { Ok(ptr) } else { Err(Error::Invalid("expected an array".into())) }
}

/// A value as what it is in LLVM: a vector of lanes becomes a `VectorValue`.
pub(crate) fn as_lanes<'c>(value: impl AsValueRef) -> VectorValue<'c> {
    // SAFETY: a live value; callers know that it is a vector.
    unsafe { VectorValue::new(value.as_value_ref()) }
}

fn type_lanes(ty: LLVMTypeRef) -> Option<u32> {
    // SAFETY: a live type, and asked for its size only where it is a vector.
    unsafe { (LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind).then(|| LLVMGetVectorSize(ty)) }
}

/// Whether a value is an f64, or lanes of f64.
pub(crate) fn is_double(value: &impl AsValueRef) -> bool {
    // SAFETY: a live value and its type, whose element type is asked for only where it is a vector.
    unsafe {
        let ty = LLVMTypeOf(value.as_value_ref());
        let ty = if type_lanes(ty).is_some() { LLVMGetElementType(ty) } else { ty };
        LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMDoubleTypeKind
    }
}

/// How many lanes a value has; `None` for a scalar.
pub(crate) fn n_lanes(value: &impl AsValueRef) -> Option<u32> {
    // SAFETY: a live value.
    type_lanes(unsafe { LLVMTypeOf(value.as_value_ref()) })
}

/// A scalar float that is known.
pub(crate) fn float_constant(value: FloatValue<'_>) -> Option<f64> {
    // SAFETY: a live value.
    let is_number = unsafe { !LLVMIsAConstantFP(value.as_value_ref()).is_null() };
    if is_number && n_lanes(&value).is_none() { value.get_constant().map(|(number, _)| number) } else { None }
}

/// The integer `n` as a constant of a type that may be a vector of integers.
pub(crate) fn number(ty: IntType<'_>, n: u64) -> IntValue<'_> {
    let Some(lanes) = type_lanes(ty.as_type_ref()) else { return ty.const_int(n, false) };
    // SAFETY: the element type of a vector of integers is an integer type of the same context.
    unsafe {
        let scalar = IntType::new(LLVMGetElementType(ty.as_type_ref())).const_int(n, false);
        let mut all = vec![scalar.as_value_ref(); lanes as usize];
        IntValue::new(LLVMConstVector(all.as_mut_ptr(), lanes))
    }
}

/// The least of the values `base`, `base + step`, … as constants: `start`, `start + step`, one a lane.
pub(crate) fn steps<'c>(ty: IntType<'c>, lanes: u32, step: i64) -> IntValue<'c> {
    let mut all: Vec<_> =
        (0..i64::from(lanes)).map(|k| ty.const_int(k.wrapping_mul(step) as u64, true).as_value_ref()).collect();
    // SAFETY: constants of one type of one context.
    unsafe { IntValue::new(LLVMConstVector(all.as_mut_ptr(), lanes)) }
}

impl<'c> Lowering<'c, '_> {
    /// The integer type of so many bits, as a vector where `like` is one.
    pub(crate) fn int_type(&self, bits: u32, like: &impl AsValueRef) -> IntType<'c> {
        let scalar = types::int_of_bits(self.ctx, bits);
        let Some(lanes) = n_lanes(like) else { return scalar };
        // SAFETY: a vector type of the same context.
        unsafe { IntType::new(LLVMVectorType(scalar.as_type_ref(), lanes)) }
    }

    /// A float type, as a vector where `like` is one.
    pub(crate) fn float_type(&self, scalar: FloatType<'c>, like: &impl AsValueRef) -> FloatType<'c> {
        let Some(lanes) = n_lanes(like) else { return scalar };
        // SAFETY: a vector type of the same context.
        unsafe { FloatType::new(LLVMVectorType(scalar.as_type_ref(), lanes)) }
    }

    /// Whether a float, or each lane of it, is an f64.
    pub(crate) fn is_double(&self, x: &FloatValue<'c>) -> bool {
        x.get_type() == self.float_type(self.ctx.f64_type(), x)
    }

    /// A scalar in every lane.
    pub(crate) fn splat_lanes(&self, x: Leaf<'c>, lanes: u32) -> Result<Leaf<'c>> {
        if n_lanes(&x).is_some() {
            return Ok(x);
        }
        // SAFETY: a vector type over a scalar's type.
        let undefined = unsafe {
            let ty = LLVMVectorType(x.get_type().as_type_ref(), lanes);
            VectorValue::new(llvm_sys::core::LLVMGetPoison(ty))
        };
        let first = self.builder.build_insert_element(undefined, x, self.ctx.i32_type().const_zero(), "")?;
        let zeros = as_lanes(steps(self.ctx.i32_type(), lanes, 0));
        Ok(self.builder.build_shuffle_vector(first, undefined, zeros, "")?.into())
    }

    /// Two values, the scalar one repeated where the other is a vector.
    pub(crate) fn same_shape(&self, x: Leaf<'c>, y: Leaf<'c>) -> Result<(Leaf<'c>, Leaf<'c>)> {
        Ok(match (n_lanes(&x), n_lanes(&y)) {
            (Some(lanes), None) => (x, self.splat_lanes(y, lanes)?),
            (None, Some(lanes)) => (self.splat_lanes(x, lanes)?, y),
            _ => (x, y),
        })
    }
}
