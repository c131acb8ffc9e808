"""A factorized sparse approximate inverse as a preconditioner: `FSAI`.

In: a symmetric positive definite matrix. Out: an operator that multiplies by G^T G, near to the inverse, with a sparse
lower triangular G. Each row is found on its own, by one thread. See `_fsai_kernels` for how.
"""

from __future__ import annotations

import math
from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.optim.linear import _fsai_kernels as kernels
from gridstride.optim.linear._operator import LinearOperator
from gridstride.optim.linear._solver import is_captured
from gridstride.optim.linear._vectors import numbers, wide
from gridstride.sparse import BsrMatrix, bsr_copy, bsr_identity, bsr_zeros
from gridstride.sparse import _build as build

MAX_WIDTH = 64
_FLOORS = {wp.float16: 1e-3, wp.float32: 1e-6, wp.float64: 1e-12}


class FSAI(LinearOperator):
    """A preconditioner for `cg` and `cr`: an adaptive factorized sparse approximate inverse G^T G.

    Blocks are taken as the numbers in them. `update` solves again for the values, with the columns that were chosen.

    Args:
        A: A symmetric positive definite `wp.sparse.BsrMatrix` with square blocks, both triangles stored.
        max_row_size: The most entries of a row of G, 1 to 64. With 1 it is the diagonal preconditioner.
        kap_tolerance: A row grows no more when a step improves it by no more than this part, 0 to 1. 0 never stops.
        pivot_floor: The smallest pivot of a row's equations, relative to the diagonal; a row stops before one below it.
            1e-3, 1e-6, 1e-12 by default, for float16, float32, float64.
        factor_dtype: Type of G's numbers: the matrix's (the default), or float32 for a float64 matrix.
        reuse_pattern: Keeps what `update` needs. The matrix must be compact.
        max_step_size: The most columns that a row grows by at a time.
        regularize_refit: `update` raises pivots that are too small, and makes a row that fails diagonal, instead of
            refusing.
        validate_topology: `update` compares the matrix's structure with the first one. Without it another structure
            gives undefined results.
        defer_pattern: The columns are chosen by the first `update`; until then this is the identity.

    Attributes:
        G, GT: The factor and its transpose.
        source: The matrix of the last construction or update that succeeded.
        truncated_rows: Rows that stopped at a pivot; None with `defer_pattern`.
        update_status: With `reuse_pattern`, counts of the last update, on the device: entries elsewhere than in the
            first matrix, diagonal elements that are not positive, rows that failed, rows with a raised pivot.
        pattern_ready, pattern_status: With `defer_pattern`, on the device: 1 once columns are chosen; counts of their
            choice, rows that stopped at a pivot second and rows that failed third.

    Raises:
        TypeError: A type of numbers other than float16, float32, float64.
        ValueError: Another matrix or option, a diagonal that is not positive, or a factor that its type cannot hold.
    """

    def __init__(
        self,
        A: BsrMatrix,
        max_row_size: int = 8,
        kap_tolerance: float = 1e-3,
        pivot_floor: float | None = None,
        factor_dtype: Any = None,
        reuse_pattern: bool = False,
        max_step_size: int = 1,
        regularize_refit: bool = False,
        validate_topology: bool = True,
        defer_pattern: bool = False,
    ) -> None:
        storage = _checked(A, max_row_size, kap_tolerance, pivot_floor, factor_dtype, max_step_size)
        if defer_pattern and not reuse_pattern:
            raise ValueError("defer_pattern needs reuse_pattern=True: the first update chooses the columns")
        if reuse_pattern and A.row_counts is not None:
            raise ValueError(
                "reuse_pattern needs a compact matrix: call bsr_compress(A, prune_numerical_zeros=False) first"
            )
        super().__init__(A.shape, A.dtype, A.device, self._apply)
        self.source = A
        n = A.shape[0]
        self.G = bsr_identity(n, storage, device=A.device)
        self.GT = bsr_identity(n, storage, device=A.device)
        self._products: dict[int, array] = {}
        floor = _FLOORS[A.scalar_type] if pivot_floor is None else pivot_floor
        refit = _Refit(self, A, max_row_size, max_step_size, kap_tolerance, floor, storage)
        refit.raises, refit.validates = regularize_refit, validate_topology
        self._refit = refit if reuse_pattern else None
        self.update_status = refit.status if reuse_pattern else None
        self.pattern_ready = wp.zeros(1, dtype=int, device=A.device) if defer_pattern else None
        self.pattern_status = refit.pattern_status if defer_pattern else None
        self.truncated_rows: int | None = None
        if not defer_pattern:
            refit.choose(A, raises=False)
            self.truncated_rows = int(refit.pattern_status.numpy()[1])

    def update(self, A: BsrMatrix | None = None) -> FSAI:
        """Solves again for the factor's values, with the columns as they are; gives this preconditioner.

        A matrix that is refused leaves the factor as it was. During a capture nothing is read, so nothing is refused:
        `update_status` tells after each replay.

        Args:
            A: A matrix with other values of the same structure; `source` by default.

        Raises:
            ValueError: No `reuse_pattern`, or a matrix that does not fit, is not positive definite, or whose factor
                cannot be stored.
        """
        if self._refit is None:
            raise ValueError("an update needs reuse_pattern=True")
        A = self.source if A is None else A
        self._refit.update(A)
        self.source = A
        return self

    def _apply(self, x: array, y: array, z: array, alpha: Any, beta: Any) -> None:
        """z = alpha G^T G x + beta y; any of the three may be one array."""
        n = self.G.nrow
        if n == 0:
            return
        number = wide(self.scalar_type)
        # Each stream has its own, so that products on two streams do not meet.
        stream = self.device.stream.handle if self.device.is_cuda else 0
        product = self._products.get(stream)
        if product is None:
            product = self._products[stream] = wp.zeros(n, dtype=number, device=self.device)
        x, y, z = (numbers(one) for one in (x, y, z))
        if alpha == 0.0:
            product.zero_()
        else:
            inputs = [number(1.0), number(0.0), self.G.offsets, self.G.columns, self.G.values, x, product, product]
            wp.launch(kernels.multiply_factor, n, inputs, device=self.device)
        inputs = [number(alpha), number(beta), self.GT.offsets, self.GT.columns, self.GT.values, product, y, z]
        wp.launch(kernels.multiply_factor, n, inputs, device=self.device)


