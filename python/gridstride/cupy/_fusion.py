"""`cupy.fuse`: a function of arrays as one kernel. `cupy.vectorize`: a function of numbers over arrays.

    >>> import gridstride.cupy as cp
    >>> @cp.fuse()
    ... def energy(x, v):
    ...     return 0.5 * v * v + 9.81 * x
    >>> energy(cp.ones(2), cp.ones(2))
    array([10.31, 10.31])

The function runs once for each combination of types, with stand-ins that note what is done to them; the notes become
one expression. What cannot be noted (a reduction, a decision by an element, an array from outside of the function)
leaves the function as it is: it runs step by step, with the same results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridstride.cupy import _array, _elementwise, _layout, _ufuncs
from gridstride.cupy._elementwise import Body

_PYTHON = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}


class _CannotNote(Exception):
    """What a function does with its stand-ins is no expression over elements."""


class _Notes:
    """What has been computed so far: a line for each step."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}

    def step(self, body: Body, args: Sequence[Any]) -> list[Stand]:
        """A step over elements: what stands for its results."""
        number = len(self.lines)
        given = []
        for one, dtype in zip(args, body.inputs, strict=True):
            if isinstance(one, Stand):
                given.append(_elementwise.converted(one.text, one.stored, dtype))
            elif isinstance(one, _array.ndarray):
                raise _CannotNote
            else:
                self.names[f"c{number}_{len(given)}"] = value = dtype.type(one).item()
                name = f"c{number}_{len(given)}"
                text = f"complex({value.real!r}, {value.imag!r})" if dtype.kind == "c" else name
                given.append(f"t_{dtype.name}({text})")
        self.names[f"f{number}"] = _function_of(body)
        self.lines.append(f"v{number} = f{number}({', '.join(given)})")
        shape = _layout.broadcast([one.shape for one in args if isinstance(one, Stand)])
        texts = [f"v{number}"] if len(body.outputs) == 1 else [f"v{number}[{k}]" for k in range(len(body.outputs))]
        return [Stand(self, text, dtype, dtype, shape) for text, dtype in zip(texts, body.outputs, strict=True)]


def _function_of(body: Body) -> Any:
    """A body as a function that kernels call; one for each body."""
    found = body.kernels.get("function")
    if found is None:
        names = [f"x{k}" for k in range(len(body.inputs))]
        results = [f"t_{dtype.name}({text})" for text, dtype in zip(body.results, body.outputs, strict=True)]
        lines = [f"def {body.name}_core({', '.join(names)}):", *(f"    {line}" for line in body.lines)]
        text = "\n".join([*lines, f"    return {', '.join(results)}"]) + "\n"
        found = _elementwise.device_function(f"{body.name}_core", text, body.names)
        body.kernels["function"] = found
    return found


class Stand:
    """Stands for an array, or a number, while a function is noted."""

    __array_priority__ = 200
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, notes: _Notes, text: str, key: Any, stored: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.notes, self.text, self.key, self.stored, self.shape = notes, text, key, stored, shape
        self.is_written = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __bool__(self) -> bool:
        raise _CannotNote

    def __getattr__(self, name: str) -> Any:
        raise _CannotNote

    def __getitem__(self, key: Any) -> Any:
        raise _CannotNote

    __len__ = __iter__ = __float__ = __int__ = __index__ = __setitem__ = __bool__  # type: ignore[assignment]

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        found = _ufuncs.ALL.get(function.__name__)
        if found is None or method != "__call__":
            raise _CannotNote
        return found(*inputs, **options)

    def astype(self, dtype: Any, copy: bool = True) -> Stand:
        """Converted to another type."""
        from gridstride.cupy import _creation

        return self.notes.step(_creation._copy_body(self.stored, np.dtype(dtype)), [self])[0]


def take_operators(binary: dict[str, str], compared: dict[str, str], unary: dict[str, str], power: Any) -> None:
    """Gives stand-ins the operators of arrays."""
    for short, name in {**binary, **compared}.items():
        function = _ufuncs.ALL[name]
        setattr(Stand, f"__{short}__", lambda self, other, f=function: f(self, other))
        if short in binary:
            setattr(Stand, f"__r{short}__", lambda self, other, f=function: f(other, self))
            setattr(Stand, f"__i{short}__", lambda self, other, f=function: f(self, other, out=self))
    for short, name in unary.items():
        setattr(Stand, f"__{short}__", lambda self, f=_ufuncs.ALL[name]: f(self))
    Stand.__pow__ = power  # type: ignore[attr-defined]


def has_stand(values: Sequence[Any]) -> bool:
    """Whether operands stand for arrays of a function that is noted."""
    return any(type(one) is Stand for one in values)


def _key(one: Any) -> Any:
    return one.key if isinstance(one, Stand) else _ufuncs._key(one)


