"""GPU-style kernels in Python, compiled to the machine's own code.

    import gridstride as wp

    @wp.kernel
    def scale(a: wp.array(dtype=float), s: float):
        i = wp.tid()
        a[i] = a[i] * s

    a = wp.array([1.0, 2.0, 3.0], dtype=float)
    wp.launch(scale, dim=3, inputs=[a, 2.0])

The names are those of NVIDIA Warp, so that its programs run after this import line alone is changed.
"""

# ruff: noqa: F401 - what is imported here is the public API

from typing import TYPE_CHECKING, Any

from gridstride import _native, config, types
from gridstride._allocators import (
    CudaManagedAllocator,
    ScopedAllocator,
    get_device_allocator,
    set_cuda_allocator,
    set_device_allocator,
)
from gridstride._array import array
from gridstride._array_ranks import array1d, array2d, array3d, array4d, fixedarray
from gridstride._builtins import Builtin
from gridstride._builtins import table as _builtin_table
from gridstride._constants import (
    HALF_PI,
    INF,
    LN2,
    LN10,
    LOG2E,
    LOG10E,
    NAN,
    PHI,
    PI,
    TAU,
    E,
    constant,
    e,
    half_pi,
    inf,
    ln2,
    ln10,
    log2e,
    log10e,
    nan,
    phi,
    pi,
    tau,
)
from gridstride._create import (
    clone,
    copy,
    empty,
    empty_like,
    from_dlpack,
    from_numpy,
    from_ptr,
    full,
    full_like,
    ones,
    ones_like,
    to_dlpack,
    zeros,
    zeros_like,
)
from gridstride._device import (
    Device,
    DeviceLike,
    ScopedDevice,
    get_cuda_device,
    get_cuda_device_count,
    get_cuda_devices,
    get_cuda_driver_version,
    get_cuda_supported_archs,
    get_cuda_toolkit_version,
    get_device,
    get_devices,
    get_preferred_device,
    is_conditional_graph_supported,
    is_cpu_available,
    is_cuda_available,
    is_cuda_driver_initialized,
    is_device_available,
    map_cuda_device,
    set_device,
    synchronize,
    synchronize_device,
    unmap_cuda_device,
)
from gridstride._fabric import fabricarray, fabricarrayarray, indexedfabricarray, indexedfabricarrayarray
from gridstride._indexed import indexedarray, indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d
from gridstride._kernel import (
    Function,
    Kernel,
    func,
    kernel,
    overload,
    static,
)
from gridstride._launch import (
    Launch,
    get_cuda_kernel_properties,
    get_cuda_max_cluster_dim,
    get_suggested_block_size,
    launch,
    launch_tiled,
)
from gridstride._logger import (
    LOG_DEBUG,
    LOG_ERROR,
    LOG_INFO,
    LOG_WARNING,
    Logger,
    ScopedLogger,
    ScopedLogLevel,
    get_logger,
    set_logger,
)
from gridstride._memory import ScopedMemoryTracker, print_memory_report
from gridstride._mempool import (
    MemoryKind,
    ScopedMempool,
    ScopedMempoolAccess,
    ScopedPeerAccess,
    can_access,
    get_mempool_release_threshold,
    get_mempool_used_mem_current,
    get_mempool_used_mem_high,
    is_mempool_access_enabled,
    is_mempool_access_supported,
    is_mempool_enabled,
    is_mempool_supported,
    is_peer_access_enabled,
    is_peer_access_supported,
    set_mempool_access_enabled,
    set_mempool_enabled,
    set_mempool_release_threshold,
    set_peer_access_enabled,
)
from gridstride._module import (
    Module,
    force_load,
    get_module,
    get_module_options,
    load_module,
    set_module_options,
)
from gridstride._named import named as _named_types
from gridstride._numpy import dtype_from_numpy, dtype_to_numpy
from gridstride._processes import event_from_ipc_handle, from_ipc_handle
from gridstride._runtime import clear_kernel_cache, counters, get_num_threads, init, is_initialized, set_num_threads
from gridstride._stream import (
    Event,
    ScopedStream,
    Stream,
    get_event_elapsed_time,
    get_stream,
    record_event,
    set_stream,
    synchronize_event,
    synchronize_stream,
    wait_event,
    wait_stream,
)
from gridstride._struct import struct
from gridstride._types import (
    Float,
    Int,
    Scalar,
    bfloat16,
    bool,  # noqa: A004 - Warp's name
    float16,
    float32,
    float64,
    handle,
    int8,
    int16,
    int32,
    int64,
    ref,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gridstride._unbuilt import table as _unbuilt_table
from gridstride._vector import matrix as mat
from gridstride._vector import transform_expand
from gridstride._vector import vector as vec
from gridstride.config import DeterministicMode
from gridstride.types import type_size_in_bytes, types_equal

if TYPE_CHECKING:
    from gridstride import autograd, optim, sparse, utils
    from gridstride._ahead import compile_aot_module, load_aot_module
    from gridstride._diagnostics import get_cpu_kernel_cache_key, print_diagnostics
    from gridstride._geometry.bvh import Bvh, BvhConstructor, is_cubql_available
    from gridstride._geometry.hash_grid import HashGrid
    from gridstride._geometry.mesh import Mesh
    from gridstride._geometry.structs import (
        BvhQuery,
        HashGridQuery,
        MeshQuery,
        MeshQueryAABB,
        MeshQueryPoint,
        MeshQueryRay,
    )
    from gridstride._graph import (
        CaptureMode,
        Graph,
        ScopedCapture,
        capture_begin,
        capture_debug_dot_print,
        capture_end,
        capture_if,
        capture_launch,
        capture_pause,
        capture_resume,
        capture_while,
    )
    from gridstride._interop import (
        device_from_jax,
        device_from_torch,
        device_to_jax,
        device_to_torch,
        dtype_from_jax,
        dtype_from_torch,
        dtype_to_jax,
        dtype_to_torch,
        from_jax,
        from_torch,
        stream_from_torch,
        stream_to_torch,
        to_jax,
        to_torch,
    )
    from gridstride._map import map  # noqa: A004 - Warp's name
    from gridstride._own_gradients import func_grad, func_replay
    from gridstride._snippet import func_native
    from gridstride._tape import Tape
    from gridstride._texture import Texture, Texture1D, Texture2D, Texture3D, TextureAddressMode, TextureFilterMode
    from gridstride._timer import ScopedCudaProfiler, ScopedTimer, cuda_profiler_start, cuda_profiler_stop

# Loaded when first used: names by module. What every program needs is imported above.
_LATER = {
    "_ahead": "compile_aot_module load_aot_module",
    "_geometry.hash_grid": "HashGrid",
    "_geometry.bvh": "Bvh BvhConstructor is_cubql_available",
    "_geometry.mesh": "Mesh",
    "_geometry.structs": "BvhQuery HashGridQuery MeshQuery MeshQueryAABB MeshQueryPoint MeshQueryRay",
    "_diagnostics": "get_cpu_kernel_cache_key print_diagnostics",
    "_graph": (
        "CaptureMode Graph ScopedCapture capture_begin capture_debug_dot_print capture_end capture_if "
        "capture_launch capture_pause capture_resume capture_while"
    ),
    "_interop": (
        "device_from_jax device_from_torch device_to_jax device_to_torch dtype_from_jax dtype_from_torch "
        "dtype_to_jax dtype_to_torch from_jax from_torch stream_from_torch stream_to_torch to_jax to_torch"
    ),
    "_map": "map",
    "_own_gradients": "func_grad func_replay",
    "_snippet": "func_native",
    "_tape": "Tape",
    "_texture": "Texture Texture1D Texture2D Texture3D TextureAddressMode TextureFilterMode",
    "_timer": "ScopedCudaProfiler ScopedTimer cuda_profiler_start cuda_profiler_stop",
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
_MODULES = ("autograd", "optim", "sparse", "utils")

__version__: str = _native.__version__
CompileError = _native.CompileError
KernelFault = _native.KernelFault
# Warp's names for what a kernel in error raises.
WarpCodegenError = WarpCodegenTypeError = WarpCodegenValueError = CompileError
WarpCodegenAttributeError = WarpCodegenKeyError = WarpCodegenIndexError = WarpDeterminismError = CompileError
# `int`, `float` and Python's other builtins act as kernel functions under their own names.
globals().update(_builtin_table)
globals().update(_named_types)
globals().update(_unbuilt_table)

__all__ = [name for name in (*globals(), *_MODULE_OF, "utils") if name != "TYPE_CHECKING" and not name.startswith("_")]


def __getattr__(name: str) -> Any:
    # For names that are not here, this also tells type checkers that tables make builtins and named types.
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"gridstride.{name}")
    if name in _MODULE_OF:
        found = getattr(importlib.import_module(f"gridstride.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'gridstride' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_MODULES})
