"""Streams and events. They belong to CUDA devices: on the CPU every launch is done when it returns.

As in Warp, asking the CPU for a stream or an event is an error, and scopes over no stream do nothing, so that programs
written as `wp.ScopedStream(stream if device.is_cuda else None)` run everywhere.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gridstride._device import DeviceLike, get_device


def _refuse(device: DeviceLike) -> NoReturn:
    raise RuntimeError(f"Device {get_device(device).alias} is not a CUDA device")


class Stream:
    """A queue of work on a CUDA device. Raises `RuntimeError` for the CPU."""

    def __init__(self, device: DeviceLike = None, **options: Any) -> None:
        _refuse(device)


class Event:
    """A point in a stream. Raises `RuntimeError` for the CPU."""

    def __init__(self, device: DeviceLike = None, **options: Any) -> None:
        _refuse(device)


class ScopedStream:
    """Makes a stream current within a `with` block; None leaves all as it is."""

    def __init__(self, stream: Stream | None, sync_enter: bool = True, sync_exit: bool = False) -> None:
        self.stream = stream

    def __enter__(self) -> Stream | None:
        return self.stream

    def __exit__(self, *error: object) -> None:
        return None


def get_stream(device: DeviceLike = None) -> Stream:
    """The current stream of a CUDA device. Raises `RuntimeError` for the CPU."""
    _refuse(device)


def set_stream(stream: Stream, device: DeviceLike = None, sync: bool = False) -> None:
    """Makes a stream current on its CUDA device. Raises `RuntimeError` for the CPU."""
    _refuse(device)


def wait_stream(other_stream: Stream, event: Event | None = None) -> None:
    """Makes the current stream wait for another. Raises `RuntimeError` for the CPU."""
    _refuse(None)


def record_event(event: Event | None = None) -> Event:
    """Records an event in the current stream. Raises `RuntimeError` for the CPU."""
    _refuse(None)


def wait_event(event: Event) -> None:
    """Makes the current stream wait for an event. Raises `RuntimeError` for the CPU."""
    _refuse(None)


def synchronize_stream(stream_or_device: Any = None) -> None:
    """Waits for a stream; nothing to wait for on the CPU."""
    if not isinstance(stream_or_device, Stream):
        get_device(stream_or_device)


def synchronize_event(event: Event) -> None:
    """Waits for an event."""


def get_event_elapsed_time(start_event: Event, end_event: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events. Raises `RuntimeError` for the CPU."""
    _refuse(None)
