"""Numbers as Numba types them: literals, promotion, division, what a name is after a branch or loop."""

import cmath
import math
import operator

import numpy as np
import pytest

from gridstride.numba import cuda, float32, int32, uint64

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
INTEGERS = [-13, -7, -1, 1, 2, 5, 12]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_operators_follow_python(op, dtype):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = op(a[i], b[i])

    a, b = (x.ravel() for x in np.meshgrid(np.array(INTEGERS, dtype), np.array(INTEGERS, dtype)))
    out = np.zeros(a.size)
    kernel[2, 64](a, b, out)
    expected = [op(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_literals_are_int64_and_float64():
    @cuda.jit
    def kernel(ints, floats):
        ints[0] = 1 << 40
        ints[1] = 2**31 + 1
        floats[0] = 0.1
        floats[1] = 7 / 2

    ints, floats = np.zeros(2, np.int64), np.zeros(2)
    kernel[1, 1](ints, floats)
    assert ints.tolist() == [1 << 40, 2**31 + 1]
    assert floats.tolist() == [0.1, 3.5]


def test_mixed_signs_compare_by_value():
    @cuda.jit
    def kernel(signed, unsigned, out):
        out[0] = signed[0] < unsigned[0]
        out[1] = unsigned[0] > signed[0]
        out[2] = signed[0] == unsigned[0]
        out[3] = signed[0] != unsigned[0]

    out = np.zeros(4, np.bool_)
    kernel[1, 1](np.array([-1]), np.array([2**64 - 1], np.uint64), out)
    assert out.tolist() == [True, True, False, True]


def test_large_unsigned_integers_keep_their_digits():
    @cuda.jit
    def kernel(u, out):
        out[0] = u[0] * uint64(3)
        v = u[0]
        v = v + uint64(2)
        out[1] = v

    out = np.zeros(2, np.uint64)
    kernel[1, 1](np.array([2**53 + 1], np.uint64), out)
    assert out.tolist() == [3 * (2**53 + 1), 2**53 + 3]


def test_a_name_takes_the_wider_type_of_two_paths():
    @cuda.jit
    def kernel(n, out):
        s = 0
        for k in range(n):
            s += k * 0.5
        t = 1 if n > 100 else 0.25
        u = int32(1)
        while u < n:
            u = u * 2
        out[0], out[1], out[2] = s, t, u

    out = np.zeros(3)
    kernel[1, 1](5, out)
    assert out.tolist() == [5.0, 0.25, 8.0]


def test_a_name_set_on_some_paths_is_zero_on_the_others():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            x = a[i]
        cuda.syncthreads()
        if i < out.size:
            out[i] = x
        for k in range(i):
            last = k
        if i > 0 and i < out.size:
            out[i] += last

    out = np.full(4, 9.0)
    kernel[1, 32](np.array([1.0, 2.0]), out)
    assert out.tolist() == [1.0, 2.0, 1.0, 2.0]


def test_a_loop_reads_what_the_round_before_set():
    @cuda.jit
    def kernel(out):
        for i in range(4):
            if i > 0:
                out[i] = before * 10  # noqa: F821
            before = i  # noqa: F841

    out = np.zeros(4)
    kernel[1, 1](out)
    assert out.tolist() == [0.0, 0.0, 10.0, 20.0]


@pytest.mark.parametrize("base,exponent", [(3, 4), (-2, 5), (2.5, 3), (2.0, -2), (7, 0)])
def test_powers(base, exponent):
    @cuda.jit
    def kernel(x, n, out):
        out[0] = x**n
        out[1] = x**2
        out[2] = math.pow(x, n)

    out = np.zeros(3)
    kernel[1, 1](base, exponent, out)
    np.testing.assert_allclose(out, [float(base) ** exponent, base**2, math.pow(base, exponent)])


def test_float32_stays_float32():
    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] * x[0] + float32(0.1)
        out[1] = math.sqrt(x[0])

    out, x = np.zeros(2), np.array([1.1], np.float32)
    kernel[1, 1](x, out)
    assert out.tolist() == [float(x[0] * x[0] + np.float32(0.1)), float(np.sqrt(x[0]))]


COMPLEX = [cmath.sqrt, cmath.exp, cmath.log, cmath.sin, cmath.cos, cmath.tan, cmath.asin, cmath.acos, cmath.atan]
COMPLEX += [cmath.sinh, cmath.cosh, cmath.tanh, cmath.asinh, cmath.acosh, cmath.atanh]


@pytest.mark.parametrize("function", COMPLEX, ids=lambda function: function.__name__)
def test_complex_functions(function):
    @cuda.jit
    def kernel(z, out):
        i = cuda.grid(1)
        if i < z.size:
            out[i] = function(z[i])

    z = np.array([0.5 + 0.25j, -1.5 + 2j, 2 - 0.5j, -0.3 - 0.7j, 1e-3 + 3j])
    out = np.zeros_like(z)
    kernel[1, 32](z, out)
    np.testing.assert_allclose(out, [function(x) for x in z.tolist()], rtol=1e-12)


def test_complex_arithmetic():
    @cuda.jit
    def kernel(a, b, out):
        out[0] = a + b * 2j
        out[1] = a / b
        out[2] = a**3 - b.conjugate()
        out[3] = abs(a) + a.real - b.imag

    a, b, out = 1.5 - 2j, 0.25 + 3j, np.zeros(4, np.complex128)
    kernel[1, 1](a, b, out)
    np.testing.assert_allclose(out, [a + b * 2j, a / b, a**3 - b.conjugate(), abs(a) + a.real - b.imag])


MATH = ["frexp", "modf", "gamma", "lgamma", "remainder", "nextafter", "hypot", "ldexp"]


def test_functions_of_math():
    @cuda.jit
    def kernel(x, out):
        m, e = math.frexp(x)
        out[0], out[1] = m, e
        out[2], out[3] = math.modf(x)
        out[4], out[5] = math.gamma(x), math.lgamma(x)
        out[6], out[7] = math.remainder(x, 2.5), math.nextafter(x, 100.0)
        out[8], out[9] = math.hypot(x, 4.0), math.ldexp(x, -3)
        out[10], out[11] = math.floor(-x), round(x)
        out[12], out[13] = math.copysign(x, -1.0), math.fmod(-x, 2.0)

    x, out = 4.75, np.zeros(14)
    kernel[1, 1](x, out)
    expected = [*math.frexp(x), *math.modf(x), math.gamma(x), math.lgamma(x), math.remainder(x, 2.5)]
    expected += [math.nextafter(x, 100.0), math.hypot(x, 4.0), math.ldexp(x, -3), math.floor(-x), round(x)]
    expected += [math.copysign(x, -1.0), math.fmod(-x, 2.0)]
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_signs_of_narrow_integers_stay_in_their_bits():
    @cuda.jit
    def kernel(unsigned, signed, out):
        out[0] = -unsigned[0]
        out[1] = ~unsigned[0]
        out[2] = -signed[0]
        out[3] = ~np.uint16(signed[0])

    out = np.zeros(4, np.int64)
    kernel[1, 1](np.array([5], np.uint8), np.array([-128], np.int8), out)
    assert out.tolist() == [251, 250, -128, 127]


def test_floor_division_of_floats_is_pythons():
    @cuda.jit
    def kernel(a, b, quotients, rests):
        i = cuda.grid(1)
        if i < a.size:
            quotients[i] = a[i] // b[i]
            rests[i] = a[i] % b[i]

    @cuda.jit
    def of_literals(out):
        out[0] = 1.0 // 0.1
        out[1] = 1.0 % 0.1

    values = [1.0, 0.1, -0.1, 0.0, -0.0, 7.5, -1e300, 1e-300, math.inf, -math.inf, math.nan]
    a, b = (x.ravel() for x in np.meshgrid(values, [value for value in values if value]))
    quotients, rests = np.zeros(a.size), np.zeros(a.size)
    kernel[4, 32](a, b, quotients, rests)
    np.testing.assert_array_equal(quotients, [x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)])
    expected = [x % y if not math.isinf(x) else math.nan for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(rests, expected)
    np.testing.assert_array_equal(np.signbit(rests[rests == 0]), np.signbit(b[rests == 0]))
    out = np.zeros(2)
    of_literals[1, 1](out)
    assert out.tolist() == [1.0 // 0.1, 1.0 % 0.1]


def test_sign_of_nan_is_nan():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = np.sign(a[i])

    out = np.zeros(4)
    kernel[1, 4](np.array([math.nan, -2.0, -0.0, 3.0]), out)
    np.testing.assert_array_equal(out, [math.nan, -1, 0, 1])
