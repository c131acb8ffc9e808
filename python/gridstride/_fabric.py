"""Fabric arrays: attributes that lie in buckets of memory, as NVIDIA Omniverse's Fabric and USDRT hand them out.

In: the dictionary of a selection's `__fabric_arrays_interface__`, and an attribute's name. Out: an array that kernels
index as any other, over the memory where it is; an `fa[indices]` of it; and rows of an attribute that holds arrays.

    {"version": 1, "device": "cpu", "attribs": {"mass": {"type": (True, "f4", 1, 0, ""), "access": 2,
     "pointers": [p0, p1], "counts": [n0, n1]}}}

The type is (usable, scalar, components, depth, role); an attribute of depth 1 has in its buckets the addresses of rows,
and `array_lengths` has the addresses of their lengths (uint64 both).

To the compiler a Fabric array is a struct of tables (crates/frontend/src/walk/subscript/fabric.rs): for each bucket the
address that element 0 would have if it lay there too, and the number of the element after its last.
"""

from __future__ import annotations

import math
import struct as layout
from typing import Any

import numpy as np

from gridstride import _array, _device, _indexed, _mapped, _numpy, _struct, _types, _vector

Type = _types.Type
_INT64 = _types.int64.__gs_type__
_ADDRESSES = Type.array(_types.uint64.__gs_type__, 1)
_ENDS = Type.array(_INT64, 1)
_INDICES = Type.array(_types.int32.__gs_type__, 1)
_SCALARS = {
    "b": _types.bool,
    "i1": _types.int8,
    "i2": _types.int16,
    "i4": _types.int32,
    "i8": _types.int64,
    "u1": _types.uint8,
    "u2": _types.uint16,
    "u4": _types.uint32,
    "u8": _types.uint64,
    "f2": _types.float16,
    "f4": _types.float32,
    "f8": _types.float64,
}


class fabricarray(_mapped.mapped_array):  # noqa: N801 - Warp's name
    """An attribute of Fabric, over its memory.

    Args:
        data: The interface, or an object that has it as `__fabric_arrays_interface__`. Left out, the result is an
            annotation for kernels.
        attrib: The attribute's name.
        dtype: Element type of the annotation, or a check of it.
        ndim: 2 for an attribute whose elements are arrays.

    Raises:
        KeyError: No such attribute.
        TypeError: `data` that is no such interface.
        ValueError: A version or a type that is not known.
    """

    _native_name = "fabricarray"
    # Where a tape looks for arrays with gradients: there is none.
    element = None

    def __init__(self, data: Any = None, attrib: str | None = None, dtype: Any = Any, ndim: Any = None) -> None:
        if data is None:
            pattern = _types.element_pattern(dtype)
            self.dtype, self.ndim = _mapped.named(dtype, pattern), ndim or self._default_ndim
            self.__gs_type__ = _native_type(pattern, self.ndim)
            return
        interface = getattr(data, "__fabric_arrays_interface__", data)
        if not isinstance(interface, dict):
            raise TypeError(f"expected an object with `__fabric_arrays_interface__`, got {type(data).__name__}")
        if interface.get("version") != 1:
            raise ValueError(f"Fabric arrays of version 1 are known, not {interface.get('version')}")
        if attrib not in interface["attribs"]:
            raise KeyError(f"no attribute `{attrib}` among {', '.join(interface['attribs'])}")
        attribute = interface["attribs"][attrib]
        self.dtype, self.ndim = _element(attribute["type"], attrib)
        wanted = None if dtype is Any else _types.dtype_class(dtype)
        if wanted is not None and wanted.__gs_type__ != self._type or ndim not in (None, self.ndim):
            raise TypeError(f"attribute `{attrib}` holds {self.dtype.__name__} in {self.ndim} dimension(s)")
        self.access = attribute["access"]
        # Whatever the memory belongs to lives as long as this array.
        self._owner = data
        self._set_tables(attribute, _device.get_device(interface["device"]))

    def _set_tables(self, attribute: dict[str, Any], device: Any) -> None:
        counts = np.array(attribute["counts"], dtype=np.int64)
        ends = np.cumsum(counts, dtype=np.int64)
        self.shape = (int(ends[-1]) if ends.size else 0,)
        self.__gs_type__ = _native_type(self._type, self.ndim)
        size, lists = (self._type.size, ("pointers",)) if self.ndim == 1 else (8, ("pointers", "array_lengths"))
        before = (ends - counts).astype(np.uint64) * np.uint64(size)
        addresses = [np.array([one or 0 for one in attribute[name]], dtype=np.uint64) for name in lists]
        # Modulo 2^64, as the compiler adds to them.
        self._bases = [_array.array(one - before, dtype=_types.uint64, device=device) for one in addresses]
        self._ends = _array.array(ends, dtype=_types.int64, device=device)

    @property
    def _memory(self) -> Any:  # type: ignore[override]
        return self.__dict__["_bases"][0] if "_bases" in self.__dict__ else None

    def __getitem__(self, indices: Any) -> indexedfabricarray:
        return indexedfabricarray(self, indices)

    def _parts(self) -> list[tuple[slice, Any]]:
        """The numbers of the elements of each bucket, and the bucket as an array."""
        if self.ndim == 2:
            raise RuntimeError(f"{self!r} has rows of different lengths: read them in a kernel")
        parts, start = [], 0
        for base, end in zip(self._bases[0].numpy().tolist(), self._ends.numpy().tolist(), strict=True):
            ptr, strides = (base + start * self._type.size) % 2**64, (self._type.size,)
            bucket = _array.make(self.dtype, ptr, (end - start,), strides, self, self._bases[0]._place)
            parts.append((slice(start, end), bucket))
            start = end
        return parts

    def _np(self) -> np.ndarray:
        if self.device.is_cuda:
            return self.contiguous()._np()
        base, inner = _numpy.layout(self.dtype)
        parts = [bucket._np() for _, bucket in self._parts()]
        return np.concatenate([np.empty((0, *inner), dtype=base), *parts])

    def _assign(self, values: Any) -> None:
        _scatter(self, values, None)

    def __gs_bytes__(self) -> bytes:
        tables = [_struct.descriptor(one, 1) for one in (*self._bases, self._ends, None)]
        return b"".join([*tables, layout.pack("=q", self.size)])


