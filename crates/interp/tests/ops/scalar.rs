//! Ops on scalars: `op type operands = result`. The results are worked out by hand from the op's doc string.

use interp::scalar::{Meaning, cast, meaning};
use ir::{Const, Op, Scalar, literal};
use std::collections::BTreeSet;

const TABLE: &str = "
    add i8 100 100 = -56
    add u8 200 100 = 44
    add i64 9223372036854775807 1 = -9223372036854775808
    add f16 65504 65504 = inf
    add f16 2048 1 = 2048
    add bf16 256 1 = 256
    add f32 16777216 1 = 16777216
    add f64 0.1 0.2 = 0.30000000000000004
    sub u16 0 1 = 65535
    sub i32 -2147483648 1 = 2147483647
    sub f32 inf inf = nan
    mul i32 65536 65536 = 0
    mul u64 18446744073709551615 18446744073709551615 = 1
    mul f16 300 300 = inf
    mul f32 1e-30 1e-30 = 0
    div i32 7 2 = 3
    div i32 -7 2 = -3
    div i32 7 0 = 0
    div i8 -128 -1 = -128
    div i64 -9223372036854775808 -1 = -9223372036854775808
    div u32 4294967295 2 = 2147483647
    div u8 7 0 = 0
    div f32 1 0 = inf
    div f64 -1 0 = -inf
    div f32 0 0 = nan
    div bf16 1 3 = 0.33398438
    rem i32 -7 2 = -1
    rem i32 7 -2 = 1
    rem i32 7 0 = 7
    rem i16 -32768 -1 = 0
    rem u8 200 7 = 4
    rem f32 -5.5 2 = -1.5
    rem f64 1 0 = nan
    floordiv i32 -7 2 = -4
    floordiv i32 7 -2 = -4
    floordiv i32 -7 -2 = 3
    floordiv i32 7 0 = 0
    floordiv i8 -128 -1 = -128
    floordiv i8 -128 2 = -64
    floordiv u8 255 2 = 127
    floordiv f32 -7 2 = -4
    floordiv f64 1 -3 = -1
    floordiv f32 1 0 = inf
    mod i32 -7 2 = 1
    mod i32 7 -2 = -1
    mod i32 -6 2 = 0
    mod i32 -7 0 = -7
    mod i64 -9223372036854775808 -1 = 0
    mod i8 127 -128 = -1
    mod u8 200 7 = 4
    mod f32 -5.5 2 = 0.5
    mod f32 5.5 -2 = -0.5
    mod f64 -4 2 = -0.0
    mod f16 -1 3 = 2
    neg i8 -128 = -128
    neg u8 1 = 255
    neg f32 0 = -0.0
    neg f32 0x7fc00001 = 0xffc00001
    abs i32 -2147483648 = -2147483648
    abs i32 -5 = 5
    abs u8 255 = 255
    abs f64 -0.0 = 0
    abs f32 0xffc00001 = 0x7fc00001
    min i32 -1 1 = -1
    min u32 4294967295 1 = 1
    min f32 nan 1 = 1
    min f32 1 nan = 1
    min f32 0 -0.0 = -0.0
    min f32 -0.0 0 = 0
    max u8 255 1 = 255
    max i8 -1 1 = 1
    max f64 nan 1 = 1
    max f64 1 nan = 1
    max f16 0 -0.0 = -0.0
    max bf16 -0.0 0 = 0
    fma f32 3 4 5 = 17
    fma f64 1.0000000000000002 1.0000000000000002 -1.0000000000000004 = 4.930380657631324e-32
    fma f16 2048 1 1 = 2048
    copysign f32 3 -0.0 = -3
    copysign f64 -3 1 = 3
    copysign f16 inf -1 = -inf
    sqrt f32 2 = 1.4142135
    sqrt f64 2 = 1.4142135623730951
    sqrt f16 2 = 1.4140625
    sqrt f32 -1 = nan
    sqrt f32 -0.0 = -0.0
    cbrt f32 -27 = -3
    cbrt f64 2 = 1.2599210498948732
    exp f32 1 = 2.7182817
    exp f64 -inf = 0
    exp f16 12 = inf
    exp2 f32 -149 = 1e-45
    exp2 f64 0.5 = 1.4142135623730951
    expm1 f32 1e-10 = 1e-10
    expm1 f64 -inf = -1
    log f32 0 = -inf
    log f32 -1 = nan
    log f64 10 = 2.302585092994046
    log2 f32 8 = 3
    log2 bf16 1024 = 10
    log10 f64 1000 = 3
    log1p f32 1e-10 = 1e-10
    log1p f64 -1 = -inf
    sin f32 1 = 0.84147096
    sin f64 1e22 = -0.8522008497671888
    sin f16 1 = 0.8413
    cos f32 0 = 1
    cos f64 inf = nan
    tan f32 1 = 1.5574077
    asin f32 1 = 1.5707964
    asin f32 1.5 = nan
    acos f64 -1 = 3.141592653589793
    acos f32 2 = nan
    atan f32 inf = 1.5707964
    atan2 f32 1 -1 = 2.3561945
    atan2 f64 -0.0 -0.0 = -3.141592653589793
    sinh f32 1 = 1.1752012
    cosh f32 1 = 1.5430807
    tanh f32 100 = 1
    tanh f64 -0.0 = -0.0
    asinh f32 1 = 0.8813736
    acosh f64 1 = 0
    acosh f32 0.5 = nan
    atanh f32 1 = inf
    atanh f64 -0.0 = -0.0
    erf f32 1 = 0.8427008
    erf f64 inf = 1
    erfc f32 3 = 2.2090497e-5
    erfc f64 -inf = 2
    pow f32 2 10 = 1024
    pow f64 -8 0.3333333333333333 = nan
    pow f32 nan 0 = 1
    pow f16 2 16 = inf
    floor f32 -1.5 = -2
    floor f64 -0.0 = -0.0
    ceil f32 -1.5 = -1
    ceil f32 -0.5 = -0.0
    trunc f64 -1.9 = -1
    trunc f16 1.9 = 1
    round f32 2.5 = 3
    round f32 -2.5 = -3
    round f64 0.49999999999999994 = 0
    rint f32 2.5 = 2
    rint f64 3.5 = 4
    rint bf16 -0.5 = -0.0
    and i32 12 10 = 8
    and bool true false = false
    or u8 12 10 = 14
    or bool true false = true
    xor i64 -1 1 = -2
    xor bool true true = false
    not u8 1 = 254
    not i8 0 = -1
    not bool true = false
    shl i8 1 7 = -128
    shl i8 1 8 = 0
    shl i32 1 -1 = 0
    shl u64 1 63 = 9223372036854775808
    shr i8 -3 1 = -2
    shr i8 -3 8 = -1
    shr i8 -3 -1 = -1
    shr i32 5 32 = 0
    shr u32 4294967295 31 = 1
    shr u8 255 8 = 0
    shr u64 18446744073709551615 64 = 0
    popcount i8 -1 = 8
    popcount u64 18446744073709551615 = 64
    clz i8 1 = 7
    clz i16 0 = 16
    clz i32 -1 = 0
    ctz u8 0 = 8
    ctz i64 -9223372036854775808 = 63
    mulhi u64 18446744073709551615 18446744073709551615 = 18446744073709551614
    mulhi i32 -1 1 = -1
    mulhi i64 -9223372036854775808 -9223372036854775808 = 4611686018427387904
    mulhi u8 255 255 = 254
    mulhi i8 -128 127 = -64
