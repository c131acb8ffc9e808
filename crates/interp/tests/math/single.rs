//! f32: within 0.51 ULP of the f64 functions of the platform, for a stride over all arguments.

use super::Expanded;
use ir::Scalar;
use runtime::math::{binary_f64, unary_f64};
use std::f32::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

/// Prime, so that all low bits occur.
const STRIDE: usize = 21_701;

const BOUND: f64 = 0.51;

/// Of the functions evaluated in f32.
const FAST_BOUND: f64 = 4.0;

/// Distance in units of the last place that `exact` has in f32, infinite where only one is NaN or the sign of 0 differs.
fn ulps(found: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if found.is_nan() || exact.is_nan() {
        return if found.is_nan() == exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if found == rounded {
        if found == 0.0 && found.to_bits() != rounded.to_bits() {
            return f64::INFINITY;
        }
        if found.is_infinite() {
            return 0.0;
        }
    }
    if exact.is_infinite() {
        return f64::INFINITY;
    }
    // An infinity stands for 2^128 here, the value that would come next.
    let found = if found.is_infinite() { 2f64.powi(128).copysign(found.into()) } else { found.into() };
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-126);
    (found - exact).abs() / 2f64.powi(exponent - 23)
}

/// Bit patterns around those where a function changes its way.
fn boundaries() -> impl Iterator<Item = f32> {
    let at = [
        0.0,
        f32::MIN_POSITIVE,
        1e-30,
        1e-10,
        2e-4,
        0.25,
        0.346_573_6,
        0.5,
        FRAC_1_SQRT_2,
        FRAC_PI_4,
        1.0,
        SQRT_2,
        1.5,
        FRAC_PI_2,
        2.0,
        3.0,
        PI,
        3.9,
        4.0,
        9.0,
        10.05,
        10.06,
        11.0,
        16.0,
        20.0,
        64.0,
        88.02,
        88.72,
        89.0,
        89.41,
        100.0,
        103.28,
        103.97,
        104.0,
        126.0,
        128.0,
        129.0,
        149.0,
        150.0,
        151.0,
        1e4,
        8_388_608.0,
        16_777_216.0,
        1_073_741_824.0,
        1e20,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    at.into_iter().flat_map(|x: f32| {
        (-20..=20).flat_map(move |step: i32| {
            let y = f32::from_bits(x.to_bits().wrapping_add_signed(step) & 0x7fff_ffff);
            [y, -y]
        })
    })
}

fn check_unary(op: &str, fast_math: bool) {
    let own = Expanded::with_options(op, Scalar::F32, fast_math);
    let bound = if fast_math { FAST_BOUND } else { BOUND };
    let exact = unary_f64(op).expect("a function of one float");
    let mut worst = (0.0, 0.0);
    let strided = (0..=u32::MAX).step_by(STRIDE).map(f32::from_bits);
    for x in strided.chain(boundaries()) {
        let error = ulps(own.f32(&[x]), exact(x.into()));
        if error > worst.0 {
            worst = (error, x);
        }
    }
    assert!(worst.0 <= bound, "{op}({:?}) is off by {} ULP", worst.1, worst.0);
    println!("{op} f32: {:.4} ULP at {:?}", worst.0, worst.1);
}

fn check_binary(op: &str) {
    let own = Expanded::new(op, Scalar::F32);
    let exact = binary_f64(op).expect("a function of two floats");
    let mut worst = (0.0, 0.0, 0.0);
    // Weyl sequences walk over the square evenly; half the points have everyday magnitudes.
    let random = (0..200_000u32).map(|i| {
        let (a, b) = (i.wrapping_mul(0x9e37_79b9), i.wrapping_mul(0x85eb_ca6b) ^ (i << 7));
        let everyday = |bits: u32| f32::from_bits((bits & 0x83ff_ffff) + 0x3d80_0000);
        if i % 2 == 0 { (f32::from_bits(a), f32::from_bits(b)) } else { (everyday(a), everyday(b)) }
    });
    let few: Vec<f32> = boundaries().step_by(13).collect();
    let pairs = few.iter().flat_map(|&x| few.iter().map(move |&y| (x, y)));
    for (x, y) in random.chain(pairs) {
        let error = ulps(own.f32(&[x, y]), exact(x.into(), y.into()));
        if error > worst.0 {
            worst = (error, x, y);
        }
    }
    assert!(worst.0 <= BOUND, "{op}({:?}, {:?}) is off by {} ULP", worst.1, worst.2, worst.0);
    println!("{op} f32: {:.4} ULP at {:?}, {:?}", worst.0, worst.1, worst.2);
}

macro_rules! unary {
    ($($op:ident)*) => { $(#[test] fn $op() { check_unary(stringify!($op), false); })* };
}

unary! {
    exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc
}

#[test]
fn pow() {
    check_binary("pow");
}

#[test]
fn atan2() {
    check_binary("atan2");
}

#[test]
fn remainder() {
    check_binary("rem");
    check_binary("mod");
    let rem = Expanded::new("rem", Scalar::F32);
    for (x, y) in [(f32::MAX, 1e-45), (f32::MAX, 3e-40), (1e30, 0.7), (-7.5, 2.0), (7.5, -2.0), (16_777_215.0, 1e-3)] {
        assert_eq!(rem.f32(&[x, y]).to_bits(), (x % y).to_bits(), "{x} rem {y}");
    }
}

#[test]
fn fast_math() {
    for op in ["exp", "log", "sin", "cos", "tanh"] {
        check_unary(op, true);
    }
}
