"""`cupyx.jit`: kernels in Python, in CuPy's words.

    >>> from gridstride.cupyx import jit
    >>> @jit.rawkernel()
    ... def double(x, n):
    ...     for i in range(jit.grid(1), n, jit.gridsize(1)):
    ...         x[i] *= 2
    >>> import gridstride.cupy as cp
    >>> x = cp.arange(3, dtype=cp.float32)
    >>> double[1, 32](x, x.size)
    >>> x
    array([0., 2., 4.], dtype=float32)

A function becomes C text for the types of its arguments (`cached_code` shows it), as in CuPy, and that runs on the CPU
and on GPUs. In mode "cuda" literals are int and float, in mode "numpy" long and double.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride.cupy import _array
from gridstride.cupy._element_kernels import argument, c_name, on
from gridstride.cupy._raw import Function, Text
from gridstride.cupyx.jit import _words
from gridstride.cupyx.jit._translate import Array, Translator
from gridstride.cupyx.jit._words import (
    blockDim,
    blockIdx,
    grid,
    gridDim,
    gridsize,
    laneid,
    range,
    shared_memory,
    syncthreads,
    syncwarp,
    threadIdx,
    warpsize,
)

__all__ = [
    "blockDim",
    "blockIdx",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "range",
    "rawkernel",
    "shared_memory",
    "syncthreads",
    "syncwarp",
    "threadIdx",
    "warpsize",
    *_words.atomics,
    *_words.shuffles,
]
globals().update(_words.atomics | _words.shuffles)

# Python's division and remainder of integers.
_PREAMBLE = """template <typename T> __device__ T _floor_div(T a, T b) {
  T q = a / b; return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q; }
template <typename T> __device__ T _mod(T a, T b) { T r = a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }
"""


class _Kernel:
    """A function decorated with `@jit.rawkernel()`. `k[grid, block](*args)` and `k(grid, block, args)` launch it."""

    def __init__(self, function: Any, mode: str, device: bool) -> None:
        if mode not in ("cuda", "numpy"):
            raise ValueError('`mode` is "cuda" or "numpy"')
        self._function, self._mode, self._is_device = function, mode, device
        self.__name__, self.__doc__, self.__wrapped__ = function.__name__, function.__doc__, function
        self._source: Any = None
        self._compiled: dict[Any, tuple[Function, str]] = {}
        if device:
            self.__gs_device__ = True

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Runs it over `grid` blocks of `block` threads. Raises `CompileError`, `TypeError`."""
        if self._is_device:
            raise TypeError(f"`{self.__name__}` is a function that kernels call")
        values = [argument(one) for one in args]
        types = tuple(map(self._type_of, values))
        found = self._compiled.get(types)
        if found is None:
            code = self._translate(types)
            found = self._compiled[types] = (
                Function(Text(code, (), f"jit.rawkernel {self.__name__}"), self.__name__),
                code,
            )
        with on(stream):
            found[0](grid, block, values, shared_mem=shared_mem)

    def __getitem__(self, configuration: Any) -> Any:
        if not isinstance(configuration, tuple) or len(configuration) not in (2, 3, 4):
            raise ValueError("write kernel[grid, block](*args)")
        grid, block, *rest = configuration
        stream = rest[1] if len(rest) > 1 else None
        grid, block = (one if isinstance(one, tuple) else (one,) for one in (grid, block))
        return lambda *args: self(grid, block, args, shared_mem=rest[0] if rest else 0, stream=stream)

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The C text by types of arguments."""
        return {types: code for types, (_, code) in self._compiled.items()}

    @property
    def cached_code(self) -> str:
        """The C text of the only types that it was called with."""
        codes = self.cached_codes
        if len(codes) > 1:
            raise ValueError("it was called with several types: see `cached_codes`")
        return next(iter(codes.values()), "")

    def _type_of(self, value: Any) -> Any:
        if isinstance(value, _array.ndarray):
            return Array(value.dtype, max(value.ndim, 1))
        if isinstance(value, np.generic):
            return value.dtype
        if isinstance(value, bool):
            return np.dtype(bool)
        if isinstance(value, int):
            return np.dtype("q") if self._mode == "numpy" or not -(1 << 31) <= value < 1 << 31 else np.dtype("i")
        if isinstance(value, float):
            return np.dtype("d" if self._mode == "numpy" else "f")
        raise TypeError(f"{self.__name__}: a kernel takes arrays and numbers, not {type(value)}")

    def _read(self) -> tuple[ast.FunctionDef, tuple[str, int, list[str]]]:
        if self._source is None:
            lines, first = inspect.getsourcelines(self._function)
            text = textwrap.dedent("".join(lines))
            tree = ast.parse(text).body[0]
            assert isinstance(tree, ast.FunctionDef)
            self._source = tree, (self._function.__code__.co_filename, first, text.splitlines())
        return self._source  # type: ignore[no-any-return]

    def _find(self, name: str) -> Any:
        """What a name of the function stands for, as Python finds it."""
        closure = inspect.getclosurevars(self._function)
        for names in (closure.nonlocals, closure.globals):
            if name in names:
                return names[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise NameError(name)

    def _translate(self, types: tuple[Any, ...]) -> str:
        """The text of a kernel for types, with the functions that it calls."""
        functions: dict[Any, tuple[str, Any, str]] = {}
        text, _ = self._text(types, functions, f"__global__ void {self.__name__}")
        return "\n".join([_PREAMBLE, *(one[2] for one in functions.values()), text])

    def _text(self, types: tuple[Any, ...], functions: dict[Any, Any], head: str | None) -> tuple[str, Any]:
        tree, where = self._read()
        names = [one.arg for one in tree.args.args]
        if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults:
            raise TypeError(f"{self.__name__}: parameters of kernels have no defaults, and there are no *args")
        if len(names) != len(types):
            raise TypeError(f"{self.__name__} takes {len(names)} arguments, got {len(types)}")

        def call(kernel: _Kernel, given: tuple[Any, ...]) -> tuple[str, Any]:
            key = kernel, given
            if key not in functions:
                name = f"{kernel.__name__}_{len(functions)}"
                functions[key] = name, None, ""
                text, kind = kernel._text(given, functions, None)
                # Behind what it calls itself.
                functions.pop(key)
                functions[key] = name, kind, text.replace("@", name, 1)
            name, kind, _ = functions[key]
            return name, kind

        translator = Translator(self._function, tree, where, self._find, self._mode, call)
        declared, lines = translator.translate(dict(zip(names, types, strict=True)))
        params = ", ".join(_declaration(name, ty) for name, ty in zip(names, types, strict=True))
        if head is None:
            head = f"__device__ {'void' if translator.returns is None else c_name(translator.returns)} @"
        return "\n".join([f"{head}({params}) {{", *declared, *lines, "}"]), translator.returns


def _declaration(name: str, ty: Any) -> str:
    if isinstance(ty, Array):
        return f"CArray<{c_name(ty.dtype)}, {ty.ndim}> {name}"
    return f"{c_name(ty)} {name}"


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Any:
    """Makes a function a kernel, or with `device=True` one that kernels call. Use as `@jit.rawkernel()`.

    Args:
        mode: "cuda": literals are int and float, as in C. "numpy": long and double.
    """
    return lambda function: _Kernel(function, mode, device)


def __getattr__(name: str) -> Any:
    if name in ("cg", "cub", "thrust"):
        raise NotImplementedError(f"`cupyx.jit.{name}` is not supported: write it with shared memory and shuffles")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
