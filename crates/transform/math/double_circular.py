"""The circular functions of f64, their inverses, and the error functions."""

import mpmath
from double import exp_pair, reduce_exp, scale, wide_constant
from kernel import HALF_PI, HALF_PI_LOW, INF, NAN, ROUNDER, clamp, cos_tail, odd_tail, polynomial
from minimax import mp, mpf
from pair import fast_two_sum, product, quotient, two_product, two_sum
from tracer import bitcast, cast, const, copysign, fma, if_, isnan, magnitude, mulhi, note, rint, select, sqrt

HALF_PI_REST = float(mp.pi / 2 - mpf(HALF_PI) - mpf(HALF_PI_LOW))
PI = float(mp.pi)
PI_LOW = float(mp.pi - mpf(PI))
QUARTER = 0.7854**2


# --- sin, cos, tan ---


def digits_from(e):
    """192 bits of 2^-32 / (2 pi) from bit `e` < 1024 on, in three words: constants, shifted by 8, 4, 2, 1 words."""
    n = 20
    with mpmath.workprec(64 * n + 64):
        digits = int(mpmath.floor(mpf(2) ** (64 * n - 32) / (2 * mpmath.pi)))
    words = [const("u64", digits >> (64 * (n - 1 - i))) for i in range(n)]
    word = e >> 6
    for step in (8, 4, 2, 1):
        is_far = (word & step).differs(0)
        words = [select(is_far, words[i + step], words[i]) for i in range(3 + step)]
    shift = e & 63
    rest = shift ^ 63
    return [(words[i] << shift) | ((words[i + 1] >> 1) >> rest) for i in range(3)]


def turns_huge(x):
    """The fraction of |x| / (2 pi) in 128 bits, for finite |x| >= 2^30: two words."""
    note("Payne-Hanek: the bits of 1/(2 pi) that matter, times the significand")
    bits = bitcast(x, "u64")
    # |x| = m * 2^(e - 32)
    e = ((bits >> 52) & 2047) - 1043
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    w = digits_from(e)
    product_1 = m * w[1]
    low = product_1 + mulhi(m, w[2])
    carry = select(low < product_1, const("u64", 1), 0)
    return (m * w[0] + mulhi(m, w[1])) + carry, low


def reduce_huge(x):
    """A pair r and q with |x| = q * pi/2 + r, both with the sign of x, for |x| >= 2^30."""
    high, low = turns_huge(x)
    q = (high + const("u64", 1 << 61)) >> 62
    rest = bitcast(high - (q << 62), "i64")
    note("the fraction in exact pieces of 32, 32 and 53 bits")
    a = cast(rest >> 32, "f64") * 2.0**-32
    b = cast(bitcast(bitcast(rest, "u64") & 0xFFFFFFFF, "i64"), "f64") * 2.0**-64
    c = cast(bitcast(low >> 11, "i64"), "f64") * 2.0**-117
    turns = fast_two_sum(a, b)
    turns = fast_two_sum(turns[0], turns[1] + c)
    r = product(turns, wide_constant(2 * mp.pi))
    is_negative = bitcast(x, "i64") < 0
    q = bitcast(q, "i64")
    is_finite = magnitude(x) < INF
    r = select(is_finite, r[0], NAN), r[1]
    return [
        select(is_negative, -r[0], r[0]),
        select(is_negative, -r[1], r[1]),
        select(is_negative, const("i64", 0) - q, q),
    ]


def reduce(x):
    """A pair r and q with x = q * pi/2 + r, |r| <= pi/4."""

    def small():
        k = rint(x * float(2 / mp.pi))
        first = two_product(k, const("f64", HALF_PI))
        second = two_product(k, const("f64", HALF_PI_LOW))
        a = two_sum(x - first[0], -first[1])
        b = two_sum(a[0], -second[0])
        r = fast_two_sum(b[0], (a[1] + b[1]) - fma(k, HALF_PI_REST, second[1]))
        return [*r, bitcast(k + ROUNDER, "i64")]

    high, low, q = if_(magnitude(x) <= 2.0**30, small, lambda: reduce_huge(x))
    return (high, low), q


def sin_pair(r):
    z = r[0] * r[0]
    p = polynomial(z, "(sin(r) / r - 1) / r^2 in r^2", odd_tail(mp.sin, -mpf(1) / 6), 0, QUARTER, 6, lambda z: z)
    return r[0], fma(r[0] * z, p, fma(z * -0.5, r[1], r[1]))


