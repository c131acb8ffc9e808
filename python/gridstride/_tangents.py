"""Forward mode: what a launch makes of small changes of its arguments, and of the gradient's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gridstride import _device, _native
from gridstride._array import array
from gridstride._create import clone, zeros_like
from gridstride._kernel import Kernel
from gridstride._types import float16, float32, float64

_FLOATS = {"f16": float16, "f32": float32, "f64": float64}


def jvp(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Iterable[Any],
    outputs: Iterable[Any] = (),
    tangents: Iterable[Any] = (),
    device: Any = None,
) -> list[Any]:
    """Launches a kernel, and gives the tangents of its outputs: how they change as the inputs move along `tangents`.

    `tangents` has an item an input: an array of its shape, a number for a number, None where it does not move.

        >>> @wp.kernel
        ... def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        ...     i = wp.tid()
        ...     y[i] = x[i] * x[i]
        >>> x, y = wp.array([1.0, 3.0], dtype=float), wp.zeros(2, dtype=float)
        >>> wp.autograd.jvp(square, 2, [x], [y], tangents=[wp.array([1.0, 10.0], dtype=float)])[0].numpy()
        array([ 2., 60.], dtype=float32)
    """
    inputs, outputs = list(inputs), list(outputs)
    beside = _beside(kernel, inputs, list(tangents), "tangents")
    made = [zeros_like(one) if isinstance(one, array) else None for one in outputs]
    options = kernel.compile_options()
    _native.launch_tangent(
        kernel, dim, [*inputs, *outputs], [*beside, *made], _device.get_device(device).alias, options
    )
    return made


def hvp(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Iterable[Any],
    outputs: Iterable[Any],
    seeds: Iterable[Any],
    tangents: Iterable[Any],
    device: Any = None,
) -> list[Any]:
    """How the gradient of the inputs changes as they move along `tangents`: a Hessian times a vector.

    The gradient is that of the sum of all outputs times `seeds`, an array an output. Gives an item an input: an array
    for an array, None else. Inputs and outputs are left as they are.

        >>> @wp.kernel
        ... def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        ...     i = wp.tid()
        ...     y[i] = x[i] * x[i] * x[i]
        >>> x, y, one = wp.array([1.0, 3.0], dtype=float), wp.zeros(2, dtype=float), wp.ones(2, dtype=float)
        >>> wp.autograd.hvp(cube, 2, [x], [y], seeds=[one], tangents=[one])[0].numpy()
        array([ 6., 18.], dtype=float32)
    """
    inputs, outputs = list(inputs), list(outputs)
    # The adjoint kernel may write to what the kernel writes to.
    args = [clone(one) if isinstance(one, array) else one for one in [*inputs, *outputs]]
    beside = _beside(kernel, inputs, list(tangents), "tangents")
    none = [zeros_like(one) if isinstance(one, array) else None for one in args]
    adjoints = [*none[: len(inputs)], *(clone(seed) if isinstance(seed, array) else None for seed in seeds)]
    if len(adjoints) != len(args):
        raise ValueError(f"hvp: {len(outputs)} outputs, {len(adjoints) - len(inputs)} seeds")
    second = [zeros_like(one) if isinstance(one, array) else None for one in args]
    _native.launch_tangent(
        kernel,
        dim,
        args,
        [*beside, *(zeros_like(one) if isinstance(one, array) else None for one in outputs)],
        _device.get_device(device).alias,
        kernel.compile_options(),
        adj_args=adjoints,
        adj_tangents=second,
    )
    return second[: len(inputs)]


def _beside(kernel: Kernel, args: list[Any], given: list[Any], what: str) -> list[Any]:
    """Tangents as the compiled module takes them: a number is an array of one element."""
    if len(given) != len(args):
        raise ValueError(f"{len(args)} inputs, {len(given)} {what}: give None for what does not move")
    types = list(kernel._annotations.values())
    return [
        array([one], dtype=_FLOATS[types[index].name]) if isinstance(one, (int, float)) else one
        for index, one in enumerate(given)
    ]
