"""Sums, scans, sorts, runs and casts of `wp.utils` against NumPy: short and long arrays, on the CPU and on a GPU."""

import numpy as np
import pytest

import gridstride as wp
from gridstride._parallel import cores, run, runs, scan, sort
from gridstride._parallel.scan import TILE
from gridstride._parallel.segments import sort_segments
from gridstride._parallel.sums import sums
from gridstride.numba import cuda

# The last one is long for a CPU: more than two of its tiles.
SIZES = (1, 31, 300, TILE, TILE + 1, 20_000, 2 * cores.TILE + 700)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def special_floats(rng, n, dtype):
    keys = rng.normal(size=n).astype(dtype)
    for value in (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan):
        keys[rng.random(n) < 0.1] = value
    return keys


@pytest.mark.parametrize("dtype", [wp.int32, wp.float64, wp.uint8, wp.vec3])
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans(rng, dtype, inclusive):
    inner = getattr(dtype, "_shape_", ())
    for n in SIZES:
        values = rng.integers(0, 9, (n, *inner)).astype(wp.dtype_to_numpy(dtype))
        expected = np.cumsum(values, axis=0, dtype=values.dtype)
        if not inclusive:
            expected = np.concatenate([np.zeros_like(values[:1]), expected[:-1]])
        x, out = wp.array(values, dtype=dtype), wp.zeros(n, dtype=dtype)
        wp.utils.array_scan(x, out, inclusive)
        np.testing.assert_array_equal(out.numpy(), expected)
        np.testing.assert_array_equal(x.numpy(), values)
        wp.utils.array_scan(x, x, inclusive)
        np.testing.assert_array_equal(x.numpy(), expected)
    spread = wp.zeros(2 * n, dtype=dtype)
    wp.utils.array_scan(wp.array(values, dtype=dtype)[::-1], spread[::2], inclusive=True)
    np.testing.assert_array_equal(spread.numpy()[::2], np.cumsum(values[::-1], axis=0, dtype=values.dtype))
    assert not spread.numpy()[1::2].any()


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint8, wp.float16, wp.float32, wp.vec3, wp.mat22])
def test_sums(rng, dtype):
    inner = getattr(dtype, "_shape_", ())
    for shape in ((1,), (70_000,), (300, 40), (4, 30, 300), (5, 2000)):
        values = rng.integers(0, 3, (*shape, *inner)).astype(wp.dtype_to_numpy(dtype))
        if dtype is wp.float16:
            values = np.minimum(values, (rng.random(values.shape) < 0.02).astype(values.dtype))
        x = wp.array(values, dtype=dtype)
        rank = len(shape)
        total = wp.utils.array_sum(x)
        np.testing.assert_array_equal(total, values.reshape(-1, *inner).sum(0, dtype=values.dtype))
        for axis in range(-1, rank):
            found = wp.utils.array_sum(x, axis=axis)
            assert found.device == "cpu" if x.device.is_cpu else found.device == x.device
            expected = values.sum(axis % rank, keepdims=True, dtype=values.dtype)
            np.testing.assert_array_equal(found.numpy(), expected)
        part = wp.utils.array_sum(x[:, ::2] if rank > 1 else x[::-1], value_count=max(1, shape[-1] // 3))
        source = values[:, ::2] if rank > 1 else values[::-1]
        source = source.reshape(-1, *inner)[: max(1, shape[-1] // 3)]
        np.testing.assert_array_equal(part, source.sum(0, dtype=values.dtype))


@pytest.mark.parametrize("dtype", [wp.int64, wp.float32, wp.vec3])
def test_inner_products(rng, dtype):
    inner = getattr(dtype, "_shape_", ())
    for shape in ((1,), (70_000,), (300, 40), (4, 30, 300)):
        x, y = (rng.integers(0, 4, (*shape, *inner)).astype(wp.dtype_to_numpy(dtype)) for _ in range(2))
        a, b = (wp.array(one, dtype=dtype) for one in (x, y))
        products = (x * y).sum(tuple(range(len(shape), x.ndim)))
        assert wp.utils.array_inner(a, b) == products.sum()
        assert wp.utils.array_inner(a, b, count=shape[0] // 2) == products.reshape(-1)[: shape[0] // 2].sum()
        for axis in range(len(shape)):
            found = wp.utils.array_inner(a, b, axis=axis)
            np.testing.assert_array_equal(found.numpy(), products.sum(axis, keepdims=True))
        out = wp.zeros(1, dtype=a.dtype._wp_scalar_type_)
        assert wp.utils.array_inner(a, b, out=out) is out
        assert out.numpy()[0] == products.sum()


def test_long_sums_of_floats_are_exact_to_the_last_digits(rng):
    values = rng.random(1 << 20, dtype=np.float32)
    assert wp.utils.array_sum(wp.array(values)) == np.float32(values.astype(np.float64).sum())


@pytest.mark.parametrize("keys_of", [wp.int32, wp.uint32, wp.float32, wp.int64, wp.float64])
@pytest.mark.parametrize("values_of", [wp.int32, wp.float64])
def test_sorts_of_pairs(rng, keys_of, values_of):
    dtype = np.dtype(wp.dtype_to_numpy(keys_of))
    for n in SIZES:
        if dtype.kind == "f":
            keys = special_floats(rng, n, dtype)
        else:
            keys = rng.integers(-1000 if dtype.kind == "i" else 0, 1 << 30, n).astype(dtype)
        # Equal keys keep their order.
        keys[: n // 2] = keys[n // 2 : n // 2 + n // 2]
        values = np.arange(n).astype(wp.dtype_to_numpy(values_of))
        k = wp.array(np.concatenate([keys, keys]), dtype=keys_of)
        v = wp.array(np.concatenate([values, values]), dtype=values_of)
        order = np.argsort(keys, kind="stable")
        wp.utils.radix_sort_pairs(k, v, n)
        assert k.numpy()[:n].tobytes() == keys[order].tobytes()
        np.testing.assert_array_equal(v.numpy()[:n], values[order])
        if dtype.kind != "f":
            k.assign(np.concatenate([keys, keys]))
            v.assign(np.concatenate([values, values]))
            order = np.argsort((keys.astype(np.int64) >> 3) & 0x7FF, kind="stable")
            wp.utils.radix_sort_pairs(k, v, n, 3, 14)
            np.testing.assert_array_equal(k.numpy()[:n], keys[order])
            np.testing.assert_array_equal(v.numpy()[:n], values[order])


@pytest.mark.parametrize("keys_of", [wp.int32, wp.float32])
def test_sorts_within_segments(rng, keys_of):
    n = 5000
    dtype = np.dtype(wp.dtype_to_numpy(keys_of))
    keys = special_floats(rng, n, dtype) if dtype.kind == "f" else rng.integers(-50, 50, n).astype(dtype)
    values = np.arange(n, dtype=np.int32)
    bounds = np.sort(rng.integers(10, n, 80)).astype(np.int32)
    bounds[7:9] = bounds[6]
    for ends in (None, bounds[1:] - np.minimum(3, np.diff(bounds))):
        k, v = wp.array(np.tile(keys, 2), dtype=keys_of), wp.array(np.tile(values, 2), dtype=int)
        starts = wp.array(bounds if ends is None else bounds[:-1], dtype=int)
        wp.utils.segmented_sort_pairs(k, v, n, starts, None if ends is None else wp.array(ends, dtype=int))
        expected_keys, expected_values = keys.copy(), values.copy()
        for start, end in zip(bounds, bounds[1:] if ends is None else ends, strict=False):
            order = np.argsort(keys[start:end], kind="stable")
            expected_keys[start:end], expected_values[start:end] = keys[start:end][order], values[start:end][order]
        assert k.numpy()[:n].tobytes() == expected_keys.tobytes()
        np.testing.assert_array_equal(v.numpy()[:n], expected_values)
    with pytest.raises(ValueError, match=r"Invalid segment range at index 1: \[5, 5001\) of 5000 elements"):
        wp.utils.segmented_sort_pairs(k, v, n, wp.array([0, 5, 5001], dtype=int))


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint8, wp.int64])
def test_runs(rng, dtype):
    for n in (1, 300, 10_000, 2 * cores.TILE + 700):
        values = np.sort(rng.integers(0, max(2, n // 10), n)).astype(wp.dtype_to_numpy(dtype))
        x = wp.array(values, dtype=dtype)
        run_values, lengths, count = wp.zeros_like(x), wp.zeros(n, dtype=int), wp.zeros(1, dtype=int)
        begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        assert wp.utils.runlength_encode(x, run_values, lengths) == len(begins)
        assert wp.utils.runlength_encode(x, run_values, lengths, count) is count
        assert count.numpy()[0] == len(begins)
        np.testing.assert_array_equal(run_values.numpy()[: len(begins)], values[begins])
        np.testing.assert_array_equal(lengths.numpy()[: len(begins)], np.diff(np.append(begins, n)))
    assert wp.utils.runlength_encode(x, run_values, lengths, value_count=0) == 0
    wp.utils.runlength_encode(x, run_values, lengths, count, value_count=0)
    assert count.numpy()[0] == 0


def test_sums_on_the_tape(rng):
    x, y = rng.random((3, 4)), rng.random((3, 4))
    a, b = (wp.array(one, dtype=wp.float64, requires_grad=True) for one in (x, y))
    out = wp.zeros(1, dtype=wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_inner(a, b, out=out)
        a.fill_(5.0)
    tape.backward(out)
    np.testing.assert_array_equal(a.grad.numpy(), y)
    np.testing.assert_array_equal(b.grad.numpy(), x)
    rows, first = wp.zeros((1, 4), dtype=wp.float64, requires_grad=True), wp.zeros(1, dtype=wp.float64)
    tape.reset()
    with tape:
        wp.utils.array_sum(b, out=rows, axis=0, value_count=2)
    tape.backward(grads={rows: wp.array([[1.0, 2.0, 3.0, 4.0]], dtype=wp.float64)})
    assert b.grad.numpy().tolist() == [[1.0, 2.0, 3.0, 4.0]] * 2 + [[0.0] * 4]
    assert first.grad is None
    # Some of the elements in row-major order, every other column, vectors.
    weight = wp.array([2.0], dtype=wp.float64)
    for source, n, expected in ((b, 5, [[2.0] * 4, [2.0, 0.0, 0.0, 0.0]]), (b[:, ::2], 3, [[2.0, 2.0], [2.0, 0.0]])):
        tape.reset()
        b.grad.zero_()
        with tape:
            wp.utils.array_sum(source, out=out, value_count=n)
        tape.backward(grads={out: weight})
        assert source.grad.numpy().tolist() == [*expected, [0.0] * len(expected[0])]
        assert b.grad.numpy().sum() == 2.0 * n
    p, q = (wp.array(rng.random((2, 3, 3)), dtype=wp.vec3d, requires_grad=True) for _ in range(2))
    inner = wp.zeros((2, 1), dtype=wp.float64, requires_grad=True)
    tape.reset()
    with tape:
        wp.utils.array_inner(p, q, out=inner, axis=1, count=2)
    tape.backward(grads={inner: wp.array([[2.0], [3.0]], dtype=wp.float64)})
    scale = np.array([2.0, 3.0]).reshape(2, 1, 1) * [[1.0], [1.0], [0.0]]
    np.testing.assert_array_equal(p.grad.numpy(), scale * q.numpy())
    np.testing.assert_array_equal(q.grad.numpy(), scale * p.numpy())
    v, scanned = (wp.array(one, dtype=float, requires_grad=True) for one in ([1.0, 2.0, 3.0], [0.0] * 3))
    for inclusive, expected in ((True, [6.0, 5.0, 3.0]), (False, [5.0, 3.0, 0.0])):
        with wp.Tape() as tape:
            wp.utils.array_scan(v, scanned, inclusive)
        tape.zero()
        tape.backward(grads={scanned: wp.array([1.0, 2.0, 3.0], dtype=float)})
        assert v.grad.list() == expected


def test_casts(rng):
    values = np.clip(100 * rng.normal(size=(40, 6)), -100, 100).astype(np.float32)
    x = wp.array(values)
    for dtype in (wp.int32, wp.float64, wp.float16, wp.int8):
        out = wp.zeros((40, 6), dtype=dtype)
        wp.utils.array_cast(x, out)
        np.testing.assert_array_equal(out.numpy(), values.astype(out.numpy().dtype))
    vectors = wp.zeros(80, dtype=wp.vec3d)
    wp.utils.array_cast(x, vectors)
    np.testing.assert_array_equal(vectors.numpy().reshape(-1), values.reshape(-1))
    line, part = wp.array(values.reshape(-1)), wp.zeros(240, dtype=wp.float64)
    wp.utils.array_cast(line, part, count=100)
    np.testing.assert_array_equal(part.numpy(), np.where(np.arange(240) < 100, values.reshape(-1), 0))


@wp.kernel
def add_one(x: wp.array(dtype=float)):
    x[wp.tid()] += 1.0


@pytest.mark.cpu
@pytest.mark.parametrize("place", ["cpu", "interp"])
def test_the_kernels_for_gpus_elsewhere(rng, place):
    """The interpreter says what they mean, and the CPU's blocks run them too."""
    device = wp.get_device(place)
    n = 40 * TILE + 300 if place == "cpu" else 300
    ints = rng.integers(-9, 9, n).astype(np.int32)
    x, out = wp.array(ints), wp.zeros(n, dtype=int)
    scan.scan(x, out, True, device, scan)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(ints))
    for extents in ((3, n, 1), (1, n, 3), (300, 2, 1), (2, 2, 300)):
        flat = rng.integers(0, 9, extents).astype(np.float32)
        result = wp.zeros(extents[0] * extents[2])
        sums([wp.array(flat.reshape(-1))], result, extents, extents[1], device)
        np.testing.assert_array_equal(result.numpy(), flat.sum(1).reshape(-1))
    keys = special_floats(rng, n, np.float32)
    order = np.argsort(keys, kind="stable")
    k, v = wp.array(np.tile(keys, 2)), wp.array(np.tile(np.arange(n, dtype=np.int32), 2))
    sort.sort_pairs(k, v, n, range(32), "f", device, sort.blocks)
    np.testing.assert_array_equal(v.numpy()[:n], order)
    k, v = wp.array(np.tile(keys, 2)), wp.array(np.tile(np.arange(n, dtype=np.int32), 2))
    sort_segments(k, v, np.array([3, 200]), np.array([100, 299]), "f", device)
    for start, end in ((3, 100), (200, 299)):
        np.testing.assert_array_equal(v.numpy()[start:end], start + np.argsort(keys[start:end], kind="stable"))
    x, run_values, lengths, count = (wp.zeros(n, dtype=int) for _ in range(4))
    x.assign(np.arange(n) // 7)
    runs.encode_runs(x, run_values, lengths, count, n, device, runs)
    assert count.numpy()[0] == -(-n // 7)
    assert (lengths.numpy()[: n // 7] == 7).all()
    runs.encode_runs(x, run_values, lengths, count, 0, device, runs)
    assert count.numpy()[0] == 0


def test_a_launch_over_blocks_is_in_order_with_others():
    @cuda.jit
    def double(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] *= 2

    x = wp.zeros(1000)
    for _ in range(3):
        wp.launch(add_one, 1000, [x])
        run(double, 4, x.device, x, 1000)
    assert (x.numpy() == 14).all()
