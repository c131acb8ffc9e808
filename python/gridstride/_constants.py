"""Mathematical constants, in upper and lower case, and `wp.constant`.

>>> wp.constant(3)
3
"""

from __future__ import annotations

import enum
import math
from typing import TypeVar

from gridstride import _types

E = e = math.e
LOG2E = log2e = math.log2(math.e)
LOG10E = log10e = math.log10(math.e)
LN2 = ln2 = math.log(2.0)
LN10 = ln10 = math.log(10.0)
PHI = phi = (1.0 + math.sqrt(5.0)) / 2.0
PI = pi = math.pi
HALF_PI = half_pi = math.pi / 2.0
TAU = tau = math.tau
INF = inf = math.inf
NAN = nan = math.nan

T = TypeVar("T")


def constant(x: T) -> T:
    """Its argument, after a check that kernels can use it as a constant.

    Kernels see every captured number, vector and struct by value, so that `constant` is not required. Raises
    `TypeError` for another value.
    """
    is_value = isinstance(x, (bool, int, float, str, tuple, enum.Enum)) or type(x).__module__ == "numpy"
    if not is_value and not isinstance(getattr(type(x), "__gs_type__", None), _types.Type):
        raise TypeError(f"a constant is a number, text, vector, matrix or struct, not {_types.describe(type(x))}")
    return x
