"""Kernels whose text is made while the program runs: reductions and functions over whole arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from gridstride import _source
from gridstride.numba.cuda import _language

_numbers = itertools.count()


def function(name: str, text: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function `name` of a text that may use the kernel language's names and those given."""
    file = f"<gridstride.numba {name} {next(_numbers)}>"
    _source.register(file, text)
    scope = {**_language.NAMES, "shared_array": _language.NAMES["shared"].array, **names}
    exec(compile(text, file, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made
