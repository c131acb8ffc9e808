"""Running sums: each tile's sum, the running sums of these, then every tile from where it begins.

A tile is what a block takes: each warp scans its rows of 32 elements, one a lane, and then the warps' sums are scanned.
The elements are read twice and written once; sums are added in one order, whatever the machine.

    Sengupta, Harris, Zhang & Owens, "Scan Primitives for GPU Computing" (2007).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from gridstride import _parallel
from gridstride._parallel import cores
from gridstride.numba import cuda

THREADS = _parallel.THREADS
WARPS = THREADS // 32
ROWS = 8
SPAN = 32 * ROWS
TILE = WARPS * SPAN
ALL = 0xFFFFFFFF


def scan(source: Any, out: Any, is_inclusive: bool, device: Any, form: ModuleType | None = None) -> None:
    """Writes the running sums of `source` to `out`, which has its type and may be the same array.

    `form` has the kernels: this module, or `cores`. Left out, the one for the device.
    """
    form = form or (cores if device.is_cpu else sys.modules[__name__])
    n = source.shape[0]
    n_tiles = _parallel.blocks(n, form.TILE)
    starts = _parallel.temporary(n_tiles, source.dtype, device)
    if n_tiles > 1:
        _parallel.run(form.tile_sums, n_tiles, device, source, starts, n, threads=form.THREADS)
        scan(starts, starts, False, device, form)
    else:
        starts.zero_()
    _parallel.run(form.scan_tiles, n_tiles, device, source, out, starts, n, is_inclusive, threads=form.THREADS)


@cuda.jit
def tile_sums(source, sums, n):
    """Each tile's sum."""
    warps = cuda.shared.array(WARPS, dtype=source.dtype)
    thread = cuda.threadIdx.x
    begin = cuda.blockIdx.x * TILE + thread
    total = source.dtype.type(0)
    for k in range(ROWS):
        i = begin + k * THREADS
        if i < n:
            total = source.dtype.type(total + source[i])
    for step in range(5):
        total = source.dtype.type(total + cuda.shfl_down_sync(ALL, total, 16 >> step))
    if thread % 32 == 0:
        warps[thread // 32] = total
    cuda.syncthreads()
    if thread == 0:
        total = warps[0]
        for k in range(1, WARPS):
            total = source.dtype.type(total + warps[k])
        sums[cuda.blockIdx.x] = total


@cuda.jit
def scan_tiles(source, out, starts, n, is_inclusive):
    """Each tile's running sums, from where it begins."""
    warps = cuda.shared.array(WARPS, dtype=source.dtype)
    kept = cuda.local.array(ROWS, dtype=source.dtype)
    thread = cuda.threadIdx.x
    lane, warp = thread % 32, thread // 32
    begin = cuda.blockIdx.x * TILE + warp * SPAN + lane
    zero = source.dtype.type(0)
    # All reads first: they are under way together.
    for k in range(ROWS):
        i = begin + 32 * k
        kept[k] = source[i] if i < n else zero
    before = zero
    for k in range(ROWS):
        value = kept[k]
        scanned = value
        for step in range(5):
            other = cuda.shfl_up_sync(ALL, scanned, 1 << step)
            if lane >= 1 << step:
                scanned = source.dtype.type(scanned + other)
        row = cuda.shfl_sync(ALL, scanned, 31)
        if not is_inclusive:
            scanned = cuda.shfl_up_sync(ALL, scanned, 1)
            if lane == 0:
                scanned = zero
        kept[k] = source.dtype.type(before + scanned)
        before = source.dtype.type(before + row)
    if lane == 0:
        warps[warp] = before
    cuda.syncthreads()
    first = starts[cuda.blockIdx.x]
    for k in range(WARPS):
        if k < warp:
            first = source.dtype.type(first + warps[k])
    for k in range(ROWS):
        i = begin + 32 * k
        if i < n:
            out[i] = source.dtype.type(first + kept[k])
