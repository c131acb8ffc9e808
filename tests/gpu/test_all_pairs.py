"""Loops that threads share reads in: the bits of the CPU, whether a thread runs one or two of the launch."""

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def gravity(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), n: int, out: wp.array(dtype=wp.vec3)):
    p = wp.tid()
    a = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        if j != p:
            r = x[j] - x[p]
            inv = 1.0 / wp.sqrt(wp.dot(r, r))
            a += m[j] * (inv * inv * inv) * r
    out[p] = a


@wp.kernel
def density(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), n: int, out: wp.array(dtype=wp.vec3)):
    p = wp.tid()
    s = float(0.0)
    for j in range(n):
        d = x[p] - x[j]
        q = 0.25 - wp.dot(d, d)
        if q > 0.0:
            s += m[j] * q * q * q
    out[p][1] = s


@wp.kernel
def potential(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), n: int, out: wp.array(dtype=wp.vec3)):
    p = wp.tid()
    s = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = wp.length(x[p] - x[j])
        s += x[j] * m[j] / (d * d * d + 0.001)
    out[p] = s


@wp.kernel
def closest(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), n: int, out: wp.array(dtype=wp.vec3)):
    p = wp.tid()
    best, at = float(1e30), int(-1)
    for j in range(n):
        d = wp.length(x[p] - x[j]) * m[j]
        if d < best and j != p:
            best = d
            at = j
    if p % 3 == 0:
        out[p] = wp.vec3(best, float(at), 0.0)


@wp.kernel
def rows(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = x[i]
    s = float(0.0)
    for j in range(row.shape[0]):
        s += row[j]
    out[i] = s


@wp.kernel
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


def on_both(kernel, dim, inputs, shape, dtype):
    found = []
    for device in ("cpu", "cuda:0"):
        args = [wp.array(x, dtype=t, device=device) if isinstance(x, np.ndarray) else x for x, t in inputs]
        out = wp.zeros(shape, dtype=dtype, device=device)
        wp.launch(kernel, dim=dim, inputs=[*args, out], device=device)
        out = out.numpy()
        # One NaN is as good as another.
        found.append(np.where(np.isnan(out), -1, out.view(np.int32)))
    return found


# The first is run one thread each, the others two.
@pytest.mark.parametrize("n_threads", [1023, 262144, 262145])
@pytest.mark.parametrize("kernel", [gravity, density, potential, closest])
def test_pairs(kernel, n_threads):
    rng = np.random.default_rng(n_threads)
    x = rng.uniform(-1, 1, (n_threads, 3)).astype(np.float32)
    # Rounds of which some are no ordinary numbers.
    x[100] = x[37]
    x[200], x[333] = 1e25, 1e-30
    m = rng.uniform(0.5, 1, n_threads).astype(np.float32)
    expected, found = on_both(kernel, n_threads, [(x, wp.vec3), (m, float), (531, None)], n_threads, wp.vec3)
    assert (found == expected).all()


@pytest.mark.parametrize("n", [64, 100001])
def test_a_row_a_thread(n):
    x = np.random.default_rng(n).random((n, 40), dtype=np.float32)
    expected, found = on_both(rows, n, [(x, float)], n, float)
    assert (found == expected).all()


@pytest.mark.parametrize("n", [(5, 7, 3), (513, 257, 33)])
def test_products(n):
    rng = np.random.default_rng(1)
    a, b = rng.random((n[0], n[2]), dtype=np.float32), rng.random((n[2], n[1]), dtype=np.float32)
    expected, found = on_both(product, (n[0], n[1]), [(a, float), (b, float)], (n[0], n[1]), float)
    assert (found == expected).all()
