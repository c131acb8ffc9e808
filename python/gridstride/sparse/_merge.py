"""Structure and values row by row, from rows that are sorted: sums and products of matrices without sorting again.

The columns of a result's row are found in order, by a cursor in each of the rows that meet in it; once to count, once
to write. A place's value is then that of its sources, or is looked up in those rows.

Gustavson, "Two fast algorithms for sparse matrices" (1978): a row of a product is a union of rows.
"""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.sparse import _build, _functions
from gridstride.sparse._matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED, BsrMatrix, components, run

row_end = _functions.row_end
find_column = _functions.find_column
LAST = 2147483647


@wp.func
def head(columns: wp.array(dtype=int), at: int, end: int):
    """The column at a place of a row, or the largest number behind the row's end."""
    column = LAST
    if at < end:
        column = columns[wp.uint32(at)]
    return column


@wp.kernel(enable_backward=False)
def sum_structure(
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    from_x: wp.array(dtype=int),
    from_y: wp.array(dtype=int),
):
    """Counts the columns of each row; where `columns` is given, writes what it has room for, and its sources."""
    row = wp.tid()
    i = x_offsets[row]
    j = y_offsets[row]
    i_end = row_end(row, x_offsets, x_counts)
    j_end = row_end(row, y_offsets, y_counts)
    at = int(0)
    room = LAST
    if columns:
        at = offsets[row]
        room = offsets[row + 1] - at
    n = int(0)
    x_column = head(x_columns, i, i_end)
    y_column = head(y_columns, j, j_end)
    while x_column != LAST or y_column != LAST:
        column = wp.min(x_column, y_column)
        if columns and n < room:
            place = wp.uint32(at + n)
            columns[place] = column
            from_x[place] = -1
            from_y[place] = -1
            if x_column == column:
                from_x[place] = i
            if y_column == column:
                from_y[place] = j
        if x_column == column:
            i += 1
            x_column = head(x_columns, i, i_end)
        if y_column == column:
            j += 1
            y_column = head(y_columns, j, j_end)
        n += 1
    counts[row] = n


@wp.func
def open_row(
    row: int,
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    cursors: wp.array(dtype=int),
    heads: wp.array(dtype=int),
):
    """For each block of a row of x, where the row of y that it multiplies begins, and the column there."""
    for a in range(x_offsets[row], row_end(row, x_offsets, x_counts)):
        k = wp.uint32(a)
        inner = x_columns[k]
        cursors[k] = y_offsets[inner]
        heads[k] = head(y_columns, y_offsets[inner], row_end(inner, y_offsets, y_counts))


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
    cursors: wp.array(dtype=int),
    heads: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
    counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
):
    """As `sum_structure`, for the rows of y that a row of x selects, and that of z unless its offsets are None."""
    row = wp.tid()
    open_row(row, x_offsets, x_counts, x_columns, y_offsets, y_counts, y_columns, cursors, heads)
    first = x_offsets[row]
    end = row_end(row, x_offsets, x_counts)
    at = int(0)
    room = LAST
    if columns:
        at = offsets[row]
        room = offsets[row + 1] - at
    z_at = int(0)
    z_end = int(0)
    if z_offsets:
        z_at = z_offsets[row]
        z_end = row_end(row, z_offsets, z_counts)
    z_head = head(z_columns, z_at, z_end)
    n = int(0)
    while True:
        column = z_head
        for a in range(first, end):
            column = wp.min(column, heads[wp.uint32(a)])
        if column == LAST:
            break
        if columns and n < room:
            columns[wp.uint32(at + n)] = column
        n += 1
        if z_head == column:
            z_at += 1
            z_head = head(z_columns, z_at, z_end)
        for a in range(first, end):
            k = wp.uint32(a)
            if heads[k] == column:
                inner = x_columns[k]
                cursors[k] = cursors[k] + 1
                heads[k] = head(y_columns, cursors[k], row_end(inner, y_offsets, y_counts))
    counts[row] = n


@wp.kernel(enable_backward=False)
def limit_counts(offsets: wp.array(dtype=int), counts: wp.array(dtype=int), code: int, status: wp.array(dtype=int)):
    """Counts that are more than a row has room for become that, and a status tells."""
    row = wp.tid()
    room = offsets[row + 1] - offsets[row]
    if counts[row] > room:
        counts[row] = room
        wp.atomic_max(status, 0, code)


@wp.kernel(enable_backward=False)
def limit_offsets(limit: int, offsets: wp.array(dtype=int), nrow: int):
    row = wp.tid()
    if row == nrow and offsets[row] > limit:
        print("bsr_mm: `max_new_nnz` is exceeded: blocks of the last rows are left out")
    offsets[row] = wp.min(offsets[row], limit)


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
def add_blocks(
    scale: Any, size: int, found: wp.array(dtype=int), source: wp.array2d(dtype=Any), target: wp.array(dtype=Any)
):
    """Over the numbers of all blocks: what is read and written is in no loop, which a gradient would have to keep."""
    k = wp.tid()
    place = k / size
    block = found[place]
    if block >= 0:
        target[k] = target[k] + scale * target.dtype(source[block, k - place * size])


