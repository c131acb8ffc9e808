"""`cuda.fp16`: half-precision arithmetic by CUDA's names. `a + b` on float16 is the same as `hadd(a, b)`."""

from __future__ import annotations

import math
from typing import Any

from gridstride.numba.cuda.dispatcher import jit
from gridstride.numba.types import float16, float32


def _function(body: Any) -> Any:
    return jit(body, device=True)


@_function
def hadd(a, b):
    return float16(a + b)


@_function
def hsub(a, b):
    return float16(a - b)


@_function
def hmul(a, b):
    return float16(a * b)


@_function
def hdiv(a, b):
    return float16(a / b)


@_function
def hfma(a, b, c):
    return float16(float32(a) * float32(b) + float32(c))


@_function
def hneg(a):
    return -a


@_function
def habs(a):
    return abs(a)


@_function
def hsin(a):
    return float16(math.sin(float32(a)))


@_function
def hcos(a):
    return float16(math.cos(float32(a)))


@_function
def hlog(a):
    return float16(math.log(float32(a)))


@_function
def hlog2(a):
    return float16(math.log2(float32(a)))


@_function
def hlog10(a):
    return float16(math.log10(float32(a)))


@_function
def hexp(a):
    return float16(math.exp(float32(a)))


@_function
def hexp2(a):
    return float16(math.exp2(float32(a)))


@_function
def hexp10(a):
    return float16(math.exp2(float32(a) * 3.321928094887362))


@_function
def hsqrt(a):
    return float16(math.sqrt(float32(a)))


@_function
def hrsqrt(a):
    return float16(1.0 / math.sqrt(float32(a)))


@_function
def hfloor(a):
    return float16(math.floor(float32(a)))


@_function
def hceil(a):
    return float16(math.ceil(float32(a)))


@_function
def hrcp(a):
    return float16(1.0 / float32(a))


@_function
def htrunc(a):
    return float16(math.trunc(float32(a)))


@_function
def hrint(a):
    return float16(round(float32(a)))


@_function
def heq(a, b):
    return a == b


@_function
def hne(a, b):
    return a != b


@_function
def hge(a, b):
    return a >= b


@_function
def hgt(a, b):
    return a > b


@_function
def hle(a, b):
    return a <= b


@_function
def hlt(a, b):
    return a < b


@_function
def hmax(a, b):
    return max(a, b)


@_function
def hmin(a, b):
    return min(a, b)
