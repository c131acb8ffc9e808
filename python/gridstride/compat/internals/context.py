"""`warp._src.context`: classes by the names that Warp's private module gives them."""

from __future__ import annotations

from typing import Any

import gridstride
from gridstride import Device as Device
from gridstride import Function as Function
from gridstride import Kernel as Kernel
from gridstride import Launch as Launch
from gridstride import Module as Module
from gridstride import _builtins, _launch, _mapped, _memory, _module, _native, _types, config, types
from gridstride import get_device as get_device
from gridstride import launch as launch
from gridstride._allocators import Allocator as Allocator
from gridstride.compat.absent import attribute
from gridstride.types import type_repr


class NativeLibrary:
    """The calls into Warp's native library that have a meaning here."""

    def wp_is_error_output_enabled(self) -> bool:
        """Whether native code prints errors: it never does here."""
        return False

    def wp_set_error_output_enabled(self, enabled: bool) -> None:
        """Nothing to switch: errors are raised, not printed."""

    def wp_is_mathdx_enabled(self) -> int:
        """0: NVIDIA's MathDx library is not part of Gridstride."""
        return 0

    def wp_is_cuda_enabled(self) -> int:
        """Whether there is a CUDA device."""
        return int(gridstride.is_cuda_available())

    def wp_is_debug_enabled(self) -> int:
        """0: release builds."""
        return 0

    def wp_alloc_tracker_is_enabled(self) -> bool:
        """Whether allocations are noted."""
        return bool(_memory.n_trackers or config.track_memory)

    def wp_alloc_tracker_reset(self) -> None:
        """Forgets what was noted."""
        _memory.clear()

    def wp_alloc_tracker_get_total_alloc_count(self) -> int:
        """Allocations noted."""
        return _memory.ledger.n_total

    def wp_alloc_tracker_get_total_alloc_bytes(self) -> int:
        """Their bytes."""
        return _memory.ledger.total_bytes

    def wp_alloc_tracker_get_live_count(self) -> int:
        """Those that were not freed."""
        return len(_memory.ledger.live)

    def wp_alloc_tracker_get_current_bytes(self) -> int:
        """The bytes of those."""
        return _memory.ledger.current_bytes

    def wp_alloc_tracker_get_peak_bytes(self) -> int:
        """The most bytes at one time."""
        return _memory.ledger.peak_bytes

    def __getattr__(self, name: str) -> Any:
        return attribute("context.runtime.core", name)


class Runtime:
    """The part of Warp's runtime object that needs no native library of Warp's."""

    core = NativeLibrary()
    driver_version = None
    toolkit_version = None
    nvrtc_supported_archs: tuple[int, ...] = ()

    @property
    def is_cuda_enabled(self) -> bool:
        """Whether CUDA code can be built."""
        return gridstride.is_cuda_available()

    def get_error_string(self) -> str:
        """The last error of the native library: there is none here, errors are raised where they happen."""
        return ""


runtime = Runtime()
builtin_functions = _builtins.table
user_modules = _module._modules


def alloc_tracker_report_text(sort_order: int = 0, max_items: int = 10) -> str:
    """The report of the memory tracker."""
    return _memory.ledger.text(max_items, sort_order == 1)


def get_warp_version() -> str:
    """Version of Warp that programs find here."""
    return config.version


# Its compiler is part of it.
get_warp_clang_version = get_warp_version


def get_llvm_version() -> str:
    """Version of the compiler that is built in."""
    return _native.llvm_version()


def get_nvrtc_version() -> None:
    """None: CUDA C++ is not compiled."""


def get_libmathdx_version() -> str:
    """Empty: NVIDIA's MathDx library is not part of Gridstride."""
    return ""


def _takes(a: Any) -> None:
    pass


def pack_arg(kernel: Any, arg_type: Any, arg_name: str, value: Any, device: Any, adjoint: bool = False) -> Any:
    """Checks a value as `launch` does for a parameter of a type; gives an array as kernels get it, others as they are.

    An adjoint is a plain array, whatever kind of array the parameter is. Raises `RuntimeError`.
    """
    if adjoint and types.is_array(arg_type):
        arg_type = types.ArrayAnnotation(arg_type.dtype, arg_type.ndim)
    probe = Kernel(_takes, None, None, None, {"a": _types.native_type(arg_type)})
    try:
        gridstride.launch(probe, 0, [value], device=device, record_cmd=True)
    except RuntimeError as error:
        error.args = (str(error).replace("argument '", "adjoint argument '" if adjoint else "argument '"),)
        raise
    return value.__ctype__() if _mapped.is_array(value) else value


def type_str(annotation: Any) -> str:
    """Short text for a type."""
    if hasattr(annotation, "__origin__"):
        return repr(annotation)
    return type_repr(annotation)


def _resolve_launch_block_dim(device: Any, block_dim: int | None) -> int:
    """Threads of a block that a launch has which asks for so many."""
    return _launch.block_threads(block_dim, device) or (_launch.CUDA_BLOCK if device.is_cuda else 1)


def _is_graph_capture_allocation_supported(device: Any) -> bool:
    """Whether arrays can be made while a graph is recorded."""
    return False


def __getattr__(name: str) -> Any:
    return attribute("context", name)
