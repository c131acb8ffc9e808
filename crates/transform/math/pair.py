"""Double-double arithmetic: a number is the unevaluated sum of a high and a low f64.

Dekker, "A floating-point technique for extending the available precision" (1971); with fma for exact products.
"""

from tracer import fma


def two_sum(a, b):
    """a + b and its rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(a, b):
    """The same where |a| >= |b| or a is 0."""
    s = a + b
    return s, b - (s - a)


def two_product(a, b):
    p = a * b
    return p, fma(a, b, -p)


def product(a, b):
    """Product of two pairs."""
    high, low = two_product(a[0], b[0])
    return fast_two_sum(high, fma(a[0], b[1], fma(a[1], b[0], low)))


def quotient(n, d, inverse=None):
    """Quotient of two pairs as a pair. `inverse` is 1 / d[0] where it is at hand."""
    inverse = inverse if inverse is not None else 1.0 / d[0]
    q = n[0] * inverse
    rest = fma(-q, d[0], n[0]) + (n[1] - q * d[1])
    return q, rest * inverse
