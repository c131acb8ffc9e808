"""`@wp.struct`: a class whose annotated fields lie in memory as in C.

    >>> @wp.struct
    ... class Ray:
    ...     origin: wp.vec3
    ...     length: float
    >>> ray = Ray()
    >>> ray.origin = wp.vec3(1.0, 2.0, 3.0)
    >>> Ray.numpy_dtype()["itemsize"]
    16

Instances are kernel arguments and elements of arrays; an array of structs is a NumPy record array. Fields may be
scalars, vectors, matrices, other structs and arrays; an instance keeps its arrays alive.
"""

from __future__ import annotations

import struct as layout
import sys
from typing import Any, ClassVar, NamedTuple

from gridstride import _annotations, _types, _unbuilt
from gridstride._filled import filled
from gridstride._types import Type
from gridstride._vector import composite, held


class Field:
    """One field of a struct: where it lies, and how a value for it is made."""

    __slots__ = ("array", "cls", "default", "name", "offset", "type")

    def __init__(self, name: str, ty: Type, offset: int, cls: Any, default: Any) -> None:
        self.name = name
        self.type = ty
        self.offset = offset
        self.cls = cls
        self.default = default
        # Of an array of any kind: its class, element type and dimensions.
        self.array = _array_facts(ty)

    def convert(self, value: Any) -> Any:
        """The value as the field holds it: a number, typed as it was given; a copy of a composite; an array itself."""
        kind = self.type.kind
        try:
            if kind == "scalar":
                if type(value) is self.cls:
                    return value
                return self.cls(value) if isinstance(value, _types.scalar_base) else held(self.cls, [value])[0]
            if self.array is not None:
                return self._array(value)
            if kind == "struct":
                if getattr(type(value), "__gs_type__", None) != self.type:
                    raise TypeError(f"expects {self.cls.__name__}, got {type(value).__name__}")
                return value.__copy__()
            return self._composite(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"Struct field '{self.name}' {error}") from None

    def _array(self, value: Any) -> Any:
        if value is None:
            return None
        kind, dtype, ndim = self.array
        if not isinstance(value, kind) or getattr(value, "_memory", value) is None:
            raise TypeError(f"expects a {_KINDS[kind.__name__]}, got {type(value).__name__}")
        if value._type != dtype:
            raise TypeError(f"expects dtype {_types.class_of(dtype).__name__}, got {value.dtype.__name__}")
        if value.ndim != ndim:
            raise TypeError(f"expects an array with {ndim} dimension(s), got {value.ndim} dimension(s)")
        return value

    def _composite(self, value: Any) -> Any:
        """A copy, or one made of components. A number alone is no vector; flags and NumPy's numbers fill one yet."""
        if type(value) is self.cls:
            return value.__copy__()
        if value is None:
            return self.cls()
        made = filled(self.cls, value, f"struct field '{self.name}'", stacklevel=5)
        if made is not None:
            return made
        if isinstance(value, (int, float, _types.scalar_base)):
            raise TypeError(f"expects {self.cls.__name__} but got a single value")
        return self.cls(value)

    def initial(self) -> Any:
        """The value of a new instance's field: zero, or the default of the class body."""
        if self.default is not None:
            return self.convert(self.default)
        if self.array is not None:
            return None
        if self.type.kind == "scalar":
            return self.cls()
        return self.cls.from_bytes(bytes(self.type.size))

    def pack(self, value: Any) -> bytes:
        """Bytes of a value that `convert` made."""
        kind = self.type.kind
        if kind == "scalar":
            return _types.pack(self.cls, (value.value if isinstance(value, _types.scalar_base) else value,))
        if kind == "array":
            return descriptor(value, self.type.rank)
        return bytes(self.type.size) if value is None else value.__gs_bytes__()

    def unpack(self, raw: bytes) -> Any:
        """Inverse of `pack`."""
        raw = raw[self.offset : self.offset + self.type.size]
        if self.type.kind == "array":
            return array_from_descriptor(raw, self.type)
        return _types.from_native(self.type, raw)


_KINDS = {
    "array": "Warp array",
    "indexedarray": "Warp indexed array",
    "fabricarray": "Warp Fabric array",
    "indexedfabricarray": "Warp indexed Fabric array",
}


