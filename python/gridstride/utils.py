"""`wp.utils`: sums, scans, sorts and casts of whole arrays.

    >>> a = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> float(wp.utils.array_sum(a))
    6.0

On a GPU they run there, in kernels whose results have the same bits in every run; on the CPU in NumPy, which also does
what crosses devices. All raise `RuntimeError` for arrays whose types or sizes do not fit.
"""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride import _allocators, _array_adjoints, _create, _host_graph, _native, _recorded, _types
from gridstride._array import array
from gridstride._coloring import GraphColoringAlgorithm as GraphColoringAlgorithm
from gridstride._coloring import graph_coloring_assign as graph_coloring_assign
from gridstride._coloring import graph_coloring_balance as graph_coloring_balance
from gridstride._coloring import graph_coloring_get_groups as graph_coloring_get_groups
from gridstride._map import create_warp_function as create_warp_function
from gridstride._shape import MAX_EXTENT
from gridstride._timer import ScopedTimer as ScopedTimer

_print_warnings: set[str] = set()


def warn(message: str, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
    """Warns, once for each message unless it is a deprecation."""
    if category is not DeprecationWarning:
        if message in _print_warnings:
            return
        _print_warnings.add(message)
    warnings.warn(message, category or UserWarning, stacklevel + 1)


@contextlib.contextmanager
def _contents(*arrays: Any) -> Iterator[list[np.ndarray]]:
    """The elements of arrays, to change: what is done to them is done to the arrays."""
    views = [one._np() for one in arrays]
    yield views
    for one, view in zip(arrays, views, strict=True):
        _write_back(one, view)


def _write_back(one: Any, view: np.ndarray) -> None:
    """Elements that were read from a GPU, and changed, become the array's."""
    if one.device.is_cuda:
        one._store(view.reshape(one.shape + getattr(one.dtype, "_shape_", ())))


# From so many elements on kernels are worth their start on a CPU; NumPy does the rest there.
_LONG = 1 << 16


def _parallel(n: int, *arrays: Any) -> Any:
    """The kernels for `n` elements of arrays on one device; None where NumPy is to do the work, on the CPU."""
    if n < _LONG and arrays[0].device.is_cpu:
        return None
    from gridstride._parallel import arrays as parallel

    return parallel if parallel.fit(*arrays) else None


def _same_type(what: str, first: Any, second: Any) -> None:
    if first._type != second._type:
        names = f"{first.dtype.__name__} vs {second.dtype.__name__}"
        raise RuntimeError(f"{what} array data types do not match ({names})")


def array_scan(in_array: array, out_array: array, inclusive: bool = True) -> None:
    """Writes running sums of the 1-d `in_array` to `out_array`; an exclusive scan begins with zero."""
    _same_type("In and out", in_array, out_array)
    if in_array.size != out_array.size:
        raise RuntimeError(f"In and out array storage sizes do not match ({in_array.size} vs {out_array.size})")
    if in_array.ndim != 1 or out_array.ndim != 1:
        raise RuntimeError(f"a scan takes 1-d arrays, not {in_array.shape} and {out_array.shape}")
    if in_array.size == 0:
        return

    def forward() -> None:
        _scan(in_array, out_array, inclusive)

    def backward() -> None:
        _array_adjoints.of_scan(in_array, out_array, inclusive, lambda sums: _scan(sums, sums, True))
        out_array.grad.zero_()

    _recorded.function("array_scan", forward, backward, [in_array], out_array)


def _scan(in_array: array, out_array: array, inclusive: bool) -> None:
    if parallel := _parallel(in_array.size, in_array, out_array):
        parallel.array_scan(in_array, out_array, inclusive)
        return
    values = in_array._np()
    sums = np.cumsum(values, axis=0, dtype=values.dtype)
    with _contents(out_array) as (out,):
        if inclusive:
            out[...] = sums
        else:
            out[1:] = sums[:-1]
            out[0] = 0


def _reduction(name: str, shape: tuple[int, ...], count: int | None, axis: int | None) -> tuple[int | None, int]:
    """The axis from the front, and how many elements of it (of all, flat, without an axis) are reduced."""
    rank = len(shape)
    if axis is not None:
        if not -rank <= axis < rank:
            raise IndexError(f"{name}() axis {axis} is out of bounds for an array of {rank} dimensions")
        axis %= rank
    n = math.prod(shape) if axis is None else shape[axis]
    if count is None:
        return axis, n
    if not 0 <= count <= n:
        raise RuntimeError(f"{name}() count {count} is not between 0 and {n}")
    return axis, count


def _reduce(products: np.ndarray, rank: int, axis: int | None, count: int) -> np.ndarray:
    """Sums over the first dimensions: all of them, flat, or one that stays with extent 1."""
    # float64 while summing, so that long sums of float32 stay exact to the last digits.
    wide = np.float64 if products.dtype.kind == "f" else None
    if axis is None:
        return products.reshape(-1, *products.shape[rank:])[:count].sum(axis=0, dtype=wide, keepdims=True)
    part = (slice(None),) * axis + (slice(count),)
    return products[part].sum(axis=axis, dtype=wide, keepdims=True)


def _deliver(name: str, sums: np.ndarray, out: array | None, dtype: Any, axis: int | None) -> Any:
    """A NumPy value, or an array of the sums."""
    inner = getattr(dtype, "_shape_", ())
    if out is None and axis is None:
        return sums.reshape(inner)[()]
    out = _target(name, sums.shape[: sums.ndim - len(inner)], out, dtype, "cpu")
    with _contents(out) as (view,):
        view[...] = sums.reshape(view.shape)
    return out


def _target(name: str, shape: tuple[int, ...], out: array | None, dtype: Any, device: Any) -> array:
    """The array that sums go to, a new one if none is given."""
    if out is None:
        return _create.empty(shape, dtype, device)
    if out._type != dtype.__gs_type__:
        raise RuntimeError(f"{name}() out array should have type {dtype.__name__}")
    if out.size != math.prod(shape):
        raise RuntimeError(f"{name}() out array should have shape {shape}")
    return out


def _sums(name: str, factors: list[array], out: array | None, axis: int | None, count: int, dtype: Any) -> Any:
    """Sums of arrays by kernels, as `_deliver` gives them; None where NumPy is to sum."""
    source = factors[0]
    # NumPy adds along an axis as fast.
    parallel = _parallel(count if axis is None else 0, *factors, *([] if out is None else [out]))
    if parallel is None:
        return None
    shape = (1,) if axis is None else (*source.shape[:axis], 1, *source.shape[axis + 1 :])
    target = _target(name, shape, out, dtype, source.device)
    packed = target if target.is_contiguous else _create.empty(target.shape, dtype, source.device)
    parallel.array_sums(factors, packed, axis, count, name == "array_inner")
    if packed is not target:
        parallel.copy(target, packed)
    if out is None and axis is None:
        return target.numpy().reshape(getattr(dtype, "_shape_", ()))[()]
    return target


def array_sum(values: array, out: array | None = None, value_count: int | None = None, axis: int | None = None) -> Any:
    """The sum of an array's elements, or along an axis, whose extent becomes 1.

    Gives a NumPy value, or an array with `out` or `axis`. `value_count` elements are summed (of the axis). Raises
    `IndexError` for an axis that does not exist, `RuntimeError` for an output that does not fit.
    """
    axis, count = _reduction("array_sum", values.shape, value_count, axis)

    def forward() -> Any:
        found = _sums("array_sum", [values], out, axis, count, values.dtype)
        if found is not None:
            return found
        source = values._np()
        sums = _reduce(source, values.ndim, axis, count).astype(source.dtype)
        return _deliver("array_sum", sums, out, values.dtype, axis)

    def backward() -> None:
        _array_adjoints.of_sums(values, out, axis, count)
        out.grad.zero_()  # type: ignore[union-attr]

    return _recorded.function("array_sum", forward, backward, [values], out)


def array_inner(a: array, b: array, out: array | None = None, count: int | None = None, axis: int | None = None) -> Any:
    """The sum of products of two arrays' components, or along an axis, whose extent becomes 1.

    Gives a NumPy scalar, or an array of scalars with `out` or `axis`. Raises as `array_sum` does.
    """
    _same_type("A and b", a, b)
    if a.shape != b.shape:
        raise ValueError(f"array_inner() arguments must have the same shape, got {a.shape} and {b.shape}")
    axis, count = _reduction("array_inner", a.shape, count, axis)
    kept: list[Any] = []

    def forward() -> Any:
        if out is not None and _native.is_recording():
            kept[:] = [_array_adjoints.copied(a), _array_adjoints.copied(b)]
        found = _sums("array_inner", [a, b], out, axis, count, a.dtype._wp_scalar_type_)
        if found is not None:
            return found
        x, y = a._np(), b._np()
        products = np.multiply(x, y, dtype=np.float64 if x.dtype.kind == "f" else None)
        products = products.sum(axis=tuple(range(a.ndim, x.ndim)))
        sums = _reduce(products, a.ndim, axis, count).astype(x.dtype)
        return _deliver("array_inner", sums, out, a.dtype._wp_scalar_type_, axis)

    def backward() -> None:
        x, y = kept
        _array_adjoints.of_sums(a, out, axis, count, y)
        _array_adjoints.of_sums(b, out, axis, count, x)
        out.grad.zero_()  # type: ignore[union-attr]

    return _recorded.function("array_inner", forward, backward, [a, b], out)


def array_cast(in_array: array, out_array: array, count: int | None = None) -> None:
    """Converts the elements of one array to the type of another, `count` of them or all.

    Arrays of different ranks, or whose elements have different numbers of components, are cast component by component
    in row-major order; `count` then counts elements of `in_array`.
    """
    is_flat = in_array.ndim != out_array.ndim or in_array.dtype._length_ != out_array.dtype._length_
    if not is_flat:
        if in_array.ndim > 1 and in_array.shape != out_array.shape:
            raise RuntimeError(f"Array shapes do not match ({in_array.shape} vs {out_array.shape})")
        if count is not None and in_array.ndim > 1 and count != in_array.size:
            raise RuntimeError("Partial cast is not supported for arrays with more than one dimension")
        sizes = (in_array.shape[0], out_array.shape[0])
        count = sizes[0] if count is None or in_array.ndim > 1 else count
        n_components = count * math.prod(in_array.shape[1:]) * in_array.dtype._length_
    else:
        count = (in_array.size if count is None else count) * in_array.dtype._length_
        if not out_array.is_contiguous:
            raise RuntimeError("a cast to another number of components needs a contiguous output")
        sizes = (in_array.size * in_array.dtype._length_, out_array.size * out_array.dtype._length_)
        n_components = count
    if count > min(sizes):
        raise RuntimeError(f"Cast count ({count}) exceeds the input size ({sizes[0]}) or output size ({sizes[1]})")
    _native.before_write(out_array, "array_cast")
    parallel = _parallel(n_components, in_array, out_array)
    if parallel and in_array.is_contiguous and out_array.is_contiguous:
        parallel.array_cast(in_array, out_array, n_components)
        return
    source, target = in_array._np(), out_array._np()
    if is_flat:
        source, target = source.reshape(-1), target.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        target[:count] = source[:count].astype(target.dtype)
    _write_back(out_array, target)


class AllocatorRmm(_allocators.KeepingAllocator):
    """Makes arrays of a CUDA device from the pool of RAPIDS' memory manager; for `wp.set_device_allocator`.

    Raises `ImportError` where the package `rmm` is not installed.
    """

    def __init__(self) -> None:
        import rmm

        super().__init__(lambda n_bytes: rmm.DeviceBuffer(size=n_bytes))


@_host_graph.noted
def radix_sort_pairs(keys: array, values: array, count: int, begin_bit: int = 0, end_bit: int | None = None) -> None:
    """Sorts the first `count` keys, and their values with them: stable, ascending, every NaN last.

    The arrays hold `2 * count` elements, as sorting on a GPU needs them. Keys are numbers of 32 or 64 bits, values
    too; bits are those of integer keys from `begin_bit` to before `end_bit`.
    """
    _sortable("radix_sort_pairs", keys, values)
    if keys.dtype not in _SORTED or values.dtype not in _SORTED:
        raise RuntimeError(f"Unsupported keys and values data types: {keys.dtype.__name__}, {values.dtype.__name__}")
    if 2 * count > min(keys.size, values.size):
        raise RuntimeError("Keys and values array storage must be large enough to contain 2*count elements")
    width = 8 * keys.itemsize
    if not 0 <= begin_bit < (width if end_bit is None else end_bit) <= width:
        raise RuntimeError(f"Invalid radix sort bit range [{begin_bit}, {end_bit}) for {width}-bit keys")
    for one in (keys, values):
        _native.before_write(one, "radix_sort_pairs")
    if parallel := _parallel(count, keys, values):
        parallel.sort_pairs(keys, values, count, begin_bit, end_bit)
        return
    with _contents(keys, values) as (all_keys, all_values):
        k, v = all_keys[:count], all_values[:count]
        order = np.argsort(_bits(k, begin_bit, end_bit), kind="stable")
        k[...], v[...] = k[order], v[order]


_SORTED = (_types.int32, _types.uint32, _types.float32, _types.int64, _types.uint64, _types.float64)


def _sortable(name: str, keys: array, values: array, **others: array | None) -> None:
    for role, one in {"keys": keys, "values": values, **others}.items():
        if one is not None and not one.is_contiguous:
            types = f"{keys.dtype.__name__}, {values.dtype.__name__}"
            found = f"got non-contiguous {role} with data types: {types}"
            raise RuntimeError(f"{name}() requires a contiguous {role} array, {found}")


def _bits(keys: np.ndarray, begin_bit: int, end_bit: int | None) -> np.ndarray:
    if (begin_bit == 0 and end_bit is None) or keys.dtype.kind == "f":
        return keys
    width = keys.dtype.itemsize * 8
    end = width if end_bit is None else end_bit
    if begin_bit == 0 and end == width:
        return keys
    raw = keys.view(f"u{keys.dtype.itemsize}")
    mask = raw.dtype.type((1 << (end - begin_bit)) - 1)
    return (raw >> raw.dtype.type(begin_bit)) & mask


@_host_graph.noted
def segmented_sort_pairs(
    keys: array,
    values: array,
    count: int,
    segment_start_indices: array,
    segment_end_indices: array | None = None,
) -> None:
    """Sorts int32 or float32 keys and their int32 values within segments, as `radix_sort_pairs` does.

    Without end indices each segment ends where the next starts. Raises `ValueError` for a segment that does not lie in
    the first `count` elements, and then sorts none.
    """
    starts, ends = segment_start_indices, segment_end_indices
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"count must be an integer, got {count!r}")
    if count < 0:
        raise ValueError(f"count must be non-negative, got {count}")
    if count > MAX_EXTENT:
        raise ValueError(f"count must not exceed {MAX_EXTENT}, got {count}")
    for role, one in (("segment_start_indices", starts), ("segment_end_indices", ends)):
        if one is not None and one.ndim != 1:
            raise RuntimeError(f"{role} must be one-dimensional, got {one.ndim} dimensions")
    _sortable("segmented_sort_pairs", keys, values, segment_start_indices=starts, segment_end_indices=ends)
    if ends is not None and starts.size != ends.size:
        sizes = f"({starts.size} vs {ends.size})"
        raise RuntimeError(f"segment_start_indices and segment_end_indices must have the same size {sizes}")
    if 2 * count > min(keys.size, values.size):
        raise RuntimeError("Array storage must be large enough to contain 2*count elements")
    if keys.dtype not in (_types.int32, _types.float32) or values.dtype is not _types.int32:
        raise RuntimeError(f"Unsupported data type: {keys.dtype.__name__}")
    first = starts._np()
    first, last = (first[:-1], first[1:]) if ends is None else (first, ends._np())
    wrong = np.flatnonzero((first < 0) | (first > last) | (last > count))
    if wrong.size:
        index = wrong[0]
        found = f"[{first[index]}, {last[index]}) of {count} elements"
        raise ValueError(f"Invalid segment range at index {index}: {found}")
    for one in (keys, values):
        _native.before_write(one, "segmented_sort_pairs")
    if parallel := _parallel(count, keys, values):
        parallel.sort_segments(keys, values, first, last)
        return
    with _contents(keys, values) as (k, v):
        for start, end in zip(first.tolist(), last.tolist(), strict=True):
            order = np.argsort(k[start:end], kind="stable")
            k[start:end], v[start:end] = k[start:end][order], v[start:end][order]


