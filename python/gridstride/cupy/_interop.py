"""Arrays of other styles and libraries as arrays of this one, without a copy, and the reverse.

>>> x = wp.zeros(3, dtype=float)  # doctest: +SKIP
>>> cp.asarray(x)[:] = 1  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _layout, _memory


def of_native(value: Any) -> Any:
    """An array over the memory of an array of Warp's style or numba's: vectors and matrices are further dimensions."""
    if isinstance(value, _array.ndarray):
        return value
    if hasattr(value, "_memory") and isinstance(value._memory, np.ndarray):
        memory = value._memory
        ptr = value.ptr if memory.size else 0
        return _array.make(memory.dtype, ptr, memory.shape, _gaps(memory), value, value._place, described=memory)
    ty, inner = value._type, ()
    if ty.kind in ("vector", "matrix", "quat", "transform"):
        inner, ty = tuple(ty.shape), ty.elem
    dtype = _memory.dtype_of(ty)
    _memory.elem(dtype)
    shape = tuple(value.shape) + inner
    strides = tuple(value.strides) + _layout.row_major(inner, dtype.itemsize)
    is_flat = strides == _layout.row_major(shape, dtype.itemsize)
    return _array.make(dtype, value.ptr or 0, shape, None if is_flat else strides, value, value._place)


def _gaps(memory: np.ndarray[Any, Any]) -> Any:
    return None if memory.flags.c_contiguous else memory.strides


def of_interface(value: Any) -> Any:
    """An array over what `__cuda_array_interface__` describes, in the order of its stream."""
    from gridstride.numba.cuda import _interface

    return of_native(_interface.ordered(value))


def from_dlpack(value: Any, device: Any = None, copy: Any = None) -> Any:
    """An array over the memory of an object with `__dlpack__`."""
    from gridstride import _dlpack

    if isinstance(value, _array.ndarray):
        return value.copy() if copy else value
    found = of_native(_dlpack.from_dlpack(value))
    return found.copy() if copy else found


def asarray(value: Any, dtype: Any = None, order: Any = None) -> Any:
    """A value as an array: an array of any of the styles, or of a library's on the device, without a copy where its
    type is `dtype` already; NumPy's arrays, lists and numbers by a copy to the device."""
    if isinstance(value, _native.Array):
        found = of_native(value)
    elif hasattr(value, "__cuda_array_interface__"):
        found = of_interface(value)
    else:
        return _array.of_host(host_values(value, dtype, order))
    if (
        dtype is not None
        and found._dtype != np.dtype(dtype)
        or order in ("C", "F")
        and not found.flags[f"{order}_CONTIGUOUS"]
    ):
        return found.astype(found._dtype if dtype is None else dtype, order=order or "K")
    return found


def host_values(value: Any, dtype: Any = None, order: Any = None) -> np.ndarray[Any, Any]:
    """Numbers of the host, nested lists of them or of arrays, as a NumPy array."""
    if isinstance(value, list | tuple):
        value = _without_arrays(value)
    found = np.asarray(value, dtype=dtype, order=order)
    _memory.elem(found.dtype.newbyteorder("="))
    return found


def _without_arrays(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_arrays(one) for one in value]
    return value.get() if isinstance(value, _array.ndarray) else value


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """An array of this style, or anything that NumPy takes, as a NumPy array."""
    if isinstance(a, _array.ndarray):
        return a.get(stream=stream, order=order, out=out)
    if isinstance(a, _native.Array) or hasattr(a, "__cuda_array_interface__"):
        return asarray(a).get(order=order, out=out)
    found = np.asarray(a, order=order)  # type: ignore[call-overload]
    if out is None:
        return found
    out[...] = found
    return out
