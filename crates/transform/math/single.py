"""The functions of f32, evaluated in f64 and rounded once at the end."""

import mpmath
from kernel import (
    HALF_PI,
    HALF_PI_LOW,
    INF,
    LN2,
    LOG2E,
    NAN,
    PI,
    ROUNDER,
    clamp,
    cos_tail,
    is_integer,
    odd_tail,
    polynomial,
    power_of_two,
    split,
    with_sign,
)
from minimax import mp, mpf
from tracer import bitcast, cast, const, copysign, fma, if_, isnan, magnitude, negated, note, rint, select, sqrt, trunc

LN10 = float(mp.log(10))


def wide(x):
    return cast(x, "f64")


def narrow(x):
    return cast(x, "f32")


# --- exponentials ---


def exp_wide(x, degree=7):
    """e^x for |x| <= 700."""
    k = rint(x * LOG2E)
    r = fma(k, -LN2, x)
    p = polynomial(r, "e^r", mpmath.exp, -0.3467, 0.3467, degree, lambda x: mpmath.exp(-x))
    return power_of_two(p, k)


def expm1_wide(x):
    """e^x - 1 for |x| <= 700."""
    k = rint(x * LOG2E)
    r = fma(k, -LN2, x)
    q = polynomial(
        r,
        "(e^r - 1 - r) / r^2",
        expm1_tail,
        -0.3467,
        0.3467,
        6,
        lambda x: abs(x * x / mpmath.expm1(x)) if x else abs(x),
    )
    p = fma(r * r, q, r)
    s = power_of_two(const("f64", 1.0), k)
    return fma(s, p, s - 1.0)


def expm1_tail(x):
    return (mpmath.expm1(x) - x) / x**2 if abs(x) > mpf(2) ** -60 else mpf(1) / 2 + x / 6


def exp2_wide(x):
    """2^x for |x| <= 1000."""
    k = rint(x)
    r = x - k
    p = polynomial(r, "2^r", lambda x: mpf(2) ** x, -0.5, 0.5, 7, lambda x: mpf(2) ** -x)
    return power_of_two(p, k)


def exp(x):
    # Beyond these the result is 0 or an infinity, and 2^k stays in the range of f64.
    return narrow(exp_wide(wide(clamp(x, -104.0, 89.0))))


def exp2(x):
    return narrow(exp2_wide(wide(clamp(x, -151.0, 129.0))))


def expm1(x):
    return with_sign(narrow(expm1_wide(wide(clamp(x, -104.0, 89.0)))), x)


def sinh(x):
    t = expm1_wide(wide(clamp(magnitude(x), 0.0, 100.0)))
    return with_sign(narrow(0.5 * (t + t / (t + 1.0))), x)


def cosh(x):
    e = exp_wide(wide(clamp(magnitude(x), 0.0, 100.0)))
    return narrow(0.5 * e + 0.5 / e)


def tanh(x):
    t = expm1_wide(2.0 * wide(clamp(magnitude(x), 0.0, 20.0)))
    return with_sign(narrow(t / (t + 2.0)), x)


# --- logarithms ---


def log1p_tail(x):
    return (mpmath.log1p(x) - x) / x**2 if abs(x) > mpf(2) ** -60 else -mpf(1) / 2 + x / 3


def log1p_weight(x):
    return abs(x * x / mpmath.log1p(x)) if x else abs(x)


def log1p_reduced(f, degree=11):
    """log(1 + f) where 1 + f is within [sqrt(1/2), sqrt(2)]."""
    q = polynomial(f, "(log(1 + f) - f) / f^2", log1p_tail, -0.29290, 0.41422, degree, log1p_weight)
    return fma(f * f, q, f)


def log1p_wide(v):
    """log(1 + v) for v > -1 up to 2^300."""
    k, f = split(1.0 + v)
    # 1 + v is rounded, so v itself where it is small.
    f = select(k.same(0.0), v, f)
    return fma(k, LN2, log1p_reduced(f))


