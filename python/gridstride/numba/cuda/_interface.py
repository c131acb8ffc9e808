"""Other libraries' device arrays, by `__cuda_array_interface__`."""

from __future__ import annotations

from typing import Any

from gridstride import _native
from gridstride.numba import config
from gridstride.numba.cuda import _devices, _memory
from gridstride.numba.cuda._arrays import DeviceNDArray
from gridstride.numba.cuda._streams import external_stream


def is_cuda_array(obj: Any) -> bool:
    """Whether an object describes device memory: a device array, or one with `__cuda_array_interface__`."""
    return isinstance(obj, DeviceNDArray) or hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> Any:
    """The memory of another library's device array as a device array."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if not hasattr(obj, "__cuda_array_interface__"):
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_cuda_array_interface(obj.__cuda_array_interface__, obj, sync)


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> Any:
    """A device array from a description of memory on a CUDA device, which the CPU device cannot read."""
    ordinal = _devices.gpu()
    if ordinal is None:
        raise RuntimeError("memory of a CUDA device cannot be used on the device `cpu`")
    if desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    stream: Any = 0
    if desc.get("stream"):
        stream = external_stream(desc["stream"])
        if sync and config.CUDA_ARRAY_INTERFACE_SYNC:
            _native.cuda_order(ordinal, desc["stream"], True)
    return DeviceNDArray(_memory.described(desc, owner), stream=stream)


def open_ipc_array(*args: Any, **kwargs: Any) -> Any:
    """Sharing memory between processes is CUDA's: raises `OSError` on the CPU device."""
    raise OSError("OS does not support CUDA IPC")