class indexedfabricarray(_mapped.mapped_array):  # noqa: N801 - Warp's name
    """A Fabric array seen through indices: `fa[indices]`.

    Args:
        fa: The Fabric array. Left out, the result is an annotation for kernels.
        indices: An int32 array.
        dtype: Element type of the annotation.
        ndim: 2 for an attribute whose elements are arrays.
    """

    _native_name = "indexedfabricarray"

    def __init__(self, fa: Any = None, indices: Any = None, dtype: Any = Any, ndim: Any = None) -> None:
        self.fa = fa
        if fa is None:
            pattern = _types.element_pattern(dtype)
            self.dtype, self.ndim = _mapped.named(dtype, pattern), ndim or self._default_ndim
            element = _native_type(pattern, self.ndim)
        else:
            self.dtype, self.ndim = fa.dtype, fa.ndim
            self.indices = _indexed.index_array(indices, fa.device)
            self.shape = self.indices.shape
            element = fa.__gs_type__
        self.__gs_type__ = element if isinstance(element, tuple) else _indexed_type(element)

    @property
    def base(self) -> Any:
        """The Fabric array."""
        return self.fa

    @property
    def _memory(self) -> Any:  # type: ignore[override]
        return None if self.fa is None else self.fa._memory

    def _np(self) -> np.ndarray:
        return self.contiguous()._np() if self.device.is_cuda else self.fa._np()[self.indices._np()]

    def _assign(self, values: Any) -> None:
        _scatter(self.fa, values, None if self.device.is_cuda else self.indices._np(), self)

    def __gs_bytes__(self) -> bytes:
        return self.fa.__gs_bytes__() + _struct.descriptor(self.indices, 1)


def fabricarrayarray(*args: Any, **options: Any) -> fabricarray:
    """`fabricarray` of an attribute whose elements are arrays, or its annotation."""
    return fabricarray(*args, **{**options, "ndim": 2})


def indexedfabricarrayarray(*args: Any, **options: Any) -> indexedfabricarray:
    """`indexedfabricarray` of an attribute whose elements are arrays, or its annotation."""
    return indexedfabricarray(*args, **{**options, "ndim": 2})


