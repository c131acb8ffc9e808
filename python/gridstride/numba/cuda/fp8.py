"""Floats of 8 bits: E5M2 and E4M3, and E8M0 for scales that are powers of two.

    >>> @cuda.jit
    ... def kernel(x, out):
    ...     small = fp8_e4m3(x[0])       # rounded to nearest even, and never infinite
    ...     out[0] = float32(small)

They are for conversions: numbers become them by calling the type, and they become numbers by calling a number's. The
functions `cvt_…` give and take their bits as C does, with a choice of what becomes of numbers that are too large.
"""

from __future__ import annotations

import enum
from typing import Any

from gridstride import _native
from gridstride.numba import types
from gridstride.numba.cuda._language import Builtin
from gridstride.numba.cuda.dispatcher import jit
from gridstride.numba.types import float64

_of: Any = Builtin("_fp8_of")
_scale_of: Any = Builtin("_e8m0_of")


class saturation_t(enum.IntEnum):
    """What becomes of numbers that are too large: infinity, or NaN where there is none; or the largest number."""

    NOSAT = 0
    SATFINITE = 1


class fp8_interpretation_t(enum.IntEnum):
    """Which of the types with a sign."""

    E4M3 = 0
    E5M2 = 1


class _Bits(types.Type):
    """A struct of one integer, by its compiler's type."""

    def __init__(self, name: str, field: str, scalar: str) -> None:
        super().__init__(name)
        self.__name__ = name
        self._native = _native.Type.struct(name, [(field, _native.Type.scalar(scalar))])

    @property
    def __gs_type__(self) -> Any:
        return self._native


fp8_e5m2, fp8_e4m3, fp8_e8m0 = (_Bits(name, "bits", "u8") for name in ("fp8_e5m2", "fp8_e4m3", "fp8_e8m0"))
bfloat16_raw = _Bits("bfloat16_raw", "x", "u16")


@jit(device=True)
def cvt_double_to_fp8(x, saturate, interpretation):
    return _of(float64(x), saturate == 1, 1 - interpretation)


@jit(device=True)
def cvt_float_to_fp8(x, saturate, interpretation):
    return _of(float64(x), saturate == 1, 1 - interpretation)


@jit(device=True)
def cvt_bfloat16raw_to_fp8(x, saturate, interpretation):
    return _of(_wide(x), saturate == 1, 1 - interpretation)


# Rounding: 0 to nearest is not one that scales have, 1 toward zero, 2 up.
@jit(device=True)
def cvt_double_to_e8m0(x, saturate, rounding):
    return _scale_of(float64(x), saturate == 1, rounding == 2)


@jit(device=True)
def cvt_float_to_e8m0(x, saturate, rounding):
    return _scale_of(float64(x), saturate == 1, rounding == 2)


@jit(device=True)
def cvt_bfloat16raw_to_e8m0(x, saturate, rounding):
    return _scale_of(_wide(x), saturate == 1, rounding == 2)


@jit(device=True)
def cvt_e8m0_to_bf16raw(x):
    if x == 0:
        return bfloat16_raw(0x40)
    return bfloat16_raw(0x7FFF if x == 255 else x << 7)


@jit(device=True)
def _wide(x):
    return float64(_float_of_bits(types.int32(types.uint32(x.x) << 16)))


_float_of_bits: Any = Builtin("_float_of_bits")
