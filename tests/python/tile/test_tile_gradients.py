"""Gradients through tiles against those of NumPy's formulas."""

import numpy as np
import pytest

import gridstride as wp

rng = np.random.default_rng(3)


def gradients(kernel, dim, inputs, output):
    """The gradients of the sum of `output` with respect to arrays."""
    arrays = [wp.array(one, dtype=float, requires_grad=True) for one in inputs]
    out = wp.array(output, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(kernel, dim=dim, inputs=[*arrays, out], block_dim=32)
    out.grad.fill_(1.0)
    tape.backward()
    return [one.grad.numpy() for one in arrays]


# On a GPU each of a block's threads would add to the gradient of a number that all of them have.
one_thread_a_block = pytest.mark.cpu


@wp.func
def product(x: float, y: float, k: float):
    return wp.sin(x) * y * k


@wp.kernel
def maps(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    x = wp.tile_load(a, shape=(2, 16), offset=(i * 2, 0))
    y = wp.tile_load(b, shape=(2, 16), offset=(i * 2, 0))
    k = b[0, 0]
    wp.tile_store(out, wp.tile_map(product, x, y, k) + x * y, offset=(i * 2, 0))


@one_thread_a_block
def test_maps_with_a_value_for_all_elements():
    a, b = rng.random((4, 16), dtype=np.float32), rng.random((4, 16), dtype=np.float32)
    da, db = gradients(maps, 2, (a, b), np.zeros_like(a))
    k = b[0, 0]
    np.testing.assert_allclose(da, np.cos(a) * b * k + b, rtol=1e-5)
    expected = np.sin(a) * k + a
    expected[0, 0] += (np.sin(a) * b).sum()
    np.testing.assert_allclose(db, expected, rtol=1e-5)


@wp.kernel
def multiply(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    total = wp.tile_zeros(shape=(8, 12), dtype=float)
    for k in range(a.shape[1] / 4):
        x = wp.tile_load(a, shape=(8, 4), offset=(0, k * 4))
        y = wp.tile_load(b, shape=(4, 12), offset=(k * 4, 0))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total)


def test_products_of_matrices():
    a, b = rng.random((8, 16), dtype=np.float32), rng.random((16, 12), dtype=np.float32)
    da, db = gradients(multiply, 1, (a, b), np.zeros((8, 12), np.float32))
    ones = np.ones((8, 12), np.float32)
    np.testing.assert_allclose(da, ones @ b.T, rtol=1e-5)
    np.testing.assert_allclose(db, a.T @ ones, rtol=1e-5)


@wp.kernel
def parts(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    t = wp.tile_load(a, shape=(3, 4))
    rows = wp.tile_sum(wp.tile_transpose(t) * 2.0, axis=0)
    rows[0] = rows[1] * rows[2]
    u = wp.tile_broadcast(rows, shape=(4, 3)) * wp.tile_transpose(t)
    wp.tile_store(out, wp.tile_sum(u))


def test_views_and_parts():
    a = rng.random((3, 4), dtype=np.float32)
    (da,) = gradients(parts, 1, (a,), np.zeros(1, np.float32))
    step = 1e-3

    def loss(x):
        r = 2 * x.sum(1)
        r = np.array([r[1] * r[2], r[1], r[2]])
        return (r[None, :] * x.T).sum()

    expected = np.zeros((3, 4))
    for at in np.ndindex(3, 4):
        moved = a.astype(np.float64)
        moved[at] += step
        above = loss(moved)
        moved[at] -= 2 * step
        expected[at] = (above - loss(moved)) / (2 * step)
    np.testing.assert_allclose(da, expected, rtol=1e-4)


@wp.kernel
def set_one(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    t = wp.tile_zeros(shape=2, dtype=float)
    t[0] = 3.0 * x[0]
    wp.tile_store(out, t)


@one_thread_a_block
def test_an_element_that_is_set():
    (dx,) = gradients(set_one, 1, (np.ones(2, np.float32),), np.zeros(2, np.float32))
    np.testing.assert_array_equal(dx, [3, 0])


@wp.kernel
def least(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.tile_store(out, wp.tile_min(wp.tile_load(a, shape=4)))


def test_what_has_no_gradient_is_refused():
    with pytest.raises(wp.CompileError, match="has no gradient"):
        gradients(least, 1, (np.ones(4, np.float32),), np.zeros(1, np.float32))


@wp.struct
class Pair:
    x: wp.vec3
    k: int
    y: float


@wp.func
def scaled(s: Pair):
    r = Pair()
    r.x = s.x * s.y
    r.y = 2.0 * s.y
    r.k = s.k
    return r


@wp.kernel
def map_structs(a: wp.array(dtype=Pair), out: wp.array(dtype=Pair)):
    wp.tile_store(out, wp.tile_map(scaled, wp.tile_load(a, shape=2)))


@pytest.mark.cpu
def test_structs():
    values = [Pair(), Pair()]
    values[1].x, values[1].y = wp.vec3(1.0, 2.0, 3.0), 4.0
    a = wp.array(values, dtype=Pair, requires_grad=True)
    out = wp.zeros(2, dtype=Pair, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(map_structs, dim=1, inputs=[a, out], block_dim=32)
    seed = Pair()
    seed.x, seed.y = wp.vec3(1.0, 1.0, 1.0), 1.0
    tape.backward(grads={out: wp.array([seed, seed], dtype=Pair)})
    found = a.grad.numpy()[1]
    np.testing.assert_array_equal(found["x"], [4, 4, 4])
    assert found["y"] == 8.0


def test_numbers_of_all_threads_are_refused_where_a_block_has_several():
    if wp.get_device().is_cpu:
        pytest.skip("a block of the CPU is one thread")
    b = rng.random((4, 16), dtype=np.float32)
    with pytest.raises(RuntimeError, match="is not known where a block has several threads"):
        gradients(maps, 2, (b, b), np.zeros_like(b))
