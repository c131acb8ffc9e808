"""CUDA graphs: launches, copies and fills captured once and run again by one call.

    >>> with wp.ScopedCapture(device="cuda") as capture:  # doctest: +SKIP
    ...     wp.launch(step, dim=n, inputs=[a, b])
    ...     wp.copy(a, b)
    >>> wp.capture_launch(capture.graph)  # doctest: +SKIP

While a graph is captured nothing runs. What needs the host's answer (`numpy()`, arrays from host values) is refused by
name. The graph keeps the arrays that it uses alive.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from gridstride import _kernel, _native
from gridstride._device import Device, DeviceLike, get_device
from gridstride._stream import Stream


class CaptureMode(enum.IntEnum):
    """Which calls of the driver a capture refuses in other threads: accepted for compatibility, none are refused."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


class Graph:
    """A captured graph, run by `capture_launch`.

    Attributes: `device`, `n_nodes`. A graph of an external capture holds nothing: whoever began it has the graph.
    """

    def __init__(self, device: Device, captured: Any) -> None:
        self.device = device
        self._captured = captured

    @property
    def n_nodes(self) -> int:
        """Number of operations."""
        return 0 if self._captured is None else self._captured.n_nodes

    def __repr__(self) -> str:
        return f"<Graph of {self.n_nodes} operations on {self.device}>"


# By the stream's handle: whether others began the capture.
_captures: dict[int, bool] = {}


def _stream_of(device: DeviceLike, stream: Stream | None) -> Stream:
    if stream is not None:
        return stream
    found = get_device(device)
    if not found.is_cuda:
        raise RuntimeError(f"Must be a CUDA device: graphs cannot be captured on device {found} yet")
    return found.stream


def capture_begin(
    device: DeviceLike = None,
    stream: Stream | None = None,
    force_module_load: bool | None = None,
    external: bool = False,
    apic: bool = False,
    capture_mode: CaptureMode = CaptureMode.THREAD_LOCAL,
) -> None:
    """Begins to capture the work of a stream, or of a device's current one, instead of running it.

    Kernels that are not compiled yet are compiled meanwhile; with `force_module_load` all of the program's are first.
    With `external` another library has begun a capture of the stream already. Raises `RuntimeError` for the CPU.
    """
    found = _stream_of(device, stream)
    if apic:
        raise NotImplementedError("graphs cannot be saved to files yet")
    if force_module_load:
        _kernel.force_load(found.device)
    if found.handle in _captures:
        raise RuntimeError("Graph capture already in progress on this stream")
    if external:
        if not found.is_capturing:
            raise RuntimeError("External capture flag is set but the stream is not capturing")
    else:
        if found.handle <= 1:
            raise RuntimeError("the legacy default stream cannot be captured: use a stream made by wp.Stream")
        _native.cuda_begin_capture(found)
    _captures[found.handle] = external


def capture_end(device: DeviceLike = None, stream: Stream | None = None) -> Graph:
    """Ends the capture and gives its graph. Raises `RuntimeError` where something cannot be part of one."""
    found = _stream_of(device, stream)
    external = _captures.pop(found.handle, None)
    if external is None:
        raise RuntimeError("Graph capture is not active on this stream")
    return Graph(found.device, None if external else _native.cuda_end_capture(found))


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Runs a graph on its device's current stream, or on the given one."""
    if graph._captured is None:
        raise RuntimeError("the graph of an external capture is launched by whoever began the capture")
    graph._captured.launch(graph.device.stream if stream is None else stream)


def capture_debug_dot_print(graph: Graph, path: str, verbose: bool = True) -> None:
    """Writes a graph to a file for Graphviz."""
    if graph._captured is None:
        raise RuntimeError("the graph of an external capture is not known here")
    graph._captured.write_dot(str(path), verbose)


def _unbuilt(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"`{name}` is not available yet: graphs here have no conditions and no pauses")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Not available yet: raises `NotImplementedError`."
    return refuse


capture_if = _unbuilt("capture_if")
capture_while = _unbuilt("capture_while")
capture_pause = _unbuilt("capture_pause")
capture_resume = _unbuilt("capture_resume")


class ScopedCapture:
    """Captures what a `with` block does on a CUDA device. Attributes: `graph`, after the block."""

    def __init__(
        self,
        device: DeviceLike = None,
        stream: Stream | None = None,
        force_module_load: bool | None = None,
        external: bool = False,
        apic: bool = False,
        capture_mode: CaptureMode = CaptureMode.THREAD_LOCAL,
    ) -> None:
        self._arguments = (device, stream, force_module_load, external, apic, capture_mode)
        self.active = False
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        # The stream that is current now, whatever is current when the block ends.
        self._stream = _stream_of(*self._arguments[:2])
        capture_begin(None, self._stream, *self._arguments[2:])
        self.active = True
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        self.active = False
        try:
            self.graph = capture_end(stream=self._stream)
        except RuntimeError:
            # What happened in the block says more.
            if kind is None:
                raise
