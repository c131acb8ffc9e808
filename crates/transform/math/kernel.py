"""What the functions share: polynomials, powers of two, the split of a number into exponent and significand."""

from minimax import fit, mpf
from mpmath import mp
from tracer import bitcast, const, copysign, fma, note, rint, select

LOG2E = float(1 / mp.log(2))
LN2 = float(mp.log(2))
LN2_LOW = float(mp.log(2) - mpf(LN2))
PI = float(mp.pi)
HALF_PI = float(mp.pi / 2)
HALF_PI_LOW = float(mp.pi / 2 - mpf(HALF_PI))
INF = float("inf")
NAN = float("nan")
# Adding it leaves the integer nearest to a number in the low bits.
ROUNDER = 1.5 * 2.0**52


def odd_tail(function, limit):
    """(function(x) / x - 1) / x^2 as a function of x^2, which is `limit` at 0."""

    def tail(z):
        x = mp.sqrt(z)
        return (function(x) / x - 1) / z if z > mpf(2) ** -80 else mpf(limit)

    return tail


def cos_tail(z):
    """(cos(x) - 1 + x^2 / 2) / x^4 as a function of x^2."""
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > mpf(2) ** -40 else mpf(1) / 24 - z / 720


def polynomial(x, what, function, low, high, degree, weight=lambda x: mpf(1)):
    """The minimax polynomial of `function` at x, by Horner's rule."""
    coefficients, error = fit(what, function, low, high, degree, weight)
    note(f"{what}: degree {degree} on [{float(low):.6g}, {float(high):.6g}], error 2^{error:.1f}")
    return horner(x, coefficients)


def horner(x, coefficients):
    p = const(x.ty, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        p = fma(p, x, c)
    return p


def power_of_two(y, k):
    """y * 2^k for an integral k, by adding to the exponent of y; y and the product are normal."""
    bits = bitcast(k + ROUNDER, "i64") << 52
    return bitcast(bitcast(y, "i64") + bits, "f64")


def split(x):
    """k and f with x = 2^k * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for a positive normal x."""
    # Biased so that the exponent is positive and a logical shift will do.
    offset = 0x3FE6A09E667F3BCD - (1024 << 52)
    bits = bitcast(x, "u64")
    moved = bits - const("u64", offset)
    k = bitcast((moved >> 52) | const("u64", 0x4330000000000000), "f64") - (2.0**52 + 1024)
    exponent = (moved & const("u64", 0xFFF0000000000000)) - const("u64", 1024 << 52)
    return k, bitcast(bits - exponent, "f64") - 1.0


def with_sign(y, x):
    return copysign(y, x)


def clamp(x, low, high):
    """x within [low, high]; a NaN stays."""
    return select(x > high, high, select(x < low, low, x))


def is_integer(x):
    return rint(x).same(x)
