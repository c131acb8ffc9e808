"""`cupyx`: what CuPy has beyond NumPy. `import gridstride.cupyx as cupyx`."""

from __future__ import annotations

from typing import Any

from gridstride.cupy import _ufuncs
from gridstride.cupyx import profiler

__all__ = ["empty_pinned", "profiler", "rsqrt", "scatter_add", "scatter_max", "scatter_min", "zeros_pinned"]


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    """Adds values to the elements at indices, again for each time that an index is named."""
    _ufuncs.ALL["add"].at(a, slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    """Raises the elements at indices to values that are larger."""
    _ufuncs.ALL["maximum"].at(a, slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    """Lowers the elements at indices to values that are smaller."""
    _ufuncs.ALL["minimum"].at(a, slices, value)


def rsqrt(x: Any, out: Any = None) -> Any:
    """1 / sqrt(x)."""
    return _ufuncs.ALL["divide"](1, _ufuncs.ALL["sqrt"](x), out=out)


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """A NumPy array in page-locked memory, whose elements are not set."""
    from gridstride.numba.cuda import _host_arrays

    return _host_arrays.pinned_array(shape, dtype, order=order)


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """A NumPy array of zeros in page-locked memory."""
    made = empty_pinned(shape, dtype, order)
    made[...] = 0
    return made
