"""Adjoint kernels against central differences in f64, on interp and cpu: `_native.launch_adjoint` itself."""

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native

f64 = wp.float64


def differentiate(kernel, dim, args, device, wanted=None):
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
    _native.launch_adjoint(kernel, dim, [to_device(a) for a in args], adjoints, device)
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
