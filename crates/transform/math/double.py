"""The functions of f64 that come from exponentials and logarithms: double-double where one rounding is not enough."""

import mpmath
from kernel import INF, LN2, LOG2E, NAN, clamp, horner, is_integer, odd_tail, polynomial, power_of_two, split
from minimax import fit, mp, mpf
from pair import fast_two_sum, product, quotient, two_product, two_sum
from tracer import bitcast, const, copysign, fma, isnan, magnitude, negated, note, rint, select, sqrt

# 42 bits, so that its product with an exponent is exact.
LN2_HEAD = float(mpmath.floor(mp.log(2) * 2**42) / 2**42)
LN2_TAIL = float(mp.log(2) - mpf(LN2_HEAD))
LN2_REST = float(mp.log(2) - mpf(LN2))
TINY = 2.0**-54


def wide_constant(x):
    high = float(x)
    return const("f64", high), const("f64", float(x - mpf(high)))


# --- exponentials ---


def exp_tail(x):
    if abs(x) < mpf(2) ** -30:
        return mpf(1) / 6 + x / 24 + x * x / 120
    return (mpmath.expm1(x) - x - x * x / 2) / x**3


def expm1_reduced(r):
    """e^r - 1 for a pair |r| <= 0.35, as a pair: r + r^2 / 2 exactly, and what follows."""
    z = r[0] * r[0]
    p = polynomial(r[0], "(e^r - 1 - r - r^2 / 2) / r^3", exp_tail, -0.3467, 0.3467, 9, lambda x: abs(x) ** 3 + 1e-9)
    rest = fma(fma(r[0], r[0], -z), 0.5, fma(r[0], r[1], r[1]))
    high, low = fast_two_sum(r[0], z * 0.5)
    return high, low + fma(r[0] * z, p, rest)


def reduce_exp(x, low=None):
    """k and a pair r with x + low = k log(2) + r."""
    k = rint(x * LOG2E)
    high = fma(k, -LN2_HEAD, x)
    r = fma(k, -LN2_TAIL, high)
    rest = fma(k, -LN2_TAIL, high - r)
    # `low` may be far more than an ULP of r, whose square would lack it.
    return k, (r, rest) if low is None else two_sum(r, rest + low)


def exp_pair(r):
    """e^r for a pair |r| <= 0.35."""
    head, tail = expm1_reduced(r)
    one, error = fast_two_sum(const("f64", 1.0), head)
    return fast_two_sum(one, error + tail)


def scale(y, k):
    """y * 2^k for |k| <= 2000, in two steps so that one rounding is left to a denormal result."""
    half = rint(k * 0.5)
    one = const("f64", 1.0)
    return (y * power_of_two(one, half)) * power_of_two(one, k - half)


def exp(x):
    k, r = reduce_exp(clamp(x, -746.0, 710.0))
    y = exp_pair(r)
    return scale(y[0], k)


def exp2(x):
    x = clamp(x, -1076.0, 1025.0)
    k = rint(x)
    y = exp_pair(times_ln2(x - k))
    return scale(y[0], k)


def times_ln2(f):
    high, low = two_product(f, const("f64", LN2))
    return high, fma(f, LN2_REST, low)


def expm1_pair(x, unit):
    """(e^x - 1) * unit as a pair; unit 1 for moderate x, 1/2 where e^x may overflow."""
    k, r = reduce_exp(x)
    head, tail = fast_two_sum(*expm1_reduced(r))
    s = power_of_two(const("f64", unit), k)
    a, b = two_sum(s, s * head)
    c, d = two_sum(a, const("f64", -unit))
    return fast_two_sum(c, d + fma(s, tail, b))


def expm1(x):
    y = expm1_pair(clamp(x, -50.0, 710.0), 0.5)
    return select(magnitude(x) < TINY, x, y[0] * 2.0)


def exp_quarters(a):
    """e^a / 4 and e^-a / 4 as pairs, for 0 <= a <= 710.5."""
    k, r = reduce_exp(a)
    s = power_of_two(const("f64", 0.25), k)
    y = exp_pair(r)
    e = (y[0] * s, y[1] * s)
    return e, quotient((const("f64", 0.0625), const("f64", 0.0)), e)


def sinh(x):
    a = magnitude(x)
    z = clamp(a, 0.0, 1.0)
    z = z * z
    p = polynomial(z, "(sinh(a) / a - 1) / a^2 in a^2", odd_tail(mp.sinh, mpf(1) / 6), 0, 1, 7, lambda z: z)
    e, inverse = exp_quarters(clamp(a, 0.0, 710.5))
    high, low = two_sum(e[0], -inverse[0])
    large = 2.0 * (high + (low + (e[1] - inverse[1])))
    return copysign(select(a < 1.0, fma(a * z, p, a), large), x)


