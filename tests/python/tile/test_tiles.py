"""Tiles against NumPy: what is loaded, mapped, folded, changed and stored."""

import numpy as np
import pytest

import gridstride as wp

rng = np.random.default_rng(7)


def tiled(kernel, dim, args, device, block_dim=32):
    wp.launch_tiled(kernel, dim=dim, inputs=list(args), block_dim=block_dim, device=device)


@wp.func
def shifted(x: float, by: float):
    return wp.sin(x) + by


@wp.kernel
def map_rows(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x = wp.tile_load(a, shape=(4, 24), offset=(i * 4, j * 24))
    y = wp.tile_load(b, shape=(4, 24), offset=(i * 4, j * 24))
    z = wp.tile_map(shifted, x, 0.5) * 2.0 + x * y
    wp.tile_store(out, z - y, offset=(i * 4, j * 24))


def test_maps_and_operators_at_the_edges_of_arrays(device):
    a, b = rng.random((10, 50), dtype=np.float32), rng.random((10, 50), dtype=np.float32)
    out = np.zeros_like(a)
    tiled(map_rows, (3, 3), (a, b, out), device)
    np.testing.assert_allclose(out, (np.sin(a) + 0.5) * 2 + a * b - b, rtol=2e-6, atol=1e-6)


@wp.kernel
def fold(a: wp.array(dtype=float), out: wp.array(dtype=float), where: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.tile_load(a, shape=300, offset=i * 300)
    wp.tile_store(out, wp.tile_sum(t), offset=i * 3)
    wp.tile_store(out, wp.tile_min(t), offset=i * 3 + 1)
    wp.tile_store(out, wp.tile_max(t), offset=i * 3 + 2)
    wp.tile_store(where, wp.tile_argmin(t), offset=i * 2)
    wp.tile_store(where, wp.tile_argmax(t), offset=i * 2 + 1)


def test_folds_of_all_elements(device):
    a = rng.normal(size=600).astype(np.float32)
    out, where = np.zeros(6, np.float32), np.zeros(4, np.int32)
    tiled(fold, 2, (a, out, where), device)
    rows = a.reshape(2, 300)
    expected = np.stack([rows.sum(1), rows.min(1), rows.max(1)], 1).ravel()
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(where, np.stack([rows.argmin(1), rows.argmax(1)], 1).ravel())


@wp.kernel
def fold_axes(a: wp.array3d(dtype=float), x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    t = wp.tile_load(a, shape=(3, 4, 9))
    wp.tile_store(x, wp.tile_sum(t, axis=1))
    wp.tile_store(y, wp.tile_reduce(wp.mul, t, axis=2))


def test_folds_along_axes(device):
    a = rng.random((3, 4, 9), dtype=np.float32)
    x, y = np.zeros((3, 9), np.float32), np.zeros((3, 4), np.float32)
    tiled(fold_axes, 1, (a, x, y), device)
    np.testing.assert_allclose(x, a.sum(1), rtol=1e-6)
    np.testing.assert_allclose(y, a.prod(2), rtol=1e-5)


@wp.kernel
def multiply(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(16, 12), dtype=float)
    for k in range(a.shape[1] / 8):
        x = wp.tile_load(a, shape=(16, 8), offset=(i * 16, k * 8))
        y = wp.tile_load(b, shape=(8, 12), offset=(k * 8, j * 12))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * 16, j * 12))


def test_products_of_matrices(device):
    a, b = rng.random((32, 24), dtype=np.float32), rng.random((24, 36), dtype=np.float32)
    c = np.zeros((32, 36), np.float32)
    tiled(multiply, (2, 3), (a, b, c), device)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@wp.kernel
def views(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float), row: wp.array(dtype=float)):
    t = wp.tile_load(a, shape=(4, 6))
    u = wp.tile_transpose(t)
    v = wp.tile_view(t, offset=(1, 2), shape=(2, 3))
    v[0, 0] = 10.0
    t[3] = wp.tile_ones(shape=6, dtype=float) * 7.0
    t[0:2, ::2] = -1.0
    wp.tile_store(out, u + wp.tile_broadcast(t[2, 0:4], shape=(6, 4)))
    wp.tile_store(row, wp.tile_reshape(t, shape=24)[5:9])


def test_views_see_what_changes(device):
    a = rng.random((4, 6), dtype=np.float32)
    out, row = np.zeros((6, 4), np.float32), np.zeros(4, np.float32)
    tiled(views, 1, (a, out, row), device)
    t = a.copy()
    t[1, 2] = 10.0
    t[3] = 7.0
    t[0:2, ::2] = -1.0
    np.testing.assert_array_equal(out, t.T + t[2, 0:4])
    np.testing.assert_array_equal(row, t.reshape(24)[5:9])


