"""Finds the modules of `gridstride.numba.cuda` before other import hooks do.

numba-cuda installs a hook that takes every module with `numba.cuda` in its name for its own: it looks for it without
end, or gives numba-cuda's.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from typing import Any


class OwnModules(importlib.abc.MetaPathFinder):
    """Leaves everything to Python's own finder of files; what that does not find is not looked for elsewhere."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith("gridstride.numba."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return spec


def install() -> None:
    """Puts the finder first."""
    sys.meta_path.insert(0, OwnModules())
