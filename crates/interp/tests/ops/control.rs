//! Control flow, calls and checks.

use crate::{check, module};
use interp::{Error, InterpValue};

pub(crate) const TEXTS: &[&str] = &[BRANCHES, COUNTED, LOOPS, NESTED, CALLS, CHECKS];

const BRANCHES: &str = "
func @sign(v0: i32) -> i32 {
  v1: i32 = const 0
  v2: bool = lt v0, v1
  v3: i32 = if v2 {
    v4: i32 = const -1
    yield v4
  } else {
    v5: bool = gt v0, v1
    v6: i32 = if v5 {
      v7: i32 = const 1
      yield v7
    } else {
      yield v1
    }
    yield v6
  }
  return v3
}
; @sign(-5) == -1
; @sign(0) == 0
; @sign(9) == 1
func @early(v0: bool) -> i32 {
  v1: i32 = const 1
  if v0 {
    return v1
  }
  v2: i32 = const 2
  return v2
}
; @early(true) == 1
; @early(false) == 2
func @never(v0: bool) -> i32 {
  v1: i32 = const 1
  if v0 {
    return v1
  }
  unreachable
}
; @never(true) == 1
; @never(false) fails unchecked []
func @swap(v0: bool, v1: i32, v2: i32) -> (i32, i32) {
  v3: i32, v4: i32 = if v0 {
    yield v2, v1
  } else {
    yield v1, v2
  }
  return v3, v4
}
; @swap(true, 1, 2) == 2, 1
; @swap(false, 1, 2) == 1, 2
";

const COUNTED: &str = "
func @count(v0: i32, v1: i32, v2: i32) -> (i32, i32) {
  v3: i32 = const 0
  v4: i32 = const 1
  v5: i32 = const -99
  v6: i32, v7: i32 = for v8: i32 = v0 to v1 step v2 with (v9: i32 = v3, v10: i32 = v5) {
    v11: i32 = add v9, v4
    continue v11, v8
  }
  return v6, v7
}
; @count(0, 3, 1) == 3, 2
; @count(0, 3, 2) == 2, 2
; @count(3, 0, -1) == 3, 1
; @count(3, 0, -2) == 2, 1
; @count(0, 0, 1) == 0, -99
; @count(0, 3, 0) == 0, -99
; @count(0, 3, -1) == 0, -99
; @count(3, 0, 1) == 0, -99
; @count(2147483645, 2147483647, 1) == 2, 2147483646
; @count(2147483640, 2147483647, 5) == 2, 2147483645
; @count(-2147483640, -2147483648, -5) == 2, -2147483645
; @count(-2147483648, 2147483647, 2147483647) == 3, 2147483646
func @ucount(v0: u8, v1: u8, v2: u8) -> (i32, u8) {
  v3: i32 = const 0
  v4: i32 = const 1
  v5: u8 = const 77
  v6: i32, v7: u8 = for v8: u8 = v0 to v1 step v2 with (v9: i32 = v3, v10: u8 = v5) {
    v11: i32 = add v9, v4
    continue v11, v8
  }
  return v6, v7
}
; @ucount(0, 255, 1) == 255, 254
; @ucount(0, 255, 200) == 2, 200
; @ucount(5, 3, 255) == 0, 77
func @find(v0: i64, v1: i64) -> i64 {
  v2: i64 = const 0
  v3: i64 = const 1
  v4: i64 = const -1
  v5: i64 = for v6: i64 = v2 to v0 step v3 with (v7: i64 = v4) {
    v8: i64 = mul v6, v6
    v9: bool = gt v8, v1
    if v9 {
      break v6
    }
    continue v7
  }
  return v5
}
; @find(10, 20) == 5
; @find(3, 20) == -1
";

const LOOPS: &str = "
func @fib(v0: i32) -> i64 {
  v1: i64 = const 0
  v2: i64 = const 1
  v3: i32 = const 1
  v4: i32 = const 0
  v5: i64 = loop (v6: i64 = v1, v7: i64 = v2, v8: i32 = v0) {
    v9: bool = le v8, v4
    if v9 {
      break v6
    }
    v10: i64 = add v6, v7
    v11: i32 = sub v8, v3
    continue v7, v10, v11
  }
  return v5
}
; @fib(0) == 0
; @fib(1) == 1
; @fib(50) == 12586269025
func @rotate(v0: i32) -> (vec<i32, 2>, vec<i32, 2>) {
  v1: i32 = const 1
  v2: i32 = const 2
  v3: vec<i32, 2> = construct v1, v2
  v4: vec<i32, 2> = construct v2, v2
  v5: i32 = const 0
  v6: vec<i32, 2>, v7: vec<i32, 2> = loop (v8: vec<i32, 2> = v3, v9: vec<i32, 2> = v4, v10: i32 = v0) {
    v11: bool = eq v10, v5
    if v11 {
      break v8, v9
    }
    v12: i32 = sub v10, v1
    v13: i32 = extract v8 {1}
    v14: vec<i32, 2> = insert v9, v13 {0}
    v15: vec<i32, 2> = insert v14, v12 {1}
    continue v9, v15, v12
  }
  return v6, v7
}
; @rotate(0) == (1, 2), (2, 2)
; @rotate(1) == (2, 2), (2, 0)
; @rotate(3) == (2, 1), (2, 0)
";

