"""Messages of the library: `wp.set_logger` sends them elsewhere, `wp.config.log_level` says which are shown.

>>> class Quiet:
...     def debug(self, message): ...
...     def info(self, message): ...
...     def warning(self, message, category=None, stacklevel=1): ...
...     def error(self, message): ...
>>> with wp.ScopedLogger(Quiet()):
...     pass
"""

from __future__ import annotations

import linecache
import sys
import warnings
from typing import Any, Protocol, runtime_checkable

from gridstride import config

LOG_DEBUG = 10
LOG_INFO = 20
LOG_WARNING = 30
LOG_ERROR = 40


@runtime_checkable
class Logger(Protocol):
    """What takes messages: four methods."""

    def debug(self, message: str) -> None:
        """Takes a message about what the library does in detail."""

    def info(self, message: str) -> None:
        """Takes a message about what the library does."""

    def warning(self, message: str, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
        """Takes a warning; `stacklevel` is what `warnings.warn` needs to name the user's line."""

    def error(self, message: str) -> None:
        """Takes an error that is not raised."""


def _show_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    text = f"Warp {category.__name__}: {message}"
    if config.verbose_warnings:
        source = line or linecache.getline(filename, lineno)
        text += f" ({filename}:{lineno})" + (f"\n  {source.strip()}" if source else "")
    sys.stderr.write(text + "\n")


class LoggerBasic:
    """The logger in force at the start: to standard output and, for warnings and errors, standard error."""

    def debug(self, message: str) -> None:
        """Prints."""
        sys.stdout.write(message + "\n")

    def info(self, message: str) -> None:
        """Prints."""
        sys.stdout.write(message + "\n")

    def warning(self, message: str, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
        """Warns through `warnings`, so that its filters hold."""
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.warn(message, category, stacklevel=stacklevel)

    def error(self, message: str) -> None:
        """Prints to standard error."""
        sys.stderr.write(f"Warp Error: {message}\n")


_active: Logger = LoggerBasic()
# Pairs of category and text that were shown and are not to be repeated.
_warnings_seen: set[tuple[Any, str]] = set()


def set_logger(logger: Logger | None) -> None:
    """Sends messages to `logger`; None for the one in force at the start.

    Raises `TypeError` for an object without the four methods.
    """
    global _active
    if logger is None:
        logger = LoggerBasic()
    for name in ("debug", "info", "warning", "error"):
        if not callable(getattr(logger, name, None)):
            raise TypeError(f"a logger needs the method `{name}`, which {type(logger).__name__} lacks")
    _active = logger


def get_logger() -> Logger:
    """The logger in force."""
    return _active


def log_debug(message: str) -> None:
    """Tells the logger where `config.log_level` allows."""
    if config.log_level <= LOG_DEBUG:
        _active.debug(message)


def log_info(message: str) -> None:
    """Tells the logger where `config.log_level` allows."""
    if config.log_level <= LOG_INFO:
        _active.info(message)


def log_warning(message: str, category: type[Warning] | None = None, stacklevel: int = 1, once: bool = False) -> None:
    """Warns; deprecations, and what is to be said `once`, are not repeated."""
    if config.log_level > LOG_WARNING:
        return
    is_once = once or category is DeprecationWarning
    if is_once and (category, message) in _warnings_seen:
        return
    # The logger's own frame and this one lie between the user's line and `warnings.warn`.
    _active.warning(message, category=category, stacklevel=stacklevel + 2)
    if is_once:
        _warnings_seen.add((category, message))


def log_error(message: str) -> None:
    """Tells the logger, whatever the level."""
    _active.error(message)


class ScopedLogger:
    """Sends the messages of a `with` block to `logger`."""

    def __init__(self, logger: Logger | None) -> None:
        self.logger = logger

    def __enter__(self) -> ScopedLogger:
        self.saved = _active
        set_logger(self.logger)
        return self

    def __exit__(self, *error: object) -> None:
        global _active
        _active = self.saved


class ScopedLogLevel:
    """Sets `config.log_level` for a `with` block."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> ScopedLogLevel:
        self.saved = config.log_level
        config.log_level = self.level
        return self

    def __exit__(self, *error: object) -> None:
        config.log_level = self.saved
