"""The texts of compiled code: which options the compiler gets for them, and for whom they are.

In: a dispatcher, argument types, a stage of the compiler. Out: text. On a GPU it is that of its architecture.
"""

from __future__ import annotations

from typing import Any

from gridstride import _native
from gridstride.numba import _dtypes, config
from gridstride.numba.cuda import _signatures
from gridstride.numba.cuda._devices import gpu


def tuning(options: dict[str, Any]) -> dict[str, Any]:
    """What `@cuda.jit` asks of code for a GPU, as the compiler's options: bounds, lines, no optimization."""
    has_lines = options.get("debug") or options.get("lineinfo")
    return {
        "max_registers": options.get("max_registers"),
        "launch_bounds": options.get("launch_bounds"),
        "lines": "directives" if has_lines else None,
        "unoptimized": options.get("opt") is False,
    }


def arch(cc: Any = None) -> str | None:
    """An architecture's number and variant: (9, 0, "a") is "90a".

    Where none is given it is that of `NUMBA_FORCE_CUDA_CC`, or of the GPU in use.
    """
    cc = config.FORCE_CUDA_CC if cc is None else cc
    if cc is not None:
        return f"{cc[0] * 10 + cc[1]}{''.join(cc[2:])}"
    ordinal = gpu()
    return None if ordinal is None else str(_native.cuda_properties(ordinal)["arch"])


def options_of(dispatcher: Any, cc: Any = None) -> dict[str, Any]:
    """The options of a dispatcher's texts. With `debug=True` they say all that a debugger reads."""
    options = {**dispatcher._compile_options(), "arch": arch(cc)}
    if dispatcher.targetoptions.get("debug"):
        options["lines"] = "full"
    return options


def text(dispatcher: Any, kernel: Any, arguments: Any, stage: str, cc: Any = None) -> str:
    """A kernel's text at a stage."""
    compiled = [_dtypes.argument(ty) for ty in arguments]
    options = options_of(dispatcher, cc)
    if stage == "ptx-function":
        # It has nobody to report to.
        options["checked"] = False
    return str(_native.ir(kernel, compiled, options, stage))


def of_function(dispatcher: Any, what: str, signature: Any) -> Any:
    """PTX of a device function, for a signature or by those that it was declared with."""
    from gridstride.numba.cuda import _compile

    if what != "asm" or gpu() is None or (signature is None and not dispatcher._signatures):
        raise RuntimeError("a device function is compiled with the kernels that call it")
    options = {**dispatcher.targetoptions, "device": True, "abi": "numba"}
    wanted = [_signatures.normalize(tuple(signature))] if signature is not None else dispatcher._signatures
    texts = {args: _compile.function_text(dispatcher, args, result, options)[0] for args, result in wanted}
    return texts if signature is None else next(iter(texts.values()))


def stage(what: str) -> str:
    """The compiler's stage of "llvm" or "asm" where kernels run."""
    if gpu() is None:
        return {"llvm": "llvm", "asm": "assembly"}[what]
    return {"llvm": "llvm-cuda", "asm": "ptx"}[what]
