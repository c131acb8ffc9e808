"""`wp.indexedarray`: an array seen through integer arrays, one for each dimension that is indexed.

>>> a = wp.array([10.0, 20.0, 30.0], dtype=float)
>>> a[wp.array([2, 0], dtype=int)].numpy()
array([30., 10.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _array, _mapped, _numpy, _struct, _types


class indexedarray(_mapped.mapped_array):  # noqa: N801 - Warp's name
    """An array seen through indices.

    Args:
        data: The array. Left out, the result is an annotation for kernels.
        indices: One int32 array (or None for every index) a dimension; may stop early.
        dtype: Element type of the annotation.
        ndim: Dimensions of the annotation.

    Raises:
        RuntimeError: Indices that are no int32 arrays of one dimension, or too many of them.
    """

    _native_name = "indexedarray"

    def __init__(self, data: Any = None, indices: Any = None, dtype: Any = None, ndim: int | None = None) -> None:
        if data is None:
            element = _types.element_pattern(Any if dtype is None else dtype)
            self._set(None, _mapped.named(dtype, element), ndim or self._default_ndim, ())
            self.__gs_type__ = _native_type(element, self.ndim)
            return
        given = list(indices) if isinstance(indices, (list, tuple)) else [indices]
        if len(given) > data.ndim:
            raise RuntimeError(f"{len(given)} index arrays for {data.ndim} dimensions")
        self._set(data, data.dtype, data.ndim, [index_array(one, data.device) for one in given])
        self.__gs_type__ = _native_type(data._type, data.ndim)

    def _set(self, data: Any, dtype: Any, ndim: int, indices: Sequence[Any]) -> None:
        self.data = data
        self.dtype = dtype
        self.ndim = ndim
        ndim = len(indices) if ndim is Any else ndim
        self.indices: list[Any] = [*indices, *[None] * (ndim - len(indices))]
        extents = (0,) * ndim if data is None else data.shape
        self.shape = tuple(
            extent if index is None else index.size for extent, index in zip(extents, self.indices, strict=True)
        )

    @property
    def _memory(self) -> Any:  # type: ignore[override]
        return self.data

    @property
    def _type(self) -> Any:
        return self.data._type

    @property
    def _keep(self) -> Any:  # type: ignore[override]
        return self.data._keep

    @_keep.setter
    def _keep(self, kept: Any) -> None:
        self.data._keep = kept

    @property
    def requires_grad(self) -> bool:
        """Whether the array that this one looks into has a gradient."""
        return self.data is not None and self.data.requires_grad

    @property
    def grad(self) -> indexedarray | None:
        """The gradient, seen through the same indices."""
        return indexedarray(self.data.grad, self.indices) if self.requires_grad else None

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
        found = self.data._np()
        for d, index in enumerate(self.indices):
            if index is not None:
                found = np.take(found, index._np(), axis=d)
        return found

    def _assign(self, values: Any) -> None:
        if self.device.is_cuda:
            from gridstride import _device_memory

            _device_memory.write(self, np.asarray(values))
        else:
            self.data._np()[self._selection()] = values

    def __gs_bytes__(self) -> bytes:
        return b"".join(
            [_struct.descriptor(self.data, self.ndim), *[_struct.descriptor(index, 1) for index in self.indices]]
        )


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


def _native_type(element: Any, ndim: Any) -> Any:
    """To the compiler an indexed array is a struct of its array and one index array a dimension (null: every index)."""
    if isinstance(element, tuple) or ndim is Any:
        # Each launch, or call, says which struct it is.
        return ("any",)
    index = _types.Type.array(_types.int32.__gs_type__, 1)
    fields = [("data", _types.Type.array(element, ndim)), *[(f"indices{d}", index) for d in range(ndim)]]
    return _types.Type.struct("indexedarray", fields)


def _class_for(ty: Any) -> Any:
    """What reads an indexed array back from its bytes."""

    class codec(indexedarray):  # noqa: N801
        __gs_type__ = ty

        @staticmethod
        def from_bytes(raw: bytes) -> Any:
            data = _struct.array_from_descriptor(raw[: ty.fields[0][1].size], ty.fields[0][1])
            if data is None:
                return None
            lists = [_struct.array_from_descriptor(raw[at : at + one.size], one) for _, one, at in ty.fields[1:]]
            return indexedarray(data, lists)

        @staticmethod
        def numpy_dtype() -> Any:
            record = {"data": _struct.descriptor_dtype(ty.fields[0][1].rank)}
            record.update({name: _struct.descriptor_dtype(1) for name, _, _ in ty.fields[1:]})
            return np.dtype(list(record.items()))

    return codec


_mapped.makers["indexedarray"] = _class_for
_mapped.readers["indexedarray"] = lambda ty: (indexedarray, ty.fields[0][1].elem, ty.fields[0][1].rank)


def index_array(index: Any, device: Any) -> Any:
    """An int32 array of one dimension made of indices; None stays None. Raises `RuntimeError` for others."""
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
