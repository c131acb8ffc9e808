"""Scalar functions: interpolation, inverse error functions, search in a sorted array.

In: floats of one type. Out: a float of that type.

    smoothstep(0.0, 1.0, 0.3)  ->  0.216
    erfinv(0.5)                ->  0.476936

Sources: the middle of `erfinv` starts from the polynomial of M. Giles, "Approximating the erfinv function", GPU
Computing Gems 2 (2011), its tails from the leading term of the asymptotic series of erfc (DLMF 7.12.1); both are
polished by Halley's method (E. Halley, 1694) on `erf` or `erfc`, whichever has no cancellation there.
"""


def smoothstep(a: Float, b: Float, x: Float):
    t = clamp((x - a) / (b - a), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def lerp(a, b, t: Float):
    return a * (1.0 - t) + b * t


# z near the root of erfc(z) = y with 0 < y <= 1.
def _erfc_start(y: Float):
    w = -log(y * (2.0 - y))
    if w < 5.0:
        w = w - 2.5
        p = w * 2.81022636e-08 + 3.43273939e-07
        p = w * p - 3.5233877e-06
        p = w * p - 4.39150654e-06
        p = w * p + 0.00021858087
        p = w * p - 0.00125372503
        p = w * p - 0.00417768164
        p = w * p + 0.246640727
        p = w * p + 1.50140941
        return p * (1.0 - y)
    tail = -log(y)
    return sqrt(tail - 0.5 * log(3.141592653589793 * tail))


# The root of erfc(z) = y with 0 < y <= 1.
def _erfc_root(y: Float):
    z = _erfc_start(y)
    for step in range(3):
        slope = -1.1283791670955126 * exp(-z * z)
        newton = (erfc(z) - y) / slope
        z = z - newton / (1.0 + newton * z)
    return z


def erfinv(x: Float):
    rest = 1.0 - abs(x)
    if rest <= 0.0:
        # Infinity at the ends, NaN outside.
        return x / sqrt(rest)
    if rest <= 0.5:
        return copysign(_erfc_root(rest), x)
    z = copysign(_erfc_start(rest), x)
    for step in range(2):
        slope = 1.1283791670955126 * exp(-z * z)
        newton = (erf(z) - x) / slope
        z = z - newton / (1.0 + newton * z)
    return z


def erfcinv(x: Float):
    if x <= 0.0:
        return 1.0 / sqrt(x)
    if x >= 2.0:
        return -1.0 / sqrt(2.0 - x)
    if x < 0.5:
        return _erfc_root(x)
    if x > 1.5:
        return -_erfc_root(2.0 - x)
    return erfinv(1.0 - x)


# The first index at which a sorted array holds `value` or more; the last one where none does.
def lower_bound(arr: Array, value: Scalar):
    return lower_bound(arr, 0, arr.shape[0], value)


def lower_bound(arr: Array, arr_begin: int, arr_end: int, value: Scalar):
    # As many steps for every value, so that neighbors take them together.
    low = arr_begin
    n = arr_end - arr_begin
    while n > 1:
        half = n / 2
        low = where(arr[low + half - 1] < value, low + half, low)
        n = n - half
    return low
