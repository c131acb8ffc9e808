"""`wp.map`: a function of scalars or vectors applied to every element of arrays.

    >>> a = wp.array([1.0, 4.0, 9.0], dtype=float)
    >>> wp.map(wp.sqrt, a).numpy()
    array([1., 2., 3.], dtype=float32)

In: a `@wp.func`, a builtin, a lambda or a plain function, and arrays (broadcast as NumPy does) and values. A kernel is
written for the function and its argument types, once, and launched.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from gridstride import _annotations, _array, _builtins, _create, _kernel, _launch, _mapped, _native, _source, _types

_kernels: dict[Any, Any] = {}
_results: dict[Any, list[Any]] = {}
_n_texts = 0


def map(  # noqa: A001 - Warp's name
    func: Any,
    *inputs: Any,
    out: Any = None,
    return_kernel: bool = False,
    block_dim: int | None = None,
    device: Any = None,
) -> Any:
    """Applies a function to every element of its arguments.

    Args:
        func: A `@wp.func`, a builtin such as `wp.sin`, a lambda, or a Python function written in the kernel language.
        inputs: Arrays, broadcast to a common shape, and values that every element gets.
        out: An array or several for the results; made when left out.
        return_kernel: Give the kernel instead of running it.
        block_dim: As for `wp.launch`.
        device: Where to run.

    Returns:
        The array of results, or a list of arrays where the function returns several values.

    Raises:
        TypeError: No function, a function without result or with other parameters, outputs that do not fit.
        ValueError: Shapes that cannot be broadcast, or no array among the arguments.
        CompileError: A function that does not take elements of these types.
    """
    device = _device_of(inputs) if device is None else device
    arrays = [_as_array(value, device) for value in inputs]
    shapes = [one.shape for one in arrays if one is not None]
    if not shapes:
        raise ValueError("map requires at least one warp.array input")
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"Shapes {' and '.join(str(one) for one in shapes)} are not broadcastable") from None
    function = _function(func)
    _check_count(function, len(inputs))
    args = [value if one is None else one for one, value in zip(arrays, inputs, strict=True)]
    # Of an argument: the type of an element; and the type of the array and how it is indexed, None for a value.
    native = tuple(
        (_value_type(value), None, "") if one is None else (one._type, _array_type(one, one.ndim), _index(one, shape))
        for one, value in zip(arrays, inputs, strict=True)
    )
    results = _results.get((function, native))
    if results is None:
        results = _results[(function, native)] = _result_types(function, native)
    wants = any(getattr(one, "requires_grad", False) for one in arrays)
    outputs = _outputs(out, shape, results, device, wants)
    wanted = tuple(_array_type(one, len(shape)) for one in outputs)
    key = (function, native, wanted)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels[key] = _write_kernel(function, native, wanted, len(shape))
    if return_kernel:
        return kernel
    _launch.launch(kernel, shape, args, outputs, device=device, block_dim=block_dim)
    return outputs[0] if len(outputs) == 1 else outputs


def _array_type(one: Any, rank: int) -> Any:
    return one.__gs_type__ if isinstance(one, _mapped.mapped_array) else _types.Type.array(one._type, rank)


def _check_count(function: Any, n: int) -> None:
    """Refuses a number of arguments that the function cannot take."""
    if isinstance(function, _builtins.Builtin):
        return
    counts = []
    for one in function.overloads:
        names = one.func.__code__.co_argcount
        if names - len(one.func.__defaults__ or ()) <= n <= names:
            return
        counts.append(names)
    expected = " or ".join(str(count) for count in sorted(set(counts)))
    raise TypeError(
        f"Number of input arguments ({n}) does not match expected number of function arguments ({expected})"
    )


def _device_of(inputs: Any) -> Any:
    """The device of the first array that is on a GPU; None for the default one."""
    for value in inputs:
        if _mapped.is_array(value) and value.device.is_cuda:
            return value.device
    return None


def _as_array(value: Any, device: Any) -> Any:
    if _mapped.is_array(value):
        return value
    return _array.array(value, copy=False, device=device) if isinstance(value, np.ndarray) and value.ndim else None


def _value_type(value: Any) -> Any:
    found = getattr(type(value), "__gs_type__", None)
    return found if isinstance(found, _types.Type) else _types.dtype_class(type(value)).__gs_type__


def _index(one: Any, shape: tuple[int, ...]) -> str:
    """How a kernel over `shape` indexes an array: dimensions that it lacks are left out, and extents of 1 repeat."""
    lead = len(shape) - one.ndim
    ids = [
        "0" if extent == 1 and wanted != 1 else f"i{d}"
        for d, (extent, wanted) in enumerate(zip(one.shape, shape[lead:], strict=True), lead)
    ]
    return f"[{', '.join(ids)}]"


def _outputs(out: Any, shape: tuple[int, ...], results: list[Any], device: Any, requires_grad: bool) -> list[Any]:
    if out is None:
        return [_create.empty(shape, _types.class_of(ty), device, requires_grad) for ty in results]
    outputs = list(out) if isinstance(out, (list, tuple)) else [out]
    classes = [_types.class_of(ty).__name__ for ty in results]
    if isinstance(out, (list, tuple)) and len(outputs) != len(results):
        raise TypeError(
            f"Number of provided output arrays ({len(outputs)}) does not match expected number of function outputs "
            f"({len(results)})"
        )
    if len(outputs) != len(results):
        raise TypeError(
            f"Invalid output provided, expected {len(results)} Warp arrays with shape {tuple(shape)} "
            f"and dtypes ({', '.join(classes)})"
        )
    for n, (one, ty, name) in enumerate(zip(outputs, results, classes, strict=True)):
        number = f" {n}" if len(outputs) > 1 else ""
        if not _mapped.is_array(one):
            raise TypeError(f"Output{number} must be an array, not {_types.describe(type(one))}")
        if tuple(one.shape) != tuple(shape):
            raise TypeError(f"Output array{number} shape {one.shape} does not match expected shape {tuple(shape)}")
        if one._type != ty:
            raise TypeError(f"Output array{number} dtype {one.dtype.__name__} does not match expected dtype {name}")
    return outputs


def _result_types(function: Any, native: tuple[Any, ...]) -> list[Any]:
    """Types of the function's results, by running it once on zeros."""
    zeros = []
    for ty, _, _ in native:
        cls = _types.class_of(ty)
        zeros.append(cls() if ty.kind == "scalar" else cls.from_bytes(bytes(ty.size)))
    target = function.__gs_builtin__ if isinstance(function, _builtins.Builtin) else function
    try:
        found = _native.call(target, zeros)
    except _native.CompileError as error:
        if error.diagnostics[0][0] != "no-overload" or isinstance(function, _builtins.Builtin):
            raise
        names = ", ".join(_types.class_of(ty).__name__ for ty, _, _ in native)
        name = getattr(function, "key", function.__name__)
        text = f"Function {name} does not support the provided argument types {names}"
        raise TypeError(text) from error
    if found is None or found[0].kind == "tuple" and not found[0].fields:
        raise TypeError("The provided function must return a value")
    ty = found[0]
    return [item for _, item, _ in ty.fields] if ty.kind == "tuple" else [ty]


