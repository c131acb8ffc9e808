"""Scalar types of the kernel language, generic annotations, and the translation of annotations for the compiler.

In: what a user writes as an annotation or `dtype=` (`float`, `wp.vec3`, `np.float32`, `typing.Any`, a struct class).
Out: the class that stands for it on the host, and its `_native.Type` or pattern tuple.

A pattern tuple is an open type: ("any",) ("scalar",) ("float",) ("int",) ("callable",) ("vector", elem, n|None)
("matrix", elem, rows|None, cols|None) ("quat", elem) ("transform", elem) ("array", elem, rank) ("tuple", items…).

    >>> import gridstride as wp
    >>> wp.uint8(300)
    uint8(44)
"""

from __future__ import annotations

import builtins
import collections.abc
import ctypes
import enum
import operator
import struct
import sys
import types as pytypes
import typing
from typing import Any, ClassVar

from gridstride import _native, config

Type = _native.Type
Pattern = tuple[Any, ...]
DType = Any
"""What `dtype=` accepts: a scalar class, a vector or matrix class, a struct, `int`, `float`, `bool`, a NumPy type."""


class scalar_base:
    """A number of a fixed type, as the host holds it: `wp.float32(1.0)`.

    Integers wrap to their width when made; floats are rounded when a kernel reads them.
    """

    __slots__ = ("value",)
    __gs_type__: ClassVar[Type]
    _code: ClassVar[str]
    _length_: ClassVar[int] = 1
    _shape_: ClassVar[tuple[int, ...]] = ()
    value: Any

    def __gs_bytes__(self) -> bytes:
        return pack(type(self), (self.value,))

    def __bool__(self) -> builtins.bool:
        return self.value != 0

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __str__(self) -> str:
        return str(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        from gridstride import _numpy

        base = np.float32 if type(self) is bfloat16 else _numpy.scalar_dtype(type(self))
        return np.array(self.value, dtype=dtype or base)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.value, ndigits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> builtins.bool:
        return self.value == (other.value if isinstance(other, scalar_base) else other)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value,)


def _other(self: scalar_base, other: object) -> Any:
    """The number to combine with, or None where the kernel language has no implicit conversion either."""
    if isinstance(other, scalar_base):
        return other.value if type(other) is type(self) else None
    return other if isinstance(other, (int, float)) else None


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError("integer division by zero")
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    if b == 0:
        return float("nan") if a == 0 or a != a else float("inf") * (1 if (a > 0) == (str(float(b))[0] != "-") else -1)
    return a / b


def _remainder(a: Any, b: Any) -> Any:
    # The sign follows the dividend, as in kernels.
    if isinstance(a, int) and isinstance(b, int):
        return a - _divide(a, b) * b
    import math

    return math.fmod(a, b)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int):
        raise TypeError("`**` is for floats, as in kernels")
    return a**b


def _add_operators() -> None:
    import operator as o

    arithmetic = {
        "add": o.add,
        "sub": o.sub,
        "mul": o.mul,
        "truediv": _divide,
        "mod": _remainder,
        "floordiv": o.floordiv,
        "pow": _power,
    }

    def forward(op: Any) -> Any:
        def method(self: scalar_base, other: object) -> Any:
            value = _other(self, other)
            return NotImplemented if value is None else type(self)(op(self.value, value))

        return method

    def reverse(op: Any) -> Any:
        def method(self: scalar_base, other: object) -> Any:
            value = _other(self, other)
            return NotImplemented if value is None else type(self)(op(value, self.value))

        return method

    def compare(op: Any) -> Any:
        def method(self: scalar_base, other: object) -> Any:
            value = _other(self, other)
            return NotImplemented if value is None else op(self.value, value)

        return method

    def unary(op: Any) -> Any:
        return lambda self: type(self)(op(self.value))

    for name, op in arithmetic.items():
        setattr(scalar_base, f"__{name}__", forward(op))
        setattr(scalar_base, f"__r{name}__", reverse(op))
    for name in ("lt", "le", "gt", "ge"):
        setattr(scalar_base, f"__{name}__", compare(getattr(o, name)))
    for name in ("neg", "pos", "abs"):
        setattr(scalar_base, f"__{name}__", unary(getattr(o, name)))


