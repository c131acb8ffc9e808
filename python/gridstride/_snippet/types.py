"""Types of C text: their names, and what C converts to what.

In: words such as `unsigned int` and `wp::vec_t<3, float>`. Out: types of the kernel language.
"""

from __future__ import annotations

from typing import NamedTuple

from gridstride import _types
from gridstride._native import Type


class Typed(NamedTuple):
    """A piece of a Python expression and its type; None where it is not known, and the compiler finds it.

    A literal takes the type that is wanted where it stands.
    """

    text: str
    type: Type | None
    is_literal: bool = False


BOOL, I32, U32, I64, U64, F32, F64 = (Type.scalar(name) for name in ("bool", "i32", "u32", "i64", "u64", "f32", "f64"))
VOID = Type.tuple([])
# Of one word each; of several (`unsigned long long`) the words in the order of the alphabet.
_NAMES = {
    "bool": "bool",
    "char": "i8", "char signed": "i8", "int8_t": "i8", "int8": "i8",
    "char unsigned": "u8", "uint8_t": "u8", "uint8": "u8",
    "short": "i16", "int short": "i16", "int16_t": "i16", "int16": "i16",
    "short unsigned": "u16", "int short unsigned": "u16", "uint16_t": "u16", "uint16": "u16",
    "int": "i32", "signed": "i32", "int signed": "i32", "int32_t": "i32", "int32": "i32",
    "unsigned": "u32", "int unsigned": "u32", "uint32_t": "u32", "uint32": "u32", "uint": "u32",
    "long": "i64", "int long": "i64", "long long": "i64", "int long long": "i64", "int64_t": "i64", "int64": "i64",
    "ptrdiff_t": "i64",
    "long unsigned": "u64", "int long unsigned": "u64", "long long unsigned": "u64", "uint64_t": "u64",
    "uint64": "u64", "size_t": "u64",
    "half": "f16", "float16": "f16", "bfloat16": "bf16",
    "float": "f32", "float32": "f32",
    "double": "f64", "float64": "f64",
}  # fmt: skip
SCALARS = {name: Type.scalar(ir_name) for name, ir_name in _NAMES.items()}
# Words that a name of several words is made of.
PARTS = frozenset(["unsigned", "signed", "long", "short", "int", "char"])
# Templates whose arguments are a length, or two, and a type.
COMPOSITES = {
    "vec_t": (1, lambda size, elem: Type.vector(elem, *size)),
    "mat_t": (2, lambda size, elem: Type.matrix(elem, *size)),
    "quat_t": (0, lambda size, elem: Type.quat(elem)),
    "transform_t": (0, lambda size, elem: Type.transform(elem)),
}


def named(word: str) -> Type | None:
    """The type of a word: a number's, or `vec3`, `mat33f`, `quat` …"""
    from gridstride import types

    if word in SCALARS:
        return SCALARS[word]
    found = types.named.get(word)
    return None if found is None else found.__gs_type__


def is_int(ty: Type | None) -> bool:
    """Whether a type is one of integers, flags included."""
    return ty is not None and (ty == BOOL or ty.kind == "scalar" and ty.name[0] in "iu")


def is_number(ty: Type | None) -> bool:
    """Whether a type is that of a number or a flag."""
    return ty is not None and ty.kind == "scalar"


def common(a: Type, b: Type) -> Type:
    """The type that C computes in, of two numbers' types."""
    for name in ("f64", "f32", "bf16", "f16"):
        if name in (a.name, b.name):
            return Type.scalar(name)
    a, b = promoted(a), promoted(b)
    if a.size != b.size:
        return a if a.size > b.size else b
    return a if a.name[0] == "u" else b


def promoted(ty: Type) -> Type:
    """What C makes of an operand alone: integers of less than 32 bits, and flags, become `int`."""
    return I32 if is_int(ty) and ty.size < 4 else ty


def class_name(ty: Type) -> str:
    """The name of a type in messages."""
    return ty.user_name if ty.kind == "array" else _types.class_of(ty).__name__
