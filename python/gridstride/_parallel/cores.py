"""Scans, sorts and runs on a CPU: what a block of threads takes elsewhere, one thread takes here, in order.

The kernels stand in for those of `scan`, `sort` and `runs`: the same arguments, a longer tile, one thread a block. So a
core goes through its tile once, with whatever it counts in its own first-level cache.
"""

from __future__ import annotations

import functools
from typing import Any

from gridstride.numba import cuda, int32, uint32, uint64

THREADS = 1
TILE = 1 << 15


@cuda.jit(device=True)
def begin():
    """Where this block's tile begins. Unsigned, so that no index counts from an array's end."""
    return uint64(cuda.blockIdx.x * TILE)


@cuda.jit(device=True)
def end(n):
    """Where it ends, of `n` elements in all."""
    return min(uint64(n), uint64(begin() + uint64(TILE)))


@cuda.jit
def tile_sums(source, sums, n):
    """Each tile's sum."""
    total = source.dtype.type(0)
    for i in range(begin(), end(n)):
        total = source.dtype.type(total + source[i])
    sums[cuda.blockIdx.x] = total


@cuda.jit
def scan_tiles(source, out, starts, n, is_inclusive):
    """Each tile's running sums, from where it begins."""
    total = starts[cuda.blockIdx.x]
    for i in range(begin(), end(n)):
        after = source.dtype.type(total + source[i])
        out[i] = after if is_inclusive else total
        total = after


@functools.cache
def count_digits(digit: Any, n_digits: int) -> Any:
    """A kernel that counts how often each digit is in each tile; counts of one digit lie together."""

    @cuda.jit
    def count_digits(keys, counts, n, first, mask):
        held = cuda.local.array(n_digits, dtype=int32)
        for d in range(n_digits):
            held[d] = 0
        for i in range(begin(), end(n)):
            held[digit(keys[i], first, mask)] += 1
        for d in range(n_digits):
            counts[d * cuda.gridDim.x + cuda.blockIdx.x] = held[d]

    return count_digits


@functools.cache
def scatter(digit: Any, n_digits: int) -> Any:
    """A kernel that puts a tile's keys and values where they belong."""

    @cuda.jit
    def scatter(keys, values, out_keys, out_values, starts, n, first, mask):
        place = cuda.local.array(n_digits, dtype=uint32)
        for d in range(n_digits):
            place[d] = uint32(starts[d * cuda.gridDim.x + cuda.blockIdx.x])
        for i in range(begin(), end(n)):
            mine = digit(keys[i], first, mask)
            target = place[mine]
            out_keys[target] = keys[i]
            out_values[target] = values[i]
            place[mine] = uint32(target + uint32(1))

    return scatter


@cuda.jit
def count_runs(values, counts, n):
    """How many runs begin in each tile."""
    total, before = int32(cuda.blockIdx.x == 0), values[max(begin(), uint64(1)) - uint64(1)]
    for i in range(max(begin(), uint64(1)), end(n)):
        total += int32(values[i] != before)
        before = values[i]
    counts[cuda.blockIdx.x] = total


@cuda.jit
def begin_runs(values, counts, run_values, starts, run_count, n):
    """Each run's value and where it begins, at its number."""
    number, before = uint32(counts[cuda.blockIdx.x]), values[max(begin(), uint64(1)) - uint64(1)]
    if cuda.blockIdx.x == 0:
        run_values[0] = values[0]
        starts[0] = 0
        number = uint32(1)
    for i in range(max(begin(), uint64(1)), end(n)):
        if values[i] != before:
            before = values[i]
            run_values[number] = before
            starts[number] = i
            number = uint32(number + uint32(1))
    if end(n) == uint64(n):
        run_count[0] = number


@cuda.jit
def measure_runs(starts, run_count, run_lengths, n):
    """Each run's length: to where the next begins."""
    count = run_count[0]
    for i in range(begin(), end(count)):
        run_lengths[i] = (starts[i + uint64(1)] if i + uint64(1) < uint64(count) else n) - starts[i]


# Sums of a tile side by side, so that additions need not wait for each other.
LANES = 32


@functools.cache
def sum_tiles(term: Any, total_type: Any) -> Any:
    """A kernel that sums the terms of each tile."""

    @cuda.jit
    def sum_tiles(x, y, out, n):
        totals = cuda.local.array(LANES, dtype=total_type)
        for k in range(LANES):
            totals[k] = total_type(0)
        whole = uint64(begin() + (end(n) - begin()) // uint64(LANES) * uint64(LANES))
        for i in range(begin(), whole, uint64(LANES)):
            for k in range(LANES):
                totals[k] += term(x, y, i + uint64(k))
        for i in range(whole, end(n)):
            totals[0] += term(x, y, i)
        for step in range(5):
            for k in range(LANES >> (step + 1)):
                totals[k] += totals[k + (LANES >> (step + 1))]
        out[cuda.blockIdx.x] = totals[0]

    return sum_tiles
