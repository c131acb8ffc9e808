"""Functions of elements that are no ufuncs of NumPy's: `where`, `clip`, `round`, `nan_to_num`, `interp` …"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridstride.cupy import _array, _creation, _elementwise, _fusion, _interop, _layout, _ufuncs
from gridstride.cupy._elementwise import BOOL, Body


@cache
def _where_body(dtype: np.dtype[Any]) -> Body:
    return Body("where", ["x1 if x0 else x2"], (BOOL, dtype, dtype), (dtype,))


def _common(values: list[Any]) -> np.dtype[Any]:
    """The dtype of several operands together, as NumPy promotes."""
    return np.result_type(*(one._dtype if isinstance(one, _array.ndarray) else one for one in values))


def _over_elements(body: Body, values: list[Any], out: Any = None) -> Any:
    """A body over arrays and numbers, which are stretched to one shape."""
    operands = [
        one if isinstance(one, _array.ndarray) else _elementwise.number(one, dtype)
        for one, dtype in zip(values, body.inputs, strict=True)
    ]
    shape = _layout.broadcast([one._shape for one in operands if isinstance(one, _array.ndarray)])
    if out is None:
        out = _array.fresh(body.outputs[0], shape)
    elif out._shape != shape:
        raise ValueError(f"`out` must have shape {shape}, not {out._shape}")
    operands = [_ufuncs._apart(one, (out,)) for one in operands]
    _elementwise.run(body, operands, (out,))
    return out


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where a condition holds, else `y`; with the condition alone, the indices of what is true."""
    if x is None and y is None:
        from gridstride.cupy import _reductions

        return _reductions.nonzero(_interop.asarray(condition))
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    if _fusion.has_stand((condition, x, y)):
        return _fusion.where(condition, x, y)
    condition = _interop.asarray(condition)
    if condition._dtype != BOOL:
        condition = condition != 0
    values = [_ufuncs.operand(_interop.asarray(one) if isinstance(one, list | np.ndarray) else one) for one in (x, y)]
    return _over_elements(_where_body(_common(values)), [condition, *values])


def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Elements within bounds; a bound of None is none, and so is an int beyond the numbers of the array's type."""
    a = _interop.asarray(a)
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if type(low) is int and a._dtype.kind in "iu" and low < np.iinfo(a._dtype).min:
        low = None
    if type(high) is int and a._dtype.kind in "iu" and high > np.iinfo(a._dtype).max:
        high = None
    if low is None and high is None:
        found = a.copy()
    elif low is None:
        return _ufuncs.ALL["minimum"](a, _bound(high), out=out)
    elif high is None:
        return _ufuncs.ALL["maximum"](a, _bound(low), out=out)
    else:
        values = [a, _ufuncs.operand(_bound(low)), _ufuncs.operand(_bound(high))]
        return _over_elements(_clip_body(_common(values)), values, out)
    if out is not None:
        _creation.copyto(out, found)
        return out
    return found


def _bound(value: Any) -> Any:
    return _interop.asarray(value) if isinstance(value, list | np.ndarray) else value


