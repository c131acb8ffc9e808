"""Reductions by blocks of threads, for GPUs: each block brings a part of a row, or of some columns, together.

In: a `Fold`, arrays of two dimensions (rows x reduced) or three (outer x reduced x columns). Out: what is kept of each
part, in one launch, and a second one where there are several parts. A thread takes elements that lie a block apart,
eight at a time, so that as many reads are under way; then the threads' numbers meet in shared memory, by halves.

    thread t: p = x[first + t] + x[first + t + width] + …;  held[t] = p
    while count > 1:  half = (count + 1) // 2;  held[t] = held[t] + held[t + half], where t + half < count

The order in which elements meet depends on the shape alone.

    M. Harris, "Optimizing Parallel Reduction in CUDA" (2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridstride.cupy import _array, _elementwise
from gridstride.numba.cuda import _generated
from gridstride.numba.cuda.dispatcher import Dispatcher

if TYPE_CHECKING:
    from gridstride.cupy._reduce import Fold

THREADS = 256
# Elements that are worth a block, and about as many blocks as a GPU runs at a few times.
PART = 4096
MOST_BLOCKS = 4096
# Reads of a thread at a time.
READS = 8


def step(fold: Fold, is_first: bool, arrays: Sequence[Any], extents: tuple[int, int, int], n: int) -> Any:
    """What is left of outer x reduced x inner elements; `n` is how many there are to each, for the result."""
    outer, extent, inner = extents
    width = row_width(extent) if inner == 1 else min(inner, THREADS)
    per_block = THREADS // width
    n_blocks = -(-outer // per_block) if inner == 1 else outer * -(-inner // width)
    n_parts = 1
    if inner > 1 or width == THREADS:
        n_parts = max(1, min(MOST_BLOCKS // n_blocks, extent * (width if inner > 1 else 1) // PART))
    per_part = -(-extent // n_parts)
    n_parts = -(-extent // per_part)
    key = "blocks", is_first, n_parts == 1, inner == 1 and width
    kernel = fold.kernels.get(key)
    if kernel is None:
        kernel = fold.kernels[key] = _make_kernel(fold, is_first, n_parts == 1, width if inner == 1 else None)
    shape = (outer, n_parts) if inner == 1 else (outer, n_parts, inner)
    outs = [_array.fresh(dtype, shape) for dtype in ([fold.result] if n_parts == 1 else fold.kept)]
    args = [*arrays, *outs, per_part, extent, outer if inner == 1 else inner, width, n]
    _elementwise.launch_blocks(kernel, (n_blocks, n_parts), THREADS, args)
    return outs[0] if n_parts == 1 else step(fold, False, outs, (outer, n_parts, inner), n)


def row_width(extent: int) -> int:
    """Threads that share a row."""
    return 1 if extent <= 8 else 8 if extent <= 64 else 32 if extent <= 512 else THREADS


def _typed(texts: Sequence[str], dtypes: Sequence[Any]) -> str:
    return ", ".join(f"t_{dtype.name}({text})" for text, dtype in zip(texts, dtypes, strict=True))


def _core(fold: Fold, is_first: bool, given: Sequence[str], at: str) -> str:
    """The function that a thread runs over its elements: those from `k` on, `step` apart; there is one."""
    m = len(fold.kept)
    p, q = ", ".join(f"p{j}" for j in range(m)), ", ".join(f"q{j}" for j in range(m))
    taken = _typed(fold.first, fold.kept) if is_first else ", ".join(f"x{j}" for j in range(m))
    names = ["x"] if is_first else [f"x{j}" for j in range(m)]
    read = [f"{name} = {array}[{at.format('k')}]" for name, array in zip(names, given, strict=True)]
    walk = fold.walk if is_first else None
    if walk:
        begin, each, end = [*read, *walk[0]], list(walk[1]), list(walk[2])
    else:
        lines = fold.ordered_lines if is_first else fold.lines
        begin, end = [*read, f"{p} = {taken}", "k = k + step"], []
        each = [f"{q} = {taken}", *lines, f"{p} = {_typed(fold.join, fold.kept)}"]
    body = [*begin, f"while k + t_uint64({READS - 1}) * step < end:"]
    for r in range(READS):
        place = at.format(f"k + t_uint64({r}) * step")
        body += [f"    {name}_{r} = {array}[{place}]" for name, array in zip(names, given, strict=True)]
    for r in range(READS):
        body += [f"    {name} = {name}_{r}" for name in names]
        body += [*(f"    {line}" for line in each), "    k = k + step"]
    body += ["while k < end:", *(f"    {line}" for line in [*read, *each]), "    k = k + step", *end, f"return {p}"]
    return "\n".join([f"def core({', '.join(given)}, o, k, end, step, i):", *(f"    {line}" for line in body)]) + "\n"


def _make_kernel(fold: Fold, is_first: bool, is_last: bool, row: int | None) -> Dispatcher:
    """The kernel of one step; `row` is how many threads share a row, or None where there are columns."""
    m = len(fold.kept)
    given = ["x_"] if is_first else [f"a{j}" for j in range(m)]
    outs = ["out"] if is_last else [f"r{j}" for j in range(m)]
    scope = {**_elementwise.scope(), **fold.names}
    at = "o, {}" if row else "o, {}, i"
    core = Dispatcher(_generated.function("core", _core(fold, is_first, given, at), scope), {"device": True})
    p, q = [f"p{j}" for j in range(m)], [f"q{j}" for j in range(m)]
    held = [f"held{j}[thread]" for j in range(m)]
    others = [f"held{j}[thread + half * apart]" for j in range(m)]
    if row:
        lanes = [
            f"lane, apart, n_lanes = thread & t_uint32({row - 1}), t_uint32(1), t_uint64({row})",
            f"row = thread >> t_uint32({row.bit_length() - 1})",
            f"o = t_uint64(blockIdx.x) * t_uint64({THREADS // row}) + t_uint64(row)",
            "i = t_uint64(0)",
            "is_in = o < t_uint64(kept) and first + lane < end",
        ]
    else:
        lanes = [
            "apart = t_uint32(width)",
            f"lane, n_lanes = thread // apart, t_uint64(t_uint32({THREADS}) // apart)",
            "n_blocks = (t_uint64(kept) + t_uint64(width) - t_uint64(1)) // t_uint64(width)",
            "o = t_uint64(blockIdx.x) // n_blocks",
            "i = t_uint64(blockIdx.x) % n_blocks * t_uint64(width) + t_uint64(thread % apart)",
            "is_in = lane < n_lanes and i < t_uint64(kept) and first + lane < end",
        ]
    target = "o, part" if row else "o, part, i"
    body = [
        *(f"held{j} = shared_array({THREADS}, dtype=t_{dtype.name})" for j, dtype in enumerate(fold.kept)),
        "thread, part = t_uint32(threadIdx.x), t_uint64(blockIdx.y)",
        "first = part * t_uint64(per_part)",
        "end = min(first + t_uint64(per_part), t_uint64(extent))",
        *lanes,
        "if is_in:",
        f"    {', '.join(p)} = core({', '.join(given)}, o, first + lane, end, n_lanes, i)",
        *(f"    {place} = {name}" for place, name in zip(held, p, strict=True)),
        "count = t_uint32(min(n_lanes, end - first))",
        "while count > t_uint32(1):",
        "    half = (count + t_uint32(1)) >> t_uint32(1)",
        "    syncthreads()",
        "    if is_in and lane + half < count:",
        f"        {', '.join(p)} = {', '.join(held)}",
        f"        {', '.join(q)} = {', '.join(others)}",
        *(f"        {line}" for line in fold.lines),
        f"        {', '.join(held)} = {_typed(fold.join, fold.kept)}",
        "    count = half",
        "if is_in and lane == t_uint32(0):",
        f"    {', '.join(p)} = {', '.join(held)}",
    ]
    if is_last:
        body.append(f"    out[{target}] = t_{fold.result.name}({fold.last})")
    else:
        body += [f"    r{j}[{target}] = p{j}" for j in range(m)]
    head = f"def cupy_{fold.name}({', '.join([*given, *outs, 'per_part', 'extent', 'kept', 'width', 'n'])}):"
    text = "\n".join([head, *(f"    {line}" for line in body)]) + "\n"
    return Dispatcher(_generated.function(f"cupy_{fold.name}", text, {**scope, "core": core}), {})
