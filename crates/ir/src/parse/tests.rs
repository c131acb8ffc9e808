use super::*;
use crate::verify::{report, verify};

/// The text as the printer gives it back, after the verifier passed it.
fn check(text: &str) -> String {
    match parse_module(text) {
        Ok(module) => match verify(&module) {
            Ok(()) => module.to_string(),
            Err(errors) => report(&module, &errors),
        },
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_kernel_prints_as_written() {
    let text = r#"module fast_math

kernel @saxpy(v0: f32, v1: array<f32, 1>, v2: array<struct Ray<o: vec<f32, 3>, m: mat<f32, 2, 2>>, 2>) {
  v3: i64 = tid 0
  check_bounds v1[v3] {site 0}
  v4: f32 = load v1[v3]
  v5: f32 = load v2[v3, v3].0.?v3
  v6: f32 = load v2[v3, v3].1.?(v3, v3)
  v7: f32 = atomic add v2[v3, v3].0.2, v5
  v8: i32 = const -5
  v9: i32 = call @f(v8, v8)
  store v1[v3], v4
  v10: array<i32, 2> = local_array {3, 4}
  v11: i64 = extent v10 {1}
  v12: i32 = atomic_cas v10[v3, v11], v8, v9
  print "%d \"quoted\"\n", v12
  return
}

func @f(v0: i32, v1: i32) -> i32 {
  v2: f32 = const 0x7fc00001
  v3: i32 = const 1
  v7: f32, v8: i32 = for v4: i32 = v0 to v1 step v3 with (v5: f32 = v2, v6: i32 = v3) {
    v9: bool = lt v4, v3
    if v9 {
      break v5, v4
    }
    v10: i32 = if v9 {
      yield v3
    } else {
      return v4
    }
    continue v5, v10
  }
  v12: i32 = loop (v11: i32 = v8) {
    break v11
  }
  loop {
    break
  }
  return v12
}

site 0: array-index "a"
site 1: assert "x > 0"
"#;
    assert_eq!(check(text), text);
}

#[test]
fn one_line_and_comments() {
    let text = "; test: nothing\nfunc @f(v1: f32) -> (f32, f32) { v9: f32 = neg v1; return v9, v9 } ;; end\n; check: x";
    insta::assert_snapshot!(check(text), @r"
    func @f(v1: f32) -> (f32, f32) {
      v9: f32 = neg v1
      return v9, v9
    }
    ");
}

#[test]
fn errors_say_where() {
    let at = |text| check(text);
    assert_eq!(at("func @f() {\n  v0: f33 = const 1\n}"), "2:7: there is no type `f33`");
    assert_eq!(at("func @f() {\n  plus v1\n}"), "2:3: there is no op `plus`");
    assert_eq!(at("func @f() { return v1 }"), "1:20: v1 is not defined in this function");
    assert_eq!(at("func @f(v0: f32, v0: f32) { return }"), "1:18: v0 is defined twice");
    assert_eq!(at("func @f() { v0: i8 = const 300; return }"), "1:28: `300` is no constant of type `i8`");
    assert_eq!(at("func @f() { call @g(); return }"), "1:19: there is no function @g");
    assert_eq!(at("func @f() { return"), "1:19: expected a name");
    assert_eq!(
        at("func @f() { return return }"),
        "1:20: expected the end of the instruction: a line break, `;` or `}`"
    );
    assert_eq!(at("site 1: assert \"\""), "1:6: sites are numbered in order; the next is 0");
    assert_eq!(at("func @f(v9999999999: f32) {}"), "1:9: values are numbered up to v1000000");
}

#[test]
fn deep_text_is_refused() {
    let regions = format!("func @f() {{ {}", "loop {".repeat(100_000));
    assert!(check(&regions).contains("regions are nested too deep"));
    let types = format!("func @f(v0: {}", "tuple<".repeat(100_000));
    assert!(check(&types).contains("the type is nested too deep"));
}
