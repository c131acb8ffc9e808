"""Declaring a function: its names, the types that it takes and gives, and its text.

    @declare("mulhi", "i(i,i)")
    @both("fdim", "d(d,d)")        # of float64s, and as fdimf of float32s

Letters: d and f are float64 and float32, l, i and h are int64, int32 and int16, as the functions are declared in C;
unsigned numbers are passed by their bits. What C writes through pointers stands behind the result: "di(d)".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridstride.numba import types
from gridstride.numba.cuda._language import Builtin
from gridstride.numba.cuda.dispatcher import Dispatcher

TYPES: dict[str, Any] = {
    "d": types.float64,
    "f": types.float32,
    "l": types.int64,
    "i": types.int32,
    "h": types.int16,
}
# By name: the types of results and arguments, and the function.
FUNCTIONS: dict[str, tuple[str, Dispatcher]] = {}

# Floats' functions that Python's names do not mean: they round to floats.
floor, ceil, trunc, rint = (Builtin(f"numpy.{name}") for name in ("floor", "ceil", "trunc", "rint"))
bits, float_of_bits, fused, like = (Builtin(name) for name in ("_bits", "_float_of_bits", "fma", "_like"))


def device(function: Callable[..., Any]) -> Dispatcher:
    """A function that others here call, for any types."""
    return Dispatcher(function, {"device": True})


def declare(names: str, form: str) -> Callable[[Callable[..., Any]], Any]:
    """Gives a function its names."""

    def register(function: Callable[..., Any]) -> Any:
        results, _, arguments = form.rstrip(")").partition("(")
        taken = tuple(TYPES[letter] for letter in arguments.split(","))
        # A tuple is of the types that the text says.
        signature = types.Signature(TYPES[results], taken) if len(results) == 1 else taken
        for name in names.split():
            FUNCTIONS[name] = form, Dispatcher(function, {"device": True}, [signature])
        return FUNCTIONS[names.split()[0]][1]

    return register


def both(names: str, form: str) -> Callable[[Callable[..., Any]], Any]:
    """As `declare`, and by names that end in `f` with float32 in the place of float64."""

    def register(function: Callable[..., Any]) -> Any:
        declare(" ".join(f"{name}f" for name in names.split()), form.replace("d", "f"))(function)
        return declare(names, form)(function)

    return register
