"""`numba.cuda`: kernels in the explicit style, with grids of thread blocks, shared memory and barriers.

>>> import numpy as np
>>> from gridstride.numba import cuda
>>> @cuda.jit
... def add_one(a):
...     i = cuda.grid(1)
...     if i < a.size:
...         a[i] += 1
>>> a = cuda.to_device(np.zeros(3))
>>> add_one[1, 32](a)
>>> a.copy_to_host()
array([1., 1., 1.])
"""

# ruff: noqa: F401
from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from gridstride.numba import config, errors, types
from gridstride.numba.cuda import _language
from gridstride.numba.cuda._arrays import (
    auto_device,
    device_array,
    device_array_like,
    to_device,
)
from gridstride.numba.cuda._declared import ExternFunction, declare_device
from gridstride.numba.cuda._devices import (
    close,
    cuda_error,
    current_context,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_supported_version,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
    synchronize,
)
from gridstride.numba.cuda._host_arrays import (
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
)
from gridstride.numba.cuda._interface import as_cuda_array, from_cuda_array_interface, is_cuda_array
from gridstride.numba.cuda._ipc import IpcArrayHandle, IpcHandle, open_ipc_array
from gridstride.numba.cuda._linkable import LTOIR, Archive, Cubin, CUSource, Fatbin, LinkableCode, Object, PTXSource
from gridstride.numba.cuda._managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryInfo,
    set_memory_manager,
)
from gridstride.numba.cuda._pointers import ManagedMemory, MappedMemory, MemoryPointer, PinnedMemory
from gridstride.numba.cuda._streams import (
    Event,
    Stream,
    default_stream,
    defer_cleanup,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)
from gridstride.numba.cuda.args import In, InOut, Out
from gridstride.numba.cuda.dispatcher import jit
from gridstride.numba.types import *  # noqa: F403

# Names of the kernel language: `grid`, `threadIdx`, `shared`, `atomic`, `float4` …
globals().update(_language.NAMES)
HAS_NUMBA = False
implementation = "Gridstride"

if _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any: ...


from gridstride.numba.cuda import _arrays as devicearray  # noqa: E402
from gridstride.numba.cuda import _compile, cudadrv, dispatcher, extending, fp8, fp16, libdevice, random  # noqa: E402
from gridstride.numba.cuda import _devices as devices  # noqa: E402
from gridstride.numba.cuda import _driver as driver  # noqa: E402
from gridstride.numba.cuda._compile import (  # noqa: E402
    compile,
    compile_all,
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
)
from gridstride.numba.cuda._reduce import Reduce  # noqa: E402
from gridstride.numba.cuda._ufuncs import guvectorize, vectorize  # noqa: E402

reduce = Reduce
cuda = _sys.modules[__name__]
