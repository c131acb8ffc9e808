"""Gradients with what only a GPU has: memory for loops on the device, copies between devices, tensors of PyTorch."""

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native

N = 5000


@wp.kernel
def in_place_for_long(x: wp.array(dtype=float), rounds: wp.array(dtype=wp.int32), y: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(rounds[i]):
        x[i] = wp.sin(x[i]) + 0.4 * x[i] * float(k % 3)
    y[i] = x[i]


def run(device, options=None):
    """The gradient of x, and what is left of y."""
    rng = np.random.default_rng(3)
    values, rounds = rng.uniform(0.2, 1.0, N), rng.integers(0, 60, N)
    x, y = (wp.array(given, dtype=float, device=device) for given in (values, np.zeros(N)))
    dx, dy = (wp.array(given, dtype=float, device=device) for given in (np.zeros(N), np.ones(N)))
    rounds = wp.array(rounds, dtype=wp.int32, device=device)
    options = {**in_place_for_long.compile_options(), **(options or {})}
    _native.launch_adjoint(in_place_for_long, N, [x, rounds, y], [dx, None, dy], device, options)
    return dx.numpy()


def test_loops_that_overwrite_what_they_read():
    expected = run("cpu")
    found = run("cuda:0")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # In pieces that fit the memory, to the same bits.
    np.testing.assert_array_equal(run("cuda:0", {"gradient_memory": 40_000}), found)


def test_loops_on_a_tape():
    x = wp.array(np.full(N, 0.5), dtype=float, requires_grad=True)
    y = wp.zeros(N, dtype=float, requires_grad=True)
    rounds = wp.array(np.full(N, 20), dtype=wp.int32)
    with wp.Tape() as tape:
        wp.launch(in_place_for_long, N, [x, rounds], [y])
    tape.backward(grads={y: wp.ones(N, dtype=float)})
    h, slopes = 1e-6, []
    for at in (0.5 + h, 0.5 - h):
        for k in range(20):
            at = np.sin(at) + 0.4 * at * (k % 3)
        slopes.append(at)
    np.testing.assert_allclose(x.grad.numpy(), (slopes[0] - slopes[1]) / (2 * h), rtol=1e-3)


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def add_up(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, x[wp.tid()])


@pytest.mark.parametrize(("there", "back"), [("cpu", "cuda:0"), ("cuda:0", "cpu")])
def test_copies_between_devices(there, back):
    def new(values, device, **options):
        return wp.array(values, dtype=float, device=device, requires_grad=True, **options)

    x, dead = new(np.ones(4), there), new(np.ones(3), back)
    y, loss = new(np.zeros(3), back, retain_grad=True), new([0.0], back)
    with wp.Tape() as tape:
        wp.launch(double, 3, [dead], [y], device=back)
        wp.copy(y, x, src_offset=1, count=3)
        wp.launch(add_up, 3, [y], [loss], device=back)
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 1.0, 1.0, 1.0])
    # What the copy has overwritten has no part in the loss.
    np.testing.assert_array_equal(dead.grad.numpy(), np.zeros(3))
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(3))

    # Through an indexed array, and there and back again.
    x = new(np.arange(6.0), there)
    far, home, loss = new(np.zeros(3), back), new(np.zeros(3), there), new([0.0], there)
    with wp.Tape() as tape:
        wp.copy(far, x[wp.array([4, 1, 4], dtype=int, device=there)])
        wp.launch(double, 3, [far], [far], device=back)
        wp.copy(home, far)
        wp.launch(add_up, 3, [home], [loss], device=there)
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 2.0, 0.0, 0.0, 4.0, 0.0])


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")

    def doubled(x):
        y = wp.zeros_like(x)
        wp.launch(double, dim=len(x), inputs=[x, y])
        return y

    function = wp.autograd.torch_function(doubled)
    weight = torch.linspace(0.0, 1.0, 64, device="cuda", requires_grad=True)
    (function(weight.sin()) ** 2).sum().backward()
    expected = 8.0 * torch.sin(weight) * torch.cos(weight)
    torch.testing.assert_close(weight.grad, expected.detach())
    x = torch.linspace(0.1, 1.0, 5, dtype=torch.float64, requires_grad=True, device="cuda")
    assert torch.autograd.gradcheck(wp.autograd.torch_function(_cubes), x)


@wp.kernel
def cube(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


def _cubes(x):
    y = wp.zeros_like(x)
    wp.launch(cube, dim=len(x), inputs=[x, y])
    return y
