"""Layouts: arrays by shape and strides alone, from an offset on, without memory (`numba.cuda.cudadrv.dummyarray`).

>>> whole = Array.from_desc(0, (4, 5), (40, 8), 8)
>>> part = whole[1:3, ::2]
>>> part.shape, part.strides, part.extent
((2, 3), (40, 16), Extent(begin=40, end=120))

NumPy knows how slices, reshapes and transposes change shape and strides; what lies there is never looked at.
"""

from __future__ import annotations

import itertools
import operator
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridstride.numba.cuda import _memory

Extent = namedtuple("Extent", ["begin", "end"])

# Where offset 0 is: offsets below it are addresses too.
_ORIGIN = 1 << 40


class Element:
    """One element of a layout."""

    is_array = False

    def __init__(self, extent: Extent) -> None:
        self.extent = extent

    def iter_contiguous_extent(self) -> Iterator[Extent]:
        """Its bytes, in one piece."""
        yield self.extent


class Array:
    """Shape, strides and the bytes that they span. Slices and reshapes are layouts too."""

    is_array = True

    def __init__(self, model: np.ndarray[Any, Any]) -> None:
        self._model = model

    @classmethod
    def from_desc(cls, offset: Any, shape: Any, strides: Any, itemsize: int) -> Array:
        """The layout of an array whose first element is `offset` bytes from where its memory starts.

        Raises `TypeError` for a shape that is not of integers.
        """
        place = (_ORIGIN + operator.index(offset), False)
        extents, steps = tuple(map(operator.index, shape)), tuple(map(operator.index, strides))
        described = {"data": place, "shape": extents, "strides": steps, "typestr": f"|V{operator.index(itemsize)}"}
        return cls(_memory.described(described, None))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._model.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self._model.strides

    @property
    def ndim(self) -> int:
        return self._model.ndim

    @property
    def size(self) -> int:
        return self._model.size

    @property
    def itemsize(self) -> int:
        return self._model.itemsize

    @property
    def flags(self) -> Any:
        return self._model.flags

    @property
    def is_c_contig(self) -> bool:
        return bool(self._model.flags["C_CONTIGUOUS"])

    @property
    def is_f_contig(self) -> bool:
        return bool(self._model.flags["F_CONTIGUOUS"])

    @property
    def extent(self) -> Extent:
        """The first byte, and the one behind the last."""
        return _extent(self._model)

    def __getitem__(self, item: Any) -> Any:
        found = self._model[(*item, Ellipsis) if isinstance(item, tuple) else (item, Ellipsis)]
        return Array(found) if found.ndim else Element(_extent(found))

    def iter_contiguous_extent(self) -> Iterator[Extent]:
        """The pieces of memory that hold the elements, each in one."""
        model = self._model
        if self.is_f_contig and not self.is_c_contig:
            model = model.T
        # The last dimensions that lie without gaps are one piece for each index of those before.
        n_outer = model.ndim
        while n_outer and model[(0,) * (n_outer - 1)].flags["C_CONTIGUOUS"]:
            n_outer -= 1
        for index in itertools.product(*map(range, model.shape[:n_outer])):
            yield _extent(model[(*index, Ellipsis)])

    def reshape(self, *newdims: int, order: str = "C") -> tuple[Array, list[Extent]]:
        """The layout of the same memory in another shape, and the pieces of memory of this one.

        Raises `NotImplementedError` where elements would have to move.
        """
        if order not in ("C", "F", "A"):
            raise ValueError("order not C|F|A")
        known = int(np.prod([extent for extent in newdims if extent >= 0], dtype=np.int64))
        if newdims.count(-1) == 1 and (known == 0 or self.size % known):
            raise ValueError(f"cannot infer valid shape for unknown dimension: {self.size} elements as {newdims}")
        if newdims.count(-1) < 1 and known != self.size:
            raise ValueError(f"reshape changes the size of the array: {self.size} elements as {newdims}")
        if newdims.count(-1) > 1:
            raise ValueError("can only specify one unknown dimension")
        found = _memory.reshaped(self._model, newdims, order)
        if found is None:
            raise NotImplementedError("reshape would require copy")
        return Array(found), list(self.iter_contiguous_extent())

    def squeeze(self, axis: Any = None) -> tuple[Array, list[Extent]]:
        """Without dimensions of one element."""
        return Array(np.squeeze(self._model, axis)), list(self.iter_contiguous_extent())

    def ravel(self, order: str = "C") -> tuple[Array, list[Extent]]:
        """In one dimension. Raises `NotImplementedError` where elements would have to move."""
        if order not in ("C", "F", "A"):
            raise ValueError("order not C|F|A")
        found = _memory.reshaped(self._model, -1, order)
        if found is None:
            raise NotImplementedError("ravel on non-contiguous array")
        return Array(found), list(self.iter_contiguous_extent())

    def __repr__(self) -> str:
        return f"<Array shape={self.shape} strides={self.strides} itemsize={self.itemsize}>"


def _extent(model: np.ndarray[Any, Any]) -> Extent:
    first, n_bytes, _ = _memory._span(model)
    return Extent(first - _ORIGIN, first - _ORIGIN + (n_bytes if model.size else 0))