def _array_facts(ty: Type) -> Any:
    """Class, element type and dimensions of an array of any kind; None for another type."""
    if ty.kind == "array":
        from gridstride import _array

        return _array.array, ty.elem, ty.rank
    if ty.kind == "struct":
        from gridstride import _mapped

        return _mapped.facts(ty)
    return None


def descriptor(array: Any, rank: int) -> bytes:
    """An array as kernels receive it: address, extents, strides in bytes; zeros for None."""
    if array is None:
        return bytes(8 * (1 + 2 * rank))
    return layout.pack(f"=Q{2 * rank}q", array.ptr or 0, *array.shape, *array.strides)


def array_from_descriptor(raw: bytes, ty: Type) -> Any:
    """The array that a descriptor stands for, owning nothing; None for a null one."""
    from gridstride import _array, _native

    ptr, *rest = layout.unpack(f"=Q{2 * ty.rank}q", raw)
    if ptr == 0:
        return None
    place = _native.cuda_place(ptr)
    place = "pinned" if place == "managed" else place
    return _array.make(_types.class_of(ty.elem), ptr, tuple(rest[: ty.rank]), tuple(rest[ty.rank :]), None, place)


class Variable(NamedTuple):
    """A field as it was declared: its name, and its annotation, evaluated."""

    label: str
    type: Any


class struct_base:
    """Base of every class that `@struct` makes."""

    __gs_type__: ClassVar[Any]
    # The values of fields are in the instance's dictionary, where launches find them.
    __gs_fields__: ClassVar[bool] = True
    _fields: ClassVar[dict[str, Field]]

    def __init__(self, *args: Any, **fields: Any) -> None:
        declared = self._fields
        if len(args) > len(declared):
            raise TypeError(f"{type(self).__name__} has {len(declared)} fields, got {len(args)} values")
        for name, value in zip(declared, args, strict=False):
            if name in fields:
                raise TypeError(f"field `{name}` of {type(self).__name__} is given twice")
            fields[name] = value
        values = self.__dict__
        for name, field in declared.items():
            values[name] = field.convert(fields.pop(name)) if name in fields else field.initial()
        if fields:
            raise TypeError(f"{type(self).__name__} has no field `{next(iter(fields))}`")

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field `{name}`; it has {', '.join(self._fields)}")
        self.__dict__[name] = field.convert(value)

    def __gs_bytes__(self) -> bytes:
        raw = bytearray(self.__gs_type__.size)
        for name, field in self._fields.items():
            raw[field.offset : field.offset + field.type.size] = field.pack(self.__dict__[name])
        return bytes(raw)

    def __ctype__(self) -> Any:
        """The struct as a ctypes structure with the layout that kernels know. It does not keep arrays alive."""
        from gridstride import _c_forms

        return _c_forms.struct_class(self.__gs_type__).from_buffer_copy(self.__gs_bytes__())

    @classmethod
    def from_bytes(cls, raw: bytes) -> Any:
        """The instance whose fields lie in `raw`."""
        self = cls.__new__(cls)
        for name, field in cls._fields.items():
            self.__dict__[name] = field.unpack(raw)
        return self

    @classmethod
    def numpy_dtype(cls) -> Any:
        """The aligned record of this struct, as `numpy.dtype` takes it: `names`, `formats`, `offsets`, `itemsize`.

        An array field is a record of its address, extents and strides.
        """
        return _record(cls)

    def numpy_value(self) -> tuple[Any, ...]:
        """Field values as NumPy takes them for a record."""
        import numpy as np

        return np.frombuffer(self.__gs_bytes__(), dtype=self.numpy_dtype())[0].item()

    def __copy__(self) -> Any:
        other = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            other.__dict__[name] = value.__copy__() if isinstance(value, (composite, struct_base)) else value
        return other

    def to(self, device: Any) -> Any:
        """A copy whose arrays are on a device; itself where they all are there. Fabric arrays stay where they are."""
        from gridstride import _device

        moved, place = self.__copy__(), _device.memory_of(device)
        for name, field in self._fields.items():
            value = self.__dict__[name]
            if field.array is None and not isinstance(value, struct_base) or value is None:
                continue
            if field.array is not None and "fabric" in field.array[0].__name__ and value.device is not place:
                kind = _KINDS[field.array[0].__name__]
                raise ValueError(f"Cannot move struct field '{name}' containing a {kind} to {place}")
            moved.__dict__[name] = value.to(place)
        return moved

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_shown(self.__dict__[name])}" for name in self._fields)
        return f"{type(self).__name__}({values})"


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, _types.scalar_base) else repr(value)


