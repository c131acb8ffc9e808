"""Vectors, matrices, quaternions and transforms as the host holds them.

A value keeps its components as a flat list of Python numbers that are already rounded to the scalar type, so that
reading one back gives what a kernel would see. Sums, differences and scalings are computed here; products of
matrices, quaternions and transforms run through the interpreter, so that host and kernel agree bit for bit.

    >>> v = wp.vec3(1.0, 2.0, 3.0)
    >>> v.x, v[-1], v * 2.0
    (1.0, 3.0, vec3f([2.0, 4.0, 6.0]))
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from gridstride import _axes, _types
from gridstride._arithmetic import arithmetic
from gridstride._arithmetic import held as held
from gridstride._arithmetic import round_to as round_to
from gridstride._types import Type

_NUMBERS = (int, float, _types.scalar_base)
_AXES = _axes.NAMES


def _assignable(scalar: Any, value: Any) -> list[Any]:
    """A component as the scalar type holds it, in a list. Raises `TypeError` for a string."""
    if isinstance(value, str):
        raise TypeError(f"Expected to assign a `{scalar.__name__}` value but got `str` instead")
    return held(scalar, [value])


def _scalars(scalar: Any, values: Sequence[Any]) -> Sequence[Any]:
    """The values, if they are numbers. Raises `TypeError` for sequences and strings."""
    for value in values:
        if isinstance(value, (str, bytes)):
            raise TypeError(f"Expected to assign a `{scalar.__name__}` value but got `{type(value).__name__}` instead")
        if hasattr(value, "__len__"):
            expected = f"a slice from a sequence of `{scalar.__name__}` values"
            raise TypeError(f"Expected to assign {expected} but got `{type(value).__name__}` instead")
    return values


def _flatten(values: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, composite):
            flat += value._c
        elif isinstance(value, (str, bytes)):
            raise TypeError(f"components are numbers, not {value!r}")
        elif hasattr(value, "__len__"):
            flat += _flatten(value)
        else:
            flat.append(value)
    return flat


class composite(arithmetic):
    """Base of vectors, matrices, quaternions and transforms: a fixed number of scalars of one type."""

    # Programs keep things of their own on vectors.
    __slots__ = ("__dict__", "_c")
    __gs_type__: ClassVar[Any]
    _wp_scalar_type_: ClassVar[Any]
    _shape_: ClassVar[tuple[int, ...]]
    _length_: ClassVar[int]
    # NumPy must leave `array * vector` to these classes.
    __array_ufunc__ = None
    _c: list[Any]

    def __init__(self, *args: Any) -> None:
        n = self._length_
        if len(args) == 1 and not isinstance(args[0], _NUMBERS) and hasattr(args[0], "__len__"):
            args = tuple(args[0])
        if not args:
            self._c = [self._wp_scalar_type_().value] * n
            return
        if len(args) == 1 and isinstance(args[0], _NUMBERS):
            args = args * n
        elif any(hasattr(arg, "__len__") for arg in args):
            args = tuple(_flatten(args))
        elif len(args) == 1:
            args = (float(args[0]),) * n
        if len(args) != n:
            kind = self.__gs_type__.kind
            raise ValueError(
                f"{type(self).__name__} has {n} components, not {len(args)}: "
                f"Invalid number of arguments in {kind} constructor, expected {n} elements, got {len(args)}"
            )
        # A conversion, as `wp.uint8(300)` is: ints wrap. What is assigned to a component must fit.
        self._c = round_to(self._wp_scalar_type_, args)

    @classmethod
    def _of(cls, components: Sequence[Any]) -> Any:
        self = cls.__new__(cls)
        self._c = round_to(cls._wp_scalar_type_, components)
        return self

    @classmethod
    def from_bytes(cls, raw: bytes) -> Any:
        """The value whose components lie in `raw` one after the other."""
        self = cls.__new__(cls)
        self._c = _types.unpack(cls._wp_scalar_type_, raw)
        return self

    @classmethod
    def from_ptr(cls, ptr: int) -> Any:
        """The value at an address. Raises `RuntimeError` for 0."""
        import ctypes

        if not ptr:
            raise RuntimeError("NULL pointer exception")
        return cls.from_bytes(ctypes.string_at(ptr, cls.__gs_type__.size))

    def __gs_bytes__(self) -> bytes:
        return _types.pack(self._wp_scalar_type_, self._c)

    def __bytes__(self) -> bytes:
        return self.__gs_bytes__()

    def __len__(self) -> int:
        return self._shape_[0]

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if isinstance(other, composite):
            return self._shape_ == other._shape_ and self._c == other._c
        if not hasattr(other, "__len__"):
            return NotImplemented
        try:
            return self._c == _flatten(other)  # type: ignore[arg-type]
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._c))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        from gridstride import _numpy

        if copy is False:
            raise ValueError("a host vector cannot be seen by NumPy without a copy")
        base = np.float32 if self._wp_scalar_type_ is _types.bfloat16 else _numpy.scalar_dtype(self._wp_scalar_type_)
        return np.array(self._c, dtype=dtype or base).reshape(self._shape_)

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self._c))}]"

    def __repr__(self) -> str:
        scalar = self._wp_scalar_type_
        # Numbers that Python would take for another type say which they are.
        shown = self._c if scalar in (_types.float32, _types.int32) else map(scalar, self._c)
        return f"{type(self).__name__}([{', '.join(map(repr, shown))}])"

    def __reduce__(self) -> tuple[Any, ...]:
        ty = self.__gs_type__
        return _rebuild, (ty.kind, ty.elem.name, self._shape_, self.__gs_bytes__())

    def __copy__(self) -> Any:
        return type(self)._of(self._c)


def _vector_key(key: Any) -> Any:
    if isinstance(key, slice) or hasattr(key, "__index__"):
        return key
    raise KeyError(f"Invalid key {key}, expected int or slice")


class vector_base(composite):
    """Base of vectors: `v[i]`, `v[1:3]`, `v.x`, iteration over numbers."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._c)

    def __getitem__(self, key: Any) -> Any:
        found = self._c[_vector_key(key)]
        if isinstance(key, slice):
            return vector(len(found), self._wp_scalar_type_)._of(found) if found else ()
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(_vector_key(key), slice):
            n = len(self._c[key])
            values = [value] * n if isinstance(value, _NUMBERS) else list(value)
            if len(values) != n:
                raise ValueError(f"Can only assign sequence of same size: {len(values)} components to a slice of {n}")
            self._c[key] = held(self._wp_scalar_type_, _scalars(self._wp_scalar_type_, values))
        else:
            self._c[key] = _assignable(self._wp_scalar_type_, value)[0]


