"""Arrays shared with PyTorch, JAX and others, without a copy.

In: a tensor, or whatever has `__cuda_array_interface__`. Out: an array over the same memory, and the reverse. Work of
both sides on one memory is put in order where the other's stream is known; the legacy default stream always is.

    >>> t = torch.zeros(3, device="cuda")  # doctest: +SKIP
    >>> wp.launch(fill, dim=3, inputs=[wp.from_torch(t), 1.0])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from gridstride import _array, _device, _native, _types

_TORCH_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"


def from_foreign(data: Any, dtype: Any = Any) -> _array.array:
    """An array over another library's memory; where `dtype` has another scalar, converted."""
    found = _native.foreign_array(data)
    if found is None:
        raise TypeError(f"expected an array of another library, got {_types.describe(type(data))}")
    scalar, item_size, ptr, shape, strides, place, is_read_only, stream = found
    if is_read_only:
        raise RuntimeError("the memory is read-only: copy it first")
    if scalar is None:
        if dtype is Any or _types.dtype_class(dtype).__gs_type__.size != item_size:
            raise RuntimeError(f"elements of {item_size} bytes have no kernel type: give a struct of that size")
        cls = _types.dtype_class(dtype)
    else:
        cls = getattr(_types, scalar)
    if place.startswith("cuda:") and not _device.is_cuda_available():
        raise RuntimeError("the data is in the memory of a CUDA device, and no CUDA device is available")
    if stream is not None and place.startswith("cuda:"):
        # What its library has to do on the memory comes before what we do.
        _native.cuda_order(int(place[5:]), stream, True)
    rank = len(shape)
    made = _array.make(cls, ptr, tuple(shape) or (1,), tuple(strides) if rank else (item_size,), data, place)
    if dtype is Any or scalar is None:
        return made
    wanted = _types.dtype_class(dtype)
    if wanted is cls:
        return made
    if getattr(wanted, "_wp_scalar_type_", None) is cls or wanted.__gs_type__.size == cls.__gs_type__.size:
        return made.view(wanted)
    return _array.array(made.numpy(), dtype=wanted, device=made.device)


def from_style(data: _native.Array) -> _array.array:
    """An array over the memory of one of CuPy's style or numba's. Raises `RuntimeError` for more than 4 dimensions."""
    shape = tuple(data.shape) or (1,)
    if len(shape) > 4:
        raise RuntimeError(f"an array has at most 4 dimensions, this one has {len(shape)}")
    name = {"bool": "bool", "f16": "float16", "f32": "float32", "f64": "float64"}.get(data._type.name)
    if name is None and data._type.kind == "scalar":
        name = {"i": "int", "u": "uint"}.get(data._type.name[0], "") + data._type.name[1:]
    cls = getattr(_types, name or "", None)
    if cls is None:
        raise RuntimeError(f"elements of {data._type.user_name} have no type in Warp's style")
    strides = tuple(data.strides) or (data._type.size,)
    return _array.make(cls, data.ptr or 0, shape, strides, data, data._place)


def from_torch(
    t: Any, dtype: Any = None, requires_grad: bool | None = None, grad: Any = None, return_ctype: bool = False
) -> _array.array:
    """An array over a tensor's memory. `dtype` may be a vector or matrix of the tensor's last extents.

    The gradient is shared too: the tensor's own, or `grad`. Without one and with `requires_grad` it is made, and given
    to the tensor. Raises `RuntimeError` for types that do not fit.
    """
    if return_ctype:
        raise NotImplementedError("`return_ctype` is not available: pass the array, or the tensor itself, to wp.launch")
    made = _of_tensor(t, dtype)
    wanted = t.requires_grad if requires_grad is None else requires_grad
    if grad is None and wanted and t.is_leaf:
        if t.grad is None:
            import torch

            t.grad = torch.zeros_like(t)
        grad = t.grad
    if grad is not None:
        made.grad = grad if isinstance(grad, _array.array) else _of_tensor(grad, dtype)
    elif wanted:
        made.requires_grad = True
    return made


def _of_tensor(t: Any, dtype: Any) -> _array.array:
    found = _native.foreign_array(t)
    if found is None or found[0] is None:
        raise RuntimeError(f"kernels have no type for a tensor of {getattr(t, 'dtype', type(t))}")
    cls = getattr(_types, found[0])
    if dtype is not None:
        wanted = _types.dtype_class(dtype)
        scalar = getattr(wanted, "_wp_scalar_type_", None)
        if scalar is None or scalar.__gs_type__.size != cls.__gs_type__.size:
            raise RuntimeError(f"Incompatible data types: {t.dtype} and {wanted.__name__}")
    return from_foreign(t.detach(), Any if dtype is None else dtype)


