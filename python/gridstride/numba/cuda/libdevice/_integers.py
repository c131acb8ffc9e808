"""Functions of integers. Unsigned ones take and give the bits of unsigned numbers."""

from __future__ import annotations

from typing import Any

from gridstride.numba.cuda._language import NAMES
from gridstride.numba.cuda.libdevice._declare import declare
from gridstride.numba.types import int32, int64, uint32, uint64


def _of_bits(name: str) -> Any:
    function: Any = NAMES[name]

    def one(x):  # type: ignore[no-untyped-def]
        return function(x)

    return one


for _name in ("brev", "clz", "ffs", "popc"):
    declare(_name, "i(i)")(_of_bits(_name))
    declare(f"{_name}ll", "l(l)" if _name == "brev" else "i(l)")(_of_bits(_name))


@declare("abs", "i(i)")
def abs_(x):  # type: ignore[no-untyped-def]
    return x if x >= 0 else -x


@declare("llabs", "l(l)")
def llabs(x):  # type: ignore[no-untyped-def]
    return x if x >= 0 else -x


@declare("max", "i(i,i)")
def max_(x, y):  # type: ignore[no-untyped-def]
    return max(x, y)


@declare("min", "i(i,i)")
def min_(x, y):  # type: ignore[no-untyped-def]
    return min(x, y)


@declare("llmax", "l(l,l)")
def llmax(x, y):  # type: ignore[no-untyped-def]
    return max(x, y)


@declare("llmin", "l(l,l)")
def llmin(x, y):  # type: ignore[no-untyped-def]
    return min(x, y)


@declare("umax", "i(i,i)")
def umax(x, y):  # type: ignore[no-untyped-def]
    return max(uint32(x), uint32(y))


@declare("umin", "i(i,i)")
def umin(x, y):  # type: ignore[no-untyped-def]
    return min(uint32(x), uint32(y))


@declare("ullmax", "l(l,l)")
def ullmax(x, y):  # type: ignore[no-untyped-def]
    return max(uint64(x), uint64(y))


@declare("ullmin", "l(l,l)")
def ullmin(x, y):  # type: ignore[no-untyped-def]
    return min(uint64(x), uint64(y))


# Means, rounded down and up, that do not overflow.
@declare("hadd", "i(i,i)")
def hadd(x, y):  # type: ignore[no-untyped-def]
    return (int64(x) + int64(y)) >> 1


@declare("rhadd", "i(i,i)")
def rhadd(x, y):  # type: ignore[no-untyped-def]
    return (int64(x) + int64(y) + 1) >> 1


@declare("uhadd", "i(i,i)")
def uhadd(x, y):  # type: ignore[no-untyped-def]
    return (int64(uint32(x)) + int64(uint32(y))) >> 1


@declare("urhadd", "i(i,i)")
def urhadd(x, y):  # type: ignore[no-untyped-def]
    return (int64(uint32(x)) + int64(uint32(y)) + 1) >> 1


# The low 32 bits of the product of the low 24 bits.
@declare("mul24", "i(i,i)")
def mul24(x, y):  # type: ignore[no-untyped-def]
    low_x, low_y = int32(int64(x) << 8) >> 8, int32(int64(y) << 8) >> 8
    return int64(low_x) * int64(low_y)


@declare("umul24", "i(i,i)")
def umul24(x, y):  # type: ignore[no-untyped-def]
    return int64(x & 0xFFFFFF) * int64(y & 0xFFFFFF)


@declare("mulhi", "i(i,i)")
def mulhi(x, y):  # type: ignore[no-untyped-def]
    return (int64(x) * int64(y)) >> 32


@declare("umulhi", "i(i,i)")
def umulhi(x, y):  # type: ignore[no-untyped-def]
    return (uint64(uint32(x)) * uint64(uint32(y))) >> uint64(32)


@declare("umul64hi", "l(l,l)")
def umul64hi(x, y):  # type: ignore[no-untyped-def]
    half, low = uint64(32), uint64(0xFFFFFFFF)
    a, b = uint64(x) >> half, uint64(x) & low
    c, d = uint64(y) >> half, uint64(y) & low
    middle = a * d + ((b * d) >> half)
    return a * c + (middle >> half) + ((b * c + (middle & low)) >> half)


@declare("mul64hi", "l(l,l)")
def mul64hi(x, y):  # type: ignore[no-untyped-def]
    # A negative number is 2^64 more among the unsigned ones.
    high = umul64hi(x, y)
    if x < 0:
        high -= y
    if y < 0:
        high -= x
    return high


# |x - y| + z
@declare("sad", "i(i,i,i)")
def sad(x, y, z):  # type: ignore[no-untyped-def]
    return abs(int64(x) - int64(y)) + int64(z)


@declare("usad", "i(i,i,i)")
def usad(x, y, z):  # type: ignore[no-untyped-def]
    return abs(int64(uint32(x)) - int64(uint32(y))) + int64(z)


# Four of the eight bytes of y and x, chosen by the low three bits of each digit of z.
@declare("byte_perm", "i(i,i,i)")
def byte_perm(x, y, z):  # type: ignore[no-untyped-def]
    both = (uint64(uint32(y)) << uint64(32)) | uint64(uint32(x))
    made = uint64(0)
    for k in range(4):
        chosen = uint64((z >> (4 * k)) & 7)
        made |= ((both >> (chosen * uint64(8))) & uint64(0xFF)) << uint64(8 * k)
    return made
