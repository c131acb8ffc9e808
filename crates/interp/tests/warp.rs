//! Functions of the Warp dialect, lowered and run: the front end's meaning of Python against a reference.

use frontend::{Options, lower_function, table::TableHost};
use interp::InterpValue;
use ir::{FuncRef, Scalar, Type};

/// Results of the function `f` with these parameters and statements, as text.
fn run(params: &str, args: &[InterpValue], body: &str) -> String {
    let body: String = body.trim().lines().map(|line| format!("    {line}\n")).collect();
    run_text(&format!("def f({params}):\n{body}"), args)
}

fn run_text(text: &str, args: &[InterpValue]) -> String {
    let host = TableHost::new("t.py", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
    let func = host.find("f").expect("the text has a function `f`");
    let lowered = lower_function(&host, func, &types, &Options::default()).unwrap_or_else(|rejected| {
        let reports = rejected.diagnostics.iter().map(|report| diagnostics::render(report, &rejected.sources));
        panic!("{}", reports.collect::<Vec<_>>().join("\n"))
    });
    let entry = FuncRef(lowered.module.funcs.len() as u32 - 1);
    match interp::call(&lowered.module, entry, args) {
        Ok(results) => results.iter().map(InterpValue::to_string).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    }
}

/// Memory and the array over it.
fn array_of(values: &mut [i32], extents: &[i64]) -> InterpValue {
    InterpValue::array(Type::i32(), values.as_mut_ptr() as u64, extents)
}

fn vector(values: &[f32]) -> InterpValue {
    let items: Vec<InterpValue> = values.iter().map(|&value| InterpValue::f32(value)).collect();
    InterpValue::composite(Type::vector(Scalar::F32, values.len() as u32), &items)
}

#[test]
fn slices_of_arrays_are_those_of_python() {
    let bounds = [None, Some(-6), Some(-3), Some(-1), Some(0), Some(2), Some(4), Some(9)];
    let text = |bound: Option<i32>| bound.map_or(String::new(), |value| value.to_string());
    for n in [0, 1, 4] {
        let mut values: Vec<i32> = (1..=n).collect();
        let array = array_of(&mut values, &[n.into()]);
        for step in [1, 2, 3, -1, -2] {
            for start in bounds {
                for stop in bounds {
                    // Bounds as literals and as run-time values mean the same.
                    let slice = format!("a[{}:{}:{step}]", text(start), text(stop));
                    let dynamic = format!("a[{}:{}:k]", start.map_or("", |_| "s"), stop.map_or("", |_| "e"));
                    let expected = digits(&python_slice(&values, start, stop, step));
                    for source in [slice, dynamic] {
                        let body = format!(
                            "b = {source}\nt = 0\nfor i in range(b.shape[0]):\n    t = t * 10 + b[i]\nreturn b.shape[0], t"
                        );
                        let numbers = [start.unwrap_or(0), stop.unwrap_or(0), step].map(InterpValue::i32);
                        let args = [std::slice::from_ref(&array), &numbers[..]].concat();
                        let found = run("a, s, e, k", &args, &body);
                        assert_eq!(found, expected, "{source} of {values:?}, {start:?} {stop:?} {step}");
                    }
                }
            }
        }
    }
}

fn digits(values: &[i32]) -> String {
    format!("{} {}", values.len(), values.iter().fold(0, |number, digit| number * 10 + digit))
}

/// Python's documented rule (`slice.indices`), written without regard to how the front end does it.
fn python_slice(values: &[i32], start: Option<i32>, stop: Option<i32>, step: i32) -> Vec<i32> {
    let n = values.len() as i32;
    let adjust = |bound: i32| {
        let bound = if bound < 0 { bound + n } else { bound };
        match (bound < 0, bound >= n) {
            (true, _) => {
                if step < 0 {
                    -1
                } else {
                    0
                }
            }
            (_, true) => {
                if step < 0 {
                    n - 1
                } else {
                    n
                }
            }
            _ => bound,
        }
    };
    let mut at = start.map_or(if step < 0 { n - 1 } else { 0 }, adjust);
    let stop = stop.map_or(if step < 0 { -1 } else { n }, adjust);
    let mut taken = Vec::new();
    while if step < 0 { at > stop } else { at < stop } {
        taken.push(values[at as usize]);
        at += step;
    }
    taken
}

#[test]
fn integer_operators_are_defined_everywhere() {
    let values = [i32::MIN, -7, -1, 0, 1, 2, 31, 32, i32::MAX];
    for x in values {
        for y in values {
            let found = run(
                "x, y",
                &[InterpValue::i32(x), InterpValue::i32(y)],
                "return x / y, x // y, x % y, x << y, x >> y, x * y, x - y",
            );
            let (quotient, remainder) = if y == 0 { (0, x) } else { (x.wrapping_div(y), x.wrapping_rem(y)) };
            let floor = if y == 0 {
                0
            } else {
                i64::from(x).div_euclid(y.into()) - i64::from(y < 0 && x.wrapping_rem_euclid(y) != 0)
            };
            let (left, right) = match u32::try_from(y) {
                Ok(y) if y < 32 => (x << y, x >> y),
                _ => (0, x >> 31),
            };
            let floor = floor as i32;
            let (product, difference) = (x.wrapping_mul(y), x.wrapping_sub(y));
            let expected = format!("{quotient} {floor} {remainder} {left} {right} {product} {difference}");
            assert_eq!(found, expected, "{x} and {y}");
        }
    }
}

#[test]
fn literals_and_values_compute_alike() {
    for (x, y) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3)] {
        for op in ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">="] {
            let literal = run("", &[], &format!("return ({x}) {op} ({y})"));
            let value = run("x, y", &[InterpValue::i32(x), InterpValue::i32(y)], &format!("return x {op} y"));
            assert_eq!(literal, value, "{x} {op} {y}");
        }
    }
}

