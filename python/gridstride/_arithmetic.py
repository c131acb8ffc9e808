"""Arithmetic of vectors, matrices, quaternions and transforms on the host.

Sums, differences and scalings go by component and round as a kernel does. Products of two composites run through the
interpreter, so that host and kernel agree bit for bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from gridstride import _native, _types


def held(scalar: Any, values: Sequence[Any]) -> list[Any]:
    """What a user gives as components, as the scalar type holds it. Raises `OverflowError` for an int out of range."""
    if issubclass(scalar, _types.int_base):
        return [_types.int_held(scalar, value) for value in values]
    return round_to(scalar, values)


def round_to(scalar: Any, values: Sequence[Any]) -> list[Any]:
    """Results of arithmetic as the scalar type holds them: floats rounded, integers wrapped."""
    if issubclass(scalar, _types.float_base):
        return _native.round_floats(scalar.__gs_type__, values)
    return [scalar(value).value for value in values]


class arithmetic:
    """Base of the composites: operators over the flat components `_c`."""

    __slots__ = ()
    _c: list[Any]
    _of: Any
    _wp_scalar_type_: Any

    def _zip(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if not isinstance(other, arithmetic):
            if not hasattr(other, "__len__") or len(other) != len(self):
                return NotImplemented
            other = type(self)(other)
        if type(other) is not type(self):
            return NotImplemented
        return self._of([op(a, b) for a, b in zip(self._c, other._c, strict=True)])

    def _number(self, other: Any) -> Any:
        if isinstance(other, _types.scalar_base):
            return other.value if type(other) is self._wp_scalar_type_ else None
        if isinstance(other, (int, float)) or type(other).__module__ == "numpy" and getattr(other, "ndim", 1) == 0:
            return held(self._wp_scalar_type_, [other])[0]
        return None

    def __add__(self, other: Any) -> Any:
        return self._zip(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._zip(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return self._zip(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._zip(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        number = self._number(other)
        if number is not None:
            return self._of([component * number for component in self._c])
        return _product(self, other)

    def __rmul__(self, other: Any) -> Any:
        number = self._number(other)
        return self._of([number * component for component in self._c]) if number is not None else _product(other, self)

    __matmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        number = self._number(other)
        if number is None:
            return NotImplemented
        return self._of([_types._divide(component, number) for component in self._c])

    def __rtruediv__(self, other: Any) -> Any:
        number = self._number(other)
        if number is None:
            return NotImplemented
        return self._of([_types._divide(number, component) for component in self._c])

    def __mod__(self, other: Any) -> Any:
        number = self._number(other)
        if number is not None:
            return self._of([_types._remainder(component, number) for component in self._c])
        return self._zip(other, _types._remainder)

    def __neg__(self) -> Any:
        return self._of([-component for component in self._c])

    def __pos__(self) -> Any:
        return self._of(self._c)


def _product(a: Any, b: Any) -> Any:
    """`a * b` of two composites, as a kernel computes it."""
    if not isinstance(a, arithmetic) or not isinstance(b, arithmetic):
        return NotImplemented
    try:
        return _types.result(_native.call("mul", (a, b)))
    except _native.CompileError as error:
        from gridstride import _builtins

        raise _builtins.refused("mul", (a, b), error) from None
