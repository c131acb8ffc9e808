//! Gangs: every class of access and branch against the interpreter, and what becomes of the kernels that matter.

use crate::differential::{Elements, Random, compare};
use codegen::{CpuOptions, Gang, Isa};
use ir::{FuncRef, LeafKind, Module, Scalar, Type};

const N: usize = 150;

/// Runs a kernel over arrays of random contents: small integers, any float.
pub(crate) fn check(text: &str) {
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let mut random = Random(0x5eed);
    let arrays: Vec<Elements> = module.funcs[0]
        .params
        .iter()
        .map(|param| {
            let (elem, _) = param.ty.as_array().expect("arrays only");
            Elements::fill(elem, N, |scalar| {
                if scalar.is_float() {
                    random.scalar(scalar)
                } else {
                    random.below(N as u64) & (u64::MAX >> (64 - scalar.bits()))
                }
            })
        })
        .collect();
    compare(&module, &arrays, N as i64, text);
    let options = CpuOptions { gang: Gang::Width(16), ..CpuOptions::default() };
    let notes = codegen::explain(&module, FuncRef(0), &options);
    assert!(notes[0].text.starts_with("runs 16 threads"), "{notes:?}\n{text}");
}

#[test]
fn a_guard_over_the_index() {
    check(
        "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: i32 = cast v2
           v4: i32 = const 0
           v5: bool = gt v3, v4
           v6: i32 = const 140
           v7: bool = lt v3, v6
           v8: bool = and v5, v7
           if v8 {
             v9: i32 = const -1
             v10: i32 = add v3, v9
             v11: i64 = cast v10
             v12: i64 = wrap_index v0, v11 {0}
             v13: f32 = load v0[v12]
             v14: i32 = const 1
             v15: i32 = add v3, v14
             v16: i64 = cast v15
             v17: f32 = load v0[v16]
             v18: f32 = add v13, v17
             store v1[v2], v18
             yield
           } else {
             v19: f32 = load v0[v2]
             store v1[v2], v19
             yield
           }
           return
         }",
    );
}

#[test]
fn negative_indices_count_from_the_end() {
    for distance in [-5, -17, -149] {
        check(&format!(
            "kernel @k(v0: array<f64, 1>, v1: array<f64, 1>) {{
               v2: i64 = tid 0
               v3: i64 = const {distance}
               v4: i64 = add v2, v3
               v5: i64 = wrap_index v0, v4 {{0}}
               v6: f64 = load v0[v5]
               store v1[v2], v6
               return
             }}"
        ));
    }
}

#[test]
fn an_index_that_wraps_within_a_gang() {
    check(
        "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: u8 = cast v2
           v4: u8 = const 119
           v5: u8 = add v3, v4
           v6: i64 = cast v5
           v7: i64 = const 150
           v8: i64 = mod v6, v7
           v9: f32 = load v0[v8]
           v10: i64 = const 119
           v11: bool = lt v6, v10
           if v11 {
             v12: f32 = load v0[v6]
             store v1[v2], v12
             yield
           } else {
             store v1[v2], v9
             yield
           }
           return
         }",
    );
}

#[test]
fn vectors_and_pieces_of_structs() {
    check(
        "kernel @k(v0: array<vec<f32, 3>, 1>, v1: array<vec<f32, 3>, 1>, v2: array<struct S<a: f32, b: vec<i32, 2>>, 1>, v3: array<vec<f64, 2>, 1>) {
           v4: i64 = tid 0
           v5: vec<f32, 3> = load v0[v4]
           v6: vec<f32, 3> = load v1[v4]
           v7: vec<f32, 3> = mul v5, v6
           store v0[v4], v7
           v8: i32 = load v2[v4].1.0
           v9: f32 = load v2[v4].0
           v10: f32 = cast v8
           v11: f32 = add v9, v10
           store v2[v4].0, v11
           v12: struct S<a: f32, b: vec<i32, 2>> = load v2[v4]
           v13: struct S<a: f32, b: vec<i32, 2>> = insert v12, v9 {0}
           v14: f64 = load v3[v4].1
           store v3[v4].0, v14
           v15: bool = lt v9, v10
           if v15 {
             store v2[v4], v13
             store v1[v4], v5
             v16: vec<f32, 3> = load v0[v4]
             store v0[v4], v16
             yield
           }
           return
         }",
    );
}

