"""What the solvers share: operands, memory that is kept between calls, tolerances, and the loop over iterations.

A solver gives two steps: `_start` from the right-hand side and the initial guess, and `_cycle`, some iterations; both
launch kernels and read nothing. Every `check_every` iterations the loop reads the squared norms of the residuals. On a
GPU the cycles between two checks are captured as a graph.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import gridstride as wp
from gridstride import _host_graph
from gridstride._array import array
from gridstride._kernel import Kernel
from gridstride.optim.linear._operator import LinearOperator, aslinearoperator
from gridstride.optim.linear._vectors import Dot, Vector, name_batches

_TOLERANCES = {wp.float16: 1e-3, wp.bfloat16: 1e-2, wp.float32: 1e-6, wp.float64: 1e-12}


@wp.kernel(enable_backward=False)
def set_tolerances(tol: Any, atol: Any, b_norm_sq: wp.array(dtype=Any), atol_sq: wp.array(dtype=Any)):
    batch = wp.tid()
    atol_sq[batch] = wp.max(atol * atol, tol * tol * b_norm_sq[batch])


@wp.kernel(enable_backward=False)
def count_cycle(n: int, r_norm_sq: wp.array(dtype=Any), atol_sq: wp.array(dtype=Any), iteration: wp.array(dtype=int)):
    """Adds the iterations of a cycle while a subproblem is not solved yet."""
    going = 0
    for batch in range(r_norm_sq.shape[0]):
        if r_norm_sq[batch] > atol_sq[batch]:
            going = 1
    iteration[0] = iteration[0] + n * going
    iteration[1] = going


class LinearSolverState:
    """A solver with its memory, which solves when it is called. Made by `CG`, `CR`, `BiCGSTAB`, `GMRES`.

    Args:
        A: The matrix: an operator or what `aslinearoperator` takes.
        b: The right-hand side.
        x: The initial guess, and the solution.
        tol: Tolerance for the residual's norm, relative to that of `b`.
        atol: Absolute tolerance; the larger of both counts. One alone is taken for both.
        maxiter: The most iterations; 0 is as many as the system has rows.
        M: A preconditioner: an operator that is near to the inverse of `A`.
        callback: Called as `callback(iteration, norm, tolerance)` at every check; a kernel with `check_every=0`.
        check_every: Iterations between two checks of the residual. 0 reads nothing from a device that is not the host.
        use_cuda_graph: On a GPU, whether iterations are captured as a graph: products must then not allocate.
    """

    # Iterations of a cycle.
    _cycle_size = 1

    def __init__(
        self,
        A: Any,
        b: array,
        x: array,
        tol: float | None = None,
        atol: float | None = None,
        maxiter: float | None = 0,
        M: Any = None,
        callback: Callable[..., Any] | Kernel | None = None,
        check_every: int = 10,
        use_cuda_graph: bool = True,
    ) -> None:
        if type(self) is LinearSolverState:
            raise TypeError("LinearSolverState is the base of CG, CR, BiCGSTAB and GMRES: make one of these")
        self.A = aslinearoperator(A)
        self.b, self.x = b, x
        self.M = None if M is None else aslinearoperator(M)
        self.callback = callback
        self.check_every = int(check_every)
        self.use_cuda_graph = use_cuda_graph
        self.device = self.A.device
        self.scalar_type = self.A.scalar_type
        given = [one for one in (tol, atol) if one is not None]
        default = given[0] if given else _TOLERANCES.get(self.scalar_type)
        if default is None:
            raise ValueError(f"linear systems have float numbers, not {self.scalar_type.__name__}")
        self.tol = default if tol is None else tol
        self.atol = default if atol is None else atol
        self._shape, self._dtype = b.shape, b.dtype
        self._check_compatible(self.A, b, x, self.M)
        n = Vector(b).flat.size
        self.n = n
        self.maxiter = maxiter if maxiter else n
        offsets = self.A.batch_offsets
        self._dot = Dot(n, self.scalar_type, self.device, offsets, self.A.max_batch_length, self._n_rows())
        # The subproblem of each number, where not all are of one.
        self._batches: array | None = None
        if offsets is not None:
            self._batches = wp.full(n, -1, dtype=int, device=self.device)
            wp.launch(name_batches, offsets.size - 1, [offsets, self._batches], device=self.device)
        self._atol_sq, self._r_norm_sq, self._b_norm_sq = (self._dot.result() for _ in range(3))
        self._cur_iter_and_condition = wp.zeros(2, dtype=int, device=self.device)
        self._graph: tuple[Any, Any, int] | None = None
        self._allocate()

    # What a solver gives.

    def _n_rows(self) -> int:
        """Vectors that are multiplied with one at a time, at most."""
        return 1

    def _allocate(self) -> None:
        """Makes the solver's vectors."""
        raise NotImplementedError

    def _start(self) -> None:
        """Sets the solver up for `self._operands`, and the norms of the residuals."""
        raise NotImplementedError

    def _cycle(self) -> None:
        """Does `_cycle_size` iterations, and sets the norms of the residuals."""
        raise NotImplementedError

    # For solvers.

    def _vector(self) -> Vector:
        return Vector(wp.zeros(self._shape, dtype=self._dtype, device=self.device))

    def _launch(self, kernel: Kernel, arguments: list[Any]) -> None:
        """A launch over all numbers of a vector, with their subproblems first."""
        batches = self._cur_iter_and_condition if self._batches is None else self._batches
        wp.launch(kernel, self.n, [batches, *arguments], device=self.device)

    def _multiply(self, x: Vector, z: Vector) -> None:
        """z = A x"""
        self._operands[0].matvec(x.array, z.array, z.array, 1.0, 0.0)

    def _precondition(self, x: Vector, z: Vector) -> None:
        """z = M x"""
        M = self._operands[3]
        M.matvec(x.array, z.array, z.array, 1.0, 0.0)

    def _residual(self, r: Vector) -> None:
        """r = b - A x"""
        A, b, x, _ = self._operands
        A.matvec(x.array, b.array, r.array, -1.0, 1.0)

    # Solving.

    def _check_compatible(self, A: LinearOperator, b: array, x: array, M: LinearOperator | None) -> None:
        """Raises `ValueError` for operands that do not fit the memory of this solver."""
        for name, one in (("b", b), ("x", x)):
            if one.shape != self._shape or one.dtype is not self._dtype or one.device != self.device:
                raise ValueError(
                    f"`{name}` must be like the right-hand side that the solver was made for, of shape {self._shape} "
                    f"and type {self._dtype.__name__} on {self.device}, not {one!r} on {one.device}"
                )
        n = b.size * b.dtype._length_
        for name, one in (("A", A), ("M", M)):
            if one is None:
                continue
            rows = one.shape[0] * (one.dtype._length_ if len(one.shape) == 1 and len(one.dtype._shape_) == 1 else 1)
            if len(one.shape) == 1 and len(one.dtype._shape_) == 2:
                rows = one.shape[0] * one.dtype._shape_[0]
            if one.scalar_type is not b.dtype._wp_scalar_type_ or one.device != self.device or rows != n:
                raise ValueError(
                    f"`{name}` must be square, with {n} rows of {b.dtype._wp_scalar_type_.__name__} on {self.device}, "
                    f"not of shape {one.shape} with {one.scalar_type.__name__} on {one.device}"
                )
        if A.batch_offsets is not self.A.batch_offsets:
            raise ValueError("`A` must have the batch_offsets that the solver was made for")
        if A.max_batch_length != self.A.max_batch_length:
            raise ValueError("`A` must have the max_batch_length that the solver was made for")

    def __call__(self, A: Any = None, b: array | None = None, x: array | None = None, M: Any = None) -> Any:
        """Solves: for the operands that the solver was made for, or others like them.

        Returns: iterations, norm of the residual, tolerance; of several subproblems those of the one that is furthest
        from its tolerance. With `check_every=0` arrays of the iterations, and of the squares of all norms and
        tolerances.

        Raises:
            ValueError: Operands that do not fit.
        """
        A = self.A if A is None else aslinearoperator(A)
        b = self.b if b is None else b
        x = self.x if x is None else x
        M = self.M if M is None else aslinearoperator(M)
        self._check_compatible(A, b, x, M)
        operands = (A, Vector(b), Vector(x), M)
        known = getattr(self, "_operands", None)
        if known is None or any(_address(a) != _address(b) for a, b in zip(known, operands, strict=True)):
            self._graph = None
        self._operands = operands
        self._dot.compute(operands[1].row, operands[1].flat, self._b_norm_sq)
        tolerances = [self._dot.dtype(one) for one in (self.tol, self.atol)]
        inputs = [*tolerances, self._b_norm_sq, self._atol_sq]
        wp.launch(set_tolerances, self._dot.n_batches, inputs, device=self.device)
        self._start()
        return self._run_unread() if self.check_every == 0 else self._run()

    def _run(self) -> tuple[int, float, float]:
        """The loop that reads the residuals."""
        n_cycles = max(1, self.check_every // self._cycle_size)
        iteration = 0
        while True:
            norm, tolerance = self._worst()
            if self.callback is not None:
                self.callback(iteration, norm, tolerance)
            if norm <= tolerance or iteration >= self.maxiter:
                return iteration, norm, tolerance
            left = math.ceil((self.maxiter - iteration) / self._cycle_size)
            n = min(n_cycles, left)
            self._repeat(n)
            iteration += n * self._cycle_size

    def _worst(self) -> tuple[float, float]:
        """The residual's norm and the tolerance of the subproblem that is furthest from it."""
        norms, tolerances = (one.numpy().astype(float) for one in (self._r_norm_sq, self._atol_sq))
        if not norms.size:
            return 0.0, 0.0
        # A norm that is no number is never below its tolerance.
        excess = np.where(np.isnan(norms), np.inf, norms / np.maximum(tolerances, 1e-300))
        at = int(np.argmax(excess))
        return math.sqrt(norms[at]) if norms[at] >= 0.0 else math.nan, math.sqrt(tolerances[at])

    def _run_unread(self) -> tuple[array, array, array]:
        """The loop that counts on the device. Where the host has the memory too, it looks."""
        looks = not self.device.is_cuda and not is_captured(self.device)
        self._cur_iter_and_condition.zero_()
        for _ in range(math.ceil(self.maxiter / self._cycle_size)):
            inputs = [self._cycle_size, self._r_norm_sq, self._atol_sq, self._cur_iter_and_condition]
            wp.launch(count_cycle, 1, inputs, device=self.device)
            if looks and not self._cur_iter_and_condition.numpy()[1]:
                break
            self._cycle()
            if isinstance(self.callback, Kernel):
                arguments = [self._cur_iter_and_condition, self._r_norm_sq, self._atol_sq]
                wp.launch(self.callback, 1, arguments, device=self.device)
        return self._cur_iter_and_condition[:1], self._r_norm_sq, self._atol_sq

    def _repeat(self, n: int) -> None:
        """Some cycles; on a GPU as a graph, which is kept for the next ones."""
        if not self.device.is_cuda or not self.use_cuda_graph or is_captured(self.device):
            for _ in range(n):
                self._cycle()
            return
        if self._graph is None or self._graph[2] != n:
            # Once without a graph: kernels are compiled, and memory that a product wants to keep is made.
            for _ in range(n):
                self._cycle()
            stream = wp.Stream(self.device)
            with wp.ScopedStream(stream), wp.ScopedCapture(stream=stream) as capture:
                for _ in range(n):
                    self._cycle()
            self._graph = (capture.graph, stream, n)
            return
        wp.capture_launch(self._graph[0])


def _address(operand: Any) -> Any:
    return operand.array.ptr if isinstance(operand, Vector) else operand


def is_captured(device: Any) -> bool:
    """Whether work on a device becomes part of a graph, so that nothing can be read."""
    return device.is_capturing if device.is_cuda else _host_graph.active is not None


class RestartedSolver(LinearSolverState):
    """A solver that can begin anew with the residual of where it is. `_iterate(is_last)` is one iteration.

    Args:
        A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph: See `LinearSolverState`.
        restart: Iterations after which the residual is computed anew and the directions begin again, or None. Checks
            are made there only.
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
        *,
        restart: int | None = None,
    ) -> None:
        self.restart = restart_of(restart)
        self._cycle_size = self.restart or 1
        super().__init__(A, b, x, tol, atol, maxiter, M, callback, check_every, use_cuda_graph)

    def _cycle(self) -> None:
        for n in range(self._cycle_size):
            self._iterate(is_last=n + 1 == self._cycle_size)
        if self.restart:
            self._start()

    def _iterate(self, is_last: bool) -> None:
        raise NotImplementedError


def restart_of(restart: Any) -> int | None:
    """Iterations between two restarts. Raises `TypeError` or `ValueError` for what is no positive number."""
    if restart is None:
        return None
    if isinstance(restart, (bool, np.bool_)) or not hasattr(restart, "__index__"):
        raise TypeError(f"restart is a whole number or None, not {restart!r}")
    if operator.index(restart) < 1:
        raise ValueError(f"restart is 1 or more, not {restart}")
    return operator.index(restart)
