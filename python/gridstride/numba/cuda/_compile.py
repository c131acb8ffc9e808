"""Compiling without a launch: `cuda.compile` gives the PTX of a device function, `cuda.compile_ptx` that of a kernel.

A device function takes and gives numbers, and takes pointers, as C passes them or as Numba does, for other compilers'
code to call. A kernel's entry takes its arguments as Gridstride's launches pass them, one block of bytes: that text is
for reading.
"""

from __future__ import annotations

import keyword
import re
from typing import Any

from gridstride.numba import _dtypes, types
from gridstride.numba.cuda import _generated, _signatures
from gridstride.numba.cuda.dispatcher import Dispatcher, bounds
from gridstride.numba.errors import CompileError


def compile(
    pyfunc: Any,
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: Any = None,
    opt: Any = None,
    abi: str = "c",
    abi_info: Any = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: Any = None,
) -> tuple[str, types.Type]:
    """PTX for a signature, and the result type.

    Args:
        pyfunc, sig: The function and its argument types; a signature without a result leaves that to the function.
        device: Whether it is a device function, else a kernel.
        abi: How a device function is called: "c", or "numba", which returns 0 and puts the result to the address that
            is passed first.
        abi_info: `{"abi_name": name}`, the name in the text; the function's own otherwise.
        cc: The compute capability, with a variant for code of that alone, (9, 0) or (9, 0, "a"); unless it is given
            that of the GPU in use, or 9.0.
        debug, lineinfo: Whether the text has debug information, or lines alone.
        fastmath, opt, launch_bounds: As for `@cuda.jit`.

    Raises:
        NotImplementedError: Another ABI; `ltoir` as output.
        ValueError: More than three launch bounds; `forceinline` in PTX, which has no place for it.
        TypeError: A kernel that returns a value.
        CompileError: Code that does not compile for the signature.
    """
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi}")
    if abi == "c" and not device:
        raise NotImplementedError("The C ABI is not supported for kernels")
    if output not in ("ptx", "ltoir"):
        raise NotImplementedError(f"Unsupported output type: {output}")
    if forceinline and output != "ltoir":
        raise ValueError("Can only designate forced inlining in LTO-IR")
    options: dict[str, Any] = {"debug": debug, "lineinfo": lineinfo, "opt": opt, "fastmath": fastmath}
    options["launch_bounds"] = bounds(launch_bounds)
    if output == "ltoir":
        raise NotImplementedError("LTO-IR is made by NVIDIA's compiler alone: output='ptx' gives a kernel's PTX")
    arguments, result = _signatures.normalize(sig)
    if device:
        name = (abi_info or {}).get("abi_name")
        return function_text(pyfunc, arguments, result, {**options, "abi": abi, "name": name, "cc": cc})
    if result is not None and result != types.none:
        raise TypeError("CUDA kernel must have void return type.")
    made = pyfunc if isinstance(pyfunc, Dispatcher) else Dispatcher(pyfunc, options)
    try:
        return str(made._text(arguments, "ptx", cc)), types.none
    except CompileError as error:
        if "error[kernel-return]" in str(error):
            raise TypeError(f"CUDA kernel must have void return type.\n{error}") from None
        raise


def function_text(function: Any, arguments: Any, result: Any, options: dict[str, Any]) -> tuple[str, types.Type]:
    """PTX of a device function, and its result type. Options: those of `@cuda.jit`, `abi`, `name` and `cc`."""
    core = function if isinstance(function, Dispatcher) else Dispatcher(function, {"device": True})
    name = options.get("name") or _name_of(core.__name__)
    args = [f"a{index}" for index in range(len(arguments))]
    call = f"core({', '.join(args)})"
    if result is None:
        result = _result(core, arguments, args, call)
    if result == types.none:
        params, body, kinds = args, call, arguments
    else:
        returned = "returned" if options["abi"] == "c" else "returned_to"
        params, body, kinds = [returned, *args], f"{returned}[0] = {call}", (types.Array(result, 1, "C"), *arguments)
    text = f"def {name}({', '.join(params)}):\n    {body}\n"
    kept = {key: options.get(key) for key in ("debug", "lineinfo", "opt", "fastmath")}
    made = Dispatcher(_generated.function(name, text, {"core": core}), kept)
    return str(made._text(kinds, "ptx-function", options.get("cc"))), result


def _name_of(name: str) -> str:
    """A function's name, or one in its place that Python takes for a name: that of a lambda."""
    plain = name.strip("<>")
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def _result(core: Dispatcher, arguments: Any, args: list[str], call: str) -> types.Type:
    """The type of what a function returns for arguments: what its typed form says."""
    probe = _generated.function("probe", f"def probe({', '.join(args)}):\n    {call}\n", {"core": core})
    text = Dispatcher(probe, {})._text(arguments, "typed")
    found = re.search(rf"func @{re.escape(core.__name__)}\(.*?\)(?: -> (.*?))? \{{", text)
    if found is None or found[1] is None:
        return types.none
    known = {short: long for long, short in _dtypes._SCALARS.items()}
    if found[1] not in known:
        raise NotImplementedError(f"a device function for other compilers returns a number, not {found[1]}")
    return next(one for one in types.NUMBERS if one.name == known[found[1]])


def compile_ptx(pyfunc: Any, sig: Any, device: bool = False, abi: str = "numba", **options: Any) -> Any:
    """As `compile`, for a kernel."""
    return compile(pyfunc, sig, device=device, abi=abi, **options)


def compile_all(pyfunc: Any, sig: Any, **options: Any) -> tuple[list[str], types.Type]:
    """As `compile`; the code as a list, of which linked files would be the rest."""
    code, result = compile(pyfunc, sig, **options)
    return [code], result


compile_for_current_device = compile
compile_ptx_for_current_device = compile_ptx
