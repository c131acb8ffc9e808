"""Functions that make and copy arrays: `zeros ones full empty`, the `*_like`s, `clone`, `copy`, NumPy and DLPack.

    >>> wp.full((2, 3), 7, dtype=int).numpy()
    array([[7, 7, 7],
           [7, 7, 7]], dtype=int32)

Shapes are ints or sequences of 1 to 4 ints; `dtype` is any element type, `float` (float32) by default. All raise
`ValueError` for a wrong shape, `TypeError` for a type kernels do not have, `RuntimeError` for an unknown device.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from gridstride import _array, _array_source, _device, _indexed, _logger, _mapped, _native, _numpy, _recorded, _types
from gridstride._array import ShapeLike, array


def _new(
    shape: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    retain_grad: bool,
    zeroed: bool,
    pinned: bool,
    kwargs: dict[str, Any],
) -> array:
    if shape is None and "n" in kwargs:
        shape = kwargs.pop("n")
    if shape is None:
        raise ValueError("an array needs a shape")
    place = _device.place(device, pinned)
    strides = kwargs.pop("strides", None)
    if kwargs:
        raise TypeError(f"unexpected keyword argument `{next(iter(kwargs))}`")
    extents = _array.normalize_shape(shape)
    made = _array_source.allocate(_types.dtype_class(dtype), extents, zeroed, strides, place)
    if requires_grad:
        made.requires_grad = True
    if retain_grad:
        made.retain_grad = True
    return made


def empty(
    shape: ShapeLike | None = None,
    dtype: Any = float,
    device: _device.DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array whose elements are not set."""
    return _new(shape, dtype, device, requires_grad, retain_grad, False, pinned, kwargs)


