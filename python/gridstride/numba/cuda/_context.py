"""The context of a device: what memory, streams and modules belong to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba.cuda import _devices, _managers, _modules
from gridstride.numba.cuda._errors import CudaDriverError
from gridstride.numba.cuda._pending import Pending

#: On the CPU device freed memory goes back at once.
_NOTHING = Pending()


class Context:
    """The state of a device. Libraries wrap contexts of the driver's as `Context(device, handle)`."""

    def __init__(self, device: Any = None, handle: Any = None) -> None:
        self._device, self._handle = device, handle
        self._manager: Any = None
        self._prepared: Any = None
        # Modules that have something to do when they are unloaded.
        self.modules: list[Any] = []

    @property
    def device(self) -> Any:
        return _devices.get_current_device() if self._device is None else self._device

    @property
    def handle(self) -> int:
        """The driver's context; 0 on the CPU device."""
        if self._handle is not None:
            return int(self._handle)
        ordinal = _devices.gpu()
        return 0 if ordinal is None else _native.cuda_context(ordinal)

    @property
    def memory_manager(self) -> Any:
        """What gives memory to arrays."""
        if self._manager is None:
            self._manager = _managers.manager_class()(context=self)
        return self._manager

    @memory_manager.setter
    def memory_manager(self, manager: Any) -> None:
        self._manager = manager

    def prepared_manager(self) -> Any:
        """The memory manager, ready for use.

        Raises `CudaDriverError` in a process that was forked off one which used a GPU.
        """
        if _devices.is_forked:
            raise CudaDriverError("CUDA initialized before forking: start processes with `spawn`")
        manager = self.memory_manager
        if self._prepared is not manager:
            manager.initialize()
            self._prepared = manager
        return manager

    def prepare_for_use(self) -> None:
        """Makes the memory manager ready for use."""
        if _devices.gpu() is not None:
            self.prepared_manager()

    @property
    def has_default_manager(self) -> bool:
        """Whether memory comes from the device's pool."""
        return type(self.memory_manager) is _managers.NumbaCUDAMemoryManager

    @property
    def deallocations(self) -> Any:
        """Memory that waits to be freed."""
        return _NOTHING if _devices.gpu() is None else self.memory_manager.deallocations

    def get_memory_info(self) -> Any:
        """Free and total bytes of memory."""
        if _devices.gpu() is not None:
            return self.prepared_manager().get_memory_info()
        if not hasattr(os, "sysconf"):
            return _managers.MemoryInfo(sys.maxsize, sys.maxsize)
        page = os.sysconf("SC_PAGE_SIZE")
        return _managers.MemoryInfo(page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES"))

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Puts off freeing memory to the end of the block."""
        if _devices.gpu() is None:
            yield
            return
        with self.prepared_manager().defer_cleanup():
            yield

    def memalloc(self, bytesize: int) -> Any:
        """Bytes of device memory."""
        return np.empty(bytesize, np.uint8) if _devices.gpu() is None else self.prepared_manager().memalloc(bytesize)

    def memhostalloc(self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False) -> Any:
        """Bytes of host memory that devices use in place."""
        if _devices.gpu() is None:
            return np.empty(bytesize, np.uint8)
        return self.prepared_manager().memhostalloc(bytesize, mapped, portable, wc)

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> Any:
        """Bytes of memory that moves to where it is used."""
        if _devices.gpu() is None:
            return np.empty(bytesize, np.uint8)
        return self.prepared_manager().memallocmanaged(bytesize, attach_global)

    def mempin(self, owner: Any, pointer: Any, size: int, mapped: bool = False) -> Any:
        """Page-locks memory of the host for as long as what is returned is used."""
        if _devices.gpu() is None:
            return np.asarray(owner)
        return self.prepared_manager().mempin(owner, pointer, size, mapped)

    def get_ipc_handle(self, memory: Any) -> Any:
        """What another process opens memory by."""
        if _devices.gpu() is None:
            raise OSError("OS does not support CUDA IPC")
        return self.prepared_manager().get_ipc_handle(memory)

    def open_ipc_handle(self, handle: Any, size: int) -> Any:
        """Memory of another process."""
        from gridstride.numba.cuda import _ipc

        return _ipc.opened(handle, size)

    def create_module_ptx(self, ptx: Any) -> Any:
        """Loads PTX."""
        return _modules.load_ptx(ptx, self)

    def create_module_image(self, image: Any) -> Any:
        """Loads machine code."""
        return _modules.load_image(image, self)

    def unload_module(self, module: Any) -> None:
        """Lets go of a module."""
        module.unload()

    def get_active_blocks_per_multiprocessor(self, func: Any, blocksize: int, memsize: int, flags: Any = None) -> int:
        """How many blocks of a function a multiprocessor runs at a time."""
        return int(func.kernel.occupancy.max_active_blocks_per_multiprocessor(blocksize, memsize))

    def create_stream(self) -> Any:
        """A new stream."""
        from gridstride.numba.cuda import _streams

        return _streams.stream()

    def create_external_stream(self, ptr: int) -> Any:
        """A stream that another library made."""
        from gridstride.numba.cuda import _streams

        return _streams.external_stream(ptr)

    def get_default_stream(self) -> Any:
        """The stream that calls without a stream use."""
        from gridstride.numba.cuda import _streams

        return _streams.default_stream()

    def get_legacy_default_stream(self) -> Any:
        """CUDA's stream that waits for all others."""
        from gridstride.numba.cuda import _streams

        return _streams.legacy_default_stream()

    def get_per_thread_default_stream(self) -> Any:
        """CUDA's default stream of the calling thread."""
        from gridstride.numba.cuda import _streams

        return _streams.per_thread_default_stream()

    def create_event(self, timing: bool = True) -> Any:
        """A new event."""
        from gridstride.numba.cuda import _streams

        return _streams.event(timing)

    def reset(self) -> None:
        """Frees what waits to be freed and unloads modules; on the CPU device nothing is left to do."""
        if _devices.gpu() is None:
            return
        modules, self.modules = self.modules, []
        for module in modules:
            module.unload()
        self.memory_manager.reset()
        self._prepared = None

    def synchronize(self) -> None:
        """Waits until the device is done."""
        _devices.synchronize()

    def push(self) -> None:
        """Makes this context the calling thread's current one."""
        if _devices.gpu() is not None:
            _native.cuda_push_context(self.handle)
            self.prepare_for_use()

    def pop(self) -> None:
        """Makes the context before this one current again."""
        if _devices.gpu() is not None:
            _native.cuda_pop_context()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<CUDA context {self.handle:#x} of device {self.device.id}>"
