"""`numba.cuda.libdevice`: CUDA's mathematical functions by their C names.

    >>> @cuda.jit
    ... def kernel(x, s, c):
    ...     i = cuda.grid(1)
    ...     s[i], c[i] = libdevice.sincosf(x[i])

In: numbers, converted to the types that a function takes. Out: its result, or a tuple where C writes through pointers.
All are written in the kernel language, so that every device computes the same bits. The names are those of NVIDIA's
"Libdevice User's Guide"; they are made when the first is used.
"""

from __future__ import annotations

from typing import Any

_FAMILIES = ("_elementary", "_integers", "_rounding", "_conversions", "_special", "_bessel")


def _load() -> dict[str, Any]:
    from importlib import import_module

    from gridstride.numba.cuda.libdevice._declare import FUNCTIONS

    if "sqrt" not in FUNCTIONS:
        for family in _FAMILIES:
            import_module(f"{__name__}.{family}")
    return {name: function for name, (_, function) in FUNCTIONS.items()}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    found = _load()
    if name not in found:
        raise AttributeError(f"libdevice has no function `{name}`")
    globals().update(found)
    return found[name]


def __dir__() -> list[str]:
    return sorted(_load())
