"""Products: `y := a A x + b y` with vectors, `z := a x y + b z` with matrices."""

from __future__ import annotations

import functools
from typing import Any

import gridstride as wp
from gridstride import _native
from gridstride._array import array
from gridstride._kernel import Kernel
from gridstride._vector import matrix_base, vector_base
from gridstride.sparse import _build, _functions, _merge
from gridstride.sparse._assign import bsr_copy
from gridstride.sparse._create import bsr_zeros
from gridstride.sparse._matrix import BsrMatrix, block_type_from, run, share, split

row_end = _functions.row_end
find_column = _functions.find_column
# Blocks with more numbers than this are multiplied number by number, not unrolled.
MAX_UNROLLED = 36


@wp.func
def row_product(
    begin: int,
    end: int,
    columns: wp.array(dtype=int),
    values: wp.array(dtype=Any),
    x: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
):
    total = y.dtype()
    for b in range(begin, end):
        block = wp.uint32(b)
        total += values[block] * x[wp.uint32(columns[block])]
    return total


@functools.cache
def multiplying(number: Any, is_padded: bool, is_scaled: bool, is_added: bool) -> Kernel:
    """The kernel of `y := scale A x + keep y`, without what it does not need: a row has few blocks, and all counts."""

    @wp.kernel(module="unique")
    def multiply_padded(
        scale: number,
        keep: number,
        offsets: wp.array(dtype=int),
        row_counts: wp.array(dtype=int),
        columns: wp.array(dtype=int),
        values: wp.array(dtype=Any),
        x: wp.array(dtype=Any),
        y: wp.array(dtype=Any),
    ):
        row = wp.tid()
        begin = offsets[row]
        total = scale * row_product(begin, begin + row_counts[row], columns, values, x, y)
        if is_added:
            total += keep * y[row]
        y[row] = total

    @wp.kernel(module="unique")
    def multiply_compact(
        scale: number,
        keep: number,
        offsets: wp.array(dtype=int),
        columns: wp.array(dtype=int),
        values: wp.array(dtype=Any),
        x: wp.array(dtype=Any),
        y: wp.array(dtype=Any),
    ):
        row = wp.tid()
        total = row_product(offsets[row], offsets[row + 1], columns, values, x, y)
        if is_scaled:
            total = scale * total
        if is_added:
            total += keep * y[row]
        y[row] = total

    return multiply_padded if is_padded else multiply_compact


@wp.kernel
def multiply_vector_by_number(
    scale: Any,
    keep: Any,
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    values: wp.array3d(dtype=Any),
    x: wp.array2d(dtype=Any),
    y: wp.array2d(dtype=Any),
):
    row, i = wp.tid()
    total = y.dtype()
    for block in range(offsets[row], row_end(row, offsets, row_counts)):
        column = columns[block]
        for j in range(values.shape[2]):
            total += values[block, i, j] * x[column, j]
    total = scale * total
    if keep != type(keep)(0.0):
        total += keep * y[row, i]
    y[row, i] = total


@wp.kernel
def multiply_transposed(
    scale: Any,
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    values: wp.array3d(dtype=Any),
    x: wp.array2d(dtype=Any),
    y: wp.array2d(dtype=Any),
):
    row = wp.tid()
    for block in range(offsets[row], row_end(row, offsets, row_counts)):
        column = columns[block]
        for j in range(values.shape[2]):
            total = y.dtype()
            for i in range(values.shape[1]):
                total += values[block, i, j] * x[row, i]
            wp.atomic_add(y, column, j, scale * total)


@wp.kernel
def scale_vector(scale: Any, y: wp.array2d(dtype=Any)):
    row = wp.tid()
    for i in range(y.shape[1]):
        y[row, i] = scale * y[row, i]


@wp.kernel
def multiply_matrix(
    scale: Any,
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    x: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
    z: wp.array(dtype=Any),
):
    """Adds a product's block to each place of `z`."""
    place = wp.tid()
    row = rows[place]
    if row >= 0:
        total = z.dtype()
        for a in range(x_offsets[row], row_end(row, x_offsets, x_counts)):
            inner = x_columns[a]
            b = find_column(y_columns, y_offsets[inner], row_end(inner, y_offsets, y_counts), columns[place])
            if b >= 0:
                total += x[a] * y[b]
        z[place] = z[place] + scale * total


@wp.kernel
def multiply_matrix_by_number(
    scale: Any,
    rows: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    x: wp.array3d(dtype=Any),
    y: wp.array3d(dtype=Any),
    z: wp.array3d(dtype=Any),
):
    place, i, j = wp.tid()
    row = rows[place]
    if row >= 0:
        total = z.dtype()
        for a in range(x_offsets[row], row_end(row, x_offsets, x_counts)):
            inner = x_columns[a]
            b = find_column(y_columns, y_offsets[inner], row_end(inner, y_offsets, y_counts), columns[place])
            if b >= 0:
                for k in range(x.shape[2]):
                    total += x[a, i, k] * y[b, k, j]
        z[place, i, j] = z[place, i, j] + scale * total


