"""The text of compiled code: whom it is for, and what it says of its source. No GPU is needed."""

import math
import re

import numpy as np
import pytest

from gridstride.numba import cuda, errors, float32, int32, types
from gridstride.numba.cuda import extending


def scaled(x, a):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = a * math.exp(x[i])


SIGNATURE = (float32[:], float32)
FIRST_LINE = scaled.__code__.co_firstlineno


def ptx(function, signature=SIGNATURE, **options):
    return cuda.compile_ptx(function, signature, **options)[0]


def test_lines_are_those_of_the_source():
    plain, lines = ptx(scaled), ptx(scaled, lineinfo=True)
    assert ".loc" not in plain and ".file" not in plain
    assert re.search(r'\.file\s+1\s+".*test_texts.py"', lines)
    found = {int(line) for line in re.findall(r"\.loc\s+1\s+(\d+)", lines)}
    assert FIRST_LINE + 3 in found and found <= set(range(FIRST_LINE, FIRST_LINE + 4))
    assert ".debug_info" not in lines


def test_debug_information_has_sections():
    text = ptx(scaled, debug=True, opt=False)
    assert re.search(r"\.section\s+\.debug_info", text)
    assert ".debug_info" not in ptx(scaled, opt=False)


def test_device_functions_have_lines():
    def twice(x):
        return x + x

    text = ptx(twice, (float32,), device=True, lineinfo=True)
    assert re.search(r'\.file.*test_texts.py"', text) and ".visible .func" in text


def test_bounds_and_architectures():
    assert re.search(r"\.maxntid\s+128", ptx(scaled, launch_bounds=128))
    text = ptx(scaled, launch_bounds=(128, 2, 4), cc=(9, 0))
    assert re.search(r"\.minnctapersm\s+2", text) and re.search(r"\.maxclusterrank\s+4", text)
    assert ".target sm_90a" in ptx(scaled, cc=(9, 0, "a"))
    assert ".target sm_80" in ptx(scaled, cc=(8, 0))
    with pytest.raises(ValueError, match="Got 4 launch bounds"):
        ptx(scaled, launch_bounds=(1, 2, 3, 4))
    with pytest.raises(ValueError, match="forced inlining"):
        ptx(scaled, forceinline=True)


def test_fast_math_takes_the_instructions_of_a_gpu():
    text = ptx(scaled, fastmath=True)
    assert "ex2.approx.ftz.f32" in text
    assert "ex2.approx" not in ptx(scaled)
    # Functions for other compilers count subnormal numbers as 0 too.
    text = ptx(lambda x: math.sin(x) / x, (float32,), device=True, fastmath=True)
    assert "sin.approx.ftz.f32" in text and "div.approx.ftz.f32" in text


def test_wrong_arguments_are_named():
    def grid_of(n):
        cuda.grid(n)

    def hint(x, i):
        cuda.ldcs(x, i)

    with pytest.raises(errors.TypingError, match="RequireLiteralValue"):
        ptx(grid_of, (int32,))
    with pytest.raises(errors.TypingError, match="float32 is not a valid index"):
        ptx(hint, (float32[:], float32))
    with pytest.raises(errors.TypingError, match="Expected 2 indices, got a scalar"):
        ptx(hint, (float32[:, :], int32))
    with pytest.raises(errors.TypingError, match="ldcs requires array of integer or float type"):
        ptx(hint, (types.complex64[:], int32))


def test_floats_that_are_divided_by_zero_are_reported_in_debug_mode():
    def quotient(x, y):
        x[0] = x[0] / y

    checked = cuda.jit(debug=True, opt=False)(quotient)
    x = np.ones(1, np.float32)
    checked[1, 1](x, np.float32(2.0))
    assert x.tolist() == [0.5]
    with pytest.raises(ZeroDivisionError, match=r"error\[division-by-zero\]: division by zero"):
        checked[1, 1](x, np.float32(0.0))
    cuda.jit(quotient)[1, 1](x, np.float32(0.0))
    assert x.tolist() == [math.inf]


def named(x):
    raise NotImplementedError("only in kernels")


@extending.overload(named)
def named_for(x):
    if isinstance(x, types.IntegerLiteral):
        value = x.literal_value
        return lambda x: value + 100
    if isinstance(x, types.Float):
        return lambda x: x * 2


def first(x):
    raise NotImplementedError("only in kernels")


@extending.overload(first, prefer_literal=True)
def first_for(x):
    if isinstance(x, types.IntegerLiteral):
        if x.literal_value == 1:
            return lambda x: 0xCAFE
        raise errors.TypingError("another value")
    return lambda x: x * 100


def test_overloads_see_the_values_of_literals():
    @cuda.jit
    def kernel(x, out):
        out[0], out[1] = named(7), named(1.5)
        out[2], out[3], out[4] = first(1), first(2), first(x)

    out = np.zeros(5)
    kernel[1, 1](3, out)
    assert out.tolist() == [107, 3, 0xCAFE, 200, 300]


def test_overloads_have_the_parameters_of_what_they_implement():
    def strange(a, b=None):
        raise NotImplementedError("only in kernels")

    @extending.overload(strange)
    def strange_for(a, b=None):
        return lambda a, b=3: a

    @cuda.jit
    def kernel(out):
        out[0] = strange(1, 2)

    with pytest.raises(errors.TypingError, match="keyword argument default values"):
        kernel[1, 1](np.zeros(1))
