"""The stabilized method of biconjugate gradients, for matrices that are not symmetric.

van der Vorst, "Bi-CGSTAB: A Fast and Smoothly Converging Variant of Bi-CG for the Solution of Nonsymmetric Linear
Systems" (1992); Saad, "Iterative Methods for Sparse Linear Systems" (2nd ed., 2003), section 7.4.2. With a left
preconditioner the stabilizing step makes M r shortest, with a right one r; the residual is that of the system in both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.optim.linear import _cg, _vectors
from gridstride.optim.linear._operator import LinearOperator
from gridstride.optim.linear._solver import LinearSolverState

ratio = _vectors.ratio


@functools.cache
def kernels_of(is_batched: bool) -> SimpleNamespace:
    """The kernels over vectors, of one system or of several."""
    batch_of = _vectors.batching(is_batched)

    @wp.kernel(enable_backward=False, module="unique")
    def turn_twice(
        batches: wp.array(dtype=int),
        rho: wp.array(dtype=Any),
        rho_new: wp.array(dtype=Any),
        r0_v: wp.array(dtype=Any),
        ts: wp.array(dtype=Any),
        tt: wp.array(dtype=Any),
        r_norm_sq: wp.array(dtype=Any),
        atol_sq: wp.array(dtype=Any),
        v: wp.array(dtype=Any),
        r: wp.array(dtype=Any),
        p: wp.array(dtype=Any),
    ):
        """p = r + b (p - w v) with b = (rho' / rho) (a / w) and a = rho / (r0, v)"""
        i = wp.tid()
        batch = batch_of(batches, i)
        if batch >= 0 and r_norm_sq[batch] > atol_sq[batch]:
            w = ratio(ts[batch], tt[batch])
            b = ratio(rho_new[batch], w * r0_v[batch])
            p[i] = p.dtype(type(b)(r[i]) + b * (type(b)(p[i]) - w * type(b)(v[i])))

    return SimpleNamespace(turn_twice=turn_twice)


class BiCGSTAB(LinearSolverState):
    """A BiCGSTAB solver with its memory.

    Args:
        A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph: See `LinearSolverState`.
        is_left_preconditioner: On which side of `A` the preconditioner is.

    Whether there is a preconditioner stays as it was when the solver was made.
    """

    def __init__(
        self,
        A: Any,
        b: array,
        x: array,
        tol: float | None = None,
        atol: float | None = None,
        maxiter: float | None = 0,
        M: Any = None,
        callback: Callable[..., Any] | None = None,
        check_every: int = 10,
        use_cuda_graph: bool = True,
        is_left_preconditioner: bool = False,
    ) -> None:
        self.is_left_preconditioner = is_left_preconditioner
        super().__init__(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)

    def _allocate(self) -> None:
        self._kernels = kernels_of(self._batches is not None)
        self._moves = _cg.kernels_of(self._batches is not None)
        self._r, self._r0, self._p, self._v, self._t = (self._vector() for _ in range(5))
        if self.M is not None:
            self._y, self._z = self._vector(), self._vector()
            self._mt = self._vector() if self.is_left_preconditioner else self._t
        self._rho, self._rho_new, self._r0_v, self._ts, self._tt = (self._dot.result() for _ in range(5))

    def _check_compatible(self, A: LinearOperator, b: array, x: array, M: LinearOperator | None) -> None:
        super()._check_compatible(A, b, x, M)
        if (M is None) != (self.M is None):
            made = "without" if self.M is None else "with"
            raise ValueError(f"the solver was made {made} a preconditioner, and is called {made} one")

    def _start(self) -> None:
        self._residual(self._r)
        for one in (self._r, self._r0, self._p):
            self._launch(self._moves.begin, [self._r.flat, one.flat])
        self._dot.compute(self._r.row, self._r.flat, self._r_norm_sq)
        wp.copy(self._rho, self._r_norm_sq)

    def _cycle(self) -> None:
        r, p, v, t = self._r, self._p, self._v, self._t
        y, z, mt, ms = p, r, t, r
        x = self._operands[2]
        if self.M is not None:
            y, z = self._y, self._z
            self._precondition(p, y)
        self._multiply(y, v)
        self._dot.compute(self._r0.row, v.flat, self._r0_v)
        norms = [self._r_norm_sq, self._atol_sq]
        # r is then the s of the literature.
        self._launch(self._moves.step, [*norms, self._rho, self._r0_v, y.flat, v.flat, x.flat, r.flat])
        if self.M is not None:
            self._precondition(r, z)
        self._multiply(z, t)
        if self.M is not None and self.is_left_preconditioner:
            mt, ms = self._mt, z
            self._precondition(t, mt)
        self._dot.compute(mt.row, ms.flat, self._ts)
        self._dot.compute(mt.row, mt.flat, self._tt)
        self._launch(self._moves.step, [*norms, self._ts, self._tt, z.flat, t.flat, x.flat, r.flat])
        self._dot.compute(r.row, r.flat, self._r_norm_sq)
        self._dot.compute(self._r0.row, r.flat, self._rho_new)
        coefficients = [self._rho, self._rho_new, self._r0_v, self._ts, self._tt]
        self._launch(self._kernels.turn_twice, [*coefficients, *norms, v.flat, r.flat, p.flat])
        wp.copy(self._rho, self._rho_new)


def bicgstab(
    A: Any,
    b: array,
    x: array,
    tol: float | None = None,
    atol: float | None = None,
    maxiter: float | None = 0,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    check_every: int = 10,
    use_cuda_graph: bool = True,
    is_left_preconditioner: bool = False,
    run: bool = True,
) -> Any:
    """Solves `A x = b` for any matrix by BiCGSTAB.

    Args:
        A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, is_left_preconditioner: See `BiCGSTAB`.
        run: With False the solver is given back, to be called.

    Returns: what calling `BiCGSTAB` gives: iterations, norm of the residual, tolerance.
    """
    state = BiCGSTAB(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, is_left_preconditioner)
    return state() if run else state
