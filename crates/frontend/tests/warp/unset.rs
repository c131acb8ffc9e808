//! Names that a path to where they are read does not set.

use crate::lowered::{errors, warnings};
use insta::assert_snapshot;

#[test]
fn a_name_set_on_one_path() {
    assert_snapshot!(warnings("a: wp.array(dtype=float), n: int", "if n > 0:\n    z = 1.0\na[0] = z\na[1] = z"), @r"
    warning[maybe-unset]: `z` may not be set here, and is 0 then
      --> t.py:4:12
       |
    4  |     a[0] = z
       |            ^ `z` is not set where the condition on line 2 is false
      ::: t.py:2:8
       |
    2  |     if n > 0:
       |        ----- this decides
       = help: give `z` a value on every path, for example before the branch or loop
    ");
}

#[test]
fn a_name_set_by_a_loop_that_may_not_run() {
    let params = "a: wp.array(dtype=float), n: int";
    assert_snapshot!(warnings(params, "for i in range(n):\n    z = a[i]\na[0] = z"), @r"
    warning[maybe-unset]: `z` may not be set here, and is 0 then
      --> t.py:4:12
       |
    4  |     a[0] = z
       |            ^ `z` is not set where the loop on line 2 runs no round
      ::: t.py:2:14
       |
    2  |     for i in range(n):
       |              -------- this decides
       = help: give `z` a value on every path, for example before the branch or loop
    ");
    assert_snapshot!(warnings(params, "for i in range(n):\n    if i > 0:\n        a[i] = z\n    z = a[i]"), @r"
    warning[maybe-unset]: `z` may not be set here, and is 0 then
      --> t.py:4:20
       |
    4  |             a[i] = z
       |                    ^ `z` is not set in the first round of the loop on line 2
      ::: t.py:2:14
       |
    2  |     for i in range(n):
       |              -------- this decides
       = help: give `z` a value on every path, for example before the branch or loop
    ");
    assert_eq!(warnings(params, "for i in range(3):\n    z = a[i]\na[0] = z"), "");
    assert_eq!(warnings(params, "z = 1.0\nif n > 0:\n    z = 2.0\na[0] = z"), "");
    assert_eq!(warnings(params, "if n > 0:\n    z = 2.0\nz = 1.0\na[0] = z"), "");
    assert_eq!(warnings(params, "if n > 0:\n    z = 2.0\nelse:\n    return\na[0] = z"), "");
}

#[test]
fn a_name_of_two_kinds() {
    let text = "if n > 0:\n    z = 1.0\nelse:\n    z = wp.vec3(1.0)\na[0] = z";
    assert_snapshot!(errors("a: wp.array(dtype=float), n: int", text), @r"
    error[mixed-kinds]: `z` does not stand for one thing here
      --> t.py:6:12
       |
    6  |     a[0] = z
       |            ^ `z` is the literal `1.0` and `vec3` on the two paths of the `if` on line 2
      ::: t.py:2:8
       |
    2  |     if n > 0:
       |        ----- this decides
       = help: give `z` a value of one type on every path, for example before the branch or loop
    ");
    let text =
        "for i in range(n):\n    if i > 1:\n        z = 1.0\n    elif i > 0:\n        z = wp.vec3(1.0)\na[0] = z";
    assert_snapshot!(errors("a: wp.array(dtype=float), n: int", text), @r"
    error[mixed-kinds]: `z` does not stand for one thing here
      --> t.py:7:12
       |
    7  |     a[0] = z
       |            ^ `z` is the literal `1.0` and `vec3` on the two paths of the `if` on line 3
      ::: t.py:3:12
       |
    3  |         if i > 1:
       |            ----- this decides
       = help: give `z` a value of one type on every path, for example before the branch or loop
    ");
}
