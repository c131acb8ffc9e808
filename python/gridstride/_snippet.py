"""`wp.func_native`: functions given as C++ text, which are refused by name where one is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NativeSnippet:
    """A function given as C++ text, which Gridstride does not compile. Kernels that call it are refused."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__ = function.__name__
        self.func = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises `NotImplementedError`."""
        raise NotImplementedError(
            f"`{self.__name__}` is C++ text (func_native), which is not supported: write a wp.func"
        )


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Any:
    """Marks a function as written in C++ text. Those are not supported: calling one, or a kernel that does, raises."""
    return NativeSnippet
