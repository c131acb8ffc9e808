"""`wp.indexedarray`: an array seen through integer arrays, one for each dimension that is indexed.

>>> a = wp.array([10.0, 20.0, 30.0], dtype=float)
>>> a[wp.array([2, 0], dtype=int)].numpy()
array([30., 10.], dtype=float32)
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _array, _device, _numpy, _operators, _shape, _struct, _types


class indexedarray:  # noqa: N801 - Warp's name
    """An array seen through indices.

    Args:
        data: The array. Left out, the result is an annotation for kernels.
        indices: One int32 array (or None for every index) a dimension; may stop early.
        dtype: Element type of the annotation.
        ndim: Dimensions of the annotation.

    Raises:
        RuntimeError: Indices that are no int32 arrays of one dimension, or too many of them.
    """

    _default_ndim = 1
    # No slots, so that a class may derive from this one and from `array`.
    __gs_type__: Any

    def __new__(cls, data: Any = None, indices: Any = None, dtype: Any = None, ndim: int | None = None) -> indexedarray:
        if data is None:
            self = object.__new__(cls)
            self._set(None, dtype, ndim or cls._default_ndim, ())
            self.__gs_type__ = _native_type(_types.element_pattern(Any if dtype is None else dtype), self.ndim)
            return self
        # The compiler reads the type of a value from its class.
        self = object.__new__(_class_for(data._type, data.ndim))
        given = list(indices) if isinstance(indices, (list, tuple)) else [indices]
        if len(given) > data.ndim:
            raise RuntimeError(f"{len(given)} index arrays for {data.ndim} dimensions")
        self._set(data, data.dtype, data.ndim, [_index_array(one, data.device) for one in given])
        return self

    def _set(self, data: Any, dtype: Any, ndim: int, indices: Sequence[Any]) -> None:
        self.data = data
        self.dtype = dtype
        self.ndim = ndim
        self.indices: list[Any] = [*indices, *[None] * (ndim - len(indices))]
        extents = (0,) * ndim if data is None else data.shape
        self.shape: tuple[int, ...] = tuple(
            extent if index is None else index.size for extent, index in zip(extents, self.indices, strict=True)
        )

    def __class_getitem__(cls, dtype: Any) -> indexedarray:
        annotation = _array.ArrayAnnotation(dtype, cls._default_ndim)
        return cls(dtype=annotation.dtype, ndim=annotation.ndim)

    @classmethod
    def from_bytes(cls, raw: bytes) -> indexedarray:
        """The null indexed array: others are made from their arrays."""
        if any(raw):
            raise RuntimeError("an indexedarray inside of a struct cannot be read back")
        return _null(cls.__gs_type__)

    @classmethod
    def numpy_dtype(cls) -> Any:
        """The record of the array's descriptor and of those of the indices."""
        record = {"data": _struct.descriptor_dtype(cls.__gs_type__.fields[0][1].rank)}
        record.update({name: _struct.descriptor_dtype(1) for name, _, _ in cls.__gs_type__.fields[1:]})
        return np.dtype(list(record.items()))

    def __copy__(self) -> indexedarray:
        return self

    @property
    def _type(self) -> Any:
        return self.data._type

    @property
    def _keep(self) -> Any:
        return self.data._keep

    @_keep.setter
    def _keep(self, kept: Any) -> None:
        self.data._keep = kept

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def device(self) -> _device.Device:
        """Where the memory is."""
        return self.data.device

    @property
    def is_contiguous(self) -> bool:
        """Always false."""
        return False

    @property
    def requires_grad(self) -> bool:
        """Whether the array that this one looks into has a gradient."""
        return self.data is not None and self.data.requires_grad

    @property
    def grad(self) -> indexedarray | None:
        """The gradient, seen through the same indices."""
        return indexedarray(self.data.grad, self.indices) if self.requires_grad else None

    def __len__(self) -> int:
        return self.shape[0]

    def _selection(self) -> tuple[Any, ...]:
        picked = [
            np.arange(extent) if index is None else index._np()
            for extent, index in zip(self.data.shape, self.indices, strict=True)
        ]
        return np.ix_(*picked)

    def _np(self) -> np.ndarray:
        if self.size == 0:
            base, inner = _numpy.layout(self.dtype)
            return np.empty(self.shape + inner, dtype=base)
        if self.device.is_cuda:
            return self.contiguous()._np()
        return self.data._np()[self._selection()]

    def _assign(self, values: Any) -> None:
        if self.device.is_cuda:
            from gridstride import _device_memory

            _device_memory.write(self, np.asarray(values))
        else:
            self.data._np()[self._selection()] = values

    _store = _assign

    def numpy(self) -> np.ndarray:
        """A copy of the selected elements."""
        return self.contiguous().numpy()

    def list(self) -> list[Any]:
        """The selected elements in row-major order."""
        return self.contiguous().list()

    def contiguous(self) -> Any:
        """A contiguous array with the selected elements."""
        from gridstride import _create

        return _create.clone(self)

    def fill_(self, value: Any) -> None:
        """Sets the selected elements."""
        from gridstride import _array_source, _create, _recorded

        value = _array_source.element(self.data, value)
        if not _recorded.fill(self, value):
            self._assign(_create.full(1, value, self.dtype, "cpu")._np()[0])

    def zero_(self) -> None:
        """Sets the selected elements to zero."""
        from gridstride import _recorded

        if not _recorded.fill(self, None):
            self._assign(np.zeros((), dtype=_numpy.layout(self.dtype)[0]))

    def assign(self, src: Any) -> None:
        """Copies an array or sequence into the selected elements."""
        from gridstride import _create

        if not isinstance(src, (_array.array, indexedarray)):
            src = _array.array(src, dtype=self.dtype, device=self.device)
        _create.copy(self, src)

    def to(self, device: _device.DeviceLike) -> Any:
        """This array on a device: itself where it is there already, else a contiguous copy."""
        return self if _device.memory_of(device) is self.device else self.contiguous().to(device)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __gs_bytes__(self) -> bytes:
        return b"".join(
            [_struct.descriptor(self.data, self.ndim), *[_struct.descriptor(index, 1) for index in self.indices]]
        )

    def __str__(self) -> str:
        return repr(self) if self.data is None else str(self.numpy())

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other] if self.data is None else NotImplemented  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self] if self.data is None else NotImplemented  # noqa: UP007

    def __repr__(self) -> str:
        if self.data is None:
            return f"wp.indexedarray{_shape._written(self.dtype, self.ndim, False)}"
        return f"indexedarray(shape={self.shape}, dtype={getattr(self.dtype, '__name__', self.dtype)})"


