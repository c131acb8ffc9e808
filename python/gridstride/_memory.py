"""Where memory went: `wp.ScopedMemoryTracker` and `wp.print_memory_report`.

While a tracker is in force, or `wp.config.track_memory` is set, every allocation of an array is noted with its size,
the scope it happened in and the line of the program that asked for it, until it is freed.

    >>> with wp.ScopedMemoryTracker("setup", print=False) as tracker:
    ...     a = wp.zeros(100, dtype=float)
    >>> tracker.report()  # doctest: +SKIP
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
import weakref
from collections import Counter
from typing import IO, Any, NamedTuple

from gridstride import config

_PACKAGE = __name__.partition(".")[0]


class Allocation(NamedTuple):
    """A piece of memory: its size, what for, where and in which scope."""

    n_bytes: int
    label: str
    device: str
    site: str
    scope: str


class Ledger:
    """What was allocated since it was cleared."""

    def __init__(self) -> None:
        self.live: dict[int, Allocation] = {}
        self.n_total = 0
        self.total_bytes = 0
        self.current_bytes = 0
        self.peak_bytes = 0
        self.by_scope: Counter[str] = Counter()

    def add(self, key: int, allocation: Allocation) -> None:
        """Notes an allocation."""
        self.live[key] = allocation
        self.n_total += 1
        self.total_bytes += allocation.n_bytes
        self.current_bytes += allocation.n_bytes
        self.peak_bytes = max(self.peak_bytes, self.current_bytes)
        self.by_scope[allocation.scope] += allocation.n_bytes

    def remove(self, key: int) -> None:
        """Notes that one was freed."""
        with _lock:
            found = self.live.pop(key, None)
            if found is not None:
                self.current_bytes -= found.n_bytes

    def text(self, max_items: int = 10, by_time: bool = False) -> str:
        """The report: totals, then the largest (or latest) live allocations and the bytes of each scope."""
        with _lock:
            live, scopes = list(self.live.values()), self.by_scope.most_common()
            totals = (self.n_total, self.total_bytes, self.current_bytes, self.peak_bytes)
        shown = list(reversed(live)) if by_time else sorted(live, key=lambda one: -one.n_bytes)
        lines = ["Allocation Tracking Report", "=" * 26]
        lines.append(f"Total allocations: {totals[0]} ({_size(totals[1])})")
        lines.append(f"Live allocations:  {len(live)} ({_size(totals[2])})")
        lines.append(f"Peak:              {_size(totals[3])}")
        lines += ["", "Live:"] if live else []
        for one in shown[:max_items]:
            where = f" in {one.scope}" if one.scope else ""
            lines.append(f"  {_size(one.n_bytes):>10}  {one.label} on {one.device}{where}, {one.site}")
        lines += [f"  … and {len(live) - max_items} more"] * (len(live) > max_items)
        lines += ["", "Allocated by scope:"] if scopes else []
        lines += [f"  {_size(n_bytes):>10}  {scope or '(none)'}" for scope, n_bytes in scopes]
        return "\n".join(lines) + "\n"


_lock = threading.RLock()
_scopes = threading.local()
ledger = Ledger()
n_trackers = 0


def note(buffer: Any, n_bytes: int, label: str, device: str) -> None:
    """Notes an allocation that lives as long as `buffer`, where anyone asked for it."""
    if not n_trackers and not config.track_memory:
        return
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    site = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    scope = "/".join(getattr(_scopes, "names", ()))
    label += getattr(_scopes, "purpose", "")
    with _lock:
        weakref.finalize(buffer, ledger.remove, id(buffer)).atexit = False
        ledger.add(id(buffer), Allocation(n_bytes, label, device, site, scope))


def made_for(purpose: str) -> Any:
    """Decorates a function whose allocations are for something else than an array of the program's, "mesh": reports
    show it, in Warp's spelling. What it calls allocates for the same."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **options: Any) -> Any:
            before = getattr(_scopes, "purpose", "")
            _scopes.purpose = before or f" (native:{purpose})"
            try:
                return function(*args, **options)
            finally:
                _scopes.purpose = before

        return inner

    return decorate


def clear() -> None:
    """Forgets everything noted so far."""
    global ledger
    with _lock:
        ledger = Ledger()


class ScopedMemoryTracker:
    """Notes every allocation inside of a `with` block, and prints a report after it.

    Args:
        name: Of the scope; nested ones are named `outer/inner`.
        active: With False nothing happens.
        print: Print the report when the block ends.
        max_items: Live allocations that the report lists.
        sort: "size" or "time".
    """

    def __init__(
        self,
        name: str = "",
        active: bool = True,
        print: bool = True,  # noqa: A002 - Warp's name
        max_items: int = 10,
        sort: str = "size",
    ) -> None:
        if sort not in ("size", "time"):
            raise ValueError(f"a report is sorted by `size` or `time`, not {sort!r}")
        self.name, self.active, self.print = name, active, print
        self.max_items, self.sort = max_items, sort

    def __enter__(self) -> ScopedMemoryTracker:
        global n_trackers
        if self.active:
            with _lock:
                if not n_trackers and not config.track_memory:
                    clear()
                n_trackers += 1
            _scopes.names = [*getattr(_scopes, "names", ()), self.name]
        return self

    def __exit__(self, *error: object) -> None:
        global n_trackers
        if self.active:
            _scopes.names.pop()
            with _lock:
                n_trackers -= 1
            if self.print:
                self.report()

    def report(self, file: IO[str] | None = None) -> None:
        """Writes the report to a file, or to standard output."""
        (file or sys.stdout).write(ledger.text(self.max_items, self.sort == "time"))

    def clear(self) -> None:
        """Forgets everything noted so far."""
        clear()


def print_memory_report(max_items: int = 10, sort: str = "size", file: IO[str] | None = None) -> None:
    """Prints what is allocated. Raises `RuntimeError` where nobody tracks memory."""
    if not n_trackers and not config.track_memory:
        raise RuntimeError("memory is not tracked: use wp.ScopedMemoryTracker, or set wp.config.track_memory")
    builtins.print(ledger.text(max_items, sort == "time"), end="", file=file)


def _size(n_bytes: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:g} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024  # type: ignore[assignment]
    return f"{n_bytes:.1f} GiB"
