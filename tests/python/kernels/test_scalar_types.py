"""Arithmetic of every scalar type in kernels, with NumPy as the oracle."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gridstride as wp

few = settings(max_examples=15, deadline=None)
INTS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
FLOATS = [wp.float16, wp.float32, wp.float64]


@wp.kernel
def arithmetic(a: wp.array(dtype=Any), b: wp.array(dtype=Any), out: wp.array2d(dtype=Any)):
    i = wp.tid()
    out[0, i] = a[i] + b[i]
    out[1, i] = a[i] - b[i]
    out[2, i] = a[i] * b[i]
    out[3, i] = -a[i]
    out[4, i] = wp.min(a[i], b[i])
    out[5, i] = wp.max(a[i], b[i])


@wp.kernel
def bits(a: wp.array(dtype=Any), b: wp.array(dtype=Any), out: wp.array2d(dtype=Any)):
    i = wp.tid()
    out[0, i] = a[i] & b[i]
    out[1, i] = a[i] | b[i]
    out[2, i] = a[i] ^ b[i]
    out[3, i] = ~a[i]


@wp.kernel
def division(a: wp.array(dtype=Any), b: wp.array(dtype=Any), out: wp.array2d(dtype=Any)):
    i = wp.tid()
    out[0, i] = a[i] / b[i]
    out[1, i] = a[i] % b[i]


def pair(data, dtype, **elements):
    n = data.draw(st.integers(1, 20))
    return [data.draw(hnp.arrays(dtype, n, **elements)) for _ in range(2)]


def run(kernel, device, a, b, rows):
    with wp.ScopedDevice("cpu" if device == "interp" else device):
        out = wp.array(np.zeros((rows, len(a)), a.dtype))
        inputs = [wp.array(a), wp.array(b), out]
    wp.launch(kernel, dim=len(a), inputs=inputs, device=device)
    return out.numpy()


@pytest.mark.parametrize("dtype", INTS)
@few
@given(data=st.data())
def test_integers_wrap(device, dtype, data):
    a, b = pair(data, np.dtype(dtype.__name__))
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, -a, np.minimum(a, b), np.maximum(a, b)]
    np.testing.assert_array_equal(run(arithmetic, device, a, b, 6), expected)
    np.testing.assert_array_equal(run(bits, device, a, b, 4), [a & b, a | b, a ^ b, ~a])


@pytest.mark.parametrize("dtype", INTS)
@few
@given(data=st.data())
def test_integer_division_truncates(device, dtype, data):
    a, b = pair(data, np.dtype(dtype.__name__))
    b[b == 0] = 1
    smallest = np.iinfo(a.dtype).min
    a[(a == smallest) & (b.astype(np.int64) == -1)] = 7
    wide_a, wide_b = a.astype(object), b.astype(object)
    signs = [1 if (x < 0) == (y < 0) else -1 for x, y in zip(wide_a, wide_b, strict=True)]
    quotient = abs(wide_a) // abs(wide_b) * np.array(signs, dtype=object)
    expected = np.array([quotient, wide_a - quotient * wide_b], dtype=object).astype(a.dtype)
    np.testing.assert_array_equal(run(division, device, a, b, 2), expected)


def test_division_by_zero_does_not_kill_the_process(device):
    for dtype in INTS:
        info = np.iinfo(dtype.__name__)
        a = np.array([1, 0, info.min, info.max], dtype=info.dtype)
        b = np.array([0, 0, -1 if info.min else 0, 0]).astype(info.dtype)
        first = run(division, "interp", a, b, 2)
        np.testing.assert_array_equal(run(division, device, a, b, 2), first)


@pytest.mark.parametrize("dtype", FLOATS)
@few
@given(data=st.data())
def test_floats(device, dtype, data):
    # Any bits are a float: every subnormal, infinity and zero of both signs is met.
    a, b = (x.view(dtype.__name__) for x in pair(data, f"u{wp.type_size_in_bytes(dtype)}"))
    a[np.isnan(a)], b[np.isnan(b)] = 1.0, -0.5
    with np.errstate(all="ignore"):
        expected = [a + b, a - b, a * b, -a, np.minimum(a, b), np.maximum(a, b)]
        quotient = a / b
    np.testing.assert_array_equal(run(arithmetic, device, a, b, 6), expected)
    np.testing.assert_array_equal(run(division, device, a, b, 2)[0], quotient)


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, wp.bfloat16])
def test_interpreter_and_compiled_code_agree_bit_for_bit(dtype):
    rng = np.random.default_rng(3)
    size = wp.type_size_in_bytes(dtype)
    a, b = (wp.array(rng.integers(0, 2 ** (8 * size), 500, dtype=f"u{size}")).view(dtype) for _ in range(2))
    found = []
    for place in ("interp", "cpu"):
        out = wp.zeros((6, 500), dtype=dtype)
        wp.launch(arithmetic, dim=500, inputs=[a, b, out], device=place)
        found.append(out.view(getattr(wp, f"uint{8 * size}")).numpy().copy())
    # NaN payloads are not part of the meaning.
    with np.errstate(invalid="ignore"):
        values = wp.array(found[0]).view(dtype).numpy().astype(float)
    same = (found[0] == found[1]) | np.isnan(values)
    assert same.all()


@wp.kernel
def to_float32(x: wp.array(dtype=Any), out: wp.array(dtype=wp.float32)):
    i = wp.tid()
    out[i] = wp.float32(x[i])


@wp.kernel
def to_int32(x: wp.array(dtype=Any), out: wp.array(dtype=wp.int32)):
    i = wp.tid()
    out[i] = wp.int32(x[i])


@wp.kernel
def to_uint8(x: wp.array(dtype=Any), out: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    out[i] = wp.uint8(x[i])


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS])
def test_casts(device, dtype):
    x = np.array([0, 1, 2, 100, 127], dtype=dtype.__name__)
    for kernel, target in ((to_float32, wp.float32), (to_int32, wp.int32), (to_uint8, wp.uint8)):
        out = wp.zeros(len(x), dtype=target)
        wp.launch(kernel, dim=len(x), inputs=[wp.array(x), out], device=device)
        np.testing.assert_array_equal(out.numpy(), x.astype(target.__name__))


def test_float_to_int_saturates(device):
    x = wp.array([1e20, -1e20, np.nan, 2.9, -2.9], dtype=float)
    out = wp.zeros(5, dtype=int)
    wp.launch(to_int32, dim=5, inputs=[x, out], device=device)
    assert out.list() == [2**31 - 1, -(2**31), 0, 2, -2]


@wp.kernel
def literals(d: wp.array(dtype=wp.float64), u: wp.array(dtype=wp.uint64)):
    d[0] = wp.float64(0.1)
    d[1] = d[0] * wp.float64(1.0 / 3.0)
    u[0] = wp.uint64(0xFFFFFFFFFFFFFFFF)
    u[1] = u[0] >> wp.uint64(60)


def test_literals_are_exact(device):
    d, u = wp.zeros(2, dtype=wp.float64), wp.zeros(2, dtype=wp.uint64)
    wp.launch(literals, dim=1, inputs=[d, u], device=device)
    assert d.list() == [0.1, 0.1 * (1.0 / 3.0)]
    assert u.list() == [2**64 - 1, 15]


@wp.kernel
def mixed(a: wp.array(dtype=float), n: int):
    a[0] = a[0] + n


def test_mixing_types_is_an_error(device):
    with pytest.raises(wp.CompileError, match=r"float32[^\n]*int32|f32[^\n]*i32|int32[^\n]*float32"):
        wp.launch(mixed, dim=1, inputs=[wp.zeros(1), 3], device=device)


@wp.kernel
def shifts(u: wp.array(dtype=wp.uint32), s: wp.array(dtype=wp.int32)):
    u[1] = u[0] >> wp.uint32(31)
    s[1] = s[0] >> 1
    s[2] = s[0] << 2


def test_shifts_follow_the_sign(device):
    u, s = wp.array([0x80000000, 0], dtype=wp.uint32), wp.array([-8, 0, 0], dtype=wp.int32)
    wp.launch(shifts, dim=1, inputs=[u, s], device=device)
    assert u.list()[1] == 1
    assert s.list()[1:] == [-4, -32]


UNARY = ["sin", "cos", "tan", "exp", "log", "sqrt", "abs", "floor", "ceil", "tanh", "cbrt", "trunc"]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_math_functions(device, name, dtype):
    function = getattr(wp, name)

    @wp.kernel(module="unique")
    def k(x: wp.array(dtype=dtype), out: wp.array(dtype=dtype)):
        i = wp.tid()
        out[i] = function(x[i])

    x = np.linspace(0.1, 8.0, 101).astype(dtype.__name__)
    out = wp.zeros(len(x), dtype=dtype)
    wp.launch(k, dim=len(x), inputs=[wp.array(x), out], device=device)
    np.testing.assert_allclose(out.numpy(), getattr(np, name)(x), rtol=4 * np.finfo(x.dtype).eps)
