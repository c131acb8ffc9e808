"""Memory of the host that devices use: pinned, mapped and managed arrays."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride.numba.cuda import _devices, _memory
from gridstride.numba.cuda._arrays import DeviceNDArray, to_device


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> Any:
    """A NumPy array whose memory devices can copy from at full speed."""
    return _memory.allocate(_like(shape, dtype, order), "pinned")


def _like(shape: Any, dtype: Any, order: str) -> np.ndarray[Any, Any]:
    return np.empty((shape,) if isinstance(shape, int) else shape, dtype, order="F" if order == "F" else "C")


def pinned_array_like(ary: Any) -> Any:
    """As `pinned_array`, in the shape and dtype of another array."""
    return _memory.allocate(np.empty_like(ary._memory if isinstance(ary, DeviceNDArray) else ary), "pinned")


class _HostArray(np.ndarray[Any, Any]):
    """Mapped and managed memory: a NumPy array that is a device array too."""

    __cuda_memory__ = True
    stream: Any = 0

    @property
    def device_pointer(self) -> int:
        return int(self.__array_interface__["data"][0])

    device_pointer_value = device_pointer

    @property
    def device_ctypes_pointer(self) -> Any:
        return ctypes.c_size_t(self.device_pointer)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return _memory.description(self, self.dtype, self.stream)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """The elements as a NumPy array."""
        if ary is None:
            return np.array(self, subok=False)
        ary[...] = self
        return ary


def _on(array: Any, stream: Any) -> Any:
    array.stream = stream
    return array


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    portable: bool = False,
    wc: bool = False,
) -> Any:
    """A NumPy array that kernels use in place."""
    return _on(_memory.allocate(_like(shape, dtype, order), "pinned").view(_HostArray), stream)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """As `mapped_array`, in the shape and dtype of another array."""
    return _on(pinned_array_like(ary).view(_HostArray), stream)


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Any = 0,
    attach_global: bool = True,
) -> Any:
    """A NumPy array whose memory moves to where it is used."""
    return _on(_memory.allocate(_like(shape, dtype, order), "managed").view(_HostArray), stream)


def _locked(ary: Any, is_mapped: bool) -> Any:
    """Page-locks an array's memory for as long as what is returned is used; None where the system does not allow it."""
    if _devices.gpu() is None or not ary.size:
        return None
    first, n_bytes, _ = _memory._span(ary)
    try:
        return _devices.current_context().mempin(ary, first, n_bytes, is_mapped)
    except RuntimeError:
        return None


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Pins the memory of NumPy arrays for the block."""
    for ary in arylist:
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"only NumPy arrays can be pinned, not {type(ary).__name__}")
    locks = [_locked(ary, False) for ary in arylist]
    try:
        yield
    finally:
        locks.clear()


@contextlib.contextmanager
def mapped(*arylist: Any, **kws: Any) -> Iterator[Any]:
    """NumPy arrays as device arrays over the same memory, for the block."""
    locks = [_locked(ary, True) for ary in arylist]
    # Memory that cannot be locked is not reached from a GPU: a copy goes there and back.
    is_copied = [lock is None and _devices.gpu() is not None for lock in locks]
    pairs = zip(arylist, is_copied, strict=True)
    made = [to_device(ary) if copied else DeviceNDArray(ary) for ary, copied in pairs]
    try:
        yield made[0] if len(made) == 1 else made
        for ary, one, copied in zip(arylist, made, is_copied, strict=True):
            if copied:
                one.copy_to_host(ary)
        _devices.synchronize()
    finally:
        made.clear()
        locks.clear()
