"""A kernel in Python, in CuPy's words, as C text.

In: a function's syntax tree, what its names stand for, the types of its arguments. Out: the text of a kernel or a
device function. Every variable has the type of its first assignment, as CuPy says; numbers are promoted as in C, and
literals are int and float (mode "cuda") or long and double (mode "numpy").

    i = jit.grid(1)              int32_t i;  i = blockIdx.x * blockDim.x + threadIdx.x;
    if i < x.shape[0]:     ->    if (i < x.shape(0)) {
        y[i] = x[i] * 2            y.at(i) = x.at(i) * 2;  }
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy._element_kernels import c_name
from gridstride.cupyx.jit import _words

BOOL, INT, UNSIGNED, LONG = (np.dtype(kind) for kind in "?iIq")
FLOAT, DOUBLE = np.dtype("f"), np.dtype("d")

_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class Array:
    """An array: its elements and dimensions; `shape` where it is known, of shared memory."""

    def __init__(self, dtype: np.dtype[Any], ndim: int, shape: tuple[int, ...] | None = None) -> None:
        self.dtype, self.ndim, self.shape = dtype, ndim, shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and (self.dtype, self.ndim) == (other.dtype, other.ndim)

    def __hash__(self) -> int:
        return hash((self.dtype, self.ndim))


class Value:
    """What an expression is: C text with a dtype or an Array, or a Python object that is known while translating."""

    def __init__(self, text: str, type_: Any, known: Any = None, is_known: bool = False) -> None:
        self.text, self.type, self.known, self.is_known = text, type_, known, is_known


def known(value: Any) -> Value:
    """A Python object."""
    return Value("", None, value, True)


def common(x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which C computes with two numbers."""
    x, y = promoted(x), promoted(y)
    if x.kind == "f" or y.kind == "f":
        floats = [one for one in (x, y) if one.kind == "f"]
        return max(floats, key=lambda one: one.itemsize)
    if x.itemsize != y.itemsize:
        return x if x.itemsize > y.itemsize else y
    return x if x.kind == "u" else y


def promoted(x: np.dtype[Any]) -> np.dtype[Any]:
    """An integer narrower than int computes as int."""
    return INT if x.kind in "biu" and x.itemsize < 4 else x


