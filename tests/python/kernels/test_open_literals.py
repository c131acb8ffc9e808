"""A literal before a loop takes the type that the loop gives it."""

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def nested_sum(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(2):
            if j == 1 and i > 0:
                s += x[i] * 0.1
    out[0] = s


@wp.kernel
def count_down(n: wp.int64, out: wp.array(dtype=wp.int64)):
    left = 10
    steps = 0
    while left > n:
        left -= 1
        steps += 1
    out[0] = left
    out[1] = wp.int64(steps)


@wp.kernel
def two_types(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float32)):
    s = 0.0
    for i in range(2):
        s += x[i]
        s += y[i]


def test_the_sum_of_doubles_is_a_double(device):
    x = np.array([1.0, 2.0, 3.0])
    out = wp.zeros(1, dtype=wp.float64)
    wp.launch(nested_sum, dim=1, inputs=[wp.array(x, dtype=wp.float64), out], device=device)
    # Far below what a float32 on the way would lose.
    assert abs(out.numpy()[0] - (2.0 * 0.1 + 3.0 * 0.1)) < 1e-15


def test_a_counter_takes_the_type_it_is_compared_with(device):
    out = wp.zeros(2, dtype=wp.int64)
    wp.launch(count_down, dim=1, inputs=[3, out], device=device)
    assert out.numpy().tolist() == [3, 7]


def test_two_types_are_refused(device):
    with pytest.raises(wp.CompileError, match="cannot add"):
        wp.launch(two_types, dim=1, inputs=[wp.zeros(2, dtype=wp.float64), wp.zeros(2)], device=device)
