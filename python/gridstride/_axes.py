"""Components of host vectors by letter: `v.x`, and the letters that a vector does not have."""

from __future__ import annotations

import itertools
from typing import Any

from gridstride._arithmetic import held

NAMES = ("x", "y", "z", "w")


def component(i: int) -> property:
    def get(self: Any) -> Any:
        return self._c[i]

    def put(self: Any, value: Any) -> None:
        self._c[i] = held(self._wp_scalar_type_, [value])[0]

    return property(get, put, doc=f"Component {i}.")


def missing(name: str) -> property:
    def refuse(self: Any, value: Any = None) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    return property(refuse, refuse)


def refuse_swizzles(cls: type) -> None:
    """`v.xy` is for kernels: on the host it must not become an attribute of the program's own."""
    for n in (2, 3, 4):
        for letters in itertools.product(NAMES, repeat=n):
            setattr(cls, "".join(letters), missing("".join(letters)))


COMPONENTS = [component(i) for i in range(4)]
