//! Scalar types and constants in LLVM.
//!
//! A bool is an i1 as a value and one byte in memory. f16 and bf16 are carried as their bits in an i16: arithmetic
//! widens to float anyway, and LLVM's own half types would turn into calls of functions that nothing provides.

use inkwell::context::Context;
use inkwell::types::{AsTypeRef, BasicTypeEnum, FloatType, IntType, PointerType};
use inkwell::values::{AsValueRef, BasicValueEnum};
use ir::{LeafKind, Scalar};
use llvm_sys::core::LLVMConstBitCast;

/// One leaf of a value.
pub(crate) type Leaf<'c> = BasicValueEnum<'c>;

pub(crate) fn int_of_bits(ctx: &Context, bits: u32) -> IntType<'_> {
    match bits {
        1 => ctx.bool_type(),
        8 => ctx.i8_type(),
        16 => ctx.i16_type(),
        32 => ctx.i32_type(),
        64 => ctx.i64_type(),
        _ => ctx.i128_type(),
    }
}

/// The integer type of a scalar's size: what atomics and bit operations work on.
pub(crate) fn bits_type(ctx: &Context, scalar: Scalar) -> IntType<'_> {
    int_of_bits(ctx, scalar.size() as u32 * 8)
}

pub(crate) fn pointer(ctx: &Context) -> PointerType<'_> {
    ctx.ptr_type(inkwell::AddressSpace::default())
}

/// The type in which arithmetic on a float scalar runs.
pub(crate) fn compute_type(ctx: &Context, scalar: Scalar) -> FloatType<'_> {
    if scalar == Scalar::F64 { ctx.f64_type() } else { ctx.f32_type() }
}

pub(crate) fn scalar_type(ctx: &Context, scalar: Scalar) -> BasicTypeEnum<'_> {
    match scalar {
        Scalar::F32 => ctx.f32_type().into(),
        Scalar::F64 => ctx.f64_type().into(),
        _ => int_of_bits(ctx, scalar.bits()).into(),
    }
}

pub(crate) fn leaf_type(ctx: &Context, kind: LeafKind) -> BasicTypeEnum<'_> {
    match kind {
        LeafKind::Scalar(scalar) => scalar_type(ctx, scalar),
        LeafKind::Pointer => pointer(ctx).into(),
        LeafKind::Extent(_) | LeafKind::Stride(_) => ctx.i64_type().into(),
    }
}

/// A scalar of the given bits.
pub(crate) fn constant(ctx: &Context, scalar: Scalar, bits: u64) -> Leaf<'_> {
    if !matches!(scalar, Scalar::F32 | Scalar::F64) {
        return int_of_bits(ctx, scalar.bits()).const_int(bits, false).into();
    }
    let bits = bits_type(ctx, scalar).const_int(bits, false);
    let ty = compute_type(ctx, scalar);
    // From the bits: a NaN's payload would not survive the way through f64.
    // SAFETY: both types come from `ctx` and have one size, so the result is a constant of the float type.
    unsafe { Leaf::new(LLVMConstBitCast(bits.as_value_ref(), ty.as_type_ref())) }
}

pub(crate) fn zero(ctx: &Context, scalar: Scalar) -> Leaf<'_> {
    constant(ctx, scalar, 0)
}
