"""`kernel.adj` and `function.adj`: what a kernel or function was made from, by the names that Warp's programs use.

>>> @wp.func
... def scaled(x: float, factor: float = 2.0):
...     return factor * x
>>> [arg.label for arg in scaled.adj.args]
['x', 'factor']
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from gridstride import _annotations, _source


class Argument(NamedTuple):
    """A parameter: its name and its annotation."""

    label: str
    type: Any


class Adj:
    """Where a kernel or function stands, and what its parameters are.

    Attributes: `func` (the Python function), `fun_name`, `filename`, `fun_lineno` (the line of its first decorator).
    """

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func
        self.fun_name = func.__name__
        self.filename = func.__code__.co_filename
        self.fun_lineno = func.__code__.co_firstlineno

    @property
    def arg_types(self) -> dict[str, Any]:
        """Annotations by name, and that of the result as "return". Text ones see the closure and the globals."""
        return _annotations.evaluate(self.func, self.func.__globals__, [_annotations.closure_of(self.func)])

    @property
    def args(self) -> list[Argument]:
        """The parameters in order; one of a function that has no annotation may be anything."""
        types = self.arg_types
        return [Argument(name, types.get(name, Any)) for name in inspect.signature(self.func).parameters]

    @property
    def source(self) -> str:
        """The text of the function, from its first decorator on."""
        text = _source.text(self.func)
        lines = (text or "").splitlines(keepends=True)[self.fun_lineno - 1 :]
        return "".join(inspect.getblock(lines)) if lines else ""
