"""Streams, events and captured graphs. The work of the CPU device is done when a call returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gridstride import _native
from gridstride.numba.cuda import _devices


def _device() -> Any:
    """The current GPU; None where launches run on the CPU."""
    from gridstride import _device as devices

    ordinal = _devices.gpu()
    return None if ordinal is None else devices.get_device(f"cuda:{ordinal}")


class Stream:
    """A queue of work. `with stream:` makes it the current one; `Stream.null` is the default one.

    Args:
        null: The default stream.
        non_blocking: Accepted: streams made here do not wait for the default one.
        ptds: CUDA's default stream of the calling thread.
        priority: The smaller, the sooner its work runs.
    """

    null: Stream
    ptds: Stream

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        from gridstride import _stream

        device = _device()
        self.null_or_ptds = null or ptds
        self._queue: Any = None
        self._graph: Any = None
        self._before: list[Any] = []
        if device is not None and null:
            self._queue = device.stream
        elif device is not None:
            options = {"cuda_stream": 2} if ptds else {"priority": priority or 0}
            self._queue = _stream.Stream(device, **options)

    @classmethod
    def _of(cls, queue: Any) -> Stream:
        made = cls.__new__(cls)
        made.null_or_ptds, made._queue, made._graph, made._before = False, queue, None, []
        return made

    @property
    def ptr(self) -> int:
        """The driver's number of the stream; 0 for the default one and on the CPU device."""
        return 0 if self._queue is None or self.null_or_ptds else int(self._queue.handle)

    @property
    def device_id(self) -> int:
        return _devices.gpu() or 0

    @property
    def done(self) -> bool:
        """Whether all work on it is done."""
        return self._queue is None or bool(self._queue.is_complete)

    @property
    def is_capturing(self) -> bool:
        """Whether it records a graph."""
        return self._graph is not None

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)

    def __enter__(self) -> Stream:
        device = _device()
        if device is not None and self._queue is not None:
            self._before.append(device.stream)
            device.set_stream(self._queue, False)
        return self

    def __exit__(self, *error: object) -> None:
        device = _device()
        if device is not None and self._before:
            device.set_stream(self._before.pop(), False)

    def use(self) -> Stream:
        """Makes it the current stream."""
        device = _device()
        if device is not None and self._queue is not None:
            device.set_stream(self._queue, False)
        return self

    def synchronize(self) -> None:
        """Waits for all work on it."""
        if self._queue is not None:
            self._queue.synchronize()

    def record(self, event: Event | None = None) -> Event:
        """Records an event, a new one by default."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Makes later work on it wait for an event."""
        if self._queue is not None and event._event is not None:
            self._queue.wait_event(event._event)

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any) -> None:
        """Calls `callback(stream, error, arg)` when what is on it now is done."""
        self.launch_host_func(lambda _: callback(self, 0, arg), arg)

    def launch_host_func(self, callback: Callable[[Any], Any], arg: Any) -> None:
        """Calls `callback(arg)` when what is on it now is done."""
        if self._queue is None:
            callback(arg)
            return
        from gridstride.numba.cuda import _streams

        numba = _streams.Stream(self.ptr, queue=self._queue)
        numba.add_callback(lambda *_: callback(arg), arg)

    def begin_capture(self, mode: Any = None) -> None:
        """Records launches as a graph instead of running them, until `end_capture`."""
        import gridstride

        if self._queue is None:
            gridstride.capture_begin(device="cpu")
        else:
            gridstride.capture_begin(stream=self._queue)
        self._graph = True

    def end_capture(self) -> Graph:
        """The graph of what was recorded."""
        import gridstride

        self._graph = None
        if self._queue is None:
            return Graph(gridstride.capture_end(device="cpu"))
        return Graph(gridstride.capture_end(stream=self._queue))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (
            self is other
            or (self._queue is not None and self.ptr == other.ptr)
            or self.null_or_ptds
            and other.null_or_ptds
        )

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"


class ExternalStream(Stream):
    """A stream that another library made, by the driver's number."""

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        from gridstride import _stream

        device = _device()
        if device is None:
            raise RuntimeError("a CUDA stream cannot be used on the device `cpu`")
        self.null_or_ptds, self._graph, self._before = False, None, []
        self._queue = _stream.Stream(device, cuda_stream=ptr)


class _Default:
    """`Stream.null`: made when it is asked for, since it belongs to a device."""

    def __init__(self, **options: bool) -> None:
        self.options = options

    def __get__(self, instance: Any, owner: Any) -> Stream:
        return Stream(**self.options)


Stream.null = _Default(null=True)  # type: ignore[assignment]
Stream.ptds = _Default(ptds=True)  # type: ignore[assignment]


def get_current_stream(device_id: int = -1) -> Stream:
    """The current stream of the current device."""
    device = _device()
    return Stream(null=True) if device is None else Stream._of(device.stream)


class Event:
    """A moment on a stream.

    Args:
        block: Whether waiting for it sleeps instead of spinning.
        disable_timing: Whether times are not taken.
        interprocess: Accepted.
    """

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        ordinal = _devices.gpu()
        self.disable_timing = disable_timing
        self._moment: float | None = None
        self._event = None if ordinal is None else _native.CudaEvent(ordinal, not disable_timing, block)

    @property
    def done(self) -> bool:
        """Whether the moment has passed."""
        return self._event is None or bool(self._event.is_complete)

    @property
    def ptr(self) -> int:
        return 0 if self._event is None else self._event.handle

    def record(self, stream: Any = None) -> None:
        """Marks the moment when what is on a stream now is done, the current stream by default."""
        device = _device()
        if self._event is None or device is None:
            self._moment = time.perf_counter()
        else:
            self._moment = 0.0
            self._event.record(device.stream if stream is None else stream._queue)

    def synchronize(self) -> None:
        """Waits for the moment."""
        if self._event is not None:
            self._event.synchronize()


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two recorded events. Raises `CUDARuntimeError` where one is not recorded."""
    if start_event._moment is None or end_event._moment is None:
        from gridstride.cupy.cuda import runtime

        raise runtime.CUDARuntimeError(400, "cudaErrorInvalidResourceHandle: record both events first")
    if start_event._event is not None and end_event._event is not None:
        return start_event._event.elapsed(end_event._event)
    return (end_event._moment - start_event._moment) * 1e3


class Graph:
    """Work that was recorded, to be run again and again."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def launch(self, stream: Stream | None = None) -> None:
        """Runs it, on the current stream by default."""
        import gridstride

        gridstride.capture_launch(self._graph, stream=None if stream is None else stream._queue)

    def upload(self, stream: Stream | None = None) -> None:
        """Accepted: the first launch puts it onto the device."""
