"""The usual calls at once: arrays without gaps and of one shape, or one of them and a number.

What a call of given types runs is noted when the general way has run it: the kernel, and the type of the result. The
same call again is a look into a table, one new array, and the launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gridstride import _native
from gridstride.cupy import _array, _elementwise, _memory
from gridstride.numba.cuda import _devices

# Numbers that a kernel takes as they are. A bool, a complex number, a NumPy scalar go the general way.
_NUMBERS = (int, float)
_MOST = 1 << 30
_new = _native.Array.__new__
_Buffer, _launch, _overlap = _native.Buffer, _native.launch, _native.overlap


def binary(general: Callable[..., Any], table: dict[Any, Any]) -> Callable[..., Any]:
    """A function of two operands that asks a table first; `general(a, b, into)` runs all else.

    `into` is None, or the array that takes the result.
    """

    def call(a: Any, b: Any, into: Any = None) -> Any:
        ndarray = _array.ndarray
        if type(a) is ndarray:
            shape = a._shape
            if type(b) is ndarray:
                if b._shape != shape or b._strides is not None:
                    return general(a, b, into)
                found = table.get((a._dtype, b._dtype))
                if into is not None and b is not into and _overlap(into, b):
                    return general(a, b, into)
            else:
                found = table.get((a._dtype, type(b)))
            is_flat = a._strides is None
        elif type(b) is ndarray:
            shape = b._shape
            found = table.get((type(a), b._dtype))
            is_flat = b._strides is None
        else:
            return general(a, b, into)
        if found is None or not is_flat:
            return general(a, b, into)
        kernel, elem, dtype, size = found
        n = shape[0] if len(shape) == 1 else math.prod(shape)
        if not 0 < n < _MOST or into is not None and not _takes(into, dtype, shape, a):
            return general(a, b, into)
        made = _made(ndarray, elem, dtype, size, shape, n) if into is None else into
        args = (a, b, made)
        if len(shape) != 1:
            args = tuple(_elementwise.flat(one) if type(one) is ndarray else one for one in args)
        try:
            _launch(kernel, n, args, None, _devices._launch_device, False, _elementwise.options())
        except OverflowError:
            return general(a, b, into)
        return made

    return call


def unary(general: Callable[..., Any], table: dict[Any, Any]) -> Callable[..., Any]:
    """A function of one operand that asks a table first; `general(a)` runs all else."""

    def call(a: Any) -> Any:
        ndarray = _array.ndarray
        found = table.get((a._dtype,)) if type(a) is ndarray and a._strides is None else None
        if found is None:
            return general(a)
        kernel, elem, dtype, size = found
        shape = a._shape
        n = shape[0] if len(shape) == 1 else math.prod(shape)
        if not 0 < n < _MOST:
            return general(a)
        made = _made(ndarray, elem, dtype, size, shape, n)
        args = (a, made) if len(shape) == 1 else (_elementwise.flat(a), _elementwise.flat(made))
        _launch(kernel, n, args, None, _devices._launch_device, False, _elementwise.options())
        return made

    return call


def _takes(into: Any, dtype: Any, shape: tuple[int, ...], a: Any) -> bool:
    """Whether an array takes a result as it is, and none of it is read after it was written."""
    if into is a:
        return bool(into._dtype == dtype)
    fits = into._dtype == dtype and into._shape == shape and into._strides is None
    return fits and not (type(a) is _array.ndarray and _overlap(into, a))


def _made(ndarray: Any, elem: Any, dtype: Any, size: int, shape: tuple[int, ...], n: int) -> Any:
    """A new array."""
    if len(shape) != 1:
        return _array.fresh(dtype, shape)
    device = _devices._launch_device
    if device == "cpu" or device == "interp":
        buffer: Any = _Buffer(n * size, False)
        made = _new(ndarray, elem, buffer.ptr, shape, (size,), "cpu", buffer)
    else:
        buffer, where = _memory.allocate(n * size)
        made = _new(ndarray, elem, buffer.ptr, shape, (size,), where, buffer)
    made._dtype = dtype
    made._shape = shape
    made._strides = made._described = made.base = None
    return made


def note(table: dict[Any, Any], operands: Any, body: Any) -> None:
    """Remembers what a call ran, where it was one of the usual ones."""
    if len(body.outputs) != 1 or not all(_is_usual(one) for one in operands):
        return
    arrays = [one for one in operands if type(one) is _array.ndarray]
    if not arrays or any(one._shape != arrays[0]._shape or one._strides is not None for one in arrays):
        return
    reads = []
    for one, dtype in zip(operands, body.inputs, strict=True):
        if type(one) is _array.ndarray:
            reads.append((_elementwise.EACH, one._dtype))
        elif type(one) is int and dtype.kind not in "iuf" or type(one) is float and dtype.kind != "f":
            return
        else:
            reads.append((_elementwise.VALUE, dtype))
    dtype = body.outputs[0]
    kernel = _elementwise._kernel(body, tuple(reads), (dtype,), 1, False)
    key = tuple(one._dtype if type(one) is _array.ndarray else type(one) for one in operands)
    table[key] = kernel, _memory.elem(dtype), dtype, dtype.itemsize


def _is_usual(one: Any) -> bool:
    return type(one) is _array.ndarray or type(one) in _NUMBERS