class _Refit:
    """What finds a factor: the matrix as rows of numbers, the columns chosen for each row, the values found last."""

    def __init__(
        self, owner: FSAI, A: BsrMatrix, width: int, step: int, tolerance: float, floor: float, storage: Any
    ) -> None:
        self.owner = owner
        self.device, self.n, self.number = A.device, A.shape[0], wide(A.scalar_type)
        width = min(int(width), max(1, self.n))
        self.tolerance, self.floor = self.number(tolerance), self.number(floor)
        self.select = kernels.selecting(width, min(int(step), width), self.number)
        self.fit = kernels.fitting(width, self.number, storage)
        self.raises, self.validates, self.published = False, True, False
        matrix = A if A.row_counts is None else bsr_copy(A)
        n_entries = matrix.nnz * matrix.block_size
        new = {"device": self.device}
        self.offsets = wp.zeros(self.n + 1, dtype=int, **new)
        self.columns, self.entries = (wp.zeros(n_entries, dtype=int, **new) for _ in range(2))
        structure = [matrix.block_shape[0], matrix.offsets, matrix.columns, matrix.nrow]
        self._launch(kernels.expand_structure, [*structure, self.offsets, self.columns, self.entries], self.n + 1)
        # What an update is compared with.
        self.known = (wp.clone(matrix.offsets), wp.clone(matrix.columns))
        self.facts = (A.nrow, A.ncol, A.dtype, A.device)
        self.values = wp.zeros(n_entries, dtype=self.number, **new)
        self.scale = wp.zeros(self.n, dtype=self.number, **new)
        self.supports = wp.zeros((self.n, width), dtype=int, **new)
        self.counts = wp.zeros(self.n, dtype=int, **new)
        self.fitted = wp.zeros((self.n, width), dtype=storage, **new)
        self.status, self.pattern_status = wp.zeros(4, dtype=int, **new), wp.zeros(3, dtype=int, **new)
        self.order: array | None = None

    def _launch(self, kernel: Any, arguments: list[Any], dim: int | None = None) -> None:
        wp.launch(kernel, self.n if dim is None else dim, arguments, device=self.device)

    def choose(self, A: BsrMatrix, raises: bool) -> None:
        """Chooses the columns and sets the factor. Raises `ValueError`, and leaves the factor, where it cannot be."""
        self._read(A if A.row_counts is None else bsr_copy(A))
        self.pattern_status.zero_()
        inputs = [self.offsets, self.columns, self.values, self.scale, self.tolerance, self.floor]
        self._launch(self.select, [*inputs, self.supports, self.counts, self.pattern_status])
        self._fit(raises)
        found = self.status.numpy()
        if self.n:
            wp.copy(self.pattern_status, self.status, dest_offset=2, src_offset=kernels.FAILED, count=1)
        if not raises:
            _refuse(found)
        G = bsr_zeros(self.n, self.n, self.fitted.dtype, device=self.device)
        if self.n:
            wp.utils.array_scan(self.counts, G.offsets[1:])
        G.notify_nnz_changed()
        rows = wp.zeros(G.nnz, dtype=int, device=self.device)
        self._launch(kernels.sort_columns, [self.supports, self.counts, G.offsets, G.columns, rows])
        GT = bsr_zeros(self.n, self.n, self.fitted.dtype, device=self.device)
        groups = build.coalesce(GT, G.columns, rows, "compact", by_column=True)
        build.ready_values(GT, GT.nnz, False)
        self.order = groups.order
        self.owner.G, self.owner.GT = G, GT
        self._publish(raises)

    def update(self, A: BsrMatrix) -> None:
        """Solves again for the values; the first time of a deferred pattern, chooses the columns."""
        _check_matrix(A)
        if (A.nrow, A.ncol, A.dtype, A.device) != self.facts or A.row_counts is not None:
            raise ValueError("an updated matrix has the shape, dtype, device and compact rows of the first one")
        ready = self.owner.pattern_ready
        if ready is not None and not self.published:
            self.choose(A, self.raises)
            ready.fill_(1)
            self.published = True
            return
        self._read(A)
        self._fit(self.raises)
        self._publish(self.raises)
        if not (self.raises and not self.validates) and not is_captured(self.device):
            self.check()

    def check(self) -> None:
        """Reads the counts. Raises `ValueError` where the factor was left as it was."""
        found = self.status.numpy()
        if found[kernels.MOVED] or not self.raises:
            _refuse(found)

    def _read(self, A: BsrMatrix) -> None:
        """The matrix's numbers and its diagonal."""
        self.status.zero_()
        if self.validates and self.n:
            structure = [A.offsets, A.columns, *self.known]
            self._launch(kernels.count_moved, [*structure, self.status], A.nrow)
        source = numbers(A.values)
        self._launch(kernels.take_values, [self.offsets, self.entries, source, self.status, self.values])
        self._launch(kernels.scale_diagonal, [self.offsets, self.columns, self.values, self.scale, self.status])

    def _fit(self, raises: bool) -> None:
        inputs = [self.offsets, self.columns, self.values, self.scale, self.floor, raises]
        self._launch(self.fit, [*inputs, self.supports, self.counts, self.fitted, self.status])

    def _publish(self, raises: bool) -> None:
        G, GT = self.owner.G, self.owner.GT
        found = [self.supports, self.counts, self.fitted, raises, self.status]
        self._launch(kernels.publish, [*found, G.offsets, G.values])
        self._launch(kernels.permute, [self.order, G.values, GT.values], G.nnz)


