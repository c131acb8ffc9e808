"""`warp._src.types`: what `gridstride.types` has, and Warp's older names for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _types
from gridstride._numpy import dtype_from_numpy
from gridstride.compat.absent import attribute
from gridstride.types import *  # noqa: F403
from gridstride.types import matrix, named, quaternion, transformation, vector

# NumPy scalar types, and the dtypes made of them, to scalar types.
np_dtype_to_warp_type = {}
for _scalar in (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
    np_dtype_to_warp_type[_scalar] = np_dtype_to_warp_type[np.dtype(_scalar)] = dtype_from_numpy(np.dtype(_scalar))
for _scalar in (np.float16, np.float32, np.float64):
    np_dtype_to_warp_type[_scalar] = np_dtype_to_warp_type[np.dtype(_scalar)] = dtype_from_numpy(np.dtype(_scalar))

Reference = _types.Reference
scalar_base, float_base, int_base = _types.scalar_base, _types.float_base, _types.int_base
vector_types = tuple(kind for name, kind in named.items() if name.startswith("vec"))
non_atomic_types = (_types.bool,)


def _get_ml_dtypes_bfloat16() -> Any:
    """The bfloat16 of the package ml_dtypes, or None where that is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes.bfloat16


def strides_from_shape(shape: tuple[int, ...], dtype: object) -> tuple[int, ...]:
    """Strides in bytes of a densely packed array."""
    stride, strides = _types.dtype_class(dtype).__gs_type__.size, []
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride *= extent
    return tuple(strides)


def _np_bfloat16_bits_to_float32(bits: np.ndarray) -> np.ndarray:
    """The values of bfloat16 numbers given as uint16 words."""
    return (np.asarray(bits, dtype=np.uint16).astype(np.uint32) << 16).view(np.float32)


def _np_float32_to_bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """float32 numbers rounded to the nearest bfloat16 (half to even), as uint16 words."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # A rounded NaN could become an infinity.
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def _positive(kind: str, value: Any) -> Any:
    value = _types.literal(value)
    if value is Any or isinstance(value, int) and value > 0:
        return value
    raise TypeError(f"{kind} extents are positive integers, not {value!r}: a positive integer was expected")


class Vector:
    """`Vector[dtype, length]`: another spelling of `wp.types.vector(length, dtype)`."""

    def __class_getitem__(cls, key: Any) -> Any:
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError("Vector requires 2 parameters: Vector[dtype, length]")
        return vector(_positive("Vector", key[1]), key[0])


class Matrix:
    """`Matrix[dtype, rows, columns]`: another spelling of `wp.types.matrix((rows, columns), dtype)`."""

    def __class_getitem__(cls, key: Any) -> Any:
        if not isinstance(key, tuple) or len(key) != 3:
            raise TypeError("Matrix requires 3 parameters: Matrix[dtype, rows, columns]")
        return matrix((_positive("Matrix", key[1]), _positive("Matrix", key[2])), key[0])


class Quaternion:
    """`Quaternion[dtype]`: another spelling of `wp.types.quaternion(dtype)`."""

    def __class_getitem__(cls, dtype: Any) -> Any:
        return quaternion(dtype)


class Transformation:
    """`Transformation[dtype]`: another spelling of `wp.types.transformation(dtype)`."""

    def __class_getitem__(cls, dtype: Any) -> Any:
        return transformation(dtype)


def __getattr__(name: str) -> Any:
    return attribute("types", name)