def noted(function: Any, args: Sequence[Any], out: Any, where: Any, dtype: Any) -> Any:
    """A ufunc's call over stand-ins."""
    if where is not True or len(args) != function.nin or any(isinstance(one, _array.ndarray) for one in args):
        raise _CannotNote
    notes = next(one for one in args if isinstance(one, Stand)).notes
    body = function._make_plan(tuple(map(_key, args)), dtype).body
    found = notes.step(body, args)
    if out is not None:
        target = out[0] if isinstance(out, tuple) else out
        if not isinstance(target, Stand) or len(found) != 1 or target.shape != found[0].shape:
            raise _CannotNote
        if not np.can_cast(found[0].stored, target.stored, "same_kind"):
            # The function as it is says what is wrong.
            raise _CannotNote
        target.text, target.is_written = found[0].astype(target.stored).text, True
        return target
    return found[0] if len(found) == 1 else tuple(found)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`cupy.where` over stand-ins."""
    from gridstride.cupy import _mathematics

    notes = next(one for one in (condition, x, y) if isinstance(one, Stand)).notes
    keys = [_key(one) for one in (x, y)]
    given = [0 if one is int else 0.0 if one is float else 0j if one is complex else one for one in keys]
    return notes.step(_mathematics._where_body(np.result_type(*given)), [condition, x, y])[0]


class fuse:
    """Makes a function of arrays run as one kernel. Use as `@cupy.fuse()` or `@cupy.fuse`; `kernel_name` is for
    profilers."""

    def __new__(cls, *args: Any, kernel_name: str | None = None) -> Any:
        if len(args) == 1 and callable(args[0]):
            made = super().__new__(cls)
            made._start(args[0], kernel_name)
            return made
        name = args[0] if args else kernel_name
        return functools.partial(cls, kernel_name=name)

    def _start(self, function: Callable[..., Any], kernel_name: str | None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        name = kernel_name or function.__name__
        self._name = name if name.isidentifier() else "fused"
        self._known: dict[Any, Any] = {}

    def __call__(self, *args: Any) -> Any:
        if has_stand(args):
            return self._function(*args)
        try:
            values = [_ufuncs.operand(one) for one in args]
        except TypeError:
            return self._function(*args)
        arrays = [one for one in values if isinstance(one, _array.ndarray)]
        if not arrays:
            return self._function(*args)
        shape = arrays[0]._shape
        is_one = all(one._shape == shape for one in arrays)
        key = (*map(_ufuncs._key, values), None if is_one else tuple(one._shape for one in arrays))
        if key not in self._known:
            self._known[key] = self._noted(values)
        found = self._known[key]
        return self._function(*args) if found is None else found(values)

    def _noted(self, values: Sequence[Any]) -> Callable[[Sequence[Any]], Any] | None:
        """What runs the function as one kernel; None where it cannot be noted."""
        notes = _Notes()
        stands = []
        for k, one in enumerate(values):
            key = _ufuncs._key(one)
            stored = _PYTHON.get(key) or key
            stands.append(Stand(notes, f"x{k}", key, stored, getattr(one, "_shape", ())))
        try:
            given = self._function(*stands)
        except (_CannotNote, TypeError, ValueError):
            return None
        results = list(given) if isinstance(given, tuple | list) else [] if given is None else [given]
        shape = _layout.broadcast([one._shape for one in values if isinstance(one, _array.ndarray)])
        written = [one for one in stands if one.is_written]
        fresh = [one for one in results if not any(one is stand for stand in stands)]
        if not all(isinstance(one, Stand) and one.shape == shape for one in (*written, *results)):
            return None
        if any(one is stand and not stand.is_written for one in results for stand in stands):
            return None
        texts = [one.text for one in (*fresh, *written)]
        dtypes = [one.stored for one in (*fresh, *written)]
        body = Body(self._name, texts, [one.stored for one in stands], dtypes, notes.lines, notes.names)
        at = [next(k for k, stand in enumerate(stands) if stand is one) for one in written]

        def run(values: Sequence[Any]) -> Any:
            made = [_array.fresh(dtype, shape_of(values)) for dtype in dtypes[: len(fresh)]]
            targets = [values[k] for k in at]
            operands = [
                one if isinstance(one, _array.ndarray) else _elementwise.number(one, dtype)
                for one, dtype in zip(values, body.inputs, strict=True)
            ]
            if targets:
                operands = [_ufuncs._apart(one, targets[:1]) for one in operands]
            _elementwise.run(body, operands, [*made, *targets])
            found, new = [], iter(made)
            for one in results:
                k = next((k for k, stand in enumerate(stands) if stand is one), None)
                found.append(next(new) if k is None else values[k])
            if given is None:
                return None
            return type(given)(found) if isinstance(given, tuple | list) else found[0]

        return run


def shape_of(values: Sequence[Any]) -> tuple[int, ...]:
    """The shape that arrays stretch to together."""
    return _layout.broadcast([one._shape for one in values if isinstance(one, _array.ndarray)])


class vectorize:
    """A function of numbers, in the words of `numba.cuda`'s device functions, over the elements of arrays.

    `otypes` is the dtype of the result; without it, it is that of the function called with ones.
    """

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None) -> None:
        from gridstride.numba.cuda.dispatcher import Dispatcher

        self.pyfunc, self.otypes = pyfunc, otypes
        self.__doc__ = doc or pyfunc.__doc__
        self._core = Dispatcher(pyfunc, {"device": True})
        self._bodies: dict[Any, Body] = {}

    def __call__(self, *args: Any) -> Any:
        from gridstride.cupy import _mathematics

        values = [_ufuncs.operand(one) for one in args]
        dtypes = tuple(_PYTHON.get(key) or key for key in map(_ufuncs._key, values))
        body = self._bodies.get(dtypes)
        if body is None:
            if self.otypes is not None:
                made = np.dtype(self.otypes[0] if isinstance(self.otypes, str | list) else self.otypes)
            else:
                made = np.asarray(self.pyfunc(*(dtype.type(1) for dtype in dtypes))).dtype
            text = f"core({', '.join(f'x{k}' for k in range(len(dtypes)))})"
            body = self._bodies[dtypes] = Body("vectorized", [text], dtypes, (made,), (), {"core": self._core})
        return _mathematics._over_elements(body, values)
