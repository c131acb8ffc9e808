"""Memory and events of a CUDA device in several processes, by handles of 64 bytes that one sends to another.

    >>> with wp.ScopedMempool("cuda:0", False):  # doctest: +SKIP
    ...     a = wp.zeros(1024, dtype=float, device="cuda:0")
    >>> handle = a.ipc_handle()  # doctest: +SKIP
    >>> a = wp.from_ipc_handle(handle, float, (1024,), device="cuda:0")  # in the other process  # doctest: +SKIP

Memory of a pool cannot be shared. The process that made it keeps it as long as another uses it.
"""

from __future__ import annotations

from typing import Any

from gridstride import _array, _native, _types
from gridstride._device import DeviceLike, get_device
from gridstride._shape import contiguous_strides, normalize_shape
from gridstride._stream import Event


def from_ipc_handle(
    handle: bytes, dtype: Any, shape: Any, strides: tuple[int, ...] | None = None, device: DeviceLike = None
) -> _array.array:
    """The array of another process whose `ipc_handle()` this is, over the same memory.

    `dtype`, `shape` and `strides` are those of that array. Raises `RuntimeError` where memory cannot be shared.
    """
    found = _sharing(device)
    buffer = _native.CudaBuffer.of_handle(found.ordinal, _checked(handle))
    cls, shape = _types.dtype_class(dtype), normalize_shape(shape)
    strides = tuple(strides) if strides is not None else contiguous_strides(shape, cls.__gs_type__.size)
    return _array.make(cls, buffer.ptr, shape, strides, buffer, found.alias)


def event_from_ipc_handle(handle: bytes, device: DeviceLike = None) -> Event:
    """The event of another process whose `ipc_handle()` this is. Raises `RuntimeError` where there are none."""
    return Event(_sharing(device), interprocess=True, ipc_handle=_checked(handle))


def ipc_handle(self: _array.array) -> bytes:
    """What another process makes the same array of, by `from_ipc_handle`. Raises `RuntimeError` for other memory than
    a device's own, from outside of its pool, from its beginning.
    """
    if not self.device.is_cuda:
        raise RuntimeError("IPC requires a CUDA device")
    device = _sharing(self.device)
    if self._is_host:
        raise RuntimeError("managed memory cannot be shared between processes")
    return _native.cuda_memory_handle(device.ordinal, self.ptr)


def _sharing(device: DeviceLike) -> Any:
    found = get_device(device)
    if not found.is_ipc_supported:
        raise RuntimeError(f"IPC is not supported on device {found}.")
    return found


def _checked(handle: bytes) -> bytes:
    if not isinstance(handle, bytes) or len(handle) != 64:
        raise TypeError(f"a handle of another process has 64 bytes, not {handle!r}")
    return handle


_array.array.ipc_handle = ipc_handle  # type: ignore[attr-defined]
