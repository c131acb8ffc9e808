//! Conversions to f16 and bf16 that round once, to nearest even.
//!
//! In: a wider number. Out: the bits of the narrow float. The interpreter calls these, and compiled code may by the
//! names `gs_cast_{from}_{to}`: going from f64 by way of f32 in two roundings would give other bits.
//!
//! ```
//! // 1 + 2^-11 is half way between two f16; a little more rounds up, though f32 cannot hold the little more.
//! let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
//! assert_eq!(runtime::narrow::gs_cast_f64_f16(x), 0x3c01);
//! assert_eq!(runtime::narrow::gs_cast_f32_f16(x as f32), 0x3c00);
//! ```

use half::{bf16, f16};
use ir::{Const, Scalar};

pub extern "C" fn gs_cast_f32_f16(x: f32) -> u16 {
    f16::from_f32(x).to_bits()
}

pub extern "C" fn gs_cast_f64_f16(x: f64) -> u16 {
    Const::float(Scalar::F16, x).0 as u16
}

pub extern "C" fn gs_cast_f32_bf16(x: f32) -> u16 {
    bf16::from_f32(x).to_bits()
}

pub extern "C" fn gs_cast_f64_bf16(x: f64) -> u16 {
    Const::float(Scalar::BF16, x).0 as u16
}

pub extern "C" fn gs_cast_i64_f16(x: i64) -> u16 {
    Const::int(Scalar::F16, i128::from(x)).0 as u16
}

pub extern "C" fn gs_cast_u64_f16(x: u64) -> u16 {
    Const::int(Scalar::F16, i128::from(x)).0 as u16
}

pub extern "C" fn gs_cast_i64_bf16(x: i64) -> u16 {
    Const::int(Scalar::BF16, i128::from(x)).0 as u16
}

pub extern "C" fn gs_cast_u64_bf16(x: u64) -> u16 {
    Const::int(Scalar::BF16, i128::from(x)).0 as u16
}

pub extern "C" fn gs_cast_f16_f32(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// Every function by its symbol.
pub fn symbols() -> Vec<(&'static str, usize)> {
    vec![
        ("gs_cast_f32_f16", gs_cast_f32_f16 as *const () as usize),
        ("gs_cast_f64_f16", gs_cast_f64_f16 as *const () as usize),
        ("gs_cast_f32_bf16", gs_cast_f32_bf16 as *const () as usize),
        ("gs_cast_f64_bf16", gs_cast_f64_bf16 as *const () as usize),
        ("gs_cast_i64_f16", gs_cast_i64_f16 as *const () as usize),
        ("gs_cast_u64_f16", gs_cast_u64_f16 as *const () as usize),
        ("gs_cast_i64_bf16", gs_cast_i64_bf16 as *const () as usize),
        ("gs_cast_u64_bf16", gs_cast_u64_bf16 as *const () as usize),
        ("gs_cast_f16_f32", gs_cast_f16_f32 as *const () as usize),
    ]
}
