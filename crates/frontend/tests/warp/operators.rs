//! Operators: which op they become, and what is folded.

use crate::lowered::{ir, ir_with, printed};
use frontend::Options;
use insta::assert_snapshot;

#[test]
fn floats_add_multiply_and_divide() {
    assert_snapshot!(ir("a: wp.array(dtype=float), x: float, y: float", "a[0] = x + y * 2 - x / 3.0"), @r"
    v3: f32 = const 2.0
    v4: f32 = mul v2, v3
    v5: f32 = add v1, v4
    v6: f32 = const 3.0
    v7: f32 = div v1, v6
    v8: f32 = sub v5, v7
    v9: i64 = const 0
    store v0[v9], v8
    ");
}

#[test]
fn integers_divide_in_three_ways() {
    assert_snapshot!(ir("a: wp.array(dtype=int), x: int, y: int", "a[0] = x / y\na[1] = x // y\na[2] = x % y"), @r"
    v3: i32 = div v1, v2
    v4: i64 = const 0
    store v0[v4], v3
    v5: i32 = floordiv v1, v2
    v6: i64 = const 1
    store v0[v6], v5
    v7: i32 = rem v1, v2
    v8: i64 = const 2
    store v0[v8], v7
    ");
}

#[test]
fn a_power_is_for_floats() {
    assert_snapshot!(ir("a: wp.array(dtype=float), x: float", "a[0] = x ** 2"), @r"
    v2: f32 = const 2.0
    v3: f32 = pow v1, v2
    v4: i64 = const 0
    store v0[v4], v3
    ");
}

#[test]
fn bits_shift_and_mask() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.uint32), x: wp.uint32", "a[0] = (x << 3 | x >> 2) ^ ~x & 0xFFFFFFFF"), @r"
    v2: u32 = const 3
    v3: u32 = shl v1, v2
    v4: u32 = const 2
    v5: u32 = shr v1, v4
    v6: u32 = or v3, v5
    v7: u32 = not v1
    v8: u32 = const 4294967295
    v9: u32 = and v7, v8
    v10: u32 = xor v6, v9
    v11: i64 = const 0
    store v0[v11], v10
    ");
}

#[test]
fn a_scalar_scales_a_vector() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.vec3), v: wp.vec3, s: float", "a[0] = s * v\na[1] = v * 2\na[2] = v / s\na[3] = 1.0 / v\na[4] = -v"), @r"
    v3: vec<f32, 3> = splat v2
    v4: vec<f32, 3> = mul v3, v1
    v5: i64 = const 0
    store v0[v5], v4
    v6: f32 = const 2.0
    v7: vec<f32, 3> = splat v6
    v8: vec<f32, 3> = mul v1, v7
    v9: i64 = const 1
    store v0[v9], v8
    v10: vec<f32, 3> = splat v2
    v11: vec<f32, 3> = div v1, v10
    v12: i64 = const 2
    store v0[v12], v11
    v13: f32 = const 1.0
    v14: vec<f32, 3> = splat v13
    v15: vec<f32, 3> = div v14, v1
    v16: i64 = const 3
    store v0[v16], v15
    v17: vec<f32, 3> = neg v1
    v18: i64 = const 4
    store v0[v18], v17
    ");
}

#[test]
fn matrices_multiply() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.vec2), m: wp.mat22, v: wp.vec2", "a[0] = m * v\na[1] = m @ v\na[2] = v * m\na[3] = m @ m @ v"), @r"
    v3: vec<f32, 2> = matmul v1, v2
    v4: i64 = const 0
    store v0[v4], v3
    v5: vec<f32, 2> = matmul v1, v2
    v6: i64 = const 1
    store v0[v6], v5
    v7: vec<f32, 2> = matmul v2, v1
    v8: i64 = const 2
    store v0[v8], v7
    v9: mat<f32, 2, 2> = matmul v1, v1
    v10: vec<f32, 2> = matmul v9, v2
    v11: i64 = const 3
    store v0[v11], v10
    ");
}

#[test]
fn literals_fold_exactly() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.int64)", "a[0] = 2147483647 + 1\na[1] = -7 // 2 * 10 + -7 / 2\na[2] = 1 << 40"), @r"
    v1: i64 = const 0
    v2: i64 = const 2147483648
    store v0[v1], v2
    v3: i64 = const 1
    v4: i64 = const -43
    store v0[v3], v4
    v5: i64 = const 2
    v6: i64 = const 1099511627776
    store v0[v5], v6
    ");
}

#[test]
fn a_literal_meets_the_type_of_its_neighbor() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.float16), h: wp.float16, n: wp.uint8", "a[0] = h * 3 + 0.5\nif n < 200:\n    a[1] = h"), @r"
    v3: f16 = const 3.0
    v4: f16 = mul v1, v3
    v5: f16 = const 0.5
    v6: f16 = add v4, v5
    v7: i64 = const 0
    store v0[v7], v6
    v8: u8 = const 200
    v9: bool = lt v2, v8
    if v9 {
      v10: i64 = const 1
      store v0[v10], v1
      yield
    }
    ");
}

