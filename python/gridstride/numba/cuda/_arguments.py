"""Arguments of a launch: host values as the compiled part takes them.

In: what the user passed. Out: device arrays, numbers, tuples of these, and what is to be copied back after the launch.
"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import _dtypes, config, types
from gridstride.numba.cuda import _devices, _memory
from gridstride.numba.cuda._arrays import DeviceNDArray, DeviceRecord, _fits, to_device
from gridstride.numba.cuda._host_arrays import _HostArray
from gridstride.numba.cuda._interface import of_core, ordered
from gridstride.numba.cuda.args import ArgHint
from gridstride.numba.errors import NumbaPerformanceWarning

_PLAIN = (int, float, bool, DeviceNDArray, np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64)
_HOST_WARNING = "Host array used in CUDA kernel will incur copy overhead to/from device."
_ENDLESS = 1 << 62
Back = list[Callable[[], None]]
_classes: dict[_native.Type, type] = {}


def _value(ty: _native.Type, data: bytes) -> Any:
    """A host value of a compiler's type that is given by its bytes."""
    found = _classes.get(ty)
    if found is None:
        members = {"__gs_type__": ty, "__gs_bytes__": lambda self: self.data, "__slots__": ("data",)}
        found = _classes[ty] = type("Value", (), members)
    made = found()
    made.data = data
    return made


def _record(host: np.ndarray[Any, Any]) -> Any:
    """A reference to a record: the descriptor of an array of one element."""
    elem = _dtypes.from_native_dtype(host.dtype)
    words = np.array([host.__array_interface__["data"][0], 1, host.itemsize], np.uint64)
    return _value(_dtypes.record_reference(elem), words.tobytes())


def _host_array(array: np.ndarray[Any, Any], back: Back, copies_back: bool) -> Any:
    if _devices.gpu() is not None and _memory.place(array) == "cpu":
        there = to_device(array)
        if copies_back and array.flags["WRITEABLE"]:
            back.append(lambda: there.copy_to_host(array))
        return there
    # What is only read is a copy: what the kernel writes to it stays unseen.
    if copies_back and array.flags["WRITEABLE"] and _fits(array):
        is_plain = array.dtype.kind in "biuf" and 1 <= array.ndim <= 4
        return array if is_plain and type(array) is np.ndarray else DeviceNDArray(array)
    aligned = np.empty_like(array, dtype=_dtypes.device_dtype(array.dtype), order="K", subok=False)
    aligned[...] = array
    if copies_back and array.flags["WRITEABLE"]:
        back.append(lambda: array.__setitem__(..., aligned))
    return DeviceNDArray(aligned)


def pointer(address: int, ty: types.CPointer) -> Any:
    """An address as the array without an end that it is in a kernel."""
    elem = _dtypes.native(ty.dtype)
    itemsize = _dtypes.as_dtype(ty.dtype).itemsize
    ordinal = _devices.gpu()
    place = "cpu" if ordinal is None else f"cuda:{ordinal}"
    return _native.Array(elem, int(address), (_ENDLESS // itemsize,), (itemsize,), place, None)


def convert(value: Any, back: Back, keep: list[Any], copies_back: bool = True) -> Any:
    """A host value as the compiled part takes it. `keep` holds what must live until the launch is over."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, ArgHint):
        return convert(value.value, back, keep, value.copies_back)
    if isinstance(value, _HostArray):
        return _host_array(value, back, copies_back)
    if isinstance(value, np.ndarray):
        if config.CUDA_WARN_ON_IMPLICIT_COPY and not config.ENABLE_CUDASIM:
            warnings.warn(NumbaPerformanceWarning(_HOST_WARNING), stacklevel=3)
        return _host_array(value, back, copies_back)
    if isinstance(value, DeviceRecord):
        return _record(value._memory)
    if isinstance(value, np.void):
        record = to_device(value)
        keep.append(record)
        if copies_back:

            def write_back() -> None:
                found = record.copy_to_host()
                for name in value.dtype.names or ():
                    value[name] = found[name]

            back.append(write_back)
        return _record(record._memory)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.astype(np.int64))
    if isinstance(value, np.complexfloating | complex) and not isinstance(value, float):
        number = np.asarray(value)
        return _value(_dtypes.from_native_dtype(number.dtype), number.tobytes())
    if isinstance(value, enum.Enum):
        return convert(value.value, back, keep)
    if isinstance(value, tuple):
        items = [convert(item, back, keep, copies_back) for item in value]
        return type(value)._make(items) if hasattr(value, "_fields") else tuple(items)
    if hasattr(value, "__cuda_array_interface__"):
        return ordered(value)
    if type(value).__module__.startswith("cuda.core"):
        return of_core(value)
    if isinstance(value, _native.Array):
        return value
    if isinstance(value, list):
        raise TypeError("a list cannot be passed to a kernel: make an array of it")
    return value