#[test]
fn strides_gathers_and_scatters() {
    check(
        "kernel @k(v0: array<i32, 1>, v1: array<f32, 1>, v2: array<f32, 1>, v3: array<bool, 1>, v4: array<f32, 1>) {
           v5: i64 = tid 0
           v6: i64 = const 2
           v7: i64 = const 75
           v8: bool = lt v5, v7
           if v8 {
             v9: i64 = mul v5, v6
             v10: f32 = load v1[v9]
             store v2[v9], v10
             yield
           }
           v11: i32 = load v0[v5]
           v12: i64 = cast v11
           v13: f32 = load v1[v12]
           v14: i64 = const 149
           v15: i64 = sub v14, v5
           store v4[v15], v13
           v16: bool = load v3[v5]
           v17: bool = not v16
           store v3[v5], v17
           return
         }",
    );
}

#[test]
fn one_address_for_all() {
    check(
        "kernel @k(v0: array<i32, 1>, v1: array<f64, 1>, v2: array<i64, 1>, v3: array<u32, 1>) {
           v4: i64 = tid 0
           v5: i64 = const 3
           v6: i32 = load v0[v4]
           v7: f64 = cast v6
           store v1[v5], v7
           v8: i32 = const 70
           v9: bool = lt v6, v8
           v10: i64 = cast v6
           v11: i64 = atomic add v2[v5], v10
           v12: u32 = cast v6
           if v9 {
             v13: i64 = const 5
             store v1[v13], v7
             v14: u32 = atomic max v3[v5], v12
             v15: i64 = const 6
             v16: u32 = atomic min v3[v15], v12
             v17: f64 = atomic add v1[v15], v7
             v18: u32 = atomic exchange v3[v13], v12
             store v3[v4], v18
             yield
           }
           return
         }",
    );
}

#[test]
fn loops_that_lanes_leave_apart() {
    check(
        "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>) {
           v2: i64 = tid 0
           v3: i32 = load v0[v2]
           v4: i32 = const 0
           v5: i32 = const 1
           v6: i32 = const 3
           v7: i32 = const 40
           v8: i32, v9: i32 = for v10: i32 = v4 to v3 step v6 with (v11: i32 = v4, v12: i32 = v3) {
             v13: i32 = add v11, v10
             v14: bool = gt v13, v7
             if v14 {
               v15: i32 = rem v13, v6
               v16: bool = eq v15, v4
               if v16 {
                 break v13, v10
               } else {
                 yield
               }
               continue v15, v12
             } else {
               yield
             }
             v17: i32 = add v12, v5
             continue v13, v17
           }
           v18: i32 = mul v8, v7
           v19: i32 = add v18, v9
           v20: i32 = loop (v21: i32 = v19) {
             v22: bool = lt v21, v7
             if v22 {
               break v21
             } else {
               yield
             }
             v23: i32 = div v21, v6
             continue v23
           }
           v24: i32 = add v19, v20
           store v1[v2], v24
           return
         }",
    );
}

#[test]
fn early_returns() {
    check(
        "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: i64 = const 131
           v4: bool = ge v2, v3
           if v4 {
             return
           } else {
             yield
           }
           v5: f32 = load v0[v2]
           v6: f32 = const 1.0
           v7: bool = lt v5, v6
           if v7 {
             store v1[v2], v6
             return
           } else {
             yield
           }
           store v1[v2], v5
           return
         }",
    );
}

#[test]
fn matrices_and_other_elements_of_many_scalars() {
    for elem in ["mat<f32, 3, 3>", "mat<f32, 2, 3>", "vec<f64, 5>", "mat<f32, 4, 4>", "vec<i32, 7>"] {
        check(&format!(
            "kernel @k(v0: array<{elem}, 1>, v1: array<{elem}, 1>, v2: array<bool, 1>) {{
               v3: i64 = tid 0
               v4: {elem} = load v0[v3]
               v5: {elem} = load v1[v3]
               v6: {elem} = add v4, v5
               store v0[v3], v6
               v7: bool = load v2[v3]
               if v7 {{
                 v8: {elem} = load v1[v3]
                 v9: {elem} = sub v8, v6
                 store v1[v3], v9
                 yield
               }}
               return
             }}"
        ));
    }
}