";

/// `op type operands = result`, the result a bool.
const TESTS: &str = "
    isnan f16 nan = true
    isnan f32 inf = false
    isinf f64 -inf = true
    isinf bf16 nan = false
    isfinite f32 nan = false
    isfinite f64 1.7976931348623157e308 = true
    isfinite f16 -inf = false
    eq f32 nan nan = false
    eq f64 0 -0.0 = true
    eq bool true true = true
    ne f32 nan nan = true
    ne i8 -1 -1 = false
    lt i32 -1 0 = true
    lt u32 4294967295 0 = false
    lt f32 nan 1 = false
    lt bool false true = true
    le i64 3 3 = true
    le f16 1 nan = false
    gt u8 255 127 = true
    gt i8 -1 127 = false
    gt f64 nan 0 = false
    ge bf16 1 1 = true
    ge i16 -32768 32767 = false
    ge u64 18446744073709551615 9223372036854775807 = true
";

/// `from to value = result`
const CASTS: &str = "
    i32 u8 -1 = 255
    i32 i8 200 = -56
    i8 u64 -1 = 18446744073709551615
    u8 i64 255 = 255
    i64 i32 4294967297 = 1
    f32 i32 -1.9 = -1
    f32 i8 1e9 = 127
    f32 i8 -1e9 = -128
    f32 u8 -3.5 = 0
    f32 u8 255.9 = 255
    f32 i32 nan = 0
    f64 i64 1e300 = 9223372036854775807
    f64 u64 1e300 = 18446744073709551615
    f64 i64 -inf = -9223372036854775808
    f16 i16 65504 = 32767
    bf16 u16 -1 = 0
    f32 bool nan = true
    f32 bool -0.0 = false
    f64 bool 5e-324 = true
    i32 bool 256 = true
    u8 bool 0 = false
    bool i32 true = 1
    bool f32 true = 1
    bool f16 true = 1
    i64 f32 16777217 = 16777216
    u64 f32 18446744073709551615 = 18446744073709551615
    u64 f64 9007199254740993 = 9007199254740992
    i32 f16 65519 = 65504
    i32 f16 65520 = inf
    i32 bf16 16842753 = 16908288
    i64 bf16 -4629700416936869889 = -4647714815446351872
    f64 f16 1.0004882812509095 = 1.0009766
    f64 f16 1.00048828125 = 1
    f64 f16 70000 = inf
    f64 bf16 1.0039062500000002 = 1.0078125
    f64 f32 1e300 = inf
    f64 f32 1e-46 = 0
    f32 f16 6e-8 = 5.9604645e-8
    f16 f64 0.1 = 0.0999755859375
    f16 bf16 1.0009766 = 1
    bf16 f16 1e30 = inf
    f32 f32 0x7fc00001 = 0x7fc00001
