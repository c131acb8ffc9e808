"""Memory of new arrays, on the device that launches run on; NumPy's description of it, for shapes and for the host.

An array of CuPy's style, like one of numba's, has a NumPy array that describes its memory: views of the description are
views of the memory. On a GPU nothing is read through it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import _dtypes
from gridstride.numba.cuda import _devices
from gridstride.numba.cuda import _memory as _described

_KINDS = "?bBhHiIlLqQefdFD"
_ELEMS: dict[np.dtype[Any], _native.Type] = {
    np.dtype(kind): _dtypes.from_native_dtype(np.dtype(kind)) for kind in _KINDS
}


def elem(dtype: np.dtype[Any]) -> _native.Type:
    """The compiler's type of elements. Raises `TypeError` for a dtype that arrays cannot have."""
    found = _ELEMS.get(dtype)
    if found is None:
        raise TypeError(
            f"Unsupported dtype {dtype}: arrays hold bool, int8 to int64, uint8 to uint64, float16 to float64, "
            "complex64 and complex128"
        )
    return found


def dtype_of(ty: _native.Type) -> np.dtype[Any]:
    """The dtype of elements of a compiler's scalar or complex type."""
    return _dtypes.dtype_of(ty)


def place() -> str:
    """What memory of the device that launches run on is called."""
    ordinal = _devices.gpu()
    return "cpu" if ordinal is None else f"cuda:{ordinal}"


def allocate(n_bytes: int) -> tuple[Any, str]:
    """New memory and the name of its place. Raises `MemoryError`."""
    device = _devices._launch_device
    if device == "cpu" or device == "interp" or (ordinal := _devices.gpu()) is None:
        return _native.Buffer(n_bytes or 1, False), "cpu"
    try:
        return _native.CudaBuffer(ordinal, n_bytes or 1), f"cuda:{ordinal}"
    except RuntimeError as error:
        raise MemoryError(f"Out of memory allocating {n_bytes:,} bytes: {error}") from None


def description(
    owner: Any, ptr: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any], where: str
) -> np.ndarray[Any, Any]:
    """NumPy's description of memory that begins at `ptr` and that `owner` holds."""
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return np.empty(shape, dtype)
    low = high = 0
    if strides is None:
        high = count * dtype.itemsize
    else:
        for extent, stride in zip(shape, strides, strict=True):
            low += min((extent - 1) * stride, 0)
            high += max((extent - 1) * stride, 0)
        high += dtype.itemsize
    flat = np.asarray(_described._Owner(owner, ptr + low, high - low, where))
    return np.ndarray(shape, dtype, flat, -low, strides)


read, write = _described.read, _described.write