class quaternion_base(vector_base):
    """Base of quaternions: components x, y, z, w; `*` is the product of rotations."""

    __slots__ = ()


class matrix_base(composite):
    """Base of matrices, row major: `m[i]` is a row, `m[i, j]` a number, `m[i, 1:]` and `m[:, j]` vectors."""

    __slots__ = ()

    def __init__(self, *args: Any) -> None:
        rows, cols = self._shape_
        if 1 < len(args) == rows != self._length_:
            for row in args:
                if not hasattr(row, "__len__") or len(row) != cols:
                    raise TypeError(
                        f"{type(self).__name__} takes rows of {cols} components: "
                        f"Invalid argument in matrix constructor, expected row of length {cols}, got {row!r}"
                    )
        super().__init__(*args)

    def _row(self, i: int) -> list[Any]:
        rows, cols = self._shape_
        if not -rows <= i < rows:
            raise IndexError(f"row {i} is out of range for {rows} rows")
        start = i % rows * cols
        return self._c[start : start + cols]

    def get_row(self, i: int) -> Any:
        """Row `i` as a vector (a copy)."""
        return vector(self._shape_[1], self._wp_scalar_type_)._of(self._row(i))

    def get_col(self, j: int) -> Any:
        """Column `j` as a vector (a copy)."""
        return self[:, j]

    def set_row(self, i: int, value: Any) -> None:
        """Replaces row `i`."""
        if not -self._shape_[0] <= i < self._shape_[0]:
            raise IndexError(f"row {i} of {self._shape_[0]} rows: Invalid row index")
        self[i] = value

    def set_col(self, j: int, value: Any) -> None:
        """Replaces column `j`."""
        self[:, j] = value

    def _places(self, key: Any) -> tuple[list[int], list[int], bool, bool]:
        """Rows and columns that `key` selects, and which of the two were slices."""
        keys = key if isinstance(key, tuple) else (key, slice(None))
        if len(keys) != 2:
            raise KeyError(f"Invalid key, expected one or two indices, got {len(keys)}")
        picked = []
        for one, extent in zip(keys, self._shape_, strict=True):
            if isinstance(one, slice):
                picked.append(list(range(extent))[one])
            elif not hasattr(one, "__index__"):
                raise KeyError(f"Invalid key {key}, expected int or pair of ints")
            else:
                index = operator.index(one)
                if not -extent <= index < extent:
                    raise IndexError(f"index {index} is out of range for an extent of {extent}")
                picked.append([index % extent])
        return picked[0], picked[1], isinstance(keys[0], slice), isinstance(keys[1], slice)

    def __getitem__(self, key: Any) -> Any:
        rows, cols, many_rows, many_cols = self._places(key)
        width = self._shape_[1]
        flat = [self._c[i * width + j] for i in rows for j in cols]
        if not flat:
            return ()
        if many_rows and many_cols:
            return matrix((len(rows), len(cols)), self._wp_scalar_type_)._of(flat)
        return vector(len(flat), self._wp_scalar_type_)._of(flat) if many_rows or many_cols else flat[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        rows, cols, many_rows, many_cols = self._places(key)
        n = len(rows) * len(cols)
        if not many_rows and not many_cols:
            values = _assignable(self._wp_scalar_type_, value)
        elif many_rows and many_cols and not isinstance(value, _NUMBERS):
            values = _flatten(value)
        else:
            values = [value] * n if isinstance(value, _NUMBERS) else list(value)
            values = list(_scalars(self._wp_scalar_type_, values))
        if len(values) != n:
            raise ValueError(f"Can only assign sequence of same size: {len(values)} components to {n}")
        places = [i * self._shape_[1] + j for i in rows for j in cols]
        for place, component in zip(places, held(self._wp_scalar_type_, values), strict=True):
            self._c[place] = component

    def __str__(self) -> str:
        rows = (f"[{', '.join(map(str, self._row(i)))}]" for i in range(self._shape_[0]))
        return "[" + ",\n ".join(rows) + "]"

    def __repr__(self) -> str:
        rows = (f"[{', '.join(map(repr, self._row(i)))}]" for i in range(self._shape_[0]))
        return f"{type(self).__name__}([{', '.join(rows)}])"


class transform_base(vector_base):
    """Base of rigid transforms: position `p` and rotation `q`, 7 components. `transform()` is the identity."""

    __slots__ = ()

    def __init__(self, *args: Any, p: Any = None, q: Any = None, **unknown: Any) -> None:
        if unknown:
            raise TypeError(f"got an unexpected keyword argument '{next(iter(unknown))}'")
        if len(args) == 1 and hasattr(args[0], "__len__") and len(args[0]) == 7:
            args = tuple(args[0])
        if len(args) == 7 and p is None and q is None:
            super().__init__(*args)
            return
        if len(args) > 2 and len(args) != 7:
            raise ValueError(f"{type(self).__name__} takes a position and a rotation, or 7 numbers")
        if args and p is not None or len(args) > 1 and q is not None:
            raise TypeError(f"multiple values for argument '{'q' if p is None else 'p'}'")
        if len(args) == 1 and q is None and not hasattr(args[0], "__len__"):
            self._fill(args[0])
            return
        p = args[0] if args else (0.0, 0.0, 0.0) if p is None else p
        q = args[1] if len(args) == 2 else (0.0, 0.0, 0.0, 1.0) if q is None else q
        for name, part in (("p", p), ("q", q)):
            if not hasattr(part, "__len__"):
                text = f"Invalid argument '{name}' in transformation constructor: expected a sequence"
                raise TypeError(f"{text}, got {type(part).__name__}")
        if len(p) != 3 or len(q) != 4:
            raise ValueError(f"{type(self).__name__} takes a position of 3 and a rotation of 4 components")
        super().__init__(*p, *q)

    def _fill(self, value: Any) -> None:
        try:
            super().__init__(float(value))
        except TypeError:
            found = type(value).__name__
            raise TypeError(
                f"Invalid argument in transformation constructor: expected a scalar value, got {found}"
            ) from None

    @property
    def p(self) -> Any:
        """Position (a copy)."""
        return vector(3, self._wp_scalar_type_)._of(self._c[:3])

    @p.setter
    def p(self, value: Any) -> None:
        self[:3] = value

    @property
    def q(self) -> Any:
        """Rotation (a copy)."""
        return quaternion(self._wp_scalar_type_)._of(self._c[3:])

    @q.setter
    def q(self, value: Any) -> None:
        self[3:] = value


_axes.refuse_swizzles(vector_base)
_BASES: dict[str, Any] = {
    "vector": vector_base,
    "matrix": matrix_base,
    "quat": quaternion_base,
    "transform": transform_base,
}
# Names by which programs tell kinds apart.
_GENERIC_NAMES = {"vector": "vec_t", "matrix": "mat_t", "quat": "quat_t", "transform": "transform_t"}
_made: dict[Any, Any] = {}


def make_class(kind: str, shape: tuple[int, ...], scalar: Any, name: str | None = None) -> Any:
    """The class of a kind ("vector", "matrix", "quat", "transform"), shape and scalar; `name` when it is first made."""
    key = (kind, shape, scalar)
    found = _made.get(key)
    if found is not None:
        return found
    elem = scalar.__gs_type__
    length = 1
    for extent in shape:
        length *= extent
    ty = None
    if length == 0:
        # Only the host has values without components: kernels have no type for them.
        default = f"{kind}(shape={shape}, dtype={scalar.__name__})"
    elif kind == "vector":
        ty, default = Type.vector(elem, length), f"vector(length={length}, dtype={scalar.__name__})"
    elif kind == "matrix":
        ty, default = Type.matrix(elem, *shape), f"matrix(shape={shape}, dtype={scalar.__name__})"
    else:
        ty = Type.quat(elem) if kind == "quat" else Type.transform(elem)
        default = f"{kind}({scalar.__name__})"
    members: dict[str, Any] = {
        "__slots__": (),
        "__module__": "gridstride",
        "__doc__": f"{kind} of {' x '.join(map(str, shape))} `{scalar.__name__}`.",
        "_wp_scalar_type_": scalar,
        "_type_": scalar._type_,
        "_shape_": shape,
        "_length_": length,
        "_wp_generic_type_str_": _GENERIC_NAMES[kind],
    }
    if kind in ("vector", "quat"):
        members.update(zip(_AXES[:length], _axes.COMPONENTS, strict=False))
        members.update({name: _axes.missing(name) for name in _AXES[length:]})
    if ty is None:
        members["__gs_builtin__"] = "_no_components"
    else:
        members["__gs_type__"] = ty
    found = _made[key] = type(name or default, (_BASES[kind],), members)
    if ty is not None:
        _types.classes[ty] = found
    return found


class GenericComposite(_types.Generic):
    """A vector, matrix, quaternion or transform with open parts: `wp.types.vector(length=Any, dtype=wp.Float)`."""

    __slots__ = ()


def _open_extent(extent: Any) -> int | None:
    return None if extent is Any else operator.index(extent)


def _generic(kind: str, extents: tuple[Any, ...], dtype: Any) -> Any:
    pattern = (kind, _types.native_type(dtype), *map(_open_extent, extents))
    return GenericComposite(f"{kind}{extents or ''}", pattern, (_BASES[kind],))


def _is_open(dtype: Any) -> bool:
    return dtype is Any or isinstance(dtype, _types.Generic)


def _scalar_class(dtype: Any) -> Any:
    found = _types.dtype_class(dtype)
    if not issubclass(found, _types.scalar_base):
        raise TypeError(f"components must be scalars, not {_types.describe(dtype)}")
    return found


def vector(length: Any, dtype: Any) -> Any:
    """The vector type of `length` components of a scalar type.

    `length` or `dtype` may be `typing.Any` (or `wp.Float` …) in annotations. The same arguments give the same class.
    """
    if length is Any or _is_open(dtype):
        return _generic("vector", (length,), dtype)
    length = operator.index(length)
    if length < 0:
        raise ValueError(f"a vector cannot have {length} components")
    return make_class("vector", (length,), _scalar_class(dtype))


def matrix(shape: tuple[Any, Any], dtype: Any) -> Any:
    """The matrix type of `shape` = (rows, columns) over a scalar type; parts may be open as in `vector`."""
    if len(shape) != 2:
        s = "" if len(shape) == 1 else "s"
        raise ValueError(
            f"Matrix shape must have exactly two dimensions, got {len(shape)} dimension{s} in shape {shape}"
        )
    rows, cols = shape
    if rows is Any or cols is Any or _is_open(dtype):
        return _generic("matrix", (rows, cols), dtype)
    rows, cols = operator.index(rows), operator.index(cols)
    if rows < 0 or cols < 0:
        raise ValueError(f"a matrix cannot have {rows} x {cols} components")
    return make_class("matrix", (rows, cols), _scalar_class(dtype))


def quaternion(dtype: Any = Any) -> Any:
    """The quaternion type over a float type."""
    return _generic("quat", (), dtype) if _is_open(dtype) else make_class("quat", (4,), _scalar_class(dtype))


def transformation(dtype: Any = Any) -> Any:
    """The rigid transform type over a float type."""
    return _generic("transform", (), dtype) if _is_open(dtype) else make_class("transform", (7,), _scalar_class(dtype))


def transform_expand(t: Sequence[float]) -> Any:
    """The transform of 7 numbers: position, then rotation."""
    return transformation(_types.float32)(*t)


def _from_type(ty: Type) -> Any:
    return make_class(ty.kind, tuple(ty.shape), _types.classes[ty.elem])


def _rebuild(kind: str, scalar: str, shape: tuple[int, ...], raw: bytes) -> Any:
    return make_class(kind, shape, _types._IR_NAMES[scalar]).from_bytes(raw)


_types.composite_factory.append(_from_type)
# Called in a kernel, these make values: `wp.types.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))`.
for _maker in (vector, matrix, quaternion, transformation):
    _maker.__gs_builtin__ = _maker.__name__  # type: ignore[attr-defined]
