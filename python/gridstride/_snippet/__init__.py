"""`wp.func_native`: functions given as C++ text.

    >>> @wp.func_native("return x * 2.0f;")
    ... def twice(x: float) -> float: ...

The text is read as C: statements, numbers, arrays, vectors, calls of C's and Warp's functions. It becomes a function of
the kernel language, which runs on every device and has a gradient without `adj_snippet` too. What is not read (shared
memory, pointers, templates) is refused by line, where a kernel calls the function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gridstride import _annotations, _function, _map, _native
from gridstride._native import Type
from gridstride._snippet.statements import Statements
from gridstride._snippet.tokens import CTextError
from gridstride._snippet.types import Typed


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Any:
    """Makes C++ text a function that kernels call. Use as `@wp.func_native("…")` over a function without a body.

    Args:
        snippet: The body. It sees the parameters by their names.
        adj_snippet: Its gradient, which adds to `adj_x` for each parameter `x`; `adj_ret` is the result's adjoint. Left
            out, the gradient is that of the text.
        replay_snippet: What runs instead in the backward pass, before the gradient.
    """
    frame = sys._getframe(1)

    def decorate(function: Callable[..., Any]) -> _function.Function:
        annotations = _annotations.of_function(function, frame, every=True)
        result = annotations.get("return")
        params = {name: _known(annotations[name]) for name in _parameters(function)}
        names = {name: Typed(name, ty) for name, ty in params.items()}
        written = _written(function, snippet, list(params), names, result)
        made = _function.define_function(written, annotations, frame.f_locals.get(function.__name__))
        if adj_snippet is not None:
            gradient = _gradient(function, adj_snippet, params, result)
            made.custom_grad = _native.Function(gradient, {}, [])
        if replay_snippet is not None:
            replay = _written(function, replay_snippet, list(params), names, result)
            made.custom_replay = _native.Function(replay, annotations, [])
        return made

    return decorate


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _known(annotation: Any) -> Type | None:
    """The type that a parameter has in the text; None for an open one."""
    if isinstance(annotation, tuple) and annotation[0] == "ref":
        annotation = annotation[1]
    if isinstance(annotation, tuple) and annotation[0] == "array" and isinstance(annotation[1], Type):
        return Type.array(annotation[1], annotation[2])
    return annotation if isinstance(annotation, Type) else None


def _written(
    function: Callable[..., Any],
    text: str,
    params: list[str],
    names: dict[str, Typed],
    result: Any = None,
) -> Callable[..., Any]:
    """A Python function with what the text says."""
    import gridstride

    scope: dict[str, Any] = {"wp": gridstride}
    try:
        reader = Statements(text, names, result if isinstance(result, Type) else None)
        reader.read()
        lines = reader.lines or ["pass"]
        scope.update(reader.scope)
    except CTextError as error:
        scope["wp_refuse"] = _refusal(f"the C++ text of `{function.__name__}`, {error}")
        lines = ["wp.static(wp_refuse())"]
    head = f"def {function.__name__}({', '.join(params)}):"
    made = _map.define([head, *[f"    {line}" for line in lines]], scope, f"C++ text of {function.__name__}")
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return made


def _refusal(message: str) -> Callable[[], Any]:
    def refuse() -> Any:
        raise NotImplementedError(message)

    return refuse


def _gradient(function: Callable[..., Any], text: str, params: dict[str, Any], result: Any) -> Callable[..., Any]:
    """The function of the gradient: it takes the arguments, and the adjoint of the result."""
    names = {name: Typed(name, ty) for name, ty in params.items()}
    names.update({f"adj_{name}": Typed(f"wp.adjoint[{name}]", ty) for name, ty in params.items()})
    seeds = []
    if result is not None:
        seeds.append("adj_ret")
        names["adj_ret"] = Typed("adj_ret", _known(result))
    return _written(function, text, [*params, *seeds], names)
