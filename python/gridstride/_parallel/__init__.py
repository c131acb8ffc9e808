"""Sums, scans, sorts and runs of whole arrays, by kernels over thread blocks that are written here, in Python.

In: one-dimensional arrays of numbers on one device. Out: work on its current stream; nothing waits for the host. Each
result has the same bits in every run: no order is left to chance. `gridstride.utils` uses them for arrays on a GPU, and
for long ones on the CPU.
"""

from __future__ import annotations

from typing import Any

from gridstride import _array, _create, _native

THREADS = 256


def run(kernel: Any, grid: Any, device: Any, *args: Any, threads: int = THREADS) -> None:
    """Launches a kernel over thread blocks."""
    (made,) = kernel._make_kernels()
    _native.launch_blocks(made, grid, threads, args, 0, device.alias, kernel._compile_options())


def blocks(n: int, per_block: int = THREADS) -> int:
    """Blocks for `n` elements, at least one."""
    return max(1, -(-n // per_block))


def temporary(n: int, dtype: Any, device: Any) -> Any:
    """Memory for the time of some launches."""
    return _create.empty(n, dtype, device)


def flat(one: Any) -> Any:
    """The components of a contiguous array's elements, one after the other."""
    scalar = one.dtype._wp_scalar_type_
    n, size = one.size * one.dtype._length_, scalar.__gs_type__.size
    return _array.make(scalar, one.ptr or 0, (n,), (size,), one, one._place)


def component(one: Any, index: int) -> Any:
    """One component of a one-dimensional array's elements."""
    scalar = one.dtype._wp_scalar_type_
    offset = index * scalar.__gs_type__.size
    return _array.make(scalar, (one.ptr or 0) + offset, one.shape, one.strides, one, one._place)
