//! Arrays: elements and pieces of them, atomics, views. The memory is that of local arrays.

use crate::{check, module};
use interp::{InterpValue, Program};
use ir::{Scalar, Type};

pub(crate) const TEXTS: &[&str] = &[ELEMENTS, PATHS, ATOMICS, NARROW_ATOMICS, CAS, DESCRIPTORS, VIEWS, LOCAL];

const ELEMENTS: &str = "
func @put(v0: i64, v1: i64, v2: f32) -> (f32, f32) {
  v3: array<f32, 2> = local_array {3, 4}
  store v3[v0, v1], v2
  v4: f32 = load v3[v0, v1]
  v5: i64 = const 0
  v6: f32 = load v3[v5, v5]
  return v4, v6
}
; @put(2, 3, 1.5) == 1.5, 0.0
; @put(0, 0, 1.5) == 1.5, 1.5
; @put(3, 0, 1.5) fails unchecked [3, 0, 3, 4]
; @put(0, 4, 1.5) fails unchecked [0, 4, 3, 4]
; @put(-1, 0, 1.5) fails unchecked [-1, 0, 3, 4]
; @put(-9223372036854775808, 0, 1.5) fails unchecked [-9223372036854775808, 0, 3, 4]
func @put4(v0: i64, v1: u8) -> (u8, u8) {
  v2: array<u8, 4> = local_array {2, 2, 2, 2}
  v3: i64 = const 1
  store v2[v3, v3, v0, v3], v1
  v4: u8 = load v2[v3, v3, v0, v3]
  v5: u8 = load v2[v3, v3, v3, v0]
  return v4, v5
}
; @put4(0, 9) == 9, 0
; @put4(1, 9) == 9, 9
func @bool(v0: bool, v1: i16) -> (bool, i16) {
  v2: array<tuple<bool, i16>, 1> = local_array {2}
  v3: i64 = const 1
  v4: tuple<bool, i16> = construct v0, v1
  store v2[v3], v4
  v5: tuple<bool, i16> = load v2[v3]
  v6: bool = extract v5 {0}
  v7: i16 = extract v5 {1}
  return v6, v7
}
; @bool(true, -5) == true, -5
func @null(v0: u64, v1: i64) -> i32 {
  v2: array<i32, 1> = array_from_address v0, v1
  v3: i64 = const 0
  v4: i32 = load v2[v3]
  return v4
}
; @null(0, 5) fails unchecked [0, 5]
; @null(4096, 0) fails unchecked [0, 0]
; @null(4096, -1) fails unchecked [0, -1]
";

const PATHS: &str = "
func @piece(v0: i64, v1: f32) -> (vec<f32, 3>, f32, i64) {
  v2: array<struct Ray<d: vec<f32, 3>, id: i64>, 1> = local_array {2}
  v3: i64 = const 1
  store v2[v3].0.?v0, v1
  v4: i64 = const 42
  store v2[v3].1, v4
  v5: struct Ray<d: vec<f32, 3>, id: i64> = load v2[v3]
  v6: vec<f32, 3> = extract v5 {0}
  v7: f32 = load v2[v3].0.1
  v8: i64 = load v2[v3].1
  return v6, v7, v8
}
; @piece(1, 2.5) == (0.0, 2.5, 0.0), 2.5, 42
; @piece(2, 2.5) == (0.0, 0.0, 2.5), 0.0, 42
; @piece(3, 2.5) fails unchecked [1, 2]
; @piece(-1, 2.5) fails unchecked [1, 2]
func @matrix(v0: i64, v1: i64, v2: f16) -> mat<f16, 2, 3> {
  v3: array<mat<f16, 2, 3>, 1> = local_array {1}
  v4: i64 = const 0
  store v3[v4].?(v0, v1), v2
  v5: f16 = load v3[v4].?(v0, v1)
  store v3[v4].0, v5
  v6: mat<f16, 2, 3> = load v3[v4]
  return v6
}
; @matrix(1, 2, 0.5) == (0.5, 0.0, 0.0, 0.0, 0.0, 0.5)
; @matrix(0, 2, 0.5) == (0.5, 0.0, 0.5, 0.0, 0.0, 0.0)
; @matrix(1, 3, 0.5) fails unchecked [0, 1]
; @matrix(2, 0, 0.5) fails unchecked [0, 1]
";

