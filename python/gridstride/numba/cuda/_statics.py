"""Types as arguments of kernels: `kernel[1, 64](a, np.float32)`. Such a parameter is a constant of the code.

A kernel for a signature with types is one of the other parameters, which calls the function with the types in place:

    def kernel(a): core(a, T1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridstride.numba import types
from gridstride.numba.cuda import _generated


def is_static(value: Any) -> bool:
    """Whether an argument is a type."""
    return isinstance(value, types.Number) or isinstance(value, type) and issubclass(value, np.number | np.bool_)


def type_of(value: Any) -> types.Type | None:
    """The type of an argument that is one of Numba's types; None for other arguments."""
    return types.NumberClass(value) if isinstance(value, types.Number) else None


def kept(arguments: Sequence[types.Type], values: Sequence[Any] | None = None) -> list[Any]:
    """What is passed: the argument types, or the values that belong to them, without those that are constants."""
    pairs = zip(arguments, arguments if values is None else values, strict=False)
    return [value for ty, value in pairs if not isinstance(ty, types.NumberClass)]


def bound(function: Callable[..., Any], core: Any, names: Sequence[str], arguments: Sequence[types.Type]) -> Any:
    """The function of the other parameters; the function itself where no parameter is a constant."""
    found = {f"T{index}": ty.instance_type for index, ty in enumerate(arguments) if isinstance(ty, types.NumberClass)}
    if not found:
        return function
    passed = [f"T{index}" if f"T{index}" in found else name for index, name in enumerate(names)]
    name = function.__name__
    text = f"def {name}({', '.join(kept(arguments, names))}):\n    core({', '.join(passed)})\n"
    return _generated.function(name, text, {"core": core, **found})
