"""Empty, diagonal and identity matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

import gridstride as wp
from gridstride import _types
from gridstride._array import array
from gridstride._vector import matrix_base
from gridstride.sparse import _build, _merge
from gridstride.sparse._matrix import (
    BsrMatrix,
    block_shape_of,
    block_type_of,
    components,
    make,
    reserve,
    run,
    split,
)


@wp.kernel(enable_backward=False)
def even_offsets(room: int, offsets: wp.array(dtype=int)):
    row = wp.tid()
    offsets[row] = row * room


@wp.kernel(enable_backward=False)
def extended_offsets(old: wp.array(dtype=int), n_old: int, offsets: wp.array(dtype=int)):
    row = wp.tid()
    offsets[row] = old[wp.min(row, n_old)]


@wp.kernel(enable_backward=False)
def diagonal_structure(n: int, offsets: wp.array(dtype=int), columns: wp.array(dtype=int)):
    row = wp.tid()
    offsets[row] = wp.min(row, n)
    if row < n:
        columns[row] = row


@wp.kernel(enable_backward=False)
def count_up(numbers: wp.array(dtype=int)):
    i = wp.tid()
    numbers[i] = i


def bsr_zeros(
    rows_of_blocks: int,
    cols_of_blocks: int,
    block_type: Any,
    device: Any = None,
    *,
    topology: str | None = None,
    row_capacity: int | array | None = None,
    nnz_capacity: int | None = None,
) -> BsrMatrix:
    """A matrix without blocks.

    Args:
        rows_of_blocks, cols_of_blocks: Size, in blocks.
        block_type: A number's type (CSR) or a matrix type (BSR).
        device: Where the matrix is.
        topology: "compact", or "padded" for rows with room (the default with `row_capacity`).
        row_capacity: Blocks that each row has room for: a number, or an array of one for each row.
        nnz_capacity: Blocks to allocate. With an array as `row_capacity` at least its sum, and then nothing is read
            from the device.

    Raises:
        ValueError: What is no block type, or a capacity of a compact matrix's rows.
    """
    found = block_type_of(block_type)
    if topology is None:
        topology = "compact" if row_capacity is None else "padded"
    _build.topology_of(topology, ("compact", "padded"))
    if topology == "compact" and row_capacity is not None:
        raise ValueError('row_capacity is for topology="padded"')
    place = wp.get_device(device)
    offsets = wp.zeros(int(rows_of_blocks) + 1, dtype=int, device=place)
    empty = [wp.empty(0, dtype=one, device=place) for one in (int, found)]
    matrix = make(rows_of_blocks, cols_of_blocks, found, offsets, *empty)
    bsr_set_zero(matrix, topology=topology, row_capacity=row_capacity, nnz_capacity=nnz_capacity)
    return matrix


def bsr_set_zero(
    bsr: BsrMatrix,
    rows_of_blocks: int | None = None,
    cols_of_blocks: int | None = None,
    *,
    topology: str = "compact",
    row_capacity: int | array | None = None,
    nnz_capacity: int | None = None,
) -> None:
    """Sets a matrix to zero; its size may change.

    Args:
        bsr: The matrix.
        rows_of_blocks, cols_of_blocks: The new size, in blocks; unchanged by default.
        topology: "compact" leaves no blocks; "padded" leaves none, and rows keep their room (new rows have none);
            "masked" keeps the blocks, their values are zero.
        row_capacity: With "padded", new room of the rows: a number, or an array of one for each row.
        nnz_capacity: Blocks to allocate.

    Raises:
        ValueError: An unknown topology, or capacities that do not fit.
    """
    _build.topology_of(topology)
    if topology == "masked":
        if (rows_of_blocks or bsr.nrow, cols_of_blocks or bsr.ncol) != (bsr.nrow, bsr.ncol):
            raise ValueError('a matrix keeps its size with topology="masked"')
        bsr.values.zero_()
        return
    n_old = bsr.nrow
    bsr.nrow = n_old if rows_of_blocks is None else int(rows_of_blocks)
    bsr.ncol = bsr.ncol if cols_of_blocks is None else int(cols_of_blocks)
    if topology == "compact":
        _build.ensure_offsets(bsr)
        bsr.offsets.zero_()
        bsr.row_counts = None
        bsr.nnz = 0
        reserve(bsr, nnz_capacity or 0)
        return
    if row_capacity is None:
        if bsr.nrow != n_old:
            old = bsr.offsets
            bsr.offsets = wp.empty(bsr.nrow + 1, dtype=int, device=bsr.device)
            run(extended_offsets, bsr.nrow + 1, [old, min(n_old, bsr.nrow), bsr.offsets], bsr.device)
    else:
        _set_capacity(bsr, row_capacity, nnz_capacity)
    if bsr.row_counts is None or bsr.row_counts.size != bsr.nrow:
        bsr.row_counts = wp.zeros(bsr.nrow, dtype=int, device=bsr.device)
    bsr.row_counts.zero_()
    bsr._ensure_status()
    reserve(bsr, max(bsr.nnz, nnz_capacity or 0))


def _set_capacity(bsr: BsrMatrix, row_capacity: int | array, nnz_capacity: int | None) -> None:
    _build.ensure_offsets(bsr)
    if not isinstance(row_capacity, array):
        room = int(row_capacity)
        if room < 0:
            raise ValueError(f"row_capacity is 0 or more, not {room}")
        run(even_offsets, bsr.nrow + 1, [room, bsr.offsets], bsr.device)
        bsr.nnz = max(bsr.nrow * room, nnz_capacity or 0)
        return
    if row_capacity.dtype is not wp.int32 or row_capacity.shape != (bsr.nrow,):
        raise ValueError(f"row_capacity has an int32 number for each of {bsr.nrow} rows, not {row_capacity!r}")
    bsr.offsets[:1].zero_()
    if bsr.nrow:
        wp.utils.array_scan(row_capacity, bsr.offsets[1 : bsr.nrow + 1])
    if nnz_capacity is None:
        if bsr.device.is_cuda and bsr.device.is_capturing:
            raise RuntimeError(
                "an array as row_capacity needs a device-to-host readback, which a graph cannot have: give nnz_capacity"
            )
        bsr.nnz_sync()
    else:
        bsr.nnz = int(nnz_capacity)


def bsr_diag(
    diag: Any = None,
    rows_of_blocks: int | None = None,
    cols_of_blocks: int | None = None,
    block_type: Any = None,
    device: Any = None,
) -> BsrMatrix:
    """A matrix with blocks on its diagonal.

    Args:
        diag: An array of blocks, or one block for all places; left out, the values are zero.
        rows_of_blocks, cols_of_blocks: Size, in blocks; one alone is both. By default that of the array.
        block_type: With no `diag`, the type of the blocks.
        device: Where the matrix is; an array's own by default.

    Raises:
        ValueError: No size, or what is no block.
    """
    if isinstance(diag, array):
        block_type, device = diag.dtype, diag.device
        rows_of_blocks, cols_of_blocks = _size(rows_of_blocks, cols_of_blocks, diag.size)
    else:
        if diag is None and block_type is None:
            raise ValueError("either `diag` or `block_type` must be given")
        if rows_of_blocks is None and cols_of_blocks is None:
            raise ValueError("without an array as `diag`, `rows_of_blocks` or `cols_of_blocks` must be given")
        block_type = block_type if diag is None else type(diag)
        rows_of_blocks, cols_of_blocks = _size(rows_of_blocks, cols_of_blocks, 0)
    matrix = bsr_zeros(rows_of_blocks, cols_of_blocks, block_type, device=device)
    bsr_set_diag(matrix, diag)
    return matrix


def bsr_set_diag(A: BsrMatrix, diag: Any, rows_of_blocks: int | None = None, cols_of_blocks: int | None = None) -> None:
    """Makes a matrix block-diagonal. See `bsr_diag` for the arguments; by default the size of `A` stays, or is that of
    an array. With None as `diag` the values are zero.
    """
    if rows_of_blocks is not None or cols_of_blocks is not None:
        A.nrow, A.ncol = _size(rows_of_blocks, cols_of_blocks, 0)
    elif isinstance(diag, array) and diag.size != min(A.nrow, A.ncol):
        A.nrow = A.ncol = diag.size
    n = min(A.nrow, A.ncol)
    _build.ensure_offsets(A)
    A.row_counts = None
    A.nnz = n
    if A.columns.size < n:
        A.columns = wp.empty(n, dtype=int, device=A.device)
    run(diagonal_structure, A.nrow + 1, [n, A.offsets, A.columns], A.device)
    _build.ready_values(A, n, isinstance(diag, array) and diag.requires_grad)
    if diag is None:
        A.values.zero_()
    elif isinstance(diag, array):
        if diag.size < n or diag.dtype._length_ != A.block_size:
            raise ValueError(f"the diagonal has {n} blocks of type {A.dtype.__name__}, not {diag!r}")
        _merge.set_values(A, components(diag)[:n].reshape((n, *A.block_shape)))
    elif n:
        A.values[:n].fill_(diag)


def _size(rows: int | None, columns: int | None, default: int) -> tuple[int, int]:
    if rows is None and columns is None:
        return default, default
    return (rows if rows is not None else columns), (columns if columns is not None else rows)  # type: ignore[return-value]


def bsr_get_diag(A: Any, out: array | None = None) -> array:
    """The blocks on the diagonal, zero where there is none. Writes to `out` if given. The tape has it.

    Raises `ValueError` for an output that does not fit.
    """
    matrix, scale = split(A)
    n = min(matrix.nrow, matrix.ncol)
    if out is None:
        out = wp.zeros(n, dtype=matrix.dtype, device=matrix.device, requires_grad=matrix.requires_grad)
    elif out.size < n or out.dtype._length_ != matrix.block_size or out.device != matrix.device:
        raise ValueError(f"the diagonal has {n} blocks of type {matrix.dtype.__name__}, which {out!r} cannot hold")
    if n:
        at = [wp.empty(n, dtype=int, device=matrix.device) for _ in range(2)]
        for numbers in at:
            run(count_up, n, [numbers], matrix.device)
        target = components(out).reshape((out.size, *matrix.block_shape))[:n]
        _merge.look_up(matrix, scale, *at, target)
    return out


def bsr_identity(rows_of_blocks: int, block_type: Any, device: Any = None) -> BsrMatrix:
    """The identity of a size, in blocks. Raises `ValueError` for blocks that are not square."""
    return bsr_diag(_unit(block_type), rows_of_blocks, device=device)


def bsr_set_identity(A: BsrMatrix, rows_of_blocks: int | None = None) -> None:
    """Makes a matrix the identity, of its own size or the given one."""
    bsr_set_diag(A, _unit(A.dtype), rows_of_blocks, rows_of_blocks)


def _unit(block_type: Any) -> Any:
    found = block_type_of(block_type)
    rows, columns = block_shape_of(found)
    if rows != columns:
        raise ValueError(f"an identity has square blocks, not {rows} x {columns}")
    return found(np.eye(rows)) if issubclass(found, matrix_base) else _types.dtype_class(found)(1)
