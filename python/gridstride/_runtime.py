"""`wp.init`, the disk cache, threads and compile counters."""

from __future__ import annotations

import os
import re

from gridstride import _native, config

_is_initialized = False


def init() -> None:
    """Starts the runtime. Not required: every call does what it needs. With `config.verbose` prints what runs it."""
    global _is_initialized
    if not _is_initialized:
        _is_initialized = True
        if config.verbose and not config.quiet:
            print(f"Gridstride {_native.__version__} on {_native.cpu_name()}, LLVM {_native.llvm_version()}")


def is_initialized() -> bool:
    """Whether `init` has been called."""
    return _is_initialized


def clear_kernel_cache() -> None:
    """Removes the compiled kernels on disk, in the directory in force. Other files there are left alone."""
    directory = config.cache_dir()
    if directory is None or not os.path.isdir(directory):
        return
    for name in os.listdir(directory):
        if re.fullmatch(r"[0-9a-f]{16,}(\..*)?\.(o|tmp)", name):
            try:
                os.unlink(os.path.join(directory, name))
            except OSError:
                continue


def counters() -> dict[str, float]:
    """Kernels that went through each phase of compilation, and the milliseconds spent in each (`ms_*`)."""
    return _native.counters()


def set_num_threads(n: int) -> None:
    """Number of threads that run a launch, the calling one included. Raises `ValueError` below 1."""
    _native.set_num_threads(n)


def get_num_threads() -> int:
    """Number of threads that run a launch."""
    return _native.get_num_threads()
