"""`wp.config.verify_autograd_array_access`: names what is overwritten although a backward pass may read it.

In: the launches and copies that a tape records. Out: a warning for each that writes to an array which one before it has
read, with the names of array and kernel. Gradients are right all the same, since the tape copies such values before
they are gone; the warnings say where memory and time go (`Tape.saved_bytes`), and what `save_overwritten=False` would
refuse.

    >>> wp.config.verify_autograd_array_access = True
    >>> with wp.Tape():  # doctest: +SKIP
    ...     wp.launch(square, dim=3, inputs=[x], outputs=[y])
    ...     wp.launch(shift, dim=3, inputs=[x])
    Warp UserWarning: Array x passed to argument x in kernel shift at demo.py:7 is being written to but has already …
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from gridstride import _logger, _native

_HERE = os.path.dirname(__file__) + os.sep
_MAY = "This may corrupt gradient computation in the backward pass."


def mark_init(self: Any) -> None:
    """Forgets that the array was read."""
    self._is_read = False


def mark_read(self: Any) -> None:
    """Notes that something on a tape reads the array, and with it the arrays that it is a view of."""
    for one in _lineage(self):
        one._is_read = True


def mark_write(
    self: Any,
    arg_name: str | None = None,
    kernel_name: str | None = None,
    filename: str | None = None,
    lineno: int | None = None,
    operation: str | None = None,
) -> None:
    """Warns if something on a tape has read the array, or what it is a view of. The arguments name who writes."""
    if not any(one._is_read for one in _lineage(self)):
        return
    where = f" at {filename}:{lineno}" if filename is not None and lineno is not None else ""
    passed = by = ""
    if kernel_name is not None:
        passed = f" passed to argument {arg_name} in kernel {kernel_name}{where}"
    elif operation is not None:
        by = f" by {operation}{where}"
    _logger.log_warning(
        f"Array {self!r}{passed} is being written to{by} but has already been read from in a previous launch. {_MAY}"
    )


def launched(tape: _native.Tape, index: int, kernel: Any, args: Sequence[Any]) -> None:
    """A launch is on the tape now."""
    code = kernel.func.__code__
    filename, line = code.co_filename, code.co_firstlineno
    if filename.startswith(_HERE):
        # A copy or a fill: what asked for it has its say.
        return
    accesses = zip(kernel._annotations, args, tape._accesses(index), strict=True)
    for name, arg, (loads, writes, keeps) in accesses:
        if not isinstance(arg, _native.Array):
            continue
        if writes:
            mark_write(arg, name, kernel.key, filename, line)
            if keeps:
                _logger.log_warning(
                    f"Array passed to argument {name} in kernel {kernel.key} at {filename}:{line} is being written to "
                    f"after it has been read from within the same kernel. {_MAY}"
                )
        if loads:
            mark_read(arg)


def copied(dest: Any, src: Any) -> None:
    """A copy is about to go on the tape."""
    filename, line = _caller()
    mark_write(dest, filename=filename, lineno=line, operation="an array copy")
    mark_read(src)


def forget(entries: Sequence[Any]) -> None:
    """The backward pass over these entries is done, or never comes: what they read may be overwritten."""
    for entry in entries:
        for one in [*entry[2], *entry[3]] if isinstance(entry[0], str) else entry[3]:
            if isinstance(one, _native.Array):
                for read in _lineage(one):
                    read._is_read = False


def _lineage(one: Any) -> Iterator[Any]:
    """The array, and those that it is a view of."""
    while isinstance(one, _native.Array):
        yield one
        one = one._owner


def _caller() -> tuple[str | None, int | None]:
    """Where the program is, outside of the package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return (None, None) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
