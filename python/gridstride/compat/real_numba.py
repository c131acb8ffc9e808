"""Numba itself beside Gridstride: `njit`, `prange` and `typed` of an installed Numba, `numba.cuda` of Gridstride's.

Programs mix both: `from numba import cuda, njit`. Where Numba is installed it stays what it is, for the CPU, and only
`numba.cuda` is another; its types (`numba.float32`, signatures, arrays of types) can be used in kernels and for them.
Where it is not, `gridstride.numba` stands for all of it, and `njit` gives functions that run as Python.
"""

from __future__ import annotations

import importlib.machinery
import sys
from functools import cache
from typing import Any


@cache
def _is_installed() -> bool:
    return importlib.machinery.PathFinder.find_spec("numba") is not None


def has(fullname: str) -> bool:
    """Whether a module is Numba's own."""
    return _is_installed() and fullname != "numba.cuda" and not fullname.startswith("numba.cuda.")


def install() -> None:
    """Makes Numba's types known to kernels as soon as Numba is imported."""
    if _is_installed():
        sys.meta_path.insert(0, _Watch())


class _Watch:
    """Waits for Numba's types to be imported."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != "numba.core.types":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    """Runs a module and then tells kernels of its types."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._loader.exec_module(module)
        module.Type.__gs_type__ = property(lambda ty: counterpart(ty).__gs_type__)
        module.Type.__gs_numba__ = property(counterpart)


def counterpart(ty: Any) -> Any:
    """Gridstride's form of a type or signature of Numba's. Raises `TypeError` where there is none."""
    from gridstride.numba import types

    kind = type(ty).__name__
    if kind in ("Integer", "Float", "Complex", "Boolean", "NoneType"):
        return getattr(types, {"bool": "boolean"}.get(ty.name, ty.name))
    if kind == "Array":
        return types.Array(counterpart(ty.dtype), ty.ndim, ty.layout)
    if kind in ("UniTuple", "Tuple"):
        return types.Tuple([counterpart(item) for item in ty.types])
    if kind == "Record":
        return types.Record(ty.dtype)
    raise TypeError(f"kernels have no values of Numba's type {ty}")
