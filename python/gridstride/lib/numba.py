"""Functions of Python's `math` and `cmath` that are no single op, in the numba dialect.

In: floats of one type, or complex numbers. Out: the same type; integers where Python gives them.

    _int_power(3, 4)  ->  81
    _frexp(12.0)      ->  (0.75, 4)

Sources: gamma by C. Lanczos, "A precision approximation of the gamma function", SIAM J. Numer. Anal. B1 (1964), with
the coefficients for g = 7 and n = 9 that P. Godfrey computed (2001); complex square root and inverse functions after
W. Kahan, "Branch cuts for complex elementary functions" (1987).
"""


def _int_power(x, n):
    if n < 0:
        # What a whole number of is left of 1 / x.
        if x == 1 or (x == -1 and n & 1 == 0):
            return _like(1, x)
        return _like(-1 if x == -1 else 0, x)
    result = _like(1, x)
    square = x
    rest = n
    while rest > 0:
        if rest & 1:
            result = _like(result * square, x)
        square = _like(square * square, x)
        rest = _like(rest >> 1, n)
    return result


def _ten_to(n):
    result = 1.0
    square = 10.0
    rest = n
    while rest > 0:
        if rest & 1:
            result = result * square
        square = square * square
        rest = rest >> 1
    return result


def _round_digits(x, n):
    if isinf(x) or isnan(x):
        return x
    wide = float64(x)
    if n >= 0:
        scale = _ten_to(n)
        scaled = wide * scale
        if isinf(scaled):
            return x
        return _like(_rint(scaled) / scale, x)
    scale = _ten_to(0 - n)
    return _like(_rint(wide / scale) * scale, x)


def _frexp(x):
    if x == 0 or isinf(x) or isnan(x):
        return x, int32(0)
    wide = float64(x)
    shift = 0
    if abs(wide) < 2.2250738585072014e-308:
        wide = wide * 18014398509481984.0
        shift = 54
    bits = _bits(wide)
    exponent = ((bits >> 52) & 0x7FF) - 1022
    mantissa = _float_of_bits((bits & ~(0x7FF << 52)) | (1022 << 52))
    return _like(mantissa, x), int32(exponent - shift)


def _power_of_two(n):
    return _float_of_bits((n + 1023) << 52)


def _ldexp(x, n):
    wide = float64(x)
    rest = min(max(n, -3000), 3000)
    while rest > 1000:
        wide = wide * _power_of_two(1000)
        rest = rest - 1000
    while rest < -1000:
        wide = wide * _power_of_two(-1000)
        rest = rest + 1000
    return _like(wide * _power_of_two(rest), x)


def _modf(x):
    whole = _trunc(x)
    if isinf(x):
        return _copysign(_like(0.0, x), x), x
    return _copysign(x - whole, x), whole


# Python's `//` and `%` of floats: the rest is exact, and the quotient is a whole number that goes with it.
def _floor_quotient(x, y):
    if y == 0:
        return x / y
    rest = _fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (rest < 0) != (y < 0):
        quotient = quotient - _like(1.0, x)
    if quotient == 0:
        return _copysign(quotient, x / y)
    whole = _floor(quotient)
    return whole + _like(1.0, x) if quotient - whole > 0.5 else whole


def _modulo(x, y):
    rest = _fmod(x, y)
    if rest == 0:
        return _copysign(rest, y)
    return rest + y if (rest < 0) != (y < 0) else rest


def _ieee_remainder(x, y):
    if isnan(x) or isnan(y) or isinf(x) or y == 0:
        return _like(0.0, x) / _like(0.0, x)
    if isinf(y):
        return x
    size = abs(x)
    step = abs(y)
    rest = _fmod(size, step)
    is_odd = _fmod(size, step * 2) >= step
    other = step - rest
    if rest > other or (rest == other and is_odd):
        rest = rest - step
    return rest if _copysign(_like(1.0, x), x) > 0 else -rest


def _nextafter(x, y):
    if isnan(x) or isnan(y):
        return x + y
    if x == y:
        return y
    one = _bits(x) * 0 + 1
    if x == 0:
        return _copysign(_float_of_bits(_like(one, _bits(x))), y)
    step = one if (x < y) == (x > 0) else 0 - one
    return _float_of_bits(_like(_bits(x) + step, _bits(x)))


def _lanczos(x):
    a = 0.99999999999980993
    a = a + 676.5203681218851 / (x + 1.0)
    a = a - 1259.1392167224028 / (x + 2.0)
    a = a + 771.32342877765313 / (x + 3.0)
    a = a - 176.61502916214059 / (x + 4.0)
    a = a + 12.507343278686905 / (x + 5.0)
    a = a - 0.13857109526572012 / (x + 6.0)
    a = a + 9.9843695780195716e-6 / (x + 7.0)
    return a + 1.5056327351493116e-7 / (x + 8.0)


def _gamma_right(x):
    z = x - 1.0
    t = z + 7.5
    # The power is taken in two halves: it alone would overflow before the result does.
    half = t ** (0.5 * (z + 0.5))
    return 2.5066282746310005 * half * exp(-t) * half * _lanczos(z)


