"""Finds the modules of `gridstride.numba.cuda` before other import hooks do.

numba-cuda installs a hook that takes every module with `numba.cuda` in its name for its own, and then looks for it
without end.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import Any


class OwnModules(importlib.abc.MetaPathFinder):
    """Leaves everything to Python's own finder of files."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith("gridstride.numba."):
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, path, target)


def install() -> None:
    """Puts the finder first."""
    sys.meta_path.insert(0, OwnModules())
