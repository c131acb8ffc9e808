"""`numba.cuda.cudadrv.driver`: copies by address, the driver's functions and errors, what memory objects are."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import config
from gridstride.numba.cuda import _context, _devices, _memory, _queue
from gridstride.numba.cuda._arrays import DeviceNDArray
from gridstride.numba.cuda._devices import synchronize
from gridstride.numba.cuda._errors import (
    CudaAPIError,
    CudaDriverError,
    CudaSupportError,
    DeadMemoryError,
    LinkerError,
    NvrtcError,
    NvvmSupportError,
)
from gridstride.numba.cuda._ipc import IpcHandle
from gridstride.numba.cuda._managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryInfo,
    NumbaCUDAMemoryManager,
    set_memory_manager,
)
from gridstride.numba.cuda._pointers import (
    AutoFreePointer,
    ManagedMemory,
    MappedMemory,
    MemoryPointer,
    OwnedPointer,
    PinnedMemory,
    address_of,
)
from gridstride.numba.cuda._streams import Event, Stream, event_elapsed_time

Context = _context.Context
Device = _devices.Device


def host_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes from the host to a device."""
    _copy(device_pointer(dst), host_pointer(src, readonly=True), size, stream, _native_upload)


def device_to_host(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes from a device to the host, and waits for them."""
    _copy(host_pointer(dst), device_pointer(src), size, stream, _native_download)


def device_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes within a device."""
    _copy(device_pointer(dst), device_pointer(src), size, stream, _native_copy)


def device_memset(dst: Any, val: int, size: int, stream: Any = 0) -> None:
    """Sets bytes of a device."""
    ordinal, address = _devices.gpu(), device_pointer(dst)
    if ordinal is None:
        ctypes.memset(address, val, size)
    else:
        _native.cuda_fill(ordinal, address, bytes([val]), size, _queue.queue(stream))


def _copy(to: int, start: int, size: int, stream: Any, copy: Any) -> None:
    ordinal = _devices.gpu()
    if ordinal is None:
        ctypes.memmove(to, start, size)
    elif size:
        copy(ordinal, to, start, size, _queue.queue(stream))


def _native_upload(ordinal: int, to: int, start: int, size: int, stream: Any) -> None:
    _native.cuda_upload(ordinal, to, start, size, stream=stream)


def _native_download(ordinal: int, to: int, start: int, size: int, stream: Any) -> None:
    _native.cuda_download(ordinal, to, start, size, stream=stream)


def _native_copy(ordinal: int, to: int, start: int, size: int, stream: Any) -> None:
    _native.cuda_copy(ordinal, to, ordinal, start, size, stream)


def host_pointer(obj: Any, readonly: bool = False) -> int:
    """The address of an object's bytes: of an array, a ctypes object or a buffer; an address is itself."""
    if isinstance(obj, int):
        return obj
    return int(_bytes(obj, readonly).__array_interface__["data"][0])


def _bytes(obj: Any, readonly: bool = True) -> np.ndarray[Any, Any]:
    """An object of the host as an array, without a copy."""
    if isinstance(obj, np.void):
        # A record of NumPy's is a view of the array that it is from.
        return np.asarray(obj)
    if isinstance(obj, np.ndarray | np.generic):
        return np.asarray(obj)
    if isinstance(obj, ctypes._SimpleCData | ctypes.Structure | ctypes.Array | ctypes.Union):
        return np.frombuffer((ctypes.c_byte * ctypes.sizeof(obj)).from_buffer(obj), np.uint8)
    view = memoryview(obj)
    if view.readonly and not readonly:
        raise TypeError("the memory cannot be written to")
    return np.frombuffer(view, np.uint8)


def host_memory_extents(obj: Any) -> tuple[int, int]:
    """The addresses of the first byte of an object of the host and of the one behind the last."""
    first, n_bytes, _ = _memory._span(_bytes(obj))
    return first, first + n_bytes


def host_memory_size(obj: Any) -> int:
    """Bytes that an object of the host spans."""
    start, end = host_memory_extents(obj)
    return end - start


def device_pointer(obj: Any) -> int:
    """The address of memory of a device; an address is itself."""
    if isinstance(obj, int):
        return obj
    if isinstance(obj, np.ndarray):
        return int(obj.__array_interface__["data"][0])
    found = getattr(obj, "device_pointer", None)
    if found is None:
        raise TypeError(f"{type(obj).__name__} is no memory of a device")
    return address_of(found)


def device_ctypes_pointer(obj: Any) -> Any:
    """The address of memory of a device as a ctypes number."""
    return ctypes.c_size_t(device_pointer(obj))


def device_memory_size(devmem: Any) -> int:
    """Bytes of memory of a device."""
    found = getattr(devmem, "_cuda_memsize_", None)
    return int(devmem.nbytes if found is None else found)


def device_extents(devmem: Any) -> tuple[int, int]:
    """The addresses where the allocation of a device's memory starts and ends."""
    start, ordinal = device_pointer(devmem), _devices.gpu()
    if ordinal is None:
        return start, start + device_memory_size(devmem)
    base, n_bytes = _native.cuda_memory_range(ordinal, start)
    return base, base + n_bytes


def is_device_memory(obj: Any) -> bool:
    """Whether an object is memory of a device."""
    return bool(getattr(obj, "__cuda_memory__", False))


def require_device_memory(obj: Any) -> None:
    """Raises `TypeError` unless the object is memory of a device."""
    if not is_device_memory(obj):
        raise TypeError("Not a CUDA memory object.")


def _to_core_stream(stream: Any) -> Any:
    """A stream as cuda-core has it."""
    from cuda.core import Stream as CoreStream

    return CoreStream.from_handle(_queue.number(stream))


def _have_nvjitlink() -> bool:
    return False


class _ActiveContext:
    """The calling thread's current context: `context_handle`, None where there is none."""

    devnum: int | None = None
    context_handle: int | None = None

    def __enter__(self) -> _ActiveContext:
        found = _native.cuda_current_context() if _devices.gpu() is not None else 0
        if found:
            self.devnum, self.context_handle = 0, found
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __bool__(self) -> bool:
        return self.context_handle is not None


class Driver:
    """The driver. Its functions, `cuMemGetInfo` and so on, are those of cuda-bindings; errors are raised."""

    initialization_error: str | None = None
    is_initialized = False

    def ensure_initialized(self) -> None:
        """Starts the driver, once. Raises `CudaSupportError` where that fails, or where CUDA is disabled."""
        if self.is_initialized:
            return
        if config.DISABLE_CUDA:
            self.initialization_error = (
                "CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment, or because CUDA is "
                "unsupported on 32-bit systems."
            )
        else:
            try:
                self.cuInit(0)
            except CudaAPIError as error:
                self.initialization_error = f"{error.msg} ({error.code})"
        if self.initialization_error is not None:
            text = self.initialization_error
            raise CudaSupportError(text if config.DISABLE_CUDA else f"Error at driver init: {text}")
        self.is_initialized = True

    def cuInit(self, flags: int) -> None:
        """Starts the driver, where there is one: else kernels run on the CPU device."""
        _native.cuda_device_count()

    @property
    def is_available(self) -> bool:
        """Whether kernels can be launched."""
        with contextlib.suppress(CudaSupportError):
            self.ensure_initialized()
        return self.initialization_error is None

    def get_device_count(self) -> int:
        """How many devices there are."""
        return len(_devices.gpus)

    def list_devices(self) -> Any:
        """All devices."""
        return _devices.gpus.lst

    def get_device(self, devnum: int = 0) -> Any:
        """A device by its number."""
        return _devices.gpus[devnum]

    def get_version(self) -> tuple[int, int]:
        """The CUDA version that the driver supports."""
        return (13, 0) if _devices.gpu() is None else _native.cuda_driver_version()

    def reset(self) -> None:
        """As `Context.reset`."""
        _devices.close()

    def pop_active_context(self) -> int | None:
        """Takes the calling thread's current context from it; None where it has none."""
        return _native.cuda_pop_context() or None if _devices.gpu() is not None else None

    def get_active_context(self) -> _ActiveContext:
        """The calling thread's current context."""
        return _ActiveContext()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        function = getattr(_bindings(), name)

        def call(*args: Any) -> Any:
            # Some need a driver that is started.
            _devices.gpu()
            status, *results = function(*args)
            if int(status):
                raise CudaAPIError(int(status), f"Call to {name} results in {status.name}")
            return None if not results else results[0] if len(results) == 1 else tuple(results)

        return call


def _bindings() -> Any:
    try:
        from cuda.bindings import driver as found
    except ImportError:
        text = "functions of the driver by their names need NVIDIA's bindings: pip install cuda-bindings"
        raise CudaSupportError(text) from None
    return found


def __getattr__(name: str) -> Any:
    if name == "binding":
        return _bindings()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_version() -> tuple[int, int]:
    """The CUDA version that the driver supports."""
    return driver.get_version()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """As `cuda.profiling`."""
    with _devices.profiling():
        yield


profile_start, profile_stop = _devices.profile_start, _devices.profile_stop
driver = runtime = Driver()
__all__ = [
    "AutoFreePointer",
    "BaseCUDAMemoryManager",
    "CudaAPIError",
    "CudaDriverError",
    "CudaSupportError",
    "DeadMemoryError",
    "DeviceNDArray",
    "Event",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcHandle",
    "LinkerError",
    "ManagedMemory",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NumbaCUDAMemoryManager",
    "NvrtcError",
    "NvvmSupportError",
    "OwnedPointer",
    "PinnedMemory",
    "Stream",
    "event_elapsed_time",
    "set_memory_manager",
    "synchronize",
]
