"""Arrays and structs as ctypes structures: for programs that hand them to C, and for recorded launches.

>>> a = wp.array([1.0, 2.0], dtype=float)
>>> a.__ctype__().shape[0]
2
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from gridstride import _types

MAX_RANK = 4


class array_t(ctypes.Structure):  # noqa: N801 - Warp's name
    """An array: addresses of its elements and of its gradient's, extents, and bytes between neighbors."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("grad", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
        ("ndim", ctypes.c_int32),
    ]


class Described:
    """An array that has a ctypes form."""

    __slots__ = ()

    def __ctype__(self: Any) -> array_t:
        """The array as a ctypes structure. It does not keep the memory alive."""
        unused = (0,) * (MAX_RANK - self.ndim)
        grad = self.grad
        addresses = (self.ptr or 0, 0 if grad is None else grad.ptr or 0)
        return array_t(*addresses, (*self.shape, *unused), (*self.strides, *unused), self.ndim)

    def cptr(self: Any) -> Any:
        """A ctypes pointer to the first element; None where there is none. For memory that the host reads."""
        if not self.ptr:
            return None
        if not self.device.is_cpu:
            raise RuntimeError(f"cptr() is of arrays in the host's memory, not on {self.device}")
        return ctypes.cast(self.ptr, ctypes.POINTER(class_of(self.dtype.__gs_type__)))


def class_of(ty: _types.Type) -> Any:
    """The ctypes class with the layout that a type has in memory."""
    if ty.kind == "scalar":
        return _types.class_of(ty)._type_
    if ty.kind == "struct":
        return struct_class(ty)
    if ty.kind == "array":
        fields = [("data", ctypes.c_uint64), ("shape", ctypes.c_int64 * ty.rank), ("strides", ctypes.c_int64 * ty.rank)]
        return type(f"array{ty.rank}_t", (ctypes.Structure,), {"_fields_": fields})
    made = _types.class_of(_types.class_of(ty)._wp_scalar_type_.__gs_type__)._type_
    for extent in reversed(ty.shape):
        made = made * extent
    return made


@functools.cache
def struct_class(ty: _types.Type) -> Any:
    """The ctypes class of a struct, or of an array that finds its elements through a table."""
    fields, end = [], 0
    for name, field, offset in ty.fields:
        if offset > end:
            fields.append((f"_{end}", ctypes.c_byte * (offset - end)))
        fields.append((name, class_of(field)))
        end = offset + field.size
    if ty.size > end:
        fields.append((f"_{end}", ctypes.c_byte * (ty.size - end)))
    name = ty.name.removeprefix("struct ").partition("<")[0]
    return type(name, (ctypes.Structure,), {"_fields_": fields, "_pack_": 1, "_layout_": "ms"})


def value_of(value: Any, ty: _types.Type) -> Any:
    """What a ctypes object says, as an argument of a launch for a parameter of a type; other values as they are.

    Raises `TypeError` for an array with other dimensions.
    """
    if isinstance(value, array_t):
        from gridstride import _struct

        if ty.kind != "array" or value.ndim != ty.rank:
            raise TypeError(f"an array of {value.ndim} dimensions for a parameter of type {ty.user_name}")
        extents, strides = bytes(value.shape)[: 8 * ty.rank], bytes(value.strides)[: 8 * ty.rank]
        raw = bytes(ctypes.c_uint64(value.data)) + extents + strides
        return _struct.array_from_descriptor(raw, ty)
    if isinstance(value, ctypes.Structure):
        if ctypes.sizeof(value) != ty.size:
            raise TypeError(f"{ctypes.sizeof(value)} bytes for a parameter of type {ty.user_name}, which has {ty.size}")
        return _types.class_of(ty).from_bytes(bytes(value))
    return getattr(value, "value", value) if isinstance(value, ctypes._SimpleCData) else value
