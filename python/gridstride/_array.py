"""`wp.array`: a view of device memory, and the annotation for one.

    >>> a = wp.array([1.0, 2.0, 3.0], dtype=float)
    >>> a[1:].numpy()
    array([2., 3.], dtype=float32)

Shapes have 1 to 4 extents; strides are in bytes and may be negative or zero. An array of vectors, matrices or structs
keeps each element in one piece. A view keeps what it looks into alive. On the CPU `numpy()` and `__array_interface__`
show the same memory without a copy; on a GPU `numpy()` waits and copies, and `__cuda_array_interface__` shows it.

An annotation is `wp.array(dtype=float, ndim=2)`, `wp.array[float]` or `wp.array2d[float]`; the element may be generic.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gridstride import _c_forms, _device, _mempool, _native, _numpy, _operators, _overwrites, _types
from gridstride._shape import MAX_RANK as MAX_RANK
from gridstride._shape import ArrayAnnotation as ArrayAnnotation
from gridstride._shape import ShapeLike as ShapeLike
from gridstride._shape import contiguous_strides, normalize_shape, subscripted, viewed


class _InstanceType:
    """`__gs_type__` of an array object; the class itself has none, so that it is not taken for a type."""

    def __get__(self, instance: array | None, owner: type) -> Any:
        if instance is None:
            raise AttributeError("__gs_type__")
        return _types.Type.array(instance._type, instance.ndim)


class array(_c_forms.Described, _native.Array):  # noqa: N801 - Warp's name
    """A view of device memory with a shape.

    Args:
        data: A sequence, a NumPy array or another array to take the elements from. With neither `data`, `shape` nor
            `ptr` the result is an annotation (an empty array, or an `ArrayAnnotation` for a generic element).
        dtype: Element type; left out, it follows from `data`.
        shape: Extents; left out, they follow from `data`.
        strides: Bytes between neighbors along each dimension, together with `ptr`.
        ptr: Address of memory that the array does not own.
        capacity: Bytes that `ptr` points to.
        device: Where the memory is; None for the default device.
        pinned: Page-locked memory of the host, which GPUs copy from and to beside other work.
        copy: With False the array shares the memory of a NumPy array of the same element type.
        deleter: Called with (ptr, bytes) when memory given by `ptr` is no longer used.
        ndim: Number of dimensions (annotations), or a check of it.
        grad: Array for the gradient.
        requires_grad: Allocates `grad`.
        retain_grad: Keep the gradient of an intermediate result.

    Raises:
        RuntimeError: Data that does not fit the element type or shape, or a device that does not exist.
        TypeError: An element type that kernels do not have.
        ValueError: A wrong shape.
    """

    __gs_builtin__ = "array"
    _is_array_class = True
    _default_ndim = 1
    __gs_type__ = _InstanceType()
    __array_priority__ = 100
    dtype: Any
    _grad: array | None = None
    _requires_grad = False
    _retain_grad = _is_read = False
    _keep: Any = None

    def __new__(
        cls,
        data: Any = None,
        dtype: Any = Any,
        shape: Any = None,
        strides: Any = None,
        ptr: int | None = None,
        capacity: int | None = None,
        device: _device.DeviceLike = None,
        pinned: bool = False,
        copy: bool = True,
        deleter: Any = None,
        ndim: int | None = None,
        grad: array | None = None,
        requires_grad: bool = False,
        retain_grad: bool = False,
        **unused: Any,
    ) -> Any:
        if unused.pop("length", None) is not None or unused.pop("owner", None):
            raise TypeError("`length` and `owner` are no longer arguments: use `shape` and `deleter`")
        if unused and cls.__init__ is array.__init__:
            raise TypeError(f"array() got an unexpected keyword argument `{next(iter(unused))}`")
        dtype = Any if dtype is None else dtype
        if data is None and shape is None and ptr is None:
            return _annotation(cls, dtype, ndim or cls._default_ndim, requires_grad)
        from gridstride import _array_source

        place = _device.place(device, pinned)
        if data is not None:
            if ptr is not None:
                raise RuntimeError("`data` and `ptr` exclude each other")
            self = _array_source.from_sequence(cls, data, dtype, shape, copy, place, device is not None)
        else:
            self = _array_source.from_memory(cls, dtype, shape, strides, ptr, capacity, deleter, place)
        if ndim is not None and self.ndim != ndim:
            raise RuntimeError(f"expected {ndim} dimensions, the data has {self.ndim}")
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self.requires_grad = True
        if retain_grad:
            self.retain_grad = True
        return self if cls.__init__ is array.__init__ else _array_source.derived(cls, self)

    def __init__(self, *args: Any, **options: Any) -> None:
        """Does nothing: `__new__` made it."""

    def __class_getitem__(cls, dtype: Any) -> Any:
        return subscripted(cls, dtype)

    # Facts.

    memory_kind = property(_mempool.memory_kind)

    @property
    def device(self) -> _device.Device:
        """Where the memory is."""
        return _device._BY_PLACE[self._place]

    @property
    def pinned(self) -> bool:
        """Whether the memory is page-locked memory of the host."""
        return self._place == "pinned"

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._type.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self._type.size

    @property
    def ptr(self) -> int | None:  # type: ignore[override]
        """Address of the first element; None for an array without memory."""
        return _address(self) or None

    @property
    def capacity(self) -> int:
        """Bytes of the memory that the array spans."""
        if self.size == 0:
            return 0
        return self._type.size + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def is_transposed(self) -> bool:
        """Whether the strides are those of a contiguous array with its dimensions reversed."""
        return self.strides == tuple(reversed(contiguous_strides(self.shape[::-1], self._type.size)))

    @property
    def requires_grad(self) -> bool:
        """Whether the array has a gradient. Setting it to True allocates one, to False drops it."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._requires_grad = bool(value)
        if not value:
            self._grad, self._retain_grad = None, False
        elif self._grad is None:
            from gridstride._create import zeros

            self._grad = zeros(self.shape, self.dtype, self.device)

    @property
    def grad(self) -> array | None:
        """The gradient: an array of the same shape and element type, or None."""
        return self._grad

    @grad.setter
    def grad(self, grad: array | None) -> None:
        if grad is not None and (grad._type != self._type or grad.shape != self.shape):
            raise RuntimeError(
                f"a gradient of {self!r} has its shape and type, not those of {grad!r}",
            )
        self._grad = grad
        self._requires_grad = grad is not None

    @property
    def retain_grad(self) -> bool:
        """Whether the gradient is kept for intermediate results. Raises `ValueError` when set without a gradient."""
        return self._retain_grad

    @retain_grad.setter
    def retain_grad(self, value: bool) -> None:
        if value:
            if not self._requires_grad:
                raise ValueError("retain_grad needs requires_grad")
            _native.set_launch_state(retains=True)
        self._retain_grad = bool(value)

    mark_init, mark_read, mark_write = _overwrites.mark_init, _overwrites.mark_read, _overwrites.mark_write

    # Views.

    def _view(self, ptr: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> array:
        return make(self.dtype, ptr, shape, strides, self, self._place)

    def __getitem__(self, key: Any) -> Any:
        """A view, an `indexedarray` where an index is an integer array, or an element where every index is an int.

        Raises `IndexError` for an index outside of the extent, or too many of them.
        """
        keys = key if isinstance(key, tuple) else (key,)
        if Ellipsis in [k for k in keys if k is Ellipsis]:
            at = [k is Ellipsis for k in keys].index(True)
            keys = (*keys[:at], *[slice(None)] * (self.ndim - len(keys) + 1), *keys[at + 1 :])
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for an array of {self.ndim} dimensions")
        if any(isinstance(k, (_native.Array, np.ndarray, list)) for k in keys):
            from gridstride import _indexed

            return _indexed.from_keys(self, keys)
        ptr, shape, strides = self.ptr or 0, [], []
        for d, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            k = keys[d] if d < len(keys) else slice(None)
            if isinstance(k, slice):
                start, stop, step = k.indices(extent)
                n = len(range(start, stop, step))
                if n:
                    ptr += start * stride
                shape.append(n)
                strides.append(stride * step)
            else:
                index = operator.index(k)
                if not -extent <= index < extent:
                    raise IndexError(f"index {index} is out of range for dimension {d} with extent {extent}")
                ptr += index % extent * stride
        if not shape:
            element = self._view(ptr, (1,), (self._type.size,))
            return _types.from_native(self._type, element._np().tobytes())
        view = self._view(ptr, tuple(shape), tuple(strides))
        if self._grad is not None:
            view.grad = self._grad[key]
        return view

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "an array cannot be assigned by element from Python: write `a[1:3].fill_(value)`, "
            "`a[1:3].assign(values)`, or through `a.numpy()` on the CPU"
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return self.size > 0

    def reshape(self, shape: ShapeLike) -> array:
        """A view with another shape; one extent may be -1. Raises `RuntimeError` unless contiguous."""
        extents = list(shape) if hasattr(shape, "__len__") else [shape]
        if extents.count(-1) == 1:
            known = math.prod(extent for extent in extents if extent != -1)
            if known == 0 or self.size % known:
                raise RuntimeError(f"cannot reshape array of shape {self.shape} into shape {tuple(extents)}")
            extents[extents.index(-1)] = self.size // known
        target = normalize_shape(extents)
        if math.prod(target) != self.size:
            raise RuntimeError(
                f"cannot reshape array of shape {self.shape} (size {self.size}) into shape {target} "
                f"(size {math.prod(target)})"
            )
        if not self.is_contiguous:
            raise RuntimeError("reshaping a non-contiguous array is not supported: call contiguous() first")
        view = self._view(self.ptr or 0, target, contiguous_strides(target, self._type.size))
        if self._grad is not None:
            view.grad = self._grad.reshape(target)
        return view

    def flatten(self) -> array:
        """A 1-d view. Raises `RuntimeError` unless contiguous."""
        return self if self.ndim == 1 else self.reshape((self.size,))

    def view(self, dtype: Any) -> array:
        """The same memory as elements of another type: of equal size, components as elements, or the reverse.

        Raises `TypeError` for a type whose size does not fit.
        """
        cls = _types.dtype_class(dtype)
        shape, strides = viewed(self, cls)
        view = make(cls, self.ptr or 0, shape, strides, self, self._place)
        if self._grad is not None:
            view.grad = self._grad.view(dtype)
        return view

    def transpose(self, axes: Sequence[int] | None = None) -> array:
        """A view with its dimensions reversed, or ordered as `axes` say. Raises `ValueError` for wrong axes."""
        order = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes {order} are not a permutation of {tuple(range(self.ndim))}")
        view = self._view(self.ptr or 0, tuple(self.shape[d] for d in order), tuple(self.strides[d] for d in order))
        if self._grad is not None:
            view.grad = self._grad.transpose(order)
        return view

    @property
    def T(self) -> array:  # noqa: N802 - NumPy's name
        """`transpose()`."""
        return self.transpose()

    def contiguous(self) -> array:
        """This array where it is contiguous, else a contiguous copy."""
        if self.is_contiguous:
            return self
        from gridstride import _create

        copied = _create.empty_like(self, requires_grad=False)
        _create.copy_values(copied, self)
        if self._grad is not None:
            copied.grad = self._grad.contiguous()
        return copied

    def to(self, device: _device.DeviceLike, requires_grad: bool | None = None) -> array:
        """This array on a device: itself where it is there already, else a copy."""
        if _device.memory_of(device) is self.device:
            return self
        from gridstride import _create

        return _create.clone(self, device, self._requires_grad if requires_grad is None else requires_grad)

    # Contents.

    def _np(self) -> np.ndarray:
        """NumPy's view of the memory, or a copy of that of a GPU; bfloat16 as its bits."""
        base, inner = _numpy.layout(self.dtype)
        if self.size == 0 or not self.ptr:
            return np.empty(self.shape + inner, dtype=base)
        if self.device.is_cuda:
            from gridstride import _device_memory

            return _device_memory.read(self)
        found = np.asarray(_numpy.Memory(self, base, inner))
        return found if base.kind in "biuf" else found.view(base)

    def _store(self, values: Any) -> None:
        """Sets the elements to values of NumPy's, which are broadcast."""
        if self._is_host:
            self._np()[...] = values
        else:
            from gridstride import _device_memory

            _device_memory.write(self, np.asarray(values))

    def numpy(self) -> np.ndarray:
        """The elements as a NumPy array: the same memory where NumPy has the type, vectors as further dimensions.

        Elements on a GPU are copied once all work before is done; failures of kernels show here. Structs are records.
        bfloat16 becomes a float32 copy unless `ml_dtypes` is installed.
        """
        found = self._np()
        if self._is_host and _native.is_watched(self):
            # A write through NumPy would go unseen, and the tape's gradient would be wrong.
            found = found.view()
            found.flags.writeable = False
        if found.dtype == np.uint16 and getattr(self.dtype, "_wp_scalar_type_", None) is _types.bfloat16:
            return _numpy.bf16_to_float32(found)
        return found

    def list(self) -> list[Any]:
        """Elements in row-major order: Python numbers, or host vectors, matrices, structs."""
        raw = np.ascontiguousarray(self._np()).tobytes()
        size = self._type.size
        if self._type.kind == "scalar":
            return _types.unpack(self.dtype, raw)
        return [self.dtype.from_bytes(raw[at : at + size]) for at in range(0, len(raw), size)]

    def fill_(self, value: Any) -> None:
        """Sets every element to a value of the element type. Raises `TypeError`, `ValueError` or `OverflowError`."""
        from gridstride import _array_source, _recorded

        value = _array_source.element(self, value)
        if _recorded.fill(self, value):
            return
        raw = value.__gs_bytes__()
        if not self._is_host:
            from gridstride import _device_memory

            return _device_memory.fill(self, raw)
        if self.device.is_cuda:
            self.device.stream.synchronize()
        return _native.fill_host(self, raw)

    def zero_(self) -> None:
        """Sets every byte of every element to zero."""
        from gridstride import _recorded

        if _recorded.fill(self, None):
            return
        if self._is_host:
            if self.device.is_cuda:
                self.device.stream.synchronize()
            _native.fill_host(self, bytes(self._type.size))
        else:
            from gridstride import _device_memory

            _device_memory.fill(self, bytes(self._type.size))

    def assign(self, src: Any) -> None:
        """Copies the elements of an array, NumPy array or sequence into this array. Raises `RuntimeError`."""
        from gridstride import _array_source, _create

        if not isinstance(src, _native.Array):
            src = _array_source.as_array(src, self.dtype)
        _create.copy_values(self, src)

    # Other systems.

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self._is_host:
            raise AttributeError("__array_interface__ (the array is not in the host's memory)")
        base, inner = _numpy.layout(self.dtype)
        return _numpy.interface(self, base, inner)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._place == "cpu":
            raise AttributeError("__cuda_array_interface__ (the array is not on a CUDA device)")
        base, inner = _numpy.layout(self.dtype)
        found = _numpy.interface(self, base, inner)
        # Who takes the memory must be in order with the work that is on this stream.
        stream = self.device.stream.handle if self.device.is_cuda else None
        return {**found, "data": (self.ptr or 0, False), "stream": stream}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return _numpy.converted(self, self.numpy(), dtype, copy)

    def __dlpack__(self, **options: Any) -> Any:
        from gridstride import _dlpack

        return _dlpack.export(self, options)

    def __dlpack_device__(self) -> tuple[int, int]:
        from gridstride import _dlpack

        return _dlpack.device_of(self)

    def __repr__(self) -> str:
        return f"array(shape={self.shape}, dtype={self.dtype.__name__})"

    def __str__(self) -> str:
        return str(self.numpy())

    def __copy__(self) -> array:
        return self[...]

    def __deepcopy__(self, memo: dict[int, Any]) -> array:
        from gridstride import _create

        return _create.clone(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from gridstride import _array_source

        raw = np.ascontiguousarray(self._np()).tobytes()
        return _array_source.unpickle, (self.dtype, self.shape, raw, self._requires_grad)


_address = _native.Array.ptr.__get__  # type: ignore[attr-defined]


def make(cls: Any, ptr: int, shape: tuple[int, ...], strides: tuple[int, ...], owner: Any, place: str = "cpu") -> array:
    """An array over memory that `owner` keeps alive; `place` says where it is: "cpu", "pinned", "cuda:0" …"""
    self = _native.Array.__new__(array, cls.__gs_type__, ptr, shape, strides, place, owner)
    self.dtype = cls
    return self


def _annotation(cls: Any, dtype: Any, ndim: int, requires_grad: bool) -> Any:
    from gridstride import _array_ranks

    annotation = ArrayAnnotation(dtype, ndim)
    if isinstance(annotation.__gs_type__, tuple):
        return annotation
    empty = make(annotation.dtype, 0, (0,) * ndim, (annotation.dtype.__gs_type__.size,) * ndim, None)
    return _array_ranks.as_annotation(empty, requires_grad)


_operators.install(array)
