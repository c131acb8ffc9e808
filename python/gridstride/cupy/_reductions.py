"""Sums, products, extremes, means, tests of all elements of an array or along its axes; where elements are true."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gridstride.cupy import _array, _creation, _elementwise, _interop, _ufunc_functions
from gridstride.cupy._elementwise import BOOL
from gridstride.cupy._reduce import Fold, axes_of, reduce

_I64 = np.dtype(np.int64)


def _finish(found: Any, a: Any, axes: tuple[int, ...], out: Any, keepdims: bool) -> Any:
    if keepdims:
        found = found.reshape(tuple(1 if k in axes else n for k, n in enumerate(a._shape)))
    if out is None:
        return found
    if not isinstance(out, _array.ndarray) or out._shape != found._shape:
        raise ValueError(f"`out` must be an array of shape {found._shape}")
    _creation.copyto(out, found, casting="unsafe")
    return out


def _along(make_fold: Callable[[Any], Fold], a: Any, axis: Any, out: Any, keepdims: bool, numpy: Any = None) -> Any:
    """What the fold for an array leaves along axes. `numpy` does the same to few elements of the host's memory."""
    a = _interop.asarray(a)
    axes = axes_of(axis, a.ndim)
    if numpy is not None and 0 < a.size <= _array.FEW and a._is_host and a._dtype != np.float16:
        with np.errstate(all="ignore"):
            found = _array.over(numpy(a._host, axes))
    else:
        found = reduce(make_fold(a), a, axes)
    return _finish(found, a, axes, out, keepdims)


@cache
def _sum_fold(source: np.dtype[Any], result: np.dtype[Any], ignores_nan: bool = False) -> Fold:
    wide = np.dtype(np.float32) if result == np.float16 else result
    x = _elementwise.converted("x", source, wide)
    if ignores_nan:
        x = f"{_zero(wide)} if x != x else {x}"
    return Fold("sum", source, [wide], [x], ["p0 + q0"], "p0", result, ["0"])


def _zero(dtype: np.dtype[Any]) -> str:
    return f"t_{dtype.name}(0)"


@cache
def _prod_fold(source: np.dtype[Any], result: np.dtype[Any], ignores_nan: bool = False) -> Fold:
    wide = np.dtype(np.float32) if result == np.float16 else result
    x = _elementwise.converted("x", source, wide)
    if ignores_nan:
        x = f"t_{wide.name}(1) if x != x else {x}"
    return Fold("prod", source, [wide], [x], ["p0 * q0"], "p0", result, ["1"])


@cache
def _extreme_fold(name: str, source: np.dtype[Any], ignores_nan: bool = False) -> Fold:
    from gridstride.cupy import _ufunc_table

    if source.kind == "b":
        join = "p0 | q0" if name == "max" else "p0 & q0"
    else:
        ufunc = {"max": "fmax" if ignores_nan else "maximum", "min": "fmin" if ignores_nan else "minimum"}[name]
        join = _ufunc_table.results(ufunc, source.kind)[0].replace("x0", "p0").replace("x1", "q0")
    return Fold(name, source, [source], ["x"], [join], "p0", source, None, names=_ufunc_functions.functions())


@cache
def _place_fold(name: str, source: np.dtype[Any], ignores_nan: bool = False) -> Fold:
    sign = ">" if name == "argmax" else "<"
    if source.kind == "c":
        better = f"np.{'greater' if sign == '>' else 'less'}(q0, p0)"
    elif source.kind == "b":
        better = "q0 and not p0" if sign == ">" else "p0 and not q0"
    else:
        better = f"q0 {sign} p0"
    if source.kind in "fc" and not ignores_nan:
        # The first NaN, where there is one, is the extreme.
        better = f"(q0 != q0 and p0 == p0) or ({better})"
    elif source.kind in "fc":
        better = f"(p0 != p0 and q0 == q0) or ({better})"
    tie = "(q0 != q0 and p0 != p0)" if source.kind in "fc" else "False"
    lines = [f"takes = {better} or ((q0 == p0 or {tie}) and q1 < p1)"]
    join = ["q0 if takes else p0", "q1 if takes else p1"]
    return Fold(
        name, source, [source, _I64], ["x", "k"], join, "p1", _I64, None, lines, ordered_lines=[f"takes = {better}"]
    )


@cache
def _test_fold(name: str, source: np.dtype[Any]) -> Fold:
    join, empty = ("p0 or q0", "False") if name == "any" else ("p0 and q0", "True")
    return Fold(name, source, [BOOL], ["x != 0"], [join], "p0", BOOL, [empty])


