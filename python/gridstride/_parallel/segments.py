"""Sorting within segments: one sort by the segment's number and the key."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gridstride import _array, _parallel, _types
from gridstride._parallel.sort import ordering, raw, sort_pairs
from gridstride.numba import cuda, uint32, uint64


def sort_segments(keys: Any, values: Any, starts: np.ndarray, ends: np.ndarray, kind: str, device: Any) -> None:
    """Sorts 32-bit keys and their 32-bit values within each segment. What is in no segment stays as it is."""
    starts, lengths = starts.astype(np.int64), (ends - starts).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    if n == 0:
        return
    starts, offsets = (_array.array(one, dtype=_types.int64, device=device) for one in (starts, offsets[:-1]))
    keys, values = raw(keys), raw(values)
    sorted_keys, places = (_parallel.temporary(2 * n, ty, device) for ty in (_types.uint64, _types.uint32))
    gather, put = _kernels(kind)
    _parallel.run(gather, _parallel.blocks(n), device, keys, starts, offsets, sorted_keys, places, n)
    sort_pairs(sorted_keys, places, n, range(32 + max(1, (len(lengths) - 1).bit_length())), "u", device)
    before = [_clone(one) for one in (keys, values)]
    _parallel.run(put, _parallel.blocks(n), device, *before, starts, offsets, sorted_keys, places, keys, values, n)


def _clone(one: Any) -> Any:
    made = _parallel.temporary(one.size, one.dtype, one.device)
    made.assign(one)
    return made


@functools.cache
def _kernels(kind: str) -> tuple[Any, Any]:
    ordered = ordering(4, kind)

    @cuda.jit
    def gather(keys, starts, offsets, out, places, n):
        """The numbers to sort by of all that is in segments, and where it is."""
        i = cuda.grid(1)
        if i < n:
            # The last segment that begins at `i` or before.
            low, high = 0, offsets.size
            while high - low > 1:
                middle = (low + high) // 2
                if offsets[middle] <= i:
                    low = middle
                else:
                    high = middle
            place = starts[low] + i - offsets[low]
            out[i] = (uint64(low) << uint64(32)) | uint64(ordered(keys[place]))
            places[i] = uint32(place)

    @cuda.jit
    def put(keys, values, starts, offsets, sorted_keys, places, out_keys, out_values, n):
        """Every key and value at its place."""
        i = cuda.grid(1)
        if i < n:
            segment = sorted_keys[i] >> uint64(32)
            target = starts[segment] + i - offsets[segment]
            out_keys[target] = keys[places[i]]
            out_values[target] = values[places[i]]

    return gather, put
