"""Other shapes of the same elements: views where the strides allow it, copies where they do not."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gridstride.cupy import _array, _creation, _interop, _layout
from gridstride.numba.cuda import _memory as _described


def _view(a: Any, memory: Any) -> Any:
    return _array.view(a, memory)


def reshape(a: Any, *shape: Any, order: str = "C", copy: bool | None = None, newshape: Any = None) -> Any:
    """The elements in another shape, one extent of which may be -1; a view where the strides allow it."""
    a = _interop.asarray(a)
    wanted = shape[0] if len(shape) == 1 and newshape is None else (shape or newshape)
    wanted = tuple(map(operator.index, wanted)) if hasattr(wanted, "__iter__") else (operator.index(wanted),)
    if order == "A":
        order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    found = None if copy else _described.reshaped(a._memory, wanted, order)
    if found is not None:
        return _view(a, found)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    made = a.copy("F" if order == "F" else "C")
    found = _view(made, made._memory.reshape(wanted, order=order))  # type: ignore[arg-type]
    found.base = None
    return found


def ravel(a: Any, order: str = "C") -> Any:
    """The elements in one dimension; a view where they lie so."""
    a = _interop.asarray(a)
    if order == "K":
        order = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    return reshape(a, -1, order=order)


def transpose(a: Any, *axes: Any) -> Any:
    """The dimensions in another order, reversed by default."""
    a = _interop.asarray(a)
    if len(axes) == 1 and (axes[0] is None or hasattr(axes[0], "__iter__")):
        axes = axes[0]
    return _view(a, a._memory.transpose(axes or None))


permute_dims = transpose


def matrix_transpose(x: Any) -> Any:
    """The last two dimensions exchanged."""
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two dimensions exchanged."""
    a = _interop.asarray(a)
    return _view(a, a._memory.swapaxes(axis1, axis2))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places."""
    a = _interop.asarray(a)
    return _view(a, np.moveaxis(a._memory, source, destination))


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """A dimension moved before another."""
    a = _interop.asarray(a)
    return _view(a, np.rollaxis(a._memory, axis, start))


def squeeze(a: Any, axis: Any = None) -> Any:
    """Without dimensions of one element."""
    a = _interop.asarray(a)
    return _view(a, np.squeeze(a._memory, axis))


def expand_dims(a: Any, axis: Any) -> Any:
    """With new dimensions of one element."""
    a = _interop.asarray(a)
    return _view(a, np.expand_dims(a._memory, axis))


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """The elements repeated along new and stretched dimensions: a view that is only to be read."""
    a = _interop.asarray(array)
    return _view(a, np.broadcast_to(a._memory, shape))


def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays stretched to one shape."""
    arrays = [_interop.asarray(one) for one in args]
    shape = _layout.broadcast([one._shape for one in arrays])
    return [one if one._shape == shape else broadcast_to(one, shape) for one in arrays]


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements on a diagonal: a view."""
    a = _interop.asarray(a)
    found = np.diagonal(a._memory, offset, axis1, axis2)
    # NumPy describes its diagonals as not to be written to.
    strides, ptr = found.strides, found.__array_interface__["data"][0]
    made = _array.make(a._dtype, ptr if found.size else a.ptr, found.shape, strides, a._owner, a._place)
    made.base = a
    return made


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one dimension."""
    found = [one.reshape(1) if one.ndim == 0 else one for one in map(_interop.asarray, arys)]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two dimensions."""
    found = [
        one.reshape((1,) * (2 - one.ndim) + one._shape) if one.ndim < 2 else one for one in map(_interop.asarray, arys)
    ]
    return found[0] if len(found) == 1 else tuple(found)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three dimensions."""
    found = []
    for one in map(_interop.asarray, arys):
        shape = {0: (1, 1, 1), 1: (1, *one._shape, 1), 2: (*one._shape, 1)}.get(one.ndim)
        found.append(one if shape is None else one.reshape(shape))
    return found[0] if len(found) == 1 else tuple(found)


