"""Sequences: convolutions, derivatives by differences, windows, polynomials."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import (
    _array,
    _creation,
    _elementwise,
    _interop,
    _mathematics,
    _memory,
    _reduce,
    _scans,
    _shapes,
    _ufuncs,
)

_CONVOLVE = """
def convolve(a, v, out, n, m, first):
    i = tid()
    out[i] = product(a, v, n, m, t_i64(i) + first)
"""
_PRODUCT = """
def product(a, v, n, m, at):
    s = KIND(0)
    for k in range(max(0, at - n + 1), min(m, at + 1)):
        s = KIND(s + a[at - k] * v[k])
    return s
"""


@cache
def _convolve_kernel(dtype: np.dtype[Any]) -> Any:
    from gridstride import _types

    core = _elementwise.device_function("product", _PRODUCT.replace("KIND", f"t_{dtype.name}"), {})
    array, i64 = _native.Type.array(_memory.elem(dtype), 1), _native.Type.scalar("i64")
    types = {"a": array, "v": array, "out": array, "n": i64, "m": i64, "first": i64}
    return _elementwise.kernel("convolve", _CONVOLVE, {"product": core, "t_i64": _types.int64}, types)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The products of two sequences, one reversed and moved along the other. `mode`: "full", "same", "valid"."""
    a, v = _interop.asarray(a), _interop.asarray(v)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ValueError("convolve takes two arrays of one dimension that are not empty")
    a, v = (v, a) if v.size > a.size else (a, v)
    dtype = np.result_type(a._dtype, v._dtype)
    n, m = a.size, v.size
    lengths = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}
    if mode not in lengths:
        raise ValueError(f"mode {mode!r} is not supported: full, same and valid are")
    first, length = lengths[mode]
    out = _array.fresh(dtype, (length,))
    sides = [one.astype(dtype, copy=False, order="C") for one in (a, v)]
    _elementwise.launch(_convolve_kernel(dtype), length, [*sides, out, n, m, first])
    return out


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The products of two sequences, one moved along the other."""
    a, v = _interop.asarray(a), _interop.asarray(v)
    if v.size > a.size:
        return _shapes.flip(correlate(v, a, mode)).conj()
    found = convolve(a, _shapes.flip(v).conj(), mode)
    return found


def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The derivatives along axes by differences of neighbors: central ones, and one-sided ones at the ends."""

    f = _interop.asarray(f)
    f = f.astype(float) if f._dtype.kind in "biu" else f
    axes = _reduce.axes_of(axis, f.ndim)
    steps = list(spacing) * (len(axes) if len(spacing) == 1 else 1) or [1.0] * len(axes)
    if (
        edge_order != 1
        or len(steps) != len(axes)
        or any(np.ndim(one) or isinstance(one, _array.ndarray) for one in steps)
    ):
        raise NotImplementedError("gradient takes a number for the distance along each axis, and `edge_order` 1")
    found = []
    for along, step in zip(axes, steps, strict=True):
        if f._shape[along] < 2:
            raise ValueError("Shape of array too small to calculate a numerical gradient")
        made = _array.fresh(f._dtype, f._shape)
        x, y = _shapes.moveaxis(f, along, 0), _shapes.moveaxis(made, along, 0)
        y[1:-1] = (x[2:] - x[:-2]) / (2.0 * step)
        y[0] = (x[1] - x[0]) / step
        y[-1] = (x[-1] - x[-2]) / step
        found.append(made)
    return found[0] if len(found) == 1 else tuple(found)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Any:
    """Angles without the jumps of a whole turn between neighbors."""
    p = _interop.asarray(p)
    p = p.astype(float) if p._dtype.kind in "biu" else p
    step = _scans.diff(p, axis=axis)
    half = period / 2
    turned = _ufuncs.ALL["remainder"](step + half, period) - half
    turned = _mathematics.where((turned == -half) & (step > 0), half, turned)
    change = _mathematics.where(abs(step) < (half if discont is None else discont), 0.0, turned - step)
    made = p.copy()
    x = _shapes.moveaxis(made, axis, 0)
    x[1:] += _shapes.moveaxis(_scans.cumsum(change, axis), axis, 0)
    return made


def _window(M: int, of: Any) -> Any:
    """A window of M points by the cosines of its places."""
    if M < 1:
        return _creation.zeros(0)
    return _creation.ones(1) if M == 1 else of(2 * np.pi / (M - 1) * _creation.arange(M, dtype=float))


def hanning(M: int) -> Any:
    """The window of von Hann."""
    return _window(M, lambda t: 0.5 - 0.5 * _ufuncs.ALL["cos"](t))


def hamming(M: int) -> Any:
    """The window of Hamming."""
    return _window(M, lambda t: 0.54 - 0.46 * _ufuncs.ALL["cos"](t))


def blackman(M: int) -> Any:
    """The window of Blackman."""
    return _window(M, lambda t: 0.42 - 0.5 * _ufuncs.ALL["cos"](t) + 0.08 * _ufuncs.ALL["cos"](2 * t))


def polyval(p: Any, x: Any) -> Any:
    """A polynomial, by its coefficients from the highest power on, at places."""
    p, x = _interop.asarray(p).get(), _interop.asarray(x)
    made = _creation.zeros_like(x, dtype=np.result_type(p.dtype, x._dtype))
    for one in p:
        made = made * x + one
    return made


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of elements as the columns of a matrix."""
    x = _interop.asarray(x)
    powers = _creation.arange(x.size if N is None else N)
    found = x.reshape(-1, 1) ** (powers if increasing else _shapes.flip(powers))
    return found


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = _mathematics.where(condition, choice, found)
    return found
