"""Scaling and sums: `x := a x`, `y := a x + b y`."""

from __future__ import annotations

from typing import Any

import gridstride as wp
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
    _check_sum(x, y)
    if x is y:
        _merge.scale_values(y, alpha + beta)
        return y
    if beta == 0.0:
        bsr_assign(y, x * alpha, topology=topology)
        return y
    if topology == "masked":
        _merge.scale_values(y, beta)
        if y.nnz and alpha != 0.0:
            target = y.scalar_values[: y.nnz]
            _merge.look_up(x, alpha, y.uncompress_rows(), y.columns, target, keep=True)
        return y
    # The result may be written where an operand is read: padded rows stay where they are.
    old = bsr_copy(y, topology="padded") if topology == "padded" else share(y)
    add_into(y, x, alpha, old, beta, topology)
    return y


def add_into(z: BsrMatrix, x: BsrMatrix, alpha: float, y: BsrMatrix, beta: float, topology: str = "compact") -> None:
    """z = alpha x + beta y, with a structure of its own."""
    inputs = [*_merge.structure(x), *_merge.structure(y)]
    bound = x.nnz + y.nnz if z.device.is_cuda else None
    sources = _merge.merged(_merge.sum_structure, inputs, z, topology, extra=2, bound=bound)
    grad = x.requires_grad or y.requires_grad
    _build.ready_values(z, z.nnz, grad, fresh=topology == "compact")
    if z.nnz:
        inputs = [z.scalar_type(alpha), z.scalar_type(beta), *sources, x.scalar_values, y.scalar_values]
        wp.launch(_merge.add_blocks_of_two, z.nnz, inputs, [z.scalar_values], device=z.device)


def bsr_sum(x: Any, y: Any, sign: float) -> BsrMatrix:
    """A new matrix `x + sign y`. Raises `ValueError` for matrices that do not fit."""
    (x, alpha), (y, beta) = split(x), split(y)
    _check_sum(x, y)
    z = bsr_zeros(x.nrow, x.ncol, x.dtype, device=x.device)
    if x is y:
        bsr_assign(z, x * (alpha + sign * beta))
    else:
        add_into(z, x, alpha, y, sign * beta)
    return z


def _check_sum(x: BsrMatrix, y: BsrMatrix) -> None:
    if (x.nrow, x.ncol) != (y.nrow, y.ncol):
        sizes = f"{x.nrow} x {x.ncol} and {y.nrow} x {y.ncol}"
        raise ValueError(f"Matrices must have the same number of rows and columns, not {sizes}")
    if x.block_shape != y.block_shape or x.scalar_type is not y.scalar_type:
        raise ValueError(f"Matrices must have the same block type, not {x.dtype.__name__} and {y.dtype.__name__}")
    if x.device != y.device:
        raise ValueError(f"Matrices must be on the same device, not {x.device} and {y.device}")
