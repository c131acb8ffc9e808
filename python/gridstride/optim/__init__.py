"""`wp.optim`: optimizers that follow gradients, as Warp's.

    >>> x = wp.array([1.0, -2.0], dtype=float, requires_grad=True)
    >>> optimizer = wp.optim.SGD([x], lr=0.5)
    >>> optimizer.step([wp.array([1.0, 1.0], dtype=float)])
    >>> x.numpy()
    array([ 0.5, -2.5], dtype=float32)

Parameters are arrays of floats, or of vectors, matrices, quaternions of floats. State is kept in float32 for float16
and bfloat16, in the parameter's own type otherwise.
"""

from typing import Any

from gridstride.optim._adam import Adam as Adam
from gridstride.optim._sgd import SGD as SGD

__all__ = ["SGD", "Adam"]


def __getattr__(name: str) -> Any:
    # Loaded when first used.
    if name == "linear":
        import importlib

        return importlib.import_module("gridstride.optim.linear")
    raise AttributeError(f"module 'gridstride.optim' has no attribute {name!r}")