#[test]
fn negative_and_run_time_indices_reach_the_same_elements() {
    let mut values = [1, 2, 3, 4, 5, 6];
    let array = array_of(&mut values, &[2, 3]);
    let body = "return a[1, 2], a[-1, -1], a[i, j], a[1][2], a[i][j], a[:, 2][1], a[0:, j][i], a[::-1, 0][1]";
    let args = [array, InterpValue::i32(-1), InterpValue::i32(-1)];
    assert_eq!(run("a, i, j", &args, body), "6 6 6 6 6 6 6 1");
}

#[test]
fn pieces_of_values_are_read_and_written() {
    let v = vector(&[1.0, 2.0, 3.0]);
    let i = InterpValue::i32(-2);
    let body = "
w = v
w.zx = wp.vec2(8.0, 9.0)
w[i] += 0.5
return v, w, w[1:].y, v.zzy, v[::-2], v == w, v != v";
    assert_eq!(
        run("v, i", &[v, i], body),
        "(1.0, 2.0, 3.0) (9.0, 2.5, 8.0) 8.0 (3.0, 3.0, 2.0) (3.0, 1.0) false false"
    );
}

#[test]
fn matrices_are_read_and_written_by_rows_columns_and_elements() {
    let body = "
m = wp.mat22(1.0, 2.0, 3.0, 4.0)
n = m
n[0] = wp.vec2(5.0, 6.0)
n[i, 1] = 7.0
n[:, 0] = n[:, 0] * 2.0
n[i][0] -= 1.0
return m, n, m[i], m[:, i], n[i][1], m * n, m * m[0], m[0] * m";
    assert_eq!(
        run("i", &[InterpValue::i32(1)], body),
        "(1.0, 2.0, 3.0, 4.0) (10.0, 6.0, 5.0, 7.0) (3.0, 4.0) (2.0, 4.0) 7.0 (20.0, 20.0, 50.0, 46.0) (5.0, 11.0) (7.0, 10.0)"
    );
}

#[test]
fn transforms_and_structs_change_by_parts() {
    let text = "
@wp.struct
class Body:
    pose: wp.transform
    mass: float

def f(b: Body):
    c = b
    c.pose.p.y = 5.0
    c.pose.q = wp.quat(0.0, 0.0, 1.0, 0.0)
    c.mass *= 3.0
    return b.mass, c.mass, c.pose.p, c.pose.q.z, b.pose.p.y
";
    let pose = InterpValue::composite(Type::transform(Scalar::F32), &[0.0; 7].map(InterpValue::f32));
    let ty = Type::structure("Body", vec![("pose".into(), pose.ty), ("mass".into(), Type::f32())]);
    let body = InterpValue::composite(ty, &[pose, InterpValue::f32(2.0)]);
    assert_eq!(run_text(text, &[body]), "2.0 6.0 (0.0, 5.0, 0.0) 1.0 0.0");
}

#[test]
fn elements_are_changed_in_place() {
    let mut values = [1, 2, 3, 4];
    let array = array_of(&mut values, &[4]);
    let body = "
a[0] += 10
a[1] -= 10
a[2] *= 10
a[-1] |= 8
a[0], a[1] = a[1], a[0]
b = a[2:]
b[0] += 1
return a[0], a[1], a[2], a[3]";
    assert_eq!(run("a", &[array], body), "-8 11 31 12");
    assert_eq!(values, [-8, 11, 31, 12]);
}

