//! Constants: the bits of a scalar.

use crate::types::Scalar;
use half::{bf16, f16};

/// The bits of a scalar in the low end of a word, the rest zero. Bits and not a number, so that equality and
/// hashing tell -0 from 0 and one NaN from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Const(pub u64);

impl Const {
    pub fn bool(value: bool) -> Const {
        Const(u64::from(value))
    }

    /// Wraps to the width of `scalar`; rounds to nearest for a float type; "not zero" for bool.
    pub fn int(scalar: Scalar, value: i128) -> Const {
        match scalar {
            Scalar::Bool => Const::bool(value != 0),
            Scalar::F32 => Const(u64::from((value as f32).to_bits())),
            Scalar::F64 => Const((value as f64).to_bits()),
            _ if scalar.is_float() => Const::float(scalar, sticky(value)),
            _ => Const(value as u64 & mask(scalar)),
        }
    }

    /// Rounds to nearest even for a narrower float; saturates for an integer type (NaN is 0).
    pub fn float(scalar: Scalar, value: f64) -> Const {
        Const(
            match scalar {
                Scalar::F64 => value.to_bits(),
                Scalar::F32 => u64::from((value as f32).to_bits()),
                Scalar::F16 => u64::from(f16::from_f32(round_to_odd(value)).to_bits()),
                Scalar::BF16 => u64::from(bf16::from_f32(round_to_odd(value)).to_bits()),
                Scalar::Bool => u64::from(value != 0.0),
                Scalar::I8 => value as i8 as u64,
                Scalar::I16 => value as i16 as u64,
                Scalar::I32 => value as i32 as u64,
                Scalar::I64 => value as i64 as u64,
                Scalar::U8 => value as u8 as u64,
                Scalar::U16 => value as u16 as u64,
                Scalar::U32 => value as u32 as u64,
                Scalar::U64 => value as u64,
            } & mask(scalar),
        )
    }

    /// The value of an integer or bool constant.
    pub fn as_int(self, scalar: Scalar) -> i128 {
        let unsigned = self.0 & mask(scalar);
        let shift = 64 - scalar.bits();
        if scalar.is_signed() { i128::from((unsigned << shift) as i64 >> shift) } else { i128::from(unsigned) }
    }

    /// The value of a float constant; exact for every float type.
    pub fn as_float(self, scalar: Scalar) -> f64 {
        match scalar {
            Scalar::F64 => f64::from_bits(self.0),
            Scalar::F32 => f64::from(f32::from_bits(self.0 as u32)),
            Scalar::F16 => f16::from_bits(self.0 as u16).to_f64(),
            Scalar::BF16 => bf16::from_bits(self.0 as u16).to_f64(),
            _ => self.as_int(scalar) as f64,
        }
    }
}

/// All bits that a scalar's value may use.
fn mask(scalar: Scalar) -> u64 {
    u64::MAX >> (64 - scalar.bits())
}

/// The f32 next to `value`, with its last bit set where that is not exact (round to odd): rounding that to a format
/// narrower by two bits or more gives what one rounding gives. `half` drops low bits of an f64 before it rounds.
fn round_to_odd(value: f64) -> f32 {
    let near = value as f32;
    let error = value - f64::from(near);
    if !value.is_finite() || error == 0.0 || near.to_bits() & 1 == 1 {
        return near;
    }
    // The odd neighbor is on the other side of `value`. That of an infinity is the largest finite value.
    let is_too_large = near != 0.0 && (error < 0.0) == (near > 0.0);
    f32::from_bits(if is_too_large { near.to_bits() - 1 } else { near.to_bits() + 1 })
}

/// An integer with what does not fit 53 bits merged into the lowest bit kept, so that f64 holds it.
fn sticky(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let n_dropped = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> n_dropped << n_dropped;
    let kept = (if kept == magnitude { kept } else { kept | 1 << n_dropped }) as f64;
    if value < 0 { -kept } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_floats_round_once() {
        let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(Const::float(Scalar::F16, above_tie), Const(0x3c01));
        assert_eq!(Const::float(Scalar::F16, 1.0 + 2f64.powi(-11)), Const(0x3c00));
        assert_eq!(Const::float(Scalar::BF16, 1.0 + 2f64.powi(-8) + 2f64.powi(-40)), Const(0x3f81));
        assert_eq!(Const::float(Scalar::F16, -1e-300), Const(0x8000));
        assert_eq!(Const::float(Scalar::F16, 1e300), Const(0x7c00));
        assert_eq!(Const::int(Scalar::BF16, (1 << 62) + (1 << 54)), Const::float(Scalar::BF16, 2f64.powi(62)));
        let above_tie = Const::int(Scalar::BF16, (1 << 62) + (1 << 54) + 1);
        assert_eq!(above_tie.0, Const::float(Scalar::BF16, 2f64.powi(62)).0 + 1);
    }
}