";

fn rows(table: &'static str) -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let (left, expected) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
        (left.split(' ').collect(), expected)
    })
}

pub(crate) fn ops() -> BTreeSet<Op> {
    rows(TABLE).chain(rows(TESTS)).map(|(row, _)| Op::from_name(row[0]).unwrap()).collect()
}

fn constant(scalar: Scalar, text: &str) -> Const {
    literal::parse_const(scalar, text).unwrap_or_else(|error| panic!("{error}"))
}

/// Bits are equal, or both are any NaN where the text says just `nan`.
fn assert_same(scalar: Scalar, found: Const, expected: &str, row: &[&str]) {
    if expected == "nan" {
        assert!(found.as_float(scalar).is_nan(), "{row:?} = {found:?}");
    } else {
        assert_eq!(found, constant(scalar, expected), "{row:?} = {}", literal::print_const(scalar, found));
    }
}

fn evaluate(op: Op, scalar: Scalar, args: &[Const]) -> Const {
    Const(match (meaning(op, scalar), args) {
        (Meaning::Unary(f), [a]) => f(a.0),
        (Meaning::Binary(f), [a, b]) => f(a.0, b.0),
        (Meaning::Ternary(f), [a, b, c]) => f(a.0, b.0, c.0),
        _ => panic!("{op:?} on {scalar:?} does not take {} operands", args.len()),
    })
}

fn check(table: &'static str, result: impl Fn(Scalar) -> Scalar) {
    for (row, expected) in rows(table) {
        let op = Op::from_name(row[0]).unwrap_or_else(|| panic!("{row:?}"));
        let scalar = Scalar::from_name(row[1]).unwrap_or_else(|| panic!("{row:?}"));
        let args: Vec<Const> = row[2..].iter().map(|text| constant(scalar, text)).collect();
        assert_same(result(scalar), evaluate(op, scalar, &args), expected, &row);
    }
}

#[test]
fn results_of_the_operands_type() {
    check(TABLE, |scalar| scalar);
}

#[test]
fn tests_and_comparisons() {
    check(TESTS, |_| Scalar::Bool);
}

#[test]
fn casts() {
    for (row, expected) in rows(CASTS) {
        let [from, to] = [row[0], row[1]].map(|name| Scalar::from_name(name).unwrap());
        let found = Const(cast(from, to)(constant(from, row[2]).0));
        assert_same(to, found, expected, &row);
    }
}

#[test]
fn ops_have_a_meaning_on_their_classes_only() {
    use ir::op::Rule;
    for &op in Op::ALL {
        for scalar in Scalar::ALL {
            let is_allowed = match op.rule() {
                Rule::Same { classes, .. } | Rule::SameScalar { classes, .. } | Rule::Compare { classes } => {
                    classes.contains(&scalar.class())
                }
                Rule::FloatTest => scalar.is_float(),
                Rule::Own => false,
            };
            let n = match meaning(op, scalar) {
                Meaning::None => 0,
                Meaning::Unary(_) => 1,
                Meaning::Binary(_) => 2,
                Meaning::Ternary(_) => 3,
            };
            let expected = match op.rule() {
                _ if !is_allowed => 0,
                Rule::Same { n, .. } | Rule::SameScalar { n, .. } => n,
                Rule::Compare { .. } => 2,
                Rule::FloatTest | Rule::Own => 1,
            };
            assert_eq!(n, expected, "{} on {}", op.name(), scalar.name());
        }
    }
}
