"""`Function.defaults`: the default values of a function's parameters, which can be changed.

>>> @wp.func
... def scaled(x: float, factor: float = 2.0):
...     return factor * x
>>> scaled.defaults["factor"] = 3.0
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from types import FunctionType
from typing import Any


class Defaults(MutableMapping[str, Any]):
    """Default values by parameter. `changed` is called after a change."""

    def __init__(self, function: FunctionType, changed: Callable[[], None]) -> None:
        self._function = function
        self._changed = changed

    def _values(self) -> dict[str, Any]:
        parameters = inspect.signature(self._function).parameters.values()
        return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}

    def __getitem__(self, name: str) -> Any:
        return self._values()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.replace({**self._values(), name: value})

    def __delitem__(self, name: str) -> None:
        values = self._values()
        del values[name]
        self.replace(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __repr__(self) -> str:
        return repr(self._values())

    def copy(self) -> dict[str, Any]:
        """A dictionary of them as they are now."""
        return self._values()

    def replace(self, values: Mapping[str, Any]) -> None:
        """Gives the parameters these defaults, and no others.

        Raises `KeyError` for a name that is no parameter, `ValueError` for a parameter that lacks a default after one
        that has it.
        """
        code = self._function.__code__
        positional = code.co_varnames[: code.co_argcount]
        by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        for name in values:
            if name not in positional and name not in by_name:
                raise KeyError(f"`{self._function.__name__}` has no parameter `{name}`")
        has = [name in values for name in positional]
        first = has.index(True) if True in has else len(has)
        if not all(has[first:]):
            name = positional[first + has[first:].index(False)]
            raise ValueError(f"the parameter `{name}` of `{self._function.__name__}` follows one that has a default")
        self._function.__defaults__ = tuple(values[name] for name in positional[first:])
        self._function.__kwdefaults__ = {name: values[name] for name in by_name if name in values}
        self._changed()
