"""What stands between a kernel and its arguments: `kernel[grid, block, stream, shared]`, `kernel.forall(n)`."""

from __future__ import annotations

import operator
import warnings
from typing import Any

from gridstride import _native
from gridstride.numba import config
from gridstride.numba.cuda._queue import queue
from gridstride.numba.errors import NumbaPerformanceWarning

#: A grid of fewer blocks leaves most of a large GPU idle.
_FEW_BLOCKS = 128


def dim3(value: Any, what: str) -> tuple[int, int, int]:
    """One to three positive ints, the rest 1. Raises `TypeError` or `ValueError`."""
    given = list(value) if hasattr(value, "__len__") else [value]
    try:
        extents = tuple(operator.index(one) for one in given)
    except TypeError:
        raise TypeError(f"{what} must be a sequence of integers, got {given}") from None
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"{what} must be a sequence of 1, 2 or 3 integers, got {given}")
    if any(one < 1 for one in extents):
        raise ValueError(f"{what} must be positive, got {given}")
    return (*extents, 1, 1)[:3]  # type: ignore[return-value]


class LaunchConfiguration(_native.BlockLauncher):
    """`kernel[grid, block, stream, shared]`. Call it with the arguments."""

    def __new__(
        cls, dispatcher: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0
    ) -> LaunchConfiguration:
        grid, block = dim3(griddim, "griddim"), dim3(blockdim, "blockdim")
        n_threads = block[0] * block[1] * block[2]
        if n_threads > 1024:
            raise ValueError(f"a block of {block} has {n_threads} threads: at most 1024 are allowed")
        sharedmem = operator.index(sharedmem)
        # Without a stream: the device's current one, when it is launched.
        found = queue(stream) if stream else None
        self = super().__new__(cls, grid, block, sharedmem, found, dispatcher.launch, dispatcher.explained)
        self.dispatcher, self.griddim, self.blockdim = dispatcher, grid, block
        self.stream, self.sharedmem, self.queue = stream, sharedmem, found
        self.is_small = grid[0] * grid[1] * grid[2] < _FEW_BLOCKS
        return self

    def __reduce__(self) -> Any:
        return _configured, (self.dispatcher, self.griddim, self.blockdim, self.stream, self.sharedmem)

    def warn(self) -> None:
        """Warns of a grid that cannot fill a GPU."""
        if not config.CUDA_LOW_OCCUPANCY_WARNINGS or config.ENABLE_CUDASIM:
            return
        n_blocks = self.griddim[0] * self.griddim[1] * self.griddim[2]
        text = f"Grid size {n_blocks} will likely result in GPU under-utilization due to low occupancy."
        warnings.warn(NumbaPerformanceWarning(text), stacklevel=3)


def _configured(dispatcher: Any, *configuration: Any) -> LaunchConfiguration:
    return LaunchConfiguration(dispatcher, *configuration)


class ForAll:
    """`kernel.forall(n)`: one thread for each of `n` tasks, in blocks of a fitting size."""

    def __init__(self, dispatcher: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> None:
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        self.dispatcher, self.ntasks, self.stream, self.sharedmem = dispatcher, ntasks, stream, sharedmem
        self.thread_per_block = tpb or 256

    def __call__(self, *args: Any) -> None:
        if self.ntasks == 0:
            return
        n_blocks = (self.ntasks + self.thread_per_block - 1) // self.thread_per_block
        self.dispatcher[n_blocks, self.thread_per_block, self.stream, self.sharedmem](*args)
