"""Devices: which there are, which is the default, and `ScopedDevice`.

`"cpu"` runs compiled kernels on every core, `"cuda:0"` on the first NVIDIA GPU; `"cuda"` is the current one. `"interp"`
is hidden: the CPU's arrays, kernels run by the interpreter that defines what they mean. The environment variable
GRIDSTRIDE_DEVICE chooses the default, which is the first GPU where there is one, else the CPU.

    >>> wp.get_device("cpu").is_cpu
    True
"""

from __future__ import annotations

import os
from typing import Any

from gridstride import _native

DeviceLike = Any
"""What `device=` accepts: a device name, a `Device`, or None for the default."""


class Device:
    """A place where kernels run. Compare with another device or with its name.

    Attributes: `alias` (the name), `name` (the processor's), `is_cpu`, `is_cuda`, `ordinal`.
    """

    __slots__ = ("alias",)
    is_cpu = True
    is_cuda = False
    is_primary = False
    is_uva = False
    is_mempool_supported = False
    is_mempool_enabled = False
    is_ipc_supported = False
    is_capturing = False
    is_managed_memory_supported = False
    is_concurrent_managed_access_supported = False
    is_cpu_memory_access_from_gpu_supported = False
    is_gpu_memory_access_from_cpu_supported = False
    is_cpu_gpu_atomic_supported = False
    has_stream = False
    has_context = True
    ordinal = -1
    arch = 0
    sm_count = 0
    max_shared_memory_per_block = 0
    is_cubin_supported = False
    uuid = None
    pci_bus_id = None
    context = None
    null_stream = None

    def __init__(self, alias: str) -> None:
        self.alias = alias

    @property
    def name(self) -> str:
        """Name of the processor."""
        return _native.cpu_name()

    @property
    def default_allocator(self) -> Any:
        """What makes the memory of arrays on the device by default; an `Allocator`."""
        from gridstride import _allocators

        return _allocators.built_in(self.alias)

    @property
    def pinned_allocator(self) -> Any:
        """What makes page-locked memory of the host, where there is a GPU; an `Allocator`."""
        from gridstride import _allocators

        return _allocators.built_in("cpu", pinned=True)

    @property
    def mempool_allocator(self) -> Any:
        """The allocator of the device's memory pool; None where it has none."""
        return self.default_allocator if self.is_mempool_supported else None

    @property
    def stream(self) -> Any:
        """Streams are CUDA's: raises `RuntimeError`."""
        raise RuntimeError(f"Device {self.alias} is not a CUDA device")

    @property
    def total_memory(self) -> int:
        """Bytes of memory of the machine."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    @property
    def free_memory(self) -> int:
        """Bytes of memory that are free now."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")

    def can_access(self, other: DeviceLike) -> bool:
        """Whether kernels here can read arrays of `other`."""
        return get_device(other).is_cpu

    def make_context_current(self) -> None:
        """Accepted for compatibility: contexts are made current when they are needed."""

    def set_stream(self, stream: Any, sync: bool = True) -> None:
        """Streams are CUDA's: raises `RuntimeError`."""
        raise RuntimeError(f"Device {self.alias} is not a CUDA device")

    def _wait(self) -> None:
        """Every launch is done when it returns."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self.alias == other.alias
        return self.alias == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.alias)

    def __str__(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        return f'"{self.alias}"'

    def __reduce__(self) -> tuple[Any, ...]:
        return get_device, (self.alias,)


cpu = Device("cpu")
interp = Device("interp")
_BY_NAME = {"cpu": cpu, "interp": interp}
# What an array's memory is called.
_BY_PLACE = {"cpu": cpu, "pinned": cpu}
_default: Device | None = None
_current_cuda: Device | None = None


def get_device(ident: DeviceLike = None) -> Device:
    """The device of that name; with None, the default one.

    Raises `RuntimeError` for a CUDA device that is not there, `ValueError` for a name that is no device's.
    """
    if ident is None:
        return _default or _first_default()
    if isinstance(ident, Device):
        return ident
    found = _BY_NAME.get(ident) if isinstance(ident, str) else None
    if found is None:
        if isinstance(ident, str) and ident.split(":")[0] == "cuda":
            return _cuda_device(ident)
        raise ValueError(f"`{ident}` is not a device: use 'cpu' or 'cuda:0'")
    return found


def _cuda_device(name: str) -> Device:
    from gridstride import _cuda

    known = _cuda.devices()
    if not known:
        raise RuntimeError(
            f"device `{name}` is not available: no CUDA device is available in this program ({_cuda.missing()})"
        )
    if name == "cuda":
        return _current_cuda or known[0]
    found = _BY_NAME.get(name)
    if found is None:
        raise RuntimeError(f"device `{name}` is not available: there are {', '.join(map(str, known))}")
    return found


def _first_default() -> Device:
    set_device(os.environ.get("GRIDSTRIDE_DEVICE") or get_preferred_device())
    return get_device()


def set_device(ident: DeviceLike) -> None:
    """Makes a device the default."""
    global _default, _current_cuda
    _default = get_device(ident)
    if _default.is_cuda:
        _current_cuda = _default
    _native.set_launch_state(on_cpu=_default is cpu, cuda=_default.ordinal)


def place(device: DeviceLike, pinned: bool = False) -> str:
    """Where an array on a device has its memory; with `pinned`, the CPU's is page-locked where there is a GPU."""
    found = get_device(device)
    if found.is_cuda:
        return found.alias
    return "pinned" if pinned and is_cuda_available() else "cpu"


