"""What an array of flags selects: how many flags of each tile are set, scanned, says where each goes.

Sengupta, Harris, Zhang & Owens, "Scan Primitives for GPU Computing" (2007).
"""

from __future__ import annotations

import functools
from typing import Any

from gridstride import _parallel, _types
from gridstride._parallel import runs
from gridstride._parallel.scan import ALL, ROWS, SPAN, TILE, WARPS, scan
from gridstride.numba import cuda, int32, int64


def count(flags: Any, n: int, device: Any) -> Any:
    """How many flags are set before each tile, and in the end how many there are."""
    n_tiles = _parallel.blocks(n, TILE)
    counts = _parallel.temporary(n_tiles + 1, _types.int32, device)
    _parallel.run(runs.counting(is_set), n_tiles, device, flags, counts, n)
    # The last element is not read.
    scan(counts, counts, False, device)
    return counts


def put(flags: Any, counts: Any, values: Any, out: Any, n: int, device: Any) -> None:
    """Writes the values whose flags are set one after the other, or their places where `values` is None."""
    kernel = _putting(values is not None)
    _parallel.run(kernel, _parallel.blocks(n, TILE), device, flags, counts, flags if values is None else values, out, n)


@cuda.jit(device=True)
def is_set(flags, i, n):
    return i < n and flags[i] != 0


@functools.cache
def _putting(has_values: bool) -> Any:
    @cuda.jit
    def put_selected(flags, counts, values, out, n):
        warps = cuda.shared.array(WARPS, dtype=int32)
        votes = cuda.local.array(ROWS, dtype=int32)
        thread = cuda.threadIdx.x
        lane, warp = thread % 32, thread // 32
        first = cuda.blockIdx.x * TILE + warp * SPAN + lane
        total = int32(0)
        for k in range(ROWS):
            votes[k] = cuda.ballot_sync(ALL, is_set(flags, first + 32 * k, n))
            total = int32(total + cuda.popc(votes[k]))
        if lane == 0:
            warps[warp] = total
        cuda.syncthreads()
        number = counts[cuda.blockIdx.x]
        for k in range(WARPS):
            if k < warp:
                number = int32(number + warps[k])
        for k in range(ROWS):
            i = first + 32 * k
            here = int32(number + cuda.popc(votes[k] & cuda.lanemask_lt()))
            if (votes[k] >> lane) & 1:
                out[here] = values[i] if has_values else int64(i)
            number = int32(number + cuda.popc(votes[k]))

    return put_selected
