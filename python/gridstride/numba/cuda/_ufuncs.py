"""`vectorize` and `guvectorize`: functions of scalars, or of small arrays, made functions of whole arrays.

    >>> @vectorize([float32(float32, float32)], target="cuda")
    ... def add(x, y):
    ...     return x + y
    >>> add(np.ones(3, np.float32), np.ones(3, np.float32))
    array([2., 2., 2.], dtype=float32)

NumPy arrays give NumPy arrays, device arrays a device array.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.numba import _dtypes, types
from gridstride.numba.cuda import _generated, _signatures
from gridstride.numba.cuda._arrays import DeviceNDArray, _HostArray, device_array, to_device
from gridstride.numba.cuda.dispatcher import Dispatcher, jit

_THREADS = 256


def _blocks(n: int) -> int:
    return max(1, (n + _THREADS - 1) // _THREADS)


def _is_device(value: Any) -> bool:
    return isinstance(value, DeviceNDArray) or hasattr(value, "__cuda_array_interface__")


def _set(target: Any, values: Any) -> None:
    if isinstance(target, DeviceNDArray):
        target._write(values)
    else:
        np.asarray(target)[...] = values


def _on_host(value: Any) -> np.ndarray[Any, Any]:
    return value._host if isinstance(value, DeviceNDArray) else np.asarray(value)


class _Loop:
    """One signature of a function over arrays."""

    def __init__(self, core: Dispatcher, arguments: Any, result: Any) -> None:
        self.dtypes = [_dtypes.as_dtype(ty) for ty in arguments]
        self.result = None if result is None or result == types.none else _dtypes.as_dtype(result)
        self.signature = types.Signature(result, arguments)
        self.core = core


def _choose(loops: list[_Loop], dtypes: list[np.dtype[Any]], name: str) -> _Loop:
    """The first signature that holds all arguments: exactly, then safely, then within their kinds."""
    for casting in ("no", "safe", "same_kind"):
        for loop in loops:
            if all(np.can_cast(given, ours, casting) for given, ours in zip(dtypes, loop.dtypes, strict=True)):
                return loop
    raise TypeError(f"no matching signature of `{name}` for {', '.join(map(str, dtypes))}")


class DUFunc:
    """A function of scalars over arrays of one shape, after broadcasting."""

    def __init__(self, function: Callable[..., Any], signatures: Any) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        self.core = function if isinstance(function, Dispatcher) else jit(function, device=True)
        self.nin = self.core.py_func.__code__.co_argcount
        self.nout = 1
        self.nargs = self.nin + 1
        self.loops = []
        for one in signatures:
            arguments, result = _signatures.normalize(one)
            self.loops.append(_Loop(self.core, arguments, result))
        args = [f"a{index}" for index in range(self.nin)]
        call = ", ".join(f"{arg}[i]" for arg in args)
        head = f"def elementwise({', '.join(args)}, out, n):\n    i = grid(1)\n"
        text = f"{head}    if i < n:\n        out[i] = core({call})\n"
        self._kernel = jit(_generated.function("elementwise", text, {"core": self.core}))

    @property
    def signature(self) -> Any:
        return None

    @property
    def types(self) -> list[str]:
        """The signatures by NumPy's letters: "ff->f"."""
        return ["".join(d.char for d in loop.dtypes) + "->" + loop.result.char for loop in self.loops if loop.result]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Applies the function to arrays and scalars."""
        if len(args) == self.nin + 1 and out is None:
            *given, out = args
            args = tuple(given)
        if len(args) != self.nin:
            raise TypeError(f"`{self.__name__}` takes {self.nin} arguments, got {len(args)}")
        on_device = any(_is_device(arg) for arg in args) or (out is not None and _is_device(out))
        hosts = [_on_host(arg) for arg in args]
        loop = self._loop(hosts, args)
        dtypes = [_dtypes.device_dtype(dtype) for dtype in loop.dtypes]
        shape = np.broadcast_shapes(*(host.shape for host in hosts))
        result_dtype = loop.result if loop.result is not None else np.result_type(*dtypes)
        result = np.empty(shape, result_dtype)
        n = result.size
        if n:
            flat = [_flat(host, dtype, shape) for host, dtype in zip(hosts, dtypes, strict=True)]
            values = [one.view(_HostArray) for one in (*flat, result.reshape(-1))]
            self._kernel.launch(self._kernel._quiet(_blocks(n), _THREADS, stream), (*values, n))
        if out is not None:
            _set(out, result)
            return out
        if on_device:
            return to_device(result)
        return result if shape else result[()]

    def _loop(self, hosts: list[np.ndarray[Any, Any]], args: Any) -> _Loop:
        if not self.loops:
            return _Loop(self.core, [_dtypes.from_dtype(host.dtype) for host in hosts], self._infer(hosts))
        # Python's numbers have no size of their own: they fit any type of their kind.
        kinds = [
            np.result_type(arg) if isinstance(arg, int | float | complex) else host.dtype
            for arg, host in zip(args, hosts, strict=True)
        ]
        try:
            return _choose(self.loops, kinds, self.__name__)
        except TypeError:
            smallest = [np.min_scalar_type(host) if not host.ndim else host.dtype for host in hosts]
            return _choose(self.loops, smallest, self.__name__)

    def _infer(self, hosts: list[np.ndarray[Any, Any]]) -> Any:
        sample = self.core.py_func(*(host.dtype.type(1) for host in hosts))
        return _dtypes.typeof(sample)

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """The function of two values applied between all elements of an array."""
        if self.nin != 2:
            raise TypeError("only functions of two arguments reduce")
        from gridstride.numba.cuda._reduce import Reduce

        if _on_host(arg).ndim != 1:
            raise TypeError("only one-dimensional arrays can be reduced")
        host = _on_host(arg)
        if host.size == 0:
            raise TypeError("reduction on an empty array.")
        if host.size == 1:
            return host[0]
        last = host[host.size - 1]
        return Reduce(self.core)(to_device(host[:-1]), init=last, stream=stream)

    def __repr__(self) -> str:
        return f"<DUFunc {self.__name__}>"


def _flat(host: np.ndarray[Any, Any], dtype: np.dtype[Any], shape: Any) -> np.ndarray[Any, Any]:
    """An argument in one dimension of the result's size. A single value is repeated by a stride of 0."""
    if host.dtype != dtype:
        host = host.astype(dtype)
    if host.size == 1:
        n = int(np.prod(shape, dtype=np.int64))
        return np.lib.stride_tricks.as_strided(host.reshape(-1), (n,), (0,))
    return np.ascontiguousarray(np.broadcast_to(host, shape)).reshape(-1)


