"""Indices: slices are views; arrays of integers and of bools select elements, which are copied.

Arrays of integers are brought to one array of numbers of elements along one axis; a kernel then moves rows:

    out[l, j, r] = a[l, index[j], r]

An index out of bounds raises `IndexError`, as NumPy's does. (CuPy's own wraps around silently.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _creation, _elementwise, _interop, _memory, _shapes, _whole
from gridstride.numba.cuda import _devices

_I64 = np.dtype(np.int64)


def get(a: Any, key: Any) -> Any:
    """`a[key]`."""
    keys = _keys(a, key)
    if keys is None:
        memory = a._memory[key if isinstance(key, tuple) else (key,)] if _has_ellipsis(key) else a._memory[_open(key)]
        return _array.view(a, memory)
    if _array.are_few(a, *(one for one in keys if isinstance(one, _array.ndarray))):
        return _array.over(a._host[tuple(one._host if isinstance(one, _array.ndarray) else one for one in keys)])
    where = _only_mask(a, keys)
    if where is not None:
        return _selected(a.ravel(), where.ravel())
    a, axis, index, shape = _plan(a, keys)
    made = take(a, index.ravel(), axis, checked=False)
    return made.reshape(a._shape[:axis] + shape + a._shape[axis + 1 :])


def set(a: Any, key: Any, value: Any) -> None:
    """`a[key] = value`."""
    keys = _keys(a, key)
    if keys is None:
        memory = a._memory[key if isinstance(key, tuple) else (key,)] if _has_ellipsis(key) else a._memory[_open(key)]
        if memory.size:
            _assign(_array.view(a, memory), value)
        return
    where = _only_mask(a, keys)
    if where is not None and (not isinstance(value, _array.ndarray) or value.size == 1) and np.ndim(value) == 0:
        _creation.copyto(a, value if not isinstance(value, _array.ndarray) else value.reshape(()), "unsafe", where)
        return
    value = _interop.asarray(value)
    if where is not None:
        index = _flat_nonzero(where)
        if value.size not in (1, index.size):
            raise ValueError(
                f"NumPy boolean array indexing assignment cannot assign {value.size} input values to the "
                f"{index.size} output values where the mask is true"
            )
        put_rows(a, _shapes.ravel, index, 0, value)
        return
    moved, axis, index, shape = _plan(a, keys, writes=True)
    whole = moved._shape[:axis] + shape + moved._shape[axis + 1 :]
    spread = _shapes.broadcast_to(value.reshape(value._shape[max(0, value.ndim - len(whole)) :]), whole)
    rows = moved._shape[:axis] + (index.size,) + moved._shape[axis + 1 :]
    put_rows(moved, None, index.ravel(), axis, spread.reshape(rows))


def _selected(values: Any, where: Any) -> Any:
    """The elements whose flags are true."""
    if _devices.gpu() is None:
        return _array.over(values._host[where._host])
    if where.size and _whole.fits(where) and values._dtype.kind != "c":
        return _whole.selected(where, values)
    return take(values, _flat_nonzero(where), 0, checked=False)


def _assign(target: Any, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item() if value.dtype.kind != "c" or target._dtype.kind == "c" else value.real.item()
    if isinstance(value, np.ndarray | list | tuple):
        value = _interop.asarray(value)
    _creation.copyto(target, value, casting="unsafe")


def _has_ellipsis(key: Any) -> bool:
    return key is Ellipsis or isinstance(key, tuple) and any(one is Ellipsis for one in key)


def _open(key: Any) -> Any:
    """An index with an ellipsis at its end, so that NumPy gives a view for an element too."""
    return (*key, Ellipsis) if isinstance(key, tuple) else (key, Ellipsis)


def _keys(a: Any, key: Any) -> list[Any] | None:
    """An index for each dimension, where one is an array; None where all are slices and integers."""
    items = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(one, list | np.ndarray | _native.Array | bool | np.bool_) for one in items):
        for one in items:
            if not (one is None or one is Ellipsis or isinstance(one, slice | int | np.integer)):
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are "
                    f"valid indices, got {type(one).__name__}"
                )
        return None
    found: list[Any] = []
    for one in items:
        if isinstance(one, list | np.ndarray | _native.Array | bool | np.bool_):
            one = _interop.asarray(np.asarray(one, np.intp) if isinstance(one, list) and not one else one)
            if one._dtype.kind not in "iub":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
        found.append(one)
    used = sum(0 if one is None or one is Ellipsis else _n_dims(one) for one in found)
    if used > a.ndim:
        raise IndexError(f"too many indices for array: array is {a.ndim}-dimensional, but {used} were indexed")
    rest = [slice(None)] * (a.ndim - used)
    if Ellipsis in [one for one in found if not isinstance(one, _array.ndarray)]:
        at = next(k for k, one in enumerate(found) if one is Ellipsis)
        return [*found[:at], *rest, *found[at + 1 :]]
    return found + rest


def _n_dims(one: Any) -> int:
    return one.ndim if isinstance(one, _array.ndarray) and one._dtype.kind == "b" else 1


def _only_mask(a: Any, keys: list[Any]) -> Any:
    """The array of bools that is the whole index."""
    first = keys[0]
    is_mask = isinstance(first, _array.ndarray) and first._dtype.kind == "b" and first.ndim == a.ndim and len(keys) == 1
    if not is_mask:
        return None
    _check_mask(first, a._shape, 0)
    return first


def _check_mask(mask: Any, shape: tuple[int, ...], at: int) -> None:
    for k, extent in enumerate(mask._shape):
        if extent != shape[at + k]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {at + k}; size of axis is {shape[at + k]} but "
                f"size of corresponding boolean axis is {extent}"
            )


def _flat_nonzero(mask: Any) -> Any:
    from gridstride.cupy import _reductions

    return _reductions.flatnonzero(mask)


def _plan(a: Any, keys: list[Any], writes: bool = False) -> tuple[Any, int, Any, tuple[int, ...]]:
    """An index with arrays as an index along one axis: the array, the axis, numbers of elements along it, the shape
    that they stand for."""
    # Slices and new dimensions first: they are views.
    basic, arrays, at = [], [], 0
    places = []
    out_axis = 0
    for one in keys:
        if isinstance(one, _array.ndarray) and one._dtype.kind == "b":
            _check_mask(one, a._shape, at)
            from gridstride.cupy import _reductions

            for index in _reductions.nonzero(one) if one.ndim else ():
                arrays.append((index, a._shape[at]))
                basic.append(slice(None))
                places.append(out_axis)
                out_axis += 1
                at += 1
            if not one.ndim:
                basic.append(None)
                arrays.append((_creation.arange(1 if bool(one) else 0), 1))
                places.append(out_axis)
                out_axis += 1
        elif isinstance(one, _array.ndarray) or (isinstance(one, int | np.integer) and _is_mixed(keys)):
            arrays.append((_interop.asarray(one), a._shape[at]))
            basic.append(slice(None))
            places.append(out_axis)
            out_axis, at = out_axis + 1, at + 1
        elif one is None:
            basic.append(None)
            out_axis += 1
        else:
            basic.append(one)
            out_axis += isinstance(one, slice)
            at += 1
    a = _array.view(a, a._memory[tuple(basic)])
    first = places[0]
    if places != list(range(first, first + len(places))):
        # Apart from each other, they come first in the result.
        rest = [axis for axis in range(a.ndim) if axis not in places]
        a, first = a.transpose((*places, *rest)), 0
    extents = a._shape[first : first + len(arrays)]
    index = _numbers_of(arrays)
    merged = a._shape[:first] + (math.prod(extents),) + a._shape[first + len(arrays) :]
    if len(arrays) > 1:
        from gridstride.numba.cuda import _memory as described

        memory = described.reshaped(a._memory, merged)
        if memory is not None:
            a = _array.view(a, memory)
        elif not writes:
            a = a.reshape(merged)
        else:
            a = _Merged(a, merged)
    return a, first, index, index._shape


class _Merged:
    """An array that only a copy has in the shape wanted: written by way of that copy."""

    def __init__(self, target: Any, shape: tuple[int, ...]) -> None:
        self.target, self._shape = target, shape


def _is_mixed(keys: list[Any]) -> bool:
    """Whether integers are broadcast with the arrays beside them."""
    return any(isinstance(one, _array.ndarray) for one in keys)


def _numbers_of(arrays: list[tuple[Any, int]]) -> Any:
    """Arrays of indices along neighboring axes as one array of numbers of elements, checked and not negative."""
    found: Any = None
    for index, extent in arrays:
        index = checked(index, extent, "axis")
        found = index if found is None else found * extent + index
    return found


@cache
def _wrapped_body(dtype: np.dtype[Any]) -> Any:
    # An index far out of bounds stays so; -1 stands for one.
    text = "x0 if 0 <= x0 < x1 else (x0 + x1 if -x1 <= x0 < 0 else -1)"
    return _elementwise.Body("wrapped", [text], (_I64 if dtype.kind == "i" else np.dtype(np.int64), _I64), (_I64,))


def checked(index: Any, extent: int, what: str = "axis") -> Any:
    """Indices from 0 on; raises `IndexError` where one is out of bounds."""
    from gridstride.cupy import _reductions

    made = _array.fresh(_I64, index._shape)
    _elementwise.run(_wrapped_body(index._dtype), (index, extent), (made,))
    if made.size and int(_reductions.min(made)) < 0:
        # Which one, for the message, is looked up on the host.
        host = index.get()
        wrong = host[(host < -extent) | (host >= extent)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for {what} with size {extent}")
    return made


_ROWS = """
def take(a, index, out):
    l, j, r = tid()
    out[l, j, r] = a[l, index[j], r]

