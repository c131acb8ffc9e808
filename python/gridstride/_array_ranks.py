"""`array1d` to `array4d`, and the annotation of arrays that functions make."""

from __future__ import annotations

from typing import Any

from gridstride._array import ArrayAnnotation, array


class array1d(array):  # noqa: N801
    """`array` of 1 dimension, as annotation and constructor."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return array(*args, **{"ndim": cls._default_ndim, **options})

    def __class_getitem__(cls, dtype: Any) -> Any:
        if isinstance(dtype, tuple):
            raise TypeError(f"{cls.__name__} takes a single type parameter, its element type, not {dtype}")
        return ArrayAnnotation(dtype, cls._default_ndim)


class array2d(array1d):  # noqa: N801
    """`array` of 2 dimensions, as annotation and constructor."""

    _default_ndim = 2


class array3d(array1d):  # noqa: N801
    """`array` of 3 dimensions, as annotation and constructor."""

    _default_ndim = 3


class array4d(array1d):  # noqa: N801
    """`array` of 4 dimensions, as annotation and constructor."""

    _default_ndim = 4


class annotation_array(array):  # noqa: N801
    """An empty array that stands for a type. Programs may say in its shape what its dimensions are."""

    _is_annotation = True

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Zeros, or what was set."""
        return self.__dict__.get("shape", (0,) * self.ndim)

    @shape.setter
    def shape(self, value: tuple[Any, ...]) -> None:
        self.__dict__["shape"] = value


def as_annotation(empty: array, requires_grad: bool) -> array:
    """An empty array as one that stands for its type."""
    empty.__class__ = annotation_array
    empty._requires_grad = requires_grad
    return empty


class fixedarray(array):  # noqa: N801 - Warp's name
    """Annotation of a function's result: an array that the function made with `wp.zeros(shape=…)`."""

    def __new__(cls, dtype: Any = Any, shape: Any = None) -> Any:
        return ArrayAnnotation(dtype, 1 if shape is None or isinstance(shape, int) else len(shape))
