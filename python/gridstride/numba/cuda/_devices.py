"""Devices and contexts, and which device launches run on.

Launches run on the GPU where there is one, else on the CPU device, as they do with `GRIDSTRIDE_DEVICE=cpu` and with
`NUMBA_ENABLE_CUDASIM=1`; `GRIDSTRIDE_DEVICE=interp` runs them in the interpreter. What a program asks about the CPU
device is answered as numba-cuda's simulator answers it.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from gridstride import _native

_launch_device: str | None = None
#: Whether this process has a GPU's state of its parent, which no child can use.
is_forked = False


def _note_fork() -> None:
    global is_forked
    is_forked = bool(_launch_device and _launch_device.startswith("cuda:"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)

ComputeCapability = namedtuple("ComputeCapability", ["major", "minor"])


def launch_device() -> str:
    """The alias of the device that launches run on: the package's default device, unless the simulator is asked for.

    Raises `CudaSupportError` where the driver cannot be started, and with `NUMBA_DISABLE_CUDA=1`.
    """
    global _launch_device
    if _launch_device is None:
        from gridstride import _device
        from gridstride.numba import config
        from gridstride.numba.cuda import _driver

        if config.ENABLE_CUDASIM:
            _launch_device = "cpu"
        else:
            _driver.driver.ensure_initialized()
            _launch_device = _device.get_device().alias
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

    @property
    def uuid(self) -> str:
        ordinal = gpu()
        return f"GPU-{uuid.UUID(int=0)}" if ordinal is None else str(_native.cuda_properties(ordinal)["uuid"])

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

    def __getattr__(self, name: str) -> int:
        """Any other attribute of the driver's, by its name there; NVIDIA's bindings have the names."""
        if not name.isupper() or gpu() is None:
            raise AttributeError(f"the device has no attribute {name!r}")
        from gridstride.numba.cuda import _driver

        wanted = getattr(_driver.binding.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}", None)
        if wanted is None:
            raise AttributeError(f"the device has no attribute {name!r}")
        return int(_driver.driver.cuDeviceGetAttribute(wanted, gpu()))

    def get_device_identity(self) -> dict[str, Any]:
        """What tells the device from others."""
        return {"uuid": self.uuid}

    def get_primary_context(self) -> Context:
        """The context that programs share."""
        return _context

    def reset(self) -> None:
        """As `Context.reset`."""
        _context.reset()

    def __enter__(self) -> Context:
        _context.push()
        return _context

    def __exit__(self, *error: Any) -> None:
        _context.pop()

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name.decode()}'>"


class _DeviceList:
    """`cuda.gpus`: the devices, by number."""

    @property
    def lst(self) -> list[Device]:
        return [_device]

    @property
    def current(self) -> Device:
        return _device

    def __getitem__(self, index: Any) -> Any:
        return self.lst[index if isinstance(index, slice) else int(index)]

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "<Managed Device 0>"


from gridstride.numba.cuda._context import Context  # noqa: E402  # it needs what is above

_device = Device()
_context = Context()
gpus = _DeviceList()


def is_available() -> bool:
    """Whether kernels can be launched: on the CPU device where there is no GPU, unless CUDA is disabled."""
    from gridstride.numba import config
    from gridstride.numba.cuda import _driver

    return bool(config.ENABLE_CUDASIM) or _driver.driver.is_available


def cuda_error() -> str | None:
    """Why the driver could not be started; None where it could."""
    from gridstride.numba.cuda import _driver

    return None if is_available() else _driver.driver.initialization_error


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
    """The context of the current device, which it makes the calling thread's current one where that has none.

    Raises `RuntimeError` where another library has made a context current that is not the device's primary one.
    """
    if gpu() is not None:
        found, ours = _native.cuda_current_context(), _context.handle
        if found == 0:
            _context.push()
        elif found != ours:
            raise RuntimeError(f"Numba cannot operate on non-primary CUDA context {found:x}")
        _context.prepare_for_use()
    return _context


get_context = current_context


def synchronize() -> None:
    """Waits until the device is done."""
    _wait()


def close() -> None:
    """As `Context.reset`."""
    _context.reset()


def require_context(function: Any) -> Any:
    """Accepted: the context of the CPU device is always there."""
    return function


def profile_start() -> None:
    """Lets a profiler that waits for it collect from now on: does nothing on the CPU device."""
    ordinal = gpu()
    if ordinal is not None:
        _native.cuda_set_profiled(ordinal, True)


def profile_stop() -> None:
    """Lets a profiler collect no longer: does nothing on the CPU device."""
    ordinal = gpu()
    if ordinal is not None:
        _native.cuda_set_profiled(ordinal, False)


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Profiles the block."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()
