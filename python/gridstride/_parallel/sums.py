"""Sums along the middle of three dimensions, in one order: what `array_sum` and `array_inner` come down to.

In: `outer * middle * inner` numbers. Out: `outer * inner` sums. Floats are added as float64, integers as 64 bits. The
middle is cut into parts by its length alone; each part is summed by a block, and then the parts are.
"""

from __future__ import annotations

import functools
from typing import Any

from gridstride import _parallel, _types
from gridstride._parallel import cores
from gridstride.numba import cuda, float64, int32, int64, uint64

THREADS = _parallel.THREADS
# Numbers that are worth a block, and most blocks of a sum that is cut.
PART = 1 << 14
MOST_PARTS = 1 << 14
# Rows of a warp at a time.
ROWS = 4


def sums(factors: Any, out: Any, extents: tuple[int, int, int], count: int, device: Any) -> None:
    """Sums of the products of one or two arrays, over the first `count` of the middle dimension."""
    outer, middle, inner = extents
    total = wide(factors[0].dtype)
    if device.is_cpu and outer == inner == 1:
        _sum_tiles(factors, out, count, device)
        return
    # Columns and the outer dimension make blocks of their own.
    most = max(1, MOST_PARTS // (outer * _parallel.blocks(inner)))
    n_parts = min(most, _parallel.blocks(count * min(inner, THREADS), PART))
    per_part = _parallel.blocks(count, n_parts)
    n_parts = _parallel.blocks(count, per_part)
    target = out if n_parts == 1 else _parallel.temporary(outer * n_parts * inner, total, device)
    _add_up(factors, target, (outer, middle, inner), count, per_part, device)
    if n_parts > 1:
        sums([target], out, (outer, n_parts, inner), n_parts, device)


def _sum_tiles(factors: Any, out: Any, count: int, device: Any) -> None:
    """The sum of the first `count` products, on the CPU."""
    n_tiles, total = _parallel.blocks(count, cores.TILE), wide(factors[0].dtype)
    target = out if n_tiles == 1 else _parallel.temporary(n_tiles, total, device)
    kernel = cores.sum_tiles(_term(len(factors), _KINDS[_kind(total)]), _KINDS[_kind(total)])
    _parallel.run(kernel, n_tiles, device, factors[0], factors[-1], target, count, threads=cores.THREADS)
    if n_tiles > 1:
        _sum_tiles([target], out, n_tiles, device)


def wide(dtype: Any) -> Any:
    """The type that numbers of a type are added in."""
    if dtype in _types.float_types:
        return _types.float64
    return _types.int64 if dtype in (_types.int8, _types.int16, _types.int32, _types.int64) else _types.uint64


def _add_up(factors: Any, out: Any, extents: Any, count: int, per_part: int, device: Any) -> None:
    outer, middle, inner = extents
    kind = _kind(wide(factors[0].dtype))
    rows, columns, narrow = _kernels(len(factors), kind, inner == 1)
    n_parts = _parallel.blocks(count, per_part)
    x, y = factors[0], factors[-1]
    if inner == 1 and n_parts == 1 and outer > 1 and count <= 4 * THREADS:
        n_blocks = _parallel.blocks(outer, ROWS * THREADS // 32)
        _parallel.run(rows, n_blocks, device, x, y, out, outer, middle, count)
    elif inner <= THREADS:
        _parallel.run(narrow, (outer, n_parts), device, x, y, out, middle, inner, count, per_part)
    else:
        n_blocks = _parallel.blocks(inner)
        _parallel.run(columns, (outer * n_blocks, n_parts), device, x, y, out, middle, inner, count, per_part, n_blocks)


_KINDS = {"f": float64, "i": int64, "u": uint64}


def _kind(total: Any) -> str:
    return {_types.float64: "f", _types.int64: "i"}.get(total, "u")


@functools.cache
def _term(n_factors: int, Total: Any) -> Any:
    """A function that gives what is added for an element."""
    is_product = n_factors == 2

    @cuda.jit(device=True)
    def term(x, y, i):
        return Total(x[i]) * Total(y[i]) if is_product else Total(x[i])

    return term


@functools.cache
def _kernels(n_factors: int, kind: str, is_flat: bool) -> tuple[Any, Any, Any]:
    Total = _KINDS[kind]
    term = _term(n_factors, Total)

    @cuda.jit(device=True)
    def eight(x, y, i, step):
        """Eight terms, so that as many reads are under way."""
        two, four = i + step + step, i + uint64(4) * step
        six = four + step + step
        a, b = term(x, y, i) + term(x, y, i + step), term(x, y, two) + term(x, y, two + step)
        c, d = term(x, y, four) + term(x, y, four + step), term(x, y, six) + term(x, y, six + step)
        return (a + b) + (c + d)

    @cuda.jit
    def sum_rows(x, y, out, outer, middle, count):
        """A warp some rows of the middle."""
        totals = cuda.local.array(ROWS, dtype=Total)
        lane, row = cuda.threadIdx.x % 32, cuda.grid(1) // 32 * ROWS
        for k in range(ROWS):
            totals[k] = Total(0)
        for i in range(lane, count, 32):
            for k in range(ROWS):
                if row + k < outer:
                    totals[k] += term(x, y, (row + k) * middle + i)
        for k in range(ROWS):
            total = totals[k]
            for step in range(5):
                total += cuda.shfl_down_sync(0xFFFFFFFF, total, 16 >> step)
            if lane == 0 and row + k < outer:
                out[row + k] = total

    @cuda.jit
    def sum_columns(x, y, out, middle, inner, count, per_part, n_blocks):
        """A thread a column."""
        which, part = cuda.blockIdx.x // n_blocks, cuda.blockIdx.y
        k = cuda.blockIdx.x % n_blocks * THREADS + cuda.threadIdx.x
        if k < inner:
            i = uint64((which * middle + part * per_part) * inner + k)
            stop = uint64((which * middle + min((part + 1) * per_part, count)) * inner)
            stride = uint64(inner)
            total = Total(0)
            while i + uint64(7) * stride < stop:
                total += eight(x, y, i, stride)
                i += uint64(8) * stride
            while i < stop:
                total += term(x, y, i)
                i += stride
            out[(which * cuda.gridDim.y + part) * inner + k] = total

    @cuda.jit
    def sum_narrow(x, y, out, middle, inner, count, per_part):
        """A block a part: its threads hold as many rows of `inner` columns as they can."""
        held = cuda.shared.array(THREADS, dtype=Total)
        thread, part = cuda.threadIdx.x, cuda.blockIdx.y
        columns = int32(1 if is_flat else inner)
        n_rows = int32(THREADS // columns)
        step = int32(n_rows * columns)
        first = cuda.blockIdx.x * middle
        i = uint64((first + part * per_part) * inner + thread)
        stop = uint64((first + min((part + 1) * per_part, count)) * inner)
        stride = uint64(step)
        total = Total(0)
        if thread < step:
            while i + uint64(7) * stride < stop:
                total += eight(x, y, i, stride)
                i += uint64(8) * stride
            while i < stop:
                total += term(x, y, i)
                i += stride
        held[thread] = total
        cuda.syncthreads()
        row = int32(thread // columns)
        while n_rows > 1:
            half = int32((n_rows + 1) // 2)
            if row + half < n_rows:
                held[thread] += held[thread + int32(half * columns)]
            cuda.syncthreads()
            n_rows = half
        if thread < columns:
            out[(cuda.blockIdx.x * cuda.gridDim.y + part) * inner + thread] = held[thread]

    return sum_rows, sum_columns, sum_narrow
