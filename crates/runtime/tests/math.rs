//! The math functions against a second implementation of higher precision, and their special values.

use runtime::math::{BINARY, UNARY, binary_f32, binary_f64, symbols, unary_f32, unary_f64};
use std::collections::BTreeSet;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

mod c {
    unsafe extern "C" {
        pub(crate) safe fn asinh(x: f64) -> f64;
        pub(crate) safe fn acosh(x: f64) -> f64;
        pub(crate) safe fn atanh(x: f64) -> f64;
        pub(crate) safe fn erf(x: f64) -> f64;
        pub(crate) safe fn erfc(x: f64) -> f64;
    }
}

/// The same function from the other library: musl's where the runtime uses the platform's, and the reverse.
fn other_unary(op: &str) -> fn(f64) -> f64 {
    match op {
        "cbrt" => libm::cbrt,
        "exp" => libm::exp,
        "exp2" => libm::exp2,
        "expm1" => libm::expm1,
        "log" => libm::log,
        "log2" => libm::log2,
        "log10" => libm::log10,
        "log1p" => libm::log1p,
        "sin" => libm::sin,
        "cos" => libm::cos,
        "tan" => libm::tan,
        "asin" => libm::asin,
        "acos" => libm::acos,
        "atan" => libm::atan,
        "sinh" => libm::sinh,
        "cosh" => libm::cosh,
        "tanh" => libm::tanh,
        "asinh" => |x| c::asinh(x),
        "acosh" => |x| c::acosh(x),
        "atanh" => |x| c::atanh(x),
        "erf" => |x| c::erf(x),
        "erfc" => |x| c::erfc(x),
        _ => panic!("no second implementation of {op}"),
    }
}

fn other_binary(op: &str) -> fn(f64, f64) -> f64 {
    match op {
        "atan2" => libm::atan2,
        "pow" => libm::pow,
        "fmod" | "rem" => libm::fmod,
        "mod" => |x, y| {
            let r = libm::fmod(x, y);
            if r != 0.0 && r.is_sign_negative() != y.is_sign_negative() { r + y } else { r }
        },
        _ => panic!("no second implementation of {op}"),
    }
}

