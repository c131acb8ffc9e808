//! Composites and narrow floats, and what C99 Annex F says of special values.

use super::{Expanded, module};
use interp::{InterpValue, call};
use ir::{FuncRef, Scalar, Type};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn is_same(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

/// Checks f(args) = result in both types, where the pass has them.
fn check(op: &str, args: &[f64], result: f64) {
    let narrow: Vec<f32> = args.iter().map(|&x| x as f32).collect();
    let found = Expanded::new(op, Scalar::F32).f32(&narrow);
    assert!(is_same(found.into(), f64::from(result as f32)), "{op}{args:?} is {found:?} in f32, not {result:?}");
    if transform::expand_math::is_expanded(ir::Op::from_name(op).expect("an op"), Scalar::F64) {
        let found = Expanded::new(op, Scalar::F64).f64(args);
        assert!(is_same(found, result), "{op}{args:?} is {found:?} in f64, not {result:?}");
    }
}

#[test]
fn odd_functions_keep_the_sign_of_zero() {
    for op in ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p", "cbrt", "erf"] {
        check(op, &[0.0], 0.0);
        check(op, &[-0.0], -0.0);
    }
}

#[test]
fn exact_values() {
    for op in ["exp", "exp2", "cos", "cosh", "erfc"] {
        check(op, &[0.0], 1.0);
        check(op, &[-0.0], 1.0);
    }
    for op in ["log", "log2", "log10", "acos", "acosh"] {
        check(op, &[1.0], 0.0);
    }
    for n in -100..=100 {
        check("exp2", &[n.into()], 2f64.powi(n));
        check("log2", &[2f64.powi(n)], n.into());
    }
    for n in 0..=10 {
        check("log10", &[10f64.powi(n)], n.into());
    }
    for n in -20..=20 {
        check("cbrt", &[f64::from(n).powi(3)], n.into());
    }
    check("pow", &[3.0, 4.0], 81.0);
    check("pow", &[-2.0, 3.0], -8.0);
    check("pow", &[2.0, -10.0], 2f64.powi(-10));
    check("pow", &[0.25, 0.5], 0.5);
}

#[test]
fn infinities_and_poles() {
    for (op, at_inf, at_minus_inf) in [
        ("exp", INF, 0.0),
        ("exp2", INF, 0.0),
        ("expm1", INF, -1.0),
        ("log", INF, NAN),
        ("log2", INF, NAN),
        ("log10", INF, NAN),
        ("log1p", INF, NAN),
        ("cbrt", INF, -INF),
        ("sin", NAN, NAN),
        ("cos", NAN, NAN),
        ("tan", NAN, NAN),
        ("asin", NAN, NAN),
        ("acos", NAN, NAN),
        ("sinh", INF, -INF),
        ("cosh", INF, INF),
        ("tanh", 1.0, -1.0),
        ("asinh", INF, -INF),
        ("acosh", INF, NAN),
        ("atanh", NAN, NAN),
        ("erf", 1.0, -1.0),
        ("erfc", 0.0, 2.0),
    ] {
        check(op, &[INF], at_inf);
        check(op, &[-INF], at_minus_inf);
        check(op, &[NAN], NAN);
    }
    for op in ["log", "log2", "log10"] {
        check(op, &[0.0], -INF);
        check(op, &[-0.0], -INF);
        check(op, &[-1.0], NAN);
    }
    check("log1p", &[-1.0], -INF);
    check("log1p", &[-1.5], NAN);
    check("atanh", &[1.0], INF);
    check("atanh", &[-1.0], -INF);
    check("atanh", &[1.5], NAN);
    check("acosh", &[0.5], NAN);
    check("acosh", &[-3.0], NAN);
    check("asin", &[1.5], NAN);
    check("acos", &[-1.5], NAN);
}

#[test]
fn pow_follows_annex_f() {
    for x in [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN] {
        check("pow", &[x, 0.0], 1.0);
        check("pow", &[x, -0.0], 1.0);
        check("pow", &[1.0, x], 1.0);
    }
    check("pow", &[0.0, -3.0], INF);
    check("pow", &[-0.0, -3.0], -INF);
    check("pow", &[-0.0, -2.0], INF);
    check("pow", &[-0.0, -2.5], INF);
    check("pow", &[-0.0, 3.0], -0.0);
    check("pow", &[-0.0, 2.0], 0.0);
    check("pow", &[-0.0, 2.5], 0.0);
    check("pow", &[-1.0, INF], 1.0);
    check("pow", &[-1.0, -INF], 1.0);
    check("pow", &[-2.0, 0.5], NAN);
    check("pow", &[0.5, -INF], INF);
    check("pow", &[2.0, -INF], 0.0);
    check("pow", &[-0.5, INF], 0.0);
    check("pow", &[-2.0, INF], INF);
    check("pow", &[0.0, -INF], INF);
    check("pow", &[-INF, -3.0], -0.0);
    check("pow", &[-INF, -2.0], 0.0);
    check("pow", &[-INF, 3.0], -INF);
    check("pow", &[-INF, 2.0], INF);
    check("pow", &[-INF, 0.5], INF);
    check("pow", &[INF, -1.0], 0.0);
    check("pow", &[INF, 1.0], INF);
    check("pow", &[NAN, 2.0], NAN);
    check("pow", &[2.0, NAN], NAN);
    check("pow", &[-8.0, 16_777_215.0], -INF);
}

#[test]
fn atan2_follows_annex_f() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    for (y, x, angle) in [
        (0.0, -0.0, PI),
        (0.0, 0.0, 0.0),
        (0.0, -1.0, PI),
        (0.0, 1.0, 0.0),
        (1.0, 0.0, FRAC_PI_2),
        (1.0, -0.0, FRAC_PI_2),
        (1.0, -INF, PI),
        (1.0, INF, 0.0),
        (INF, 1.0, FRAC_PI_2),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (INF, INF, FRAC_PI_4),
    ] {
        check("atan2", &[y, x], angle);
        check("atan2", &[-y, x], -angle);
    }
    check("atan2", &[NAN, 1.0], NAN);
    check("atan2", &[1.0, NAN], NAN);
    check("atan2", &[INF, NAN], NAN);
}

#[test]
fn composites_go_component_by_component() {
    let mut module = module(
        "func @f(v0: mat<f32, 2, 2>, v1: mat<f32, 2, 2>) -> mat<f32, 2, 2> { v2: mat<f32, 2, 2> = pow v0, v1; return v2 }",
    );
    assert!(transform::expand_math(&mut module).0);
    let ty = Type::matrix(Scalar::F32, 2, 2);
    let words = |items: [f32; 4]| InterpValue { ty, words: items.map(|x| x.to_bits().into()).to_vec() };
    let found = call(&module, FuncRef(0), &[words([2.0, 3.0, 4.0, 5.0]), words([3.0, 2.0, 0.5, -1.0])]);
    assert_eq!(found.expect("no check fails"), [words([8.0, 9.0, 2.0, 0.2])]);
    assert_eq!(module.funcs.len(), 1);
}

#[test]
fn narrow_floats_go_through_f32() {
    let one_half = Expanded::new("exp2", Scalar::F16).eval(&[0xbc00]);
    assert_eq!(one_half, 0x3800);
    let two = Expanded::new("cbrt", Scalar::BF16).eval(&[0x4100]);
    assert_eq!(two, 0x4000);
}
