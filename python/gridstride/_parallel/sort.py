"""Radix sort of keys with their values: stable, eight bits a pass, least first.

A pass counts the digits of each tile, scans the counts, and puts every key where its digit and its rank among equal
digits say. Within a tile the keys go through shared memory first, so that neighbors are written together. Floats are
sorted by bits that order as they do: every NaN last, the two zeros equal.

    Merrill & Grimshaw, "High Performance and Scalable Radix Sorting" (2011). That lanes find their equals by one bit
    each in a word of shared memory is from Adinets & Merrill, "Onesweep" (2022), section 4.3.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from gridstride import _array, _parallel, _types
from gridstride._parallel import cores
from gridstride._parallel.scan import scan
from gridstride.numba import cuda, int32, uint32, uint64

THREADS = _parallel.THREADS
WARPS = THREADS // 32
# Keys of a thread: the tile is to fit the shared memory that every device has, and a warp's registers leave room for
# others.
ITEMS, ITEMS_OF_64_BITS = 16, 8
BITS = 8
DIGITS = 1 << BITS
ALL = 0xFFFFFFFF


class Form(NamedTuple):
    """How a device's threads go through keys and values."""

    tile: int
    threads: int
    count: Any
    scatter: Any


def blocks(key_size: int, value_size: int, kind: str) -> Form:
    """A block of threads a tile."""
    items = ITEMS if key_size + value_size == 8 else ITEMS_OF_64_BITS
    count, scatter = _count(key_size, kind, items), _scatter(key_size, value_size, kind, items)
    return Form(THREADS * items, THREADS, count, scatter)


def threads(key_size: int, value_size: int, kind: str) -> Form:
    """A thread a tile."""
    digit = _digits(key_size, kind)
    return Form(cores.TILE, cores.THREADS, cores.count_digits(digit, DIGITS), cores.scatter(digit, DIGITS))


def sort_pairs(keys: Any, values: Any, n: int, bits: range, kind: str, device: Any, form: Any = None) -> None:
    """Sorts the first `n` keys and values by some bits of the keys. Both arrays have `2 * n` elements.

    `kind` says how keys are ordered: "f" as floats, "i" as signed and "u" as unsigned integers. `form` is `blocks` or
    `threads`; left out, the one for the device.
    """
    keys, values = raw(keys), raw(values)
    sizes = [one.dtype.__gs_type__.size for one in (keys, values)]
    form = (form or (threads if device.is_cpu else blocks))(*sizes, kind)
    n_tiles = _parallel.blocks(n, form.tile)
    counts = _parallel.temporary(DIGITS * n_tiles, _types.int32, device)
    source, target = (keys[:n], values[:n]), (keys[n : 2 * n], values[n : 2 * n])
    for first in range(bits.start, bits.stop, BITS):
        mask = (1 << min(BITS, bits.stop - first)) - 1
        _parallel.run(form.count, n_tiles, device, source[0], counts, n, first, mask, threads=form.threads)
        scan(counts, counts, False, device)
        _parallel.run(form.scatter, n_tiles, device, *source, *target, counts, n, first, mask, threads=form.threads)
        source, target = target, source
    if source[0].ptr != keys.ptr:
        for into, done in zip(target, source, strict=True):
            _array.array.assign(into, done)


def raw(one: Any) -> Any:
    """The elements' bits."""
    size = one.dtype.__gs_type__.size
    bits = _types.uint32 if size == 4 else _types.uint64
    return _array.make(bits, one.ptr or 0, (one.size,), (size,), one, one._place)


@functools.cache
def ordering(size: int, kind: str) -> Any:
    """A function that makes of a key's bits an unsigned integer that orders as the key does."""
    Key = uint32 if size == 4 else uint64
    sign = 1 << (8 * size - 1)
    # All bits of the exponent.
    infinity = 0x7F800000 if size == 4 else 0x7FF0000000000000
    everything = 2 * sign - 1
    is_float, is_signed = kind == "f", kind == "i"

    @cuda.jit(device=True)
    def ordered(key):
        if is_float:
            magnitude = key & Key(sign - 1)
            if magnitude > Key(infinity):
                key = Key(everything)
            elif magnitude == Key(0) or (key & Key(sign)) == Key(0):
                key = magnitude | Key(sign)
            else:
                key = ~key
        if is_signed:
            key = key ^ Key(sign)
        return Key(key)

    return ordered


@functools.cache
def _digits(size: int, kind: str) -> Any:
    """A function that gives the digit of a key's bits at a place."""
    Key = uint32 if size == 4 else uint64
    ordered = ordering(size, kind)

    @cuda.jit(device=True)
    def digit(key, first, mask):
        return uint32((ordered(key) >> Key(first)) & Key(mask))

    return digit


