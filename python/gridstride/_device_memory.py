"""Contents of arrays on a CUDA device: read, written, filled and copied from the host.

What lies in one piece goes by the driver's copies; other strides, and indices, go by kernels, which move elements
as they are, by their bits. All of it is in order with the device's current stream, and only `read` waits.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from gridstride import _array, _indexed, _kernel, _mapped, _native, _numpy, _recorded, _types

_module = _kernel.Module("gridstride._device_memory")
_kernels: dict[Any, Any] = {}
_UNITS = {1: _types.uint8, 2: _types.uint16, 4: _types.uint32, 8: _types.uint64}


def _run(function: Any, dst: Any, value: Any, device: Any) -> None:
    """Runs a function of `_recorded` as a kernel for these arguments' types."""
    from gridstride import _launch

    native = tuple(
        _types.Type.array(one._type, one.ndim) if isinstance(one, _array.array) else _types.instance_type(one)
        for one in (dst, value)
    )
    kernel = _kernels.get((function, native))
    if kernel is None:
        annotations = dict(zip(function.__code__.co_varnames, native, strict=False))
        made = _kernel.Kernel(function, None, _module, {"enable_backward": False}, annotations)
        kernel = _kernels[(function, native)] = made
    _launch.launch(kernel, dst.shape, [dst, value], device=device, record_tape=False)


def _bits_class(size: int) -> Any:
    """A type of that size that holds any bits."""
    if size in _UNITS:
        return _UNITS[size]
    # Larger elements may lie at multiples of 4.
    unit = next(n for n in (4, 2, 1) if size % n == 0)
    from gridstride import _vector

    return _vector.vector(size // unit, _UNITS[unit])


def _as_bits(one: Any) -> Any:
    """An array's elements as plain bits; an indexed array's too."""
    if isinstance(one, _indexed.indexedarray):
        return _indexed.indexedarray(_as_bits(one.data), one.indices)
    return _array.make(_bits_class(one._type.size), one.ptr or 0, one.shape, one.strides, one, one._place)


def _ordinal(one: Any) -> int:
    return one.device.ordinal


def n_bytes(one: Any) -> int:
    return one.size * one._type.size


def read(one: Any) -> np.ndarray:
    """A copy of an array's elements, or managed memory itself, once all work on the current stream is done."""
    base, inner = _numpy.layout(one.dtype)
    if one._is_host:
        one.device.stream.synchronize()
        found = np.asarray(_numpy.Memory(one, base, inner))
        return found if base.kind in "biuf" else found.view(base)
    out = np.empty(one.shape + inner, dtype=base)
    if out.size:
        source = one.contiguous()
        _native.cuda_download(_ordinal(one), out.ctypes.data, source.ptr, out.nbytes)
    return out


def write(one: Any, values: np.ndarray) -> None:
    """Sets an array's elements to NumPy values, which are broadcast to its shape. The values may change at once."""
    base, inner = _numpy.layout(one.dtype)
    shape = one.shape + inner
    if math.prod(shape) == 0:
        return
    source = values
    if values.dtype != base or values.shape != shape or not values.flags.c_contiguous:
        source = np.empty(shape, dtype=base)
        source[...] = values
    target = one if one.is_contiguous else _temporary(one)
    _native.cuda_upload(_ordinal(one), target.ptr, source.ctypes.data, source.nbytes)
    if target is not one:
        copy(one, target)


def _temporary(one: Any) -> Any:
    from gridstride import _create

    return _create.empty(one.shape, one.dtype, one.device)


def fill(one: Any, value: bytes) -> None:
    """Sets every element to a value's bytes."""
    if one.size == 0:
        return
    _native.cuda_keep(one)
    if one.is_contiguous and _native.cuda_fill(_ordinal(one), one.ptr, value, one.size):
        return
    bits = _bits_class(len(value))
    element = bits(int.from_bytes(value, sys.byteorder)) if len(value) in _UNITS else bits.from_bytes(value)
    _run(_recorded.FILLS[one.ndim - 1].func, _as_bits(one), element, one.device)


def overlaps(one: Any, other: Any) -> bool:
    """Whether two arrays' memory may have bytes in common."""
    one, other = (item.data if isinstance(item, _indexed.indexedarray) else item for item in (one, other))
    if not (isinstance(one, _array.array) and isinstance(other, _array.array)):
        # The buckets of a Fabric array may be anywhere.
        return True
    first, second = _extent(one), _extent(other)
    return first[0] < second[1] and second[0] < first[1]


def _extent(one: Any) -> tuple[int, int]:
    low = high = one.ptr or 0
    for n, stride in zip(one.shape, one.strides, strict=True):
        low += min((n - 1) * stride, 0)
        high += max((n - 1) * stride, 0)
    return low, high + one._type.size


def copy(dst: Any, src: Any, stream: Any = None) -> None:
    """Copies between arrays of one shape and type, at least one of them on a CUDA device."""
    if dst.size == 0:
        return
    _native.cuda_keep((dst, src))
    to, source = dst.device, src.device
    if stream is not None and not _is_current(stream):
        from gridstride._stream import ScopedStream

        # In the stream's own order alone, as the caller asks.
        with ScopedStream(stream, sync_enter=False):
            return copy(dst, src)
    if not to.is_cuda or not source.is_cuda:
        return _copy_with_host(dst, src)
    if dst.is_contiguous and src.is_contiguous:
        return _native.cuda_copy(to.ordinal, dst.ptr, source.ordinal, src.ptr, n_bytes(dst))
    if to is not source:
        # In one piece from device to device, then to its places.
        packed = src.contiguous()
        target = dst if dst.is_contiguous else _temporary(dst)
        _native.cuda_copy(to.ordinal, target.ptr, source.ordinal, packed.ptr, n_bytes(dst))
        if target is not dst:
            copy(dst, target)
        return None
    if overlaps(dst, src):
        packed = _temporary(src)
        _move(packed, src)
        src = packed
    _move(dst, src)
    return None


def _move(dst: Any, src: Any) -> None:
    """Copies by a kernel between arrays of one device that do not overlap."""
    kinds = (_array.array, _indexed.indexedarray)
    if isinstance(dst, kinds) and isinstance(src, kinds):
        dst, src = _as_bits(dst), _as_bits(src)
    _run(_recorded.COPIES[dst.ndim - 1].func, dst, src, dst.device)


def _is_current(stream: Any) -> bool:
    return stream.device.stream == stream


def _copy_with_host(dst: Any, src: Any) -> None:
    if dst.device.is_cuda:
        if dst.is_contiguous and src.is_contiguous and not isinstance(src, _mapped.mapped_array):
            # The caller's own array, which it keeps as it is: page-locked memory is read later.
            _native.cuda_upload(_ordinal(dst), dst.ptr, src.ptr, n_bytes(dst), src.pinned)
        else:
            write(dst, src._np())
    elif dst.is_contiguous and src.is_contiguous and not isinstance(dst, _mapped.mapped_array):
        # Page-locked memory is written later, when the stream gets there.
        _native.cuda_download(_ordinal(src), dst.ptr, src.ptr, n_bytes(dst), not dst.pinned)
    else:
        dst._store(read(src))
