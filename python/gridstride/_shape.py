"""Shapes and strides of arrays, and the annotation of one: `wp.array[float]`.

>>> contiguous_strides((2, 3), 4)
(12, 4)
"""

from __future__ import annotations

import operator
import typing
from collections.abc import Sequence
from typing import Any

from gridstride import _types

MAX_RANK = 4
MAX_EXTENT = 2**31 - 1
ShapeLike = int | Sequence[int]


def normalize_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of 1 to 4 ints. Raises `ValueError` or `TypeError`."""
    if isinstance(shape, (list, tuple)) or hasattr(shape, "__len__"):
        extents = tuple(operator.index(extent) for extent in shape)
    else:
        extents = (operator.index(shape),)
    if not 1 <= len(extents) <= MAX_RANK:
        raise ValueError(f"an array has 1 to {MAX_RANK} dimensions, not {len(extents)}")
    for extent in extents:
        if extent < 0:
            raise ValueError(f"Array shapes must be non-negative, got {extents}")
        if extent > MAX_EXTENT:
            raise ValueError(
                f"Array shapes must not exceed the maximum representable value of a signed 32-bit integer: {extents}"
            )
    return extents


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Row-major strides in bytes."""
    strides = [itemsize] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)


def viewed(source: Any, cls: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of an array's memory seen as elements of another type. Raises `TypeError`."""
    old, new = source.dtype, cls
    failed = f"cannot create an array view with dtype {new.__name__} from source dtype {old.__name__}: "
    old_inner, new_inner = getattr(old, "_shape_", ()), getattr(new, "_shape_", ())
    size, wanted = old.__gs_type__.size, new.__gs_type__.size
    if size == wanted:
        return source.shape, source.strides
    if old_inner and not new_inner:
        scalar = old._wp_scalar_type_
        if scalar.__gs_type__.size != wanted:
            raise TypeError(
                f"{failed}source scalar dtype {scalar.__name__} has size {scalar.__gs_type__.size} bytes, "
                f"but target dtype has size {wanted} bytes"
            )
        return source.shape + old_inner, source.strides + contiguous_strides(old_inner, wanted)
    if new_inner and not old_inner:
        scalar, rank = new._wp_scalar_type_, len(new_inner)
        if scalar.__gs_type__.size != size:
            raise TypeError(
                f"{failed}source dtype has size {size} bytes, "
                f"but target scalar dtype {scalar.__name__} has size {scalar.__gs_type__.size} bytes"
            )
        if source.shape[-rank:] != new_inner:
            raise TypeError(f"{failed}its inner extents {source.shape[-rank:]} are not {new_inner}")
        if source.strides[-rank:] != contiguous_strides(new_inner, size):
            raise TypeError(f"{failed}its inner extents are not contiguous")
        return source.shape[:-rank] or (1,), source.strides[:-rank] or (wanted,)
    raise TypeError(f"{failed}source dtype has size {size} bytes, but target dtype has size {wanted} bytes")


def _written(dtype: Any, ndim: Any, has_short_names: bool) -> str:
    """The rest of an annotation as its user writes it: `2d[wp.float32]` of `wp.array2d[wp.float32]`."""
    name = "Any" if dtype is Any else getattr(dtype, "__name__", repr(dtype))
    name = f"wp.{name}" if getattr(dtype, "__module__", "") == "gridstride" and name.isidentifier() else name
    if ndim is Any:
        return f"[{name}, Any]"
    if ndim == 1:
        return f"[{name}]"
    return f"{ndim}d[{name}]" if has_short_names else f"[{name}, Literal[{ndim}]]"


class ArrayAnnotation:
    """What `wp.array[T]` gives: element type `dtype` (maybe generic) and rank `ndim`."""

    __slots__ = ("__gs_type__", "dtype", "ndim")

    def __init__(self, dtype: Any, ndim: int) -> None:
        if isinstance(dtype, tuple):
            if len(dtype) != 2:
                raise TypeError("an array annotation takes an element type and a number of dimensions")
            dtype, ndim = dtype[0], _types.literal(dtype[1])
        if ndim is not Any and not 1 <= ndim <= MAX_RANK:
            raise ValueError(
                f"ndim must be between 1 and {MAX_RANK}: an array has 1 to {MAX_RANK} dimensions, not {ndim}"
            )
        self.ndim = ndim
        try:
            _types.native_type(dtype)
        except TypeError:
            if not isinstance(dtype, type):
                raise
            # A class of another library's, which a type checker may read: kernels and structs refuse it.
            self.dtype, self.__gs_type__ = dtype, None
            return
        element = _types.element_pattern(dtype)
        if isinstance(element, tuple):
            self.dtype = dtype
            # Of an open rank: any type at all, which each launch says.
            self.__gs_type__: Any = ("any",) if ndim is Any else ("array", element, ndim)
        elif ndim is Any:
            self.dtype = _types.class_of(element)
            self.__gs_type__ = ("any",)
        else:
            self.dtype = _types.class_of(element)
            self.__gs_type__ = _types.Type.array(element, ndim)

    def __call__(self, *args: Any, **options: Any) -> Any:
        from gridstride._array import array

        return array(*args, **{"dtype": self.dtype, "ndim": self.ndim, **options})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayAnnotation) and self.__gs_type__ == other.__gs_type__

    def __hash__(self) -> int:
        return hash(self.__gs_type__)

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self]  # noqa: UP007

    def __repr__(self) -> str:
        return f"wp.array{_written(self.dtype, self.ndim, True)}"


def subscripted(cls: Any, dtype: Any) -> ArrayAnnotation:
    """`cls[dtype]` of a class of arrays. Raises `TypeError` for one that a program derived."""
    if not cls.__module__.startswith("gridstride._array"):
        raise TypeError(f"Subscript syntax not supported for `{cls.__name__}`: write `wp.array[…]`")
    return ArrayAnnotation(dtype, cls._default_ndim)
