"""Device arrays: `to_device`, `device_array`, `copy_to_host` …

`_memory` says where an array is and how it lies; `_host` is what NumPy reads: the same memory on the CPU device, a copy
of it on a GPU. `_memory` alone is enough for shapes and slices.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import _dtypes
from gridstride.numba.cuda import _memory, _pointers

errmsg_contiguous_buffer = (
    "the elements do not lie side by side and cannot be copied as one region of memory; make the array contiguous "
    "with numpy.ascontiguousarray"
)


def is_contiguous(ary: Any) -> bool:
    """Whether an array's elements lie side by side in row-major order, apart from what broadcasting repeats."""
    return bool(array_core(ary).flags["C_CONTIGUOUS"])


def array_core(ary: Any) -> Any:
    """An array without what broadcasting repeats: dimensions of stride 0 are cut to one element."""
    if not ary.strides or not ary.size:
        return ary
    return ary[tuple(0 if stride == 0 else slice(None) for stride in ary.strides)]


def _is_whole(ary: Any) -> bool:
    """Whether an array is one region of memory in either order, apart from what broadcasting repeats."""
    core = array_core(ary)
    return bool(core.flags["C_CONTIGUOUS"] or core.flags["F_CONTIGUOUS"])


def _fits(array: np.ndarray[Any, Any]) -> bool:
    """Whether compiled code can work on an array's memory as it lies."""
    dtype = array.dtype
    return bool(array.flags["ALIGNED"]) and _dtypes.device_dtype(dtype) == dtype


