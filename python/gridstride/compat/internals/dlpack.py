"""`warp._src.dlpack`: arrays by DLPack."""

from __future__ import annotations

from typing import Any

from gridstride._dlpack import from_dlpack as _from_dlpack
from gridstride.compat.absent import attribute

__all__ = ["_from_dlpack"]


def __getattr__(name: str) -> Any:
    return attribute("dlpack", name)
