"""Which of the driver's streams work goes to.

In: what a program gives as `stream`. Out: a stream of the GPU, or None for the device's current one. CUDA's default
stream is in order with all others. As long as a program makes none, the device's own stream stands for it, whose
launches cost less; afterwards it is CUDA's.
"""

from __future__ import annotations

from typing import Any

from gridstride.numba.cuda import _devices

_has_streams = False


def device() -> Any:
    """The GPU that launches run on."""
    from gridstride import _device

    return _device.get_device(f"cuda:{_devices.gpu()}")


def make(handle: int | None = None) -> Any:
    """A new stream of the GPU, or one that others made and may destroy at any time."""
    global _has_streams
    from gridstride import _stream

    found = device()
    if not _has_streams:
        found.set_stream(found.null_stream)
        _has_streams = True
    return _stream.Stream(found, cuda_stream=handle, is_borrowed=handle is not None)


def queue(stream: Any) -> Any:
    """The driver's stream for a `Stream`, a stream of another library, the number of one, or 0."""
    if stream is None or stream == 0:
        return None
    found = getattr(stream, "_queue", None)
    if found is not None or _devices.gpu() is None:
        return found
    handle = number(stream)
    return make(handle) if handle > 1 else None


def number(stream: Any) -> int:
    """The driver's number of a stream: of one of ours or of another library's, of what records a graph, or a number."""
    if not hasattr(stream, "__cuda_stream__") and hasattr(stream, "stream"):
        stream = stream.stream
    return int(stream.__cuda_stream__()[1] if hasattr(stream, "__cuda_stream__") else stream)
