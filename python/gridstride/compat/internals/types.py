"""`warp._src.types`: what `gridstride.types` has, and Warp's older names for it."""

from __future__ import annotations

import typing
from types import GenericAlias
from typing import Any

import numpy as np

from gridstride import _mapped, _types
from gridstride._numpy import dtype_from_numpy
from gridstride._shape import normalize_shape
from gridstride._unbuilt import Unbuilt
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
_ArrayAnnotation = ArrayAnnotation  # noqa: F405
scalar_base, float_base, int_base = _types.scalar_base, _types.float_base, _types.int_base
vector_types = tuple(kind for name, kind in named.items() if name.startswith("vec"))
# The types that Warp has no atomic operations of.
non_atomic_types = (_types.int8, _types.uint8, _types.int16, _types.uint16)


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


def _is_open(key: Any) -> bool:
    """Whether a type checker is to find a part of a type."""
    return any(isinstance(one, typing.TypeVar) for one in (key if isinstance(key, tuple) else (key,)))


def _positive(kind: str, value: Any) -> Any:
    value = _types.literal(value)
    if value is Any or isinstance(value, int) and value > 0:
        return value
    raise TypeError(f"{kind} extents are positive integers, not {value!r}: a positive integer was expected")


class Vector:
    """`Vector[dtype, length]`: another spelling of `wp.types.vector(length, dtype)`."""

    def __class_getitem__(cls, key: Any) -> Any:
        if _is_open(key):
            return GenericAlias(cls, key)
        if not isinstance(key, tuple) or len(key) != 2:
            raise TypeError("Vector requires 2 parameters: Vector[dtype, length]")
        return vector(_positive("Vector", key[1]), key[0])


class Matrix:
    """`Matrix[dtype, rows, columns]`: another spelling of `wp.types.matrix((rows, columns), dtype)`."""

    def __class_getitem__(cls, key: Any) -> Any:
        if _is_open(key):
            return GenericAlias(cls, key)
        if not isinstance(key, tuple) or len(key) != 3:
            raise TypeError("Matrix requires 3 parameters: Matrix[dtype, rows, columns]")
        return matrix((_positive("Matrix", key[1]), _positive("Matrix", key[2])), key[0])


class Quaternion:
    """`Quaternion[dtype]`: another spelling of `wp.types.quaternion(dtype)`."""

    def __class_getitem__(cls, dtype: Any) -> Any:
        return GenericAlias(cls, dtype) if _is_open(dtype) else quaternion(dtype)


class Transformation:
    """`Transformation[dtype]`: another spelling of `wp.types.transformation(dtype)`."""

    def __class_getitem__(cls, dtype: Any) -> Any:
        return GenericAlias(cls, dtype) if _is_open(dtype) else transformation(dtype)


def concrete_array_type(value: Any) -> Any:
    """The kind of array that a value or an annotation is: `array`, `indexedarray` …; else the value's class.

    Raises `TypeError` for an array of two kinds.
    """
    if isinstance(value, ArrayAnnotation):  # noqa: F405
        return array  # noqa: F405
    # A metaclass may say that its classes are equal to others.
    kinds = [kind for kind in _KINDS if any(one is kind for one in type(value).__mro__)]
    if len(kinds) > 1:
        names = " and ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"`{type(value).__name__}` is derived from more than one native array family: {names}")
    return kinds[0] if kinds else type(value)


_KINDS = (array, indexedarray, fabricarray, indexedfabricarray)  # noqa: F405
ARRAY_TYPE_REGULAR, ARRAY_TYPE_INDEXED, ARRAY_TYPE_FABRIC, ARRAY_TYPE_FABRIC_INDEXED = range(len(_KINDS))


def matches_array_class(value: Any, kind: Any) -> bool:
    """Whether a value or an annotation is an array of a kind."""
    return concrete_array_type(value) is kind


def array_type_id(value: Any) -> int:
    """The number of an array's kind, `ARRAY_TYPE_REGULAR` … Raises `TypeError` for what is no array."""
    kind = concrete_array_type(value)
    if kind not in _KINDS:
        raise TypeError(f"Unrecognized array type: {value!r}")
    return _KINDS.index(kind)


def get_type_code(annotation: Any) -> str:
    """A short text for a type, for names: `f4`, `v3f4`, `a1f4`, `tpl2f4i4`. Raises `TypeError` for what is none."""
    if annotation is Any or annotation is Ellipsis:
        return "?"
    kind = concrete_array_type(annotation)
    if kind in _KINDS:
        prefix = ("a", "ia", "fa", "ifa")[_KINDS.index(kind)]
        ndim = "?" if annotation.ndim is Any else annotation.ndim
        return f"{prefix}{ndim}{get_type_code(annotation.dtype)}"
    if isinstance(annotation, tuple) or typing.get_origin(annotation) is tuple:
        items = annotation if isinstance(annotation, tuple) else typing.get_args(annotation)
        return f"tpl{len(items)}{''.join(map(get_type_code, items))}"
    if isinstance(annotation, Unbuilt):
        return annotation.__name__
    try:
        cls = _types.dtype_class(annotation)
    except TypeError:
        raise TypeError(f"Unrecognized type: {annotation!r}") from None
    if not hasattr(cls, "_wp_scalar_type_"):
        return cls.__name__
    kind = cls.__gs_type__.kind
    scalar = cls._wp_scalar_type_.__gs_type__
    shape = "".join(map(str, getattr(cls, "_shape_", ())))
    start = {"scalar": "", "vector": f"v{shape}", "matrix": f"m{shape}", "quat": "q", "transform": "t"}[kind]
    return start + ("b" if scalar.name == "bool" else f"{scalar.name.strip('0123456789')}{scalar.size}")


def type_matches_template(annotation: Any, template: Any) -> bool:
    """Whether a type is one that an open annotation stands for."""
    kinds = {concrete_array_type(one) for one in (annotation, template)} & {*_KINDS}
    return len(kinds) < 2 and types_equal(annotation, template, match_generic=True)  # noqa: F405


def types_equal_generic(first: Any, second: Any) -> bool:
    """Whether types, or sequences of them, are alike, where an open one stands for any; `(T, ...)` for all of T."""
    for one in (first, second):
        if isinstance(one, tuple) and Ellipsis in one and (len(one) != 2 or one[1] is not Ellipsis):
            raise TypeError(f"An ellipsis sequence pattern must contain one type followed by Ellipsis, got {one}")
    if not (isinstance(first, tuple) and isinstance(second, tuple)):
        return types_equal(first, second, match_generic=True)  # noqa: F405
    if Ellipsis in first or Ellipsis in second:
        pattern, items = (first, second) if Ellipsis in first else (second, first)
        return all(types_equal_generic(pattern[0], item) for item in items if item is not Ellipsis)
    return len(first) == len(second) and all(map(types_equal_generic, first, second))


def check_array_shape(shape: Any) -> None:
    """Raises `ValueError` for a shape that no array has."""
    normalize_shape(shape)


def get_signature(types: Any) -> str:
    """The codes of types in a row."""
    return "_".join(map(get_type_code, types))


def infer_argument_types(values: Any, templates: Any) -> list[Any]:
    """The annotations that values have by themselves; for None its template. Raises `TypeError` for other values."""
    pairs = zip(values, templates, strict=True)
    return [_of_template(template) if value is None else _mapped.annotation_of(value) for value, template in pairs]


def _of_template(template: Any) -> Any:
    return _mapped.annotation_of(template) if isinstance(template, array) else template  # noqa: F405


def __getattr__(name: str) -> Any:
    return attribute("types", name)
