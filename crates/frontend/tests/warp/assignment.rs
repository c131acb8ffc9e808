//! Assignment, augmented and annotated.

use crate::lowered::{ir, ir_with, printed};
use frontend::Options;
use insta::assert_snapshot;

#[test]
fn a_component_makes_the_value_anew() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.vec3), v: wp.vec3, i: int", "v.x = 1.0\nv[2] = 2.0\nv[i] = 3.0\nv.zy = wp.vec2(4.0, 5.0)\na[0] = v"), @r"
    v3: f32 = const 1.0
    v4: vec<f32, 3> = insert v1, v3 {0}
    v5: f32 = const 2.0
    v6: vec<f32, 3> = insert v4, v5 {2}
    v7: i64 = cast v2
    v8: i64 = const 0
    v9: i64 = const 3
    v10: bool = lt v7, v8
    v11: i64 = add v7, v9
    v12: i64 = select v10, v11, v7
    v13: f32 = const 3.0
    v14: vec<f32, 3> = insert_dyn v6, v13, v12
    v15: f32 = const 4.0
    v16: f32 = const 5.0
    v17: vec<f32, 2> = construct v15, v16
    v18: f32 = extract v17 {0}
    v19: vec<f32, 3> = insert v14, v18 {2}
    v20: f32 = extract v17 {1}
    v21: vec<f32, 3> = insert v19, v20 {1}
    v22: i64 = const 0
    store v0[v22], v21
    ");
}

#[test]
fn parts_of_matrices_are_replaced() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.mat22), m: wp.mat22, v: wp.vec2, i: int", "m[0] = v\nm[i] = v\nm[0, 1] = 1.0\nm[i, 1] = 2.0\nm[:, 0] = v\na[0] = m"), @r"
    v4: f32 = extract v2 {0}
    v5: mat<f32, 2, 2> = insert v1, v4 {0}
    v6: f32 = extract v2 {1}
    v7: mat<f32, 2, 2> = insert v5, v6 {1}
    v8: i64 = cast v3
    v9: i64 = const 0
    v10: i64 = const 2
    v11: bool = lt v8, v9
    v12: i64 = add v8, v10
    v13: i64 = select v11, v12, v8
    v14: f32 = extract v2 {0}
    v15: i64 = const 0
    v16: mat<f32, 2, 2> = insert_dyn v7, v14, v13, v15
    v17: f32 = extract v2 {1}
    v18: i64 = const 1
    v19: mat<f32, 2, 2> = insert_dyn v16, v17, v13, v18
    v20: f32 = const 1.0
    v21: mat<f32, 2, 2> = insert v19, v20 {1}
    v22: i64 = cast v3
    v23: i64 = const 0
    v24: i64 = const 2
    v25: bool = lt v22, v23
    v26: i64 = add v22, v24
    v27: i64 = select v25, v26, v22
    v28: i64 = const 1
    v29: f32 = const 2.0
    v30: mat<f32, 2, 2> = insert_dyn v21, v29, v27, v28
    v31: f32 = extract v2 {0}
    v32: mat<f32, 2, 2> = insert v30, v31 {0}
    v33: f32 = extract v2 {1}
    v34: mat<f32, 2, 2> = insert v32, v33 {2}
    v35: i64 = const 0
    store v0[v35], v34
    ");
}

#[test]
fn only_the_piece_of_an_element_is_stored() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.mat22), v: wp.array(dtype=wp.vec3), i: int, w: wp.vec2", "v[i].y = 1.0\nv[i][2] = 2.0\nv[0].xz = w\na[0][1, 0] = 3.0\na[0][i] = w"), @r"
    v4: i64 = cast v2
    v5: i64 = wrap_index v1, v4 {0}
    v6: f32 = const 1.0
    store v1[v5].1, v6
    v7: i64 = cast v2
    v8: i64 = wrap_index v1, v7 {0}
    v9: f32 = const 2.0
    store v1[v8].2, v9
    v10: i64 = const 0
    v11: f32 = extract v3 {0}
    store v1[v10].0, v11
    v12: f32 = extract v3 {1}
    store v1[v10].2, v12
    v13: i64 = const 0
    v14: f32 = const 3.0
    store v0[v13].2, v14
    v15: i64 = const 0
    v16: i64 = cast v2
    v17: i64 = const 0
    v18: i64 = const 2
    v19: bool = lt v16, v17
    v20: i64 = add v16, v18
    v21: i64 = select v19, v20, v16
    v22: i64 = const 0
    v23: i64 = const 1
    v24: f32 = extract v3 {0}
    store v0[v15].?(v21, v22), v24
    v25: f32 = extract v3 {1}
    store v0[v15].?(v21, v23), v25
    ");
}

