"""The types with names of their own: `vec3`, `mat33d`, `quatf`, `transformh`, `spatial_vector` …"""

from __future__ import annotations

from typing import Any

from gridstride import _types
from gridstride._vector import make_class

# The named types. A name without a letter means float32.
_LETTERS = {
    "b": _types.int8,
    "ub": _types.uint8,
    "s": _types.int16,
    "us": _types.uint16,
    "i": _types.int32,
    "ui": _types.uint32,
    "l": _types.int64,
    "ul": _types.uint64,
    "h": _types.float16,
    "f": _types.float32,
    "d": _types.float64,
}


def _named() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for letter, scalar in _LETTERS.items():
        for n in (2, 3, 4):
            found[f"vec{n}{letter}"] = make_class("vector", (n,), scalar, f"vec{n}{letter}")
        if letter in "hfd":
            for n in (2, 3, 4):
                found[f"mat{n}{n}{letter}"] = make_class("matrix", (n, n), scalar, f"mat{n}{n}{letter}")
            found[f"quat{letter}"] = make_class("quat", (4,), scalar, f"quat{letter}")
            found[f"transform{letter}"] = make_class("transform", (7,), scalar, f"transform{letter}")
            found[f"spatial_vector{letter}"] = make_class("vector", (6,), scalar, f"spatial_vector{letter}")
            found[f"spatial_matrix{letter}"] = make_class("matrix", (6, 6), scalar, f"spatial_matrix{letter}")
    for name in [name for name in found if name.endswith("f")]:
        found[name[:-1]] = found[name]
    return found


named: dict[str, Any] = _named()
