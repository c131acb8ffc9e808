"""Counts of what kernels allocate, as `rtsys` of Numba's gives them.

An array that a kernel makes is memory of its thread, which lives as long as the thread: nothing is allocated or freed
while kernels run, and every count is 0.
"""

from __future__ import annotations

from collections import namedtuple

Stats = namedtuple("Stats", ["alloc", "free", "mi_alloc", "mi_free"])


class _Runtime:
    """`rtsys`."""

    _is_counting = False

    def memsys_enable_stats(self, stream: object = None) -> None:
        """Starts counting."""
        self._is_counting = True

    def memsys_disable_stats(self, stream: object = None) -> None:
        """Stops counting."""
        self._is_counting = False

    def memsys_stats_enabled(self, stream: object = None) -> bool:
        """Whether anything is counted."""
        return self._is_counting

    def get_allocation_stats(self, stream: object = None) -> Stats:
        """What was allocated and freed. Raises `RuntimeError` unless counting was started."""
        if not self._is_counting:
            raise RuntimeError("NRT stats are disabled.")
        return Stats(0, 0, 0, 0)


rtsys = _Runtime()
