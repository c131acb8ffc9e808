"""Runs programs written for Warp or numba-cuda unchanged: `import warp` and `import numba` give Gridstride.

    python -m gridstride.compat PROGRAM [ARGUMENTS]

Submodules that Gridstride has (`warp.types`, `warp.config`, `warp.utils`) are found too. Those that it lacks, and
Warp's private ones, can be imported; what is used of them and has no counterpart raises `NotImplementedError`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gridstride.compat import numba_names, real_numba, texts, words
from gridstride.compat.absent import AbsentModule

_ALIASES = {"warp": "gridstride"}
# Warp's modules that programs import at their top, whether or not Gridstride has them.
_WARP_MODULES = frozenset(["autograd", "fem", "geometry", "optim", "render", "sim", "sparse"])
# Numba's, whose submodules programs and libraries mention.
_NUMBA_MODULES = frozenset(["core", "cuda", "extending", "np", "misc", "typed", "experimental"])
# Front ends under their own names, once they exist.
_OPTIONAL = {"numba": "gridstride.numba", "cupy": "gridstride.cupy", "cupyx": "gridstride.cupyx"}


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `warp.x` as the module object of `gridstride.x`."""

    def __init__(self, aliases: dict[str, str]) -> None:
        self.aliases = aliases
        # Modules that were just made, by their own loaders, which have run them.
        self.made: set[str] = set()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        head, _, rest = fullname.partition(".")
        if head not in self.aliases or head == "numba" and real_numba.has(fullname):
            return None
        name = f"{self.aliases[head]}.{rest}" if rest else self.aliases[head]
        name = numba_names.MODULES.get(fullname, name)
        first = rest.partition(".")[0]
        if first == "_src":
            name = "gridstride.compat.internals" + rest.removeprefix("_src")
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        for candidate in (name, f"gridstride.compat.{rest}"):
            spec.loader_state = candidate
            try:
                found = importlib.util.find_spec(candidate)
                if found is not None:
                    spec.submodule_search_locations = found.submodule_search_locations
                    spec.origin = found.origin
                    return spec
            except ModuleNotFoundError:
                continue
        is_absent = head == "warp" and first in _WARP_MODULES | {"_src"} or head == "numba" and first in _NUMBA_MODULES
        if is_absent and not _is_in(fullname):
            spec.loader_state = ""
            return spec
        return None

    def create_module(self, spec: Any) -> ModuleType:
        self.made.add(spec.name)
        if not spec.loader_state:
            return AbsentModule(spec.name)
        made = importlib.import_module(spec.loader_state)
        if spec.name == "cupy":
            # Programs print the class of their arrays.
            made.ndarray.__module__ = "cupy"
        return made

    def get_code(self, fullname: str) -> Any:
        """The code of a module, for `python -m`."""
        spec = self.find_spec(fullname, None)
        real = _real_spec(spec.loader_state)
        return real.loader.get_code(real.name)

    def exec_module(self, module: ModuleType) -> None:
        # The module ran under its own name; only its import record was replaced.
        if isinstance(module, AbsentModule):
            return
        if module.__spec__ is not None and module.__spec__.name not in self.made:
            # A reload.
            exec(self.get_code(module.__spec__.name), module.__dict__)
            return
        self.made.discard(module.__spec__.name if module.__spec__ is not None else "")
        name = module.__spec__.loader_state if module.__spec__ else module.__name__
        module.__spec__ = importlib.util.spec_from_loader(name, None) if module.__spec__ is None else module.__spec__


def _is_in(fullname: str) -> bool:
    """Whether a module is among the files that its package's path names: a test suite's, say."""
    parent = sys.modules.get(fullname.rpartition(".")[0])
    path = list(getattr(parent, "__path__", ()))
    return importlib.machinery.PathFinder.find_spec(fullname, path) is not None


def _real_spec(name: str) -> Any:
    """Where a module of Gridstride's lies; an imported one's own record says that it is Warp's."""
    parent = name.rpartition(".")[0]
    path = importlib.import_module(parent).__path__ if parent else None
    return importlib.machinery.PathFinder.find_spec(name, path)


def install() -> None:
    """Makes `import warp` (and `numba`, `cupy`, where Gridstride has their front end) give Gridstride's modules."""
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    aliases = dict(_ALIASES)
    for name, target in _OPTIONAL.items():
        try:
            if importlib.util.find_spec(target) is not None:
                aliases[name] = target
        except ModuleNotFoundError:
            continue
    sys.meta_path.insert(0, _Alias(aliases))
    real_numba.install()
    texts.install()
    words.install()
    import gridstride
    from gridstride.compat import internals

    # Programs write `wp._src.types.…` without importing it.
    gridstride._src = internals  # type: ignore[attr-defined]
    if "WARP_CACHE_PATH" in os.environ and "GRIDSTRIDE_CACHE_DIR" not in os.environ:
        internals.build.init_kernel_cache()


def add_package(name: str, folder: str) -> None:
    """Puts a package from a folder beside Warp's own, `warp.NAME`: Warp's tests, say. For after `install`."""
    spec = importlib.util.spec_from_file_location(name, f"{folder}/__init__.py", submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"there is no package in {folder}")
    parent, _, last = name.rpartition(".")
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    setattr(importlib.import_module(parent), last, package)
    spec.loader.exec_module(package)


def run(program: str, arguments: Sequence[str]) -> None:
    """Runs a program file as `python PROGRAM ARGUMENTS` would, with `install` in force."""
    install()
    with open(program, "rb") as file:
        source = file.read()
    main = ModuleType("__main__")
    main.__file__ = program
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    exec(compile(source, program, "exec"), main.__dict__)