def viewed(a: Any, dtype: Any) -> Any:
    """The same bytes as elements of another dtype."""
    if dtype is None:
        return _view(a, a._memory)
    return _view(a, a._memory.view(np.dtype(dtype)))


def part(a: Any, name: str) -> Any:
    """The real or imaginary parts."""
    if a._dtype.kind == "c":
        return _view(a, getattr(a._memory, name))
    return a if name == "real" else _creation.zeros_like(a)


def real(val: Any) -> Any:
    """The real parts of the elements: a view."""
    return part(_interop.asarray(val), "real")


def imag(val: Any) -> Any:
    """The imaginary parts of the elements: a view of complex numbers, else zeros."""
    return part(_interop.asarray(val), "imag")


def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays one behind the other along an axis; with an axis of None, their elements."""
    found = [_interop.asarray(one) for one in arrays]
    if not found:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        found, axis = [one.ravel() for one in found], 0
    rank = found[0].ndim
    if rank == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    axis %= rank
    shape = list(found[0]._shape)
    for one in found[1:]:
        others = (*one._shape[:axis], *one._shape[axis + 1 :])
        if one.ndim != rank or others != (*shape[:axis], *shape[axis + 1 :]):
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
        shape[axis] += one._shape[axis]
    if out is None and dtype is None and _array.are_few(*found):
        return _array.over(np.concatenate([one._host for one in found], axis))
    if out is None:
        wanted = np.result_type(*(one._dtype for one in found)) if dtype is None else np.dtype(dtype)
        out = _array.fresh(wanted, tuple(shape))
    elif out._shape != tuple(shape):
        raise ValueError("Output array is the wrong shape")
    start = 0
    for one in found:
        n = one._shape[axis]
        if n:
            part = out._memory[(slice(None),) * axis + (slice(start, start + n),)]
            _creation.copyto(_view(out, part), one, casting=casting)
        start += n
    return out


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays of one shape along a new axis."""
    found = [_interop.asarray(one) for one in arrays]
    if not found:
        raise ValueError("need at least one array to stack")
    if len({one._shape for one in found}) != 1:
        raise ValueError("all input arrays must have the same shape")
    rank = found[0].ndim + 1
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return concatenate([expand_dims(one, axis % rank) for one in found], axis % rank, out, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays side by side."""
    found = [atleast_1d(one) for one in tup]
    return concatenate(found, 0 if found and found[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Arrays on top of each other."""
    return concatenate([atleast_2d(one) for one in tup], 0, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """Arrays behind each other along the third axis."""
    return concatenate([atleast_3d(one) for one in tup], 2)


def column_stack(tup: Any) -> Any:
    """One-dimensional arrays as the columns of a matrix."""
    found = [_interop.asarray(one) for one in tup]
    return concatenate([one.reshape(-1, 1) if one.ndim < 2 else one for one in found], 1)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of the parts of an array, some of them perhaps one element shorter."""
    ary = _interop.asarray(ary)
    return [_view(ary, one) for one in np.array_split(ary._memory, _host(indices_or_sections), axis)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Views of equal parts of an array, or of those between given indices."""
    ary = _interop.asarray(ary)
    return [_view(ary, one) for one in np.split(ary._memory, _host(indices_or_sections), axis)]


def _host(value: Any) -> Any:
    return value.get() if isinstance(value, _array.ndarray) else value


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Splits along the second axis, or the only one."""
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Splits along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Splits along the third axis."""
    return split(ary, indices_or_sections, 2)


def tile(A: Any, reps: Any) -> Any:
    """An array repeated as a whole along its axes."""
    A = _interop.asarray(A)
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    rank = max(A.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - A.ndim) + A._shape
    spread = tuple(one for pair in zip(counts, shape, strict=True) for one in pair)
    source = A.reshape(tuple(one for extent in shape for one in (1, extent)))
    made = _array.fresh(A._dtype, spread)
    _creation.copyto(made, source)
    return made.reshape(tuple(count * extent for count, extent in zip(counts, shape, strict=True)))


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element repeated, a number of times or its own number of times."""
    a = _interop.asarray(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = _axis(axis, a.ndim)
    if isinstance(repeats, int | np.integer):
        if repeats < 0:
            raise ValueError("all elements of 'repeats' should not be negative")
        spread = (*a._shape[: axis + 1], int(repeats), *a._shape[axis + 1 :])
        made = _array.fresh(a._dtype, spread)
        _creation.copyto(made, expand_dims(a, axis + 1))
        return made.reshape(*a._shape[:axis], a._shape[axis] * int(repeats), *a._shape[axis + 1 :])
    from gridstride.cupy import _indexing

    counts = np.broadcast_to(np.asarray(_host(repeats)), (a._shape[axis],))
    return _indexing.take(a, _array.of_host(np.repeat(np.arange(a._shape[axis]), counts)), axis)


def flip(m: Any, axis: Any = None) -> Any:
    """The elements in reverse order along axes, all of them by default: a view."""
    m = _interop.asarray(m)
    return _view(m, np.flip(m._memory, axis))


def fliplr(m: Any) -> Any:
    """The second axis reversed: a view."""
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """The first axis reversed: a view."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """An array turned by right angles in the plane of two axes: a view."""
    m = _interop.asarray(m)
    return _view(m, np.rot90(m._memory, k, axes))


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along axes; those that leave at an end come in at the other."""
    a = _interop.asarray(a)
    if axis is None:
        return roll(a.ravel(), shift, 0).reshape(a._shape)
    pairs = np.broadcast(shift, axis)
    made = a
    for by, along in pairs:
        along = _axis(int(along), a.ndim)
        n = a._shape[along]
        by = int(by) % n if n else 0
        before = (slice(None),) * along
        made = concatenate([made[(*before, slice(n - by, None))], made[(*before, slice(None, n - by))]], along)
    return made.copy() if made is a else made


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank)
    return axis % rank


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """An array with elements added at its edges. `mode`: "constant" (with `constant_values`), "edge", "reflect",
    "symmetric", "wrap"."""
    array = _interop.asarray(array)
    widths = np.broadcast_to(np.asarray(_host(pad_width)), (array.ndim, 2)).astype(int).tolist()
    if mode == "constant":
        values = np.broadcast_to(np.asarray(options.pop("constant_values", 0)), (array.ndim, 2))
        shape = tuple(n + low + high for n, (low, high) in zip(array._shape, widths, strict=True))
        made = _array.fresh(array._dtype, shape)
        inner = tuple(slice(low, low + n) for n, (low, _) in zip(array._shape, widths, strict=True))
        made[inner] = array
        for axis, (low, high) in enumerate(widths):
            before = inner[:axis]
            made[(*before, slice(0, low))] = values[axis, 0].item()
            made[(*before, slice(shape[axis] - high, None))] = values[axis, 1].item()
        return made
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"mode {mode!r} is not supported: constant, edge, reflect, symmetric and wrap are")
    from gridstride.cupy import _indexing

    for axis, (low, high) in enumerate(widths):
        if low or high:
            # Which element each of the new ones is, as NumPy pads the indices themselves.
            order = np.pad(np.arange(array._shape[axis]), (low, high), mode, **options)
            array = _indexing.take(array, _array.of_host(order), axis)
    return array


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """An array with values added at its end."""
    arr, values = _interop.asarray(arr), _interop.asarray(values)
    if axis is None:
        arr, values, axis = arr.ravel(), values.ravel(), 0
    return concatenate([arr, values], axis)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated where they are too few, in another shape."""
    a = _interop.asarray(a).ravel()
    n = int(np.prod(new_shape))
    if not a.size:
        return _creation.zeros(new_shape, a._dtype)
    return tile(a, -(-n // a.size))[:n].reshape(new_shape)


def delete(arr: Any, indices: Any, axis: int | None = None) -> Any:
    """An array without the elements at some indices."""
    from gridstride.cupy import _indexing

    arr = _interop.asarray(arr)
    if axis is None:
        arr, axis = arr.ravel(), 0
    axis = _axis(axis, arr.ndim)
    kept = np.delete(np.arange(arr._shape[axis]), _host(indices))
    return _indexing.take(arr, _array.of_host(kept), axis)