def cos_pair(r):
    z = r[0] * r[0]
    p = polynomial(z, "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", cos_tail, 0, QUARTER, 6, lambda z: z * z)
    w = fma(z, -0.5, 1.0)
    # z is rounded; what it lacks of r^2 counts too.
    lost = fma(r[0], r[0], -z) * -0.5
    return w, fma(z, -0.5, 1.0 - w) + (fma(z * z, p, lost) - r[0] * r[1])


def sine(r, q):
    s, c = sin_pair(r), cos_pair(r)
    is_odd = (q & 1).differs(0)
    y = select(is_odd, c[0], s[0]) + select(is_odd, c[1], s[1])
    return bitcast(bitcast(y, "i64") ^ ((q & 2) << 62), "f64")


def sin(x):
    # The sums lose the sign of -0.
    return select(x.same(0.0), x, sine(*reduce(x)))


def cos(x):
    r, q = reduce(x)
    return sine(r, q + 1)


def tan(x):
    r, q = reduce(x)
    s, c = fast_two_sum(*sin_pair(r)), fast_two_sum(*cos_pair(r))
    is_odd = (q & 1).differs(0)
    n = select(is_odd, -c[0], s[0]), select(is_odd, -c[1], s[1])
    d = select(is_odd, s[0], c[0]), select(is_odd, s[1], c[1])
    y = quotient(n, d)
    return select(magnitude(x) < 2.0**-28, x, y[0] + y[1])


# --- inverses ---


def asin_parts(a):
    """Whether a <= 1/2; s and tail with asin(a) = s + tail there, else pi/2 - 2 (s + tail)."""
    is_small = a <= 0.5
    half = fma(a, -0.5, 0.5)
    z = select(is_small, a * a, half)
    p = polynomial(z, "(asin(s) / s - 1) / s^2 in s^2", odd_tail(mp.asin, mpf(1) / 6), 0, 0.25, 12, lambda z: z)
    root = sqrt(half)
    rest = fma(-root, root, half) / fma(root, 2.0, 1e-300)
    s = select(is_small, a, root)
    return is_small, s, fma(s * z, p, select(is_small, const("f64", 0.0), rest))


def asin(x):
    is_small, s, tail = asin_parts(magnitude(x))
    high, low = fast_two_sum(const("f64", HALF_PI), s * -2.0)
    large = high + (low + fma(tail, -2.0, HALF_PI_LOW))
    return copysign(select(is_small, s + tail, large), x)


def acos(x):
    is_small, s, tail = asin_parts(magnitude(x))
    is_negative = x < 0.0
    high, low = fast_two_sum(const("f64", HALF_PI), -x)
    middle = high + (low + (HALF_PI_LOW - copysign(tail, x)))
    high, low = fast_two_sum(const("f64", PI), s * -2.0)
    far = high + (low + fma(tail, -2.0, PI_LOW))
    return select(is_small, middle, select(is_negative, far, 2.0 * (s + tail)))


def angle_pair(n, d):
    """atan(n / d) as a pair for 0 <= n <= d, d > 0 neither tiny nor huge."""
    # From tan(pi/8) on: pi/4 + atan((n - d) / (n + d)).
    is_large = n > d * 0.4142135623730950
    difference, total = two_sum(n, -d), two_sum(d, n)
    zero = const("f64", 0.0)
    numerator = select(is_large, difference[0], n), select(is_large, difference[1], zero)
    denominator = select(is_large, total[0], d), select(is_large, total[1], zero)
    t = quotient(numerator, denominator)
    z = t[0] * t[0]
    p = polynomial(z, "(atan(t) / t - 1) / t^2 in t^2", odd_tail(mp.atan, -mpf(1) / 3), 0, 0.17158, 11, lambda z: z)
    tail = fma(t[0] * z, p, t[1])
    base = wide_constant(mp.pi / 4)
    high, low = two_sum(select(is_large, base[0], zero), t[0])
    return fast_two_sum(high, low + (tail + select(is_large, base[1], zero)))


def from_right_angle(p, high, low):
    """The angle (high, low) less the pair p."""
    a = fast_two_sum(const("f64", high), -p[0])
    return fast_two_sum(a[0], a[1] + (low - p[1]))


