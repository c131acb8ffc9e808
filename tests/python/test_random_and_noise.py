"""Random numbers and noise: known values, distributions, smoothness."""

import numpy as np
import pytest
from test_builtins import column, launch

import gridstride as wp

N = 20_000


def pcg(state):
    b = (state * 747796405 + 2891336453) % 2**32
    c = (((b >> ((b >> 28) + 4)) ^ b) * 277803737) % 2**32
    return (c >> 22) ^ c


def test_the_generator_is_pcg(device):
    seed = np.array([0, 1, 42, -7, 2**31 - 1], np.int32)
    state = launch(device, wp.rand_init, wp.uint32, column(seed, int))
    assert state.tolist() == [pcg(int(s) % 2**32) for s in seed]
    state = launch(device, wp.rand_init, wp.uint32, column(seed, int), column(seed[::-1].copy(), int))
    expected = [pcg((int(s) + pcg(int(o) % 2**32)) % 2**32) for s, o in zip(seed, seed[::-1], strict=True)]
    assert state.tolist() == expected


def test_every_call_moves_the_state_on(device):
    @wp.kernel
    def draw(out: wp.array(dtype=wp.uint32), after: wp.array(dtype=wp.uint32)):
        state = wp.rand_init(1, 2)
        for i in range(5):
            out[i] = wp.randu(state)
        if out[0] > wp.uint32(0):
            out[5] = wp.randu(state)
        copy = state
        out[6] = wp.randu(copy)
        after[0] = state

    out, after = wp.zeros(7, dtype=wp.uint32), wp.zeros(1, dtype=wp.uint32)
    wp.launch(draw, dim=1, inputs=[out, after], device=device)
    state, expected = pcg((1 + pcg(2)) % 2**32), []
    for _ in range(7):
        state = pcg(state)
        expected.append(state)
    assert out.numpy().tolist() == expected
    # The copy moved on, the variable did not.
    assert after.numpy()[0] == expected[5]


def test_numbers_that_warp_gives(device):
    @wp.kernel
    def draw(out: wp.array(dtype=float)):
        state = wp.rand_init(1, 2)
        out[0] = wp.randf(state)
        out[1] = wp.randf(state)

    out = wp.zeros(2, dtype=float)
    wp.launch(draw, dim=1, inputs=[out], device=device)
    np.testing.assert_allclose(out.numpy(), [0.466459, 0.480306], atol=5e-7)


def states(n=N):
    return column(np.array([pcg(i) for i in range(n)], np.uint32), wp.uint32)


def moments(x):
    return x.mean(0), x.var(0)


def test_uniform_and_normal_numbers(device):
    u = launch(device, wp.randf, wp.float32, states())
    assert u.min() >= 0 and u.max() < 1
    np.testing.assert_allclose(moments(u.astype(np.float64)), [1 / 2, 1 / 12], atol=0.01)
    g = launch(device, wp.randn, wp.float32, states()).astype(np.float64)
    np.testing.assert_allclose(moments(g), [0, 1], atol=0.03)
    assert abs((g**4).mean() - 3) < 0.2


def test_integers_stay_in_their_range(device):
    @wp.kernel
    def draw(s: wp.array(dtype=wp.uint32), i: wp.array(dtype=int), u: wp.array(dtype=wp.uint32)):
        t = wp.tid()
        state = s[t]
        i[t] = wp.randi(state, -5, 12)
        u[t] = wp.randu(state, wp.uint32(3), wp.uint32(10))

    i, u = wp.zeros(N, dtype=int), wp.zeros(N, dtype=wp.uint32)
    wp.launch(draw, dim=N, inputs=[states(), i, u], device=device)
    assert sorted(set(i.numpy().tolist())) == list(range(-5, 12))
    assert sorted(set(u.numpy().tolist())) == list(range(3, 10))