#[test]
fn an_indexed_array_reaches_the_elements_of_its_lists() {
    let (mut values, mut list) = ([10, 20, 30, 40, 50, 60], [2, 0]);
    let (base, list) = (array_of(&mut values, &[2, 3]), array_of(&mut list, &[2]));
    let null = InterpValue::array(Type::i32(), 0, &[0]);
    let fields = vec![("base".into(), base.ty), ("index0".into(), null.ty), ("index1".into(), list.ty)];
    let indexed = InterpValue::composite(Type::structure("indexedarray", fields), &[base, null, list]);
    let body = "a[0, 1] += 4\nwp.atomic_add(a, 0, 1, 1)\nb = a[1]\nreturn a[1, 0], a[-1, -1], a[0, 1], a.shape[0], a.shape[1], a.ndim, a.size, b[0], b.shape[0]";
    assert_eq!(run("a", &[indexed], body), "60 40 15 2 2 2 4 60 2");
    assert_eq!(values[0], 15);
}

#[test]
fn comparisons_chain_and_stop_early() {
    let mut values = [5];
    let array = array_of(&mut values, &[1]);
    // The load is out of range where the first link fails, and must not run.
    let body = "
n = 0
if 0 <= i < a.shape[0] and a[i] == 5:
    n += 1
if i < 1 < a[i] < 6:
    n += 10
return n, i in (3, 4), 1 < 2 < 3, not i";
    let found = |i: i32| run("a, i", &[array.clone(), InterpValue::i32(i)], body);
    assert_eq!(found(0), "11 false true true");
    assert_eq!(found(4), "0 true true false");
}

#[test]
fn a_run_time_step_of_zero_is_reported() {
    let mut values = [1, 2, 3];
    let args = [array_of(&mut values, &[3]), InterpValue::i32(0)];
    assert_eq!(run("a, k", &args, "b = a[::k]\nreturn b.shape[0]"), "check failed at site 0, values []");
}

#[test]
fn starred_arguments_and_items_spread() {
    let mut values = [1, 2, 3, 4];
    let args = [array_of(&mut values, &[4])];
    let body = "
v = wp.vec3i(*a[1:4])
t = (*v[:2], 9, *(7, 8))
return v, t[0], t[1], t[3], wp.max(*a[0:4:3]), a.shape[1]";
    assert_eq!(run("a", &args, body), "(2, 3, 4) 2 3 7 4 0");
}

#[test]
fn members_of_enums_are_their_values() {
    let text = "
class Mode(IntEnum):
    SLOW = 1
    FAST = 2

def f(n):
    if n == Mode.FAST:
        return Mode.FAST.value + Mode.SLOW
    return n
";
    assert_eq!(run_text(text, &[InterpValue::i32(2)]), "3");
}

#[test]
fn builtins_and_types_are_known_by_their_bare_names() {
    assert_eq!(run("x", &[InterpValue::f32(4.0)], "return sqrt(x), vec2(x, 1.0), float64(x)"), "2.0 (4.0, 1.0) 4.0");
}

#[test]
fn functions_named_for_operators_overload_them_for_structs() {
    let text = "
@wp.struct
class Complex:
    re: float
    im: float

@wp.func
def mul(a: Complex, b: Complex):
    return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)

@wp.func
def neg(a: Complex):
    return Complex(-a.re, -a.im)

def f(x, y):
    a = Complex(x, y)
    b = a * a
    c = -b
    return b.re, b.im, c.re
";
    assert_eq!(run_text(text, &[InterpValue::f32(1.0), InterpValue::f32(2.0)]), "-3.0 4.0 3.0");
}

#[test]
fn a_small_struct_is_read_as_a_number() {
    let text = "
@wp.struct
class Pun:
    f: wp.float16
    i: wp.int16

def f(i):
    p = Pun()
    p.f = wp.float16(2.0)
    p.i = i
    return wp.cast(p, wp.int32)
";
    assert_eq!(run_text(text, &[InterpValue::int(Scalar::I16, 123)]), 0x007B_4000.to_string());
}

#[test]
fn what_types_say_of_themselves_is_known_while_compiling() {
    let body = "
m = wp.types.matrix(1.0, shape=(2, 3))
t = (x, 2.0)
return m.shape[1], x.length, wp.static(len(t)), x[9:] == x[5:]";
    assert_eq!(run("x", &[vector(&[1.0, 2.0, 3.0])], body), "3 3 2 true");
}

#[test]
fn a_tuple_of_one_type_takes_any_index() {
    let body = "
t = (1, 2, x)
v = (wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
n = 0
for i in range(len(t)):
    n += t[i] * 10
return n, t[x], v[x - 4], v[x + 1]";
    assert_eq!(run("x", &[InterpValue::i32(-3)], body), "0 1 (0.0, 0.0) (1.0, 2.0)");
}
