"""Running sums and products, and what is selected by an array of bools.

An axis is cut into pieces. What each piece comes to is found first, then what comes before each, then each piece is
walked from there.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridstride import _native, _types
from gridstride.cupy import _array, _creation, _elementwise, _interop, _memory, _reduce, _whole
from gridstride.numba.cuda import _devices

_I64 = np.dtype(np.int64)


_TEXT = """
def totals(a, out, piece, extent):
    l, p, r = tid()
    first = piece * i64(p)
    out[l, p, r] = total(a, l, first, min(first + piece, extent), r)

def walk(a, before, out, piece, extent):
    l, p, r = tid()
    first = piece * i64(p)
    put(a, before[l, p, r], out, l, first, min(first + piece, extent), r)
"""
_CORES = """
def total(a, l, k, end, r):
    s = EMPTY
    while k < end:
        s = JOIN(s, NAN(a[l, k, r]))
        k += 1
    return s

def put(a, s, out, l, k, end, r):
    while k < end:
        s = JOIN(s, NAN(a[l, k, r]))
        out[l, k, r] = s
        k += 1
    return 0
"""


@cache
def _kernels(
    name: str, given: np.dtype[Any], made: np.dtype[Any], ignores_nan: bool, rank: int, by_rows: bool
) -> tuple[Any, Any]:
    """What pieces come to, and the walk through them; `rank` 2 where there is nothing inside of the axis, and
    `by_rows` where neighbors take a row each."""
    empty = f"t_{made.name}({0 if name == 'add' else 1})"
    join = {"add": "s + (", "multiply": "s * ("}[name]
    element = _elementwise.converted("x", given, made)
    element = f"({empty} if x != x else {element})" if ignores_nan else element
    text = _CORES.replace("EMPTY", empty).replace("JOIN(s, NAN(a[l, k, r]))", f"t_{made.name}({join}{element}))")
    lines = []
    for line in text.strip().splitlines():
        if f"t_{made.name}({join}" in line:
            lines.append("        x = a[l, k, r]")
        lines.append(line)
    text = "\n".join(lines)
    if rank == 2:
        text = text.replace("[l, k, r]", "[l, k]")
    first, second = text.split("\n\n")
    names = {"i64": _types.int64, "min": _elementwise.Builtin("min")}
    names["total"] = _elementwise.device_function("total", first + "\n", {})
    names["put"] = _elementwise.device_function("put", second + "\n", {})
    i64, array = _native.Type.scalar("i64"), _native.Type.array
    one, other = array(_memory.elem(given), rank), array(_memory.elem(made), rank)
    texts = _TEXT.strip()
    if rank == 2:
        texts = (
            texts.replace("[l, p, r]", "[l, p]")
            .replace("l, p, r =", "p, l =" if by_rows else "l, p =")
            .replace(", r)", ", 0)")
        )
    sums, walks = texts.split("\n\n")
    return (
        _elementwise.kernel("totals", sums + "\n", names, {"a": one, "out": other, "piece": i64, "extent": i64}),
        _elementwise.kernel(
            "walk", walks + "\n", names, {"a": one, "before": other, "out": other, "piece": i64, "extent": i64}
        ),
    )


def scan(name: str, a: Any, axis: int, made: np.dtype[Any], ignores_nan: bool = False) -> Any:
    """Running sums ("add") or products ("multiply") along an axis, of dtype `made`."""
    from gridstride.cupy import _indexing

    is_whole = a._shape[axis] == a.size and name == "add" and not ignores_nan
    if is_whole and made.kind in "iuf" and made.itemsize >= 4 and _whole.fits(a):
        return _whole.running_sums(a.reshape(-1), made).reshape(a._shape)
    memory = _indexing.three(a, axis)
    if memory is None:
        a = a.copy()
        memory = _indexing.three(a, axis)
    source = _array.view(a, memory)
    out = _array.fresh(made, source._shape)
    if out.size:
        _run(name, source, out, ignores_nan and a._dtype.kind in "fc")
    found = out.reshape(a._shape)
    found.base = None
    return found


def _run(name: str, source: Any, out: Any, ignores_nan: bool) -> None:
    left, extent, right = source._shape
    # Enough pieces for all threads of the device, and no more levels than two.
    pieces = max(1, min(-(-extent // 512), 65536 // (left * right) or 1))
    piece = -(-extent // pieces)
    pieces = -(-extent // piece)
    rank = 2 if right == 1 else 3
    by_rows = rank == 2 and left > pieces
    totals, walk = _kernels(name, source._dtype, out._dtype, ignores_nan, rank, by_rows)
    shape = (left, pieces, right)
    dim = (pieces, left) if by_rows else shape[:rank]
    before = _array.fresh(out._dtype, shape)
    _creation.copyto(before, 0 if name == "add" else 1, "unsafe")

    def seen(one: Any) -> Any:
        return _array.view(one, one._memory[..., 0]) if rank == 2 else one

    if pieces > 1:
        found = _array.fresh(out._dtype, shape)
        _elementwise.launch(totals, dim, [seen(source), seen(found), piece, extent])
        summed = _array.fresh(out._dtype, shape)
        _run(name, found, summed, False)
        before[:, 1:] = summed[:, :-1]
    _elementwise.launch(walk, dim, [seen(source), seen(before), seen(out), piece, extent])


def _accumulated(name: str, a: Any, axis: Any, dtype: Any, out: Any, ignores_nan: bool = False) -> Any:
    from gridstride.cupy import _reductions

    a = _interop.asarray(a)
    if axis is None:
        a, axis = a.ravel(), 0
    (axis,) = _reduce.axes_of(axis, a.ndim)
    made = _reductions._sum_dtype(a, dtype)
    if _array.are_few(a) and not ignores_nan and made != np.float16:
        with np.errstate(all="ignore"):
            found = _array.over(getattr(np, name).accumulate(a._host, axis, made))
    else:
        found = scan(name, a, axis, made, ignores_nan)
    if out is None:
        return found
    _creation.copyto(out, found, casting="unsafe")
    return out


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums along an axis, or of all elements in row-major order."""
    return _accumulated("add", a, axis, dtype, out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products along an axis, or of all elements in row-major order."""
    return _accumulated("multiply", a, axis, dtype, out)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As `cumsum`; NaNs count as 0."""
    return _accumulated("add", a, axis, dtype, out, True)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """As `cumprod`; NaNs count as 1."""
    return _accumulated("multiply", a, axis, dtype, out, True)


def of_ufunc(name: str, array: Any, axis: int, dtype: Any, out: Any) -> Any:
    """`ufunc.accumulate`."""
    if name not in ("add", "multiply"):
        raise ValueError(f"`{name}.accumulate` is not available: add and multiply have it")
    return _accumulated(name, array, axis, dtype, out)


def selected(mask: Any) -> Any:
    """The places of the elements of a one-dimensional array of bools that are true."""
    if _devices.gpu() is None:
        return _array.over(np.flatnonzero(mask._host))
    if not _whole.fits(mask):
        raise NotImplementedError("an array of bools that selects has less than 2^31 elements")
    return _whole.selected(mask) if mask.size else _array.fresh(_I64, (0,))


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbors along an axis, `n` times over."""
    from gridstride.cupy import _shapes, _ufuncs

    a = _interop.asarray(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    (axis,) = _reduce.axes_of(axis, a.ndim)
    ends = []
    for one in (prepend, append):
        if one is not None:
            one = _interop.asarray(one)
            shape = (*a._shape[:axis], 1, *a._shape[axis + 1 :])
            one = _shapes.broadcast_to(one, shape) if one.ndim == 0 else one
        ends.append(one)
    parts = [one for one in (ends[0], a, ends[1]) if one is not None]
    a = _shapes.concatenate(parts, axis) if len(parts) > 1 else a
    function = _ufuncs.ALL["not_equal" if a._dtype.kind == "b" else "subtract"]
    before = (slice(None),) * axis
    for _ in range(n):
        a = function(a[(*before, slice(1, None))], a[(*before, slice(None, -1))])
    return a


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbors, with values before and after them."""
    from gridstride.cupy import _shapes

    found = [None if one is None else _interop.asarray(one).ravel() for one in (to_begin, to_end)]
    made = diff(_interop.asarray(ary).ravel())
    return _shapes.concatenate([one for one in (found[0], made, found[1]) if one is not None])


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by trapezoids."""
    from gridstride.cupy import _reductions

    y = _interop.asarray(y)
    steps: Any = dx
    if x is not None:
        x = _interop.asarray(x)
        steps = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = steps.size
            steps = steps.reshape(shape)
    (axis,) = _reduce.axes_of(axis, y.ndim)
    before = (slice(None),) * axis
    high, low = y[(*before, slice(1, None))], y[(*before, slice(None, -1))]
    return _reductions.sum(steps * (high + low) / 2.0, axis)
