"""Sums, products, quotients, roots and fused sums that round toward where their name says.

`_rn` to nearest, `_rd` down, `_ru` up, `_rz` toward zero. In float64 the result is rounded to nearest, and the sign of
what is left of it, which error-free transformations give, says whether the neighbor is wanted. In float32 all is done
in float64 first, where a product is exact and of everything else enough is known.

T. Dekker, "A floating-point technique for extending the available precision" (1971); S. Boldo and J.-M. Muller, "Exact
and approximated error of the FMA" (2011).
"""

from __future__ import annotations

import math
from typing import Any

from gridstride.numba.cuda.libdevice._declare import declare, device, fused, like
from gridstride.numba.types import float32, float64

INFINITY = float("inf")


# The sum rounded to nearest, and what is left of it; not exact where it overflows, and of the right sign then.
@device
def _sum(x, y):  # type: ignore[no-untyped-def]
    s = x + y
    if math.isinf(s):
        return s, (0.0 if math.isinf(x) or math.isinf(y) else -s)
    part = s - x
    return s, (x - (s - part)) + (y - part)


# A number of the sign of x * y.
@device
def _sign(x, y):  # type: ignore[no-untyped-def]
    return math.copysign(1.0, x) * math.copysign(1.0, y)


@device
def _product(x, y):  # type: ignore[no-untyped-def]
    p = x * y
    if math.isinf(p):
        return p, (0.0 if math.isinf(x) or math.isinf(y) else -p)
    if p == 0:
        return p, (0.0 if x == 0 or y == 0 else _sign(x, y))
    if abs(p) < 1e-270:
        # Where what is left is too small for a float64, all is scaled.
        small, large = (x, y) if abs(x) < abs(y) else (y, x)
        scale = 4.149515568880993e180
        return p, fused(small * scale, large, -(p * scale))
    return p, fused(x, y, -p)


@device
def _quotient(x, y):  # type: ignore[no-untyped-def]
    q = x / y
    if math.isnan(q) or x == 0 or math.isinf(x) or math.isinf(y) or y == 0:
        return q, 0.0
    if math.isinf(q):
        return q, -q
    if q == 0:
        return q, _sign(x, y)
    up, down = x, y
    if abs(x) < 1e-270 and abs(y) < 1e240:
        up, down = x * 1.6069380442589903e60, y * 1.6069380442589903e60
    return q, fused(-q, down, up) * math.copysign(1.0, y)


@device
def _root(x):  # type: ignore[no-untyped-def]
    s = math.sqrt(x)
    if x < 1e-270 and x > 0:
        return s, fused(-(s * 1.2676506002282294e30), s * 1.2676506002282294e30, x * 1.6069380442589903e60)
    return s, (0.0 if math.isinf(s) or x == 0 else fused(-s, s, x))


@device
def _fused(x, y, z):  # type: ignore[no-untyped-def]
    r = fused(x, y, z)
    p = x * y
    if math.isnan(r) or math.isinf(z) or math.isinf(x) or math.isinf(y):
        return r, 0.0
    if math.isinf(r):
        return r, -r
    scaled, larger, added, result = x, y, z, r
    if abs(p) < 1e-270:
        if x == 0 or y == 0:
            return r, 0.0
        if abs(z) > 1e-210:
            # The product only says on which side of z the sum is.
            return r, _sign(x, y)
        # Neither overflows.
        scaled, larger = x * 4.149515568880993e180, y * 4.149515568880993e180
        added = z * 4.149515568880993e180 * 4.149515568880993e180
        result = r * 4.149515568880993e180 * 4.149515568880993e180
    high = scaled * larger
    if math.isinf(high):
        # The sum does not overflow, so that halves do not either.
        scaled, added, result = scaled * 0.5, added * 0.5, result * 0.5
        high = scaled * larger
    low = fused(scaled, larger, -high)
    first, rest = _sum(added, low)
    second, third = _sum(high, first)
    return r, ((second - result) + third) + rest


# Neighbors of a number, those of an infinity included.
@device
def _below(x):  # type: ignore[no-untyped-def]
    return math.nextafter(x, like(-INFINITY, x))


@device
def _above(x):  # type: ignore[no-untyped-def]
    return math.nextafter(x, like(INFINITY, x))


@device
def _rn(s, left):  # type: ignore[no-untyped-def]
    return s


@device
def _rd(s, left):  # type: ignore[no-untyped-def]
    return _below(s) if left < 0 else s


@device
def _ru(s, left):  # type: ignore[no-untyped-def]
    return _above(s) if left > 0 else s


@device
def _rz(s, left):  # type: ignore[no-untyped-def]
    if left < 0 and s > 0:
        return _below(s)
    if left > 0 and s < 0:
        return _above(s)
    return s


MODES: dict[str, Any] = {"rn": _rn, "rd": _rd, "ru": _ru, "rz": _rz}


