//! Quotients and rests of a thread's index: gangs end where they change.

use crate::gangs::check;
use codegen::{CpuOptions, Gang};
use ir::FuncRef;

/// A kernel that has y and x of a flat index by a number that is `less` below the arrays' 150 elements.
fn flat(less: i32, ops: [&str; 2], index: &str) -> String {
    let [quotient, rest] = ops;
    format!(
        "kernel @flat(v0: array<f32, 1>, v1: array<f32, 1>, v2: array<i32, 1>) {{
           v3: i64 = tid 0
           v4: i32 = cast v3
           v5: i64 = extent v0 {{0}}
           v6: i32 = cast v5
           v7: i32 = const {less}
           v8: i32 = sub v6, v7
           {index}
           v10: i32 = {quotient} v9, v8
           v11: i32 = {rest} v9, v8
           v12: i32 = const 0
           v13: bool = gt v11, v12
           if v13 {{
             v14: i32 = const -1
             v15: i32 = add v11, v14
             v16: i64 = cast v15
             v17: i64 = wrap_index v0, v16 {{0}}
             v18: f32 = load v0[v17]
             store v1[v3], v18
             yield
           }}
           v19: i32 = mul v10, v8
           v20: i32 = add v19, v11
           store v2[v3], v20
           return
         }}"
    )
}

const FLOOR: [&str; 2] = ["floordiv", "mod"];
const TRUNCATED: [&str; 2] = ["div", "rem"];

#[test]
fn two_indices_of_a_flat_one() {
    // From rows of many gangs to rows of one thread.
    for less in [0, 50, 110, 117, 118, 119, 133, 141, 147, 149] {
        for ops in [FLOOR, TRUNCATED] {
            check(&flat(less, ops, "v21: i32 = const 0\n v9: i32 = add v4, v21"));
        }
    }
}

#[test]
fn indices_that_begin_below_zero_or_grow_by_more() {
    for less in [0, 50, 117, 141, 149] {
        // Rests toward minus infinity alone are indices of an array there.
        check(&flat(less, FLOOR, "v21: i32 = const 20\n v9: i32 = sub v4, v21"));
        for ops in [FLOOR, TRUNCATED] {
            check(&flat(less, ops, "v21: i32 = const 3\n v9: i32 = mul v4, v21"));
            check(&flat(less, ops, "v21: i32 = const 7\n v9: i32 = add v4, v21"));
        }
    }
}

#[test]
fn divisors_of_which_there_are_no_rows() {
    // 0 and below: a quotient of 0, and any rest.
    let text = |less: i32, ops: [&str; 2], scalar: &str| {
        let [quotient, rest] = ops;
        format!(
            "kernel @none(v0: array<{scalar}, 1>, v1: array<{scalar}, 1>) {{
               v2: i64 = tid 0
               v3: {scalar} = cast v2
               v4: i64 = extent v0 {{0}}
               v5: i64 = const {less}
               v6: i64 = sub v4, v5
               v7: {scalar} = cast v6
               v8: {scalar} = {quotient} v3, v7
               v9: {scalar} = {rest} v3, v7
               store v0[v2], v8
               store v1[v2], v9
               return
             }}"
        )
    };
    for less in [150, 151, 200] {
        for ops in [FLOOR, TRUNCATED] {
            for scalar in ["i32", "u32", "i64", "u64"] {
                check(&text(less, ops, scalar));
            }
        }
    }
}

#[test]
fn dividends_that_wrap_within_a_row() {
    for start in ["2147483600", "-2147483648"] {
        for ops in [FLOOR, TRUNCATED] {
            let [quotient, rest] = ops;
            check(&format!(
                "kernel @wraps(v0: array<i32, 1>, v1: array<i32, 1>) {{
                   v2: i64 = tid 0
                   v3: i32 = cast v2
                   v4: i32 = const {start}
                   v5: i32 = add v3, v4
                   v6: i64 = extent v0 {{0}}
                   v7: i32 = cast v6
                   v8: i32 = {quotient} v5, v7
                   v9: i32 = {rest} v5, v7
                   store v0[v2], v8
                   store v1[v2], v9
                   return
                 }}"
            ));
        }
    }
}

#[test]
fn three_indices_by_masks_and_shifts() {
    check(
        "kernel @cube(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: i64 = const 63
           v4: i64 = const 6
           v5: i64 = and v2, v3
           v6: i64 = shr v2, v4
           v7: f32 = load v0[v5]
           v8: f32 = load v0[v6]
           v9: f32 = add v7, v8
           store v1[v2], v9
           return
         }",
    );
}

#[test]
fn a_flat_index_reaches_whole_rows_at_once() {
    let text = flat(0, TRUNCATED, "v21: i32 = const 0\n v9: i32 = add v4, v21");
    let module = ir::parse::parse_module(&text).unwrap_or_else(|error| panic!("{error:?}"));
    let options = CpuOptions { gang: Gang::Width(16), ..CpuOptions::default() };
    let notes = codegen::explain(&module, FuncRef(0), &options);
    let says = |text: &str| notes.iter().any(|note| note.text.contains(text));
    assert!(says("gangs end where a quotient of the index changes") && says("load: unit stride"), "{notes:?}");
    assert!(!says("gather"), "{notes:?}");
}
