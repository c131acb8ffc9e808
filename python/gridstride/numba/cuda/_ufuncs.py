"""`@vectorize` and `@guvectorize`: functions over whole arrays, made of functions of their elements or of small arrays.

In: arrays of the host or the device, and numbers. Out: a device array where one was given, else a NumPy array. Arrays
of the device stay there; what is broadcast is read again and again where it lies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride.numba import _dtypes, types
from gridstride.numba.cuda import _devices, _generated, _memory, _signatures
from gridstride.numba.cuda._arrays import DeviceNDArray, _fits, device_array, to_device
from gridstride.numba.cuda._interface import ordered
from gridstride.numba.cuda._schedule import GUFuncEngine
from gridstride.numba.cuda.dispatcher import Dispatcher, jit

_THREADS = 256
# Dimensions that an array in a kernel may have.
_MAX_RANK = 4
_OPTIONS = frozenset(
    ["target", "nopython", "cache", "fastmath", "writable_args", "identity", "boundscheck", "forceobj", "looplift"]
)


def _blocks(n: int) -> int:
    return max(1, (n + _THREADS - 1) // _THREADS)


def _is_device(value: Any) -> bool:
    return isinstance(value, DeviceNDArray) or hasattr(value, "__cuda_array_interface__")


def _there(value: Any, stream: Any) -> DeviceNDArray:
    """An argument as a device array: itself, another library's memory, or a copy of what is on the host."""
    if isinstance(value, DeviceNDArray):
        return value
    if _is_device(value):
        return ordered(value)
    host = np.asarray(value)
    if _devices.gpu() is not None:
        return to_device(host, stream)
    return DeviceNDArray(host if _fits(host) else host.astype(_dtypes.device_dtype(host.dtype)))


