"""`@wp.func`: functions that kernels call, with their overloads and defaults.

>>> @wp.func
... def scaled(x: float, factor: float = 2.0):
...     return factor * x
>>> scaled(3.0)
6.0
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any, ParamSpec, TypeVar
from typing import overload as overload_signature

from gridstride import (
    _adj,
    _annotations,
    _builtins,
    _called,
    _defaults,
    _native,
    _source,
    _statics,
    _types,
    config,
)
from gridstride._module import Module, get_module

P = ParamSpec("P")
R = TypeVar("R")
_settings = config.__dict__


class Function(_native.Function):
    """A function that kernels call, made by `@wp.func`. Calling it from Python runs it in the interpreter.

    Attributes: `func` (the Python function), `key`, `module`, `overloads` (all functions of this name, in order).
    """

    _is_function_class = True
    func: Callable[..., Any]
    key: str
    module: Module
    inline: bool | None = None

    def __new__(cls, pyfunc: Callable[..., Any], annotations: dict[str, Any], overloads: list[Function]) -> Function:
        self = super().__new__(cls, pyfunc, annotations, overloads)
        overloads.append(self)
        self.func = pyfunc
        self._annotations = annotations
        adopt(self, pyfunc)
        return self

    def __reduce__(self) -> str:
        return self.func.__qualname__  # as Python's functions, by module and name: pickled, and copied as itself

    @property
    def adj(self) -> _adj.Adj:
        """What it was made from."""
        return _adj.Adj(self.func)

    @property
    def defaults(self) -> _defaults.Defaults:
        """Default values by parameter. Kernels that call the function are compiled anew where one changes."""
        return _defaults.Defaults(self.func, lambda: _note_change(self.func))  # type: ignore[arg-type]

    @defaults.setter
    def defaults(self, values: Mapping[str, Any]) -> None:
        self.defaults.replace(values)

    @property
    def user_overloads(self) -> dict[str, Function]:
        """The functions of this name by the types of their parameters."""
        return {", ".join(map(str, _parameters(one.func, one._annotations))): one for one in self.overloads}

    def get_overload(self, arg_types: Sequence[Any], kwarg_types: Mapping[str, Any]) -> Function | None:
        """The function of this name that takes arguments of these types; None where none does."""
        for one in self.overloads:
            try:
                bound = inspect.signature(one.func).bind(*arg_types, **kwarg_types)
            except TypeError:
                continue
            pairs = ((one._annotations.get(name), given) for name, given in bound.arguments.items())
            if all(_takes(annotation, given) for annotation, given in pairs):
                return one
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Result for host values: Python numbers, host vectors …, a tuple for several. Raises `CompileError`.

        A function that calls Python's own, such as `repr`, or is given tuples, is run by Python.
        """
        if kwargs:
            bound = inspect.signature(self.func).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        if any(isinstance(one, FunctionType) for one in args):
            raise _native.ArgumentError(self._no_overload(args))
        if len(self.overloads) == 1 and any(type(one) is tuple for one in args):
            return self.func(*args)
        try:
            if any(isinstance(one, (Function, _builtins.Builtin)) for one in args):
                from gridstride import _map

                return _called.result(_native.call(*_map.with_functions(self, args)), args)
            return _called.result(_native.call(self, args), args)
        except _native.CompileError as error:
            if len(self.overloads) > 1 or not all(map(_called.is_of_python, error.diagnostics)):
                if error.diagnostics[0][0] != "no-overload":
                    raise
                made = type(error)(self._no_overload(args))
                made.diagnostics = error.diagnostics
                made.__notes__ = [str(error)]
                raise made from None
        return self.func(*args)

    def _no_overload(self, args: Any) -> str:
        return f"Error calling function '{self.__name__}', no overload found for arguments {args}"

    def __repr__(self) -> str:
        return f"<Function {self.__name__}({', '.join(self._annotations)})>"


