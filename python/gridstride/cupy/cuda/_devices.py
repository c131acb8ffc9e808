"""The devices that operations run on: GPUs by number, or the CPU where there is none."""

from __future__ import annotations

from typing import Any

from gridstride import _native
from gridstride.numba.cuda import _devices


class Device:
    """A device, the current one by default. `with Device(1):` makes it current for a block.

    Raises `CUDARuntimeError` for a number that there is no device of when it is used.
    """

    def __init__(self, device: Any = None) -> None:
        if isinstance(device, Device):
            device = device.id
        self.id = (_devices.gpu() or 0) if device is None else int(device)
        self._before: list[str] = []

    def use(self) -> Device:
        """Makes the device the current one."""
        from gridstride.cupy.cuda import runtime

        if _devices.gpu() is None or not 0 <= self.id < _native.cuda_device_count():
            if self.id != 0:
                raise runtime.CUDARuntimeError(101, f"cudaErrorInvalidDevice: there is no device {self.id}")
            return self
        _devices._launch_device = f"cuda:{self.id}"
        return self

    def __enter__(self) -> Device:
        self._before.append(_devices.launch_device())
        return self.use()

    def __exit__(self, *error: object) -> None:
        _devices._launch_device = self._before.pop()

    def synchronize(self) -> None:
        """Waits for all work on the device."""
        if _devices.gpu() is not None:
            _native.cuda_synchronize(self.id)

    @property
    def compute_capability(self) -> str:
        """The digits of a GPU's compute capability, "90"; "00" on the CPU."""
        return "00" if _devices.gpu() is None else str(_native.cuda_properties(self.id)["arch"])

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free bytes of memory, and all of them."""
        if _devices.gpu() is None:
            import os

            page = os.sysconf("SC_PAGE_SIZE")
            return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")
        return _native.cuda_memory(self.id)

    @property
    def attributes(self) -> dict[str, int]:
        """A few of the driver's attributes."""
        device = _devices.get_current_device()
        return {
            "MaxThreadsPerBlock": device.MAX_THREADS_PER_BLOCK,
            "MultiProcessorCount": device.MULTIPROCESSOR_COUNT,
            "WarpSize": device.WARP_SIZE,
            "MaxSharedMemoryPerBlock": device.MAX_SHARED_MEMORY_PER_BLOCK,
        }

    @property
    def pci_bus_id(self) -> str:
        """A GPU's place on the bus."""
        if _devices.gpu() is None:
            raise RuntimeError("the CPU device has no place on the PCI bus")
        return str(_native.cuda_properties(self.id).get("pci_bus_id", ""))

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return "<CPU Device>" if _devices.gpu() is None else f"<CUDA Device {self.id}>"

    def __reduce__(self) -> Any:
        return Device, (self.id,)


def get_device_id() -> int:
    """The number of the current device."""
    return _devices.gpu() or 0


def get_cublas_handle() -> Any:
    """Raises `NotImplementedError`: no library of NVIDIA's is used."""
    raise NotImplementedError("there is no cuBLAS handle: products of matrices are kernels of Gridstride")
