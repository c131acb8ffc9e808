"""Bessel functions of whole order.

Below 25 the recurrence J(k-1) = 2k/x J(k) - J(k+1) runs down from where J is nothing, which is stable, and is scaled by
J0 + 2 J2 + 2 J4 + … = 1 (J. Miller); Y0 and Y1 are sums over the same terms (DLMF 10.23.15). From 25 on Hankel's
expansions hold to the last bits (DLMF 10.17). Y grows upward and so is computed upward, as J is for orders below x.
Negative orders give NaN.
"""

from __future__ import annotations

import math

from gridstride.numba.cuda.libdevice._declare import both, device
from gridstride.numba.types import float64, int64

_NAN = float("nan")
_EULER = 0.5772156649015329


# The terms that J0, J1, Y0 and Y1 are made of, for 0 < x < 25.
@device
def _near(x):  # type: ignore[no-untyped-def]
    above, here, total = 0.0, 1e-250, 0.0
    logarithmic, slope = 0.0, 0.0
    for k in range(80, 0, -1):
        # `here` is J(k), `above` J(k+1).
        below = (2.0 * k / x) * here - above
        if k & 1 == 0:
            half = k // 2
            sign = 1.0 if half & 1 == 0 else -1.0
            total += here
            logarithmic += sign * here / half
            slope += sign * (below - above) / half
        above = here
        here = below
        if abs(here) > 1e200:
            above, here, total = above * 1e-200, here * 1e-200, total * 1e-200
            logarithmic, slope = logarithmic * 1e-200, slope * 1e-200
    scale = 1.0 / (here + 2.0 * total)
    j0, j1 = here * scale, above * scale
    inside = math.log(0.5 * x) + _EULER
    y0 = 0.6366197723675814 * (inside * j0 - 2.0 * logarithmic * scale)
    y1 = 0.6366197723675814 * (inside * j1 - j0 / x + slope * scale)
    return j0, j1, y0, y1


# Hankel's P and Q of an order: the even and the odd terms of one series.
@device
def _far(order, x):  # type: ignore[no-untyped-def]
    mu = 4.0 * order * order
    term, p, q = 1.0, 1.0, 0.0
    for k in range(1, 24):
        term *= (mu - (2.0 * k - 1.0) * (2.0 * k - 1.0)) / (8.0 * k * x)
        turn = k & 3
        if turn == 1:
            q += term
        elif turn == 2:
            p -= term
        elif turn == 3:
            q -= term
        else:
            p += term
    # The sine and the cosine of x - pi / 4, or of what is a quarter turn less.
    s, c = math.sin(x), math.cos(x)
    root = math.sqrt(0.3183098861837907 / x)
    if order == 0:
        sine, cosine = s - c, s + c
    else:
        sine, cosine = -(s + c), s - c
    return root * (p * cosine - q * sine), root * (p * sine + q * cosine)


@device
def _first(x):  # type: ignore[no-untyped-def]
    if x < 25.0:
        return _near(x)
    j0, y0 = _far(0.0, x)
    j1, y1 = _far(1.0, x)
    return j0, j1, y0, y1


@both("j0", "d(d)")
def j0(x):  # type: ignore[no-untyped-def]
    size = abs(float64(x))
    if size < 1e-8:
        return 1.0
    if math.isinf(size):
        return 0.0
    found, _, _, _ = _first(size)
    return found


@both("j1", "d(d)")
def j1(x):  # type: ignore[no-untyped-def]
    size = abs(float64(x))
    if size < 1e-8:
        return 0.5 * x
    if math.isinf(size):
        return math.copysign(0.0, float64(x))
    _, found, _, _ = _first(size)
    return math.copysign(1.0, float64(x)) * found


@device
def _y(order, x):  # type: ignore[no-untyped-def]
    if x < 0 or math.isnan(x) or order < 0:
        return _NAN
    if x == 0:
        return -math.inf
    if math.isinf(x):
        return 0.0
    _, _, before, here = _first(x)
    if order == 0:
        return before
    for k in range(1, order):
        if math.isinf(here):
            break
        after = (2.0 * k / x) * here - before
        before = here
        here = after
    return here


@both("y0", "d(d)")
def y0(x):  # type: ignore[no-untyped-def]
    return _y(0, float64(x))


@both("y1", "d(d)")
def y1(x):  # type: ignore[no-untyped-def]
    return _y(1, float64(x))


@both("yn", "d(i,d)")
def yn(n, x):  # type: ignore[no-untyped-def]
    return _y(int64(n), float64(x))


# J(n) for 1 < n: upward below x, else downward from where J is nothing.
@device
def _j(n, x):  # type: ignore[no-untyped-def]
    if x >= 25.0 and float64(n) < x:
        before, here, _, _ = _first(x)
        for k in range(1, n):
            after = (2.0 * k / x) * here - before
            before = here
            here = after
        return here
    start = 2 * ((max(n, int64(x)) + 40 + int64(math.sqrt(60.0 * n))) // 2)
    above, here, total, found = 0.0, 1e-250, 0.0, 0.0
    for k in range(start, 0, -1):
        below = (2.0 * k / x) * here - above
        if k == n:
            found = here
        if k & 1 == 0:
            total += here
        above = here
        here = below
        if abs(here) > 1e200:
            above, here, total, found = above * 1e-200, here * 1e-200, total * 1e-200, found * 1e-200
    return found / (here + 2.0 * total)


@both("jn", "d(i,d)")
def jn(n, x):  # type: ignore[no-untyped-def]
    size = abs(float64(x))
    if n < 0 or math.isnan(size):
        return _NAN
    if n == 0:
        return j0(float64(x))
    if n == 1:
        return j1(float64(x))
    if size < 1e-300 or math.isinf(size):
        return 0.0
    found = _j(int64(n), size)
    return -found if x < 0 and n & 1 == 1 else found
