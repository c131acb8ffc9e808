"""Functions of f32 evaluated in f32, for modules with fast math: at most 4 ULP, twice as many lanes."""

import mpmath
import single
from kernel import clamp, cos_tail, odd_tail, polynomial, with_sign
from minimax import mp, mpf
from tracer import bitcast, cast, const, fma, if_, magnitude, rint, select

# Adding it leaves the integer nearest to a number in the low bits.
ROUNDER = 1.5 * 2.0**23


def parts(x, *n_bits):
    """x as a sum of floats with so many bits each."""
    found = []
    for n in n_bits:
        scale = mpf(2) ** (n - 1 - int(mpmath.floor(mpmath.log(abs(x), 2))))
        found.append(float(mpmath.nint(x * scale) / scale))
        x -= mpf(found[-1])
    return found


# The head has few bits, so that its product with an exponent is exact.
LN2 = parts(mp.log(2), 15, 24)
HALF_PI = parts(mp.pi / 2, 24, 24, 24)


def exp(x):
    x = clamp(x, -104.0, 89.0)
    k = rint(x * float(1 / mp.log(2)))
    r = fma(k, -LN2[1], fma(k, -LN2[0], x))
    p = polynomial(r, "(e^r - 1 - r) / r^2", single.expm1_tail, -0.3467, 0.3467, 4, lambda x: x * x + 1e-9)
    y = fma(r * r, p, r) + 1.0
    # 2^k in two steps, for k may be as low as -150 and as high as 128.
    n = bitcast(k + ROUNDER, "i32") - 0x4B400000
    half = n >> 1
    return (y * bitcast((half + 127) << 23, "f32")) * bitcast((n - half + 127) << 23, "f32")


def log(x):
    is_small = x < 2.0**-126
    bits = bitcast(select(is_small, x * 2.0**23, x), "i32") - 0x3F3504F3
    k = cast(bits >> 23, "f32") - select(is_small, const("f32", 23.0), 0.0)
    f = bitcast((bits & 0x7FFFFF) + 0x3F3504F3, "f32") - 1.0

    def tail(x):
        return (mpmath.log1p(x) - x + x * x / 2) / x**3 if abs(x) > mpf(2) ** -40 else mpf(1) / 3 - x / 4

    p = polynomial(f, "(log(1 + f) - f + f^2 / 2) / f^3", tail, -0.29290, 0.41422, 7, lambda x: x * x + 1e-9)
    z = f * f
    y = fma(z, -0.5, fma(k, LN2[1], f * z * p)) + f
    return single.logarithm(x, fma(k, LN2[0], y))


def reduce(x):
    """r and q with x = q * pi/2 + r, |r| <= pi/4."""

    def small():
        k = rint(x * float(2 / mp.pi))
        r = fma(k, -HALF_PI[2], fma(k, -HALF_PI[1], fma(k, -HALF_PI[0], x)))
        return [r, bitcast(k + ROUNDER, "i32")]

    def large():
        r, q = single.reduce(x)
        return [cast(r, "f32"), cast(q, "i32")]

    return if_(magnitude(x) <= 2.0**15, small, large)


def sine(r, q):
    z = r * r
    s = polynomial(z, "(sin(r) / r - 1) / r^2 in r^2", odd_tail(mp.sin, -mpf(1) / 6), 0, single.QUARTER, 2, lambda z: z)
    c = polynomial(z, "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", cos_tail, 0, single.QUARTER, 2, lambda z: z * z)
    y = select((q & 1).differs(0), fma(z * z, c, fma(z, -0.5, 1.0)), fma(r * z, s, r))
    return bitcast(bitcast(y, "i32") ^ ((q & 2) << 30), "f32")


def sin(x):
    # The sums lose the sign of -0.
    return select(x.same(0.0), x, sine(*reduce(x)))


def cos(x):
    r, q = reduce(x)
    return sine(r, q + 1)


def tanh(x):
    a = magnitude(x)
    z = a * a
    p = polynomial(z, "(tanh(a) / a - 1) / a^2 in a^2", odd_tail(mp.tanh, -mpf(1) / 3), 0, 0.390625, 4, lambda z: z)
    far = 1.0 - 2.0 / (exp(clamp(a + a, 0.0, 40.0)) + 1.0)
    return with_sign(select(a < 0.625, fma(a * z, p, a), far), x)


FUNCTIONS = [exp, log, sin, cos, tanh]
