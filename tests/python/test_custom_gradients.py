"""`@wp.func_grad` and `@wp.func_replay`: what stands for a function in the backward pass."""

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native

DEVICES = ["interp", "cpu"]


@wp.func
def pair(x: float, y: float):
    return x * y, x + y


@wp.func_grad(pair)
def adj_pair(x: float, y: float, adj_product: float, adj_sum: float):
    wp.adjoint[x] += 10.0 * adj_product
    if x > 1.5:
        wp.adjoint[y] += 100.0 * adj_sum + y


@wp.kernel
def use_pair(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    product, total = pair(x[i], y[i])
    out[i] = product + 2.0 * total


def adjoints(kernel, dim, args, seeds, device):
    adj = [None if seed is None else wp.array(seed, dtype=dtype_of(arg)) for arg, seed in zip(args, seeds, strict=True)]
    _native.launch_adjoint(kernel, dim, args, adj, device)
    return [None if one is None else one.numpy() for one in adj]


def dtype_of(arg):
    return arg.dtype if isinstance(arg, wp.array) else float


@pytest.mark.parametrize("device", DEVICES)
def test_the_gradient_is_what_the_user_says(device):
    x, y, out = wp.array([1.0, 2.0], dtype=float), wp.array([3.0, 5.0], dtype=float), wp.zeros(2)
    dx, dy, _ = adjoints(use_pair, 2, [x, y, out], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], device)
    np.testing.assert_array_equal(dx, [10.0, 10.0])
    np.testing.assert_array_equal(dy, [0.0, 205.0])


@wp.struct
class Body:
    mass: float
    at: wp.vec3


@wp.func
def energy(b: Body):
    return b.mass * wp.dot(b.at, b.at)


@wp.func_grad(energy)
def adj_energy(b: Body, adj_ret: float):
    wp.adjoint[b.mass] += 7.0 * adj_ret
    wp.adjoint[b.at][1] += b.mass * adj_ret


@wp.kernel
def use_energy(bodies: wp.array(dtype=Body), out: wp.array(dtype=float)):
    i = wp.tid()
    for _ in range(3):
        out[i] += energy(bodies[i])


@pytest.mark.parametrize("device", DEVICES)
def test_adjoints_of_parts_of_a_struct(device):
    body = Body()
    body.mass, body.at = 2.0, wp.vec3(1.0, 2.0, 3.0)
    bodies, grads = wp.array([body], dtype=Body), wp.zeros(1, dtype=Body)
    _native.launch_adjoint(use_energy, 1, [bodies, wp.zeros(1)], [grads, wp.array([1.0], dtype=float)], device)
    found = grads.numpy()[0]
    np.testing.assert_array_equal(found["mass"], 21.0)
    np.testing.assert_array_equal(found["at"], [0.0, 6.0, 0.0])


@wp.func
def take(counter: wp.array(dtype=int), slots: wp.array(dtype=int), i: int):
    slot = wp.atomic_add(counter, 0, 1)
    slots[i] = slot
    return slot


@wp.func_replay(take)
def take_again(counter: wp.array(dtype=int), slots: wp.array(dtype=int), i: int):
    return slots[i]


@wp.kernel
def scatter(
    x: wp.array(dtype=float), counter: wp.array(dtype=int), slots: wp.array(dtype=int), y: wp.array(dtype=float)
):
    i = wp.tid()
    slot = take(counter, slots, i)
    y[slot] = x[i] * x[i] * float(i + 1)


@pytest.mark.parametrize("device", DEVICES)
def test_a_replay_function_gives_what_was_given_before(device):
    n = 50
    x, y = wp.array(np.arange(n, dtype=np.float32), dtype=float), wp.zeros(n)
    counter, slots = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    wp.launch(scatter, n, [x, counter, slots, y])
    facts = _native.adjoint_facts(scatter, [x, counter, slots, y])
    assert facts[1]["writes"] and not facts[1]["reads"] and facts[2]["reads_after"]
    seed = np.arange(n, dtype=np.float32)
    dx, *_ = adjoints(scatter, n, [x, counter, slots, y], [np.zeros(n, np.float32), None, None, seed], device)
    expected = 2.0 * x.numpy() * (np.arange(n) + 1) * seed[slots.numpy()]
    np.testing.assert_allclose(dx, expected, rtol=1e-6)


