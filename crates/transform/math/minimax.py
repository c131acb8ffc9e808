"""Minimax polynomials by the Remez exchange, in 60 digits.

In: a function, an interval, a degree, a weight. Out: coefficients rounded to f64, lowest first, and the largest
weighted error of the polynomial with those coefficients, as a power of two.
Remez, "Sur le calcul effectif des polynômes d'approximation de Tchebichef" (1934).
"""

import json
import pathlib
import tempfile

import mpmath
from mpmath import mp, mpf

mp.prec = 200

# Fits take a minute altogether.
CACHE = pathlib.Path(tempfile.gettempdir()) / "minimax.json"


def fit(name, function, low, high, degree, weight=lambda x: mpf(1)):
    """Coefficients of p with max |p - function| * weight least on [low, high], and log2 of that error."""
    key = f"{name} {low} {high} {degree}"
    cache = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    if key not in cache:
        exact = remez(function, mpf(low), mpf(high), degree, weight)
        rounded = [float(c) for c in exact]
        kept = [mpf(c) for c in rounded]
        points = chebyshev(mpf(low), mpf(high), 1500)
        error = max(abs(mpmath.polyval(kept[::-1], x) - function(x)) * weight(x) for x in points)
        cache[key] = [rounded, float(mpmath.log(error, 2))]
        CACHE.write_text(json.dumps(cache))
    return cache[key]


def chebyshev(low, high, n):
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mpmath.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]


def remez(function, low, high, degree, weight):
    n = degree + 2
    nodes = chebyshev(low, high, n)
    grid = chebyshev(low, high, max(40 * n, 400))
    values = [(x, function(x), weight(x)) for x in grid]
    for _ in range(30):
        matrix = mpmath.matrix(n, n)
        right = mpmath.matrix(n, 1)
        for i, x in enumerate(nodes):
            power = mpf(1)
            for j in range(degree + 1):
                matrix[i, j] = power
                power *= x
            matrix[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = mpmath.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        errors = [(x, (mpmath.polyval(coefficients[::-1], x) - f) * w) for x, f, w in values]
        # The largest error of each run of one sign.
        extrema = []
        for x, e in errors:
            if extrema and (extrema[-1][1] > 0) == (e > 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (x, e)
            else:
                extrema.append((x, e))
        while len(extrema) > n:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        largest, least = max(abs(e) for _, e in extrema), min(abs(e) for _, e in extrema)
        if len(extrema) < n or largest < least * 1.02:
            break
        nodes = [x for x, _ in extrema]
    return coefficients