def vectorize(ftylist_or_function: Any = (), **kws: Any) -> Any:
    """Makes a function of scalars a function of arrays. Use as `@vectorize([float32(float32)], target="cuda")`.

    Without signatures the types of each call's arguments decide. `target` may be "cuda", "cpu" or "parallel": all run
    where launches run.
    """
    signatures = ftylist_or_function
    if callable(signatures) and not isinstance(signatures, types.Type):
        return DUFunc(signatures, ())
    if isinstance(signatures, str) or _signatures.is_signature(signatures) and not isinstance(signatures, tuple):
        signatures = (signatures,)
    return lambda function: DUFunc(function, signatures)


class GUFunc:
    """A function of small arrays over larger ones: `(m,n),(n,p)->(m,p)` for each item of the leading dimensions."""

    def __init__(self, function: Callable[..., Any], signatures: Any, layout: str) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        self.signature = layout
        self.core = function if isinstance(function, Dispatcher) else jit(function, device=True)
        self.inputs, self.outputs = _parse_layout(layout)
        self.nin, self.nout = len(self.inputs), len(self.outputs)
        self.loops = []
        for one in signatures:
            arguments, _ = _signatures.normalize(one)
            if len(arguments) != self.nin + self.nout:
                raise ValueError(f"a signature of `{self.__name__}` needs {self.nin + self.nout} types: {one}")
            self.loops.append(_Loop(self.core, arguments[: self.nin], None))
            self.loops[-1].outputs = [_dtypes.as_dtype(ty) for ty in arguments[self.nin :]]  # type: ignore[attr-defined]
        self._scalars = self._scalar_inputs(signatures)
        self._kernel = self._make_kernel()

    def _scalar_inputs(self, signatures: Any) -> list[bool]:
        """Which inputs the function takes as numbers: those without dimensions that the signature has as numbers."""
        if not signatures:
            return [not dims for dims in self.inputs]
        arguments, _ = _signatures.normalize(signatures[0])
        return [not isinstance(ty, types.Array) for ty in arguments[: self.nin]]

    def _make_kernel(self) -> Dispatcher:
        names = [f"a{index}" for index in range(self.nin + self.nout)]
        items = []
        for index, name in enumerate(names):
            dims = (*self.inputs, *self.outputs)[index]
            is_number = index < self.nin and self._scalars[index]
            items.append(f"{name}[i]" if dims or is_number else f"{name}[i : i + 1]")
        head = f"def over_items({', '.join(names)}, n):\n    i = grid(1)\n"
        text = f"{head}    if i < n:\n        core({', '.join(items)})\n"
        return jit(_generated.function("over_items", text, {"core": self.core}))

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Applies the function to each item of the leading dimensions."""
        outs = list(args[self.nin :])
        args = args[: self.nin]
        if out is not None:
            outs = list(out) if isinstance(out, tuple | list) else [out]
        if len(args) != self.nin:
            raise TypeError(f"gufunc accepts {self.nin} positional arguments, got {len(args)}")
        on_device = any(_is_device(arg) for arg in args)
        hosts = [_on_host(arg) for arg in args]
        loop = self._loop(hosts)
        hosts = [
            host if host.dtype == dtype else host.astype(dtype) for host, dtype in zip(hosts, loop.dtypes, strict=True)
        ]
        sizes, leading = self._sizes(hosts)
        shape = np.broadcast_shapes(*leading)
        n = int(np.prod(shape, dtype=np.int64))
        values = [self._input(host, dims, shape, n) for host, dims in zip(hosts, self.inputs, strict=True)]
        results = []
        for index, dims in enumerate(self.outputs):
            inner = tuple(self._size(sizes, dim) for dim in dims)
            dtype = loop.outputs[index]  # type: ignore[attr-defined]
            target = _on_host(outs[index]) if outs else None
            if target is not None and target.shape != shape + inner:
                raise ValueError(f"output {index} has shape {target.shape}, expected {shape + inner}")
            result = np.zeros(shape + inner, dtype)
            if target is not None:
                result[...] = target
            results.append(result)
            values.append(result.reshape((n, *inner)).view(_HostArray))
        if n:
            self._kernel.launch(self._kernel._quiet(_blocks(n), _THREADS, stream), (*values, n))
        if outs:
            for target, result in zip(outs, results, strict=True):
                _set(target, result)
            return outs[0] if len(outs) == 1 else tuple(outs)
        given = [to_device(result) if on_device else result if result.ndim else result[()] for result in results]
        return given[0] if len(given) == 1 else tuple(given)

    def _loop(self, hosts: list[np.ndarray[Any, Any]]) -> _Loop:
        if self.loops:
            return _choose(self.loops, [host.dtype for host in hosts], self.__name__)
        made = _Loop(self.core, [_dtypes.from_dtype(host.dtype) for host in hosts], None)
        made.outputs = [np.result_type(*hosts)] * self.nout  # type: ignore[attr-defined]
        return made

    def _sizes(self, hosts: list[np.ndarray[Any, Any]]) -> tuple[dict[str, int], list[tuple[int, ...]]]:
        """The extents that the dimensions' names stand for, and what comes before them in each input."""
        sizes: dict[str, int] = {}
        leading = []
        for index, (host, dims) in enumerate(zip(hosts, self.inputs, strict=True)):
            if host.ndim < len(dims):
                raise ValueError(f"input {index} needs {len(dims)} dimensions `{','.join(dims)}`, got {host.ndim}")
            split = host.ndim - len(dims)
            leading.append(host.shape[:split])
            for name, extent in zip(dims, host.shape[split:], strict=True):
                if sizes.setdefault(name, extent) != extent:
                    raise ValueError(f"dimension `{name}` is {sizes[name]} in one input and {extent} in input {index}")
        return sizes, leading

    def _size(self, sizes: dict[str, int], dim: str) -> int:
        if dim.isdigit():
            return int(dim)
        if dim not in sizes:
            raise ValueError(f"the extent of output dimension `{dim}` is not known: pass the output array")
        return sizes[dim]

    def _input(self, host: np.ndarray[Any, Any], dims: Any, shape: Any, n: int) -> Any:
        inner = host.shape[host.ndim - len(dims) :]
        spread = np.ascontiguousarray(np.broadcast_to(host, shape + inner)).reshape((n, *inner))
        return spread.view(_HostArray)