# A float64 and what is left of it, as a float32 and what is left of that.
@device
def narrowed(s, left):  # type: ignore[no-untyped-def]
    near = float32(s)
    rest = s - float64(near)
    if math.isinf(s) or rest == 0:
        return near, left
    return near, rest


# Where the float64 is half way between two float32s, what is left of it decides.
@device
def nearest(s, left):  # type: ignore[no-untyped-def]
    near = float32(s)
    rest = s - float64(near)
    if left == 0 or rest == 0 or math.isinf(s):
        return near
    other = _above(near) if rest > 0 else _below(near)
    is_beyond = (left > 0) == (rest > 0) and rest == float64(other) - s
    return other if is_beyond else near


# Rounds a float64 and what is left of it to a float32.
def to_float(mode: str) -> Any:
    if mode == "rn":
        return nearest
    chosen = MODES[mode]

    @device
    def directed(s, left):  # type: ignore[no-untyped-def]
        near, rest = narrowed(s, left)
        return chosen(near, rest)

    return directed


def _declare_mode(mode: str) -> None:
    chosen = MODES[mode]
    round_float = to_float(mode)
    is_down = mode == "rd"

    # What cancels is +0, and -0 where rounding goes down.
    @device
    def of_zero(s, left, x, y):  # type: ignore[no-untyped-def]
        return -0.0 if is_down and s == 0 and left == 0 and (x != 0 or _sign(x, y) < 0) else s

    @declare(f"dadd_{mode}", "d(d,d)")
    def dadd(x, y):  # type: ignore[no-untyped-def]
        s, left = _sum(x, y)
        return chosen(of_zero(s, left, x, y), left)

    @declare(f"dmul_{mode}", "d(d,d)")
    def dmul(x, y):  # type: ignore[no-untyped-def]
        s, left = _product(x, y)
        return chosen(s, left)

    @declare(f"ddiv_{mode}", "d(d,d)")
    def ddiv(x, y):  # type: ignore[no-untyped-def]
        s, left = _quotient(x, y)
        return chosen(s, left)

    @declare(f"drcp_{mode}", "d(d)")
    def drcp(x):  # type: ignore[no-untyped-def]
        s, left = _quotient(1.0, x)
        return chosen(s, left)

    @declare(f"dsqrt_{mode}", "d(d)")
    def dsqrt(x):  # type: ignore[no-untyped-def]
        s, left = _root(x)
        return chosen(s, left)

    @declare(f"fma_{mode}", "d(d,d,d)")
    def fma(x, y, z):  # type: ignore[no-untyped-def]
        s, left = _fused(x, y, z)
        return chosen(of_zero(s, left, x * y, z), left)

    @declare(f"fadd_{mode}", "f(f,f)")
    def fadd(x, y):  # type: ignore[no-untyped-def]
        s, left = _sum(float64(x), float64(y))
        return round_float(of_zero(s, left, float64(x), float64(y)), left)

    @declare(f"fsub_{mode}", "f(f,f)")
    def fsub(x, y):  # type: ignore[no-untyped-def]
        s, left = _sum(float64(x), -float64(y))
        return round_float(of_zero(s, left, float64(x), -float64(y)), left)

    @declare(f"fmul_{mode}", "f(f,f)")
    def fmul(x, y):  # type: ignore[no-untyped-def]
        return round_float(float64(x) * float64(y), 0.0)

    @declare(f"fdiv_{mode}", "f(f,f)")
    def fdiv(x, y):  # type: ignore[no-untyped-def]
        s, left = _quotient(float64(x), float64(y))
        return round_float(s, left)

    @declare(f"frcp_{mode}", "f(f)")
    def frcp(x):  # type: ignore[no-untyped-def]
        s, left = _quotient(1.0, float64(x))
        return round_float(s, left)

    @declare(f"fsqrt_{mode}", "f(f)")
    def fsqrt(x):  # type: ignore[no-untyped-def]
        s, left = _root(float64(x))
        return round_float(s, left)

    @declare(f"fmaf_{mode}", "f(f,f,f)")
    def fmaf(x, y, z):  # type: ignore[no-untyped-def]
        s, left = _sum(float64(x) * float64(y), float64(z))
        return round_float(of_zero(s, left, float64(x) * float64(y), float64(z)), left)


for _mode in MODES:
    _declare_mode(_mode)


# 1 / sqrt(x): whether it is above the middle of two float32s says the sign of 1 - m² x, which is exact.
@declare("frsqrt_rn", "f(f)")
def frsqrt_rn(x):  # type: ignore[no-untyped-def]
    wide = 1.0 / math.sqrt(float64(x))
    near = float32(wide)
    if x <= 0 or math.isnan(x) or math.isinf(x):
        return near
    other = _above(near) if wide > float64(near) else _below(near)
    middle = 0.5 * (float64(near) + float64(other))
    is_above = fused(middle * middle, -float64(x), 1.0) > 0
    return max(near, other) if is_above else min(near, other)
