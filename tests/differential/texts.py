"""Random text of typed programs: expressions out of tables of templates, statements around them.

A style is a subclass of `Body`: it says which templates give a value of a type and how statements are written.

    "{T} + {T}"            both operands have the type of the result
    "{T} << ({T} & {7})"   a number is a literal of that type
    "wp.where({bool}, {T}, {T})"
"""

from __future__ import annotations

import random
import re

PLACE = re.compile(r"\{(-?\w+)\}")
BITS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}
INTS = list(BITS)
FLOATS = ["float16", "float32", "float64"]


def ends(ty: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = BITS[ty]
    return (0, 2**bits - 1) if ty.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def integers(rng: random.Random, ty: str, count: int) -> list[int]:
    """Small ones, any ones, and those at the ends, where they wrap around."""
    low, high = ends(ty)
    kinds = (
        lambda: max(low, rng.randint(-4, 9)),
        lambda: rng.randint(low, high),
        lambda: rng.choice([low, low + 1, high, high - 1, 0]),
    )
    return [rng.choices(kinds, (5, 4, 1))[0]() for _ in range(count)]


def floats(rng: random.Random, count: int, special: bool = True) -> list[float]:
    """Quarters, which sums and products keep exactly, ordinary numbers, and what is no ordinary number."""
    kinds = (
        lambda: rng.randint(-12, 12) / 4,
        lambda: rng.uniform(-3.0, 3.0),
        lambda: rng.choice([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-7, 6e4, -1e30]),
    )
    return [rng.choices(kinds, (5, 4, 1 if special else 0))[0]() for _ in range(count)]


class Body:
    """The statements of one function, and the variables that are in scope."""

    #: Types that variables take.
    types: list[str] = []
    indent = "    "

    def __init__(self, rng: random.Random, variables: dict[str, str]):
        self.rng = rng
        self.lines: list[str] = []
        self.scopes = [dict(variables)]
        # Names that a program may read but not set: parameters of loops, arguments.
        self.fixed = set(variables)
        self.loops: list[str] = []
        self.count = 0
        self.breaks = 0

    # What a style says.

    def templates(self, ty: str) -> list[str]:
        raise NotImplementedError

    def literal(self, ty: str, value: int | None = None) -> str:
        raise NotImplementedError

    def special(self, name: str, ty: str, depth: int) -> str | None:
        """The text for a placeholder that only this style has."""
        return None

    # Expressions.

    def variables(self, ty: str, settable: bool = False) -> list[str]:
        return [
            name
            for scope in self.scopes
            for name, its in scope.items()
            if its == ty and not (settable and name in self.fixed)
        ]

    def expression(self, ty: str, depth: int) -> str:
        known = self.variables(ty)
        if depth <= 0:
            return self.rng.choice(known) if known and self.rng.random() < 0.8 else self.literal(ty)
        if known and self.rng.random() < 0.15:
            return self.rng.choice(known)
        template = self.rng.choice(self.templates(ty))
        return "(" + PLACE.sub(lambda place: self.fill(place[1], ty, depth - 1), template) + ")"

    def fill(self, name: str, ty: str, depth: int) -> str:
        if name.lstrip("-").isdigit():
            return self.literal(ty, int(name))
        if name == "T":
            return self.expression(ty, depth)
        text = self.special(name, ty, depth)
        return self.expression(name, depth) if text is None else text

    # Statements.

    def line(self, text: str) -> None:
        self.lines.append(self.indent * len(self.scopes) + text)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def statements(self, count: int, depth: int) -> None:
        kinds = [self.declare, self.assign, self.assign, self.augment]
        if depth > 0:
            kinds += [self.branch, self.count_loop, self.while_loop]
        for _ in range(count):
            kind = self.rng.choice(kinds)
            if kind in (self.branch, self.count_loop, self.while_loop):
                kind(depth - 1)
            else:
                kind()
        if self.loops and len(self.scopes) > 2 and self.rng.random() < 0.4:
            self.leave()

    def nested(self, depth: int, variables: dict[str, str] | None = None) -> None:
        self.scopes.append(dict(variables or {}))
        self.fixed |= set(variables or {})
        self.statements(self.rng.randint(1, 3), depth)
        self.scopes.pop()

    def settable(self) -> list[tuple[str, str]]:
        return [(name, ty) for scope in self.scopes for name, ty in scope.items() if name not in self.fixed]

    def assign(self) -> None:
        names = self.settable()
        if not names:
            return self.declare()
        name, ty = self.rng.choice(names)
        self.set(name, self.expression(ty, 2))

    # What a style writes; these are Python's.

    def set(self, name: str, value: str) -> None:
        self.line(f"{name} = {value}")

    def declare(self, ty: str | None = None) -> None:
        ty = ty or self.rng.choice(self.types)
        value, name = self.expression(ty, 2), self.name()
        self.line(f"{name} = {value}")
        self.scopes[-1][name] = ty

    def augment(self) -> None:
        names = [(name, ty) for name, ty in self.settable() if ty in INTS or ty in FLOATS]
        if not names:
            return self.declare()
        name, ty = self.rng.choice(names)
        operator = self.rng.choice(self.operators(ty))
        self.line(f"{name} {operator}= {self.expression(ty, 2)}")

    def operators(self, ty: str) -> list[str]:
        return ["+", "-", "*"] + (["&", "|", "^"] if ty in INTS else [])

    def branch(self, depth: int) -> None:
        self.line(f"if {self.expression('bool', 2)}:")
        self.nested(depth)
        if self.rng.random() < 0.3:
            self.line(f"elif {self.expression('bool', 1)}:")
            self.nested(depth)
        if self.rng.random() < 0.5:
            self.line("else:")
            self.nested(depth)

    def count_loop(self, depth: int) -> None:
        name = self.name()
        self.line(f"for {name} in range({self.range()}):")
        self.loops.append(name)
        self.nested(depth, {name: self.index_type})
        self.loops.pop()

    #: The type of a loop's variable.
    index_type = "int32"

    def range(self) -> str:
        bound = f"({self.expression(self.index_type, 1)}) & 7"
        return self.rng.choice([bound, f"-2, {bound}", f"{bound}, -3, -2", "5", f"1, {bound}, 3"])

    def while_loop(self, depth: int) -> None:
        name = self.name()
        self.line(f"{name} = int(0)")
        self.scopes[-1][name] = self.index_type
        self.fixed.add(name)
        self.line(f"while {name} < {self.rng.randint(1, 6)} and {self.expression('bool', 1)}:")
        self.scopes.append({})
        self.line(f"{name} += {self.literal(self.index_type, 1)}")
        self.scopes.pop()
        self.loops.append(name)
        self.nested(depth)
        self.loops.pop()

    def leave(self) -> None:
        self.line(self.rng.choice(["break", "continue"]))
