"""The exceptions and warnings of Numba that programs catch."""

from __future__ import annotations

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


def of_fault(fault: _native.KernelFault, scope: Any = None) -> _native.KernelFault:
    """A failed check as the exception that Python has for such a mistake."""
    classes = {"bounds": IndexFault, "null": IndexFault, "component": IndexFault, "division": DivisionFault}
    kind = getattr(fault, "kind", "")
    found = classes.get(kind, AssertionFault if kind == "assert" else None)
    if found is AssertionFault:
        found = _raised(str(fault), scope)
    if found is None:
        return fault
    made = found(*fault.args)
    made.__dict__.update(fault.__dict__)
    return made