@cache
def _moment_fold(source: np.dtype[Any], wide: np.dtype[Any], what: str, ddof: float, ignores_nan: bool = False) -> Fold:
    """Count, mean and sum of squares about it, joined as Chan, Golub and LeVeque do (1983)."""
    f = f"t_{wide.name}"
    mean = np.dtype(np.complex64 if wide == np.float32 else np.complex128) if source.kind == "c" else wide
    square = f"t_{wide.name}(abs(d) * abs(d))" if source.kind == "c" else "d * d"
    lines = [
        "m = p0 + q0",
        "d = q1 - p1",
        f"w = q0 / m if m != 0 else {f}(0)",
    ]
    join = ["m", "p1 + d * w", f"p2 + q2 + {square} * p0 * w"]
    x = _elementwise.converted("x", source, mean)
    first = [
        f"{f}(0) if x != x else {f}(1)" if ignores_nan else "1",
        f"t_{mean.name}(0) if x != x else {x}" if ignores_nan else x,
        "0",
    ]
    by = f"(p0 - {f}({ddof!r}))"
    last = f"(p2 / {by} if {by} > 0 else {f}(p2 / {f}(0)))"
    if what == "std":
        last = f"np.sqrt({last})"
    result = np.dtype(np.float16) if source == np.float16 else wide
    # Elements less the thread's first one: their sum and the sum of their squares lose no digits.
    y = f"t_{mean.name}({x})"
    begin = [f"shift = {y}", f"c = {f}(0)", f"s = t_{mean.name}(0)", f"t = {f}(0)"]
    size = "(d.real * d.real + d.imag * d.imag)" if source.kind == "c" else "d * d"
    each = [f"d = {y} - shift", f"c = {f}(c + 1)", f"s = t_{mean.name}(s + d)", f"t = {f}(t + {size})"]
    if ignores_nan:
        begin[0] = f"shift = {y} if x == x else t_{mean.name}(0)"
        each = [
            "there = x == x",
            f"d = {y} - shift if there else t_{mean.name}(0)",
            f"c = {f}(c + 1) if there else c",
            *each[2:],
        ]
    total = "(s.real * s.real + s.imag * s.imag)" if source.kind == "c" else "s * s"
    end = [
        "p0 = c",
        f"p1 = shift + t_{mean.name}(s / c) if c != 0 else t_{mean.name}(0)",
        f"p2 = {f}(t - {total} / c) if c != 0 else {f}(0)",
    ]
    walk = (begin, each, end)
    return Fold(what, source, [wide, mean, wide], first, join, last, result, ["0", "0", "0"], lines, walk=walk)


