"""Structure and values row by row, from rows that are sorted: sums and products of matrices without sorting again.

The columns of a result's row are found in order, each the smallest that comes after the one before, over all rows that
meet in it; once to count, once to write. A place's value is then looked up in, or summed over, those rows.

Gustavson, "Two fast algorithms for sparse matrices" (1978): a row of a product is a union of rows.
"""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.sparse import _build, _functions
from gridstride.sparse._matrix import BsrMatrix, run

row_end = _functions.row_end
lower_bound = _functions.lower_bound
find_column = _functions.find_column
LAST = 2147483647


@wp.func
def next_in_row(
    row: int,
    after: int,
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
):
    """The smallest column of a row that is above `after`, or the largest number."""
    end = row_end(row, offsets, row_counts)
    at = lower_bound(columns, offsets[row], end, after + 1)
    found = LAST
    if at < end:
        found = columns[at]
    return found


@wp.func
def next_in_sum(
    row: int,
    after: int,
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
):
    return wp.min(
        next_in_row(row, after, x_offsets, x_counts, x_columns), next_in_row(row, after, y_offsets, y_counts, y_columns)
    )


@wp.func
def next_in_product(
    row: int,
    after: int,
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    z_offsets: wp.array(dtype=int),
    z_counts: wp.array(dtype=int),
    z_columns: wp.array(dtype=int),
):
    """`z_offsets` is None where nothing is added to the product."""
    found = LAST
    for a in range(x_offsets[row], row_end(row, x_offsets, x_counts)):
        found = wp.min(found, next_in_row(x_columns[a], after, y_offsets, y_counts, y_columns))
    if z_offsets:
        found = wp.min(found, next_in_row(row, after, z_offsets, z_counts, z_columns))
    return found


@wp.kernel(enable_backward=False)
def sum_structure(
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    counts: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
):
    """Counts the columns of each row, or writes them where `columns` is given."""
    row = wp.tid()
    n = int(0)
    column = next_in_sum(row, -1, x_offsets, x_counts, x_columns, y_offsets, y_counts, y_columns)
    while column != LAST:
        if columns:
            columns[offsets[row] + n] = column
        n += 1
        column = next_in_sum(row, column, x_offsets, x_counts, x_columns, y_offsets, y_counts, y_columns)
    if not columns:
        counts[row] = n


@wp.kernel(enable_backward=False)
def product_structure(
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    z_offsets: wp.array(dtype=int),
    z_counts: wp.array(dtype=int),
    z_columns: wp.array(dtype=int),
    counts: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
):
    """As `sum_structure`; writes no more than a row has room for."""
    row = wp.tid()
    n = int(0)
    room = LAST
    if columns:
        room = offsets[row + 1] - offsets[row]
    column = next_in_product(
        row,
        -1,
        x_offsets,
        x_counts,
        x_columns,
        y_offsets,
        y_counts,
        y_columns,
        z_offsets,
        z_counts,
        z_columns,
    )
    while column != LAST and n < room:
        if columns:
            columns[offsets[row] + n] = column
        n += 1
        column = next_in_product(
            row,
            column,
            x_offsets,
            x_counts,
            x_columns,
            y_offsets,
            y_counts,
            y_columns,
            z_offsets,
            z_counts,
            z_columns,
        )
    if not columns:
        counts[row] = n


@wp.kernel(enable_backward=False)
def copy_rows(
    from_offsets: wp.array(dtype=int),
    from_counts: wp.array(dtype=int),
    from_columns: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
):
    row = wp.tid()
    first = from_offsets[row]
    for k in range(row_end(row, from_offsets, from_counts) - first):
        columns[offsets[row] + k] = from_columns[first + k]


@wp.kernel(enable_backward=False)
def find_blocks(
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    source_columns: wp.array(dtype=int),
    found: wp.array(dtype=int),
):
    """The block in each row and column, -1 without one, and without a row."""
    place = wp.tid()
    row = rows[place]
    found[place] = -1
    if row >= 0:
        found[place] = find_column(source_columns, offsets[row], row_end(row, offsets, row_counts), columns[place])


