"""Frees that wait: what is not used any more, until there is enough of it to be worth freeing.

Within `cuda.defer_cleanup()` nothing is freed at all.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from gridstride.numba import config

#: So few bytes may always wait.
_SURELY_FEW = 1 << 16


class Pending:
    """What is to be freed. `len()` says how many there are."""

    def __init__(self, capacity: Callable[[], int] = lambda: 0) -> None:
        self._capacity = capacity
        self._waiting: deque[tuple[Callable[[Any], Any], Any, int]] = deque()
        self._size = 0
        self._n_deferring = 0

    @property
    def _max_pending_bytes(self) -> int:
        """`NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO` of the device's memory."""
        return int(self._capacity() * config.CUDA_DEALLOCS_RATIO)

    def add_item(self, dtor: Callable[[Any], Any], handle: Any, size: int = 0) -> None:
        """`dtor(handle)` is to free `size` bytes. Frees all that waits where that is more than the settings allow."""
        self._waiting.append((dtor, handle, size))
        self._size += size
        is_large = self._size > _SURELY_FEW and self._size > self._max_pending_bytes
        if len(self._waiting) > config.CUDA_DEALLOCS_COUNT or is_large:
            self.clear()

    def clear(self) -> None:
        """Frees what waits, unless that is deferred."""
        while not self._n_deferring:
            try:
                dtor, handle, size = self._waiting.popleft()
            except IndexError:
                # Other threads, and what a free lets go of, free too.
                return
            self._size -= size
            dtor(handle)

    @contextlib.contextmanager
    def disable(self) -> Iterator[None]:
        """Nothing is freed until the end of the block."""
        self._n_deferring += 1
        try:
            yield
        finally:
            self._n_deferring -= 1

    @property
    def is_disabled(self) -> bool:
        return self._n_deferring > 0

    def __len__(self) -> int:
        return len(self._waiting)