class DeviceNDArray(_native.Array):
    """An array on the device. Made by `to_device`, `device_array` and by slicing another."""

    __cuda_ndarray__ = True
    __cuda_memory__ = True
    _memory: np.ndarray[Any, Any]

    def __new__(
        cls,
        host: Any = None,
        dtype: Any = None,
        stream: Any = 0,
        shape: Any = None,
        strides: Any = None,
        gpu_data: Any = None,
    ) -> DeviceNDArray:
        """Over memory that `host` describes; as numba-cuda's, by shape, strides, dtype and perhaps memory there is."""
        if host is not None and not isinstance(host, np.ndarray) and not isinstance(dtype, type | np.dtype | str):
            # Numba's order of positional arguments.
            shape, strides, dtype = host, dtype, stream
            host, stream = None, 0
        if shape is not None or not isinstance(host, np.ndarray):
            host = _memory.of_shape(host if shape is None else shape, strides, np.dtype(dtype), gpu_data)
        elem = _dtypes.from_native_dtype(host.dtype)
        shape, strides = (host.shape, host.strides) if host.ndim else ((1,), (host.itemsize,))
        address = host.__array_interface__["data"][0]
        self = super().__new__(cls, elem, address, shape, strides, _memory.place(host), host)
        self._memory = host
        self._dtype = host.dtype if dtype is None else np.dtype(dtype)
        self.stream = stream
        return self

    @property
    def _host(self) -> np.ndarray[Any, Any]:
        return self._read(0)

    def _read(self, stream: Any) -> np.ndarray[Any, Any]:
        return _memory.read(self._memory, self._is_host, stream or self.stream)

    def _write(self, values: Any, stream: Any = 0) -> None:
        if 0 in self.strides and np.shape(values) == self.shape:
            # What is repeated is written once.
            once = tuple(slice(1) if stride == 0 else slice(None) for stride in self.strides)
            _memory.write(self._memory[once], self._is_host, values[once], stream or self.stream)
            return
        _memory.write(self._memory, self._is_host, values, stream or self.stream)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return _memory.description(self._memory, self._dtype, self.stream)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._memory.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self._memory.strides

    @property
    def ndim(self) -> int:
        return self._memory.ndim

    @property
    def size(self) -> int:
        return self._memory.size

    @property
    def nbytes(self) -> int:
        return self._memory.nbytes

    @property
    def alloc_size(self) -> int:
        return self._memory.nbytes

    @property
    def flags(self) -> Any:
        return self._memory.flags

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def gpu_data(self) -> Any:
        """The memory, from the first element on."""
        return _pointers.MemoryPointer(None, self.ptr, self.nbytes, owner=self) if self.size else None

    @property
    def device_pointer(self) -> int:
        return self.ptr

    device_pointer_value = device_pointer

    @property
    def device_ctypes_pointer(self) -> Any:
        return ctypes.c_size_t(self.ptr)

    @property
    def _numba_type_(self) -> Any:
        return _dtypes.typeof(self._memory)

    def is_c_contiguous(self) -> bool:
        return bool(self._memory.flags["C_CONTIGUOUS"])

    def is_f_contiguous(self) -> bool:
        return bool(self._memory.flags["F_CONTIGUOUS"])

    def _as(self, host: np.ndarray[Any, Any]) -> DeviceNDArray:
        return type(self)(host, self._dtype if host.dtype == self._memory.dtype else None)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """The elements as a NumPy array: a new one, or `ary`, whose shape and dtype must be the same."""
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError(f"D->H copy not implemented for negative strides: {self.strides}")
        if ary is None:
            if self._dtype == self._memory.dtype:
                found = self._read(stream)
                if found is not self._memory and found.nbytes == found.base.nbytes:
                    return found
                return found.copy(order="F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C")
            ary = np.empty(self.shape, self._dtype)
        elif isinstance(ary, np.ndarray):
            self._check(ary, "copy_to_host")
            if _memory.read_into(self._memory, ary, stream or self.stream):
                return ary
        ary[...] = self._read(stream)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Fills this array from a NumPy array, or from a device array of the same shape and strides."""
        if self.size == 0:
            return
        if not _is_whole(self._memory):
            raise ValueError(errmsg_contiguous_buffer)
        if isinstance(ary, DeviceNDArray):
            if not _is_whole(ary._memory):
                raise ValueError(errmsg_contiguous_buffer)
            self._check(ary._memory, "copy_to_device")
            if ary.strides != self.strides and ary.ndim:
                raise ValueError(f"incompatible strides: {self.strides} vs. {ary.strides}")
            if not _memory.copy(self._memory, ary._memory, stream or self.stream):
                self._write(ary._read(stream), stream)
            return
        source = np.asanyarray(ary)
        self._check(source, "copy_to_device")
        self._write(source, stream)

    def _check(self, other: np.ndarray[Any, Any], what: str) -> None:
        if other.size != self.size:
            raise ValueError(f"array sizes differ in {what}: {self.shape} and {other.shape}")
        if other.shape != self.shape and other.ndim and self.ndim:
            raise ValueError(f"incompatible shape: {self.shape} vs. {other.shape}")

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, item: Any) -> Any:
        """A view for slices, a NumPy scalar for an element."""
        found = self._view(item)
        if found is None:
            return self._host[item]
        if found.ndim or self._memory.ndim == 0:
            return self._as(found)
        if found.dtype.names is not None and not self._is_host:
            return DeviceRecord(found, self._dtype)
        return _memory.read(found, self._is_host)[()]

    def _view(self, item: Any) -> Any:
        """The memory that an index selects, without a look at the elements; None for an index that copies."""
        items = item if isinstance(item, tuple) else (item,)
        if not all(one is Ellipsis or one is None or isinstance(one, slice | int | np.integer) for one in items):
            return None
        # With an ellipsis NumPy gives a view of an element too.
        return self._memory[item if any(one is Ellipsis for one in items) else (*items, Ellipsis)]

    def __setitem__(self, item: Any, value: Any) -> None:
        self.setitem(item, value)

    def getitem(self, item: Any, stream: Any = 0) -> Any:
        return self[item]

    def setitem(self, item: Any, value: Any, stream: Any = 0) -> None:
        target = self._memory[item] if self._is_host else self._view(item)
        source = value._host if isinstance(value, DeviceNDArray) else np.asarray(value)
        if source.ndim > np.ndim(target):
            raise ValueError(f"Can't assign {source.ndim}-D array to {np.ndim(target)}-D self")
        for ours, theirs in zip(reversed(np.shape(target)), reversed(source.shape), strict=False):
            if theirs not in (1, ours):
                raise ValueError(f"Can't copy sequence with size {theirs} to array axis 0 with dimension {ours}")
        if isinstance(target, np.ndarray) and (target.ndim or self._memory.ndim == 0):
            _memory.write(target, self._is_host, source)
        else:
            _memory.write(self._view(item), self._is_host, source)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if copy is False and (not self._is_host or dtype not in (None, self.dtype)):
            raise ValueError("an array on a GPU is copied to be read: `copy=False` is not possible")
        found = self.copy_to_host()
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape} and dtype {self.dtype}>"

    def reshape(self, *newshape: Any, **kws: Any) -> DeviceNDArray:
        """The same elements in another shape; without a copy, so the array must be contiguous."""
        shape = newshape[0] if len(newshape) == 1 and isinstance(newshape[0], tuple | list) else newshape
        order = kws.pop("order", "C")
        if kws:
            raise TypeError(f"unknown keyword arguments {list(kws)}")
        found = _memory.reshaped(self._memory, shape, order)
        if found is None:
            raise NotImplementedError("reshape would require copy")
        return self._as(found)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """The elements in one dimension, without a copy."""
        found = _memory.reshaped(self._memory, -1, "A" if order == "K" else order)
        if found is None:
            raise NotImplementedError(f"order '{order}' of this array would need a copy")
        return self._as(found)

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same bytes as elements of another dtype."""
        dtype = np.dtype(dtype)
        if dtype.itemsize != self._memory.itemsize and self.ndim and not self.is_c_contiguous():
            raise ValueError(
                "To change to a dtype of a different size, the last axis must be contiguous"
                if self.strides[-1] == self._memory.itemsize
                else "To change to a dtype of a different size, the last axis must be contiguous"
            )
        try:
            return type(self)(self._memory.view(dtype))
        except ValueError as error:
            raise ValueError(str(error)) from None

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """Without dimensions of one element."""
        return self._as(np.squeeze(self._memory, axis))

    def transpose(self, axes: Any = None) -> DeviceNDArray:
        """The dimensions in another order."""
        if axes and tuple(axes) != tuple(range(self.ndim)):
            if tuple(sorted(axes)) != tuple(range(self.ndim)):
                raise ValueError(f"invalid axes list {axes!r}")
            if self.ndim != 2:
                raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        elif axes:
            return self
        return self._as(self._memory.transpose(axes))

    @property
    def T(self) -> DeviceNDArray:
        return self.transpose()

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceNDArray]:
        """Views of `section` elements each, the last perhaps shorter."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self._memory.strides[0] != self._memory.itemsize:
            raise ValueError("only support unit stride")
        for start in range(0, self.size, section):
            yield self[start : start + section]

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """The same array, whose later copies use a stream."""
        found = self._as(self._memory)
        found.stream = stream
        return found

    def as_cuda_arg(self) -> DeviceNDArray:
        return self

    def get_ipc_handle(self) -> Any:
        """What another process opens the array by. Raises `OSError` on the CPU device."""
        from gridstride.numba.cuda import _devices, _ipc

        handle = _devices.current_context().get_ipc_handle(self.gpu_data)
        desc = {"shape": self.shape, "strides": self.strides, "dtype": self.dtype}
        return _ipc.IpcArrayHandle(ipc_handle=handle, array_desc=desc)


class MappedNDArray(DeviceNDArray):
    """Memory that host and device see alike."""


class ManagedNDArray(DeviceNDArray):
    """Memory that moves between host and device by itself."""


class DeviceRecord:
    """A record on the device; fields by name."""

    __cuda_ndarray__ = True
    __cuda_memory__ = True
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def __init__(self, memory: Any, dtype: Any = None, stream: Any = 0) -> None:
        """A record over memory, or with a dtype alone over new memory."""
        self._memory = memory if isinstance(memory, np.ndarray) else _empty((), memory)
        self._is_host = not _memory.place(self._memory).startswith("cuda")
        self.dtype = np.dtype(self._memory.dtype if dtype is None else dtype)
        if not isinstance(memory, np.ndarray):
            self.dtype = np.dtype(memory)
        self.stream = stream

    @property
    def alloc_size(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize

    @property
    def device_pointer(self) -> int:
        return int(self._memory.__array_interface__["data"][0])

    @property
    def gpu_data(self) -> Any:
        return _pointers.MemoryPointer(None, self.device_pointer, self.nbytes, owner=self)

    @property
    def device_ctypes_pointer(self) -> Any:
        return ctypes.c_size_t(self.device_pointer)

    @property
    def _numba_type_(self) -> Any:
        return _dtypes.from_dtype(self.dtype)

    @property
    def _host(self) -> np.ndarray[Any, Any]:
        return _memory.read(self._memory, self._is_host)

    def __getitem__(self, field: str) -> Any:
        found = self._memory[field]
        if found.dtype.names is not None and not found.ndim and not self._is_host:
            return DeviceRecord(found)
        return DeviceNDArray(found) if found.ndim else _memory.read(found, self._is_host)[()]

    def __setitem__(self, field: str, value: Any) -> None:
        _memory.write(self._memory[field], self._is_host, value)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """The record as a NumPy array of no dimension, or in a record of the host."""
        if isinstance(ary, np.void):
            for name in self.dtype.names or ():
                ary[name] = self._host[name]
            return ary
        if ary is None:
            ary = np.empty((), self.dtype)
        ary[...] = self._host
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Fills the record from the host."""
        _memory.write(self._memory, self._is_host, ary)