_add_operators()


class float_base(scalar_base):
    """Base of the float types."""

    __slots__ = ()

    def __init__(self, value: Any = 0.0) -> None:
        self.value = float(value)


class int_base(scalar_base):
    """Base of the integer types."""

    __slots__ = ()
    _bits: ClassVar[int]
    _signed: ClassVar[bool]

    def __init__(self, value: Any = 0) -> None:
        value = int(value) & ((1 << self._bits) - 1)
        if self._signed and value >> (self._bits - 1):
            value -= 1 << self._bits
        self.value = value

    def __index__(self) -> int:
        return self.value


def int_held(cls: Any, value: Any) -> int:
    """An int that an integer type holds; `wp.uint8(300)` and `wp.int32(1.5)` convert, everything else is checked here.

    Raises `OverflowError` for one out of range, `TypeError` for a float: it would lose its fraction unseen.
    """
    number = operator.index(value.value if isinstance(value, scalar_base) else value)
    made = cls(number).value
    if made != number:
        low = -(1 << (cls._bits - 1)) if cls._signed else 0
        high = low + (1 << cls._bits) - 1
        raise OverflowError(f"{number} is out of range for {cls.__name__} ({low} to {high})")
    return made


class bool(scalar_base):  # noqa: A001 - the name that kernels use
    """True or false; one byte in arrays."""

    __slots__ = ()
    __gs_type__ = Type.scalar("bool")
    _code = "?"

    def __init__(self, value: Any = False) -> None:
        self.value = builtins.bool(value)


def _scalar(base: type, name: str, ir_name: str, code: str, doc: str, **attributes: Any) -> Any:
    members = {
        "__slots__": (),
        "__gs_type__": Type.scalar(ir_name),
        "_code": code,
        "__module__": "gridstride",
        "__doc__": doc,
        **attributes,
    }
    return type(name, (base,), members)


def _int(name: str, ir_name: str, code: str, bits: int) -> Any:
    signed = ir_name[0] == "i"
    doc = f"{bits}-bit {'signed' if signed else 'unsigned'} integer."
    return _scalar(int_base, name, ir_name, code, doc, _bits=bits, _signed=signed)


int8: Any = _int("int8", "i8", "b", 8)
uint8: Any = _int("uint8", "u8", "B", 8)
int16: Any = _int("int16", "i16", "h", 16)
uint16: Any = _int("uint16", "u16", "H", 16)
int32: Any = _int("int32", "i32", "i", 32)
uint32: Any = _int("uint32", "u32", "I", 32)
int64: Any = _int("int64", "i64", "q", 64)
uint64: Any = _int("uint64", "u64", "Q", 64)
float16: Any = _scalar(float_base, "float16", "f16", "e", "16-bit float (IEEE half).")
bfloat16: Any = _scalar(float_base, "bfloat16", "bf16", "H", "16-bit float with the range of `float32`.")
float32: Any = _scalar(float_base, "float32", "f32", "f", "32-bit float.")
float64: Any = _scalar(float_base, "float64", "f64", "d", "64-bit float.")
handle = uint64
bool.__module__ = "gridstride"

int_types: tuple[Any, ...] = (int8, uint8, int16, uint16, int32, uint32, int64, uint64)
float_types: tuple[Any, ...] = (float16, bfloat16, float32, float64)
scalar_types: tuple[Any, ...] = (*int_types, *float_types)
scalar_and_bool_types: tuple[Any, ...] = (*scalar_types, bool)

_C_TYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 uint16 uint16 float double bool".split()  # noqa: SIM905
for _class, _name in zip((*int_types, *float_types, bool), _C_TYPES, strict=True):
    _class._wp_scalar_type_ = _class
    _class._type_ = getattr(ctypes, f"c_{_name}")

