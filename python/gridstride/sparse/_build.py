"""Structure from coordinates: blocks given by row and column, in any order and repeated, become a matrix's rows.

In: a row and a column for each source block, and the matrix with its topology. Out: the matrix's offsets and columns,
and `Groups`, which say for each place in the matrix which sources add up there. Values follow by `gather`, which has a
derivative; the structure has none. The sort is stable, so sums run in the order of the sources.

Three topologies:

    compact  rows as long as they need to be; offsets and columns are made anew
    padded   rows stay where they are, with the room that they have; what does not fit is left out and reported
    masked   the blocks stay which they are; sources elsewhere are left out

Bell, Dalton & Olson, "Exposing Fine-Grained Parallelism in Algebraic Multigrid Methods" (2012), section 3.2: sort by
(row, column), then compress.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.sparse import _functions
from gridstride.sparse._matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED, BsrMatrix, reserve, run

row_end = _functions.row_end
find_column = _functions.find_column
TOPOLOGIES = ("compact", "padded", "masked")


@dataclass
class Groups:
    """Which sources add up at each place: `order[begin[s]:end[s]]`.

    The two arrays share no memory: arguments that overlap are a hindrance to gradients.
    """

    order: array
    begin: array
    end: array


@wp.func
def lower_bound_of_keys(keys: wp.array(dtype=wp.int64), n: int, value: wp.int64):
    low = int(0)
    high = n
    while low < high:
        middle = low + ((high - low) >> 1)
        if keys[wp.uint32(middle)] < value:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def is_kept(k: int, count: wp.array(dtype=int), prune: bool, values: wp.array3d(dtype=Any)):
    """Whether a source counts: among the first `count`, and not all zero where zeros are pruned."""
    kept = True
    if count:
        kept = k < count[0]
    if kept and prune:
        kept = False
        for i in range(values.shape[1]):
            for j in range(values.shape[2]):
                if values[k, i, j] != values.dtype(0):
                    kept = True
    return kept


@wp.kernel(enable_backward=False)
def coordinate_keys(
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    nrow: int,
    ncol: int,
    shift: wp.int64,
    count: wp.array(dtype=int),
    prune: bool,
    values: wp.array3d(dtype=Any),
    keys: wp.array(dtype=wp.int64),
    order: wp.array(dtype=int),
):
    """The column in the low bits, the row above it; the number of rows for sources that are left out."""
    k = wp.tid()
    row = rows[k]
    column = columns[k]
    key = wp.int64(nrow) << shift
    if row >= 0 and row < nrow and column >= 0 and column < ncol and is_kept(k, count, prune, values):
        key = (wp.int64(row) << shift) | wp.int64(column)
    keys[k] = key
    order[k] = k


@wp.kernel(enable_backward=False)
def place_keys(
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    nrow: int,
    n_places: int,
    count: wp.array(dtype=int),
    prune: bool,
    values: wp.array3d(dtype=Any),
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    mask: wp.array(dtype=int),
    keys: wp.array(dtype=wp.int64),
    order: wp.array(dtype=int),
):
    k = wp.tid()
    row = rows[k]
    place = n_places
    if row >= 0 and row < nrow and is_kept(k, count, prune, values):
        found = find_column(mask, offsets[row], row_end(row, offsets, row_counts), columns[k])
        if found >= 0:
            place = found
    keys[k] = wp.int64(place)
    order[k] = k


@wp.kernel(enable_backward=False)
def mark_first(keys: wp.array(dtype=wp.int64), dropped: wp.int64, is_first: wp.array(dtype=int)):
    k = wp.tid()
    first = 0
    if keys[k] < dropped and (k == 0 or keys[k - 1] != keys[k]):
        first = 1
    is_first[k] = first


@wp.kernel(enable_backward=False)
def write_blocks(
    keys: wp.array(dtype=wp.int64),
    n: int,
    shift: wp.int64,
    nrow: int,
    numbers: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    bounds: wp.array(dtype=int),
    offsets: wp.array(dtype=int),
):
    """Blocks from sorted keys, of which each has the number of its block, counted from 1."""
    k = wp.tid()
    total = numbers[n - 1]
    before = int(0)
    row_before = int(-1)
    if k > 0:
        before = numbers[k - 1]
        row_before = int(keys[k - 1] >> shift)
    row = nrow
    if k < n:
        row = int(keys[k] >> shift)
        if row < nrow and numbers[k] > before:
            columns[before] = int(keys[k] & ((wp.int64(1) << shift) - wp.int64(1)))
            bounds[before] = k
    # Rows that begin here: of those without blocks there may be many.
    for r in range(row_before + 1, row + 1):
        offsets[r] = before
    if k >= total:
        # Places that no block came to: empty groups behind the last source that counts.
        bounds[k] = lower_bound_of_keys(keys, n, wp.int64(nrow) << shift)


@wp.kernel(enable_backward=False)
def counting_pass(
    keys: wp.array(dtype=wp.int64),
    shift: wp.int64,
    mask: wp.int64,
    starts: wp.array(dtype=int),
    n: int,
    given: wp.array(dtype=int),
    order: wp.array(dtype=int),
):
    """Sorts sources stably by some bits of their keys, in one thread. `starts` has a zero for each value, and one."""
    for k in range(n):
        digit = wp.uint32((keys[k] >> shift) & mask)
        starts[digit + wp.uint32(1)] = starts[digit + wp.uint32(1)] + 1
    for digit in range(1, starts.shape[0]):
        starts[digit] = starts[digit] + starts[digit - 1]
    for k in range(n):
        source = given[k]
        digit = wp.uint32((keys[wp.uint32(source)] >> shift) & mask)
        at = starts[digit]
        order[wp.uint32(at)] = source
        starts[digit] = at + 1


@wp.kernel(enable_backward=False)
def take_keys(order: wp.array(dtype=int), source: wp.array(dtype=wp.int64), target: wp.array(dtype=wp.int64)):
    k = wp.tid()
    target[k] = source[wp.uint32(order[k])]


@wp.kernel(enable_backward=False)
def place_bounds(keys: wp.array(dtype=wp.int64), n: int, begin: wp.array(dtype=int), end: wp.array(dtype=int)):
    place = wp.tid()
    begin[place] = lower_bound_of_keys(keys, n, wp.int64(place))
    end[place] = lower_bound_of_keys(keys, n, wp.int64(place + 1))


@wp.kernel(enable_backward=False)
def pad_rows(
    offsets: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    bounds: wp.array(dtype=int),
    padded_offsets: wp.array(dtype=int),
    padded_counts: wp.array(dtype=int),
    padded_columns: wp.array(dtype=int),
    begin: wp.array(dtype=int),
    end: wp.array(dtype=int),
    status: wp.array(dtype=int),
):
    row = wp.tid()
    first = offsets[row]
    n = offsets[row + 1] - first
    at = padded_offsets[row]
    room = padded_offsets[row + 1] - at
    if n > room:
        wp.atomic_max(status, 0, wp.static(BSR_STATUS_ROW_CAPACITY_EXCEEDED))
        n = room
    padded_counts[row] = n
    for k in range(n):
        padded_columns[at + k] = columns[first + k]
        if bounds:
            begin[at + k] = bounds[first + k]
            end[at + k] = bounds[first + k + 1]


@wp.kernel
def gather(
    scale: Any,
    order: wp.array(dtype=int),
    begin: wp.array(dtype=int),
    end: wp.array(dtype=int),
    source: wp.array3d(dtype=Any),
    target: wp.array3d(dtype=Any),
):
    place = wp.tid()
    first = begin[place]
    last = end[place]
    for i in range(target.shape[1]):
        for j in range(target.shape[2]):
            # From the first source, not from zero: a single -0.0 stays what it is.
            total = target.dtype()
            if first < last:
                total = target.dtype(source[wp.uint32(order[wp.uint32(first)]), i, j])
            for k in range(first + 1, last):
                total += target.dtype(source[wp.uint32(order[wp.uint32(k)]), i, j])
            target[place, i, j] = scale * total


def topology_of(name: str | None, allowed: tuple[str, ...] = TOPOLOGIES) -> str:
    """A topology by its name, compact by default. Raises `ValueError` for one that is not allowed."""
    name = "compact" if name is None else name
    if name not in allowed:
        choices = ", ".join(repr(one) for one in allowed)
        raise ValueError(f"topology is one of {choices}, not {name!r}")
    return name


def make_padded(matrix: BsrMatrix) -> None:
    """Gives a compact matrix row counts, so that its rows keep the room that they have now."""
    if matrix.row_counts is None:
        first, last = matrix.offsets[: matrix.nrow], matrix.offsets[1 : matrix.nrow + 1]
        matrix.row_counts = wp.empty(matrix.nrow, dtype=int, device=matrix.device)
        run(_subtract, matrix.nrow, [last, first, matrix.row_counts], matrix.device)


@wp.kernel(enable_backward=False)
def _subtract(a: wp.array(dtype=int), b: wp.array(dtype=int), difference: wp.array(dtype=int)):
    i = wp.tid()
    difference[i] = a[i] - b[i]


def coalesce(
    matrix: BsrMatrix,
    rows: array,
    columns: array,
    topology: str,
    count: array | None = None,
    values: array | None = None,
    by_column: bool = False,
) -> Groups:
    """Makes the matrix's structure from coordinates, and says which sources add up where.

    Args:
        matrix: Its size and topology are given; offsets and columns are written.
        rows, columns: Of each source. Those outside of the matrix are left out.
        topology: "compact", "padded" or "masked".
        count: How many of the sources count, on the device; all by default.
        values: Numbers of the sources, three dimensions, where sources that are all zero are left out.
        by_column: The sources are in the order of their columns already.
    """
    n, device = rows.size, matrix.device
    keys = wp.empty(2 * n, dtype=wp.int64, device=device)
    order = wp.empty(2 * n, dtype=int, device=device)
    prune = values is not None
    numbers = values if values is not None else wp.empty((0, 1, 1), dtype=wp.float32, device=device)
    if topology == "masked":
        place = [matrix.nrow, matrix.nnz, count, prune, numbers, matrix.offsets, matrix.row_counts, matrix.columns]
        run(place_keys, n, [rows, columns, *place, keys, order], device)
        keys, order = _sorted(keys, order, n, [(0, matrix.nnz)], device)
        begin, end = (wp.empty(matrix.nnz, dtype=int, device=device) for _ in range(2))
        run(place_bounds, matrix.nnz, [keys, n, begin, end], device)
        return Groups(order, begin, end)
    shift = max(1, (matrix.ncol - 1).bit_length()) if matrix.ncol else 1
    sizes = [matrix.nrow, matrix.ncol, wp.int64(shift), count, prune, numbers]
    run(coordinate_keys, n, [rows, columns, *sizes, keys, order], device)
    digits = [(shift, matrix.nrow)] if by_column else [(0, (1 << shift) - 1), (shift, matrix.nrow)]
    keys, order = _sorted(keys, order, n, digits, device)
    if topology == "compact":
        ensure_offsets(matrix)
        matrix.row_counts = None
        matrix.nnz = n
        if matrix.columns.size < n:
            matrix.columns = wp.empty(n, dtype=int, device=device)
        bounds = _compress(matrix, keys, n, shift, matrix.offsets, matrix.columns)
        return Groups(order, bounds[:n], wp.clone(bounds[1 : n + 1]) if n else bounds[1:])
    offsets = wp.empty(matrix.nrow + 1, dtype=int, device=device)
    found = wp.empty(n, dtype=int, device=device)
    bounds = _compress(matrix, keys, n, shift, offsets, found)
    begin, end = (wp.zeros(matrix.nnz, dtype=int, device=device) for _ in range(2))
    pad(matrix, offsets, found, bounds, begin, end)
    return Groups(order, begin, end)


def _sorted(keys: array, order: array, n: int, digits: list[tuple[int, int]], device: Any) -> tuple[array, array]:
    """Keys in order, and which sources they are of. A digit is the place of its lowest bit and its largest value.

    On a CPU each digit is sorted by counting, the lowest first: two passes over the sources instead of a sort.
    """
    if n == 0:
        return keys, order
    if device.is_cuda:
        shift, largest = digits[-1]
        wp.utils.radix_sort_pairs(keys, order, n, 0, shift + max(1, largest.bit_length()))
        return keys, order
    for shift, largest in digits:
        given, order = order, wp.empty(n, dtype=int, device=device)
        starts = wp.zeros(largest + 2, dtype=int, device=device)
        mask = wp.int64((1 << max(1, largest.bit_length())) - 1)
        run(counting_pass, 1, [keys, wp.int64(shift), mask, starts, n, given, order], device)
    in_order = wp.empty(n, dtype=wp.int64, device=device)
    run(take_keys, n, [order, keys, in_order], device)
    return in_order, order


def pad(
    matrix: BsrMatrix, offsets: array, columns: array, bounds: array | None, begin: array | None, end: array | None
) -> None:
    """Writes rows of a compact structure, and their groups if given, to the room that the matrix's rows have."""
    make_padded(matrix)
    target = [matrix.offsets, matrix.row_counts, matrix.columns, begin, end, matrix._ensure_status()]
    run(pad_rows, matrix.nrow, [offsets, columns, bounds, *target], matrix.device)