def put(a, index, values):
    l, j, r = tid()
    a[l, index[j], r] = values[l, j, r]
"""


@cache
def _row_kernel(name: str, elem: Any, rank: int) -> Any:
    text = next(one for one in _ROWS.strip().split("\n\n") if one.startswith(f"def {name}"))
    array = _native.Type.array
    if rank == 2:
        text = text.replace(", r]", "]").replace(", r =", " =")
    last = "out" if name == "take" else "values"
    types = {"a": array(elem, rank), "index": array(_memory.elem(_I64), 1), last: array(elem, rank)}
    return _elementwise.kernel(name, text + "\n", {}, types)


def _run_rows(name: str, a: Any, index: Any, other: Any, shape: tuple[int, ...]) -> None:
    """Runs a kernel over rows; elements, which are rows of one, are the threads' last index."""
    rank = 2 if shape[2] == 1 else 3
    views = [a._memory[..., 0], other._memory[..., 0]] if rank == 2 else None
    arrays = (a, other) if views is None else (_array.view(a, views[0]), _array.view(other, views[1]))
    kernel = _row_kernel(name, _memory.elem(a._dtype), rank)
    _elementwise.launch(kernel, shape[:rank], [arrays[0], _elementwise.flat(index), arrays[1]])


def three(a: Any, axis: int) -> Any:
    """An array as one of three dimensions around an axis, for kernels; None where only a copy is one."""
    left, right = math.prod(a._shape[:axis]), math.prod(a._shape[axis + 1 :])
    from gridstride.numba.cuda import _memory as described

    return described.reshaped(a._memory, (left, a._shape[axis], right))


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise", checked: bool = True) -> Any:
    """Elements, or rows along an axis, by their numbers. `mode` says what numbers out of bounds mean: "raise", "wrap",
    "clip"."""
    a, indices = _interop.asarray(a), _interop.asarray(indices)
    if axis is None:
        a, axis = a.ravel(), 0
    if not -a.ndim <= axis < a.ndim:
        raise np.exceptions.AxisError(axis, a.ndim)
    axis %= a.ndim
    extent = a._shape[axis]
    if out is None and checked and mode == "raise" and indices._dtype.kind in "iu" and _array.are_few(a, indices):
        return _array.over(a._host.take(indices._host, axis))
    if checked:
        indices = _in_bounds(indices, extent, mode)
    memory = three(a, axis)
    if memory is None:
        a = a.copy()
        memory = three(a, axis)
    source = _array.view(a, memory)
    shape = (source._shape[0], indices.size, source._shape[2])
    made = _array.fresh(a._dtype, shape)
    if made.size:
        _run_rows("take", source, _contiguous(indices), made, shape)
    found = made.reshape(a._shape[:axis] + indices._shape + a._shape[axis + 1 :])
    found.base = None
    if out is not None:
        _creation.copyto(out, found)
        return out
    return found


