"""Signatures as users give them: `void(float32[:], int32)`, its text, or a tuple of argument types."""

from __future__ import annotations

from typing import Any

from gridstride.numba import types


def normalize(signature: Any) -> tuple[tuple[types.Type, ...], types.Type | None]:
    """Argument types and result type; None for a result that is not said. Raises `TypeError` for anything else."""
    if isinstance(signature, str):
        names = {name: value for name, value in vars(types).items() if not name.startswith("_")}
        signature = eval(signature, {"__builtins__": {}}, names)
    signature = _of_numba(signature)
    if isinstance(signature, types.Signature):
        return signature.args, signature.return_type
    if isinstance(signature, tuple):
        wrong = [one for one in signature if not isinstance(one, types.Type)]
        if wrong:
            raise TypeError(f"invalid type in signature: expected a type instance, got {wrong[0]!r}")
        return signature, None
    raise TypeError(f"invalid signature: {signature!r} (type: {type(signature)!r}) evaluates to {type(signature)!r}")


def is_signature(value: Any) -> bool:
    """Whether a value is a signature rather than a function or a list of signatures."""
    return isinstance(value, str | tuple | types.Signature) or _is_numba(value)


def _is_numba(value: Any) -> bool:
    return type(value).__module__ == "numba.core.typing.templates" and hasattr(value, "return_type")


def _of_numba(value: Any) -> Any:
    """A signature of Numba's own as one of ours; others as they are."""
    if _is_numba(value):
        return types.Signature(_ours(value.return_type), tuple(map(_ours, value.args)))
    return tuple(map(_ours, value)) if isinstance(value, tuple) else value


def _ours(ty: Any) -> Any:
    return getattr(ty, "__gs_numba__", ty)
