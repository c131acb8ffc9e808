"""Other libraries' device arrays, by `__cuda_array_interface__`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import config
from gridstride.numba.cuda import _devices, _memory
from gridstride.numba.cuda._arrays import DeviceNDArray
from gridstride.numba.cuda._pointers import MemoryPointer
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


def ordered(obj: Any) -> Any:
    """As `as_cuda_array`; what is on the array's stream comes before what kernels do with it, and nothing waits."""
    found, ordinal = as_cuda_array(obj, sync=False), _devices.gpu()
    if found.stream and config.CUDA_ARRAY_INTERFACE_SYNC and not isinstance(obj, DeviceNDArray):
        _native.cuda_order(ordinal, int(found.stream), True)
    return found


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> Any:
    """A device array from a description of memory on a CUDA device, which the CPU device cannot read.

    With `sync` the stream that the description names is waited for, unless `NUMBA_CUDA_ARRAY_INTERFACE_SYNC` is 0.
    """
    ordinal = _devices.gpu()
    if ordinal is None:
        raise RuntimeError("memory of a CUDA device cannot be used on the device `cpu`")
    if desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    stream: Any = 0
    if desc.get("stream"):
        stream = external_stream(desc["stream"])
        if sync and config.CUDA_ARRAY_INTERFACE_SYNC:
            stream.synchronize()
    return DeviceNDArray(_memory.described(desc, owner), stream=stream)


def of_core(obj: Any) -> Any:
    """Memory of cuda-core's, a `Buffer` or a `StridedMemoryView`, as a device array; another object as it is."""
    if hasattr(obj, "exporting_obj"):
        itemsize = obj.dtype.itemsize
        strides = obj.strides and tuple(count * itemsize for count in obj.strides)
        memory = MemoryPointer(None, int(obj.ptr), int(np.prod(obj.shape, dtype=np.int64)) * itemsize, owner=obj)
        if strides:
            desc = {"shape": obj.shape, "strides": strides, "typestr": obj.dtype.str, "data": (int(obj.ptr), False)}
            return DeviceNDArray(_memory.described(desc, obj))
        return DeviceNDArray(shape=obj.shape, dtype=obj.dtype, gpu_data=memory)
    if hasattr(obj, "handle") and hasattr(obj, "size"):
        memory = MemoryPointer(None, int(obj.handle), int(obj.size), owner=obj)
        return DeviceNDArray(shape=int(obj.size), dtype=np.uint8, gpu_data=memory)
    return obj
