//! Square roots of gangs, which some machines compute without their divider: the same bits as the instruction's.

use crate::gangs::check;
use crate::launch::{Packed, array1, kernel, run_with};
use codegen::{CpuOptions, Gang};
use ir::{Attr, FuncRef, Module, Op, Scalar, Type};

fn roots() -> Module {
    let array = array1(Type::f32());
    kernel(&[array, array], |b| {
        let i = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let (x, y) = (b.param(0), b.param(1));
        let xi = b.load(x, &[i], &[], &[]);
        let root = b.unary(Op::Sqrt, xi);
        b.store(y, &[i], &[], &[], root);
    })
}

fn compare(mut x: Vec<f32>) {
    let n = x.len() as i64;
    let mut y = vec![0f32; x.len()];
    let args = Packed::default().array(&mut x, &[n]).array(&mut y, &[n]);
    let options = CpuOptions { contiguous: true, gang: Gang::Width(16), ..CpuOptions::default() };
    assert_eq!(run_with(&roots(), &options, &[n], &args, 1), None);
    for (x, y) in x.iter().zip(&y) {
        let expected = x.sqrt();
        assert!(y.to_bits() == expected.to_bits() || y.is_nan() && expected.is_nan(), "sqrt({x:e}) = {y:e}");
    }
}

#[test]
fn every_number_of_two_binades() {
    for exponent in [127u32, 128] {
        compare((0..1 << 23).map(|mantissa| f32::from_bits(exponent << 23 | mantissa)).collect());
    }
}

#[test]
fn numbers_of_every_exponent_and_what_is_none() {
    let all = (0..=u32::MAX).step_by(4093).map(f32::from_bits);
    compare(all.collect());
    // Alone among ordinary ones.
    for odd in [0.0, -0.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE / 3.0, f32::MAX] {
        let mut x = vec![2.0; 16];
        x[5] = odd;
        compare(x);
    }
}

#[test]
fn roots_under_a_mask() {
    check(
        "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: f32 = load v0[v2]
           v4: f32 = const 0.0
           v5: bool = gt v3, v4
           if v5 {
             v6: f32 = sqrt v3
             v7: f32 = div v6, v3
             store v1[v2], v7
             yield
           } else {
             yield
           }
           return
         }",
    );
}

#[test]
fn roots_of_loops_that_meet_the_threads() {
    // Four rounds at a time, one of them by the divider, and what is left over.
    for rounds in [0, 3, 4, 21, 150] {
        check(&format!(
            "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {{
               v2: i64 = tid 0
               v3: f32 = load v0[v2]
               v4: i64 = const 0
               v5: i64 = const {rounds}
               v6: i64 = const 1
               v7: f32 = const 0.0
               v8: f32 = for v9: i64 = v4 to v5 step v6 with (v10: f32 = v7) {{
                 v11: bool = ne v9, v2
                 v12: f32 = if v11 {{
                   v13: f32 = load v0[v9]
                   v14: f32 = sub v13, v3
                   v15: f32 = mul v14, v14
                   v16: f32 = sqrt v15
                   v17: f32 = mul v16, v15
                   v18: f32 = div v13, v17
                   v19: f32 = add v10, v18
                   yield v19
                 }} else {{
                   yield v10
                 }}
                 continue v12
               }}
               store v1[v2], v8
               return
             }}"
        ));
    }
}

#[test]
fn quotients_by_cubes_of_roots_under_fast_math() {
    let array = array1(Type::f32());
    let mut module = kernel(&[array, array], |b| {
        let i = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let (x, y) = (b.param(0), b.param(1));
        let xi = b.load(x, &[i], &[], &[]);
        let root = b.unary(Op::Sqrt, xi);
        let product = b.binary(Op::Mul, xi, root);
        let three = b.float(Scalar::F32, 3.0);
        let pull = b.binary(Op::Div, three, product);
        b.store(y, &[i], &[], &[], pull);
    });
    module.fast_math = true;
    let mut x: Vec<f32> = (0..1 << 16).map(|k| f32::from_bits(0x3f80_0000 + 257 * k)).collect();
    let (n, mut y) = (x.len() as i64, vec![0f32; x.len()]);
    let options = CpuOptions { contiguous: true, gang: Gang::Width(16), ..CpuOptions::default() };
    run_with(&module, &options, &[n], &Packed::default().array(&mut x, &[n]).array(&mut y, &[n]), 1);
    for (x, y) in x.iter().zip(&y) {
        let expected = 3.0 / f64::from(*x).powf(1.5);
        let error = (f64::from(*y) - expected).abs() / expected;
        assert!(error < 2.5 * f64::from(f32::EPSILON), "{x}: {y}, not {expected}");
    }
    if codegen::host_target()[2].contains("+avx512f") {
        let text = codegen::assembly(&module, FuncRef(0), &options).unwrap();
        let gang = text.split("vrsqrt14ps").nth(1).unwrap().split("vmovups").next().unwrap();
        assert_eq!(["vmulps", "\tvf", "div", "sqrt"].map(|op| gang.matches(op).count()), [4, 1, 0, 0], "{gang}");
    }
}
