"""Medians, quantiles, averages, correlations, histograms, counts."""

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
    _reductions,
    _shapes,
    _sorting,
    _ufuncs,
)

_COUNT = """
def count(x, w, out):
    i = tid()
    atomic_add(out, int64(x[i]), w[i])
"""


@cache
def _count_kernel(dtype: np.dtype[Any], made: np.dtype[Any]) -> Any:
    from gridstride import _types

    array = _native.Type.array
    names = {"atomic_add": _elementwise.Builtin("atomic_add"), "int64": _types.int64}
    weights = array(_memory.elem(made), 1)
    return _elementwise.kernel(
        "count", _COUNT, names, {"x": array(_memory.elem(dtype), 1), "w": weights, "out": weights}
    )


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 on is in an array, or the sum of the weights beside it."""
    x = _interop.asarray(x)
    if x.ndim != 1:
        raise ValueError("object too deep for desired array")
    if x._dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {x._dtype!r} to int64 according to the rule 'safe'")
    x = x.astype(np.int64, copy=False, order="C")
    n = minlength
    if x.size:
        if int(_reductions.min(x)) < 0:
            raise ValueError("'list' argument must have no negative elements")
        n = max(n, int(_reductions.max(x)) + 1)
    made = np.dtype(np.int64 if weights is None else np.float64)
    out = _creation.zeros(n, made)
    if x.size:
        if weights is None:
            w = _shapes.broadcast_to(_creation.ones(1, made), x._shape)
        else:
            w = _interop.asarray(weights).astype(made, copy=False)
            if w._shape != x._shape:
                raise ValueError("The weights and list don't have the same length.")
        _elementwise.launch(_count_kernel(x._dtype, made), x.size, [x, w, out])
    return out


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of a histogram's bins."""
    if not isinstance(bins, int | np.integer):
        return _interop.asarray(bins)
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    a = _interop.asarray(a)
    if range is not None:
        low, high = map(float, range)
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
    elif a.size:
        low, high = float(_reductions.min(a)), float(_reductions.max(a))
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    dtype = np.result_type(a._dtype, np.float32) if a._dtype.kind == "f" else np.dtype(float)
    return _creation.linspace(low, high, int(bins) + 1, dtype=dtype)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> Any:
    """How many elements are in each bin, and the bins' edges. The last bin has its right edge too."""
    a = _interop.asarray(a).ravel()
    if a._dtype.kind == "b":
        a = a.astype(np.uint8)
    edges = histogram_bin_edges(a, bins, range)
    n = edges.size - 1
    at = _sorting.searchsorted(edges, a, "right") - 1
    last = a == edges[-1]
    at = _mathematics.where(last, n - 1, at)
    inside = (at >= 0) & (at < n) & (a <= edges[-1])
    at = _mathematics.where(inside, at, n)
    if weights is not None:
        weights = _interop.asarray(weights).ravel()
    counts = bincount(at, weights, n + 1)[:n]
    if density:
        from gridstride.cupy import _scans

        return counts / _scans.diff(edges) / _reductions.sum(counts), edges
    return counts, edges


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The middle element in order, or along an axis; the mean of the two middle ones of an even number."""
    return quantile(a, 0.5, axis, out, overwrite_input, keepdims=keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The elements at fractions of the order, or along an axis. `method`: "linear", "lower", "higher", "nearest",
    "midpoint"."""
    a = _interop.asarray(a)
    fractions = _array_of_fractions(q)
    axes = _reduce.axes_of(axis, a.ndim)
    kept = [k for k in np.arange(a.ndim).tolist() if k not in axes]
    n = math.prod(a._shape[k] for k in axes)
    moved = a.transpose((*kept, *axes)).reshape((*(a._shape[k] for k in kept), n))
    if a._dtype.kind in "biu":
        moved = moved.astype(float)
    if not n:
        # Nothing has no order.
        moved = _creation.full((*moved._shape[:-1], 1), math.nan, moved._dtype)
        n = 1
    ordered = _sorting.sort(moved, -1)
    parts = []
    for one in fractions.ravel().tolist():
        at = one * (n - 1)
        low, high = math.floor(at), math.ceil(at)
        weight = {"linear": at - low, "lower": 0.0, "higher": 1.0, "midpoint": 0.5 * (high - low)}.get(method)
        if method == "nearest":
            weight = float(round(at) - low)
        if weight is None:
            raise ValueError(f"method {method!r} is not supported: linear, lower, higher, nearest and midpoint are")
        first, second = ordered[..., low], ordered[..., high]
        found = first + (second - first) * weight if weight else first
        if weight and a._dtype.kind == "f":
            # Between two infinities of one sign there is no distance.
            found = _mathematics.where(first == second, first, found)
        # A NaN is at the end, where there is one.
        if a._dtype.kind in "fc":
            end = ordered[..., n - 1]
            found = _mathematics.where(end != end, end, found)
        parts.append(found)
    made = _shapes.stack(parts).reshape(fractions.shape + parts[0]._shape)
    if keepdims:
        made = made.reshape(fractions.shape + tuple(1 if k in axes else m for k, m in enumerate(a._shape)))
    if out is not None:
        _creation.copyto(out, made)
        return out
    return made


