"""`numba.cuda.libdevice`: CUDA's mathematical functions by their C names.

`sinf(x)` and `fast_sinf(x)` are `math.sin` of a float32, `sin(x)` of a float64. Functions that round in another
direction than to nearest have no counterpart and are not here.
"""

from __future__ import annotations

import math
from typing import Any

from gridstride.numba.cuda._language import Builtin
from gridstride.numba.cuda.dispatcher import jit
from gridstride.numba.types import float32, float64

_UNARY = """
acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 sin sinh sqrt tan tanh fabs
"""
_BINARY = ["atan2", "copysign", "fmod", "pow", "hypot", "nextafter", "remainder"]


def _of_one(name: str, scalar: Any) -> Any:
    function: Any = Builtin("abs" if name == "fabs" else name)

    @jit(device=True)
    def one(x):  # type: ignore[no-untyped-def]
        return function(scalar(x))

    return one


def _of_two(name: str, scalar: Any) -> Any:
    function: Any = Builtin("math.pow" if name == "pow" else name)

    @jit(device=True)
    def two(x, y):  # type: ignore[no-untyped-def]
        return function(scalar(x), scalar(y))

    return two


for _name in _UNARY.split():
    globals()[_name] = _of_one(_name, float64)
    globals()[f"{_name}f"] = globals()[f"fast_{_name}f"] = _of_one(_name, float32)
for _name in _BINARY:
    globals()[_name] = _of_two(_name, float64)
    globals()[f"{_name}f"] = globals()[f"fast_{_name}f"] = _of_two(_name, float32)


@jit(device=True)
def rsqrt(x):
    return 1.0 / math.sqrt(float64(x))


@jit(device=True)
def rsqrtf(x):
    return float32(1.0) / math.sqrt(float32(x))


@jit(device=True)
def fmax(x, y):
    return max(float64(x), float64(y))


@jit(device=True)
def fmaxf(x, y):
    return max(float32(x), float32(y))


@jit(device=True)
def fmin(x, y):
    return min(float64(x), float64(y))


@jit(device=True)
def fminf(x, y):
    return min(float32(x), float32(y))


@jit(device=True)
def fast_fdividef(x, y):
    return float32(x) / float32(y)


@jit(device=True)
def sincosf(x):
    return math.sin(float32(x)), math.cos(float32(x))


@jit(device=True)
def sincos(x):
    return math.sin(float64(x)), math.cos(float64(x))


fast_sincosf = sincosf


@jit(device=True)
def floor(x):
    return float64(math.floor(float64(x)))


@jit(device=True)
def floorf(x):
    return float32(math.floor(float32(x)))


@jit(device=True)
def ceil(x):
    return float64(math.ceil(float64(x)))


@jit(device=True)
def ceilf(x):
    return float32(math.ceil(float32(x)))


popc, popcll = Builtin("cuda.popc"), Builtin("cuda.popc")
clz, clzll = Builtin("cuda.clz"), Builtin("cuda.clz")
ffs, ffsll = Builtin("cuda.ffs"), Builtin("cuda.ffs")
brev, brevll = Builtin("cuda.brev"), Builtin("cuda.brev")
fma, fmaf = Builtin("cuda.fma"), Builtin("cuda.fma")
