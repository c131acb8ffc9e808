"""One kernel for each expression, types of its operands, and way in which they lie.

In: a `Body`, what is computed for one element, in the words of `numba.cuda` kernels; arrays and numbers; arrays for the
results. Arrays without gaps are walked as if of one dimension; others along as few dimensions as they allow, broadcast
ones with steps of 0. Nothing is copied to be read.

    >>> run(Body("scale", ["x0 * x1"], (f4, f4), (f4,)), (a, 2.0), (out,))  # doctest: +SKIP
    def scale_core(x0, x1): return t_out0(x0 * x1)
    def scale(x0, x1, out0): i0 = tid();  out0[i0] = scale_core(x0[i0], x1)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridstride import _native, _source, config
from gridstride._builtins import Builtin
from gridstride.cupy import _array, _layout, _memory
from gridstride.numba import _dtypes
from gridstride.numba.cuda import _arguments, _devices, _generated
from gridstride.numba.cuda.dispatcher import Dispatcher

# Threads of one launch: `tid()` counts in 32 bits.
_MOST = 1 << 30
_MAX_RANK = 4
_numbers = itertools.count()
_NAMES = {"tid": Builtin("tid")}
BOOL = np.dtype(bool)

# How an operand is read: an array element by element, one element for a whole row, an array of one element, a number
# that is passed by value.
EACH, ROW, ONE, VALUE = "each", "row", "one", "value"


class Body:
    """What is computed for one element.

    `results` are expressions over x0, x1 …, which have the types `inputs`; `lines` come before them. `names` are what
    the text may use besides the kernel language's names: device functions, types. An `indexed` body may use `i`, the
    number of the element; its arrays have no gaps.
    """

    def __init__(
        self,
        name: str,
        results: Sequence[str],
        inputs: Sequence[np.dtype[Any]],
        outputs: Sequence[np.dtype[Any]],
        lines: Sequence[str] = (),
        names: dict[str, Any] | None = None,
        indexed: bool = False,
    ) -> None:
        self.name = name
        self.results, self.lines, self.names = tuple(results), tuple(lines), names or {}
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.indexed = indexed
        self.kernels: dict[Any, _native.Kernel] = {}


def scope() -> dict[str, Any]:
    """Names that texts of elements' functions may use: NumPy, math, types by their dtypes' names."""
    import cmath

    kinds = {f"t_{dtype.name}": _dtypes.from_dtype(dtype) for dtype in _memory._ELEMS}
    return {"np": np, "math": math, "cmath": cmath, **kinds}


def converted(text: str, given: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """An expression of one dtype as one of another, as NumPy casts."""
    if given == wanted:
        return text
    if given.kind == "c" and wanted.kind == "b":
        return f"(({text}).real != 0 or ({text}).imag != 0)"
    if given.kind == "c" and wanted.kind != "c":
        text = f"({text}).real"
    return f"t_{wanted.name}({text})"


def device_function(name: str, text: str, names: dict[str, Any]) -> Dispatcher:
    """A function that kernels call, from its text in the words of `numba.cuda`."""
    return Dispatcher(_generated.function(name, text, {**scope(), **names}), {"device": True})


def kernel(name: str, text: str, names: dict[str, Any], types: dict[str, _native.Type]) -> _native.Kernel:
    """A kernel over the threads of a launch, from its text: `tid()` and calls of device functions."""
    file = f"<gridstride.cupy {name} {next(_numbers)}>"
    _source.register(file, text)
    found: dict[str, Any] = {**_NAMES, **names}
    exec(compile(text, file, "exec"), found)
    return _native.Kernel(found[name], name, types)


_options: dict[str, Any] = {}
_stamp = -1


def options() -> dict[str, Any]:
    """What these kernels are compiled with: they need no checks of bounds."""
    global _options, _stamp
    stamp = config.__dict__["_changes"]
    if stamp != _stamp:
        _options = {"checked": False, "check_finite": False, "fast_math": False, "cache_dir": config.cache_dir()}
        _stamp = stamp
    return _options


def launch(found: _native.Kernel, dim: Any, args: Sequence[Any]) -> None:
    """Runs a kernel on the device that launches run on."""
    device = _devices._launch_device or _devices.launch_device()
    _native.launch(found, dim, args, None, device, False, options())


def launch_blocks(found: Dispatcher, grid: Any, threads: int, args: Sequence[Any]) -> None:
    """Runs a kernel over thread blocks on the device that launches run on."""
    device = _devices._launch_device or _devices.launch_device()
    (made,) = found._make_kernels()
    _native.launch_blocks(made, grid, threads, args, 0, device, found._compile_options())


def number(value: Any, dtype: np.dtype[Any]) -> Any:
    """A host's number as a kernel's argument. Raises `OverflowError` for an int that the dtype does not hold."""
    if dtype.kind == "c":
        exact = dtype.type(value)
        return _arguments._value(_memory.elem(dtype), exact.tobytes())
    return dtype.type(value).item()


def _kernel(
    body: Body, reads: tuple[tuple[str, np.dtype[Any]], ...], stored: tuple[np.dtype[Any], ...], rank: int, masked: bool
) -> _native.Kernel:
    key = reads, stored, rank, masked
    found = body.kernels.get(key)
    if found is None:
        found = body.kernels[key] = _make_kernel(body, reads, stored, rank, masked)
    return found


def _make_kernel(body: Body, reads: Any, stored: Any, rank: int, masked: bool) -> _native.Kernel:
    names = [f"x{k}" for k in range(len(reads))]
    index_names = ["i"] if body.indexed else []
    lines = [f"def {body.name}_core({', '.join([*names, *index_names])}):"]
    for name, (_, dtype), wanted in zip(names, reads, body.inputs, strict=True):
        if dtype != wanted:
            lines.append(f"    {name} = {converted(name, dtype, wanted)}")
    lines += [f"    {line}" for line in body.lines]
    results = []
    for text, dtype, wanted in zip(body.results, body.outputs, stored, strict=True):
        # The expression's own type may be wider than the dtype that it is meant to have.
        results.append(converted(f"t_{dtype.name}({text})", dtype, wanted))
    lines.append(f"    return {', '.join(results)}")
    core = device_function(f"{body.name}_core", "\n".join(lines) + "\n", body.names)

    index = ", ".join(f"i{k}" for k in range(rank))
    outs = [f"out{k}" for k in range(len(stored))]
    each = {EACH: "[" + index + "]", ONE: "[" + ", ".join("0" * rank) + "]", VALUE: ""}
    each[ROW] = "[" + index.rpartition(", ")[0] + "]"
    passed = [name + each[how] for name, (how, _) in zip(names, reads, strict=True)]
    call = f"core({', '.join([*passed, *(['i0'] if body.indexed else [])])})"
    text = [
        f"def cupy_{body.name}({', '.join([*names, *outs, *(['mask'] if masked else [])])}):",
        f"    {index} = tid()",
    ]
    indent = "    "
    if masked:
        text.append(f"    if mask[{index}]:")
        indent = "        "
    if len(outs) == 1:
        text.append(f"{indent}out0[{index}] = {call}")
    else:
        text.append(f"{indent}{', '.join(f'r{k}' for k in range(len(outs)))} = {call}")
        text += [f"{indent}{out}[{index}] = r{k}" for k, out in enumerate(outs)]
    types = {}
    for name, (how, dtype) in zip(names, reads, strict=True):
        ty = _memory.elem(dtype)
        types[name] = ty if how == VALUE else _native.Type.array(ty, rank - 1 if how == ROW else rank)
    types |= {out: _native.Type.array(_memory.elem(dtype), rank) for out, dtype in zip(outs, stored, strict=True)}
    if masked:
        types["mask"] = _native.Type.array(_memory.elem(BOOL), rank)
    return kernel(f"cupy_{body.name}", "\n".join(text) + "\n", {"core": core}, types)


def flat(array: Any) -> Any:
    """An array without gaps as a kernel's array of one dimension."""
    shape = array._shape
    if len(shape) == 1:
        return array
    size = array._dtype.itemsize
    return _native.Array(_memory.elem(array._dtype), array.ptr, (math.prod(shape),), (size,), array._place, array)


