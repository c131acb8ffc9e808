"""Runs of equal values: where one begins is told by a vote of the warp, its number by a scan over the tiles' counts."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from gridstride import _parallel, _types
from gridstride._parallel import cores
from gridstride._parallel.scan import ALL, ROWS, SPAN, THREADS, TILE, WARPS, scan
from gridstride.numba import cuda, int32


def encode_runs(
    values: Any,
    run_values: Any,
    run_lengths: Any,
    run_count: Any,
    n: int,
    device: Any,
    form: ModuleType | None = None,
) -> None:
    """Writes each run's value and length, and to `run_count` how many there are. `form` is as for a scan."""
    if n == 0:
        run_count.zero_()
        return
    form = form or (cores if device.is_cpu else sys.modules[__name__])
    n_tiles, threads = _parallel.blocks(n, form.TILE), form.THREADS
    counts, starts = (_parallel.temporary(size, _types.int32, device) for size in (n_tiles, n))
    _parallel.run(form.count_runs, n_tiles, device, values, counts, n, threads=threads)
    scan(counts, counts, False, device)
    _parallel.run(form.begin_runs, n_tiles, device, values, counts, run_values, starts, run_count, n, threads=threads)
    _parallel.run(form.measure_runs, n_tiles, device, starts, run_count, run_lengths, n, threads=threads)


@cuda.jit(device=True)
def begins(values, i, n):
    """Whether a run begins at `i`."""
    return i < n and (i == 0 or values[i] != values[i - 1])


@functools.cache
def counting(is_counted: Any) -> Any:
    """A kernel that counts for how many elements of each tile `is_counted(values, i, n)` holds."""

    @cuda.jit
    def count_elements(values, counts, n):
        warps = cuda.shared.array(WARPS, dtype=int32)
        thread = cuda.threadIdx.x
        first = cuda.blockIdx.x * TILE + thread // 32 * SPAN + thread % 32
        total = int32(0)
        for k in range(ROWS):
            total += cuda.popc(cuda.ballot_sync(ALL, is_counted(values, first + 32 * k, n)))
        if thread % 32 == 0:
            warps[thread // 32] = total
        cuda.syncthreads()
        if thread == 0:
            for k in range(1, WARPS):
                total += warps[k]
            counts[cuda.blockIdx.x] = total

    return count_elements


# How many runs begin in each tile.
count_runs = counting(begins)


@cuda.jit
def begin_runs(values, counts, run_values, starts, run_count, n):
    """Each run's value and where it begins, at its number."""
    warps = cuda.shared.array(WARPS, dtype=int32)
    votes = cuda.local.array(ROWS, dtype=int32)
    thread = cuda.threadIdx.x
    lane, warp = thread % 32, thread // 32
    first = cuda.blockIdx.x * TILE + warp * SPAN + lane
    total = int32(0)
    for k in range(ROWS):
        votes[k] = cuda.ballot_sync(ALL, begins(values, first + 32 * k, n))
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
            run_values[here] = values[i]
            starts[here] = i
        number = int32(number + cuda.popc(votes[k]))
        if i == n - 1:
            run_count[0] = here + ((votes[k] >> lane) & 1)


@cuda.jit
def measure_runs(starts, run_count, run_lengths, n):
    """Each run's length: to where the next begins."""
    own, after = cuda.local.array(ROWS, dtype=int32), cuda.local.array(ROWS, dtype=int32)
    count = run_count[0]
    first = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    if first < count:
        for k in range(ROWS):
            i = first + k * THREADS
            own[k] = starts[min(i, count - 1)]
            after[k] = starts[i + 1] if i + 1 < count else n
        for k in range(ROWS):
            i = first + k * THREADS
            if i < count:
                run_lengths[i] = after[k] - own[k]
