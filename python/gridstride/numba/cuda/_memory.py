"""Memory of the device that launches run on: NumPy's on the CPU, a GPU's otherwise.

On a GPU an array's memory is described by a NumPy array over its address. That array is for shapes, strides and slices
alone: what lies there is read by `read` and written by `write`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba.cuda import _devices, _queue


class _Owner:
    """NumPy keeps this object, and so the memory, as the base of its view."""

    __slots__ = ("__array_interface__", "__weakref__", "buffer", "pending", "place")

    def __init__(self, buffer: Any, address: int, n_bytes: int, place: str, pending: Any = None) -> None:
        """Memory that `buffer` holds; where it is let go of together with more, `pending` is what waits for that."""
        self.buffer, self.place, self.pending = buffer, place, pending
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (n_bytes,), "data": (address, False)}

    def __del__(self, is_ending: Any = sys.is_finalizing) -> None:
        # When Python ends, everything is freed anyway.
        if self.pending is not None and not is_ending():
            self.pending.add_item(_drop, self.buffer, self.__array_interface__["shape"][0])


def _drop(buffer: Any) -> None:
    """Frees memory: that was the last reference to it."""


class _Described:
    """Another library's memory, by its own description."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, description: Any, owner: Any) -> None:
        self.owner = owner
        wanted = ("shape", "typestr", "descr", "data", "strides")
        self.__array_interface__ = {name: description[name] for name in wanted if name in description}
        self.__array_interface__["version"] = 3


def described(description: Any, owner: Any) -> np.ndarray[Any, Any]:
    """Memory by a `__cuda_array_interface__`."""
    return np.asarray(_Described(description, owner))


def allocate(like: np.ndarray[Any, Any], kind: str = "device") -> np.ndarray[Any, Any]:
    """New memory with the dtype, shape and strides of an array: of the device, or "pinned" or "managed"."""
    ordinal = _devices.gpu()
    if ordinal is None or like.size == 0:
        return like
    flat = np.asarray(_device_owner(ordinal, like.nbytes) if kind == "device" else _host_owner(ordinal, like, kind))
    return np.ndarray(like.shape, like.dtype, flat, 0, like.strides)


def _host_owner(ordinal: int, like: np.ndarray[Any, Any], kind: str) -> _Owner:
    buffer = _native.CudaBuffer(ordinal, like.nbytes, kind)
    return _Owner(buffer, buffer.ptr, like.nbytes, kind if kind == "pinned" else f"{kind}:{ordinal}")


def _device_owner(ordinal: int, n_bytes: int) -> _Owner:
    """Memory of the device's pool, or from the memory manager that the program has set."""
    context = _devices.get_current_device().get_primary_context()
    manager = context.prepared_manager()
    if context.has_default_manager:
        try:
            buffer = _native.CudaBuffer(ordinal, n_bytes)
        except RuntimeError:
            # Memory that waits to be freed may be what is missing.
            if not manager.deallocations:
                raise
            manager.deallocations.clear()
            buffer = _native.CudaBuffer(ordinal, n_bytes)
        return _Owner(buffer, buffer.ptr, n_bytes, f"cuda:{ordinal}", manager.deallocations)
    memory = manager.memalloc(n_bytes)
    return _Owner(memory, memory.device_pointer_value, n_bytes, f"cuda:{ordinal}")


def owner(memory: np.ndarray[Any, Any]) -> Any:
    """What holds the memory of an array: an object of this module's, or of NumPy's."""
    found: Any = memory
    while isinstance(found, np.ndarray) and found.base is not None:
        found = found.base
    return found


def over(obj: Any) -> np.ndarray[Any, Any]:
    """The bytes of a device's memory that an object stands for: an array, a `MemoryPointer`."""
    if hasattr(obj, "_memory"):
        raw = reshaped(obj._memory, obj._memory.size, "A")
        if raw is None:
            raise ValueError("the memory of a device array must lie in one piece")
        return raw.view(np.uint8)
    address, ordinal = obj.device_pointer_value, _devices.gpu()
    return np.asarray(_Owner(obj, address, obj.size, "cpu" if ordinal is None else f"cuda:{ordinal}"))


def copy(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any], stream: Any) -> bool:
    """Copies between arrays of the GPU that lie alike and in one piece; whether it did."""
    ordinal = _devices.gpu()
    same = (source.dtype, source.shape, source.strides) == (target.dtype, target.shape, target.strides)
    if ordinal is None or not same or not target.size or _span(target)[1:] != (target.nbytes, 0):
        return False
    to, start = target.__array_interface__["data"][0], source.__array_interface__["data"][0]
    _native.cuda_copy(ordinal, to, ordinal, start, target.nbytes, _queue.queue(stream))
    return True


def description(memory: np.ndarray[Any, Any], dtype: np.dtype[Any], stream: Any) -> dict[str, Any]:
    """The `__cuda_array_interface__` of memory. Raises `AttributeError` where it is no GPU's."""
    if _devices.gpu() is None:
        raise AttributeError("memory of the CPU device has no __cuda_array_interface__")
    return {
        "shape": memory.shape,
        "strides": None if memory.flags["C_CONTIGUOUS"] else memory.strides,
        "data": (memory.__array_interface__["data"][0] if memory.size else 0, False),
        "typestr": dtype.str,
        "descr": dtype.descr,
        "stream": (_queue.number(stream) or None) if stream else None,
        "version": 3,
    }


