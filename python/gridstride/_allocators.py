"""Allocators: who makes the memory of arrays.

    >>> allocator = wp.get_device("cpu").default_allocator
    >>> address = allocator.allocate(64)
    >>> allocator.deallocate(address, 64)

A program's own has these two methods: it hands out memory of another library's pool, say, for arrays of CUDA devices.
While it is asked, the array's device is the default one.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from gridstride import _device, _native
from gridstride._device import Device, DeviceLike, get_device, get_devices


@runtime_checkable
class Allocator(Protocol):
    """What hands out memory."""

    def allocate(self, size_in_bytes: int) -> int:
        """The address of that many bytes."""

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Takes them back."""


class KeepingAllocator:
    """Keeps the buffers that a function makes until their memory is given back."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make
        self._live: dict[int, Any] = {}

    def allocate(self, size_in_bytes: int) -> int:
        """The address of that many bytes. Raises `ValueError` for none at all."""
        if size_in_bytes <= 0:
            raise ValueError(f"memory of {size_in_bytes} bytes has no address")
        made = self._make(size_in_bytes)
        self._live[made.ptr] = made
        return made.ptr

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        """Takes them back. Raises `ValueError` for an address that this allocator did not hand out."""
        if self._live.pop(ptr, None) is None:
            raise ValueError(f"the allocator did not hand out memory at {ptr:#x}")


class CudaManagedAllocator(KeepingAllocator):
    """Makes arrays of a CUDA device from managed memory, which the host reads and writes by the same address."""

    def __init__(self) -> None:
        super().__init__(lambda n_bytes: _native.CudaBuffer(get_device("cuda").ordinal, n_bytes, "managed"))


@functools.cache
def built_in(alias: str, pinned: bool = False) -> KeepingAllocator:
    """The allocator of a device that arrays have by default; with `pinned`, of the host's page-locked memory."""
    device = get_device(alias)
    if device.is_cuda:
        return KeepingAllocator(lambda n_bytes: _native.CudaBuffer(device.ordinal, n_bytes))
    if pinned and _device.is_cuda_available():
        return KeepingAllocator(lambda n_bytes: _native.CudaBuffer(get_device("cuda").ordinal, n_bytes, "pinned"))
    return KeepingAllocator(lambda n_bytes: _native.Buffer(n_bytes, False))


_chosen: dict[int, Any] = {}


def _cuda_device(device: DeviceLike) -> Device:
    found = get_device(device)
    if not found.is_cuda:
        raise RuntimeError(f"allocators are chosen for CUDA devices, not for {found}")
    return found


def set_cuda_allocator(allocator: Any) -> None:
    """Uses an allocator for arrays of every CUDA device; None for the usual one."""
    for device in get_devices():
        if device.is_cuda:
            set_device_allocator(device, allocator)


def set_device_allocator(device: DeviceLike, allocator: Any) -> None:
    """Uses an allocator for arrays of a CUDA device; None for the usual one.

    Raises `RuntimeError` for the CPU, `TypeError` for an object that has not the methods of an `Allocator`.
    """
    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(f"an allocator has methods `allocate` and `deallocate`, which {allocator!r} has not")
    _chosen[_cuda_device(device).ordinal] = allocator


def get_device_allocator(device: DeviceLike) -> Any:
    """The allocator in use on a CUDA device."""
    found = _cuda_device(device)
    return _chosen.get(found.ordinal) or built_in(found.alias)


class ScopedAllocator:
    """Uses an allocator for arrays of a CUDA device within a `with` block."""

    def __init__(self, device: DeviceLike, allocator: Any) -> None:
        self.device = _cuda_device(device)
        self.allocator = allocator

    def __enter__(self) -> Any:
        self._saved = _chosen.get(self.device.ordinal)
        set_device_allocator(self.device, self.allocator)
        return self.allocator

    def __exit__(self, *error: object) -> None:
        set_device_allocator(self.device, self._saved)


class _Held:
    """Memory of a program's allocator, given back where nothing refers to it any more."""

    def __init__(self, allocator: Any, ordinal: int, n_bytes: int) -> None:
        with _device.ScopedDevice(f"cuda:{ordinal}"):
            self.ptr = allocator.allocate(n_bytes)
        weakref.finalize(self, _give_back, allocator, ordinal, self.ptr, n_bytes).atexit = False


def _give_back(allocator: Any, ordinal: int, ptr: int, n_bytes: int) -> None:
    with _device.ScopedDevice(f"cuda:{ordinal}"):
        allocator.deallocate(ptr, n_bytes)


def buffer(ordinal: int, n_bytes: int) -> tuple[Any, str]:
    """Memory for an array of a CUDA device, and what it is called."""
    allocator = _chosen.get(ordinal)
    if allocator is None:
        return _native.CudaBuffer(ordinal, n_bytes), f"cuda:{ordinal}"
    is_managed = isinstance(allocator, CudaManagedAllocator)
    return _Held(allocator, ordinal, n_bytes), f"managed:{ordinal}" if is_managed else f"cuda:{ordinal}"