#[test]
fn a_counter_that_meets_the_threads() {
    // Below the first thread, among them, and past the last; as `!=` and as `==` with an early `continue`.
    for (lo, hi) in [(0, 150), (20, 100), (-7, 40), (140, 300), (9, 9)] {
        check(&format!(
            "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>, v2: array<i32, 1>) {{
               v3: i64 = tid 0
               v4: i32 = cast v3
               v5: i32 = load v0[v3]
               v6: i32 = const {lo}
               v7: i32 = const {hi}
               v8: i32 = const 1
               v9: i32 = for v10: i32 = v6 to v7 step v8 with (v11: i32 = v5) {{
                 v12: bool = ne v10, v4
                 v13: i32 = if v12 {{
                   v14: i32 = mul v11, v5
                   v15: i32 = add v14, v10
                   v16: i32 = xor v15, v11
                   yield v16
                 }} else {{
                   yield v11
                 }}
                 continue v13
               }}
               store v1[v3], v9
               v20: i32 = for v21: i32 = v6 to v7 step v8 with (v22: i32 = v5) {{
                 v23: bool = eq v4, v21
                 if v23 {{
                   v24: i32 = add v22, v8
                   continue v24
                 }} else {{
                   yield
                 }}
                 v25: i32 = mul v22, v5
                 v26: i32 = add v25, v21
                 v27: i32 = xor v26, v22
                 continue v27
               }}
               store v2[v3], v20
               return
             }}"
        ));
    }
}

#[test]
fn large_launches_store_whole_lines_past_the_caches() {
    let mut module: Module = ir::parse::parse_module(include_str!("../../examples/gangs.ir")).unwrap();
    module.funcs.retain(|func| func.name == "jacobi");
    let text = |width| {
        let options = CpuOptions { contiguous: true, rank: 2, gang: Gang::Width(width), ..CpuOptions::default() };
        codegen::llvm_text(&module, FuncRef(0), &options, true).unwrap()
    };
    let whole = text(16);
    assert!(whole.contains("align 64, !nontemporal") && whole.contains("@llvm.x86.sse.sfence"), "{whole}");
    assert!(!text(8).contains("!nontemporal"));
    // In place: the line is in the cache already.
    assert!(!optimized("saxpy", 1).contains("!nontemporal"));
}

/// A kernel of the benchmark, as the machine would run it in gangs of 8.
fn optimized(name: &str, rank: u32) -> String {
    let mut module: Module = ir::parse::parse_module(include_str!("../../examples/gangs.ir")).unwrap();
    module.funcs.retain(|func| func.name == name);
    let options = CpuOptions { contiguous: true, rank, gang: Gang::Width(8), ..CpuOptions::default() };
    codegen::llvm_text(&module, FuncRef(0), &options, true).unwrap()
}

#[test]
fn the_kernels_that_matter_use_wide_accesses_without_masks() {
    for (name, rank, accesses) in [
        ("saxpy", 1, &["load <8 x float>", "store <8 x float>"][..]),
        ("stencil", 1, &["load <8 x float>", "store <8 x float>"]),
        ("jacobi", 2, &["load <8 x float>", "store <8 x float>"]),
        ("particles", 1, &["store <24 x float>"]),
        ("nbody", 1, &["store <24 x float>", "fdiv <8 x float>", "@llvm.sqrt.v8f32"]),
    ] {
        let text = optimized(name, rank);
        for fragment in accesses {
            assert!(text.contains(fragment), "{name}: no `{fragment}`\n{text}");
        }
        assert!(name == "stencil" || name == "jacobi" || !text.contains("call <8 x float> @llvm.masked"), "{text}");
    }
}

#[test]
fn three_components_come_in_pieces_where_shuffles_are_short() {
    let mut module: Module = ir::parse::parse_module(include_str!("../../examples/gangs.ir")).unwrap();
    module.funcs.retain(|func| func.name == "particles");
    let options = CpuOptions { contiguous: true, gang: Gang::Width(8), isa: Isa::Baseline, ..CpuOptions::default() };
    let text = codegen::llvm_text(&module, FuncRef(0), &options, true).unwrap();
    assert!(text.contains("load <4 x float>") && !text.contains("load <24 x float>"), "{text}");
}

