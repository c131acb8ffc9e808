"""Numba's style of kernels: `from gridstride.numba import cuda, float32`.

    >>> from gridstride.numba import cuda
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= 2

Programs written for numba-cuda run after this change of their import line; `python -m gridstride.compat PROGRAM` runs
them unchanged.
"""

from __future__ import annotations

from gridstride.numba import _imports

_imports.install()

from gridstride.numba import config, cuda, errors, types  # noqa: E402
from gridstride.numba._dtypes import from_dtype, typeof  # noqa: E402
from gridstride.numba.cuda import guvectorize, vectorize  # noqa: E402
from gridstride.numba.types import *  # noqa: E402, F403

__version__ = "0.61.2"

__all__ = ["config", "cuda", "errors", "from_dtype", "guvectorize", "typeof", "types", "vectorize"]
