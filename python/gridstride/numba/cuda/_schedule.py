"""Which small arrays a function over larger ones is called with: `(m,n),(n,p)->(m,p)` and the shapes of the arguments.

>>> schedule = GUFuncEngine.from_signature("(m,n),(n,p)->(m,p)").schedule([(100, 4, 5), (5, 7)])
>>> schedule.loopdims, schedule.oshapes, schedule.pinned
((100,), [(4, 7)], [False, True])
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Shape = tuple[int, ...]


class Schedule(NamedTuple):
    """Shapes of one call's inputs and outputs, of the calls, and which inputs are the same in all calls."""

    ishapes: list[Shape]
    oshapes: list[Shape]
    loopdims: Shape
    pinned: list[bool]
    #: Names whose extents no input tells: those of outputs that must be given.
    unknown: frozenset[str] = frozenset()

    @property
    def loopn(self) -> int:
        return int(np.prod(self.loopdims, dtype=np.int64))


class GUFuncEngine:
    """Names of the dimensions of inputs and outputs."""

    def __init__(self, inputs: list[tuple[str, ...]], outputs: list[tuple[str, ...]]) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.nin, self.nout = len(inputs), len(outputs)

    @classmethod
    def from_signature(cls, signature: str) -> GUFuncEngine:
        """Reads a layout. Raises `ValueError` for one that is none."""
        sides = signature.replace(" ", "").split("->")
        found = [
            [tuple(d for d in group.split(",") if d) for group in re.findall(r"\(([^()]*)\)", side)] for side in sides
        ]
        if len(sides) != 2 or not found[0] or not found[1]:
            raise ValueError(f"invalid layout {signature!r}: write it as `(m,n),(n)->(m)`")
        known = {name for dims in found[0] for name in dims}
        for dims in found[1]:
            for name in dims:
                if name not in known and not name.isdigit():
                    raise ValueError(f"undefined output symbols: {name}")
        return cls(found[0], found[1])

    def schedule(self, shapes: Sequence[Shape]) -> Schedule:
        """What arguments of such shapes are to the function. Raises `ValueError` where they do not go together."""
        sizes: dict[str, int] = {}
        leading, inner = [], []
        for index, (shape, dims) in enumerate(zip(shapes, self.inputs, strict=True)):
            if len(shape) < len(dims):
                raise ValueError(f"input {index} needs {len(dims)} dimensions `{','.join(dims)}`, got {len(shape)}")
            split = len(shape) - len(dims)
            leading.append(tuple(shape[:split]))
            inner.append(tuple(shape[split:]))
            for name, extent in zip(dims, shape[split:], strict=True):
                if sizes.setdefault(name, extent) != extent:
                    raise ValueError(f"dimension `{name}` is {sizes[name]} in one input and {extent} in input {index}")
        loopdims = np.broadcast_shapes(*leading)
        pinned = [bool(loopdims) and loopdims != dims and all(extent == 1 for extent in dims) for dims in leading]
        oshapes = [tuple(int(dim) if dim.isdigit() else sizes[dim] for dim in dims) for dims in self.outputs]
        return Schedule(inner, oshapes, loopdims, pinned)
