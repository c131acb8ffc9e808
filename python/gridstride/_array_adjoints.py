"""The way back of sums and scans of whole arrays: of `utils.array_sum`, `array_inner` and `array_scan` on a tape.

In: arrays and the gradient of their sums, of any strides, on one device. Out: the gradients of what was summed, added
to by kernels where the arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridstride import _array, _create, _kernel, _launch, _recorded
from gridstride._builtins import table

tid = table["tid"]


@_kernel.kernel(enable_backward=False)
def add_1(dest: Any, src: Any):
    i = tid()
    dest[i] += src[i]


@_kernel.kernel(enable_backward=False)
def add_2(dest: Any, src: Any):
    i, j = tid()
    dest[i, j] += src[i, j]


@_kernel.kernel(enable_backward=False)
def add_3(dest: Any, src: Any):
    i, j, k = tid()
    dest[i, j, k] += src[i, j, k]


@_kernel.kernel(enable_backward=False)
def add_4(dest: Any, src: Any):
    i, j, k, l = tid()  # noqa: E741 - the fourth index
    dest[i, j, k, l] += src[i, j, k, l]


@_kernel.kernel(enable_backward=False)
def add_scaled_1(dest: Any, src: Any, factor: Any):
    i = tid()
    dest[i] += factor[i] * src[i]


@_kernel.kernel(enable_backward=False)
def add_scaled_2(dest: Any, src: Any, factor: Any):
    i, j = tid()
    dest[i, j] += factor[i, j] * src[i, j]


@_kernel.kernel(enable_backward=False)
def add_scaled_3(dest: Any, src: Any, factor: Any):
    i, j, k = tid()
    dest[i, j, k] += factor[i, j, k] * src[i, j, k]


@_kernel.kernel(enable_backward=False)
def add_scaled_4(dest: Any, src: Any, factor: Any):
    i, j, k, l = tid()  # noqa: E741 - the fourth index
    dest[i, j, k, l] += factor[i, j, k, l] * src[i, j, k, l]


SUMS, SCALED = (add_1, add_2, add_3, add_4), (add_scaled_1, add_scaled_2, add_scaled_3, add_scaled_4)


def copied(one: Any) -> Any:
    """An array's elements as they are now, without gaps, beside the tape."""
    made = _create.empty(one.shape, one.dtype, one.device)
    _run(_recorded.COPIES, made, one)
    return made


def of_sums(source: Any, out: Any, axis: int | None, count: int, factor: Any = None) -> None:
    """Adds the gradient of sums, times `factor`'s elements, to that of the first `count` elements of `source`.

    They are counted along the axis; without one, in row-major order.
    """
    target = source.grad
    if target is None or count == 0 or target.size == 0:
        return
    if axis is None and count < source.size:
        packed = target if target.is_contiguous else copied(target)
        flat = None if factor is None else _flat(factor, count)
        _add(_flat(packed, count), _spread(out.grad, (count,), None), flat)
        if packed is not target:
            _run(_recorded.COPIES, target, packed)
        return
    if axis is not None and count < source.shape[axis]:
        part = (slice(None),) * axis + (slice(count),)
        target, factor = target[part], None if factor is None else factor[part]
    _add(target, _spread(out.grad, target.shape, axis), factor)


def of_scan(source: Any, out: Any, is_inclusive: bool, scan: Callable[[Any], None]) -> None:
    """Adds to the gradient of what was scanned the sums of those behind it; `scan` makes running sums in place."""
    sums = copied(out.grad[::-1])
    scan(sums)
    if is_inclusive:
        _add(source.grad, sums[::-1])
    elif source.size > 1:
        _add(source.grad[:-1], sums[::-1][1:])


def _add(dest: Any, src: Any, factor: Any = None) -> None:
    if factor is None:
        _run(SUMS, dest, src)
    else:
        _run(SCALED, dest, src, factor)


def _run(kernels: Any, dest: Any, *others: Any) -> None:
    if dest.size:
        _launch.launch(kernels[dest.ndim - 1], dest.shape, [dest, *others], device=dest.device, record_tape=False)


def _flat(one: Any, count: int) -> Any:
    """The first elements of a contiguous array."""
    return _array.make(one.dtype, one.ptr, (count,), (one._type.size,), one, one._place)


def _spread(sums: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    """A view that has each sum's gradient at every element that was added to it."""
    packed = sums if sums.is_contiguous else copied(sums)
    strides, stride = [0] * len(shape), packed._type.size
    if axis is not None:
        for d in reversed(range(len(shape))):
            if d != axis:
                strides[d], stride = stride, stride * shape[d]
    return _array.make(packed.dtype, packed.ptr, shape, tuple(strides), packed, packed._place)
