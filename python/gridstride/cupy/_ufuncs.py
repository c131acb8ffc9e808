"""Functions over elements: NumPy's ufuncs, as kernels.

In: arrays, NumPy's scalars, Python's numbers. Out: an array, or the arrays of `out`. Types are NumPy 2's: a Python
number takes the type of the array beside it, all else follows the table of NumPy's ufunc of that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.cupy import _array, _dispatch, _elementwise, _layout, _ufunc_functions, _ufunc_table
from gridstride.cupy._elementwise import BOOL, Body

_PYTHON = (bool, int, float, complex)
# What is about float16 itself.
_EXACT = {"nextafter", "spacing"}
_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


class _Plan:
    """A function for given types of operands: the types that it computes in, and its kernel."""

    __slots__ = ("body", "inputs", "outputs")

    def __init__(self, body: Body) -> None:
        self.body, self.inputs, self.outputs = body, body.inputs, body.outputs


def operand(value: Any) -> Any:
    """An argument as an array of this style, a NumPy scalar or a Python number. Raises `TypeError` for others."""
    if isinstance(value, _array.ndarray | np.generic) or type(value) in _PYTHON:
        return value
    if isinstance(value, _PYTHON):
        return next(kind for kind in _PYTHON if isinstance(value, kind))(value)
    if isinstance(value, _native.Array) or hasattr(value, "__cuda_array_interface__"):
        from gridstride.cupy import _interop

        return _interop.asarray(value)
    raise TypeError(
        f"Unsupported type {type(value)}: operands are arrays of cupy, NumPy scalars and Python numbers; "
        "make an array of it with cupy.asarray"
    )


def is_operand(value: Any) -> bool:
    """Whether operators of arrays take a value; others may know what to do with an array."""
    return isinstance(value, (np.generic, np.ndarray, _native.Array, *_PYTHON))


def _key(value: Any) -> Any:
    if type(value) is _array.ndarray or isinstance(value, _array.ndarray):
        return value._dtype
    return value.dtype if isinstance(value, np.generic) else type(value)


class ufunc:
    """A function over elements. Call it with arrays and numbers.

    Args of a call:
        out: An array, or a tuple of them, that takes the results.
        where: An array of bools; where it is false, the result is left as it was.
        dtype: The type to compute in.
        casting: What conversions of operands and results are allowed, "same_kind" at most by default.

    Raises `TypeError` for types that it does not compute in, `ValueError` for shapes that do not fit.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = self.name = name
        self.numpy: np.ufunc = getattr(np, name)
        self.nin, self.nout, self.nargs = self.numpy.nin, self.numpy.nout, self.numpy.nargs
        self.types = [one for one in self.numpy.types if not set(one) & set("gGOMm")]
        self._plans: dict[Any, _Plan] = {}
        self._bodies: dict[Any, Body] = {}
        self._table: dict[Any, Any] = {}
        self.of_one = _dispatch.unary(self._usual_one, self._table)
        self.of_two = _dispatch.binary(self._usual, self._table)
        self.__doc__ = (self.numpy.__doc__ or "").split("\n\n")[0] + "\n\nComputed by kernels; arguments as `ufunc`."

    def __repr__(self) -> str:
        return f"<ufunc 'cupy_{self.name}'>"

    def __call__(self, *args: Any, out: Any = None, where: Any = True, dtype: Any = None, **options: Any) -> Any:
        if len(args) == self.nin and where is True and dtype is None and not options:
            if self.nin == 2 and self.nout == 1 and (out is None or type(out) is _array.ndarray):
                return self.of_two(*args, out)
            if out is None:
                return self.of_two(*args) if self.nin == 2 else self.of_one(*args)
        return self._general(args, out, where, dtype, **options)

    def _usual_one(self, a: Any) -> Any:
        """A call of one operand alone."""
        made = self._general((a,), None, True, None)
        if isinstance(made, _array.ndarray) and isinstance(a, _array.ndarray):
            _dispatch.note(self._table, (a,), self._plan([a], None).body)
        return made

    def _usual(self, a: Any, b: Any, into: Any = None) -> Any:
        """A call of two operands alone, or with an array for the result."""
        made = self._general((a, b), into, True, None)
        if not isinstance(made, _array.ndarray):
            return made
        values = [one for one in (a, b) if not isinstance(one, _array.ndarray)]
        if len(values) < 2 and all(type(one) in (int, float) for one in values):
            _dispatch.note(self._table, (a, b), self._plan([a, b], None).body)
        return made

    def _general(self, args: Any, out: Any, where: Any, dtype: Any, casting: str = "same_kind", **options: Any) -> Any:
        if options:
            raise TypeError(f"{self!r} got an unexpected keyword argument {next(iter(options))!r}")
        if len(args) > self.nin and out is None:
            args, out = args[: self.nin], args[self.nin :]
        if len(args) != self.nin:
            raise TypeError(f"{self!r} takes {self.nin} operands, got {len(args)}")
        if _fusion.has_stand(args):
            return _fusion.noted(self, args, out, where, dtype)
        values = [operand(one) for one in args]
        try:
            plan = self._plan(values, dtype)
            operands = [
                one if isinstance(one, _array.ndarray) else _elementwise.number(one, to)
                for one, to in zip(values, plan.inputs, strict=True)
            ]
        except OverflowError:
            if self.name not in _COMPARISONS:
                raise
            # An int beyond all numbers of the array's type compares as it would in Python.
            return self._general([_limit(one, values) for one in values], out, where, dtype, casting)
        if dtype is not None:
            self._check_inputs(operands, plan, casting)
        arrays = [one for one in operands if isinstance(one, _array.ndarray)]
        shapes = [one._shape for one in arrays]
        if where is not True:
            where = operand(where)
            where = _array.of_host(np.asarray(where)) if not isinstance(where, _array.ndarray) else where
            if where._dtype != BOOL:
                raise TypeError(f"`where` must be an array of bools, not of {where._dtype}")
            shapes.append(where._shape)
        outs = self._outputs(plan, arrays, shapes, out, casting)
        operands = [_apart(one, outs) if out is not None else one for one in operands]
        _elementwise.run(plan.body, operands, outs, None if where is True else where)
        return outs[0] if self.nout == 1 else tuple(outs)

    def _check_inputs(self, operands: Any, plan: _Plan, casting: str) -> None:
        for index, (one, to) in enumerate(zip(operands, plan.inputs, strict=True)):
            if isinstance(one, _array.ndarray) and not np.can_cast(one._dtype, to, casting):  # type: ignore[arg-type]
                raise TypeError(
                    f"Cannot cast ufunc '{self.name}' input {index} from {one._dtype!r} to {to!r} with casting rule "
                    f"{casting!r}"
                )

    def _outputs(self, plan: _Plan, arrays: Any, shapes: Any, out: Any, casting: str) -> Sequence[Any]:
        shape = _layout.broadcast(shapes)
        if out is None or out == (None,) * self.nout:
            in_fortran = bool(arrays) and all(_is_fortran(one) for one in arrays)
            return [_array.fresh(dtype, shape, "F" if in_fortran else "C") for dtype in plan.outputs]
        outs = tuple(out) if isinstance(out, tuple) else (out,)
        if len(outs) != self.nout:
            raise ValueError(f"{self!r} gives {self.nout} arrays, `out` has {len(outs)}")
        found = []
        for one, dtype in zip(outs, plan.outputs, strict=True):
            if one is None:
                one = _array.fresh(dtype, shape)
            if not isinstance(one, _array.ndarray):
                raise TypeError(f"return arrays must be of cupy.ndarray, got {type(one).__name__}")
            if _layout.broadcast([shape, one._shape]) != one._shape:
                raise ValueError(f"non-broadcastable output operand with shape {one._shape}, expected {shape}")
            if not np.can_cast(dtype, one._dtype, casting):  # type: ignore[arg-type]
                raise TypeError(
                    f"Cannot cast ufunc '{self.name}' output from {dtype!r} to {one._dtype!r} with casting rule "
                    f"{casting!r}"
                )
            found.append(one)
        return found

    def _plan(self, values: Any, dtype: Any) -> _Plan:
        key = tuple(map(_key, values))
        plan = self._plans.get(key if dtype is None else (key, np.dtype(dtype)))
        if plan is None:
            plan = self._make_plan(key, dtype)
            self._plans[key if dtype is None else (key, np.dtype(dtype))] = plan
        return plan

    def _make_plan(self, key: tuple[Any, ...], dtype: Any) -> _Plan:
        # Bools are no weak numbers: NumPy takes them as its own.
        asked = tuple(BOOL if one is bool else one for one in key)
        if all(isinstance(one, type) for one in asked):
            asked = tuple(np.dtype(one) for one in asked)
        if dtype is None:
            found = self.numpy.resolve_dtypes((*asked, *(None,) * self.nout))
        else:
            wanted = np.dtype(dtype)
            found = self.numpy.resolve_dtypes(
                (*asked, *(None,) * self.nout), signature=(None,) * self.nin + (wanted,) * self.nout, casting="unsafe"
            )
        if any(one.char in "gGO" for one in found):
            raise TypeError(f"{self!r} does not compute in {', '.join(str(one) for one in found)}")
        if found not in self._bodies:
            self._bodies[found] = self.body(found[: self.nin], found[self.nin :])
        return _Plan(self._bodies[found])

    def body(self, inputs: Sequence[np.dtype[Any]], outputs: Sequence[np.dtype[Any]]) -> Body:
        """What is computed of one element."""
        kind = "".join(one.kind for one in inputs)
        texts = _ufunc_table.results(self.name, "c" if "c" in kind else inputs[0].kind)
        names = dict(_ufunc_functions.functions())
        names |= {"_width": inputs[0].itemsize * 8, "_type": _elementwise.scope()[f"t_{inputs[0].name}"]}
        if self.name not in _EXACT:
            inputs = [np.dtype(np.float32) if one == np.float16 else one for one in inputs]
        lines = []
        if len(texts) < self.nout:
            # One expression gives all results.
            lines, texts = [f"r = {texts[0]}"], tuple(f"r[{k}]" for k in range(self.nout))
        return Body(self.name, texts, inputs, outputs, lines, names)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Applies the function to elements in place, again for each time that an index is named. For `add`, `maximum`
        and `minimum` (of `cupyx.scatter_add` …), `bitwise_and`, `bitwise_or`, `bitwise_xor`."""
        from gridstride.cupy import _scatter

        _scatter.at(self.name, a, indices, b)

    def outer(self, a: Any, b: Any, **options: Any) -> Any:
        """The function of every element of `a` with every element of `b`."""
        from gridstride.cupy import _interop

        a, b = _interop.asarray(a), _interop.asarray(b)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **options)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """The function of all elements along an axis, one after the other in no order that is promised."""
        from gridstride.cupy import _reductions

        return _reductions.of_ufunc(self.name, array, axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """The function of each element with all before it along an axis. For `add` and `multiply`."""
        from gridstride.cupy import _scans

        return _scans.of_ufunc(self.name, array, axis, dtype, out)


def _limit(value: Any, values: Any) -> Any:
    """A Python int as a number that compares like it with all numbers of the other operand's type."""
    if type(value) is not int:
        return value
    return np.float64(np.inf if value > 0 else -np.inf)


def _is_fortran(one: Any) -> bool:
    return one._strides is not None and bool(one._memory.flags.f_contiguous)


def _apart(value: Any, outs: Sequence[Any]) -> Any:
    """An operand that results may be written over while it is read; a copy of it where that changes what is read."""
    if not isinstance(value, _array.ndarray):
        return value
    for out in outs:
        same = value.ptr == out.ptr and value._shape == out._shape and value.strides == out.strides
        if (not same or value._dtype.itemsize != out._dtype.itemsize or len(outs) > 1) and _native.overlap(value, out):
            return value.copy()
    return value


def make_all() -> dict[str, ufunc]:
    """All functions over elements, by name."""
    found = {name: ufunc(name) for name in _ufunc_table.ROWS if hasattr(np, name)}
    for table in (_ufunc_table.ALIASES, _ufunc_table.ARRAY_API_ALIASES):
        found |= {alias: found[name] for alias, name in table.items()}
    return found


ALL = make_all()

from gridstride.cupy import _fusion  # noqa: E402  # it needs what is above
