"""Transposing device arrays by tiles in shared memory."""

from __future__ import annotations

from typing import Any

from gridstride.numba.cuda import _generated
from gridstride.numba.cuda._arrays import device_array, to_device
from gridstride.numba.cuda.dispatcher import Dispatcher, jit

_TILE = 32
# A row more than a tile has: columns are read without two threads at one bank.
_TEXT = """
def transposed(a, b):
    tile = shared_array(({tile}, {tile} + 1), dtype=a.dtype)
    x, y = threadIdx.x, threadIdx.y
    row, column = blockIdx.y * {tile} + y, blockIdx.x * {tile} + x
    if row < a.shape[0] and column < a.shape[1]:
        tile[y, x] = a[row, column]
    syncthreads()
    row, column = blockIdx.x * {tile} + y, blockIdx.y * {tile} + x
    if row < b.shape[0] and column < b.shape[1]:
        b[row, column] = tile[x, y]
"""
_kernels: list[Dispatcher] = []


def transpose(a: Any, b: Any = None) -> Any:
    """`b`, or a new device array, with the elements of the matrix `a` transposed."""
    if not _kernels:
        _kernels.append(jit(_generated.function("transposed", _TEXT.format(tile=_TILE), {})))
    a = to_device(a)
    rows, columns = a.shape
    if b is None:
        b = device_array((columns, rows), a.dtype)
    blocks = (max(1, -(-columns // _TILE)), max(1, -(-rows // _TILE)))
    _kernels[0].launch(_kernels[0]._quiet(blocks, (_TILE, _TILE), getattr(a, "stream", 0)), (a, b))
    return b


__all__ = ["transpose"]
