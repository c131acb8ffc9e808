"""`@wp.func_grad` and `@wp.func_replay`: gradients that the user gives.

>>> @wp.func
... def root(x: float):
...     return wp.sqrt(x)
>>> @wp.func_grad(root)
... def adj_root(x: float, adj_ret: float):
...     wp.adjoint[x] += 0.5 * adj_ret / wp.max(wp.sqrt(x), 1e-6)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gridstride import _annotations, _native
from gridstride._kernel import Function


def func_grad(forward: Function) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as the gradient of another.

    It takes the other's arguments, then the adjoint of each result, and adds to `wp.adjoint[x]` for each argument `x`.
    """
    frame = sys._getframe(1)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        annotations = _annotations.of_function(function, frame, every=False)
        forward.custom_grad = _native.Function(function, annotations, [])  # type: ignore[attr-defined]
        return function

    return decorate


def func_replay(forward: Function) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function to run instead of another in the backward pass, with its arguments and results."""
    frame = sys._getframe(1)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        annotations = _annotations.of_function(function, frame, every=False)
        forward.custom_replay = _native.Function(function, annotations, [])  # type: ignore[attr-defined]
        return function

    return decorate
