//! Reports: what is wrong, where, and what to write instead.

use crate::lowered::{errors, errors_in};
use insta::assert_snapshot;

#[test]
fn numbers_of_two_types_do_not_mix() {
    assert_snapshot!(errors("a: wp.array(dtype=float), n: int, d: wp.float64", "a[0] = a[0] * n\na[1] = d + a[1]\na[2] = n / 2.0"), @r"
    error[type-mismatch]: cannot multiply `float32` and `int32`
      --> t.py:2:12
       |
    2  |     a[0] = a[0] * n
       |            ^^^^^^^^
       = help: write `float32(n)`

    error[type-mismatch]: cannot add `float64` and `float32`
      --> t.py:3:12
       |
    3  |     a[1] = d + a[1]
       |            ^^^^^^^^
       = help: write `float64(a[1])`

    error[type-mismatch]: cannot divide `int32` by the literal `2.0`
      --> t.py:4:12
       |
    4  |     a[2] = n / 2.0
       |            ^^^^^^^
       = help: write `float32(n)`
    ");
}

#[test]
fn vectors_multiply_by_name() {
    assert_snapshot!(errors("v: wp.vec3, w: wp.vec3, q: wp.quat, i: int", "a = v * w\nb = v / w\nc = q * v\nd = v + 1.0\ne = v * i\nf = v < w"), @r"
    error[type-mismatch]: cannot multiply `vec3` and `vec3`
      --> t.py:2:9
       |
    2  |     a = v * w
       |         ^^^^^
       = help: write `cw_mul(a, b)` for the product of each component, `dot(a, b)` for their sum

    error[type-mismatch]: cannot divide `vec3` by `vec3`
      --> t.py:3:9
       |
    3  |     b = v / w
       |         ^^^^^
       = help: write `cw_div(a, b)` for the quotient of each component

    error[type-mismatch]: cannot multiply `quat` and `vec3`
      --> t.py:4:9
       |
    4  |     c = q * v
       |         ^^^^^
       = help: write `quat_rotate(q, v)`

    error[type-mismatch]: cannot add `vec3` and the literal `1.0`
      --> t.py:5:9
       |
    5  |     d = v + 1.0
       |         ^^^^^^^
       = help: a scalar is not spread over components: make a vector or matrix of it

    error[type-mismatch]: cannot multiply `vec3` and `int32`
      --> t.py:6:9
       |
    6  |     e = v * i
       |         ^^^^^
       = help: write `float32(i)`

    error[type-mismatch]: cannot compare `vec3` and `vec3` with `<`
      --> t.py:7:9
       |
    7  |     f = v < w
       |         ^^^^^
       = help: vectors and matrices compare with `==` and `!=`; order their lengths or components
    ");
}

#[test]
fn operators_for_other_types() {
    assert_snapshot!(errors("a: wp.array(dtype=float), n: int, b: bool", "x = n ** 2\ny = a[0] & 1.0\nz = -b\nw = ~b\nu = a + a\nt = b + 1"), @r"
    error[type-mismatch]: cannot apply `**` to `int32` and the literal `2`
      --> t.py:2:9
       |
    2  |     x = n ** 2
       |         ^^^^^^
       = help: `**` is for floats: write the product, or convert with `float32(…)`

    error[type-mismatch]: cannot apply `&` to `float32` and the literal `1.0`
      --> t.py:3:9
       |
    3  |     y = a[0] & 1.0
       |         ^^^^^^^^^^
       = help: bit operators are for integers

    error[type-mismatch]: cannot apply `-` to `bool`
      --> t.py:4:9
       |
    4  |     z = -b
       |         ^^
       = help: convert it: `int32(…)`

    error[type-mismatch]: cannot apply `~` to `bool`
      --> t.py:5:9
       |
    5  |     w = ~b
       |         ^^
       = help: write `not`

    error[type-mismatch]: cannot add `array(dtype=float32)` and `array(dtype=float32)`
      --> t.py:6:9
       |
    6  |     u = a + a
       |         ^^^^^

    error[type-mismatch]: cannot add `bool` and the literal `1`
      --> t.py:7:9
       |
    7  |     t = b + 1
       |         ^^^^^
       = help: write `int32(b)`
    ");
}

#[test]
fn literals_that_are_stored_or_passed_fit_their_type() {
    let body =
        "o[0] = 300\nwp.atomic_add(o, 0, 300)\no[1] = wp.max(o[0], -129)\no[2] = -1\no[3] = 255\no[4] = wp.uint8(300)";
    assert_snapshot!(errors("o: wp.array(dtype=wp.uint8)", body), @r"
    error[literal-range]: the literal `300` does not fit `uint8`
      --> t.py:2:12
       |
    2  |     o[0] = 300
       |            ^^^
       = help: `uint8(300)` keeps its low bits

    error[literal-range]: the literal `300` does not fit `uint8`
      --> t.py:3:25
       |
    3  |     wp.atomic_add(o, 0, 300)
       |                         ^^^
       = help: `uint8(300)` keeps its low bits

    error[literal-range]: the literal `-129` does not fit `uint8`
      --> t.py:4:25
       |
    4  |     o[1] = wp.max(o[0], -129)
       |                         ^^^^
       = help: `uint8(-129)` keeps its low bits
    ");
}

#[test]
fn literals_that_fit_no_type() {
    assert_snapshot!(errors("a: wp.array(dtype=float), u: wp.uint8", "x = 1 // 0\ny = u + 300\nz = 1 << 200\nw = 99999999999999999999999999999999999999999"), @r"
    error[division-by-zero]: `1 // 0` divides by zero
      --> t.py:2:9
       |
    2  |     x = 1 // 0
       |         ^^^^^^

    error[literal-range]: the literal `300` does not fit `uint8`
      --> t.py:3:13
       |
    3  |     y = u + 300
       |             ^^^
       = help: `uint8(300)` keeps its low bits

    error[literal-range]: `1 << 200` does not fit any integer type
      --> t.py:4:9
       |
    4  |     z = 1 << 200
       |         ^^^^^^^^

    error[literal-range]: this integer does not fit any type of a kernel
      --> t.py:5:9
       |
    5  |     w = 99999999999999999999999999999999999999999
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
}

#[test]
fn names_that_are_not_defined() {
    assert_snapshot!(errors("a: wp.array(dtype=float)", "velocity = 1.0\nx = velocty\ny = sqrt_(2.0)\nz = lenn(a)"), @r"
    error[unknown-name]: `velocty` is not defined
      --> t.py:3:9
       |
    3  |     x = velocty
       |         ^^^^^^^
       = help: did you mean `velocity`?

    error[unknown-name]: `sqrt_` is not defined
      --> t.py:4:9
       |
    4  |     y = sqrt_(2.0)
       |         ^^^^^
       = help: did you mean `sqrt`?

    error[unknown-name]: `lenn` is not defined
      --> t.py:5:9
       |
    5  |     z = lenn(a)
       |         ^^^^
       = help: did you mean `len`?
    ");
}

#[test]
fn a_mistyped_global_is_found() {
    assert_snapshot!(errors_in("STEEPNESS = 2.0\ndef k(a: wp.array(dtype=float)):\n    a[0] = STEPNESS\n"), @r"
    error[unknown-name]: `STEPNESS` is not defined
      --> t.py:3:12
       |
    3  |     a[0] = STEPNESS
       |            ^^^^^^^^
       = help: did you mean `STEEPNESS`?
    ");
}

#[test]
fn attributes_that_do_not_exist() {
    assert_snapshot!(errors("a: wp.array(dtype=float), v: wp.vec2", "x = v.z\ny = a.shap\nz = wp.sqr\nw = a.foo"), @r"
    error[unknown-attribute]: `vec2` has no `z`
      --> t.py:2:9
       |
    2  |     x = v.z
       |         ^^^
       = help: it has `x`, `y`, `length`, `dtype`

    error[unknown-attribute]: `array(dtype=float32)` has no `shap`
      --> t.py:3:9
       |
    3  |     y = a.shap
       |         ^^^^^^
       = help: did you mean `shape`?

    error[unknown-attribute]: `wp` has no `sqr`
      --> t.py:4:9
       |
    4  |     z = wp.sqr
       |         ^^^^^^
       = help: did you mean `wp.sqrt`?

    error[unknown-attribute]: `array(dtype=float32)` has no `foo`
      --> t.py:5:9
       |
    5  |     w = a.foo
       |         ^^^^^
       = help: it has `shape`, `ndim`, `size`, `dtype`
    ");
}

#[test]
fn fields_that_do_not_exist() {
    assert_snapshot!(errors_in("@wp.struct\nclass Ray:\n    origin: wp.vec3\n    t: float\n\nV = wp.vec3(0.0, 0.0, 1.0)\n\ndef k(r: Ray):\n    x = r.orign\n    y = r.direction\n    V.x = 1.0\n    V[0] = 1.0\n"), @r"
    error[unknown-attribute]: `Ray` has no `orign`
      --> t.py:9:9
       |
    9  |     x = r.orign
       |         ^^^^^^^
       = help: did you mean `origin`?

    error[unknown-attribute]: `Ray` has no `direction`
       --> t.py:10:9
        |
    10  |     y = r.direction
        |         ^^^^^^^^^^^
        = help: it has `origin`, `t`

    error[not-assignable]: `V.x` cannot be assigned to
       --> t.py:11:5
        |
    11  |     V.x = 1.0
        |     ^^^
        = help: what a kernel takes from outside is constant: assign it to a name first, or pass an array

    error[not-assignable]: `V[0]` cannot be assigned to
       --> t.py:12:5
        |
    12  |     V[0] = 1.0
        |     ^^^^
        = help: what a kernel takes from outside is constant: assign it to a name first, or pass an array
    ");
}

#[test]
fn targets_that_cannot_be_assigned() {
    assert_snapshot!(errors("a: wp.array2d(dtype=float), v: wp.vec3, w: wp.vec2", "a[0] = a[1]\na.shape = 1\nv.xx = w\na[1:] = 1.0\nx, *y = 1, 2"), @r"
    error[not-assignable]: a row or slice of an array cannot be assigned as a whole
      --> t.py:2:5
       |
    2  |     a[0] = a[1]
       |     ^^^^
       = help: assign its elements in a loop

    error[not-assignable]: `a.shape` cannot be assigned to
      --> t.py:3:5
       |
    3  |     a.shape = 1
       |     ^^^^^^^
       = help: elements of arrays, and parts of vectors, matrices and structs that have a name, can be assigned to

    error[not-assignable]: a component is named twice in this target
      --> t.py:4:5
       |
    4  |     v.xx = w
       |     ^^^^

    error[not-assignable]: a row or slice of an array cannot be assigned as a whole
      --> t.py:5:5
       |
    5  |     a[1:] = 1.0
       |     ^^^^^
       = help: assign its elements in a loop

    error[unsupported-syntax]: a starred target cannot be used in a kernel
      --> t.py:6:8
       |
    6  |     x, *y = 1, 2
       |        ^^
    ");
}

#[test]
fn values_that_do_not_fit_their_target() {
    assert_snapshot!(errors("a: wp.array(dtype=float), v: wp.vec3, n: int", "a[0] = n\na[0] = v\nv.x = n\na[0] += n\nx, y = v\nz: float = n\nw: int"), @r"
    error[type-mismatch]: expected `float32`, found `int32`
      --> t.py:2:12
       |
    2  |     a[0] = n
       |            ^
       = help: convert it: `float32(…)`

    error[type-mismatch]: expected `float32`, found `vec3`
      --> t.py:3:12
       |
    3  |     a[0] = v
       |            ^

    error[type-mismatch]: expected `float32`, found `int32`
      --> t.py:4:11
       |
    4  |     v.x = n
       |           ^
       = help: convert it: `float32(…)`

    error[type-mismatch]: cannot add `float32` and `int32`
      --> t.py:5:5
       |
    5  |     a[0] += n
       |     ^^^^^^^^^
       = help: write `float32(n)`

    error[unpack-count]: 2 targets for 3 values
      --> t.py:6:5
       |
    6  |     x, y = v
       |     ^^^^

    error[type-mismatch]: expected `float32`, found `int32`
      --> t.py:7:16
       |
    7  |     z: float = n
       |                ^
       = help: convert it: `float32(…)`

    error[unsupported-syntax]: a declaration without a value cannot be used in a kernel
      --> t.py:8:5
       |
    8  |     w: int
       |     ^^^^^^
       = help: give it a value: `x: float = 0.0`
    ");
}

#[test]
fn one_mistake_is_reported_once() {
    assert_snapshot!(errors("a: wp.array(dtype=float)", "x = nowhere\ny = x + 1.0\na[0] = y"), @r"
    error[unknown-name]: `nowhere` is not defined
      --> t.py:2:9
       |
    2  |     x = nowhere
       |         ^^^^^^^
       = help: did you mean `where`?
    ");
}

#[test]
fn both_sides_of_an_operator_are_read() {
    assert_snapshot!(errors("", "x = first + second"), @r"
    error[unknown-name]: `first` is not defined
      --> t.py:2:9
       |
    2  |     x = first + second
       |         ^^^^^

    error[unknown-name]: `second` is not defined
      --> t.py:2:17
       |
    2  |     x = first + second
       |                 ^^^^^^
    ");
}
