"""Sorted orders, and what is found by them.

On a GPU numbers are sorted by their digits (`_parallel.sort`). Of complex ones, runs of twice the length are merged
from pairs of runs: a thread finds its element's place in the merged run by a binary search in the other one, so that
equal elements keep their order. On the CPU device NumPy sorts the same memory in place.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _creation, _elementwise, _indexing, _interop, _memory, _shapes, _whole
from gridstride.numba.cuda import _devices

_I64 = np.dtype(np.int64)
_KERNELS = """
def merge(keys, order, keys_out, order_out, run, n):
    row, j = tid()
    key = keys[row, j]
    at = place(keys, row, j, key, run, n)
    keys_out[row, at] = key
    order_out[row, at] = order[row, j]

def search(a, v, out, n, right):
    j = tid()
    out[j] = bound(a, 0, 0, n, v[j], right)
"""
_CORES = """
def bound(keys, row, low, high, key, right):
    while low < high:
        middle = (low + high) // 2
        other = keys[row, middle]
        goes_on = not less(key, other) if right else less(other, key)
        if goes_on:
            low = middle + 1
        else:
            high = middle
    return low

def place(keys, row, j, key, run, n):
    j = t_int64(j)
    this = j // run
    first = (this // 2) * 2 * run
    if this % 2 == 0:
        low = min(first + run, n)
        found = bound(keys, row, low, min(low + run, n), key, False)
        return j + found - low
    return first + (j - this * run) + bound(keys, row, first, first + run, key, True) - first
"""
_LESS = {
    "c": "np.less(x, y) or (x == x and y != y)",
    "f": "x < y or (x == x and y != y)",
    "b": "not x and y",
}


@cache
def _kernel(name: str, dtype: np.dtype[Any]) -> Any:
    less = f"def less(x, y):\n    return {_LESS.get(dtype.kind, 'x < y')}\n"
    names: dict[str, Any] = {"less": _elementwise.device_function("less", less, {})}
    first, second = _CORES.strip().split("\n\n")
    names["bound"] = _elementwise.device_function("bound", first + "\n", names)
    names["place"] = _elementwise.device_function("place", second + "\n", names)
    array, i64, elem = _native.Type.array, _native.Type.scalar("i64"), _memory.elem(dtype)
    keys = array(elem, 2)
    merge, search = _KERNELS.strip().split("\n\n")
    if name == "merge":
        orders = array(i64, 2)
        types = {"keys": keys, "order": orders, "keys_out": keys, "order_out": orders, "run": i64, "n": i64}
        return _elementwise.kernel("merge", merge + "\n", names, types)
    flag = _native.Type.scalar("bool")
    types = {"a": keys, "v": array(elem, 1), "out": array(i64, 1), "n": i64, "right": flag}
    return _elementwise.kernel("search", search + "\n", names, types)


def merge_sorted(rows: Any) -> tuple[Any, Any]:
    """The rows of a contiguous matrix in order, and the places where their elements were."""
    n = rows._shape[1]
    keys, order = rows, _shapes.broadcast_to(_creation.arange(n), rows._shape).copy()
    run = 1
    while run < n:
        keys_out, order_out = _array.fresh(rows._dtype, rows._shape), _array.fresh(_I64, rows._shape)
        _elementwise.launch(_kernel("merge", rows._dtype), rows._shape, [keys, order, keys_out, order_out, run, n])
        keys, order = keys_out, order_out
        run *= 2
    return keys, order


def _along(a: Any, axis: Any) -> tuple[Any, int]:
    """An array and the axis to sort along; all elements in one dimension for None."""
    a = _interop.asarray(a)
    if axis is None:
        return a.ravel(), 0
    if not a.ndim:
        raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
    return a, _shapes._axis(axis, a.ndim)


def _sorted(a: Any, axis: Any, wants_order: bool) -> Any:
    a, axis = _along(a, axis)
    if _devices.gpu() is None:
        return _array.over(np.argsort(a._host, axis, kind="stable") if wants_order else np.sort(a._host, axis))
    moved = _shapes.moveaxis(a, axis, -1)
    n = moved._shape[-1]
    if not moved.size:
        return _array.fresh(_I64 if wants_order else a._dtype, a._shape)
    rows = moved.reshape(-1, n).copy()
    keys, order = _whole.order_of_rows(rows) if _whole.fits(rows) and rows._dtype.kind != "c" else merge_sorted(rows)
    return _shapes.moveaxis((order if wants_order else keys).reshape(moved._shape), -1, axis)


def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: bool | None = None) -> Any:
    """The elements in order along an axis; NaNs at the end. On the CPU device NumPy sorts."""
    return _sorted(a, axis, False)


def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: bool | None = None) -> Any:
    """The places of the elements in order along an axis; equal ones keep theirs. On the CPU device NumPy sorts."""
    return _sorted(a, axis, True)


def lexsort(keys: Any) -> Any:
    """The order by several keys, the last of which counts first."""
    keys = [_interop.asarray(one) for one in keys]
    order = argsort(keys[0])
    for one in keys[1:]:
        order = order[argsort(one[order])]
    return order


def partition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """As `sort`: every element is where it is in order."""
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """As `argsort`."""
    return argsort(a, axis)


def sort_complex(a: Any) -> Any:
    """The elements as complex numbers in order."""
    a = _interop.asarray(a)
    return sort(a.astype(np.result_type(a._dtype, np.complex64)))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where values go in a sorted array: before equal elements, or behind them for a `side` of "right"."""
    if side not in ("left", "right"):
        raise ValueError(f"Invalid side '{side}': it is 'left' or 'right'")
    a, v = _interop.asarray(a), _interop.asarray(v)
    if a.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    if sorter is not None:
        a = _indexing.take(a, sorter)
    dtype = np.result_type(a._dtype, v._dtype)
    keys = a.astype(dtype, copy=False, order="C").reshape(1, -1)
    values = v.astype(dtype, copy=False).ravel()
    out = _array.fresh(_I64, (values.size,))
    if values.size:
        _elementwise.launch(_kernel("search", dtype), values.size, [keys, values, out, keys.size, side == "right"])
    return out.reshape(v._shape)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Which of the bins between increasing edges each value is in."""
    return searchsorted(bins, x, "left" if right else "right")


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """The different elements in order; where each came first, which one each element is, how many there are of each."""
    if axis is not None:
        raise NotImplementedError("`axis` is not available: unique elements are found, not rows")
    ar = _interop.asarray(ar)
    if _devices.gpu() is None:
        made = np.unique(ar._host, return_index, return_inverse, return_counts, equal_nan=equal_nan)
        return tuple(map(_array.over, made)) if isinstance(made, tuple) else _array.over(made)
    return _unique_on_gpu(ar, return_index, return_inverse, return_counts, equal_nan)


def _unique_on_gpu(ar: Any, return_index: bool, return_inverse: bool, return_counts: bool, equal_nan: bool) -> Any:
    from gridstride.cupy import _reductions, _scans

    flat = ar.ravel()
    if return_index or return_inverse:
        order = argsort(flat)
        keys = _indexing.take(flat, order, checked=False) if flat.size else flat
    else:
        order, keys = None, sort(flat)
    is_first = _creation.ones(flat.size, bool)
    if flat.size:
        different = keys[1:] != keys[:-1]
        if equal_nan and flat._dtype.kind in "fc":
            different &= ~((keys[1:] != keys[1:]) & (keys[:-1] != keys[:-1]))
        is_first[1:] = different
    starts = _reductions.flatnonzero(is_first)
    found = [_indexing.take(keys, starts, checked=False) if flat.size else keys]
    if return_index:
        found.append(_indexing.take(order, starts, checked=False) if flat.size else order)
    if return_inverse:
        inverse = _array.fresh(_I64, flat._shape)
        inverse[order] = _scans.cumsum(is_first) - 1
        found.append(inverse.reshape(ar._shape))
    if return_counts:
        ends = _shapes.concatenate([starts, _creation.array([flat.size])])
        found.append(ends[1:] - ends[:-1])
    return found[0] if len(found) == 1 else tuple(found)


def unique_values(x: Any) -> Any:
    """The different elements in order."""
    return unique(x)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is among others."""
    element, others = _interop.asarray(element), sort(_interop.asarray(test_elements), None)
    if not others.size:
        return _creation.full(element._shape, invert, bool)
    at = searchsorted(others, element)
    found = _indexing.take(others, at, mode="clip") == element
    return ~found if invert else found


in1d = isin


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements that are in both arrays, in order."""
    ar1, ar2 = _interop.asarray(ar1), _interop.asarray(ar2)
    found = unique(ar1.astype(np.result_type(ar1._dtype, ar2._dtype)))
    return found[isin(found, ar2)]


def union1d(ar1: Any, ar2: Any) -> Any:
    """The elements that are in one of two arrays, in order."""
    return unique(_shapes.concatenate([ar1, ar2], None))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of an array that are not in another, in order."""
    found = unique(ar1)
    return found[~isin(found, ar2)]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements that are in one of two arrays and not in the other, in order."""
    return sort(_shapes.concatenate([setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)]))
