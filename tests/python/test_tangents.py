"""Forward mode against reverse mode and central differences, and second derivatives: `_native.launch_tangent`."""

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native

f64 = wp.float64
DEVICES = ["interp", "cpu"]


@wp.func
def bend(x: f64, a: f64):
    s = x
    for _ in range(3):
        s = wp.sin(s * a) + x
        if s > f64(1.2):
            break
    return s


@wp.kernel
def chain(a: f64, x: wp.array(dtype=f64), v: wp.array(dtype=wp.vec3d), y: wp.array(dtype=f64)):
    i = wp.tid()
    u = v[i]
    u[1] = u[1] * x[i]
    wp.atomic_add(y, (i + 1) % 3, wp.dot(u, u) * bend(x[i], a))


def inputs():
    rng = np.random.default_rng(11)
    return 1.3, rng.uniform(0.1, 1.0, 3), rng.uniform(-1.0, 1.0, (3, 3)), rng.uniform(-1.0, 1.0, 3)


def array(values, dtype=f64):
    return wp.array(np.array(values), dtype=dtype)


def on_device(a, x, v, y):
    return [a, array(x), array(v, wp.vec3d), array(y)]


def forward(a, x, v, y):
    args = on_device(a, x, v, y)
    wp.launch(chain, 3, args)
    return args[3].numpy()


@pytest.mark.parametrize("device", DEVICES)
def test_tangents_are_those_of_central_differences(device):
    args, steps = inputs(), (0.5, np.array([1.0, -2.0, 0.25]), np.ones((3, 3)), np.array([0.0, 1.0, 3.0]))
    tangents = [array([steps[0]]), array(steps[1]), array(steps[2], wp.vec3d), array(steps[3])]
    given = on_device(*args)
    _native.launch_tangent(chain, 3, given, tangents, device)
    np.testing.assert_array_equal(given[3].numpy(), forward(*args))
    h = 1e-6
    high = forward(*(value + h * step for value, step in zip(args, steps, strict=True)))
    low = forward(*(value - h * step for value, step in zip(args, steps, strict=True)))
    np.testing.assert_allclose(tangents[3].numpy(), (high - low) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize("device", DEVICES)
def test_a_tangent_left_out_is_zero(device):
    a, x, v, y = inputs()
    dy = array(np.zeros(3))
    _native.launch_tangent(chain, 3, on_device(a, x, v, y), [None, array([1.0, 1.0, 1.0]), None, dy], device)
    h = 1e-6
    expected = (forward(a, x + h, v, y) - forward(a, x - h, v, y)) / (2 * h)
    np.testing.assert_allclose(dy.numpy(), expected, rtol=1e-7)


def gradient(x, a=1.3):
    _, _, v, y = inputs()
    adjoints = [None, array(np.zeros(3)), None, array([1.0, -2.0, 0.5])]
    _native.launch_adjoint(chain, 3, on_device(a, x, v, y), adjoints, "cpu")
    return adjoints[1].numpy()


@pytest.mark.parametrize("device", DEVICES)
def test_a_hessian_times_a_vector(device):
    a, x, v, y = inputs()
    step = np.array([1.0, 2.0, -0.5])
    adjoints = [None, array(np.zeros(3)), None, array([1.0, -2.0, 0.5])]
    second = array(np.zeros(3))
    adj_tangents = [None, second, None, array(np.zeros(3))]
    tangents = [None, array(step), None, array(np.zeros(3))]
    _native.launch_tangent(
        chain, 3, on_device(a, x, v, y), tangents, device, None, adj_args=adjoints, adj_tangents=adj_tangents
    )
    np.testing.assert_allclose(adjoints[1].numpy(), gradient(x), rtol=1e-12)
    h = 1e-6
    expected = (gradient(x + h * step) - gradient(x - h * step)) / (2 * h)
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-6)
