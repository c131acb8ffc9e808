//! Random kernels leave the same bits interpreted, thread by thread, and in gangs. `examples/fuzz.rs` runs more of them.

use gridstride_filetests::lanes::{Array, Launch};
use ir::arbitrary::{kernels, scalar_constant};
use proptest::collection::vec;
use proptest::prelude::*;

/// A launch of a random kernel over random contents.
pub(crate) fn launch(module: &ir::Module, numbers: &[u32]) -> Launch {
    let mut numbers = numbers.iter().copied().cycle();
    let mut next = move |scalar| scalar_constant(scalar, numbers.next().unwrap_or(0)).0;
    let elem = |param: &ir::func::Param| param.ty.as_array().expect("arrays only").0;
    let arrays = module.funcs[0].params.iter().map(|param| Array::fill(elem(param), kernels::EXTENT, &mut next));
    Launch { arrays: arrays.collect(), n_elements: kernels::EXTENT, n_threads: kernels::MAX_THREADS }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn gangs_compute_what_the_interpreter_does(numbers in vec(any::<u32>(), 0..250), contents in vec(any::<u32>(), 97)) {
        let module = kernels::kernel(&numbers);
        let launch = launch(&module, &contents);
        launch.compare(&module).map_err(|what| TestCaseError::fail(format!("{what}\n{module}")))?;
    }
}
