//! f64: within 1 ULP of values computed in hundreds of digits.

use super::Expanded;
use ir::Scalar;

/// Lines `function x [y] result rest`, written by crates/transform/math/references.py.
const TABLE: &str = include_str!("double.txt");

const BOUND: f64 = 0.9;

fn bits(word: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(word, 16).expect("bits in hexadecimal"))
}

/// How many floats lie between two, with a sign.
fn distance(a: f64, b: f64) -> f64 {
    let ordered = |x: f64| if x.is_sign_negative() { -((x.to_bits() << 1 >> 1) as i64) } else { x.to_bits() as i64 };
    let steps = ordered(a).abs_diff(ordered(b)) as f64;
    if a < b { -steps } else { steps }
}

fn check(op: &str, at_least: usize) {
    let own = Expanded::new(op, Scalar::F64);
    let mut worst = (0.0, Vec::new());
    let mut n_points = 0;
    for line in TABLE.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, args @ .., result, rest] = &words[..] else { panic!("{line}") };
        if *name != op {
            continue;
        }
        n_points += 1;
        let args: Vec<f64> = args.iter().map(|word| bits(word)).collect();
        let error = (distance(own.f64(&args), bits(result)) - rest.parse::<f64>().expect("a fraction")).abs();
        if error > worst.0 {
            worst = (error, args);
        }
    }
    assert!(n_points >= at_least, "{n_points} points for {op}");
    assert!(worst.0 <= BOUND, "{op}{:?} is off by {} ULP", worst.1, worst.0);
    println!("{op} f64: {:.4} ULP at {:?}, {n_points} points", worst.0, worst.1);
}

macro_rules! functions {
    ($($op:ident $at_least:literal)*) => { $(#[test] fn $op() { check(stringify!($op), $at_least); })* };
}

functions! {
    exp 80 exp2 80 expm1 80 log 80 log2 80 log10 80 log1p 80 cbrt 80 sin 80 cos 80 tan 80 asin 80 acos 80 atan 80 sinh 80 cosh 80
    tanh 80 asinh 80 acosh 80 atanh 80 erf 80 erfc 80 pow 300 atan2 400
}
