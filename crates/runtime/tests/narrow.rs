//! Narrowing casts against a search for the nearest value in exact arithmetic.

use half::{bf16, f16};
use runtime::narrow::*;

/// All finite values that are not negative, in order: their bits are 0, 1, 2, …
fn table(n: u16, value: fn(u16) -> f64) -> Vec<f64> {
    (0..n).map(value).collect()
}

/// The bits of the nearest entry, ties to even; `n` (infinity) from half a step above the last.
fn nearest(table: &[f64], x: f64) -> u16 {
    let above = table.partition_point(|&v| v < x.abs());
    let last = table.len() - 1;
    let step = |i: usize| if i > last { 2.0 * table[last] - table[last - 1] } else { table[i] };
    let bits = if above == 0 {
        0
    } else if above > last + 1 || x.abs() >= step(last + 1) {
        last + 1
    } else {
        // Differences of f64 within a factor of two are exact; half steps too.
        let (down, up) = (x.abs() - step(above - 1), step(above) - x.abs());
        if down < up || (down == up && (above - 1) % 2 == 0) { above - 1 } else { above }
    };
    bits as u16 | if x.is_sign_negative() { 0x8000 } else { 0 }
}

fn samples(table: &[f64]) -> Vec<f64> {
    let mut samples = vec![0.0, -0.0, 1e300, -1e300, 1e-300, f64::MAX, f64::MIN_POSITIVE];
    for pair in table.windows(2).step_by(37) {
        let middle = (pair[0] + pair[1]) / 2.0;
        for x in [pair[0], middle, middle.next_up(), middle.next_down(), pair[1].next_down()] {
            samples.extend([x, -x]);
        }
    }
    let last = table[table.len() - 1];
    let overflow = last + (last - table[table.len() - 2]) / 2.0;
    samples.extend([last, overflow, overflow.next_down(), overflow.next_up()]);
    samples
}

#[test]
fn f64_rounds_once() {
    let halves = table(0x7c00, |bits| f16::from_bits(bits).to_f64());
    for x in samples(&halves) {
        assert_eq!(gs_cast_f64_f16(x), nearest(&halves, x), "f16 of {x:e}");
        let narrow = x as f32;
        assert_eq!(gs_cast_f32_f16(narrow), nearest(&halves, f64::from(narrow)), "f16 of {narrow:e}");
    }
    let brains = table(0x7f80, |bits| bf16::from_bits(bits).to_f64());
    for x in samples(&brains) {
        assert_eq!(gs_cast_f64_bf16(x), nearest(&brains, x), "bf16 of {x:e}");
        let narrow = x as f32;
        if narrow.is_finite() {
            assert_eq!(gs_cast_f32_bf16(narrow), nearest(&brains, f64::from(narrow)), "bf16 of {narrow:e}");
        }
    }
}

#[test]
fn special_values_stay() {
    for x in [f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(f16::from_bits(gs_cast_f64_f16(x)).to_f64(), x);
        assert_eq!(bf16::from_bits(gs_cast_f64_bf16(x)).to_f64(), x);
    }
    assert!(f16::from_bits(gs_cast_f64_f16(f64::NAN)).is_nan());
    assert!(bf16::from_bits(gs_cast_f64_bf16(f64::NAN)).is_nan());
    assert_eq!(gs_cast_f16_f32(0x3555), 0.333_251_95);
}

#[test]
fn integers_round_once() {
    let brains = table(0x7f80, |bits| bf16::from_bits(bits).to_f64());
    let halves = table(0x7c00, |bits| f16::from_bits(bits).to_f64());
    for x in [0i64, 1, -1, 255, 257, 2047, 2049, 65519, 65520, 16_842_753, -16_842_753, i64::from(i32::MIN)] {
        assert_eq!(gs_cast_i64_bf16(x), nearest(&brains, x as f64), "bf16 of {x}");
        assert_eq!(gs_cast_i64_f16(x), nearest(&halves, x as f64), "f16 of {x}");
    }
    let tie = (1u64 << 62) + (1 << 54);
    assert_eq!(gs_cast_u64_bf16(tie), bf16::from_f32(2f32.powi(62)).to_bits());
    assert_eq!(gs_cast_u64_bf16(tie + 1), bf16::from_f32(2f32.powi(62)).to_bits() + 1);
    assert_eq!(gs_cast_i64_bf16(-(tie as i64) - 1), (bf16::from_f32(2f32.powi(62)).to_bits() + 1) | 0x8000);
    assert_eq!(gs_cast_u64_bf16(u64::MAX), bf16::from_f32(2f32.powi(64)).to_bits());
    assert_eq!(gs_cast_u64_f16(u64::MAX), f16::INFINITY.to_bits());
    assert_eq!(gs_cast_i64_bf16(i64::MIN), bf16::from_f32(-(2f32.powi(63))).to_bits());
}
