"""`warp._src.codegen`: the struct machinery and the errors by Warp's names."""

from __future__ import annotations

from typing import Any

from gridstride import WarpCodegenAttributeError as WarpCodegenAttributeError
from gridstride import WarpCodegenError as WarpCodegenError
from gridstride import WarpCodegenKeyError as WarpCodegenKeyError
from gridstride import WarpCodegenTypeError as WarpCodegenTypeError
from gridstride import WarpCodegenValueError as WarpCodegenValueError
from gridstride import struct as struct
from gridstride.compat.absent import attribute


def __getattr__(name: str) -> Any:
    return attribute("codegen", name)
