"""`warp._src.build`: where compiled kernels are kept.

Warp's programs choose the folder by `WARP_CACHE_PATH`, or call `init_kernel_cache`. Kernels lie in a folder of the
version in it.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

from gridstride import config
from gridstride._runtime import clear_kernel_cache as clear_kernel_cache
from gridstride.compat.absent import attribute
from gridstride.compat.internals import logger

# The folder that `init_kernel_cache` chose last: given again, it is not a base of another.
_resolved_kernel_cache_dir: str | None = None


def init_kernel_cache(path: Any = None) -> None:
    """Keeps compiled kernels in a folder of the version in `path`, or `$WARP_CACHE_PATH`, or the user's cache folder.

    Warns where the folder holds kernels of a Warp that had no folder for each version: nothing uses them.
    """
    global _resolved_kernel_cache_dir
    given = path or os.environ.get("WARP_CACHE_PATH") or pathlib.Path.home() / ".cache" / "warp"
    base = os.path.realpath(given)
    if base == _resolved_kernel_cache_dir:
        folder = base
    else:
        folder = os.path.join(base, config.version)
        if os.path.isdir(base) and any(name.startswith("wp_") for name in os.listdir(base)):
            logger.log_warning(f"{base} holds kernels of a previous Warp version, which nothing uses: remove them")
    os.makedirs(folder, exist_ok=True)
    config.kernel_cache_dir = _resolved_kernel_cache_dir = folder


def __getattr__(name: str) -> Any:
    return attribute("build", name)
