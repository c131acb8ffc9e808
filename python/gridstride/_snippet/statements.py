"""Statements of C text as lines of a Python function in the kernel language.

int n = 2;                                    n = wp.int32(2)
for (int i = 0; i < n; i++)            ->     for i in range(0, n):
    out[i] += x;                                  out[i] = (out[i] + x)
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import NamedTuple

from gridstride._native import Type
from gridstride._snippet import types
from gridstride._snippet.expressions import Expressions
from gridstride._snippet.tokens import tokens
from gridstride._snippet.types import I32, Typed

_ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
_RESERVED = frozenset([*keyword.kwlist, "wp", "range", "print", "len", "min", "max", "abs", "int", "float", "bool"])


class Place(NamedTuple):
    """What is assigned to."""

    text: str
    type: Type | None


class Statements(Expressions):
    """A reader of statements; `lines` grow."""

    def __init__(self, text: str, names: dict[str, Typed], result: Type | None = None) -> None:
        super().__init__(tokens(text))
        self.names = dict(names)
        self.result = result
        self.lines: list[str] = []
        self._depth = 0
        self._taken = {value.text for value in names.values()} | set(names)
        # Of each loop that is open: the lines that run before its condition is asked again.
        self._steps: list[list[str]] = []

    def read(self) -> None:
        """Reads the whole text. Raises `CTextError`."""
        while self.words[self.at].kind != "end":
            self.statement()

    def add(self, line: str) -> None:
        """Adds a line at the current depth."""
        self.lines.append("    " * self._depth + line)

    def statement(self) -> None:
        """Reads a statement."""
        readers: dict[str, Callable[[], None]] = {
            "if": self._if,
            "for": self._for,
            "while": self._while,
            "do": self._do,
            "return": self._return,
            "break": self._break,
            "continue": self._continue,
        }
        word = self.word
        if self.accept(";"):
            return
        if word == "{":
            self._block()
        elif word in readers:
            self.take()
            readers[word]()
        elif word in ("switch", "goto", "case", "default", "try", "throw", "struct", "class", "using", "typedef"):
            raise self.error(f"`{word}` is not supported")
        elif word in ("__shared__", "__syncthreads", "__syncwarp"):
            raise self.error(f"`{word}` is not supported: a function of C++ text runs in each thread alone")
        else:
            self._simple()
            self.expect(";")

    def _block(self) -> None:
        """`{ … }`: names that are declared in it are its own."""
        outer = dict(self.names)
        self.expect("{")
        while not self.accept("}"):
            if self.words[self.at].kind == "end":
                raise self.error("expected `}`")
            self.statement()
        self.names = outer

    def _indented(self, read: Callable[[], None]) -> None:
        outer, n = dict(self.names), len(self.lines)
        self._depth += 1
        read()
        if len(self.lines) == n:
            self.add("pass")
        self._depth -= 1
        self.names = outer

    # --- what a line holds ---

    def _simple(self) -> None:
        """A declaration, an assignment or a call, without the `;`."""
        start = self.at
        if self.word == "auto" or self.word == "const" and self.peek() == "auto":
            self.at += 1 + (self.word == "const")
            self._declare(None)
            return
        ty = self.type_name()
        if ty is not None and self.words[self.at].kind == "name":
            self._declare(ty)
            return
        self.at = start
        if self.word in ("++", "--"):
            op = self.take().text
            self._step(self._place(), op)
            return
        self._assignment()

    def _assignment(self) -> None:
        value = self.expression()
        if self.word in ("++", "--"):
            self._step(Place(value.text, value.type), self.take().text)
        elif self.word in _ASSIGNMENTS:
            self._assign(Place(value.text, value.type), self.take().text)
        else:
            self.add(value.text)
        if self.accept(","):
            self._simple()

    def _place(self) -> Place:
        value = self.expression()
        return Place(value.text, value.type)

    def _step(self, place: Place, op: str) -> None:
        one = Typed("1", place.type if place.type is not None else I32, True)
        value = self._operation(op[0], Typed(*place), one)
        self.add(f"{place.text} = {self.converted(value, place.type).text}")

    def _assign(self, place: Place, op: str) -> None:
        start = self.at
        value = self.expression()
        if self.word == "=":
            # `a = b = 0`: the last first.
            self.at = start
            inner = self._place()
            self.take()
            self._assign(inner, "=")
            value = Typed(*inner)
        if op != "=":
            value = self._operation(op[:-1], Typed(*place), value)
        self.add(f"{place.text} = {self.converted(value, place.type).text}")

    def _declare(self, ty: Type | None) -> None:
        """`int a = 1, b[3];` after the type."""
        while True:
            name = self.take().text
            if self.word == "[":
                self._array(name, ty)
            elif self.accept("="):
                value = self.expression()
                kind = ty if ty is not None else value.type
                made = self.converted(value._replace(is_literal=True) if types.is_number(kind) else value, kind)
                self._named(name, kind, made.text)
            elif self.word in ("{", "(") and ty is not None:
                made = self._made(ty, self._arguments("}" if self.word == "{" else ")"))
                self._named(name, ty, made.text)
            elif ty is None:
                raise self.error(f"`auto {name}` needs a value")
            else:
                self._named(name, ty, f"{self.spelled(ty)}({'0' if types.is_number(ty) else ''})")
            if not self.accept(","):
                return

    def _named(self, name: str, ty: Type | None, value: str) -> None:
        """A new variable, under a name that is free."""
        free, n = name, 0
        while free in self._taken or free in _RESERVED:
            n += 1
            free = f"{name}_{n}"
        self._taken.add(free)
        self.names[name] = Typed(free, ty)
        self.add(f"{free} = {value}")

    def _array(self, name: str, ty: Type | None) -> None:
        """`float a[3] = {…};` after the name."""
        shape = self._indices()
        if ty is None or not all(extent.isdigit() for extent in shape):
            raise self.error(f"the size of `{name}` must be a number")
        dims = ", ".join(shape)
        self._named(name, Type.array(ty, len(shape)), f"wp.zeros(shape=({dims},), dtype={self.spelled(ty)})")
        if self.accept("="):
            if len(shape) > 1 or self.word != "{":
                raise self.error("an array starts as `{…}`, a list of numbers")
            for index, value in enumerate(self._arguments("}")):
                self.add(f"{self.names[name].text}[{index}] = {self.converted(value, ty).text}")

    # --- control ---

    def _condition(self) -> str:
        self.expect("(")
        value = self.condition(self.expression())
        self.expect(")")
        return value.text

    def _if(self) -> None:
        self.accept("constexpr")
        self.add(f"if {self._condition()}:")
        self._indented(self.statement)
        if self.word == "else":
            self.take()
            self.add("else:")
            self._indented(self.statement)

    def _while(self) -> None:
        self.add(f"while {self._condition()}:")
        self._loop([])

    def _do(self) -> None:
        self.add("while True:")
        start = self.at
        # What asks whether to go on stands behind the body, and `continue` needs it.
        step = self._asked_after()
        self.at = start
        self._loop(step)
        self.take()
        self._condition()
        self.expect(";")

    def _asked_after(self) -> list[str]:
        """The lines that end a round of `do … while`, whose body is skipped here."""
        lines, names, depth, taken = self.lines, dict(self.names), self._depth, set(self._taken)
        self.lines = []
        self._steps.append([])
        self.statement()
        self._steps.pop()
        self.lines, self.names, self._depth, self._taken = lines, names, depth, taken
        if self.word != "while":
            raise self.error("expected `while`")
        self.take()
        return [f"if not {self._condition()}:", "    break"]

    def _loop(self, step: list[str]) -> None:
        self._steps.append(step)
        self._indented(self._round)
        self._steps.pop()

    def _round(self) -> None:
        self.statement()
        for line in self._steps[-1]:
            self.add(line)

    def _for(self) -> None:
        outer = dict(self.names)
        self.expect("(")
        if not self._counted():
            if not self.accept(";"):
                self._simple()
                self.expect(";")
            condition = "True" if self.word == ";" else self.condition(self.expression()).text
            self.expect(";")
            lines, depth, self.lines, self._depth = self.lines, self._depth, [], 0
            if self.word != ")":
                self._simple()
            step, self.lines, self._depth = self.lines, lines, depth
            self.expect(")")
            self.add(f"while {condition}:")
            self._loop(step)
        self.names = outer

    def _counted(self) -> bool:
        """Reads `for (int i = a; i < b; i++)` as `for i in range(a, b)` where nothing in it changes `i` or `b`."""
        start, lines, names, taken = self.at, list(self.lines), dict(self.names), set(self._taken)
        ty = self.type_name()
        if ty == I32 and self.words[self.at].kind == "name" and self.peek() == "=":
            name = self.take().text
            self.take()
            first = self.converted(self.expression(), I32).text
            self.accept(";")
            ahead = [token.text for token in self.words[self.at : self.at + 7]]
            if ahead[0] == name and ahead[1] == "<" and ahead[3] == ";":
                bound = self.words[self.at + 2]
                step = ahead[4:7]
                fits = step in ([name, "++", ")"], ["++", name, ")"])
                known = self.names.get(bound.text)
                is_int = bound.kind == "number" and bound.text.isdigit() or known is not None and known.type == I32
                self.at += 7
                if fits and is_int and not self._changes({name, bound.text}):
                    last = bound.text if known is None else known.text
                    self._named(name, I32, "")
                    self.lines.pop()
                    self.add(f"for {self.names[name].text} in range({first}, {last}):")
                    self._loop([])
                    return True
        self.at, self.lines, self.names, self._taken = start, lines, names, taken
        return False

    def _changes(self, names: set[str]) -> bool:
        """Whether the statement that comes next may assign to one of these names."""
        depth, at = 0, self.at
        while self.words[at].kind != "end":
            token, before, after = self.words[at], self.words[at - 1].text, self.words[at + 1].text
            is_changed = after in _ASSIGNMENTS or after in ("++", "--") or before in ("++", "--", "&")
            if token.text in names and token.kind == "name" and is_changed:
                return True
            depth += (token.text in "{(") - (token.text in "})") if token.kind == "operator" else 0
            at += 1
            if depth == 0 and (token.text == ";" or token.text == "}") and after != "else":
                return False
        return False

    def _break(self) -> None:
        self.expect(";")
        self.add("break")

    def _continue(self) -> None:
        self.expect(";")
        for line in self._steps[-1] if self._steps else []:
            self.add(line)
        self.add("continue")

    def _return(self) -> None:
        if self.accept(";"):
            self.add("return")
            return
        value = self.expression()
        self.expect(";")
        self.add(f"return {self.converted(value, self.result).text}")
