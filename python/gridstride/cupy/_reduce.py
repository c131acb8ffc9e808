"""Kernels that bring many elements together: sums, extremes, their places.

In: an array as outer x reduced x inner elements. A thread takes every `step`th of a piece of the reduced ones; what the
threads found is reduced in the same way until one is left. Where there is nothing inside, neighboring threads take
neighboring elements, so that lanes read what lies side by side.

    fold(x, o, start, end, step, i):    s = identity;  for k in range(start, end, step): s = s + x[o, k, i]

A `Fold` says what is kept of the elements (one or several numbers), and how two of these are brought together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _elementwise, _layout, _memory

# Threads that share a piece of what lies in one row, and elements that are worth a thread of their own.
_LANES = 64
_PIECE = 4096
_MOST_PIECES = 256


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
    ) -> None:
        self.name, self.source, self.kept, self.result = name, source, tuple(kept), result
        self.first, self.join, self.last, self.empty = first, join, last, empty
        self.lines, self.names = lines, names or {}
        self.kernels: dict[Any, _native.Kernel] = {}


def _typed(texts: Sequence[str], kept: Sequence[np.dtype[Any]]) -> list[str]:
    return [f"t_{dtype.name}({text})" for text, dtype in zip(texts, kept, strict=True)]


def _make_kernel(fold: Fold, is_first: bool, is_last: bool, rank: int) -> _native.Kernel:
    """The kernel of one step; `rank` 2 where there is nothing inside."""
    m = len(fold.kept)
    sources = ["x"] if is_first else [f"a{j}" for j in range(m)]
    at = "[o, k, i]" if rank == 3 else "[o, k]"
    elements = [f"x = x_{at}"] if is_first else []
    taken = _typed(fold.first, fold.kept) if is_first else [f"a{j}{at}" for j in range(m)]
    p, q = [f"p{j}" for j in range(m)], [f"q{j}" for j in range(m)]
    arguments = ["x_" if one == "x" else one for one in sources]
    lines = [f"def core({', '.join(arguments)}, o, start, end, step, i, n):", "    k = start"]
    if fold.empty is None:
        # There is an element: the first one begins.
        lines += [f"    {one}" for one in elements]
        lines += [f"    {', '.join(p)} = {', '.join(taken)}", "    k += step"]
    else:
        lines.append(f"    {', '.join(p)} = {', '.join(_typed(fold.empty, fold.kept))}")
    lines.append("    while k < end:")
    lines += [f"        {one}" for one in elements]
    lines.append(f"        {', '.join(q)} = {', '.join(taken)}")
    lines += [f"        {one}" for one in fold.lines]
    lines.append(f"        {', '.join(p)} = {', '.join(_typed(fold.join, fold.kept))}")
    lines.append("        k += step")
    if is_last:
        lines.append(f"    return t_{fold.result.name}({fold.last})")
    else:
        lines.append(f"    return {', '.join(p)}")
    core = _elementwise.device_function("core", "\n".join(lines) + "\n", fold.names)

    outs = ["out"] if is_last else [f"r{j}" for j in range(m)]
    index = "o, s, i" if rank == 3 else "o, s"
    body = [
        f"def cupy_{fold.name}({', '.join([*arguments, *outs, 'piece', 'lanes', 'extent', 'n'])}):",
        f"    {index} = tid()",
        "    first = piece * (i64(s) / lanes)",
        "    start = first + i64(s) % lanes",
        "    end = min(first + piece, extent)",
    ]
    call = f"core({', '.join(arguments)}, o, start, end, lanes, {'i' if rank == 3 else '0'}, n)"
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


def _step(
    fold: Fold, is_first: bool, arrays: Sequence[Any], extents: tuple[int, int, int], is_whole: bool, n: int
) -> Any:
    """One step over outer x reduced x inner elements: what its threads found is reduced until one is left."""
    outer, extent, inner = extents
    lanes, pieces = 1, 1
    threads = outer * inner
    if extent > 1 and threads < 4096:
        if inner == 1:
            lanes = min(_LANES, max(1, extent // 4))
        pieces = min(max(1, extent // (_PIECE if lanes > 1 else 64)), _MOST_PIECES, max(1, 65536 // (threads * lanes)))
    if extent <= 16 or is_whole:
        lanes = pieces = 1
    piece = -(-extent // pieces)
    # Every thread has an element where an empty one has no value.
    piece = -(-piece // lanes) * lanes
    pieces = -(-extent // piece) if extent else 1
    if fold.empty is None and pieces > 1 and extent - (pieces - 1) * piece < lanes:
        lanes = 1
    slots = pieces * lanes
    is_last = slots == 1
    rank = 2 if inner == 1 else 3
    shape = (outer, slots, inner)[:rank]
    key = is_first, is_last, rank
    kernel = fold.kernels.get(key)
    if kernel is None:
        kernel = fold.kernels[key] = _make_kernel(fold, is_first, is_last, rank)
    outs = [_array.fresh(dtype, shape) for dtype in ([fold.result] if is_last else fold.kept)]
    _elementwise.launch(kernel, shape, [*arrays, *outs, piece, lanes, extent, n])
    if is_last:
        return outs[0]
    return _step(fold, False, outs, (outer, slots, inner), False, n)


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
        source = _native.Array(_memory.elem(fold.source), blank.ptr, (1, 0), (8, 8), blank._place, blank)
        found = _step(fold, True, [source], (1, 0, 1), True, 0)
        made = _array.fresh(fold.result, shape)
        from gridstride.cupy import _creation

        _creation.copyto(made, found.reshape(()), "unsafe")
        return made
    source, extents, order = arranged(a, axes)
    found = _step(fold, True, [source], extents, False, n)
    found = found.reshape(tuple(a._shape[axis] for axis in order))
    if order != kept:
        found = found.transpose(tuple(order.index(axis) for axis in kept))
    found.base = None
    return found
