"""Source text of kernels: files, notebook cells and text given to `exec`.

The compiler calls `text` with a function's file name and the globals of its module.
"""

from __future__ import annotations

import linecache
from typing import Any

_remembered: dict[str, list[str]] = {}


def remember(filename: str, module_globals: dict[str, Any] | None) -> None:
    """Keeps a file's text as it is when a kernel of it is made: it may change, or go, before it is compiled."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if lines:
        _remembered[filename] = lines


def text(filename: str, module_globals: dict[str, Any] | None = None) -> str | None:
    """The whole text that a code object was made from, or None where it is not known.

    `linecache` knows notebook cells, doctests and modules whose loader has `get_source` (zip files).
    """
    lines = _remembered.get(filename) or linecache.getlines(filename, module_globals)
    if lines:
        return "".join(lines)
    try:
        with open(filename, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def register(filename: str, source: str) -> None:
    """Makes the text of a generated function known under a made-up file name."""
    # No modification time: `checkcache` must keep the entry.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