def _contiguous(index: Any) -> Any:
    return index.astype(_I64, copy=False, order="C")


def _in_bounds(indices: Any, extent: int, mode: str) -> Any:
    from gridstride.cupy import _mathematics, _ufuncs

    if indices._dtype.kind not in "iub":
        raise TypeError(f"indices must be integers, not {indices._dtype}")
    if mode == "wrap":
        return _ufuncs.ALL["remainder"](indices.astype(_I64), extent)
    if mode == "clip":
        return _mathematics.clip(indices.astype(_I64), 0, extent - 1)
    return checked(indices, extent)


def put_rows(a: Any, flattened: Any, index: Any, axis: int, values: Any) -> None:
    """Writes rows along an axis by their numbers; with `flattened`, elements by their numbers in row-major order."""
    target = a.target if isinstance(a, _Merged) else a
    if flattened is not None:
        shape: tuple[int, ...] = (target.size,)
    else:
        shape = a._shape
    from gridstride.numba.cuda import _memory as described

    memory = described.reshaped(target._memory, shape)
    work = _array.view(target, memory) if memory is not None else target.copy().reshape(shape)
    memory = three(work, axis)
    if memory is None:
        copied = work.copy()
        rows = _array.view(copied, three(copied, axis))
    else:
        copied, rows = None, _array.view(work, memory)
    extents = (rows._shape[0], index.size, rows._shape[2])
    values = values.astype(target._dtype, copy=False)
    if _native.overlap(values, target):
        values = values.copy()
    values = _shapes.broadcast_to(values, extents) if values.size == 1 else values.reshape(extents)
    if math.prod(extents):
        _array.before_write(target, "cupy.ndarray.__setitem__")
        _run_rows("put", rows, _contiguous(index), values, extents)
    if copied is not None:
        _creation.copyto(work, copied)
    if work._owner is not target._owner:
        _creation.copyto(target, work.reshape(target._shape))


