"""Functions of arrays as one kernel give what they give step by step."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride.cupy as cp
from gridstride import _native


def check(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found.get(), wanted.get())


def both(function, *args):
    """What a function gives at once, and step by step; and how many kernels the second call at once launched."""
    fused = cp.fuse(function)
    first = [one.copy() if isinstance(one, cp.ndarray) else one for one in args]
    second = [one.copy() if isinstance(one, cp.ndarray) else one for one in args]
    found, wanted = fused(*first), function(*second)
    for one, other in zip(first, second, strict=True):
        if isinstance(one, cp.ndarray):
            check(one, other)
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            check(one, other)
    elif wanted is not None:
        check(found, wanted)
    return next(iter(fused._known.values()), None)


X, Y = cp.arange(12, dtype=cp.float32).reshape(3, 4), cp.linspace(-1, 2, 4, dtype=cp.float32)
I = cp.arange(-6, 6, dtype=cp.int8).reshape(3, 4)  # noqa: E741


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x, y: 3.0 * x + y, (X, Y)),
        (lambda x, y: cp.sqrt(x * x + y * y) / (1 + abs(x)), (X, X)),
        (lambda x, i: x * i + i // 2, (X, I)),
        (lambda x, a: x * a, (X, 2)),
        (lambda x, a: (x + a).astype(cp.int32) % 5, (X, 2.5)),
        (lambda x: (x > 3) & (x < 9), (X,)),
        (lambda x, y: cp.where(x > y, x, -1.0), (X, Y)),
        (lambda x: (x + 1, x * 2, cp.exp(-x)), (X,)),
        (lambda x: x**2 - x**0.5, (X,)),
        (lambda x: cp.divmod(x, 3)[0], (X,)),
        (lambda x: np.sin(x) * np.float64(2), (X,)),
        (lambda i: -i * 2, (I,)),
        (lambda x: (x + 1j) * x, (X,)),
    ],
)
def test_at_once_as_step_by_step(function, args):
    assert both(function, *args) is not None


def test_updates_in_place():
    def move(v, x, a, dt):
        v += dt * a
        x += dt * v
        return 0.5 * v * v + 9.81 * x

    assert both(move, X, X + 1, X * 2, 0.125) is not None
    assert both(lambda i, x: i.__iadd__(1), I, X) is not None


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: (x * 2).sum(), (X,)),
        (lambda x: x * 2 if x[0, 0] > 5 else x + 1, (X,)),
        (lambda x, y: (x + 1, y + 1), (X, Y)),
        (lambda x: x + X, (X,)),
        (lambda x: x.T + 1, (X,)),
        (lambda x: x, (X,)),
    ],
)
def test_what_is_no_expression_runs_step_by_step(function, args):
    assert both(function, *args) is None


def test_one_kernel_is_made_and_mistakes_stay_what_they_are():
    before = _native.counters()["loaded"]

    @cp.fuse(kernel_name="three_steps")
    def steps(x, y):
        return (x - y) * (x + y) * 0.4375 - 7

    steps(X, X)
    assert _native.counters()["loaded"] == before + 1
    with pytest.raises(ValueError, match="could not be broadcast"):
        steps(X, cp.ones(3))
    with pytest.raises(TypeError, match="Cannot cast"):
        cp.fuse(lambda i: i.__iadd__(0.5))(I)
    assert steps.__name__ == "steps"


def test_functions_of_numbers_over_arrays():
    @cp.vectorize
    def step(x, y):
        return x - y if x > y else x + y

    x, y = np.arange(5.0), np.full(5, 2.0)
    np.testing.assert_array_equal(step(cp.asarray(x), cp.asarray(y)).get(), np.where(x > y, x - y, x + y))
    assert cp.vectorize(lambda x: x + 1, otypes="f")(cp.arange(3)).dtype == np.float32
