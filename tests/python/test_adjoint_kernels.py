"""Adjoint kernels against central differences in f64, on interp and cpu: `_native.launch_adjoint` itself."""

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native

f64 = wp.float64


def differentiate(kernel, dim, args, device, wanted=None, options=None):
    """Adjoints of all float arguments for random adjoints of all arrays, by the adjoint kernel."""
    rng = np.random.default_rng(7)
    seeds = [rng.normal(size=a.shape) if isinstance(a, np.ndarray) and a.dtype == np.float64 else None for a in args]
    adjoints = []
    for arg, seed in zip(args, seeds, strict=True):
        if seed is not None:
            adjoints.append(wp.array(seed, dtype=arg_dtype(arg), device="cpu"))
        elif isinstance(arg, float):
            adjoints.append(wp.zeros(1, dtype=f64, device="cpu"))
        else:
            adjoints.append(None)
    if wanted is not None:
        adjoints = [a if w else None for a, w in zip(adjoints, wanted, strict=True)]
    _native.launch_adjoint(kernel, dim, [to_device(a) for a in args], adjoints, device, options)
    return seeds, [None if a is None else a.numpy() for a in adjoints]


def arg_dtype(arg):
    return {1: f64}.get(arg.ndim, f64)


def to_device(arg):
    if isinstance(arg, np.ndarray):
        return wp.array(arg.copy(), dtype={np.dtype("f8"): f64, np.dtype("i4"): wp.int32}[arg.dtype], device="cpu")
    return arg


def loss(kernel, dim, args, seeds):
    on_device = [to_device(a) for a in args]
    wp.launch(kernel, dim=dim, inputs=on_device, device="cpu")
    return sum(float((a.numpy() * s).sum()) for a, s in zip(on_device, seeds, strict=True) if s is not None)


def check(kernel, dim, args, device, h=1e-6):
    seeds, adjoints = differentiate(kernel, dim, args, device)
    for index, found in enumerate(adjoints):
        if found is None:
            continue
        expected = np.zeros_like(found)
        for at in np.ndindex(found.shape):

            def moved(step, index=index, at=at):
                changed = list(args)
                if isinstance(changed[index], float):
                    changed[index] += step
                else:
                    changed[index] = changed[index].copy()
                    changed[index][at] += step
                return loss(kernel, dim, changed, seeds)

            expected[at] = (moved(h) - moved(-h)) / (2 * h)
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6, err_msg=f"argument {index}")


