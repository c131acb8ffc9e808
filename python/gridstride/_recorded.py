"""Copies and fills while a tape records: launched as kernels, so that they have a way back and can run again.

In: arrays of any element type, shape and strides, indexed ones too. Out: whether the tape has it; if not, it is the
caller's to do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gridstride import _host_graph, _kernel, _launch, _native, _overwrites, config
from gridstride._builtins import table

tid = table["tid"]


@_kernel.kernel
def copy_1(dest: Any, src: Any):
    i = tid()
    dest[i] = src[i]


@_kernel.kernel
def copy_2(dest: Any, src: Any):
    i, j = tid()
    dest[i, j] = src[i, j]


@_kernel.kernel
def copy_3(dest: Any, src: Any):
    i, j, k = tid()
    dest[i, j, k] = src[i, j, k]


@_kernel.kernel
def copy_4(dest: Any, src: Any):
    i, j, k, l = tid()  # noqa: E741 - the fourth index
    dest[i, j, k, l] = src[i, j, k, l]


@_kernel.kernel
def fill_1(dest: Any, value: Any):
    i = tid()
    dest[i] = value


@_kernel.kernel
def fill_2(dest: Any, value: Any):
    i, j = tid()
    dest[i, j] = value


@_kernel.kernel
def fill_3(dest: Any, value: Any):
    i, j, k = tid()
    dest[i, j, k] = value


@_kernel.kernel
def fill_4(dest: Any, value: Any):
    i, j, k, l = tid()  # noqa: E741 - the fourth index
    dest[i, j, k, l] = value


COPIES = (copy_1, copy_2, copy_3, copy_4)
FILLS = (fill_1, fill_2, fill_3, fill_4)


def memory(one: Any) -> Any:
    """The array that an array of any kind lies in; of a Fabric array, its table."""
    return one if isinstance(one, _native.Array) else one._memory


def is_wanted(dest: Any, *sources: Any) -> bool:
    """Whether the tape must have a write to `dest`.

    It need not where `dest` only gets its first value, from something without a gradient: that is a constant.
    """
    if _host_graph.active is not None and memory(dest)._is_host:
        return True
    if not _native.is_recording():
        return False
    return _native.is_on_tape(memory(dest)) or any(memory(one).grad is not None for one in sources)


def copy(dest: Any, src: Any) -> bool:
    """Copies between arrays of one type and shape, if the tape, or a graph on the CPU, must have it."""
    if (graph := _captured(dest, src)) is not None:
        from gridstride import _create

        graph.add("copy", functools.partial(_create.copy_values, dest, src))
        return True
    if not is_wanted(dest, src):
        _native.before_write(memory(dest), "a copy")
        return False
    if config.verify_autograd_array_access:
        _overwrites.copied(memory(dest), memory(src))
    if dest.size and memory(dest).device is not memory(src).device:
        _copy_between_devices(dest, src)
    elif dest.size:
        if _native.overlap(memory(dest), memory(src)):
            between = _like(src)
            _launch.launch(COPIES[src.ndim - 1], src.shape, [between, src], device=memory(src).device)
            src = between
        _launch.launch(COPIES[dest.ndim - 1], dest.shape, [dest, src], device=memory(dest).device)
    return True


def fill(dest: Any, value: Any) -> bool:
    """Sets every element to a host value of the element type, None for zero, if the tape or a graph must have it."""
    if (graph := _captured(dest)) is not None:
        graph.add("fill", dest.zero_ if value is None else functools.partial(dest.fill_, value))
        return True
    if config.verify_autograd_array_access:
        _overwrites.mark_init(memory(dest))
    if not is_wanted(dest):
        _native.before_write(memory(dest), "fill_")
        return False
    if dest.size:
        value = dest.dtype() if value is None else value
        _launch.launch(FILLS[dest.ndim - 1], dest.shape, [dest, value], device=memory(dest).device)
    return True


def _captured(*arrays: Any) -> _host_graph.HostGraph | None:
    """The graph on the CPU that must have a write, while one is captured; work that involves a GPU is not its own."""
    graph = _host_graph.active
    return graph if graph is not None and all(memory(one)._is_host for one in arrays) else None


def function(
    name: str, forward: Callable[[], Any], backward: Callable[[], None], reads: Sequence[Any], out: Any
) -> Any:
    """Runs `forward`, which writes to `out`; a tape that records has `backward`, for where it goes back."""
    if _host_graph.active is not None:
        return _host_graph.note(name, forward, out)
    if out is None or not is_wanted(out, *reads):
        if out is not None:
            _native.before_write(out, name)
        return forward()
    _native.before_write(out, name, True)
    result = forward()
    has_way_back = out.grad is not None and any(one.grad is not None for one in reads)
    _native.record_func(name, backward if has_way_back else None, list(reads), [out], forward)
    return result


def _copy_between_devices(dest: Any, src: Any) -> None:
    """No kernel reaches both. What goes back is copied the other way, and added there."""
    from gridstride import _create

    target, source = dest, src
    if source is not memory(source):
        source = _like(source)
        copy(source, src)
    if target is not memory(target):
        target = _like(target)

    def forward() -> None:
        _create._put(target, source, None)

    def backward() -> None:
        moved = _create.empty(target.shape, target.dtype, source.device)
        _create._put(moved, target.grad, None)
        _launch.launch(
            COPIES[source.ndim - 1],
            source.shape,
            [moved, source],
            adj_inputs=[moved, source.grad],
            device=source.device,
            adjoint=True,
        )
        target.grad.zero_()

    function("copy", forward, backward, [source], target)
    if target is not dest:
        copy(dest, target)


def _like(src: Any) -> Any:
    from gridstride import _create

    return _create.empty(src.shape, src.dtype, memory(src).device, requires_grad=memory(src).grad is not None)
