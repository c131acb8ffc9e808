"""`wp.types`: makers of vector and matrix types, and questions about types.

>>> vec5 = wp.types.vector(length=5, dtype=float)
>>> wp.types.type_size_in_bytes(vec5)
20
"""

from __future__ import annotations

from typing import Any

from gridstride import _mapped, _types
from gridstride._array import ArrayAnnotation as ArrayAnnotation
from gridstride._array import array as array
from gridstride._array_ranks import array1d as array1d
from gridstride._array_ranks import array2d as array2d
from gridstride._array_ranks import array3d as array3d
from gridstride._array_ranks import array4d as array4d
from gridstride._constants import constant as constant
from gridstride._fabric import fabricarray as fabricarray
from gridstride._fabric import indexedfabricarray as indexedfabricarray
from gridstride._indexed import indexedarray as indexedarray
from gridstride._named import named
from gridstride._numpy import dtype_from_numpy as dtype_from_numpy
from gridstride._numpy import dtype_to_numpy as dtype_to_numpy
from gridstride._struct import struct_base as struct_base
from gridstride._types import Float as Float
from gridstride._types import Int as Int
from gridstride._types import Scalar as Scalar
from gridstride._types import bfloat16 as bfloat16
from gridstride._types import bool as bool  # noqa: A004
from gridstride._types import float16 as float16
from gridstride._types import float32 as float32
from gridstride._types import float64 as float64
from gridstride._types import float_types as float_types
from gridstride._types import int8 as int8
from gridstride._types import int16 as int16
from gridstride._types import int32 as int32
from gridstride._types import int64 as int64
from gridstride._types import int_types as int_types
from gridstride._types import scalar_and_bool_types as scalar_and_bool_types
from gridstride._types import scalar_types as scalar_types
from gridstride._types import uint8 as uint8
from gridstride._types import uint16 as uint16
from gridstride._types import uint32 as uint32
from gridstride._types import uint64 as uint64
from gridstride._unbuilt import Unbuilt
from gridstride._vector import composite, matrix_base, quaternion_base, transform_base, vector_base
from gridstride._vector import matrix as matrix
from gridstride._vector import quaternion as quaternion
from gridstride._vector import transformation as transformation
from gridstride._vector import vector as vector

ARRAY_MAX_DIMS = 4

for _name, _class in named.items():
    globals()[_name] = _class


def type_size_in_bytes(dtype: Any) -> int:
    """Bytes of a value of a type. Raises `TypeError` for what is no type."""
    return _types.dtype_class(dtype).__gs_type__.size


def type_scalar_type(dtype: Any) -> Any:
    """The scalar of a vector, matrix, quaternion or transform; a scalar itself."""
    return _types.dtype_class(dtype)._wp_scalar_type_


def type_length(dtype: Any) -> int:
    """Number of components; 1 for a scalar or struct."""
    return getattr(_types.dtype_class(dtype), "_length_", 1)


def type_size(dtype: Any) -> int:
    """Number of scalars in a value: 9 for a `mat33`."""
    return type_length(dtype)


def type_repr(annotation: Any) -> str:
    """Short text for a type or annotation: `vec3f`, `array(ndim=1, dtype=float32)`."""
    if isinstance(annotation, array):
        return f"array(ndim={annotation.ndim}, dtype={annotation.dtype.__name__})"
    name = getattr(annotation, "__name__", None)
    return name if isinstance(name, str) else repr(annotation)


def type_ndim(dtype: Any) -> int:
    """Dimensions of a value's components: 0 for a scalar, 1 for a vector, 2 for a matrix."""
    return len(getattr(_types.dtype_class(dtype), "_shape_", ()))


def _has_base(dtype: Any, base: type) -> Any:
    return isinstance(dtype, type) and issubclass(dtype, base)


def type_is_vector(dtype: Any) -> Any:
    """Whether a type is a vector."""
    return _has_base(dtype, vector_base) and not _has_base(dtype, (quaternion_base, transform_base))  # type: ignore


def type_is_matrix(dtype: Any) -> Any:
    """Whether a type is a matrix."""
    return _has_base(dtype, matrix_base)


def type_is_quaternion(dtype: Any) -> Any:
    """Whether a type is a quaternion."""
    return _has_base(dtype, quaternion_base)


def type_is_transformation(dtype: Any) -> Any:
    """Whether a type is a transform."""
    return _has_base(dtype, transform_base)


