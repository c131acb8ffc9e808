//! Reports about what Python has and kernels do not, and what to write instead.

use crate::lowered::errors;
use insta::assert_snapshot;

#[test]
fn syntax_that_kernels_lack() {
    assert_snapshot!(errors("a: wp.array(dtype=float)", "x = f\"{a}\"\ny = [i for i in a]\nz = lambda: 1\nw = {1: 2}\nu = 1j\nt = (v := 3)"), @r#"
    error[unsupported-syntax]: an f-string cannot be used in a kernel
      --> t.py:2:9
       |
    2  |     x = f"{a}"
       |         ^^^^^^
       = help: use `print(a, b)` or `printf("%d %f", a, b)`

    error[unsupported-syntax]: a comprehension cannot be used in a kernel
      --> t.py:3:9
       |
    3  |     y = [i for i in a]
       |         ^^^^^^^^^^^^^^
       = help: write a `for` loop

    error[unsupported-syntax]: a lambda cannot be used in a kernel
      --> t.py:4:9
       |
    4  |     z = lambda: 1
       |         ^^^^^^^^^
       = help: write a function decorated with `@wp.func`

    error[unsupported-syntax]: a dict cannot be used in a kernel
      --> t.py:5:9
       |
    5  |     w = {1: 2}
       |         ^^^^^^
       = help: use a struct, or look the value up with `wp.static(…)`

    error[unsupported-syntax]: complex numbers cannot be used in a kernel
      --> t.py:6:9
       |
    6  |     u = 1j
       |         ^^
       = help: keep the real and the imaginary part in a `vec2`

    error[unsupported-syntax]: `:=` cannot be used in a kernel
      --> t.py:7:10
       |
    7  |     t = (v := 3)
       |          ^^^^^^
       = help: assign in a statement of its own
    "#);
}

#[test]
fn statements_that_kernels_lack_are_reported_once() {
    let body = "import math\nx = math.sin(1.0)\ndef f(y):\n    return y\nx = f(x)\nwith a as b:\n    c = b\n\
                if (n := 1) > 0:\n    m = n\ntry:\n    x = 2.0\nexcept E:\n    pass";
    assert_snapshot!(errors("a: wp.array(dtype=float)", body), @r"
    error[unsupported-syntax]: `import` cannot be used in a kernel
      --> t.py:2:5
       |
    2  |     import math
       |     ^^^^^^^^^^^
       = help: import it at the top of the file

    error[unsupported-syntax]: a nested function cannot be used in a kernel
      --> t.py:4:5
       |
    4  |     def f(y):
       |     ^^^^^^^^^
       = help: define it before the kernel, under `@wp.func`

    error[unsupported-syntax]: `with` cannot be used in a kernel
      --> t.py:7:5
       |
    7  |     with a as b:
       |     ^^^^^^^^^^^^
       = help: kernels open and close nothing: do it around the launch

    error[unsupported-syntax]: `:=` cannot be used in a kernel
      --> t.py:9:9
       |
    9  |     if (n := 1) > 0:
       |         ^^^^^^
       = help: assign in a statement of its own

    error[unsupported-syntax]: `try` cannot be used in a kernel
       --> t.py:11:5
        |
    11  |     try:
        |     ^^^^
        = help: nothing in a kernel raises: test for what may go wrong with `if`
    ");
}

#[test]
fn methods_of_lists_and_functions_of_the_host() {
    assert_snapshot!(errors("a: wp.array(dtype=float)", "b = [1.0, 2.0]\nb.append(3.0)\na[0] = a.sum()"), @r"
    error[unknown-method]: `(float32, float32)` has no method `append` in a kernel
      --> t.py:3:5
       |
    3  |     b.append(3.0)
       |     ^^^^^^^^^^^^^
       = help: nothing grows or shrinks in a kernel: write to places of an array that is passed, or of `wp.zeros(shape=…, dtype=…)`

    error[unknown-method]: `array(dtype=float32)` has no method `sum` in a kernel
      --> t.py:4:12
       |
    4  |     a[0] = a.sum()
       |            ^^^^^^^
       = help: write a loop, or compute it before the launch
    ");
}

#[test]
fn tuples_for_vectors_and_named_arguments_of_print() {
    assert_snapshot!(errors("a: wp.array(dtype=wp.vec2)", "a[0] = (1.0, 2.0)\nprint(a[0], sep='')"), @r"
    error[type-mismatch]: expected `vec2`, found `(float32, float32)`
      --> t.py:2:12
       |
    2  |     a[0] = (1.0, 2.0)
       |            ^^^^^^^^^^
       = help: a tuple is no vector: write `vec2(…)`

    error[argument-name]: `print` has no argument `sep`
      --> t.py:3:21
       |
    3  |     print(a[0], sep='')
       |                     ^^
       = help: its arguments have no names
    ");
}
