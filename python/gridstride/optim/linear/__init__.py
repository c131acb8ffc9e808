"""`wp.optim.linear`: iterative solvers of linear systems, and what they need of a matrix.

    >>> A = wp.sparse.bsr_diag(wp.array([2.0, 4.0], dtype=float))
    >>> b = wp.array([2.0, 8.0], dtype=float)
    >>> x = wp.zeros_like(b)
    >>> iterations, norm, tolerance = wp.optim.linear.cg(A, b, x, check_every=1)
    >>> x.numpy()
    array([1., 2.], dtype=float32)

A system is `A x = b` with a matrix, dense or sparse, or an operator that multiplies. Several independent systems are
solved together by an operator with `batch_offsets`. The page docs/sparse.md has more.
"""

from gridstride.optim.linear._bicgstab import BiCGSTAB as BiCGSTAB
from gridstride.optim.linear._bicgstab import bicgstab as bicgstab
from gridstride.optim.linear._cg import CG as CG
from gridstride.optim.linear._cg import cg as cg
from gridstride.optim.linear._cr import CR as CR
from gridstride.optim.linear._cr import cr as cr
from gridstride.optim.linear._fsai import FSAI as FSAI
from gridstride.optim.linear._gmres import GMRES as GMRES
from gridstride.optim.linear._gmres import gmres as gmres
from gridstride.optim.linear._operator import LinearOperator as LinearOperator
from gridstride.optim.linear._operator import aslinearoperator as aslinearoperator
from gridstride.optim.linear._preconditioner import preconditioner as preconditioner
from gridstride.optim.linear._solver import LinearSolverState as LinearSolverState
