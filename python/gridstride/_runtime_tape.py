"""The tape that records at the moment, apart from `_tape` so that a launch can look without importing it."""

from __future__ import annotations

from typing import Any

active: Any = None