def _refuse(found: Any) -> None:
    if found[kernels.MOVED]:
        raise ValueError("the matrix has another sparsity than the one that the preconditioner was made for")
    if found[kernels.INVALID]:
        raise ValueError(f"FSAI needs positive diagonals: {found[kernels.INVALID]} are not, or are missing")
    if found[kernels.FAILED]:
        raise ValueError(
            f"{found[kernels.FAILED]} rows of the factor have no finite values with a positive diagonal: the matrix is "
            "not SPD, or their type cannot hold them"
        )


def _check_matrix(A: Any) -> None:
    if not isinstance(A, BsrMatrix) or A.nrow != A.ncol or A.block_shape[0] != A.block_shape[1]:
        raise ValueError(f"FSAI is for a square BSR matrix with square blocks, not for {A!r}")


def _checked(A: Any, width: Any, tolerance: float, floor: float | None, factor_dtype: Any, step: Any) -> Any:
    """The type of the factor's numbers. Raises `TypeError` or `ValueError` for what FSAI does not take."""
    _check_matrix(A)
    if A.scalar_type not in _FLOORS:
        raise TypeError(f"FSAI is for float16, float32 and float64, not {A.scalar_type.__name__}")
    for name, value in (("max_row_size", width), ("max_step_size", step)):
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value <= MAX_WIDTH:
            raise ValueError(f"{name} is a whole number from 1 to {MAX_WIDTH}, not {value!r}")
    if not (math.isfinite(tolerance) and 0.0 <= tolerance < 1.0):
        raise ValueError(f"kap_tolerance is from 0 to below 1, not {tolerance}")
    if floor is not None and not 0.0 < floor < 1.0:
        raise ValueError(f"pivot_floor is between 0 and 1, not {floor}")
    storage = A.scalar_type if factor_dtype is None else factor_dtype
    if storage is not A.scalar_type and not (A.scalar_type is wp.float64 and storage is wp.float32):
        raise ValueError(f"factor_dtype is {A.scalar_type.__name__}, or float32 for float64, not {factor_dtype!r}")
    return storage