_operators.install(indexedarray)


class indexedarray1d(indexedarray):  # noqa: N801
    """`indexedarray` of 1 dimension, as annotation."""


class indexedarray2d(indexedarray):  # noqa: N801
    """`indexedarray` of 2 dimensions, as annotation."""

    _default_ndim = 2


class indexedarray3d(indexedarray):  # noqa: N801
    """`indexedarray` of 3 dimensions, as annotation."""

    _default_ndim = 3


class indexedarray4d(indexedarray):  # noqa: N801
    """`indexedarray` of 4 dimensions, as annotation."""

    _default_ndim = 4


def _native_type(element: Any, ndim: int) -> Any:
    """To the compiler an indexed array is a struct of its array and one index array a dimension (null: every index)."""
    if isinstance(element, tuple):
        # Each launch, or call, says which struct it is.
        return ("any",)
    index = _types.Type.array(_types.int32.__gs_type__, 1)
    fields = [("data", _types.Type.array(element, ndim)), *[(f"indices{d}", index) for d in range(ndim)]]
    return _types.Type.struct("indexedarray", fields)


def _null(ty: Any) -> indexedarray:
    """An indexed array of nothing, as a struct's field begins."""
    data = ty.fields[0][1]
    found = object.__new__(_class_for(data.elem, data.rank))
    found._set(None, _types.class_of(data.elem), data.rank, ())
    return found


_made: dict[Any, Any] = {}


def _class_for(element: Any, ndim: int) -> Any:
    ty = _native_type(element, ndim)
    found = _made.get(ty)
    if found is None:
        members = {"__gs_type__": ty, "__module__": "gridstride"}
        found = _made[ty] = _types.classes[ty] = type("indexedarray", (indexedarray,), members)
    return found


def _index_array(index: Any, device: Any) -> Any:
    if index is None:
        return None
    if not isinstance(index, _array.array):
        index = _array.array(index, dtype=_types.int32, device=device)
    if index.ndim != 1 or index._type != _types.int32.__gs_type__:
        raise RuntimeError(f"indices are int32 arrays of one dimension, not {index!r}")
    return index


def from_keys(data: Any, keys: Sequence[Any]) -> indexedarray:
    """`data[keys]` where some keys are integer arrays; slices beside them must select all."""
    indices: list[Any] = []
    for d, key in enumerate(keys):
        if isinstance(key, slice):
            start, stop, step = key.indices(data.shape[d])
            whole = (start, stop, step) == (0, data.shape[d], 1)
            indices.append(None if whole else np.arange(start, stop, step, dtype=np.int32))
        elif isinstance(key, int):
            indices.append(np.array([key % data.shape[d]], dtype=np.int32))
        else:
            indices.append(key)
    return indexedarray(data, indices)
