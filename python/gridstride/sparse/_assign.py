"""Copies between matrices, of other topology, numbers or block shape; compression; transposition."""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride import _native
from gridstride._array import array
from gridstride.sparse import _build, _functions, _merge
from gridstride.sparse._create import bsr_zeros
from gridstride.sparse._matrix import BsrMatrix, block_type_from, run, split

row_end = _functions.row_end


@wp.kernel(enable_backward=False)
def piece_places(
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    pieces_down: int,
    pieces_across: int,
    merged_down: int,
    merged_across: int,
    piece_rows: wp.array(dtype=int),
    piece_columns: wp.array(dtype=int),
):
    """Rows and columns, in blocks of the result, of the pieces that blocks are cut into."""
    block, i, j = wp.tid()
    k = (block * pieces_down + i) * pieces_across + j
    if rows[block] < 0:
        piece_rows[k] = -1
        piece_columns[k] = -1
    else:
        piece_rows[k] = (rows[block] * pieces_down + i) / merged_down
        piece_columns[k] = (columns[block] * pieces_across + j) / merged_across


@wp.kernel
def gather_pieces(
    scale: Any,
    source_rows: wp.array(dtype=int),
    source_columns: wp.array(dtype=int),
    target_rows: wp.array(dtype=int),
    target_columns: wp.array(dtype=int),
    n_pieces: int,
    order: wp.array(dtype=int),
    begin: wp.array(dtype=int),
    end: wp.array(dtype=int),
    source: wp.array3d(dtype=Any),
    target: wp.array3d(dtype=Any),
):
    """Sets each number of a block to the source's number in the same row and column of the whole matrix."""
    place, i, j = wp.tid()
    total = target.dtype()
    if target_rows[place] >= 0:
        row = target_rows[place] * target.shape[1] + i
        column = target_columns[place] * target.shape[2] + j
        # A block of the source and one of the target share one piece at most, so none is met twice.
        for k in range(begin[place], end[place]):
            block = order[k] / n_pieces
            p = row - source_rows[block] * source.shape[1]
            q = column - source_columns[block] * source.shape[2]
            if p >= 0 and p < source.shape[1] and q >= 0 and q < source.shape[2]:
                total += target.dtype(source[block, p, q])
    target[place, i, j] = scale * total


@wp.kernel(enable_backward=False)
def piece_room(
    offsets: wp.array(dtype=int),
    n_rows: int,
    split_down: int,
    split_across: int,
    merged_down: int,
    room: wp.array(dtype=int),
):
    """Room of a row of other blocks: that of the rows that it is made of."""
    row = wp.tid()
    if split_down > 1:
        at = row / split_down
        room[row] = (offsets[at + 1] - offsets[at]) * split_across
    else:
        first = row * merged_down
        room[row] = (offsets[wp.min(first + merged_down, n_rows)] - offsets[first]) * split_across


@wp.kernel(enable_backward=False)
def transpose_rows(
    nrow: int,
    ncol: int,
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    target_offsets: wp.array(dtype=int),
    target_columns: wp.array(dtype=int),
    order: wp.array(dtype=int),
):
    """Counts each column's blocks, then puts each block where its column's turn is, in one thread.

    Gustavson (1978), algorithm HALFPERM; `target_offsets` is zero before.
    """
    for row in range(nrow):
        for block in range(offsets[row], row_end(row, offsets, row_counts)):
            after = wp.uint32(columns[wp.uint32(block)] + 1)
            target_offsets[after] = target_offsets[after] + 1
    for column in range(ncol):
        target_offsets[column + 1] = target_offsets[column + 1] + target_offsets[column]
    for row in range(nrow):
        for block in range(offsets[row], row_end(row, offsets, row_counts)):
            column = wp.uint32(columns[wp.uint32(block)])
            at = target_offsets[column]
            target_columns[wp.uint32(at)] = row
            order[wp.uint32(at)] = block
            target_offsets[column] = at + 1
    # Each offset has become the next one.
    for k in range(ncol):
        target_offsets[ncol - k] = target_offsets[ncol - k - 1]
    target_offsets[0] = 0


