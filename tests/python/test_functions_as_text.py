"""Functions given as C++ text: `wp.func_native`."""

import numpy as np
import pytest

import gridstride as wp


def run(kernel, dim, args, device):
    launch = wp.launch if device == "cuda" else wp._native.launch
    if device == "cuda":
        launch(kernel, dim, inputs=args)
    else:
        launch(kernel, dim, args, (), device, False, kernel.launch_options(0), True)


@wp.func_native("int inc = 1; out[tid] = x[tid] + inc;  // as C writes it")
def increment(x: wp.array(dtype=int), out: wp.array(dtype=int), tid: int): ...


@wp.func_native("""
    float s = 0;                        // a number converts to the type of its variable
    for (int i = 0; i < n; i++) {
        if (i % 2) continue;
        s += a[i] * 0.5;
    }
    int k = 0;
    do { k++; if (k == 2) continue; } while (k < 7 / 2);
    unsigned int h = 0x9e3779b9u ^ (unsigned)k;
    while (true) { h >>= 3; if (h < 10) break; }
    float b[3] = {1, 2.5f, s};
    { int k = 100; b[0] = k; }
    for (int i = 8; i > 1; i /= 2) k = i - 1;
    return h == 2u ? sqrtf(s) + b[1] + k + b[0] / 3 : -1;
""")
def statements(a: wp.array(dtype=float), n: int) -> float: ...


@wp.func_native("""
    int q = -7 / 2, r = -7 % 3;         // C rounds towards zero
    unsigned char c = 300;
    out[0] = q; out[1] = r; out[2] = c;
    out[3] = (int)2.75f + (int)true;
    out[4] = n / 2.0f * 3;              // computed as a float, kept as an int
    out[5] = 1u > -1 && !(n == 3);      // -1 is the greatest unsigned
    out[6] = 1 << 4 | 3 & ~1;
    out[7] = n > 4 ? 1 : n > 2 ? 2 : 3;
    double third = 1.0 / 3;
    out[8] = third * 3 == 1.0;
    out[9] = atomicAdd(&out[4], 5) + max(n, 2) + INT_MAX / 1000000000;
""")
def conversions(out: wp.array(dtype=int), n: int): ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __shared__ float only_on_a_gpu[3];
#else
    auto v = wp::vec_t<3, float>(x, x, 2);
    v.c[1] += 1;
    v = v * 2.0f;
    return v;
#endif
""")
def vector(x: float) -> wp.vec3: ...


def test_text_is_a_function(device):
    @wp.kernel
    def kernel(x: wp.array(dtype=int), out: wp.array(dtype=int)):
        increment(x, out, wp.tid())

    x, out = wp.array(np.arange(5), dtype=int), wp.zeros(5, dtype=int)
    run(kernel, 5, [x, out], device)
    assert out.list() == [1, 2, 3, 4, 5]


def test_statements_mean_what_they_do_in_c(device):
    @wp.kernel
    def kernel(a: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = statements(a, 6)

    a, out = wp.array(np.arange(6.0), dtype=float), wp.zeros(1, dtype=float)
    run(kernel, 1, [a, out], device)
    np.testing.assert_allclose(out.numpy(), [np.sqrt(3.0) + 2.5 + 1 + 100 / 3], rtol=1e-6)


def test_numbers_convert_as_in_c(device):
    @wp.kernel
    def kernel(out: wp.array(dtype=int)):
        conversions(out, 3)

    out = wp.zeros(10, dtype=int)
    run(kernel, 1, [out], device)
    assert out.list() == [-3, -1, 44, 3, 9, 0, 18, 2, 1, 9]


def test_vectors_and_calls_from_python():
    assert vector(3.0) == wp.vec3(6.0, 8.0, 4.0)


@pytest.mark.cpu
def test_text_without_a_gradient_text_has_its_own_gradient():
    @wp.kernel
    def kernel(a: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = statements(a, 6)

    a = wp.array(np.ones(6), dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 1, inputs=[a, out])
    tape.backward(grads={out: wp.ones_like(out)})
    slope = 0.5 / (2 * np.sqrt(1.5))
    np.testing.assert_allclose(a.grad.numpy(), [slope, 0, slope, 0, slope, 0], rtol=1e-6)


@wp.func_native("x = y * 2.0f;", adj_snippet="adj_y += 10.0f * adj_x; adj_x = 0.0f;")
def store(x: wp.ref[float], y: float): ...


@wp.func_native("return a * x[i];", adj_snippet="adj_a += x[i] * adj_ret; adj_x[i] += 10.0f * a * adj_ret;")
def scaled(a: float, x: wp.array(dtype=float), i: int) -> float: ...


@pytest.mark.cpu
def test_a_gradient_text_is_the_gradient():
    @wp.kernel
    def kernel(x: wp.array(dtype=float), middle: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        store(middle[i], x[i])
        out[i] = scaled(3.0, middle, i)

    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    middle, out = wp.zeros(2, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, 2, inputs=[x, middle, out])
    tape.backward(grads={out: wp.ones_like(out)})
    assert out.list() == [6.0, 12.0]
    assert x.grad.list() == [300.0, 300.0] and middle.grad.list() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int a = 1;\n__shared__ int s[3];", "line 2: `__shared__` is not supported"),
        ("x = unknown(x);", "the function `unknown` is not known"),
        ("return y;", "`y` is not known"),
        ("int* p = 0;", "is not"),
        ("a[i++] = 1;", "is not known"),
        ("switch (1) { }", "`switch` is not supported"),
        ("if (x > 1 { }", "expected `)`, found `{`"),
        ("#include <math.h>", "`#include <math.h>` is not supported"),
        ("while (true) {", "expected `}`"),
        ("x = 1 @ 2;", "`@` is not understood"),
    ],
)
def test_what_is_not_read_is_refused_where_it_is_called(text, message):
    @wp.func_native(text)
    def wrong(x: float): ...

    @wp.kernel
    def kernel():
        wrong(1.0)

    with pytest.raises(RuntimeError) as raised:
        wp.launch(kernel, dim=1)
    assert "the C++ text of `wrong`" in str(raised.value) and message in str(raised.value)


@wp.func_native("WP_TILE_SYNC();")
def wait(): ...


@wp.kernel
def doubled(a: wp.array(dtype=float)):
    t = wp.tile_load(a, shape=4)
    wait()
    wp.tile_store(a, t + t)


def test_a_block_of_one_thread_has_nobody_to_wait_for():
    a = wp.ones(4, dtype=float, device="cpu")
    wp.launch_tiled(doubled, dim=1, inputs=[a], block_dim=32, device="cpu")
    assert a.numpy().tolist() == [2.0] * 4


def test_several_threads_cannot_wait_in_text(monkeypatch):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)
    a = wp.ones(4, dtype=float, device="cpu")
    with pytest.raises(RuntimeError, match=r"`WP_TILE_SYNC` in C\+\+ text works in blocks of one thread"):
        wp.launch_tiled(doubled, dim=1, inputs=[a], block_dim=32, device="cpu")
