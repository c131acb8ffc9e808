"""The method of conjugate gradients, with a preconditioner.

Hestenes & Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems" (1952); Saad, "Iterative Methods for
Sparse Linear Systems" (2nd ed., 2003), sections 6.7 and 9.2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.optim.linear import _vectors
from gridstride.optim.linear._solver import RestartedSolver

ratio = _vectors.ratio


@functools.cache
def kernels_of(is_batched: bool) -> SimpleNamespace:
    """The kernels over vectors, of one system or of several."""
    batch_of = _vectors.batching(is_batched)

    @wp.kernel(enable_backward=False, module="unique")
    def step(
        batches: wp.array(dtype=int),
        r_norm_sq: wp.array(dtype=Any),
        atol_sq: wp.array(dtype=Any),
        rz: wp.array(dtype=Any),
        p_ap: wp.array(dtype=Any),
        p: wp.array(dtype=Any),
        ap: wp.array(dtype=Any),
        x: wp.array(dtype=Any),
        r: wp.array(dtype=Any),
    ):
        """x += a p, r -= a A p; not where a subproblem is solved."""
        i = wp.tid()
        batch = batch_of(batches, i)
        if batch >= 0 and r_norm_sq[batch] > atol_sq[batch]:
            a = ratio(rz[batch], p_ap[batch])
            x[i] = x.dtype(type(a)(x[i]) + a * type(a)(p[i]))
            r[i] = r.dtype(type(a)(r[i]) - a * type(a)(ap[i]))

    @wp.kernel(enable_backward=False, module="unique")
    def turn(
        batches: wp.array(dtype=int),
        old: wp.array(dtype=Any),
        new: wp.array(dtype=Any),
        z: wp.array(dtype=Any),
        p: wp.array(dtype=Any),
    ):
        """p = z + (new / old) p"""
        i = wp.tid()
        batch = batch_of(batches, i)
        if batch >= 0:
            b = ratio(new[batch], old[batch])
            p[i] = p.dtype(type(b)(z[i]) + b * type(b)(p[i]))

    @wp.kernel(enable_backward=False, module="unique")
    def begin(batches: wp.array(dtype=int), z: wp.array(dtype=Any), p: wp.array(dtype=Any)):
        """p = z, and zero where there is no subproblem: what is there stays out of all products."""
        i = wp.tid()
        value = p.dtype(0.0)
        if batch_of(batches, i) >= 0:
            value = z[i]
        p[i] = value

    return SimpleNamespace(step=step, turn=turn, begin=begin)


class CG(RestartedSolver):
    """A conjugate gradient solver with its memory; `A` and `M` are symmetric and positive definite.

    Args:
        A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart: See `RestartedSolver`.

    The preconditioner may change, come and go between calls.
    """

    def _allocate(self) -> None:
        self._kernels = kernels_of(self._batches is not None)
        self._r, self._p, self._ap, self._z = (self._vector() for _ in range(4))
        self._rz, self._rz_new, self._p_ap = (self._dot.result() for _ in range(3))

    def _start(self) -> None:
        self._residual(self._r)
        self._dot.compute(self._r.row, self._r.flat, self._r_norm_sq)
        z = self._preconditioned()
        self._dot.compute(z.row, self._r.flat, self._rz)
        self._launch(self._kernels.begin, [z.flat, self._p.flat])

    def _preconditioned(self) -> Any:
        if self._operands[3] is None:
            return self._r
        self._precondition(self._r, self._z)
        return self._z

    def _iterate(self, is_last: bool) -> None:
        r, p, ap = self._r, self._p, self._ap
        self._multiply(p, ap)
        self._dot.compute(p.row, ap.flat, self._p_ap)
        norms = [self._r_norm_sq, self._atol_sq]
        x = self._operands[2]
        self._launch(self._kernels.step, [*norms, self._rz, self._p_ap, p.flat, ap.flat, x.flat, r.flat])
        if is_last and self.restart:
            return
        self._dot.compute(r.row, r.flat, self._r_norm_sq)
        z = self._preconditioned()
        if z is r:
            # The inner product that the direction needs is the norm.
            wp.copy(self._rz_new, self._r_norm_sq)
        else:
            self._dot.compute(z.row, r.flat, self._rz_new)
        self._launch(self._kernels.turn, [self._rz, self._rz_new, z.flat, p.flat])
        wp.copy(self._rz, self._rz_new)


def cg(
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
    run: bool = True,
    *,
    restart: int | None = None,
) -> Any:
    """Solves `A x = b` for a symmetric positive definite matrix by conjugate gradients.

    Args:
        A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart: See `CG`.
        run: With False the solver is given back, to be called.

    Returns: what calling `CG` gives: iterations, norm of the residual, tolerance.
    """
    state = CG(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return state() if run else state
