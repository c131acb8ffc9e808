//! The interpreter against `ir::eval`, which folds constants: two implementations, the same bits.

use interp::scalar::{Meaning, cast, meaning};
use ir::{Const, Op, Scalar, eval};

/// Edges of every type, and values from a generator.
fn samples(scalar: Scalar) -> Vec<Const> {
    let mut words = vec![0, 1, 2, 3, 7, u64::MAX, u64::MAX - 1, 1 << (scalar.bits() - 1)];
    words.push((1u64 << (scalar.bits() - 1)).wrapping_sub(1));
    let mut state = 1u64;
    for i in 0..24 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words.push(state >> (8 * (i % 8)));
    }
    let mut constants: Vec<Const> = words.into_iter().map(|w| Const(w & (u64::MAX >> (64 - scalar.bits())))).collect();
    if scalar.is_float() {
        let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 100.25, 1e-3, 1e4, 65504.0];
        let special = [1e30, -1e30, 1e300, 1e-40, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        constants.extend(numbers.into_iter().chain(special).map(|x| Const::float(scalar, x)));
    }
    constants
}

fn assert_same(scalar: Scalar, found: u64, expected: Const, what: &dyn Fn() -> String) {
    let is_nan = |c: Const| scalar.is_float() && c.as_float(scalar).is_nan();
    let same = Const(found) == expected || (is_nan(Const(found)) && is_nan(expected));
    assert!(same, "{}: {found:#x} here, {:#x} in eval", what(), expected.0);
}

#[test]
fn scalar_ops() {
    let mut n_compared = 0;
    for &op in Op::ALL {
        for scalar in Scalar::ALL {
            let values = samples(scalar);
            let result = if matches!(op.rule(), ir::op::Rule::Compare { .. } | ir::op::Rule::FloatTest) {
                Scalar::Bool
            } else {
                scalar
            };
            let mut compare = |args: &[Const], found: u64| {
                if let Some(expected) = eval::scalar_op(op, scalar, args) {
                    assert_same(result, found, expected, &|| format!("{} {} {args:x?}", op.name(), scalar.name()));
                    n_compared += 1;
                }
            };
            match meaning(op, scalar) {
                Meaning::None => {}
                Meaning::Unary(f) => values.iter().for_each(|&a| compare(&[a], f(a.0))),
                Meaning::Binary(f) => {
                    values.iter().for_each(|&a| values.iter().for_each(|&b| compare(&[a, b], f(a.0, b.0))));
                }
                Meaning::Ternary(f) => {
                    for (i, &a) in values.iter().enumerate() {
                        for (j, &b) in values.iter().enumerate() {
                            let c = values[(i * 7 + j * 3) % values.len()];
                            compare(&[a, b, c], f(a.0, b.0, c.0));
                        }
                    }
                }
            }
        }
    }
    assert!(n_compared > 100_000, "only {n_compared} results compared");
}

#[test]
fn casts() {
    for from in Scalar::ALL {
        for to in Scalar::ALL {
            for value in samples(from) {
                let what = || format!("cast {} {} {:#x}", from.name(), to.name(), value.0);
                assert_same(to, cast(from, to)(value.0), eval::cast(from, to, value), &what);
            }
        }
    }
}