def descriptor_dtype(rank: int) -> Any:
    """The record of an array's address, extents and strides."""
    import numpy as np

    return np.dtype([("data", "u8"), ("shape", "i8", (rank,)), ("strides", "i8", (rank,))])


def _record(cls: Any) -> dict[str, Any]:
    from gridstride import _numpy

    formats: list[Any] = []
    for field in cls._fields.values():
        if field.type.kind == "array":
            formats.append(descriptor_dtype(field.type.rank))
        else:
            base, shape = _numpy.layout(field.cls)
            formats.append((base, shape) if shape else base)
    return {
        "names": list(cls._fields),
        "formats": formats,
        "offsets": [field.offset for field in cls._fields.values()],
        "itemsize": cls.__gs_type__.size,
    }


def _make_struct(cls: type, annotations: dict[str, Any]) -> Any:
    if cls.__bases__ != (object,):
        # What it would inherit, fields and methods, would be missing.
        names = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
        raise RuntimeError(
            f"struct `{cls.__name__}` is derived from {names}: Warp structs must be defined as base classes"
        )
    types: list[tuple[str, Type]] = []
    facts: dict[str, Variable] = {}
    classes: dict[str, Any] = {}
    for name, annotation in annotations.items():
        _annotations.refuse_instance(annotation, f"field `{name}` of struct `{cls.__name__}`")
        try:
            ty = _types.native_type(annotation)
        except TypeError as error:
            raise TypeError(f"field `{name}` of struct `{cls.__name__}`: {error}") from None
        if isinstance(annotation, _unbuilt.Unbuilt):
            return _unbuilt.Unbuilt(cls.__name__)
        if isinstance(ty, tuple):
            if ty[0] == "array" and isinstance(ty[1], Type):
                ty = Type.array(ty[1], ty[2])
            else:
                raise TypeError(f"field `{name}` of struct `{cls.__name__}` must have one fixed type")
        types.append((name, ty))
        facts[name] = Variable(name, annotation)
        if ty.kind == "struct" and ty not in _types.classes:
            from gridstride import _mapped

            _mapped.class_for(ty)
        classes[name] = None if ty.kind == "array" else _types.class_of(ty)
    native = Type.struct(cls.__name__, types)
    dropped = {"__dict__", "__weakref__", *annotations}
    body = {name: value for name, value in vars(cls).items() if name not in dropped}
    body["__gs_type__"] = native
    # What Warp's struct objects say of themselves; fields of these names come first.
    body.update({name: value for name, value in (("key", cls.__qualname__), ("vars", facts)) if name not in facts})
    body["_fields"] = {
        name: Field(name, ty, offset, classes[name], vars(cls).get(name)) for name, ty, offset in native.fields
    }
    made = type(cls.__name__, (struct_base,), body)
    if "cls" not in facts:
        made.cls = made  # type: ignore[attr-defined]
    # Two classes of one name and shape are one type: results get the newest class.
    _types.classes[native] = made
    return made


def struct(cls: type | None = None, *, module: Any = None) -> Any:
    """Makes a class with annotations a struct that kernels know. Use as `@wp.struct`.

    `module` is the module that lists it, else the class's own. Raises `TypeError` for a field without one fixed type.
    """
    from gridstride import _module

    frame = sys._getframe(1)

    def make(inner: type) -> Any:
        made = _make_struct(inner, _annotations.of_class(inner, frame))
        home = inner.__module__ if module is None or module == "unique" else module
        listed = home if isinstance(home, _module.Module) else _module.get_module(home)
        listed.structs[inner.__qualname__.replace(".", "__").replace("<locals>", "locals")] = made
        return made

    return make if cls is None else make(cls)


def is_struct(dtype: Any) -> bool:
    """Whether `dtype` is a class made by `@struct`."""
    return isinstance(dtype, type) and issubclass(dtype, struct_base)