@wp.kernel(enable_backward=False)
def multiply_rows(
    scale: Any,
    offsets: wp.array(dtype=int),
    row_counts: wp.array(dtype=int),
    columns: wp.array(dtype=int),
    x_offsets: wp.array(dtype=int),
    x_counts: wp.array(dtype=int),
    x_columns: wp.array(dtype=int),
    y_offsets: wp.array(dtype=int),
    y_counts: wp.array(dtype=int),
    y_columns: wp.array(dtype=int),
    cursors: wp.array(dtype=int),
    heads: wp.array(dtype=int),
    x: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
    z: wp.array(dtype=Any),
):
    """As `multiply_matrix`, a thread a row, with cursors instead of searches: the same sums."""
    row = wp.tid()
    _merge.open_row(row, x_offsets, x_counts, x_columns, y_offsets, y_counts, y_columns, cursors, heads)
    first = x_offsets[row]
    end = row_end(row, x_offsets, x_counts)
    for p in range(offsets[row], row_end(row, offsets, row_counts)):
        place = wp.uint32(p)
        column = columns[place]
        total = z.dtype()
        for a in range(first, end):
            k = wp.uint32(a)
            while heads[k] < column:
                cursors[k] = cursors[k] + 1
                heads[k] = _merge.head(y_columns, cursors[k], row_end(x_columns[k], y_offsets, y_counts))
            if heads[k] == column:
                total += x[k] * y[wp.uint32(cursors[k])]
        z[place] = z[place] + scale * total


class bsr_mm_work_arrays:  # noqa: N801 - Warp's name
    """Keeps the structure of a product, for `bsr_mm` with `reuse_topology`."""

    def __init__(self) -> None:
        self._structure: tuple[array, array] | None = None


def bsr_mv(
    A: Any,
    x: array,
    y: array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    transpose: bool = False,
    work_buffer: array | None = None,
    tile_size: int = 0,
) -> array:
    """`y := alpha A x + beta y`; gives `y`. The tape has it.

    Args:
        A: A matrix, or one times a number.
        x: Numbers, or vectors as wide as a block. It is not read where `alpha` is 0.
        y: The result, which is not read where `beta` is 0; a new array by default. It may be `x`.
        alpha, beta: Factors.
        transpose: Multiplies with the transposed matrix; sums then run in no fixed order.
        work_buffer: Where a copy of `x` goes when `y` is `x`.
        tile_size: Accepted for compatibility.

    Raises:
        ValueError: Vectors that do not fit.
    """
    matrix, scale = split(A)
    alpha, beta = float(alpha) * scale, float(beta)
    n_in, n_out = (matrix.nrow, matrix.ncol) if transpose else (matrix.ncol, matrix.nrow)
    width_out, width_in = matrix.block_shape[::-1] if transpose else matrix.block_shape
    if y is None:
        dtype = matrix.scalar_type if width_out == 1 else wp.types.vector(width_out, matrix.scalar_type)
        grad = x.requires_grad or matrix.requires_grad
        y = wp.empty(n_out, dtype=dtype, device=matrix.device, requires_grad=grad)
        beta = 0.0
    if not n_out:
        return y
    if x.size and _native.overlap(x, y):
        _vector(matrix, "x", x, n_in, width_in)
        if work_buffer is None:
            work_buffer = wp.empty_like(x)
        wp.copy(work_buffer, x, count=x.size)
        x = work_buffer
    by_block = not transpose and matrix.block_size <= MAX_UNROLLED
    if by_block and alpha != 0.0 and matrix.nnz:
        elements = [_elements(matrix, "x", x, n_in, width_in), _elements(matrix, "y", y, n_out, width_out)]
        is_padded = matrix.row_counts is not None
        structure = _merge.structure(matrix) if is_padded else [matrix.offsets, matrix.columns]
        inputs = [alpha, beta, *structure, blocks(matrix.values)]
        kernel = multiplying(matrix.scalar_type, is_padded, alpha != 1.0, beta != 0.0)
        wp.launch(kernel, n_out, [*inputs, elements[0]], [elements[1]], device=matrix.device)
        return y
    x_numbers = _vector(matrix, "x", x, n_in, width_in)
    y_numbers = _vector(matrix, "y", y, n_out, width_out)
    if alpha == 0.0 or not matrix.nnz:
        _scale(y_numbers, beta)
    elif transpose:
        _scale(y_numbers, beta)
        inputs = [matrix.scalar_type(alpha), *_merge.structure(matrix), matrix.scalar_values, x_numbers]
        wp.launch(multiply_transposed, matrix.nrow, inputs, [y_numbers], device=matrix.device)
    else:
        factors = [matrix.scalar_type(alpha), matrix.scalar_type(beta)]
        inputs = [*factors, *_merge.structure(matrix), matrix.scalar_values, x_numbers]
        wp.launch(multiply_vector_by_number, (n_out, width_out), inputs, [y_numbers], device=matrix.device)
    return y


