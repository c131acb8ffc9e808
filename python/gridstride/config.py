"""Settings of the whole program: `wp.config.mode = "debug"`.

Every name that Warp's `config` has is here. Those that mean something on the CPU take effect at the next launch; the
others are kept so that programs run unchanged. Setting a name that does not exist warns once.
"""

from __future__ import annotations

import enum
import os
import sys
import types as pytypes
import warnings
from typing import Any

from gridstride import _native


class DeterministicMode(enum.IntEnum):
    """Whether atomic operations on floats give the same bits in every run.

    `SUMS`, which Warp has not: sums that all threads of a launch add to do, other places that several add to do not.
    """

    NOT_GUARANTEED = 0
    RUN_TO_RUN = 1
    GPU_TO_GPU = 2
    SUMS = 3


class LaunchArrayAccessMode(enum.IntEnum):
    """What a launch refuses: arrays out of its device's reach (CHECKED), or of any other device (STRICT)."""

    RELAXED = 0
    CHECKED = 1
    STRICT = 2


version: str = "1.19.0"
"""The Warp version whose API this package follows."""

mode: str = "release"
"""`"release"`, or `"debug"`: array bounds, integer division, null arrays and `assert` are checked."""
checked: bool = False
"""The same checks as `mode = "debug"`, by our own name."""
verify_fp: bool = False
"""Report NaN and infinities where kernels store them."""
quiet: bool = False
verbose: bool = False
"""Print a line for what the runtime does (start, compilations)."""
verbose_warnings: bool = False
verify_autograd_array_access: bool = False
"""Warn of recorded launches that write to what an earlier one has read: the tape copies it."""
print_launches: bool = False
"""Print a line for every launch."""
verify_cuda: bool = False
"""Wait for every launch on a GPU, so that a failure is raised by the launch that failed."""
cache_kernels: bool = True
"""Keep compiled kernels on disk."""
kernel_cache_dir: str | None = None
"""Folder of compiled kernels. None: `$GRIDSTRIDE_CACHE_DIR`, else `gridstride/VERSION` in the user's cache folder."""
enable_backward: bool = True
fast_math: bool = False
"""Let the compiler reorder and approximate float arithmetic."""
fuse_fp: bool = True
max_unroll: int = 16
"""Constant loops of at most this many rounds are unrolled where their variable must be static."""
optimization_level: int | None = None
default_grid_stride: bool = True

enable_cpu_blocks: bool = False
"""A block of a launch on the CPU has `block_dim` threads, which share tiles; else it is one thread."""

# Kept for compatibility: no meaning on this device, or not built yet.
block_dim: int = 256
compile_time_trace: bool = False
cpu_compiler_flags: str | None = None
cuda_output: str | None = None
deterministic: DeterministicMode = DeterministicMode.SUMS
"""What atomics leave that is the same in every run. `SUMS`: sums that all threads of a launch add to. `NOT_GUARANTEED`:
those on the CPU only. `RUN_TO_RUN` and `GPU_TO_GPU`: everything; kernels whose atomics depend on the order of the
threads run in order on one core of the CPU, and are refused on a GPU."""
deterministic_debug: bool = False
deterministic_max_records: int | None = None
enable_graph_capture_module_load_by_default: bool = True
enable_mathdx_fft: bool = False
enable_mathdx_gemm: bool = False
enable_mathdx_solver: bool = False
enable_mempools_at_init: bool = True
enable_tiles_in_stack_memory: bool = False
enable_vector_component_overwrites: bool = False
launch_array_access_mode: LaunchArrayAccessMode = LaunchArrayAccessMode.RELAXED
"""Launches always check that their arrays are within reach, which costs nothing here: modes change nothing."""
legacy_cpu_linker: bool = False
legacy_scalar_return_types: bool = False
"""Functions called from Python give Python's numbers for every scalar type, not those of their own class."""
line_directives: bool = True
lineinfo: bool = False
llvm_cuda: bool = False
load_module_max_workers: int | None = 0
log_level: int = 20
ptx_target_arch: int | None = None
cuda_arch_suffix: str | None = None
track_memory: bool = False
use_precompiled_headers: bool = True


LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40


class _Config(pytypes.ModuleType):
    """Counts changes, so that a launch need not read every setting."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            if name not in self.__dict__:
                warnings.warn(f"gridstride.config has no setting `{name}`: it has no effect", stacklevel=2)
            elif name == "deterministic" and not isinstance(value, DeterministicMode):
                raise ValueError(f"config.deterministic is a wp.DeterministicMode, not {value!r}")
            elif name == "launch_array_access_mode" and not isinstance(value, LaunchArrayAccessMode):
                raise ValueError(f"config.launch_array_access_mode is a LaunchArrayAccessMode, not {value!r}")
            elif name == "mode" and value not in ("release", "debug"):
                raise ValueError(f"config.mode is 'release' or 'debug', not {value!r}")
            self.__dict__["_changes"] += 1
        self.__dict__[name] = value
        _native.set_launch_state(
            changes=self._changes,
            # What is to be said of each launch is said in Python.
            prints=bool(self.print_launches or self.verify_autograd_array_access or self._captures),
            verifies=bool(self.verify_cuda),
            blocks=bool(self.enable_cpu_blocks),
        )


_changes: int = 0
# Whether a graph is captured on the CPU.
_captures: bool = False
_native.set_launch_state(changes=_changes, prints=print_launches)
sys.modules[__name__].__class__ = _Config


def cache_dir() -> str | None:
    """The directory of compiled kernels in force, None where there is none."""
    settings = sys.modules[__name__].__dict__
    if not settings["cache_kernels"]:
        return None
    chosen = settings["kernel_cache_dir"]
    if chosen is None:
        chosen = _native.default_cache_dir()
    return None if chosen is None else os.fspath(chosen)
