//! Mistakes in C text: where the caret stands, and what is allowed.

use super::{errors, errors_in};
use insta::assert_snapshot;

#[test]
fn a_name_that_is_misspelt() {
    assert_snapshot!(errors("float* out, int count", "out[0] = cuont;"), @r"
    error[unknown-name]: `cuont` is not declared here
      --> k.cu:2:14
       |
    2  |     out[0] = cuont;
       |              ^^^^^
       = help: did you mean `count`?
    ");
}

#[test]
fn a_semicolon_that_is_missing() {
    assert_snapshot!(errors("float* y", "y[0] = 1\n    y[1] = 2;"), @r#"
    error[c-syntax]: expected `;`, found `y`
      --> k.cu:2:12
       |
    2  |     y[0] = 1
       |            ^
       = help: the page "C kernels" says what is read of C and CUDA C++
    "#);
}

#[test]
fn what_is_const_stays_so() {
    assert_snapshot!(errors("const float* x", "x[0] = 1;"), @r"
    error[not-assignable]: `x[0]` is `const`
      --> k.cu:2:5
       |
    2  |     x[0] = 1;
       |     ^^^^
       = help: take `const` from its declaration, or assign to a copy
    ");
}

#[test]
fn a_pointer_of_another_type_needs_a_cast() {
    assert_snapshot!(errors("float* x", "int* p = x; p[0] = 1;"), @r"
    error[type-mismatch]: expected `int*`, found `float*`
      --> k.cu:2:14
       |
    2  |     int* p = x; p[0] = 1;
       |              ^
       = help: cast it where you mean it: `(T*)p`
    ");
}

#[test]
fn vectors_have_no_operators() {
    assert_snapshot!(errors("float4* x", "x[0] = x[1] + x[2];"), @r"
    error[type-mismatch]: cannot apply `+` to `float4` and `float4`
      --> k.cu:2:12
       |
    2  |     x[0] = x[1] + x[2];
       |            ^^^^^^^^^^^
       = help: vectors have no operators: write each component
    ");
}

#[test]
fn every_mistake_is_told() {
    assert_snapshot!(errors("float* x, int n", "x[n] = sinn(1.0f); atomicAdd(x); goto end;"), @r"
    error[c-syntax]: `goto` cannot be used in a kernel
      --> k.cu:2:38
       |
    2  |     x[n] = sinn(1.0f); atomicAdd(x); goto end;
       |                                      ^^^^
       = help: write a loop with `break` and `continue`
    ");
    assert_snapshot!(errors("float* x, int n", "x[n] = sinn(1.0f); atomicAdd(x); x[0.5f] = 2;"), @r"
    error[unknown-function]: there is no function `sinn`
      --> k.cu:2:12
       |
    2  |     x[n] = sinn(1.0f); atomicAdd(x); x[0.5f] = 2;
       |            ^^^^^^^^^^
       = help: did you mean `sin`?

    error[argument-count]: `atomicAdd` takes 2 arguments, found 1
      --> k.cu:2:24
       |
    2  |     x[n] = sinn(1.0f); atomicAdd(x); x[0.5f] = 2;
       |                        ^^^^^^^^^^^^
       = help: give an argument for each parameter

    error[not-an-index]: an index must be an integer, found `float`
      --> k.cu:2:40
       |
    2  |     x[n] = sinn(1.0f); atomicAdd(x); x[0.5f] = 2;
       |                                        ^^^^
       = help: convert it: `(int)x`
    ");
}

#[test]
fn a_function_cannot_call_itself() {
    assert_snapshot!(
        errors_in("__device__ int f(int n) { return n < 2 ? 1 : f(n - 1); }\n__global__ void k(int* y) { y[0] = f(4); }"),
        @r"
    error[recursion]: `f` calls itself
      --> k.cu:1:46
       |
    1  | __device__ int f(int n) { return n < 2 ? 1 : f(n - 1); }
       |                                              ^^^^^^^^
       = help: functions of a kernel cannot be recursive; use a loop
    ");
}

#[test]
fn a_length_is_known_when_compiling() {
    assert_snapshot!(errors("float* x, int n", "float a[n]; x[0] = a[0];"), @r"
    error[static-index]: `n` is not known when compiling
      --> k.cu:2:13
       |
    2  |     float a[n]; x[0] = a[0];
       |             ^
       = help: write an integer, a macro, a `const` or `constexpr` integer, or a parameter of the template
    ");
}

#[test]
fn a_mistake_in_a_macro_is_told_where_it_is_used() {
    assert_snapshot!(errors_in("#define BAD(x) (x + nothing)\n__global__ void k(int* y) { y[0] = BAD(1); }"), @r"
    error[unknown-name]: `nothing` is not declared here
      --> k.cu:2:36
       |
    2  | __global__ void k(int* y) { y[0] = BAD(1); }
       |                                    ^^^
       = help: declare it before it is used
    ");
}

#[test]
fn a_kernel_that_is_not_there() {
    assert_snapshot!(errors_in("__global__ void other(int* y) { y[0] = 1; }"), @r"
    error[no-source]: there is no kernel `k` in this text
       = help: it has `other`
    ");
}
