"""The functions of `math` by their C names, and what follows from them at once."""

from __future__ import annotations

import math
from typing import Any

from gridstride.numba.cuda._language import Builtin
from gridstride.numba.cuda.libdevice._declare import bits, both, declare, device, fused, rint, trunc
from gridstride.numba.types import float32, float64, int32, int64

_OF_ONE = """
acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 sin sinh sqrt tan tanh
"""


def _of_one(name: str) -> Any:
    function: Any = Builtin(name)

    def one(x):  # type: ignore[no-untyped-def]
        return function(x)

    return one


def _of_two(name: str) -> Any:
    function: Any = Builtin(name)

    def two(x, y):  # type: ignore[no-untyped-def]
        return function(x, y)

    return two


for _name in _OF_ONE.split():
    both(_name, "d(d)")(_of_one(_name))
for _name in ("cos", "exp", "log", "log10", "log2", "sin", "tan"):
    declare(f"fast_{_name}f", "f(f)")(_of_one(_name))
for _name, _meaning in {"fabs": "abs", "ceil": "numpy.ceil", "floor": "numpy.floor", "trunc": "numpy.trunc"}.items():
    both(_name, "d(d)")(_of_one(_meaning))
both("rint nearbyint", "d(d)")(_of_one("numpy.rint"))
for _name in ("atan2", "copysign", "fmod", "hypot", "nextafter", "remainder"):
    both(_name, "d(d,d)")(_of_two(_name))
both("pow", "d(d,d)")(_of_two("math.pow"))
declare("fast_powf", "f(f,f)")(_of_two("math.pow"))
# A NaN gives way to a number.
both("fmax", "d(d,d)")(_of_two("numpy.fmax"))
both("fmin", "d(d,d)")(_of_two("numpy.fmin"))


@both("rsqrt", "d(d)")
def rsqrt(x):  # type: ignore[no-untyped-def]
    return 1.0 / math.sqrt(float64(x))


@both("rcbrt", "d(d)")
def rcbrt(x):  # type: ignore[no-untyped-def]
    return 1.0 / math.cbrt(float64(x))


@both("exp10", "d(d)")
def exp10(x):  # type: ignore[no-untyped-def]
    return math.pow(10.0, float64(x))


@declare("fast_exp10f", "f(f)")
def fast_exp10f(x):  # type: ignore[no-untyped-def]
    return math.pow(float32(10.0), x)


@declare("fast_fdividef", "f(f,f)")
def fast_fdividef(x, y):  # type: ignore[no-untyped-def]
    return x / y


@both("fdim", "d(d,d)")
def fdim(x, y):  # type: ignore[no-untyped-def]
    return 0.0 if x <= y else x - y


@both("fma", "d(d,d,d)")
def fma(x, y, z):  # type: ignore[no-untyped-def]
    return fused(x, y, z)


@device
def _halves_away(x):  # type: ignore[no-untyped-def]
    whole = trunc(x)
    if abs(x - whole) >= 0.5:
        whole = whole + math.copysign(1.0, x)
    return math.copysign(whole, x)


@both("round", "d(d)")
def round_(x):  # type: ignore[no-untyped-def]
    return _halves_away(x)


@declare("llround", "l(d)")
def llround(x):  # type: ignore[no-untyped-def]
    return int64(_halves_away(x))


@declare("llroundf", "l(f)")
def llroundf(x):  # type: ignore[no-untyped-def]
    return int64(_halves_away(x))


@declare("llrint", "l(d)")
def llrint(x):  # type: ignore[no-untyped-def]
    return int64(rint(x))


@declare("llrintf", "l(f)")
def llrintf(x):  # type: ignore[no-untyped-def]
    return int64(rint(x))


@declare("saturatef", "f(f)")
def saturatef(x):  # type: ignore[no-untyped-def]
    if not x > 0:
        return float32(0.0)
    return min(x, float32(1.0))