_IR_NAMES: dict[str, Any] = {cls.__gs_type__.name: cls for cls in scalar_and_bool_types}
_PYTHON: dict[Any, Any] = {float: float32, int: int32, builtins.bool: bool}
_FORMATS: dict[tuple[str, int], struct.Struct] = {}


def bf16_bits(value: float) -> int:
    """Bits of the nearest bfloat16, ties to even."""
    try:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        return 0x7F80 if value > 0 else 0xFF80
    if value != value:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def bf16_value(bits: int) -> float:
    """Value of a bfloat16 given by its bits."""
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def format_of(code: str, length: int) -> struct.Struct:
    """The compiled `struct` format of `length` scalars."""
    key = (code, length)
    found = _FORMATS.get(key)
    if found is None:
        found = _FORMATS[key] = struct.Struct(f"={length}{code}")
    return found


def pack(scalar: Any, values: typing.Sequence[Any]) -> bytes:
    """Bytes of scalars of one type; floats too large for it become infinite."""
    if scalar is bfloat16:
        values = [bf16_bits(value) for value in values]
    layout = format_of(scalar._code, len(values))
    try:
        return layout.pack(*values)
    except OverflowError:
        limit = 65520.0 if scalar is float16 else 3.4028235677973366e38
        return layout.pack(*[value * float("inf") if abs(value) >= limit else value for value in values])


def unpack(scalar: Any, raw: bytes) -> list[Any]:
    """Inverse of `pack`: Python numbers."""
    values = list(format_of(scalar._code, len(raw) // scalar.__gs_type__.size).unpack(raw))
    return [bf16_value(bits) for bits in values] if scalar is bfloat16 else values


class Generic:
    """An annotation that stands for several types: `wp.Float`, `wp.Int`, `wp.Scalar`."""

    __slots__ = ("__gs_type__", "__name__", "members")

    def __init__(self, name: str, pattern: Pattern, members: tuple[Any, ...]) -> None:
        self.__name__ = name
        self.__gs_type__ = pattern
        self.members = members

    def __repr__(self) -> str:
        return f"gridstride.{self.__name__}"

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.__name__} stands for several types: name one, like {self.members[-1].__name__}")

    def __or__(self, other: Any) -> Any:
        return typing.Union[self, other]  # noqa: UP007

    def __ror__(self, other: Any) -> Any:
        return typing.Union[other, self]  # noqa: UP007


Scalar = Generic("Scalar", ("scalar",), scalar_types)
Float = Generic("Float", ("float",), float_types)
Int = Generic("Int", ("int",), int_types)

# Classes by native type: filled by the modules that make classes, so that results of native calls find theirs.
classes: dict[Any, Any] = {cls.__gs_type__: cls for cls in scalar_and_bool_types}
# How `class_of` makes a class for a native vector, matrix, quaternion or transform; set by `_vector`.
composite_factory: list[Any] = []


def class_of(ty: Type) -> Any:
    """The host class of a native type. Raises `TypeError` for arrays and tuples."""
    found = classes.get(ty)
    if found is None:
        if ty.kind not in ("vector", "matrix", "quat", "transform"):
            raise TypeError(f"no host class for the type {ty.name}")
        found = composite_factory[0](ty)
    return found


def from_native(ty: Type, raw: bytes) -> Any:
    """A host value from its bytes in C layout: Python numbers for scalars, a tuple for tuples."""
    if ty.kind == "scalar":
        return unpack(classes[ty], raw)[0]
    if ty.kind == "tuple":
        return tuple(from_native(item, raw[offset : offset + item.size]) for _, item, offset in ty.fields)
    return class_of(ty).from_bytes(raw)


def result(found: tuple[Type, bytes] | None) -> Any:
    """The host value that a native call gave; None for a function that returns nothing.

    Numbers of types that Python's do not stand for keep their class: `randf(rand_init(7))` needs its uint32.
    """
    if found is None:
        return None
    ty, raw = found
    if ty.kind == "tuple":
        if not ty.fields:
            return None
        return tuple(result((item, raw[offset : offset + item.size])) for _, item, offset in ty.fields)
    value = from_native(ty, raw)
    is_plain = ty.kind != "scalar" or ty.name in ("bool", "i32", "f32") or config.legacy_scalar_return_types
    return value if is_plain else classes[ty](value)


def dtype_class(dtype: DType) -> Any:
    """The class for what `dtype=` was given. Raises `TypeError` for what is not a type of the kernel language."""
    found = _PYTHON.get(dtype) if dtype.__hash__ is not None else None
    if found is not None:
        return found
    if isinstance(getattr(dtype, "__gs_type__", None), Type) and isinstance(dtype, type):
        return dtype
    if "numpy" in sys.modules:
        from gridstride import _numpy

        found = _numpy.class_from_numpy(dtype)
        if found is not None:
            return found
    if isinstance(dtype, type) and issubclass(dtype, enum.IntEnum):
        return int32
    raise TypeError(f"{describe(dtype)} is not a data type of the kernel language")


def literal(value: Any) -> Any:
    """`2` of `Literal[2]`, as type checkers want numbers in annotations; other values as they are."""
    if typing.get_origin(value) is not typing.Literal:
        return value
    values = typing.get_args(value)
    if len(values) != 1:
        raise TypeError(f"Expected a single Literal value, got {len(values)}")
    return values[0]


class Reference:
    """The annotation `wp.ref[T]` of a function's parameter: what the function assigns to it, its caller sees."""

    __slots__ = ("__gs_type__", "dtype")

    def __init__(self, dtype: Any) -> None:
        self.dtype = _PYTHON.get(dtype, dtype)
        self.__gs_type__ = ("ref", native_type(dtype))

    @property
    def value_type(self) -> Any:
        """The type referred to."""
        return self.dtype

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, Reference) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((Reference, self.dtype))

    def __repr__(self) -> str:
        return f"wp.ref[{getattr(self.dtype, '__name__', self.dtype)}]"