def _vector(matrix: BsrMatrix, name: str, vector: array, n: int, width: int) -> array:
    """An array as numbers, a row for each of a vector's n elements. Raises `ValueError` for one that does not fit."""
    dtype = vector.dtype
    is_right = vector.ndim == 1 and vector.size * dtype._length_ == n * width and dtype._length_ in (1, width)
    if not is_right or (dtype._shape_ and not issubclass(dtype, (vector_base, matrix_base))):
        raise ValueError(
            f"Incompatible '{name}': {n} vectors of length {width}, or {n * width} numbers, are needed, not {vector!r}"
        )
    if dtype._wp_scalar_type_ is not matrix.scalar_type or vector.device != matrix.device:
        raise ValueError(
            f"Incompatible '{name}': the matrix has {matrix.scalar_type.__name__} numbers on {matrix.device}, not "
            f"{vector!r} on {vector.device}"
        )
    if dtype._shape_:
        vector = vector.view(matrix.scalar_type)
        if vector.ndim == 3:
            vector = vector.reshape((n, width))
    if vector.ndim == 2:
        return vector
    if vector.is_contiguous:
        return vector.reshape((n, width))
    if width == 1:
        return _column(vector)
    raise ValueError(f"Incompatible '{name}': numbers must be contiguous: call contiguous() on {vector!r} first")


def _column(vector: array) -> array:
    """A strided array of numbers with a second dimension of 1."""
    from gridstride._array import make

    view = make(vector.dtype, vector.ptr or 0, (vector.size, 1), (vector.strides[0], 4), vector, vector._place)
    if vector.grad is not None:
        view.grad = _column(vector.grad)
    return view


def blocks(values: array) -> array:
    """Values as the kernels multiply them: a 1 x 1 block is a number."""
    dtype = values.dtype
    return values if dtype._length_ > 1 or not dtype._shape_ else values.view(dtype._wp_scalar_type_).flatten()


def _elements(matrix: BsrMatrix, name: str, vector: array, n: int, width: int) -> array:
    """An array as vectors as wide as a block, or as numbers where all blocks are 1 x 1."""
    scalar = matrix.scalar_type
    dtype = scalar if matrix.block_size == 1 else wp.types.vector(width, scalar)
    if vector.dtype is dtype and vector.shape == (n,) and vector.device is matrix.device:
        return vector
    numbers = _vector(matrix, name, vector, n, width)
    return numbers.transpose()[0] if matrix.block_size == 1 else numbers.view(dtype).reshape((n,))


def _scale(numbers: array, factor: float) -> None:
    if factor == 0.0:
        numbers.zero_()
    elif factor != 1.0:
        wp.launch(scale_vector, numbers.shape[0], [numbers.dtype(factor)], [numbers], device=numbers.device)


def bsr_mm(
    x: Any,
    y: Any,
    z: BsrMatrix | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    work_arrays: bsr_mm_work_arrays | None = None,
    reuse_topology: bool = False,
    tile_size: int = 0,
    max_new_nnz: int | None = None,
    topology: str | None = None,
) -> BsrMatrix:
    """`z := alpha x y + beta z`, which may be one matrix; gives `z`. The tape has it.

    The number of blocks of a compact result is read from the device, unless `max_new_nnz` or `reuse_topology` is given.

    Args:
        x, y: Matrices, or such times a number.
        z: The result, and what is added; a new matrix by default.
        alpha, beta: Factors.
        work_arrays: Keeps the structure of the result.
        reuse_topology: Takes the structure that `work_arrays` has from an earlier call with the same structures.
        tile_size: Accepted for compatibility.
        max_new_nnz: The most blocks that the product has, those of `z` not counted. More are left out and reported.
        topology: "compact" (the default), "padded" (rows of `z` keep their room, `z.status_sync()` tells of one that is
            full), "masked" (`z` keeps its blocks).

    Raises:
        ValueError: Matrices that do not fit, or `reuse_topology` without a structure.
    """
    topology = _build.topology_of(topology)
    x, x_scale = split(x)
    y, y_scale = split(y)
    alpha, beta = float(alpha) * x_scale * y_scale, float(beta)
    if z is None:
        shape = (x.block_shape[0], y.block_shape[1])
        z = bsr_zeros(x.nrow, y.ncol, block_type_from(shape, x.scalar_type), device=x.device)
        beta = 0.0
    _check_product(x, y, z)
    if topology != "compact":
        # The result is written where an operand still has to be read.
        x, y = (bsr_copy(one, topology="padded") if one is z else one for one in (x, y))
    grad = x.requires_grad or y.requires_grad
    if x is y and grad and _native.is_recording():
        # Arguments that overlap are a hindrance to gradients.
        y = bsr_copy(y)
    if topology == "masked":
        _merge.scale_values(z, beta)
        _build.ready_values(z, z.nnz, False)
    else:
        x, y, old = (share(one) if one is z else one for one in (x, y, z))
        if topology == "padded":
            old = bsr_copy(z, topology="padded")
        _adopt_product(x, y, z, beta, work_arrays, reuse_topology, max_new_nnz, topology)
        _build.ready_values(z, z.nnz, grad, fresh=topology == "compact")
        z.values.zero_()
        if beta != 0.0 and z.nnz:
            _merge.look_up(old, beta, z.uncompress_rows(), z.columns, z.scalar_values[: z.nnz])
    if z.nnz and x.nnz and y.nnz and alpha != 0.0:
        _add_product(x, y, z, alpha)
    return z