def from_record_like(rec: Any, stream: Any = 0, gpu_data: Any = None) -> DeviceRecord:
    """A device record of the dtype of another; its fields are not set."""
    return DeviceRecord(rec.dtype, stream=stream)


def _empty(shape: Any, dtype: Any, order: str = "C") -> np.ndarray[Any, Any]:
    if isinstance(shape, int | np.integer):
        shape = (int(shape),)
    host = np.empty(shape, _dtypes.device_dtype(np.dtype(dtype)), order="F" if order == "F" else "C")
    return _memory.allocate(host)


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """A copy of `obj` on the device; with `to`, into that array. `copy=False` only allocates."""
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream=stream)
        return to
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, np.void):
        made = DeviceRecord(_empty((), obj.dtype), obj.dtype)
        made.copy_to_device(obj)
        return made
    source = np.array(obj, copy=None, subok=True)
    if any(stride < 0 for stride in source.strides):
        source = source.copy()
    dtype = _dtypes.device_dtype(source.dtype)
    # The same strides, so that copies in both directions are one move of memory; what is repeated is there once.
    once = source[tuple(slice(1) if stride == 0 else slice(None) for stride in source.strides)]
    target = _memory.allocate(np.empty_like(once, dtype=dtype, order="K", subok=False))
    if once.shape != source.shape:
        strides = [0 if stride == 0 else ours for stride, ours in zip(source.strides, target.strides, strict=True)]
        target = np.lib.stride_tricks.as_strided(target, source.shape, strides)
    made = DeviceNDArray(target, source.dtype, stream)
    if copy:
        made._write(source, stream)
    return made


