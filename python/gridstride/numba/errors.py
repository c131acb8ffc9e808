"""The exceptions and warnings of Numba that programs catch."""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from gridstride import _native


class NumbaWarning(Warning):
    """Base of Numba's warnings."""


class NumbaPerformanceWarning(NumbaWarning):
    """A launch or a call that will be slow, and why."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Something that will go away."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Something that will be deprecated."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """Something that may change."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Options that do not go together."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Debug information that cannot be made."""


class NumbaError(Exception):
    """Base of Numba's errors."""


class NumbaTypeError(TypeError, NumbaError):
    """A value of a type that is not taken."""


class NumbaValueError(ValueError, NumbaError):
    """A value that is not taken."""


class NumbaNotImplementedError(NotImplementedError, NumbaError):
    """Something that is not supported."""


class NumbaRuntimeError(RuntimeError, NumbaError):
    """Something that failed while running."""


class DeprecationError(NumbaError):
    """Something that was removed."""


#: A kernel that cannot be compiled raises one error with all its mistakes, whatever phase found them.
CompileError = _native.CompileError
TypingError = LoweringError = UnsupportedError = UnsupportedBytecodeError = ConstantInferenceError = CompileError
CompilerError = IRError = CompileError
UnsupportedRewriteError = RequireLiteralValue = ForceLiteralArg = CompileError


class IndexFault(_native.KernelFault, IndexError):
    """An index out of range, in a kernel with `debug=True`."""


class DivisionFault(_native.KernelFault, ZeroDivisionError):
    """A division by zero, in a kernel with `debug=True`."""


class AssertionFault(_native.KernelFault, AssertionError):
    """An `assert` or `raise` that a kernel with `debug=True` came to."""


def _raised(report: str, scope: Any) -> type[_native.KernelFault]:
    """The class for an `assert`, or for what a `raise` names."""
    named = re.search(r"assertion failed: (\w+)(?:\(|$)", report, re.MULTILINE)
    base = (scope or {}).get(named[1], getattr(builtins, named[1], None)) if named else None
    if not (isinstance(base, type) and issubclass(base, Exception)) or base is AssertionError:
        return AssertionFault
    return type(f"{base.__name__}Fault", (_native.KernelFault, base), {})


def _message(report: str, scope: Any) -> str:
    """What a `raise` says: its constant arguments, names by their values."""
    named = re.search(r"assertion failed: (\w+\(.*\))$", report, re.MULTILINE)
    try:
        call = ast.parse(named[1], mode="eval").body if named else None
        args = call.args if isinstance(call, ast.Call) else []
        said = [(scope or {})[arg.id] if isinstance(arg, ast.Name) else ast.literal_eval(arg) for arg in args]
    except (SyntaxError, ValueError, KeyError):
        return ""
    return ": " + ", ".join(map(str, said)) if said else ""


def _numba_lines(fault: _native.KernelFault, kind: str, scope: Any) -> str:
    """What Numba says of a failed check, below our report: the thread and the block as it writes them."""
    report = str(fault)
    if kind == "division":
        # Here floats that are divided by zero are reported too.
        report = report.replace("integer division by zero", "division by zero")
    place = re.search(r"in thread \(([^)]*)\) of block \(([^)]*)\) of kernel `(\w+)`", report)
    where = re.search(r"--> (.*):(\d+):\d+", report)
    if place is None or where is None:
        return report
    said = {"component": ": tuple index out of range"}.get(kind) or _message(report, scope)
    function = f"In function {place[3]!r}, file {where[1]}, line {where[2]}"
    return f"{report}\n{function}\ntid=[{place[1]}] ctaid=[{place[2]}]{said}"


def of_fault(fault: _native.KernelFault, scope: Any = None) -> _native.KernelFault:
    """A failed check as the exception that Python has for such a mistake."""
    classes = {"bounds": IndexFault, "null": IndexFault, "component": IndexFault, "division": DivisionFault}
    kind = getattr(fault, "kind", "")
    found = classes.get(kind, AssertionFault if kind == "assert" else None)
    if found is AssertionFault:
        found = _raised(str(fault), scope)
    if found is None:
        return fault
    made = found(_numba_lines(fault, kind, scope), *fault.args[1:])
    made.__dict__.update(fault.__dict__)
    return made
