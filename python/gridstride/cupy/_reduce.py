"""Kernels that bring many elements together: sums, extremes, their places.

In: an array as outer x reduced x inner elements. What is reduced is cut into pieces, and a thread takes every `lanes`th
element of a piece; what the threads found is reduced in the same way until one is left. Where there is nothing inside,
neighboring threads take neighboring elements, so that lanes read what lies side by side.

    fold(x, o, start, lanes, rounds, more, i):
        s = identity
        for r in range(rounds): s = s + x[o, start + r * lanes, i]
        if more: s = s + x[o, start + rounds * lanes, i]

A `Fold` says what is kept of the elements (one or several numbers), and how two of these are brought together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _block_reduce, _elementwise, _layout, _memory
from gridstride.numba.cuda import _devices

# Threads that share a piece of what lies in one row, and elements that are worth a thread of their own.
_LANES = 64
_PIECE = 4096
_MOST_PIECES = 256
_MOST_PIECES_OF_GPUS = 1 << 14


class Fold:
    """What a reduction keeps.

    Args:
        name: For messages and profiles.
        source: The dtype of the elements, x in the texts; k is an element's place along the axis.
        kept: The dtypes of what is kept.
        first: What is kept of one element, an expression for each number kept.
        join: What is kept of two, by p0, p1 … and q0, q1 …; p is of elements before q.
        last: The result, by p0, p1 … and n, the number of elements.
        result: The dtype of the result.
        empty: What is kept of no elements, or None where there must be one.
        lines: Statements before `join`'s expressions.
        ordered_lines: As `lines`, where q is of one element behind all those of p.
        walk: Another way through the elements of a thread: statements before the first x, for each x, and at the end,
            which set p0, p1 …
    """

    def __init__(
        self,
        name: str,
        source: np.dtype[Any],
        kept: Sequence[np.dtype[Any]],
        first: Sequence[str],
        join: Sequence[str],
        last: str,
        result: np.dtype[Any],
        empty: Sequence[str] | None,
        lines: Sequence[str] = (),
        names: dict[str, Any] | None = None,
        ordered_lines: Sequence[str] | None = None,
        walk: tuple[Sequence[str], Sequence[str], Sequence[str]] | None = None,
    ) -> None:
        self.name, self.source, self.kept, self.result = name, source, tuple(kept), result
        self.first, self.join, self.last, self.empty = first, join, last, empty
        self.lines, self.names = lines, names or {}
        self.ordered_lines = lines if ordered_lines is None else ordered_lines
        self.walk = walk
        self.kernels: dict[Any, Any] = {}


def _typed(texts: Sequence[str], kept: Sequence[np.dtype[Any]]) -> list[str]:
    return [f"t_{dtype.name}({text})" for text, dtype in zip(texts, kept, strict=True)]


def _core_text(fold: Fold, is_first: bool, is_last: bool, rank: int, arguments: Sequence[str]) -> str:
    """The function that a thread runs over its elements."""
    m = len(fold.kept)
    p, q = [f"p{j}" for j in range(m)], [f"q{j}" for j in range(m)]
    at = "[o, k, i]" if rank == 3 else "[o, k]"
    taken = _typed(fold.first, fold.kept) if is_first else [f"a{j}{at}" for j in range(m)]
    joined = ", ".join(_typed(fold.join, fold.kept))
    read = [f"x = x_{at}"] if is_first else []
    begin, end, skipped = [], [], 0
    if is_first and fold.walk:
        begin = ["k = start", *read, *fold.walk[0]]
        each, end = [*read, *fold.walk[1]], list(fold.walk[2])
    else:
        each = [*read, f"{', '.join(q)} = {', '.join(taken)}", *(fold.ordered_lines if is_first else fold.lines)]
        each.append(f"{', '.join(p)} = {joined}")
        if fold.empty is None:
            # There is an element: the first one begins.
            begin, skipped = ["k = start", *read, f"{', '.join(p)} = {', '.join(taken)}"], 1
        else:
            begin = [f"{', '.join(p)} = {', '.join(_typed(fold.empty, fold.kept))}"]
    lines = [*begin, f"for r in range({skipped}, rounds):", "    k = start + r * lanes", *(f"    {x}" for x in each)]
    lines += ["if more:", "    k = start + rounds * lanes", *(f"    {x}" for x in each), *end]
    lines.append(f"return t_{fold.result.name}({fold.last})" if is_last else f"return {', '.join(p)}")
    head = f"def core({', '.join(arguments)}, o, start, lanes, rounds, more, i, n):"
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"


def _make_kernel(fold: Fold, is_first: bool, is_last: bool, rank: int, by_rows: bool) -> _native.Kernel:
    """The kernel of one step; `rank` 2 where there is nothing inside, `by_rows` where neighbors take a row each."""
    m = len(fold.kept)
    arguments = ["x_"] if is_first else [f"a{j}" for j in range(m)]
    core = _elementwise.device_function("core", _core_text(fold, is_first, is_last, rank, arguments), fold.names)
    outs = ["out"] if is_last else [f"r{j}" for j in range(m)]
    # Neighboring threads are along what is inside, or else along the lanes of a piece.
    index, lane = ("o, s, i", "0") if rank == 3 else ("o, s * lanes + i64(l)", "i64(l)")
    threads = "o, s, i" if rank == 3 else "o, s, l"
    if by_rows:
        index, lane, threads = "o, s", "0", "s, o"
    body = [
        f"def cupy_{fold.name}({', '.join([*arguments, *outs, 'piece', 'lanes', 'extent', 'n'])}):",
        f"    {threads} = tid()",
        "    first = piece * i64(s)",
        "    count = min(piece, extent - first)",
        "    rounds = count / lanes",
        f"    more = rounds * lanes + {lane} < count",
    ]
    call = f"core({', '.join(arguments)}, o, first + {lane}, lanes, rounds, more, {'i' if rank == 3 else '0'}, n)"
    index = index.replace("s * lanes", "i64(s) * lanes")
    if len(outs) == 1:
        body.append(f"    {outs[0]}[{index}] = {call}")
    else:
        body.append(f"    {', '.join(f'v{j}' for j in range(m))} = {call}")
        body += [f"    r{j}[{index}] = v{j}" for j in range(m)]
    array, i64 = _native.Type.array, _native.Type.scalar("i64")
    given = [fold.source] if is_first else list(fold.kept)
    made = [fold.result] if is_last else list(fold.kept)
    types = {
        name: array(_memory.elem(dtype), rank) for name, dtype in zip([*arguments, *outs], [*given, *made], strict=True)
    }
    types |= dict.fromkeys(["piece", "lanes", "extent", "n"], i64)
    from gridstride import _types

    names = {"core": core, "i64": _types.int64, "min": _elementwise.Builtin("min")}
    return _elementwise.kernel(f"cupy_{fold.name}", "\n".join(body) + "\n", names, types)


def cut(extent: int, inner: int, threads: int) -> tuple[int, int]:
    """The elements of a piece, and the threads that share one."""
    lanes, pieces = 1, 1
    most = _MOST_PIECES if _devices.gpu() is None else _MOST_PIECES_OF_GPUS
    if extent > 16 and threads < 16 * most:
        if inner == 1:
            lanes = _LANES if extent >= 1024 else 16 if extent >= 128 else 1
        pieces = min(max(1, extent // (_PIECE if lanes > 1 else 256)), most, max(1, 256 * most // (threads * lanes)))
    # Whole rounds of lanes, but for the last piece.
    piece = -(-extent // pieces)
    piece = -(-piece // lanes) * lanes
    last = extent - (-(-extent // piece) - 1) * piece if piece else 0
    # Every thread has an element, where no elements have no value.
    return (piece, lanes) if last >= lanes else _cut_for_all(extent, piece, lanes)


def _cut_for_all(extent: int, piece: int, lanes: int) -> tuple[int, int]:
    while lanes > 1 and extent - (-(-extent // piece) - 1) * piece < lanes:
        piece += lanes
        if piece >= extent:
            return extent, lanes if extent >= lanes else 1
    return piece, lanes


def _step(fold: Fold, arrays: Sequence[Any], extents: tuple[int, int, int], n: int) -> Any:
    """What is left of the elements of an array, by the way of the device that launches run on."""
    if _devices.gpu() is None:
        return _step_of_threads(fold, True, arrays, extents, n)
    return _block_reduce.step(fold, True, arrays, extents, n)


def _step_of_threads(fold: Fold, is_first: bool, arrays: Sequence[Any], extents: tuple[int, int, int], n: int) -> Any:
    """One step over outer x reduced x inner elements: what its threads found is reduced until one is left."""
    outer, extent, inner = extents
    piece, lanes = cut(extent, inner, outer * inner)
    pieces = -(-extent // piece) if extent else 1
    slots = pieces * lanes
    is_last, rank = slots == 1, 2 if inner == 1 else 3
    by_rows = rank == 2 and lanes == 1
    key = is_first, is_last, rank, by_rows
    kernel = fold.kernels.get(key)
    if kernel is None:
        kernel = fold.kernels[key] = _make_kernel(fold, is_first, is_last, rank, by_rows)
    shape = (outer, slots, inner)[:rank]
    outs = [_array.fresh(dtype, shape) for dtype in ([fold.result] if is_last else fold.kept)]
    dim = (pieces, outer) if by_rows else (outer, pieces, lanes if rank == 2 else inner)
    _elementwise.launch(kernel, dim, [*arrays, *outs, piece, lanes, extent, n])
    if is_last:
        return outs[0]
    return _step_of_threads(fold, False, outs, (outer, slots, inner), n)


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that an argument names, in order. Raises `numpy.exceptions.AxisError`, `ValueError`."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = []
    for one in given:
        one = one.__index__()
        if not -rank <= one < rank:
            raise np.exceptions.AxisError(one, rank)
        found.append(one % rank)
    if len(dict.fromkeys(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(found))


def arranged(a: Any, axes: Sequence[int]) -> tuple[Any, tuple[int, int, int], list[int]]:
    """An array as outer x reduced x inner elements, without a copy where it lies so; and the order of the axes kept."""
    kept = [axis for axis in range(a.ndim) if axis not in axes]
    strides = a.strides
    ordered = sorted(range(a.ndim), key=lambda axis: (a._shape[axis] != 1, -abs(strides[axis])))
    groups: list[tuple[bool, int, int]] = []
    kept_order = []
    for axis in ordered:
        extent, stride, is_reduced = a._shape[axis], strides[axis], axis in axes
        if not is_reduced:
            kept_order.append(axis)
        if extent == 1:
            continue
        if groups and groups[-1][0] == is_reduced and groups[-1][2] == stride * extent:
            groups[-1] = (is_reduced, groups[-1][1] * extent, stride)
        else:
            groups.append((is_reduced, extent, stride))
    pattern = "".join("r" if one[0] else "k" for one in groups)
    n_reduced = math.prod(a._shape[axis] for axis in axes)
    if pattern in ("", "r", "k", "kr", "rk", "krk"):
        size = a._dtype.itemsize
        outer = (1, size) if not pattern.startswith("k") else groups[0][1:]
        inner = (1, size) if not pattern.endswith("k") or pattern == "k" else groups[-1][1:]
        middle = next((one[1:] for one in groups if one[0]), (1, size))
        extents = (outer[0], middle[0], inner[0])
        steps = (outer[1], middle[1], inner[1])
        if inner[0] == 1:
            made = _native.Array(_memory.elem(a._dtype), a.ptr, extents[:2], steps[:2], a._place, a)
        else:
            made = _native.Array(_memory.elem(a._dtype), a.ptr, extents, steps, a._place, a)
        return made, extents, kept_order
    moved = a.transpose((*kept, *axes)).copy()
    extents = (math.prod(a._shape[axis] for axis in kept), n_reduced, 1)
    made = _native.Array(
        _memory.elem(a._dtype),
        moved.ptr,
        extents[:2],
        _layout.row_major(extents[:2], a._dtype.itemsize),
        a._place,
        moved,
    )
    return made, extents, kept


def reduce(fold: Fold, a: Any, axes: Sequence[int]) -> Any:
    """The reduction of an array along axes; its other axes are those of the result."""
    kept = [axis for axis in range(a.ndim) if axis not in axes]
    shape = tuple(a._shape[axis] for axis in kept)
    n = math.prod(a._shape[axis] for axis in axes)
    if 0 in shape:
        return _array.fresh(fold.result, shape)
    if n == 0:
        if fold.empty is None:
            raise ValueError(f"zero-size array to reduction operation {fold.name} which has no identity")
        blank = _array.fresh(fold.source, (1,))
        source = _native.Array(_memory.elem(fold.source), blank.ptr, (1, 1), (8, 8), blank._place, blank)
        found = _step_of_threads(fold, True, [source], (1, 0, 1), 0)
        made = _array.fresh(fold.result, shape)
        from gridstride.cupy import _creation

        _creation.copyto(made, found.reshape(()), "unsafe")
        return made
    if not kept and a._strides is None:
        source = _native.Array(_memory.elem(a._dtype), a.ptr, (1, n), (a.nbytes, a._dtype.itemsize), a._place, a)
        found = _step(fold, [source], (1, n, 1), n)
        return _array.make(fold.result, found.ptr, (), None, found._owner, found._place)
    source, extents, order = arranged(a, axes)
    found = _step(fold, [source], extents, n)
    ordered = tuple(a._shape[axis] for axis in order)
    found = _array.make(fold.result, found.ptr, ordered, None, found._owner, found._place)
    if order != kept:
        found = found.transpose(tuple(order.index(axis) for axis in kept))
    found.base = None
    return found