def _spread(array: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    """An array in a larger shape, without a copy."""
    memory = array._memory
    return array if memory.shape == shape else DeviceNDArray(np.broadcast_to(memory, shape))


class _Output:
    """Where results go: an array that was given, or a new one; the host's gets them in the end."""

    def __init__(self, given: Any, shape: tuple[int, ...], dtype: Any, on_device: bool, stream: Any) -> None:
        self.given, self.stream, self.shape = given, stream, shape
        self.stays = on_device or (given is not None and _is_device(given))
        if given is None and not self.stays and _devices.gpu() is None:
            self.given = given = np.empty(shape, dtype)
        if given is not None and _is_device(given):
            self.array = _there(given, stream)
        elif given is not None and _devices.gpu() is None and _fits(np.asarray(given)):
            self.array = DeviceNDArray(np.asarray(given))
        else:
            self.array = device_array(shape, dtype, stream=stream)
            if given is not None:
                self.array.copy_to_device(np.asarray(given, dtype).reshape(shape), stream)

    def result(self) -> Any:
        """What the caller gets."""
        if self.stays:
            # Another library's array comes back as one of ours over the same memory.
            return self.given if isinstance(self.given, DeviceNDArray) else self.array
        if self.given is None:
            found = self.array.copy_to_host(stream=self.stream)
            return found if self.shape else found[()]
        given = np.asarray(self.given)
        if self.array._memory is not given:
            given[...] = self.array.copy_to_host(stream=self.stream).reshape(given.shape)
        return self.given if given.ndim or isinstance(self.given, np.ndarray) and self.shape else given[()]


class _Loop:
    """One signature of a function over arrays."""

    def __init__(self, arguments: Any, outputs: Any) -> None:
        self.kinds = [ty.dtype if isinstance(ty, types.Array) else ty for ty in arguments]
        self.dtypes = [_dtypes.as_dtype(ty) for ty in arguments]
        self.outputs = [_dtypes.as_dtype(ty) for ty in outputs]
        self.signature = types.Signature(outputs[0] if outputs else types.none, arguments)
        self.kernels: dict[int, Dispatcher] = {}

    @property
    def result(self) -> Any:
        return self.outputs[0] if self.outputs else None


def _choose(loops: list[_Loop], dtypes: list[np.dtype[Any]], name: str) -> _Loop:
    """The first signature that holds all arguments: exactly, then safely, then within their kinds."""
    for casting in ("no", "safe", "same_kind"):
        for loop in loops:
            if all(np.can_cast(given, ours, casting) for given, ours in zip(dtypes, loop.dtypes, strict=True)):
                return loop
    raise TypeError(f"no matching signature of `{name}` for {', '.join(map(str, dtypes))}")


def _index(rank: int, model: str) -> tuple[list[str], str]:
    """Lines that take the number `i` of a call apart into indices of `model`, and the indices."""
    names = [f"i{k}" for k in range(rank)]
    lines, rest = [], "i"
    for k in reversed(range(1, rank)):
        lines.append(f"{names[k]} = {rest} % {model}.shape[{k}]")
        lines.append(f"i{k}_ = {rest} // {model}.shape[{k}]")
        rest = f"i{k}_"
    return [*lines, f"i0 = {rest}"], ", ".join(names)


def _kernel(name: str, args: list[str], model: str, rank: int, call: Callable[[str], str], scope: Any) -> Dispatcher:
    lines, index = _index(rank, model)
    body = "\n        ".join([*lines, call(index)])
    text = f"def {name}({', '.join(args)}, n):\n    i = grid(1)\n    if i < n:\n        {body}\n"
    return jit(_generated.function(name, text, scope))


def _is_flat(arrays: list[DeviceNDArray], shape: tuple[int, ...]) -> bool:
    """Whether arrays can be walked as if of one dimension: without gaps, or of one element."""
    return all(one.size == 1 or (one.shape == shape and one.is_c_contiguous()) for one in arrays)


class DUFunc:
    """A function of scalars over arrays of one shape, after broadcasting."""

    def __init__(self, function: Callable[..., Any], signatures: Any) -> None:
        self.__name__ = function.__name__
        self.core = function if isinstance(function, Dispatcher) else jit(function, device=True)
        self.py_func = self.core.py_func
        self.nin = self.core.py_func.__code__.co_argcount
        self.nout = 1
        self.nargs = self.nin + 1
        self.loops = []
        for one in signatures:
            arguments, result = _signatures.normalize(one)
            self.loops.append(_Loop(arguments, [] if result is None or result == types.none else [result]))

    @property
    def signature(self) -> Any:
        return None

    @property
    def types(self) -> list[str]:
        """The signatures by NumPy's letters: "ff->f"."""
        return ["".join(d.char for d in loop.dtypes) + "->" + loop.result.char for loop in self.loops if loop.result]

    def _kernel_of(self, loop: _Loop, rank: int) -> Dispatcher:
        if rank not in loop.kernels:
            args = [f"a{index}" for index in range(self.nin)]
            scope = {"core": self.core, **{f"t{index}": ty for index, ty in enumerate(loop.kinds)}}

            def call(index: str) -> str:
                # Converted where the elements are read: no array is copied for its type.
                is_plain = [np.dtype(dtype).kind in "biufc" for dtype in loop.dtypes]
                items = [
                    f"t{k}({arg}[{index}])" if plain else f"{arg}[{index}]"
                    for k, (arg, plain) in enumerate(zip(args, is_plain, strict=True))
                ]
                return f"out[{index}] = core({', '.join(items)})"

            loop.kernels[rank] = _kernel("elementwise", [*args, "out"], "out", rank, call, scope)
        return loop.kernels[rank]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Applies the function to arrays and scalars."""
        if len(args) == self.nin + 1 and out is None:
            *given, out = args
            args = tuple(given)
        if len(args) != self.nin:
            raise TypeError(f"`{self.__name__}` takes {self.nin} arguments, got {len(args)}")
        out = out[0] if isinstance(out, tuple) else out
        on_device = any(_is_device(arg) for arg in args)
        arrays = [_there(arg, stream) for arg in args]
        loop = self._loop(arrays, args)
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        dtype = loop.result if loop.result is not None else np.result_type(*loop.dtypes)
        output = _Output(out, shape, dtype, on_device, stream)
        n = int(np.prod(shape, dtype=np.int64))
        if n:
            if _is_flat([*arrays, output.array], shape) or not shape:
                shape = (n,)
                target = output.array.reshape(n)
                flat = [_spread(one.reshape(one.size) if one.size > 1 else one, shape) for one in arrays]
            elif len(shape) > _MAX_RANK:
                return self._of_copies(arrays, output, shape, stream)
            else:
                target, flat = output.array, [_spread(one, shape) for one in arrays]
            kernel = self._kernel_of(loop, len(shape))
            kernel.launch(kernel._quiet(_blocks(n), _THREADS, stream), (*flat, target, n))
        return output.result()

    def _of_copies(self, arrays: Any, output: _Output, shape: Any, stream: Any) -> Any:
        """Arrays of many dimensions that lie in several ways: copies lie in one."""
        plain = [to_device(np.ascontiguousarray(np.broadcast_to(one._host, shape)), stream) for one in arrays]
        found = self(*plain, stream=stream).copy_to_host(stream=stream)
        output.array._write(found, stream)
        return output.result()

    def _loop(self, arrays: list[DeviceNDArray], args: Any) -> _Loop:
        dtypes = [array.dtype for array in arrays]
        if not self.loops:
            kinds = [_dtypes.from_dtype(dtype) for dtype in dtypes]
            made = _Loop(kinds, [_dtypes.typeof(self.core.py_func(*(dtype.type(1) for dtype in dtypes)))])
            known = next((loop for loop in self._inferred if loop.dtypes == made.dtypes), None)
            if known is None:
                self._inferred.append(made)
            return known or made
        # Python's numbers have no size of their own: they fit any type of their kind.
        kinds = [
            np.result_type(arg) if isinstance(arg, int | float | complex) else dtype
            for arg, dtype in zip(args, dtypes, strict=True)
        ]
        try:
            return _choose(self.loops, kinds, self.__name__)
        except TypeError:
            smallest = [
                np.min_scalar_type(np.asarray(arg)) if not _is_device(arg) and not np.ndim(arg) else dtype
                for arg, dtype in zip(args, dtypes, strict=True)
            ]
            return _choose(self.loops, smallest, self.__name__)

    @property
    def _inferred(self) -> list[_Loop]:
        found: list[_Loop] = self.__dict__.setdefault("_loops", [])
        return found

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """The function of two values applied between all elements of an array."""
        if self.nin != 2:
            raise TypeError("only functions of two arguments reduce")
        from gridstride.numba.cuda._reduce import Reduce

        array = _there(arg, stream)
        if array.ndim != 1:
            raise TypeError("only one-dimensional arrays can be reduced")
        if array.size == 0:
            raise TypeError("reduction on an empty array.")
        if array.size == 1:
            return array[0]
        return Reduce(self.core)(array[:-1], init=array[array.size - 1], stream=stream)

    def __reduce__(self) -> Any:
        return DUFunc, (self.core, [loop.signature for loop in self.loops])

    def __repr__(self) -> str:
        return f"<DUFunc {self.__name__}>"


class GUFunc:
    """A function of small arrays over larger ones: `(m,n),(n,p)->(m,p)` for each item of the leading dimensions."""

    def __init__(self, function: Callable[..., Any], signatures: Any, layout: str) -> None:
        self.__name__ = function.__name__
        self.py_func = function
        self.signature = layout
        self.core = function if isinstance(function, Dispatcher) else jit(function, device=True)
        self.engine = GUFuncEngine.from_signature(layout)
        self.nin, self.nout = self.engine.nin, self.engine.nout
        self.loops = []
        for one in signatures:
            arguments, result = _signatures.normalize(one)
            if result is not None and result != types.none:
                text = f"guvectorized functions cannot return values: signature {one} specifies {result} return type"
                raise TypeError(text)
            if len(arguments) != self.nin + self.nout:
                raise ValueError(f"a signature of `{self.__name__}` needs {self.nin + self.nout} types: {one}")
            self.loops.append(_Loop(arguments[: self.nin], arguments[self.nin :]))
        self._scalars = self._scalar_inputs(signatures)

    def _scalar_inputs(self, signatures: Any) -> list[bool]:
        """Which inputs the function takes as numbers: those without dimensions that the signature has as numbers."""
        if not signatures:
            return [not dims for dims in self.engine.inputs]
        arguments, _ = _signatures.normalize(signatures[0])
        return [not isinstance(ty, types.Array) for ty in arguments[: self.nin]]

    def _kernel_of(self, loop: _Loop, rank: int) -> Dispatcher:
        if rank not in loop.kernels:
            names = [f"a{index}" for index in range(self.nin + self.nout)]
            model = names[self.nin]

            def call(index: str) -> str:
                items = []
                for k, name in enumerate(names):
                    dims = (*self.engine.inputs, *self.engine.outputs)[k]
                    if k < self.nin and self._scalars[k]:
                        items.append(f"t{k}({name}[{index}])")
                    elif dims:
                        items.append(f"{name}[{index}]")
                    else:
                        head, _, last = index.rpartition(", ")
                        items.append(f"{name}[{head + ', ' if head else ''}{last} : {last} + 1]")
                return f"core({', '.join(items)})"

            scope = {"core": self.core, **{f"t{index}": ty for index, ty in enumerate(loop.kinds)}}
            loop.kernels[rank] = _kernel("over_items", names, model, rank, call, scope)
        return loop.kernels[rank]

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Applies the function to each item of the leading dimensions."""
        if len(args) not in (self.nin, self.nin + self.nout):
            plural = "" if len(args) == 1 else "s"
            raise TypeError(
                f"gufunc accepts {self.nin} positional arguments (when providing input only) or "
                f"{self.nin + self.nout} positional arguments (when providing input and output). "
                f"Got {len(args)} positional argument{plural}."
            )
        outs = list(args[self.nin :])
        if outs and out is not None:
            raise ValueError("cannot specify argument 'out' as both positional and keyword")
        if out is not None:
            outs = list(out) if isinstance(out, tuple | list) else [out]
        args = args[: self.nin]
        on_device = any(_is_device(arg) for arg in args)
        arrays = [_there(arg, stream) for arg in args]
        loop = self._loop(arrays)
        arrays = [self._as(array, dtype, stream) for array, dtype in zip(arrays, loop.dtypes, strict=True)]
        plan = self.engine.schedule([array.shape for array in arrays])
        outputs = []
        for index, inner in enumerate(plan.oshapes):
            given, shape = outs[index] if outs else None, plan.loopdims + inner
            if given is not None and _is_device(given):
                given = _there(given, stream)
            if given is not None and np.shape(given) != shape and int(np.prod(np.shape(given))) != int(np.prod(shape)):
                raise ValueError(f"output {index} has shape {np.shape(given)}, expected {shape}")
            outputs.append(_Output(given, shape, loop.outputs[index], on_device, stream))
        if plan.loopn:
            self._launch(loop, plan, arrays, outputs, stream)
        results = [output.result() for output in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def _launch(self, loop: _Loop, plan: Any, arrays: Any, outputs: list[_Output], stream: Any) -> None:
        lead = plan.loopdims
        spread = [_spread(one, lead + inner) for one, inner in zip(arrays, plan.ishapes, strict=True)]
        targets = [output.array.reshape(lead + inner) for output, inner in zip(outputs, plan.oshapes, strict=True)]
        if len(lead) != 1:
            # One leading dimension serves all, where the items lie one behind the other.
            inners = [*plan.ishapes, *plan.oshapes]
            flat = [_one_lead(one, inner, plan.loopn) for one, inner in zip((*spread, *targets), inners, strict=True)]
            if all(one is not None for one in flat):
                spread, targets, lead = flat[: self.nin], flat[self.nin :], (plan.loopn,)
            elif len(lead) + max(map(len, inners)) > _MAX_RANK:
                raise ValueError(f"arrays of more than {_MAX_RANK} dimensions must lie in row-major order")
        kernel = self._kernel_of(loop, len(lead))
        kernel[_blocks(plan.loopn), _THREADS, stream](*spread, *targets, plan.loopn)

    def _as(self, array: DeviceNDArray, dtype: Any, stream: Any) -> DeviceNDArray:
        """Small arrays are passed as they are: those of another type are copied."""
        if array.dtype == dtype or array.ndim == 0:
            return array
        return _there(array.copy_to_host(stream=stream).astype(dtype), stream)

    def _loop(self, arrays: list[DeviceNDArray]) -> _Loop:
        dtypes = [array.dtype for array in arrays]
        if self.loops:
            return _choose(self.loops, dtypes, self.__name__)
        kinds = [_dtypes.from_dtype(dtype) for dtype in dtypes]
        return _Loop(kinds, [_dtypes.from_dtype(np.result_type(*dtypes))] * self.nout)


def _one_lead(array: DeviceNDArray, inner: tuple[int, ...], n: int) -> DeviceNDArray | None:
    """An array with one leading dimension instead of several; None where that needs a copy."""
    found = _memory.reshaped(array._memory, (n, *inner))
    return None if found is None else DeviceNDArray(found)


def _unknown(options: dict[str, Any]) -> str:
    return ", ".join(repr(name) for name in options if name not in _OPTIONS)


def _listed(signatures: Any) -> Any:
    is_one = isinstance(signatures, str) or _signatures.is_signature(signatures) and not isinstance(signatures, tuple)
    return (signatures,) if is_one else signatures


def vectorize(ftylist_or_function: Any = (), **kws: Any) -> Any:
    """Makes a function of scalars a function of arrays. Use as `@vectorize([float32(float32)], target="cuda")`.

    Without signatures the types of each call's arguments decide. `target` may be "cuda", "cpu" or "parallel": all run
    where launches run.
    """
    if _unknown(kws):
        raise KeyError(f"Unrecognized options. Got options: {_unknown(kws)}")
    if "nopython" in kws and kws.get("target") == "cuda":
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=2)
    signatures = ftylist_or_function
    if callable(signatures) and not isinstance(signatures, types.Type):
        return DUFunc(signatures, ())
    return lambda function: DUFunc(function, _listed(signatures))


def guvectorize(ftylist: Any, signature: str | None = None, **kws: Any) -> Any:
    """Makes a function of small arrays a function of arrays with leading dimensions. The outputs come last.

    Use as `@guvectorize([void(float32[:,:], float32[:,:], float32[:,:])], "(m,n),(n,p)->(m,p)", target="cuda")`.
    """
    if isinstance(ftylist, str) and signature is None:
        ftylist, signature = [], ftylist
    if signature is None:
        raise TypeError("guvectorize needs a layout such as `(m,n),(n)->(m)`")
    if kws.get("nopython", True) is not True:
        raise TypeError("nopython flag must be True")
    if _unknown(kws):
        raise TypeError(f"The following target options are not supported: {_unknown(kws)}")
    layout = signature
    return lambda function: GUFunc(function, _listed(ftylist), layout)


__all__ = ["DUFunc", "GUFunc", "GUFuncEngine", "guvectorize", "vectorize"]
