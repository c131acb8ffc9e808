"""The text form of Universal Scene Description: a tree of prims whose attributes change with time.

    >>> from gridstride.render.usd_text import Prim
    >>> ball = Prim("Sphere", "ball")
    >>> ball.set("radius", "double", 1.5, time=0)
    >>> print("\\n".join(ball.lines()))
    def Sphere "ball"
    {
        double radius = 1.5
    }

Source: Pixar, "Universal Scene Description", the grammar of `.usda` files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Attribute:
    """A value by time. What stays the same is kept once, and again just before it changes: readers interpolate."""

    def __init__(self, kind: str, interpolation: str | None) -> None:
        self.kind = kind
        self.interpolation = interpolation
        self.samples: dict[float, Any] = {}
        self._last: float | None = None

    def set(self, value: Any, time: float) -> None:
        """The value from a time on. Arrays are copied."""
        value = np.array(value) if isinstance(value, (np.ndarray, list, tuple)) else value
        if self.samples:
            written = next(reversed(self.samples))
            before = self.samples[written]
            if np.array_equal(before, value):
                self._last = time
                return
            if self._last is not None and written < self._last < time:
                self.samples[self._last] = before
        self.samples.pop(time, None)
        self.samples[time] = value
        self._last = time

    def lines(self, name: str) -> Iterator[str]:
        """The attribute as text: one value, or one for each time."""
        notes = "" if self.interpolation is None else f' (\n    interpolation = "{self.interpolation}"\n)'
        if len(self.samples) == 1:
            (value,) = self.samples.values()
            yield from f"{self.kind} {name} = {_text(self.kind, value)}{notes}".split("\n")
            return
        if notes:
            yield from f"{self.kind} {name}{notes}".split("\n")
        yield f"{self.kind} {name}.timeSamples = {{"
        for time in sorted(self.samples):
            yield f"    {time:g}: {_text(self.kind, self.samples[time])},"
        yield "}"


def _text(kind: str, value: Any) -> str:
    """A value of a type: numbers, tuples in parentheses, arrays in brackets, text in quotes."""
    if isinstance(value, (str, bool, np.bool_)):
        return json.dumps(value) if isinstance(value, str) else str(bool(value)).lower()
    if not isinstance(value, np.ndarray):
        return f"{value:.9g}"
    rows = value.tolist()
    if not kind.endswith("[]"):
        return _tuple(rows)
    if kind.endswith("token[]"):
        return "[" + ", ".join(json.dumps(one) for one in rows) + "]"
    items = (_tuple(row) for row in rows) if value.ndim > 1 else (f"{one:.9g}" for one in rows)
    return "[" + ", ".join(items) + "]"


def _tuple(numbers: list[float]) -> str:
    return "(" + ", ".join(f"{one:.9g}" for one in numbers) + ")"


class Prim:
    """A node of the tree. Children and attributes are written in the order in which they came."""

    def __init__(self, kind: str, name: str, parent: Prim | None = None, specifier: str = "def") -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"a name in a USD file is made of letters, digits and `_`, and no digit is first: {name!r}"
            )
        self.kind, self.name, self.specifier = kind, name, specifier
        self.path: str = f"{'' if parent is None else parent.path}/{name}"
        self.children: dict[str, Prim] = {}
        self.attributes: dict[str, Attribute] = {}
        # What it takes from elsewhere: the path of a prim of this file in `<>`, or another file's in `@@`.
        self.reference: str | None = None
        self.targets: dict[str, str] = {}

    def child(self, kind: str, name: str, specifier: str = "def") -> Prim:
        """The child of that name, new where there is none. Raises `ValueError` for a name that USD does not allow."""
        found = self.children.get(name)
        if found is None:
            found = self.children[name] = Prim(kind, name, self, specifier)
        return found

    def set(self, name: str, kind: str, value: Any, time: float, interpolation: str | None = None) -> None:
        """Sets an attribute from a time on; its type and interpolation stay those of the first time."""
        found = self.attributes.get(name)
        if found is None:
            found = self.attributes[name] = Attribute(kind, interpolation)
        found.set(value, time)

    def lines(self) -> Iterator[str]:
        """The prim and its children as text."""
        head = f'{self.specifier} {self.kind} "{self.name}"'
        yield head if self.reference is None else f"{head} (\n    prepend references = {self.reference}\n)"
        yield "{"
        for name, attribute in self.attributes.items():
            yield from (f"    {line}" for line in attribute.lines(name))
        for name, target in self.targets.items():
            yield f"    rel {name} = <{target}>"
        for child in self.children.values():
            yield ""
            yield from (f"    {line}" if line else line for line in child.lines())
        yield "}"


def document(prims: list[Prim], settings: dict[str, Any]) -> Iterator[str]:
    """The lines of a file: its settings, then its prims."""
    yield "#usda 1.0"
    yield "("
    for name, value in settings.items():
        yield f"    {name} = {_text('', value)}"
    yield ")"
    for prim in prims:
        yield ""
        yield from prim.lines()