def atan(x):
    a = clamp(magnitude(x), 0.0, 1e300)
    one = const("f64", 1.0)
    is_steep = a > 1.0
    # 1e300 / 1 and 1 / 1e300 are in range.
    p = angle_pair(select(is_steep, one, a), select(is_steep, a, one))
    q = from_right_angle(p, HALF_PI, HALF_PI_LOW)
    return select(magnitude(x) < 2.0**-28, x, copysign(select(is_steep, q[0], p[0]), x))


def atan2(y, x):
    a, b = magnitude(y), magnitude(x)
    is_steep = a > b
    n, d = select(is_steep, b, a), select(is_steep, a, b)
    note("0 / 0 stands for 0 / 1, inf / inf for 1 / 1, and the scale keeps 1 / d in range")
    is_infinite, one = d.same(INF), const("f64", 1.0)
    n = select(is_infinite, select(n.same(INF), one, 0.0), n)
    d = select(is_infinite | d.same(0.0), one, d)
    factor = select(d > 2.0**900, const("f64", 2.0**-200), select(d < 2.0**-400, const("f64", 2.0**500), 1.0))
    p = angle_pair(n * factor, d * factor)
    q = from_right_angle(p, HALF_PI, HALF_PI_LOW)
    p = select(is_steep, q[0], p[0]), select(is_steep, q[1], p[1])
    q = from_right_angle(p, PI, PI_LOW)
    angle = select(bitcast(x, "i64") < 0, q[0], p[0])
    # A tiny angle is the quotient, whose residual may be denormal.
    angle = select(angle < 2.0**-300, n / d, angle)
    return select(isnan(x) | isnan(y), x + y, copysign(angle, y))


# --- error functions ---

CENTER = 3.0
# Up to here erf and erfc come from the series at 0.
NEAR_0 = 0.84375
NEAR_1 = 0.65


def erf_near(a):
    """tail with erf(a) = a + a * tail for |a| < 0.85."""
    z = a * a

    def head(z):
        s = mpmath.sqrt(z)
        return (
            (mpmath.erf(s) / s - 2 / mpmath.sqrt(mp.pi)) / z
            if z > mpf(2) ** -60
            else (-mpf(1) / 3 + z / 10) * 2 / mpmath.sqrt(mp.pi)
        )

    p = polynomial(z, "(erf(a) / a - 2/sqrt(pi)) / a^2 in a^2", head, 0, 0.7225, 9, lambda z: z)
    return fma(z, p, float(2 / mpmath.sqrt(mp.pi) - 1))


def erfc_far(a):
    """erfc(a) for 0.65 <= a <= 28: erfcx in t = (a - c) / (a + c) as Shepherd and Laframboise (1981) do."""

    def scaled(t):
        x = CENTER * (1 + t) / (1 - t)
        return mpmath.exp(x * x) * mpmath.erfc(x) * (1 + 2 * x)

    middle = 1.1875
    # Rounded once only: the polynomial is steep for the smallest a.
    t = quotient(two_sum(a, const("f64", -CENTER)), two_sum(a, const("f64", CENTER)))
    t = t[0] + t[1]
    low = (mpf(NEAR_1) - CENTER) / (NEAR_1 + CENTER)
    rest = polynomial(
        t, "(1 + 2 a) erfc(a) e^(a^2) - 1.1875 in (a - 3) / (a + 3)", lambda t: scaled(t) - middle, low, 0.81, 21
    )
    scale_a = two_sum(a * 2.0, const("f64", 1.0))
    factor = quotient(fast_two_sum(const("f64", middle), rest), scale_a)
    square, error = two_product(a, a)
    k, r = reduce_exp(-square, -error)
    high, low = product(exp_pair(r), factor)
    return scale(high + low, k)


def erf(x):
    a = magnitude(x)
    z = clamp(a, 0.0, NEAR_0)
    near = fma(z, erf_near(z), z)
    far = 1.0 - erfc_far(clamp(a, NEAR_0, 6.0))
    return copysign(select(a < NEAR_0, near, far), x)


def erfc(x):
    a = magnitude(x)
    z = clamp(x, -NEAR_1, NEAR_1)
    high, low = fast_two_sum(const("f64", 1.0), -z)
    near = high + (low - z * erf_near(z))
    far = erfc_far(clamp(a, NEAR_1, 28.0))
    return select(a < NEAR_1, near, select(x < 0.0, 2.0 - far, far))


FUNCTIONS = [sin, cos, tan, asin, acos, atan, atan2, erf, erfc]
