"""The part of `warp.fem` that other programs share: its sample struct. Everything else is absent."""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride.compat.absent import Absent

Coords = wp.vec3
NULL_ELEMENT_INDEX = NULL_QP_INDEX = wp.constant(-1)
NULL_DOF_INDEX = wp.constant(wp.vec2i(-1, -1))


@wp.struct
class Sample:
    """Where an integrand is evaluated: element, coordinates in it, quadrature point and its weight, unknowns."""

    element_index: int
    element_coords: wp.vec3
    qp_index: int = NULL_QP_INDEX
    qp_weight: float = 0.0
    test_dof: wp.vec2i = NULL_DOF_INDEX
    trial_dof: wp.vec2i = NULL_DOF_INDEX


def integrand(function: Any = None, **options: Any) -> Any:
    """Marks a function to integrate, which is not available: what it gives raises when it is used."""
    if function is None:
        return integrand
    return Absent(f"warp.fem.integrand {function.__name__}")


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return Absent(f"warp.fem.{name}")
