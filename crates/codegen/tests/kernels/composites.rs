//! Vectors, matrices, quaternions, transforms and structs against the interpreter, small ones in registers and large
//! ones in memory.

use crate::differential::{Elements, Random, compare};
use crate::launch::kernel;
use codegen::{CpuOptions, Gang};
use ir::{Attr, Builder, Class, FuncRef, Module, Op, PathElem, Scalar, Type, TypeKind, Value};

const N: usize = 40;

/// Runs `build` on elements x and y of a type and an index that is sometimes out of range; its results are stored in
/// arrays of their own.
fn check(ty: Type, build: impl FnOnce(&mut Builder<'_>, Value, Value, Value) -> Vec<Value>) {
    let mut outs = Vec::new();
    let mut module = kernel(&[Type::array(ty, 1), Type::array(ty, 1), Type::array(Type::i64(), 1)], |b| {
        let at = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let [x, y, i] = [0, 1, 2].map(|p| b.load(b.param(p), &[at], &[], &[]));
        for result in build(b, x, y, i) {
            let array = Type::array(b.ty(result), 1);
            outs.push(b.ty(result));
            let body = b.func.body;
            let param = b.func.add_region_param(body, array);
            b.func.params.push(ir::Param { name: format!("out{}", outs.len()), ty: array });
            b.store(param, &[at], &[], &[], result);
        }
    });
    let mut random = Random(41);
    let mut next = |scalar: Scalar| random.scalar(scalar);
    let mut arrays = vec![Elements::fill(ty, N, &mut next), Elements::fill(ty, N, &mut next)];
    let (mut i, n) = (0, ty.n_components() as u64 + 3);
    arrays.push(Elements::fill(Type::i64(), N, |_| {
        i += 1;
        // From -1 past the last component.
        (i % n).wrapping_sub(1)
    }));
    arrays.extend(outs.iter().map(|&out| Elements::zeroed(out, N)));
    module.fast_math = false;
    compare(&module, &arrays, N as i64, &ty.to_string());
}

fn shapes(elem: Scalar) -> Vec<Type> {
    vec![
        Type::vector(elem, 2),
        Type::vector(elem, 3),
        Type::vector(elem, 17),
        Type::vector(elem, 100),
        Type::matrix(elem, 2, 2),
        Type::matrix(elem, 3, 5),
        Type::matrix(elem, 8, 8),
        Type::matrix(elem, 9, 10),
        Type::quat(elem),
        Type::transform(elem),
    ]
}

const ELEMENTS: [Scalar; 5] = [Scalar::F32, Scalar::F64, Scalar::F16, Scalar::I32, Scalar::U8];

#[test]
fn arithmetic_goes_component_by_component() {
    for elem in ELEMENTS {
        for ty in shapes(elem) {
            check(ty, |b, x, y, _| {
                let mut results = vec![b.binary(Op::Add, x, y), b.binary(Op::Mul, x, y), b.binary(Op::Min, x, y)];
                results.push(b.unary(Op::Neg, x));
                results.push(b.binary(Op::Mod, x, y));
                results.push(b.cast(x, Scalar::I16));
                results.push(b.cast(y, Scalar::F64));
                if elem.class() == Class::Float {
                    results.push(b.unary(Op::Sqrt, x));
                    results.push(b.push1(Op::Fma, &[x, y, x], Attr::None, ty));
                }
                results
            });
        }
    }
}

#[test]
fn components_by_constant_and_by_dynamic_index() {
    for elem in [Scalar::F32, Scalar::Bool, Scalar::BF16, Scalar::I64] {
        for ty in shapes(elem) {
            check(ty, |b, x, y, i| {
                let n = ty.n_components() as u32;
                let last = b.extract(x, n - 1);
                let mut results = vec![last, b.insert(y, last, 0), b.splat(ty, last)];
                let all: Vec<Value> = (0..n).rev().map(|i| b.extract(x, i)).collect();
                results.push(b.construct(ty, &all));
                let mut indices = vec![i];
                if let &TypeKind::Matrix { cols, .. } = ty.kind() {
                    let cols = b.int(Scalar::I64, i128::from(cols));
                    indices = vec![b.binary(Op::FloorDiv, i, cols), b.binary(Op::Mod, i, cols)];
                }
                results.push(b.push1(Op::ExtractDyn, &[&[x], &*indices].concat(), Attr::None, Type::scalar(elem)));
                results.push(b.push1(Op::InsertDyn, &[&[x, last], &*indices].concat(), Attr::None, ty));
                let far = b.compare(Op::Gt, i, indices[0]);
                results.push(b.select(far, x, y));
                results
            });
        }
    }
}

#[test]
fn dot_products_and_matrices() {
    for elem in [Scalar::F32, Scalar::F16, Scalar::F64, Scalar::I32] {
        for n in [1, 3, 16, 100] {
            check(Type::vector(elem, n), |b, x, y, _| vec![b.push1(Op::Dot, &[x, y], Attr::None, Type::scalar(elem))]);
        }
        for n in [2, 3, 7, 12] {
            check(Type::matrix(elem, n, n), |b, x, y, _| {
                let ty = b.ty(x);
                let row: Vec<Value> = (0..n).map(|i| b.extract(x, i)).collect();
                let vector = Type::vector(elem, n);
                let v = b.construct(vector, &row);
                let mut results = vec![b.push1(Op::MatMul, &[x, y], Attr::None, ty)];
                results.push(b.push1(Op::MatMul, &[x, v], Attr::None, vector));
                results.push(b.push1(Op::MatMul, &[v, x], Attr::None, vector));
                results.push(b.push1(Op::Transpose, &[x], Attr::None, ty));
                results
            });
        }
        for (rows, cols) in [(2, 3), (9, 10), (1, 70)] {
            check(Type::matrix(elem, rows, cols), |b, x, y, _| {
                let turned = b.push1(Op::Transpose, &[y], Attr::None, Type::matrix(elem, cols, rows));
                let square = b.push1(Op::MatMul, &[x, turned], Attr::None, Type::matrix(elem, rows, rows));
                vec![turned, square]
            });
        }
    }
}

#[test]
fn structs_and_tuples_nest() {
    let small = Type::structure("S", vec![("flag".into(), Type::bool()), ("v".into(), Type::vector(Scalar::F16, 3))]);
    let big = Type::structure(
        "B",
        vec![
            ("flag".into(), Type::bool()),
            ("m".into(), Type::matrix(Scalar::F32, 9, 9)),
            ("s".into(), small),
            ("t".into(), Type::tuple(vec![Type::i64(), Type::scalar(Scalar::U8)])),
        ],
    );
    for ty in [small, big] {
        check(ty, |b, x, y, i| {
            let n = ty.n_components() as u32;
            let mut results = Vec::new();
            let parts: Vec<Value> = (0..n).map(|i| b.extract(y, i)).collect();
            results.push(b.construct(ty, &parts));
            results.push(b.insert(x, parts[1], 1));
            results.push(b.insert(x, parts[0], 0));
            let zero = b.int(Scalar::I64, 5);
            let less = b.compare(Op::Lt, i, zero);
            results.push(b.select(less, x, y));
            results.extend(parts);
            results
        });
    }
}

#[test]
fn pieces_of_elements_by_path() {
    let matrix = Type::matrix(Scalar::F32, 9, 9);
    let inner = Type::structure("I", vec![("b".into(), Type::bool()), ("v".into(), Type::vector(Scalar::F64, 4))]);
    let ty = Type::structure("P", vec![("m".into(), matrix), ("i".into(), inner), ("n".into(), Type::i32())]);
    let array = Type::array(ty, 1);
    let module: Module = kernel(&[array, array, Type::array(Type::i64(), 1)], |b| {
        use PathElem::{Dynamic, Static};
        let at = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let (from, to) = (b.param(0), b.param(1));
        let (row, col) = (b.load(b.param(2), &[at], &[], &[]), b.int(Scalar::I64, 4));
        let entry = b.load(from, &[at], &[Static(0), Dynamic], &[row, col]);
        b.store(to, &[at], &[Static(0), Dynamic], &[col, row], entry);
        let component = b.load(from, &[at], &[Static(1), Static(1), Dynamic], &[row]);
        b.store(to, &[at], &[Static(1), Static(1), Static(2)], &[], component);
        let whole = b.load(from, &[at], &[Static(1)], &[]);
        let other = b.load(to, &[at], &[Static(1)], &[]);
        let flag = b.extract(other, 0);
        let mixed = b.insert(whole, flag, 0);
        b.store(to, &[at], &[Static(1)], &[], mixed);
        let large = b.load(from, &[at], &[Static(0)], &[]);
        let doubled = b.binary(Op::Add, large, large);
        b.store(from, &[at], &[Static(0)], &[], doubled);
        // What was loaded before the store stays what it was.
        let last = b.extract(large, 80);
        let last = b.cast(last, Scalar::I32);
        b.store(to, &[at], &[Static(2)], &[], last);
    });
    let mut random = Random(3);
    let mut next = |scalar| random.scalar(scalar);
    let mut arrays = vec![Elements::fill(ty, N, &mut next), Elements::fill(ty, N, &mut next)];
    let mut i = 0;
    arrays.push(Elements::fill(Type::i64(), N, |_| {
        i += 1;
        i % 4
    }));
    compare(&module, &arrays, N as i64, "paths");
}

#[test]
fn large_products_stay_loops() {
    let ty = Type::matrix(Scalar::F32, 12, 12);
    let module = kernel(&[Type::array(ty, 1); 3], |b| {
        let at = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let [x, y] = [0, 1].map(|p| b.load(b.param(p), &[at], &[], &[]));
        let product = b.push1(Op::MatMul, &[x, y], Attr::None, ty);
        b.store(b.param(2), &[at], &[], &[], product);
    });
    let text = codegen::llvm_text(&module, ir::FuncRef(0), &Default::default(), false).unwrap();
    assert!(text.lines().count() < 200, "{text}");
}

/// LLVM takes a vector of 48 numbers apart, number by number, where it goes from one block to another.
#[test]
fn elements_of_three_go_to_either_kind_of_store_in_whole_vectors() {
    let module: Module = ir::parse::parse_module(
        "kernel @k(v0: array<vec<f32, 3>, 1>, v1: array<vec<f32, 3>, 1>) {
           v2: i64 = tid 0
           v3: vec<f32, 3> = load v0[v2]
           v4: vec<f32, 3> = add v3, v3
           store v1[v2], v4
           return
         }",
    )
    .unwrap();
    let options = CpuOptions { contiguous: true, gang: Gang::Width(16), ..CpuOptions::default() };
    let text = codegen::llvm_text(&module, FuncRef(0), &options, true).unwrap();
    let is_past = |line: &&str| line.contains("store <16 x float>") && line.contains("align 64, !nontemporal");
    assert_eq!(text.lines().filter(is_past).count(), 3, "{text}");
    assert!(!text.contains("store <48 x float>"), "{text}");
}
