"""Source text of kernels: files, notebook cells and text given to `exec`.

A function's text is taken when it becomes a kernel: its file may change, or go, before it is compiled. A file that was
changed between its import and the making of a kernel (in a factory that runs later) has text that is not the
function's: such a text must compile to the very code that the function has, or an earlier one is taken that does.

The compiler calls `text` with the Python function.
"""

from __future__ import annotations

import linecache
import time
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

_START = time.time()
# The lines of a file as `linecache` gave them last; every text of it that a kernel was made from, the newest last.
_lines: dict[str, list[str]] = {}
_versions: dict[str, list[str]] = {}
_codes: dict[str, dict[tuple[str, int], list[CodeType]]] = {}


def remember(function: FunctionType) -> None:
    """Keeps the text that a function was made from, as `text` gives it."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        return
    versions = _versions.setdefault(filename, [])
    if lines is not _lines.get(filename):
        _lines[filename] = lines
        newest = "".join(lines)
        # A text that comes back is the newest again.
        if newest in versions:
            versions.remove(newest)
        versions.append(newest)
    if len(versions) > 1 or _is_new(filename):
        fitting = (version for version in reversed(versions) if _fits(function, version))
        function.__gs_text__ = next(fitting, "")  # type: ignore[attr-defined]
    else:
        function.__gs_text__ = versions[-1]  # type: ignore[attr-defined]


def text(function: FunctionType) -> str | None:
    """The whole text of the file that a function was made from, or None where it is not known.

    `linecache` knows notebook cells, doctests and modules whose loader has `get_source` (zip files). Raises
    `ValueError` for a file that was changed since the function was made.
    """
    filename = function.__code__.co_filename
    found: str | None = getattr(function, "__gs_text__", None)
    if found == "":
        raise ValueError(f"{filename} was changed after it was imported: import it again")
    if found is not None:
        return found
    lines = linecache.getlines(filename, function.__globals__)
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


def _is_new(filename: str) -> bool:
    """Whether a file was written while this process ran; an older one is as it was imported."""
    entry = linecache.cache.get(filename)
    return entry is not None and len(entry) == 4 and entry[1] is not None and entry[1] >= _START


def _fits(function: FunctionType, source: str) -> bool:
    """Whether a text has the very code that a function has, at its line."""
    code = function.__code__
    loader = function.__globals__.get("__loader__")
    # Others compile the text in pieces, or change the code: pytest rewrites `assert`, for one.
    if type(loader) is not SourceFileLoader:
        return True
    if source not in _codes:
        try:
            module = compile(source, code.co_filename, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        found = _codes[source] = {}
        for one in _all_codes(module):
            found.setdefault((one.co_name, one.co_firstlineno), []).append(one)
    return code in _codes[source].get((code.co_name, code.co_firstlineno), [])


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all_codes(constant)
