"""Names of Warp that Gridstride has no counterpart of, so that a program which only mentions one still starts.

Importing such a name works under `gridstride.compat`; using it raises `NotImplementedError` with the name.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from gridstride._unbuilt import Unbuilt


class Absent(Unbuilt):
    """Stands for something of Warp's that is missing here. Calling it, or reading an attribute, raises.

    As an annotation it is open: a module that mentions it can be imported.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__qualname__ = name

    def _refuse(self) -> NoReturn:
        raise NotImplementedError(f"`{self.__name__}` of Warp has no counterpart in Gridstride")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises `NotImplementedError`."""
        self._refuse()

    def __getitem__(self, key: Any) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        # Python's own protocols ask for special names and expect an AttributeError.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self.__name__}: not in Gridstride>"


class AbsentModule(ModuleType):
    """A module of Warp's that is missing here: every name in it is an `Absent`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"`{name}` of Warp, which has no counterpart in Gridstride.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


def attribute(module: str, name: str) -> Absent:
    """What the module `warp._src.MODULE` gives for a name that it lacks here."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return Absent(f"warp._src.{module}.{name}")