def _gamma(x):
    wide = float64(x)
    if isnan(wide) or (isinf(wide) and wide > 0):
        return x
    if wide < 0.5:
        sine = sin(3.141592653589793 * wide)
        if wide == _floor(wide):
            if wide == 0.0:
                return _like(1.0 / wide, x)
            return _like(0.0 / (wide - wide), x)
        return _like(3.141592653589793 / (sine * _gamma_right(1.0 - wide)), x)
    return _like(_gamma_right(wide), x)


def _lgamma_right(x):
    z = x - 1.0
    t = z + 7.5
    return 0.9189385332046727 + (z + 0.5) * log(t) - t + log(_lanczos(z))


def _lgamma(x):
    wide = float64(x)
    if isinf(wide):
        return _like(abs(wide), x)
    if isnan(wide):
        return x
    if wide == _floor(wide) and wide <= 0.0:
        return _like(1.0 / abs(wide * 0.0), x)
    if wide < 0.5:
        sine = abs(sin(3.141592653589793 * wide))
        return _like(log(3.141592653589793 / sine) - _lgamma_right(1.0 - wide), x)
    return _like(_lgamma_right(wide), x)


def _logaddexp(x, y):
    if x == y:
        return _like(x + 0.6931471805599453, x)
    high = max(x, y)
    return _like(high + log1p(exp(min(x, y) - high)), x)


def _logaddexp2(x, y):
    if x == y:
        return _like(x + 1.0, x)
    high = max(x, y)
    return _like(high + log2(1.0 + exp2(min(x, y) - high)), x)


def _complex_less(a, b):
    is_number = not (isnan(a.imag) or isnan(b.imag))
    return (a.real < b.real and is_number) or (a.real == b.real and a.imag < b.imag)


def _complex_less_equal(a, b):
    is_number = not (isnan(a.imag) or isnan(b.imag))
    return (a.real < b.real and is_number) or (a.real == b.real and a.imag <= b.imag)


def _complex_greater(a, b):
    return _complex_less(b, a)


def _complex_greater_equal(a, b):
    return _complex_less_equal(b, a)


def _complex_maximum(a, b):
    return a if _complex_less_equal(b, a) or _cmath_isnan(a) else b


def _complex_minimum(a, b):
    return a if _complex_less_equal(a, b) or _cmath_isnan(a) else b


def _complex_fmax(a, b):
    return a if _complex_less_equal(b, a) or _cmath_isnan(b) else b


def _complex_fmin(a, b):
    return a if _complex_less_equal(a, b) or _cmath_isnan(b) else b


def _cmath_isnan(z):
    return isnan(z.real) or isnan(z.imag)


def _cmath_isinf(z):
    return isinf(z.real) or isinf(z.imag)


def _cmath_isfinite(z):
    return not (isnan(z.real) or isnan(z.imag) or isinf(z.real) or isinf(z.imag))


def _cmath_phase(z):
    return atan2(z.imag, z.real)


def _cmath_polar(z):
    return hypot(z.real, z.imag), atan2(z.imag, z.real)


def _cmath_rect(r, phi):
    if r.real == 0 and (isinf(phi.real) or isnan(phi.real)):
        return _complex(abs(r.real), abs(r.real))
    if phi.real == 0:
        return _complex(r.real, phi.real * _copysign(_like(1.0, r.real), r.real))
    return _complex(r.real * cos(phi.real), r.real * sin(phi.real))


def _cmath_exp(z):
    size = exp(z.real)
    if isinf(z.real) and (isinf(z.imag) or isnan(z.imag)):
        if z.real < 0:
            return _complex(size, size)
        return _complex(size, z.imag - z.imag)
    if z.imag == 0:
        return _complex(size, z.imag)
    if isinf(size) and not isinf(z.real):
        # The size overflows before the parts do.
        half = exp(z.real * _like(0.5, size))
        return _complex(half * cos(z.imag) * half, half * sin(z.imag) * half)
    if size == 0:
        return _complex(_copysign(size, cos(z.imag)), _copysign(size, sin(z.imag)))
    return _complex(size * cos(z.imag), size * sin(z.imag))


def _cmath_log(z):
    return _complex(log(hypot(z.real, z.imag)), atan2(z.imag, z.real))


def _cmath_log(z, base):
    return _cmath_log(z) / _cmath_log(base)


def _cmath_log10(z):
    scale = _like(0.4342944819032518, z.real)
    return _complex(log10(hypot(z.real, z.imag)), atan2(z.imag, z.real) * scale)


def _cmath_log2(z):
    scale = _like(1.4426950408889634, z.real)
    return _complex(log2(hypot(z.real, z.imag)), atan2(z.imag, z.real) * scale)


