"""Memory of the device, and the names of CuPy's pools. Memory comes from the device's own pool."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _memory
from gridstride.numba.cuda import _devices


class Memory:
    """Owned memory of the current device."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._buffer, self._place = _memory.allocate(size)
        self.ptr: int = self._buffer.ptr
        self.device_id = _devices.gpu() or 0


class UnownedMemory:
    """Memory that someone else holds: `owner` is kept alive with it."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, max(device_id, 0)


class ManagedMemory(Memory):
    """Memory that moves between host and GPU by itself; the CPU device's own where there is no GPU."""

    def __init__(self, size: int) -> None:
        ordinal = _devices.gpu()
        if ordinal is None:
            super().__init__(size)
            return
        self.size, self.device_id = size, ordinal
        self._buffer, self._place = _native.CudaBuffer(ordinal, size, "managed"), f"managed:{ordinal}"
        self.ptr = self._buffer.ptr


class MemoryPointer:
    """An address in memory, `mem`, at an offset in bytes."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.offset = mem, offset
        self.ptr: int = mem.ptr + offset

    @property
    def device(self) -> Any:
        from gridstride.cupy.cuda import Device

        return Device()

    device_id = property(lambda self: self.device.id)

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.offset + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def _bytes(self, size: int) -> Any:
        from gridstride.cupy import _array

        return _array.make(np.dtype(np.uint8), self.ptr, (size,), None, self, _memory.place())

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copies bytes from an address of the host, a `c_void_p` or a number."""
        address = getattr(mem, "value", mem)
        host = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        self._bytes(size).set(host)

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copies bytes to an address of the host, a `c_void_p` or a number."""
        address = getattr(mem, "value", mem)
        np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))[:] = self._bytes(size).get()

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copies bytes from other memory of the device."""
        self._bytes(size)[...] = src._bytes(size)

    copy_from = copy_from_device

    def memset(self, value: int, size: int) -> None:
        """Sets bytes to a value."""
        self._bytes(size)[...] = value


def alloc(size: int) -> MemoryPointer:
    """New memory, from the allocator that is set."""
    return _allocator(size)


def malloc_managed(size: int) -> MemoryPointer:
    """New memory that moves between host and GPU by itself."""
    return MemoryPointer(ManagedMemory(size), 0)


def _plain(size: int) -> MemoryPointer:
    return MemoryPointer(Memory(size), 0)


_allocator: Callable[[int], MemoryPointer] = _plain


def get_allocator() -> Callable[[int], MemoryPointer]:
    """What `alloc` calls."""
    return _allocator


def set_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> None:
    """Sets what `alloc` calls. Arrays always come from the device's own pool."""
    global _allocator
    _allocator = allocator or _plain


@contextlib.contextmanager
def using_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> Iterator[None]:
    """Sets what `alloc` calls for a block."""
    before = get_allocator()
    set_allocator(allocator)
    try:
        yield
    finally:
        set_allocator(before)


class MemoryPool:
    """The device's pool of memory, by CuPy's names. On the CPU device memory goes back to the system at once."""

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = allocator

    def malloc(self, size: int) -> MemoryPointer:
        """New memory."""
        return _plain(size)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Gives memory that is not in use back to the system."""
        ordinal = _devices.gpu()
        if ordinal is not None:
            before = _native.cuda_pool_threshold(ordinal)
            _native.cuda_synchronize(ordinal)
            _native.cuda_pool_threshold(ordinal, 0)
            _native.cuda_synchronize(ordinal)
            _native.cuda_pool_threshold(ordinal, before)

    def free_all_free(self) -> None:
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        """0: the driver keeps free memory."""
        return 0

    def used_bytes(self) -> int:
        """Bytes in use: of a GPU's pool; on the CPU device 0, since there is no pool."""
        ordinal = _devices.gpu()
        return 0 if ordinal is None else _native.cuda_pool_used(ordinal)[0]

    def free_bytes(self) -> int:
        """0: the driver keeps free memory."""
        return 0

    def total_bytes(self) -> int:
        """As `used_bytes`."""
        return self.used_bytes()

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Raises `NotImplementedError` for any limit but none."""
        if size or fraction:
            raise NotImplementedError("the pool has no limit: memory comes from the device as it is needed")

    def get_limit(self) -> int:
        """0: no limit."""
        return 0


class MemoryAsyncPool(MemoryPool):
    """The same pool: it is in the order of streams."""

    def __init__(self, pool_handles: Any = "current") -> None:
        super().__init__()


class PinnedMemoryPool:
    """Page-locked memory of the host, by CuPy's names."""

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = allocator

    def malloc(self, size: int) -> Any:
        """New memory."""
        return alloc_pinned_memory(size)

    def free_all_blocks(self) -> None:
        """Accepted: memory goes back when nothing uses it."""

    def n_free_blocks(self) -> int:
        """0: memory goes back when nothing uses it."""
        return 0


def alloc_pinned_memory(size: int) -> Any:
    """Page-locked memory of the host, which `numpy.frombuffer` takes; plain memory on the CPU device."""
    from gridstride.numba.cuda import _host_arrays

    return memoryview(_host_arrays.pinned_array(size, np.uint8))


def set_pinned_memory_allocator(allocator: Any = None) -> None:
    """Accepted: page-locked memory comes from the driver."""
