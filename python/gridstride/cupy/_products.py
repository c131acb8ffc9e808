"""Products of matrices on a GPU: a block of threads a tile of the result, each thread some of its rows and columns.

In: stacks of matrices without gaps. Out: a kernel over thread blocks, as text in the words of `numba.cuda`. Both
operands' next tiles are on their way from memory while this one's, in shared memory, are multiplied; what a thread adds
up stays in registers, so that each number that it reads from shared memory goes into several products.

    V. Volkov & J. Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra" (2008).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridstride import _parallel
from gridstride.cupy import _elementwise
from gridstride.numba.cuda import _generated
from gridstride.numba.cuda.dispatcher import Dispatcher

# Threads of a block along each side of its tile.
SIDE = 16
# Elements between rows of the left tile in shared memory: threads of a warp that fill it meet in few banks.
PAD = 4


class Tile:
    """How a block works: `own` rows and columns of a thread, in groups of 4 that lie side by side; `depth` is how far a
    tile reaches along the common dimension."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.wide = np.dtype({"float16": "float32", "bool": "int64"}.get(dtype.name, dtype.name))
        is_double = self.wide == np.float64
        self.own, self.depth = 8 if self.wide.itemsize <= 4 or is_double else 4, 8 if is_double else 16
        self.extent = SIDE * self.own
        # Elements of each operand that a thread fetches.
        self.fetched = self.extent * self.depth // SIDE**2


def multiply(a: Any, b: Any, out: Any) -> None:
    """`out[l] = a[l] @ b[l]`, for arrays of three dimensions and one dtype."""
    # Neighbors along rows are read together.
    a, b = (one if one.strides[2] == one.itemsize else one.copy() for one in (a, b))
    tile = Tile(out._dtype)
    n_batches, rows, columns = out._shape
    depth = a._shape[2]
    is_whole = rows % tile.extent == 0 and columns % tile.extent == 0 and depth % tile.depth == 0
    grid = (_parallel.blocks(columns, tile.extent), _parallel.blocks(rows, tile.extent), n_batches)
    kernel = _kernel(out._dtype, is_whole)
    _elementwise.launch_blocks(kernel, grid, SIDE * SIDE, [a, b, out])


@cache
def _kernel(dtype: np.dtype[Any], is_whole: bool) -> Dispatcher:
    text = _text(Tile(dtype), dtype, is_whole)
    return Dispatcher(_generated.function("cupy_matmul", text, _elementwise.scope()), {})


def _text(tile: Tile, dtype: np.dtype[Any], is_whole: bool) -> str:
    wide, own, extent = f"t_{tile.wide.name}", range(tile.own), tile.extent
    fetched, groups = range(tile.fetched), range(tile.own // 4)
    sums = [[f"s{i}_{j}" for j in own] for i in own]
    places = [f"(t_uint32(4) * own + t_uint32({SIDE * 4 * g + q}))" for g in groups for q in range(4)]
    left, right = ([place.replace("own", name) for place in places] for name in ("down", "across"))

    def split(f: int, width: int) -> tuple[str, str]:
        """The row and the column of the `f`th element that a thread fetches, of a tile of rows of `width`."""
        at = f"(thread + t_uint32({f * SIDE**2}))"
        return f"({at} >> t_uint32({width.bit_length() - 1}))", f"({at} & t_uint32({width - 1}))"

    def fetch(which: str) -> list[str]:
        lines = []
        for f in fetched:
            first, second = split(f, tile.depth if which == "a" else extent)
            if which == "a":
                element, is_in = (
                    f"a[batch, row + {first}, first + {second}]",
                    "row + {} < n_rows and first + {} < depth",
                )
            else:
                element = f"b[batch, first + {first}, column + {second}]"
                is_in = "first + {} < depth and column + {} < n_columns"
            value = f"{wide}({element})"
            otherwise = f"{value} if {is_in.format(first, second)} else {wide}(0)"
            lines.append(f"{which}_{f} = {value if is_whole else otherwise}")
        return lines

    def put(half: str) -> list[str]:
        lines = []
        for f in fetched:
            (row, k), (depth, column) = split(f, tile.depth), split(f, extent)
            lines += [f"held_a[{half}, {k}, {row}] = a_{f}", f"held_b[{half}, {depth}, {column}] = b_{f}"]
        return lines

    step = []
    for k in range(tile.depth):
        step += [f"x{i} = held_a[half, {k}, {place}]" for i, place in enumerate(left)]
        step += [f"y{j} = held_b[half, {k}, {place}]" for j, place in enumerate(right)]
        for i in own:
            for j in own:
                s = sums[i][j]
                more = f"fma(x{i}, y{j}, {s})" if tile.wide.kind == "f" else f"{wide}({s} + x{i} * y{j})"
                step.append(f"{s} = {more}")
    stores = []
    for i in own:
        for j in own:
            place = f"out[batch, row + {left[i]}, column + {right[j]}] = t_{dtype.name}({sums[i][j]})"
            if is_whole:
                stores.append(place)
            else:
                stores += [f"if row + {left[i]} < n_rows and column + {right[j]} < n_columns:", f"    {place}"]
    body = [
        f"held_a = shared_array((2, {tile.depth}, {extent + PAD}), dtype={wide})",
        f"held_b = shared_array((2, {tile.depth}, {extent}), dtype={wide})",
        "thread = t_uint32(threadIdx.x)",
        f"across, down = thread & t_uint32({SIDE - 1}), thread >> t_uint32({SIDE.bit_length() - 1})",
        "batch = t_uint64(blockIdx.z)",
        f"row, column = t_uint64(blockIdx.y) * t_uint64({extent}), t_uint64(blockIdx.x) * t_uint64({extent})",
        "n_rows, n_columns, depth = t_uint64(out.shape[1]), t_uint64(out.shape[2]), t_uint64(a.shape[2])",
        *(f"{s} = {wide}(0)" for line in sums for s in line),
        "first, half = t_uint64(0), t_uint32(0)",
        *fetch("a"),
        *fetch("b"),
        *put("half"),
        "syncthreads()",
        "while first < depth:",
        # The last tile is fetched once more: no branch stands around the reads.
        f"    first = first + t_uint64({tile.depth})",
        "    at = first",
        f"    first = min(first, (depth - t_uint64(1)) // t_uint64({tile.depth}) * t_uint64({tile.depth}))",
        *(f"    {line}" for line in [*fetch("a"), *fetch("b")]),
        "    first = at",
        *(f"    {line}" for line in step),
        "    half = half ^ t_uint32(1)",
        *(f"    {line}" for line in put("half")),
        "    syncthreads()",
        *stores,
    ]
    return "\n".join(["def cupy_matmul(a, b, out):", *(f"    {line}" for line in body)]) + "\n"
