"""The tape that records at the moment, apart from `_tape` so that a launch can look without importing it."""

from __future__ import annotations

import weakref
from typing import Any

active: Any = None
# All meshes that there are, by their ids: kernels find their arrays without a tape's seeing them.
meshes: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