def logarithm(x, y):
    """The special values of a logarithm of x that is else y."""
    y = select(x < INF, y, x)
    return select(x > 0.0, y, select(x.same(0.0), const("f32", -INF), NAN))


def log(x):
    k, f = split(wide(x))
    return logarithm(x, narrow(fma(k, LN2, log1p_reduced(f))))


def log2(x):
    k, f = split(wide(x))
    return logarithm(x, narrow(fma(log1p_reduced(f), LOG2E, k)))


def log10(x):
    k, f = split(wide(x))
    return logarithm(x, narrow(fma(k, float(mp.log10(2)), log1p_reduced(f) * float(1 / mp.log(10)))))


def log1p(x):
    y = narrow(log1p_wide(wide(x)))
    y = select(x < INF, y, x)
    y = select(x > -1.0, y, select(x.same(-1.0), const("f32", -INF), NAN))
    return with_sign(y, x)


def asinh(x):
    a = wide(magnitude(x))
    square = a * a
    y = log1p_wide(a + square / (sqrt(square + 1.0) + 1.0))
    return select(magnitude(x) < INF, with_sign(narrow(y), x), x)


def acosh(x):
    t = wide(x) - 1.0
    y = narrow(log1p_wide(t + sqrt(t * (t + 2.0))))
    y = select(x < INF, y, x)
    return select(x >= 1.0, y, NAN)


def atanh(x):
    a = wide(magnitude(x))
    y = narrow(0.5 * log1p_wide((a + a) / (1.0 - a)))
    y = select(magnitude(x) < 1.0, y, select(magnitude(x).same(1.0), const("f32", INF), NAN))
    return with_sign(y, x)


def pow(x, y):  # noqa: A001
    a, b = magnitude(x), wide(y)
    k, f = split(wide(a))
    note("y * log2 of |x|, right to 2^-41, because it may be as large as 150")
    log2_a = fma(log1p_reduced(f, 14), LOG2E, k)
    log2_a = select(a.same(0.0), const("f64", -INF), select(a < INF, log2_a, wide(a)))
    z = narrow(exp2_wide(clamp(b * log2_a, -200.0, 200.0)))
    is_whole = is_integer(y)
    half = y * 0.5
    is_odd = is_whole & rint(half).differs(half)
    is_negative = bitcast(x, "i32") < 0
    signed = select(is_negative & is_odd, -z, z)
    note("special values: C99 F.9.4.4")
    signed = select((x < 0.0) & (a < INF) & negated(is_whole), NAN, signed)
    # (-1)^inf is 1 although log2(1) * inf is not.
    signed = select(a.same(1.0) & magnitude(y).same(INF), const("f32", 1.0), signed)
    signed = select(isnan(x), x, signed)
    return select(y.same(0.0) | x.same(1.0), const("f32", 1.0), signed)


def cbrt(x):
    a = wide(magnitude(x))
    bits = bitcast(a, "i64")
    # 2^(3 q) * m with m in [1, 8)
    biased = bits >> 52
    q = (biased * const("i64", 21846)) >> 16
    m = bitcast(bits - ((q * const("i64", 3) - 1023) << 52), "f64")
    w = polynomial(m, "m^(-1/3)", lambda x: x ** (-mpf(1) / 3), 1, 8, 9, lambda x: x ** (mpf(1) / 3))
    note("one step of third order: the error goes from e to about 2 e^3")
    e = fma(-(m * w), w * w, 1.0)
    w = fma(w * e, fma(e, float(mpf(2) / 9), float(mpf(1) / 3)), w)
    y = m * (w * w)
    y = bitcast(bitcast(y, "i64") + ((q - 341) << 52), "f64")
    y = with_sign(narrow(y), x)
    return select(x.same(0.0) | (isnan(x) | magnitude(x).same(INF)), x, y)


# --- circular functions ---


