//! What constructs of C become.

use super::{ir, ir_of};
use frontend::Options;
use insta::assert_snapshot;

#[test]
fn a_pointer_is_an_array_and_an_offset() {
    assert_snapshot!(ir("const float* x, float* y, int i", "const float* p = x + i; y[i] = *p; p++; y[0] = p[2];"), @r"
    v3: i64 = const 0
    v4: i64 = const 0
    v5: i64 = cast v2
    v6: f32 = load v0[v5]
    v7: i64 = cast v2
    store v1[v7], v6
    v8: i32 = const 1
    v9: i64 = const 1
    v10: i64 = add v5, v9
    v11: i32 = const 2
    v12: i64 = const 2
    v13: i64 = add v10, v12
    v14: f32 = load v0[v13]
    v15: i32 = const 0
    v16: i64 = const 0
    store v1[v16], v14
    ");
}

#[test]
fn numbers_are_promoted_as_in_c() {
    assert_snapshot!(ir("float* y, char c, unsigned int u, int i", "y[0] = c * 2 + u / i + 0.5;"), @r"
    v4: i64 = const 0
    v5: i32 = const 2
    v6: i32 = cast v1
    v7: i32 = mul v6, v5
    v8: u32 = cast v3
    v9: u32 = div v2, v8
    v10: u32 = cast v7
    v11: u32 = add v10, v9
    v12: f64 = const 0.5
    v13: f64 = cast v11
    v14: f64 = add v13, v12
    v15: i32 = const 0
    v16: i64 = const 0
    v17: f32 = cast v14
    store v0[v16], v17
    ");
}

#[test]
fn a_loop_with_a_fixed_end_is_counted() {
    assert_snapshot!(
        ir("const float* x, float* y, int n", "float s = 0; for (int i = 0; i < n; i++) s += x[i]; y[0] = s;"), @r"
    v3: i64 = const 0
    v4: i64 = const 0
    v5: i32 = const 0
    v6: f32 = const 0.0
    v7: i32 = const 0
    v8: i32 = const 1
    v14: f32 = for v9: i32 = v7 to v2 step v8 with (v10: f32 = v6) {
      v11: i64 = cast v9
      v12: f32 = load v0[v11]
      v13: f32 = add v10, v12
      continue v13
    }
    v15: i32 = const 0
    v16: i64 = const 0
    store v1[v16], v14
    ");
}

#[test]
fn a_loop_whose_end_changes_is_not_counted() {
    assert_snapshot!(ir("int* y, int n", "for (int i = 0; i < n; i++) { n -= 1; } y[0] = n;"), @r"
    v2: i64 = const 0
    v3: i32 = const 0
    v11: i32, v12: i32 = loop (v4: i32 = v1, v5: i32 = v3) {
      v6: bool = lt v5, v4
      if v6 {
        yield
      } else {
        break v4, v5
      }
      v7: i32 = const 1
      v8: i32 = sub v4, v7
      v9: i32 = const 1
      v10: i32 = add v5, v9
      continue v8, v10
    }
    v13: i32 = const 0
    v14: i64 = const 0
    store v0[v14], v11
    ");
}

#[test]
fn continue_runs_the_step() {
    assert_snapshot!(ir("int* y", "int s = 0; for (int i = 0; i != 9; i++) { if (i & 1) continue; s += i; } y[0] = s;"), @r"
    v1: i64 = const 0
    v2: i32 = const 0
    v3: i32 = const 0
    v17: i32, v18: i32 = loop (v4: i32 = v2, v5: i32 = v3) {
      v6: i32 = const 9
      v7: bool = ne v5, v6
      if v7 {
        yield
      } else {
        break v4, v5
      }
      v8: i32 = const 1
      v9: i32 = and v5, v8
      v10: i32 = const 0
      v11: bool = ne v9, v10
      if v11 {
        v12: i32 = const 1
        v13: i32 = add v5, v12
        continue v4, v13
      }
      v14: i32 = add v4, v5
      v15: i32 = const 1
      v16: i32 = add v5, v15
      continue v14, v16
    }
    v19: i32 = const 0
    v20: i64 = const 0
    store v0[v20], v17
    ");
}

#[test]
fn a_case_that_falls_through_is_written_in_both() {
    assert_snapshot!(
        ir("int* y, int c", "int r = 0; switch (c) { case 1: r += 1; case 2: r += 2; break; default: r = 9; } y[0] = r;"),
        @r"
    v2: i64 = const 0
    v3: i32 = const 0
    v4: i32 = const 1
    v5: bool = eq v1, v4
    v16: i32 = if v5 {
      v6: i32 = const 1
      v7: i32 = add v3, v6
      v8: i32 = const 2
      v9: i32 = add v7, v8
      yield v9
    } else {
      v10: i32 = const 2
      v11: bool = eq v1, v10
      v15: i32 = if v11 {
        v12: i32 = const 2
        v13: i32 = add v3, v12
        yield v13
      } else {
        v14: i32 = const 9
        yield v14
      }
      yield v15
    }
    v17: i32 = const 0
    v18: i64 = const 0
    store v0[v18], v16
    ");
}

#[test]
fn the_second_side_of_and_runs_where_it_decides() {
    assert_snapshot!(ir("const int* x, int* y, int n", "if (n > 0 && x[n] > 1) y[0] = 1;"), @r"
    v3: i64 = const 0
    v4: i64 = const 0
    v5: i32 = const 0
    v6: bool = gt v2, v5
    v12: bool = if v6 {
      v7: i64 = cast v2
      v8: i32 = load v0[v7]
      v9: i32 = const 1
      v10: bool = gt v8, v9
      yield v10
    } else {
      v11: bool = const false
      yield v11
    }
    if v12 {
      v13: i32 = const 1
      v14: i32 = const 0
      v15: i64 = const 0
      store v1[v15], v13
      yield
    }
    ");
}

#[test]
fn a_template_is_lowered_for_what_it_is_asked_for() {
    let text = "template <typename T, int N> __global__ void k(T* y) { T a[N]; a[0] = T(3); y[N] = a[0]; }";
    assert_snapshot!(ir_of(text, "k<double, 4>", &Options::default()), @r"
    v1: i64 = const 0
    v2: array<f64, 1> = local_array {4}
    v3: i32 = const 3
    v4: f64 = const 3.0
    v5: i32 = const 0
    v6: i64 = const 0
    store v2[v6], v4
    v7: i32 = const 0
    v8: i64 = const 0
    v9: f64 = load v2[v8]
    v10: i32 = const 4
    v11: i64 = const 4
    store v0[v11], v9
    ");
}

#[test]
fn accesses_are_checked_where_the_launch_asks() {
    let options = Options { checked: true, ..Options::default() };
    assert_snapshot!(ir_of("__global__ void k(int* y, int i) { int t[2][3]; y[i] = t[i][1]; }", "k", &options), @r"
    v2: i64 = const 0
    v3: array<i32, 1> = local_array {6}
    v4: i64 = cast v1
    v5: i64 = const 2
    check_index v4, v5 {site 0}
    v6: i64 = const 3
    v7: i64 = mul v4, v6
    v8: i32 = const 1
    v9: i64 = const 1
    v10: i64 = const 3
    check_index v9, v10 {site 1}
    v11: i64 = add v7, v9
    check_bounds v3[v11] {site 2}
    v12: i32 = load v3[v11]
    v13: i64 = cast v1
    check_bounds v0[v13] {site 3}
    store v0[v13], v12
    ");
}

#[test]
fn a_member_of_a_struct_is_one_access() {
    let text =
        "struct P { float2 at; int id[2]; }; __global__ void k(P* p, int i) { p[i].at.y += 1.0f; p[i].id[1] = i; }";
    assert_snapshot!(ir_of(text, "k", &Options::default()), @r"
    v2: i64 = const 0
    v3: f32 = const 1.0
    v4: i64 = cast v1
    v5: f32 = load v0[v4].0.1
    v6: f32 = add v5, v3
    store v0[v4].0.1, v6
    v7: i64 = cast v1
    v8: i32 = const 1
    v9: i64 = const 1
    store v0[v7].1.1, v1
    ");
}

#[test]
fn a_reference_stands_for_its_variable() {
    let text = "__device__ void twice(float& r) { r *= 2; } __global__ void k(float* y) { float a = y[0]; twice(a); y[1] = a; }";
    assert_snapshot!(ir_of(text, "k", &Options::default()), @r"
    v1: i64 = const 0
    v2: i32 = const 0
    v3: i64 = const 0
    v4: f32 = load v0[v3]
    v5: array<f32, 1> = local_array {1}
    v6: i64 = const 0
    store v5[v6], v4
    v7: i64 = const 0
    call @twice(v5, v7)
    v8: i64 = const 0
    v9: f32 = load v5[v8]
    v10: i32 = const 1
    v11: i64 = const 1
    store v0[v11], v9
    ");
}