@wp.func
def clear_first(t: wp.tile(dtype=float, shape=8), x: float):
    t[0] = x
    return t[1]


@wp.kernel
def pass_tiles(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    t = wp.tile_load(a, shape=8)
    second = clear_first(t, 5.0)
    for k in range(3):
        t[k + 2] = second + float(k)
    wp.tile_store(out, t)


def test_functions_change_the_tiles_that_they_are_given(device):
    a = rng.random(8, dtype=np.float32)
    out = np.zeros_like(a)
    tiled(pass_tiles, 1, (a, out), device)
    expected = a.copy()
    expected[0] = 5.0
    expected[2:5] = a[1] + np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(out, expected)


@wp.kernel
def scans(a: wp.array(dtype=int), x: wp.array(dtype=int), y: wp.array(dtype=int), z: wp.array(dtype=int)):
    t = wp.tile_load(a, shape=37)
    wp.tile_store(x, wp.tile_scan_inclusive(t))
    wp.tile_store(y, wp.tile_scan_exclusive(t))
    wp.tile_store(z, wp.tile_scan_max_inclusive(t))


def test_scans(device):
    a = rng.integers(-9, 9, 37).astype(np.int32)
    x, y, z = (np.zeros(37, np.int32) for _ in range(3))
    tiled(scans, 1, (a, x, y, z), device)
    np.testing.assert_array_equal(x, np.cumsum(a))
    np.testing.assert_array_equal(y, np.cumsum(a) - a)
    np.testing.assert_array_equal(z, np.maximum.accumulate(a))


@wp.kernel
def sorts(keys: wp.array(dtype=float), values: wp.array(dtype=int)):
    k = wp.tile_load(keys, shape=45)
    v = wp.tile_load(values, shape=45)
    wp.tile_sort(k, v)
    wp.tile_store(keys, k)
    wp.tile_store(values, v)


def test_sorts(device):
    keys, values = rng.random(45, dtype=np.float32), np.arange(45, dtype=np.int32)
    order = np.argsort(keys)
    expected = keys[order]
    tiled(sorts, 1, (keys, values), device)
    np.testing.assert_array_equal(keys, expected)
    np.testing.assert_array_equal(values, order)


@wp.kernel
def gathers(
    a: wp.array2d(dtype=float), rows: wp.array(dtype=int), out: wp.array2d(dtype=float), total: wp.array2d(dtype=float)
):
    at = wp.tile_load(rows, shape=3)
    t = wp.tile_load_indexed(a, at, shape=(3, 5))
    wp.tile_store_indexed(out, at, t, axis=0)
    wp.tile_atomic_add_indexed(total, at, t, axis=0)
    wp.tile_atomic_add(total, t, offset=(1, 0))


def test_rows_at_indices(device):
    a, rows = rng.random((6, 5), dtype=np.float32), np.array([4, -1, 2], np.int32)
    out, total = np.zeros_like(a), np.zeros_like(a)
    tiled(gathers, 1, (a, rows, out, total), device)
    expected = np.zeros_like(a)
    expected[[4, 2]] = a[[4, 2]]
    np.testing.assert_array_equal(out, expected)
    expected[1] += a[4]
    expected[3] += a[2]
    np.testing.assert_array_equal(total, expected)


@wp.kernel
def before_the_start(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.tile_store(out, wp.tile_load(a, shape=4, offset=-2))


def test_what_lies_outside_of_an_array_is_zero(device):
    memory = np.array([777.0, 777.0, 1.0, 2.0, 3.0, 4.0], np.float32)
    out = np.full(4, 5.0, np.float32)
    tiled(before_the_start, 1, (memory[2:], out), device)
    np.testing.assert_array_equal(out, [0, 0, 1, 2])


@wp.kernel
def threads(out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile(float(i) + 1.0)
    wp.tile_atomic_add(out, wp.tile_sum(t))


@pytest.mark.cpu
def test_a_block_of_the_cpu_is_one_thread():
    out = np.zeros(1, np.float32)
    wp.launch(threads, dim=10, inputs=[out], block_dim=32, device="cpu")
    assert out[0] == 55.0


@wp.kernel
def no_elements(a: wp.array2d(dtype=float)):
    t = wp.tile_load(a, shape=(4, 0))
    wp.tile_store(a, t)


@wp.kernel
def two_shapes(a: wp.array2d(dtype=float)):
    t = wp.tile_load(a, shape=(4, 2))
    wp.tile_store(a, t + wp.tile_zeros(shape=(2, 4), dtype=float))


@wp.kernel
def open_shape(a: wp.array(dtype=float), n: int):
    wp.tile_store(a, wp.tile_zeros(shape=n, dtype=float))


@pytest.mark.parametrize(
    ("kernel", "args", "words"),
    [
        (no_elements, (np.zeros((4, 4), np.float32),), "must be positive integers, found 0"),
        (two_shapes, (np.zeros((4, 4), np.float32),), "needs tiles of one shape, found (4, 2) and (2, 4)"),
        (open_shape, (np.zeros(4, np.float32), 4), "must be known when compiling"),
    ],
)
def test_mistakes_are_reported(kernel, args, words):
    with pytest.raises(wp.CompileError) as error:
        tiled(kernel, 1, args, "cpu")
    assert words in str(error.value)
    assert "^" in str(error.value)


@wp.func
def double_in_place(t: wp.tile(dtype=float, shape=8)):
    t += t


@wp.kernel
def product_over_nan(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float), row: wp.array(dtype=float)):
    x = wp.tile_load(a, shape=(2, 2))
    total = wp.tile_load(out, shape=(2, 2))
    wp.tile_matmul(x, x, total, alpha=2.0, beta=0.0)
    wp.tile_store(out, total)
    t = wp.tile_load(row, shape=8)
    double_in_place(t)
    wp.tile_store(row, t)


def test_what_beta_ignores_and_what_functions_change(device):
    a, out = np.ones((2, 2), np.float32), np.full((2, 2), np.nan, np.float32)
    row = np.arange(8, dtype=np.float32)
    tiled(product_over_nan, 1, (a, out, row), device)
    np.testing.assert_array_equal(out, np.full((2, 2), 4.0))
    np.testing.assert_array_equal(row, 2 * np.arange(8))


@wp.kernel
def ranges(wide: wp.array(dtype=wp.int64), single: wp.array(dtype=float), steps: wp.array(dtype=int)):
    wp.tile_store(wide, wp.tile_arange(0, 9007199254740993, 9007199254740992, dtype=wp.int64))
    wp.tile_store(single, wp.tile_arange(0.0, 3.0000001, 0.99999999))
    wp.tile_store(steps, wp.tile_arange(10, 0, -3, dtype=int))


def test_ranges_are_counted_in_the_type_of_their_elements(device):
    wide, single, steps = np.full(3, -1, np.int64), np.full(4, -1, np.float32), np.full(5, -1, np.int32)
    tiled(ranges, 1, (wide, single, steps), device)
    assert wide.tolist() == [0, 2**53, -1]
    assert single.tolist() == [0, 1, 2, -1]
    assert steps.tolist() == [10, 7, 4, 1, -1]


def bad_range(*numbers, dtype):
    start, stop, step = numbers

    @wp.kernel(module="unique")
    def kernel():
        wp.tile_arange(start, stop, step, dtype=dtype)

    return kernel


@pytest.mark.parametrize(
    ("numbers", "dtype", "why"),
    [
        ((0, 6, 1), wp.bool, "`dtype` is `bool`"),
        ((0, 6, 1), wp.vec3, "`dtype` is `vec3`"),
        ((0, 6, 0), int, "cannot be 0"),
        ((0, 2**40, 1), int, "cannot hold 1099511627776"),
        ((0.0, 3.5, 1.0), int, "cannot hold 3.5"),
        ((0, 1e300, 1), float, "cannot hold 1e"),
        ((5, 5, 1), int, "at least one number"),
        ((0.0, 1.0, 5.0e-324), wp.float64, "at most 1048576"),
    ],
)
def test_ranges_that_are_refused(numbers, dtype, why):
    with pytest.raises(wp.CompileError, match=why):
        tiled(bad_range(*numbers, dtype=dtype), 1, (), "cpu")


@wp.kernel
def scaled_product(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float), beta: float):
    x = wp.tile_load(a, shape=(2, 2))
    total = wp.tile_load(out, shape=(2, 2))
    wp.tile_matmul(x, x, total, 1.0, beta)
    wp.tile_store(out, total)


def test_a_factor_of_zero_at_run_time_ignores_what_is_there(device):
    a, out = np.ones((2, 2), np.float32), np.array([[np.nan, np.inf], [1, 2]], np.float32)
    tiled(scaled_product, 1, (a, out, 0.0), device)
    np.testing.assert_array_equal(out, np.full((2, 2), 2.0))
    tiled(scaled_product, 1, (a, out, 0.5), device)
    np.testing.assert_array_equal(out, np.full((2, 2), 3.0))
