"""Hash grids against all pairs of points, on every device."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import gridstride as wp


@wp.kernel
def count_by_loop(grid: wp.uint64, points: wp.array[wp.vec3], radius: float, out: wp.array[int]):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, points[i], radius):
        if wp.length(points[j] - points[i]) <= radius:
            n += 1
    out[i] = n


@wp.kernel
def count_by_next(grid: wp.uint64, points: wp.array[wp.vec3], radius: float, out: wp.array[int]):
    i = wp.tid()
    n = int(0)
    j = int(-1)
    query = wp.hash_grid_query(grid, points[i], radius)
    while wp.hash_grid_query_next(query, j):
        if wp.length(points[j] - points[i]) <= radius:
            n += 1
    out[i] = n


@wp.kernel
def candidates(grid: wp.uint64, p: wp.vec3, radius: float, group: int, n_seen: wp.array[int]):
    if group == -1:
        for j in wp.hash_grid_query(grid, p, radius):
            wp.atomic_add(n_seen, j, 1)
    else:
        for j in wp.hash_grid_query(grid, p, radius, group):
            wp.atomic_add(n_seen, j, 1)


@wp.kernel
def order(grid: wp.uint64, out: wp.array[int]):
    i = wp.tid()
    out[i] = wp.hash_grid_point_id(grid, i)


def built(points, radius, dims=(8, 8, 8), device=None, groups=None):
    grid = wp.HashGrid(*dims, device=device)
    groups = None if groups is None else wp.array(groups, dtype=int)
    grid.build(wp.array(points, dtype=wp.vec3), radius, groups)
    return grid


def seen(grid, n, p, radius, device, group=-1):
    out = wp.zeros(n, dtype=int)
    wp.launch(candidates, 1, [grid.id, wp.vec3(*p), radius, group, out], device=device)
    return out.numpy()


coordinates = st.floats(-6.0, 6.0, width=32)


@settings(max_examples=20, deadline=None)
@given(
    points=st.integers(1, 60).flatmap(lambda n: arrays(np.float32, (n, 3), elements=coordinates)),
    radius=st.sampled_from([0.25, 1.0, 3.0]),
    cell=st.sampled_from([0.3, 1.0, 2.5]),
    dims=st.tuples(*[st.integers(1, 9)] * 3),
)
def test_neighbors_are_those_of_all_pairs(device, points, radius, cell, dims):
    grid = built(points, cell, dims, device)
    apart = (points[:, None] - points[None]).astype(np.float32)
    wanted = (np.sqrt((apart[..., 0] ** 2 + apart[..., 1] ** 2) + apart[..., 2] ** 2) <= np.float32(radius)).sum(1)
    for kernel in (count_by_loop, count_by_next):
        out = wp.zeros(len(points), dtype=int)
        wp.launch(kernel, len(points), [grid.id, wp.array(points, dtype=wp.vec3), radius, out], device=device)
        np.testing.assert_array_equal(out.numpy(), wanted)


def test_no_point_is_given_twice_however_large_the_radius(device):
    points = np.random.default_rng(1).uniform(-9, 9, (200, 3)).astype(np.float32)
    grid = built(points, 1.0, (3, 4, 5), device)
    for radius in (0.1, 4.0, 1e4, np.inf):
        found = seen(grid, 200, (0.5, -0.5, 2.0), radius, device)
        assert found.max() <= 1
        if radius > 100:
            assert found.sum() == 200


def test_points_at_infinity_and_nan_have_cells(device):
    points = np.array([[np.inf, 0, 0], [-np.inf, 0, 0], [np.nan, 0, 0], [1e30, -1e30, 0], [0, 0, 0]], np.float32)
    grid = built(points, 1.0, (4, 4, 4), device)
    assert seen(grid, 5, (0, 0, 0), np.inf, device).tolist() == [1] * 5
    assert seen(grid, 5, (0.5, 0.5, 0.5), 0.4, device)[4] == 1


def test_points_of_a_cell_keep_their_order(device):
    points = np.random.default_rng(2).uniform(0, 1, (300, 3)).astype(np.float32)
    grid = built(points, 0.5, (2, 2, 2), device)
    out = wp.zeros(300, dtype=int)
    wp.launch(order, 300, [grid.id, out], device=device)
    cells = np.floor(points[out.numpy()] / np.float32(0.5)).astype(int) % 2
    numbers = cells @ [1, 2, 4]
    assert (np.diff(numbers) >= 0).all()
    assert all((np.diff(out.numpy()[numbers == cell]) > 0).all() for cell in range(8))


def test_a_group_is_found_alone(device):
    rng = np.random.default_rng(3)
    points = rng.uniform(-2, 2, (150, 3)).astype(np.float32)
    groups = rng.choice([-(2**31), -3, 0, 7, 2**31 - 1], 150).astype(np.int32)
    grid = built(points, 1.0, (5, 5, 5), device, groups)
    for group in (-(2**31), -3, 0, 7, 2**31 - 1):
        np.testing.assert_array_equal(seen(grid, 150, (0, 0, 0), 9.0, device, group), groups == group)
    assert seen(grid, 150, (0, 0, 0), 9.0, device, 8).sum() == 0
    assert seen(grid, 150, (0, 0, 0), 9.0, device).sum() == 150


@pytest.mark.parametrize("dtype", [wp.float16, wp.float64])
def test_other_scalars(device, dtype):
    vec = wp.types.vector(3, dtype)

    def near(grid: wp.uint64, points: wp.array(dtype=vec), n_seen: wp.array[int]):
        i = wp.tid()
        for j in wp.hash_grid_query(grid, points[i], dtype(0.5)):
            if wp.length(points[j] - points[i]) < dtype(0.5):
                n_seen[i] += 1

    kernel = wp.Kernel(near)
    points = np.random.default_rng(4).uniform(-2, 2, (80, 3)).astype(wp.dtype_to_numpy(dtype))
    grid = wp.HashGrid(8, 8, 8, device, dtype)
    moved = wp.array(points, dtype=vec)
    grid.build(moved, 0.5)
    out = wp.zeros(80, dtype=int)
    wp.launch(kernel, 80, [grid.id, moved, out], device=device)
    apart = np.linalg.norm(points[:, None].astype(float) - points[None].astype(float), axis=-1)
    sure, maybe = (apart < 0.49).sum(1), (apart < 0.51).sum(1)
    assert (sure <= out.numpy()).all() and (out.numpy() <= maybe).all()


def test_ids_of_nothing_find_nothing(device):
    points = np.zeros((10, 3), np.float32)
    grid, other = built(points, 1.0, device=device), wp.HashGrid(4, 4, 4, device)
    gone = grid.id
    assert seen(grid, 10, (0, 0, 0), 1.0, device).sum() == 10
    del grid
    gc.collect()
    for _ in range(3):
        # Records are used again, under other ids.
        kept = [built(points, 1.0, device=device) for _ in range(70)]
        for wrong in (gone, other.id, 0, 1, 12345, 2**63, 2**64 - 1, kept[0].id + 1, kept[0].id + 256):
            out = wp.zeros(10, dtype=int)
            wp.launch(candidates, 1, [wrong, wp.vec3(), 1.0, -1, out], device=device)
            assert out.numpy().sum() == 0, hex(wrong)


def test_checked_launches_refuse_ids_of_nothing(device):
    wp.config.mode = "debug"
    with pytest.raises(wp.KernelFault, match="the id is of no object of this kind"):
        wp.launch(candidates, 1, [12345, wp.vec3(), 1.0, -1, wp.zeros(1, dtype=int)], device=device)
        wp.synchronize()


@wp.kernel
def until_near(grid: wp.uint64, points: wp.array[wp.vec3], out: wp.array[int]):
    i = wp.tid()
    found = int(-1)
    for j in wp.hash_grid_query(grid, points[i], 1.0):
        if j == i:
            continue
        found = j
        if wp.length(points[j] - points[i]) < 0.5:
            break
    out[i] = found


def test_a_loop_over_a_query_has_break_and_continue(device):
    points = np.array([[0, 0, 0], [0.6, 0, 0], [0.1, 0, 0], [0.9, 0, 0]], np.float32)
    grid = built(points, 4.0, device=device)
    out = wp.zeros(4, dtype=int)
    wp.launch(until_near, 4, [grid.id, wp.array(points, dtype=wp.vec3), out], device=device)
    assert out.numpy().tolist() == [2, 3, 0, 1]


@wp.kernel
def density(grid: wp.uint64, points: wp.array[wp.vec3], radius: float, out: wp.array[float]):
    i = wp.tid()
    total = float(0.0)
    for j in wp.hash_grid_query(grid, points[i], radius):
        d = points[i] - points[j]
        w = radius * radius - wp.dot(d, d)
        if w > 0.0:
            total += w * w * w
    out[i] = total


def test_what_is_summed_over_neighbors_has_a_gradient(device):
    points = np.random.default_rng(5).uniform(0, 2, (40, 3)).astype(np.float32)
    radius = 0.8
    p = wp.array(points, dtype=wp.vec3, requires_grad=True, device=device)
    out = wp.zeros(40, dtype=float, requires_grad=True, device=device)
    grid = wp.HashGrid(4, 4, 4, device)
    with wp.Tape() as tape:
        grid.build(p, radius)
        wp.launch(density, 40, [grid.id, p, radius], [out], device=device)
    tape.backward(grads={out: wp.array(np.ones(40, np.float32), device=device)})
    apart = points[:, None].astype(float) - points[None].astype(float)
    w = np.maximum(radius**2 - (apart**2).sum(-1), 0.0)
    # Of the sum of all pairs, each of which counts twice.
    wanted = (-12.0 * w[..., None] ** 2 * apart).sum(1)
    np.testing.assert_allclose(p.grad.numpy(), wanted, atol=1e-4)


@pytest.mark.cpu
def test_a_graph_builds_again():
    points = wp.zeros(5, dtype=wp.vec3)
    grid = wp.HashGrid(4, 4, 4)
    out = wp.zeros(5, dtype=int)
    with wp.ScopedCapture() as capture:
        grid.build(points, 1.0)
        wp.launch(count_by_loop, 5, [grid.id, points, 0.5, out])
    points.assign(np.array([[0, 0, 0], [0.1, 0, 0], [9, 0, 0], [5, 5, 5], [5, 5.2, 5]], np.float32))
    wp.capture_launch(capture.graph)
    assert out.numpy().tolist() == [2, 2, 1, 2, 2]


def test_mistakes_are_refused():
    for dims, error in (((0, 1, 1), RuntimeError), ((2**16, 2**16, 1), RuntimeError), ((1.5, 1, 1), TypeError)):
        with pytest.raises(error):
            wp.HashGrid(*dims)
    with pytest.raises(TypeError, match="Unsupported dtype"):
        wp.HashGrid(1, 1, 1, dtype=wp.int32)
    grid, points = wp.HashGrid(2, 2, 2), wp.zeros(3, dtype=wp.vec3)
    with pytest.raises(ValueError, match="must be positive"):
        grid.build(points, 0.0)
    with pytest.raises(TypeError, match="vec3"):
        grid.build(wp.zeros(3, dtype=wp.vec3d), 1.0)
    with pytest.raises(RuntimeError, match="same length"):
        grid.build(points, 1.0, wp.zeros(2, dtype=int))


@wp.kernel
def pick(state0: int, out: wp.array[float]):
    state = wp.rand_init(state0)
    n = float(0.0)
    while wp.randf(state) < 0.75:
        n += 1.0
    out[0] = n


def test_a_test_of_a_loop_may_store_to_its_arguments(device):
    out = wp.zeros(1, dtype=float)
    wp.launch(pick, 1, [7, out], device=device)
    state, n = wp.rand_init(7), 0
    state = int(state)
    numbers = []
    for _ in range(200):
        # The generator of lib/random.py.
        b = (state * 747796405 + 2891336453) % 2**32
        c = (((b >> ((b >> 28) + 4)) ^ b) * 277803737) % 2**32
        state = (c >> 22) ^ c
        numbers.append((state >> 8) * 2.0**-24)
    while numbers[n] < 0.75:
        n += 1
    assert out.numpy()[0] == n
