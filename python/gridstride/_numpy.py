"""NumPy types for kernel types and back.

`float32` is NumPy's `float32`; a vector or matrix is its scalar with the shape of the components; a struct is an
aligned record, so that both sides see one C layout. NumPy has no bfloat16: where `ml_dtypes` is installed its type is
used, else the bits as `uint16`.

    >>> layout(wp.vec3)
    (dtype('float32'), (3,))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _types
from gridstride._shape import contiguous_strides

_SCALARS: dict[Any, np.dtype[Any]] = {
    cls: np.dtype(cls.__name__) for cls in _types.scalar_and_bool_types if cls is not _types.bfloat16
}
_CLASSES: dict[np.dtype[Any], Any] = {dtype: cls for cls, dtype in _SCALARS.items()}
for _class, _dtype in _SCALARS.items():
    # NumPy 2.4 reads it: `np.zeros(3, dtype=wp.float32)`.
    _class.__numpy_dtype__ = _dtype
# On every platform the C names alias one of the sized types, but with an own type object.
for _name in ("longlong", "ulonglong", "intc", "uintc"):
    _CLASSES.setdefault(np.dtype(_name), _SCALARS[getattr(_types, np.dtype(_name).name, None) or _types.int64])


def bfloat16_dtype() -> np.dtype[Any]:
    """`ml_dtypes.bfloat16` where installed, else `uint16` (the bits)."""
    found = _SCALARS.get(_types.bfloat16)
    if found is None:
        try:
            import ml_dtypes

            found = np.dtype(ml_dtypes.bfloat16)
            _CLASSES[found] = _types.bfloat16
        except ImportError:
            found = np.dtype(np.uint16)
        _SCALARS[_types.bfloat16] = found
    return found


def scalar_dtype(cls: Any) -> np.dtype[Any]:
    """The NumPy type of a scalar class."""
    return bfloat16_dtype() if cls is _types.bfloat16 else _SCALARS[cls]


def layout(cls: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """NumPy's element type of an array of `cls`, and the shape that each element adds to the array's."""
    scalar = getattr(cls, "_wp_scalar_type_", None)
    if scalar is not None:
        return scalar_dtype(scalar), cls._shape_
    return np.dtype(cls.numpy_dtype()), ()


def class_from_numpy(dtype: Any) -> Any:
    """The scalar class of a NumPy type, or None."""
    if isinstance(dtype, type) and not issubclass(dtype, np.generic):
        return None
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        return None
    found = _CLASSES.get(dtype if dtype.isnative else dtype.newbyteorder("="))
    if found is None and dtype.name == "bfloat16":
        return _types.bfloat16
    return found


def dtype_from_numpy(numpy_dtype: Any) -> Any:
    """The scalar class for a NumPy type: `dtype_from_numpy(np.float32)` is `float32`.

    Raises `TypeError` for types that kernels do not have.
    """
    found = class_from_numpy(numpy_dtype)
    if found is None:
        raise TypeError(f"cannot convert the NumPy type {np.dtype(numpy_dtype)} to a kernel type")
    return found


def dtype_to_numpy(warp_dtype: Any) -> Any:
    """The NumPy class of a scalar, vector, matrix (their scalar), or the aligned record of a struct."""
    found = layout(_types.dtype_class(warp_dtype))[0]
    return found if found.names else found.type


def bf16_to_float32(bits: np.ndarray) -> np.ndarray:
    """Exact values of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def float_to_bf16(values: Any) -> np.ndarray:
    """Bits of the nearest bfloat16, ties to even."""
    values = np.asarray(values, dtype=np.float32)
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16).reshape(values.shape)


def converted(array: Any, found: np.ndarray, dtype: Any, copy: bool | None) -> np.ndarray:
    """An array's elements as NumPy asks for them."""
    if dtype is not None and np.dtype(dtype) != found.dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to see {array!r} as {np.dtype(dtype)}")
        return found.astype(dtype)
    return found.copy() if copy else found


def interface(array: Any, base: np.dtype[Any], inner: tuple[int, ...]) -> dict[str, Any]:
    """An array's memory in the words of the array interface; `inner` are the extents of an element."""
    strides = array.strides + contiguous_strides(inner, base.itemsize)
    # Records and ml_dtypes have no type string of their own: raw bytes, viewed as the type afterwards.
    typestr = base.str if base.kind in "biuf" else f"|V{base.itemsize}"
    return {
        "version": 3,
        "typestr": typestr,
        "shape": array.shape + inner,
        "strides": strides,
        # Without elements any address will do, but some readers refuse 0.
        "data": (array.ptr or base.alignment, False),
    }


class Memory:
    """An array as NumPy takes it: NumPy keeps this object, and so the array, as the base of the result."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, owner: Any, base: np.dtype[Any], inner: tuple[int, ...]) -> None:
        self.array = owner
        self.__array_interface__ = interface(owner, base, inner)