def _write_kernel(function: Any, native: tuple[Any, ...], results: tuple[Any, ...], rank: int) -> Any:
    ids = ", ".join(f"i{d}" for d in range(rank))
    params = [f"a{n}" for n in range(len(native))]
    outs = [f"out{n}" for n in range(len(results))]
    args = ", ".join(f"{name}{index}" for name, (_, _, index) in zip(params, native, strict=True))
    lines = [
        f"def map_{function.__name__.strip('<>')}({', '.join(params + outs)}):",
        f"    {ids} = tid()",
        f"    {', '.join(f'r{n}' for n in range(len(results)))} = function({args})",
        *[f"    {name}[{ids}] = r{n}" for n, name in enumerate(outs)],
    ]
    annotations = {name: array or ty for name, (ty, array, _) in zip(params, native, strict=True)}
    annotations.update(zip(outs, results, strict=True))
    made = define(lines, {"function": function, "tid": _builtins.table["tid"]})
    return _kernel.Kernel(made, None, "unique", None, annotations)


def with_functions(function: Any, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """A function that knows the functions among the arguments, and the other arguments."""
    is_known = [isinstance(one, (_kernel.Function, _builtins.Builtin)) for one in args]
    known = {f"a{n}": one for n, one in enumerate(args) if is_known[n]}
    key = (function, tuple(known.items()))
    params = [f"a{n}" for n in range(len(args))]
    if key not in _functions:
        given = ", ".join(name for name in params if name not in known)
        lines = [f"def called({given}):", f"    return function({', '.join(params)})"]
        _functions[key] = _kernel.Function(define(lines, {"function": function, **known}), {}, [])
    return _functions[key], [one for one, known in zip(args, is_known, strict=True) if not known]


def define(lines: list[str], names: dict[str, Any], title: str = "map") -> Callable[..., Any]:
    """The function that source text defines, its text known to tracebacks and to the compiler."""
    global _n_texts
    _n_texts += 1
    filename = f"<gridstride {title} {_n_texts}>"
    text = "\n".join(lines) + "\n"
    _source.register(filename, text)
    scope = dict(names, __name__="gridstride._map")
    exec(compile(text, filename, "exec"), scope)
    return scope[text.split("(", 1)[0].removeprefix("def ")]


_functions: dict[Any, Any] = {}


def _function(func: Any) -> Any:
    """What a kernel can call for `func`."""
    if isinstance(func, (_kernel.Function, _builtins.Builtin)):
        return func
    if not inspect.isfunction(func):
        raise TypeError(f"map needs a function, got {_types.describe(type(func))}")
    # Lambdas are made anew at every call: one text and the same captured values give the same kernel.
    captured = _annotations.closure_of(func)
    try:
        key: Any = (_words(func.__code__), tuple(sorted(captured.items())), id(func.__globals__), func.__defaults__)
        hash(key)
    except TypeError:
        key = func
    found = _functions.get(key)
    if found is None:
        found = _functions[key] = _kernel.Function(
            _from_lambda(func, captured) if func.__name__ == "<lambda>" else func, {}, []
        )
    return found


def _words(code: CodeType) -> tuple[Any, ...]:
    """What a function's code says, wherever it stands."""
    constants = tuple(_words(one) if isinstance(one, CodeType) else (type(one), repr(one)) for one in code.co_consts)
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_name)