@wp.func
def put(i: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    y[i] = wp.exp(x[i])


@wp.func_grad(put)
def adj_put(i: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.adjoint[x][i] += 3.0 * wp.adjoint[y][i]
    wp.adjoint[y][i] = 0.0


@wp.kernel
def use_put(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    put(wp.tid(), x, y)


@pytest.mark.parametrize("device", DEVICES)
def test_a_function_of_arrays(device):
    x, y = wp.array([1.0, 2.0], dtype=float), wp.zeros(2)
    dx, dy = adjoints(use_put, 2, [x, y], [[0.5, 0.0], [1.0, 2.0]], device)
    np.testing.assert_array_equal(dx, [3.5, 6.0])
    np.testing.assert_array_equal(dy, [0.0, 0.0])
    # An adjoint that is not wanted reads as zero and takes nothing.
    (dx, none) = adjoints(use_put, 2, [x, y], [[0.5, 0.0], None], device)
    np.testing.assert_array_equal(dx, [0.5, 0.0])
    assert none is None


def test_a_tape_keeps_what_a_replay_function_reads():
    n = 20
    x = wp.array(np.arange(n, dtype=np.float32), dtype=float, requires_grad=True)
    y = wp.zeros(n, dtype=float, requires_grad=True)
    counter, slots = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    with wp.Tape() as tape:
        wp.launch(scatter, n, [x, counter, slots, y])
        taken = slots.numpy().copy()
        # What it left there is overwritten before it is asked for.
        slots.fill_(0)
    seed = np.arange(n, dtype=np.float32)
    tape.backward(grads={y: wp.array(seed, dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * x.numpy() * (np.arange(n) + 1) * seed[taken], rtol=1e-6)


@wp.func
def assign(x: wp.ref[float], y: float) -> float:
    x = x * y
    return y


@wp.func_grad(assign)
def adj_assign(x: float, y: float, adj_ret: float):
    # The adjoint of a parameter passed by reference is first that of what it holds in the end.
    wp.adjoint[y] += 100.0 * wp.adjoint[x] + adj_ret
    wp.adjoint[x] = 10.0 * wp.adjoint[x]


@pytest.mark.parametrize("device", DEVICES)
def test_the_adjoint_of_a_reference_comes_in_and_goes_out(device):
    @wp.kernel
    def kernel(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        held = x[i]
        given = assign(held, y[i])
        out[i] = 3.0 * held + given

    x, y, out = wp.array([1.0, 2.0], dtype=float), wp.array([3.0, 5.0], dtype=float), wp.zeros(2)
    dx, dy, _ = adjoints(kernel, 2, [x, y, out], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], device)
    np.testing.assert_array_equal(dx, [30.0, 30.0])
    np.testing.assert_array_equal(dy, [301.0, 301.0])


@wp.func
def counted(x: float, calls: wp.array(dtype=int)):
    return x * x


@wp.func_grad(counted)
def adj_counted(x: float, calls: wp.array(dtype=int), adj_ret: float):
    wp.adjoint[x] += 2.0 * x * adj_ret
    wp.atomic_add(calls, 0, 1)


@wp.kernel
def use_counted(x: wp.array(dtype=float), calls: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    for _ in range(i + 1):
        out[i] += counted(x[i], calls)


@wp.kernel
def count_too(x: wp.array(dtype=float), calls: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    calls[0] = i
    out[i] = counted(x[i], calls)


@wp.kernel
def read_calls(calls: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = float(calls[0]) * x[i]


@pytest.mark.parametrize("device", DEVICES)
def test_a_gradient_that_writes_to_an_array_does_so(device):
    x, y, out = (wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True) for _ in range(3))
    calls = wp.array([10], dtype=int)
    with wp.Tape() as tape:
        # Its gradient needs what the other's overwrites.
        wp.launch(read_calls, 3, [calls, x], [y], device=device)
        wp.launch(use_counted, 3, [y, calls], [out], device=device)
    tape.backward(grads={out: wp.ones_like(out)})
    np.testing.assert_array_equal(calls.numpy(), [16])
    np.testing.assert_array_equal(x.grad.numpy(), [200.0, 800.0, 1800.0])

    with wp.Tape() as tape:
        wp.launch(count_too, 3, [x, calls], [out], device=device)
    with pytest.raises(wp.CompileError, match=r"(?s)writes to an array that the kernel uses as well.*counted\(x"):
        tape.backward(grads={out: wp.ones_like(out)})