def cosh(x):
    e, inverse = exp_quarters(clamp(magnitude(x), 0.0, 710.5))
    high, low = fast_two_sum(e[0], inverse[0])
    return 2.0 * (high + (low + (e[1] + inverse[1])))


def tanh(x):
    a = magnitude(x)
    t = expm1_pair(2.0 * clamp(a, 0.0, 22.0), 1.0)
    d, error = two_sum(const("f64", 2.0), t[0])
    q = quotient(t, (d, error + t[1]))
    return select(a < 2.0**-28, x, copysign(q[0] + q[1], x))


# --- logarithms ---


def atanh_tail(z):
    """2 atanh(s) = s (2 + z * this) in z = s^2."""
    s = mpmath.sqrt(z)
    return (2 * mpmath.atanh(s) / s - 2) / z if z > mpf(2) ** -50 else mpf(2) / 3 + 2 * z / 5 + 2 * z * z / 7


def significand_quotient(f, low):
    """s = f / (2 + f) for the pair f + low, as a pair: log(1 + f) = 2 atanh(s)."""
    d = f + 2.0
    rest = f - (d - 2.0)
    if low is not None:
        rest = rest + low
    return quotient((f, const("f64", 0.0) if low is None else low), (d, rest))


def log_pair(k, f, low=None):
    """k log(2) + log(1 + f + low) as a pair, right to about 2^-58."""
    s = significand_quotient(f, low)
    z = s[0] * s[0]
    p = polynomial(z, "(2 atanh(s) / s - 2) / s^2 in s^2", atanh_tail, 0, 0.02945, 7, lambda z: z)
    high, error = two_sum(k * LN2_HEAD, 2.0 * s[0])
    return fast_two_sum(high, error + fma(k, LN2_TAIL, fma(s[0] * z, p, 2.0 * s[1])))


def split_any(x):
    """`split` for denormal numbers too."""
    is_small = x < 2.0**-1022
    k, f = split(select(is_small, x * 2.0**54, x))
    return select(is_small, k - 54.0, k), f


def logarithm(x, y):
    """The special values of a logarithm of x that is else y."""
    y = select(x < INF, y, x)
    return select(x > 0.0, y, select(x.same(0.0), const("f64", -INF), NAN))


def log(x):
    return logarithm(x, log_pair(*split_any(x))[0])


def log2(x):
    k, f = split_any(x)
    y = product(log_pair(const("f64", 0.0), f), wide_constant(1 / mp.log(2)))
    high, low = two_sum(k, y[0])
    return logarithm(x, high + (low + y[1]))


def log10(x):
    return logarithm(x, product(log_pair(*split_any(x)), wide_constant(1 / mp.log(10)))[0])


def log_of_sum(u, v, more=None):
    """log of the pair u = 1 + v, from v where that is small; `more` is added to the exponent."""
    u = fast_two_sum(*u)
    k, f = split(u[0])
    # The low part matters near 1 only, so that its scale can be kept in range.
    low = u[1] * power_of_two(const("f64", 1.0), -clamp(k, -60.0, 60.0))
    is_near_1 = k.same(0.0)
    f, low = select(is_near_1, v[0], f), select(is_near_1, v[1], low)
    return log_pair(k if more is None else k + more, f, low)


def log1p(x):
    zero = const("f64", 0.0)
    y = log_of_sum(two_sum(const("f64", 1.0), x), (x, zero))[0]
    y = select(x < INF, y, x)
    y = select(x > -1.0, y, select(x.same(-1.0), const("f64", -INF), NAN))
    return select(magnitude(x) < TINY, x, y)


def root_pair(w):
    """Square root of a pair."""
    root = sqrt(w[0])
    return root, (fma(-root, root, w[0]) + w[1]) / fma(root, 2.0, 1e-300)


def inverse_hyperbolic(a, unit):
    """log(a + sqrt(a^2 + unit)) for a >= 0, with unit 1 or -1."""
    # Beyond this the root is a, and its square would overflow.
    is_large = a > 2.0**28
    b = select(is_large, const("f64", 2.0), a)
    square, error = two_product(b, b)
    w = two_sum(square, const("f64", float(unit)))
    root = root_pair((w[0], w[1] + error))
    u = two_sum(b, root[0])
    u = select(is_large, a, u[0]), select(is_large, const("f64", 0.0), u[1] + root[1])
    v = two_sum(b, root[0] - 1.0) if unit == 1 else two_sum(b - 1.0, root[0])
    v = v[0], v[1] + root[1]
    return log_of_sum(u, v, select(is_large, const("f64", 1.0), 0.0))[0]


def asinh(x):
    a = magnitude(x)
    y = copysign(inverse_hyperbolic(a, 1), x)
    return select((a < INF) & (a > 2.0**-28), y, x)


def acosh(x):
    y = select(x < INF, inverse_hyperbolic(x, -1), x)
    return select(x > 1.0, y, select(x.same(1.0), const("f64", 0.0), NAN))