def reduce_huge(x):
    """r and q with x = q * pi/2 + r for finite |x| >= 2^23: the bits of 1/(2 pi) that matter, times the significand."""
    note("Payne-Hanek: the fraction of x / (2 pi) in 64 bits")
    bits = bitcast(x, "i32")
    e = cast(((bits >> 23) & 255) - 150, "u64")
    m = cast((bits & 0x7FFFFF) | 0x800000, "u64")
    with mpmath.workprec(400):
        digits = int(mpmath.floor(mpf(2) ** 320 / (2 * mpmath.pi)))
    words = [const("u64", digits >> (320 - 64 * (i + 1))) for i in range(4)]
    is_far = e >= 64
    w = [select(is_far, words[i + 1], words[i]) for i in range(3)]
    shift = e & 63
    rest = shift ^ 63
    high = (w[0] << shift) | ((w[1] >> 1) >> rest)
    low = (w[1] << shift) | ((w[2] >> 1) >> rest)
    turn = m * high + ((m * (low >> 32)) >> 32)
    q = (turn + const("u64", 1 << 61)) >> 62
    r = cast(bitcast(turn - (q << 62), "i64"), "f64") * float(2 * mp.pi / mpf(2) ** 64)
    sign = cast(bits >> 31, "i64")
    q = (bitcast(q, "i64") ^ sign) - sign
    r = select(bits < 0, -r, r)
    return r, q


def reduce(x):
    """r and q with x = q * pi/2 + r, |r| <= pi/4."""
    v = wide(x)

    def small():
        k = rint(v * float(2 / mp.pi))
        # The first product is exact inside the fma, so its error is that of HALF_PI alone.
        r = fma(k, -HALF_PI_LOW, fma(k, -HALF_PI, v))
        return [r, bitcast(k + ROUNDER, "i64")]

    def huge():
        r, q = reduce_huge(x)
        return [select(magnitude(x) < INF, r, NAN), q]

    return if_(magnitude(x) <= 2.0**30, small, huge)


QUARTER = 0.7854**2


def sin_cos(r):
    z = r * r
    s = polynomial(z, "(sin(r) / r - 1) / r^2 in r^2", odd_tail(mp.sin, -mpf(1) / 6), 0, QUARTER, 3, lambda z: z)
    c = polynomial(z, "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", cos_tail, 0, QUARTER, 3, lambda z: z * z)
    return fma(r * z, s, r), fma(z, fma(z, c, -0.5), 1.0)


def sine(r, q):
    s, c = sin_cos(r)
    y = select((q & 1).differs(0), c, s)
    return bitcast(bitcast(y, "i64") ^ ((q & 2) << 62), "f64")


def sin(x):
    # The sums lose the sign of -0.
    return select(x.same(0.0), x, narrow(sine(*reduce(x))))


def cos(x):
    r, q = reduce(x)
    return narrow(sine(r, q + 1))


def tan(x):
    r, q = reduce(x)
    s, c = sin_cos(r)
    is_odd = (q & 1).differs(0)
    return select(x.same(0.0), x, narrow(select(is_odd, -c, s) / select(is_odd, s, c)))


def asin_reduced(z, s):
    """asin(s) for z = s^2 <= 1/4."""
    p = polynomial(z, "(asin(s) / s - 1) / s^2 in s^2", odd_tail(mp.asin, mpf(1) / 6), 0, 0.25, 6, lambda z: z)
    return fma(s * z, p, s)


def asin(x):
    a = wide(magnitude(x))
    is_small = a <= 0.5
    z = select(is_small, a * a, fma(a, -0.5, 0.5))
    p = asin_reduced(z, select(is_small, a, sqrt(z)))
    return with_sign(narrow(select(is_small, p, fma(p, -2.0, HALF_PI))), x)


def acos(x):
    v = wide(x)
    a = magnitude(v)
    is_small = a <= 0.5
    z = select(is_small, a * a, fma(a, -0.5, 0.5))
    p = asin_reduced(z, select(is_small, a, sqrt(z)))
    large = select(v < 0.0, fma(p, -2.0, PI), p + p)
    return narrow(select(is_small, HALF_PI - copysign(p, v), large))