def of_shape(shape: Any, strides: Any, dtype: np.dtype[Any], memory: Any) -> np.ndarray[Any, Any]:
    """An array of a shape, over the bytes of a device array or over new memory."""
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if memory is None:
        n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if strides is not None and n_bytes:
            n_bytes = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + dtype.itemsize
        raw = allocate(np.empty(n_bytes, np.uint8))
    else:
        raw = over(memory)
    return np.ndarray(shape, dtype, raw, 0, strides)


def reshaped(memory: np.ndarray[Any, Any], shape: Any, order: Any = "C") -> np.ndarray[Any, Any] | None:
    """The same memory in another shape; None where that needs a copy, which the host cannot make of a GPU's memory."""
    is_c, is_f = memory.flags["C_CONTIGUOUS"], memory.flags["F_CONTIGUOUS"]
    if is_c and order in "CA" or is_f and order in "FA":
        return memory.reshape(shape, order=order)
    try:
        # NumPy before 2.1 has no such word, and would copy.
        found: np.ndarray[Any, Any] = memory.reshape(shape, order=order, copy=False)
        return found
    except (TypeError, ValueError):
        return None


def place(memory: np.ndarray[Any, Any]) -> str:
    """What the place of memory is called."""
    ordinal = _devices.gpu()
    if ordinal is None:
        return "cpu"
    if memory.size == 0:
        return f"cuda:{ordinal}"
    known = owner(memory)
    if isinstance(known, _Owner):
        return known.place
    found = _native.cuda_place(memory.__array_interface__["data"][0])
    return f"managed:{ordinal}" if found == "managed" else found


def _span(memory: np.ndarray[Any, Any]) -> tuple[int, int, int]:
    """The first byte of an array's memory, the bytes that it spans, and those before its first element."""
    first = memory.__array_interface__["data"][0]
    low = high = 0
    for extent, stride in zip(memory.shape, memory.strides, strict=True):
        low += min((extent - 1) * stride, 0)
        high += max((extent - 1) * stride, 0)
    return first + low, high - low + memory.itemsize, -low


def read(memory: np.ndarray[Any, Any], is_host: bool, stream: Any = 0) -> np.ndarray[Any, Any]:
    """An array's elements for the host: the memory itself where the host reads it, once the stream is done."""
    ordinal = _devices.gpu()
    if ordinal is None or memory.size == 0:
        return memory
    if is_host:
        _native.cuda_synchronize(ordinal)
        return memory
    address, n_bytes, before = _span(memory)
    raw = np.empty(n_bytes, np.uint8)
    _native.cuda_download(ordinal, raw.__array_interface__["data"][0], address, n_bytes, stream=_queue.queue(stream))
    return np.ndarray(memory.shape, memory.dtype, raw, before, memory.strides)


def read_into(memory: np.ndarray[Any, Any], host: Any, stream: Any) -> bool:
    """Puts a copy to page-locked memory of the host onto a stream, where all fits; whether it did."""
    if not stream or not _is_pinned_twin(host, memory):
        return False
    address, n_bytes, _ = _span(memory)
    ordinal, to = _devices.gpu(), host.__array_interface__["data"][0]
    _native.cuda_download(ordinal, to, address, n_bytes, waits=False, stream=_queue.queue(stream))
    return True


def write(memory: np.ndarray[Any, Any], is_host: bool, values: Any, stream: Any = 0) -> None:
    """Sets an array's elements."""
    if stream and not is_host and _is_pinned_twin(values, memory):
        address, n_bytes, _ = _span(memory)
        ordinal, source = _devices.gpu(), values.__array_interface__["data"][0]
        _native.cuda_upload(ordinal, address, source, n_bytes, True, _queue.queue(stream))
        return
    host = read(memory, is_host, stream) if is_host or _devices.gpu() is None else _staged(memory, stream)
    host[...] = values
    if host is not memory and memory.size:
        address, n_bytes, _ = _span(memory)
        raw = host.base if isinstance(host.base, np.ndarray) else host
        source = raw.__array_interface__["data"][0]
        _native.cuda_upload(_devices.gpu(), address, source, n_bytes, stream=_queue.queue(stream))


def _is_pinned_twin(host: Any, memory: np.ndarray[Any, Any]) -> bool:
    """Whether an array of the host is page-locked and lies as an array of the GPU does, in one piece."""
    return (
        _devices.gpu() is not None
        and isinstance(host, np.ndarray)
        and (host.dtype, host.shape, host.strides) == (memory.dtype, memory.shape, memory.strides)
        and host.size > 0
        and _span(memory)[1:] == (memory.nbytes, 0)
        and _native.cuda_place(host.__array_interface__["data"][0]) == "pinned"
    )


def _staged(memory: np.ndarray[Any, Any], stream: Any) -> np.ndarray[Any, Any]:
    """Host memory for all bytes that an array spans; what lies between its elements is kept."""
    address, n_bytes, before = _span(memory) if memory.size else (0, 0, 0)
    if n_bytes != memory.nbytes:
        return read(memory, False, stream)
    return np.ndarray(memory.shape, memory.dtype, np.empty(n_bytes, np.uint8), before, memory.strides)
