"""`wp.static(…)` when a kernel or function is defined.

In: a Python function that becomes one. Out: the values of its static expressions, by line and column, for the
compiler. What an expression reads may change before the kernel is compiled, as the variable of a loop that makes
kernels does. An expression that reads the function's own names, or fails now, is left for the time of compiling.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gridstride import _annotations, _source

# By line of the file and column, both from 1.
Values = dict[tuple[int, int], Any]


def evaluate(function: Callable[..., Any], static: Any) -> Values:
    """The values of a function's static expressions that are known now; `static` is what marks one."""
    code = function.__code__
    closure = _annotations.closure_of(function)
    if "static" not in code.co_names and not _mentions(function, closure, static):
        return {}
    try:
        lines = (_source.text(function) or "").splitlines(keepends=True)[code.co_firstlineno - 1 :]
        block = "".join(inspect.getblock(lines)) if lines else ""
        dedented = textwrap.dedent(block)
        definition = ast.parse(dedented).body[0]
    except (SyntaxError, ValueError, IndexError):
        return {}
    if not isinstance(definition, ast.FunctionDef):
        return {}
    names = {**function.__globals__, **closure}
    own = {*code.co_varnames, *code.co_cellvars}
    indent = len(block) - len(block.lstrip(" \t")) if block[:1].isspace() else 0
    texts = dedented.splitlines()
    values: Values = {}
    for expression in _expressions(definition.body, names, static):
        if any(isinstance(node, ast.Name) and node.id in own for node in ast.walk(expression)):
            continue
        try:
            value = eval(compile(ast.Expression(expression), "<static>", "eval"), names)
        except Exception:  # noqa: S112 - it is evaluated again when the kernel is compiled, and reported then
            continue
        before = texts[expression.lineno - 1].encode()[: expression.col_offset].decode(errors="replace")
        values[code.co_firstlineno + expression.lineno - 1, len(before) + indent + 1] = value
    return values


def _mentions(function: Callable[..., Any], closure: Mapping[str, Any], static: Any) -> bool:
    """Whether a name that the function reads stands for `static`."""
    found = (function.__globals__.get(name) for name in function.__code__.co_names)
    return any(value is static for value in [*found, *closure.values()])


def _expressions(body: list[ast.stmt], names: Mapping[str, Any], static: Any) -> Iterator[ast.expr]:
    """The arguments of calls of `static`, without those inside of one."""
    open_nodes: list[ast.AST] = list(reversed(body))
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.Call) and _resolve(node.func, names) is static:
            if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
                yield node.args[0]
            continue
        open_nodes += reversed(list(ast.iter_child_nodes(node)))


def _resolve(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What a dotted name stands for; None for anything else."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_resolve(node.value, names), node.attr, None)
    return None
