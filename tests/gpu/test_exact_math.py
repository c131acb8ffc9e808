"""Square roots and quotients that a GPU computes from its estimates, for every number of their domains.

`crates/codegen/src/nvptx/exact.rs` says which they are, and lists the architectures where this test has passed: one
that is not listed computes as it always did, and passes too. Right rounding is tested in f64, which has room for the
squares and products of numbers halfway between two of f32.
"""

import numpy as np
import pytest

import gridstride as wp

ROUNDS = 256


@wp.func
def is_root(s: float, x: float):
    bits = wp.cast(s, wp.int32)
    y, t = wp.float64(x), wp.float64(s)
    below = 0.5 * (t + wp.float64(wp.cast(bits - 1, float)))
    above = 0.5 * (t + wp.float64(wp.cast(bits + 1, float)))
    return below * below < y and y < above * above


@wp.func
def is_inverse(r: float, x: float):
    bits = wp.cast(r, wp.int32)
    one = wp.float64(1.0)
    y, t = wp.float64(x), wp.float64(r)
    below = wp.float64(0.5) * (t + wp.float64(wp.cast(bits - 1, float)))
    above = wp.float64(0.5) * (t + wp.float64(wp.cast(bits + 1, float)))
    return wp.abs(below * y) < one and one < wp.abs(above * y)


@wp.kernel
def roots(first: wp.int32, offsets: wp.array(dtype=wp.int32), wrong: wp.array(dtype=wp.int32)):
    i = wp.tid()
    n = int(0)
    for j in range(offsets.shape[0]):
        x = wp.cast(first + i * 256 + offsets[j], float)
        s = wp.sqrt(x)
        if not is_root(s, x):
            n += 1
    wrong[i] = n


@wp.kernel
def inverse_roots(first: wp.int32, offsets: wp.array(dtype=wp.int32), wrong: wp.array(dtype=wp.int32)):
    i = wp.tid()
    n = int(0)
    for j in range(offsets.shape[0]):
        s = wp.sqrt(wp.cast(first + i * 256 + offsets[j], float))
        if not is_inverse(1.0 / s, s):
            n += 1
    wrong[i] = n


@wp.kernel
def inverses(first: wp.int32, offsets: wp.array(dtype=wp.int32), wrong: wp.array(dtype=wp.int32)):
    i = wp.tid()
    n = int(0)
    for j in range(offsets.shape[0]):
        x = wp.cast(first + i * 256 + offsets[j], float)
        if not is_inverse(1.0 / x, x):
            n += 1
    wrong[i] = n


@wp.kernel
def quotients(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = float(0.0)
    for j in range(a.shape[1]):
        t = 0.5 * t + a[i, j] / b[i, j]
    out[i] = t


def count_wrong(kernel, first, last):
    n = (last - first + ROUNDS) // ROUNDS
    wrong = wp.zeros(n, dtype=wp.int32)
    first = first - (1 << 32) if first >= 1 << 31 else first
    wp.launch(kernel, dim=n, inputs=[first, wp.array(np.arange(ROUNDS, dtype=np.int32)), wrong])
    return int(wrong.numpy().sum())


@pytest.mark.parametrize("kernel", [roots, inverse_roots])
def test_roots_and_their_inverses(kernel):
    assert count_wrong(kernel, 0x00800000, 0x7F7FFFFF) == 0


@pytest.mark.parametrize("sign", [0, 0x80000000])
def test_inverses(sign):
    # From 2^-100 to 2^100: all of the domain, and more on both sides.
    assert count_wrong(inverses, sign + 0x0D800000, sign + 0x717FFFFF) == 0


@pytest.mark.parametrize("power", [3, 40, 62, 70, 120])
def test_quotients(power):
    rng = np.random.default_rng(power)
    n, rounds = 1 << 16, 32
    a, b = (rng.uniform(1, 2, n * rounds) * 2.0 ** rng.integers(-power, power, n * rounds) for _ in range(2))
    a, b = a.astype(np.float32), (b * rng.choice([-1.0, 1.0], n * rounds)).astype(np.float32)
    b[::1001] = 0.0
    a[::1003] = -0.0
    a[::1009], b[::1013] = np.inf, np.nan
    results = []
    for device in ("cpu", "cuda"):
        out = wp.zeros(n, dtype=float, device=device)
        args = [*(wp.array(x.reshape(n, rounds), dtype=float, device=device) for x in (a, b)), out]
        wp.launch(quotients, dim=n, inputs=args, device=device)
        results.append(out.numpy().view(np.int32) | np.where(np.isnan(out.numpy()), -1, 0))
    assert (results[0] == results[1]).all()