def _array_of_fractions(q: Any) -> np.ndarray[Any, Any]:
    found = np.asarray(q.get() if isinstance(q, _array.ndarray) else q, float)
    if found.size and not (found.min() >= 0 and found.max() <= 1):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return found


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The elements at percentages of the order, or along an axis; `method` as of `quantile`."""
    host = np.asarray(q.get() if isinstance(q, _array.ndarray) else q, float)
    if host.size and not (host.min() >= 0 and host.max() <= 100):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return quantile(a, host / 100, axis, out, overwrite_input, method, keepdims)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean, or the mean by weights."""
    a = _interop.asarray(a)
    if weights is None:
        found = _reductions.mean(a, axis, keepdims=keepdims)
        total = _creation.full(found._shape, a.size / max(found.size, 1), found._dtype)
    else:
        w = _interop.asarray(weights)
        if w._shape != a._shape:
            if w.ndim != 1 or not isinstance(axis, int):
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            shape = [1] * a.ndim
            shape[axis] = w.size
            w = w.reshape(tuple(shape))
        total = _reductions.sum(_shapes.broadcast_to(w, a._shape), axis, keepdims=keepdims)
        if not bool((total != 0).all()):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        found = _reductions.sum(a * w, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    """The covariances of variables, which are rows unless `rowvar` is false."""
    from gridstride.cupy import _linalg

    m = _shapes.atleast_2d(_interop.asarray(m))
    m = m.T if not rowvar and m._shape[0] != 1 else m
    if y is not None:
        y = _shapes.atleast_2d(_interop.asarray(y))
        m = _shapes.concatenate([m, y.T if not rowvar and y._shape[0] != 1 else y])
    m = m.astype(np.result_type(m._dtype, float))
    less = (0 if bias else 1) if ddof is None else ddof
    m = m - _reductions.mean(m, 1, keepdims=True)
    found = _linalg.matmul(m, m.T.conj()) / float(max(m._shape[1] - less, 0))
    return _shapes.squeeze(found)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlations of variables, which are rows unless `rowvar` is false."""
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    by = _ufuncs.ALL["sqrt"](_shapes.diagonal(found).real)
    return found / by.reshape(-1, 1) / by


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Values between points of increasing places, on straight lines; `left` and `right` beyond the ends."""
    if period is not None:
        raise NotImplementedError("`period` is not available: bring `x` into the range of `xp` first")
    x, xp, fp = (_interop.asarray(one) for one in (x, xp, fp))
    if xp.ndim != 1 or fp.ndim != 1 or xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.size:
        raise ValueError("array of sample points is empty")
    from gridstride.cupy import _indexing

    x, xp = x.astype(float), xp.astype(float)
    fp = fp.astype(np.complex128 if fp._dtype.kind == "c" else float)
    at = _mathematics.clip(_sorting.searchsorted(xp, x, "right") - 1, 0, max(xp.size - 2, 0))

    def of(values: Any, index: Any) -> Any:
        return _indexing.take(values, index, checked=False)

    after = _mathematics.clip(at + 1, 0, xp.size - 1)
    x0, f0 = of(xp, at), of(fp, at)
    slope = (of(fp, after) - f0) / (of(xp, after) - x0)
    found = _mathematics.where(x == x0, f0, slope * (x - x0) + f0)
    found = _mathematics.where(x < xp[0], fp[0] if left is None else left, found)
    found = _mathematics.where(x >= xp[-1], fp[-1] if right is None else right, found)
    return found if right is None else _mathematics.where(x == xp[-1], fp[-1], found)
