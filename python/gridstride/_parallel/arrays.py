"""What `gridstride.utils` asks for, of arrays on one device: on a GPU of any strides, vectors too.

Arguments are checked already.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from gridstride import _array, _create, _device_memory, _kernel, _launch, _parallel, _types
from gridstride._builtins import table
from gridstride._device_memory import copy as copy
from gridstride._parallel import runs, scan, segments, sort, sums

tid = table["tid"]
_module = _kernel.Module("gridstride._parallel")


def fit(*arrays: Any) -> bool:
    """Whether they are arrays of numbers on one device, without gaps if that is the CPU."""
    device = arrays[0].device
    return all(
        isinstance(one, _array.array)
        and one.device is device
        and (device.is_cuda or one.is_contiguous)
        and getattr(one.dtype, "_wp_scalar_type_", None) in _types.scalar_types
        for one in arrays
    )


def array_scan(source: Any, out: Any, is_inclusive: bool) -> None:
    """Running sums of every component."""
    if source.ptr != out.ptr and _device_memory.overlaps(source, out):
        source = source.contiguous() if source.device.is_cpu else _clone(source)
    for k in range(source.dtype._length_):
        scan.scan(_parallel.component(source, k), _parallel.component(out, k), is_inclusive, source.device)


def array_sums(factors: list[Any], out: Any, axis: int | None, count: int, is_inner: bool) -> None:
    """Sums of elements, or of the products of two arrays' components, along an axis or of all. `out` is contiguous."""
    shape, device, length = factors[0].shape, factors[0].device, factors[0].dtype._length_
    if axis is None:
        outer, middle, inner = 1, math.prod(shape), 1
    else:
        outer, middle, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if count == 0 or out.size == 0:
        _zero(out)
        return
    factors = [_parallel.flat(one if one.is_contiguous else _clone(one)) for one in factors]
    target = _parallel.flat(out)
    if not is_inner:
        sums.sums(factors, target, (outer, middle, inner * length), count, device)
    elif axis is None:
        sums.sums(factors, target, (1, middle * length, 1), count * length, device)
    else:
        parts = _parallel.temporary(outer * inner * length, sums.wide(factors[0].dtype), device)
        sums.sums(factors, parts, (outer, middle, inner * length), count, device)
        sums.sums([parts], target, (outer * inner, length, 1), length, device)


def array_cast(source: Any, out: Any, count: int) -> None:
    """Converts the first `count` components of two contiguous arrays, in row-major order."""
    if count:
        source, out = _parallel.flat(source), _parallel.flat(out)
        _launch.launch(_cast(out.dtype), count, [source, out], device=out.device, record_tape=False)


@functools.cache
def _cast(to: Any) -> Any:
    def cast(source: Any, out: Any):
        i = tid()
        out[i] = to(source[i])

    return _kernel.Kernel(cast, None, _module, {"enable_backward": False})


def sort_pairs(keys: Any, values: Any, count: int, begin_bit: int, end_bit: int | None) -> None:
    """Sorts keys with their values; both have room for `2 * count`."""
    width = 8 * keys.itemsize
    bits, kind = range(begin_bit, width if end_bit is None else end_bit), _kind(keys.dtype)
    if kind == "f":
        bits = range(width)
    elif len(bits) < width:
        kind = "u"
    if count:
        sort.sort_pairs(keys, values, count, bits, kind, keys.device)


def sort_segments(keys: Any, values: Any, starts: Any, ends: Any) -> None:
    """Sorts keys with their values within segments, whose bounds the host has."""
    segments.sort_segments(keys, values, starts, ends, _kind(keys.dtype), keys.device)


def encode_runs(values: Any, run_values: Any, run_lengths: Any, run_count: Any, count: int) -> None:
    """Writes runs of equal values, and how many there are."""
    if count == 0:
        _zero(run_count)
        return
    runs.encode_runs(values, run_values, run_lengths, run_count, count, values.device)


def _kind(dtype: Any) -> str:
    if dtype in _types.float_types:
        return "f"
    return "i" if dtype in (_types.int32, _types.int64) else "u"


def _clone(one: Any) -> Any:
    made = _create.empty(one.shape, one.dtype, one.device)
    _device_memory.copy(made, one)
    return made


def _zero(one: Any) -> None:
    _device_memory.fill(one, bytes(one._type.size))
