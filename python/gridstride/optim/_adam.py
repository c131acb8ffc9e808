"""Adam: steps scaled by running averages of the gradient and of its square.

Kingma & Ba, "Adam: A Method for Stochastic Optimization" (2015), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridstride import _kernel, _launch
from gridstride._array import array
from gridstride._builtins import table
from gridstride.optim import _parameters

tid, sqrt = table["tid"], table["sqrt"]


@_kernel.kernel(enable_backward=False)
def adam_step(
    g: array(dtype=Any),
    m: array(dtype=Any),
    v: array(dtype=Any),
    lr: Any,
    beta1: Any,
    beta2: Any,
    correction1: Any,
    correction2: Any,
    eps: Any,
    params: array(dtype=Any),
):
    i = tid()
    gradient = type(lr)(g[i])
    one = type(lr)(1.0)
    m[i] = beta1 * m[i] + (one - beta1) * gradient
    v[i] = beta2 * v[i] + (one - beta2) * gradient * gradient
    step = lr * (m[i] / correction1) / (sqrt(v[i] / correction2) + eps)
    params[i] = type(params[i])(type(lr)(params[i]) - step)


class Adam:
    """Adam over arrays of floats or of vectors of floats.

    Args:
        params: Arrays to optimize; may come later by `set_params`.
        lr: Step size.
        betas: How much of the averages of the gradient and of its square stays at each step.
        eps: Added to the root of the average square.

    Attributes: `m`, `v` (the averages), `t` (steps so far), `lr`, `beta1`, `beta2`, `eps`, `params`.
    """

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
    ) -> None:
        self.m: list[Any] = []
        self.v: list[Any] = []
        self.set_params(params)
        self.lr = lr
        self.beta1, self.beta2 = betas
        self.eps = eps
        self.t = 0

    def set_params(self, params: Sequence[array] | None) -> None:
        """Sets the arrays to optimize; averages that fit them stay. Raises `RuntimeError` for a type without floats."""
        self.params = params
        if not params:
            return
        if len(self.m) != len(params):
            self.m, self.v = [None] * len(params), [None] * len(params)
        for n, parameter in enumerate(params):
            scalar = _parameters.scalar_of(parameter, "Adam")
            wide = _parameters.state_type(scalar)
            dtype = parameter.dtype if wide is scalar else _wide(parameter.dtype, wide)
            self.m[n] = _parameters.state_like(self.m[n], parameter, dtype)
            self.v[n] = _parameters.state_like(self.v[n], parameter, dtype)

    def reset_internal_state(self) -> None:
        """Sets the averages and the count of steps to zero."""
        for one in [*self.m, *self.v]:
            one.zero_()
        self.t = 0

    def step(self, grad: Sequence[array] | None = None) -> None:
        """Moves the parameters by one step along `grad`, or along their own gradients."""
        gradients = _parameters.gradients_of(grad, self.params, "Adam")
        for g, m, v, parameter in zip(gradients, self.m, self.v, self.params or (), strict=True):
            self.step_detail(g, m, v, self.lr, self.beta1, self.beta2, self.t, self.eps, parameter)
        self.t += 1

    @staticmethod
    def step_detail(
        g: array,
        m: array,
        v: array,
        lr: float,
        beta1: float,
        beta2: float,
        t: int,
        eps: float,
        params: array,
    ) -> None:
        """Step number `t`, from 0, of a single array. Raises `TypeError` or `ValueError` for one that does not fit."""
        _parameters.check_gradient(g, params, "Adam")
        number = _parameters.state_type(_parameters.scalar_of(params, "Adam"))
        corrections = [1.0 - beta ** (t + 1) for beta in (beta1, beta2)]
        values = [number(value) for value in (lr, beta1, beta2, *corrections, eps)]
        g, m, v, params = (_parameters.numbers(one, "Adam") for one in (g, m, v, params))
        _launch.launch(adam_step, params.size, [g, m, v, *values, params], device=params.device)


def _wide(dtype: Any, scalar: Any) -> Any:
    """The type of a vector, a matrix … with other numbers."""
    shape = dtype._shape_
    if not shape:
        return scalar
    from gridstride import _vector

    return _vector.vector(shape[0], scalar) if len(shape) == 1 else _vector.matrix(shape, scalar)
