"""`warp._src.utils`: what `gridstride.utils` has, and questions about the machine."""

from __future__ import annotations

from typing import Any

from gridstride.compat.absent import attribute
from gridstride.utils import *  # noqa: F403


def check_p2p() -> bool:
    """Whether GPUs can reach each other's memory: there is no second one to ask."""
    return False


def __getattr__(name: str) -> Any:
    return attribute("utils", name)
