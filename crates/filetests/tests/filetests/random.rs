//! Random modules give the same results before and after each pass, and compiled.

use gridstride_filetests::run::{interpret, on_cpu};
use interp::InterpValue;
use ir::arbitrary::{self, scalar_constant};
use ir::{FuncRef, Module, Type};
use proptest::collection::vec;
use proptest::prelude::*;

/// An argument of a type without arrays, from numbers.
fn argument(ty: Type, numbers: &mut impl Iterator<Item = u32>) -> InterpValue {
    if let Some(scalar) = ty.as_scalar() {
        return InterpValue::constant(scalar, scalar_constant(scalar, numbers.next().unwrap_or(0)));
    }
    let components: Vec<InterpValue> =
        (0..ty.n_components()).filter_map(|i| ty.component(i)).map(|ty| argument(ty, numbers)).collect();
    InterpValue::composite(ty, &components)
}

fn arguments(module: &Module, main: FuncRef, numbers: &[u32]) -> Vec<InterpValue> {
    let mut numbers = numbers.iter().copied();
    module.func(main).params.iter().map(|param| argument(param.ty, &mut numbers)).collect()
}

fn main_of(module: &Module) -> FuncRef {
    module.find("main").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn passes_keep_results(numbers in vec(any::<u32>(), 0..250), args in vec(any::<u32>(), 30)) {
        let mut module = arbitrary::module(&numbers);
        let main = main_of(&module);
        let args = arguments(&module, main, &args);
        let expected = interpret(&module, main, &args);
        let before = module.to_string();
        for func in &mut module.funcs {
            let _ = transform::unify_returns(func);
        }
        prop_assert_eq!(&interpret(&module, main, &args), &expected, "unify_returns\n{}\n{}", before, module);
        let _ = transform::inline_calls(&mut module);
        prop_assert_eq!(&interpret(&module, main, &args), &expected, "inline_calls\n{}\n{}", before, module);
        let more: [transform::Pass; 7] = [
            ("split_at_zero", transform::split_at_zero),
            ("unroll_loops", transform::unroll_loops),
            ("unroll_own_arrays", transform::unroll_own_arrays),
            ("merge_arm_loads", transform::merge_arm_loads),
            ("flatten_arms", transform::flatten_arms),
            ("batch_reads", |func| transform::batch_reads(func, true)),
            ("widen_indices", transform::widen_indices),
        ];
        for (name, pass) in transform::PASSES.into_iter().chain(more).chain(transform::PASSES) {
            let before = module.to_string();
            for func in &mut module.funcs {
                let _ = pass(func);
            }
            prop_assert_eq!(&interpret(&module, main, &args), &expected, "{}\n{}\n{}", name, before, module);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn the_cpu_computes_what_the_interpreter_does(numbers in vec(any::<u32>(), 0..200), args in vec(any::<u32>(), 30)) {
        let mut module = arbitrary::module(&numbers);
        module.fast_math = false;
        let main = main_of(&module);
        let args = arguments(&module, main, &args);
        let expected = interpret(&module, main, &args);
        let found = on_cpu(&module, main, &args).map_err(|what| TestCaseError::fail(format!("{what}\n{module}")))?;
        prop_assert_eq!(found, expected, "{}", module);
    }
}
