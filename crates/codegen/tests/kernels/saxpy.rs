//! The first kernel of every user, over one to four dimensions.

use crate::launch::{Packed, array1, kernel, run_with};
use codegen::CpuOptions;
use ir::{Attr, Builder, Module, Op, Scalar, Type, Value};

fn index(b: &mut Builder<'_>, dim: u32, narrow: bool) -> Value {
    let tid = b.push1(Op::Tid, &[], Attr::Index(dim), Type::i64());
    if !narrow {
        return tid;
    }
    let narrow = b.cast(tid, Scalar::I32);
    b.cast(narrow, Scalar::I64)
}

/// y[i] = a x[i] + y[i], with the index through i32 or not.
fn saxpy(rank: u32, narrow: bool) -> Module {
    let array = Type::array(Type::f32(), rank);
    kernel(&[Type::f32(), array, array], |b| {
        let at: Vec<Value> = (0..rank).map(|dim| index(b, dim, narrow)).collect();
        let (a, x, y) = (b.param(0), b.param(1), b.param(2));
        let xi = b.load(x, &at, &[], &[]);
        let yi = b.load(y, &at, &[], &[]);
        let product = b.binary(Op::Mul, a, xi);
        let sum = b.binary(Op::Add, product, yi);
        b.store(y, &at, &[], &[], sum);
    })
}

#[test]
fn every_rank_and_chunking_gives_the_same() {
    for extents in [&[1000][..], &[1], &[30, 7], &[5, 6, 7], &[3, 4, 5, 6], &[1, 1, 9, 1]] {
        for (contiguous, narrow) in [(false, false), (true, true)] {
            for chunks in [1, 3, 7] {
                let n = extents.iter().product::<i64>() as usize;
                let mut x: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
                let mut y: Vec<f32> = (0..n).map(|i| 100.0 - i as f32).collect();
                let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.1 * x + y).collect();
                let args = Packed::default().word(u64::from(1.1f32.to_bits()));
                let args = args.array(&mut x, extents).array(&mut y, extents);
                let rank = extents.len() as u32;
                let options = CpuOptions { contiguous, rank, ..CpuOptions::default() };
                assert_eq!(run_with(&saxpy(rank, narrow), &options, extents, &args, chunks), None);
                assert_eq!(y, expected, "{extents:?} {chunks}");
            }
        }
    }
}

#[test]
fn strides_are_read_from_the_descriptor() {
    let mut x: Vec<f32> = (0..20).map(|i| i as f32).collect();
    let mut y = vec![1.0f32; 5];
    let last = &raw mut x[18];
    // Every fourth element, backwards.
    let args = Packed::default().word(u64::from(2.0f32.to_bits())).strided(last, &[5], &[-16]).array(&mut y, &[5]);
    run_with(&saxpy(1, false), &CpuOptions::default(), &[5], &args, 1);
    assert_eq!(y, [37.0, 29.0, 21.0, 13.0, 5.0]);
}

#[test]
fn an_index_through_i32_still_vectorizes() {
    for rank in [1, 2] {
        let options = CpuOptions { contiguous: true, rank, ..CpuOptions::default() };
        let text = codegen::llvm_text(&saxpy(rank, true), ir::FuncRef(0), &options, true).unwrap();
        assert!(text.contains("fmul <"), "{text}");
    }
}

#[test]
fn a_wrapped_i32_index_counts_on_from_the_least_value() {
    let module = kernel(&[array1(Type::i32())], |b| {
        let tid = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let narrow = b.cast(tid, Scalar::I32);
        let start = b.int(Scalar::I64, (1 << 31) - 5);
        let at = b.binary(Op::Sub, tid, start);
        let out = b.param(0);
        b.store(out, &[at], &[], &[], narrow);
    });
    let mut out = [0i32; 10];
    let args = Packed::default().array(&mut out, &[10]);
    let object = codegen::compile(&module, ir::FuncRef(0), &CpuOptions::default()).unwrap();
    let loaded = codegen::load(&object, &codegen::symbol(&module, ir::FuncRef(0))).unwrap();
    let (bounds, fault) = (crate::launch::bounds(&[1 << 32]), runtime::Fault::default());
    let begin = (1 << 31) - 5;
    // SAFETY: the ten threads write the ten elements.
    unsafe { loaded.entry()(args.0.as_ptr().cast(), &bounds, begin, begin + 10, &fault) };
    let expected: Vec<i32> = (0..10).map(|i| (i32::MAX - 4).wrapping_add(i)).collect();
    assert_eq!(out.as_slice(), expected);
}
