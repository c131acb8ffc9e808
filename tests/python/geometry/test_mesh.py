"""Meshes against all faces in float64, on every device."""

import numpy as np
import pytest
import shapes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import gridstride as wp


@wp.kernel
def cast(
    mesh: wp.uint64,
    start: wp.array[wp.vec3],
    dir: wp.array[wp.vec3],
    max_t: float,
    t: wp.array[float],
    face: wp.array[int],
    n_hits: wp.array[int],
    is_any: wp.array[wp.bool],
    off: wp.array[float],
):
    i = wp.tid()
    found = wp.mesh_query_ray(mesh, start[i], dir[i], max_t)
    t[i] = wp.where(found.result, found.t, -1.0)
    face[i] = wp.where(found.result, found.face, -1)
    n_hits[i] = wp.mesh_query_ray_count_intersections(mesh, start[i], dir[i])
    is_any[i] = wp.mesh_query_ray_anyhit(mesh, start[i], dir[i], max_t)
    if found.result:
        on_face = wp.mesh_eval_position(mesh, found.face, found.u, found.v)
        off[i] = wp.length(start[i] + dir[i] * found.t - on_face)
        off[i] += wp.length(wp.mesh_eval_face_normal(mesh, found.face) - found.normal)
        if found.sign * wp.dot(found.normal, dir[i]) > 0.0:
            off[i] += 1.0


@wp.kernel
def nearest(
    mesh: wp.uint64, p: wp.array[wp.vec3], apart: wp.array[float], far: wp.array[float], sign: wp.array2d[float]
):
    i = wp.tid()
    found = wp.mesh_query_point(mesh, p[i], 1.0e6)
    apart[i] = wp.length(wp.mesh_eval_position(mesh, found.face, found.u, found.v) - p[i])
    sign[i, 0] = found.sign
    sign[i, 1] = wp.mesh_query_point_sign_parity(mesh, p[i], 1.0e6, 3).sign
    sign[i, 2] = wp.mesh_query_point_sign_normal(mesh, p[i], 1.0e6).sign
    sign[i, 3] = wp.mesh_query_point_sign_winding_number(mesh, p[i], 1.0e6).sign
    most = wp.mesh_query_furthest_point_no_sign(mesh, p[i], 0.0)
    far[i] = wp.length(wp.mesh_eval_position(mesh, most.face, most.u, most.v) - p[i])


def mesh_of(points, faces, **options):
    points = wp.array(np.asarray(points, np.float32), dtype=wp.vec3)
    return wp.Mesh(points, wp.array(np.asarray(faces, np.int32).ravel(), dtype=int), **options)


def cast_all(mesh, start, dir, device, max_t=1e6):
    n = len(start)
    outs = [wp.zeros(n, dtype=one) for one in (float, int, int, wp.bool, float)]
    inputs = [mesh.id, wp.array(start, dtype=wp.vec3), wp.array(dir, dtype=wp.vec3), max_t]
    wp.launch(cast, n, inputs, outs, device=device)
    return [one.numpy() for one in outs]


@pytest.mark.parametrize("options", [{}, {"bvh_leaf_size": 1}, {"bvh_constructor": "median"}])
def test_rays_hit_the_first_face(device, options):
    points, faces = shapes.torus(12, 9)
    rng = np.random.default_rng(0)
    start, dir = (rng.uniform(-2, 2, (150, 3)).astype(np.float32) for _ in range(2))
    t, face, n_hits, is_any, off = cast_all(mesh_of(points, faces, **options), start, dir, device)
    wanted, edge = shapes.hits(points, faces, start, dir)
    first = wanted.min(1)
    np.testing.assert_allclose(np.where(t < 0, np.inf, t), first, rtol=1e-4)
    is_clear = np.isfinite(first)
    np.testing.assert_array_equal(face[is_clear], wanted.argmin(1)[is_clear])
    np.testing.assert_array_equal(n_hits, np.isfinite(wanted).sum(1))
    np.testing.assert_array_equal(is_any, np.isfinite(first))
    assert (face[~is_clear] == -1).all() and edge.shape == wanted.shape
    assert off.max() < 1e-4
    t, face, *_ = cast_all(mesh_of(points, faces, **options), start, dir, device, max_t=0.5)
    np.testing.assert_array_equal(face >= 0, first < 0.5)