def bsr_copy(
    A: Any,
    scalar_type: Any = None,
    block_shape: tuple[int, int] | None = None,
    structure_only: bool = False,
    topology: str = "compact",
) -> BsrMatrix:
    """A copy of a matrix. The tape has it.

    Args:
        A: The matrix, or one times a number.
        scalar_type: Type of the copy's numbers.
        block_shape: Shape of the copy's blocks; each extent is a multiple or a divisor of the matrix's.
        structure_only: Copies no values.
        topology: "compact", or "padded": the rows keep their room.

    Raises:
        ValueError: A shape that does not fit, or another topology.
    """
    matrix, _ = split(A)
    _build.topology_of(topology, ("compact", "padded"))
    shape = matrix.block_shape if block_shape is None else (int(block_shape[0]), int(block_shape[1]))
    scalar = matrix.scalar_type if scalar_type is None else scalar_type
    if shape == matrix.block_shape and scalar is matrix.scalar_type:
        block_type = matrix.dtype
    else:
        block_type = block_type_from(shape, scalar)
    _check_blocks(shape, matrix.block_shape)
    if matrix.shape[0] % shape[0] or matrix.shape[1] % shape[1]:
        raise ValueError(
            f"The requested block shape {shape} does not evenly divide the source matrix of total size {matrix.shape}"
        )
    nrow, ncol = matrix.shape[0] // shape[0], matrix.shape[1] // shape[1]
    room = None
    if topology == "padded":
        room = wp.empty(nrow, dtype=int, device=matrix.device)
        down, across = matrix.block_shape
        ratios = [max(1, down // shape[0]), max(1, across // shape[1]), max(1, shape[0] // down)]
        run(piece_room, nrow, [matrix.offsets, matrix.nrow, *ratios, room], matrix.device)
    copy = bsr_zeros(nrow, ncol, block_type, device=matrix.device, topology=topology, row_capacity=room)
    bsr_assign(copy, A, structure_only=structure_only, topology=topology)
    return copy


def bsr_assign(dest: BsrMatrix, src: Any, structure_only: bool = False, topology: str | None = None) -> None:
    """Copies a matrix to another one, which may have other numbers or blocks. The tape has it.

    Args:
        dest: Where to.
        src: The matrix, or one times a number.
        structure_only: Copies no values.
        topology: "compact" (the default; `dest` takes the size of `src`), "padded" (rows of `dest` keep their room,
            `dest.status_sync()` tells of one that is full), "masked" (only blocks that `dest` has are set).

    Raises:
        ValueError: Shapes that do not fit.
    """
    topology = _build.topology_of(topology)
    matrix, scale = split(src)
    if matrix is dest:
        if topology == "compact" and dest.row_counts is not None:
            matrix = bsr_copy(matrix, structure_only=structure_only)
        else:
            _merge.scale_values(dest, scale)
            return
    _check_blocks(dest.block_shape, matrix.block_shape)
    if matrix.shape[0] % dest.block_shape[0] or matrix.shape[1] % dest.block_shape[1]:
        raise ValueError(
            f"Incompatible dest and src block shapes: {dest.block_shape} does not divide a matrix of {matrix.shape}"
        )
    if topology == "compact":
        dest.nrow = matrix.shape[0] // dest.block_shape[0]
        dest.ncol = matrix.shape[1] // dest.block_shape[1]
    elif dest.shape != matrix.shape:
        raise ValueError(f"with topology={topology!r} dest keeps its shape {dest.shape}, src has {matrix.shape}")
    if dest.block_shape != matrix.block_shape:
        _assign_pieces(dest, matrix, scale, structure_only, topology)
    elif topology == "masked":
        if not structure_only and dest.nnz:
            _merge.look_up(matrix, scale, dest.uncompress_rows(), dest.columns, dest.scalar_values[: dest.nnz])
    else:
        _assign_rows(dest, matrix, scale, structure_only, topology)


def _check_blocks(dest: tuple[int, int], src: tuple[int, int]) -> None:
    if any(d < 1 or (d % s and s % d) for d, s in zip(dest, src, strict=True)):
        raise ValueError(
            f"Incompatible dest and src block shapes: each of {dest} must be a multiple or a divisor of {src}"
        )


def _assign_rows(dest: BsrMatrix, matrix: BsrMatrix, scale: float, structure_only: bool, topology: str) -> None:
    """Between matrices of one block shape, row by row."""
    device = matrix.device
    grad = matrix.requires_grad and not structure_only
    if matrix.row_counts is None:
        offsets, columns = matrix.offsets, matrix.columns[: matrix.nnz]
    else:
        offsets = wp.zeros(matrix.nrow + 1, dtype=int, device=device)
        if matrix.nrow:
            wp.utils.array_scan(matrix.row_counts[: matrix.nrow], offsets[1 : matrix.nrow + 1])
        columns = wp.empty(matrix.nnz, dtype=int, device=device)
        run(_merge.copy_rows, matrix.nrow, [*_merge.structure(matrix), offsets, columns], device)
    if topology == "padded":
        _merge.adopt(dest, offsets, columns, "padded")
    else:
        _build.ensure_offsets(dest)
        wp.copy(dest.offsets, offsets, count=dest.nrow + 1)
        dest.row_counts, dest.nnz = None, columns.size
        if dest.columns.size < columns.size:
            dest.columns = wp.empty(columns.size, dtype=int, device=device)
        if columns.size:
            wp.copy(dest.columns, columns, count=columns.size)
    _build.ready_values(dest, dest.nnz, grad)
    if structure_only:
        return
    if topology == "compact" and matrix.row_counts is None:
        _merge.set_values(dest, matrix.scalar_values[: matrix.nnz], scale)
    elif dest.nnz:
        _merge.look_up(matrix, scale, dest.uncompress_rows(), dest.columns, dest.scalar_values[: dest.nnz])


def _assign_pieces(dest: BsrMatrix, matrix: BsrMatrix, scale: float, structure_only: bool, topology: str) -> None:
    """Between matrices of other block shapes: blocks are cut into pieces that each lie in one block of the result."""
    device, n = matrix.device, matrix.nnz
    pairs = list(zip(matrix.block_shape, dest.block_shape, strict=True))
    pieces = [max(1, s // d) for s, d in pairs]
    joined = [max(1, d // s) for s, d in pairs]
    rows = matrix.uncompress_rows()
    n_pieces = pieces[0] * pieces[1]
    piece_rows, piece_columns = (wp.empty(n * n_pieces, dtype=int, device=device) for _ in range(2))
    if n:
        run(piece_places, (n, *pieces), [rows, matrix.columns, *pieces, *joined, piece_rows, piece_columns], device)
    groups = _build.coalesce(dest, piece_rows, piece_columns, topology)
    _build.ready_values(dest, dest.nnz, matrix.requires_grad and not structure_only)
    if structure_only or not dest.nnz:
        return
    places = [rows, matrix.columns, dest.uncompress_rows(), dest.columns]
    inputs = [dest.scalar_type(scale), *places, n_pieces, groups.order, groups.begin, groups.end]
    target = dest.scalar_values[: dest.nnz]
    wp.launch(gather_pieces, target.shape, [*inputs, matrix.scalar_values], [target], device=device)


def bsr_compress(
    src: BsrMatrix,
    prune_numerical_zeros: bool = True,
    inplace: bool = False,
    topology: str | None = None,
    structure_only: bool = False,
) -> BsrMatrix:
    """Sorts the blocks of each row, adds up those of one column, drops those whose column is outside; gives `src`.

    Args:
        src: The matrix; its rows may have their blocks in any order.
        prune_numerical_zeros: Drops blocks that are all zero, before adding.
        inplace: Keeps the arrays of values and columns. The tape then has nothing of it.
        topology: "compact" (the default), or "padded": rows keep their room.
        structure_only: Only columns are sorted and joined; the values stay where they are, and mean nothing.
    """
    topology = _build.topology_of(topology, ("compact", "padded"))
    old_columns, old_values, n = src.columns, src.values, src.nnz
    source = src.scalar_values
    rows = src.uncompress_rows()
    columns = wp.clone(old_columns[:n]) if n else old_columns
    prune = prune_numerical_zeros and not structure_only
    groups = _build.coalesce(src, rows, columns, topology, values=source if prune else None)
    if structure_only:
        return src
    if inplace:
        # By way of other memory: a block may move to where another one has still to be read.
        src.values = wp.empty(n, dtype=old_values.dtype, device=src.device)
        _untaped(_build.gather, src.nnz, [groups.order, groups.begin, groups.end, source, src.scalar_values])
        _native.before_write(old_values, "bsr_compress")
        _untaped(_merge.scale_into, src.nnz, [src.scalar_values, source])
        src.values = old_values
        return src
    _build.ready_values(src, src.nnz, old_values.requires_grad, fresh=True)
    _build.gather_values(src, groups, source)
    return src


def _untaped(kernel: Any, n: int, arguments: list[Any]) -> None:
    if n:
        run(kernel, n, [arguments[-1].dtype(1), *arguments], arguments[-1].device)


def bsr_transposed(A: Any) -> BsrMatrix:
    """The transposed matrix, compact. The tape has it."""
    matrix, _ = split(A)
    rows, columns = matrix.block_shape
    block_type = matrix.dtype if rows == columns else wp.types.matrix(shape=(columns, rows), dtype=matrix.scalar_type)
    dest = bsr_zeros(matrix.ncol, matrix.nrow, block_type, device=matrix.device)
    bsr_set_transpose(dest, A)
    return dest


def bsr_set_transpose(dest: BsrMatrix, src: Any, topology: str | None = None) -> None:
    """Sets a matrix to the transposed one of another. The tape has it.

    Args:
        dest: Where to.
        src: The matrix, or one times a number.
        topology: As in `bsr_assign`.

    Raises:
        ValueError: Blocks of another shape, or with a topology that keeps the size, another size.
    """
    topology = _build.topology_of(topology)
    matrix, scale = split(src)
    shape = matrix.block_shape[::-1]
    if dest.block_shape != shape:
        raise ValueError(f"Destination block shape must be {shape}, not {dest.block_shape}")
    size = (matrix.ncol, matrix.nrow)
    if topology != "compact" and (dest.nrow, dest.ncol) != size:
        raise ValueError(f"with topology={topology!r} dest keeps its {dest.nrow} x {dest.ncol} blocks, not {size}")
    source, source_values = matrix.scalar_values.transpose((0, 2, 1)), matrix.values
    if topology == "compact" and not matrix.device.is_cuda:
        _transpose_on_host(dest, matrix, scale, source)
        return
    rows, columns = matrix.columns[: matrix.nnz], matrix.uncompress_rows()
    if matrix is dest and rows.size:
        rows = wp.clone(rows)
    dest.nrow, dest.ncol = size
    groups = _build.coalesce(dest, rows, columns, topology, by_column=True)
    _build.ready_values(dest, dest.nnz, source_values.requires_grad, fresh=dest.values is source_values)
    _build.gather_values(dest, groups, source, scale)


def _transpose_on_host(dest: BsrMatrix, matrix: BsrMatrix, scale: float, source: array) -> None:
    """Without a sort: the blocks are in order already, row by row."""
    n, device = matrix.nnz, matrix.device
    offsets = wp.zeros(matrix.ncol + 1, dtype=int, device=device)
    columns, order = wp.empty(n, dtype=int, device=device), wp.full(n, -1, dtype=int, device=device)
    given = [matrix.nrow, matrix.ncol, *_merge.structure(matrix)]
    run(transpose_rows, 1, [*given, offsets, columns, order], device)
    requires_grad, is_own = matrix.requires_grad, dest.values is matrix.values
    dest.nrow, dest.ncol = matrix.ncol, matrix.nrow
    _merge.adopt(dest, offsets, columns, "compact")
    _build.ready_values(dest, n, requires_grad, fresh=is_own)
    if n:
        inputs = [dest.scalar_type(scale), order, source]
        wp.launch(_merge.take_blocks, n, inputs, [dest.scalar_values], device=device)
