"""Settings, from the environment variables that Numba reads: `NUMBA_ENABLE_CUDASIM`, `NUMBA_CUDA_…`."""

from __future__ import annotations

import os
import re
import sys


def _flag(name: str, default: int) -> int:
    try:
        return int(os.environ.get(f"NUMBA_{name}", default))
    except ValueError:
        return default


def _ratio(name: str, default: float) -> float:
    try:
        return float(os.environ.get(f"NUMBA_{name}", default))
    except ValueError:
        return default


def _cc(text: str) -> tuple[int | str, ...] | None:
    """`"9.0a"` as (9, 0, "a"); None where no compute capability is named."""
    found = re.fullmatch(r"(\d+)\.(\d)([af]?)", text)
    return (int(found[1]), int(found[2]), *([found[3]] if found[3] else [])) if found else None


ENABLE_CUDASIM = _flag("ENABLE_CUDASIM", 0)
DISABLE_CUDA = _flag("DISABLE_CUDA", 0)
CUDA_LOW_OCCUPANCY_WARNINGS = _flag("CUDA_LOW_OCCUPANCY_WARNINGS", 1)
CUDA_WARN_ON_IMPLICIT_COPY = _flag("CUDA_WARN_ON_IMPLICIT_COPY", 1)
CUDA_ARRAY_INTERFACE_SYNC = _flag("CUDA_ARRAY_INTERFACE_SYNC", 1)
CUDA_DEBUGINFO_DEFAULT = _flag("CUDA_DEBUGINFO", 0)
CUDA_PER_THREAD_DEFAULT_STREAM = _flag("CUDA_PER_THREAD_DEFAULT_STREAM", 0)
CUDA_LOG_LEVEL = os.environ.get("NUMBA_CUDA_LOG_LEVEL", "")
CUDA_DEALLOCS_COUNT = _flag("CUDA_MAX_PENDING_DEALLOCS_COUNT", 10)
CUDA_DEALLOCS_RATIO = _ratio("CUDA_MAX_PENDING_DEALLOCS_RATIO", 0.2)
CUDA_MEMORY_MANAGER = os.environ.get("NUMBA_CUDA_MEMORY_MANAGER", "default")
FORCE_CUDA_CC = _cc(os.environ.get("NUMBA_FORCE_CUDA_CC", ""))
CUDA_NVRTC_EXTRA_SEARCH_PATHS = os.environ.get("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", "")
CUDA_ENABLE_NRT = CUDA_NRT_STATS = 0
CUDA_USE_NVIDIA_BINDING = 1
DEBUG_JIT = DISABLE_JIT = DEBUG_ARRAY_OPT = 0
DEVELOPER_MODE = 0
OPT = 3
CAPTURED_ERRORS = "new_style"
COLOR_SCHEME = "no_color"
CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR", "")
NUMBA_NUM_THREADS = NUMBA_DEFAULT_NUM_THREADS = os.cpu_count() or 1
PYVERSION = sys.version_info[:2]
MACHINE_BITS = 64
IS_WIN32 = IS_OSX = False
