"""What programs ask of `numba.cuda.cudadrv`: the driver's errors and a few of its functions, on the CPU device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.numba.cuda import _memory
from gridstride.numba.cuda._arrays import DeviceNDArray
from gridstride.numba.cuda._devices import synchronize
from gridstride.numba.cuda._streams import Event, Stream


class CudaDriverError(Exception):
    """A call of the driver failed."""


class CudaAPIError(CudaDriverError):
    """A call of the driver failed, with its number."""

    def __init__(self, code: int, msg: str) -> None:
        super().__init__(code, msg)
        self.code, self.msg = code, msg


class CudaSupportError(ImportError):
    """There is no driver."""


class LinkerError(RuntimeError):
    """Code could not be linked."""


class NvvmSupportError(ImportError):
    """There is no NVVM."""


class NvrtcError(Exception):
    """CUDA C text could not be compiled."""


def host_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes from a host array to a device array."""
    _set(dst, size, _bytes(src)[:size])


def device_to_host(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copies bytes from a device array to a host array."""
    _set(dst, size, _bytes(src)[:size])


device_to_device = device_to_host


def device_memset(dst: Any, val: int, size: int, stream: Any = 0) -> None:
    """Sets bytes of a device array."""
    _set(dst, size, val)


def _set(array: Any, size: int, values: Any) -> None:
    if isinstance(array, DeviceNDArray):
        memory = _memory.reshaped(array._memory, -1, "A")
        if memory is None or not memory.flags["C_CONTIGUOUS"]:
            raise ValueError("the memory of a device array must lie in one piece")
        _memory.write(memory.view(np.uint8)[:size], array._is_host, values)
    else:
        _bytes(array)[:size] = values


def _bytes(array: Any) -> np.ndarray[Any, Any]:
    host = array._host if isinstance(array, DeviceNDArray) else np.asarray(array)
    return host.reshape(-1).view(np.uint8)


def _have_nvjitlink() -> bool:
    return False


def device_memory_size(array: DeviceNDArray) -> int:
    """Bytes of a device array."""
    return array.nbytes


class _Driver:
    """`driver.driver`: counts of devices and the version."""

    def get_device_count(self) -> int:
        return 1

    def get_version(self) -> tuple[int, int]:
        return (13, 0)


driver = runtime = _Driver()
__all__ = ["Event", "Stream", "synchronize"]
