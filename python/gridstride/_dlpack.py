"""Arrays of other libraries by DLPack, without a copy.

In: an object with `__dlpack__`, or a capsule. Out: an array over the same memory, which the producer gets back when the
last view of it is gone. NumPy's own import takes every capsule of the old form for read-only, so that it is not used.

    >>> x = np.arange(3.0)
    >>> wp.from_dlpack(x).fill_(1.0)
    >>> x
    array([1., 1., 1.])

The structures are those of `dlpack.h`, versions 0.8 and 1.0.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridstride import _array, _device, _native, _shape, _types


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_CPU_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_READ_ONLY = 1
_BFLOAT = 4
_CODES = {0: "int", 1: "uint", 2: "float", _BFLOAT: "bfloat", 6: "bool"}
# Capsules are renamed when their content is taken; the names must outlive them.
_FORMS = (
    (b"dltensor_versioned", b"used_dltensor_versioned", _Versioned),
    (b"dltensor", b"used_dltensor", _Managed),
)

_api = ctypes.pythonapi
_is_valid = _api.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_get_pointer = _api.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_set_name = _api.PyCapsule_SetName
_set_name.argtypes, _set_name.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int


class _Producer:
    """Memory that came by DLPack: given back to its producer with this object."""

    __slots__ = ("address", "deleter")

    def __init__(self, address: int, deleter: int | None) -> None:
        self.address = address
        self.deleter = deleter

    def __del__(self) -> None:
        if self.deleter:
            _Deleter(self.deleter)(self.address)


def from_dlpack(source: Any, dtype: Any = None) -> _array.array:
    """An array over the memory of any object with `__dlpack__`, or of a capsule, without a copy.

    `dtype` may name a vector or matrix that the inner extents are components of, or another integer type of the same
    size. Raises `TypeError` for a device that is not known and for what is no capsule, `RuntimeError` for memory of a
    CUDA device that is not there, memory that is read-only, and element types that do not fit.
    """
    capsule = source if type(source).__name__ == "PyCapsule" else _capsule(source)
    if type(capsule).__name__ != "PyCapsule":
        raise TypeError(f"Expected a valid DLPack capsule, got {type(capsule).__name__}")
    for name, used, form in _FORMS:
        if _is_valid(capsule, name):
            address = _get_pointer(capsule, name)
            managed = form.from_address(address)
            if form is _Versioned and managed.major > 1:
                raise RuntimeError(f"DLPack version {managed.major} is not known")
            _set_name(capsule, used)
            owner = _Producer(address, managed.deleter)
            if form is _Versioned and managed.flags & _READ_ONLY:
                raise RuntimeError("the memory is read-only: copy it with wp.array(source)")
            return _over(managed.tensor, owner, dtype)
    raise RuntimeError("the DLPack capsule is invalid, or its memory was taken before")


def _capsule(source: Any) -> Any:
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        raise TypeError(f"DLPack is for objects with `__dlpack__` and capsules, not {type(source).__name__}")
    device_type, device_id = source.__dlpack_device__()
    place = _place(device_type, device_id)
    options: dict[str, Any] = {}
    if place.startswith("cuda"):
        # The producer puts its work before what comes onto our current stream from now on.
        options["stream"] = _device._BY_PLACE[place].stream.handle
    try:
        return source.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return source.__dlpack__(**options)


def _place(device_type: int, device_id: int) -> str:
    """What memory of a DLPack device is called here."""
    if device_type in _CUDA_DEVICES:
        if not _device.is_cuda_available():
            raise RuntimeError("the memory is that of a CUDA device, and no CUDA device is available")
        return f"{'cuda' if device_type == 2 else 'managed'}:{device_id}"
    if device_type not in _CPU_DEVICES:
        raise TypeError(f"Unsupported source device for DLPack: device_type={device_type}, device_id={device_id}")
    return "pinned" if device_type == 3 and _native.cuda_is_started() else "cpu"


def export(array: _array.array, options: dict[str, Any]) -> Any:
    """A capsule over an array's memory, by the options of `__dlpack__`."""
    stream = options.pop("stream", None)
    if array._place == "cpu":
        if stream not in (None, -1):
            raise TypeError(f"DLPack stream must be None or -1 for CPU device, not {stream!r}")
        if getattr(array.dtype, "_wp_scalar_type_", None) is not _types.bfloat16:
            return array._np().__dlpack__(**options)
        capsule = array._np().view(np.uint16).__dlpack__(**options)
        _rename_elements(capsule)
        return capsule
    wanted, copied = options.pop("dl_device", None), options.pop("copy", None)
    if wanted is not None and tuple(wanted) != device_of(array):
        if tuple(wanted) != (1, 0) or copied is False:
            raise BufferError(f"the array is on {array.device}, and cannot be handed out on DLPack device {wanted}")
        return array.numpy().__dlpack__()
    version = options.pop("max_version", None)
    source = array
    if copied:
        from gridstride import _create

        source = _create.clone(array)
    return _native.cuda_to_dlpack(source, stream, version is not None and tuple(version) >= (1, 0))


def _rename_elements(capsule: Any) -> None:
    """Makes the words of a new capsule numbers of type bfloat16, which NumPy does not know."""
    for name, _, form in _FORMS:
        if _is_valid(capsule, name):
            form.from_address(_get_pointer(capsule, name)).tensor.dtype.code = _BFLOAT


def device_of(array: _array.array) -> tuple[int, int]:
    """The kind and number of an array's device, in DLPack's terms."""
    kind, _, ordinal = array._place.partition(":")
    types = {"cpu": 1, "pinned": 3, "cuda": 2, "managed": 13}
    return types[kind], int(ordinal or 0)


def _over(tensor: _Tensor, owner: _Producer, dtype: Any) -> _array.array:
    place = _place(tensor.device_type, tensor.device_id)
    name = f"{_CODES.get(tensor.dtype.code, 'code')}{tensor.dtype.bits}"
    cls = getattr(_types, "bool" if name == "bool8" else name, None)
    if tensor.dtype.lanes != 1 or cls not in _types.scalar_and_bool_types:
        raise RuntimeError(f"kernels have no type for DLPack's {name} x {tensor.dtype.lanes}")
    if tensor.ndim < 0 or (tensor.ndim and not tensor.shape):
        raise ValueError(f"the DLPack tensor is damaged: {tensor.ndim} dimensions without a shape")
    shape = _shape.normalize_shape(tensor.shape[: tensor.ndim] if tensor.ndim else (1,))
    address = (tensor.data or 0) + tensor.byte_offset
    if (not tensor.data and 0 not in shape) or address >= 1 << 64:
        raise ValueError(f"the DLPack tensor is damaged: its memory is at address {address:#x}")
    size = cls.__gs_type__.size
    if tensor.strides:
        strides = tuple(stride * size for stride in tensor.strides[: tensor.ndim]) or (size,)
    else:
        strides = _shape.contiguous_strides(shape, size)
    made = _array.make(cls, address, shape, strides, owner, place)
    return made if dtype is None else _as(made, _types.dtype_class(dtype), name)


def _as(made: _array.array, cls: Any, name: str) -> _array.array:
    scalar = getattr(cls, "_wp_scalar_type_", None)
    integers = (*_types.int_types, _types.bool)
    same_size = scalar is not None and scalar.__gs_type__.size == made._type.size
    if scalar is not made.dtype and not (same_size and scalar in integers and made.dtype in integers):
        raise RuntimeError(f"Incompatible data types: DLPack {name} and Warp {cls.__name__}")
    return made if cls is made.dtype else made.view(cls)
