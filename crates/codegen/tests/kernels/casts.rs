//! Casts from floats to integers in the lanes of a gang: toward zero, as far as the type goes, and 0 for NaN.

use crate::launch::{Packed, array1, kernel, run_with};
use codegen::{CpuOptions, Gang};
use ir::{Attr, FuncRef, Module, Op, Scalar, Type};

fn cast(from: Scalar, to: Scalar) -> Module {
    kernel(&[array1(Type::scalar(from)), array1(Type::scalar(to))], |b| {
        let i = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let x = b.load(b.param(0), &[i], &[], &[]);
        let y = b.push1(Op::Cast, &[x], Attr::None, Type::scalar(to));
        b.store(b.param(1), &[i], &[], &[], y);
    })
}

fn options(gang: Gang) -> CpuOptions {
    CpuOptions { contiguous: true, gang, ..CpuOptions::default() }
}

/// Limits of every type and their neighbors, and what is no number.
fn edges() -> Vec<f64> {
    let limits = [7, 8, 15, 16, 31, 32, 63, 64].map(|exponent| 2f64.powi(exponent));
    let around =
        limits.into_iter().flat_map(|x| [x, x - 1.0, x - 0.5, x.next_down(), f64::from((x as f32).next_down())]);
    let odd = [0.0, 0.5, 0.999, 1.5, 2.75, f64::MAX, f64::INFINITY, f64::NAN, 1e-40, 123_456.7];
    let mut found: Vec<f64> = around.chain(odd).flat_map(|x| [x, -x]).collect();
    found.resize(found.len().next_multiple_of(16), 0.0);
    found
}

macro_rules! check {
    ($from:ty, $float:expr, $($to:ty, $int:expr;)*) => {$(
        let mut x: Vec<$from> = edges().iter().map(|&x| x as $from).collect();
        let mut y = vec![<$to>::default(); x.len()];
        let n = x.len() as i64;
        let args = Packed::default().array(&mut x, &[n]).array(&mut y, &[n]);
        for gang in [Gang::Off, Gang::Width(16), Gang::Masked(8)] {
            run_with(&cast($float, $int), &options(gang), &[n], &args, 1);
            // Rust's `as` is the same.
            for (x, y) in x.iter().zip(&y) {
                assert_eq!(*y, *x as $to, "{x:e} as {}, {gang:?}", stringify!($to));
            }
        }
    )*};
}

#[test]
fn floats_to_integers_of_every_size() {
    use Scalar::*;
    check!(f32, F32, i8, I8; u8, U8; i16, I16; u16, U16; i32, I32; u32, U32; i64, I64; u64, U64;);
    check!(f64, F64, i8, I8; u8, U8; i16, I16; u16, U16; i32, I32; u32, U32; i64, I64; u64, U64;);
}

#[test]
fn lanes_stay_together() {
    let text = codegen::assembly(&cast(Scalar::F32, Scalar::I32), FuncRef(0), &options(Gang::Width(16))).unwrap();
    assert!(text.contains("cvttps2dq"), "{text}");
    // Of the threads that no gang takes.
    assert!(text.matches("cvttss2si").count() <= 2, "{text}");
}

#[test]
fn lanes_divide_integers_as_floats() {
    let divide = |op, scalar| {
        let array = array1(Type::scalar(scalar));
        kernel(&[array, array, array], |b| {
            let i = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
            let (x, y) = (b.load(b.param(0), &[i], &[], &[]), b.load(b.param(1), &[i], &[], &[]));
            let result = b.binary(op, x, y);
            b.store(b.param(2), &[i], &[], &[], result);
        })
    };
    macro_rules! check {
        ($($ty:ty, $scalar:expr;)*) => {$(
            let near = |x: $ty| [x.wrapping_sub(1), x, x.wrapping_add(1), x.wrapping_neg()];
            let values: Vec<$ty> = [<$ty>::MIN, <$ty>::MAX, <$ty>::MAX / 2, <$ty>::MAX / 3, 100, 46341i32 as $ty, 0, 7]
                .into_iter().flat_map(near).collect();
            let pairs = || values.iter().flat_map(|&x| values.iter().map(move |&y| (x, y)));
            let (mut x, mut y): (Vec<$ty>, Vec<$ty>) = pairs().unzip();
            let n = x.len() as i64;
            for op in [Op::Div, Op::Rem, Op::FloorDiv, Op::Mod] {
                let mut found = Vec::new();
                for gang in [Gang::Off, Gang::Width(16)] {
                    let mut z = vec![<$ty>::default(); x.len()];
                    let args = Packed::default().array(&mut x, &[n]).array(&mut y, &[n]).array(&mut z, &[n]);
                    run_with(&divide(op, $scalar), &options(gang), &[n], &args, 1);
                    found.push(z);
                }
                assert_eq!(found[0], found[1], "{} of {}", op.name(), stringify!($ty));
            }
        )*};
    }
    check!(i8, Scalar::I8; u8, Scalar::U8; i16, Scalar::I16; u16, Scalar::U16; i32, Scalar::I32; u32, Scalar::U32;);
    let text = codegen::assembly(&divide(Op::Rem, Scalar::I32), FuncRef(0), &options(Gang::Width(16))).unwrap();
    assert!(text.contains("divpd") && text.matches("idiv").count() <= 2, "{text}");
}