@wp.kernel
def add_blocks_of_two(
    x_scale: Any,
    y_scale: Any,
    from_x: wp.array(dtype=int),
    from_y: wp.array(dtype=int),
    x: wp.array3d(dtype=Any),
    y: wp.array3d(dtype=Any),
    target: wp.array3d(dtype=Any),
):
    place = wp.tid()
    a = from_x[place]
    b = from_y[place]
    for i in range(target.shape[1]):
        for j in range(target.shape[2]):
            total = target.dtype(0)
            if a >= 0:
                total += x_scale * x[wp.uint32(a), i, j]
            if b >= 0:
                total += y_scale * y[wp.uint32(b), i, j]
            target[place, i, j] = total


@wp.kernel
def scale_into(scale: Any, source: wp.array3d(dtype=Any), target: wp.array3d(dtype=Any)):
    block = wp.tid()
    for i in range(target.shape[1]):
        for j in range(target.shape[2]):
            target[block, i, j] = scale * target.dtype(source[block, i, j])


@wp.kernel
def scale_in_place(scale: Any, target: wp.array(dtype=Any)):
    k = wp.tid()
    target[k] = scale * target[k]


def structure(matrix: BsrMatrix) -> list[Any]:
    """Offsets, row counts and columns, as the kernels here take them."""
    return [matrix.offsets, matrix.row_counts, matrix.columns]


def merged(
    kernel: Any,
    inputs: list[Any],
    matrix: BsrMatrix,
    topology: str,
    extra: int = 0,
    bound: int | None = None,
    limit: int | None = None,
) -> list[array]:
    """Gives a matrix the structure that a kernel counts and then writes.

    Args:
        kernel: Takes the inputs, offsets, counts, columns, and more arrays of their length, which are given back.
        inputs: What it reads.
        matrix: Gets new offsets and columns; with the topology "padded" its rows keep their room.
        extra: How many more arrays.
        bound: Blocks that there are at most; else their number is read from the device.
        limit: Blocks that there may be: more are left out and reported.
    """
    nrow, device = matrix.nrow, matrix.device
    if topology == "padded":
        _build.make_padded(matrix)
        arrays = [wp.full(matrix.nnz, -1, dtype=int, device=device) for _ in range(extra)]
        run(kernel, nrow, [*inputs, matrix.offsets, matrix.row_counts, matrix.columns, *arrays], device)
        status = [BSR_STATUS_ROW_CAPACITY_EXCEEDED, matrix._ensure_status()]
        run(limit_counts, nrow, [matrix.offsets, matrix.row_counts, *status], device)
        return arrays
    counts = wp.empty(nrow, dtype=int, device=device)
    offsets = wp.zeros(nrow + 1, dtype=int, device=device)
    run(kernel, nrow, [*inputs, None, counts, *[None] * (1 + extra)], device)
    if nrow:
        wp.utils.array_scan(counts, offsets[1:])
    if limit is not None:
        bound = limit
        run(limit_offsets, nrow + 1, [limit, offsets, nrow], device)
    n = int(offsets[nrow:].numpy()[0]) if bound is None else bound
    columns = wp.empty(n, dtype=int, device=device)
    arrays = [wp.full(n, -1, dtype=int, device=device) for _ in range(extra)]
    if n:
        run(kernel, nrow, [*inputs, offsets, counts, columns, *arrays], device)
    adopt(matrix, offsets, columns, "compact")
    return arrays


def look_up(source: BsrMatrix, scale: float, rows: array, columns: array, target: array, keep: bool = False) -> None:
    """Sets blocks, three dimensions of numbers, to those of a matrix in the given rows and columns, times a number.

    Without a block there they become zero. With `keep` they are added. The tape has it.
    """
    n = target.shape[0]
    if not n:
        return
    found = wp.empty(n, dtype=int, device=source.device)
    run(find_blocks, n, [rows, columns, *structure(source), found], source.device)
    if keep:
        inputs = [target.dtype(scale), source.block_size, found, components(source.values)]
        wp.launch(add_blocks, target.size, inputs, [target.flatten()], device=source.device)
    else:
        inputs = [target.dtype(scale), found, source.scalar_values]
        wp.launch(take_blocks, n, inputs, [target], device=source.device)


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
        target = components(matrix.values)[: matrix.nnz].flatten()
        wp.launch(scale_in_place, target.size, [target.dtype(scale)], [target], device=matrix.device)


def adopt(matrix: BsrMatrix, offsets: array, columns: array, topology: str) -> None:
    """Gives a matrix another structure, compact, or moved into the room of its rows."""
    if topology == "padded":
        _build.pad(matrix, offsets, columns, None, None, None)
    else:
        matrix.offsets, matrix.row_counts, matrix.columns = offsets, None, columns
        matrix.nnz = columns.size
