"""`BsrMatrix`: a sparse matrix of blocks, row by row, and what is computed of one and a number, not yet carried out.

Blocks are numbers (CSR) or small matrices (BSR). Row `r` has its blocks in `columns[offsets[r]:offsets[r + 1]]`, sorted
by column, and their values in `values` at the same places. With `row_counts` rows have room to spare ("padded"): only
the first `row_counts[r]` of these places are taken.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 3.0], dtype=float))
    >>> (A @ wp.array([1.0, 1.0], dtype=float)).numpy()
    array([2., 3.], dtype=float32)
"""

from __future__ import annotations

import functools
from typing import Any

import gridstride as wp
from gridstride import _native, _types
from gridstride._array import array
from gridstride._vector import matrix_base
from gridstride.sparse import _functions

BSR_STATUS_SUCCESS = 0
BSR_STATUS_ROW_CAPACITY_EXCEEDED = 1
_MESSAGES = {
    BSR_STATUS_SUCCESS: "no error",
    BSR_STATUS_ROW_CAPACITY_EXCEEDED: "a row had more blocks than room; those with the largest columns are left out",
}

row_end = _functions.row_end


@wp.kernel(enable_backward=False)
def fill_rows(offsets: wp.array(dtype=int), row_counts: wp.array(dtype=int), n_blocks: int, rows: wp.array(dtype=int)):
    row = wp.tid()
    for block in range(offsets[row], wp.min(row_end(row, offsets, row_counts), n_blocks)):
        rows[block] = row