def run(body: Body, operands: Sequence[Any], outputs: Sequence[Any], where: Any = None) -> None:
    """Computes a body for every element of `outputs`, which have one shape that all operands stretch to.

    Operands are arrays, or numbers that are already of the body's types. `where` is an array of bools or None.
    """
    shape = outputs[0]._shape
    if 0 in shape:
        return
    ndarray = _array.ndarray
    arrays = [one for one in operands if isinstance(one, ndarray)]
    walked = [*outputs, *arrays] if where is None else [*outputs, *arrays, where]
    n = math.prod(shape)
    if n <= _MOST and _is_flat(walked, shape):
        reads, args = [], []
        for value, dtype in zip(operands, body.inputs, strict=True):
            if isinstance(value, _array.ndarray):
                reads.append((EACH if value._shape == shape else ONE, value._dtype))
                args.append(flat(value))
            else:
                reads.append((VALUE, dtype))
                args.append(value)
        masked = where is not None and where._shape == shape
        if where is not None and not masked and not where:
            return
        args += [flat(one) for one in outputs]
        if masked:
            args.append(flat(where))
        found = _kernel(body, tuple(reads), tuple(one._dtype for one in outputs), 1, masked)
        launch(found, n, args)
        return
    strides = [_layout.spread(one._shape, one.strides, shape) for one in walked]
    extents, steps = _layout.long_rows(*_layout.collapse(shape, strides))
    _walk(body, operands, len(outputs), walked, where is not None, extents, steps, [one.ptr for one in walked])