def create_warp_function(func: Callable[..., Any]) -> tuple[Any, Any]:
    """A Python function or lambda as a function that kernels call, and its module.

    The key of a lambda's function follows from its text and what it captures. Raises as `map` does.
    """
    made = _function(func)
    if not hasattr(made, "key"):
        import hashlib

        body = inspect.getsource(made.func)
        captured = sorted((name, repr(value)) for name, value in _annotations.closure_of(func).items())
        made.key = f"func_{hashlib.sha256(repr((body, captured)).encode()).hexdigest()[:16]}"
        made.module = _kernel.get_module(func.__module__)
    return made, made.module


def _from_lambda(func: Callable[..., Any], captured: dict[str, Any]) -> Callable[..., Any]:
    """A `def` with the body of a lambda, since the compiler looks for one by its line."""
    code = func.__code__
    text = _source.text(func)
    if text is None:
        raise RuntimeError("the source of the lambda is not known: use a @wp.func")
    names = list(code.co_varnames[: code.co_argcount])
    found = [
        node
        for node in ast.walk(_parse(text))
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and [arg.arg for arg in node.args.args] == names
    ]
    # Several lambdas of one line and parameter list: the one whose body compiles to the same code.
    same = [node for node in found if _compiled(node) == code.co_code] or found
    if len({ast.unparse(node) for node in same}) != 1:
        raise RuntimeError("cannot tell the lambdas of this line apart: write them on lines of their own")
    body = ast.unparse(same[0].body)
    return define([f"def lambda_({', '.join(names)}):", f"    return {body}"], {**func.__globals__, **captured})


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise RuntimeError(f"the source of the lambda cannot be read: {error}") from None


def _compiled(node: ast.Lambda) -> bytes | None:
    module = compile(ast.Expression(node), "<lambda>", "eval")
    codes = [const for const in module.co_consts if inspect.iscode(const)]
    return codes[0].co_code if codes else None
