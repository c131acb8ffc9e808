"""Preconditioners from a matrix: the inverse of its diagonal, or of the blocks on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.optim.linear._operator import LinearOperator, aslinearoperator
from gridstride.optim.linear._vectors import numbers, wide
from gridstride.sparse import BsrMatrix, bsr_get_diag

_BLOCK_TYPES = ("block_jacobi_direct", "block_jacobi_sequential", "block_jacobi_tile")
_TYPES = ("diag", "diag_abs", *_BLOCK_TYPES, "fsai", "id")
_EPSILON = {wp.float16: 2.0**-10, wp.bfloat16: 2.0**-7, wp.float32: 2.0**-23, wp.float64: 2.0**-52}


@wp.kernel(enable_backward=False)
def invert_diagonal(use_abs: bool, blocks: wp.array3d(dtype=Any), inverse: wp.array2d(dtype=Any)):
    block, i = wp.tid()
    value = blocks[block, i, i]
    if use_abs:
        value = wp.abs(value)
    result = inverse.dtype(0.0)
    if value != blocks.dtype(0.0):
        result = inverse.dtype(1.0) / inverse.dtype(value)
    inverse[block, i] = result


@wp.kernel(enable_backward=False)
def invert_dense_diagonal(use_abs: bool, A: wp.array2d(dtype=Any), inverse: wp.array(dtype=Any)):
    i = wp.tid()
    value = A[i, i]
    if use_abs:
        value = wp.abs(value)
    result = inverse.dtype(0.0)
    if value != A.dtype(0.0):
        result = inverse.dtype(1.0) / inverse.dtype(value)
    inverse[i] = result


@wp.func
def is_symmetric(blocks: wp.array3d(dtype=Any), block: int, tolerance: Any):
    same = True
    n = blocks.shape[1]
    for i in range(n):
        for j in range(i):
            upper = type(tolerance)(blocks[block, j, i])
            lower = type(tolerance)(blocks[block, i, j])
            if wp.abs(upper - lower) > tolerance * wp.max(wp.abs(upper), wp.abs(lower)):
                same = False
    return same


@wp.kernel(enable_backward=False)
def invert_blocks(
    is_definite: bool,
    tolerance: Any,
    blocks: wp.array3d(dtype=Any),
    work: wp.array3d(dtype=Any),
    inverse: wp.array3d(dtype=Any),
):
    """Inverts each block by elimination in `work`, twice as wide as the block.

    Golub & Van Loan, "Matrix Computations" (4th ed., 2013), section 3.4: rows are exchanged for the largest pivot. With
    `is_definite` they are not, and pivots, those of an L D L^T factorization (section 4.1), must be positive. A block
    with a pivot that is nothing but rounding, or that is not symmetric where it must be, becomes the identity.
    """
    block = wp.tid()
    n = blocks.shape[1]
    largest = work.dtype(0.0)
    for i in range(n):
        for j in range(n):
            value = work.dtype(blocks[block, i, j])
            largest = wp.max(largest, wp.abs(value))
            work[block, i, j] = value
            work[block, i, n + j] = work.dtype(0.0)
        work[block, i, n + i] = work.dtype(1.0)
    is_regular = True
    if is_definite:
        is_regular = is_symmetric(blocks, block, tolerance)
    for k in range(n):
        if is_regular:
            at = k
            least = tolerance * largest
            if is_definite:
                # Relative to its own diagonal element: what elimination took away is all of it.
                least = wp.max(tolerance * work.dtype(blocks[block, k, k]), work.dtype(0.0))
            else:
                for i in range(k + 1, n):
                    if wp.abs(work[block, i, k]) > wp.abs(work[block, at, k]):
                        at = i
            pivot = work[block, at, k]
            size = pivot
            if not is_definite:
                size = wp.abs(pivot)
            if not size > least:
                is_regular = False
            else:
                for j in range(2 * n):
                    value = work[block, at, j] / pivot
                    work[block, at, j] = work[block, k, j]
                    work[block, k, j] = value
                for i in range(n):
                    if i != k:
                        factor = work[block, i, k]
                        for j in range(2 * n):
                            work[block, i, j] = work[block, i, j] - factor * work[block, k, j]
    for i in range(n):
        for j in range(n):
            value = work.dtype(0.0)
            if is_regular:
                value = work[block, i, n + j]
            elif i == j:
                value = work.dtype(1.0)
            inverse[block, i, j] = inverse.dtype(value)


@wp.kernel(enable_backward=False)
def multiply_blocks(
    alpha: Any,
    beta: Any,
    blocks: wp.array3d(dtype=Any),
    x: wp.array2d(dtype=Any),
    y: wp.array2d(dtype=Any),
    z: wp.array2d(dtype=Any),
):
    block, i = wp.tid()
    total = alpha - alpha
    for j in range(blocks.shape[2]):
        total += type(alpha)(blocks[block, i, j]) * type(alpha)(x[block, j])
    total = alpha * total
    if beta != type(beta)(0.0):
        total += beta * type(beta)(y[block, i])
    z[block, i] = z.dtype(total)


def preconditioner(A: Any, ptype: str = "diag") -> LinearOperator | None:
    """An operator near to the inverse of a matrix.

    Args:
        A: A `wp.sparse.BsrMatrix`, a dense array or one of diagonal elements.
        ptype: "diag" inverts the diagonal (0 stays 0), "diag_abs" its absolute values. "block_jacobi_direct" inverts
            the blocks on the diagonal of a matrix with square blocks; "block_jacobi_sequential" and
            "block_jacobi_tile" do where these are symmetric and positive definite. A block that is not, or is
            singular, counts as the identity. "fsai" is `FSAI(A)`. "id" is None.

    Raises:
        ValueError: Another type, or a matrix that the type is not for.
        TypeError: A type of numbers that FSAI has not.
    """
    if ptype not in _TYPES:
        raise ValueError(f"a preconditioner is one of {', '.join(_TYPES)}, not {ptype!r}")
    if ptype == "id":
        return None
    if ptype == "fsai":
        from gridstride.optim.linear._fsai import FSAI

        return FSAI(A)
    if ptype in _BLOCK_TYPES:
        return _block_jacobi(A, ptype)
    use_abs = ptype == "diag_abs"
    if isinstance(A, BsrMatrix):
        if A.block_shape[0] != A.block_shape[1]:
            raise ValueError(f"a diagonal preconditioner needs square blocks, not {A.block_shape}")
        blocks = _diagonal_blocks(A)
        inverse = wp.empty(blocks.shape[:2], dtype=A.scalar_type, device=A.device)
        wp.launch(invert_diagonal, blocks.shape[:2], [use_abs, blocks, inverse], device=A.device)
    elif isinstance(A, array) and A.ndim == 2:
        n = min(A.shape)
        inverse = wp.empty(n, dtype=A.dtype, device=A.device)
        wp.launch(invert_dense_diagonal, n, [use_abs, A, inverse], device=A.device)
    elif isinstance(A, array) and A.ndim == 1:
        flat = numbers(A)
        inverse = wp.empty((flat.size, 1), dtype=flat.dtype, device=A.device)
        wp.launch(invert_diagonal, inverse.shape, [use_abs, flat.reshape((flat.size, 1, 1)), inverse], device=A.device)
    else:
        raise ValueError(f"a diagonal preconditioner is made of a BsrMatrix or an array, not of {A!r}")
    return aslinearoperator(inverse.flatten())


def _diagonal_blocks(A: BsrMatrix) -> array:
    diagonal = bsr_get_diag(A)
    return numbers(diagonal).reshape((diagonal.size, *A.block_shape))


def _block_jacobi(A: Any, ptype: str) -> LinearOperator | None:
    if not isinstance(A, BsrMatrix):
        raise ValueError(f"{ptype} is for a BsrMatrix, not for {A!r}")
    rows, columns = A.block_shape
    if rows != columns:
        raise ValueError(f"{ptype} needs square matrix blocks, not {A.block_shape}")
    if A.nrow != A.ncol:
        raise ValueError(f"{ptype} needs a square matrix, not one of {A.shape}")
    if ptype == "block_jacobi_tile" and A.scalar_type not in (wp.float32, wp.float64):
        raise ValueError(f"{ptype} is for float32 and float64, not {A.scalar_type.__name__}")
    if rows == 1:
        return preconditioner(A, "diag")
    blocks = _diagonal_blocks(A)
    inverse = wp.empty(blocks.shape, dtype=A.scalar_type, device=A.device)
    sums = wide(A.scalar_type)
    work = wp.empty((A.nrow, rows, 2 * rows), dtype=sums, device=A.device)
    tolerance = sums(rows * _EPSILON[A.scalar_type])
    is_definite = ptype != "block_jacobi_direct"
    wp.launch(invert_blocks, A.nrow, [is_definite, tolerance, blocks, work, inverse], device=A.device)
    return LinearOperator(A.shape, A.dtype, A.device, _block_product(inverse, sums))


def _block_product(blocks: array, sums: Any) -> Callable[..., Any]:
    def matvec(x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        shape = blocks.shape[:2]
        if x.ptr == z.ptr:
            x = wp.clone(x)
        vectors = [numbers(one).reshape(shape) for one in (x, y, z)]
        inputs = [sums(alpha), sums(beta), blocks, *vectors]
        wp.launch(multiply_blocks, shape, inputs, device=blocks.device)

    return matvec