/// Distance from the f64 value `exact` to `x` in units of the last place of an f32 there.
fn ulps_f32(x: f32, exact: f64) -> f64 {
    if x.is_nan() || exact.is_nan() {
        return if x.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if f64::from(x) == exact || (x.is_infinite() && x == exact as f32) {
        return 0.0;
    }
    let exponent = libm::ilogb(exact.abs().max(f64::from(f32::MIN_POSITIVE)));
    (f64::from(x) - exact).abs() / libm::ldexp(1.0, exponent - 23)
}

fn ulps_f64(x: f64, y: f64) -> u64 {
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() && y.is_nan() { 0 } else { u64::MAX };
    }
    let key = |v: f64| if v.is_sign_negative() { -((v.to_bits() << 1 >> 1) as i128) } else { v.to_bits() as i128 };
    key(x).abs_diff(key(y)) as u64
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }

    /// Any bits, or a value of everyday size.
    fn f32(&mut self) -> f32 {
        let bits = self.next();
        match bits % 4 {
            0 => f32::from_bits((bits >> 32) as u32),
            1 => ((bits >> 40) as f32 / 8_388_608.0 - 1.0) * 2.0,
            2 => ((bits >> 40) as f32 / 8_388_608.0 - 1.0) * 100.0,
            _ => (bits >> 40) as f32 / 16_777_216.0,
        }
    }

    fn f64(&mut self) -> f64 {
        let bits = self.next();
        match bits % 4 {
            0 => f64::from_bits(self.next()),
            1 => (self.next() >> 11) as f64 / (1u64 << 52) as f64 * 2.0 - 2.0,
            2 => ((self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * 100.0,
            _ => (self.next() >> 11) as f64 / (1u64 << 53) as f64,
        }
    }
}

#[test]
fn f32_results_are_within_0_51_ulp() {
    let mut random = Random(1);
    for op in UNARY {
        let (f, exact) = (unary_f32(op).unwrap(), other_unary(op));
        for _ in 0..40_000 {
            let x = random.f32();
            let ulps = ulps_f32(f(x), exact(f64::from(x)));
            assert!(ulps <= 0.51, "{op}({x:e}) = {:e}, {ulps} ULP from {:e}", f(x), exact(f64::from(x)));
        }
    }
    for op in BINARY.iter().filter(|op| **op != "mod") {
        let (f, exact) = (binary_f32(op).unwrap(), other_binary(op));
        for _ in 0..40_000 {
            let (x, y) = (random.f32(), random.f32());
            let value = exact(f64::from(x), f64::from(y));
            let ulps = ulps_f32(f(x, y), value);
            assert!(ulps <= 0.51, "{op}({x:e}, {y:e}) = {:e}, {ulps} ULP from {value:e}", f(x, y));
        }
    }
}

#[test]
fn f64_results_agree_with_the_other_library() {
    let mut random = Random(2);
    for op in UNARY {
        let (f, other) = (unary_f64(op).unwrap(), other_unary(op));
        for _ in 0..40_000 {
            let x = random.f64();
            let ulps = ulps_f64(f(x), other(x));
            assert!(ulps <= 3, "{op}({x:e}) = {:e}, {ulps} ULP from {:e}", f(x), other(x));
        }
    }
    for op in BINARY {
        let (f, other) = (binary_f64(op).unwrap(), other_binary(op));
        for _ in 0..40_000 {
            let (x, y) = (random.f64(), random.f64());
            let ulps = ulps_f64(f(x, y), other(x, y));
            assert!(ulps <= 3, "{op}({x:e}, {y:e}) = {:e}, {ulps} ULP from {:e}", f(x, y), other(x, y));
        }
    }
}

/// Same value, same sign of zero; any NaN is every NaN.
fn check(what: &str, found: f64, expected: f64) {
    let same = if expected.is_nan() { found.is_nan() } else { found.to_bits() == expected.to_bits() };
    assert!(same, "{what} = {found:e}, expected {expected:e}");
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Op, argument, result; both exact in f32 or rounded to it.
const UNARY_VALUES: &[(&str, &[(f64, f64)])] = &[
    ("cbrt", &[(0.0, 0.0), (-0.0, -0.0), (27.0, 3.0), (-8.0, -2.0), (INF, INF), (-INF, -INF)]),
    ("exp", &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)]),
    ("exp2", &[(0.0, 1.0), (10.0, 1024.0), (-3.0, 0.125), (INF, INF), (-INF, 0.0), (2e3, INF)]),
    ("expm1", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (-1e4, -1.0), (1e-30, 1e-30)]),
    ("log", &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (-INF, NAN)]),
    ("log2", &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (1024.0, 10.0)]),
    ("log10", &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (1000.0, 3.0)]),
    ("log1p", &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (1e-30, 1e-30)]),
    ("sin", &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-30, 1e-30)]),
    ("cos", &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (1e-30, 1.0)]),
    ("tan", &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-30, 1e-30)]),
    ("asin", &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2), (1.5, NAN), (INF, NAN)]),
    ("acos", &[(1.0, 0.0), (-1.0, PI), (0.0, FRAC_PI_2), (1.5, NAN), (-INF, NAN)]),
    ("atan", &[(0.0, 0.0), (-0.0, -0.0), (1.0, FRAC_PI_4), (INF, FRAC_PI_2), (-INF, -FRAC_PI_2)]),
    ("sinh", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF)]),
    ("cosh", &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-1e4, INF)]),
    ("tanh", &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (50.0, 1.0)]),
    ("asinh", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e-30, 1e-30)]),
    ("acosh", &[(1.0, 0.0), (0.5, NAN), (-5e7, NAN), (-INF, NAN), (INF, INF), (-5.0, NAN)]),
    ("atanh", &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN)]),
    ("erf", &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (30.0, 1.0)]),
    ("erfc", &[(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (30.0, 0.0)]),
];

#[test]
fn special_values_of_unary_functions() {
    let ops: Vec<&str> = UNARY_VALUES.iter().map(|(op, _)| *op).collect();
    assert_eq!(ops, UNARY, "every function is in the table");
    for (op, values) in UNARY_VALUES {
        let (f, g) = (unary_f64(op).unwrap(), unary_f32(op).unwrap());
        for &(x, expected) in values.iter().chain(&[(NAN, NAN)]) {
            check(&format!("{op}({x:e})"), f(x), expected);
            check(&format!("{op}_f32({x:e})"), f64::from(g(x as f32)), f64::from(expected as f32));
        }
    }
}

