"""The method of generalized minimal residuals with restarts, for matrices that are not symmetric.

Saad & Schultz, "GMRES: A Generalized Minimal Residual Algorithm for Solving Nonsymmetric Linear Systems" (1986); Saad,
"Iterative Methods for Sparse Linear Systems" (2nd ed., 2003), sections 6.5 and 9.3. A new direction is made orthogonal
to all others at once, twice (Giraud, Langou & Rozloznik, "The loss of orthogonality in the Gram-Schmidt
orthogonalization process", 2005): two launches instead of one for each direction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import gridstride as wp
from gridstride._array import array
from gridstride.optim.linear import _cg, _vectors
from gridstride.optim.linear._solver import LinearSolverState

ratio = _vectors.ratio


@wp.kernel(enable_backward=False)
def close_column(
    n_batches: int,
    n_rows: int,
    least: Any,
    first: wp.array(dtype=Any),
    second: wp.array(dtype=Any),
    norm_sq: wp.array(dtype=Any),
    column: wp.array(dtype=Any),
    scale: wp.array(dtype=Any),
):
    """A column of the Hessenberg matrix. What is left of a direction is dropped where it is nothing but rounding."""
    batch = wp.tid()
    total = norm_sq[batch]
    for row in range(n_rows):
        at = row * n_batches + batch
        h = first[at] + second[at]
        column[at] = h
        total += h * h
    below = column.dtype(0.0)
    if norm_sq[batch] > least * least * total:
        below = wp.sqrt(norm_sq[batch])
    column[n_rows * n_batches + batch] = below
    scale[batch] = ratio(column.dtype(1.0), below)


@wp.kernel(enable_backward=False)
def least_squares(
    n_batches: int,
    k: int,
    norm_sq: wp.array(dtype=Any),
    columns: wp.array2d(dtype=Any),
    cosines: wp.array(dtype=Any),
    sines: wp.array(dtype=Any),
    g: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
):
    """y with the least norm of |r| e1 - H y, by plane rotations; Saad, section 6.5.3."""
    batch = wp.tid()
    g[batch] = wp.sqrt(norm_sq[batch])
    for j in range(k):
        for i in range(j):
            at = i * n_batches + batch
            upper = columns[j, at]
            lower = columns[j, at + n_batches]
            columns[j, at] = cosines[at] * upper + sines[at] * lower
            columns[j, at + n_batches] = cosines[at] * lower - sines[at] * upper
        at = j * n_batches + batch
        upper = columns[j, at]
        lower = columns[j, at + n_batches]
        length = wp.sqrt(upper * upper + lower * lower)
        cosine = y.dtype(1.0)
        sine = y.dtype(0.0)
        if length > y.dtype(0.0):
            cosine = upper / length
            sine = lower / length
        cosines[at] = cosine
        sines[at] = sine
        columns[j, at] = length
        g[at + n_batches] = -sine * g[at]
        g[at] = cosine * g[at]
    for m in range(k):
        i = k - 1 - m
        at = i * n_batches + batch
        total = g[at]
        for j in range(i + 1, k):
            total -= columns[j, at] * y[j * n_batches + batch]
        y[at] = ratio(total, columns[i, at])


@functools.cache
def kernels_of(is_batched: bool) -> SimpleNamespace:
    """The kernels over vectors, of one system or of several."""
    batch_of = _vectors.batching(is_batched)

    @wp.kernel(enable_backward=False, module="unique")
    def begin_basis(
        batches: wp.array(dtype=int),
        norm_sq: wp.array(dtype=Any),
        r: wp.array(dtype=Any),
        v: wp.array(dtype=Any),
    ):
        """v = r / |r|"""
        i = wp.tid()
        batch = batch_of(batches, i)
        value = v.dtype(0.0)
        if batch >= 0:
            value = v.dtype(ratio(type(norm_sq[0])(r[i]), wp.sqrt(norm_sq[batch])))
        v[i] = value

    @wp.kernel(enable_backward=False, module="unique")
    def subtract_projections(
        batches: wp.array(dtype=int),
        n_batches: int,
        n_rows: int,
        coefficients: wp.array(dtype=Any),
        basis: wp.array2d(dtype=Any),
        w: wp.array(dtype=Any),
    ):
        i = wp.tid()
        batch = batch_of(batches, i)
        if batch >= 0:
            total = coefficients.dtype(w[i])
            for row in range(n_rows):
                total -= coefficients[row * n_batches + batch] * coefficients.dtype(basis[row, i])
            w[i] = w.dtype(total)

    @wp.kernel(enable_backward=False, module="unique")
    def scale_direction(
        batches: wp.array(dtype=int), scale: wp.array(dtype=Any), w: wp.array(dtype=Any), v: wp.array(dtype=Any)
    ):
        i = wp.tid()
        batch = batch_of(batches, i)
        value = v.dtype(0.0)
        if batch >= 0:
            value = v.dtype(scale[batch] * scale.dtype(w[i]))
        v[i] = value

    @wp.kernel(enable_backward=False, module="unique")
    def combine(
        batches: wp.array(dtype=int),
        n_batches: int,
        k: int,
        y: wp.array(dtype=Any),
        basis: wp.array2d(dtype=Any),
        out: wp.array(dtype=Any),
    ):
        i = wp.tid()
        batch = batch_of(batches, i)
        total = y.dtype(0.0)
        if batch >= 0:
            for row in range(k):
                total += y[row * n_batches + batch] * y.dtype(basis[row, i])
        out[i] = out.dtype(total)

    @wp.kernel(enable_backward=False, module="unique")
    def move(batches: wp.array(dtype=int), step: wp.array(dtype=Any), x: wp.array(dtype=Any)):
        i = wp.tid()
        if batch_of(batches, i) >= 0:
            x[i] = x[i] + step[i]

    return SimpleNamespace(
        begin_basis=begin_basis,
        subtract_projections=subtract_projections,
        scale_direction=scale_direction,
        combine=combine,
        move=move,
    )


class GMRES(LinearSolverState):
    """A GMRES solver with its memory.

    Args:
        A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph: See `LinearSolverState`.
        restart: Directions that are kept: after as many iterations the method begins again. All iterations between two
            restarts are done.
        is_left_preconditioner: On which side of `A` the preconditioner is.

    The preconditioner may change, come and go between calls.
    """

    def __init__(
        self,
        A: Any,
        b: array,
        x: array,
        tol: float | None = None,
        atol: float | None = None,
        restart: int = 31,
        maxiter: float | None = 0,
        M: Any = None,
        callback: Callable[..., Any] | None = None,
        check_every: int = 31,
        use_cuda_graph: bool = True,
        is_left_preconditioner: bool = False,
    ) -> None:
        if restart < 1:
            raise ValueError(f"restart is 1 or more, not {restart}")
        self.restart = int(restart)
        self.is_left_preconditioner = is_left_preconditioner
        super().__init__(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)

    def _n_rows(self) -> int:
        return self.restart

    def _allocate(self) -> None:
        self._kernels = kernels_of(self._batches is not None)
        self._moves = _cg.kernels_of(self._batches is not None)
        k = self._cycle_size = max(1, min(self.restart, int(np.ceil(self.maxiter)), self.n))
        dot = self._dot
        self._basis = wp.zeros((k + 1, self.n), dtype=self.scalar_type, device=self.device)
        self._directions = [self._direction(row) for row in range(k + 1)]
        self._r, self._w, self._u = (self._vector() for _ in range(3))
        self._columns = wp.zeros((k, (k + 1) * dot.n_batches), dtype=dot.dtype, device=self.device)
        self._first, self._second, self._cosines, self._sines, self._y = (dot.result(k) for _ in range(5))
        self._g = dot.result(k + 1)
        self._norm_sq, self._scale = dot.result(), dot.result()
        storage = {wp.float16: 1e-3, wp.bfloat16: 1e-2, wp.float32: 1.2e-7}
        self._least = dot.dtype(4.0 * storage.get(self.scalar_type, 2.2e-16))

    def _direction(self, row: int) -> _vectors.Vector:
        """A row of the basis as a vector of the system."""
        flat = self._basis[row]
        if self._dtype._shape_ == ():
            return _vectors.Vector(flat.reshape(self._shape))
        inner = self._dtype._shape_
        return _vectors.Vector(flat.reshape((*self._shape, *inner)).view(self._dtype).reshape(self._shape))

    def _start(self) -> None:
        r = self._r
        self._residual(r)
        self._launch(self._moves.begin, [r.flat, r.flat])
        self._dot.compute(r.row, r.flat, self._r_norm_sq)

    def _cycle(self) -> None:
        dot, k = self._dot, self._cycle_size
        M, is_left = self._operands[3], self.is_left_preconditioner
        r, norm_sq = self._r, self._r_norm_sq
        if M is not None and is_left:
            r, norm_sq = self._u, self._norm_sq
            self._precondition(self._r, r)
            dot.compute(r.row, r.flat, norm_sq)
        wp.copy(self._norm_sq, norm_sq)
        self._launch(self._kernels.begin_basis, [self._norm_sq, r.flat, self._directions[0].flat])
        for j in range(k):
            self._add_direction(j)
        inputs = [dot.n_batches, k, self._norm_sq, self._columns, self._cosines, self._sines, self._g, self._y]
        wp.launch(least_squares, dot.n_batches, inputs, device=self.device)
        step = self._u
        self._launch(self._kernels.combine, [dot.n_batches, k, self._y, self._basis, step.flat])
        if M is not None and not is_left:
            self._precondition(self._u, self._w)
            step = self._w
        self._launch(self._kernels.move, [step.flat, self._operands[2].flat])
        self._start()

    def _add_direction(self, j: int) -> None:
        dot, w, v = self._dot, self._w, self._directions[j]
        if self._operands[3] is None:
            self._multiply(v, w)
        elif self.is_left_preconditioner:
            self._multiply(v, self._u)
            self._precondition(self._u, w)
        else:
            self._precondition(v, self._u)
            self._multiply(self._u, w)
        for coefficients in (self._first, self._second):
            dot.compute(self._basis, w.flat, coefficients, j + 1)
            self._launch(self._kernels.subtract_projections, [dot.n_batches, j + 1, coefficients, self._basis, w.flat])
        dot.compute(w.row, w.flat, self._scale)
        column = self._columns[j]
        inputs = [dot.n_batches, j + 1, self._least, self._first, self._second, self._scale, column, self._scale]
        wp.launch(close_column, dot.n_batches, inputs, device=self.device)
        self._launch(self._kernels.scale_direction, [self._scale, w.flat, self._directions[j + 1].flat])


def gmres(
    A: Any,
    b: array,
    x: array,
    tol: float | None = None,
    atol: float | None = None,
    restart: int = 31,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    check_every: int = 31,
    use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False,
    run: bool = True,
) -> Any:
    """Solves `A x = b` for any matrix by GMRES with restarts.

    Args:
        A, b, x, tol, atol, restart, maxiter, M, callback, check_every, use_cuda_graph, is_left_preconditioner: See
            `GMRES`.
        run: With False the solver is given back, to be called.

    Returns: what calling `GMRES` gives: iterations, norm of the residual, tolerance.
    """
    state = GMRES(
        A, b, x, tol, atol, restart, maxiter, M, callback, check_every, use_cuda_graph, is_left_preconditioner
    )
    return state() if run else state