def runlength_encode(
    values: array,
    run_values: array,
    run_lengths: array,
    run_count: array | None = None,
    value_count: int | None = None,
) -> Any:
    """Writes each run's value and length; gives the number of runs, or writes it to `run_count`."""
    if _host_graph.active is not None:
        again = functools.partial(runlength_encode, values, run_values, run_lengths, run_count, value_count)
        return _host_graph.note("runlength_encode", again, run_count)
    count = values.size if value_count is None else value_count
    if count < 0:
        raise RuntimeError(f"value_count must be non-negative, got {count}")
    if values._type != run_values._type:
        names = f"({values.dtype.__name__} vs {run_values.dtype.__name__})"
        raise RuntimeError(f"values and run_values data types do not match {names}")
    for role, one in (("run_lengths", run_lengths), ("run_count", run_count)):
        if one is not None and one.dtype is not _types.int32:
            raise RuntimeError(f"{role} array must be of type int32")
    if values.dtype not in _types.int_types:
        raise RuntimeError(f"Unsupported data type: {values.dtype.__name__}")
    if count > min(run_values.size, run_lengths.size):
        raise RuntimeError(f"Output array storage sizes must be at least equal to value_count ({count})")
    given = [one for one in (values, run_values, run_lengths, run_count) if one is not None]
    if parallel := _parallel(count, *given):
        counts = _create.empty(1, _types.int32, values.device) if run_count is None else run_count
        parallel.encode_runs(values, run_values, run_lengths, counts, count)
        return int(counts.numpy()[0]) if run_count is None else run_count
    source = values._np()[:count]
    starts = np.flatnonzero(np.concatenate([[True], source[1:] != source[:-1]])) if source.size else np.zeros(0, int)
    n = len(starts)
    with _contents(run_values, run_lengths) as (run_starts, lengths):
        run_starts[:n] = source[starts]
        lengths[:n] = np.diff(np.append(starts, source.size))
    if run_count is None:
        return n
    with _contents(run_count) as (counts,):
        counts[0] = n
    return run_count
