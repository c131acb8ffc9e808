"""What optimizers ask of parameters and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridstride import _create, _types
from gridstride._array import array


def scalar_of(parameter: array, optimizer: str) -> Any:
    """The float type of an array's numbers. Raises `RuntimeError` for others."""
    scalar = getattr(parameter.dtype, "_wp_scalar_type_", parameter.dtype)
    if not (isinstance(scalar, type) and issubclass(scalar, _types.float_base)):
        raise RuntimeError(f"Unsupported dtype for Warp {optimizer} optimizer: {parameter.dtype.__name__}")
    return scalar


def state_type(scalar: Any) -> Any:
    """In which type sums of such numbers are kept."""
    return _types.float32 if scalar in (_types.float16, _types.bfloat16) else scalar


def numbers(one: array, optimizer: str) -> array:
    """An array's numbers as an array of one dimension over the same memory. Raises `RuntimeError` for one with gaps."""
    if not one.is_contiguous:
        if one.ndim == 1 and one._type.kind == "scalar":
            return one
        raise RuntimeError(f"{optimizer} takes contiguous arrays: call contiguous() on {one!r} first")
    scalar = getattr(one.dtype, "_wp_scalar_type_", one.dtype)
    return one.flatten() if one._type.kind == "scalar" else one.view(scalar).flatten()


def state_like(known: Any, parameter: array, dtype: Any) -> array:
    """The state that is known, if it fits the parameter, else a new one of zeros."""
    if known is not None and known.dtype is dtype and known.shape == parameter.shape:
        return known.to(parameter.device)
    return _create.zeros(parameter.shape, dtype, parameter.device)


def check_gradient(gradient: array, parameter: array, optimizer: str) -> None:
    """Raises `TypeError` or `ValueError` for a gradient that does not fit."""
    if gradient._type != parameter._type:
        raise TypeError(
            f"{optimizer} gradient dtype must match parameter dtype {parameter.dtype.__name__}, "
            f"got {gradient.dtype.__name__}"
        )
    if gradient.shape != parameter.shape:
        raise ValueError(
            f"{optimizer} gradient shape must match parameter shape {parameter.shape}, got {gradient.shape}"
        )


def gradients_of(gradients: Sequence[array] | None, parameters: Sequence[array] | None, optimizer: str) -> list[array]:
    """The gradients given, or the parameters' own. Raises `RuntimeError` without parameters or gradients."""
    if parameters is None:
        raise RuntimeError(f"{optimizer} parameters must be set before calling step(), got None")
    found = [one.grad for one in parameters] if gradients is None else list(gradients)
    if len(found) != len(parameters) or any(one is None for one in found):
        raise RuntimeError(f"{optimizer} needs a gradient for each of its {len(parameters)} parameters")
    return found  # type: ignore[return-value]