const ATOMICS: &str = "
func @ints(v0: i32, v1: i32) -> (vec<i32, 8>, i32) {
  v2: array<i32, 1> = local_array {1}
  v3: i64 = const 0
  store v2[v3], v0
  v4: i32 = atomic add v2[v3], v1
  v5: i32 = atomic sub v2[v3], v0
  v6: i32 = atomic max v2[v3], v0
  v7: i32 = atomic min v2[v3], v1
  v8: i32 = atomic and v2[v3], v0
  v9: i32 = atomic or v2[v3], v1
  v10: i32 = atomic xor v2[v3], v0
  v11: i32 = atomic exchange v2[v3], v1
  v12: vec<i32, 8> = construct v4, v5, v6, v7, v8, v9, v10, v11
  v13: i32 = load v2[v3]
  return v12, v13
}
; @ints(12, 10) == (12, 22, 10, 12, 10, 8, 10, 6), 10
; @ints(2147483647, 1) == (2147483647, -2147483648, 1, 2147483647, 1, 1, 1, 2147483646), 1
func @floats(v0: f64, v1: f64) -> (vec<f64, 5>, f64) {
  v2: array<f64, 1> = local_array {1}
  v3: i64 = const 0
  store v2[v3], v0
  v4: f64 = atomic add v2[v3], v1
  v5: f64 = atomic sub v2[v3], v1
  v6: f64 = atomic min v2[v3], v1
  v7: f64 = atomic max v2[v3], v0
  v8: f64 = atomic exchange v2[v3], v1
  v9: vec<f64, 5> = construct v4, v5, v6, v7, v8
  v10: f64 = load v2[v3]
  return v9, v10
}
; @floats(3, 1.5) == (3.0, 4.5, 3.0, 1.5, 3.0), 1.5
; @floats(nan, 1) == (NaN, NaN, NaN, 1.0, 1.0), 1.0
; @floats(1, nan) == (1.0, NaN, NaN, NaN, 1.0), NaN
func @vector(v0: f32) -> (vec<f32, 2>, vec<f32, 2>, f32) {
  v1: array<mat<f32, 2, 2>, 1> = local_array {1}
  v2: i64 = const 0
  v3: mat<f32, 2, 2> = splat v0
  v4: mat<f32, 2, 2> = atomic add v1[v2], v3
  v5: f32 = atomic add v1[v2].?(v2, v2), v0
  v6: mat<f32, 2, 2> = load v1[v2]
  v7: f32 = extract v6 {0}
  v8: f32 = extract v6 {1}
  v9: vec<f32, 2> = construct v7, v8
  v10: f32 = extract v4 {3}
  v11: vec<f32, 2> = splat v10
  return v9, v11, v5
}
; @vector(2) == (4.0, 2.0), (0.0, 0.0), 2.0
func @bools(v0: bool) -> (vec<bool, 4>, bool) {
  v1: array<bool, 1> = local_array {2}
  v2: i64 = const 1
  v3: bool = atomic or v1[v2], v0
  v4: bool = atomic and v1[v2], v0
  v5: bool = atomic xor v1[v2], v0
  v6: bool = atomic exchange v1[v2], v0
  v7: vec<bool, 4> = construct v3, v4, v5, v6
  v8: bool = load v1[v2]
  return v7, v8
}
; @bools(true) == (false, true, true, false), true
func @out(v0: i64) -> i32 {
  v1: array<i32, 1> = local_array {2}
  v2: i32 = const 1
  v3: i32 = atomic add v1[v0], v2
  return v3
}
; @out(2) fails unchecked [2, 2]
func @unaligned(v0: i64) -> i32 {
  v1: array<i32, 1> = local_array {4}
  v2: u64 = address v1
  v3: u64 = const 2
  v4: u64 = add v2, v3
  v5: array<i32, 1> = array_from_address v4, v0
  v6: i64 = const 1
  v7: i32 = const 7
  store v5[v6], v7
  v8: i32 = load v5[v6]
  v9: i32 = atomic add v5[v6], v8
  return v9
}
; @unaligned(3) fails unchecked [1, 3]
";

