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

from typing import Any

from gridstride.numba import _imports

_imports.install()

from gridstride.numba import config, cuda, errors, types  # noqa: E402
from gridstride.numba._dtypes import from_dtype, typeof  # noqa: E402
from gridstride.numba.cuda import guvectorize, vectorize  # noqa: E402
from gridstride.numba.types import *  # noqa: E402, F403

__version__ = "0.61.2"


class _HostFunction(cuda.dispatcher.Dispatcher):
    """A function that kernels call, and that Python runs as it is."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._signatures or kwargs:
            for arg in args:
                try:
                    typeof(arg)
                except ValueError as error:
                    raise errors.TypingError(str(error)) from None
            return self.py_func(*args, **kwargs)
        # As compiled for its signature: numbers are converted to the types that it names.
        kinds, result = self._signatures[0]
        found = self.py_func(*(_number(arg, ty) for arg, ty in zip(args, kinds, strict=True)))
        return found if result is None else _number(found, result)


def _number(value: Any, ty: Any) -> Any:
    return ty(value).item() if isinstance(ty, types.Number) and isinstance(value, int | float | complex) else value


def jit(signature_or_function: Any = None, **options: Any) -> Any:
    """Makes a function one that kernels can call. Called from Python it runs as Python: speed is in the kernels."""
    if callable(signature_or_function) and not isinstance(signature_or_function, types.Type | types.Signature):
        return _HostFunction(signature_or_function, {"device": True})
    given = signature_or_function
    listed = [] if given is None else list(given) if isinstance(given, list) else [given]
    return lambda function: _HostFunction(function, {"device": True}, listed)


njit = jit
prange = range

__all__ = [
    "config",
    "cuda",
    "errors",
    "from_dtype",
    "guvectorize",
    "jit",
    "njit",
    "prange",
    "typeof",
    "types",
    "vectorize",
]