def zeros(
    shape: ShapeLike | None = None,
    dtype: Any = float,
    device: _device.DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array of zeros. In a kernel: a local array of constant shape."""
    return _new(shape, dtype, device, requires_grad, retain_grad, True, pinned, kwargs)


def full(
    shape: ShapeLike | None = None,
    value: Any = 0,
    dtype: Any = Any,
    device: _device.DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array filled with a value; without `dtype` the value's type (int32, float32, bool for Python's)."""
    if dtype is Any:
        dtype = type(value)
        if isinstance(value, (list, tuple, np.ndarray)):
            kind = np.asarray(value)
            elem = _types.float32 if isinstance(value, (list, tuple)) and kind.dtype.kind == "f" else None
            elem = elem or (_types.int32 if isinstance(value, (list, tuple)) else _numpy.dtype_from_numpy(kind.dtype))
            from gridstride import _vector

            if kind.ndim == 1:
                dtype = _vector.vector(kind.size, elem)
            elif kind.ndim == 2:
                dtype = _vector.matrix(kind.shape, elem)
            else:
                raise RuntimeError("a fill value has at most 2 dimensions")
    made = _new(shape, dtype, device, requires_grad, retain_grad, False, pinned, kwargs)
    made.fill_(value)
    return made


def ones(
    shape: ShapeLike | None = None,
    dtype: Any = float,
    device: _device.DeviceLike = None,
    requires_grad: bool = False,
    pinned: bool = False,
    retain_grad: bool = False,
    **kwargs: Any,
) -> array:
    """A new array of ones."""
    return full(shape, 1, dtype, device, requires_grad, pinned, retain_grad, **kwargs)


def _like(src: Any, device: Any, requires_grad: bool | None) -> tuple[tuple[int, ...], Any, Any, bool]:
    """Shape, type, device and gradient of an array like another."""
    if not _mapped.is_array(src):
        src = array(src, copy=False)
    wanted = getattr(src, "requires_grad", False) if requires_grad is None else requires_grad
    return src.shape, src.dtype, src.device if device is None else device, wanted


def empty_like(
    src: Any, device: _device.DeviceLike = None, requires_grad: bool | None = None, pinned: bool | None = None
) -> array:
    """A contiguous array with the shape and type of `src` whose elements are not set."""
    shape, dtype, device, wanted = _like(src, device, requires_grad)
    return empty(shape, dtype, device, wanted, bool(pinned))


def zeros_like(
    src: Any, device: _device.DeviceLike = None, requires_grad: bool | None = None, pinned: bool | None = None
) -> array:
    """A contiguous array of zeros with the shape and type of `src`."""
    shape, dtype, device, wanted = _like(src, device, requires_grad)
    return zeros(shape, dtype, device, wanted, bool(pinned))


def ones_like(
    src: Any, device: _device.DeviceLike = None, requires_grad: bool | None = None, pinned: bool | None = None
) -> array:
    """A contiguous array of ones with the shape and type of `src`."""
    return full_like(src, 1, device, requires_grad, pinned)


def full_like(
    src: Any,
    value: Any,
    device: _device.DeviceLike = None,
    requires_grad: bool | None = None,
    pinned: bool | None = None,
) -> array:
    """A contiguous array filled with `value`, with the shape and type of `src`."""
    shape, dtype, device, wanted = _like(src, device, requires_grad)
    return full(shape, value, dtype, device, wanted, bool(pinned))


def clone(
    src: Any, device: _device.DeviceLike = None, requires_grad: bool | None = None, pinned: bool | None = None
) -> array:
    """A contiguous copy of an array."""
    made = empty_like(src, device, requires_grad, pinned)
    copy_values(made, src)
    made._keep = getattr(src, "_keep", None)
    return made


def copy(dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None) -> None:
    """Copies elements between arrays of one type; overlapping memory is copied as if through a third array.

    Without offsets and count the shapes must agree (any strides), or both be contiguous and `dest` as large as `src`.
    With them `count` elements in row-major order are copied (0: all of `src`), of arrays that are contiguous or of one
    dimension. A copy to or from a GPU is in order with `stream`, or its current one; between page-locked memory of the
    host and a GPU it goes on after this returns. Where both arrays have a gradient, that is copied too, except while a
    tape records: gradients are for its way back. Raises `RuntimeError`.
    """
    copy_values(dest, src, dest_offset, src_offset, count, stream)
    gradients = getattr(dest, "grad", None), getattr(src, "grad", None)
    if all(one is not None for one in gradients) and not _native.is_recording():
        copy_values(*gradients, dest_offset, src_offset, count, stream)


def copy_values(
    dest: Any, src: Any, dest_offset: int = 0, src_offset: int = 0, count: int = 0, stream: Any = None
) -> None:
    """`copy` without the gradient."""
    if isinstance(dest, np.ndarray):
        dest = array(dest, copy=False, device="cpu")
    if isinstance(src, np.ndarray):
        src = array(src, dtype=dest.dtype, copy=False, device="cpu")
    try:
        dest_offset, src_offset, count = map(operator.index, (dest_offset, src_offset, count))
    except TypeError:
        raise RuntimeError("offsets and count must be integers") from None
    for role, number in (("Source offset", src_offset), ("Destination offset", dest_offset), ("count", count)):
        if number < 0:
            raise RuntimeError(f"{role} must be non-negative, got {number}")
    if dest._type != src._type:
        raise RuntimeError(
            f"cannot copy between element types: destination dtype={dest.dtype.__name__}, "
            f"source dtype={src.dtype.__name__}"
        )
    if src._keep is not None:
        dest._keep = [dest._keep, src._keep]
    if dest_offset == 0 and src_offset == 0 and count in (0, src.size) and dest.shape == src.shape:
        if not _recorded.copy(dest, src):
            _put(dest, src, stream)
        return
    count = count or src.size - src_offset
    if count == 0:
        return
    for role, one, offset in (("destination", dest, dest_offset), ("source", src, src_offset)):
        if one.ndim > 1 and not one.is_contiguous:
            raise RuntimeError(
                f"offsets and counts of arrays that are not contiguous are only supported for 1-D ones, and whole "
                f"arrays must agree in shape: destination shape={dest.shape}, source shape={src.shape}"
            )
        if offset > one.size - count:
            raise RuntimeError(f"{count} elements from {offset} do not fit the {role} of {one.size}")
    if _recorded.is_wanted(dest, src) and isinstance(dest, array) and isinstance(src, array):
        _recorded.copy(_part(dest, dest_offset, count), _part(src, src_offset, count))
        return
    _native.before_write(_recorded.memory(dest), "a copy")
    _put(_part(dest, dest_offset, count), _part(src, src_offset, count), stream)


def _part(one: Any, offset: int, count: int) -> Any:
    """`count` elements in row-major order, as a view for arrays; all of them are the array itself."""
    if one.ndim == 1 and offset == 0 and count == one.size:
        return one
    flat = one if one.ndim == 1 else one.flatten()
    part = slice(offset, offset + count)
    if isinstance(flat, array):
        return flat[part]
    if not isinstance(flat, _indexed.indexedarray):
        return flat[np.arange(offset, offset + count, dtype=np.int32)]
    index = flat.indices[0]
    return flat.data[part] if index is None else _indexed.indexedarray(flat.data, [index[part]])


def _put(dest: Any, src: Any, stream: Any) -> None:
    if dest.size == 0:
        return
    if dest.device.is_cuda or src.device.is_cuda:
        from gridstride import _device_memory

        _device_memory.copy(dest, src, stream)
    elif isinstance(dest, _mapped.mapped_array):
        dest._assign(src._np())
    elif isinstance(dest, array) and isinstance(src, array):
        _native.copy_host(dest, src)
    else:
        target, values = dest._np(), src._np()
        # NumPy itself looks for overlaps only where the strides run against each other.
        np.copyto(target, values.copy() if np.may_share_memory(target, values) else values)


def from_numpy(
    arr: np.ndarray,
    dtype: Any = None,
    shape: ShapeLike | None = None,
    device: _device.DeviceLike = None,
    requires_grad: bool = False,
) -> array:
    """An array with a copy of a NumPy array's elements.

    Without `dtype` the element type follows from the NumPy type and the inner extents stay dimensions.
    """
    return array(arr, dtype=Any if dtype is None else dtype, shape=shape, device=device, requires_grad=requires_grad)


def from_ptr(
    ptr: int,
    length: int,
    dtype: Any = None,
    shape: ShapeLike | None = None,
    device: _device.DeviceLike = None,
) -> array:
    """An array over memory at an address, which must outlive it. `wp.array(ptr=…)` is the newer way."""
    _logger.log_warning(
        "This version of wp.from_ptr() is deprecated: write wp.array(ptr=…, dtype=…, shape=…)",
        DeprecationWarning,
        stacklevel=2,
        once=True,
    )
    extents = length if shape is None else shape
    return array(ptr=ptr, dtype=float if dtype is None else dtype, shape=extents, device=device)


def from_dlpack(source: Any, dtype: Any = None) -> array:
    """An array over the memory of any object with `__dlpack__`, or of a capsule, without a copy.

    `dtype` may name a vector or matrix that the inner extents are components of, or another integer type of the same
    size. Raises `TypeError` for a device that is not known, `RuntimeError` for memory of a CUDA device, memory that is
    read-only, and element types that do not fit.
    """
    from gridstride import _dlpack

    return _dlpack.from_dlpack(source, dtype)


def to_dlpack(wp_array: array) -> Any:
    """A DLPack capsule over an array's memory."""
    return wp_array.__dlpack__()


zeros.__gs_builtin__ = "zeros"  # type: ignore[attr-defined]
