"""Arrays whose last dimension holds components: read and stored as vectors where that is what they are."""

import numpy as np
import pytest

import gridstride as wp
from gridstride.numba import cuda


@wp.kernel
def step(x: wp.array2d(dtype=float), v: wp.array2d(dtype=float), dt: float):
    i = wp.tid()
    v[i, 0] = v[i, 0] * 0.5
    v[i, 1] = v[i, 1] - x[i, 2] * dt
    v[i, 2] = v[i, 2] + x[i, 0] * dt
    x[i, 0] = x[i, 0] + v[i, 0] * dt
    x[i, 1] = x[i, 1] + v[i, 1] * dt
    x[i, 2] = x[i, 2] + v[i, 2] * dt


@wp.kernel
def neighbors(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float), n: int):
    i = wp.tid()
    if i > 0 and i < n - 1:
        out[i, 0] = x[i - 1, 1] + x[i + 1, 0]
        out[i, 1] = x[i - 1, 0] - x[i + 1, 1]


@wp.kernel
def gray(image: wp.array3d(dtype=wp.uint8), out: wp.array2d(dtype=wp.uint8)):
    i, j = wp.tid()
    r = int(image[i, j, 0])
    g = int(image[i, j, 1])
    b = int(image[i, j, 2])
    out[i, j] = wp.uint8((77 * r + 150 * g + 29 * b) >> 8)


@wp.kernel
def swap(image: wp.array3d(dtype=wp.uint8)):
    i, j = wp.tid()
    r = image[i, j, 0]
    image[i, j, 0] = image[i, j, 2]
    image[i, j, 2] = r


def stepped(x, v, dt):
    x, v, dt = x.copy(), v.copy(), np.float32(dt)
    v[:, 0] *= np.float32(0.5)
    v[:, 1] -= x[:, 2] * dt
    v[:, 2] += x[:, 0] * dt
    x[:, :3] += v[:, :3] * dt
    return x, v


@pytest.mark.parametrize("n", [1, 15, 16, 100])
@pytest.mark.parametrize("width", [3, 4, 7])
def test_points_move(device, n, width):
    rng = np.random.default_rng(n)
    x, v = rng.random((2, n, width), np.float32)
    a, b = (wp.array(one, dtype=float, device=device) for one in (x, v))
    wp.launch(step, n, [a, b, 0.125], device=device)
    for found, expected in zip((a, b), stepped(x, v, 0.125), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)


def test_two_arguments_that_are_one_array(device):
    x = np.random.default_rng(1).random((40, 3), np.float32)
    both = wp.array(x, dtype=float, device=device)
    wp.launch(step, 40, [both, both, 0.125], device=device)
    dt = np.float32(0.125)
    for i in range(40):
        row = x[i]
        row[0] *= np.float32(0.5)
        row[1] -= row[2] * dt
        row[2] += row[0] * dt
        for k in range(3):
            row[k] += row[k] * dt
    np.testing.assert_array_equal(both.numpy(), x)


def test_arguments_that_are_rows_of_one_array(device):
    """Memory in common, of which each thread sees its own part only."""
    memory = np.random.default_rng(2).random((90, 3), np.float32)
    whole = wp.array(memory, dtype=float, device=device)
    wp.launch(step, 40, [whole[:40], whole[40:80], 0.125], device=device)
    x, v = stepped(memory[:40], memory[40:80], 0.125)
    np.testing.assert_array_equal(whole.numpy(), np.concatenate([x, v, memory[80:]]))


@pytest.mark.parametrize("width", [2, 3])
def test_neighbors_of_points(device, width):
    n = 75
    x = np.random.default_rng(3).random((n, width), np.float32)
    out = wp.zeros((n, width), dtype=float, device=device)
    wp.launch(neighbors, n, [wp.array(x, dtype=float, device=device), out, n], device=device)
    expected = np.zeros_like(x)
    expected[1:-1, 0] = x[:-2, 1] + x[2:, 0]
    expected[1:-1, 1] = x[:-2, 0] - x[2:, 1]
    np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("channels", [3, 4])
def test_colors(device, channels):
    image = np.random.default_rng(4).integers(0, 256, (20, 53, channels)).astype(np.uint8)
    out = wp.zeros((20, 53), dtype=wp.uint8, device=device)
    given = wp.array(image, device=device)
    wp.launch(gray, (20, 53), [given, out], device=device)
    np.testing.assert_array_equal(out.numpy(), (image[..., :3].astype(int) @ [77, 150, 29]) >> 8)
    wp.launch(swap, (20, 53), [given], device=device)
    expected = image.copy()
    expected[..., [0, 2]] = image[..., [2, 0]]
    np.testing.assert_array_equal(given.numpy(), expected)


@cuda.jit
def drift(x, v, dt):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i, 0] += v[i, 0] * dt
        x[i, 1] += v[i, 1] * dt
        x[i, 2] += v[i, 2] * dt


@pytest.mark.parametrize("width", [3, 5])
def test_points_drift_in_the_style_of_numba(width):
    x, v = np.random.default_rng(5).random((2, 100, width))
    a = cuda.to_device(x)
    drift[4, 32](a, cuda.to_device(v), 0.5)
    x[:, :3] += v[:, :3] * 0.5
    np.testing.assert_array_equal(a.copy_to_host(), x)
