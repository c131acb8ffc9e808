//! Composites, structs, tuples and conversions.

use crate::check;

pub(crate) const TEXTS: &[&str] = &[COMPONENTWISE, COMPONENTS, DYNAMIC, PRODUCTS, CONVERSIONS, STRUCTS];

const COMPONENTWISE: &str = "
func @sum(v0: f32, v1: f32) -> vec<f32, 3> {
  v2: vec<f32, 3> = splat v0
  v3: vec<f32, 3> = construct v0, v1, v1
  v4: vec<f32, 3> = add v2, v3
  return v4
}
; @sum(1, 2) == (2.0, 3.0, 3.0)
func @neg(v0: i8) -> mat<i8, 2, 2> {
  v1: i8 = const 1
  v2: mat<i8, 2, 2> = construct v0, v1, v0, v1
  v3: mat<i8, 2, 2> = neg v2
  return v3
}
; @neg(-128) == (-128, -1, -128, -1)
func @fma(v0: f32) -> quat<f32> {
  v1: f32 = const 2.0
  v2: quat<f32> = construct v0, v1, v0, v1
  v3: quat<f32> = fma v2, v2, v2
  return v3
}
; @fma(3) == (12.0, 6.0, 12.0, 6.0)
func @not(v0: bool) -> vec<bool, 2> {
  v1: bool = const true
  v2: vec<bool, 2> = construct v0, v1
  v3: vec<bool, 2> = not v2
  return v3
}
; @not(false) == (true, false)
";