def _element(info: Any, attrib: Any) -> tuple[Any, int]:
    """Element class and dimensions of an attribute, by its type in the interface."""
    if len(info) != 5:
        raise ValueError(f"the type of Fabric attribute `{attrib}` must contain five elements, got {len(info)}: {info}")
    is_usable, code, count, depth, role = info
    if not is_usable or code not in _SCALARS or depth not in (0, 1):
        raise ValueError(f"Fabric attribute `{attrib}` of type {info} cannot be used in kernels")
    scalar = _SCALARS[code]
    if count == 1:
        dtype = scalar
    elif role in ("matrix", "frame", "transform"):
        n = math.isqrt(count)
        if n * n != count:
            raise ValueError(f"Fabric attribute `{attrib}`: a {role} must have a square element count, got {count}")
        dtype = _vector.matrix((n, n), scalar)
    elif role == "quat":
        dtype = _vector.quaternion(scalar)
    else:
        dtype = _vector.vector(count, scalar)
    return dtype, depth + 1


def _native_type(element: Any, ndim: Any) -> Any:
    if isinstance(element, tuple) or ndim is Any:
        # Each launch, or call, says which struct it is.
        return ("any",)
    tables = ("bases",) if ndim == 1 else ("bases", "lengths")
    fields = [*[(name, _ADDRESSES) for name in tables], ("ends", _ENDS), ("element", Type.array(element, 1))]
    return Type.struct("fabricarray", [*fields, ("count", _INT64)])


def _indexed_type(fabric: Any) -> Any:
    return Type.struct("indexedfabricarray", [("base", fabric), ("indices", _INDICES)])


def _scatter(fa: fabricarray, values: Any, indices: Any, target: Any = None) -> None:
    """Sets elements of a Fabric array to values that are broadcast to its shape, or to that of indices into it."""
    target = fa if target is None else target
    if fa.device.is_cuda:
        from gridstride import _device_memory

        return _device_memory.write(target, np.asarray(values))
    base, inner = _numpy.layout(fa.dtype)
    values = np.broadcast_to(np.asarray(values, dtype=base), target.shape + inner)
    for numbers, bucket in fa._parts():
        if indices is None:
            bucket._np()[...] = values[numbers]
        else:
            here = (indices >= numbers.start) & (indices < numbers.stop)
            bucket._np()[indices[here] - numbers.start] = values[here]
    return None


def _class_for(ty: Any) -> Any:
    """What reads a Fabric array back from its bytes, which own nothing."""

    class codec(fabricarray):  # noqa: N801
        __gs_type__ = ty

        @staticmethod
        def from_bytes(raw: bytes) -> Any:
            return _from_bytes(ty, raw)

        @staticmethod
        def numpy_dtype() -> Any:
            *tables, (count, _, _) = ty.fields
            return np.dtype([*[(name, _struct.descriptor_dtype(1)) for name, _, _ in tables], (count, "i8")])

    return codec


def _facts(ty: Any) -> tuple[Any, Any, int]:
    *tables, (_, element, _), _ = ty.fields
    return fabricarray, element.elem, len(tables) - 1


def _from_bytes(ty: Any, raw: bytes) -> Any:
    *tables, _, (_, _, last) = ty.fields
    *bases, ends = [_struct.array_from_descriptor(raw[at : at + one.size], one) for _, one, at in tables]
    if ends is None:
        return None
    made = object.__new__(fabricarray)
    _, element, made.ndim = _facts(ty)
    made.dtype = _types.class_of(element)
    made.shape = layout.unpack("=q", raw[last : last + 8])
    made.access, made._owner, made.__gs_type__ = 2, None, ty
    made._bases, made._ends = bases, ends
    return made


def _indexed_class_for(ty: Any) -> Any:
    base, size = ty.fields[0][1], ty.fields[0][1].size

    class codec(indexedfabricarray):  # noqa: N801
        __gs_type__ = ty

        @staticmethod
        def from_bytes(raw: bytes) -> Any:
            fa = _from_bytes(base, raw[:size])
            return None if fa is None else indexedfabricarray(fa, _struct.array_from_descriptor(raw[size:], _INDICES))

        @staticmethod
        def numpy_dtype() -> Any:
            return np.dtype([("base", _mapped.class_for(base).numpy_dtype()), ("indices", _struct.descriptor_dtype(1))])

    return codec


_mapped.makers["fabricarray"] = _class_for
_mapped.makers["indexedfabricarray"] = _indexed_class_for
_mapped.readers["fabricarray"] = _facts
_mapped.readers["indexedfabricarray"] = lambda ty: (indexedfabricarray, *_facts(ty.fields[0][1])[1:])
