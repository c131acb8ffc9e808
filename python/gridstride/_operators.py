"""Arithmetic of whole arrays on the host: `a + b`, `2.0 * a`, `a -= b`.

>>> a = wp.array([1.0, 2.0], dtype=float)
>>> (a * 2.0 + a).numpy()
array([3., 6.], dtype=float32)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _native, _types


def _is_operand(value: Any) -> bool:
    """Whether a value is an array or a host value such as a `vec3`."""
    if isinstance(value, (_native.Array, np.ndarray)):
        return True
    return isinstance(_types.instance_type(value), _types.Type)


def install(array: Any) -> None:
    """Arithmetic by element: each operator is a `wp.map` of the builtin of that name."""
    binary = {
        "add": "add",
        "sub": "sub",
        "mul": "mul",
        "truediv": "div",
        "floordiv": "floordiv",
        "mod": "mod",
        "pow": "pow",
        "and": "bit_and",
        "or": "bit_or",
        "xor": "bit_xor",
        "lshift": "lshift",
        "rshift": "rshift",
    }

    def operation(builtin: str, reverse: bool, in_place: bool) -> Any:
        def method(self: Any, other: Any) -> Any:
            from gridstride import _builtins, _map

            if isinstance(other, (int, float, np.generic)):
                other = self.dtype._wp_scalar_type_(other)
            elif not _is_operand(other):
                return NotImplemented
            operands = (other, self) if reverse else (self, other)
            return _map.map(_builtins.table[builtin], *operands, out=self if in_place else None)

        return method

    for name, builtin in binary.items():
        setattr(array, f"__{name}__", operation(builtin, False, False))
        setattr(array, f"__r{name}__", operation(builtin, True, False))
        setattr(array, f"__i{name}__", operation(builtin, False, True))

    def unary(builtin: str) -> Any:
        def method(self: Any) -> Any:
            from gridstride import _builtins, _map

            return _map.map(_builtins.table[builtin], self)

        return method

    for name, builtin in {"neg": "neg", "pos": "pos", "abs": "abs", "invert": "invert"}.items():
        setattr(array, f"__{name}__", unary(builtin))

    def matmul(self: Any, other: Any) -> Any:
        if hasattr(other, "__rmatmul__") and not isinstance(other, (type(self), np.ndarray)):
            return NotImplemented
        raise TypeError("arrays have no matrix product: write a kernel, or use NumPy")

    array.__matmul__ = matmul
