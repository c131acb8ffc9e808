"""`cuda.reduce`: a function of two values made a reduction of arrays.

>>> @cuda.reduce
... def total(a, b):
...     return a + b
>>> total(np.arange(10))
45
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.numba.cuda import _generated
from gridstride.numba.cuda._arrays import DeviceNDArray, to_device
from gridstride.numba.cuda.dispatcher import Dispatcher, jit

_THREADS = 256
_MAX_BLOCKS = 256
# Each thread reduces every n-th element, then the threads of a block halve what is left; thread 0 keeps the result.
_TEXT = """
def reduce_kernel(values, partial, n):
    scratch = shared_array({threads}, dtype=values.dtype)
    thread = threadIdx.x
    start = grid(1)
    stride = gridsize(1)
    if start < n:
        total = values[start]
        for i in range(start + stride, n, stride):
            total = core(total, values[i])
        scratch[thread] = total
    syncthreads()
    first = blockIdx.x * {threads}
    live = min({threads}, n - first)
    half = {threads} // 2
    while half > 0:
        if thread < half and thread + half < live:
            scratch[thread] = core(scratch[thread], scratch[thread + half])
        syncthreads()
        half = half // 2
    if thread == 0:
        partial[blockIdx.x] = scratch[0]
"""


class Reduce:
    """A reduction by a function of two values, which must not depend on their order or grouping."""

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        self._functor = functor
        core = functor if isinstance(functor, Dispatcher) else jit(functor, device=True)
        self._kernel = jit(_generated.function("reduce_kernel", _TEXT.format(threads=_THREADS), {"core": core}))
        self._host = core.py_func

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """The reduction of the first `size` elements of a one-dimensional array, and of `init`.

        With `res`, a device array of one element, the result is stored there and None is given.
        """
        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        size = arr.size if size is None else min(size, arr.size)
        if size < 1:
            if res is not None:
                res[:1] = init
                return None
            return init
        values = arr if isinstance(arr, DeviceNDArray) else to_device(arr, stream=stream)
        n_blocks = min((size + _THREADS - 1) // _THREADS, _MAX_BLOCKS)
        partial = to_device(np.empty(n_blocks, arr.dtype), stream=stream)
        self._kernel.launch(self._kernel._quiet(n_blocks, _THREADS, stream), (values, partial, size))
        parts = partial.copy_to_host(stream=stream)
        total = parts[0]
        for part in parts[1:]:
            total = self._host(total, part)
        total = arr.dtype.type(self._host(total, init))
        if res is None:
            return total
        res[:1] = total
        return None
