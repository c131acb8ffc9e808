"""The method of conjugate residuals, with a preconditioner: norms of residuals never grow.

Stiefel, "Relaxationsmethoden bester Strategie zur Loesung linearer Gleichungssysteme" (1955); Saad, "Iterative Methods
for Sparse Linear Systems" (2nd ed., 2003), section 6.8. With a preconditioner M the method runs on M A, in the inner
product of M's inverse: one product with A and one with M an iteration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gridstride as wp
from gridstride._array import array
from gridstride.optim.linear import _cg, _vectors
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
        z_az: wp.array(dtype=Any),
        ap_map: wp.array(dtype=Any),
        has_m: bool,
        p: wp.array(dtype=Any),
        ap: wp.array(dtype=Any),
        m_ap: wp.array(dtype=Any),
        x: wp.array(dtype=Any),
        r: wp.array(dtype=Any),
        z: wp.array(dtype=Any),
    ):
        """x += a p, r -= a A p, z -= a M A p with a preconditioner; not where a subproblem is solved."""
        i = wp.tid()
        batch = batch_of(batches, i)
        if batch >= 0 and r_norm_sq[batch] > atol_sq[batch]:
            a = ratio(z_az[batch], ap_map[batch])
            x[i] = x.dtype(type(a)(x[i]) + a * type(a)(p[i]))
            r[i] = r.dtype(type(a)(r[i]) - a * type(a)(ap[i]))
            if has_m:
                z[i] = z.dtype(type(a)(z[i]) - a * type(a)(m_ap[i]))

    return SimpleNamespace(step=step)


class CR(RestartedSolver):
    """A conjugate residual solver with its memory. Arguments as for `CG`; `A` is symmetric, `M` positive definite."""

    def _allocate(self) -> None:
        self._kernels = kernels_of(self._batches is not None)
        self._moves = _cg.kernels_of(self._batches is not None)
        vectors = (self._vector() for _ in range(6))
        self._r, self._z, self._az, self._p, self._ap, self._m_ap = vectors
        self._z_az, self._z_az_new, self._ap_map = (self._dot.result() for _ in range(3))

    def _start(self) -> None:
        r = self._r
        self._residual(r)
        self._launch(self._moves.begin, [r.flat, r.flat])
        self._dot.compute(r.row, r.flat, self._r_norm_sq)
        z = r
        if self._operands[3] is not None:
            self._precondition(r, self._z)
            z = self._z
            self._launch(self._moves.begin, [z.flat, z.flat])
        self._multiply(z, self._az)
        self._dot.compute(z.row, self._az.flat, self._z_az)
        self._launch(self._moves.begin, [z.flat, self._p.flat])
        self._launch(self._moves.begin, [self._az.flat, self._ap.flat])

    def _iterate(self, is_last: bool) -> None:
        r, z, ap, m_ap = self._r, self._r, self._ap, self._ap
        if self._operands[3] is not None:
            z, m_ap = self._z, self._m_ap
            self._precondition(ap, m_ap)
        self._dot.compute(ap.row, m_ap.flat, self._ap_map)
        norms = [self._r_norm_sq, self._atol_sq, self._z_az, self._ap_map]
        x = self._operands[2]
        self._launch(self._kernels.step, [*norms, z is not r, self._p.flat, ap.flat, m_ap.flat, x.flat, r.flat, z.flat])
        if is_last and self.restart:
            return
        self._dot.compute(r.row, r.flat, self._r_norm_sq)
        self._multiply(z, self._az)
        self._dot.compute(z.row, self._az.flat, self._z_az_new)
        self._launch(self._moves.turn, [self._z_az, self._z_az_new, z.flat, self._p.flat])
        self._launch(self._moves.turn, [self._z_az, self._z_az_new, self._az.flat, ap.flat])
        wp.copy(self._z_az, self._z_az_new)


def cr(
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
    """Solves `A x = b` for a symmetric matrix by conjugate residuals. Arguments and result as for `cg`."""
    state = CR(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph, restart=restart)
    return state() if run else state
