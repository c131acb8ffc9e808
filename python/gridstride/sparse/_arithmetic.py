"""Scaling and sums: `x := a x`, `y := a x + b y`."""

from __future__ import annotations

from typing import Any

from gridstride.sparse import _build, _merge
from gridstride.sparse._assign import bsr_assign, bsr_copy
from gridstride.sparse._create import bsr_zeros
from gridstride.sparse._matrix import BsrMatrix, share, split


class bsr_axpy_work_arrays:  # noqa: N801 - Warp's name
    """Accepted by `bsr_axpy`, which needs no memory that could be kept."""


def bsr_scale(x: Any, alpha: float) -> BsrMatrix:
    """Multiplies a matrix by a number in place, and gives it; by 0 its blocks become zero. The tape has it."""
    matrix, scale = split(x)
    _merge.scale_values(matrix, scale * float(alpha))
    return matrix


def bsr_axpy(
    x: Any,
    y: BsrMatrix | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    work_arrays: bsr_axpy_work_arrays | None = None,
    topology: str | None = None,
) -> BsrMatrix:
    """`y := alpha x + beta y`, which may be one matrix; gives `y`. The tape has it.

    Args:
        x: A matrix, or one times a number.
        y: The other matrix, and the result; a new one by default.
        alpha, beta: Factors.
        work_arrays: Accepted for compatibility.
        topology: "compact" (the default), "padded" (rows of `y` keep their room, `y.status_sync()` tells of one that is
            full), "masked" (`y` keeps its blocks).

    Raises:
        ValueError: Matrices that do not fit.
    """
    topology = _build.topology_of(topology)
    x, scale = split(x)
    alpha = float(alpha) * scale
    beta = float(beta)
    if y is None:
        y = bsr_zeros(x.nrow, x.ncol, x.dtype, device=x.device)
        beta = 0.0
    if (x.nrow, x.ncol) != (y.nrow, y.ncol):
        sizes = f"{x.nrow} x {x.ncol} and {y.nrow} x {y.ncol}"
        raise ValueError(f"Matrices must have the same number of rows and columns, not {sizes}")
    if x.block_shape != y.block_shape or x.scalar_type is not y.scalar_type:
        raise ValueError(f"Matrices must have the same block type, not {x.dtype.__name__} and {y.dtype.__name__}")
    if x.device != y.device:
        raise ValueError(f"Matrices must be on the same device, not {x.device} and {y.device}")
    if x is y:
        _merge.scale_values(y, alpha + beta)
        return y
    if beta == 0.0:
        bsr_assign(y, x * alpha, topology=topology)
        return y
    if topology == "masked":
        _merge.scale_values(y, beta)
        _add(y, x, alpha)
        return y
    inputs = [*_merge.structure(x), *_merge.structure(y)]
    limit = x.nnz + y.nnz if y.device.is_cuda else None
    offsets, columns = _merge.merged(_merge.sum_structure, inputs, y.nrow, y.device, limit)
    old = bsr_copy(y) if topology == "padded" else share(y)
    _merge.adopt(y, offsets, columns, topology)
    _build.ready_values(y, y.nnz, x.requires_grad, fresh=topology == "compact")
    if y.nnz:
        _merge.look_up(old, beta, y.uncompress_rows(), y.columns, y.scalar_values[: y.nnz])
    _add(y, x, alpha)
    return y


def _add(y: BsrMatrix, x: BsrMatrix, alpha: float) -> None:
    if y.nnz and alpha != 0.0:
        target = y.scalar_values[: y.nnz]
        _merge.look_up(x, alpha, y.uncompress_rows(), y.columns, target, keep=True)