const BINARY_VALUES: &[(&str, f64, f64, f64)] = &[
    ("atan2", 0.0, 1.0, 0.0),
    ("atan2", -0.0, 1.0, -0.0),
    ("atan2", 0.0, -0.0, PI),
    ("atan2", -0.0, -0.0, -PI),
    ("atan2", 0.0, 0.0, 0.0),
    ("atan2", 1.0, 0.0, FRAC_PI_2),
    ("atan2", INF, INF, FRAC_PI_4),
    ("atan2", INF, -INF, 3.0 * FRAC_PI_4),
    ("atan2", 1.0, NAN, NAN),
    ("pow", 2.0, 10.0, 1024.0),
    ("pow", NAN, 0.0, 1.0),
    ("pow", 1.0, NAN, 1.0),
    ("pow", -1.0, INF, 1.0),
    ("pow", -8.0, 1.0 / 3.0, NAN),
    ("pow", -2.0, 3.0, -8.0),
    ("pow", 0.0, -1.0, INF),
    ("pow", -0.0, -1.0, -INF),
    ("pow", -0.0, 2.0, 0.0),
    ("pow", 0.5, INF, 0.0),
    ("pow", 0.0, 0.0, 1.0),
    ("pow", -INF, 3.0, -INF),
    ("pow", 1e30, 20.0, INF),
    ("fmod", 5.5, 2.0, 1.5),
    ("rem", -5.5, 2.0, -1.5),
    ("rem", -4.0, 2.0, -0.0),
    ("rem", 1.0, 0.0, NAN),
    ("rem", INF, 2.0, NAN),
    ("rem", 3.0, INF, 3.0),
    ("mod", -5.5, 2.0, 0.5),
    ("mod", 5.5, -2.0, -0.5),
    ("mod", -4.0, 2.0, -0.0),
    ("mod", -1.0, INF, INF),
    ("mod", 1.0, 0.0, NAN),
    ("mod", -1.0, NAN, NAN),
];

#[test]
fn special_values_of_binary_functions() {
    for op in BINARY {
        assert!(BINARY_VALUES.iter().any(|row| row.0 == *op), "{op} has no row");
    }
    for &(op, x, y, expected) in BINARY_VALUES {
        let (f, g) = (binary_f64(op).unwrap(), binary_f32(op).unwrap());
        check(&format!("{op}({x:e}, {y:e})"), f(x, y), expected);
        let narrow = f64::from(g(x as f32, y as f32));
        check(&format!("{op}_f32({x:e}, {y:e})"), narrow, f64::from(expected as f32));
    }
}

#[test]
fn huge_and_denormal_arguments() {
    let sin = unary_f64("sin").unwrap();
    // Reference values of the exact functions, from a computation with 200 digits.
    assert_eq!(sin(1e22), -0.852_200_849_767_188_8);
    assert_eq!(unary_f64("cos").unwrap()(1e22), 0.523_214_785_395_139);
    assert_eq!(unary_f32("sin").unwrap()(1e30), -0.791_163_44);
    assert_eq!(unary_f32("exp").unwrap()(-103.0), f32::from_bits(1));
    assert_eq!(unary_f32("exp").unwrap()(88.8), f32::INFINITY);
    assert_eq!(unary_f32("log").unwrap()(f32::from_bits(1)), -103.278_93);
    assert_eq!(unary_f32("cbrt").unwrap()(f32::from_bits(1)), 1.119_034_7e-15);
}

#[test]
fn symbols_are_distinct_and_named_by_op_and_type() {
    let symbols = symbols();
    let names: BTreeSet<_> = symbols.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), symbols.len());
    assert!(symbols.iter().all(|(_, address)| *address != 0));
    for op in UNARY.iter().chain(BINARY) {
        for ty in ["f32", "f64"] {
            assert!(names.contains(format!("gs_{op}_{ty}").as_str()), "gs_{op}_{ty}");
        }
    }
    assert!(names.contains("gs_fault") && names.contains("gs_print"));
    let (_, address) = symbols.iter().find(|(name, _)| *name == "gs_exp2_f64").unwrap();
    // SAFETY: the table says that this is the address of that function.
    let exp2 = unsafe { std::mem::transmute::<usize, extern "C" fn(f64) -> f64>(*address) };
    assert_eq!(exp2(0.5), std::f64::consts::SQRT_2);
}
