"""What a kernel is made of, as a hash: its code, the values it captures, the functions it calls, its types and options.

In: a Python function with its annotations. Out: the same bytes for what would compile to the same, whichever module or
file it comes from, and others where a captured value, a called function or an option differs. Compiled code is not
found by this hash (see "Captured values" in ARCHITECTURE.md: the IR says what is the same); it serves
`module="unique"` and `Module.hash_module`.
"""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gridstride import _types

_PLAIN = (int, float, complex, str, bytes, type(None), type(Ellipsis))
# Nested values deeper than this are taken by identity: one may hold itself.
_MAX_DEPTH = 8


class Identity:
    """Collects what a kernel is made of. `is_by_value`: whether all of it was taken by value."""

    def __init__(self) -> None:
        # Most programs never ask, and it loads all of OpenSSL.
        import hashlib

        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        # What is taken by address must not make room for another.
        self.held: list[Any] = []
        self.is_by_value = True
        # Modules of the functions that were met.
        self.modules: set[Any] = set()

    def add(self, *words: Any) -> None:
        """Adds text."""
        self._hash.update(repr(words).encode())

    def digest(self) -> bytes:
        """The hash of all that was added."""
        return self._hash.digest()

    def function(self, function: Callable[..., Any], annotations: Mapping[str, Any]) -> None:
        """Adds a function's code and types, and all that it refers to."""
        number = self._seen.get(id(function))
        if number is not None:
            self.add("seen", number)
            return
        self._seen[id(function)] = len(self._seen)
        self.held.append(function)
        self.add("function", function.__name__)
        for name, annotation in annotations.items():
            self.add(name)
            self._type(annotation)
        self.code(function.__code__)
        for _, static in sorted(getattr(function, "__gs_statics__", {}).items(), key=lambda item: item[0]):
            self.value(static)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()):
            self.value(default)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name in sorted(cells):
            try:
                self.named(name, cells[name].cell_contents, function.__code__)
            except ValueError:
                self.add(name, "empty")
        for name in sorted(names_of(function.__code__) - cells.keys()):
            if name in function.__globals__:
                self.named(name, function.__globals__[name], function.__code__)

    def code(self, code: CodeType) -> None:
        """Adds instructions and constants, but not where they stand."""
        self.add(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.code(constant)
            else:
                self.add(type(constant).__name__, constant)

    def named(self, name: str, value: Any, code: CodeType) -> None:
        """Adds a captured value; of a module or class only the members that the code may read."""
        self.add(name)
        if isinstance(value, ModuleType):
            self.add("module", value.__name__)
            if value.__name__.partition(".")[0] == __name__.partition(".")[0]:
                return
            for member in sorted(names_of(code)):
                if member in value.__dict__:
                    self.add(member)
                    self.value(value.__dict__[member])
        else:
            self.value(value)

    def value(self, value: Any, depth: int = 0) -> None:
        """Adds a value: numbers, types, host values and sequences of them by value, other objects by identity."""
        self.add(type(value).__name__)
        overloads = getattr(value, "overloads", None)
        if isinstance(value, enum.Enum):
            self.add(str(value), value.value)
        elif isinstance(value, _PLAIN):
            self.add(value)
        elif isinstance(_types.instance_type(value), _types.Type) and hasattr(value, "__gs_bytes__"):
            self._type(_types.instance_type(value))
            self.add(value.__gs_bytes__())
        elif getattr(value, "_is_function_class", False):
            self.add(len(overloads))
            for one in overloads:
                self.modules |= {getattr(one, "module", None)} - {None}
                self.function(one.func, one._annotations)
                self.add(one.inline)
        elif isinstance(value, FunctionType):
            self.function(value, {})
        elif isinstance(value, (tuple, list)) and depth < _MAX_DEPTH:
            self.add(len(value))
            for item in value:
                self.value(item, depth + 1)
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            for key, item in value.items():
                self.value(key, depth + 1)
                self.value(item, depth + 1)
        elif hasattr(value, "__gs_type__"):
            self._type(value.__gs_type__)
        elif hasattr(value, "__gs_builtin__"):
            self.add(value.__gs_builtin__)
        else:
            self._by_identity(value)

    def _by_identity(self, value: Any) -> None:
        is_constant = isinstance(value, type) or getattr(builtins, getattr(value, "__name__", ""), None) is value
        self.is_by_value &= is_constant
        self.held.append(value)
        self.add(f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else id(value))
        if isinstance(value, type):
            for name, member in sorted(vars(value).items()):
                if isinstance(member, _PLAIN) and not name.startswith("__"):
                    self.add(name, member)

    def _type(self, ty: Any) -> None:
        if isinstance(ty, _types.Type):
            # Structs of one name may differ.
            self.add(ty.name, [(name, field.name) for name, field, _ in ty.fields] if ty.kind == "struct" else "")
        elif isinstance(ty, tuple):
            self.add(len(ty))
            for part in ty:
                self._type(part)
        else:
            self.add(repr(ty))


def names_of(code: CodeType) -> set[str]:
    """Names that code and the functions inside of it read from outside, attributes included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= names_of(constant)
    return names
