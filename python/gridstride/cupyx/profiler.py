"""`cupyx.profiler`: how long a function takes, on the host and on the device.

>>> print(benchmark(f, (x,), n_repeat=100))  # doctest: +SKIP
f                   :    CPU:    12.204 us   +/-  0.912 (min:    11.533 / max:    19.101) us     GPU-0: …
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gridstride.cupy import cuda
from gridstride.numba.cuda import _devices


class _PerfCaseResult:
    """Times of a benchmark in seconds: `cpu_times` of each call, `gpu_times` of its work, a row for each device.

    On the CPU device the work is done when the call returns: `gpu_times` says the time until then.
    """

    def __init__(self, name: str, ts: np.ndarray[Any, Any], devices: tuple[int, ...]) -> None:
        self.name, self._ts, self._devices = name, ts, devices

    @property
    def cpu_times(self) -> np.ndarray[Any, Any]:
        return self._ts[0]

    @property
    def gpu_times(self) -> np.ndarray[Any, Any]:
        return self._ts[1:]

    @staticmethod
    def _shown(times: np.ndarray[Any, Any]) -> str:
        micro = times * 1e6
        text = f"{micro.mean():9.3f} us"
        if micro.size > 1:
            text += f"   +/- {micro.std():6.3f} (min: {micro.min():9.3f} / max: {micro.max():9.3f}) us"
        return text

    def to_str(self, show_gpu: bool = False) -> str:
        """The times in one line."""
        text = f"{self.name:<20s}:    CPU: {self._shown(self.cpu_times)}"
        if show_gpu:
            for device, times in zip(self._devices, self.gpu_times, strict=True):
                text += f"     GPU-{device}: {self._shown(times)}"
        return text

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def benchmark(
    func: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: Any = None,
) -> _PerfCaseResult:
    """Times calls of a function: `n_warmup` that do not count, then `n_repeat`, or as many as `max_duration` seconds
    allow."""
    if not callable(func):
        raise ValueError("`func` should be a callable object.")
    if not isinstance(args, tuple):
        raise ValueError("`args` should be of tuple type.")
    kwargs = kwargs or {}
    name = name or getattr(func, "__name__", type(func).__name__)
    for _ in range(n_warmup):
        func(*args, **kwargs)
    cuda.Device().synchronize()
    on_host, on_device = [], []
    first, last = cuda.Event(), cuda.Event()
    total = 0.0
    for _ in range(n_repeat):
        first.record()
        start = time.perf_counter()
        func(*args, **kwargs)
        on_host.append(time.perf_counter() - start)
        last.record()
        last.synchronize()
        on_device.append(cuda.get_elapsed_time(first, last) * 1e-3)
        total += time.perf_counter() - start
        if total > max_duration:
            break
    return _PerfCaseResult(name, np.array([on_host, on_device]), (_devices.gpu() or 0,))


@contextlib.contextmanager
def time_range(message: Any = None, color_id: Any = None, argb_color: Any = None, sync: bool = False) -> Iterator[None]:
    """Accepted: names a block for a profiler of NVIDIA's, of which no library is used."""
    yield
    if sync:
        cuda.Device().synchronize()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Lets a profiler that waits for it collect for a block."""
    with _devices.profiling():
        yield