def _is_flat(arrays: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether arrays can be walked as if of one dimension: without gaps, or of one element."""
    for one in arrays:  # noqa: SIM110  # a generator would take as long as the launch
        if one._strides is not None or one._shape != shape and math.prod(one._shape) != 1:
            return False
    return True


def _walk(
    body: Body,
    operands: Sequence[Any],
    n_outputs: int,
    walked: Sequence[Any],
    masked: bool,
    extents: tuple[int, ...],
    steps: list[tuple[int, ...]],
    starts: list[int],
) -> None:
    """Runs a body over arrays that lie in different ways, in parts where there are too many dimensions or threads."""
    if len(extents) > _MAX_RANK:
        for index in range(extents[0]):
            moved = [start + index * step[0] for start, step in zip(starts, steps, strict=True)]
            _walk(body, operands, n_outputs, walked, masked, extents[1:], [step[1:] for step in steps], moved)
        return
    if math.prod(extents) > _MOST:
        rows = max(1, _MOST // math.prod(extents[1:]))
        if rows < extents[0]:
            for first in range(0, extents[0], rows):
                moved = [start + first * step[0] for start, step in zip(starts, steps, strict=True)]
                part = (min(rows, extents[0] - first), *extents[1:])
                _walk(body, operands, n_outputs, walked, masked, part, steps, moved)
            return
    # What is the same along a row is read once for all lanes.
    rows = [len(extents) > 1 and step[-1] == 0 and k >= n_outputs for k, step in enumerate(steps)]
    if masked:
        rows[-1] = False
    made = []
    for one, start, step, row in zip(walked, starts, steps, rows, strict=True):
        shape, strides = (extents[:-1], step[:-1]) if row else (extents, step)
        made.append(_native.Array(_memory.elem(one._dtype), start, shape, strides, one._place, one))
    outs, inputs = made[:n_outputs], zip(made[n_outputs:], rows[n_outputs:], strict=True)
    reads, args = [], []
    for value, dtype in zip(operands, body.inputs, strict=True):
        if isinstance(value, _array.ndarray):
            argument, row = next(inputs)
            reads.append((ROW if row else EACH, value._dtype))
            args.append(argument)
        else:
            reads.append((VALUE, dtype))
            args.append(value)
    args += outs + ([made[-1]] if masked else [])
    stored = tuple(one._dtype for one in walked[:n_outputs])
    launch(_kernel(body, tuple(reads), stored, len(extents), masked), extents, args)