# For type checkers: what is decorated keeps its signature.
@overload_signature
def func(f: Callable[P, R]) -> Callable[P, R]: ...
@overload_signature
def func(
    *, name: str | None = None, module: Module | str | None = None, inline: bool | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def func(
    f: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    module: Module | str | None = None,
    inline: bool | None = None,
) -> Any:
    """Makes a function callable from kernels. Use as `@wp.func`.

    Decorating another function of the same name in the same scope adds an overload; one with the same parameter types
    replaces the earlier. Annotations and defaults are optional. Raises `TypeError` for an annotation that is no type.
    """
    if inline is not None and not isinstance(inline, bool):
        raise TypeError(f"inline must be a bool or None, not {inline!r}")
    frame = sys._getframe(1)

    def decorate(function: Callable[..., Any], frame: FrameType = frame) -> Function:
        annotations = _annotations.of_function(function, frame, every=False)
        return define_function(function, annotations, frame.f_locals.get(function.__name__), name, module, inline)

    return decorate if f is None else decorate(f)


def define_function(
    function: Callable[..., Any],
    annotations: dict[str, Any],
    earlier: Any,
    name: str | None = None,
    module: Module | str | None = None,
    inline: bool | None = None,
) -> Function:
    """A function as `func` makes it; `earlier` is what its name stood for."""
    made = Function(function, annotations, _overloads(earlier, function, annotations))
    made.key = name or key_of(function)
    made.module = Module(f"{function.__module__}.{made.key}") if module == "unique" else module_of(module, function)
    made.inline = inline
    _note_redefinition(made, made.module.functions.get(made.key))
    made.module.functions[made.key] = made
    return made


# How often a function of a module was defined anew.
redefined = 0


def _note_redefinition(made: Function, before: Function | None) -> None:
    """Has every kernel look, at its next launch, whether it calls a function that was just replaced."""
    # A function within another is captured by the kernels beside it: nothing else leads to its name.
    if before is None or before in made.overloads or "<locals>" in made.func.__qualname__:
        return
    _note_change(made.func)


def _note_change(function: Callable[..., Any]) -> None:
    """Has every kernel look, at its next launch, whether it calls a function that has changed."""
    global redefined
    redefined += 1
    function.__gs_redefined__ = redefined  # type: ignore[attr-defined]
    _settings["_changes"] += 1
    _native.set_launch_state(changes=_settings["_changes"])


def _takes(annotation: Any, given: Any) -> bool:
    """Whether a parameter takes arguments of a type. One without annotation takes all."""
    from gridstride import types

    pattern = None if annotation is None else _types.native_type(given)
    return pattern is None or pattern == annotation or types.matches(pattern, annotation)


def _parameters(function: Callable[..., Any], annotations: dict[str, Any]) -> list[Any]:
    code = function.__code__
    return [annotations.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]


def _without_ref(annotation: Any) -> Any:
    return annotation[1] if isinstance(annotation, tuple) and annotation[0] == "ref" else annotation


def _overloads(earlier: Any, function: Callable[..., Any], annotations: dict[str, Any]) -> list[Function]:
    """The functions of this name that a new one joins. A new list: kernels that hold the earlier ones do not change."""
    if not isinstance(earlier, Function) or earlier.func.__qualname__ != function.__qualname__:
        return []
    if earlier.func.__module__ != function.__module__:
        return []
    wanted = _parameters(function, annotations)
    for one in earlier.overloads:
        known = _parameters(one.func, one._annotations)
        if known != wanted and list(map(_without_ref, known)) == list(map(_without_ref, wanted)):
            raise RuntimeError(
                f"overloads of `{function.__name__}` differ only by `wp.ref`: every call would fit both of them"
            )
    return [one for one in earlier.overloads if _parameters(one.func, one._annotations) != wanted]


def module_of(module: Module | str | None, function: Callable[..., Any]) -> Module:
    if isinstance(module, Module):
        return module
    return get_module(function.__module__ if module is None else module)


def key_of(function: Callable[..., Any]) -> str:
    return re.sub(r"[^0-9a-zA-Z_]+", "", function.__qualname__.replace(".", "__"))


def keep(function: Callable[..., Any]) -> None:
    """Keeps the text of a function, and what its static expressions are when it is first made one."""
    _source.remember(function)  # type: ignore[arg-type]
    if not hasattr(function, "__gs_statics__"):
        function.__gs_statics__ = _statics.evaluate(function, static)  # type: ignore[attr-defined]


def adopt(wrapper: Any, function: Callable[..., Any]) -> None:
    keep(function)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(wrapper, name, getattr(function, name))
    wrapper.__wrapped__ = function


def static(expression: Any) -> Any:
    """In a kernel: an expression that Python evaluates, when the kernel is defined if it can. Else its argument."""
    return expression


static.__gs_builtin__ = "static"  # type: ignore[attr-defined]
