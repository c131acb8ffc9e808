"""What programs ask on the host: which module an array is of, whether there is a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.cupy import _array


def get_array_module(*args: Any) -> Any:
    """This package where an argument is one of its arrays, else NumPy."""
    import gridstride.cupy

    return gridstride.cupy if any(isinstance(one, _array.ndarray) for one in args) else np


def is_available() -> bool:
    """Whether there is a device to run on: always, the CPU where there is no GPU."""
    return True


def isscalar(element: Any) -> bool:
    """Whether it is a number of the host's."""
    return bool(np.isscalar(element))
