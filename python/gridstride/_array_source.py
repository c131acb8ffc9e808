"""Where a new array's memory comes from: allocation, an address, or the elements of other data.

In: the arguments of `wp.array`. Out: an array over fresh memory, or over the given memory when nothing must be
converted and no copy was asked for.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from gridstride import _array, _device, _memory, _native, _numpy, _types, config
from gridstride._vector import composite


class _Foreign:
    """Memory that someone else allocated; `deleter(ptr, size)` runs when the last view is gone."""

    __slots__ = ("__weakref__", "deleter", "ptr", "size")

    def __init__(self, ptr: int, size: int, deleter: Any) -> None:
        self.ptr = ptr
        self.size = size
        self.deleter = deleter

    def __del__(self) -> None:
        self.deleter(self.ptr, self.size)


def allocate(cls: Any, shape: tuple[int, ...], zeroed: bool, strides: Any = None, place: str = "cpu") -> _array.array:
    """An array over its own memory, contiguous unless strides are given. Raises `MemoryError`, `ValueError`."""
    itemsize = cls.__gs_type__.size
    n_bytes = math.prod(shape) * itemsize
    if strides is None:
        strides = _array.contiguous_strides(shape, itemsize)
    else:
        strides = tuple(strides)
        if len(strides) != len(shape):
            raise ValueError(f"Invalid number of strides, expected {len(shape)} strides, got {len(strides)}")
        if any(stride < 0 for stride in strides):
            raise NotImplementedError("Negative strides are for views: slice an array with a negative step")
        if n_bytes:
            n_bytes = itemsize + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if n_bytes == 0:
        return _array.make(cls, 0, shape, strides, None, place)
    buffer, place = _buffer(n_bytes, zeroed, place)
    if _memory.n_trackers or config.track_memory:
        extents = ", ".join(map(str, shape))
        _memory.note(buffer, n_bytes, f"array[{cls.__name__}, {extents}]", str(_device._BY_PLACE[place]))
    return _array.make(cls, buffer.ptr, shape, strides, buffer, place)


def _buffer(n_bytes: int, zeroed: bool, place: str) -> tuple[Any, str]:
    """Memory at a place, and what the place is called."""
    if place == "cpu":
        return _native.Buffer(n_bytes, zeroed), place
    if place == "pinned":
        made = _native.CudaBuffer(_device.get_device("cuda").ordinal, n_bytes, place)
        if zeroed:
            ctypes.memset(made.ptr, 0, n_bytes)
        return made, place
    from gridstride import _allocators

    ordinal = int(place.partition(":")[2])
    made, place = _allocators.buffer(ordinal, n_bytes)
    if zeroed:
        _native.cuda_keep(made)
        _native.cuda_fill(ordinal, made.ptr, b"\0", n_bytes)
    return made, place


def derived(cls: Any, made: _array.array) -> Any:
    """An array as an instance of a class that a program derived from `array`."""
    self = _native.Array.__new__(cls, made._type, made.ptr or 0, made.shape, made.strides, made._place, made)
    self.__dict__.update(made.__dict__)
    return self


def unpickle(cls: Any, shape: tuple[int, ...], raw: bytes, requires_grad: bool) -> _array.array:
    """An array with the elements that its bytes are, on the default device."""
    from gridstride import _create

    made = _create.empty(shape, cls, requires_grad=requires_grad)
    base, inner = _numpy.layout(cls)
    made._store(np.frombuffer(raw, dtype=base).reshape(shape + inner))
    return made


def from_memory(
    subclass: Any,
    dtype: Any,
    shape: Any,
    strides: Any,
    ptr: int | None,
    capacity: int | None,
    deleter: Any,
    place: str,
) -> _array.array:
    """An array over memory at `ptr`, or over fresh memory that is not set."""
    if shape is None:
        raise RuntimeError("an array from a `ptr` needs a `shape`")
    if dtype is Any:
        raise RuntimeError("an array without `data` needs a `dtype`")
    cls = _types.dtype_class(dtype)
    extents = _array.normalize_shape(shape)
    if ptr is None:
        if strides is not None:
            raise RuntimeError("`strides` go with `ptr`")
        return allocate(cls, extents, False, None, place)
    size = cls.__gs_type__.size
    steps = _array.contiguous_strides(extents, size) if strides is None else tuple(strides)
    if len(steps) != len(extents):
        raise RuntimeError(f"{len(steps)} strides for {len(extents)} dimensions")
    span = size + sum((n - 1) * max(step, 0) for n, step in zip(extents, steps, strict=True))
    if capacity is not None and math.prod(extents) and span > capacity:
        raise RuntimeError(f"shape {extents} with strides {steps} spans {span} bytes, the memory has {capacity}")
    owner = None if deleter is None else _Foreign(ptr, capacity or span, deleter)
    return _array.make(cls, ptr, extents, steps, owner, place)


def element(array: _array.array, value: Any) -> Any:
    """A value as an element of the array; what it refers to lives with the array."""
    cls, ty = array.dtype, array._type
    if ty.kind == "struct":
        if getattr(type(value), "__gs_type__", None) != ty:
            raise TypeError(f"expected `{cls.__name__}`, got {_types.describe(type(value))}")
        if any(field.kind == "array" for _, field, _ in ty.fields):
            array._keep = [array._keep, value]
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if type(value) is cls:
        return value
    return cls(_types.int_held(cls, value)) if issubclass(cls, _types.int_base) else cls(value)


def as_array(data: Any, dtype: Any) -> _array.array:
    """Host values, or another library's array where it is, as an array; without a copy where nothing is converted."""
    if is_foreign(data):
        return _array.array(data, dtype=dtype, copy=False)
    # JAX's arrays are read-only for NumPy, and so is what NumPy broadcasts.
    is_read_only = isinstance(data, np.ndarray) and not data.flags.writeable
    return _array.array(data, dtype=dtype, copy=is_read_only, device="cpu")


