//! Adjoint kernels against central differences: random programs, and every row of the table of derivatives.

use gridstride_filetests::gradient::{self, Tolerance};
use gridstride_filetests::programs::{THREADS, program};
use gridstride_filetests::run::Arg;
use interp::InterpValue;
use ir::{Attr, Builder, Function, FunctionKind, Module, Op, Param, Scalar, Type};
use proptest::collection::vec;
use proptest::prelude::*;
use runtime::LaunchBounds;

fn threads(n: i64) -> LaunchBounds {
    LaunchBounds::new([n, 1, 1, 1])
}

fn check_program(numbers: &[u32], on_cpu: bool) -> Result<(), TestCaseError> {
    let (module, inputs) = program(numbers);
    ir::verify::verify(&module).map_err(|errors| TestCaseError::fail(ir::verify::report(&module, &errors)))?;
    match gradient::check(&module, &inputs, &threads(THREADS), Tolerance::DOUBLE, on_cpu) {
        // Near kinks alone there is nothing to compare: another program is made, and too many of these fail the test.
        Ok(n) => prop_assume!(n > 0),
        // The count of rounds may depend on what the program overwrites.
        Err(report) if report.contains("depends on what is read or written here") => {}
        Err(report) => return Err(TestCaseError::fail(report)),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn adjoints_of_random_programs(numbers in vec(any::<u32>(), 0..160)) {
        check_program(&numbers, false)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn compiled_adjoints_of_random_programs(numbers in vec(any::<u32>(), 40..120)) {
        check_program(&numbers, true)?;
    }
}

/// Where an op is smooth: all operands of five points, exact in every float type.
fn points(op: Op) -> [[f64; 3]; 5] {
    match op {
        Op::Asin | Op::Acos | Op::Atanh => [[-0.875; 3], [-0.5; 3], [0.125; 3], [0.5; 3], [0.875; 3]],
        Op::Acosh => [[1.125; 3], [1.5; 3], [2.0; 3], [3.5; 3], [7.0; 3]],
        Op::Log | Op::Log2 | Op::Log10 | Op::Log1P | Op::Sqrt | Op::Cbrt => {
            [[0.125; 3], [0.5; 3], [1.25; 3], [3.0; 3], [7.0; 3]]
        }
        Op::Pow => [[0.5, 2.0, 0.0], [1.25, -1.5, 0.0], [2.0, 0.5, 0.0], [3.0, 1.25, 0.0], [0.25, 3.0, 0.0]],
        _ => [[0.625, -1.5, 0.75], [-1.25, 0.875, 2.0], [1.75, 1.125, -0.5], [-0.375, -0.75, 1.5], [2.5, 0.5, 0.25]],
    }
}

/// `y[i] = op(x0[i], …)` over values of `ty`.
fn kernel(op: Op, ty: Type, n: usize) -> Module {
    let param = |name: String| Param { name, ty: Type::array(ty, 1) };
    let params = (0..n).map(|i| param(format!("x{i}"))).chain([param("y".into())]).collect();
    let mut func = Function::new("row", FunctionKind::Kernel, params, Vec::new());
    let mut b = Builder::new(&mut func);
    let i = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
    let operands: Vec<_> = (0..n).map(|at| b.load(b.param(at), &[i], &[], &[])).collect();
    let y = b.push1(op, &operands, Attr::None, ty);
    let out = b.param(n);
    b.store(out, &[i], &[], &[], y);
    b.ret(&[]);
    Module { funcs: vec![func], ..Module::default() }
}

fn row_inputs(op: Op, ty: Type, n: usize) -> Vec<Arg> {
    let value = |point: &[f64; 3], at: usize| {
        let scalar = ty.element().unwrap();
        let part = InterpValue::float(scalar, point[at]);
        if ty.is_composite() { InterpValue::composite(ty, &vec![part; ty.n_components()]) } else { part }
    };
    let array = |elements: Vec<InterpValue>| Arg::Array { elem: ty, extents: vec![elements.len() as i64], elements };
    let points = points(op);
    let xs = (0..n).map(|at| array(points.iter().map(|point| value(point, at)).collect()));
    xs.chain([array(points.iter().map(|point| value(point, 0)).collect())]).collect()
}

fn n_operands(op: Op) -> usize {
    match op.rule() {
        ir::op::Rule::Same { n, .. } | ir::op::Rule::SameScalar { n, .. } => n,
        _ => panic!("`{}` has operands of several types", op.name()),
    }
}

/// Every row on f64 against central differences, and on the narrower types against f64.
#[test]
fn every_row_of_the_table() {
    let bounds = threads(5);
    for &op in autodiff::rules::OPS {
        let n = n_operands(op);
        let wide = Type::scalar(Scalar::F64);
        for ty in [wide, Type::vector(Scalar::F64, 2)] {
            let found = gradient::check(&kernel(op, ty, n), &row_inputs(op, ty, n), &bounds, Tolerance::DOUBLE, false);
            match found {
                Ok(compared) => assert!(compared >= 4 * n, "`{}` has {compared} smooth points", op.name()),
                Err(report) => panic!("`{}`: {report}", op.name()),
            }
        }
        let expected = row_adjoints(op, wide, n, &bounds);
        for (scalar, epsilon) in [(Scalar::F32, 1e-5), (Scalar::F16, 1e-2), (Scalar::BF16, 8e-2)] {
            let found = row_adjoints(op, Type::scalar(scalar), n, &bounds);
            for (at, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                let bound = epsilon * (1.0 + f64::abs(expected));
                assert!(
                    (found - expected).abs() <= bound,
                    "`{}` of {}: adjoint {at} is {found}, not {expected}",
                    op.name(),
                    scalar.name()
                );
            }
        }
    }
}

fn row_adjoints(op: Op, ty: Type, n: usize, bounds: &LaunchBounds) -> Vec<f64> {
    let request = autodiff::Request { wanted: vec![true; n + 1], overlap: false, adjoints_overlap: false, rank: 1 };
    let adjoint = autodiff::reverse(&kernel(op, ty, n), &[], &request).unwrap_or_else(|refused| panic!("{refused:?}"));
    gradient::adjoints(&adjoint, &row_inputs(op, ty, n), bounds, false).unwrap_or_else(|report| panic!("{report}"))
}

/// An op that takes floats and gives floats has a row, is flat, or is one of those that work on whole composites.
#[test]
fn every_op_on_floats_is_known() {
    for &op in Op::ALL {
        if let ir::op::Rule::Same { classes, .. } | ir::op::Rule::SameScalar { classes, .. } = op.rule()
            && classes.contains(&ir::Class::Float)
        {
            assert!(autodiff::rules::rule(op).is_some(), "`{}` has no derivative", op.name());
        }
    }
}
