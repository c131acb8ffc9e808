//! Reports about indices and slices.

use crate::lowered::errors;
use insta::assert_snapshot;

#[test]
fn indices_out_of_range() {
    assert_snapshot!(errors("v: wp.vec3, m: wp.mat22", "a = v[3]\nb = m[0, 2]\nc = v[-4]\nd = (1, 2)[2]"), @r"
    error[index-range]: index 3 is out of range for `vec3`
      --> t.py:2:11
       |
    2  |     a = v[3]
       |           ^
       = help: it goes from 0 to 2, or from -3 to -1

    error[index-range]: index 2 is out of range for `mat22`
      --> t.py:3:14
       |
    3  |     b = m[0, 2]
       |              ^
       = help: it goes from 0 to 1, or from -2 to -1

    error[index-range]: index -4 is out of range for `vec3`
      --> t.py:4:11
       |
    4  |     c = v[-4]
       |           ^^
       = help: it goes from 0 to 2, or from -3 to -1

    error[index-range]: index 2 is out of range for the tuple
      --> t.py:5:16
       |
    5  |     d = (1, 2)[2]
       |                ^
       = help: it goes from 0 to 1, or from -2 to -1
    ");
}

#[test]
fn too_many_indices() {
    assert_snapshot!(errors("a: wp.array(dtype=wp.vec3), v: wp.vec3", "x = a[0, 1]\ny = v[0, 1]"), @r"
    error[too-many-indices]: `a` has 1 dimension, found 2 indices
      --> t.py:2:9
       |
    2  |     x = a[0, 1]
       |         ^^^^^^^
       = help: index the `vec3` that it holds in a subscript of its own

    error[too-many-indices]: `vec3` takes 1 index, found 2
      --> t.py:3:9
       |
    3  |     y = v[0, 1]
       |         ^^^^^^^
    ");
}

#[test]
fn indices_of_other_types() {
    assert_snapshot!(errors("a: wp.array(dtype=float), v: wp.vec3, x: float", "b = a[x]\nc = a[1.0]\nd = v[x]\ne = (1, v)[a.shape[0]]"), @r"
    error[not-an-index]: an index must be an integer, found `float32`
      --> t.py:2:11
       |
    2  |     b = a[x]
       |           ^

    error[not-an-index]: an index must be an integer, found the literal `1.0`
      --> t.py:3:11
       |
    3  |     c = a[1.0]
       |           ^^^

    error[not-an-index]: an index must be an integer, found `float32`
      --> t.py:4:11
       |
    4  |     d = v[x]
       |           ^

    error[static-index]: a tuple of several types is indexed by constants, found `int32`
      --> t.py:5:16
       |
    5  |     e = (1, v)[a.shape[0]]
       |                ^^^^^^^^^^
    ");
}

#[test]
fn slices_with_bad_steps() {
    assert_snapshot!(errors("a: wp.array(dtype=float), v: wp.vec3, n: int", "b = a[::0]\nd = v[::0]\ne = v[:n]"), @r"
    error[slice-step]: slice step cannot be zero
      --> t.py:2:11
       |
    2  |     b = a[::0]
       |           ^^^

    error[slice-step]: slice step cannot be zero
      --> t.py:3:11
       |
    3  |     d = v[::0]
       |           ^^^

    error[static-index]: the bounds of this slice must be constants, found `int32`
      --> t.py:4:11
       |
    4  |     e = v[:n]
       |           ^^
       = help: the number of components is part of a value's type
    ");
}

#[test]
fn starred_slices_that_are_not_constant() {
    assert_snapshot!(errors("a: wp.array(dtype=float), n: int", "x = wp.vec2(*a[1:])\ny = wp.vec2(*a[0:n])\nz = wp.vec2(*a[-2:2])\nw = wp.vec2(*a[3:1:-1])\nv = wp.vec2(*n)"), @r"
    error[static-index]: unpacking a slice of an array requires explicit upper bound
      --> t.py:2:18
       |
    2  |     x = wp.vec2(*a[1:])
       |                  ^^^^^

    error[static-index]: the bounds of an unpacked slice must be constants
      --> t.py:3:18
       |
    3  |     y = wp.vec2(*a[0:n])
       |                  ^^^^^^

    error[static-index]: the bounds of an unpacked slice cannot be negative for arrays
      --> t.py:4:18
       |
    4  |     z = wp.vec2(*a[-2:2])
       |                  ^^^^^^^

    error[static-index]: an unpacked slice goes forward: its step cannot be negative or zero
      --> t.py:5:18
       |
    5  |     w = wp.vec2(*a[3:1:-1])
       |                  ^^^^^^^^^

    error[not-iterable]: `int32` cannot be unpacked
      --> t.py:6:18
       |
    6  |     v = wp.vec2(*n)
       |                  ^
    ");
}
