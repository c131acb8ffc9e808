//! Passes on random modules keep them valid. What each pass does is in tests/filetests; that results stay the same is
//! tested in the filetests crate, which has the interpreter.

use super::*;
use ir::arbitrary;
use proptest::collection::vec;
use proptest::prelude::*;

fn valid(module: &Module, pass: &str, before: &str) -> Result<(), TestCaseError> {
    verify::verify(module)
        .map_err(|errors| TestCaseError::fail(format!("{pass}\n{before}\n{}", verify::report(module, &errors))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn passes_keep_modules_valid(numbers in vec(any::<u32>(), 0..300)) {
        let mut module = arbitrary::module(&numbers);
        for func in &mut module.funcs {
            let mut alone = func.clone();
            let _ = unify_returns(&mut alone);
        }
        let before = module.to_string();
        let _ = inline_calls(&mut module);
        valid(&module, "inline_calls", &before)?;
        prop_assert!(!module.to_string().contains(" call "));
        for (name, pass) in PASSES.into_iter().chain(PASSES) {
            let before = module.to_string();
            for func in &mut module.funcs {
                let _ = pass(func);
            }
            valid(&module, name, &before)?;
        }
    }

    #[test]
    fn each_pass_alone_keeps_modules_valid(numbers in vec(any::<u32>(), 0..300), pick in 0usize..6) {
        let mut module = arbitrary::module(&numbers);
        let before = module.to_string();
        let (name, pass) = PASSES.into_iter().chain([("unify_returns", unify_returns as fn(&mut Function) -> Changed)]).nth(pick).unwrap();
        for func in &mut module.funcs {
            let _ = pass(func);
        }
        valid(&module, name, &before)?;
    }

    #[test]
    fn passes_settle(numbers in vec(any::<u32>(), 0..200)) {
        let mut module = arbitrary::module(&numbers);
        for _ in 0..12 {
            optimize(&mut module);
        }
        let before = module.to_string();
        let mut changed = Changed(false);
        for (_, pass) in PASSES {
            for func in &mut module.funcs {
                changed |= pass(func);
            }
        }
        prop_assert!(!changed.0, "{}\n{}", before, module);
    }
}

/// As deep as the verifier allows; test threads have small stacks.
#[test]
fn deep_nests_pass() {
    let depth = 490;
    let mut text = String::from("func @f(v0: bool, v1: i32) -> i32 { v2: i32 = const 1\n");
    text.push_str(&"if v0 { loop { if v0 { return v1 }\n".repeat(depth));
    text.push_str(&"break }\nyield }\n".repeat(depth));
    text.push_str("return v2 }\nfunc @main(v0: bool, v1: i32) -> i32 { v2: i32 = call @f(v0, v1)\nreturn v2 }");
    let mut module = ir::parse::parse_module(&text).unwrap();
    assert_eq!(verify::verify(&module), Ok(()));
    optimize(&mut module);
    assert!(!module.to_string().contains("call"));
}
