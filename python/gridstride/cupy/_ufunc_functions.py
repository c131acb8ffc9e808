"""Functions of elements that take more than an expression, in the words of `numba.cuda` kernels.

They do what NumPy does, at the edges too: a division of ints by zero gives 0, shifts by too much give 0 or the sign.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_TEXT = """
def _floor_divide(x, y):
    if y == 0:
        return x * 0
    q = _quotient(x, y)
    return q

def _quotient(x, y):
    # The least number has no opposite: dividing it by -1 wraps around.
    if y < 0 and y + 1 == 0:
        return 0 - x
    return x // y

def _remainder(x, y):
    if y == 0 or (y < 0 and y + 1 == 0):
        return x * 0
    return x % y

def _fmod(x, y):
    if y == 0 or (y < 0 and y + 1 == 0):
        return x * 0
    r = x % y
    if r != 0 and (x < 0) != (y < 0):
        r = r - y
    return r

def _over(x, y):
    return x // y if y != 0 else y

def _rest(x, y):
    return x % y if y != 0 else y

def _divmod(x, y):
    r = math.fmod(x, y)
    if y == 0:
        return x / y, r
    q = (x - r) / y
    if r != 0:
        if (y < 0) != (r < 0):
            r = r + y
            q = q - 1
    else:
        r = math.copysign(r, y)
    if q != 0:
        whole = np.floor(q)
        if q - whole > 0.5:
            whole = whole + 1
    else:
        whole = math.copysign(q * 0, x / y)
    return whole, r

def _power(x, n):
    if n < 0:
        if x == 1:
            return x
        if x < 0 and x + 1 == 0:
            return x if n & 1 else x * x
        return x * 0
    found = x * 0 + 1
    while n > 0:
        if n & 1:
            found = found * x
        n = n >> 1
        x = x * x
    return found

def _unsigned_power(x, n):
    one = t_uint64(1)
    zero = t_uint64(0)
    base = t_uint64(x)
    left = t_uint64(n)
    found = one
    while left != zero:
        if (left & one) != zero:
            found = found * base
        left = left >> one
        base = base * base
    return found

def _reciprocal(x):
    if x == 1:
        return x
    if x < 0 and x + 1 == 0:
        return x
    return x * 0

def _sign(x):
    return (x > 0) - (x < 0)

def _float_sign(x):
    if x != x:
        return x
    return math.copysign(1.0, x) if x != 0 else 0.0

def _complex_sign(x):
    size = abs(x)
    if size == 0:
        return x
    return x / size

def _complex_rint(x):
    return complex(np.rint(x.real), np.rint(x.imag))

def _left_shift(x, n, width):
    if n < 0 or n >= width:
        return x ^ x
    return x << n

def _right_shift(x, n, width):
    if n < 0 or n >= width:
        return x >> (width - 1)
    return x >> n

def _bit_count(x):
    return popc(t_uint64(abs(t_int64(x)))) if x < 0 else popc(t_uint64(x))

def _size(x):
    return t_uint64(abs(t_int64(x))) if x < 0 else t_uint64(x)

def _gcd(x, y):
    zero = t_uint64(0)
    a = _size(x)
    b = _size(y)
    while b != zero:
        r = a % b
        a = b
        b = r
    return a

def _lcm(x, y):
    g = _gcd(x, y)
    return _size(x) // g * _size(y) if g != t_uint64(0) else g

def _hypot(x, y):
    return math.inf if np.isinf(x) or np.isinf(y) else np.hypot(x, y)

def _logaddexp(x, y):
    if x == y:
        return x + math.log(2.0)
    d = x - y
    if d > 0:
        return x + np.log1p(np.exp(-d))
    return y + np.log1p(np.exp(d))

def _logaddexp2(x, y):
    if x == y:
        return x + 1
    d = x - y
    if d > 0:
        return x + np.log1p(np.exp2(-d)) / math.log(2.0)
    return y + np.log1p(np.exp2(d)) / math.log(2.0)

def _complex_expm1(z):
    half = np.sin(z.imag / 2)
    return complex(np.expm1(z.real) * np.cos(z.imag) - 2 * half * half, np.exp(z.real) * np.sin(z.imag))

def _complex_log1p(z):
    size = np.log1p(z.real * (2 + z.real) + z.imag * z.imag) / 2
    return complex(size, np.arctan2(z.imag, 1 + z.real))

def _maximum(x, y):
    return x if x != x or x > y else y

def _minimum(x, y):
    return x if x != x or x < y else y

def _fmax(x, y):
    return x if y != y or x > y else y

def _fmin(x, y):
    return x if y != y or x < y else y

def _heaviside(x, y):
    if x != x:
        return x
    return y if x == 0 else (1.0 if x > 0 else 0.0)
"""


@cache
def functions() -> dict[str, Any]:
    """The device functions by name."""
    from gridstride.cupy import _elementwise

    found: dict[str, Any] = {}
    for text in _TEXT.strip().split("\n\n"):
        name = text[4 : text.index("(")]
        found[name] = _elementwise.device_function(name, text + "\n", found)
    # Functions may call those that come after them.
    for one in found.values():
        one.py_func.__globals__.update(found)
    return found