def atanh(x):
    a = magnitude(x)
    v = quotient((a + a, const("f64", 0.0)), two_sum(const("f64", 1.0), -a))
    u = two_sum(const("f64", 1.0), v[0])
    y = 0.5 * log_of_sum((u[0], u[1] + v[1]), v)[0]
    y = select(a < 1.0, y, select(a.same(1.0), const("f64", INF), NAN))
    return select(a < 2.0**-28, x, copysign(y, x))


# --- powers ---


def accurate_log(k, f):
    """k log(2) + log(1 + f) as a pair, right to about 2^-69."""
    s = significand_quotient(f, None)
    high = s[0] * s[0]
    z = high, fma(s[0], s[0], -high) + 2.0 * s[0] * s[1]

    def tail(z):
        s = mpmath.sqrt(z)
        if z < mpf(2) ** -30:
            return mpf(2) / 7 + 2 * z / 9 + 2 * z * z / 11
        return (((2 * mpmath.atanh(s) / s - 2) / z - mpf(2) / 3) / z - mpf(2) / 5) / z

    coefficients, error = fit("2 atanh tail from z^3", tail, 0, 0.02945, 6, lambda z: z**3)
    note(
        f"(2 atanh(s) - 2 s - 2/3 s^3 - 2/5 s^5) / s^7 in s^2: degree 6 on [0, 0.02945], error 2^{error:.1f} of the sum"
    )
    p = z[0] * horner(z[0], coefficients)
    fifth, third = wide_constant(mpf(2) / 5), wide_constant(mpf(2) / 3)
    a = fast_two_sum(fifth[0], p)
    a = product((a[0], a[1] + fifth[1]), z)
    b = fast_two_sum(third[0], a[0])
    b = product((b[0], b[1] + (a[1] + third[1])), z)
    c = fast_two_sum(const("f64", 2.0), b[0])
    y = product((c[0], c[1] + b[1]), s)
    head, error = two_sum(k * LN2_HEAD, y[0])
    return fast_two_sum(head, error + fma(k, LN2_TAIL, y[1]))


def pow(x, y):  # noqa: A001
    a = magnitude(x)
    log_a = accurate_log(*split_any(a))
    head = select(a.same(0.0), const("f64", -INF), select(a < INF, log_a[0], a))
    high, low = two_product(y, head)
    # Infinite and huge exponents have no low part worth keeping.
    low = fma(y, log_a[1], low)
    is_moderate = magnitude(high) < 750.0
    k, r = reduce_exp(clamp(high, -750.0, 750.0), select(is_moderate, low, 0.0))
    z = scale(exp_pair(r)[0], k)
    is_whole = is_integer(y)
    half = y * 0.5
    is_odd = is_whole & rint(half).differs(half)
    z = select((bitcast(x, "i64") < 0) & is_odd, -z, z)
    note("special values: C99 F.9.4.4")
    z = select((x < 0.0) & (a < INF) & negated(is_whole), NAN, z)
    # (-1)^inf is 1 although log(1) * inf is not.
    z = select(a.same(1.0) & magnitude(y).same(INF), const("f64", 1.0), z)
    z = select(isnan(x), x, z)
    return select(y.same(0.0) | x.same(1.0), const("f64", 1.0), z)


def cbrt(x):
    a = magnitude(x)
    is_small = a < 2.0**-1022
    bits = bitcast(select(is_small, a * 2.0**54, a), "i64")
    # 2^(3 q) * m with m in [1, 8)
    q = ((bits >> 52) * const("i64", 21846)) >> 16
    m = bitcast(bits - ((q * const("i64", 3) - 1023) << 52), "f64")
    w = polynomial(m, "m^(-1/3)", lambda x: x ** (-mpf(1) / 3), 1, 8, 9, lambda x: x ** (mpf(1) / 3))
    note("one step of third order: the error goes from e to about 2 e^3")
    e = fma(-(m * w), w * w, 1.0)
    w = fma(w * e, fma(e, float(mpf(2) / 9), float(mpf(1) / 3)), w)
    note("one Newton step with the exact residual")
    y = m * (w * w)
    square = two_product(y, y)
    cube = two_product(square[0], y)
    residual = ((m - cube[0]) - cube[1]) - square[1] * y
    y = fma(residual, (w * w) * float(mpf(1) / 3), y)
    exponent = (q - select(is_small, const("i64", 341 + 18), const("i64", 341))) << 52
    y = copysign(bitcast(bitcast(y, "i64") + exponent, "f64"), x)
    return select(x.same(0.0) | (isnan(x) | a.same(INF)), x, y)


FUNCTIONS = [exp, log, pow, tanh, exp2, expm1, log2, log10, log1p, sinh, cosh, asinh, acosh, atanh, cbrt]