def is_foreign(data: Any) -> bool:
    """Whether data is another library's array on a CUDA device."""
    if isinstance(data, (list, tuple, np.ndarray, _array.array)):
        return False
    try:
        found = _native.foreign_array(data)
    except (AttributeError, TypeError):
        return False
    return found is not None and found[5] not in ("cpu", "pinned")


def from_sequence(
    subclass: Any, data: Any, dtype: Any, shape: Any, copy: bool, place: str, is_chosen: bool
) -> _array.array:
    """An array with the elements of `data`, converted to `dtype`, at a place that was chosen or is the default."""
    # What describes its memory as the host's is taken at its word where that is asked for.
    if not (place == "cpu" and hasattr(data, "__array_interface__")) and is_foreign(data):
        from gridstride import _interop

        return _from_array(_interop.from_foreign(data, dtype), shape, copy, place, is_chosen)
    if isinstance(data, _native.Array) and not isinstance(data, _array.array):
        # An array of another style, CuPy's or numba's: its memory is as good as our own.
        from gridstride import _interop

        data = _interop.from_style(data)
    if isinstance(data, _array.array) and (dtype is Any or _types.dtype_class(dtype).__gs_type__ == data._type):
        return _from_array(data, shape, copy, place, is_chosen)
    cls = None if dtype is Any else _types.dtype_class(dtype)
    if cls is None:
        cls = _class_of_items(data)
    if cls is not None and cls.__gs_type__.kind == "struct":
        return _from_structs(cls, data, shape, copy, place)
    values, shared = _values(data, cls)
    if cls is None:
        cls = _numpy.class_from_numpy(values.dtype)
        if cls is None:
            raise RuntimeError(f"data of the NumPy type {values.dtype} has no kernel type: give a `dtype`")
    _, inner = _numpy.layout(cls)
    values = _fit(values, cls, inner, None if shape is None else _array.normalize_shape(shape))
    return _over(values, cls, inner, copy or not shared, place)


