"""Products of matrices and what is made of them. On the CPU device NumPy multiplies over the same memory, by BLAS."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import (
    _array,
    _creation,
    _elementwise,
    _interop,
    _layout,
    _memory,
    _products,
    _reductions,
    _shapes,
    _ufuncs,
)
from gridstride.numba.cuda import _devices

_PRODUCT = """
def product(a, b, out, n):
    batch, row, column = tid()
    out[batch, row, column] = inner(a, b, batch, row, column, n)
"""
_INNER = """
def inner(a, b, batch, row, column, n):
    s = WIDE(0)
    k = 0
    while k < n:
        s = WIDE(s + WIDE(a[batch, row, k]) * WIDE(b[batch, k, column]))
        k += 1
    return MADE(s)
"""


@cache
def _product_kernel(dtype: np.dtype[Any]) -> Any:
    wide = {"float16": "float32", "bool": "int64"}.get(dtype.name, dtype.name)
    text = _INNER.replace("WIDE", f"t_{wide}").replace("MADE", f"t_{dtype.name}")
    names = {"inner": _elementwise.device_function("inner", text, {})}
    array = _native.Type.array(_memory.elem(dtype), 3)
    types = {"a": array, "b": array, "out": array, "n": _native.Type.scalar("i64")}
    return _elementwise.kernel("product", _PRODUCT, names, types)


def matmul(x1: Any, x2: Any, out: Any = None, *, dtype: Any = None, **_: Any) -> Any:
    """The product of two matrices, or of stacks of them; of vectors as rows and columns.

    Raises `ValueError` for numbers, and for extents that do not fit.
    """
    a, b = _interop.asarray(_ufuncs.operand(x1)), _interop.asarray(_ufuncs.operand(x2))
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    wanted = np.result_type(a._dtype, b._dtype) if dtype is None else np.dtype(dtype)
    row, column = a.ndim == 1, b.ndim == 1
    a = a.reshape(1, -1) if row else a
    b = b.reshape(-1, 1) if column else b
    if a._shape[-1] != b._shape[-2]:
        raise ValueError(
            f"matmul: Input operand 1 has a mismatch in its core dimension 0: size {b._shape[-2]} is different from "
            f"{a._shape[-1]}"
        )
    lead = _layout.broadcast([a._shape[:-2], b._shape[:-2]])
    made = _array.fresh(wanted, (*lead, a._shape[-2], b._shape[-1]))
    a, b = a.astype(wanted, copy=False), b.astype(wanted, copy=False)
    if _devices.gpu() is None:
        np.matmul(a._memory, b._memory, out=made._memory)
    elif made.size:
        n = math.prod(lead)
        left, right = (
            _shapes.broadcast_to(one, (*lead, *one._shape[-2:])).reshape(n, *one._shape[-2:]) for one in (a, b)
        )
        _multiply(left, right, made.reshape(n, *made._shape[-2:]))
    if row:
        made = made[..., 0, :]
    if column:
        made = made[..., 0]
    if out is not None:
        _creation.copyto(out, made)
        return out
    return made


def _multiply(left: Any, right: Any, out: Any) -> None:
    """Products of matrices one by one, on a GPU."""
    n, rows, columns = out._shape
    if columns == 1:
        _add_up(left * right.transpose(0, 2, 1), 2, out.reshape(n, rows))
    elif rows == 1:
        _add_up(left.transpose(0, 2, 1) * right, 1, out.reshape(n, columns))
    elif out._dtype.kind == "c" or not left._shape[2]:
        _elementwise.launch(_product_kernel(out._dtype), out._shape, [left, right, out, left._shape[2]])
    else:
        _products.multiply(left, right, out)


def _add_up(products: Any, axis: int, out: Any) -> None:
    if out._dtype.kind == "b":
        _reductions.any(products, axis, out=out)
    else:
        _reductions.sum(products, axis, dtype=out._dtype, out=out)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The product of numbers, vectors, matrices: the sum over the last axis of `a` and the last but one of `b`."""
    a, b = _interop.asarray(a), _interop.asarray(b)
    if not a.ndim or not b.ndim:
        return _ufuncs.ALL["multiply"](a, b, out=out)
    if a.ndim == 1 and b.ndim == 1:
        if a.size != b.size:
            raise ValueError(f"shapes {a._shape} and {b._shape} not aligned: {a.size} (dim 0) != {b.size} (dim 0)")
        return _stored(_inner(a, b), out)
    if b.ndim <= 2:
        return matmul(a, b, out)
    return _stored(tensordot(a, b, ([a.ndim - 1], [b.ndim - 2])), out)


