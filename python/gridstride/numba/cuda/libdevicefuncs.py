"""`numba.cuda.libdevicefuncs`: the types of libdevice's functions.

>>> functions["__nv_frexp"]
(float64, [arg(name='x', ty=float64, is_ptr=False), arg(name='y', ty=int32, is_ptr=True)])
>>> create_signature(*functions["__nv_frexp"])
(float64) -> Tuple(float64, int32)
"""

from __future__ import annotations

from typing import NamedTuple

from gridstride.numba import types
from gridstride.numba.cuda import libdevice
from gridstride.numba.cuda.libdevice._declare import FUNCTIONS, TYPES


class arg(NamedTuple):
    """What a function takes; what C writes through a pointer is a part of its result here."""

    name: str
    ty: types.Type
    is_ptr: bool


def _declared(name: str, form: str) -> tuple[types.Type, list[arg]]:
    results, _, letters = form.rstrip(")").partition("(")
    given = [(TYPES[letter], False) for letter in letters.split(",")]
    writes_all = "sincos" in name
    written = results if writes_all else results[1:]
    given += [(TYPES[letter], True) for letter in written]
    named = [arg(name, ty, is_ptr) for name, (ty, is_ptr) in zip("xyzuv", given, strict=False)]
    return types.none if writes_all else TYPES[results[0]], named


def create_signature(retty: types.Type, args: list[arg]) -> types.Signature:
    """The signature by which kernels call a function."""
    results = [one.ty for one in args if one.is_ptr]
    if retty != types.none:
        results.insert(0, retty)
    result = types.Tuple(results) if len(results) > 1 else results[0]
    return types.Signature(result, [one.ty for one in args if not one.is_ptr])


dir(libdevice)
functions = {f"__nv_{name}": _declared(name, form) for name, (form, _) in sorted(FUNCTIONS.items())}
