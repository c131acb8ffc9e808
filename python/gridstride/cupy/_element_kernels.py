"""`ElementwiseKernel`: a function over elements as C text.

    >>> import gridstride.cupy as cp
    >>> hypot = cp.ElementwiseKernel("T x, T y", "T z", "z = sqrt(x * x + y * y)", "hypot")
    >>> hypot(cp.asarray([3.0, 5.0]), cp.asarray([4.0, 12.0]))
    array([ 5., 13.])

Arrays that lie in different ways are read as they lie, and broadcast without a copy. The text is compiled for the types
of the arguments, and for the number of dimensions in which they lie.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _native, config
from gridstride.cupy import _array, _elementwise, _layout, _memory
from gridstride.cupy._raw import Text

_MAX_RANK = 4
# Names of dtypes as C has them.
_C_NAMES = {"bool": "bool", "float16": "half", "float32": "float", "float64": "double"}


class Parameter:
    """A parameter as it is written, `raw T x`: its type is a dtype, or a letter that stands for one."""

    def __init__(self, text: str, is_const: bool) -> None:
        words = text.split()
        self.raw = "raw" in words[:-2]
        known = {"raw", "const", "volatile", "_non_const", "_indexed"}
        if len(words) < 2 or not set(words[:-2]) <= known:
            raise ValueError(f"`{text.strip()}` is no parameter: write `float32 x`, `T x` or `raw T x`")
        kind, self.name = words[-2:]
        if not self.name.isidentifier() or self.name in ("i", "n") or self.name.startswith("_"):
            raise ValueError(f"`{self.name}` cannot name a parameter: `i`, `n` and names with a `_` in front are taken")
        self.letter, self.dtype = _kind(kind)
        self.is_const = is_const and "_non_const" not in words


def _kind(word: str) -> tuple[str | None, Any]:
    """The letter or the dtype that a type's word is."""
    if len(word) == 1:
        return word, None
    try:
        return None, np.dtype(word)
    except TypeError:
        raise ValueError(f"`{word}` is no dtype: write one of NumPy's names, or a letter that stands for any") from None


def read_parameters(text: str, is_const: bool) -> list[Parameter]:
    """The parameters of a list such as `T x, raw float32 y`. Raises `ValueError`."""
    return [Parameter(one, is_const) for one in text.split(",")] if text.strip() else []


def c_name(dtype: np.dtype[Any]) -> str:
    """A dtype's name in C. Raises `TypeError` for one that C kernels do not have."""
    name = _C_NAMES.get(dtype.name)
    if name is None and dtype.kind in "iu":
        name = f"{dtype.name}_t"
    if name is None:
        raise TypeError(f"kernels in C have no type for {dtype}: bool, integers and floats are what they have")
    return name


def decide(params: Sequence[Parameter], values: Sequence[Any], letters: dict[str, np.dtype[Any]], name: str) -> None:
    """Finds what letters stand for from arrays; numbers say it where no array does. Raises `TypeError`."""
    for is_array in (True, False):
        for param, value in zip(params, values, strict=True):
            if isinstance(value, _native.Array) != is_array or value is None:
                continue
            given = value.dtype if is_array else np.asarray(value).dtype
            if param.letter is None:
                if is_array and given != param.dtype:
                    raise TypeError(f"{name}: `{param.name}` is an array of {param.dtype}, not of {given}")
            elif letters.setdefault(param.letter, given) != given and is_array:
                known = letters[param.letter]
                raise TypeError(
                    f"Type is mismatched. {param.name} {given} {known}: `{param.letter}` stands for one type"
                )


def argument(value: Any) -> Any:
    """An argument as an array of this style, or a number of the host's."""
    if isinstance(value, _array.ndarray | np.generic | bool | int | float | complex):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError(f"Unsupported type {type(value)}: make an array of cupy of it with cupy.asarray")
    if isinstance(value, np.ndarray):
        return value[()]
    from gridstride.cupy import _ufuncs

    return _ufuncs.operand(value)


