"""`wp.ScopedTimer`: how long a `with` block took.

>>> with wp.ScopedTimer("simulate", print=False) as timer:
...     pass
>>> timer.elapsed >= 0.0
True
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gridstride import _device, _runtime_tape

_print = print


def cuda_profiler_start(device: _device.DeviceLike = None) -> None:
    """Accepted for compatibility: a profiler of NVIDIA's records from its own start."""


def cuda_profiler_stop(device: _device.DeviceLike = None) -> None:
    """Accepted for compatibility."""


class ScopedCudaProfiler:
    """Accepted for compatibility: a `with` block that NVIDIA's profilers record as they do everything."""

    def __init__(self, device: _device.DeviceLike = None) -> None:
        self.device = _device.get_device(device)

    def __enter__(self) -> ScopedCudaProfiler:
        cuda_profiler_start(self.device)
        return self

    def __exit__(self, *error: object) -> None:
        cuda_profiler_stop(self.device)


class ScopedTimer:
    """Measures and prints the time of a `with` block, nested ones indented.

    Args:
        name: Shown before the time.
        active: With False nothing happens.
        print: Print the time when the block ends.
        detailed: Print a profile by function too.
        dict: A dict of lists; the time in milliseconds is appended under `name`.
        use_nvtx, color, cuda_filter: Accepted for compatibility.
        skip_tape: Do not mark the block on a tape that records.
        synchronize: Wait for the devices at both ends.
        report_func: Called with (results, "    " of the nesting) instead of printing results of device activities.

    Attributes: `elapsed`, in milliseconds, after the block.
    """

    enabled = True
    indent = -1

    def __init__(
        self,
        name: str,
        active: bool = True,
        print: bool = True,  # noqa: A002 - Warp's name
        detailed: bool = False,
        dict: dict[str, list[float]] | None = None,  # noqa: A002 - Warp's name
        use_nvtx: bool = False,
        color: Any = "rapids",
        synchronize: bool = False,
        cuda_filter: int = 0,
        report_func: Callable[[Any, str], None] | None = None,
        skip_tape: bool = False,
    ) -> None:
        self.name = name
        self.active = active and self.enabled
        self.skip_tape = skip_tape
        self.print = print
        self.detailed = detailed
        self.dict = dict
        self.synchronize = synchronize
        self.report_func = report_func
        self.elapsed = 0.0
        self.timing_results: list[Any] = []
        self.extra_msg = ""
        if dict is not None:
            dict.setdefault(name, [])

    def __enter__(self) -> ScopedTimer:
        if self.active:
            self._profile = None
            if self.detailed:
                import cProfile
                import pstats  # noqa: F401 - so that its import is not profiled

                self._profile = cProfile.Profile()
                self._profile.enable()
            if not self.skip_tape and _runtime_tape.active is not None:
                _runtime_tape.active.record_scope_begin(self.name)
            ScopedTimer.indent += 1
            self._wait()
            self.start = time.perf_counter_ns()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.active:
            return
        if not self.skip_tape and _runtime_tape.active is not None:
            _runtime_tape.active.record_scope_end()
        self.elapsed = (time.perf_counter_ns() - self.start) / 1e6
        indent = "    " * ScopedTimer.indent
        ScopedTimer.indent -= 1
        if self._profile is not None:
            import pstats

            self._profile.disable()
            pstats.Stats(self._profile).sort_stats("cumulative").print_stats()
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        if self.print:
            _print(f"{indent}{self.name} took {self.elapsed:.2f} ms {self.extra_msg}".rstrip())
        if self.report_func is not None:
            self.report_func(self.timing_results, indent)

    def _wait(self) -> None:
        if self.synchronize:
            _device.synchronize()