def _parse_layout(layout: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Names of the dimensions of inputs and outputs: `(m,n),(n)->(m)`."""
    sides = layout.replace(" ", "").split("->")
    found = [[tuple(d for d in group.split(",") if d) for group in re.findall(r"\(([^()]*)\)", side)] for side in sides]
    if len(sides) != 2 or not found[0] or not found[1]:
        raise ValueError(f"invalid layout {layout!r}: write it as `(m,n),(n)->(m)`")
    known = {name for dims in found[0] for name in dims}
    for dims in found[1]:
        for name in dims:
            if name not in known and not name.isdigit():
                raise ValueError(f"undefined output symbols: {name}")
    return found[0], found[1]


def guvectorize(ftylist: Any, signature: str | None = None, **kws: Any) -> Any:
    """Makes a function of small arrays a function of arrays with leading dimensions. The outputs come last.

    Use as `@guvectorize([void(float32[:,:], float32[:,:], float32[:,:])], "(m,n),(n,p)->(m,p)", target="cuda")`.
    """
    if isinstance(ftylist, str) and signature is None:
        ftylist, signature = [], ftylist
    if signature is None:
        raise TypeError("guvectorize needs a layout such as `(m,n),(n)->(m)`")
    if isinstance(ftylist, str) or _signatures.is_signature(ftylist) and not isinstance(ftylist, tuple):
        ftylist = [ftylist]
    layout = signature
    return lambda function: GUFunc(function, ftylist, layout)


__all__ = ["DUFunc", "GUFunc", "device_array", "guvectorize", "vectorize"]