def merged(shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The same elements in the same order, in as few dimensions as all arrays allow."""
    found: list[int] = []
    steps: list[list[int]] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        here = [one[axis] for one in strides]
        if found and all(outer == step * extent for outer, step in zip(steps[-1], here, strict=True)):
            found[-1] *= extent
            steps[-1] = here
        else:
            found.append(extent)
            steps.append(here)
    if not found:
        return (1,), [(0,)] * len(strides)
    return tuple(found), [tuple(one[k] for one in steps) for k in range(len(strides))]


def text_of(lines: Sequence[str], text: str) -> str:
    """Lines of ours around the user's text, which stands on lines of its own, as a statement."""
    return "\n".join([*lines, text + ("" if text.rstrip().endswith(("}", ";")) or not text.strip() else ";")])


class Compiled:
    """A kernel over elements for given types."""

    def __init__(self, text: Text, name: str) -> None:
        listed, _ = text.native.signature(name)
        self.types = [ty for _, ty, _ in listed]
        self.kernel = _native.Kernel(text.native, name, {param: ty for param, ty, _ in listed}, dialect="c")

    def launch(self, dim: Any, args: Sequence[Any], fast_math: bool = False) -> None:
        """Runs it, in debug mode with checks."""
        checked = bool(config.checked or config.mode == "debug")
        options = _elementwise.options()
        if checked or fast_math:
            options = {**options, "checked": checked, "fast_math": fast_math}
        device = _elementwise._devices.launch_device()
        _native.launch(self.kernel, dim, args, None, device, False, options)
        if checked:
            _elementwise._devices.synchronize()


class ElementwiseKernel:
    """A function over elements.

    Args:
        in_params, out_params: Lists of parameters, `T x, raw float32 y`. A letter stands for any dtype, the same one
            wherever it stands. A `raw` array is indexed by the operation itself.
        operation: Statements that compute the elements of the outputs from those of the inputs; `i` is the number of
            the element, `_ind.size()` how many there are.
        name: For messages.
        preamble: Text before the kernel: device functions, structs, macros.
        loop_prep, after_loop: Statements before and after the operation.
        no_return: Whether a call returns None; `return_tuple`: whether it returns a tuple for a single output too.
        options: Of a compiler, as for `RawKernel`.
    """

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
        no_return: bool = False,
        return_tuple: bool = False,
        **kwargs: Any,
    ) -> None:
        self.in_params, self.out_params = read_parameters(in_params, True), read_parameters(out_params, False)
        self.params = [*self.in_params, *self.out_params]
        self.nin, self.nout, self.nargs = len(self.in_params), len(self.out_params), len(self.params)
        if not name.isidentifier():
            raise ValueError(f"`{name}` is no name")
        self.operation, self.name, self.__name__ = operation, name, name
        self.preamble, self.no_return, self.return_tuple = preamble, no_return, return_tuple
        self.loop_prep, self.after_loop = kwargs.pop("loop_prep", ""), kwargs.pop("after_loop", "")
        self.options = tuple(kwargs.pop("options", ()))
        if kwargs:
            raise TypeError(f"ElementwiseKernel got an unexpected keyword argument {next(iter(kwargs))!r}")
        self.reduce_dims = reduce_dims
        words = " ".join((operation, self.loop_prep, self.after_loop))
        self._needs_index = re.search(r"\bi\b|\b_ind\b|\bn\b", words) is not None
        self._compiled: dict[Any, Compiled] = {}
        # What usual calls ran, by the types of their arguments; for the count of changed settings.
        self._usual: dict[Any, tuple[_native.Kernel, list[np.dtype[Any]]]] = {}
        self._stamp = -1

    @property
    def cached_code(self) -> str:
        """The text for the types that it was called with last."""
        return next(reversed(self.cached_codes.values()), "")

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The texts by types."""
        return {key: self._text(*key) for key in self._compiled}

    def __call__(self, *args: Any, size: int | None = None, block_size: int = 128, stream: Any = None) -> Any:
        """Computes the outputs: new arrays, or those given behind the inputs.

        Args:
            size: How many elements, where all inputs are `raw` and no output is given.

        Raises `TypeError` for arguments of other types, `ValueError` for shapes that do not fit.
        """
        if size is None and stream is None:
            found = self._again(args)
            if found is not NotImplemented:
                return found
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name!r}: {self.nin} or {self.nargs}, got {len(args)}")
        values = [argument(one) for one in args]
        outs = values[self.nin :]
        letters: dict[str, np.dtype[Any]] = {}
        decide(self.params[: len(values)], values, letters, self.name)
        types = tuple(one.dtype if one.letter is None else letters.get(one.letter) for one in self.params)
        for param, ty in zip(self.params, types, strict=True):
            if ty is None:
                raise TypeError(f"{self.name}: nothing says what `{param.letter}` of `{param.name}` stands for")
        shape = self._shape(values, size)
        if not outs:
            outs = [_array.fresh(ty, shape) for ty in types[self.nin :]]  # type: ignore[arg-type]
        for param, out in zip(self.out_params, outs, strict=True):
            if not param.raw and (not isinstance(out, _array.ndarray) or out.shape != shape):
                raise ValueError(f"{self.name}: `{param.name}` must be an array of shape {shape}")
        if 0 not in shape:
            self._run([*values[: self.nin], *outs], types, shape, stream)
            if size is None and stream is None:
                self._note(args, values, outs, types, shape)
        return self._result(outs)

    def _result(self, outs: Sequence[Any]) -> Any:
        if self.no_return:
            return None
        return tuple(outs) if self.return_tuple or self.nout != 1 else outs[0]

    def _again(self, args: tuple[Any, ...]) -> Any:
        """A usual call such as there was before, of arrays without gaps and of one shape, and of numbers.

        `NotImplemented` for any other.
        """
        key = _usual_key(args) if self._stamp == config.__dict__["_changes"] else None
        found = self._usual.get(key) if key is not None else None
        if found is None:
            return NotImplemented
        kernel, dtypes = found
        shape = next(one._shape for one in args if type(one) is _array.ndarray)
        n = math.prod(shape)
        if not 0 < n < _elementwise._MOST:
            return NotImplemented
        outs = args[self.nin :] or [_array.fresh(dtype, shape) for dtype in dtypes]
        passed = [*args[: self.nin], *outs]
        if len(shape) != 1:
            passed = [_elementwise.flat(one) if type(one) is _array.ndarray else one for one in passed]
        try:
            _elementwise.launch(kernel, n, passed)
        except OverflowError:
            # An int that is of another type by its value, or of none.
            return NotImplemented
        return self._result(outs)

    def _note(self, args: tuple[Any, ...], values: Any, outs: Any, types: Any, shape: tuple[int, ...]) -> None:
        """Remembers what a call ran, where it was a usual one."""
        if self._stamp != config.__dict__["_changes"]:
            self._usual.clear()
            self._stamp = config.__dict__["_changes"]
        key = _usual_key(args)
        is_checked = config.checked or config.mode == "debug"
        if key is None or is_checked or self.options or any(one.raw for one in self.params):
            return
        forms = []
        for value, ty in zip([*values[: self.nin], *outs], types, strict=True):
            if type(value) is _array.ndarray:
                forms.append("each")
            elif _is_plain(value, ty):
                forms.append("value")
            else:
                return
        found = self._compiled.get((types, tuple(forms), 1))
        if found is not None and len(shape) > 0:
            self._usual[key] = found.kernel, list(types[self.nin :])

    def _shape(self, values: Sequence[Any], size: int | None) -> tuple[int, ...]:
        shapes = [
            one.shape
            for param, one in zip(self.params, values, strict=False)
            if not param.raw and isinstance(one, _array.ndarray)
        ]
        if size is not None:
            if shapes:
                raise ValueError("Specified `size` can be used only if all of the ndarray are `raw`.")
            return (int(size),)
        if not shapes:
            raise ValueError("Loop size is undecided.")
        return _layout.broadcast(shapes)

    def _run(self, values: Sequence[Any], types: Any, shape: tuple[int, ...], stream: Any) -> None:
        walked = [
            (k, one)
            for k, (param, one) in enumerate(zip(self.params, values, strict=True))
            if not param.raw and isinstance(one, _array.ndarray)
        ]
        strides = [_layout.spread(one.shape, one.strides, shape) for _, one in walked]
        extents, steps = (merged if self._needs_index or not walked else _layout.collapse)(shape, strides)
        if len(extents) > _MAX_RANK:
            # More dimensions than kernels have: copies without gaps, and back.
            copies = list(values)
            for k, one in walked:
                copies[k] = _spread_copy(one, shape)
            self._run(copies, types, shape, stream)
            for k, one in walked:
                if k >= self.nin:
                    one[...] = copies[k]
            return
        args: list[Any] = []
        forms: list[Any] = []
        laid = dict(zip((k for k, _ in walked), steps, strict=True))
        for k, (param, value, ty) in enumerate(zip(self.params, values, types, strict=True)):
            if not isinstance(value, _array.ndarray):
                args.append(_elementwise.number(value, ty))
                forms.append("value")
            elif param.raw:
                args.append(_elementwise.flat(value) if value.is_flat else value)
                forms.append(1 if value.is_flat else value.ndim)
            else:
                args.append(_native.Array(_memory.elem(ty), value.ptr, extents, laid[k], value._place, value))
                forms.append("each")
        key = types, tuple(forms), len(extents)
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = Compiled(
                Text(self._text(*key), self.options, f"ElementwiseKernel {self.name}"), self.name
            )
        with on(stream):
            found.launch(extents, args, "--use_fast_math" in self.options)

    def _text(self, types: Any, forms: Any, rank: int) -> str:
        """The kernel for given dtypes and forms of arguments."""
        lines = [self.preamble]
        letters = {param.letter: ty for param, ty in zip(self.params, types, strict=True) if param.letter}
        lines[:0] = [f"typedef {c_name(ty)} {letter};" for letter, ty in letters.items()]
        declared, begin = [], []
        for param, ty, form in zip(self.params, types, forms, strict=True):
            word = c_name(ty)
            const = "const " if param.is_const else ""
            if form == "value":
                declared.append(f"{word} {param.name}")
            elif form == "each":
                declared.append(f"CArray<{const}{word}, {rank}> _raw_{param.name}")
                by = f"const {word}" if param.is_const else f"{word}&"
                begin.append(f"  {by} {param.name} = _raw_{param.name}.here();")
            else:
                declared.append(f"CArray<{const}{word}, {form}> {param.name}")
        if "each" not in forms and not any(isinstance(form, int) for form in forms):
            raise TypeError(f"{self.name}: a kernel needs an array")
        lines.append(f"__global__ __elements__ void {self.name}({', '.join(declared)}) {{")
        if self._needs_index:
            begin[:0] = ["  const ptrdiff_t i = __linear;", "  const ptrdiff_t n = _ind.size();"]
        body = text_of([], self.loop_prep), *begin, text_of([], self.operation), text_of([], self.after_loop)
        return "\n".join([*lines, *(one for one in body if one.strip()), "}\n"])


def _is_plain(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a launch takes a number as it is."""
    if isinstance(value, np.generic):
        return dtype.kind in "iuf" and value.dtype == dtype
    return type(value) is int and dtype.kind in "iuf" or type(value) is float and dtype.kind == "f"


def _usual_key(args: tuple[Any, ...]) -> Any:
    """The types of arguments where some are arrays, all of these without gaps and of one shape; else None."""
    key: list[Any] = []
    shape = None
    for one in args:
        if type(one) is not _array.ndarray:
            key.append(type(one))
        elif one._strides is not None or shape is not None and one._shape != shape:
            return None
        else:
            shape = one._shape
            key.append(one._dtype)
    return None if shape is None else tuple(key)


def on(stream: Any) -> Any:
    """The stream as the current one; nothing changes without one."""
    return contextlib.nullcontext() if stream is None else stream


def _spread_copy(array: Any, shape: tuple[int, ...]) -> Any:
    """A copy without gaps, as large as `shape`."""
    from gridstride.cupy import _shapes

    return _shapes.broadcast_to(array, shape).copy()
