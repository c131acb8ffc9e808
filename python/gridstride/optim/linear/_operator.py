"""Linear operators: what a solver needs of a matrix is how it multiplies a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gridstride as wp
from gridstride import _native
from gridstride._array import array
from gridstride._vector import vector_base
from gridstride.optim.linear._vectors import numbers
from gridstride.sparse import BsrMatrix, bsr_mv


class LinearOperator:
    """A linear operator by its product with a vector.

    Args:
        shape: Rows and columns of numbers.
        dtype: Type of its elements: a number's, or a block's.
        device: Where it computes.
        matvec: `matvec(x, y, z, alpha, beta)` sets `z` to `alpha (A x) + beta y`; `z` may be `y`.
        batch_offsets: Where each of several independent subproblems begins among the numbers of a vector, and where the
            last one ends: numbers behind that belong to none and stay as they are.
        max_batch_length: The most numbers of a subproblem; less work where it is known.

    Raises:
        ValueError: `max_batch_length` without `batch_offsets`.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        device: Any,
        matvec: Callable[..., Any],
        batch_offsets: array | None = None,
        max_batch_length: int | None = None,
    ) -> None:
        if max_batch_length is not None and batch_offsets is None:
            raise ValueError("max_batch_length requires batch_offsets")
        self._shape = tuple(shape)
        self._dtype = dtype
        self._device = wp.get_device(device)
        self._matvec = matvec
        self._batch_offsets = batch_offsets
        self._max_batch_length = max_batch_length

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of numbers; for an array of diagonal elements, its own shape."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """Type of the elements."""
        return self._dtype

    @property
    def device(self) -> Any:
        """Where the operator computes."""
        return self._device

    @property
    def matvec(self) -> Callable[..., Any]:
        """`matvec(x, y, z, alpha, beta)` sets `z` to `alpha (A x) + beta y`."""
        return self._matvec

    @property
    def scalar_type(self) -> Any:
        """Type of the numbers in an element."""
        return wp.types.type_scalar_type(self._dtype)

    @property
    def batch_offsets(self) -> array | None:
        """Where each subproblem begins, and the last one ends; None for one over all."""
        return self._batch_offsets

    @property
    def batch_count(self) -> int:
        """Number of subproblems."""
        return 1 if self._batch_offsets is None else self._batch_offsets.size - 1

    @property
    def max_batch_length(self) -> int | None:
        """The most numbers of a subproblem, if given."""
        return self._max_batch_length


def aslinearoperator(A: Any, batch_offsets: array | None = None, max_batch_length: int | None = None) -> LinearOperator:
    """A matrix as an operator.

    Args:
        A: A `wp.sparse.BsrMatrix`; an array with two dimensions, dense; with one, the diagonal (of numbers, vectors or
            blocks); or an operator, which is given back.
        batch_offsets, max_batch_length: See `LinearOperator`.

    Raises:
        ValueError: What is no matrix, or `max_batch_length` without `batch_offsets`.
    """
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, BsrMatrix):
        shape, matvec = A.shape, _sparse(A)
    elif isinstance(A, array) and A.ndim == 2 and A.dtype._shape_ == ():
        shape, matvec = A.shape, _dense(A)
    elif isinstance(A, array) and A.ndim == 1:
        shape, matvec = A.shape, _diagonal(A)
    else:
        raise ValueError(f"a linear operator is made of a BsrMatrix, or an array of 1 or 2 dimensions, not of {A!r}")
    return LinearOperator(shape, A.dtype, A.device, matvec, batch_offsets, max_batch_length)


def _sparse(A: BsrMatrix) -> Callable[..., Any]:
    def matvec(x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        if beta != 0.0 and z is not y and not _is_same(z, y):
            wp.copy(z, y)
        bsr_mv(A, x, z, alpha, beta)

    return matvec


def _is_same(z: array, y: array) -> bool:
    return z.ptr == y.ptr and z.shape == y.shape and z.strides == y.strides


@wp.kernel
def multiply_dense(
    alpha: Any,
    beta: Any,
    A: wp.array2d(dtype=Any),
    x: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
    z: wp.array(dtype=Any),
):
    row = wp.tid()
    total = z.dtype()
    for column in range(A.shape[1]):
        total += A[row, column] * x[column]
    total = alpha * total
    if beta != type(beta)(0.0):
        total += beta * y[row]
    z[row] = total


@wp.kernel
def multiply_diagonal(
    alpha: Any,
    beta: Any,
    A: wp.array(dtype=Any),
    x: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
    z: wp.array(dtype=Any),
):
    i = wp.tid()
    total = z.dtype()
    if alpha != type(alpha)(0.0):
        total = alpha * (A[i] * x[i])
    if beta != type(beta)(0.0):
        total += beta * y[i]
    z[i] = total


def _dense(A: array) -> Callable[..., Any]:
    def matvec(x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        if _native.overlap(x, z):
            x = wp.clone(x)
        inputs = [A.dtype(alpha), A.dtype(beta), A, numbers(x), numbers(y)]
        wp.launch(multiply_dense, A.shape[0], inputs, [numbers(z)], device=A.device)

    return matvec


def _diagonal(A: array) -> Callable[..., Any]:
    scalar = A.dtype._wp_scalar_type_
    is_vector = isinstance(A.dtype, type) and issubclass(A.dtype, vector_base)
    elements = numbers(A) if is_vector else A

    def matvec(x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        vectors = [_like(elements, numbers(one)) for one in (x, y, z)]
        inputs = [scalar(alpha), scalar(beta), elements, *vectors[:2]]
        wp.launch(multiply_diagonal, elements.size, inputs, [vectors[2]], device=A.device)

    return matvec


def _like(elements: array, flat: array) -> array:
    """Numbers as the vectors that the diagonal's elements multiply."""
    if elements.dtype._shape_ == ():
        return flat
    width = elements.dtype._shape_[1]
    return flat.reshape((elements.size, width)).view(wp.types.vector(width, flat.dtype)).reshape((elements.size,))
