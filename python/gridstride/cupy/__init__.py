"""Arrays in CuPy's style: `import gridstride.cupy as cp`.

    >>> import gridstride.cupy as cp
    >>> x = cp.arange(5, dtype=cp.float32)
    >>> 3.0 * x + 1.0
    array([ 1.,  4.,  7., 10., 13.], dtype=float32)

Every operation is a kernel, on the CPU over all lanes and cores, on a GPU where there is one. Kernels of `numba.cuda`'s
style and of Warp's take these arrays as they are, and `cp.asarray` theirs, without a copy.
"""

# ruff: noqa: F401
from __future__ import annotations

from typing import Any

import numpy as _numpy
from numpy import (
    bool_,
    broadcast_shapes,
    complex64,
    complex128,
    dtype,
    e,
    euler_gamma,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    inf,
    int8,
    int16,
    int32,
    int64,
    intp,
    isdtype,
    issubdtype,
    min_scalar_type,
    nan,
    newaxis,
    pi,
    promote_types,
    uint8,
    uint16,
    uint32,
    uint64,
    uintp,
)

from gridstride.cupy import (
    _array,
    _creation,
    _host,
    _indexing,
    _interop,
    _linalg,
    _mathematics,
    _reductions,
    _scans,
    _shapes,
    _signals,
    _sorting,
    _statistics,
    _ufuncs,
)
from gridstride.cupy._array import ndarray
from gridstride.cupy._element_kernels import ElementwiseKernel
from gridstride.cupy._fusion import fuse, vectorize
from gridstride.cupy._host import get_array_module, is_available, isscalar
from gridstride.cupy._interop import asnumpy, from_dlpack
from gridstride.cupy._raw import RawKernel, RawModule
from gridstride.cupy._reduction_kernels import ReductionKernel
from gridstride.cupy._ufuncs import ufunc

_FAMILIES = (
    _creation,
    _shapes,
    _indexing,
    _reductions,
    _scans,
    _mathematics,
    _sorting,
    _statistics,
    _linalg,
    _signals,
    _host,
)
_PUBLIC = frozenset([*dir(_numpy), "in1d"])
for _family in _FAMILIES:
    for _name, _value in vars(_family).items():
        # What families have for each other beside NumPy's functions stays theirs.
        if _name in _PUBLIC and callable(_value) and not isinstance(_value, type):
            globals()[_name] = _value
globals().update(_ufuncs.ALL)
asanyarray, permute_dims, concat = _creation.asanyarray, _shapes.permute_dims, _shapes.concat

from gridstride.cupy import cuda, fft, linalg, random  # noqa: E402
from gridstride.cupy.cuda.memory import MemoryPool as _MemoryPool  # noqa: E402
from gridstride.cupy.cuda.memory import PinnedMemoryPool as _PinnedMemoryPool  # noqa: E402

_pool, _pinned_pool = _MemoryPool(), _PinnedMemoryPool()


def get_default_memory_pool() -> Any:
    """The pool that memory of the device comes from."""
    return _pool


def get_default_pinned_memory_pool() -> Any:
    """The pool that page-locked memory of the host comes from."""
    return _pinned_pool


def __getattr__(name: str) -> Any:
    import difflib

    close = difflib.get_close_matches(name, [one for one in globals() if not one.startswith("_")], 2)
    there = f": did you mean {' or '.join(close)}?" if close else "; docs/cupy.md lists what there is"
    raise AttributeError(f"module 'cupy' has no attribute {name!r}{there}")
