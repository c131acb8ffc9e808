"""Lambdas as functions with a `def`, which the compiler finds by its line.

In: `lambda a, b: a + b + c`. Out: a function of the same arguments, globals and free variables whose text is

    def lambda_(a, b):
        return a + b + c
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from gridstride import _source

_numbers = itertools.count()


def named(function: Any) -> Any:
    """A lambda as a function with a `def`; any other function as it is. `ValueError` where the lambda is not found."""
    if not hasattr(function, "__code__"):
        raise TypeError(f"only functions written in Python can be kernels or their functions, not {function!r}")
    if function.__name__ != "<lambda>":
        return function
    code = function.__code__
    text = _source.text(function)
    found = [one for one in _lambdas(text or "") if one.lineno == code.co_firstlineno]
    fitting = [one for one in found if _same(one, code)]
    if not fitting:
        raise ValueError(f"the text of the lambda on line {code.co_firstlineno} of {code.co_filename} is not known")
    return _define(fitting[0], function)


def _lambdas(text: str) -> Iterator[ast.Lambda]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Lambda))


def _same(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda of the text has the names and constants of a function's code: a line may hold several."""
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if names != list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        return False
    compiled = compile(ast.Expression(node), code.co_filename, "eval")
    inner = next(one for one in compiled.co_consts if isinstance(one, CodeType))
    used = (set(inner.co_names), set(inner.co_consts) - {None})
    return used == (set(code.co_names) | set(code.co_freevars), set(code.co_consts) - {None}) or (
        inner.co_code == code.co_code
    )


def _define(node: ast.Lambda, function: Any) -> Any:
    arguments = ast.unparse(node.args)
    body = f"def lambda_({arguments}):\n        return {ast.unparse(node.body)}\n"
    free = ", ".join(function.__code__.co_freevars)
    text = f"def make({free}):\n    {body}    return lambda_\n"
    file = f"<gridstride.numba lambda {next(_numbers)}>"
    _source.register(file, text)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), function.__globals__, scope)
    made = scope["make"](*(None for _ in function.__code__.co_freevars))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in made.__code__.co_freevars)
    return FunctionType(made.__code__, function.__globals__, "lambda_", function.__defaults__, closure)
