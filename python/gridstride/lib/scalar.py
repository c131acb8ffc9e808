"""Scalar functions: interpolation, inverse error functions.

In: floats of one type. Out: a float of that type.

    smoothstep(0.0, 1.0, 0.3)  ->  0.216

Sources: `erfinv` and `erfcinv` start from the rational approximations of M. Giles, "Approximating the erfinv
function", GPU Computing Gems 2 (2011), and are polished by Newton's and Halley's steps on `erf` and `erfc`.
"""

# ruff: noqa


def smoothstep(a: Float, b: Float, x: Float):
    t = clamp((x - a) / (b - a), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def lerp(a, b, t: Float):
    return a * (1.0 - t) + b * t