SHAPES = {
    "sample_unit_ring": (wp.vec2, lambda r: np.abs(r - 1) < 1e-6, [1 / 2] * 2),
    "sample_unit_disk": (wp.vec2, lambda r: r < 1 + 1e-6, [1 / 4] * 2),
    "sample_unit_sphere": (wp.vec3, lambda r: r < 1 + 1e-6, [1 / 5] * 3),
    "sample_unit_sphere_surface": (wp.vec3, lambda r: np.abs(r - 1) < 1e-6, [1 / 3] * 3),
    "sample_unit_hemisphere": (wp.vec3, lambda r: r < 1 + 1e-6, [1 / 5] * 3),
    "sample_unit_hemisphere_surface": (wp.vec3, lambda r: np.abs(r - 1) < 1e-6, [1 / 3] * 3),
    "sample_unit_square": (wp.vec2, lambda r: r < 0.708, [1 / 12] * 2),
    "sample_unit_cube": (wp.vec3, lambda r: r < 0.867, [1 / 12] * 3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_points_fill_their_shape_evenly(device, name):
    dtype, inside, second_moments = SHAPES[name]
    points = launch(device, getattr(wp, name), dtype, states()).astype(np.float64)
    assert np.all(inside(np.linalg.norm(points, axis=-1)))
    np.testing.assert_allclose((points**2).mean(0), second_moments, atol=0.012)
    if "hemisphere" in name:
        assert points[:, 2].min() >= -1e-6
    else:
        np.testing.assert_allclose(points.mean(0), 0, atol=0.02)


def test_points_of_a_triangle(device):
    points = launch(device, wp.sample_triangle, wp.vec2, states()).astype(np.float64)
    assert points.min() >= 0 and points.sum(-1).max() <= 1 + 1e-6
    np.testing.assert_allclose(points.mean(0), 1 / 3, atol=0.01)


@pytest.mark.parametrize("mean", [0.0, 0.5, 3.0, 9.5, 10.0, 40.0, 300.0])
def test_poisson_numbers(device, mean):
    @wp.kernel
    def draw(s: wp.array(dtype=wp.uint32), lam: float, out: wp.array(dtype=wp.uint32)):
        t = wp.tid()
        state = s[t]
        out[t] = wp.poisson(state, lam)

    out = wp.zeros(N, dtype=wp.uint32)
    wp.launch(draw, dim=N, inputs=[states(), mean, out], device=device)
    k = out.numpy().astype(np.float64)
    np.testing.assert_allclose(moments(k), [mean, mean], rtol=0.05, atol=0.02)


def test_a_distribution_is_sampled_by_its_sums(device):
    @wp.kernel
    def draw(s: wp.array(dtype=wp.uint32), cdf: wp.array(dtype=float), out: wp.array(dtype=int)):
        t = wp.tid()
        state = s[t]
        out[t] = wp.sample_cdf(state, cdf)

    weights = np.array([0.1, 0.0, 0.6, 0.3])
    out = wp.zeros(N, dtype=int)
    cdf = column(np.cumsum(weights).astype(np.float32), float)
    wp.launch(draw, dim=N, inputs=[states(), cdf, out], device=device)
    np.testing.assert_allclose(np.bincount(out.numpy(), minlength=4) / N, weights, atol=0.015)


DIMENSIONS = {2: (wp.vec2, wp.vec2), 3: (wp.vec3, wp.vec3), 4: (wp.vec4, wp.vec3)}


def noise_at(device, points, dtype, func=wp.noise, result=wp.float32):
    @wp.kernel(module="unique")
    def sample(x: wp.array(dtype=dtype), out: wp.array(dtype=result)):
        i = wp.tid()
        out[i] = func(wp.rand_init(42), x[i])

    out = wp.zeros(len(points), dtype=result)
    wp.launch(sample, dim=len(points), inputs=[column(points.astype(np.float32), dtype), out], device=device)
    return out.numpy().astype(np.float64)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_noise_is_zero_at_lattice_points_and_smooth_between(device, n):
    dtype = wp.float32 if n == 1 else DIMENSIONS[n][0]
    rng = np.random.default_rng(n)
    shape = (200,) if n == 1 else (200, n)
    lattice = rng.integers(-5, 5, shape)
    np.testing.assert_allclose(noise_at(device, lattice, dtype), 0, atol=1e-6)
    points = rng.uniform(-5, 5, shape)
    values = noise_at(device, points, dtype)
    assert 0.05 < np.abs(values).max() <= 1.5
    # Across a cell's face there is no jump.
    before, after = lattice - 1e-4, lattice + 1e-4
    jump = noise_at(device, before, dtype) - noise_at(device, after, dtype)
    assert np.abs(jump).max() < 2e-3


def test_periodic_noise_repeats(device):
    @wp.kernel
    def sample(x: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
        i = wp.tid()
        out[0, i] = wp.pnoise(wp.rand_init(3), x[i], 4, 3, 5)
        out[1, i] = wp.pnoise(wp.rand_init(3), x[i] + wp.vec3(4.0, 3.0, 5.0), 4, 3, 5)

    points = np.random.default_rng(0).uniform(0, 9, (200, 3)).astype(np.float32)
    out = wp.zeros((2, 200), dtype=float)
    wp.launch(sample, dim=200, inputs=[column(points, wp.vec3), out], device=device)
    a, b = out.numpy()
    np.testing.assert_allclose(a, b, atol=2e-5)
    assert np.abs(a).max() > 0.1


@pytest.mark.parametrize("n", DIMENSIONS)
def test_curl_noise_has_no_divergence(device, n):
    dtype, result = DIMENSIONS[n]
    points = np.random.default_rng(n).uniform(-5, 5, (300, n))
    step, axes = 1e-2, 2 if n == 2 else 3
    divergence = np.zeros(300)
    for axis in range(axes):
        offset = np.zeros(n)
        offset[axis] = step
        high, low = (noise_at(device, points + s * offset, dtype, wp.curlnoise, result) for s in (1, -1))
        divergence += (high - low)[:, axis] / (2 * step)
    # The second derivatives jump at the cells' faces, where the difference is not that of one polynomial.
    assert np.quantile(np.abs(divergence), 0.9) < 0.05
