"""New arrays: filled, counted, copied, converted."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gridstride.cupy import _array, _elementwise, _interop, _layout
from gridstride.cupy._elementwise import Body

_copies: dict[Any, Body] = {}
_counts: dict[Any, Body] = {}


def _copy_body(given: np.dtype[Any], wanted: np.dtype[Any]) -> Body:
    """Reads one type and stores another."""
    found = _copies.get((given, wanted))
    if found is None:
        text = _elementwise.converted("x0", given, wanted)
        found = _copies[given, wanted] = Body("copy", [text], (given,), (wanted,))
    return found


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Copies numbers to an array, which they are stretched to; where `where` is true, if it is given.

    Raises `TypeError` for a conversion that `casting` does not allow, `ValueError` for shapes that do not fit.
    """
    if not isinstance(dst, _array.ndarray):
        raise TypeError(f"`dst` must be a cupy.ndarray, got {type(dst).__name__}")
    if isinstance(src, bool | int | float | complex):
        if isinstance(src, complex) and dst._dtype.kind != "c":
            raise TypeError(f"Cannot cast a complex number to {dst._dtype}")
        given, source = (
            dst._dtype,
            _elementwise.number(
                dst._dtype.type(src) if casting != "unsafe" else np.asarray(src).astype(dst._dtype)[()], dst._dtype
            ),
        )
    else:
        source = src if isinstance(src, _array.ndarray) else _interop.asarray(src)
        given = source._dtype
        if not np.can_cast(given, dst._dtype, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {given!r} to {dst._dtype!r} according to the rule {casting!r}"
            )
        if _layout.broadcast([source._shape, dst._shape]) != dst._shape:
            extra = source._shape[: source.ndim - dst.ndim]
            if source.ndim <= dst.ndim or any(one != 1 for one in extra):
                raise ValueError(f"could not broadcast input array from shape {source._shape} into shape {dst._shape}")
            source = source.reshape(source._shape[len(extra) :])
        if source is not dst and _array._native.overlap(source, dst):
            source = source.copy()
    if where is not None and where is not True:
        where = _interop.asarray(where)
        if where._dtype != _elementwise.BOOL:
            raise TypeError("`where` must be an array of bools")
    else:
        where = None
    _array.before_write(dst, "cupy.copyto")
    _elementwise.run(_copy_body(given, dst._dtype), (source,), (dst,), where)