@wp.kernel
def take_blocks(scale: Any, found: wp.array(dtype=int), source: wp.array3d(dtype=Any), target: wp.array3d(dtype=Any)):
    place = wp.tid()
    block = found[place]
    for i in range(target.shape[1]):
        for j in range(target.shape[2]):
            value = target.dtype(0)
            if block >= 0:
                value = scale * target.dtype(source[block, i, j])
            target[place, i, j] = value


@wp.kernel
def add_blocks(scale: Any, found: wp.array(dtype=int), source: wp.array3d(dtype=Any), target: wp.array3d(dtype=Any)):
    place = wp.tid()
    block = found[place]
    if block >= 0:
        for i in range(target.shape[1]):
            for j in range(target.shape[2]):
                target[place, i, j] = target[place, i, j] + scale * target.dtype(source[block, i, j])


@wp.kernel
def scale_into(scale: Any, source: wp.array3d(dtype=Any), target: wp.array3d(dtype=Any)):
    block = wp.tid()
    for i in range(target.shape[1]):
        for j in range(target.shape[2]):
            target[block, i, j] = scale * target.dtype(source[block, i, j])


@wp.kernel
def scale_in_place(scale: Any, target: wp.array3d(dtype=Any)):
    block = wp.tid()
    for i in range(target.shape[1]):
        for j in range(target.shape[2]):
            target[block, i, j] = scale * target[block, i, j]


def structure(matrix: BsrMatrix) -> list[Any]:
    """Offsets, row counts and columns, as the kernels here take them."""
    return [matrix.offsets, matrix.row_counts, matrix.columns]


def merged(kernel: Any, inputs: list[Any], nrow: int, device: Any, limit: int | None = None) -> tuple[array, array]:
    """Offsets and columns by a kernel that counts first and then writes. Reads their number from the device unless a
    limit is given, which must suffice.
    """
    counts = wp.empty(nrow, dtype=int, device=device)
    offsets = wp.zeros(nrow + 1, dtype=int, device=device)
    run(kernel, nrow, [*inputs, counts, None, None], device)
    if nrow:
        wp.utils.array_scan(counts, offsets[1:])
    n = int(offsets[nrow:].numpy()[0]) if limit is None else limit
    columns = wp.empty(n, dtype=int, device=device)
    if n:
        run(kernel, nrow, [*inputs, counts, offsets, columns], device)
    return offsets, columns


def look_up(source: BsrMatrix, scale: float, rows: array, columns: array, target: array, keep: bool = False) -> None:
    """Sets blocks, three dimensions of numbers, to those of a matrix in the given rows and columns, times a number.

    Without a block there they become zero. With `keep` they are added. The tape has it.
    """
    n = target.shape[0]
    if n:
        found = wp.empty(n, dtype=int, device=source.device)
        run(find_blocks, n, [rows, columns, *structure(source), found], source.device)
        kernel = add_blocks if keep else take_blocks
        inputs = [target.dtype(scale), found, source.scalar_values]
        wp.launch(kernel, n, inputs, [target], device=source.device)


def set_values(matrix: BsrMatrix, source: array, scale: float = 1.0) -> None:
    """Sets the first values to numbers with three dimensions, times a number. The tape has it."""
    n = source.shape[0]
    if n:
        target = matrix.scalar_values[:n]
        wp.launch(scale_into, n, [target.dtype(scale), source], [target], device=matrix.device)


def scale_values(matrix: BsrMatrix, scale: float) -> None:
    """Multiplies all values by a number; by 0 they become 0, whatever they were. The tape has it."""
    if scale == 1.0 or not matrix.nnz:
        return
    if scale == 0.0:
        matrix.values[: matrix.nnz].zero_()
    else:
        target = matrix.scalar_values[: matrix.nnz]
        wp.launch(scale_in_place, matrix.nnz, [target.dtype(scale)], [target], device=matrix.device)


def adopt(matrix: BsrMatrix, offsets: array, columns: array, topology: str) -> None:
    """Gives a matrix another structure, compact, or moved into the room of its rows."""
    if topology == "padded":
        _build.pad(matrix, offsets, columns, None, None, None)
    else:
        matrix.offsets, matrix.row_counts, matrix.columns = offsets, None, columns
        matrix.nnz = columns.size