#[test]
fn names_unpack() {
    assert_snapshot!(ir("a: wp.array(dtype=int), v: wp.vec2i", "x, (y, z) = 1, v\n[x, y] = y, x\na[0], a[1] = x, z"), @r"
    v2: i32 = extract v1 {0}
    v3: i32 = extract v1 {1}
    v4: i64 = const 0
    store v0[v4], v2
    v5: i64 = const 1
    store v0[v5], v3
    ");
}

#[test]
fn shared_sums_are_atomic() {
    assert_snapshot!(ir("a: wp.array(dtype=float), m: wp.array(dtype=wp.vec3), n: wp.array(dtype=wp.uint32), i: int, v: wp.vec3", "a[i] += 1\na[i] -= 2.0\na[i] *= 3.0\nm[i] += v\nm[i].y += 1.0\nn[i] |= 4\nn[i] ^= 1\nn[i] <<= 1"), @r"
    v5: i64 = cast v3
    v6: i64 = wrap_index v0, v5 {0}
    v7: f32 = const 1.0
    v8: f32 = atomic add v0[v6], v7
    v9: i64 = cast v3
    v10: i64 = wrap_index v0, v9 {0}
    v11: f32 = const 2.0
    v12: f32 = atomic sub v0[v10], v11
    v13: i64 = cast v3
    v14: i64 = wrap_index v0, v13 {0}
    v15: f32 = load v0[v14]
    v16: f32 = const 3.0
    v17: f32 = mul v15, v16
    store v0[v14], v17
    v18: i64 = cast v3
    v19: i64 = wrap_index v1, v18 {0}
    v20: vec<f32, 3> = atomic add v1[v19], v4
    v21: i64 = cast v3
    v22: i64 = wrap_index v1, v21 {0}
    v23: f32 = const 1.0
    v24: f32 = atomic add v1[v22].1, v23
    v25: i64 = cast v3
    v26: i64 = wrap_index v2, v25 {0}
    v27: u32 = const 4
    v28: u32 = atomic or v2[v26], v27
    v29: i64 = cast v3
    v30: i64 = wrap_index v2, v29 {0}
    v31: u32 = const 1
    v32: u32 = atomic xor v2[v30], v31
    v33: i64 = cast v3
    v34: i64 = wrap_index v2, v33 {0}
    v35: u32 = load v2[v34]
    v36: u32 = const 1
    v37: u32 = shl v35, v36
    store v2[v34], v37
    ");
}

#[test]
fn pieces_of_shared_elements_are_atomic_one_by_one() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.mat22), i: int, w: wp.vec2", "a[0][i] += w\na[0][1] -= w"), @r"
    v3: i64 = const 0
    v4: i64 = cast v1
    v5: i64 = const 0
    v6: i64 = const 2
    v7: bool = lt v4, v5
    v8: i64 = add v4, v6
    v9: i64 = select v7, v8, v4
    v10: i64 = const 0
    v11: i64 = const 1
    v12: f32 = extract v2 {0}
    v13: f32 = atomic add v0[v3].?(v9, v10), v12
    v14: f32 = extract v2 {1}
    v15: f32 = atomic add v0[v3].?(v9, v11), v14
    v16: i64 = const 0
    v17: f32 = extract v2 {0}
    v18: f32 = atomic sub v0[v16].2, v17
    v19: f32 = extract v2 {1}
    v20: f32 = atomic sub v0[v16].3, v19
    ");
}

#[test]
fn local_sums_are_plain() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.vec3), x: float, v: wp.vec3", "x += 1.0\nx *= x\nv.y -= x\nv += v\na[0] = v"), @r"
    v3: f32 = const 1.0
    v4: f32 = add v1, v3
    v5: f32 = mul v4, v4
    v6: f32 = extract v2 {1}
    v7: f32 = sub v6, v5
    v8: vec<f32, 3> = insert v2, v7 {1}
    v9: vec<f32, 3> = add v8, v8
    v10: i64 = const 0
    store v0[v10], v9
    ");
}

#[test]
fn annotations_give_literals_a_type() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.float64), h: float", "x: wp.float64 = 1\ny: float = h\na[0] = x * 2.0"), @r"
    v2: i64 = const 0
    v3: f64 = const 2.0
    store v0[v2], v3
    ");
}

#[test]
fn a_struct_field_of_a_local_is_replaced() {
    assert_snapshot!(printed("@wp.struct\nclass P:\n    pos: wp.vec2\n    n: int\n\ndef k(a: wp.array(dtype=P), p: P):\n    q = p\n    q.pos.y = 1.0\n    q.n += 1\n    a[0] = q\n    a[1] = p\n    a[2].pos.x = 5.0\n", &Options::default()), @r"
    v2: f32 = const 1.0
    v3: vec<f32, 2> = extract v1 {0}
    v4: vec<f32, 2> = insert v3, v2 {1}
    v5: struct P<pos: vec<f32, 2>, n: i32> = insert v1, v4 {0}
    v6: i32 = extract v5 {1}
    v7: i32 = const 1
    v8: i32 = add v6, v7
    v9: struct P<pos: vec<f32, 2>, n: i32> = insert v5, v8 {1}
    v10: i64 = const 0
    store v0[v10], v9
    v11: i64 = const 1
    store v0[v11], v1
    v12: i64 = const 2
    v13: f32 = const 5.0
    store v0[v12].0.0, v13
    ");
}

#[test]
fn stores_of_floats_are_checked_for_finite_values() {
    assert_snapshot!(ir_with(&Options { check_finite: true, ..Options::default() }, "a: wp.array(dtype=float), n: wp.array(dtype=int), x: float", "a[0] = x\na[0] += x\nn[0] = 1"), @r"
    v3: i64 = const 0
    check_finite v2 {site 0}
    store v0[v3], v2
    v4: i64 = const 0
    v5: f32 = atomic add v0[v4], v2
    v6: f32 = add v5, v2
    check_finite v6 {site 1}
    v7: i64 = const 0
    v8: i32 = const 1
    store v1[v7], v8
    ");
}

#[test]
fn an_element_of_an_array_in_a_loop() {
    assert_snapshot!(ir("a: wp.array2d(dtype=float), b: wp.array(dtype=float)", "for i in range(4):\n    b[i] += a[i, i]"), @r"
    v2: i32 = const 0
    v3: i32 = const 4
    v4: i32 = const 1
    for v5: i32 = v2 to v3 step v4 {
      v6: i64 = cast v5
      v7: i64 = wrap_index v1, v6 {0}
      v8: i64 = cast v5
      v9: i64 = wrap_index v0, v8 {0}
      v10: i64 = cast v5
      v11: i64 = wrap_index v0, v10 {1}
      v12: f32 = load v0[v9, v11]
      v13: f32 = atomic add v1[v7], v12
      continue
    }
    ");
}
