"""`cupy.cuda`: devices, streams, events, memory.

On the CPU device a stream is only a name: launches are done when they return. On a GPU streams and events are CUDA's,
and every operation goes to the current stream.
"""

# ruff: noqa: F401
from __future__ import annotations

from gridstride.cupy.cuda import memory, runtime
from gridstride.cupy.cuda._devices import Device, get_cublas_handle, get_device_id
from gridstride.cupy.cuda._streams import (
    Event,
    ExternalStream,
    Graph,
    Stream,
    get_current_stream,
    get_elapsed_time,
)
from gridstride.cupy.cuda.memory import (
    ManagedMemory,
    Memory,
    MemoryAsyncPool,
    MemoryPointer,
    MemoryPool,
    PinnedMemoryPool,
    UnownedMemory,
    alloc,
    alloc_pinned_memory,
    get_allocator,
    malloc_managed,
    set_allocator,
    set_pinned_memory_allocator,
    using_allocator,
)


def is_available() -> bool:
    """Whether there is a device to run on: always, the CPU where there is no GPU."""
    return True


from gridstride.cupy.cuda import _devices as device  # noqa: E402
from gridstride.cupy.cuda import _streams as stream  # noqa: E402