#[test]
fn a_chain_compares_each_operand_once() {
    assert_snapshot!(ir("a: wp.array(dtype=float), n: int", "if 0 <= n < 10:\n    a[n] = 1.0"), @r"
    v2: i32 = const 0
    v3: bool = le v2, v1
    v4: i32 = const 10
    v5: bool = lt v1, v4
    v6: bool = and v3, v5
    if v6 {
      v7: i64 = cast v1
      v8: i64 = wrap_index v0, v7 {0}
      v9: f32 = const 1.0
      store v0[v8], v9
      yield
    }
    ");
}

#[test]
fn a_chain_of_loads_stops_early() {
    assert_snapshot!(ir("a: wp.array(dtype=float)", "if a[0] < a[1] < a[2]:\n    a[3] = 1.0"), @r"
    v1: i64 = const 0
    v2: f32 = load v0[v1]
    v3: i64 = const 1
    v4: f32 = load v0[v3]
    v5: bool = lt v2, v4
    v11: bool, v12: f32 = if v5 {
      v6: i64 = const 2
      v7: f32 = load v0[v6]
      v8: bool = lt v4, v7
      yield v8, v7
    } else {
      v9: bool = const false
      v10: f32 = const 0.0
      yield v9, v10
    }
    if v11 {
      v13: i64 = const 3
      v14: f32 = const 1.0
      store v0[v13], v14
      yield
    }
    ");
}

#[test]
fn not_and_truth_of_numbers() {
    assert_snapshot!(ir("a: wp.array(dtype=float), n: int, x: float", "if not n and x:\n    a[0] = 1.0"), @r"
    v3: i32 = const 0
    v4: bool = ne v1, v3
    v5: bool = not v4
    v6: f32 = const 0.0
    v7: bool = ne v2, v6
    v8: bool = and v5, v7
    if v8 {
      v9: i64 = const 0
      v10: f32 = const 1.0
      store v0[v9], v10
      yield
    }
    ");
}

#[test]
fn vectors_are_equal_in_all_components() {
    assert_snapshot!(ir("a: wp.array(dtype=bool), v: wp.vec2i, w: wp.vec2i", "a[0] = v == w\na[1] = v != w"), @r"
    v3: i32 = extract v1 {0}
    v4: i32 = extract v2 {0}
    v5: bool = eq v3, v4
    v6: i32 = extract v1 {1}
    v7: i32 = extract v2 {1}
    v8: bool = eq v6, v7
    v9: bool = and v5, v8
    v10: i64 = const 0
    store v0[v10], v9
    v11: i32 = extract v1 {0}
    v12: i32 = extract v2 {0}
    v13: bool = eq v11, v12
    v14: i32 = extract v1 {1}
    v15: i32 = extract v2 {1}
    v16: bool = eq v14, v15
    v17: bool = and v13, v16
    v18: bool = not v17
    v19: i64 = const 1
    store v0[v19], v18
    ");
}

#[test]
fn membership_in_a_tuple_is_a_chain_of_comparisons() {
    assert_snapshot!(ir("a: wp.array(dtype=bool), n: int", "a[0] = n in (1, 2)\na[1] = n not in (3,)\na[2] = 4 in (1, 2)"), @r"
    v2: i32 = const 1
    v3: bool = eq v1, v2
    v4: i32 = const 2
    v5: bool = eq v1, v4
    v6: bool = or v3, v5
    v7: i64 = const 0
    store v0[v7], v6
    v8: i32 = const 3
    v9: bool = eq v1, v8
    v10: bool = not v9
    v11: i64 = const 1
    store v0[v11], v10
    v12: i64 = const 2
    v13: bool = const false
    store v0[v12], v13
    ");
}

#[test]
fn an_array_is_none_where_it_has_no_memory() {
    assert_snapshot!(ir("a: wp.array(dtype=float)", "if a is not None:\n    a[0] = 1.0"), @r"
    v1: bool = is_null v0
    v2: bool = not v1
    if v2 {
      v3: i64 = const 0
      v4: f32 = const 1.0
      store v0[v3], v4
      yield
    }
    ");
}

#[test]
fn known_conditions_leave_one_branch() {
    assert_snapshot!(ir("a: wp.array(dtype=float)", "if (1, 2) == (1, 2) and None is None and \"a\" == \"a\" and 3 > 2.5:\n    a[0] = 1.0\nelse:\n    a[0] = 2.0"), @r"
    v1: i64 = const 0
    v2: f32 = const 1.0
    store v0[v1], v2
    ");
}

#[test]
fn a_checked_divisor_is_checked_unless_it_is_a_constant() {
    assert_snapshot!(ir_with(&Options { checked: true, ..Options::default() }, "x: int, y: int", "z = x / y + x % 4 + x // (y + 1)"), @r"
    check_nonzero v1 {site 0}
    v2: i32 = div v0, v1
    v3: i32 = const 4
    v4: i32 = rem v0, v3
    v5: i32 = add v2, v4
    v6: i32 = const 1
    v7: i32 = add v1, v6
    check_nonzero v7 {site 1}
    v8: i32 = floordiv v0, v7
    v9: i32 = add v5, v8
    ");
}

#[test]
fn captured_scalars_fold_in_their_type() {
    assert_snapshot!(printed("N = wp.constant(7)\nH = wp.float64(0.5)\nU = wp.uint8(250)\n\nclass Mode(IntEnum):\n    FAST = 3\n\ndef k(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.uint8)):\n    a[N - 1] = H * 3\n    b[Mode.FAST] = U + 10\n", &Options::default()), @r"
    v2: i64 = const 6
    v3: f64 = const 1.5
    store v0[v2], v3
    v4: i64 = const 3
    v5: u8 = const 4
    store v1[v4], v5
    ");
}

#[test]
fn a_kernel_may_have_the_name_of_a_function_that_it_calls() {
    let text = "def transform_multiply(a: wp.array(dtype=wp.transform)):\n    a[0] = a[1] * a[2]\n";
    let module = crate::lowered::lower_named(text, "transform_multiply", &Options::default()).expect("it is right");
    let names: Vec<&str> = module.funcs.iter().map(|func| func.name.as_str()).collect();
    assert_eq!(names.last(), Some(&"transform_multiply"));
}
