"""Streams, events and deferred clean-up.

Launches and copies on the CPU device are done when the call returns, so that a stream there is only a name: waiting for
it is waiting for nothing. On a GPU streams are CUDA's, each in its own order and all of them in order with the default
one. A copy that is given a stream and page-locked memory of the host goes on while the program does; every other copy
is done when it returns.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from gridstride import _native
from gridstride.numba.cuda import _devices, _queue


class Stream:
    """A queue of launches and copies."""

    def __init__(self, handle: int = 0, is_external: bool = False, queue: Any = None) -> None:
        self.handle = handle
        self.external = is_external
        self._queue = queue
        self._callbacks: threading.Thread | None = None

    def __int__(self) -> int:
        return self.handle

    def __bool__(self) -> bool:
        # The default stream, too, is a stream that was named.
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol of CUDA's Python libraries."""
        return (0, self.handle)

    def __repr__(self) -> str:
        place = _devices.launch_device()
        names = {0: "Default CUDA stream", 1: "Legacy default CUDA stream", 2: "Per-thread default CUDA stream"}
        other = f"External CUDA stream {self.handle}" if self.external else f"CUDA stream {self.handle}"
        return f"<{names.get(self.handle, other)} on {place}>"

    def synchronize(self) -> None:
        """Waits until everything on the stream is done."""
        queue = _queue.queue(self)
        if queue is None:
            _devices.synchronize()
        else:
            queue.synchronize()

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Waits at the end of the block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any = None) -> None:
        """Calls `callback(stream, status, arg)` when what is on the stream now is done, on a GPU in another thread."""
        if _devices.gpu() is None:
            callback(self, 0, arg)
            return
        moment, before = Event(timing=False), self._callbacks
        moment.record(self)

        def wait() -> None:
            if before is not None:
                before.join()
            moment.synchronize()
            callback(self, 0, arg)

        self._callbacks = threading.Thread(target=wait, daemon=True)
        self._callbacks.start()

    def async_done(self) -> Any:
        """A future of asyncio that is done when what is on the stream now is done."""
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def done(*_: Any) -> None:
            if not future.done():
                future.set_result(self)

        if _devices.gpu() is None:
            done()
        else:
            self.add_callback(lambda *_: loop.call_soon_threadsafe(done))
        return future


_next_handle = 16


def stream() -> Stream:
    """A new stream."""
    global _next_handle
    if _devices.gpu() is not None:
        made = _queue.make()
        return Stream(made.handle, queue=made)
    _next_handle += 1
    return Stream(_next_handle)


def default_stream() -> Stream:
    """The stream that calls without a stream use."""
    return Stream(0)


def legacy_default_stream() -> Stream:
    """CUDA's stream that waits for all others."""
    return Stream(1)


def per_thread_default_stream() -> Stream:
    """CUDA's default stream of the calling thread."""
    return Stream(2, queue=_queue.make(2) if _devices.gpu() is not None else None)


def external_stream(ptr: int) -> Stream:
    """A stream that another library made."""
    queue = _queue.make(ptr) if _devices.gpu() is not None and ptr > 1 else None
    return Stream(ptr, is_external=True, queue=queue)


class Event:
    """A moment on a stream."""

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self._moment = 0.0
        self._event: Any = None

    def record(self, stream: Any = 0) -> None:
        """Marks the moment when what is on the stream now is done."""
        ordinal = _devices.gpu()
        if ordinal is None:
            self._moment = time.perf_counter()
        else:
            self._event = _native.CudaEvent(ordinal, self.timing)
            self._event.record(_queue.queue(stream) or _queue.device().stream)

    def synchronize(self) -> None:
        """Waits for the moment."""
        if self._event is not None:
            self._event.synchronize()

    def wait(self, stream: Any = 0) -> None:
        """Makes a stream wait for the moment."""
        if self._event is not None:
            (_queue.queue(stream) or _queue.device().stream).wait_event(self._event)

    def query(self) -> bool:
        """Whether the moment has passed."""
        return self._event is None or self._event.is_complete

    def elapsed_time(self, other: Event) -> float:
        """Milliseconds from this moment to another."""
        if self._event is not None and other._event is not None:
            return self._event.elapsed(other._event)
        return (other._moment - self._moment) * 1e3


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events."""
    return evtstart.elapsed_time(evtend)


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Puts off freeing device memory to the end of the block. On the CPU device freeing is cheap: nothing is done."""
    with _devices.current_context().defer_cleanup():
        yield
