"""Streams and events of CUDA devices. On the CPU every launch is done when it returns, and there are none.

A stream is a queue of work; streams made here are in order with the legacy default stream, which other libraries use.
As in Warp, asking the CPU for a stream or an event is an error, and scopes over no stream do nothing, so that programs
written as `wp.ScopedStream(stream if device.is_cuda else None)` run everywhere.
"""

from __future__ import annotations

from typing import Any

from gridstride import _native
from gridstride._device import Device, DeviceLike, ScopedDevice, get_device


def _cuda_device(device: DeviceLike) -> Device:
    found = get_device(device)
    if not found.is_cuda:
        raise RuntimeError(f"Device {found.alias} is not a CUDA device")
    return found


class Stream(_native.CudaStream):
    """A queue of work on a CUDA device. Raises `RuntimeError` for the CPU.

    Args:
        device: The device; None for the default one.
        priority: -1 goes before 0.
        cuda_stream: Handle of a stream that others made and keep alive.

    Attributes: `device`, `cuda_stream` (the handle), `priority`, `is_complete`, `is_capturing`.
    """

    device: Device

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **options: Any) -> Stream:
        found = _cuda_device(device)
        if not isinstance(priority, int):
            raise TypeError("Stream priority must be an integer.")
        handle = options.pop("cuda_stream", None)
        is_own, is_borrowed = options.pop("is_own", False), options.pop("is_borrowed", False)
        if options:
            raise TypeError(f"Stream() got an unexpected keyword argument `{next(iter(options))}`")
        self = super().__new__(cls, found.ordinal, max(-1, min(priority, 0)), _number(handle), is_own, is_borrowed)
        self.device = found
        return self

    @property
    def cuda_stream(self) -> int:
        """The driver's handle."""
        return self.handle

    @property
    def is_blocking(self) -> bool:
        """Whether it is in order with the legacy default stream: streams made here are."""
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """Marks the end of the work that is here now, with a new event where none is given."""
        if event is None:
            event = Event(self.device)
        elif event.device is not self.device:
            raise RuntimeError(f"Event from device {event.device} cannot be recorded on device {self.device}")
        event.record(self)
        return event

    def wait_stream(self, other_stream: Stream, event: Event | None = None) -> None:
        """Later work here waits for what is on the other stream now, of any device."""
        if event is None:
            super().wait_stream(other_stream)
        else:
            self.wait_event(other_stream.record_event(event))

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol of CUDA's Python libraries."""
        return (0, self.handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.handle, self.device) == (other.handle, other.device)

    def __hash__(self) -> int:
        return hash((self.handle, self.device))

    def __repr__(self) -> str:
        return f"<Stream {self.handle:#x} of {self.device}>"


def _number(handle: Any) -> int | None:
    return None if handle is None else int(getattr(handle, "value", handle) or 0)


class Event(_native.CudaEvent):
    """A point in a stream. Raises `RuntimeError` for the CPU.

    Args:
        device: The device; None for the default one.
        cuda_event: Handle of an event that others made and keep alive.
        enable_timing: Allows `get_event_elapsed_time`.
        interprocess: Allows `ipc_handle()`, which other processes make the same event of. Such events have no timing.

    Attributes: `device`, `cuda_event` (the handle), `is_complete`.
    """

    device: Device

    class Flags:
        """Warp's names of the driver's flags."""

        DEFAULT = 0x0
        BLOCKING_SYNC = 0x1
        DISABLE_TIMING = 0x2
        INTERPROCESS = 0x4

    def __new__(
        cls,
        device: DeviceLike = None,
        cuda_event: Any = None,
        enable_timing: bool = False,
        interprocess: bool = False,
        ipc_handle: bytes | None = None,
    ) -> Event:
        found = _cuda_device(device)
        if interprocess and enable_timing:
            raise ValueError("events of several processes have no timing: give `interprocess` or `enable_timing` alone")
        self = super().__new__(cls, found.ordinal, enable_timing, False, _number(cuda_event), interprocess, ipc_handle)
        self.device = found
        self.enable_timing = enable_timing
        return self

    @property
    def cuda_event(self) -> int:
        """The driver's handle."""
        return self.handle


class ScopedStream:
    """Makes a stream, and its device, current within a `with` block; None leaves all as it is.

    With `sync_enter` the stream waits for what the current one has to do, with `sync_exit` the other way round.
    """

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False) -> None:
        self.stream = stream
        self.sync_enter = sync_enter
        self.sync_exit = sync_exit
        if stream is not None:
            self.device = stream.device
            self._scope = ScopedDevice(self.device)
            self._saved: list[Stream] = []

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self._scope.__enter__()
            self._saved.append(self.device.stream)
            self.device.set_stream(self.stream, self.sync_enter)
        return self.stream

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.device.set_stream(self._saved.pop(), self.sync_exit)
            self._scope.__exit__(*error)


def get_stream(device: DeviceLike = None) -> Stream:
    """The current stream of a CUDA device. Raises `RuntimeError` for the CPU."""
    return _cuda_device(device).stream


def set_stream(stream: Stream, device: DeviceLike = None, sync: bool = False) -> None:
    """Makes a stream current on its CUDA device; with `sync` it waits for the one before."""
    target = stream.device if stream is not None and device is None else _cuda_device(device)
    target.set_stream(stream, sync)


def wait_stream(other_stream: Stream, event: Event | None = None) -> None:
    """Makes the current stream of the default device wait for another."""
    get_stream().wait_stream(other_stream, event)


def record_event(event: Event | None = None) -> Event:
    """Records an event in the current stream of its device."""
    return get_stream(None if event is None else event.device).record_event(event)


def wait_event(event: Event) -> None:
    """Makes the current stream of the default device wait for an event."""
    get_stream().wait_event(event)


def synchronize_stream(stream_or_device: Any = None) -> None:
    """Waits for a stream, or the current one of a device; there is nothing to wait for on the CPU."""
    if isinstance(stream_or_device, Stream):
        stream_or_device.synchronize()
    elif get_device(stream_or_device).is_cuda:
        get_device(stream_or_device).stream.synchronize()


def synchronize_event(event: Event) -> None:
    """Waits for an event."""
    event.synchronize()


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events made with `enable_timing=True`. Waits for the second unless told not to."""
    for event in (start_event, end_event):
        if not event.enable_timing:
            raise RuntimeError("time is measured between events made with enable_timing=True")
    if synchronize:
        end_event.synchronize()
    return start_event.elapsed(end_event)