#[test]
fn what_only_some_machines_gain_by() {
    let is_wide_intel = codegen::host_target()[3].contains("roots");
    for isa in [Isa::Host, Isa::Baseline] {
        let text = |name: &str| {
            let mut module: Module = ir::parse::parse_module(include_str!("../../examples/gangs.ir")).unwrap();
            module.funcs.retain(|func| func.name == name);
            let options = CpuOptions { contiguous: true, gang: Gang::Width(16), isa, ..CpuOptions::default() };
            codegen::llvm_text(&module, FuncRef(0), &options, true).unwrap()
        };
        let gains = is_wide_intel && isa == Isa::Host;
        assert_eq!(text("nbody").contains("rsqrt14"), gains);
        // Six lines, each once.
        let hints = if gains { 6 } else { 0 };
        assert_eq!(text("particles").matches("call void @llvm.prefetch").count(), hints);
        assert!(!text("saxpy").contains("@llvm.prefetch"));
    }
}

const SEGMENTS: &str = "kernel @segments(v0: array<i32, 1>, v1: array<f32, 1>, v2: array<f32, 1>) {
       v3: i64 = tid 0
       v4: i64 = const 1
       v5: i64 = add v3, v4
       v6: i32 = load v0[v3]
       v7: i32 = load v0[v5]
       v8: i32 = const 1
       v9: f32 = const 0.0
       v10: f32 = for v11: i32 = v6 to v7 step v8 with (v12: f32 = v9) {
         v13: i64 = cast v11
         v16: i64 = wrap_index v1, v13 {0}
         v14: f32 = load v1[v16]
         v15: f32 = add v12, v14
         continue v15
       }
       store v2[v3], v10
       return
     }";

#[test]
fn lone_threads_test_no_index_and_run_round_by_round() {
    let module = ir::parse::parse_module(SEGMENTS).unwrap();
    let options = CpuOptions { contiguous: true, isa: Isa::Baseline, ..CpuOptions::default() };
    let text = codegen::assembly(&module, FuncRef(0), &options).unwrap();
    // One addition a round, in the loop below zero and in the one from there.
    assert_eq!(text.matches("addss").count(), 2, "{text}");
}

#[test]
fn what_gangs_would_do_slower_stays_scalar() {
    let module = ir::parse::parse_module(SEGMENTS).unwrap();
    let options = CpuOptions { isa: Isa::Baseline, ..CpuOptions::default() };
    let notes = codegen::explain(&module, FuncRef(0), &options);
    assert_eq!(notes.len(), 1);
    assert!(notes[0].text.contains("a loop that threads leave apart would gather"), "{notes:?}");
}

#[test]
fn explain_names_each_access_and_branch() {
    let mut module: Module = ir::parse::parse_module(include_str!("../../examples/gangs.ir")).unwrap();
    module.funcs.retain(|func| func.name == "nbody");
    let options = CpuOptions { gang: Gang::Width(16), ..CpuOptions::default() };
    let notes = codegen::explain(&module, FuncRef(0), &options);
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "runs 16 threads at a time as lanes of vectors",
            "load: unit stride",
            "loop: uniform",
            "branch: the first and the last lane tell whether all or none take it, arms under masks where not",
            "load: uniform, masked where lanes part",
            "store: unit stride",
        ]
    );
}

#[test]
fn every_element_type_as_neighbors() {
    for scalar in Scalar::ALL {
        for elem in [Type::scalar(scalar), Type::vector(scalar, 2), Type::vector(scalar, 3), Type::vector(scalar, 4)] {
            assert!(elem.leaves().iter().all(|leaf| matches!(leaf.kind, LeafKind::Scalar(_))));
            check(&format!(
                "kernel @k(v0: array<{elem}, 1>, v1: array<{elem}, 1>, v2: array<bool, 1>) {{
                   v3: i64 = tid 0
                   v4: {elem} = load v0[v3]
                   v5: bool = load v2[v3]
                   if v5 {{
                     store v1[v3], v4
                     yield
                   }}
                   return
                 }}"
            ));
        }
    }
}
