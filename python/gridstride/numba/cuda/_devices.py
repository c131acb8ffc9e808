"""Devices and contexts, and which device launches run on.

Launches run on the GPU where there is one, else on the CPU device, as they do with `GRIDSTRIDE_DEVICE=cpu` and with
`NUMBA_ENABLE_CUDASIM=1`; `GRIDSTRIDE_DEVICE=interp` runs them in the interpreter. What a program asks about the CPU
device is answered as numba-cuda's simulator answers it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride import _native

_launch_device: str | None = None

ComputeCapability = namedtuple("ComputeCapability", ["major", "minor"])


def launch_device() -> str:
    """The alias of the device that launches run on: the package's default device, unless the simulator is asked for."""
    global _launch_device
    if _launch_device is None:
        from gridstride import _device
        from gridstride.numba import config

        chosen = "cpu" if config.ENABLE_CUDASIM else _device.get_device().alias
        _launch_device = chosen
    return _launch_device


def gpu() -> int | None:
    """The number of the GPU that launches run on; None where they run on the CPU."""
    name = _launch_device or launch_device()
    return int(name[5:]) if name.startswith("cuda:") else None


def _wait() -> None:
    ordinal = gpu()
    if ordinal is not None:
        _native.cuda_synchronize(ordinal)


class Device:
    """A device and its attributes, by CUDA's upper-case names."""

    id = 0
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X = MAX_BLOCK_DIM_Y = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = 2**31 - 1
    MAX_GRID_DIM_Y = MAX_GRID_DIM_Z = 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024
    MAX_REGISTERS_PER_BLOCK = 65536
    WARP_SIZE = 32
    CAN_MAP_HOST_MEMORY = UNIFIED_ADDRESSING = CONCURRENT_KERNELS = MANAGED_MEMORY = COOPERATIVE_LAUNCH = 1
    ASYNC_ENGINE_COUNT = 1
    supports_float16 = True
    uuid = f"GPU-{uuid.UUID(int=0)}"

    @property
    def name(self) -> bytes:
        ordinal = gpu()
        return (_native.cpu_name() if ordinal is None else _native.cuda_properties(ordinal)["name"]).encode()

    @property
    def MULTIPROCESSOR_COUNT(self) -> int:
        ordinal = gpu()
        return _native.get_num_threads() if ordinal is None else _native.cuda_properties(ordinal)["sm_count"]

    @property
    def compute_capability(self) -> ComputeCapability:
        ordinal = gpu()
        if ordinal is None:
            return ComputeCapability(5, 2)
        return ComputeCapability(*divmod(_native.cuda_properties(ordinal)["arch"], 10))

    COMPUTE_CAPABILITY = compute_capability

    def get_primary_context(self) -> Context:
        """The context that programs share."""
        return _context

    def reset(self) -> None:
        """Accepted: what is on the CPU device lives as long as it is used."""

    def __enter__(self) -> Context:
        return _context

    def __exit__(self, *error: Any) -> None:
        pass

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name.decode()}'>"


_Memory = namedtuple("_Memory", ["free", "total"])


class Context:
    """The state of a device."""

    @property
    def device(self) -> Device:
        return _device

    def get_memory_info(self) -> Any:
        """Free and total bytes of memory."""
        ordinal = gpu()
        if ordinal is not None:
            return _Memory(*_native.cuda_memory(ordinal))
        page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
        if not hasattr(os, "sysconf"):
            return _Memory(sys.maxsize, sys.maxsize)
        return _Memory(page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES"))

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Puts off freeing memory to the end of the block."""
        yield

    def memalloc(self, bytesize: int) -> Any:
        """Bytes of device memory."""
        from gridstride.numba.cuda._arrays import device_array

        return device_array(bytesize, np.uint8) if gpu() is not None else np.empty(bytesize, np.uint8)

    def memhostalloc(self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False) -> Any:
        """Bytes of host memory that devices use in place."""
        from gridstride.numba.cuda._host_arrays import mapped_array

        return mapped_array(bytesize, np.uint8)

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> Any:
        """Bytes of memory that moves to where it is used."""
        from gridstride.numba.cuda._host_arrays import managed_array

        return managed_array(bytesize, np.uint8)

    @property
    def handle(self) -> int:
        """The driver's context; 0 on the CPU device."""
        ordinal = gpu()
        return 0 if ordinal is None else _native.cuda_context(ordinal)

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

    @property
    def deallocations(self) -> Any:
        """Memory that waits to be freed: none, freed memory goes back at once."""
        return _NONE_PENDING

    def reset(self) -> None:
        """Accepted: what is on the CPU device lives as long as it is used."""

    def synchronize(self) -> None:
        """Waits until the device is done."""
        _wait()

    def push(self) -> None:
        """Makes this context the current one."""

    def pop(self) -> None:
        """Makes the context before this one current again."""

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "<CUDA context of device 0>"


class _Pending:
    """Memory that waits to be freed: none ever does."""

    def __len__(self) -> int:
        return 0

    def clear(self) -> None:
        """Nothing is to be freed."""


_NONE_PENDING = _Pending()


class _DeviceList:
    """`cuda.gpus`: the devices, by number."""

    @property
    def lst(self) -> list[Device]:
        return [_device]

    @property
    def current(self) -> Device:
        return _device

    def __getitem__(self, index: int) -> Device:
        return self.lst[index]

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "<Managed Device 0>"


_device = Device()
_context = Context()
gpus = _DeviceList()


def is_available() -> bool:
    """Whether kernels can be launched: always, on the CPU device where there is no GPU."""
    return True


def is_supported_version() -> bool:
    """Whether the driver's version is supported."""
    return True


def detect() -> bool:
    """Prints the devices; whether there is one that is supported."""
    print("Found 1 CUDA devices")
    print(f"id {0:<5}{_device.name.decode():>30}{'[SUPPORTED]':>40}")
    print(f"{'Compute Capability':>40}: {'.'.join(map(str, _device.compute_capability))}")
    print("Summary:\n\t1/1 devices are supported")
    return True


def get_current_device() -> Device:
    """The device that launches run on."""
    return _device


def list_devices() -> _DeviceList:
    """All devices."""
    return gpus


def select_device(device_id: int) -> Context:
    """Makes a device the current one. Raises `ValueError` for a number that there is no device of."""
    if device_id != 0:
        raise ValueError(f"there is no device {device_id}: the CPU device is number 0")
    return _context


def current_context(devnum: int | None = None) -> Context:
    """The context of the current device."""
    return _context


get_context = current_context


def synchronize() -> None:
    """Waits until the device is done."""
    _wait()


def close() -> None:
    """Accepted: what is on the CPU device lives as long as it is used."""


def require_context(function: Any) -> Any:
    """Accepted: the context of the CPU device is always there."""
    return function


def profile_start() -> None:
    """Starts the profiler: does nothing on the CPU device."""


def profile_stop() -> None:
    """Stops the profiler: does nothing on the CPU device."""


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Profiles the block."""
    profile_start()
    yield
    profile_stop()
