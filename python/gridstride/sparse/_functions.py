"""Functions that kernels call: from a row and column to a block, and from a block to its row.

Columns of a row are sorted, so both are binary searches. Indices that cannot be negative are unsigned here, and
in all loops over blocks: a signed one is looked at first, whether it counts from the end.
"""

from __future__ import annotations

import gridstride as wp
from gridstride._array import array
from gridstride._kernel import func


@func
def lower_bound(values: array(dtype=int), begin: int, end: int, value: int):
    """The first index from `begin` to `end` whose value is not below `value`; `end` without one."""
    low = begin
    high = end
    while low < high:
        middle = low + ((high - low) >> 1)
        if values[wp.uint32(middle)] < value:
            low = middle + 1
        else:
            high = middle
    return low


@func
def row_end(row: int, offsets: array(dtype=int), row_counts: array(dtype=int)):
    """Where the active blocks of a row end; `row_counts` is None for a compact matrix."""
    end = offsets[row + 1]
    if row_counts:
        end = offsets[row] + row_counts[row]
    return end


@func
def find_column(columns: array(dtype=int), begin: int, end: int, column: int):
    """The index of a column between `begin` and `end`, or -1."""
    at = lower_bound(columns, begin, end, column)
    found = -1
    if at < end and columns[wp.uint32(at)] == column:
        found = at
    return found


@func
def bsr_block_index(row: int, col: int, bsr_offsets: array(dtype=int), bsr_columns: array(dtype=int)):
    """The index of the block in a row and column of a compact matrix, or -1 if there is none."""
    return find_column(bsr_columns, bsr_offsets[row], bsr_offsets[row + 1], col)


@func
def bsr_block_index(  # noqa: F811 - an overload
    row: int,
    col: int,
    bsr_offsets: array(dtype=int),
    bsr_columns: array(dtype=int),
    bsr_row_counts: array(dtype=int),
):
    """As above, among the active blocks of a row: `bsr_row_counts` is None for a compact matrix."""
    return find_column(bsr_columns, bsr_offsets[row], row_end(row, bsr_offsets, bsr_row_counts), col)


@func
def bsr_row_index(offsets: array(dtype=int), row_count: int, block_index: int):
    """The row that a block of a compact matrix is in, or -1 if it is in none."""
    row = -1
    if block_index >= offsets[0] and block_index < offsets[row_count]:
        # The last row that begins at or before the block: of empty rows the one that ends later.
        row = lower_bound(offsets, 0, row_count + 1, block_index + 1) - 1
    return row


@func
def bsr_row_index(  # noqa: F811 - an overload
    offsets: array(dtype=int), row_count: int, block_index: int, row_counts: array(dtype=int)
):
    """As above, -1 also for a block that is not active: `row_counts` is None for a compact matrix."""
    row = bsr_row_index(offsets, row_count, block_index)
    if row >= 0 and block_index >= row_end(row, offsets, row_counts):
        row = -1
    return row
