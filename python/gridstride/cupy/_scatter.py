"""`ufunc.at`: updates of elements by indices, each time that an index is named, by atomic operations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _creation, _elementwise, _indexing, _interop, _memory, _shapes

_ATOMICS = {
    "add": "atomic_add",
    "subtract": "atomic_sub",
    "maximum": "atomic_max",
    "minimum": "atomic_min",
    "bitwise_and": "atomic_and",
    "bitwise_or": "atomic_or",
    "bitwise_xor": "atomic_xor",
}
_TEXT = """
def update(a, index, values):
    j, r = tid()
    OP(a, index[j], r, values[j, r])
"""


@cache
def _kernel(name: str, dtype: np.dtype[Any]) -> Any:
    elem, array = _memory.elem(dtype), _native.Type.array
    names = {"OP": _elementwise.Builtin(_ATOMICS[name])}
    types = {"a": array(elem, 2), "index": array(_native.Type.scalar("i64"), 1), "values": array(elem, 2)}
    return _elementwise.kernel("update", _TEXT, names, types)


def at(name: str, a: Any, slices: Any, value: Any) -> None:
    """Updates the elements of `a` at indices by values, which are stretched to them.

    Raises `TypeError` for types that have no atomic operations: int32, int64, uint32, uint64, float32, float64 have.
    """
    if name not in _ATOMICS:
        raise TypeError(f"`{name}.at` is not available: {', '.join(_ATOMICS)} have it")
    if a._dtype.name not in ("int32", "int64", "uint32", "uint64", "float32", "float64"):
        raise TypeError(f"elements of {a._dtype} cannot be updated by several threads: use 32 or 64 bits")
    values = _interop.asarray(value)
    # Which element each is: the numbers of the elements go through the same index.
    numbers = _creation.arange(a.size).reshape(a._shape)[slices]
    values = _shapes.broadcast_to(values.astype(a._dtype, copy=False), numbers._shape).reshape(-1, 1)
    flat = a.ravel()
    copied = flat._owner is not a._owner
    if numbers.size:
        _array.before_write(a, f"cupy.{name}.at")
        rows = flat.reshape(-1, 1)
        _elementwise.launch(
            _kernel(name, a._dtype), (numbers.size, 1), [rows, _indexing._contiguous(numbers.ravel()), values]
        )
    if copied:
        _creation.copyto(a, flat.reshape(a._shape))
