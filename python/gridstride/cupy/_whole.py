"""Scans, sorts and selections of whole arrays on a GPU, by the kernels that `gridstride.utils` runs too.

In: arrays of one dimension without gaps. Out: new arrays of CuPy's style.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride import _array as _plain
from gridstride import _device
from gridstride._numpy import class_from_numpy
from gridstride._parallel import scan, select, sort
from gridstride.cupy import _array
from gridstride.numba.cuda import _devices

_I32, _I64, _U32 = (np.dtype(one) for one in (np.int32, np.int64, np.uint32))
# Places are counted in 32 bits.
_MOST = 1 << 31


def fits(array: Any) -> bool:
    """Whether it lies on a GPU, and is not too long."""
    return _devices.gpu() is not None and array.size < _MOST


def running_sums(a: Any, made: np.dtype[Any]) -> Any:
    """Running sums in a dtype of 4 or 8 bytes."""
    is_same = a._dtype == made and a.is_flat
    out = _array.fresh(made, a._shape) if is_same else a.astype(made, order="C")
    scan.scan(_seen(a if is_same else out), _seen(out), True, _here())
    return out


def order(a: Any) -> tuple[Any, Any]:
    """The elements in order, of a dtype that is not complex, and the places where they were; equal ones keep theirs."""
    n, dtype = a.size, a._dtype
    wide = {1: "4", 2: "4", 4: "4", 8: "8"}[dtype.itemsize]
    keys = _twice(a.astype(np.dtype(("u" if dtype.kind == "b" else dtype.kind) + wide)))
    kind = keys._dtype.kind
    places = _counted(2 * n)
    sort.sort_pairs(_seen(keys), _seen(places), n, range(8 * keys.itemsize), kind, _here())
    return keys[:n].astype(dtype), places[:n]


def order_of_rows(rows: Any) -> tuple[Any, Any]:
    """As `order`, for each row of a matrix: of all elements, then, since equal ones keep their places, by rows."""
    n_rows, n = rows._shape
    keys, places = order(rows.reshape(-1))
    if n_rows > 1:
        from gridstride.cupy import _indexing

        numbers, places = _twice(places // n), _twice(places)
        bits = range((n_rows - 1).bit_length())
        sort.sort_pairs(_seen(numbers), _seen(places), rows.size, bits, "u", _here())
        places = places[: rows.size]
        keys = _indexing.take(rows.reshape(-1), places, checked=False)
        places = places % n
    return keys.reshape(n_rows, n), places.astype(_I64).reshape(n_rows, n)


def selected(flags: Any, values: Any = None) -> Any:
    """The values whose flags are true, or the places of these flags."""
    n, device = flags.size, _here()
    seen = _seen(flags.view(np.uint8))
    counts = select.count(seen, n, device)
    total = int(counts[counts.size - 1 :].numpy()[0])
    out = _array.fresh(_I64 if values is None else values._dtype, (total,))
    if total:
        select.put(seen, counts, None if values is None else _seen(values), _seen(out), n, device)
    return out


def _here() -> Any:
    return _device.get_device(_devices.launch_device())


def _twice(a: Any) -> Any:
    """A copy with as much room behind it."""
    made = _array.fresh(a._dtype, (2 * a.size,))
    made[: a.size] = a.reshape(-1)
    return made


def _counted(n: int) -> Any:
    from gridstride.cupy import _creation

    return _creation.arange(n, dtype=_U32)


def _seen(a: Any) -> Any:
    """The same memory as an array of Warp's style."""
    return _plain.make(class_from_numpy(a._dtype), a.ptr, (a.size,), (a.itemsize,), a, a._place)
