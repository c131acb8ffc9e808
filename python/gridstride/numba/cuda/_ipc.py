"""Memory that processes share: handles, which may be pickled, and the arrays that another process opens by them.

    handle = array.get_ipc_handle()     # in one process
    with handle as array: ...           # in another

Memory of the device's pool cannot be shared: such an array is made within `gridstride.ScopedMempool(device, False)`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba.cuda import _devices
from gridstride.numba.cuda._pointers import AutoFreePointer, MemoryPointer


class _Reserved:
    """A handle as CUDA's bindings have it: its bytes are `reserved`."""

    def __init__(self, reserved: bytes) -> None:
        self.reserved = reserved


class IpcHandle:
    """What another process opens memory by."""

    def __init__(self, base: Any, handle: Any, size: int, source_info: Any = None, offset: int = 0) -> None:
        self.base = base
        self.handle = handle if hasattr(handle, "reserved") else _Reserved(bytes(handle))
        self.size, self.source_info, self.offset = size, source_info, offset
        self._opened: Any = None

    def open(self, context: Any) -> Any:
        """The memory, in another process. Raises `ValueError` for a handle that is open."""
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")
        self._opened = opened(bytes(self.handle.reserved), self.offset + self.size)
        return self._opened.view(self.offset)

    # Kernels of one device reach memory of another by the driver's means: nothing is staged.
    open_staged = open_direct = open

    def open_array(self, context: Any, shape: Any, dtype: Any, strides: Any = None) -> Any:
        """The memory as a device array."""
        from gridstride.numba.cuda._arrays import DeviceNDArray

        memory = self.open(context)
        return DeviceNDArray(shape=shape, strides=strides, dtype=np.dtype(dtype), gpu_data=memory)

    def close(self) -> None:
        """Lets go of the memory. Raises `ValueError` for a handle that is not open."""
        if self._opened is None:
            raise ValueError("IpcHandle not opened")
        self._opened = None

    def __reduce__(self) -> Any:
        return _rebuilt, (bytes(self.handle.reserved), self.size, self.source_info, self.offset)


def _rebuilt(handle: bytes, size: int, source_info: Any, offset: int) -> IpcHandle:
    return IpcHandle(None, handle, size, source_info, offset)


class IpcArrayHandle:
    """What another process opens an array by. As a context manager it is the array there."""

    def __init__(self, ipc_handle: Any, array_desc: dict[str, Any]) -> None:
        self._ipc_handle, self._array_desc = ipc_handle, array_desc

    def open(self) -> Any:
        """The array, in another process."""
        return self._ipc_handle.open_array(_devices.current_context(), **self._array_desc)

    def close(self) -> None:
        """Lets go of the array's memory."""
        self._ipc_handle.close()

    def __enter__(self) -> Any:
        return self.open()

    def __exit__(self, *error: Any) -> None:
        self.close()


def handle_of(memory: Any) -> IpcHandle:
    """A handle for memory of a device."""
    ordinal = _devices.gpu()
    if ordinal is None:
        raise OSError("OS does not support CUDA IPC")
    address = memory.device_pointer_value
    base, _ = _native.cuda_memory_range(ordinal, address)
    handle = _native.cuda_memory_handle(ordinal, base)
    return IpcHandle(memory, handle, memory.size, source_info=_devices.get_current_device().uuid, offset=address - base)


def opened(handle: bytes, size: int) -> MemoryPointer:
    """Memory of another process."""
    ordinal = _devices.gpu()
    if ordinal is None:
        raise OSError("OS does not support CUDA IPC")
    buffer = _native.CudaBuffer.of_handle(ordinal, handle)
    # The buffer lives in the finalizer.
    return AutoFreePointer(_devices.current_context(), buffer.ptr, size, finalizer=lambda: _closed(buffer))


def _closed(buffer: Any) -> None:
    """Closes memory of another process: that was the last reference to it."""


@contextlib.contextmanager
def open_ipc_array(handle: Any, shape: Any, dtype: Any, strides: Any = None, offset: int = 0) -> Iterator[Any]:
    """An array in memory of another process, for the block; `handle` is the handle's bytes, or an `IpcHandle`."""
    if _devices.gpu() is None:
        raise OSError("OS does not support CUDA IPC")
    dtype = np.dtype(dtype)
    if not isinstance(handle, IpcHandle):
        handle = IpcHandle(None, handle, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, offset=offset)
    yield handle.open_array(_devices.current_context(), shape, dtype, strides)
    handle.close()
