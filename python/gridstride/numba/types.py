"""Numba's types: scalars, arrays, tuples, records and signatures.

    >>> float32[:, ::1]
    array(float32, 2d, C)
    >>> void(float32[:], int32)
    (Array(float32, 1, 'A', False, aligned=True), int32) -> none

A type is called to convert a number, `float32(0.5)`, or with types to make a signature.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

import numpy as np


class Type:
    """A type of a kernel's values. Equal by name; `__gs_type__` is the compiler's form of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def key(self) -> Any:
        return self.name

    @property
    def __gs_type__(self) -> Any:
        from gridstride.numba import _dtypes

        return _dtypes.native(self)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and type(self) is type(other) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __call__(self, *args: Any) -> Any:
        """A signature that returns this type, or a host number converted to it."""
        if len(args) == 1 and not isinstance(args[0], Type):
            return self.cast_python_value(args[0])
        return Signature(self, args)

    def cast_python_value(self, value: Any) -> Any:
        raise TypeError(f"{value!r} cannot be converted to {self}")

    def __getitem__(self, index: Any) -> Array:
        """The type of arrays of this type: `[:]` with any strides, `[::1]` C-contiguous, `[::1, :]` Fortran."""
        slices = index if isinstance(index, builtins.tuple) else (index,)
        if not slices or not all(isinstance(one, slice) for one in slices):
            raise KeyError(f"can only index a type with slices, not {index!r}")
        steps = [one.step for one in slices]
        layout = "A"
        if steps[-1] == 1:
            layout = "C"
        elif steps[0] == 1:
            layout = "F"
        return Array(self, len(slices), layout)


class Number(Type):
    """A scalar that NumPy has too."""

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name)
        self.dtype = np.dtype(dtype)
        self.bitwidth = self.dtype.itemsize * 8

    def cast_python_value(self, value: Any) -> Any:
        return self.dtype.type(value)


class Boolean(Number):
    """`bool`."""


class Integer(Number):
    """An integer of 8 to 64 bits."""

    def __init__(self, name: str, dtype: Any) -> None:
        super().__init__(name, dtype)
        self.signed = self.dtype.kind == "i"

    @property
    def maxval(self) -> int:
        return int(np.iinfo(self.dtype).max)

    @property
    def minval(self) -> int:
        return int(np.iinfo(self.dtype).min)

    def cast_python_value(self, value: Any) -> Any:
        return np.array(value).astype(self.dtype)[()]


class Literal(Type):
    """A type that knows the one value it has."""

    literal_value: Any
    literal_type: Type


class IntegerLiteral(Literal, Integer):
    """An integer that a kernel's text says."""

    def __init__(self, value: int) -> None:
        base = int64 if -(2**63) <= value < 2**63 else uint64
        Integer.__init__(self, f"Literal[int]({value})", base.dtype)
        self.literal_value, self.literal_type = value, base


class Float(Number):
    """A floating-point number of 16 to 64 bits."""


class BFloat16(Float):
    """A float of 16 bits with float32's exponents. NumPy has none: to it such a number is two bytes."""

    def __init__(self) -> None:
        super().__init__("bfloat16", "V2")


class Complex(Number):
    """A complex number of two floats."""

    @property
    def underlying_float(self) -> Float:
        return float32 if self.bitwidth == 64 else float64


class NPDatetime(Number):
    """NumPy's `datetime64`: a count in a unit."""


class NPTimedelta(NPDatetime):
    """NumPy's `timedelta64`."""


class NoneType(Type):
    """What a kernel returns."""


class Array(Type):
    """Arrays of `dtype` with `ndim` dimensions. `layout` is "C", "F" or "A" (any strides)."""

    def __init__(self, dtype: Type, ndim: int, layout: str = "C", readonly: bool = False) -> None:
        self.dtype = dtype
        self.ndim = ndim
        self.layout = layout
        self.mutable = not readonly
        super().__init__(f"array({dtype}, {ndim}d, {layout}{', readonly' if readonly else ''})")

    def copy(self, dtype: Type | None = None, ndim: int | None = None, layout: str | None = None) -> Array:
        return Array(dtype or self.dtype, self.ndim if ndim is None else ndim, layout or self.layout)

    @property
    def is_c_contig(self) -> bool:
        return self.layout == "C"


class CPointer(Type):
    """The address of values of a type: an int when a kernel is launched, in a kernel an array without an end."""

    def __init__(self, dtype: Type) -> None:
        self.dtype = dtype
        super().__init__(f"{dtype}*")


class Optional(Type):
    """A value of a type, or None."""

    def __init__(self, ty: Type) -> None:
        self.type = ty.type if isinstance(ty, Optional) else ty
        super().__init__(f"OptionalType({self.type})")


