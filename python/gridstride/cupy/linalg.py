"""`cupy.linalg`: norms, solutions, factors.

`norm` and products are kernels. Factorizations run on the CPU device by NumPy over the same memory; on a GPU `solve`,
`inv` and `det` are a kernel of one thread a matrix, for many small ones, and the others raise `NotImplementedError`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from gridstride import _native
from gridstride.cupy import (
    _array,
    _creation,
    _elementwise,
    _interop,
    _linalg,
    _memory,
    _reduce,
    _reductions,
    _shapes,
    _ufuncs,
)
from gridstride.cupy._linalg import cross, matmul, outer, tensordot, trace, vecdot
from gridstride.numba.cuda import _devices

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm", "matrix_norm",
]  # fmt: skip


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices, of all elements by default. Kernels compute all but 2 and "nuc" of matrices."""
    x = _interop.asarray(x)
    if x._dtype.kind in "biu":
        x = x.astype(float)
    if axis is None and (ord is None or ord in ("f", "fro", 2) and x.ndim <= (2 if ord != 2 else 1)):
        found = _ufuncs.ALL["sqrt"](_reductions.sum(_squares(x.ravel())))
        return found.reshape((1,) * x.ndim) if keepdims else found
    axes = _reduce.axes_of(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    size = _ufuncs.ALL["absolute"](x)
    if ord in (None, "f", "fro"):
        return _ufuncs.ALL["sqrt"](_reductions.sum(_squares(x), axes, keepdims=keepdims))
    given = axes if axis is None else tuple(k % x.ndim for k in axis)
    if ord in (1, -1, np.inf, -np.inf):
        summed, compared = given if ord in (1, -1) else given[::-1]
        lines = _reductions.sum(size, summed, keepdims=True)
        found = (_reductions.max if ord > 0 else _reductions.min)(lines, compared, keepdims=True)
        return found if keepdims else _shapes.squeeze(found, axes)
    return _on_host(np.linalg.norm)(x, ord, axis, keepdims)


def _squares(x: Any) -> Any:
    return x.real**2 + x.imag**2 if x._dtype.kind == "c" else x * x


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in (None, 2):
        return _ufuncs.ALL["sqrt"](_reductions.sum(_squares(x), axes, keepdims=keepdims))
    size = _ufuncs.ALL["absolute"](x)
    if ord in (np.inf, -np.inf):
        return (_reductions.max if ord > 0 else _reductions.min)(size, axes, keepdims=keepdims)
    if ord == 0:
        return _reductions.sum((x != 0).astype(size._dtype), axes, keepdims=keepdims)
    if ord == 1:
        return _reductions.sum(size, axes, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    return _reductions.sum(size ** float(ord), axes, keepdims=keepdims) ** (1.0 / ord)


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along an axis, or of all elements."""
    x = _interop.asarray(x)
    return norm(x.ravel() if axis is None else x, ord, None if axis is None else axis, keepdims)


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices."""
    return norm(x, ord, (-2, -1), keepdims)


def _on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's over the memory of the CPU device."""

    def run(*args: Any, **options: Any) -> Any:
        if _devices.gpu() is not None:
            raise NotImplementedError(
                f"`cupy.linalg.{function.__name__}` does not run on a GPU: `solve`, `inv`, `det` and `norm` do; copy "
                "to the host with cupy.asnumpy and use numpy.linalg"
            )
        given = [one._memory if isinstance(one, _array.ndarray) else one for one in args]
        return _found(function(*given, **options))

    run.__name__ = function.__name__
    run.__doc__ = (
        f"`numpy.linalg.{function.__name__}`, by NumPy on the CPU device. Raises `NotImplementedError` on a GPU."
    )
    return run


def _found(value: Any) -> Any:
    if isinstance(value, tuple):
        found = [_found(one) for one in value]
        return type(value)(*found) if hasattr(value, "_fields") else tuple(found)
    return _array.of_host(np.asarray(value)) if isinstance(value, np.ndarray | np.generic) else value


cholesky, qr, svd, eigh, eigvalsh = (
    _on_host(one) for one in (np.linalg.cholesky, np.linalg.qr, np.linalg.svd, np.linalg.eigh, np.linalg.eigvalsh)
)
eig, eigvals, lstsq, pinv = (
    _on_host(one) for one in (np.linalg.eig, np.linalg.eigvals, np.linalg.lstsq, np.linalg.pinv)
)
cond, matrix_rank, slogdet = (_on_host(one) for one in (np.linalg.cond, np.linalg.matrix_rank, np.linalg.slogdet))


def svdvals(x: Any) -> Any:
    """The singular values of matrices."""
    return svd(x, compute_uv=False)


# Gauss's elimination with the largest element of a column as the pivot; `x` holds the right sides, then the solution.
_ELIMINATION = """
def eliminate(a, x, m, n, columns):
    product = KIND(1)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[m, i, k]) > abs(a[m, best, k]):
                best = i
        pivot = a[m, best, k]
        product = KIND(product * pivot)
        if pivot == 0:
            return product
        if best != k:
            product = KIND(-product)
            for j in range(n):
                t = a[m, k, j]
                a[m, k, j] = a[m, best, j]
                a[m, best, j] = t
            for j in range(columns):
                t = x[m, k, j]
                x[m, k, j] = x[m, best, j]
                x[m, best, j] = t
        for i in range(n):
            if i != k:
                factor = KIND(a[m, i, k] / pivot)
                for j in range(k, n):
                    a[m, i, j] = a[m, i, j] - factor * a[m, k, j]
                for j in range(columns):
                    x[m, i, j] = x[m, i, j] - factor * x[m, k, j]
    for i in range(n):
        for j in range(columns):
            x[m, i, j] = x[m, i, j] / a[m, i, i]
    return product
"""
_SOLVE = """
def solve(a, x, det, n, columns):
    m = tid()
    det[m] = eliminate(a, x, m, n, columns)
"""


@cache
def _solve_kernel(dtype: np.dtype[Any]) -> Any:
    text = _ELIMINATION.replace("KIND", f"t_{dtype.name}")
    names = {"eliminate": _elementwise.device_function("eliminate", text, {})}
    array, elem, i64 = _native.Type.array, _memory.elem(dtype), _native.Type.scalar("i64")
    types = {"a": array(elem, 3), "x": array(elem, 3), "det": array(elem, 1), "n": i64, "columns": i64}
    return _elementwise.kernel("solve", _SOLVE, names, types)


def _eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """The solutions of stacks of systems, and the determinants."""
    n, columns = a._shape[-1], b._shape[-1]
    work, x = a.reshape(-1, n, n).copy(), b.reshape(-1, n, columns).copy()
    det = _array.fresh(a._dtype, (work._shape[0],))
    if det.size:
        _elementwise.launch(_solve_kernel(a._dtype), det.size, [work, x, det, n, columns])
    return x.reshape(b._shape), det.reshape(a._shape[:-2])


def _square(a: Any) -> Any:
    a = _interop.asarray(a)
    if a.ndim < 2 or a._shape[-1] != a._shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return a if a._dtype.kind in "fc" and a._dtype != np.float16 else a.astype(float)


def solve(a: Any, b: Any) -> Any:
    """The solutions of systems of linear equations. Raises `LinAlgError` for a singular matrix."""
    a, b = _square(a), _interop.asarray(b)
    if _devices.gpu() is None:
        return _on_host(np.linalg.solve)(a, b)
    dtype = np.result_type(a._dtype, b._dtype)
    right = b.reshape(-1, 1) if b.ndim == 1 else b
    right = _shapes.broadcast_to(right, (*a._shape[:-2], *right._shape[-2:])).astype(dtype)
    x, det = _eliminated(a.astype(dtype), right)
    if not bool((det != 0).all()):
        raise LinAlgError("Singular matrix")
    return x[..., 0] if b.ndim == 1 else x


def inv(a: Any) -> Any:
    """The inverses of matrices. Raises `LinAlgError` for a singular one."""
    a = _square(a)
    if _devices.gpu() is None:
        return _on_host(np.linalg.inv)(a)
    return solve(a, _shapes.broadcast_to(_creation.eye(a._shape[-1], dtype=a._dtype), a._shape))


def det(a: Any) -> Any:
    """The determinants of matrices."""
    a = _square(a)
    if _devices.gpu() is None:
        return _on_host(np.linalg.det)(a)
    return _eliminated(a, _creation.zeros((*a._shape[:-1], 1), a._dtype))[1]


def matrix_power(M: Any, n: int) -> Any:
    """A square matrix times itself."""
    M = _interop.asarray(M)
    if n < 0:
        M, n = inv(M), -n
    found = _shapes.broadcast_to(_creation.eye(M._shape[-1], dtype=M._dtype), M._shape)
    while n:
        if n & 1:
            found = matmul(found, M)
        M, n = matmul(M, M) if n > 1 else M, n >> 1
    return found


def multi_dot(arrays: Any) -> Any:
    """The product of several matrices, from the left."""
    found = _interop.asarray(arrays[0])
    for one in arrays[1:]:
        found = _linalg.dot(found, one)
    return found