class ref:  # noqa: N801 - Warp's name
    """`wp.ref[T]` annotates a parameter of a `@wp.func` that is passed by reference."""

    def __class_getitem__(cls, dtype: Any) -> Reference:
        return Reference(dtype)


def instance_type(value: Any) -> Any:
    """The native type of a value that says it: by its class or, as indexed arrays do, by itself. None for others."""
    found = getattr(type(value), "__gs_type__", None)
    return found if isinstance(found, Type) else getattr(value, "__gs_instance_type__", None)


def describe(annotation: Any) -> str:
    """Short text for an annotation in messages."""
    name = getattr(annotation, "__name__", None)
    return f"`{name}`" if isinstance(name, str) else f"`{annotation!r}`"


def native_type(annotation: Any) -> Any:
    """The `_native.Type` or pattern tuple of an annotation. Raises `TypeError` for what is none."""
    found = getattr(annotation, "__gs_type__", None)
    if isinstance(found, (Type, tuple)):
        return found
    if annotation is Any or annotation is typing.Any:
        return ("any",)
    if isinstance(annotation, (Type, tuple)) and not isinstance(annotation, type):
        return annotation if isinstance(annotation, Type) else ("tuple", *map(native_type, annotation))
    if isinstance(annotation, type) and getattr(annotation, "_is_array_class", False):
        return ("array", ("any",), annotation._default_ndim)
    origin = typing.get_origin(annotation)
    if origin is tuple:
        items = typing.get_args(annotation)
        if Ellipsis in items:
            return ("any",)
        return ("tuple", *[native_type(item) for item in items])
    if annotation in (typing.Callable, collections.abc.Callable) or origin is collections.abc.Callable:
        return ("callable",)
    if annotation is pytypes.FunctionType or getattr(annotation, "_is_function_class", False):
        return ("callable",)
    return dtype_class(annotation).__gs_type__


def element_pattern(dtype: Any) -> Any:
    """The element of an array annotation: a `Type`, or a pattern for `Any`, `Float`, a generic vector."""
    found = native_type(dtype)
    kind = found[0] if isinstance(found, tuple) else found.kind
    if kind in ("array", "tuple", "callable"):
        raise TypeError(f"an array cannot hold {describe(dtype)}")
    return found