def _from_array(data: _array.array, shape: Any, copy: bool, place: str, is_chosen: bool) -> _array.array:
    from gridstride import _create

    view = data if shape is None else data.reshape(shape)
    is_elsewhere = is_chosen and _device._BY_PLACE[place] is not view.device
    if copy or is_elsewhere:
        device = _device._BY_PLACE[place] if is_chosen else view.device
        return _create.clone(view, device, requires_grad=False, pinned=place == "pinned")
    return _array.make(view.dtype, view.ptr or 0, view.shape, view.strides, view, view._place)


def _class_of_items(data: Any) -> Any:
    """The class of a list's elements where they are host values, else None."""
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if first is data:
        return None
    ty = type(first)
    return ty if isinstance(getattr(ty, "__gs_type__", None), _types.Type) else None


_NUMBERS = {int, float}


def _plain(item: Any) -> Any:
    """Host values of a nested sequence as numbers."""
    if isinstance(item, (list, tuple)):
        return item if _NUMBERS.issuperset(map(type, item)) else [_plain(part) for part in item]
    if isinstance(item, composite):
        return _plain(list(item)) if len(item._shape_) > 1 else item._c
    if isinstance(item, _types.scalar_base):
        return item.value
    return item


def _values(data: Any, cls: Any) -> tuple[np.ndarray, bool]:
    """The numbers of `data` as a NumPy array of the class's scalar, and whether it may share memory with `data`."""
    if isinstance(data, (list, tuple)):
        return _numbers(_plain(data), cls), False
    if isinstance(data, (int, float, complex, _types.scalar_base, np.generic)) or data is None:
        raise RuntimeError(f"data must be a sequence or an array, not the scalar {data!r}")
    if hasattr(data, "__cuda_array_interface__") and not hasattr(data, "__array_interface__"):
        try:
            interface = data.__cuda_array_interface__
        except (AttributeError, TypeError):  # a torch tensor on the CPU
            interface = None
        if interface is not None and not hasattr(data, "__array__"):
            raise RuntimeError("the data is in the memory of a CUDA device, and no CUDA device is available")
    if isinstance(data, composite):
        return _numbers(_plain(data), cls), False
    values = data if isinstance(data, np.ndarray) else _numpy_of(data)
    # An array of no dimensions is one element, as `np.atleast_1d` has it.
    return _numbers(np.atleast_1d(values), cls), True


def _numpy_of(data: Any) -> np.ndarray:
    if hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        return np.from_dlpack(data)
    if isinstance(data, (str, bytes, dict)) or not hasattr(data, "__len__"):
        raise RuntimeError(f"data must be a sequence or an array, not {_types.describe(type(data))}")
    return np.asarray(data)


def _numbers(values: Any, cls: Any) -> np.ndarray:
    """Numbers as the class holds them. A NumPy array is converted as a kernel's cast would, a list must fit."""
    if cls is None:
        return np.asarray(values)
    scalar = cls._wp_scalar_type_
    base = _numpy.scalar_dtype(scalar)
    is_array = isinstance(values, np.ndarray)
    if is_array and values.dtype == base:
        return values
    if scalar is _types.bfloat16 and base == np.uint16:
        return _numpy.float_to_bf16(values)
    try:
        if is_array:
            with np.errstate(over="ignore", invalid="ignore"):
                return values.astype(base)
        return np.array(values, dtype=base)
    except OverflowError as error:
        raise OverflowError(f"the data does not fit `{cls.__name__}`: {error}") from None
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"the data cannot be converted to `{cls.__name__}`: {error}") from None


