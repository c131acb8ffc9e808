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


def ndim(a: Any) -> int:
    """The number of dimensions."""
    return int(np.ndim(a)) if not isinstance(a, _array.ndarray) else a.ndim


def shape(a: Any) -> tuple[int, ...]:
    """The extents."""
    return a.shape if isinstance(a, _array.ndarray) else np.shape(a)


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the extent of an axis."""
    found = shape(a)
    return int(np.prod(found, dtype=int)) if axis is None else found[axis]


def _types_of(values: Any) -> list[Any]:
    return [one.dtype if isinstance(one, _array.ndarray) else one for one in values]


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that operands have together."""
    return np.result_type(*_types_of(arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a conversion between dtypes is allowed."""
    return bool(np.can_cast(_types_of([from_])[0], to, casting))


def common_type(*arrays: Any) -> Any:
    """The inexact type that arrays have together."""
    return np.result_type(*_types_of(arrays), np.float16 if len(arrays) else float).type


def iscomplexobj(x: Any) -> bool:
    """Whether an array's dtype is complex."""
    return np.dtype(getattr(x, "dtype", type(x))).kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether an array's dtype is not complex."""
    return not iscomplexobj(x)


def isfortran(a: Any) -> bool:
    """Whether an array lies in Fortran's order and not in C's."""
    return bool(a.flags.f_contiguous and not a.flags.c_contiguous)


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays have an element's memory in common."""
    return bool(np.shares_memory(a._memory, b._memory, max_work))


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether the memory that two arrays span overlaps."""
    return bool(np.may_share_memory(a._memory, b._memory))


def array_repr(arr: Any, *args: Any, **options: Any) -> str:
    """The text of an array as an expression."""
    return np.array_repr(arr._host, *args, **options)


def array_str(a: Any, *args: Any, **options: Any) -> str:
    """The elements as text."""
    return np.array_str(a._host, *args, **options)


def array2string(a: Any, *args: Any, **options: Any) -> str:
    """The elements as text, by NumPy's options."""
    return np.array2string(a._host, *args, **options)


def load(file: Any, *args: Any, **options: Any) -> Any:
    """An array from a file of NumPy's; of several, NumPy's own object."""
    found = np.load(file, *args, **options)
    return _array.of_host(found) if isinstance(found, np.ndarray) else found


def save(file: Any, arr: Any, *args: Any, **options: Any) -> None:
    """Writes an array to a file that NumPy reads too."""
    np.save(file, arr.get(), *args, **options)


def savez(file: Any, *args: Any, **named: Any) -> None:
    """Writes arrays to a file that NumPy reads too."""
    np.savez(file, *(one.get() for one in args), **{name: one.get() for name, one in named.items()})


def _indices(name: str) -> Any:
    function = getattr(np, name)

    def indices(*args: Any, **options: Any) -> Any:
        return tuple(map(_array.of_host, function(*args, **options)))

    indices.__name__, indices.__doc__ = name, f"As `numpy.{name}`: indices made on the host."
    return indices


diag_indices, tril_indices, triu_indices = (_indices(one) for one in ("diag_indices", "tril_indices", "triu_indices"))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Arrays of indices that select a grid."""
    from gridstride.cupy import _interop, _reductions

    found = []
    for k, one in enumerate(args):
        one = _interop.asarray(one)
        one = _reductions.flatnonzero(one) if one.dtype.kind == "b" else one
        found.append(one.reshape((1,) * k + (-1,) + (1,) * (len(args) - k - 1)))
    return tuple(found)
