"""`warp._src.deterministic`: the modes by the names that Warp's private module gives them."""

from __future__ import annotations

from typing import Any

from gridstride.compat.absent import attribute
from gridstride.config import DeterministicMode

DETERMINISTIC_NOT_GUARANTEED = DeterministicMode.NOT_GUARANTEED
DETERMINISTIC_RUN_TO_RUN = DeterministicMode.RUN_TO_RUN
DETERMINISTIC_GPU_TO_GPU = DeterministicMode.GPU_TO_GPU


def __getattr__(name: str) -> Any:
    return attribute("deterministic", name)
