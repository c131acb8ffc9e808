"""What arrays share that find their elements through a table: `indexedarray`, `fabricarray`, `indexedfabricarray`.

To the compiler such an array is a struct. Each kind says where its elements are (`_np`, `_assign`, `__gs_bytes__`);
the rest of what the host does with an array is here.

>>> a = wp.array([10.0, 20.0, 30.0], dtype=float)
>>> seen = a[wp.array([2, 0], dtype=int)]
>>> seen.fill_(1.0)
>>> a.list()
[1.0, 20.0, 1.0]
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride import _array, _device, _numpy, _operators, _shape, _types


class mapped_array:  # noqa: N801 - beside Warp's names
    """Base of the arrays whose elements a table finds. One without `_memory` is an annotation for kernels."""

    _default_ndim = 1
    # No slots, so that a class may derive from a kind and from `array`.
    _native_name = ""
    # The type of an instance, or of what an annotation stands for; the class itself has none.
    __gs_type__: Any
    # What the array lies in; None for an annotation.
    _memory: Any = None
    _keep: Any = None
    _is_host = False
    dtype: Any
    ndim: int
    shape: tuple[int, ...] = (0,)

    def __class_getitem__(cls, dtype: Any) -> Any:
        if not is_own(cls):
            raise TypeError(
                f"Subscript syntax not supported for `{cls.__name__}`: annotate with the class it derives from"
            )
        annotation = _array.ArrayAnnotation(dtype, cls._default_ndim)
        return cls(dtype=annotation.dtype, ndim=annotation.ndim)

    @property
    def __gs_instance_type__(self) -> Any:
        """The type as a kernel's argument; None for an annotation."""
        return None if self._memory is None else self.__gs_type__

    @property
    def _type(self) -> Any:
        return _types.dtype_class(self.dtype).__gs_type__

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def device(self) -> _device.Device:
        """Where the memory is."""
        return self._memory.device

    @property
    def is_contiguous(self) -> bool:
        """Always false."""
        return False

    @property
    def requires_grad(self) -> bool:
        """Whether there is a gradient."""
        return False

    @property
    def grad(self) -> Any:
        """The gradient."""
        return None

    def __len__(self) -> int:
        return self.shape[0]

    def _key(self) -> Any:
        return (self._native_name, self.dtype, self.ndim)

    def __eq__(self, other: object) -> bool:
        if self is other or self._memory is not None:
            return self is other
        return isinstance(other, mapped_array) and other._memory is None and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key()) if self._memory is None else id(self)

    def __copy__(self) -> Any:
        return self

    def _np(self) -> np.ndarray:
        raise NotImplementedError

    def _assign(self, values: Any) -> None:
        raise NotImplementedError

    def _store(self, values: Any) -> None:
        self._assign(values)

    def numpy(self) -> np.ndarray:
        """A copy of the elements."""
        return self.contiguous().numpy()

    def list(self) -> list[Any]:
        """The elements in row-major order."""
        return self.contiguous().list()

    def contiguous(self) -> Any:
        """A contiguous array with the elements."""
        from gridstride import _create

        return _create.clone(self)

    def fill_(self, value: Any) -> None:
        """Sets the elements."""
        from gridstride import _array_source, _create, _recorded

        value = _array_source.element(self, value)
        if self.size and not _recorded.fill(self, value):
            self._assign(_create.full(1, value, self.dtype, "cpu")._np()[0])

    def zero_(self) -> None:
        """Sets the elements to zero."""
        from gridstride import _recorded

        if self.size and not _recorded.fill(self, None):
            self._assign(np.zeros((), dtype=_numpy.layout(self.dtype)[0]))

    def assign(self, src: Any) -> None:
        """Copies an array or sequence into the elements."""
        from gridstride import _create

        if not isinstance(src, (_array.array, mapped_array)):
            src = _array.array(src, dtype=self.dtype, device=self.device)
        _create.copy_values(self, src)

    def to(self, device: _device.DeviceLike) -> Any:
        """This array on a device: itself where it is there already, else a contiguous copy."""
        return self if _device.memory_of(device) is self.device else self.contiguous().to(device)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __gs_bytes__(self) -> bytes:
        raise NotImplementedError

    def __ctype__(self) -> Any:
        """The array as a ctypes structure with the layout that kernels know. It does not keep the memory alive."""
        from gridstride import _c_forms

        return _c_forms.class_of(self.__gs_type__).from_buffer_copy(self.__gs_bytes__())

    def __str__(self) -> str:
        return repr(self) if self._memory is None else str(self.numpy())

    def __repr__(self) -> str:
        kind = self._native_name
        if self._memory is None:
            return f"wp.{kind}{_shape._written(self.dtype, self.ndim, False)}"
        return f"{kind}(shape={self.shape}, dtype={getattr(self.dtype, '__name__', self.dtype)})"


_operators.install(mapped_array)
_bit_or, _bit_ror = mapped_array.__or__, mapped_array.__ror__


def _either(self: Any, other: Any) -> Any:
    return typing.Union[self, other] if self._memory is None else _bit_or(self, other)  # noqa: UP007


def _or_this(self: Any, other: Any) -> Any:
    return typing.Union[other, self] if self._memory is None else _bit_ror(self, other)  # noqa: UP007


# Between annotations `|` makes a union, between arrays it is the operation on bits.
mapped_array.__or__, mapped_array.__ror__ = _either, _or_this  # type: ignore[method-assign,assignment]

# By the name of the struct: what makes the class of a struct type's values; and the class, element type and dimensions
# of the array that it is.
makers: dict[str, Callable[[Any], Any]] = {}
readers: dict[str, Callable[[Any], Any]] = {}


def facts(ty: Any) -> Any:
    """Class, element type and dimensions of the array that a struct type is; None for another struct."""
    read = readers.get(_name(ty))
    return None if read is None else read(ty)


def _name(ty: Any) -> str:
    return ty.name.removeprefix("struct ").partition("<")[0]


def class_for(ty: Any) -> Any:
    """The class of the values of a struct type, for fields and results; None where no such array has that type."""
    found = _types.classes.get(ty)
    if found is None and _name(ty) in makers:
        found = _types.classes[ty] = makers[_name(ty)](ty)
    return found


def named(dtype: Any, element: Any) -> Any:
    """The element type of an annotation as it is shown: `float32` for `float`."""
    return dtype if isinstance(element, tuple) else _types.class_of(element)


def is_array(value: Any) -> bool:
    """Whether a value is an array of any kind."""
    return isinstance(value, (_array.array, mapped_array))


def is_own(cls: Any) -> bool:
    """Whether a class of arrays is one of the library's, not one that a program derived from it."""
    return cls.__module__ in (
        "gridstride._array",
        "gridstride._array_ranks",
        "gridstride._indexed",
        "gridstride._fabric",
    )


def annotation_of(value: Any) -> Any:
    """The annotation of the type that a value has by itself. Raises `TypeError` for a value that has none."""
    if isinstance(value, _array.array):
        return _array.ArrayAnnotation(value.dtype, value.ndim)
    if isinstance(value, mapped_array) and value._memory is not None:
        own = next(cls for cls in type(value).__mro__ if is_own(cls))
        return own(dtype=value.dtype, ndim=value.ndim)
    python = {bool: _types.bool, int: _types.int32, float: _types.float32}
    if type(value) in python:
        return python[type(value)]
    if isinstance(getattr(type(value), "__gs_type__", None), _types.Type):
        return type(value)
    raise TypeError(f"Unable to infer the type of {value!r}")