def memory_of(device: DeviceLike) -> Device:
    """The device whose memory a device's arrays are in: the CPU's for the interpreter."""
    found = get_device(device)
    return found if found.is_cuda else cpu


def get_devices() -> list[Device]:
    """Every device, the CPU first."""
    return [cpu, *get_cuda_devices()]


def get_cuda_devices() -> list[Device]:
    """CUDA devices."""
    from gridstride import _cuda

    return list(_cuda.devices())


def get_cuda_device_count() -> int:
    """Number of CUDA devices."""
    return len(get_cuda_devices())


def get_cuda_device(ordinal: int | None = None) -> Device:
    """The CUDA device of that number; with None, the current one. Raises `RuntimeError` where there is none."""
    return get_device("cuda" if ordinal is None else f"cuda:{ordinal}")


def map_cuda_device(alias: str, context: Any = None) -> Device:
    """A CUDA device by a name of one's own. Raises `RuntimeError` for a context that is not a device's primary one."""
    for device in get_cuda_devices():
        if context is None or device.context == int(getattr(context, "value", context)):
            _BY_NAME[alias] = device if context is not None else get_device("cuda")
            return _BY_NAME[alias]
    if context is None:
        return get_device("cuda")
    raise RuntimeError(f"cannot map `{alias}`: the context is no primary one of a CUDA device")


def unmap_cuda_device(alias: str) -> None:
    """Forgets a name given by `map_cuda_device`."""
    if alias not in _BY_NAME or alias == _BY_NAME[alias].alias:
        raise RuntimeError(f"cannot unmap `{alias}`: it is no name given by map_cuda_device")
    del _BY_NAME[alias]


def get_preferred_device() -> Device:
    """The current CUDA device where there is one, else the CPU."""
    from gridstride import _cuda

    return get_device("cuda") if _cuda.devices() else cpu


def is_cpu_available() -> bool:
    """Always true."""
    return True


def is_cuda_available() -> bool:
    """Whether kernels can run on a CUDA device. Starts the driver where there is one."""
    return get_cuda_device_count() > 0


def is_device_available(device: DeviceLike) -> bool:
    """Whether `get_device(device)` would succeed."""
    try:
        get_device(device)
    except (RuntimeError, ValueError):
        return False
    return True


def is_cuda_driver_initialized() -> bool:
    """Whether this program has started the CUDA driver."""
    return _native.cuda_is_started()


def get_cuda_driver_version() -> tuple[int, int] | None:
    """Version of the CUDA driver: None without one."""
    return _native.cuda_driver_version() if is_cuda_available() else None


def get_cuda_toolkit_version() -> tuple[int, int] | None:
    """Version of the CUDA toolkit: None, for none is needed."""
    return None


def is_conditional_graph_supported() -> bool:
    """Whether graphs with conditions can be captured: with a driver of CUDA 12.4 or newer."""
    version = get_cuda_driver_version()
    return version is not None and version >= (12, 4)


def get_cuda_supported_archs() -> list[int]:
    """CUDA architectures that kernels can be compiled for."""
    return [75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121]


class ScopedDevice:
    """Makes a device the default within a `with` block.

    >>> with wp.ScopedDevice("cpu") as device:
    ...     a = wp.zeros(10)
    """

    def __init__(self, device: DeviceLike) -> None:
        self.device = get_device(device)
        self._saved: list[Device] = []

    def __enter__(self) -> Device:
        self._saved.append(get_device())
        set_device(self.device)
        return self.device

    def __exit__(self, *error: object) -> None:
        set_device(self._saved.pop())


def synchronize() -> None:
    """Waits for every device. Raises `KernelFault` for a check that failed on one of them.

    Launches on the CPU are done when they return.
    """
    if _native.cuda_is_started():
        for device in get_cuda_devices():
            device._wait()


def synchronize_device(device: DeviceLike = None) -> None:
    """Waits for one device, see `synchronize`."""
    get_device(device)._wait()
