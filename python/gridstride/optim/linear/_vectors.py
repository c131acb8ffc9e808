"""Vectors of a solver, and their inner products for each subproblem.

Numbers of 16 bits are summed in float32, and so are the coefficients made of them; others in their own type.
"""

from __future__ import annotations

import functools
from typing import Any

import gridstride as wp
from gridstride._array import array

# Sums that a piece of a vector is added up in, side by side: a warp, or a few vector registers.
LANES = 32
PIECE = 1024
MAX_PIECES = 256


def wide(scalar: Any) -> Any:
    """The type that numbers are summed in."""
    return wp.float32 if scalar in (wp.float16, wp.bfloat16) else scalar


class Vector:
    """An array and its numbers: `array` as the operator takes it, `flat` with one dimension, `row` with two."""

    def __init__(self, one: array) -> None:
        self.array = one
        self.flat = numbers(one)
        self.row = self.flat.reshape((1, self.flat.size))


def numbers(one: array) -> array:
    """An array's numbers with one dimension, over the same memory. Raises `ValueError` for one with gaps."""
    if not one.is_contiguous:
        raise ValueError(f"a solver's vectors must be contiguous: call contiguous() on {one!r} first")
    flat = one if one.dtype._shape_ == () else one.view(one.dtype._wp_scalar_type_)
    return flat.flatten()


@wp.kernel(enable_backward=False)
def partial_products(
    offsets: wp.array(dtype=int),
    pieces: int,
    segments: int,
    a: wp.array2d(dtype=Any),
    b: wp.array(dtype=Any),
    sums: wp.array2d(dtype=Any),
):
    row, segment, lane = wp.tid()
    batch = segment / pieces
    begin = offsets[batch]
    length = offsets[batch + 1] - begin
    chunk = (length + pieces - 1) / pieces
    first = wp.min((segment - batch * pieces) * chunk, length)
    last = begin + wp.min(first + chunk, length)
    total = sums.dtype()
    # All lanes take as many full steps, and some one more.
    n = (last - begin - first) / LANES
    for m in range(n):
        k = wp.uint32(begin + first + m * LANES + lane)
        total += sums.dtype(a[row, k]) * sums.dtype(b[k])
    rest = begin + first + n * LANES + lane
    if rest < last:
        total += sums.dtype(a[row, rest]) * sums.dtype(b[rest])
    sums[row * segments + segment, lane] = total


@wp.kernel(enable_backward=False)
def add_lanes(sums: wp.array2d(dtype=Any), out: wp.array(dtype=Any)):
    segment = wp.tid()
    total = out.dtype()
    for lane in range(LANES):
        total += sums[segment, lane]
    out[segment] = total


@wp.kernel(enable_backward=False)
def add_pieces(pieces: int, sums: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    one = wp.tid()
    total = out.dtype()
    for piece in range(pieces):
        total += sums[one * pieces + piece]
    out[one] = total


class Dot:
    """Inner products over subproblems, always summed in one order.

    Args:
        n: Numbers of a vector.
        scalar: Their type.
        device: Where they are.
        offsets: Where each subproblem begins, and the last one ends; None for one over all.
        max_length: The most numbers of a subproblem, if known.
        n_rows: Vectors that are multiplied with one at a time, at most.
    """

    def __init__(
        self, n: int, scalar: Any, device: Any, offsets: array | None, max_length: int | None, n_rows: int = 1
    ) -> None:
        self.offsets = wp.array([0, n], dtype=int, device=device) if offsets is None else offsets
        self.n_batches = self.offsets.size - 1
        longest = min(n, max_length or n)
        most = max(1, min(MAX_PIECES, 65536 // max(1, self.n_batches)))
        self.pieces = max(1, min(most, -(-longest // PIECE)))
        self.segments = self.n_batches * self.pieces
        self.device = device
        self.dtype = wide(scalar)
        self.sums = wp.empty((n_rows * self.segments, LANES), dtype=self.dtype, device=device)
        self.partial = wp.empty(n_rows * self.segments, dtype=self.dtype, device=device)

    def result(self, n_rows: int = 1) -> array:
        """An array for results: one for each row and subproblem."""
        return wp.zeros(n_rows * self.n_batches, dtype=self.dtype, device=self.device)

    def compute(self, a: array, b: array, out: array, n_rows: int = 1) -> None:
        """Writes the products of the first rows of `a` with `b`."""
        dim = (n_rows, self.segments, LANES)
        inputs = [self.offsets, self.pieces, self.segments, a, b, self.sums]
        wp.launch(partial_products, dim, inputs, device=self.device)
        n = n_rows * self.segments
        wp.launch(add_lanes, n, [self.sums, out if self.pieces == 1 else self.partial], device=self.device)
        if self.pieces > 1:
            inputs = [self.pieces, self.partial, out]
            wp.launch(add_pieces, n_rows * self.n_batches, inputs, device=self.device)


@wp.kernel(enable_backward=False)
def name_batches(offsets: wp.array(dtype=int), batches: wp.array(dtype=int)):
    batch = wp.tid()
    for k in range(offsets[batch], offsets[batch + 1]):
        batches[k] = batch


@functools.cache
def batching(is_batched: bool) -> Any:
    """A function for the subproblem of a number: -1 for none, 0 for all where there is only one."""

    @wp.func
    def batch_of(batches: wp.array(dtype=int), i: int):
        batch = 0
        if is_batched:
            batch = batches[i]
        return batch

    return batch_of


@wp.func
def ratio(a: Any, b: Any):
    """a / b; 0 where b is 0: nothing is left to do there."""
    result = type(a)(0.0)
    if b != type(b)(0.0):
        result = a / b
    return result