def to_torch(a: _array.array, requires_grad: bool | None = None) -> Any:
    """A tensor over an array's memory, with its gradient."""
    import torch

    if a.dtype is _types.bool:
        tensor = torch.from_dlpack(a.view(_types.uint8)).view(torch.bool)
    elif getattr(a.dtype, "_wp_scalar_type_", None) is _types.bfloat16:
        tensor = torch.from_dlpack(_bits_of_bfloat16(a)).view(torch.bfloat16)
    else:
        tensor = torch.from_dlpack(a)
    wanted = a.requires_grad if requires_grad is None else requires_grad
    if wanted:
        tensor.requires_grad_(True)
        if a.grad is not None:
            tensor.grad = to_torch(a.grad, False)
    return tensor


def _bits_of_bfloat16(a: _array.array) -> _array.array:
    inner = getattr(a.dtype, "_shape_", ())
    if not inner:
        return a.view(_types.int16)
    from gridstride import _vector

    kind = _vector.vector(inner[0], _types.int16) if len(inner) == 1 else _vector.matrix(inner, _types.int16)
    return a.view(kind)


def dtype_from_torch(torch_dtype: Any) -> Any:
    """The scalar type for a type of PyTorch's. Raises `TypeError` for one that kernels do not have."""
    name = str(torch_dtype).removeprefix("torch.")
    if name not in _TORCH_NAMES.split():
        raise TypeError(f"Cannot convert {torch_dtype} to a Warp type")
    return getattr(_types, name)


def dtype_to_torch(warp_dtype: Any) -> Any:
    """PyTorch's type for a scalar type. Raises `TypeError` for one that PyTorch does not have."""
    import torch

    found = getattr(torch, _types.dtype_class(warp_dtype).__name__, None)
    if not isinstance(found, torch.dtype):
        raise TypeError(f"Cannot convert {warp_dtype} to a Torch type")
    return found


def device_from_torch(torch_device: Any) -> _device.Device:
    """The device that a device of PyTorch's is."""
    text = str(torch_device)
    if text == "cuda":
        import torch

        text = f"cuda:{torch.cuda.current_device()}"
    if text != "cpu" and not text.startswith("cuda:"):
        raise RuntimeError(f"Unsupported Torch device {torch_device}")
    return _device.get_device(text)


def device_to_torch(warp_device: _device.DeviceLike) -> str:
    """The name of a device for PyTorch."""
    return _device.memory_of(warp_device).alias


def stream_from_torch(stream_or_device: Any = None) -> Any:
    """A stream of PyTorch's: of a device the current one, of None that of the current device."""
    import torch

    from gridstride._stream import Stream

    stream = stream_or_device
    if not isinstance(stream, torch.cuda.Stream):
        stream = torch.cuda.current_stream(stream_or_device)
    return Stream(device_from_torch(stream.device), cuda_stream=stream.cuda_stream)


def stream_to_torch(stream_or_device: Any = None) -> Any:
    """A stream, or the current one of a device, for PyTorch."""
    import torch

    from gridstride._stream import Stream, get_stream

    stream = stream_or_device if isinstance(stream_or_device, Stream) else get_stream(stream_or_device)
    found = torch.cuda.ExternalStream(stream.cuda_stream, device=device_to_torch(stream.device))
    # PyTorch only has the number: the stream lives with the object that it goes by there.
    found._gridstride_stream = stream
    return found


def from_jax(jax_array: Any, dtype: Any = None) -> _array.array:
    """An array over the memory of an array of JAX's, which must not be written to."""
    from gridstride import _dlpack

    return _dlpack.from_dlpack(jax_array, dtype)


def to_jax(warp_array: _array.array) -> Any:
    """An array of JAX's over an array's memory, which must not be written to any more."""
    import jax.dlpack

    return jax.dlpack.from_dlpack(warp_array)


def dtype_from_jax(jax_dtype: Any) -> Any:
    """The scalar type for a type of JAX's. Raises `TypeError` for one that kernels do not have."""
    import numpy as np

    name = np.dtype(jax_dtype).name
    if name not in _TORCH_NAMES.split():
        raise TypeError(f"Cannot convert {jax_dtype} to a Warp type")
    return getattr(_types, name)


def dtype_to_jax(warp_dtype: Any) -> Any:
    """JAX's type for a scalar type."""
    import jax.numpy

    return getattr(jax.numpy, _types.dtype_class(warp_dtype).__name__.replace("bool", "bool_"))


def device_from_jax(jax_device: Any) -> _device.Device:
    """The device that a device of JAX's is."""
    if jax_device.platform == "gpu":
        return _device.get_device(f"cuda:{jax_device.local_hardware_id}")
    return _device.get_device("cpu")


def device_to_jax(warp_device: _device.DeviceLike) -> Any:
    """JAX's device for a device."""
    import jax

    found = _device.memory_of(warp_device)
    if found.is_cuda:
        return next(d for d in jax.devices("gpu") if d.local_hardware_id == found.ordinal)
    return jax.devices("cpu")[0]
