"""What kernels are made of: device functions, tuples, records, slices, loops, captured values."""

from collections import namedtuple
from enum import IntEnum

import numpy as np
import pytest

from gridstride.numba import cuda, errors, float32, float64, types


@cuda.jit(device=True)
def divided(a, b):
    return a // b, a % b


def test_functions_return_tuples_and_take_functions():
    def twice(function):
        @cuda.jit(device=True)
        def doubled(x):
            return function(x) * 2

        return doubled

    @cuda.jit(device=True)
    def next_one(x, step=1):
        return x + step

    both = twice(next_one)

    @cuda.jit
    def kernel(out):
        out[0], out[1] = divided(-7, 2)
        out[2] = both(3)
        out[3] = next_one(1, step=4)

    out = np.zeros(4)
    kernel[1, 1](out)
    assert out.tolist() == [-4, 1, 8, 5]


def test_returns_take_the_wider_type():
    @cuda.jit(device=True)
    def choose(x):
        if x > 1:
            return 1
        return x * 0.5

    @cuda.jit
    def kernel(out):
        out[0], out[1] = choose(1.0), choose(3.0)

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [0.5, 1.0]


def test_an_integer_argument_may_be_a_shape():
    @cuda.jit(device=True)
    def reversed_in(array, n):
        local = cuda.local.array(n, float64)
        for k in range(n):
            local[k] = array[n - 1 - k]
        for k in range(n):
            array[k] = local[k]

    @cuda.jit
    def kernel(a):
        reversed_in(a, 3)

    a = np.arange(3.0)
    kernel[1, 1](a)
    assert a.tolist() == [2, 1, 0]


TAP, PAIRS = (10, 20, 30), ((4, 5), (3, 4), (2, 1))
Point = namedtuple("Point", "x y")


class Color(IntEnum):
    RED = 1
    BLUE = 4


def test_tuples():
    @cuda.jit
    def kernel(out, pair, point):
        i = cuda.threadIdx.x
        a, b = TAP[:2]
        u, v = PAIRS[i]
        out[i] = a + b + TAP[-1] + u * v + len(TAP) + pair[0] + point.x * point[1] + Color.BLUE

    out = np.zeros(2)
    kernel[1, 2](out, (1, 2.5), Point(2, 3))
    assert out.tolist() == [60 + 20 + 3 + 1 + 6 + 4, 60 + 12 + 3 + 1 + 6 + 4]


RECORD = np.dtype([("a", np.int32), ("b", np.float64), ("v", np.float32, (3,))], align=True)


def test_records_are_references():
    @cuda.jit
    def kernel(records, one):
        i = cuda.grid(1)
        r = records[i]
        r.a = i
        r["b"] = r.a + one.b
        records[i].v[1] = 2.5
        if i == 0:
            one.a = 7

    records, one = np.zeros(4, RECORD), np.zeros(1, RECORD)
    one[0]["b"] = 0.5
    kernel[1, 4](records, one[0])
    assert records["a"].tolist() == [0, 1, 2, 3]
    assert records["b"].tolist() == [0.5, 1.5, 2.5, 3.5]
    assert records["v"][:, 1].tolist() == [2.5] * 4
    assert one[0]["a"] == 7


def test_packed_records_are_copied_there_and_back():
    packed = np.dtype([("flag", np.int8), ("x", np.float64)])

    @cuda.jit
    def kernel(records):
        i = cuda.grid(1)
        records[i].x = records[i].flag * 2

    records = np.array([(1, 0.0), (5, 0.0)], packed)
    kernel[1, 2](records)
    assert records["x"].tolist() == [2, 10]


def test_slices_and_negative_indices():
    @cuda.jit
    def kernel(a, out):
        row = a[1:, ::2]
        out[0] = row[0, 1]
        out[1] = a[-1, -2]
        out[2:4] = 5
        out[-2:] = a[0, :2]

    a, out = np.arange(12.0).reshape(3, 4), np.zeros(6)
    kernel[1, 1](a, out)
    assert out.tolist() == [a[1, 2], a[-1, -2], 5, 5, 0, 1]


def test_loops_over_arrays():
    @cuda.jit
    def kernel(a, b, out):
        total = 0.0
        for x in a:
            if x < 0:
                break
            total += x
        for k, (x, y) in enumerate(zip(a, b)):  # noqa: B905
            total += k * x * y
        out[0] = total

    a, b, out = np.array([1.0, 2.0, -3.0, 4.0]), np.arange(4.0), np.zeros(1)
    kernel[1, 1](a, b, out)
    assert out[0] == 3 + sum(k * x * y for k, (x, y) in enumerate(zip(a, b, strict=True)))


def test_several_mistakes_at_once_with_their_lines():
    @cuda.jit
    def kernel(a):
        a[0] = undefined_name  # noqa: F821
        a[1] = sorted(a)

    with pytest.raises(errors.TypingError) as caught:
        kernel[1, 1](np.zeros(2))
    assert "undefined_name" in str(caught.value) and "sorted" in str(caught.value)


def test_a_misspelt_name_is_taken_for_one_of_the_language():
    @cuda.jit
    def kernel(out):
        out[0] = lenn(out)  # noqa: F821
        out[1] = sqrt(2.0)  # noqa: F821

    with pytest.raises(errors.TypingError) as caught:
        kernel[1, 1](np.zeros(2))
    assert "did you mean `len`?" in str(caught.value)
    # Names of Warp's mean nothing here.
    assert "did you mean `sqrt`" not in str(caught.value)


def test_vector_types():
    @cuda.jit
    def kernel(out):
        v = cuda.float32x3(1.0, 2.0, 3.0)
        w = cuda.float4(v, 9.0)
        out[0], out[1] = v.y, w.w

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [2.0, 9.0]


def test_signatures():
    @cuda.jit("void(float32[:], int32)")
    def kernel(a, n):
        a[0] = n

    @cuda.jit([types.void(types.int32[:]), types.void(types.float64[:])])
    def halves(a):
        a[0] = a[0] / 2

    a = np.zeros(1, np.float32)
    kernel[1, 1](a, 3)
    assert a[0] == 3 and kernel.signatures == [(float32[:], types.int32)]
    b = np.ones(1)
    halves[1, 1](b)
    assert b[0] == 0.5
    with pytest.raises(TypeError, match="void return type"):
        cuda.jit("int32(int32)")(lambda x: x)


def test_functions_inside_of_kernels():
    @cuda.jit
    def kernel(a, out):
        scale = a[0] * 2

        def scaled(x, shift=1):
            return x * scale + shift

        def twice(f, x):
            return f(f(x))

        def halved(x):
            return x / 2

        out[0] = scaled(3)
        out[1] = scaled(3, shift=0.5)
        out[2] = twice(halved, 8)

    out = np.zeros(3)
    kernel[1, 1](np.array([5.0]), out)
    assert out.tolist() == [31.0, 30.5, 2.0]


def test_members_of_enums_are_their_values():
    @cuda.jit
    def kernel(out, color):
        out[0] = color is Color.BLUE
        out[1] = color == Color.RED

    out = np.zeros(2)
    kernel[1, 1](out, Color.BLUE)
    assert out.tolist() == [1.0, 0.0]