def _stored(found: Any, out: Any) -> Any:
    if out is None:
        return found
    _creation.copyto(out, found)
    return out


def _inner(a: Any, b: Any) -> Any:
    dtype = np.result_type(a._dtype, b._dtype)
    return matmul(a.astype(dtype, copy=False).reshape(1, -1), b.astype(dtype, copy=False).reshape(-1, 1)).reshape(())


def vdot(a: Any, b: Any) -> Any:
    """The sum of products of all elements, those of `a` conjugated."""
    a, b = _interop.asarray(a).ravel(), _interop.asarray(b).ravel()
    return dot(a.conj() if a._dtype.kind == "c" else a, b)


def inner(a: Any, b: Any) -> Any:
    """The sum of products over the last axes."""
    a, b = _interop.asarray(a), _interop.asarray(b)
    if not a.ndim or not b.ndim:
        return a * b
    return tensordot(a, b, ([-1], [-1]))


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of an element of `a` and one of `b`."""
    a, b = _interop.asarray(a).ravel(), _interop.asarray(b).ravel()
    return _ufuncs.ALL["multiply"](a.reshape(-1, 1), b, out=out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes."""
    a, b = _interop.asarray(a), _interop.asarray(b)
    if isinstance(axes, int):
        first, second = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        first, second = ([one] if isinstance(one, int) else list(one) for one in axes)
    first, second = [k % a.ndim for k in first], [k % b.ndim for k in second]
    if [a._shape[k] for k in first] != [b._shape[k] for k in second]:
        raise ValueError("shape-mismatch for sum")
    rows, columns = [k for k in range(a.ndim) if k not in first], [k for k in range(b.ndim) if k not in second]
    n = math.prod(a._shape[k] for k in first)
    left = a.transpose((*rows, *first)).reshape(-1 if a.size else math.prod(a._shape[k] for k in rows), n)
    right = b.transpose((*second, *columns)).reshape(n, -1 if b.size else math.prod(b._shape[k] for k in columns))
    shape = tuple(a._shape[k] for k in rows) + tuple(b._shape[k] for k in columns)
    return matmul(left, right).reshape(shape)


def einsum(subscripts: str, *operands: Any, dtype: Any = None, optimize: Any = None) -> Any:
    """Sums of products by letters of the axes, "ij,jk->ik"."""
    arrays = [_interop.asarray(one) for one in operands]
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(arrays):
        raise ValueError("the number of operands does not fit the subscripts")
    terms = [_without_ellipsis(term, one) for term, one in zip(terms, arrays, strict=True)]
    letters = "".join(terms)
    if not arrow:
        output = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    elif "..." in output:
        dots = "".join(sorted({one for one in letters if one.isdigit()}))
        output = output.replace("...", dots)
    extents: dict[str, int] = {}
    for k, (term, one) in enumerate(zip(terms, arrays, strict=True)):
        if len(term) != one.ndim:
            raise ValueError(
                f"einstein sum subscripts string {term!r} does not fit an operand of {one.ndim} dimensions"
            )
        # A letter that is there twice is the diagonal.
        while len(set(term)) < len(term):
            letter = next(x for x in term if term.count(x) > 1)
            i, j = [at for at, x in enumerate(term) if x == letter][:2]
            one = _shapes.diagonal(one, 0, i, j)
            term = "".join(x for at, x in enumerate(term) if at not in (i, j)) + letter
        terms[k], arrays[k] = term, one
        for letter, extent in zip(term, one._shape, strict=True):
            if extents.setdefault(letter, extent) not in (extent, 1) and extent != 1:
                raise ValueError(f"operands have different extents for {letter!r}: {extents[letter]} and {extent}")
            extents[letter] = max(extents[letter], extent)
    while len(arrays) > 1:
        later = output + "".join(terms[2:])
        arrays[:2], terms[:2] = _pair(arrays[0], terms[0], arrays[1], terms[1], later)
    found, term = arrays[0], terms[0]
    summed = tuple(at for at, letter in enumerate(term) if letter not in output)
    found = _reductions.sum(found, summed, dtype=found._dtype) if summed else found
    term = "".join(letter for letter in term if letter in output)
    found = found.transpose(tuple(term.index(letter) for letter in output)) if output else found
    return found if dtype is None else found.astype(dtype)