def test_no_ray_passes_between_faces(device):
    points, faces = shapes.torus(16, 12)
    rng = np.random.default_rng(1)
    # From within, right at corners and at the middles of edges.
    ends = np.concatenate([points[faces[:, 0]], (points[faces[:, 0]] + points[faces[:, 1]]) / 2])
    angles = rng.uniform(0, 2 * np.pi, len(ends))
    start = np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1).astype(np.float32)
    _, face, *_ = cast_all(mesh_of(points, faces), start, (ends - start).astype(np.float32), device)
    assert (face >= 0).all()


def test_rays_along_axes_in_planes_of_bounds(device):
    points = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 7, 5],
        [4, 6, 7],
        [0, 5, 1],
        [0, 4, 5],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
    ]
    faces += [[1, 5, 7], [1, 7, 3]]
    start = np.array([[-1, y, z] for y in (0.0, 0.5, 1.0) for z in (0.0, 0.25, 1.0)], np.float32)
    dir = np.tile(np.array([1, 0, 0], np.float32), (len(start), 1))
    t, face, *_ = cast_all(mesh_of(points, faces, bvh_leaf_size=1), start, dir, device)
    assert (face >= 0).all() and (t == 1.0).all()


def test_nearest_and_farthest_points_and_signs(device):
    points, faces = shapes.torus(10, 8)
    rng = np.random.default_rng(2)
    p = (rng.uniform(-1.5, 1.5, (150, 3)) * [1, 1, 0.4]).astype(np.float32)
    apart, far, sign = (wp.zeros(150, dtype=float), wp.zeros(150, dtype=float), wp.zeros((150, 4), dtype=float))
    mesh = mesh_of(points, faces, support_winding_number=True)
    wp.launch(nearest, 150, [mesh.id, wp.array(p, dtype=wp.vec3)], [apart, far, sign], device=device)
    np.testing.assert_allclose(apart.numpy(), shapes.closest(points, faces, p), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(far.numpy(), np.linalg.norm(p[:, None] - points[None], axis=-1).max(1), rtol=1e-5)
    n_hits = np.isfinite(shapes.hits(points, faces, p, np.tile([0.3, 0.5, 0.8], (150, 1)))[0]).sum(1)
    wanted = np.where(n_hits % 2 == 1, -1.0, 1.0)
    assert (wanted < 0).sum() > 10
    for column in range(4):
        np.testing.assert_array_equal(sign.numpy()[:, column], wanted)


whole = st.integers(-3, 3).map(float)


@settings(max_examples=20, deadline=None)
@given(
    tri=st.integers(1, 12).flatmap(lambda n: arrays(np.float32, (n, 3, 3), elements=whole)),
    p=arrays(np.float32, (4, 3), elements=st.floats(-5, 5, width=32)),
)
def test_degenerate_faces_are_as_near_as_they_are(device, tri, p):
    points, faces = tri.reshape(-1, 3), np.arange(3 * len(tri)).reshape(-1, 3)
    outs = [wp.zeros(4, dtype=float), wp.zeros(4, dtype=float), wp.zeros((4, 4), dtype=float)]
    mesh = mesh_of(points, faces, bvh_leaf_size=2)
    wp.launch(nearest, 4, [mesh.id, wp.array(p, dtype=wp.vec3)], outs, device=device)
    np.testing.assert_allclose(outs[0].numpy(), shapes.closest(points, faces, p), rtol=1e-3, atol=1e-3)
    assert np.isfinite(outs[2].numpy()).all()


def test_signs_by_normals_at_sharp_corners(device):
    points = np.array([(1, 2, 3), (0, -3, 3), (-3, 1, -1), (0, 1, 3)], np.float32)
    faces = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)], np.int32)
    p = np.random.default_rng(3).uniform(-6, 6, (600, 3)).astype(np.float32)
    outs = [wp.zeros(600, dtype=float), wp.zeros(600, dtype=float), wp.zeros((600, 4), dtype=float)]
    mesh = mesh_of(points, faces, support_winding_number=True)
    wp.launch(nearest, 600, [mesh.id, wp.array(p, dtype=wp.vec3)], outs, device=device)
    planes = [np.cross(b - a, c - a) for a, b, c in points[faces]]
    height = np.max([(p - points[f[0]]) @ n / np.linalg.norm(n) for f, n in zip(faces, planes, strict=True)], axis=0)
    is_clear = np.abs(height) > 1e-2
    np.testing.assert_array_equal(outs[2].numpy()[is_clear, 2], np.sign(height)[is_clear])