const NARROW_ATOMICS: &str = "
func @half(v0: f16) -> (f16, vec<f16, 3>) {
  v1: array<vec<f16, 3>, 1> = local_array {1}
  v2: i64 = const 0
  v3: f16 = const 2048.0
  store v1[v2].1, v3
  v4: f16 = atomic add v1[v2].1, v0
  v5: vec<f16, 3> = load v1[v2]
  return v4, v5
}
; @half(1) == 2048.0, (0.0, 2048.0, 0.0)
; @half(3) == 2048.0, (0.0, 2052.0, 0.0)
func @byte(v0: u8) -> (u8, vec<u8, 3>) {
  v1: array<vec<u8, 3>, 1> = local_array {1}
  v2: i64 = const 0
  v3: u8 = const 200
  store v1[v2].1, v3
  v4: u8 = atomic add v1[v2].1, v0
  v5: vec<u8, 3> = load v1[v2]
  return v4, v5
}
; @byte(100) == 200, (0, 44, 0)
func @brain(v0: bf16) -> bf16 {
  v1: array<bf16, 1> = local_array {3}
  v2: i64 = const 1
  v3: bf16 = atomic max v1[v2], v0
  v4: bf16 = load v1[v2]
  return v4
}
; @brain(1.5) == 1.5
; @brain(-1.5) == 0.0
";

const CAS: &str = "
func @cas(v0: i64, v1: i64) -> (i64, i64) {
  v2: array<i64, 1> = local_array {1}
  v3: i64 = const 0
  v4: i64 = atomic_cas v2[v3], v0, v1
  v5: i64 = load v2[v3]
  return v4, v5
}
; @cas(0, 7) == 0, 7
; @cas(1, 7) == 0, 0
func @fcas(v0: f32, v1: f32) -> (f32, f32) {
  v2: array<vec<f32, 2>, 1> = local_array {1}
  v3: i64 = const 0
  v4: f32 = atomic_cas v2[v3].1, v0, v1
  v5: f32 = load v2[v3].1
  return v4, v5
}
; @fcas(0, 7) == 0.0, 7.0
; @fcas(-0.0, 7) == 0.0, 0.0
";

const DESCRIPTORS: &str = "
func @extents(v0: u64, v1: i64, v2: i64) -> (i64, i64, u64, bool) {
  v3: array<f32, 2> = array_from_address v0, v1, v2
  v4: i64 = extent v3 {0}
  v5: i64 = extent v3 {1}
  v6: u64 = address v3
  v7: bool = is_null v3
  return v4, v5, v6, v7
}
; @extents(0, 2, 3) == 2, 3, 0, true
; @extents(64, 2, 3) == 2, 3, 64, false
func @wrap(v0: i64) -> (i64, i64) {
  v1: array<f32, 2> = local_array {3, 5}
  v2: i64 = wrap_index v1, v0 {0}
  v3: i64 = wrap_index v1, v0 {1}
  return v2, v3
}
; @wrap(-1) == 2, 4
; @wrap(0) == 0, 0
; @wrap(7) == 7, 7
; @wrap(-7) == -4, -2
func @strides(v0: i64) -> (i32, i32) {
  v1: array<i32, 2> = local_array {2, 3}
  v2: i64 = const 1
  v3: i64 = const 2
  v4: i32 = const 9
  store v1[v2, v3], v4
  v5: u64 = address v1
  v6: array<i32, 1> = array_from_address v5, v0
  v7: i64 = const 5
  v8: i32 = load v6[v7]
  v12: i64 = const 3
  v9: array<i32, 3> = array_from_address v5, v2, v3, v12
  v10: i64 = const 0
  v11: i32 = load v9[v10, v2, v3]
  return v8, v11
}
; @strides(6) == 9, 9
; @strides(5) fails unchecked [5, 5]
";