class BsrMatrix:
    """A sparse matrix of blocks. Made by `bsr_zeros`, `bsr_from_triplets` and the like.

    Attributes:
        nrow, ncol: Rows and columns of blocks.
        nnz: Places for blocks, as far as the host knows: at least `offsets[nrow]`. `nnz_sync` makes it exact.
        offsets: Where the places of each row begin, and where the last row's end: nrow + 1 numbers or more.
        row_counts: Blocks of each row where rows have room to spare, else None.
        columns: Column of each block.
        values: The blocks.
    """

    nrow: int
    ncol: int
    nnz: int
    offsets: array
    row_counts: array | None
    columns: array
    values: array
    _status: array | None = None

    def __class_getitem__(cls, block_type: Any) -> Any:
        return bsr_matrix_t(block_type)

    # Facts.

    @property
    def dtype(self) -> Any:
        """Type of a block."""
        return self.values.dtype

    @property
    def scalar_type(self) -> Any:
        """Type of the numbers in a block."""
        return self.values.dtype._wp_scalar_type_

    @property
    def block_shape(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return block_shape_of(self.values.dtype)

    @property
    def block_size(self) -> int:
        """Numbers in a block."""
        rows, columns = self.block_shape
        return rows * columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of numbers."""
        rows, columns = self.block_shape
        return self.nrow * rows, self.ncol * columns

    @property
    def device(self) -> Any:
        """Where the matrix is."""
        return self.values.device

    @property
    def requires_grad(self) -> bool:
        """Whether the values have a gradient."""
        return self.values.requires_grad

    @property
    def scalar_values(self) -> array:
        """The values as an array of numbers with three dimensions, over the same memory."""
        return components(self.values).reshape((self.values.size, *self.block_shape))

    # Sizes, as the device knows them.

    def nnz_sync(self) -> int:
        """Reads `offsets[nrow]` from the device, waiting for it, and makes it `nnz`: exact for a compact matrix.

        Raises `RuntimeError` while a graph is captured on the device.
        """
        self.nnz = int(self.offsets[self.nrow : self.nrow + 1].numpy()[0])
        return self.nnz

    def copy_nnz_async(self) -> None:
        """Accepted for compatibility: `nnz_sync` reads the number when it is asked for."""

    def notify_nnz_changed(self, nnz: int | None = None, nnz_capacity: int | None = None) -> None:
        """To be called after `offsets` or `nnz` were changed by hand: makes room for the blocks.

        Args:
            nnz: Places for blocks; left out, it is read from the device (unless `nnz_capacity` is given).
            nnz_capacity: Places to allocate; `nnz` of them by default.
        """
        if nnz is not None:
            self.nnz = int(nnz)
        elif nnz_capacity is not None:
            self.nnz = int(nnz_capacity)
        else:
            self.nnz_sync()
        reserve(self, max(self.nnz, nnz_capacity or 0))

    def uncompress_rows(self, out: array | None = None) -> array:
        """The row of each place for a block, -1 where there is none: `nnz` numbers. Writes to `out` if given."""
        rows = wp.empty(self.nnz, dtype=int, device=self.device) if out is None else out
        if self.nnz:
            rows[: self.nnz].fill_(-1)
            run(fill_rows, self.nrow, [self.offsets, self.row_counts, self.nnz, rows], self.device)
        return rows

    # What went wrong on the device.

    def _ensure_status(self) -> array:
        if self._status is None or self._status.device != self.device:
            self._status = wp.zeros(1, dtype=int, device=self.device)
        return self._status

    def status_sync(self) -> int:
        """`BSR_STATUS_SUCCESS`, or what went wrong since `clear_status`. Waits for the device."""
        if self._status is None:
            return BSR_STATUS_SUCCESS
        if self.device.is_cuda and self.device.is_capturing:
            raise RuntimeError("cannot read sparse status during a live CUDA graph capture")
        return int(self._status.numpy()[0])

    def status_message(self) -> str:
        """`status_sync` in words."""
        return _MESSAGES[self.status_sync()]

    def clear_status(self) -> None:
        """Sets the status to `BSR_STATUS_SUCCESS`."""
        if self._status is not None:
            self._status.zero_()

    # Arithmetic.

    def eval(self) -> BsrMatrix:
        """This matrix: there is nothing left to compute."""
        return self

    def transpose(self) -> BsrMatrix:
        """A transposed copy."""
        from gridstride.sparse import bsr_transposed

        return bsr_transposed(self)

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1.0)

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1.0)

    def __iadd__(self, other: Any) -> Any:
        return self._add_in_place(other, 1.0)

    def __isub__(self, other: Any) -> Any:
        return self._add_in_place(other, -1.0)

    def _add_in_place(self, other: Any, sign: float) -> Any:
        if not isinstance(other, (BsrMatrix, BsrScaled)):
            return NotImplemented
        from gridstride.sparse import bsr_axpy

        return bsr_axpy(other, self, alpha=sign)

    def __mul__(self, factor: Any) -> Any:
        return BsrScaled(self, factor) if _is_number(factor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return BsrScaled(self, 1.0 / divisor) if _is_number(divisor) else NotImplemented

    def __neg__(self) -> Any:
        return BsrScaled(self, -1.0)

    def __imul__(self, factor: Any) -> Any:
        from gridstride.sparse import bsr_scale

        return bsr_scale(self, factor) if _is_number(factor) else NotImplemented

    def __itruediv__(self, divisor: Any) -> Any:
        from gridstride.sparse import bsr_scale

        return bsr_scale(self, 1.0 / divisor) if _is_number(divisor) else NotImplemented

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _left_product(other, self)

    def __imatmul__(self, other: Any) -> Any:
        from gridstride.sparse import bsr_mm

        return bsr_mm(self, other, self) if isinstance(other, (BsrMatrix, BsrScaled)) else NotImplemented

    def __repr__(self) -> str:
        return f"BsrMatrix(nrow={self.nrow}, ncol={self.ncol}, dtype={self.dtype.__name__}, nnz={self.nnz})"


class BsrScaled:
    """A matrix times a number, not computed yet: what takes a matrix takes it, and multiplies on its way.

    Attributes: `matrix`, `scale`; and the facts of the matrix.
    """

    def __init__(self, matrix: BsrMatrix, scale: Any) -> None:
        self.matrix = matrix
        self.scale = float(scale)

    def eval(self) -> BsrMatrix:
        """A matrix of its own with the product."""
        from gridstride.sparse import bsr_copy

        return bsr_copy(self)

    def transpose(self) -> BsrMatrix:
        """The transposed product, a matrix of its own."""
        from gridstride.sparse import bsr_transposed

        return bsr_transposed(self)

    def __getattr__(self, name: str) -> Any:
        if name in _FACTS:
            return getattr(self.matrix, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}: call eval() for a matrix")

    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1.0)

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1.0)

    def __mul__(self, factor: Any) -> Any:
        return BsrScaled(self.matrix, self.scale * factor) if _is_number(factor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        return BsrScaled(self.matrix, self.scale / divisor) if _is_number(divisor) else NotImplemented

    def __neg__(self) -> Any:
        return BsrScaled(self.matrix, -self.scale)

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _left_product(other, self)

    def __repr__(self) -> str:
        return f"{self.scale} * {self.matrix!r}"


_FACTS = ("nrow", "ncol", "shape", "dtype", "scalar_type", "block_shape", "block_size", "device", "requires_grad")
_FACTS += ("nnz", "nnz_sync")


@functools.cache
def _matrix_class(block_type: Any) -> type[BsrMatrix]:
    return type(f"BsrMatrix_{block_type.__name__}", (BsrMatrix,), {"block_type": block_type})


def bsr_matrix_t(dtype: Any) -> type[BsrMatrix]:
    """The class of matrices with a block type, for annotations. Raises `ValueError` for what is no block type."""
    return _matrix_class(block_type_of(dtype))


def block_type_of(block_type: Any) -> Any:
    """A block type as the class that arrays have it by. Raises `ValueError` for what is no block type."""
    try:
        found = _types.dtype_class(block_type)
    except TypeError:
        found = None
    if found is None or not (issubclass(found, matrix_base) or getattr(found, "_shape_", None) == ()):
        raise ValueError(f"BsrMatrix block type must be either warp matrix or scalar; got {block_type!r}")
    return found


def block_shape_of(block_type: Any) -> tuple[int, int]:
    """Rows and columns of a block type."""
    return block_type._shape_ if len(block_type._shape_) == 2 else (1, 1)


def block_type_from(shape: tuple[int, int], scalar: Any) -> Any:
    """The block type of a shape: a number for 1 x 1."""
    return scalar if tuple(shape) == (1, 1) else wp.types.matrix(shape=tuple(shape), dtype=scalar)


def components(values: array) -> array:
    """An array of blocks as one of numbers, a row for each block, over the same memory."""
    n, size = values.shape[0], values.dtype._length_
    flat = values if values.dtype._shape_ == () else values.view(values.dtype._wp_scalar_type_)
    return flat.reshape((n, size))


def reserve(matrix: BsrMatrix, n_blocks: int) -> None:
    """Makes room for blocks; those that are there stay."""
    if matrix.columns.size < n_blocks:
        matrix.columns = _grown(matrix.columns, n_blocks)
    if matrix.values.size < n_blocks:
        matrix.values = _grown(matrix.values, n_blocks)


def _grown(old: array, n: int) -> array:
    new = wp.zeros(n, dtype=old.dtype, device=old.device, requires_grad=old.requires_grad)
    if old.size:
        wp.copy(new, old, count=old.size)
    return new


def make(nrow: int, ncol: int, block_type: Any, offsets: array, columns: array, values: array) -> BsrMatrix:
    """A matrix from its parts, compact."""
    self = _matrix_class(block_type)()
    self.nrow, self.ncol, self.nnz = int(nrow), int(ncol), columns.size
    self.offsets, self.row_counts, self.columns, self.values = offsets, None, columns, values
    return self


def share(matrix: BsrMatrix) -> BsrMatrix:
    """Another matrix over the same arrays, which keeps them when this one gets others."""
    other = make(matrix.nrow, matrix.ncol, matrix.dtype, matrix.offsets, matrix.columns, matrix.values)
    other.row_counts, other.nnz = matrix.row_counts, matrix.nnz
    return other


def split(expression: Any) -> tuple[BsrMatrix, float]:
    """The matrix of an expression and the number that it is multiplied by. Raises `ValueError` for anything else."""
    if isinstance(expression, BsrScaled):
        return expression.matrix, expression.scale
    if isinstance(expression, BsrMatrix):
        return expression, 1.0
    raise ValueError(f"expected a BsrMatrix, or one times a number, got {expression!r}")


def run(kernel: Any, dim: Any, arguments: list[Any], device: Any) -> None:
    """A launch that has no derivative: no tape sees it."""
    wp.launch(kernel, dim=dim, inputs=arguments, device=device, record_tape=False)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (hasattr(value, "__float__") and not isinstance(value, _native.Array))


def _sum(first: Any, second: Any, sign: float) -> Any:
    if not isinstance(second, (BsrMatrix, BsrScaled)):
        return NotImplemented
    from gridstride.sparse._arithmetic import bsr_sum

    return bsr_sum(first, second, sign)


def _product(left: Any, right: Any) -> Any:
    from gridstride.sparse import bsr_mm, bsr_mv

    if isinstance(right, (BsrMatrix, BsrScaled)):
        return bsr_mm(left, right)
    return bsr_mv(left, right) if isinstance(right, _native.Array) else NotImplemented


def _left_product(left: Any, right: Any) -> Any:
    from gridstride.sparse import bsr_mv

    return bsr_mv(right, left, transpose=True) if isinstance(left, _native.Array) else NotImplemented
