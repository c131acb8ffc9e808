"""Streams, events and deferred clean-up.

Launches and copies on the CPU device are done when the call returns, so that a stream there is only a name: waiting for
it is waiting for nothing. On a GPU the launches of all streams are one queue, in the order of the calls.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from gridstride import _native
from gridstride.numba.cuda import _devices


class Stream:
    """A queue of launches and copies."""

    def __init__(self, handle: int = 0, is_external: bool = False) -> None:
        self.handle = handle
        self.external = is_external

    def __int__(self) -> int:
        return self.handle

    def __bool__(self) -> bool:
        # As in Numba: the default stream is the number 0.
        return bool(self.handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        names = {0: "<Default CUDA stream on cpu>", 1: "<Legacy default CUDA stream on cpu>"}
        return names.get(self.handle, f"<CUDA stream {self.handle} on cpu>")

    def synchronize(self) -> None:
        """Waits until everything on the stream is done."""
        _devices.synchronize()

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Waits at the end of the block."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any = None) -> None:
        """Calls `callback(stream, status, arg)` when what is on the stream now is done."""
        callback(self, 0, arg)

    def async_done(self) -> Any:
        """A future of asyncio that is done when what is on the stream now is done."""
        import asyncio

        future = asyncio.get_running_loop().create_future()
        future.set_result(self)
        return future


_next_handle = 16


def stream() -> Stream:
    """A new stream."""
    global _next_handle
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
    return Stream(2)


def external_stream(ptr: int) -> Stream:
    """A stream that another library made."""
    return Stream(ptr, is_external=True)


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
            from gridstride import _device

            self._event = _native.CudaEvent(ordinal, self.timing)
            self._event.record(_device.get_device(f"cuda:{ordinal}").stream)

    def synchronize(self) -> None:
        """Waits for the moment."""
        if self._event is not None:
            self._event.synchronize()

    def wait(self, stream: Any = 0) -> None:
        """Makes a stream wait for the moment."""

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
    yield