def ensure_offsets(matrix: BsrMatrix) -> None:
    """Makes room for the offsets of all rows."""
    if matrix.offsets.size < matrix.nrow + 1:
        matrix.offsets = wp.zeros(matrix.nrow + 1, dtype=int, device=matrix.device)


def _compress(matrix: BsrMatrix, keys: array, n: int, shift: int, offsets: array, columns: array) -> array:
    """Offsets and columns from sorted keys; gives where each block's sources begin, and where the last one's end."""
    bounds = wp.zeros(n + 1, dtype=int, device=matrix.device)
    if n == 0:
        offsets[: matrix.nrow + 1].zero_()
        return bounds
    first, numbers = (wp.empty(n, dtype=int, device=matrix.device) for _ in range(2))
    run(mark_first, n, [keys, wp.int64(matrix.nrow << shift), first], matrix.device)
    wp.utils.array_scan(first, numbers)
    arguments = [keys, n, wp.int64(shift), matrix.nrow, numbers, columns, bounds, offsets]
    run(write_blocks, n + 1, arguments, matrix.device)
    return bounds


def ready_values(matrix: BsrMatrix, n: int, requires_grad: bool, fresh: bool = False) -> None:
    """Makes room for the values of n blocks, with a gradient where one is needed; in a new array if `fresh`."""
    old = matrix.values
    if fresh or old.size < n or (requires_grad and not old.requires_grad):
        requires_grad = requires_grad or old.requires_grad
        matrix.values = wp.empty(n, dtype=old.dtype, device=old.device, requires_grad=requires_grad)


def gather_values(matrix: BsrMatrix, groups: Groups, source: array, scale: float = 1.0) -> None:
    """Sets the matrix's values to sums of sources, three dimensions of numbers. The tape has it."""
    if matrix.nnz:
        reserve(matrix, matrix.nnz)
        inputs = [matrix.scalar_type(scale), groups.order, groups.begin, groups.end, source]
        wp.launch(gather, matrix.nnz, inputs, [matrix.scalar_values], device=matrix.device)
