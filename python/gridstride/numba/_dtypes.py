"""NumPy's dtypes, Numba's types and the compiler's types: what is the same in all three.

In: a dtype or a Numba type. Out: the compiler's `Type`, or None from `find` where there is none.

    >>> native(types.float32[:])
    Type(array<f32, 1>)
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gridstride import _native
from gridstride.numba import types

_SCALARS = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
}
numpy_version = tuple(map(int, np.__version__.split(".")[:2]))
_BY_DTYPE = {one.dtype: one for one in types.NUMBERS}


def _scalar(name: str) -> _native.Type:
    return _native.Type.scalar(_SCALARS[name])


def complex_type(part: str) -> _native.Type:
    """The compiler's complex numbers: structs of two floats."""
    inner = _scalar(part)
    name = "complex64" if part == "float32" else "complex128"
    return _native.Type.struct(name, [("real", inner), ("imag", inner)])


@cache
def from_native_dtype(dtype: np.dtype[Any]) -> _native.Type:
    """The compiler's type of elements of a dtype. Raises `TypeError` for one that kernels cannot use."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        inner = from_native_dtype(base)
        if inner.kind == "scalar" and len(shape) == 1:
            return _native.Type.vector(inner, shape[0])
        if inner.kind == "scalar" and len(shape) == 2:
            return _native.Type.matrix(inner, *shape)
        raise TypeError(f"a field of dtype {dtype} cannot be used in a kernel")
    if dtype.names is not None:
        name = "record_" + "_".join(dtype.names)
        fields = dtype.fields or {}
        return _native.Type.struct(name, [(field, from_native_dtype(fields[field][0])) for field in dtype.names])
    if dtype.kind == "c":
        return complex_type("float32" if dtype.itemsize == 8 else "float64")
    if dtype.kind in "mM":
        return _scalar("int64")
    if dtype.kind in "SU" and dtype.itemsize and dtype.isnative:
        # Texts of a constant length: bytes, or code points.
        n = dtype.itemsize if dtype.kind == "S" else dtype.itemsize // 4
        return _native.Type.vector(_scalar("uint8" if dtype.kind == "S" else "uint32"), n)
    if dtype.name in _SCALARS and dtype.isnative:
        return _scalar(dtype.name)
    raise TypeError(f"elements of dtype {dtype} cannot be used in a kernel")


@cache
def device_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype with the layout that compiled code uses: records with C's padding, numbers in the machine's order."""
    if dtype.names is None:
        return dtype if dtype.isnative or dtype.subdtype is not None else dtype.newbyteorder("=")
    fields = dtype.fields or {}
    return np.dtype([(name, device_dtype(fields[name][0])) for name in dtype.names], align=True)


def find(dtype: Any) -> _native.Type | None:
    """The compiler's type of a dtype, or of a class such as `complex`; None where there is none."""
    try:
        return from_native_dtype(np.dtype(dtype))
    except TypeError:
        return None


def native(ty: Any) -> _native.Type:
    """The compiler's form of a Numba type. Raises `TypeError` where kernels have no such values."""
    if isinstance(ty, types.NPDatetime):
        return _scalar("int64")
    if isinstance(ty, types.Complex):
        return complex_type(str(ty.underlying_float))
    if isinstance(ty, types.Number):
        return _scalar(ty.name)
    if isinstance(ty, types.Array):
        return _native.Type.array(native(ty.dtype), max(ty.ndim, 1))
    if isinstance(ty, types.CPointer):
        return _native.Type.array(native(ty.dtype), 1)
    if isinstance(ty, types.BaseTuple):
        return _native.Type.tuple([native(item) for item in ty.types])
    if isinstance(ty, types.Record | types.CharSeq):
        return from_native_dtype(ty.dtype)
    if isinstance(ty, types.VectorType):
        return _native.Type.vector(native(ty.base_type), ty.num_elements)
    raise TypeError(f"a kernel cannot have values of type {ty}")


def record_reference(elem: _native.Type) -> _native.Type:
    """The compiler's type of a record that is passed by reference."""
    return _native.Type.struct("record", [("at", _native.Type.array(elem, 1))])


def argument(ty: Any) -> _native.Type:
    """As `native`, for the parameter of a kernel: records are passed by reference."""
    found = native(ty)
    return record_reference(found) if isinstance(ty, types.Record) else found


