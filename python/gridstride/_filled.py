"""One number where a vector, a matrix, a quaternion or a transform is expected: as a kernel's argument, or in a struct.

Python's numbers are refused there. Flags and NumPy's numbers fill all components, with a warning, as Warp has it:
`numpy.float32(2.0)` came out of an array of any shape, and programs rely on it.
"""

from __future__ import annotations

from typing import Any

from gridstride import _logger, _types


def filled(cls: Any, value: Any, place: str, stacklevel: int = 4) -> Any:
    """`cls` with all components `value`, where that is a flag or a number of NumPy's; else None.

    `place` is what the warning calls the target, "struct field 'v'".
    """
    is_flag = isinstance(value, (bool, _types.bool))
    if not is_flag and not (hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0):
        return None
    _logger.log_warning(
        f"a value of type `{type(value).__name__}` for the `{cls.__name__}` of {place} "
        "fills its components: this is deprecated, give all of them",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
    return cls(*[float(value)] * cls._length_)
