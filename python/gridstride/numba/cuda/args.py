"""Hints for host arrays that are passed to a kernel: `In(a)` is not copied back, `Out(a)` not copied in."""

from __future__ import annotations

from typing import Any


class ArgHint:
    """A host array and which ways it is copied."""

    copies_back = True

    def __init__(self, value: Any) -> None:
        self.value = value


class In(ArgHint):
    """Read by the kernel."""

    copies_back = False


class Out(ArgHint):
    """Written by the kernel."""


class InOut(ArgHint):
    """Read and written by the kernel."""


def wrap_arg(value: Any, default: Any = InOut) -> ArgHint:
    """An argument with its hint; `default` where it has none."""
    return value if isinstance(value, ArgHint) else default(value)
