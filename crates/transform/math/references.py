"""Writes crates/interp/tests/math/double.txt: correctly rounded values of the f64 functions, from mpmath.

A line is `function x [y] result rest`: floats as bits in hexadecimal, `rest` = (exact - result) in units of the last
place.
"""

import math
import pathlib
import random
import struct

import double
import double_circular
import mpmath
from mpmath import mpf

OUT = pathlib.Path(__file__).resolve().parents[2] / "interp" / "tests" / "math" / "double.txt"
POINTS = 110

# Where most arguments of a function lie.
RANGES = {
    "exp": (-745, 709.7),
    "exp2": (-1074, 1023.9),
    "expm1": (-40, 709),
    "log": (0, 1000),
    "log2": (0, 1000),
    "log10": (0, 1000),
    "log1p": (-1, 1000),
    "tanh": (-20, 20),
    "sinh": (-710, 710),
    "cosh": (-710, 710),
    "asinh": (-100, 100),
    "acosh": (1, 100),
    "atanh": (-1, 1),
    "cbrt": (-1000, 1000),
    "sin": (-1000, 1000),
    "cos": (-1000, 1000),
    "tan": (-1000, 1000),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-20, 20),
    "erf": (-6, 6),
    "erfc": (-6, 27.2),
}
EXACT = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3),
    "exp2": lambda x: mpf(2) ** x,
    "pow": lambda x, y: x**y,
}
EXACT |= {"log2": lambda x: mpmath.log(x) / mpmath.log(2), "log1p": lambda x: mpmath.log(1 + x), "expm1": mpmath.expm1}
# Worst cases of the reduction of huge arguments (Muller, "Elementary Functions", ch. 11), and steps of the algorithms.
SPECIAL = [
    6381956970095103 * 2.0**797,
    5.3193726483265414e255,
    1.4787e63,
    2.0**30,
    2.0**30 + 0.5,
    2.0**1023,
    1e22,
    0.84375,
    0.65,
]
SPECIAL += [
    0.5,
    2.0**-28,
    2.0**-54,
    2.0**-1022,
    2.0**-1030,
    5e-324,
    math.pi / 2,
    math.pi,
    0.4142135623730951,
    1.4142135623730951,
]


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def unary_points(rng, low, high):
    near_zero = [rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-60, -1) for _ in range(POINTS // 5)]
    near_one = [1 + rng.uniform(-0.5, 0.5) * 2.0 ** -rng.randint(0, 50) for _ in range(POINTS // 5)]
    anywhere = [rng.choice((-1, 1)) * rng.uniform(1, 2) * 2.0 ** rng.randint(-1074, 1022) for _ in range(POINTS // 5)]
    return near_zero + near_one + anywhere + [rng.uniform(low, high) for _ in range(POINTS // 2)] + SPECIAL


def binary_points(rng, name):
    for _ in range(POINTS * 3):
        x, y = rng.uniform(-4, 4), rng.uniform(-4, 4)
        if name == "pow":
            x = abs(x) ** rng.choice((1, 3, 20))
            y *= rng.choice((1, 10, 100))
        yield x, y
    for _ in range(POINTS):
        yield rng.uniform(1, 2) * 2.0 ** rng.randint(-1074, 1022), rng.uniform(-2, 2) * 2.0 ** rng.randint(-60, 60)


def exact(name, args):
    # Enough for the fraction of the largest f64 over pi, and for 1 - erfc.
    with mpmath.workprec(1500 if name in ("sin", "cos", "tan") else 400):
        function = EXACT.get(name) or getattr(mpmath, name)
        return function(*map(mpf, args))


def line(name, args):
    value = exact(name, args)
    if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value):
        return None
    result = float(value)
    if math.isinf(result) or result == 0:
        return None
    ulp = mpf(math.ulp(result))
    words = " ".join(f"{bits(x):x}" for x in (*args, result))
    return f"{name} {words} {float((value - mpf(result)) / ulp):.4f}"


def is_tractable(name, args):
    """Whether mpmath can evaluate it: e^(10^300) has too many digits."""
    x = args[0]
    if name in ("exp", "exp2", "expm1", "sinh", "cosh", "tanh"):
        return abs(x) < 1100
    if name == "pow":
        return abs(args[1] * math.log2(x)) < 1100
    return name not in ("erf", "erfc") or abs(x) < 30


def main():
    rng = random.Random(20261129)
    lines = []
    for function in double.FUNCTIONS + double_circular.FUNCTIONS:
        name = function.__name__
        points = [(x,) for x in unary_points(rng, *RANGES[name])] if name in RANGES else binary_points(rng, name)
        lines += [line(name, args) for args in points if is_tractable(name, args)]
    OUT.write_text("\n".join(line for line in lines if line) + "\n")


if __name__ == "__main__":
    main()