def from_dtype(dtype: Any) -> types.Type:
    """Numba's type of a dtype. Raises `NumbaNotImplementedError` for one that it has no type for."""
    dtype = np.dtype(dtype)
    found = _BY_DTYPE.get(dtype)
    if found is not None:
        return found
    if dtype.names is not None:
        return types.Record(dtype)
    if dtype.kind == "S":
        return types.CharSeq(dtype.itemsize)
    if dtype.kind == "U":
        return types.UnicodeCharSeq(dtype.itemsize // 4)
    if dtype.kind == "M":
        return types.NPDatetime(str(dtype), dtype)
    if dtype.kind == "m":
        return types.NPTimedelta(str(dtype), dtype)
    from gridstride.numba.errors import NumbaNotImplementedError

    raise NumbaNotImplementedError(f"{dtype} cannot be represented as a Numba type")


def as_dtype(ty: Any) -> np.dtype[Any]:
    """NumPy's dtype of a Numba type."""
    if isinstance(ty, types.Array):
        return as_dtype(ty.dtype)
    if isinstance(ty, types.Number | types.Record | types.CharSeq):
        return ty.dtype
    return np.dtype(ty)


def typeof(value: Any) -> types.Type:
    """Numba's type of a host value. Raises `ValueError` where it has none."""
    if isinstance(value, np.ndarray) or hasattr(value, "__cuda_array_interface__") or hasattr(value, "_host"):
        flags = getattr(value, "flags", None)
        layout = "A"
        if flags is not None:
            layout = "C" if flags["C_CONTIGUOUS"] else "F" if flags["F_CONTIGUOUS"] else "A"
        return types.Array(from_dtype(value.dtype), value.ndim, layout)
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    if isinstance(value, bool):
        return types.boolean
    if isinstance(value, int):
        return types.int64 if -(2**63) <= value < 2**63 else types.uint64
    if isinstance(value, float):
        return types.float64
    if isinstance(value, complex):
        return types.complex128
    if value is None:
        return types.none
    if isinstance(value, str):
        return types.unicode_type
    if isinstance(value, tuple):
        return tuple_of([typeof(item) for item in value])
    if isinstance(value, np.dtype):
        return from_dtype(value)
    if isinstance(value, types.Type):
        return value
    if isinstance(value, type) and issubclass(value, np.number | np.bool_):
        return types.NumberClass(from_dtype(np.dtype(value)))
    if isinstance(value, type):
        return types.Dummy(f"class({value.__name__})")
    raise ValueError(f"cannot determine Numba type of {type(value)}")


#: The type of a function that a kernel defines, as an argument.
def literal(value: Any) -> types.Type:
    """As `typeof`, for a value that a kernel's text says: its type knows it where it is an int."""
    if isinstance(value, int) and not isinstance(value, bool):
        return types.IntegerLiteral(value)
    return typeof(value)


FUNCTION = types.Dummy("function")


def tuple_of(items: list[Any]) -> types.Type:
    """The type of tuples of such items."""
    if items and all(item == items[0] for item in items):
        return types.UniTuple(items[0], len(items))
    return types.Tuple(items)


def from_compiler(ty: _native.Type) -> types.Type:
    """Numba's type of the compiler's: of a kernel's arguments, for signatures."""
    if ty.kind == "scalar":
        name = next(name for name, short in _SCALARS.items() if short == ty.name)
        return next(one for one in (*types.NUMBERS, types.bfloat16) if one.name == name)
    if ty.kind == "array" and ty.elem is not None:
        return types.Array(from_compiler(ty.elem), ty.rank, "C")
    if ty.kind == "tuple":
        return tuple_of([from_compiler(item) for _, item, _ in ty.fields])
    if ty.struct_name in ("complex64", "complex128"):
        return types.complex64 if ty.struct_name == "complex64" else types.complex128
    if ty.struct_name == "record":
        return from_compiler(ty.fields[0][1]).dtype  # type: ignore[attr-defined]
    return types.Record(dtype_of(ty))


def dtype_of(ty: _native.Type) -> np.dtype[Any]:
    """The dtype of values of a compiler's type."""
    if ty.kind == "scalar":
        return np.dtype(next(name for name, short in _SCALARS.items() if short == ty.name))
    if ty.struct_name in ("complex64", "complex128"):
        return np.dtype(ty.struct_name)
    if ty.kind in ("vector", "matrix") and ty.elem is not None:
        return np.dtype((dtype_of(ty.elem), ty.shape))
    return np.dtype([(name, dtype_of(field)) for name, field, _ in ty.fields], align=True)


def __getattr__(name: str) -> Any:
    # Names of kernels that Numba has here: `numba.np.numpy_support.carray`.
    if name in ("carray", "farray"):
        from gridstride.numba.cuda import _language

        return getattr(_language, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def constant(value: Any) -> tuple[_native.Type, list[int], bytes]:
    """What an array holds: element type, shape and bytes in row-major order. Raises `TypeError` for anything else."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} is no array")
    array = value
    dtype = device_dtype(array.dtype)
    contiguous = np.ascontiguousarray(array.astype(dtype) if dtype != array.dtype else array)
    return from_native_dtype(dtype), list(array.shape) or [1], contiguous.tobytes()