def atan_weight(z):
    return z * mp.sqrt(z) / mp.atan(mp.sqrt(z)) if z else z


def atan_reduced(a):
    """atan(a) for 0 <= a <= 1."""
    z = a * a
    p = polynomial(z, "(atan(a) / a - 1) / a^2 in a^2", odd_tail(mp.atan, -mpf(1) / 3), 0, 1, 11, atan_weight)
    return fma(a * z, p, a)


def atan(x):
    a = wide(magnitude(x))
    is_large = a > 1.0
    p = atan_reduced(select(is_large, 1.0 / a, a))
    return with_sign(narrow(select(is_large, HALF_PI - p, p)), x)


def atan2(y, x):
    a, b = wide(magnitude(y)), wide(magnitude(x))
    is_steep = a > b
    quotient = select(is_steep, b, a) / select(is_steep, a, b)
    # 0 / 0 and inf / inf stand for 0 and 1 here.
    quotient = select(a.same(b), select(a.same(0.0), a, const("f64", 1.0)), quotient)
    p = atan_reduced(quotient)
    p = select(is_steep, HALF_PI - p, p)
    p = select(bitcast(x, "i32") < 0, PI - p, p)
    return with_sign(narrow(p), y)


# --- remainders ---


def remainder_wide(a, b):
    """a mod b for a >= 0, b > 0, exactly; NaN where a is infinite or b is 0."""

    def step(r, b):
        # The quotient is at most one too large, for rounding never takes it below a whole number that it reaches.
        r = fma(-trunc(r / b), b, r)
        return select(r < 0.0, r + b, r)

    def far():
        r = a
        for n in range(9, -1, -1):
            r = step(r, b * 2.0 ** (28 * n))
        return [r]

    r = if_(a < b * 2.0**28, lambda: [step(a, b)], far)[0]
    return select(b.same(INF) & (a < INF), a, r)


def rem(x, y):
    return with_sign(narrow(remainder_wide(wide(magnitude(x)), wide(magnitude(y)))), x)


def mod(x, y):
    r = rem(x, y)
    return select(r.differs(0.0) & (r < 0.0).differs(y < 0.0), r + y, r)


# --- error functions ---

CENTER = 3.0


def erfc_positive(a):
    """erfc(a) for 0 <= a <= 12: a scaled erfcx in t = (a - c) / (a + c) as Shepherd and Laframboise (1981) do."""
    numerator, denominator, scale = a - CENTER, a + CENTER, fma(a, 2.0, 1.0)
    inverse = 1.0 / (denominator * scale)

    def scaled(t):
        x = CENTER * (1 + t) / (1 - t)
        return mpmath.exp(x * x) * mpmath.erfc(x) * (1 + 2 * x)

    t = numerator * (inverse * scale)
    p = polynomial(t, "(1 + 2 a) erfc(a) e^(a^2) in (a - 3) / (a + 3)", scaled, -1, 0.6, 14, lambda t: 1 / scaled(t))
    return exp_wide(-(a * a)) * (p * (inverse * denominator))


def erf(x):
    a = wide(clamp(magnitude(x), 0.0, 4.0))
    z = a * a

    def head(z):
        return mp.erf(mp.sqrt(z)) / mp.sqrt(z) if z > mpf(2) ** -80 else 2 / mp.sqrt(mp.pi)

    p = polynomial(z, "erf(a) / a in a^2", head, 0, 1, 7, lambda z: 1 / head(z))
    return with_sign(narrow(select(a < 1.0, a * p, 1.0 - erfc_positive(a))), x)


def erfc(x):
    y = erfc_positive(wide(clamp(magnitude(x), 0.0, 11.0)))
    return narrow(select(x < 0.0, 2.0 - y, y))


FUNCTIONS = [
    exp,
    log,
    sin,
    cos,
    pow,
    tanh,
    atan2,
    acos,
    asin,
    tan,
    atan,
    exp2,
    expm1,
    log2,
    log10,
    log1p,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
    cbrt,
    erf,
    erfc,
    rem,
    mod,
]