@wp.kernel
def faces_near(mesh: wp.uint64, a: wp.vec3, b: wp.vec3, radius: float, boxes: wp.array[int], spheres: wp.array[int]):
    face = int(0)
    query = wp.mesh_query_aabb(mesh, a, b)
    while wp.mesh_query_aabb_next(query, face):
        boxes[face] += 1
    for found in wp.mesh_query_sphere(mesh, a, radius):
        spheres[found] += 1


@pytest.mark.parametrize("leaf_size", [1, 4])
def test_faces_in_a_box_and_in_a_sphere(device, leaf_size):
    points, faces = shapes.torus(10, 8)
    mesh = mesh_of(points, faces, bvh_leaf_size=leaf_size)
    a, b = np.array([0.2, 0.3, -0.2], np.float32), np.array([1.1, 1.0, 0.4], np.float32)
    outs = [wp.zeros(len(faces), dtype=int) for _ in range(2)]
    wp.launch(faces_near, 1, [mesh.id, wp.vec3(*a), wp.vec3(*b), 0.6], outs, device=device)
    lower, upper = points[faces].min(1), points[faces].max(1)
    np.testing.assert_array_equal(outs[0].numpy(), ((lower <= b) & (upper >= a)).all(1))
    apart = np.array([shapes.closest(points, face[None], a[None])[0] for face in faces])
    assert (np.abs(apart - 0.6) > 1e-4).all()
    np.testing.assert_array_equal(outs[1].numpy(), apart < 0.6)


@wp.kernel
def write_out(mesh: wp.uint64, p: wp.vec3, dir: wp.vec3, out: wp.array[float]):
    sign, face, u, v, t, normal = float(7.0), int(7), float(7.0), float(7.0), float(7.0), wp.vec3(7.0)
    if wp.mesh_query_point_sign_normal(mesh, p, 0.9, sign, face, u, v):
        out[0] = sign
        out[1] = u + v
    if not wp.mesh_query_point_no_sign(mesh, p, 0.1, face, u, v):
        out[2] = float(face)
    if wp.mesh_query_ray(mesh, p, dir, 9.0, t, u, v, sign, normal, face):
        out[3] = t
        out[4] = normal[2]
        out[5] = sign