/// `@fill` puts 10 i + j at [i, j] of a 4 by 5 array.
const VIEWS: &str = "
func @fill(v0: array<i64, 2>) {
  v1: i64 = const 0
  v2: i64 = const 1
  v3: i64 = const 10
  v4: i64 = extent v0 {0}
  v5: i64 = extent v0 {1}
  for v6: i64 = v1 to v4 step v2 {
    for v7: i64 = v1 to v5 step v2 {
      v8: i64 = mul v6, v3
      v9: i64 = add v8, v7
      store v0[v6, v7], v9
      continue
    }
    continue
  }
  return
}
func @row(v0: i64, v1: i64) -> (i64, i64) {
  v2: array<i64, 2> = local_array {4, 5}
  call @fill(v2)
  v3: array<i64, 1> = row v2, v0 {0}
  v4: i64 = extent v3 {0}
  v5: i64 = load v3[v1]
  return v4, v5
}
; @row(2, 3) == 5, 23
; @row(2, 5) fails unchecked [5, 5]
; @row(4, 0) fails unchecked [0, 5]
; @row(-1, 0) fails unchecked [0, 5]
func @column(v0: i64, v1: i64) -> (i64, i64) {
  v2: array<i64, 2> = local_array {4, 5}
  call @fill(v2)
  v3: array<i64, 1> = row v2, v0 {1}
  v4: i64 = extent v3 {0}
  v5: i64 = load v3[v1]
  return v4, v5
}
; @column(3, 2) == 4, 23
; @column(4, 3) == 4, 34
; @column(4, 4) fails unchecked [4, 4]
; @column(5, 0) fails unchecked [0, 4]
func @middle(v0: i64) -> (i64, i64, i32) {
  v1: array<i32, 3> = local_array {2, 3, 4}
  v2: i64 = const 1
  v3: i64 = const 2
  v4: i32 = const 7
  store v1[v2, v0, v3], v4
  v5: array<i32, 2> = row v1, v0 {1}
  v6: i64 = extent v5 {0}
  v7: i64 = extent v5 {1}
  v8: i32 = load v5[v2, v3]
  return v6, v7, v8
}
; @middle(0) == 2, 4, 7
; @middle(2) == 2, 4, 7
func @sub(v0: i64, v1: i64, v2: i64, v3: i64) -> (i64, i64, i64) {
  v4: array<i64, 2> = local_array {4, 5}
  call @fill(v4)
  v5: array<i64, 2> = subarray v4, v0, v1, v2 {1}
  v6: i64 = extent v5 {0}
  v7: i64 = extent v5 {1}
  v8: i64 = const 1
  v9: i64 = load v5[v8, v3]
  return v6, v7, v9
}
; @sub(1, 3, 1, 2) == 4, 3, 13
; @sub(0, 3, 2, 2) == 4, 3, 14
; @sub(4, 5, -1, 1) == 4, 5, 13
; @sub(1, 3, 1, 3) fails unchecked [1, 3, 4, 3]
; @sub(5, 0, 1, 0) fails unchecked [1, 0, 4, 0]
; @sub(3, 3, 1, 0) fails unchecked [1, 0, 4, 3]
; @sub(0, 3, 9223372036854775807, 0) fails unchecked [1, 0, 4, 3]
func @subrow(v0: i64) -> (i64, i64) {
  v1: array<i64, 2> = local_array {4, 5}
  call @fill(v1)
  v2: i64 = const 3
  v3: i64 = const 2
  v4: i64 = const -2
  v5: array<i64, 2> = subarray v1, v2, v3, v4 {0}
  v6: array<i64, 1> = row v5, v0 {0}
  v7: i64 = load v6[v3]
  v8: i64 = extent v5 {0}
  return v7, v8
}
; @subrow(0) == 32, 2
; @subrow(1) == 12, 2
func @outside(v0: i64) -> bool {
  v1: array<i64, 2> = local_array {4, 5}
  v2: array<i64, 1> = row v1, v0 {0}
  v3: bool = is_null v2
  return v3
}
; @outside(3) == false
; @outside(4) == true
";

const LOCAL: &str = "
func @zeroed(v0: i32) -> i32 {
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i64 = const 0
  v4: i32 = for v5: i32 = v1 to v0 step v2 with (v6: i32 = v1) {
    v7: array<i32, 1> = local_array {3}
    v8: i32 = load v7[v3]
    store v7[v3], v2
    v9: i32 = add v6, v8
    continue v9
  }
  return v4
}
; @zeroed(5) == 0
func @outlives(v0: i32) -> array<i32, 1> {
  v1: array<i32, 1> = local_array {2}
  v2: i64 = const 1
  store v1[v2], v0
  return v1
}
func @two(v0: i32, v1: i32) -> (i32, i32) {
  v2: array<i32, 1> = call @outlives(v0)
  v3: array<i32, 1> = call @outlives(v1)
  v4: i64 = const 1
  v5: i32 = load v2[v4]
  v6: i32 = load v3[v4]
  return v5, v6
}
; @two(7, 8) == 7, 8
func @empty(v0: i64) -> (bool, i64) {
  v1: array<f64, 2> = local_array {0, 3}
  v2: bool = is_null v1
  v3: i64 = extent v1 {1}
  return v2, v3
}
; @empty(0) == false, 3
";

