"""What arrays do by operators and methods. Each is the function of the same name, from its family's module."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.cupy import _fusion, _ufuncs

_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "divmod": "divmod",
}
_COMPARED = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "invert": "invert", "abs": "absolute"}


def _forward(function: Any) -> Callable[[Any, Any], Any]:
    of_two, usual = function.of_two, (int, float)

    def operator(self: Any, other: Any) -> Any:
        if type(other) is type(self) or type(other) in usual or _ufuncs.is_operand(other):
            return of_two(self, other)
        return NotImplemented

    return operator


def _reflected(function: Any) -> Callable[[Any, Any], Any]:
    of_two, usual = function.of_two, (int, float)

    def operator(self: Any, other: Any) -> Any:
        return of_two(other, self) if type(other) in usual or _ufuncs.is_operand(other) else NotImplemented

    return operator


def _in_place(function: Any) -> Callable[[Any, Any], Any]:
    of_two = function.of_two

    def operator(self: Any, other: Any) -> Any:
        return of_two(self, other, self)

    return operator


def _single(function: Any) -> Callable[[Any], Any]:
    return lambda self: function.of_one(self)


def _power(self: Any, other: Any) -> Any:
    # As NumPy: exponents that a root or a product gives in fewer steps, and to the last digit.
    fast = {0.5: "sqrt", 2: "square", -1: "reciprocal"}.get(other) if type(other) in (int, float) else None
    kind = self.dtype.kind
    if fast and (kind in "fc" or fast == "square" and type(other) is int and kind != "b"):
        return _ufuncs.ALL[fast](self)
    return _ufuncs.ALL["power"](self, other)


def _method(module: str, name: str) -> Callable[..., Any]:
    """A method that is the function `name` of a module of this package."""

    # The families' modules use arrays: they are imported when a method is first called.
    found: list[Callable[..., Any]] = []

    def method(self: Any, *args: Any, **options: Any) -> Any:
        if not found:
            found.append(getattr(importlib.import_module(f"gridstride.cupy.{module}"), name))
        return found[0](self, *args, **options)

    method.__name__ = name
    method.__doc__ = f"As `cupy.{name}`."
    return method


_METHODS = {
    "_reductions": "all any max mean min prod ptp std sum var argmax argmin nonzero",
    "_scans": "cumsum cumprod",
    "_shapes": "reshape ravel transpose swapaxes squeeze diagonal repeat",
    "_sorting": "argsort searchsorted partition argpartition",
    "_indexing": "take choose compress",
    "_linalg": "dot trace",
    "_mathematics": "clip round",
}


class Operators:
    """Operators and methods of `cupy.ndarray`."""

    __slots__ = ()

    def __matmul__(self, other: Any) -> Any:
        from gridstride.cupy import _linalg

        return _linalg.matmul(self, other) if _ufuncs.is_operand(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        from gridstride.cupy import _linalg

        return _linalg.matmul(other, self) if _ufuncs.is_operand(other) else NotImplemented

    def __getitem__(self, key: Any) -> Any:
        from gridstride.cupy import _indexing

        return _indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from gridstride.cupy import _indexing

        _indexing.set(self, key, value)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """`numpy.sin(array)` and its like run as this package's function of the same name."""
        found = _ufuncs.ALL.get(function.__name__)
        if function is np.matmul and method == "__call__":
            from gridstride.cupy import _linalg

            return _linalg.matmul(*inputs, **options)
        if found is None or method not in ("__call__", "reduce", "accumulate", "outer", "at"):
            return NotImplemented
        if "out" in options:
            outs = options.pop("out")
            options["out"] = outs[0] if len(outs) == 1 else outs
        return found(*inputs, **options) if method == "__call__" else getattr(found, method)(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """`numpy.sum(array)` and its like run as this package's function of the same name."""
        import gridstride.cupy as cupy

        module: Any = cupy
        for name in function.__module__.split(".")[1:]:
            module = getattr(module, name, None)
        found = getattr(module, function.__name__, None)
        if found is None or found is function:
            return NotImplemented
        return found(*args, **kwargs)

    @property
    def T(self) -> Any:
        return self.transpose()  # type: ignore[attr-defined]

    @property
    def mT(self) -> Any:
        """The last two dimensions exchanged."""
        if self.ndim < 2:  # type: ignore[attr-defined]
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)  # type: ignore[attr-defined]

    @property
    def real(self) -> Any:
        """The real parts: a view."""
        from gridstride.cupy import _shapes

        return _shapes.part(self, "real")

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary parts: a view of an array of complex numbers, else zeros."""
        from gridstride.cupy import _shapes

        return _shapes.part(self, "imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        if self._dtype.kind != "c":  # type: ignore[attr-defined]
            raise TypeError("an array of real numbers has no imaginary parts to set")
        self.imag[...] = value

    @property
    def flat(self) -> Any:
        """The elements in row-major order: iterate over it, or index it with an int or a slice."""
        from gridstride.cupy import _indexing

        return _indexing.Flat(self)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: Any = None, copy: bool = True
    ) -> Any:
        """A copy with elements of another type. Without `copy` the array itself where nothing would change."""
        from gridstride.cupy import _creation

        return _creation.astype(self, dtype, copy=copy, order=order, casting=casting)

    def copy(self, order: str = "C") -> Any:
        """A copy, row-major unless `order` says "F" or "K"."""
        from gridstride.cupy import _creation

        return _creation.astype(self, self._dtype, order=order)  # type: ignore[attr-defined]

    def fill(self, value: Any) -> None:
        """Sets all elements to a number."""
        from gridstride.cupy import _creation

        _creation.copyto(self, value, casting="unsafe")

    def flatten(self, order: str = "C") -> Any:
        """A copy with one dimension."""
        found = self.ravel(order)  # type: ignore[attr-defined]
        return found.copy() if found.base is not None or found is self else found

    def view(self, dtype: Any = None) -> Any:
        """The same memory, its bytes as elements of another dtype."""
        from gridstride.cupy import _shapes

        return _shapes.viewed(self, dtype)

    def sort(self, axis: int = -1) -> None:
        """Sorts in place along an axis."""
        from gridstride.cupy import _creation, _sorting

        _creation.copyto(self, _sorting.sort(self, axis))

    def put(self, indices: Any, values: Any, mode: str = "wrap") -> None:
        """Sets elements by their numbers in row-major order."""
        from gridstride.cupy import _indexing

        _indexing.put(self, indices, values, mode)

    def conj(self) -> Any:
        """The complex conjugates."""
        return _ufuncs.ALL["conjugate"](self)

    conjugate = conj

    def scatter_add(self, slices: Any, value: Any) -> None:
        """As `cupyx.scatter_add`."""
        _ufuncs.ALL["add"].at(self, slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        """As `cupyx.scatter_max`."""
        _ufuncs.ALL["maximum"].at(self, slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        """As `cupyx.scatter_min`."""
        _ufuncs.ALL["minimum"].at(self, slices, value)


for _short, _name in _BINARY.items():
    setattr(Operators, f"__{_short}__", _forward(_ufuncs.ALL[_name]))
    setattr(Operators, f"__r{_short}__", _reflected(_ufuncs.ALL[_name]))
    if _short != "divmod":
        setattr(Operators, f"__i{_short}__", _in_place(_ufuncs.ALL[_name]))
for _short, _name in _COMPARED.items():
    setattr(Operators, f"__{_short}__", _forward(_ufuncs.ALL[_name]))
for _short, _name in _UNARY.items():
    setattr(Operators, f"__{_short}__", _single(_ufuncs.ALL[_name]))
Operators.__pow__ = _power  # type: ignore[attr-defined]
for _module, _names in _METHODS.items():
    for _name in _names.split():
        setattr(Operators, _name, _method(_module, _name))
_fusion.take_operators(_BINARY, _COMPARED, _UNARY, _power)