const COMPONENTS: &str = "
func @extract(v0: f32, v1: f32) -> f32 {
  v2: mat<f32, 2, 3> = construct v0, v0, v0, v1, v0, v0
  v3: f32 = extract v2 {3}
  return v3
}
; @extract(1, 2) == 2.0
func @insert(v0: i32) -> (vec<i32, 3>, vec<i32, 3>) {
  v1: vec<i32, 3> = splat v0
  v2: i32 = const 9
  v3: vec<i32, 3> = insert v1, v2 {1}
  return v3, v1
}
; @insert(4) == (4, 9, 4), (4, 4, 4)
func @select(v0: bool, v1: f32) -> transform<f32> {
  v2: f32 = const 0.5
  v3: transform<f32> = splat v1
  v4: transform<f32> = splat v2
  v5: transform<f32> = select v0, v3, v4
  return v5
}
; @select(true, 1) == (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
; @select(false, 1) == (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
func @pick(v0: bool, v1: i64, v2: i64) -> i64 {
  v3: i64 = select v0, v1, v2
  return v3
}
; @pick(true, 1, 2) == 1
; @pick(false, 1, 2) == 2
";

const DYNAMIC: &str = "
func @get(v0: i64) -> i32 {
  v1: i32 = const 5
  v2: i32 = const 6
  v3: vec<i32, 2> = construct v1, v2
  v4: i32 = extract_dyn v3, v0
  return v4
}
; @get(0) == 5
; @get(1) == 6
; @get(2) == 0
; @get(-1) == 0
func @get2(v0: i64, v1: i64) -> i32 {
  v2: i32 = const 1
  v3: i32 = const 2
  v4: i32 = const 3
  v5: i32 = const 4
  v6: i32 = const 5
  v7: i32 = const 6
  v8: mat<i32, 2, 3> = construct v2, v3, v4, v5, v6, v7
  v9: i32 = extract_dyn v8, v0, v1
  return v9
}
; @get2(0, 2) == 3
; @get2(1, 0) == 4
; @get2(0, 3) == 0
; @get2(2, 0) == 0
; @get2(-1, 5) == 0
func @set(v0: i64) -> vec<f64, 2> {
  v1: f64 = const 1.0
  v2: f64 = const 9.0
  v3: vec<f64, 2> = splat v1
  v4: vec<f64, 2> = insert_dyn v3, v2, v0
  return v4
}
; @set(0) == (9.0, 1.0)
; @set(1) == (1.0, 9.0)
; @set(2) == (1.0, 1.0)
; @set(-9223372036854775808) == (1.0, 1.0)
func @set2(v0: i64, v1: i64) -> mat<u8, 2, 2> {
  v2: u8 = const 1
  v3: u8 = const 9
  v4: mat<u8, 2, 2> = splat v2
  v5: mat<u8, 2, 2> = insert_dyn v4, v3, v0, v1
  return v5
}
; @set2(1, 0) == (1, 1, 9, 1)
; @set2(0, 2) == (1, 1, 1, 1)
";

const PRODUCTS: &str = "
func @dot(v0: f32, v1: f32) -> f32 {
  v2: vec<f32, 3> = construct v0, v1, v0
  v3: f32 = const 1.0
  v4: vec<f32, 3> = construct v3, v3, v3
  v5: f32 = dot v2, v4
  return v5
}
; @dot(16777216, 1) == 33554432.0
; @dot(-0.0, -0.0) == -0.0
func @idot(v0: i8) -> i8 {
  v1: vec<i8, 2> = splat v0
  v2: i8 = dot v1, v1
  return v2
}
; @idot(10) == -56
func @matvec(v0: i32, v1: i32) -> (vec<i32, 2>, vec<i32, 3>, mat<i32, 2, 2>, mat<i32, 3, 2>) {
  v2: i32 = const 2
  v3: mat<i32, 2, 3> = construct v0, v1, v2, v2, v1, v0
  v4: vec<i32, 3> = construct v0, v1, v2
  v5: vec<i32, 2> = matmul v3, v4
  v6: vec<i32, 2> = construct v0, v1
  v7: vec<i32, 3> = matmul v6, v3
  v8: mat<i32, 3, 2> = transpose v3
  v9: mat<i32, 2, 2> = matmul v3, v8
  return v5, v7, v9, v8
}
; @matvec(1, 3) == (14, 13), (7, 12, 5), (14, 13, 13, 14), (1, 2, 3, 3, 2, 1)
func @halves(v0: f16) -> f16 {
  v1: f16 = const 1.0
  v2: vec<f16, 3> = construct v0, v1, v1
  v3: vec<f16, 3> = splat v1
  v4: f16 = dot v2, v3
  return v4
}
; @halves(2048) == 2048.0
";

const CONVERSIONS: &str = "
func @cast(v0: f32) -> vec<i8, 2> {
  v1: vec<f32, 2> = splat v0
  v2: vec<i8, 2> = cast v1
  return v2
}
; @cast(-300.5) == (-128, -128)
func @cast1(v0: i32) -> f64 { v1: f64 = cast v0; return v1 }
; @cast1(-3) == -3.0
func @bits(v0: f32) -> i32 { v1: i32 = bitcast v0; return v1 }
; @bits(1) == 1065353216
; @bits(-0.0) == -2147483648
func @unbits(v0: u16) -> bf16 { v1: bf16 = bitcast v0; return v1 }
; @unbits(16256) == 1.0
";

const STRUCTS: &str = "
func @make(v0: f32, v1: i64) -> struct Ray<origin: vec<f32, 3>, id: i64> {
  v2: vec<f32, 3> = splat v0
  v3: struct Ray<origin: vec<f32, 3>, id: i64> = construct v2, v1
  return v3
}
; @make(1.5, 7) == ((1.5, 1.5, 1.5), 7)
func @change(v0: f32, v1: i64) -> (vec<f32, 3>, i64, tuple<f32, i64>) {
  v2: struct Ray<origin: vec<f32, 3>, id: i64> = call @make(v0, v1)
  v3: i64 = const 8
  v4: struct Ray<origin: vec<f32, 3>, id: i64> = insert v2, v3 {1}
  v5: vec<f32, 3> = extract v4 {0}
  v6: i64 = extract v4 {1}
  v7: f32 = extract v5 {2}
  v8: tuple<f32, i64> = construct v7, v6
  return v5, v6, v8
}
; @change(0.5, 7) == (0.5, 0.5, 0.5), 8, (0.5, 8)
";

#[test]
fn componentwise() {
    check(COMPONENTWISE);
}

#[test]
fn components() {
    check(COMPONENTS);
}

#[test]
fn dynamic_components() {
    check(DYNAMIC);
}

#[test]
fn products() {
    check(PRODUCTS);
}

#[test]
fn conversions() {
    check(CONVERSIONS);
}

#[test]
fn structs_and_tuples() {
    check(STRUCTS);
}