def _check_product(x: BsrMatrix, y: BsrMatrix, z: BsrMatrix) -> None:
    shapes = [one.block_shape for one in (x, y, z)]
    if shapes[0][1] != shapes[1][0] or shapes[2] != (shapes[0][0], shapes[1][1]):
        raise ValueError(f"Incompatible block sizes for bsr_mm: {shapes[0]}, {shapes[1]}, {shapes[2]}")
    if x.ncol != y.nrow or x.nrow != z.nrow or y.ncol != z.ncol:
        sizes = ", ".join(f"{one.nrow} x {one.ncol}" for one in (x, y, z))
        raise ValueError(f"Incompatible number of rows/columns for bsr_mm: {sizes}")
    if any(one.scalar_type is not x.scalar_type or one.device != x.device for one in (y, z)):
        raise ValueError("the matrices of a product must have one type of numbers and be on one device")


def _adopt_product(
    x: BsrMatrix,
    y: BsrMatrix,
    z: BsrMatrix,
    beta: float,
    work_arrays: bsr_mm_work_arrays | None,
    reuse_topology: bool,
    max_new_nnz: int | None,
    topology: str,
) -> None:
    """Gives `z` the structure of the product, and of `z` where that is added."""
    if reuse_topology:
        if topology != "compact" or work_arrays is None or work_arrays._structure is None:
            raise ValueError("reuse_topology needs work_arrays of an earlier compact bsr_mm")
        offsets, columns = (wp.clone(one) for one in work_arrays._structure)
        _merge.adopt(z, offsets, columns, topology)
        return
    added = _merge.structure(z) if beta != 0.0 else [None, None, wp.empty(0, dtype=int, device=z.device)]
    if topology == "padded" and beta != 0.0:
        # Its columns are written where they are read.
        added[1:] = (wp.clone(one) for one in added[1:])
    cursors = [wp.empty(x.nnz, dtype=int, device=z.device) for _ in range(2)]
    inputs = [*_merge.structure(x), *_merge.structure(y), *added, *cursors]
    limit = None
    if max_new_nnz is not None and topology == "compact":
        limit = int(max_new_nnz) + (z.nnz if beta != 0.0 else 0)
    _merge.merged(_merge.product_structure, inputs, z, topology, limit=limit)
    if work_arrays is not None and topology == "compact":
        work_arrays._structure = (wp.clone(z.offsets), wp.clone(z.columns))


def _add_product(x: BsrMatrix, y: BsrMatrix, z: BsrMatrix, alpha: float) -> None:
    factors = [*_merge.structure(x), *_merge.structure(y)]
    if max(x.block_size, y.block_size, z.block_size) > MAX_UNROLLED:
        target = z.scalar_values[: z.nnz]
        inputs = [z.scalar_type(alpha), z.uncompress_rows(), z.columns, *factors, x.scalar_values, y.scalar_values]
        wp.launch(multiply_matrix_by_number, target.shape, inputs, [target], device=z.device)
        return
    target = blocks(z.values)
    if z.block_size == 1 and x.block_size > 1:
        # A row times a column is a matrix of one number.
        target = target.view(wp.types.matrix(shape=(1, 1), dtype=z.scalar_type))
    values = [blocks(x.values), blocks(y.values)]
    if z.device.is_cuda or _native.is_recording():
        inputs = [z.scalar_type(alpha), z.uncompress_rows(), z.columns, *factors, *values]
        wp.launch(multiply_matrix, z.nnz, inputs, [target], device=z.device)
    else:
        cursors = [wp.empty(x.nnz, dtype=int, device=z.device) for _ in range(2)]
        run(
            multiply_rows,
            z.nrow,
            [z.scalar_type(alpha), *_merge.structure(z), *factors, *cursors, *values, target],
            z.device,
        )