def _sum_dtype(a: Any, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:
        return np.dtype(dtype)
    if a._dtype.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if a._dtype.kind == "u" else a._dtype


def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The sum of the elements, or along axes. Small integers are summed as 64-bit ones, float16 as float32."""

    def fold(a: Any) -> Fold:
        return _sum_fold(a._dtype, _sum_dtype(a, dtype))

    return _along(fold, a, axis, out, keepdims, lambda x, axes: x.sum(axes, dtype))


def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The product of the elements, or along axes."""

    def fold(a: Any) -> Fold:
        return _prod_fold(a._dtype, _sum_dtype(a, dtype))

    return _along(fold, a, axis, out, keepdims, lambda x, axes: x.prod(axes, dtype))


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """As `sum`; NaNs count as 0."""

    def fold(a: Any) -> Fold:
        return _sum_fold(a._dtype, _sum_dtype(a, dtype), a._dtype.kind in "fc")

    return _along(fold, a, axis, out, keepdims)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """As `prod`; NaNs count as 1."""

    def fold(a: Any) -> Fold:
        return _prod_fold(a._dtype, _sum_dtype(a, dtype), a._dtype.kind in "fc")

    return _along(fold, a, axis, out, keepdims)


def max(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest element, or along axes; NaN where there is one. Raises `ValueError` for no elements."""
    return _along(lambda a: _extreme_fold("max", a._dtype), a, axis, out, keepdims, lambda x, axes: x.max(axes))


def min(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The smallest element, or along axes; NaN where there is one. Raises `ValueError` for no elements."""
    return _along(lambda a: _extreme_fold("min", a._dtype), a, axis, out, keepdims, lambda x, axes: x.min(axes))


def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest number, or along axes, NaNs left out."""
    return _along(lambda a: _extreme_fold("max", a._dtype, True), a, axis, out, keepdims)


def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The smallest number, or along axes, NaNs left out."""
    return _along(lambda a: _extreme_fold("min", a._dtype, True), a, axis, out, keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The distance of the largest and the smallest element, or along axes."""
    from gridstride.cupy import _ufuncs

    found = _ufuncs.ALL["subtract"](max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    return found if out is None else _finish(found, found, (), out, False)


def _place(name: str, a: Any, axis: Any, out: Any, keepdims: bool, ignores_nan: bool = False) -> Any:
    a = _interop.asarray(a)
    axes = axes_of(axis, a.ndim)
    if not math.prod(a._shape[k] for k in axes):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if len(axes) == 1 or axis is None:
        # Along all axes, the place is that in row-major order.
        flat, along = (a.ravel(), 0) if axis is None else (a, axes[0])
        few = None if ignores_nan else lambda x, _: getattr(x, name)(along)
        found = _along(lambda a: _place_fold(name, a._dtype, ignores_nan), flat, along, None, False, few)
        return _finish(found, a, axes, out, keepdims)
    return _finish(reduce(_place_fold(name, a._dtype, ignores_nan), a, axes), a, axes, out, keepdims)


def argmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The place of the first largest element, or along an axis."""
    return _place("argmax", a, axis, out, keepdims)


def argmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The place of the first smallest element, or along an axis."""
    return _place("argmin", a, axis, out, keepdims)


def nanargmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The place of the first largest number, or along an axis."""
    return _place("argmax", a, axis, out, keepdims, True)


def nanargmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The place of the first smallest number, or along an axis."""
    return _place("argmin", a, axis, out, keepdims, True)


def any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Whether an element is true, or along axes."""
    return _along(lambda a: _test_fold("any", a._dtype), a, axis, out, keepdims, lambda x, axes: x.any(axes))


def all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true, or along axes."""
    return _along(lambda a: _test_fold("all", a._dtype), a, axis, out, keepdims, lambda x, axes: x.all(axes))


def _float_dtype(a: Any, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:
        return np.dtype(dtype)
    return np.dtype(np.float64) if a._dtype.kind in "biu" else a._dtype


@cache
def _mean_fold(source: np.dtype[Any], result: np.dtype[Any], ignores_nan: bool) -> Fold:
    wide = np.dtype(np.float32) if result == np.float16 else result
    x = _elementwise.converted("x", source, wide)
    if not ignores_nan:
        return Fold("mean", source, [wide], [x], ["p0 + q0"], f"p0 / t_{wide.name}(n)", result, ["0"])
    first = [f"{_zero(wide)} if x != x else {x}", "0 if x != x else 1"]
    return Fold(
        "nanmean", source, [wide, _I64], first, ["p0 + q0", "p1 + q1"], f"p0 / t_{wide.name}(p1)", result, ["0", "0"]
    )


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The mean of the elements, or along axes: a float64 for integers."""

    def fold(a: Any) -> Fold:
        return _mean_fold(a._dtype, _float_dtype(a, dtype), False)

    return _along(fold, a, axis, out, keepdims, lambda x, axes: x.mean(axes, dtype))


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The mean of the numbers, or along axes, NaNs left out."""

    def fold(a: Any) -> Fold:
        return _mean_fold(a._dtype, _float_dtype(a, dtype), a._dtype.kind in "fc")

    return _along(fold, a, axis, out, keepdims)


def _moment(what: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: bool, ignores_nan: bool) -> Any:
    def fold(a: Any) -> Fold:
        wide = _float_dtype(a, dtype)
        if wide.kind == "c":
            wide = np.dtype(np.float32 if wide == np.complex64 else np.float64)
        wide = np.dtype(np.float32) if wide == np.float16 else wide
        return _moment_fold(a._dtype, wide, what, float(ddof), ignores_nan and a._dtype.kind in "fc")

    return _along(fold, a, axis, out, keepdims)


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The variance, or along axes: the mean of the squares about the mean, over n - `ddof`."""
    return _moment("var", a, axis, dtype, out, ddof, keepdims, False)


def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
    """The standard deviation, or along axes."""
    return _moment("std", a, axis, dtype, out, ddof, keepdims, False)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The variance of the numbers, or along axes, NaNs left out."""
    return _moment("var", a, axis, dtype, out, ddof, keepdims, True)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The standard deviation of the numbers, or along axes, NaNs left out."""
    return _moment("std", a, axis, dtype, out, ddof, keepdims, True)


amax, amin = max, min


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero, or along axes."""
    return sum(_interop.asarray(a) != 0, axis, keepdims=keepdims)


def nonzero(a: Any) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, an array for each dimension."""
    from gridstride.cupy import _indexing

    a = _interop.asarray(a)
    if not a.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use cupy.atleast_1d(scalar).nonzero() instead.")
    flat = flatnonzero(a)
    return (flat,) if a.ndim == 1 else _indexing.unravel_index(flat, a._shape)


def argwhere(a: Any) -> Any:
    """The indices of the elements that are not zero, a row for each."""
    from gridstride.cupy import _shapes

    a = _interop.asarray(a)
    return _shapes.stack(nonzero(a), 1) if a.ndim else _creation.zeros((int(bool(a)), 0), np.int64)


def flatnonzero(a: Any) -> Any:
    """The numbers of the elements that are not zero, in row-major order."""
    from gridstride.cupy import _scans

    flat = _interop.asarray(a).ravel()
    return _scans.selected(flat if flat._dtype.kind == "b" else flat != 0)


_OF_UFUNC = {
    "add": sum,
    "multiply": prod,
    "maximum": max,
    "minimum": min,
    "fmax": nanmax,
    "fmin": nanmin,
    "logical_and": all,
    "logical_or": any,
}


def of_ufunc(name: str, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> Any:
    """`ufunc.reduce`."""
    found = _OF_UFUNC.get(name)
    if found is None:
        raise ValueError(f"`{name}.reduce` is not available: {', '.join(_OF_UFUNC)} have it")
    options = {"dtype": dtype} if name in ("add", "multiply") else {}
    return found(array, axis=axis, out=out, keepdims=keepdims, **options)
