"""Conversions between numbers, and between numbers and their bits.

To integers numbers are rounded as the name says, saturate, and NaN gives 0, of 64 bits the lowest number, as the
instructions of GPUs do. To floats the integer is split into two float64s that are exact.
"""

from __future__ import annotations

from typing import Any

from gridstride.numba.cuda.libdevice._declare import bits, ceil, declare, device, float_of_bits, floor, rint, trunc
from gridstride.numba.cuda.libdevice._rounding import MODES, _sum, to_float
from gridstride.numba.types import float16, float32, float64, int32, int64, uint32, uint64

_WHOLE: dict[str, Any] = {"rn": rint, "rd": floor, "ru": ceil, "rz": trunc}
_TARGETS: list[tuple[str, str, Any]] = [
    ("int", "i", int32),
    ("uint", "i", uint32),
    ("ll", "l", int64),
    ("ull", "l", uint64),
]


def _to_integer(whole: Any, to: Any) -> Any:
    is_wide = to.bitwidth == 64

    def converted(x):  # type: ignore[no-untyped-def]
        if is_wide and x != x:
            return int64(-9223372036854775808)
        return int64(to(whole(x)))

    return converted


for _mode, _whole in _WHOLE.items():
    for _name, _letter, _to in _TARGETS:
        declare(f"double2{_name}_{_mode}", f"{_letter}(d)")(_to_integer(_whole, _to))
        declare(f"float2{_name}_{_mode}", f"{_letter}(f)")(_to_integer(_whole, _to))


# An integer as a float64 and what is left of it.
@device
def _parts(x):  # type: ignore[no-untyped-def]
    return _sum(float64(int64(x) >> 32) * 4294967296.0, float64(int64(x) & 0xFFFFFFFF))


@device
def _unsigned_parts(x):  # type: ignore[no-untyped-def]
    return _sum(float64(uint64(x) >> uint64(32)) * 4294967296.0, float64(int64(x) & 0xFFFFFFFF))


def _declare_mode(mode: str) -> None:
    chosen, to = MODES[mode], to_float(mode)

    @declare(f"int2float_{mode}", "f(i)")
    def int2float(x):  # type: ignore[no-untyped-def]
        return to(float64(x), 0.0)

    @declare(f"uint2float_{mode}", "f(i)")
    def uint2float(x):  # type: ignore[no-untyped-def]
        return to(float64(uint32(x)), 0.0)

    @declare(f"ll2float_{mode}", "f(l)")
    def ll2float(x):  # type: ignore[no-untyped-def]
        s, left = _parts(x)
        return to(s, left)

    @declare(f"ull2float_{mode}", "f(l)")
    def ull2float(x):  # type: ignore[no-untyped-def]
        s, left = _unsigned_parts(x)
        return to(s, left)

    @declare(f"ll2double_{mode}", "d(l)")
    def ll2double(x):  # type: ignore[no-untyped-def]
        s, left = _parts(x)
        return chosen(s, left)

    @declare(f"ull2double_{mode}", "d(l)")
    def ull2double(x):  # type: ignore[no-untyped-def]
        s, left = _unsigned_parts(x)
        return chosen(s, left)

    @declare(f"double2float_{mode}", "f(d)")
    def double2float(x):  # type: ignore[no-untyped-def]
        return to(x, 0.0)


for _mode in MODES:
    _declare_mode(_mode)


@declare("int2double_rn", "d(i)")
def int2double_rn(x):  # type: ignore[no-untyped-def]
    return float64(x)


@declare("uint2double_rn", "d(i)")
def uint2double_rn(x):  # type: ignore[no-untyped-def]
    return float64(uint32(x))


@declare("double_as_longlong", "l(d)")
def double_as_longlong(x):  # type: ignore[no-untyped-def]
    return bits(x)


@declare("longlong_as_double", "d(l)")
def longlong_as_double(x):  # type: ignore[no-untyped-def]
    return float_of_bits(x)


@declare("float_as_int", "i(f)")
def float_as_int(x):  # type: ignore[no-untyped-def]
    return bits(x)


@declare("int_as_float", "f(i)")
def int_as_float(x):  # type: ignore[no-untyped-def]
    return float_of_bits(x)


@declare("double2hiint", "i(d)")
def double2hiint(x):  # type: ignore[no-untyped-def]
    return bits(x) >> 32


@declare("double2loint", "i(d)")
def double2loint(x):  # type: ignore[no-untyped-def]
    return bits(x)


@declare("hiloint2double", "d(i,i)")
def hiloint2double(x, y):  # type: ignore[no-untyped-def]
    return float_of_bits((int64(x) << 32) | int64(uint32(y)))


# A half float is passed by its bits.
@declare("float2half_rn", "h(f)")
def float2half_rn(x):  # type: ignore[no-untyped-def]
    return bits(float16(x))


@declare("half2float", "f(h)")
def half2float(x):  # type: ignore[no-untyped-def]
    return float32(float_of_bits(x))
