"""Evaluates the annotations of kernels, functions and structs.

In: a function or class and the frame that decorated it. Out: names to evaluated annotations. Text annotations (from
`from __future__ import annotations`, or quoted) see the frame's locals, the closure and the globals, in this order:
a factory's names that only annotations use are in no closure.
"""

from __future__ import annotations

import inspect
import typing
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType, UnionType
from typing import Any

from gridstride import _types


def evaluate(owner: Any, globals_: dict[str, Any], scopes: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Annotations of `owner` (a function or class), text ones evaluated. Raises `NameError`, `SyntaxError` …"""
    found = inspect.get_annotations(owner)
    if any(isinstance(annotation, str) for annotation in found.values()):
        names = ChainMap(*map(dict, scopes))
        for name, annotation in found.items():
            if isinstance(annotation, str):
                found[name] = _evaluate_text(annotation, name, owner, globals_, names)
    return found


def _evaluate_text(text: str, name: str, owner: Any, globals_: dict[str, Any], names: Mapping[str, Any]) -> Any:
    try:
        value = eval(text, globals_, names)
        # `x: "wp.vec3"` below `from __future__ import annotations` is text twice.
        return eval(value, globals_, names) if isinstance(value, str) else value
    except Exception as error:
        error.args = (f"annotation `{text}` of `{name}` in `{owner.__qualname__}`: {error}",)
        raise


def closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Names and values of a function's closure; cells that are still empty are left out."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            continue
    return values


def of_function(function: Callable[..., Any], frame: FrameType, every: bool) -> dict[str, Any]:
    """`_native.Type`s and patterns of a function's parameters and "return", for the compiler.

    With `every`, a parameter without annotation is refused with a `TypeError`, as is what is no Python function.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"only functions written in Python can be kernels or their functions, not {function!r}")
    scopes: list[Mapping[str, Any]] = [closure_of(function)]
    if frame.f_locals is not frame.f_globals:
        scopes.insert(0, frame.f_locals)
    annotations = evaluate(function, function.__globals__, scopes)
    code = function.__code__
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        raise TypeError(f"`{function.__name__}` is a coroutine or generator: write a plain `def` without `yield`")
    if every:
        if code.co_kwonlyargcount:
            raise TypeError(f"kernel `{function.__name__}` gets its arguments by position: remove the `*`")
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            raise TypeError(
                f"kernel `{function.__name__}` takes `*` or `**` parameters: name each one; other decorators go above "
                "@wp.kernel"
            )
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if name not in annotations:
                raise TypeError(f"parameter `{name}` of kernel `{function.__name__}` has no type annotation")
    native = {}
    for name, annotation in annotations.items():
        if name == "return" and (annotation is None or annotation is type(None)):
            continue
        refuse_instance(annotation, f"`{name}` of `{function.__name__}`")
        if isinstance(annotation, UnionType) or typing.get_origin(annotation) is typing.Union:
            raise RuntimeError(
                f"`{name}` of `{function.__name__}`: Union type annotations are only supported at Python scope; "
                "leave the annotation out, or write an overload for each type"
            )
        try:
            native[name] = _types.native_type(annotation)
        except TypeError as error:
            raise TypeError(f"`{name}` of `{function.__name__}`: {error}") from None
    return native


def refuse_instance(annotation: Any, place: str) -> None:
    """Refuses an array of a class that a program derived: its data and its class would mean nothing to a kernel."""
    from gridstride import _mapped

    if _mapped.is_array(annotation) and not _mapped.is_own(type(annotation)):
        raise TypeError(f"{place}: an instance of `{type(annotation).__name__}` is no annotation: write `wp.array[…]`")


def of_class(cls: type, frame: FrameType) -> dict[str, Any]:
    """Evaluated annotations of a class body."""
    import sys

    module = sys.modules.get(cls.__module__)
    globals_ = module.__dict__ if module is not None and module.__dict__ is frame.f_globals else frame.f_globals
    return evaluate(cls, globals_, [frame.f_locals, vars(cls)])
