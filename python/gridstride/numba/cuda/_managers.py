"""Memory managers: what gives memory to arrays, and what takes it back (numba-cuda's EMM plugins).

A library with an allocator of its own, RMM for one, derives a class from `HostOnlyCUDAMemoryManager` and names it to
`cuda.set_memory_manager` or in `NUMBA_CUDA_MEMORY_MANAGER`; device arrays are then made in memory that `memalloc`
gives. Without one, memory comes from the device's pool.
"""

from __future__ import annotations

import contextlib
import importlib
from abc import ABCMeta, abstractmethod
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from gridstride import _native
from gridstride.numba import config
from gridstride.numba.cuda._pending import Pending
from gridstride.numba.cuda._pointers import AutoFreePointer, ManagedMemory, MappedMemory, PinnedMemory

MemoryInfo = namedtuple("MemoryInfo", ["free", "total"])

_SUPPORTED_INTERFACE = 1


class BaseCUDAMemoryManager(metaclass=ABCMeta):
    """What a memory manager must have. It is made with the context that it is for: `Manager(context=context)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "context" not in kwargs:
            raise RuntimeError("Memory manager requires a context")
        self.context = kwargs.pop("context")

    @abstractmethod
    def memalloc(self, size: int) -> Any:
        """Memory of the device: a `MemoryPointer`."""

    @abstractmethod
    def memhostalloc(self, size: int, mapped: bool, portable: bool, wc: bool) -> Any:
        """Page-locked memory of the host: a `MappedMemory` or a `PinnedMemory`."""

    @abstractmethod
    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool) -> Any:
        """Page-locks memory that the host has: a `MappedMemory` or a `PinnedMemory`."""

    @abstractmethod
    def initialize(self) -> None:
        """Called before the context is used, perhaps several times."""

    @abstractmethod
    def get_ipc_handle(self, memory: Any) -> Any:
        """What another process opens memory by: an `IpcHandle`."""

    @abstractmethod
    def get_memory_info(self) -> Any:
        """A `MemoryInfo`; may raise `NotImplementedError`."""

    @abstractmethod
    def reset(self) -> None:
        """Frees all memory that was given out for the context."""

    @abstractmethod
    def defer_cleanup(self) -> Any:
        """A context manager within which no memory is freed."""

    @property
    @abstractmethod
    def interface_version(self) -> int:
        """Of this class: 1."""


class HostOnlyCUDAMemoryManager(BaseCUDAMemoryManager):
    """A memory manager that only says where memory of the device comes from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.allocations: dict[Any, Any] = {}
        self.deallocations = Pending(_capacity)

    def memhostalloc(self, size: int, mapped: bool = False, portable: bool = False, wc: bool = False) -> Any:
        buffer = _native.CudaBuffer(_ordinal(), size, "pinned")
        kind = MappedMemory if mapped else PinnedMemory
        return kind(self.context, buffer.ptr, size, finalizer=self._freeing(buffer, size))

    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool = False) -> Any:
        locked = _native.CudaHostLock(_ordinal(), int(pointer), size)
        # Unlocked at once, not later: it may be locked again at any time.
        kind = MappedMemory if mapped else PinnedMemory
        return kind(self.context, pointer, size, owner=(owner, locked))

    def memallocmanaged(self, size: int, attach_global: bool = True) -> Any:
        """Memory that moves to where it is used: a `ManagedMemory`."""
        buffer = _native.CudaBuffer(_ordinal(), size, "managed")
        return ManagedMemory(self.context, buffer.ptr, size, finalizer=self._freeing(buffer, size))

    def _freeing(self, buffer: Any, size: int) -> Any:
        pending = self.deallocations
        return lambda: pending.add_item(_drop, buffer, size)

    def reset(self) -> None:
        self.allocations.clear()
        self.deallocations.clear()

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        with self.deallocations.disable():
            yield


class GetIpcHandleMixin:
    """Shares memory with other processes by CUDA's own means."""

    context: Any

    def get_ipc_handle(self, memory: Any) -> Any:
        from gridstride.numba.cuda import _ipc

        return _ipc.handle_of(memory)


class NumbaCUDAMemoryManager(GetIpcHandleMixin, HostOnlyCUDAMemoryManager):
    """Memory of the device's pool."""

    def initialize(self) -> None:
        pass

    def memalloc(self, size: int) -> Any:
        buffer = _native.CudaBuffer(_ordinal(), size)
        return AutoFreePointer(self.context, buffer.ptr, size, finalizer=self._freeing(buffer, size))

    def get_memory_info(self) -> Any:
        return MemoryInfo(*_native.cuda_memory(_ordinal()))

    @property
    def interface_version(self) -> int:
        return _SUPPORTED_INTERFACE


def _drop(buffer: Any) -> None:
    """Frees memory: that was the last reference to it."""


def _ordinal() -> int:
    from gridstride.numba.cuda import _devices

    ordinal = _devices.gpu()
    if ordinal is None:
        raise RuntimeError("memory managers are for GPUs: kernels run on the device `cpu`")
    return ordinal


_capacities: dict[int, int] = {}


def _capacity() -> int:
    ordinal = _ordinal()
    if ordinal not in _capacities:
        _capacities[ordinal] = _native.cuda_memory(ordinal)[1]
    return _capacities[ordinal]


_class: type[BaseCUDAMemoryManager] | None = None


def set_memory_manager(mm_plugin: type[BaseCUDAMemoryManager]) -> None:
    """Makes arrays in memory of a manager from now on; for before the first of them.

    Raises `RuntimeError` for a manager of another version of the interface.
    """
    global _class
    version = mm_plugin(context=None).interface_version
    if version != _SUPPORTED_INTERFACE:
        raise RuntimeError(f"EMM Plugin interface has version {version} - version {_SUPPORTED_INTERFACE} required")
    _class = mm_plugin


def manager_class() -> type[BaseCUDAMemoryManager]:
    """The class that was set, or that `NUMBA_CUDA_MEMORY_MANAGER` names as the `_numba_memory_manager` of a module."""
    if _class is None:
        if config.CUDA_MEMORY_MANAGER == "default":
            set_memory_manager(NumbaCUDAMemoryManager)
        else:
            try:
                set_memory_manager(importlib.import_module(config.CUDA_MEMORY_MANAGER)._numba_memory_manager)
            except Exception as error:
                name = config.CUDA_MEMORY_MANAGER
                raise RuntimeError(f"Failed to use memory manager from {name}: {error}") from error
    assert _class is not None
    return _class