def _cmath_sqrt(z):
    half = _like(0.5, z.real)
    if z.real == 0 and z.imag == 0:
        return _complex(abs(z.real), z.imag)
    if isinf(z.imag):
        return _complex(abs(z.imag), z.imag)
    root = sqrt((hypot(z.real, z.imag) + abs(z.real)) * half)
    if isinf(z.real):
        if z.real > 0:
            return _complex(z.real, _copysign(_like(0.0, half), z.imag) if not isnan(z.imag) else z.imag)
        return _complex(_like(0.0, half) if not isnan(z.imag) else z.imag, _copysign(abs(z.real), z.imag))
    if z.real >= 0:
        return _complex(root, z.imag / (root + root))
    return _complex(abs(z.imag) / (root + root), _copysign(root, z.imag))


def _cmath_cos(z):
    if z.real == 0:
        return _complex(cosh(z.imag), -_copysign(abs(z.real), z.real) * _copysign(_like(1.0, z.imag), z.imag))
    return _complex(cos(z.real) * cosh(z.imag), -(sin(z.real) * sinh(z.imag)))


def _cmath_sin(z):
    if z.real == 0:
        return _complex(z.real, sinh(z.imag))
    return _complex(sin(z.real) * cosh(z.imag), cos(z.real) * sinh(z.imag))


def _cmath_cosh(z):
    if z.imag == 0:
        return _complex(cosh(z.real), z.imag * _copysign(_like(1.0, z.real), z.real))
    return _complex(cosh(z.real) * cos(z.imag), sinh(z.real) * sin(z.imag))


def _cmath_sinh(z):
    if z.imag == 0:
        return _complex(sinh(z.real), z.imag)
    return _complex(sinh(z.real) * cos(z.imag), cosh(z.real) * sin(z.imag))


def _cmath_tanh(z):
    one = _like(1.0, z.real)
    if isinf(z.real) and (isinf(z.imag) or isnan(z.imag)):
        return _complex(_copysign(one, z.real), one - one)
    if abs(z.real) > 20:
        size = exp(abs(z.real) * -2 * one)
        return _complex(_copysign(one, z.real), 4 * sin(z.imag) * cos(z.imag) * size)
    tangent = tan(z.imag)
    secant = one + tangent * tangent
    sine = sinh(z.real)
    cosine = sqrt(one + sine * sine)
    if isinf(tangent):
        return _complex(cosine / sine, one / tangent)
    divisor = one + secant * sine * sine
    return _complex(secant * cosine * sine / divisor, tangent / divisor)


def _cmath_tan(z):
    turned = _cmath_tanh(_complex(-z.imag, z.real))
    return _complex(turned.imag, -turned.real)


def _cmath_asinh(z):
    one = _like(1.0, z.real)
    if isinf(z.real) or isinf(z.imag):
        size = log(hypot(z.real, z.imag))
        return _complex(_copysign(size, z.real), atan2(z.imag, abs(z.real)))
    a = _cmath_sqrt(_complex(one + z.imag, -z.real))
    b = _cmath_sqrt(_complex(one - z.imag, z.real))
    real = asinh(a.real * b.imag - b.real * a.imag)
    return _complex(real, atan2(z.imag, a.real * b.real - a.imag * b.imag))


def _cmath_asin(z):
    turned = _cmath_asinh(_complex(-z.imag, z.real))
    return _complex(turned.imag, -turned.real)


def _cmath_acos(z):
    one = _like(1.0, z.real)
    if isinf(z.real) or isinf(z.imag):
        size = log(hypot(z.real, z.imag))
        return _complex(atan2(abs(z.imag), z.real), -_copysign(size, z.imag))
    a = _cmath_sqrt(_complex(one - z.real, -z.imag))
    b = _cmath_sqrt(_complex(one + z.real, z.imag))
    return _complex(2 * atan2(a.real, b.real), asinh(b.real * a.imag - b.imag * a.real))


def _cmath_acosh(z):
    one = _like(1.0, z.real)
    if isinf(z.real) or isinf(z.imag):
        size = log(hypot(z.real, z.imag))
        return _complex(size, atan2(z.imag, z.real))
    a = _cmath_sqrt(_complex(z.real - one, z.imag))
    b = _cmath_sqrt(_complex(z.real + one, z.imag))
    return _complex(asinh(a.real * b.real + a.imag * b.imag), 2 * atan2(a.imag, b.real))


def _cmath_atanh(z):
    one = _like(1.0, z.real)
    half = _like(0.5, z.real)
    quarter = _like(0.25, z.real)
    if isinf(z.real) or isinf(z.imag):
        angle = z.imag if isnan(z.imag) else _copysign(_like(1.5707963267948966, one), z.imag)
        return _complex(_copysign(_like(0.0, one), z.real), angle)
    square = z.imag * z.imag
    above = one + z.real
    below = one - z.real
    real = quarter * log1p(4 * z.real / (below * below + square))
    imag = half * (atan2(z.imag, above) - atan2(-z.imag, below))
    return _complex(real, imag)


def _cmath_atan(z):
    turned = _cmath_atanh(_complex(-z.imag, z.real))
    return _complex(turned.imag, -turned.real)