def auto_device(obj: Any, stream: Any = 0, copy: bool = True) -> tuple[Any, bool]:
    """`obj` on the device, and whether it was copied there for this call."""
    if isinstance(obj, DeviceNDArray | DeviceRecord):
        return obj, False
    if isinstance(obj, np.ndarray) and not is_contiguous(obj):
        raise ValueError(errmsg_contiguous_buffer)
    return to_device(obj, stream=stream, copy=copy), True


def device_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0) -> Any:
    """A device array whose elements are not set."""
    return DeviceNDArray(_empty(shape, dtype, order), np.dtype(dtype), stream)


def device_array_like(ary: Any, stream: Any = 0) -> Any:
    """A device array of the shape, dtype and order of another; its elements are not set."""
    host = ary._memory if isinstance(ary, DeviceNDArray) else np.asanyarray(ary)
    # Broadcast and strided arrays get the memory that they need, in the same order.
    order = "F" if host.flags["F_CONTIGUOUS"] and not host.flags["C_CONTIGUOUS"] else "C"
    if order == "C" and not host.flags["C_CONTIGUOUS"]:
        made = np.empty_like(host, dtype=_dtypes.device_dtype(host.dtype), order="K", subok=False)
        return DeviceNDArray(_memory.allocate(made), ary.dtype)
    return DeviceNDArray(_empty(host.shape, host.dtype, order), ary.dtype)


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether an object is a device array of this package."""
    return isinstance(obj, DeviceNDArray)


def verify_cuda_ndarray_interface(obj: Any) -> None:
    """Raises `TypeError` unless the object is a device array."""
    if not is_cuda_ndarray(obj):
        raise TypeError("not a device array")