const NESTED: &str = "
func @primes(v0: i32) -> i32 {
  v1: i32 = const 0
  v2: i32 = const 1
  v3: i32 = const 2
  v4: i32 = for v5: i32 = v3 to v0 step v2 with (v6: i32 = v1) {
    v10: bool = const true
    v7: bool = for v8: i32 = v3 to v5 step v2 with (v9: bool = v10) {
      v11: i32 = rem v5, v8
      v12: bool = eq v11, v1
      if v12 {
        v13: bool = const false
        break v13
      }
      continue v9
    }
    if v7 {
      v14: i32 = add v6, v2
      continue v14
    }
    continue v6
  }
  return v4
}
; @primes(30) == 10
func @out(v0: i32) -> i32 {
  v1: i32 = const 0
  v2: i32 = const 1
  loop {
    v3: i32 = for v4: i32 = v1 to v0 step v2 with (v5: i32 = v1) {
      v6: i32 = const 3
      v7: bool = eq v4, v6
      if v7 {
        return v4
      }
      v8: i32 = add v5, v4
      continue v8
    }
    return v3
  }
  unreachable
}
; @out(3) == 3
; @out(2) == 1
; @out(100) == 3
";

const CALLS: &str = "
func @pair(v0: i32, v1: vec<i32, 2>) -> (vec<i32, 2>, i32) {
  v2: vec<i32, 2> = splat v0
  v3: vec<i32, 2> = add v1, v2
  v4: i32 = extract v1 {0}
  return v3, v4
}
func @both(v0: i32) -> (i32, i32) {
  v1: i32 = const 10
  v2: vec<i32, 2> = construct v0, v1
  v3: vec<i32, 2>, v4: i32 = call @pair(v1, v2)
  v5: i32 = extract v3 {1}
  return v5, v4
}
; @both(4) == 20, 4
";

const CHECKS: &str = "
func @index(v0: i64, v1: i64) -> i64 {
  check_index v0, v1 {site 0}
  return v0
}
; @index(3, 4) == 3
; @index(4, 4) fails 0 [4, 4]
; @index(-1, 4) fails 0 [-1, 4]
func @divisor(v0: i32) -> vec<i32, 2> {
  v1: i32 = const 1
  v2: vec<i32, 2> = construct v1, v0
  check_nonzero v2 {site 1}
  return v2
}
; @divisor(2) == (1, 2)
; @divisor(0) fails 1 []
func @finite(v0: f16) -> vec<f16, 2> {
  v1: f16 = const 1.0
  v2: vec<f16, 2> = construct v1, v0
  check_finite v2 {site 2}
  return v2
}
; @finite(65504) == (1.0, 65504.0)
; @finite(nan) fails 2 []
; @finite(-inf) fails 2 []
func @assert(v0: bool) -> bool {
  assert v0 {site 3}
  return v0
}
; @assert(true) == true
; @assert(false) fails 3 []
func @bounds(v0: i64, v1: i64) -> i64 {
  v2: array<f32, 2> = local_array {3, 4}
  check_bounds v2[v0, v1] {site 4}
  return v0
}
; @bounds(2, 3) == 2
; @bounds(3, 3) fails 4 [3, 3, 3, 4]
; @bounds(0, -1) fails 4 [0, -1, 3, 4]
func @null(v0: u64, v1: i64) -> i64 {
  v2: array<f32, 1> = array_from_address v0, v1
  v3: i64 = const 0
  check_bounds v2[v3] {site 4}
  return v3
}
; @null(0, 5) fails 4 [0, 5]
; @null(4096, 5) == 0
; @null(4096, 0) fails 4 [0, 0]
func @inner(v0: bool) -> bool {
  v1: bool = call @assert(v0)
  return v1
}
; @inner(false) fails 3 []

site 0: component-index \"v\"
site 1: division-by-zero \"\"
site 2: not-finite \"\"
site 3: assert \"must hold\"
site 4: array-index \"a\"
";

#[test]
fn branches() {
    check(BRANCHES);
}

#[test]
fn counted_loops() {
    check(COUNTED);
}

#[test]
fn loops() {
    check(LOOPS);
}

#[test]
fn nested_loops() {
    check(NESTED);
}

#[test]
fn calls() {
    check(CALLS);
}

#[test]
fn checks() {
    check(CHECKS);
}

#[test]
fn arguments_must_have_the_parameters_types() {
    let module = module("func @f(v0: i32) -> i32 { return v0 }");
    let found = interp::call(&module, ir::FuncRef(0), &[InterpValue::f32(1.0)]);
    assert!(matches!(found, Err(Error::WrongArguments { .. })), "{found:?}");
    let found = interp::call(&module, ir::FuncRef(0), &[]);
    assert!(matches!(found, Err(Error::WrongArguments { .. })), "{found:?}");
}

#[test]
fn endless_recursion_ends() {
    // The verifier refuses recursion; the interpreter must not overflow the stack where it was not asked.
    let module = ir::parse::parse_module("func @f(v0: i32) { call @f(v0); return }").unwrap();
    let found = interp::call(&module, ir::FuncRef(0), &[InterpValue::i32(1)]);
    assert_eq!(found, Err(Error::TooDeep));
}

#[test]
fn regions_may_nest_as_deep_as_the_verifier_allows() {
    let n = ir::verify::MAX_DEPTH - 2;
    let text = format!("func @f(v0: bool) {{\n{}{}return }}", "if v0 {\n".repeat(n), "yield\n}\n".repeat(n));
    assert_eq!(interp::call(&module(&text), ir::FuncRef(0), &[InterpValue::bool(true)]), Ok(vec![]));
}