#[test]
fn elements() {
    check(ELEMENTS);
}

#[test]
fn paths() {
    check(PATHS);
}

#[test]
fn atomics() {
    check(ATOMICS);
}

#[test]
fn narrow_atomics() {
    check(NARROW_ATOMICS);
}

#[test]
fn compare_and_swap() {
    check(CAS);
}

#[test]
fn descriptors() {
    check(DESCRIPTORS);
}

#[test]
fn views() {
    check(VIEWS);
}

#[test]
fn local_arrays() {
    check(LOCAL);
}

#[test]
fn arrays_are_real_memory() {
    let text = "
        func @scale(v0: array<vec<f32, 3>, 1>, v1: i64, v2: f32) -> vec<f32, 3> {
          v3: vec<f32, 3> = load v0[v1]
          v4: vec<f32, 3> = splat v2
          v5: vec<f32, 3> = mul v3, v4
          store v0[v1], v5
          return v3
        }";
    let module = module(text);
    let vec3 = Type::vector(Scalar::F32, 3);
    let mut memory = [[1f32, 2., 3.], [4., 5., 6.]];
    let array = InterpValue::array(vec3, memory.as_mut_ptr() as u64, &[2]);
    let args = [array, InterpValue::i64(1), InterpValue::f32(10.0)];
    let results = Program::new(&module).call(ir::FuncRef(0), &args).unwrap();
    let old = InterpValue::composite(vec3, &[4.0, 5.0, 6.0].map(InterpValue::f32));
    assert_eq!((results, memory), (vec![old], [[1., 2., 3.], [40., 50., 60.]]));
}

#[test]
fn strides_may_be_negative_zero_or_unaligned() {
    let module = module("func @get(v0: array<f32, 1>, v1: i64) -> f32 { v2: f32 = load v0[v1]; return v2 }");
    let program = Program::new(&module);
    let memory = [1f32, 2.0, 3.0];
    let get = |address: u64, stride: i64, index: i64| {
        let mut array = InterpValue::array(Type::f32(), address, &[3]);
        array.words[2] = stride as u64;
        program.call(ir::FuncRef(0), &[array, InterpValue::i64(index)]).unwrap()[0].to_string()
    };
    assert_eq!(get(&raw const memory[2] as u64, -4, 2), "1.0");
    assert_eq!(get(&raw const memory[1] as u64, 0, 2), "2.0");
    let mut bytes = [0u8; 16];
    bytes[6..10].copy_from_slice(&2.5f32.to_le_bytes());
    assert_eq!(get(bytes.as_ptr() as u64 + 1, 5, 1), "2.5");
}

#[test]
fn structs_with_arrays_are_loaded_as_descriptors() {
    let text = "
        func @get(v0: array<struct S<n: i32, a: array<f32, 1>>, 1>, v1: i64) -> f32 {
          v2: i64 = const 0
          v3: array<f32, 1> = load v0[v2].1
          v4: f32 = load v3[v1]
          return v4
        }";
    let module = module(text);
    let inner = [1f32, 2.0];
    let array = InterpValue::array(Type::f32(), inner.as_ptr() as u64, &[2]);
    let ty = Type::structure("S", vec![("n".into(), Type::i32()), ("a".into(), array.ty)]);
    let bytes = InterpValue::composite(ty, &[InterpValue::i32(1), array]).to_bytes();
    let outer = InterpValue::array(ty, bytes.as_ptr() as u64, &[1]);
    let results = Program::new(&module).call(ir::FuncRef(0), &[outer, InterpValue::i64(1)]);
    assert_eq!(results.unwrap(), [InterpValue::f32(2.0)]);
}
