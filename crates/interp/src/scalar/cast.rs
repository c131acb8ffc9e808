//! Conversions between scalar types, and between words and Rust's numbers.

use crate::scalar::Unary;
use half::{bf16, f16};
use ir::Scalar;
use runtime::narrow;

pub(super) fn get_f16(word: u64) -> f32 {
    f16::from_bits(word as u16).to_f32()
}

pub(super) fn put_f16(value: f32) -> u64 {
    u64::from(narrow::gs_cast_f32_f16(value))
}

pub(super) fn get_bf16(word: u64) -> f32 {
    bf16::from_bits(word as u16).to_f32()
}

pub(super) fn put_bf16(value: f32) -> u64 {
    u64::from(narrow::gs_cast_f32_bf16(value))
}

pub(super) fn get_f32(word: u64) -> f32 {
    f32::from_bits(word as u32)
}

pub(super) fn put_f32(value: f32) -> u64 {
    u64::from(value.to_bits())
}

pub(super) fn get_f64(word: u64) -> f64 {
    f64::from_bits(word)
}

pub(super) fn put_f64(value: f64) -> u64 {
    value.to_bits()
}

/// From an integer type: widen by its signedness, then convert once.
macro_rules! from_int {
    ($to:expr, $from:ident, $wide:ident, $to_f16:path, $to_bf16:path) => {
        match $to {
            Scalar::Bool => |a| u64::from(a != 0),
            Scalar::I8 | Scalar::U8 => |a| u64::from(a as $from as u8),
            Scalar::I16 | Scalar::U16 => |a| u64::from(a as $from as u16),
            Scalar::I32 | Scalar::U32 => |a| u64::from(a as $from as u32),
            Scalar::I64 | Scalar::U64 => |a| a as $from as u64,
            Scalar::F16 => |a| u64::from($to_f16(a as $from as $wide)),
            Scalar::BF16 => |a| u64::from($to_bf16(a as $from as $wide)),
            Scalar::F32 => |a| put_f32(a as $from as f32),
            Scalar::F64 => |a| put_f64(a as $from as f64),
        }
    };
}

macro_rules! from_signed {
    ($to:expr, $from:ident) => {
        from_int!($to, $from, i64, narrow::gs_cast_i64_f16, narrow::gs_cast_i64_bf16)
    };
}

macro_rules! from_unsigned {
    ($to:expr, $from:ident) => {
        from_int!($to, $from, u64, narrow::gs_cast_u64_f16, narrow::gs_cast_u64_bf16)
    };
}

/// From a float type. Rust's `as` truncates, saturates and takes NaN to 0, as the op does.
macro_rules! from_float {
    ($to:expr, $get:path) => {
        match $to {
            Scalar::Bool => |a| u64::from($get(a) != 0.0),
            Scalar::I8 => |a| u64::from($get(a) as i8 as u8),
            Scalar::I16 => |a| u64::from($get(a) as i16 as u16),
            Scalar::I32 => |a| u64::from($get(a) as i32 as u32),
            Scalar::I64 => |a| $get(a) as i64 as u64,
            Scalar::U8 => |a| u64::from($get(a) as u8),
            Scalar::U16 => |a| u64::from($get(a) as u16),
            Scalar::U32 => |a| u64::from($get(a) as u32),
            Scalar::U64 => |a| $get(a) as u64,
            Scalar::F16 => |a| u64::from(narrow::gs_cast_f64_f16(f64::from($get(a)))),
            Scalar::BF16 => |a| u64::from(narrow::gs_cast_f64_bf16(f64::from($get(a)))),
            Scalar::F32 => |a| put_f32($get(a) as f32),
            Scalar::F64 => |a| put_f64(f64::from($get(a))),
        }
    };
}

/// The op `cast` between two scalar types.
pub fn cast(from: Scalar, to: Scalar) -> Unary {
    if from == to {
        return |a| a;
    }
    match from {
        Scalar::Bool | Scalar::U8 => from_unsigned!(to, u8),
        Scalar::U16 => from_unsigned!(to, u16),
        Scalar::U32 => from_unsigned!(to, u32),
        Scalar::U64 => from_unsigned!(to, u64),
        Scalar::I8 => from_signed!(to, i8),
        Scalar::I16 => from_signed!(to, i16),
        Scalar::I32 => from_signed!(to, i32),
        Scalar::I64 => from_signed!(to, i64),
        Scalar::F16 => from_float!(to, get_f16),
        Scalar::BF16 => from_float!(to, get_bf16),
        Scalar::F32 => from_float!(to, get_f32),
        Scalar::F64 => from_float!(to, get_f64),
    }
}

/// A scalar as a word for `print`: integers extended by their signedness, floats as f64.
pub fn to_print_word(scalar: Scalar) -> Unary {
    if scalar.is_float() {
        cast(scalar, Scalar::F64)
    } else if scalar.is_signed() {
        cast(scalar, Scalar::I64)
    } else {
        cast(scalar, Scalar::U64)
    }
}
