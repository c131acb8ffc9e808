use super::*;
use crate::verify::{report, verify};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample;

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

/// Pieces of which text that is nearly right is made.
const PIECES: [&str; 46] = [
    "func",
    "kernel",
    "@f",
    "@#0",
    "(",
    ")",
    "{",
    "}",
    "v0",
    "v1",
    "v2",
    ":",
    "f32",
    "i64",
    "bool",
    "vec<f32, 3>",
    "array<",
    "struct S<a: f32>",
    "tuple<",
    ">",
    ",",
    "->",
    "=",
    "const",
    "1",
    "-1.5",
    "1e99999",
    "nan",
    "0x7fc00001",
    "add",
    "load",
    "[",
    "]",
    ".0",
    ".?",
    "call",
    "if",
    "else",
    "for",
    "loop",
    "with",
    "site 0",
    "\"a\\",
    "\n",
    ";",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = check(&text);
    }

    #[test]
    fn nearly_right_text_is_read_or_refused(pieces in vec(sample::select(&PIECES[..]), 0..60)) {
        let _ = check(&pieces.join(" "));
        let _ = check(&format!("func @f(v0: f32, v1: array<f32, 1>) {{ {}", pieces.join(" ")));
    }

    #[test]
    fn a_damaged_module_is_read_or_refused(
        numbers in vec(any::<u32>(), 0..120),
        at in any::<sample::Index>(),
        n in 0usize..12,
        piece in sample::select(&PIECES[..]),
    ) {
        let mut chars: Vec<char> = crate::arbitrary::module(&numbers).to_string().chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..(at + n).min(chars.len()), piece.chars());
        let _ = check(&chars.into_iter().collect::<String>());
    }

    /// Tables with entries out of place: the verifier and the printer must live with them.
    #[test]
    fn a_damaged_function_is_verified(numbers in vec(any::<u32>(), 0..120), damage in vec(any::<[u32; 3]>(), 1..4)) {
        let mut module = crate::arbitrary::module(&numbers);
        for [kind, a, b] in damage {
            let i = a as usize % module.funcs.len();
            break_table(&mut module.funcs[i], kind, a, b);
        }
        if let Err(errors) = verify(&module) {
            let _ = report(&module, &errors);
        }
        let _ = module.to_string();
    }
}

fn break_table(func: &mut Function, kind: u32, a: u32, b: u32) {
    use crate::func::{RegionId, Value};
    let inst = a as usize % func.insts.len();
    let region = a as usize % func.regions.len();
    // Most often in range, at times beyond.
    let value = Value(b % (func.values.len() as u32 + 2));
    match kind % 12 {
        0 => func.insts[inst].operands.push(value),
        1 => drop(func.insts[inst].operands.pop()),
        2 => func.insts[inst].results.push(value),
        3 => drop(func.insts[inst].results.pop()),
        4 => func.insts[inst].regions.push(RegionId(b % (func.regions.len() as u32 + 2))),
        5 => drop(func.insts[inst].regions.pop()),
        6 => func.insts[inst].op = crate::Op::ALL[b as usize % crate::Op::ALL.len()],
        7 => func.insts[inst].attr = Attr::Index(b),
        8 => func.regions[region].params.push(value),
        9 => func.regions[region].insts.push(InstId(b % (func.insts.len() as u32 + 2))),
        10 => drop(func.regions[region].insts.pop()),
        _ => {
            let operand = func.insts[inst].operands.first_mut();
            if let Some(operand) = operand {
                *operand = value;
            }
        }
    }
}