@wp.kernel
def straight(a: f64, x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    y[i] = a * wp.sin(x[i]) + y[i] * x[i]


@wp.kernel
def branches(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    v = x[i]
    if v > f64(0.5):
        v = v * v
    elif i == 2:
        y[i] = v * f64(3.0)
        return
    else:
        v = wp.exp(v)
    y[i] = v + x[0]


@wp.kernel
def static_loop(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    s = x[i]
    for k in range(40):
        s = wp.sin(s) * f64(1.1) + x[k % 3] * f64(0.01)
    y[i] = s


@wp.kernel
def dynamic_loop(x: wp.array(dtype=f64), n: wp.array(dtype=wp.int32), y: wp.array(dtype=f64)):
    i = wp.tid()
    s = x[i]
    for k in range(n[i]):
        if k % 5 == 3:
            continue
        s = wp.sin(s) + x[(i + k) % 4] * s * f64(0.1)
        if s > f64(50.0):
            break
    y[i] = s


@wp.kernel
def while_loop(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    s = x[i] + f64(0.1)
    n = int(0)
    while s < f64(16.0):
        s = s * f64(1.1) + x[0] * f64(0.01)
        n += 1
        if n > 60:
            return
    y[i] = s * s


@wp.kernel
def nested(x: wp.array(dtype=f64), n: wp.int32, y: wp.array(dtype=f64)):
    i = wp.tid()
    s = x[i]
    for j in range(n):
        t = s
        for k in range(j + 1):
            t = wp.cos(t) * x[k % 4]
            if t < f64(-0.5):
                break
        s = s + t * f64(0.5)
    y[i] = s


@wp.kernel
def in_place(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    for _ in range(5):
        y[i] = y[i] * x[i] + wp.sin(y[i])
        if y[i] > f64(0.7):
            y[i] = y[i] * f64(0.5)
    x[i] = y[i] * x[i]


@wp.kernel
def gather(x: wp.array(dtype=f64), idx: wp.array(dtype=wp.int32), y: wp.array(dtype=f64)):
    i = wp.tid()
    wp.atomic_add(y, idx[i], x[i] * x[idx[i]])
    y[(i + 1) % 4] += x[i]


KERNELS = [straight, branches, static_loop, dynamic_loop, while_loop, nested, in_place, gather]


def arguments(kernel):
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.2, 1.0, 4), rng.uniform(0.1, 0.9, 4)
    return {
        "straight": (1.3, x, y),
        "dynamic_loop": (x, np.array([0, 3, 100, 47], dtype=np.int32), y),
        "nested": (x, 6, y),
        "gather": (x, np.array([2, 0, 0, 1], dtype=np.int32), y),
    }.get(kernel.key.split(".")[-1], (x, y))


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.key)
def test_adjoints_are_those_of_central_differences(kernel, device):
    check(kernel, 4, arguments(kernel), device)


@wp.kernel
def in_place_for_long(x: wp.array(dtype=f64), n: wp.array(dtype=wp.int32), y: wp.array(dtype=f64)):
    i = wp.tid()
    for k in range(n[i]):
        y[i] = y[i] * wp.cos(x[i]) + f64(0.01)
        if k % 3 == 1:
            y[i] = wp.sin(y[i]) + x[i]


@wp.kernel
def extremes(x: wp.array(dtype=f64), idx: wp.array(dtype=wp.int32), y: wp.array(dtype=f64)):
    i = wp.tid()
    wp.atomic_max(y, idx[i], x[i] * x[i])


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_what_a_launch_needs_before(device):
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.2, 1.0, 4), rng.uniform(0.1, 0.9, 4)
    check(in_place_for_long, 4, (x, np.array([0, 3, 100, 47], dtype=np.int32), y), device)
    check(extremes, 4, (x, np.array([1, 0, 1, 1], dtype=np.int32), np.array([0.9, 0.01, 0.3, 0.4])), device)


@wp.struct
class Holder:
    values: wp.array(dtype=f64)


@wp.kernel
def write_inside(holders: wp.array(dtype=Holder), x: wp.array(dtype=f64)):
    holders[0].values[wp.tid()] = x[wp.tid()]


def test_an_array_inside_of_an_element_is_refused():
    types = [annotation for _, annotation in write_inside._annotations.items()]
    with pytest.raises(wp.CompileError, match="no-gradient.*part of an array's element"):
        _native.adjoint_facts(write_inside, types)


def test_a_gradient_that_would_come_through_an_array_inside_of_an_element_is_refused():
    holder = Holder()
    holder.values = wp.zeros(2, dtype=f64, requires_grad=True)
    holders = wp.array([holder], dtype=Holder)
    x = wp.ones(2, dtype=f64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(write_inside, 2, [holders, x])
    holder.values.grad.fill_(1.0)
    with pytest.raises(wp.CompileError, match="no-gradient.*part of an array's element"):
        tape.backward()


@wp.kernel
def long_loop(x: wp.array(dtype=f64), n: wp.array(dtype=wp.int32), y: wp.array(dtype=f64)):
    i = wp.tid()
    s = x[i]
    for _ in range(n[i]):
        s = s * f64(0.999) + wp.sin(s) * f64(0.01) * x[i]
    y[i] = s


def test_long_loops_take_the_memory_of_short_ones():
    # More rounds than slots, than slots squared, and none.
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.2, 1.0, 4), rng.uniform(0.1, 0.9, 4)
    check(long_loop, 4, (x, np.array([0, 33, 700, 3000], dtype=np.int32), y), "cpu")


@wp.kernel
def two_names(x: wp.array(dtype=f64), y: wp.array(dtype=f64), z: wp.array(dtype=f64)):
    i = wp.tid()
    z[i] = x[i]
    for k in range(4):
        y[i] = wp.sin(x[i]) + z[i] * f64(0.5)
        if k == 2:
            z[i] = x[i] * y[i]
    z[i] = z[i] + x[i]


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_two_arguments_over_the_same_memory(device):
    rng = np.random.default_rng(9)
    start, seed = rng.uniform(0.2, 1.0, (2, 3)), rng.normal(size=(2, 3))

    def loss(both, z):
        both, z = wp.array(both, dtype=f64), wp.array(z, dtype=f64)
        wp.launch(two_names, 3, [both, both, z])
        return float((both.numpy() * seed[0]).sum() + (z.numpy() * seed[1]).sum())

    both, z = wp.array(start[0], dtype=f64), wp.array(start[1], dtype=f64)
    d_both, d_z = wp.array(seed[0], dtype=f64), wp.array(seed[1], dtype=f64)
    _native.launch_adjoint(two_names, 3, [both, both, z], [d_both, d_both, d_z], device)
    h = 1e-6
    for found, which in ((d_both.numpy(), 0), (d_z.numpy(), 1)):
        for at in range(3):
            high, low = start.copy(), start.copy()
            high[which, at] += h
            low[which, at] -= h
            expected = (loss(*high) - loss(*low)) / (2 * h)
            np.testing.assert_allclose(found[at], expected, rtol=1e-6, atol=1e-8)


@wp.kernel
def halves(a: wp.float16, x: wp.array(dtype=wp.vec3h), y: wp.array(dtype=wp.float16)):
    i = wp.tid()
    y[i] = wp.dot(x[i], x[i]) * a + wp.sin(x[i][1])


@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_half_precision(device):
    values = np.array([[0.5, 1.0, -0.25], [2.0, -1.0, 0.125]])
    x, y = wp.array(values, dtype=wp.vec3h), wp.zeros(2, dtype=wp.float16)
    da, dx = wp.zeros(1, dtype=wp.float16), wp.zeros(2, dtype=wp.vec3h)
    dy = wp.array([1.0, 2.0], dtype=wp.float16)
    _native.launch_adjoint(halves, 2, [1.5, x, y], [da, dx, dy], device)
    expected = 2 * 1.5 * values * [[1.0], [2.0]]
    expected[:, 1] += np.cos(values[:, 1]) * [1.0, 2.0]
    np.testing.assert_allclose(dx.numpy().astype(float), expected, rtol=3e-3)
    np.testing.assert_allclose(da.numpy().astype(float), [(values**2).sum(1) @ [1.0, 2.0]], rtol=3e-3)


def test_memory_for_loops_has_a_bound():
    rng = np.random.default_rng(5)
    n = 50
    args = rng.uniform(0.2, 1.0, n), rng.integers(0, 40, n).astype(np.int32), rng.uniform(0.1, 0.9, n)
    _, expected = differentiate(in_place_for_long, n, args, "cpu")
    _, in_pieces = differentiate(in_place_for_long, n, args, "cpu", options={"gradient_memory": 2000})
    for one, other in zip(expected, in_pieces, strict=True):
        np.testing.assert_array_equal(one, other)


@wp.kernel
def until_small(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    while x[i] > wp.float64(0.1):
        x[i] = x[i] * x[i] * wp.float64(0.9) + wp.float64(0.05)
    y[i] = x[i]


@wp.kernel
def until_the_next_is_small(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    while x[i + 1] > wp.float64(0.1):
        x[i] = x[i] * x[i]
        x[i + 1] = x[i + 1] * x[i + 1] * wp.float64(0.5)


@pytest.mark.parametrize("device", ["interp", "cpu"])
@pytest.mark.parametrize("options", [{}, {"gradient_memory": 100}])
def test_a_loop_that_changes_what_counts_its_rounds(device, options):
    values = np.linspace(0.15, 0.75, 40)
    expected = []
    for value in values:
        slope = 1.0
        while value > 0.1:
            slope *= 1.8 * value
            value = value * value * 0.9 + 0.05
        expected.append(slope)
    options = {**until_small.compile_options(), **options}
    x, y, dx, dy = (wp.array(one, dtype=wp.float64) for one in (values, 0 * values, 0 * values, 0 * values + 1))
    _native.launch_adjoint(until_small, len(values), [x, y], [dx, dy], device, options)
    np.testing.assert_allclose(dx.numpy(), expected, rtol=1e-12)

    # On a tape, which keeps what it overwrites.
    x = wp.array(values, dtype=wp.float64, requires_grad=True)
    y = wp.zeros_like(x)
    with wp.Tape() as tape:
        wp.launch(until_small, len(values), [x], [y], device=device)
    tape.backward(grads={y: wp.ones_like(y)})
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)
    assert (y.numpy() <= 0.1).all()

    with pytest.raises(wp.CompileError, match=r"(?s)at the thread's own index alone"):
        _native.launch_adjoint(until_the_next_is_small, 3, [x], [dx], device, options)
