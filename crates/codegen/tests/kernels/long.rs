//! Long kernels: one body for all gangs, and one function for what they do again and again.

use crate::differential::{Elements, Random, compare};
use codegen::{CpuOptions, Gang};
use ir::{FuncRef, Module, Type};
use std::fmt::Write;

/// `n` sines in a row, each of what the one before gave, and a loop whose rounds differ from thread to thread.
fn sines(n: u32) -> Module {
    let mut text = String::from(
        "kernel @k(v0: array<f32, 1>, v1: array<i32, 1>, v2: array<f32, 1>) {
           v3: i64 = tid 0
           v4: f32 = load v0[v3]
           v5: i32 = load v1[v3]
           v6: i32 = const 0
           v7: i32 = const 1
           v8: f32 = for v9: i32 = v6 to v5 step v7 with (v10: f32 = v4) {
             v11: f32 = add v10, v4
             continue v11
           }
           v12: f32 = const 7000.0
           v20: f32 = add v8, v4
        ",
    );
    for k in (0..n).map(|k| 20 + 2 * k) {
        let _ = writeln!(text, "v{}: f32 = mul v{k}, v12\n v{}: f32 = sin v{}", k + 1, k + 2, k + 1);
    }
    let _ = writeln!(text, "store v2[v3], v{}\n return }}", 20 + 2 * n);
    let mut module = ir::parse::parse_module(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    transform::optimize(&mut module);
    module
}

fn check(module: &Module) {
    let mut random = Random(0x5eed);
    // From tiny to beyond what one step reduces.
    let x = Elements::fill(Type::scalar(ir::Scalar::F32), 150, |scalar| random.scalar(scalar));
    let rounds = Elements::fill(Type::i32(), 150, |_| random.below(4));
    compare(module, &[x, rounds, Elements::zeroed(Type::scalar(ir::Scalar::F32), 150)], 150, "sines");
}

fn llvm(module: &Module, gang: Gang) -> String {
    let options = CpuOptions { contiguous: true, gang, ..CpuOptions::default() };
    codegen::llvm_text(module, FuncRef(0), &options, true).unwrap()
}

#[test]
fn the_rare_arm_of_two_sines_is_one_function() {
    let module = sines(2);
    check(&module);
    for (gang, arm) in [(Gang::Off, "define private"), (Gang::Masked(8), "define private")] {
        let text = llvm(&module, gang);
        assert_eq!(text.matches(arm).count(), 1, "{text}");
        assert_eq!(text.matches("@arm(").count(), 3, "{text}");
    }
    assert!(!llvm(&sines(1), Gang::Off).contains("@arm("));
}

#[test]
fn a_long_kernel_is_compiled_for_gangs_alone() {
    let module = sines(20);
    check(&module);
    let notes = codegen::explain(&module, FuncRef(0), &CpuOptions::default());
    if !notes[0].text.starts_with("runs") {
        // Vectors of this machine are too short.
        return;
    }
    assert!(notes[0].text.contains("masked"), "{notes:?}");
    let text = llvm(&module, Gang::Auto);
    assert!(text.contains("@llvm.masked.store") && !text.contains("store float"), "{text}");
    // A short one has both.
    let text = llvm(&sines(1), Gang::Auto);
    assert!(!text.contains("@llvm.masked.store") && text.contains("store float"), "{text}");
}

#[test]
fn a_big_matrix_that_is_filled_is_not_copied_for_each_component() {
    let mut text = String::from(
        "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: f32 = load v0[v2]
           v4: f32 = const 0.5
           v20: mat<f32, 9, 9> = splat v4
           v5: i64 = const 3
           v6: mat<f32, 9, 9> = insert_dyn v20, v3, v5, v2
        ",
    );
    // The first is looked at again, so that it must stay; so must one that a loop starts from in each round.
    for k in 0..40 {
        let from = if k == 0 { "v6".into() } else { format!("v{}", 99 + k) };
        let _ = writeln!(text, "v{}: mat<f32, 9, 9> = insert {from}, v3 {{{}}}", 100 + k, 2 * k);
    }
    text.push_str(
        "  v7: f32 = extract v6 {0}
           v8: f32 = extract v139 {78}
           v9: f32 = add v7, v8
           v10: i32 = const 0
           v11: i32 = const 3
           v12: i32 = const 1
           v13: f32 = for v14: i32 = v10 to v11 step v12 with (v15: f32 = v9) {
             v16: i64 = cast v14
             v17: f32 = extract_dyn v139, v16, v16
             v18: mat<f32, 9, 9> = insert_dyn v139, v15, v16, v16
             v19: f32 = extract_dyn v18, v5, v16
             v21: f32 = add v17, v19
             v22: f32 = add v15, v21
             continue v22
           }
           store v1[v2], v13
           return }",
    );
    let module = ir::parse::parse_module(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let f32 = Type::scalar(ir::Scalar::F32);
    let mut random = Random(0x5eed);
    let x = Elements::fill(f32, 9, |scalar| random.scalar(scalar));
    compare(&module, &[x, Elements::zeroed(f32, 9)], 9, "a big matrix");
    let options = CpuOptions { contiguous: true, ..CpuOptions::default() };
    let text = codegen::llvm_text(&module, FuncRef(0), &options, false).unwrap();
    // To the one that is filled, and to the loop's.
    assert_eq!(text.matches("call void @llvm.memcpy").count(), 2, "{text}");
}