def astype(
    x: Any, dtype: Any, *, copy: bool = True, order: str = "K", casting: str = "unsafe", device: Any = None
) -> Any:
    """An array with elements of another type. Without `copy` the array itself where nothing would change."""
    wanted = np.dtype(dtype).newbyteorder("=")
    is_f = x._strides is not None and x._memory.flags.f_contiguous
    kept = order == "K" or order == "A" or (order == "C" and x._strides is None) or (order == "F" and is_f)
    if not copy and wanted == x._dtype and kept:
        return x
    if not np.can_cast(x._dtype, wanted, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {x._dtype!r} to {wanted!r} according to the rule {casting!r}")
    if order == "K" and not is_f and x._strides is not None and x.size:
        # The order of the dimensions in memory stays.
        axes = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
        made = _array.fresh(wanted, tuple(x._shape[axis] for axis in axes))
        made = made.transpose(tuple(np.argsort(axes).tolist()))
    else:
        made = _array.fresh(wanted, x._shape, "F" if order == "F" or (order in ("K", "A") and is_f) else "C")
    _elementwise.run(_copy_body(x._dtype, wanted), (x,), (made,))
    return made


def empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Any:
    """A new array whose elements are not set."""
    return _array.fresh(np.dtype(dtype).newbyteorder("="), _array._extents(shape), order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """A new array of equal elements."""
    if dtype is None:
        dtype = fill_value.dtype if hasattr(fill_value, "dtype") else np.array(fill_value).dtype
    made = empty(shape, dtype, order)
    copyto(made, fill_value, casting="unsafe")
    return made


def zeros(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Any:
    """A new array of zeros."""
    return full(shape, 0, dtype, order)


def ones(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> Any:
    """A new array of ones."""
    return full(shape, 1, dtype, order)


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """A new array of another's shape and dtype, or of those given, whose elements are not set."""
    prototype = _interop.asarray(prototype)
    wanted = prototype._dtype if dtype is None else np.dtype(dtype)
    extents = prototype._shape if shape is None else _array._extents(shape)
    is_f = prototype._strides is not None and prototype._memory.flags.f_contiguous
    return _array.fresh(wanted, extents, "F" if order == "F" or (order in ("K", "A") and is_f) else "C")


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> Any:
    """A new array of another's shape and dtype, of equal elements."""
    made = empty_like(a, dtype, order, subok, shape)
    copyto(made, fill_value, casting="unsafe")
    return made


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """A new array of another's shape and dtype, of zeros."""
    return full_like(a, 0, dtype, order, subok, shape)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """A new array of another's shape and dtype, of ones."""
    return full_like(a, 1, dtype, order, subok, shape)


def array(
    object: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = True,
) -> Any:
    """An array with the elements of another, of NumPy's, or of nested lists of numbers and arrays."""
    made = _interop.asarray(object, dtype, None if order == "K" else order)
    if copy and made is object or copy and made.base is object or copy and made._owner is object:
        made = made.copy(order or "K")
    return made.reshape((1,) * (ndmin - made.ndim) + made._shape) if made.ndim < ndmin else made


def asarray(a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = True, **_: Any) -> Any:
    """A value as an array, without a copy where it is one of the device's already. As `array` otherwise."""
    return _interop.asarray(a, dtype, None if order == "K" else order)


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """An array without gaps in row-major order: a copy where it is not one."""
    found = _interop.asarray(a, dtype, "C")
    return found if found.ndim else found.reshape(1)


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """An array without gaps in Fortran's order: a copy where it is not one."""
    return _interop.asarray(a, dtype, "F")


def copy(a: Any, order: str = "K") -> Any:
    """A copy."""
    return _interop.asarray(a).copy(order)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Numbers at equal steps, the end left out."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if dtype is None:
        dtype = np.result_type(*(np.asarray(one).dtype for one in (start, stop, step)))
    dtype = np.dtype(dtype)
    if step == 0:
        raise ZeroDivisionError("the step of arange is zero")
    count = max(0, math.ceil((stop - start) / step))
    if dtype.kind == "b":
        if count > 2:
            raise TypeError("no fill-function for data-type.")
        return array([bool(start), bool(start + step)][:count], dtype=bool)
    if dtype.kind in "iu":
        start, step = operator.index(int(start)), operator.index(int(step))
    else:
        # As NumPy: the step is the difference of the first two elements.
        step = (dtype.type(start + step) - dtype.type(start)).item()
    return _counted(count, start, step, dtype)


def _counted(count: int, start: Any, step: Any, dtype: np.dtype[Any]) -> Any:
    """`start + i * step` for each element, computed in the widest type of the kind."""
    body = _counts.get(dtype)
    wide = np.dtype(np.complex128 if dtype.kind == "c" else np.float64 if dtype.kind == "f" else np.int64)
    if dtype == np.float32:
        wide = dtype
    if body is None:
        i = "i" if wide.kind == "i" else f"t_{wide.name}(i)"
        body = _counts[dtype] = Body("count", [f"x0 + {i} * x1"], (wide, wide), (dtype,), indexed=True)
    made = _array.fresh(dtype, (count,))
    if count:
        values = [int(np.uint64(one % 2**64).astype(np.int64)) if wide.kind == "i" else one for one in (start, step)]
        _elementwise.run(body, [_elementwise.number(one, wide) for one in values], (made,))
    return made


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers at equal distances between two, or between the elements of two arrays along a new axis."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative")
    parts = num - 1 if endpoint else num
    if isinstance(start, _array.ndarray) or isinstance(stop, _array.ndarray):
        start, stop = _interop.asarray(start), _interop.asarray(stop)
        wanted = np.result_type(start._dtype, stop._dtype, float) if dtype is None else np.dtype(dtype)
        start, stop = start * 1.0, stop * 1.0
        step = (stop - start) / (parts or math.nan)
        shape = _layout.broadcast([start._shape, stop._shape])
        index = arange(num, dtype=float).reshape((num,) + (1,) * len(shape))
        made = start + index * step if parts else start + index * 0
        if endpoint and num > 1:
            made[-1] = stop
        made = np.moveaxis(made, 0, axis) if axis else made
        made = _floored(made, wanted)
        return (made, step) if retstep else made
    wanted = np.result_type(start, stop, 1.0) if dtype is None else np.dtype(dtype)
    wide = np.dtype(np.complex128 if isinstance(start, complex) or isinstance(stop, complex) else np.float64)
    step = (stop - start) / parts if parts else math.nan
    made = _counted(num, start, step if parts else 0.0, wide)
    if endpoint and num > 1:
        made[-1] = stop
    made = _floored(made, wanted)
    return (made, step) if retstep else made


def _floored(made: Any, wanted: np.dtype[Any]) -> Any:
    if wanted.kind in "iu":
        from gridstride.cupy import _ufuncs

        made = _ufuncs.ALL["floor"](made)
    return made.astype(wanted, copy=False)


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Powers of `base` at exponents of equal distances."""
    from gridstride.cupy import _ufuncs

    found = _ufuncs.ALL["power"](float(base), linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    """Numbers between two at equal ratios."""
    found = logspace(math.log10(start), math.log10(stop), num, endpoint)
    if num:
        found[0] = start
    if endpoint and num > 1:
        found[-1] = stop
    return found if dtype is None else found.astype(dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None) -> Any:
    """Ones on a diagonal, `k` above the main one, and zeros."""
    rows, columns = operator.index(N), operator.index(N if M is None else M)
    made = zeros((rows, columns), dtype, order)
    made.diagonal(k)[...] = 1
    return made


def identity(n: int, dtype: Any = float) -> Any:
    """A square array of ones on the diagonal and zeros."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """Ones at and below a diagonal."""
    rows, columns = arange(N).reshape(-1, 1), arange(N if M is None else M)
    return (columns <= rows + k).astype(dtype)


def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or a matrix with this diagonal."""
    v = _interop.asarray(v)
    if v.ndim == 2:
        return v.diagonal(k).copy()
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d")
    n = v.size + abs(k)
    made = zeros((n, n), v._dtype)
    made.diagonal(k)[...] = v
    return made


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix whose diagonal has all elements of an array."""
    return diag(_interop.asarray(v).ravel(), k)


def tril(m: Any, k: int = 0) -> Any:
    """A matrix with zeros above a diagonal."""
    from gridstride.cupy import _mathematics

    m = _interop.asarray(m)
    return _mathematics.where(tri(*m.shape[-2:], k=k, dtype=bool), m, m.dtype.type(0))


def triu(m: Any, k: int = 0) -> Any:
    """A matrix with zeros below a diagonal."""
    from gridstride.cupy import _mathematics

    m = _interop.asarray(m)
    return _mathematics.where(tri(*m.shape[-2:], k=k - 1, dtype=bool), m.dtype.type(0), m)


def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    """Coordinates of a grid from coordinates along its axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    axes = [_interop.asarray(one).reshape(-1) for one in xi]
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        order[0], order[1] = 1, 0
    shape = [0] * len(axes)
    for axis, one in zip(order, axes, strict=True):
        shape[axis] = one.size
    found = []
    for axis, one in zip(order, axes, strict=True):
        extents = [1] * len(axes)
        extents[axis] = one.size
        spread = one.reshape(tuple(extents))
        if not sparse:
            from gridstride.cupy import _shapes

            spread = _shapes.broadcast_to(spread, tuple(shape))
        found.append(spread.copy() if copy else spread)
    return found


def indices(dimensions: Any, dtype: Any = int) -> Any:
    """The indices of all elements of a shape: one array for each dimension."""
    extents = tuple(dimensions)
    made = empty((len(extents), *extents), dtype)
    for axis, extent in enumerate(extents):
        made[axis] = arange(extent, dtype=dtype).reshape((-1,) + (1,) * (len(extents) - axis - 1))
    return made


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **options: Any) -> Any:
    """A function of the indices of all elements."""
    return function(*indices(shape, dtype), **options)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """A copy of bytes of the host as numbers."""
    return _array.of_host(np.frombuffer(buffer, dtype, count, offset))


def fromiter(iterable: Any, dtype: Any, count: int = -1) -> Any:
    """An array of what an iterator gives."""
    return _array.of_host(np.fromiter(iterable, dtype, count))
