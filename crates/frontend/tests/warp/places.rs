//! Subscripts and attributes that are read.

use crate::lowered::{ir, ir_with, printed};
use frontend::Options;
use insta::assert_snapshot;

#[test]
fn an_element_is_loaded() {
    assert_snapshot!(ir("a: wp.array(dtype=float), i: int, u: wp.uint32", "x = a[i]\ny = a[0]\nz = a[-1]\nw = a[u]"), @r"
    v3: i64 = cast v1
    v4: i64 = wrap_index v0, v3 {0}
    v5: f32 = load v0[v4]
    v6: i64 = const 0
    v7: f32 = load v0[v6]
    v8: i64 = const -1
    v9: i64 = wrap_index v0, v8 {0}
    v10: f32 = load v0[v9]
    v11: i64 = cast v2
    v12: f32 = load v0[v11]
    ");
}

#[test]
fn fewer_indices_give_a_row() {
    assert_snapshot!(ir("a: wp.array2d(dtype=float), i: int", "row = a[i]\nx = row[2]\ny = a[i][3]"), @r"
    v2: i64 = cast v1
    v3: i64 = wrap_index v0, v2 {0}
    v4: array<f32, 1> = row v0, v3 {0}
    v5: i64 = const 2
    v6: f32 = load v4[v5]
    v7: i64 = cast v1
    v8: i64 = wrap_index v0, v7 {0}
    v9: array<f32, 1> = row v0, v8 {0}
    v10: i64 = const 3
    v11: f32 = load v9[v10]
    ");
}

#[test]
fn a_slice_is_a_view() {
    assert_snapshot!(ir("a: wp.array(dtype=float), n: int", "b = a[1:n]\nc = a[:-1]\nd = a[::2]\ne = a[::-1]\nf = a[:]"), @r"
    v2: i64 = const 1
    v3: i64 = const 1
    v4: i64 = extent v0 {0}
    v5: i64 = const 0
    v6: i64 = const -1
    v7: i64 = add v4, v6
    v8: i64 = const 1
    v9: i64 = max v8, v5
    v10: i64 = min v9, v4
    v11: i64 = cast v1
    v12: i64 = wrap_index v0, v11 {0}
    v13: i64 = max v12, v5
    v14: i64 = min v13, v4
    v15: i64 = sub v14, v10
    v16: i64 = add v3, v6
    v17: i64 = add v15, v16
    v18: i64 = div v17, v3
    v19: i64 = max v18, v5
    v20: array<f32, 1> = subarray v0, v10, v19, v2 {0}
    v21: i64 = const 1
    v22: i64 = const 1
    v23: i64 = extent v0 {0}
    v24: i64 = const 0
    v25: i64 = const -1
    v26: i64 = add v23, v25
    v27: i64 = const -1
    v28: i64 = wrap_index v0, v27 {0}
    v29: i64 = max v28, v24
    v30: i64 = min v29, v23
    v31: i64 = sub v30, v24
    v32: i64 = add v22, v25
    v33: i64 = add v31, v32
    v34: i64 = div v33, v22
    v35: i64 = max v34, v24
    v36: array<f32, 1> = subarray v0, v24, v35, v21 {0}
    v37: i64 = const 2
    v38: i64 = const 2
    v39: i64 = extent v0 {0}
    v40: i64 = const 0
    v41: i64 = const -1
    v42: i64 = add v39, v41
    v43: i64 = sub v39, v40
    v44: i64 = add v38, v41
    v45: i64 = add v43, v44
    v46: i64 = div v45, v38
    v47: i64 = max v46, v40
    v48: array<f32, 1> = subarray v0, v40, v47, v37 {0}
    v49: i64 = const -1
    v50: i64 = const 1
    v51: i64 = extent v0 {0}
    v52: i64 = const 0
    v53: i64 = const -1
    v54: i64 = add v51, v53
    v55: i64 = sub v54, v53
    v56: i64 = add v50, v53
    v57: i64 = add v55, v56
    v58: i64 = div v57, v50
    v59: i64 = max v58, v52
    v60: array<f32, 1> = subarray v0, v54, v59, v49 {0}
    ");
}

#[test]
fn indices_and_slices_mix() {
    assert_snapshot!(ir("a: wp.array3d(dtype=float), j: int", "b = a[:, j]\nc = a[0, 1:, 2]"), @r"
    v2: i64 = cast v1
    v3: i64 = wrap_index v0, v2 {1}
    v4: array<f32, 2> = row v0, v3 {1}
    v5: i64 = const 0
    v6: array<f32, 2> = row v0, v5 {0}
    v7: i64 = const 1
    v8: i64 = const 1
    v9: i64 = extent v6 {0}
    v10: i64 = const 0
    v11: i64 = const -1
    v12: i64 = add v9, v11
    v13: i64 = const 1
    v14: i64 = max v13, v10
    v15: i64 = min v14, v9
    v16: i64 = sub v9, v15
    v17: i64 = add v8, v11
    v18: i64 = add v16, v17
    v19: i64 = div v18, v8
    v20: i64 = max v19, v10
    v21: array<f32, 2> = subarray v6, v15, v20, v7 {0}
    v22: i64 = const 2
    v23: array<f32, 1> = row v21, v22 {1}
    ");
}

#[test]
fn the_shape_is_read_where_it_is_used() {
    assert_snapshot!(ir("a: wp.array2d(dtype=wp.vec3), i: int", "n = a.shape[0]\nm = a.shape[-1]\nk = a.shape[i]\nr, c = a.shape\ns = a.size + a.ndim"), @r"
    v2: i64 = extent v0 {0}
    v3: i32 = cast v2
    v4: i64 = extent v0 {1}
    v5: i32 = cast v4
    v6: i64 = extent v0 {0}
    v7: i32 = cast v6
    v8: i64 = extent v0 {1}
    v9: i32 = cast v8
    v10: vec<i32, 2> = construct v7, v9
    v11: i64 = cast v1
    v12: i64 = const 0
    v13: i64 = const 2
    v14: bool = lt v11, v12
    v15: i64 = add v11, v13
    v16: i64 = select v14, v15, v11
    v17: i32 = extract_dyn v10, v16
    v18: i64 = extent v0 {0}
    v19: i32 = cast v18
    v20: i64 = extent v0 {1}
    v21: i32 = cast v20
    v22: i64 = extent v0 {0}
    v23: i32 = cast v22
    v24: i64 = extent v0 {1}
    v25: i32 = cast v24
    v26: i32 = mul v23, v25
    v27: i32 = const 2
    v28: i32 = add v26, v27
    ");
}

#[test]
fn only_the_piece_of_an_element_is_loaded() {
    assert_snapshot!(ir("a: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec4), i: int, j: int", "x = a[0][1, 2]\ny = a[0][1][j]\nz = a[0][i][2]\nw = a[0][i, j]\np = v[0].y\nq = v[0].zx\nr = v[0][i]\ns = v[0][-1]"), @r"
    v4: i64 = const 0
    v5: f32 = load v0[v4].5
    v6: i64 = const 0
    v7: i64 = cast v3
    v8: i64 = const 0
    v9: i64 = const 3
    v10: bool = lt v7, v8
    v11: i64 = add v7, v9
    v12: i64 = select v10, v11, v7
    v13: i64 = const 1
    v14: f32 = load v0[v6].?(v13, v12)
    v15: i64 = const 0
    v16: i64 = cast v2
    v17: i64 = const 0
    v18: i64 = const 3
    v19: bool = lt v16, v17
    v20: i64 = add v16, v18
    v21: i64 = select v19, v20, v16
    v22: i64 = const 2
    v23: f32 = load v0[v15].?(v21, v22)
    v24: i64 = const 0
    v25: i64 = cast v2
    v26: i64 = const 0
    v27: i64 = const 3
    v28: bool = lt v25, v26
    v29: i64 = add v25, v27
    v30: i64 = select v28, v29, v25
    v31: i64 = cast v3
    v32: i64 = const 0
    v33: i64 = const 3
    v34: bool = lt v31, v32
    v35: i64 = add v31, v33
    v36: i64 = select v34, v35, v31
    v37: f32 = load v0[v24].?(v30, v36)
    v38: i64 = const 0
    v39: f32 = load v1[v38].1
    v40: i64 = const 0
    v41: f32 = load v1[v40].2
    v42: f32 = load v1[v40].0
    v43: vec<f32, 2> = construct v41, v42
    v44: i64 = const 0
    v45: i64 = cast v2
    v46: i64 = const 0
    v47: i64 = const 4
    v48: bool = lt v45, v46
    v49: i64 = add v45, v47
    v50: i64 = select v48, v49, v45
    v51: f32 = load v1[v44].?v50
    v52: i64 = const 0
    v53: f32 = load v1[v52].3
    ");
}

#[test]
fn components_of_values() {
    assert_snapshot!(ir("v: wp.vec3, m: wp.mat22, i: int", "a = v.x\nb = v[2]\nc = v[-3]\nd = v[i]\ne = v.zyx\nf = v[1:]\ng = v[::-1]"), @r"
    v3: f32 = extract v0 {0}
    v4: f32 = extract v0 {2}
    v5: f32 = extract v0 {0}
    v6: i64 = cast v2
    v7: i64 = const 0
    v8: i64 = const 3
    v9: bool = lt v6, v7
    v10: i64 = add v6, v8
    v11: i64 = select v9, v10, v6
    v12: f32 = extract_dyn v0, v11
    v13: f32 = extract v0 {2}
    v14: f32 = extract v0 {1}
    v15: f32 = extract v0 {0}
    v16: vec<f32, 3> = construct v13, v14, v15
    v17: f32 = extract v0 {1}
    v18: f32 = extract v0 {2}
    v19: vec<f32, 2> = construct v17, v18
    v20: f32 = extract v0 {2}
    v21: f32 = extract v0 {1}
    v22: f32 = extract v0 {0}
    v23: vec<f32, 3> = construct v20, v21, v22
    ");
}

#[test]
fn rows_columns_and_parts_of_matrices() {
    assert_snapshot!(ir("m: wp.types.matrix(shape=(2, 3), dtype=float), i: int, u: wp.uint8", "a = m[1]\nb = m[i]\nc = m[:, 0]\nd = m[:, u]\ne = m[0:2, 1:]\nf = m[-1, -1]\ng = m[i, 1]"), @r"
    v3: f32 = extract v0 {3}
    v4: f32 = extract v0 {4}
    v5: f32 = extract v0 {5}
    v6: vec<f32, 3> = construct v3, v4, v5
    v7: i64 = cast v1
    v8: i64 = const 0
    v9: i64 = const 2
    v10: bool = lt v7, v8
    v11: i64 = add v7, v9
    v12: i64 = select v10, v11, v7
    v13: i64 = const 0
    v14: f32 = extract_dyn v0, v12, v13
    v15: i64 = const 1
    v16: f32 = extract_dyn v0, v12, v15
    v17: i64 = const 2
    v18: f32 = extract_dyn v0, v12, v17
    v19: vec<f32, 3> = construct v14, v16, v18
    v20: f32 = extract v0 {0}
    v21: f32 = extract v0 {3}
    v22: vec<f32, 2> = construct v20, v21
    v23: i64 = cast v2
    v24: i64 = const 0
    v25: f32 = extract_dyn v0, v24, v23
    v26: i64 = const 1
    v27: f32 = extract_dyn v0, v26, v23
    v28: vec<f32, 2> = construct v25, v27
    v29: f32 = extract v0 {1}
    v30: f32 = extract v0 {2}
    v31: f32 = extract v0 {4}
    v32: f32 = extract v0 {5}
    v33: mat<f32, 2, 2> = construct v29, v30, v31, v32
    v34: f32 = extract v0 {5}
    v35: i64 = cast v1
    v36: i64 = const 0
    v37: i64 = const 2
    v38: bool = lt v35, v36
    v39: i64 = add v35, v37
    v40: i64 = select v38, v39, v35
    v41: i64 = const 1
    v42: f32 = extract_dyn v0, v40, v41
    ");
}

#[test]
fn transforms_have_position_and_rotation() {
    assert_snapshot!(ir("t: wp.transform, a: wp.array(dtype=wp.transform)", "p = t.p\nq = t.q\nx = a[0].p.y\nw = a[0].q.w\nz = a[0].q"), @r"
    v2: f32 = extract v0 {0}
    v3: f32 = extract v0 {1}
    v4: f32 = extract v0 {2}
    v5: vec<f32, 3> = construct v2, v3, v4
    v6: f32 = extract v0 {3}
    v7: f32 = extract v0 {4}
    v8: f32 = extract v0 {5}
    v9: f32 = extract v0 {6}
    v10: quat<f32> = construct v6, v7, v8, v9
    v11: i64 = const 0
    v12: f32 = load v1[v11].1
    v13: i64 = const 0
    v14: f32 = load v1[v13].6
    v15: i64 = const 0
    v16: f32 = load v1[v15].3
    v17: f32 = load v1[v15].4
    v18: f32 = load v1[v15].5
    v19: f32 = load v1[v15].6
    v20: quat<f32> = construct v16, v17, v18, v19
    ");
}

#[test]
fn struct_fields_are_steps_of_the_path() {
    assert_snapshot!(printed("@wp.struct\nclass Inner:\n    v: wp.vec2\n    n: int\n\n@wp.struct\nclass Outer:\n    inner: Inner\n    data: wp.array(dtype=float)\n\ndef k(a: wp.array(dtype=Outer), o: Outer, i: int):\n    x = a[i].inner.v.y\n    y = a[i].data[2]\n    z = o.inner.n\n    w = o.data[0]\n", &Options::default()), @r"
    v3: i64 = cast v2
    v4: i64 = wrap_index v0, v3 {0}
    v5: f32 = load v0[v4].0.0.1
    v6: i64 = cast v2
    v7: i64 = wrap_index v0, v6 {0}
    v8: array<f32, 1> = load v0[v7].1
    v9: i64 = const 2
    v10: f32 = load v8[v9]
    v11: struct Inner<v: vec<f32, 2>, n: i32> = extract v1 {0}
    v12: i32 = extract v11 {1}
    v13: array<f32, 1> = extract v1 {1}
    v14: i64 = const 0
    v15: f32 = load v13[v14]
    ");
}

#[test]
fn captured_composites_are_known() {
    assert_snapshot!(printed("V = wp.vec3(1.0, 2.0, 3.0)\nT = (1, 2.5, (3, 4))\n\ndef k(a: wp.array(dtype=float), i: int):\n    a[0] = V[1]\n    a[1] = V.z * 2.0\n    a[2] = T[1] + T[-1][0]\n    a[3] = V[i]\n", &Options::default()), @r"
    v2: i64 = const 0
    v3: f32 = const 2.0
    store v0[v2], v3
    v4: i64 = const 1
    v5: f32 = const 6.0
    store v0[v4], v5
    v6: i64 = const 2
    v7: f32 = const 5.5
    store v0[v6], v7
    v8: i64 = cast v1
    v9: i64 = const 0
    v10: i64 = const 3
    v11: bool = lt v8, v9
    v12: i64 = add v8, v10
    v13: i64 = select v11, v12, v8
    v14: f32 = const 1.0
    v15: f32 = const 2.0
    v16: f32 = const 3.0
    v17: vec<f32, 3> = construct v14, v15, v16
    v18: f32 = extract_dyn v17, v13
    v19: i64 = const 3
    store v0[v19], v18
    ");
}

#[test]
fn an_indexed_array_goes_through_its_lists() {
    assert_snapshot!(ir("a: wp.indexedarray(dtype=float), i: int", "x = a[i]\nn = a.shape[0]"), @r"
    v2: array<f32, 1> = extract v0 {0}
    v3: array<i32, 1> = extract v0 {1}
    v4: bool = is_null v3
    v11: i64 = if v4 {
      v5: i64 = cast v1
      v6: i64 = wrap_index v2, v5 {0}
      yield v6
    } else {
      v7: i64 = cast v1
      v8: i64 = wrap_index v3, v7 {0}
      v9: i32 = load v3[v8]
      v10: i64 = cast v9
      yield v10
    }
    v12: i64 = wrap_index v2, v11 {0}
    v13: f32 = load v2[v12]
    v14: array<f32, 1> = extract v0 {0}
    v15: array<i32, 1> = extract v0 {1}
    v16: bool = is_null v15
    v17: i64 = extent v14 {0}
    v18: i32 = cast v17
    v19: i64 = extent v15 {0}
    v20: i32 = cast v19
    v21: i32 = select v16, v18, v20
    ");
}

#[test]
fn checked_accesses_report_the_array_and_the_row() {
    assert_snapshot!(ir_with(&Options { checked: true, ..Options::default() }, "a: wp.array2d(dtype=wp.vec3), i: int", "x = a[i, 0][i]\nr = a[i]"), @r"
    v2: i64 = cast v1
    v3: i64 = wrap_index v0, v2 {0}
    v4: i64 = const 0
    check_bounds v0[v3, v4] {site 0}
    v5: i64 = cast v1
    v6: i64 = const 0
    v7: i64 = const 3
    v8: bool = lt v5, v6
    v9: i64 = add v5, v7
    v10: i64 = select v8, v9, v5
    v11: i64 = const 3
    check_index v10, v11 {site 1}
    v12: f32 = load v0[v3, v4].?v10
    v13: i64 = cast v1
    v14: i64 = wrap_index v0, v13 {0}
    v15: i64 = extent v0 {0}
    check_index v14, v15 {site 2}
    v16: array<vec<f32, 3>, 1> = row v0, v14 {0}
    ");
}

#[test]
fn types_and_members_of_modules() {
    assert_snapshot!(ir("a: wp.array(dtype=float)", "a[0] = a.dtype(1) + wp.float32(math.pi)"), @r"
    v1: i64 = const 0
    v2: f32 = const 4.141593
    store v0[v1], v2
    ");
}
