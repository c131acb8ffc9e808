"""Memory by its address: what memory managers give and take (`cuda.MemoryPointer` and its like).

`MemoryPointer` is for memory of a device; `MappedMemory`, `PinnedMemory` and `ManagedMemory` are NumPy arrays of bytes,
since the host uses these. What a finalizer frees is freed when neither the memory nor a view of it is used any more.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np


def address_of(pointer: Any) -> int:
    """The number of an address that is given as one, as a ctypes pointer, or as a handle of CUDA's bindings."""
    if isinstance(pointer, ctypes._SimpleCData):
        return pointer.value or 0
    return int(pointer)


class MemoryPointer:
    """Memory of a device."""

    __cuda_memory__ = True

    def __init__(
        self, context: Any, pointer: Any, size: int, owner: Any = None, finalizer: Callable[[], Any] | None = None
    ) -> None:
        self.context = context
        self.device_pointer = self.handle = pointer
        self.size = self._cuda_memsize_ = size
        self.is_managed = finalizer is not None
        self._owner = owner
        self._n_views = 0
        self._finalizer = None if finalizer is None else weakref.finalize(self, finalizer)

    @property
    def owner(self) -> Any:
        """What holds the memory: itself, or what it is a view of."""
        return self if self._owner is None else self._owner

    @property
    def refct(self) -> int:
        """How many hold the memory: itself and its views."""
        return 1 + self._n_views

    @property
    def is_alive(self) -> bool:
        return self._finalizer is None or self._finalizer.alive

    @property
    def device_pointer_value(self) -> int:
        return address_of(self.device_pointer)

    @property
    def device_ctypes_pointer(self) -> Any:
        return ctypes.c_size_t(self.device_pointer_value)

    def own(self) -> MemoryPointer:
        """A view of all of it."""
        return self.view(0)

    def view(self, start: int, stop: int | None = None) -> MemoryPointer:
        """The bytes from `start` to `stop`, or to the end. Raises `RuntimeError` for what lies outside."""
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise RuntimeError(f"bytes {start} to {stop} do not lie within the memory's {self.size}")
        owner = self.owner
        made = MemoryPointer(self.context, self.device_pointer_value + start, stop - start, owner=owner)
        if isinstance(owner, MemoryPointer):
            owner._n_views += 1
            weakref.finalize(made, _leave, weakref.ref(owner)).atexit = False
        return made

    def free(self) -> None:
        """Runs the finalizer now. Raises `RuntimeError` for memory that has none, or that it ran for."""
        if self._finalizer is None or not self._finalizer.alive:
            raise RuntimeError("freeing dead memory" if self.is_managed else "memory without a finalizer is not freed")
        self._finalizer()

    def memset(self, byte: int, count: int | None = None, stream: Any = 0) -> None:
        """Sets bytes."""
        from gridstride.numba.cuda import _driver

        _driver.device_memset(self, byte, self.size if count is None else count, stream)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryPointer):
            return NotImplemented
        return (self.device_pointer_value, self.size) == (other.device_pointer_value, other.size)

    def __hash__(self) -> int:
        return hash((self.device_pointer_value, self.size))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.size} bytes at {self.device_pointer_value:#x}>"


def _leave(owner: Any) -> None:
    found = owner()
    if found is not None:
        found._n_views -= 1


class AutoFreePointer(MemoryPointer):
    """Memory of a device whose finalizer runs when nobody uses it any more."""


OwnedPointer = MemoryPointer


class _Bytes:
    """NumPy keeps this object, and so the memory, as the base of its view."""

    def __init__(self, pointer: Any, size: int, owner: Any, finalizer: Callable[[], Any] | None) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (size,), "data": (pointer, False)}
        self.finalizer = None if finalizer is None else weakref.finalize(self, finalizer)


class HostMemory(np.ndarray[Any, Any]):
    """Memory of the host: an array of bytes."""

    __cuda_memory__ = True
    stream: Any = 0

    def __new__(
        cls, context: Any, pointer: Any, size: int, owner: Any = None, finalizer: Callable[[], Any] | None = None
    ) -> HostMemory:
        return np.asarray(_Bytes(address_of(pointer), size, owner, finalizer)).view(cls)

    @property
    def device_pointer_value(self) -> int:
        return int(self.__array_interface__["data"][0])

    device_pointer = host_pointer = handle = device_pointer_value

    @property
    def device_ctypes_pointer(self) -> Any:
        return ctypes.c_size_t(self.device_pointer_value)

    @property
    def _cuda_memsize_(self) -> int:
        return self.nbytes

    def own(self) -> HostMemory:
        """The same memory."""
        return self


class PinnedMemory(HostMemory):
    """Page-locked: devices copy from it and to it beside other work."""


class MappedMemory(HostMemory):
    """Page-locked, and used by kernels in place."""


class ManagedMemory(HostMemory):
    """Moves to where it is used."""