def _without_ellipsis(term: str, array: Any) -> str:
    if "..." not in term:
        return term
    n = array.ndim - len(term) + 3
    return term.replace("...", "".join(str(9 - k) for k in reversed(range(n))))


def _pair(a: Any, left: str, b: Any, right: str, later: str) -> tuple[list[Any], list[str]]:
    """The sum of products of two operands over the letters that nothing else has, by products of matrices."""
    common = [one for one in left if one in right]
    summed = [one for one in common if one not in later]
    batch = [one for one in common if one in later]
    rows, columns = [one for one in left if one not in right], [one for one in right if one not in left]
    if any(a._shape[left.index(one)] != b._shape[right.index(one)] for one in common):
        # An extent of 1 stretches.
        shape_a = tuple(max(a._shape[left.index(x)], b._shape[right.index(x)] if x in right else 0) for x in left)
        shape_b = tuple(max(b._shape[right.index(x)], a._shape[left.index(x)] if x in left else 0) for x in right)
        a, b = _shapes.broadcast_to(a, shape_a), _shapes.broadcast_to(b, shape_b)

    def extents(letters: list[str]) -> tuple[int, ...]:
        return tuple(a._shape[left.index(x)] if x in left else b._shape[right.index(x)] for x in letters)

    def size(letters: list[str]) -> int:
        return math.prod(extents(letters))

    x = a.transpose(tuple(left.index(one) for one in (*batch, *rows, *summed)))
    y = b.transpose(tuple(right.index(one) for one in (*batch, *summed, *columns)))
    x, y = x.reshape(size(batch), size(rows), size(summed)), y.reshape(size(batch), size(summed), size(columns))
    found = matmul(x, y).reshape(extents([*batch, *rows, *columns]))
    return [found], ["".join([*batch, *rows, *columns])]


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """The sum of a diagonal."""
    return _reductions.sum(_shapes.diagonal(a, offset, axis1, axis2), -1, dtype, out)


def kron(a: Any, b: Any) -> Any:
    """Copies of `b` times each element of `a`."""
    a, b = _interop.asarray(a), _interop.asarray(b)
    rank = max(a.ndim, b.ndim)
    a, b = a.reshape((1,) * (rank - a.ndim) + a._shape), b.reshape((1,) * (rank - b.ndim) + b._shape)
    x = a.reshape(tuple(one for extent in a._shape for one in (extent, 1)))
    y = b.reshape(tuple(one for extent in b._shape for one in (1, extent)))
    return (x * y).reshape(tuple(m * n for m, n in zip(a._shape, b._shape, strict=True)))


def cross(a: Any, b: Any, axis: int = -1) -> Any:
    """The cross products of vectors of three components along an axis."""
    a, b = _interop.asarray(a), _interop.asarray(b)
    x, y = _shapes.moveaxis(a, axis, 0), _shapes.moveaxis(b, axis, 0)
    if x._shape[0] != 3 or y._shape[0] != 3:
        raise ValueError("incompatible vector sizes: both arrays need 3 components along the axis")
    parts = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return _shapes.stack(parts, axis)


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The sums of products along an axis, those of `x1` conjugated."""
    x1 = _interop.asarray(x1)
    return _reductions.sum((x1.conj() if x1._dtype.kind == "c" else x1) * x2, axis)