def test_results_in_arguments(device):
    mesh = mesh_of([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    out = wp.zeros(6, dtype=float)
    wp.launch(write_out, 1, [mesh.id, wp.vec3(0.25, 0.25, 0.5), wp.vec3(0.0, 0.0, -1.0), out], device=device)
    out = out.numpy()
    np.testing.assert_allclose(out[:5], [1.0, 0.75, 0.0, 0.5, 1.0], rtol=1e-6)
    assert out[5] > 0


@wp.kernel
def height_of_hit(mesh: wp.uint64, start: wp.array[wp.vec3], dir: wp.array[wp.vec3], out: wp.array[float]):
    i = wp.tid()
    found = wp.mesh_query_ray(mesh, start[i], dir[i], 1.0e6)
    if found.result:
        out[i] = found.t * found.t + found.u + 3.0 * found.v


@wp.kernel
def squared_distance(mesh: wp.uint64, p: wp.array[wp.vec3], out: wp.array[float]):
    i = wp.tid()
    found = wp.mesh_query_point(mesh, p[i], 1.0e6)
    q = wp.mesh_eval_position(mesh, found.face, found.u, found.v)
    out[i] = wp.length_sq(q - p[i])


def gradient(kernel, mesh, inputs, device):
    given = [wp.array(one, dtype=wp.vec3, requires_grad=True, device=device) for one in inputs]
    out = wp.zeros(len(inputs[0]), dtype=float, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(kernel, len(inputs[0]), [mesh.id, *given], [out], device=device)
    tape.backward(grads={out: wp.array(np.ones(len(inputs[0]), np.float32), device=device)})
    return [one.grad.numpy() for one in given]


def test_gradients_for_rays_and_points(device):
    points, faces = shapes.torus(10, 8)
    mesh = mesh_of(points, faces)
    rng = np.random.default_rng(4)
    p = rng.uniform(-1.8, 1.8, (40, 3)).astype(np.float32)
    (found,) = gradient(squared_distance, mesh, [p], device)
    step = 1e-4
    wanted = np.stack(
        [
            (shapes.closest(points, faces, p + d) ** 2 - shapes.closest(points, faces, p - d) ** 2) / (2 * step)
            for d in np.eye(3) * step
        ],
        -1,
    )
    np.testing.assert_allclose(found, wanted, atol=2e-2)
    # A ray at one face, whose hit is a formula.
    mesh = mesh_of([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], [[0, 1, 2]])
    start, dir = np.array([[0.1, 0.2, 2.0]], np.float32), np.array([[0.2, 0.1, -1.0]], np.float32)

    def formula(start, dir):
        t = -start[2] / dir[2]
        x, y = (start + dir * t)[:2]
        w = (y + 9) / 18
        v = ((x + 9) - 9 * w) / 18
        return t * t + (1 - v - w) + 3 * v

    found = gradient(height_of_hit, mesh, [start, dir], device)
    base = [start[0].astype(float), dir[0].astype(float)]
    for k in range(2):
        for axis in range(3):
            moved = [[one.copy() for one in base] for _ in range(2)]
            moved[0][k][axis] += 1e-6
            moved[1][k][axis] -= 1e-6
            wanted = (formula(*moved[0]) - formula(*moved[1])) / 2e-6
            np.testing.assert_allclose(found[k][0, axis], wanted, rtol=1e-3, atol=1e-4)


def test_points_may_change(device):
    points, faces = shapes.torus(10, 8)
    mesh = mesh_of(points, faces, support_winding_number=True)
    moved = (points + np.array([5, 0, 0])).astype(np.float32)
    p = np.array([[4.0, 0.0, 0.0], [1.0, 0.0, 0.0]], np.float32)
    for way in ("in place", "assigned"):
        outs = [wp.zeros(2, dtype=float), wp.zeros(2, dtype=float), wp.zeros((2, 4), dtype=float)]
        if way == "in place":
            mesh.points.assign(moved)
            mesh.refit()
        else:
            mesh.points = wp.array(points, dtype=wp.vec3)
        wp.launch(nearest, 2, [mesh.id, wp.array(p, dtype=wp.vec3)], outs, device=device)
        now = moved if way == "in place" else points
        np.testing.assert_allclose(outs[0].numpy(), shapes.closest(now, faces, p), rtol=1e-4)
        assert (outs[2].numpy() == [[-1] if way == "in place" else [1], [1] if way == "in place" else [-1]]).all()


@wp.kernel
def read(mesh: wp.uint64, ints: wp.array[int], vecs: wp.array[wp.vec3]):
    ints[0] = wp.mesh_get_index(mesh, 2)
    vecs[0] = wp.mesh_get_point(mesh, 2)
    vecs[1] = wp.mesh_get_velocity(mesh, 1)
    vecs[2] = wp.mesh_eval_velocity(mesh, 0, 0.5, 0.25)
    fields = wp.mesh_get(mesh)
    ints[1] = fields.indices[1]
    for _ in wp.bvh_query_aabb(wp.mesh_get_bvh(mesh), wp.vec3(-9.0), wp.vec3(9.0)):
        ints[2] += 1


def test_arrays_of_a_mesh(device):
    points = wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=wp.vec3)
    speeds = wp.array([[1, 0, 0], [0, 2, 0], [0, 0, 4]], dtype=wp.vec3)
    mesh = wp.Mesh(points, wp.array([0, 2, 1], dtype=int), speeds)
    ints, vecs = wp.zeros(3, dtype=int), wp.zeros(3, dtype=wp.vec3)
    wp.launch(read, 1, [mesh.id, ints, vecs], device=device)
    assert ints.numpy().tolist() == [1, 2, 1]
    np.testing.assert_allclose(vecs.numpy(), [[1, 0, 0], [0, 0, 4], [0.5, 0.5, 1.0]])


def test_mistakes_are_refused():
    points, indices = wp.zeros(3, dtype=wp.vec3), wp.array([0, 1, 2], dtype=int)
    with pytest.raises(RuntimeError, match="points should be"):
        wp.Mesh(wp.zeros(3, dtype=float), indices)
    with pytest.raises(RuntimeError, match="indices should be"):
        wp.Mesh(points, wp.zeros(3, dtype=float))
    with pytest.raises(RuntimeError, match="flattened"):
        wp.Mesh(points, wp.zeros((1, 3), dtype=int))
    with pytest.raises(ValueError, match="bvh_leaf_size"):
        wp.Mesh(points, indices, bvh_leaf_size=0)
    if points.device.is_cpu:
        with pytest.raises(IndexError, match="corner"):
            wp.Mesh(points, wp.array([0, 1, 3], dtype=int))
    mesh = wp.Mesh(points, indices)
    with pytest.raises(RuntimeError, match="same shape"):
        mesh.points = wp.zeros(4, dtype=wp.vec3)


@wp.kernel
def ask(
    mesh: wp.uint64, start: wp.array[wp.vec3], dir: wp.array[wp.vec3], far: float, root: int, out: wp.array2d[float]
):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, start[i], dir[i], far, root)
    near = wp.mesh_query_point_no_sign(mesh, start[i], far)
    out[i, 0] = float(hit.face)
    out[i, 1] = hit.t
    out[i, 2] = float(near.face)
    out[i, 3] = near.u
    out[i, 4] = near.v
    out[i, 5] = float(wp.mesh_query_ray_count_intersections(mesh, start[i], dir[i]))
    out[i, 6] = float(wp.mesh_query_ray_anyhit(mesh, start[i], dir[i], far))


@pytest.mark.parametrize("far", [1e6, 0.6])
def test_what_is_found_does_not_depend_on_the_tree(device, far):
    points, faces = shapes.torus(16, 12)
    rng = np.random.default_rng(3)
    start = rng.uniform(-1.5, 1.5, (200, 3)).astype(np.float32)
    # At corners and through them, where many faces are as near; along planes of bounds.
    start[:40] = points[rng.integers(0, len(points), 40)]
    dir = (points[rng.integers(0, len(points), 200)] - start).astype(np.float32)
    dir[40:80, 2] = 0.0
    dir[80:90, :2] = 0.0
    start[190:194, 1] = [np.nan, np.inf, -np.inf, 0.0]
    dir[194:198, 0] = [np.nan, np.inf, -np.inf, 0.0]
    found = []
    for options in ({}, {"bvh_leaf_size": 1}, {"bvh_constructor": "median", "bvh_leaf_size": 20}):
        for groups in (None, wp.array(np.arange(len(faces)) // 50, dtype=int)):
            mesh = mesh_of(points, faces, **options, groups=groups)
            for root in (-1, 0):
                out = wp.zeros((200, 7), dtype=float)
                inputs = [mesh.id, wp.array(start, dtype=wp.vec3), wp.array(dir, dtype=wp.vec3), far, root]
                wp.launch(ask, 200, inputs, [out], device=device)
                found.append(out.numpy().view(np.uint32))
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])
    hits = found[0].view(np.float32)
    assert (hits[:190, 5] > 0).mean() > 0.7 and (hits[190:193, 5] == 0).all() and (hits[194:197, 5] == 0).all()
    assert ((hits[:, 6] == 1) == (hits[:, 5] > 0)).all() or far < 1e6


@wp.func
def area(mesh: wp.uint64, face: int):
    fields = wp.mesh_get(mesh)
    a = fields.points[fields.indices[3 * face]]
    b = fields.points[fields.indices[3 * face + 1]]
    c = fields.points[fields.indices[3 * face + 2]]
    return wp.length(wp.cross(b - a, c - a))


@wp.kernel
def measure(
    mesh: wp.uint64, start: wp.array[wp.vec3], dir: wp.array[wp.vec3], p: wp.array[wp.vec3], out: wp.array[float]
):
    i = wp.tid()
    total = area(mesh, i % 4)
    hit = wp.mesh_query_ray(mesh, start[i], dir[i], 100.0)
    if hit.result:
        normal = wp.mesh_eval_face_normal(mesh, hit.face)
        speed = wp.mesh_eval_velocity(mesh, hit.face, hit.u, hit.v)
        total += hit.t + 0.3 * hit.u + 0.2 * hit.v + hit.normal[0] + 0.1 * normal[1] + speed[2]
    near = wp.mesh_query_point(mesh, p[i], 100.0)
    out[i] = total + near.sign * wp.length(wp.mesh_eval_position(mesh, near.face, near.u, near.v) - p[i])


def test_gradients_go_to_points_and_velocities(device):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    speeds = np.array([[0, 0, 1], [1, 0, 2], [0, 1, 0], [0, 0, 3]], np.float32)
    faces = wp.array([0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3], dtype=int)
    rng = np.random.default_rng(5)
    starts = rng.uniform(-2, 2, (12, 3)).astype(np.float32)
    inputs = [wp.array(one, dtype=wp.vec3) for one in (starts, [0.2, 0.22, 0.25] - starts, starts[::-1].copy())]

    def run(points, speeds, tape=None):
        arrays = [wp.array(one, dtype=wp.vec3, requires_grad=True) for one in (points, speeds)]
        mesh = wp.Mesh(arrays[0], faces, velocities=arrays[1])
        out = wp.zeros(12, dtype=float, requires_grad=True)
        with tape or wp.Tape():
            wp.launch(measure, 12, [mesh.id, *inputs], [out], device=device)
        return mesh, arrays, out

    tape = wp.Tape()
    _mesh, arrays, out = run(points, speeds, tape)
    tape.backward(grads={out: wp.ones(12, dtype=float)})
    for which, array in enumerate(arrays):
        wanted = np.zeros((4, 3))
        for at in np.ndindex(4, 3):
            values = []
            for step in (1e-3, -1e-3):
                moved = [points.copy(), speeds.copy()]
                moved[which][at] += step
                values.append(run(*moved)[2].numpy().astype(float).sum())
            wanted[at] = (values[0] - values[1]) / 2e-3
        np.testing.assert_allclose(array.grad.numpy(), wanted, atol=2e-2)
    tape.zero()
    assert not arrays[0].grad.numpy().any() and not arrays[1].grad.numpy().any()


def test_points_get_no_gradient_where_they_want_none(device):
    points, faces = shapes.torus(6, 5)
    mesh = mesh_of(points, faces)
    p = wp.array([[2.0, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(measure, 1, [mesh.id, p, p, p], [out], device=device)
    tape.backward(out)
    assert p.grad.numpy().any() and mesh.points.grad is None


def test_a_gradient_needs_the_mesh_as_it_was(device):
    points, faces = shapes.torus(6, 5)
    p = wp.array([[2.0, 0.0, 0.0]], dtype=wp.vec3, requires_grad=True)
    for change in (lambda mesh: mesh.refit(), lambda mesh: setattr(mesh, "points", wp.clone(mesh.points))):
        mesh = mesh_of(points, faces)
        out = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(measure, 1, [mesh.id, p, p, p], [out], device=device)
            change(mesh)
        with pytest.raises(RuntimeError, match="refitted, built again or freed since"):
            tape.backward(out)


@wp.kernel
def index_all(mesh: wp.uint64, at: int, out: wp.array[float]):
    fields = wp.mesh_get(mesh)
    out[0] = fields.points[at][0] + float(fields.indices[at]) + fields.velocities[at][1]


def test_an_id_of_no_mesh_has_zeros_at_every_index(device):
    gone = mesh_of(*shapes.torus(6, 5))
    dead = gone.id
    del gone
    for wrong in (0, 7, dead, 2**64 - 1):
        out = wp.ones(1, dtype=float)
        if device == "interp":
            # It checks every access in any mode.
            with pytest.raises(wp.KernelFault):
                wp.launch(index_all, 1, [wp.uint64(wrong), 123456789, out], device=device)
            continue
        wp.launch(index_all, 1, [wp.uint64(wrong), 123456789, out], device=device)
        assert out.numpy()[0] == 0.0
