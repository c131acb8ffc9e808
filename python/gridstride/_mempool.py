"""Memory pools of CUDA devices, and access between devices.

A pool hands out memory in the order of streams, without waiting for the device. Each device has one, in use by default.
"""

from __future__ import annotations

import enum
from typing import Any

from gridstride import _native
from gridstride._device import Device, DeviceLike, get_device


class MemoryKind(enum.IntEnum):
    """What memory an array lies in."""

    UNKNOWN = 0
    HOST = 1
    PINNED = 2
    CUDA_DEVICE = 3
    CUDA_MEMPOOL = 4
    CUDA_MANAGED = 5


def memory_kind(one: Any) -> MemoryKind:
    """What memory an array lies in; unknown for an annotation."""
    if getattr(one, "_is_annotation", False):
        return MemoryKind.UNKNOWN
    place = one._place
    kinds = {"cpu": MemoryKind.HOST, "pinned": MemoryKind.PINNED, "managed": MemoryKind.CUDA_MANAGED}
    kind = kinds.get(place.partition(":")[0])
    if kind is None:
        is_pooled = get_device(place).is_mempool_enabled
        kind = MemoryKind.CUDA_MEMPOOL if is_pooled else MemoryKind.CUDA_DEVICE
    return kind


def _cuda_device(device: DeviceLike) -> Device:
    found = get_device(device)
    if not found.is_cuda:
        raise ValueError(f"device {found} has no memory pool: it is not a CUDA device")
    return found


def is_mempool_supported(device: DeviceLike) -> bool:
    """Whether the device has stream-ordered memory pools: the CPU has not."""
    return get_device(device).is_mempool_supported


def is_mempool_enabled(device: DeviceLike) -> bool:
    """Whether a memory pool is in use: not on the CPU."""
    return get_device(device).is_mempool_enabled


def set_mempool_enabled(device: DeviceLike, enable: bool) -> None:
    """Takes memory from the device's pool, or from the driver directly. Raises `RuntimeError` without a pool."""
    found = get_device(device)
    if found.is_cuda:
        _native.cuda_pool_enabled(found.ordinal, enable)
    elif enable:
        raise ValueError("memory pools are those of CUDA devices")


def set_mempool_release_threshold(device: DeviceLike, threshold: int | float) -> None:
    """Bytes that the pool keeps although nobody uses them; a float of 0 to 1 is a part of the device's memory."""
    found = _cuda_device(device)
    if threshold < 0:
        raise ValueError(f"a threshold is 0 or more, not {threshold}")
    if isinstance(threshold, float) and threshold <= 1.0:
        threshold = int(threshold * found.total_memory)
    _native.cuda_pool_threshold(found.ordinal, int(threshold))


def get_mempool_release_threshold(device: DeviceLike = None) -> int:
    """Bytes that the pool keeps although nobody uses them."""
    return _native.cuda_pool_threshold(_cuda_device(device).ordinal)


def get_mempool_used_mem_current(device: DeviceLike = None) -> int:
    """Bytes of the pool that are in use."""
    return _native.cuda_pool_used(_cuda_device(device).ordinal)[0]


def get_mempool_used_mem_high(device: DeviceLike = None) -> int:
    """Bytes of the pool that were in use at most."""
    return _native.cuda_pool_used(_cuda_device(device).ordinal)[1]


def can_access(device: DeviceLike, array: Any) -> bool:
    """Whether kernels of a device can read an array. Raises `TypeError` for what is no array, or an annotation."""
    from gridstride import _mapped, _shape

    if not (_mapped.is_array(array) or isinstance(array, _shape.ArrayAnnotation)):
        raise TypeError(f"can_access() is about Warp arrays, not {array!r}")
    if isinstance(array, _shape.ArrayAnnotation) or getattr(array, "_memory", array) is None or not array.ptr:
        raise TypeError(f"can_access() needs a concrete Warp array, and {array!r} has no memory")
    return get_device(device).can_access(array.device) or bool(getattr(array, "pinned", False))


def is_peer_access_supported(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether kernels of `peer_device` can read memory of `target_device`."""
    target, peer = get_device(target_device), get_device(peer_device)
    return target.is_cuda and peer.is_cuda and _native.cuda_can_access(peer.ordinal, target.ordinal)


def is_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether kernels of `peer_device` read memory of `target_device`."""
    target, peer = get_device(target_device), get_device(peer_device)
    return target.is_cuda and peer.is_cuda and _native.cuda_has_access(peer.ordinal, target.ordinal)


def set_peer_access_enabled(target_device: DeviceLike, peer_device: DeviceLike, enable: bool) -> None:
    """Lets kernels of `peer_device` read and write memory of `target_device`, or no longer."""
    target, peer = get_device(target_device), get_device(peer_device)
    if target is peer:
        return
    if not is_peer_access_supported(target, peer):
        if enable:
            raise RuntimeError(f"device {peer} cannot access the memory of device {target}")
        return
    _native.cuda_set_access(peer.ordinal, target.ordinal, enable)


# Both kinds of memory are shared together.
is_mempool_access_supported = is_peer_access_supported
is_mempool_access_enabled = is_peer_access_enabled
set_mempool_access_enabled = set_peer_access_enabled


class _Switch:
    """Turns something on or off within a `with` block."""

    def __init__(self, *devices: DeviceLike, enable: bool) -> None:
        self.devices = devices
        self.enable = enable

    def _get(self) -> bool:
        raise NotImplementedError

    def _set(self, enable: bool) -> None:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._saved = self._get()
        self._set(self.enable)

    def __exit__(self, *error: object) -> None:
        self._set(self._saved)


class ScopedMempool(_Switch):
    """Takes memory from the device's pool, or not, within a `with` block."""

    def __init__(self, device: DeviceLike, enable: bool) -> None:
        super().__init__(device, enable=enable)

    def _get(self) -> bool:
        return is_mempool_enabled(*self.devices)

    def _set(self, enable: bool) -> None:
        set_mempool_enabled(*self.devices, enable)


class ScopedPeerAccess(_Switch):
    """Lets kernels of one device use memory of another within a `with` block."""

    def __init__(self, target_device: DeviceLike, peer_device: DeviceLike, enable: bool) -> None:
        super().__init__(target_device, peer_device, enable=enable)

    def _get(self) -> bool:
        return is_peer_access_enabled(*self.devices)

    def _set(self, enable: bool) -> None:
        set_peer_access_enabled(*self.devices, enable)


ScopedMempoolAccess = ScopedPeerAccess
