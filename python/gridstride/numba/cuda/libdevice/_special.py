"""Error functions and the normal distribution, gamma, and sines of multiples of pi.

All compute in float64. `erfcx` takes x² in two parts and the continued fraction of erfc beyond 8 (DLMF 7.9.1).
"""

from __future__ import annotations

import math
from typing import Any

from gridstride.numba.cuda._language import Builtin
from gridstride.numba.cuda.libdevice._declare import both, declare, device, fused, rint
from gridstride.numba.types import float32, float64, int64

_erfinv: Any = Builtin("library.erfinv")
_erfcinv: Any = Builtin("library.erfcinv")


@both("erfinv", "d(d)")
def erfinv(x):  # type: ignore[no-untyped-def]
    return _erfinv(float64(x))


@both("erfcinv", "d(d)")
def erfcinv(x):  # type: ignore[no-untyped-def]
    return _erfcinv(float64(x))


@both("normcdf", "d(d)")
def normcdf(x):  # type: ignore[no-untyped-def]
    return 0.5 * math.erfc(-0.7071067811865476 * float64(x))


@both("normcdfinv", "d(d)")
def normcdfinv(x):  # type: ignore[no-untyped-def]
    return -1.4142135623730951 * _erfcinv(2.0 * float64(x))


@both("erfcx", "d(d)")
def erfcx(x):  # type: ignore[no-untyped-def]
    wide = float64(x)
    if wide > 8.0:
        rest = wide
        for k in range(40, 0, -1):
            rest = wide + 0.5 * k / rest
        return 0.5641895835477563 / rest
    square = wide * wide
    left = fused(wide, wide, -square)
    grown = math.exp(square)
    if math.isinf(grown):
        return grown
    return (grown + grown * left) * math.erfc(wide)


@both("tgamma", "d(d)")
def tgamma(x):  # type: ignore[no-untyped-def]
    return math.gamma(float64(x))


@both("lgamma", "d(d)")
def lgamma(x):  # type: ignore[no-untyped-def]
    return math.lgamma(float64(x))


# sin(pi x) and cos(pi x): x is reduced by whole halves, which is exact.
@device
def _turned(x):  # type: ignore[no-untyped-def]
    rest = math.fmod(float64(x), 2.0)
    halves = rint(2.0 * rest)
    angle = 3.141592653589793 * (rest - 0.5 * halves)
    s, c = math.sin(angle), math.cos(angle)
    quarter = int64(halves) & 3
    if quarter == 1:
        return c, -s
    if quarter == 2:
        return -s, -c
    if quarter == 3:
        return -c, s
    return s, c


@both("sinpi", "d(d)")
def sinpi(x):  # type: ignore[no-untyped-def]
    s, c = _turned(x)
    # Of whole numbers it is a zero of their sign.
    return math.copysign(0.0, float64(x)) if s == 0 else s


@both("cospi", "d(d)")
def cospi(x):  # type: ignore[no-untyped-def]
    s, c = _turned(x)
    return c + 0.0


@declare("sincospi", "dd(d)")
def sincospi(x):  # type: ignore[no-untyped-def]
    return sinpi(x), cospi(x)


@declare("sincospif", "ff(f)")
def sincospif(x):  # type: ignore[no-untyped-def]
    return float32(sinpi(x)), float32(cospi(x))