@functools.cache
def _count(key_size: int, kind: str, items: int) -> Any:
    Key = uint32 if key_size == 4 else uint64
    TILE = THREADS * items
    digit = _digits(key_size, kind)

    @cuda.jit
    def count_digits(keys, counts, n, first, mask):
        """How often each digit is in each tile: counts of one digit lie together."""
        held = cuda.shared.array(DIGITS, dtype=int32)
        own = cuda.local.array(items, dtype=Key)
        thread, tile = cuda.threadIdx.x, cuda.blockIdx.x
        held[thread] = 0
        # All reads first: they are under way together.
        for k in range(items):
            i = tile * TILE + k * THREADS + thread
            own[k] = keys[i] if i < n else Key(0)
        cuda.syncthreads()
        for k in range(items):
            if tile * TILE + k * THREADS + thread < n:
                cuda.atomic.add(held, digit(own[k], first, mask), 1)
        cuda.syncthreads()
        counts[thread * cuda.gridDim.x + tile] = held[thread]

    return count_digits


@functools.cache
def _scatter(key_size: int, value_size: int, kind: str, items: int) -> Any:
    Key, Value = (uint32 if size == 4 else uint64 for size in (key_size, value_size))
    TILE = THREADS * items
    digit = _digits(key_size, kind)

    # Three blocks hide each other's waits; more would spill registers.
    @cuda.jit(launch_bounds=(THREADS, 3))
    def scatter(keys, values, out_keys, out_values, starts, n, first, mask):
        """Puts a tile's keys and values where they belong. Warps take pieces of the tile, lanes neighbors."""
        seen = cuda.shared.array(WARPS * DIGITS, dtype=int32)
        sums = cuda.shared.array(WARPS, dtype=int32)
        offsets = cuda.shared.array(DIGITS, dtype=int32)
        # Until keys move: for each warp and digit, which lanes have it.
        moved_keys = cuda.shared.array(TILE, dtype=Key)
        moved_values = cuda.shared.array(TILE, dtype=Value)
        own = cuda.local.array(items, dtype=Key)
        places = cuda.local.array(items, dtype=uint32)
        thread, tile = uint32(cuda.threadIdx.x), cuda.blockIdx.x
        lane, row = uint32(thread % 32), uint32(thread // 32 * DIGITS)
        n_here = uint32(min(n - tile * TILE, TILE))
        begin, piece = tile * TILE, uint32(thread // 32 * (32 * items) + lane)
        # All reads first: they are under way together. What is past the end has the last digit, after all others.
        for k in range(items):
            own[k] = keys[begin + piece + k * 32] if piece + uint32(k * 32) < n_here else Key(0)
        for k in range(WARPS):
            seen[uint32(k * DIGITS) + thread] = 0
            moved_keys[uint32(k * DIGITS) + thread] = Key(0)
        cuda.syncthreads()
        # Ranks among equal digits of the warp's piece.
        for k in range(items):
            mine = digit(own[k], first, mask) if piece + uint32(k * 32) < n_here else uint32(mask)
            place = uint32(row + mine)
            cuda.atomic.or_(moved_keys, place, Key(Key(1) << Key(lane)))
            cuda.syncwarp()
            equal, before = uint32(moved_keys[place]), seen[place]
            cuda.syncwarp()
            rank = cuda.popc(equal & cuda.lanemask_lt())
            if rank == 0:
                seen[place] = int32(before + cuda.popc(equal))
                moved_keys[place] = Key(0)
            cuda.syncwarp()
            places[k] = uint32((uint32(before + rank) << uint32(BITS)) | mine)
        cuda.syncthreads()
        # Thread d has digit d: where it begins in each warp's piece, and in the tile.
        total = int32(0)
        for k in range(WARPS):
            here = seen[uint32(k * DIGITS) + thread]
            seen[uint32(k * DIGITS) + thread] = total
            total = int32(total + here)
        scanned = total
        for step in range(5):
            other = cuda.shfl_up_sync(ALL, scanned, 1 << step)
            if lane >= 1 << step:
                scanned = int32(scanned + other)
        if lane == 31:
            sums[thread // 32] = scanned
        cuda.syncthreads()
        start = int32(scanned - total)
        for k in range(WARPS):
            if k < thread // 32:
                start = int32(start + sums[k])
        for k in range(WARPS):
            seen[uint32(k * DIGITS) + thread] += start
        offsets[thread] = starts[thread * cuda.gridDim.x + tile] - start
        cuda.syncthreads()
        for k in range(items):
            if piece + uint32(k * 32) < n_here:
                place = uint32((places[k] >> uint32(BITS)) + uint32(seen[row + (places[k] & uint32(DIGITS - 1))]))
                moved_keys[place] = own[k]
                moved_values[place] = values[begin + piece + k * 32]
        cuda.syncthreads()
        for k in range(items):
            place = uint32(thread + uint32(k * THREADS))
            if place < n_here:
                key = moved_keys[place]
                target = uint32(uint32(offsets[digit(key, first, mask)]) + place)
                out_keys[target] = key
                out_values[target] = moved_values[place]

    return scatter
