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

/// The f32 toward zero from `x`, its last bit set where that was not exact (round to odd), so that a second rounding to
/// a format narrower by two bits or more gives the bits of one rounding.
fn round_to_odd(x: f64) -> f32 {
    let near = x as f32;
    let error = x - f64::from(near);
    if !x.is_finite() || error == 0.0 || near.to_bits() & 1 == 1 {
        return near;
    }
    // An even neighbor is never wanted here: step to the odd one on the other side of `x`. An infinity steps back to
    // the largest finite value, which is odd.
    let is_away = (error < 0.0) == (near > 0.0);
    f32::from_bits(if is_away && near != 0.0 { near.to_bits() - 1 } else { near.to_bits() + 1 })
}

/// `magnitude` with the bits below its first 53 merged into the last of them, so that f64 holds it exactly.
fn sticky(magnitude: u64) -> f64 {
    let n_dropped = 11u32.saturating_sub(magnitude.leading_zeros());
    let kept = magnitude >> n_dropped << n_dropped;
    (if kept == magnitude { kept } else { kept | 1 << n_dropped }) as f64
}

pub extern "C" fn gs_cast_f32_f16(x: f32) -> u16 {
    f16::from_f32(x).to_bits()
}

pub extern "C" fn gs_cast_f64_f16(x: f64) -> u16 {
    gs_cast_f32_f16(round_to_odd(x))
}

pub extern "C" fn gs_cast_f32_bf16(x: f32) -> u16 {
    bf16::from_f32(x).to_bits()
}

pub extern "C" fn gs_cast_f64_bf16(x: f64) -> u16 {
    gs_cast_f32_bf16(round_to_odd(x))
}

pub extern "C" fn gs_cast_i64_f16(x: i64) -> u16 {
    // Exact in f32 up to 2^24; beyond the largest f16 all become infinite.
    gs_cast_f32_f16(x as f32)
}

pub extern "C" fn gs_cast_u64_f16(x: u64) -> u16 {
    gs_cast_f32_f16(x as f32)
}

pub extern "C" fn gs_cast_i64_bf16(x: i64) -> u16 {
    let magnitude = sticky(x.unsigned_abs());
    gs_cast_f64_bf16(if x < 0 { -magnitude } else { magnitude })
}

pub extern "C" fn gs_cast_u64_bf16(x: u64) -> u16 {
    gs_cast_f64_bf16(sticky(x))
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
