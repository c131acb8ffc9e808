//! What the preprocessor and the parser read.

use super::{ir, ir_of};
use frontend::Options;

/// Both texts give the same ops.
fn check_same(text: &str, plain: &str) {
    let options = Options::default();
    assert_eq!(ir_of(text, "k", &options), ir_of(plain, "k", &options));
}

#[test]
fn macros_are_expanded() {
    check_same(
        "#define N 4\n#define SQUARE(x) ((x) * (x))\n#ifdef N\n__global__ void k(int* y, int i) { y[N] = SQUARE(i + 1); }\n#endif",
        "__global__ void k(int* y, int i) { y[4] = (i + 1) * (i + 1); }",
    );
}

#[test]
fn conditions_choose_a_text() {
    check_same(
        "#if defined(A) || 2 * 3 > 7\nno C at all\n#elif __CUDA_ARCH__ >= 700 && !defined(A)\n__global__ void k(int* y) { y[0] = 1; }\n#else\nnone\n#endif",
        "__global__ void k(int* y) { y[0] = 1; }",
    );
}

#[test]
fn words_that_say_nothing_of_values_are_passed_over() {
    check_same(
        "#include <cuda_runtime.h>\nextern \"C\" {\n__global__ void __launch_bounds__(256, 2) k(const float* __restrict__ const x, volatile float* y) {\n#pragma unroll 4\nfor (unsigned int i = 0u; i < 4; ++i) { y[i] = x[i]; }\n}\n}",
        "__global__ void k(const float* x, float* y) { for (unsigned i = 0u; i < 4; ++i) y[i] = x[i]; }",
    );
}

#[test]
fn names_of_types_are_those_of_headers() {
    check_same(
        "typedef unsigned long long big; using real = float; __global__ void k(std::size_t n, big* y, real r) { y[0] = static_cast<big>(r) + n; }",
        "__global__ void k(unsigned long n, unsigned long long* y, float r) { y[0] = (unsigned long long)r + n; }",
    );
}

#[test]
fn literals_have_the_types_of_their_suffixes() {
    let text =
        ir("long long* y, float* z", "y[0] = 0x7fffffff + 1u; y[1] = 0b101ll; y[2] = 'a'; z[0] = 1e3f; z[1] = .5;");
    for wanted in ["u32 = const 2147483647", "i64 = const 5", "i64 = const 97", "f32 = const 1000.0", "f32 = const 0.5"]
    {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}