def type_is_composite(dtype: Any) -> Any:
    """Whether a type is a vector, matrix, quaternion or transform."""
    return _has_base(dtype, composite)


def type_is_float(dtype: Any) -> Any:
    """Whether a type is a float type or `float`."""
    return isinstance(dtype, type) and (dtype is float or dtype in float_types)


def type_is_int(dtype: Any) -> Any:
    """Whether a type is an integer type or `int`."""
    return isinstance(dtype, type) and (dtype is int or dtype in int_types)


def type_is_scalar(dtype: Any) -> Any:
    """Whether a type is a number type."""
    return type_is_int(dtype) or type_is_float(dtype)


def type_is_value(dtype: Any) -> Any:
    """Whether a type is that of a number, vector, matrix, quaternion or transform."""
    return type_is_scalar(dtype) or type_is_composite(dtype)


def type_is_struct(dtype: Any) -> Any:
    """Whether a type is a class made by `@struct`."""
    return _has_base(dtype, struct_base)


def type_is_array(dtype: Any) -> Any:
    """Whether a type is a class of arrays."""
    return _has_base(dtype, (array, _mapped.mapped_array)) and _mapped.is_own(dtype)  # type: ignore[arg-type]


def type_is_tile(dtype: Any) -> Any:
    """Whether a type is that of tiles."""
    return getattr(dtype, "__gs_builtin__", None) == "tile"


def is_int(value: Any) -> Any:
    """Whether a value is an integer: Python's or of an integer type; a bool is none."""
    return type_is_int(type(value))


def is_float(value: Any) -> Any:
    """Whether a value is a float: Python's or of a float type."""
    return type_is_float(type(value))


def is_scalar(value: Any) -> Any:
    """Whether a value is a number."""
    return type_is_scalar(type(value))


def is_vector(value: Any) -> Any:
    """Whether a value is a vector."""
    return type_is_vector(type(value))


def is_matrix(value: Any) -> Any:
    """Whether a value is a matrix."""
    return type_is_matrix(type(value))


def is_quaternion(value: Any) -> Any:
    """Whether a value is a quaternion."""
    return type_is_quaternion(type(value))


def is_transformation(value: Any) -> Any:
    """Whether a value is a transform."""
    return type_is_transformation(type(value))


def is_composite(value: Any) -> Any:
    """Whether a value is a vector, matrix, quaternion or transform."""
    return type_is_composite(type(value))


def is_value(value: Any) -> Any:
    """Whether a value is a number, vector, matrix, quaternion or transform."""
    return type_is_value(type(value))


def is_struct(value: Any) -> Any:
    """Whether a value is an instance of a class made by `@struct`."""
    return type_is_struct(type(value))


def is_tile(value: Any) -> Any:
    """Whether a value describes a tile."""
    return isinstance(value, Unbuilt) and value.__name__ == "tile"


def is_array(a: Any) -> Any:
    """Whether a value is an array, or the annotation of one."""
    return isinstance(a, (array, ArrayAnnotation, _mapped.mapped_array))


def type_to_warp(dtype: Any) -> Any:
    """The class for `int`, `float`, `bool` or a NumPy type; other types as they are."""
    return _types.dtype_class(dtype)


def types_equal(a: Any, b: Any, match_generic: Any = False) -> Any:
    """Whether two annotations mean the same type; with `match_generic` an open one matches any that it stands for."""
    first, second = _types.native_type(a), _types.native_type(b)
    return first == second or (match_generic and (matches(first, second) or matches(second, first)))


_CLASSES = {"scalar": scalar_types, "float": float_types, "int": int_types}


def matches(pattern: Any, ty: Any) -> Any:
    """Whether a pattern tuple stands for a type or for another pattern."""
    if not isinstance(pattern, tuple):
        return pattern == ty
    kind = pattern[0]
    if kind == "any":
        return True
    if kind in _CLASSES:
        return any(scalar.__gs_type__ == ty for scalar in _CLASSES[kind])
    if isinstance(ty, tuple):
        return pattern == ty
    if kind != ty.kind:
        return False
    extents = pattern[2:] if kind in ("vector", "matrix") else ()
    if kind == "array":
        return pattern[2] == ty.rank and matches(pattern[1], ty.elem)
    return matches(pattern[1], ty.elem) and all(
        wanted is None or wanted == found for wanted, found in zip(extents, ty.shape, strict=False)
    )
