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
    return x * 0 + 1 if x > 0 else (x * 0 - 1 if x < 0 else x * 0)

def _complex_sign(x):
    size = abs(x)
    if size == 0:
        return x
    return x / size

def _complex_rint(x):
    return complex(np.rint(x.real), np.rint(x.imag))

def _left_shift(x, n):
    if n < 0 or n >= _bits(x):
        return x * 0
    return x << n

def _right_shift(x, n):
    if n < 0 or n >= _bits(x):
        return x * 0 - 1 if x < 0 else x * 0
    return x >> n

def _bit_count(x):
    count = 0
    if x < 0:
        x = 0 - x
    while x != 0:
        count += x & 1
        x = x >> 1
    return count

def _gcd(x, y):
    if x < 0:
        x = 0 - x
    if y < 0:
        y = 0 - y
    while y != 0:
        x, y = y, x % y
    return x

def _lcm(x, y):
    g = _gcd(x, y)
    if g == 0:
        return g
    found = x // g * y
    return 0 - found if found < 0 else found

def _maximum(x, y):
    return x if x != x or x > y else y

def _minimum(x, y):
    return x if x != x or x < y else y

def _fmax(x, y):
    return x if y != y or x > y else y

def _fmin(x, y):
    return x if y != y or x < y else y

def _spacing(x):
    if np.isinf(x) or x != x:
        return x - x
    return np.nextafter(x, math.copysign(x * 0 + math.inf, x)) - x

def _heaviside(x, y):
    if x != x:
        return x
    return y if x == 0 else (x * 0 + 1 if x > 0 else x * 0)
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
