"""Running sums of one-dimensional arrays.

A tile is what a block takes: each warp scans its rows of 32 elements, one a lane, and then the warps' sums are scanned.
Sums of 32-bit integers, which are the same in any order, read each element once: a tile looks back at what the ones
before it have got so far. All others are added in one order, whatever the machine: first each tile's sum, then the
running sums of these, then every tile from where it begins.

    Sengupta, Harris, Zhang & Owens, "Scan Primitives for GPU Computing" (2007).
    Merrill & Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016).
"""

from __future__ import annotations

from typing import Any

from gridstride import _parallel, _types
from gridstride.numba import cuda, int32, int64, uint32, uint64

THREADS = _parallel.THREADS
WARPS = THREADS // 32
ROWS = 8
SPAN = 32 * ROWS
TILE = WARPS * SPAN
ALL = 0xFFFFFFFF


def scan(source: Any, out: Any, is_inclusive: bool, device: Any) -> None:
    """Writes the running sums of `source` to `out`, which has its type and may be the same array."""
    n = source.shape[0]
    n_tiles = _parallel.blocks(n, TILE)
    if n_tiles > 1 and source.dtype in (_types.int32, _types.uint32):
        states = _parallel.temporary(n_tiles + 1, _types.uint64, device)
        states.zero_()
        _parallel.run(scan_once, n_tiles, device, source, out, states, n, is_inclusive)
        return
    starts = _parallel.temporary(n_tiles, source.dtype, device)
    if n_tiles > 1:
        _parallel.run(tile_sums, n_tiles, device, source, starts, n)
        scan(starts, starts, False, device)
    else:
        starts.zero_()
    _parallel.run(scan_tiles, n_tiles, device, source, out, starts, n, is_inclusive)


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


@cuda.jit(device=True)
def scan_rows(source, kept, begin, lane, n, is_inclusive):
    """Leaves each row's running sums in `kept`, from where the warp's span begins, and gives the span's sum."""
    zero = source.dtype.type(0)
    # All reads first: they are under way together.
    for k in range(ROWS):
        i = begin + 32 * k
        kept[k] = source[i] if i < n else zero
    before = zero
    for k in range(ROWS):
        scanned = kept[k]
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
    return before


@cuda.jit
def scan_tiles(source, out, starts, n, is_inclusive):
    """Each tile's running sums, from where it begins."""
    warps = cuda.shared.array(WARPS, dtype=source.dtype)
    kept = cuda.local.array(ROWS, dtype=source.dtype)
    thread = cuda.threadIdx.x
    lane, warp = thread % 32, thread // 32
    begin = cuda.blockIdx.x * TILE + warp * SPAN + lane
    total = scan_rows(source, kept, begin, lane, n, is_inclusive)
    if lane == 0:
        warps[warp] = total
    cuda.syncthreads()
    first = starts[cuda.blockIdx.x]
    for k in range(WARPS):
        if k < warp:
            first = source.dtype.type(first + warps[k])
    for k in range(ROWS):
        i = begin + 32 * k
        if i < n:
            out[i] = source.dtype.type(first + kept[k])


# What a tile has told of itself, above its 32-bit sum: nothing yet, the sum of its own elements, that of all up to it.
OWN, ALL_BEFORE = 1, 2


@cuda.jit
def scan_once(source, out, states, n, is_inclusive):
    """Each tile's running sums. `states[0]` counts the tiles begun, `states[1 + t]` is what tile `t` has told."""
    ticket = cuda.shared.array(1, dtype=int64)
    start = cuda.shared.array(1, dtype=int32)
    warps = cuda.shared.array(WARPS, dtype=int32)
    kept = cuda.local.array(ROWS, dtype=source.dtype)
    thread = cuda.threadIdx.x
    lane, warp = thread % 32, thread // 32
    # Tiles are numbered as blocks begin, so that every tile before this one has a block that runs.
    if thread == 0:
        ticket[0] = int64(cuda.atomic.add(states, 0, uint64(1)))
    cuda.syncthreads()
    tile = ticket[0]
    begin = tile * TILE + warp * SPAN + lane
    total = scan_rows(source, kept, begin, lane, n, is_inclusive)
    if lane == 0:
        warps[warp] = int32(total)
    cuda.syncthreads()
    if warp == 0:
        own = int32(0)
        for k in range(WARPS):
            own = int32(own + warps[k])
        before = int32(0)
        if lane == 0:
            cuda.atomic.exch(states, tile + 1, told(ALL_BEFORE if tile == 0 else OWN, own))
        # A lane each of the 32 tiles before, until one knows the sum of all before it.
        at = tile - lane
        is_found = tile == 0
        while not is_found:
            state = told(ALL_BEFORE, 0)
            if at > 0:
                state = cuda.atomic.add(states, at, uint64(0))
            while cuda.any_sync(ALL, state < uint64(OWN << 32)):
                if state < uint64(OWN << 32):
                    state = cuda.atomic.add(states, at, uint64(0))
            knows = cuda.ballot_sync(ALL, state >= uint64(ALL_BEFORE << 32))
            nearest = cuda.ffs(knows) - 1 if knows != 0 else 31
            part = int32(state) if lane <= nearest else int32(0)
            for step in range(5):
                part = int32(part + cuda.shfl_xor_sync(ALL, part, 1 << step))
            before = int32(before + part)
            is_found = knows != 0
            at -= 32
        if lane == 0:
            start[0] = before
            if tile > 0:
                cuda.atomic.exch(states, tile + 1, told(ALL_BEFORE, int32(before + own)))
    cuda.syncthreads()
    first = start[0]
    for k in range(WARPS):
        if k < warp:
            first = int32(first + warps[k])
    for k in range(ROWS):
        i = begin + 32 * k
        if i < n:
            out[i] = source.dtype.type(first + int32(kept[k]))


@cuda.jit(device=True)
def told(state, total):
    return (uint64(state) << uint64(32)) | uint64(uint32(total))
