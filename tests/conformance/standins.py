"""Stand-ins for modules that numba-cuda's tests import and nothing has: every use fails the test that makes it.

The worker installs them, and so does the package `numba` of programs that tests start.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

STANDINS = ("filecheck", "cuda", "cupy", "cffi", "numba", "llvmlite")


class StandIn:
    """Anything that is imported and not there: may be called, subclassed and used as a decorator, but gives nothing."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> Any:
        return (object,)

    def __fspath__(self) -> str:
        return ""

    def __iter__(self) -> Any:
        return iter(())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}")


class StandInModule(ModuleType):
    """A module all of whose members are stand-ins."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds stand-ins for modules that nothing else has: Gridstride's, which it asks for first, or other packages'."""

    def __init__(self, is_ours: bool) -> None:
        self.is_ours = is_ours

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.startswith("gridstride.numba.") != self.is_ours or ".tests" in fullname:
            return None
        if not self.is_ours and fullname.partition(".")[0] not in STANDINS:
            return None
        if self.is_ours:
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def add_to(module: ModuleType) -> None:
    """Lets a module of ours have stand-ins for what it lacks, further modules among it."""
    if not hasattr(module, "__path__"):
        module.__path__ = []
    own, standins = getattr(module, "__getattr__", None), StandInModule(module.__name__).__getattr__

    def find(name: str) -> Any:
        try:
            return standins(name) if own is None else own(name)
        except AttributeError:
            return standins(name)

    if own is None or not hasattr(own, "is_standin"):
        find.is_standin = True  # type: ignore[attr-defined]
        module.__getattr__ = find  # type: ignore[method-assign]


def install() -> None:
    """Puts the finders where they are asked: for our modules first, for other packages last."""
    sys.meta_path.insert(0, Finder(is_ours=True))
    sys.meta_path.append(Finder(is_ours=False))