class BaseTuple(Type):
    """Tuples."""

    types: tuple[Type, ...]

    @property
    def count(self) -> int:
        return len(self.types)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)


class Tuple(BaseTuple):
    """Tuples of given types."""

    def __init__(self, types: Any) -> None:
        self.types = builtins.tuple(types)
        super().__init__(f"Tuple({', '.join(map(str, self.types))})")


class UniTuple(BaseTuple):
    """Tuples of `count` values of one type."""

    def __init__(self, dtype: Type, count: int) -> None:
        self.dtype = dtype
        self.types = (dtype,) * count
        super().__init__(f"UniTuple({dtype} x {count})")


class Record(Type):
    """Records, as NumPy's structured dtypes. Made by `from_dtype`."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        # Records of `np.recarray` are the same.
        dtype = np.dtype((np.void, dtype)) if dtype.type is np.record else dtype
        self.dtype = dtype
        super().__init__(f"Record({dtype})")

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    def __len__(self) -> int:
        return len(self.dtype.names or ())


class CharSeq(Type):
    """Bytes of a constant count, as elements of arrays: NumPy's `S12`."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.dtype = np.dtype(f"S{count}")
        super().__init__(f"[char x {count}]")


class UnicodeCharSeq(CharSeq):
    """Text of a constant length, as elements of arrays: NumPy's `<U12`."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.dtype = np.dtype(f"U{count}")
        self.name = f"[unichr x {count}]"


class VectorType(Type):
    """`float32x4`: a few numbers of one type, `.x .y .z .w`. Can only be used in kernels."""

    def __init__(self, base: Number, count: int) -> None:
        self.base_type = base
        self.num_elements = count
        self.aliases: tuple[str, ...] = ()
        self.user_facing_object = self
        super().__init__(f"{base}x{count}")


class Dummy(Type):
    """A type that no value of a kernel has."""


class NumberClass(Dummy):
    """The type of a type that is passed to a kernel, `np.float32` for one: a constant of the kernel."""

    def __init__(self, instance_type: Type) -> None:
        super().__init__(f"class({instance_type.name})")
        self.instance_type = instance_type


class Signature:
    """Types of arguments and of the result."""

    def __init__(self, return_type: Any, args: Any, recvr: Any = None) -> None:
        self.return_type = return_type
        self.args = builtins.tuple(args)
        self.recvr = recvr

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature):
            return NotImplemented
        return self.args == other.args and self.return_type == other.return_type

    def __hash__(self) -> int:
        return hash((self.args, self.return_type))

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.args))}) -> {self.return_type}"

    def __iter__(self) -> Iterator[Type]:
        return iter(self.args)

    def __len__(self) -> int:
        return len(self.args)


def signature(return_type: Type, *args: Type, recvr: Any = None) -> Signature:
    """A signature of its result and arguments."""
    return Signature(return_type, args, recvr)


none = void = NoneType("none")
boolean = bool_ = bool = Boolean("bool", np.bool_)
int8, int16, int32, int64 = (Integer(f"int{n}", f"i{n // 8}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (Integer(f"uint{n}", f"u{n // 8}") for n in (8, 16, 32, 64))
float16, float32, float64 = (Float(f"float{n}", f"f{n // 8}") for n in (16, 32, 64))
bfloat16 = BFloat16()
complex64, complex128 = Complex("complex64", "c8"), Complex("complex128", "c16")
byte = uint8
char, uchar, short, ushort, intc, uintc = int8, uint8, int16, uint16, int32, uint32
int_ = intp = long_ = longlong = ssize_t = int64
uint = uintp = ulong = ulonglong = size_t = uint64
float_, double, half = float32, float64, float16
b1 = bool_
i1, i2, i4, i8 = int8, int16, int32, int64
u1, u2, u4, u8 = uint8, uint16, uint32, uint64
f2, f4, f8 = float16, float32, float64
c8, c16 = complex64, complex128
deferred_type = Dummy("deferred")
voidptr = CPointer(none)
slice2_type, slice3_type = Dummy("slice<a:b>"), Dummy("slice<a:b:c>")
pyobject = Dummy("pyobject")
unicode_type = string = Dummy("unicode_type")

NUMBERS: tuple[Number, ...] = (
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
)
number_domain = frozenset(NUMBERS)
integer_domain = frozenset(one for one in NUMBERS if isinstance(one, Integer))
real_domain = frozenset(one for one in NUMBERS if isinstance(one, Float))
complex_domain = frozenset(one for one in NUMBERS if isinstance(one, Complex))
signed_domain = frozenset(one for one in NUMBERS if isinstance(one, Integer) and one.signed)
unsigned_domain = integer_domain - signed_domain
