//! Local arrays in gangs: every lane has its own, whatever is stored where.

use crate::gangs::check;

#[test]
fn lanes_store_to_elements_of_their_own_choice() {
    check(
        "kernel @k(v0: array<i64, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: array<struct S<a: f32, b: vec<u8, 2>, c: f64>, 2> = local_array {3, 4}
           v4: i64 = load v0[v2]
           v5: i64 = const 3
           v6: i64 = and v4, v5
           v7: i64 = const 1
           v8: i64 = and v4, v7
           v9: f32 = load v1[v2]
           store v3[v7, v6].0, v9
           v10: u8 = cast v4
           store v3[v8, v7].1.?v8, v10
           v11: f64 = cast v9
           store v3[v7, v7].2, v11
           v12: array<struct S<a: f32, b: vec<u8, 2>, c: f64>, 1> = row v3, v7 {0}
           v13: i64 = const -1
           v14: i64 = const 4
           v15: array<struct S<a: f32, b: vec<u8, 2>, c: f64>, 1> = subarray v12, v5, v14, v13 {0}
           v16: f32 = load v15[v6].0
           v17: f32 = load v12[v6].0
           v18: u8 = load v3[v8, v7].1.0
           v19: f32 = cast v18
           v20: struct S<a: f32, b: vec<u8, 2>, c: f64> = load v12[v7]
           v21: f64 = extract v20 {2}
           v22: f32 = cast v21
           v23: f32 = add v16, v17
           v24: f32 = add v19, v22
           v25: f32 = sub v23, v24
           store v1[v2], v25
           return
         }",
    );
}

#[test]
fn lanes_that_are_off_keep_what_they_have() {
    check(
        "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>) {
           v2: i64 = tid 0
           v3: i64 = const 0
           v4: i64 = const 1
           v5: i64 = const 6
           v6: array<i32, 1> = local_array {6}
           v7: i32 = load v0[v2]
           v8: i32 = const 5
           v9: i32 = rem v7, v8
           for v10: i64 = v3 to v5 step v4 {
             v11: i32 = cast v10
             v12: array<i32, 1> = local_array {2}
             store v12[v4], v7
             v13: bool = gt v11, v9
             if v13 {
               break
             } else {
               yield
             }
             v14: bool = eq v11, v9
             if v14 {
               store v6[v10], v7
               yield
             } else {
               v15: i32 = load v12[v3]
               v16: i32 = load v12[v4]
               store v12[v3], v16
               v17: i32 = load v12[v3]
               v18: i32 = add v15, v17
               v19: i32 = add v18, v11
               store v6[v10], v19
               yield
             }
             continue
           }
           v20: i32 = for v21: i64 = v3 to v5 step v4 with (v22: i32 = v8) {
             v23: i32 = load v6[v21]
             v24: i32 = mul v22, v8
             v25: i32 = add v24, v23
             continue v25
           }
           store v1[v2], v20
           return
         }",
    );
}

#[test]
fn what_all_lanes_hold_alike_is_kept_once() {
    let text = "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>) {
           v2: i64 = tid 0
           v3: i64 = const 0
           v4: i64 = const 1
           v5: i64 = const 8
           v6: array<i64, 1> = local_array {8}
           v7: array<f32, 1> = local_array {8}
           for v8: i64 = v3 to v5 step v4 {
             v9: i64 = mul v8, v8
             store v6[v8], v9
             v10: i64 = add v8, v2
             v11: i64 = const 128
             v12: i64 = rem v10, v11
             v13: f32 = load v0[v12]
             store v7[v8], v13
             continue
           }
           v14: f32 = load v0[v2]
           v15: f32 = for v16: i64 = v3 to v5 step v4 with (v17: f32 = v14) {
             v18: i64 = load v6[v16]
             v19: i64 = rem v18, v5
             v20: f32 = load v7[v19]
             v21: f32 = add v17, v20
             continue v21
           }
           store v1[v2], v15
           return
         }";
    check(text);
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    let lanes = analysis::uniformity(&module.funcs[0], 0);
    // The round's square is the same number in all lanes, read back or not.
    assert!(lanes.is_uniform(ir::Value(18)) && !lanes.is_uniform(ir::Value(20)));
}
