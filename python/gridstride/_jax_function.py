"""`wp.autograd.jax_function`: Python code that launches kernels as a function that JAX differentiates and compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridstride._array import array
from gridstride._tape import Tape


def jax_function(function: Callable[..., Any], out: Any) -> Callable[..., Any]:
    """A function of JAX arrays, from one of arrays that gives an array.

    Args:
        function: Launches kernels over its arguments, on the CPU.
        out: What it gives: a `jax.ShapeDtypeStruct`, or a function that makes one from the arguments.

    Works inside of `jax.jit` and `jax.grad`: JAX calls back to the host, forward, and for gradients forward with a tape
    and backward. Raises `ImportError` without JAX.
    """
    try:
        import jax
    except ImportError:
        raise ImportError("jax_function needs JAX: pip install jax") from None

    def arrays_of(values: Any, requires_grad: bool) -> list[array]:
        return [array(np.array(one), requires_grad=requires_grad and one.dtype.kind == "f") for one in values]

    def run(*values: Any) -> Any:
        return function(*arrays_of(values, False)).numpy()

    def run_backward(incoming: Any, *values: Any) -> Any:
        arrays = arrays_of(values, True)
        with Tape() as tape:
            output = function(*arrays)
        tape.backward(grads={output: array(np.array(incoming), dtype=output.dtype)})
        zeros = (np.zeros_like(np.asarray(one)) for one in values)
        return [zero if one.grad is None else one.grad.numpy() for one, zero in zip(arrays, zeros, strict=True)]

    @jax.custom_vjp
    def launches(*args: Any) -> Any:
        return jax.pure_callback(run, out(*args) if callable(out) else out, *args)

    def forward(*args: Any) -> Any:
        return launches(*args), args

    def backward(args: Any, incoming: Any) -> Any:
        shapes = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in args]
        return tuple(jax.pure_callback(run_backward, shapes, incoming, *args))

    launches.defvjp(forward, backward)
    return launches