def _fit(values: np.ndarray, cls: Any, inner: tuple[int, ...], shape: tuple[int, ...] | None) -> np.ndarray:
    """Reshapes numbers so that the last dimensions are an element's components."""
    if shape is not None:
        if values.size != math.prod(shape + inner):
            raise RuntimeError(f"{values.size} numbers do not fill the shape {shape} of `{cls.__name__}`")
        return values.reshape(shape + inner)
    while inner and values.ndim > 1 and values.shape[-1] == 1 and values.shape[-len(inner) :] != inner:
        values = values[..., 0]
    if inner and (values.ndim <= len(inner) or values.shape[-len(inner) :] != inner):
        # An inner extent that is a multiple of the element's length holds several elements in a row.
        n = math.prod(inner)
        if values.size == 0:
            values = values.reshape((0, *inner))
        elif values.shape == inner:
            values = values.reshape((1, *inner))
        elif values.shape[-1] == n and values.ndim > 1:
            values = values.reshape((*values.shape[:-1], *inner))
        elif values.shape[-1] % n == 0:
            values = values.reshape((*values.shape[:-1], values.shape[-1] // n, *inner))
        else:
            raise RuntimeError(
                f"the shape {values.shape} of the data does not fit `{cls.__name__}`: the inner extent must be a "
                f"multiple of {n}"
            )
    if not 1 <= values.ndim - len(inner) <= _array.MAX_RANK:
        raise RuntimeError(f"data of shape {values.shape} gives more than {_array.MAX_RANK} dimensions")
    return values


def _over(values: np.ndarray, cls: Any, inner: tuple[int, ...], copy: bool, place: str) -> _array.array:
    """An array over a NumPy array's memory, or over a copy of it where asked for or needed, or elsewhere."""
    rank = values.ndim - len(inner)
    shape = tuple(values.shape[:rank])
    wanted = _array.contiguous_strides(inner, values.dtype.itemsize)
    compact = tuple(values.strides[rank:]) == wanted or math.prod(inner) == 1
    view = None
    if place == "cpu" and compact and values.flags.aligned and values.dtype.isnative:
        ptr = values.__array_interface__["data"][0] if values.size else 0
        view = _array.make(cls, ptr, _array.normalize_shape(shape), tuple(values.strides[:rank]), values)
    if copy or view is None:
        made = allocate(cls, _array.normalize_shape(shape), False, None, place)
        if view is not None:
            _native.copy_host(made, view)
        elif made.size:
            made._store(values)
        return made
    if not values.flags.writeable:
        raise RuntimeError("a read-only NumPy array cannot be shared: use copy=True")
    return view


def _from_structs(cls: Any, data: Any, shape: Any, copy: bool, place: str) -> _array.array:
    """An array of structs from records or instances."""
    record = np.dtype(cls.numpy_dtype())
    if isinstance(data, _array.array):
        data = data.numpy()
    if isinstance(data, np.ndarray):
        if data.dtype.names != record.names:
            raise RuntimeError(f"records of {data.dtype} do not fit `{cls.__name__}`")
        values, keep = (data if data.dtype == record else data.astype(record)), None
        copy = copy or values is not data
    else:
        flat, keep = _instances(cls, data), data
        values = np.frombuffer(b"".join(item.__gs_bytes__() for item in flat), dtype=record)
        values, copy = values.reshape(_nesting(data)), True
    if shape is not None:
        values = values.reshape(_array.normalize_shape(shape))
    if values.ndim == 0:
        raise RuntimeError("data must be a sequence or an array, not a scalar")
    made = _over(values, cls, (), copy, place)
    # Arrays inside of the structs are only addresses in the memory: their owners live with this array.
    made._keep = keep
    return made


def _nesting(data: Any) -> tuple[int, ...]:
    return (
        (len(data), *_nesting(data[0]))
        if isinstance(data, (list, tuple)) and data
        else ((0,) if isinstance(data, (list, tuple)) else ())
    )


def _instances(cls: Any, data: Any) -> list[Any]:
    if isinstance(data, (list, tuple)):
        return [item for part in data for item in _instances(cls, part)]
    if getattr(type(data), "__gs_type__", None) != cls.__gs_type__:
        raise RuntimeError(f"expected `{cls.__name__}`, got {_types.describe(type(data))}")
    return [data]