class Translator:
    """One function for given types of its arguments."""

    def __init__(
        self,
        function: Any,
        tree: ast.FunctionDef,
        where: tuple[str, int, list[str]],
        find: Callable[[str], Any],
        mode: str,
        call: Callable[[Any, tuple[Any, ...]], tuple[str, Any]],
    ) -> None:
        self.function, self.tree, self.mode = function, tree, mode
        self._where, self._find, self._call = where, find, call
        self.variables: dict[str, Any] = {}
        self.arrays: dict[str, Value] = {}
        self.shared: list[str] = []
        self.lines: list[str] = []
        self.returns: Any = None
        self._depth = 1
        self._n_temporaries = 0

    def refuse(self, node: Any, message: str, help_: str = "") -> _native.CompileError:
        """The report of a mistake, with a caret under the text."""
        file, first, lines = self._where
        line = lines[node.lineno - 1].rstrip("\n")
        number = first + node.lineno - 1
        end = node.end_col_offset if node.end_lineno == node.lineno else len(line)
        margin = " " * len(str(number))
        text = [
            f"kernel `{self.function.__name__}` cannot be compiled: 1 error",
            "",
            f"error[unsupported-syntax]: {message}",
            f"{margin}--> {file}:{number}:{node.col_offset + 1}",
            f"{margin} |",
            f"{number} | {line}",
            f"{margin} | {' ' * node.col_offset}{'^' * max(end - node.col_offset, 1)}",
        ]
        if help_:
            text.append(f"{margin} = help: {help_}")
        return _native.CompileError("\n".join(text))

    # Statements.

    def translate(self, params: dict[str, Any]) -> tuple[list[str], list[str]]:
        """The declarations and the lines of the body."""
        self.variables = dict(params)
        given = set(params)
        for stmt in self.tree.body:
            self.statement(stmt)
        declared = [f"  {c_name(ty)} {name};" for name, ty in self.variables.items() if name not in given]
        return [*self.shared, *declared], self.lines

    def emit(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def block(self, body: list[ast.stmt]) -> None:
        self._depth += 1
        for stmt in body:
            self.statement(stmt)
        self._depth -= 1

    def statement(self, stmt: ast.stmt) -> None:
        match stmt:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=value):
                found = self.expr(value)
                if not found.is_known:
                    self.emit(f"{found.text};")
            case ast.Assign(targets=targets, value=value):
                self.assign_all(targets, value)
            case ast.AugAssign(target=target, op=op, value=value):
                left = ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)
                for node in ast.walk(left):
                    ast.copy_location(node, target)
                found = self.binary(op, self.expr(left), self.expr(value), stmt)
                self.store(target, found)
            case ast.If(test=test, body=body, orelse=orelse):
                condition = self.condition(test)
                self.emit(f"if ({condition}) {{")
                self.block(body)
                if orelse:
                    self.emit("} else {")
                    self.block(orelse)
                self.emit("}")
            case ast.While(test=test, body=body, orelse=[]):
                self.emit(f"while ({self.condition(test)}) {{")
                self.block(body)
                self.emit("}")
            case ast.For(target=ast.Name(id=name), iter=iter_, body=body, orelse=[]):
                self.for_range(name, iter_, body)
            case ast.Break():
                self.emit("break;")
            case ast.Continue():
                self.emit("continue;")
            case ast.Return(value=value):
                self.return_(value)
            case _:
                what = type(stmt).__name__.lower()
                raise self.refuse(stmt, f"`{what}` is not supported in a kernel")

    def assign_all(self, targets: list[ast.expr], value: ast.expr) -> None:
        if len(targets) != 1:
            raise self.refuse(targets[1], "a statement assigns to one target", "write one assignment for each")
        (target,) = targets
        if not isinstance(target, ast.Tuple):
            return self.assign(target, self.expr(value))
        items = [self.expr(one) for one in value.elts] if isinstance(value, ast.Tuple) else self.expr(value).known
        if not isinstance(items, tuple | list) or len(items) != len(target.elts):
            raise self.refuse(value, f"this is no tuple of {len(target.elts)} values")
        held = []
        for item in items:
            item = item if isinstance(item, Value) else known(item)
            if not item.is_known and len(items) > 1:
                # All are computed before any is assigned: `a, b = b, a`.
                self._n_temporaries += 1
                name = f"_t{self._n_temporaries}"
                self.emit(f"const {c_name(item.type)} {name} = {item.text};")
                item = Value(name, item.type)
            held.append(item)
        for one, item in zip(target.elts, held, strict=True):
            self.assign(one, item)
        return None

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name) and isinstance(value.type, Array):
            # One more name of an array, which is not changed to another later.
            if self.arrays.setdefault(target.id, value).text != value.text:
                raise self.refuse(target, f"`{target.id}` is another array already", "take another name")
            return
        self.store(target, value)

    def store(self, target: ast.expr, value: Value) -> None:
        value = self.valued(value, target)
        if isinstance(target, ast.Name):
            self.variables.setdefault(target.id, value.type)
            self.emit(f"{target.id} = {value.text};")
        elif isinstance(target, ast.Subscript):
            self.emit(f"{self.expr(target).text} = {value.text};")
        else:
            raise self.refuse(target, "this cannot be assigned to", "assign to a name or to an element")

    def return_(self, value: ast.expr | None) -> None:
        if value is None:
            return self.emit("return;")
        found = self.valued(self.expr(value), value)
        if self.returns is None:
            self.returns = found.type
        self.emit(f"return {found.text};")
        return None

    def for_range(self, name: str, iter_: ast.expr, body: list[ast.stmt]) -> None:
        callee = self.expr(iter_.func).known if isinstance(iter_, ast.Call) else None
        if not isinstance(iter_, ast.Call) or callee not in (range, _words.range) or not 1 <= len(iter_.args) <= 3:
            raise self.refuse(iter_, "a loop goes over a range", "write `for i in range(n)`")
        bounds = [self.valued(self.expr(one), one) for one in iter_.args]
        start = bounds[0] if len(bounds) > 1 else Value("0", INT)
        stop, step = bounds[min(1, len(bounds) - 1)], bounds[2] if len(bounds) == 3 else Value("1", INT)
        kind = common(common(start.type, stop.type), step.type)
        if kind.kind == "u":
            # Python's ranges may go below zero.
            kind = LONG if kind.itemsize == 8 else np.dtype("i")
        self.variables.setdefault(name, kind)
        word = c_name(kind)
        self._n_temporaries += 1
        n = self._n_temporaries
        is_down = isinstance(step.known, int) and step.known < 0
        sign = ">" if is_down else "<"
        moved = f"_k{n} -= {-step.known}" if is_down else f"_k{n} += {step.text}"
        self.emit(f"for ({word} _k{n} = {start.text}; _k{n} {sign} ({word})({stop.text}); {moved}) {{")
        self._depth += 1
        self.emit(f"{name} = _k{n};")
        self._depth -= 1
        self.block(body)
        self.emit("}")

    # Expressions.

    def condition(self, test: ast.expr) -> str:
        return self.valued(self.expr(test), test).text

    def valued(self, value: Value, node: Any) -> Value:
        """A value that a kernel can hold."""
        if isinstance(value.type, np.dtype):
            return value
        if not value.is_known or isinstance(value.type, Array):
            raise self.refuse(node, "an array cannot be used as a number", "index it")
        made = self.constant(value.known)
        if made is None:
            raise self.refuse(node, f"`{value.known!r}` is not a value that a kernel can hold")
        return made

    def constant(self, value: Any) -> Value | None:
        """A number as C text, with its type."""
        if isinstance(value, bool | np.bool_):
            return Value("true" if value else "false", BOOL, bool(value))
        if isinstance(value, np.generic) and value.dtype.kind in "iuf":
            inner = self.constant(value.item())
            return inner and Value(f"({c_name(value.dtype)})({inner.text})", value.dtype, value.item())
        if isinstance(value, int):
            kinds = "iIqQ" if self.mode == "cuda" else "qQ"
            for kind in kinds:
                info = np.iinfo(kind)
                if info.min <= value <= info.max:
                    suffix = {"i": "", "I": "u", "q": "ll", "Q": "ull"}[kind]
                    return Value(f"({value}{suffix})" if value < 0 else f"{value}{suffix}", np.dtype(kind), value)
            return None
        if isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                text = "NAN" if value != value else "INFINITY" if value > 0 else "(-INFINITY)"
            else:
                text = repr(value) if "." in repr(value) or "e" in repr(value) else f"{value!r}.0"
                text = f"({text}f)" if self.mode == "cuda" else f"({text})"
            return Value(text, FLOAT if self.mode == "cuda" else DOUBLE, value)
        return None

    def expr(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return self.constant(value) or known(value)
            case ast.Name(id=name):
                if name in self.arrays:
                    return self.arrays[name]
                if name in self.variables:
                    return Value(name, self.variables[name])
                try:
                    found = self._find(name)
                except NameError:
                    raise self.refuse(node, f"`{name}` is not set here") from None
                return known(found)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return known(tuple(self.expr(one) for one in items))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.expr(left), self.expr(right), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.valued(self.expr(operand), operand), node)
            case ast.BoolOp(op=op, values=values):
                sign = " && " if isinstance(op, ast.And) else " || "
                return Value("(" + sign.join(self.condition(one) for one in values) + ")", BOOL)
            case ast.Compare(left=left, ops=ops, comparators=rest):
                return self.compare(left, ops, rest, node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                x, y = self.valued(self.expr(body), body), self.valued(self.expr(orelse), orelse)
                kind = x.type if x.type == y.type else common(x.type, y.type)
                return Value(f"({self.condition(test)} ? {x.text} : {y.text})", kind)
            case ast.Attribute(value=base, attr=attr):
                return self.attribute(self.expr(base), attr, node)
            case ast.Subscript(value=base, slice=index):
                return self.subscript(self.expr(base), index, node)
            case ast.Call():
                return self.call(node)
        raise self.refuse(node, "this expression is not supported in a kernel")

    def binary(self, op: ast.operator, x: Value, y: Value, node: Any) -> Value:
        x, y = self.valued(x, node), self.valued(y, node)
        kind = common(x.type, y.type)
        if isinstance(op, ast.Div):
            kind = kind if kind.kind == "f" else DOUBLE
            return Value(f"(({c_name(kind)}){x.text} / {y.text})", kind)
        if isinstance(op, ast.Pow):
            if kind.kind != "f":
                return Value(f"(({c_name(kind)})pow((double){x.text}, (double){y.text}))", kind)
            return Value(f"pow(({c_name(kind)}){x.text}, ({c_name(kind)}){y.text})", kind)
        if isinstance(op, ast.FloorDiv) and kind.kind == "f":
            return Value(f"floor(({c_name(kind)}){x.text} / {y.text})", kind)
        if isinstance(op, ast.FloorDiv | ast.Mod) and kind.kind != "u":
            word = "_floor_div" if isinstance(op, ast.FloorDiv) else "_mod"
            text = f"{word}<{c_name(kind)}>({x.text}, {y.text})"
            return Value(text, kind)
        sign = "/" if isinstance(op, ast.FloorDiv) else _OPERATORS.get(type(op))
        if sign is None:
            raise self.refuse(node, "this operator is not supported in a kernel")
        if isinstance(op, ast.LShift | ast.RShift):
            kind = promoted(x.type)
        if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor) and x.type == y.type == BOOL:
            return Value(f"(bool)({x.text} {sign} {y.text})", BOOL)
        return Value(f"({x.text} {sign} {y.text})", kind)

    def unary(self, op: ast.unaryop, x: Value, node: Any) -> Value:
        if isinstance(op, ast.Not):
            return Value(f"(!{x.text})", BOOL)
        kind = promoted(x.type)
        if isinstance(op, ast.USub):
            # A negated constant is one.
            made = self.constant(-x.known) if isinstance(x.known, int | float) else None
            return made or Value(f"(-{x.text})", kind)
        sign = "~" if isinstance(op, ast.Invert) else "+"
        return Value(f"({sign}{x.text})", kind)

    def compare(self, left: ast.expr, ops: list[ast.cmpop], rest: list[ast.expr], node: Any) -> Value:
        parts, before = [], self.valued(self.expr(left), left)
        for op, one in zip(ops, rest, strict=True):
            sign = _COMPARISONS.get(type(op))
            if sign is None:
                raise self.refuse(node, "this comparison is not supported in a kernel")
            here = self.valued(self.expr(one), one)
            parts.append(f"({before.text} {sign} {here.text})")
            before = here
        return Value("(" + " && ".join(parts) + ")" if len(parts) > 1 else parts[0], BOOL)

    def attribute(self, base: Value, attr: str, node: Any) -> Value:
        if isinstance(base.type, Array):
            array = base.type
            if attr == "ndim":
                return known(array.ndim)
            if attr == "size" and array.shape is None:
                return Value(f"{base.text}.size()", LONG)
            if attr == "shape" and array.shape is None:
                return known(tuple(Value(f"{base.text}.shape({k})", LONG) for k in range(array.ndim)))
            if attr in ("shape", "size") and array.shape is not None:
                return known(array.shape if attr == "shape" else int(np.prod(array.shape)))
            if attr == "T" and array.ndim == 1:
                return base
            raise self.refuse(node, f"an array has no attribute `{attr}` in a kernel", "there are shape, size and ndim")
        if base.is_known:
            part = _words.part(base.known, attr)
            if part is not None:
                return part
            try:
                found = getattr(base.known, attr)
            except AttributeError:
                raise self.refuse(node, f"`{base.known}` has no attribute `{attr}`") from None
            return known(found)
        raise self.refuse(node, f"a number has no attribute `{attr}` in a kernel")

    def subscript(self, base: Value, index: ast.expr, node: Any) -> Value:
        items = index.elts if isinstance(index, ast.Tuple) else [index]
        values = [self.expr(one) for one in items]
        if len(values) == 1 and values[0].is_known and isinstance(values[0].known, tuple):
            values = [one if isinstance(one, Value) else known(one) for one in values[0].known]
        if isinstance(base.type, Array):
            array = base.type
            if len(values) != array.ndim:
                raise self.refuse(node, f"the array has {array.ndim} dimensions, found {len(values)} indices")
            texts = [self.valued(one, node).text for one in values]
            if array.shape is None:
                return Value(f"{base.text}.at({', '.join(texts)})", array.dtype)
            return Value(base.text + "".join(f"[{one}]" for one in texts), array.dtype)
        if base.is_known and isinstance(base.known, tuple | list):
            at = self.valued(values[0], node).known
            if isinstance(at, int) and -len(base.known) <= at < len(base.known):
                item = base.known[at]
                return item if isinstance(item, Value) else known(item)
            raise self.refuse(node, "an index of a tuple is a constant in its range")
        raise self.refuse(node, "this cannot be indexed")

    def call(self, node: ast.Call) -> Value:
        callee = self.expr(node.func)
        args = [self.expr(one) for one in node.args]
        named = {one.arg: self.expr(one.value) for one in node.keywords if one.arg}
        found = callee.known
        if isinstance(found, _words.Word):
            return found.translate(self, node, args, named)
        if hasattr(found, "__gs_device__"):
            values = [one if isinstance(one.type, Array) else self.valued(one, node) for one in args]
            name, kind = self._call(found, tuple(one.type for one in values))
            return Value(f"{name}({', '.join(one.text for one in values)})", kind)
        made = _words.function(self, node, found, args)
        if made is None:
            raise self.refuse(node, f"`{ast.unparse(node.func)}` cannot be called in a kernel", _words.HELP)
        return made