def put(a: Any, ind: Any, v: Any, mode: str = "wrap") -> None:
    """Sets elements by their numbers in row-major order."""
    ind = _in_bounds(_interop.asarray(ind), a.size, mode).ravel()
    values = _interop.asarray(v).ravel()
    if values.size != ind.size:
        values = _shapes.resize(values, ind.size)
    put_rows(a, _shapes.ravel, ind, 0, values)


def take_along_axis(a: Any, indices: Any, axis: Any = -1) -> Any:
    """Elements along an axis by an index for each."""
    a, indices = _interop.asarray(a), _interop.asarray(indices)
    if axis is None:
        return take(a.ravel(), indices.ravel())
    axis %= a.ndim
    key = [_creation.arange(n).reshape((-1,) + (1,) * (a.ndim - k - 1)) for k, n in enumerate(a._shape)]
    key[axis] = indices
    return a[tuple(key)]


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Sets elements along an axis by an index for each."""
    key = [_creation.arange(n).reshape((-1,) + (1,) * (arr.ndim - k - 1)) for k, n in enumerate(arr._shape)]
    key[axis % arr.ndim] = _interop.asarray(indices)
    arr[tuple(key)] = values


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Elements, or rows along an axis, where a condition holds."""
    if isinstance(condition, _array.ndarray) and isinstance(a, list | np.ndarray) or getattr(condition, "ndim", 1) > 1:
        condition, a = a, condition
    index = _flat_nonzero(_interop.asarray(condition))
    return take(a, index, axis, out)


def extract(condition: Any, a: Any) -> Any:
    """The elements where a condition holds."""
    return take(_interop.asarray(a).ravel(), _flat_nonzero(_interop.asarray(condition)), 0)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """From several arrays the element that an index says, for each place."""
    a = _interop.asarray(a)
    arrays = _shapes.broadcast_arrays(a, *choices)
    index = _in_bounds(arrays[0], len(choices), mode)
    stacked = _shapes.stack(arrays[1:])
    found = take_along_axis(stacked, index.reshape((1, *index._shape)), 0)[0]
    if out is not None:
        _creation.copyto(out, found)
        return out
    return found


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Sets the elements where a mask is true to the first of some values, which repeat."""
    index = _flat_nonzero(_interop.asarray(mask))
    if index.size:
        put_rows(arr, _shapes.ravel, index, 0, _shapes.resize(_interop.asarray(vals), index.size))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Sets the elements where a mask is true to the values at the same places, which repeat."""
    values = _interop.asarray(values)
    if values._shape != a._shape:
        values = _shapes.resize(values, a.size).reshape(a._shape)
    _creation.copyto(a, values, "same_kind", mask)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Sets the main diagonal of a matrix."""
    _shapes.diagonal(a)[...] = val


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """Numbers of elements as an index for each dimension."""
    from gridstride.cupy import _ufuncs

    indices, found = _interop.asarray(indices), []
    extents = list(shape) if order == "F" else list(reversed(shape))
    for extent in extents:
        found.append(_ufuncs.ALL["remainder"](indices, extent))
        indices = indices // extent
    return tuple(found if order == "F" else reversed(found))


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """An index for each dimension as numbers of elements."""
    pairs = list(zip(multi_index, dims, strict=True))
    found: Any = 0
    for index, extent in reversed(pairs) if order == "F" else pairs:
        found = found * extent + _in_bounds(_interop.asarray(index), extent, mode)
    return found


class Flat:
    """The elements of an array in row-major order."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.ravel())

    def __getitem__(self, key: Any) -> Any:
        return self.base.ravel()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        flat = self.base.ravel()
        flat[key] = value
        if flat._owner is not self.base._owner:
            _creation.copyto(self.base, flat.reshape(self.base._shape))