@cache
def _clip_body(dtype: np.dtype[Any]) -> Body:
    from gridstride.cupy import _ufunc_functions, _ufunc_table

    kind = dtype.kind if dtype.kind != "b" else "i"
    low = _ufunc_table.results("maximum", kind)[0]
    high = _ufunc_table.results("minimum", kind)[0].replace("x0", "y").replace("x1", "x2")
    names = _ufunc_functions.functions()
    return Body("clip", [high], (dtype,) * 3, (dtype,), [f"y = {low}"], names)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Rounded to decimals, halves to even."""
    a = _interop.asarray(a)
    if a._dtype.kind == "b":
        a = a.astype(np.float16)
    if a._dtype.kind in "iu":
        if decimals >= 0:
            found = a.copy()
        else:
            ten = 10**-decimals
            half = _ufuncs.ALL["divide"](a, ten)
            found = (_ufuncs.ALL["rint"](half) * ten).astype(a._dtype)
    elif decimals == 0:
        return _ufuncs.ALL["rint"](a, out=out)
    elif decimals > 0:
        found = _ufuncs.ALL["rint"](a * 10.0**decimals) / 10.0**decimals
    else:
        found = _ufuncs.ALL["rint"](a / 10.0**-decimals) * 10.0**-decimals
    if out is not None:
        _creation.copyto(out, found, "unsafe")
        return out
    return found


around = round


def fix(x: Any, out: Any = None) -> Any:
    """Rounded towards zero."""
    return _ufuncs.ALL["trunc"](x, out=out)


def angle(z: Any, deg: bool = False) -> Any:
    """The angle of a complex number with the positive axis."""
    z = _interop.asarray(z)
    if z._dtype.kind == "c":
        found = _ufuncs.ALL["arctan2"](z.imag, z.real)
    else:
        found = _ufuncs.ALL["arctan2"](_creation.zeros((), float if z._dtype.kind == "b" else z._dtype), z)
    return _ufuncs.ALL["degrees"](found) if deg else found


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), and 1 at 0."""
    y = np.pi * _interop.asarray(x)
    return where(y == 0, 1.0, _ufuncs.ALL["sin"](y) / y).astype(y._dtype, copy=False)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaNs and infinities replaced by numbers."""
    x = _interop.asarray(x)
    if x._dtype.kind == "c":
        made = x.copy() if copy else x
        made.real = nan_to_num(x.real, True, nan, posinf, neginf)
        made.imag = nan_to_num(x.imag, True, nan, posinf, neginf)
        return made
    if x._dtype.kind != "f":
        return x.copy() if copy else x
    limits = np.finfo(x._dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    return _over_elements(_finite_body(x._dtype), [x, nan, high, low], None if copy else x)


@cache
def _finite_body(dtype: np.dtype[Any]) -> Body:
    text = "x1 if x0 != x0 else (x0 if np.isfinite(x0) else (x2 if x0 > 0 else x3))"
    return Body("nan_to_num", [text], (dtype,) * 4, (dtype,))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements are equal within |a - b| <= atol + rtol |b|."""
    values = [_ufuncs.operand(_bound(one)) for one in (a, b)]
    dtype = np.result_type(_common(values), np.float32 if _common(values).itemsize < 4 else np.float64)
    dtype = dtype if dtype.kind == "c" else np.dtype(np.float64)
    arrays = [one if isinstance(one, _array.ndarray) else _creation.full((), one, dtype) for one in values]
    return _over_elements(_close_body(dtype, bool(equal_nan)), [*arrays, float(rtol), float(atol)])


@cache
def _close_body(dtype: np.dtype[Any], equal_nan: bool) -> Body:
    f8 = np.dtype(np.float64)
    finite = "np.isfinite(x0.real) and np.isfinite(x0.imag) and np.isfinite(x1.real) and np.isfinite(x1.imag)"
    finite = finite if dtype.kind == "c" else "np.isfinite(x0) and np.isfinite(x1)"
    text = f"abs(x0 - x1) <= x3 + x2 * abs(x1) if {finite} else x0 == x1"
    if equal_nan:
        text = f"({text}) or (x0 != x0 and x1 != x1)"
    return Body("isclose", [text], (dtype, dtype, f8, f8), (BOOL,))


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether all elements are equal within a tolerance: an array of one bool."""
    return isclose(a, b, rtol, atol, equal_nan).all()


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and elements: an array of one bool."""
    a, b = _interop.asarray(a1), _interop.asarray(a2)
    if a._shape != b._shape:
        return _creation.array(False)
    same = a == b
    return (same | ((a != a) & (b != b))).all() if equal_nan else same.all()


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays have the same elements once they are stretched to one shape."""
    a, b = _interop.asarray(a1), _interop.asarray(a2)
    try:
        return (a == b).all()
    except ValueError:
        return _creation.array(False)
