"""Gradients through tiles against those of NumPy's formulas."""

import numpy as np
import pytest

import gridstride as wp

rng = np.random.default_rng(3)


@pytest.fixture(params=[False, True], ids=["thread", "block"], autouse=True)
def blocks(request):
    """On the CPU a block is one thread, or several."""
    wp.config.enable_cpu_blocks = request.param


def gradients(kernel, dim, inputs, output):
    """The gradients of the sum of `output` with respect to arrays."""
    arrays = [wp.array(one, dtype=float, requires_grad=True) for one in inputs]
    out = wp.array(output, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(kernel, dim=dim, inputs=[*arrays, out], block_dim=32)
    out.grad.fill_(1.0)
    tape.backward()
    return [one.grad.numpy() for one in arrays]


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


@wp.kernel
def of_all_threads(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = wp.tile_sum(wp.tile_load(x, shape=3))
    for _ in range(2):
        s = s + s * x[0]
    out[1] = s[0] * x[2]


def test_numbers_that_all_threads_take_from_a_tile_and_store():
    (dx,) = gradients(of_all_threads, 1, (np.array([1, 2, 3], np.float32),), np.zeros(2, np.float32))
    # 12 x2 (1 + x0)^2, of the sum s: 6.
    np.testing.assert_allclose(dx, [3 * 4 + 6 * 3 * 4, 3 * 4, 3 * 4 + 6 * 4])


@wp.kernel
def of_each_thread(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4)
    u = wp.tile_zeros(shape=4, dtype=float)
    u[i] = t[(i + 1) % 4] * t[0]
    u[1] += x[i]
    wp.tile_store(out, wp.tile_sum(u))


@pytest.mark.cpu
def test_elements_that_each_thread_reads_and_sets():
    if not wp.config.enable_cpu_blocks:
        pytest.skip("it is about the threads of one block")
    x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(of_each_thread, dim=4, inputs=[x, out], block_dim=4)
    np.testing.assert_allclose(out.numpy(), [10 + 10])
    tape.backward(grads={out: wp.ones_like(out)})
    np.testing.assert_allclose(x.grad.numpy(), [10 + 1 + 1, 2, 2, 2])


def differences(loss, x, step=1e-6):
    """The gradient of `loss` at `x` by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = x.copy()
        moved[at] += step
        above = loss(moved)
        moved[at] -= 2 * step
        found[at] = (above - loss(moved)) / (2 * step)
    return found


def against_differences(kernel, inputs, output, weights, reference):
    """Compares the gradients of the weighted sum of what `kernel` gives with those of `reference` in NumPy."""
    arrays = [wp.array(one, dtype=wp.float64, requires_grad=True) for one in inputs]
    out = wp.array(output, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(kernel, dim=1, inputs=[*arrays, out], block_dim=32)
    np.testing.assert_allclose(out.numpy(), reference(*inputs), rtol=1e-9)
    tape.backward(grads={out: wp.array(weights, dtype=wp.float64)})
    for number, array in enumerate(arrays):

        def loss(x, number=number):
            return (weights * reference(*inputs[:number], x, *inputs[number + 1 :])).sum()

        np.testing.assert_allclose(array.grad.numpy(), differences(loss, inputs[number]), rtol=1e-5, atol=1e-7)


@wp.kernel
def factor(a: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    wp.tile_store(out, wp.tile_cholesky(wp.tile_load(a, shape=(5, 5))))


@wp.kernel
def solve(a: wp.array2d(dtype=wp.float64), y: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    t = wp.tile_load(a, shape=(5, 5))
    z = wp.tile_lower_solve(t, wp.tile_load(y, shape=(5, 2)))
    wp.tile_store(out, wp.tile_upper_solve(wp.tile_transpose(t), z))


def test_factors_and_solutions():
    a = rng.random((5, 5)) + 5 * np.eye(5)
    weights = rng.random((5, 5))

    def cholesky(a):
        lower = np.tril(a)
        return np.linalg.cholesky(lower + np.tril(a, -1).T)

    against_differences(factor, [a], np.zeros((5, 5)), weights, cholesky)
    y, weights = rng.random((5, 2)), rng.random((5, 2))

    def solution(a, y):
        lower = np.tril(a)
        return np.linalg.solve(lower @ lower.T, y)

    against_differences(solve, [a, y], np.zeros((5, 2)), weights, solution)


@wp.kernel
def chosen(a: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=wp.float64)):
    t = wp.tile_load(a, shape=(3, 4))
    rows = wp.tile_full(4, 2, dtype=int)
    rows[1] = 0
    rows[3] = -3
    wp.tile_store(out, t[:, rows] * 2.0)


def test_elements_at_a_tile_of_indices():
    a, weights = rng.random((3, 4)), rng.random((3, 4))
    against_differences(chosen, [a], np.zeros((3, 4)), weights, lambda a: 2 * a[:, [2, 0, 2, -3]])


@wp.kernel
def spectra(a: wp.array2d(dtype=wp.vec2d), out: wp.array2d(dtype=wp.vec2d), odd: wp.array3d(dtype=wp.vec2d)):
    t = wp.tile_load(a, shape=(2, 8))
    wp.tile_fft(t)
    wp.tile_store(out, t)
    u = wp.tile_load(odd, shape=(2, 1, 6))
    wp.tile_ifft(u)
    wp.tile_store(odd, u)


def test_transforms():
    values, odd = rng.random((2, 8, 2)), rng.random((2, 1, 6, 2))
    a = wp.array(values, dtype=wp.vec2d, requires_grad=True)
    out, other = wp.zeros((2, 8), dtype=wp.vec2d, requires_grad=True), wp.array(odd, dtype=wp.vec2d)
    with wp.Tape() as tape:
        wp.launch_tiled(spectra, dim=1, inputs=[a, out, other], block_dim=32)
    x = values[..., 0] + 1j * values[..., 1]
    found = out.numpy()
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], np.fft.fft(x), atol=1e-12)
    found, y = other.numpy(), odd[..., 0] + 1j * odd[..., 1]
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], 6 * np.fft.ifft(y), atol=1e-12)
    weights = rng.random((2, 8, 2))
    tape.backward(grads={out: wp.array(weights, dtype=wp.vec2d)})
    d = np.fft.ifft(weights[..., 0] + 1j * weights[..., 1]) * 8
    found = a.grad.numpy()
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], d, atol=1e-12)
