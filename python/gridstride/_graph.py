"""Graphs: launches, copies and fills captured once and run again by one call.

    >>> with wp.ScopedCapture(device="cuda") as capture:  # doctest: +SKIP
    ...     wp.launch(step, dim=n, inputs=[a, b])
    ...     wp.copy(a, b)
    >>> wp.capture_launch(capture.graph)  # doctest: +SKIP

Graphs are CUDA's; on the CPU they are lists of what to run (`_host_graph`). While a graph is captured nothing runs.
On a GPU, what needs the host's answer (`numpy()`, arrays from host values) is refused by name. The graph keeps the
arrays that it uses alive.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any, NoReturn

from gridstride import _host_graph, _kernel, _native
from gridstride._array import array
from gridstride._device import Device, DeviceLike, get_device
from gridstride._stream import ScopedStream, Stream
from gridstride._types import int32


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
    return get_device(device).stream


def _is_on_host(device: DeviceLike, stream: Stream | None) -> bool:
    return stream is None and not get_device(device).is_cuda


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
    With `external` another library has begun a capture of the stream already: not on the CPU. Raises `RuntimeError`.
    """
    if apic:
        raise NotImplementedError("graphs cannot be saved to files yet")
    if _is_on_host(device, stream):
        if external:
            raise RuntimeError("Must be a CUDA device: no other library captures graphs on the CPU")
        if force_module_load:
            _kernel.force_load(device)
        return _host_graph.begin()
    found = _stream_of(device, stream)
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
    return None


def capture_end(device: DeviceLike = None, stream: Stream | None = None) -> Graph:
    """Ends the capture and gives its graph. Raises `RuntimeError` where something cannot be part of one."""
    if _is_on_host(device, stream):
        return Graph(get_device(device), _host_graph.end())
    found = _stream_of(device, stream)
    external = _captures.pop(found.handle, None)
    if external is None:
        raise RuntimeError("Graph capture is not active on this stream")
    return Graph(found.device, None if external else _native.cuda_end_capture(found))


def capture_launch(graph: Graph, stream: Stream | None = None) -> None:
    """Runs a graph on its device's current stream, or on the given one."""
    if graph._captured is None:
        raise RuntimeError("the graph of an external capture is launched by whoever began the capture")
    if isinstance(graph._captured, _host_graph.HostGraph):
        return graph._captured.launch()
    graph._captured.launch(graph.device.stream if stream is None else stream)
    return None


def capture_debug_dot_print(graph: Graph, path: str, verbose: bool = True) -> None:
    """Writes a graph to a file for Graphviz."""
    if graph._captured is None:
        raise RuntimeError("the graph of an external capture is not known here")
    graph._captured.write_dot(str(path), verbose)


def capture_if(
    condition: array,
    on_true: Callable[..., Any] | Graph | None = None,
    on_false: Callable[..., Any] | Graph | None = None,
    stream: Stream | None = None,
    **arguments: Any,
) -> None:
    """Does one thing or another by what an array of one int32 holds.

    While a graph is captured (on a GPU from the given stream, or the current one of the condition's device) both become
    part of it, and each launch of the graph decides. Otherwise the choice is made at once. What to do is a function,
    called with `arguments`, or a graph. Raises `RuntimeError` where a GPU's driver has no graphs with conditions.
    """
    parts = [None if body is None else _bound(body, arguments) for body in (on_true, on_false)]
    queue = _capturing(condition, stream)
    if queue is not None:
        # Both are decided before either runs.
        given = [(part, is_negated) for part, is_negated in zip(parts, (False, True), strict=True) if part is not None]
        decided = [(part, _native.CudaCondition(queue, condition.ptr, is_negated)) for part, is_negated in given]
        _native.cuda_keep(condition)
        for part, decision in decided:
            _capture_body(queue, decision, part)
    elif _host_graph.active is not None and not condition.device.is_cuda:
        graphs = [None if part is None else _host_graph.part(part) for part in parts]
        _host_graph.active.add("if", lambda: _host_graph.run_if(condition, graphs))
    else:
        chosen = parts[0 if condition.numpy().flat[0] else 1]
        if chosen is not None:
            _run(chosen, stream)


def capture_while(
    condition: array, while_body: Callable[..., Any] | Graph, stream: Stream | None = None, **arguments: Any
) -> None:
    """Does something as long as an array of one int32 holds another number than 0, as `capture_if` does."""
    body = _bound(while_body, arguments)
    queue = _capturing(condition, stream)
    if queue is not None:
        _native.cuda_keep(condition)
        _capture_body(queue, _native.CudaCondition(queue, condition.ptr), body, condition.ptr)
    elif _host_graph.active is not None and not condition.device.is_cuda:
        part = _host_graph.part(body)
        _host_graph.active.add("while", lambda: _host_graph.run_while(condition, part))
    else:
        while condition.numpy().flat[0]:
            _run(body, stream)


def _capturing(condition: Any, stream: Stream | None) -> Stream | None:
    """The stream that a graph is captured from on a GPU, if one is. Raises `TypeError` for what is no condition."""
    if not isinstance(condition, array) or condition.dtype is not int32 or condition.size < 1:
        raise TypeError("a condition is an array of int32 with one element")
    if not condition.device.is_cuda:
        return None
    found = condition.device.stream if stream is None else stream
    return found if found.is_capturing else None


def _capture_body(queue: Stream, decision: Any, body: Any, again: int | None = None) -> None:
    """Captures a body from a stream of its own; `again` is the address that says whether it runs once more."""
    inner = Stream(queue.device)
    decision.begin_body(queue, inner, again is not None)
    try:
        _run(body, inner)
        if again is not None:
            decision.read(inner, again)
    finally:
        decision.end_body(inner)
    _native.cuda_keep((inner, body))


def _bound(body: Any, arguments: dict[str, Any]) -> Any:
    return body if isinstance(body, Graph) or not arguments else functools.partial(body, **arguments)


def _run(body: Callable[[], Any] | Graph, stream: Stream | None) -> None:
    if isinstance(body, Graph):
        capture_launch(body, stream)
    else:
        with ScopedStream(stream, sync_enter=False):
            body()


def _unbuilt(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"`{name}` is not available yet: graphs here have no pauses")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Not available yet: raises `NotImplementedError`."
    return refuse


capture_pause = _unbuilt("capture_pause")
capture_resume = _unbuilt("capture_resume")


class ScopedCapture:
    """Captures what a `with` block does on a device. Attributes: `graph`, after the block."""

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
        device, stream, *rest = self._arguments
        # The stream, or device, that is current now, whatever is current when the block ends.
        self._place: Any = (get_device(device), None)
        if not _is_on_host(device, stream):
            self._place = (None, _stream_of(device, stream))
        capture_begin(*self._place, *rest)
        self.active = True
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        self.active = False
        try:
            self.graph = capture_end(*self._place)
        except RuntimeError:
            # What happened in the block says more.
            if kind is None:
                raise