@declare("sincos", "dd(d)")
def sincos(x):  # type: ignore[no-untyped-def]
    return math.sin(x), math.cos(x)


@declare("sincosf fast_sincosf", "ff(f)")
def sincosf(x):  # type: ignore[no-untyped-def]
    return math.sin(x), math.cos(x)


@both("frexp", "di(d)")
def frexp(x):  # type: ignore[no-untyped-def]
    return math.frexp(x)


@both("modf", "dd(d)")
def modf(x):  # type: ignore[no-untyped-def]
    return math.modf(x)


@both("ldexp scalbn", "d(d,i)")
def ldexp(x, n):  # type: ignore[no-untyped-def]
    return math.ldexp(x, n)


@both("powi", "d(d,i)")
def powi(x, n):  # type: ignore[no-untyped-def]
    return math.pow(float64(x), float64(n))


# The exponent of the leading bit, INT_MIN of 0 and NaN, INT_MAX of infinity.
@device
def _exponent(x):  # type: ignore[no-untyped-def]
    if x == 0 or math.isnan(x):
        return int32(-2147483648)
    if math.isinf(x):
        return int32(2147483647)
    return int32(math.frexp(x)[1] - 1)


@declare("ilogb", "i(d)")
def ilogb(x):  # type: ignore[no-untyped-def]
    return _exponent(x)


@declare("ilogbf", "i(f)")
def ilogbf(x):  # type: ignore[no-untyped-def]
    return _exponent(x)


@both("logb", "d(d)")
def logb(x):  # type: ignore[no-untyped-def]
    wide = float64(x)
    if wide == 0 or math.isnan(wide) or math.isinf(wide):
        return math.log(abs(wide))
    return float64(_exponent(wide))


# The remainder of the quotient rounded to even, and the quotient's sign and last three bits.
@both("remquo", "di(d,d)")
def remquo(x, y):  # type: ignore[no-untyped-def]
    rest, step = float64(x), abs(float64(y))
    quotient = int32(0)
    if math.isinf(rest) or math.isnan(rest) or math.isnan(step) or step == 0:
        return x * (y / y) / (y * 0), quotient
    rest = abs(rest)
    if not math.isinf(step):
        rest = math.fmod(rest, 8.0 * step) if step < 1e307 else rest
        for power in (int32(4), int32(2), int32(1)):
            if rest >= power * step:
                rest -= power * step
                quotient += power
        if rest > step - rest or (rest == step - rest and quotient & 1 == 1):
            rest -= step
            quotient += int32(1)
    is_negative = math.copysign(1.0, float64(x)) * math.copysign(1.0, float64(y)) < 0
    signed = rest * math.copysign(1.0, float64(x))
    return signed + x * 0, int32(-(quotient & 7) if is_negative else quotient & 7)


@declare("isnand", "i(d)")
def isnand(x):  # type: ignore[no-untyped-def]
    return int32(math.isnan(x))


@declare("isnanf", "i(f)")
def isnanf(x):  # type: ignore[no-untyped-def]
    return int32(math.isnan(x))


@declare("isinfd", "i(d)")
def isinfd(x):  # type: ignore[no-untyped-def]
    return int32(math.isinf(x))


@declare("isinff", "i(f)")
def isinff(x):  # type: ignore[no-untyped-def]
    return int32(math.isinf(x))


@declare("isfinited", "i(d)")
def isfinited(x):  # type: ignore[no-untyped-def]
    return int32(math.isfinite(x))


@declare("finitef", "i(f)")
def finitef(x):  # type: ignore[no-untyped-def]
    return int32(math.isfinite(x))


@declare("signbitd", "i(d)")
def signbitd(x):  # type: ignore[no-untyped-def]
    return int32(bits(x) < 0)


@declare("signbitf", "i(f)")
def signbitf(x):  # type: ignore[no-untyped-def]
    return int32(bits(x) < 0)
