"""What a call of a kernel function from Python gives.

In: what the interpreter gave, and the arguments. Out: host values; an array that was an argument is that argument.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from typing import Any

from gridstride import _mapped, _struct, _types


def is_of_python(mistake: Any) -> bool:
    """Whether a function is refused because it calls one of Python's own, such as `repr`, which Python can run."""
    found = re.search(r"there is no function `(\w+)` in kernels", mistake[1])
    return found is not None and hasattr(builtins, found[1])


def result(found: Any, args: Sequence[Any]) -> Any:
    """The host value of a function's result: an array that is one of the arguments is that argument itself."""
    ty, raw = found
    if ty.kind not in ("array", "struct"):
        return _types.result(found)
    for arg in args:
        if _mapped.is_array(arg) and arg.__gs_type__ == ty:
            given = _struct.descriptor(arg, ty.rank) if ty.kind == "array" else arg.__gs_bytes__()
            if given == raw:
                return arg
    if ty.kind == "struct":
        return _types.result(found)
    view = _struct.array_from_descriptor(raw, ty)
    if view is not None:
        # What it looks into is an argument's memory.
        view._keep = args
    return view
