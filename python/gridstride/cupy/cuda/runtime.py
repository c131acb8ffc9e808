"""`cupy.cuda.runtime`: what programs ask the CUDA runtime, answered by the driver or for the CPU device."""

from __future__ import annotations

from typing import Any

from gridstride import _native
from gridstride.numba.cuda import _devices

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = range(5)
is_hip = False
streamDefault, streamNonBlocking = 0, 1
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4


class CUDARuntimeError(RuntimeError):
    """An error of the runtime: `status` is its number."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text or f"error {status}")
        self.status = status


def getDeviceCount() -> int:
    """The number of GPUs, or 1 for the CPU device."""
    return 1 if _devices.gpu() is None else _native.cuda_device_count()


def getDevice() -> int:
    """The number of the current device."""
    return _devices.gpu() or 0


def setDevice(device: int) -> None:
    """Makes a device the current one."""
    from gridstride.cupy.cuda import Device

    Device(device).use()


def deviceSynchronize() -> None:
    """Waits for all work on the current device."""
    _devices.synchronize()


def streamSynchronize(stream: int) -> None:
    """Waits for a stream."""
    _devices.synchronize()


def getDeviceProperties(device: int) -> dict[str, Any]:
    """Properties of a device by CUDA's names."""
    one = _devices.get_current_device()
    major, minor = one.compute_capability
    free, total = memGetInfo()
    return {
        "name": one.name,
        "totalGlobalMem": total,
        "multiProcessorCount": one.MULTIPROCESSOR_COUNT,
        "major": major,
        "minor": minor,
        "warpSize": one.WARP_SIZE,
        "maxThreadsPerBlock": one.MAX_THREADS_PER_BLOCK,
        "maxThreadsDim": (one.MAX_BLOCK_DIM_X, one.MAX_BLOCK_DIM_Y, one.MAX_BLOCK_DIM_Z),
        "maxGridSize": (one.MAX_GRID_DIM_X, one.MAX_GRID_DIM_Y, one.MAX_GRID_DIM_Z),
        "sharedMemPerBlock": one.MAX_SHARED_MEMORY_PER_BLOCK,
        "regsPerBlock": one.MAX_REGISTERS_PER_BLOCK,
    }


def memGetInfo() -> tuple[int, int]:
    """Free bytes of memory, and all of them."""
    from gridstride.cupy.cuda import Device

    return Device().mem_info


def runtimeGetVersion() -> int:
    """The version of CUDA that the driver knows, 12040 for 12.4; 0 on the CPU device."""
    return driverGetVersion()


def driverGetVersion() -> int:
    """The version of CUDA that the driver knows, 12040 for 12.4; 0 on the CPU device."""
    if _devices.gpu() is None:
        return 0
    major, minor = _native.cuda_driver_version()
    return major * 1000 + minor * 10


def profilerStart() -> None:
    """Lets a profiler that waits for it collect from now on."""
    _devices.profile_start()


def profilerStop() -> None:
    """Lets a profiler collect no longer."""
    _devices.profile_stop()
