"""Devices: which there are, which is the default, and `ScopedDevice`.

`"cpu"` runs compiled kernels on every core. `"interp"` is hidden: the same arrays, kernels run by the interpreter that
defines what they mean. The environment variable GRIDSTRIDE_DEVICE chooses the default.

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
    has_stream = False
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
_default: Device | None = None


def get_device(ident: DeviceLike = None) -> Device:
    """The device of that name; with None, the default one.

    Raises `RuntimeError` for a CUDA device (there is none), `ValueError` for a name that is no device's.
    """
    if ident is None:
        return _default or _first_default()
    if isinstance(ident, Device):
        return ident
    found = _BY_NAME.get(ident) if isinstance(ident, str) else None
    if found is None:
        if isinstance(ident, str) and ident.split(":")[0] == "cuda":
            raise RuntimeError(f"device `{ident}` is not available: no CUDA device is available in this program")
        raise ValueError(f"`{ident}` is not a device: use 'cpu' or 'cuda:0'")
    return found


def _first_default() -> Device:
    set_device(os.environ.get("GRIDSTRIDE_DEVICE") or "cpu")
    return get_device()


def set_device(ident: DeviceLike) -> None:
    """Makes a device the default."""
    global _default
    _default = get_device(ident)
    _native.set_launch_state(on_cpu=_default is cpu)


def get_devices() -> list[Device]:
    """Every device, the CPU first."""
    return [cpu]


def get_cuda_devices() -> list[Device]:
    """CUDA devices: none."""
    return []


def get_cuda_device_count() -> int:
    """Number of CUDA devices: 0."""
    return 0


def get_cuda_device(ordinal: int | None = None) -> Device:
    """Raises `RuntimeError`: there is no CUDA device."""
    return get_device("cuda" if ordinal is None else f"cuda:{ordinal}")


def map_cuda_device(alias: str, context: Any = None) -> Device:
    """Raises `RuntimeError`: there is no CUDA device."""
    raise RuntimeError(f"cannot map `{alias}`: no CUDA device is available in this program")


def unmap_cuda_device(alias: str) -> None:
    """Raises `RuntimeError`: there is no CUDA device."""
    raise RuntimeError(f"cannot unmap `{alias}`: no CUDA device is available in this program")


def get_preferred_device() -> Device:
    """The first CUDA device where there is one, else the CPU."""
    return cpu


def is_cpu_available() -> bool:
    """Always true."""
    return True


def is_cuda_available() -> bool:
    """Whether kernels can run on a CUDA device: not yet."""
    return False


def is_device_available(device: DeviceLike) -> bool:
    """Whether `get_device(device)` would succeed."""
    try:
        get_device(device)
    except (RuntimeError, ValueError):
        return False
    return True


def is_cuda_driver_initialized() -> bool:
    """Whether this program has started the CUDA driver: never."""
    return False


def get_cuda_driver_version() -> tuple[int, int] | None:
    """Version of the CUDA driver: None without one."""
    return None


def get_cuda_toolkit_version() -> tuple[int, int] | None:
    """Version of the CUDA toolkit: None, for none is needed."""
    return None


def is_mempool_supported(device: DeviceLike) -> bool:
    """Whether the device has stream-ordered memory pools: the CPU has not."""
    get_device(device)
    return False


def is_mempool_enabled(device: DeviceLike) -> bool:
    """Whether memory pools are in use: not on the CPU."""
    get_device(device)
    return False


def is_mempool_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one GPU can read the other's memory pool: false without GPUs."""
    return is_peer_access_supported(target_device, peer_device)


def is_mempool_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one GPU reads the other's memory pool: false without GPUs."""
    return is_peer_access_supported(target_device, peer_device)


def is_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one GPU reads the other's memory: false without GPUs."""
    return is_peer_access_supported(target_device, peer_device)


def is_conditional_graph_supported() -> bool:
    """Whether graphs with conditions can be captured: not without CUDA."""
    return False


def get_cuda_supported_archs() -> list[int]:
    """CUDA architectures that kernels can be compiled for: none yet."""
    return []


def is_peer_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one GPU can read the other's memory: false without GPUs."""
    get_device(target_device)
    get_device(peer_device)
    return False


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
    """Waits for every device. Launches on the CPU return when they are done, so this returns at once."""


def synchronize_device(device: DeviceLike = None) -> None:
    """Waits for one device, see `synchronize`."""
    get_device(device)
