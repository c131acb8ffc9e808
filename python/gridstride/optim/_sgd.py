"""Gradient descent with momentum, Nesterov's too, and weight decay; the formulas are those of torch.optim.SGD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridstride import _kernel, _launch
from gridstride._array import array
from gridstride._builtins import table
from gridstride.optim import _parameters

tid = table["tid"]


@_kernel.kernel(enable_backward=False)
def sgd_step(
    g: array(dtype=Any),
    b: array(dtype=Any),
    lr: Any,
    momentum: Any,
    undamped: Any,
    weight_decay: Any,
    nesterov: bool,
    is_first: bool,
    params: array(dtype=Any),
):
    i = tid()
    value = type(lr)(params[i])
    gradient = type(lr)(g[i]) + weight_decay * value
    if momentum != type(lr)(0.0):
        velocity = gradient
        if not is_first:
            velocity = momentum * type(lr)(b[i]) + undamped * gradient
        b[i] = type(b[i])(velocity)
        gradient = gradient + momentum * velocity if nesterov else velocity
    params[i] = type(params[i])(value - lr * gradient)


class SGD:
    """Gradient descent over arrays of floats or of vectors of floats.

    Args:
        params: Arrays to optimize; may come later by `set_params`.
        lr: Step size.
        momentum: How much of the velocity stays at each step.
        dampening: How much of the gradient does not enter the velocity.
        weight_decay: Pulls the parameters to zero.
        nesterov: Look ahead along the velocity.

    Attributes: `b` (the velocities), `t` (steps so far), and the arguments.
    """

    def __init__(
        self,
        params: Sequence[array] | None = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        self.b: list[Any] = []
        self.set_params(params)
        self.lr = lr
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.t = 0

    def set_params(self, params: Sequence[array] | None) -> None:
        """Sets the arrays to optimize; velocities that fit stay. Raises `RuntimeError` for types without floats."""
        self.params = params
        if not params:
            return
        if len(self.b) != len(params):
            self.b = [None] * len(params)
        for n, parameter in enumerate(params):
            _parameters.scalar_of(parameter, "SGD")
            self.b[n] = _parameters.state_like(self.b[n], parameter, parameter.dtype)

    def reset_internal_state(self) -> None:
        """Sets the velocities and the count of steps to zero."""
        for one in self.b:
            one.zero_()
        self.t = 0

    def step(self, grad: Sequence[array] | None = None) -> None:
        """Moves the parameters by one step along `grad`, or along their own gradients."""
        gradients = _parameters.gradients_of(grad, self.params, "SGD")
        settings = (self.lr, self.momentum, self.dampening, self.weight_decay, self.nesterov, self.t)
        for g, b, parameter in zip(gradients, self.b, self.params or (), strict=True):
            self.step_detail(g, b, *settings, parameter)
        self.t += 1

    @staticmethod
    def step_detail(
        g: array,
        b: array,
        lr: float,
        momentum: float,
        dampening: float,
        weight_decay: float,
        nesterov: bool,
        t: int,
        params: array,
    ) -> None:
        """Step number `t`, from 0, of a single array. Raises `TypeError` or `ValueError` for one that does not fit."""
        _parameters.check_gradient(g, params, "SGD")
        if b._type != params._type:
            raise TypeError(
                f"SGD momentum buffer dtype must match parameter dtype {params.dtype.__name__}, got {b.dtype.__name__}"
            )
        number = _parameters.state_type(_parameters.scalar_of(params, "SGD"))
        values = [number(value) for value in (lr, momentum, 1.0 - dampening, weight_decay)]
        g, b, params = (_parameters.numbers(one, "SGD") for one in (g, b, params))
        _launch.launch(sgd_step, params.size, [g, b, *values, bool(nesterov), t == 0, params], device=params.device)
