"""The library written in the kernel language: linear algebra, rotations, random numbers, noise."""

import numpy as np
import pytest
from test_builtins import column, launch

import gridstride as wp

RNG_ROWS = 48


def rotations(n, seed):
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def rotation_matrix(q):
    """Columns are the rotated axes; the formula of Euler and Rodrigues."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def rotate(q, v):
    return np.einsum("nij,nj->ni", rotation_matrix(q), v)


def product(a, b):
    u, s, v, t = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    return np.concatenate([s * v + t * u + np.cross(u, v), s * t - (u * v).sum(-1, keepdims=True)], -1)


def same_rotation(a, b, tolerance=1e-12):
    sign = np.sign((a * b).sum(-1, keepdims=True))
    np.testing.assert_allclose(a, sign * b, atol=tolerance)


MATRICES = {2: wp.mat22d, 3: wp.mat33d, 4: wp.mat44d}


@pytest.mark.parametrize("n", MATRICES)
def test_determinant_and_inverse(device, n):
    m = np.random.default_rng(n).uniform(-2, 2, (RNG_ROWS, n, n))
    det = launch(device, wp.determinant, wp.float64, column(m, MATRICES[n]))
    np.testing.assert_allclose(det, np.linalg.det(m), rtol=1e-11, atol=1e-12)
    inverse = launch(device, wp.inverse, MATRICES[n], column(m, MATRICES[n]))
    np.testing.assert_allclose(inverse @ m, np.broadcast_to(np.eye(n), m.shape), atol=1e-9)
    singular = np.ones((1, n, n))
    assert launch(device, wp.inverse, MATRICES[n], column(singular, MATRICES[n])).tolist() == [[[0.0] * n] * n]


@wp.kernel
def decompose(
    m: wp.array(dtype=wp.mat33d),
    U: wp.array(dtype=wp.mat33d),
    s: wp.array(dtype=wp.vec3d),
    V: wp.array(dtype=wp.mat33d),
    Q: wp.array(dtype=wp.mat33d),
    R: wp.array(dtype=wp.mat33d),
    E: wp.array(dtype=wp.mat33d),
    d: wp.array(dtype=wp.vec3d),
):
    i = wp.tid()
    u, sigma, v = wp.svd3(m[i])
    U[i] = u
    s[i] = sigma
    V[i] = v
    q = wp.mat33d()
    r = wp.mat33d()
    wp.qr3(m[i], q, r)
    Q[i] = q
    R[i] = r
    e, values = wp.eig3(m[i] + wp.transpose(m[i]))
    E[i] = e
    d[i] = values


def awkward_matrices():
    rng = np.random.default_rng(9)
    m = rng.uniform(-2, 2, (40, 3, 3))
    a, b = rng.uniform(-1, 1, (2, 3))
    nearly = np.outer(a, b) + 1e-9 * rng.uniform(-1, 1, (3, 3))
    special = [np.zeros((3, 3)), np.eye(3), -np.eye(3), np.outer(a, b), nearly, np.diag([0.0, 0.0, 5.0])]
    graded = np.diag([1.0, 1e-5, 1e-10]) @ m[0]
    return np.concatenate([m, special, [graded, np.diag([2.0, 2.0, 1.0]), m[1] * 1e-100, m[2] * 1e100]])


def test_decompositions_of_3x3_matrices(device):
    m = awkward_matrices()
    n = len(m)
    types = [wp.mat33d, wp.vec3d, wp.mat33d, wp.mat33d, wp.mat33d, wp.mat33d, wp.vec3d]
    outputs = [wp.zeros(n, dtype=dtype) for dtype in types]
    wp.launch(decompose, dim=n, inputs=[column(m, wp.mat33d), *outputs], device=device)
    U, s, V, Q, R, E, d = (output.numpy() for output in outputs)
    size = np.linalg.norm(m, axis=(1, 2))[:, None, None]
    scaled = 1e-14 * size

    def near(a, b):
        assert np.all(np.abs(a - b) <= scaled), np.abs(a - b).max((1, 2)) / size[:, 0, 0]

    eye = np.broadcast_to(np.eye(3), m.shape)
    for rotation in (U, V, Q, E):
        np.testing.assert_allclose(rotation @ rotation.swapaxes(1, 2), eye, atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(rotation), 1.0, atol=1e-13)
    near(U * s[:, None, :] @ V.swapaxes(1, 2), m)
    near(np.sort(np.abs(s))[:, None, ::-1], np.linalg.svd(m)[1][:, None, :])
    assert np.all(np.diff(np.abs(s), axis=1) <= 1e-14 * size[:, 0])
    near(Q @ R, m)
    assert np.all(np.tril(R, -1) == 0)
    symmetric = m + m.swapaxes(1, 2)
    assert np.all(np.abs(E * d[:, None, :] @ E.swapaxes(1, 2) - symmetric) <= 4 * scaled)


def test_small_singular_values_keep_their_digits(device):
    @wp.kernel
    def singular(m: wp.array(dtype=wp.mat22), s: wp.array(dtype=wp.vec2), r: wp.array(dtype=wp.mat22)):
        i = wp.tid()
        U, sigma, V = wp.svd2(m[i])
        s[i] = sigma
        r[i] = U * wp.diag(sigma) * wp.transpose(V)

    m = np.random.default_rng(2).uniform(-2, 2, (64, 2, 2)).astype(np.float32)
    m[0], m[1] = 0, [[1, 1], [1, 1 + 2**-20]]
    s, r = wp.zeros(64, dtype=wp.vec2), wp.zeros(64, dtype=wp.mat22)
    wp.launch(singular, dim=64, inputs=[column(m, wp.mat22), s, r], device=device)
    exact = np.linalg.svd(m.astype(np.float64))[1]
    np.testing.assert_allclose(s.numpy(), exact, rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(r.numpy(), m, atol=2e-6)


def test_rotations_of_vectors(device):
    q, r = rotations(RNG_ROWS, 1), rotations(RNG_ROWS, 2)
    v = np.random.default_rng(3).uniform(-2, 2, (RNG_ROWS, 3))
    cq, cr, cv = column(q, wp.quatd), column(r, wp.quatd), column(v, wp.vec3d)
    np.testing.assert_allclose(launch(device, wp.quat_rotate, wp.vec3d, cq, cv), rotate(q, v), atol=1e-14)
    back = launch(device, wp.quat_rotate_inv, wp.vec3d, cq, column(rotate(q, v), wp.vec3d))
    np.testing.assert_allclose(back, v, atol=1e-14)
    np.testing.assert_allclose(launch(device, wp.mul, wp.quatd, cq, cr), product(q, r), atol=1e-15)
    np.testing.assert_allclose(launch(device, wp.quat_to_matrix, wp.mat33d, cq), rotation_matrix(q), atol=1e-14)
    found = launch(device, wp.quat_from_matrix, wp.quatd, column(rotation_matrix(q), wp.mat33d))
    same_rotation(found, q)
    inverse = launch(device, wp.quat_inverse, wp.quatd, cq)
    np.testing.assert_allclose(product(q, inverse), [[0, 0, 0, 1]] * RNG_ROWS, atol=1e-14)


def test_slerp_takes_the_shorter_arc_at_constant_speed(device):
    a, b = rotations(RNG_ROWS, 4), rotations(RNG_ROWS, 5)
    b[0] = -a[0]
    t = np.linspace(0, 1, RNG_ROWS)
    columns = [column(a, wp.quatd), column(b, wp.quatd), column(t, wp.float64)]
    found = launch(device, wp.quat_slerp, wp.quatd, *columns)
    near = b * np.sign((a * b).sum(-1, keepdims=True))
    angle = np.arccos(np.clip((a * near).sum(-1, keepdims=True), -1, 1))
    with np.errstate(invalid="ignore"):
        expected = (np.sin((1 - t)[:, None] * angle) * a + np.sin(t[:, None] * angle) * near) / np.sin(angle)
    expected[0] = a[0]
    same_rotation(found, expected, 1e-7)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, atol=1e-14)


@wp.kernel
def euler_round_trip(q: wp.array(dtype=wp.quatd), i: int, j: int, k: int, out: wp.array(dtype=wp.quatd)):
    t = wp.tid()
    out[t] = wp.quat_from_euler(wp.quat_to_euler(q[t], i, j, k), i, j, k)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0)])
def test_euler_angles_go_there_and_back(device, axes):
    q = rotations(RNG_ROWS, 6)
    # Gimbal lock, and no rotation.
    half = np.sqrt(0.5)
    lock = np.zeros(4)
    lock[axes[1]], lock[3] = half, half
    q[0], q[1] = lock, [0, 0, 0, 1]
    out = wp.zeros(RNG_ROWS, dtype=wp.quatd)
    wp.launch(euler_round_trip, dim=RNG_ROWS, inputs=[column(q, wp.quatd), *axes, out], device=device)
    same_rotation(out.numpy(), q, 1e-6)


def test_roll_pitch_yaw_are_euler_angles_about_x_y_z(device):
    e = np.random.default_rng(7).uniform(-1.5, 1.5, (RNG_ROWS, 3))

    @wp.kernel
    def both(e: wp.array(dtype=wp.vec3d), a: wp.array(dtype=wp.quatd), b: wp.array(dtype=wp.quatd)):
        i = wp.tid()
        a[i] = wp.quat_rpy(e[i][0], e[i][1], e[i][2])
        b[i] = wp.quat_from_euler(e[i], 0, 1, 2)

    a, b = (wp.zeros(RNG_ROWS, dtype=wp.quatd) for _ in range(2))
    wp.launch(both, dim=RNG_ROWS, inputs=[column(e, wp.vec3d), a, b], device=device)
    np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-15)
    np.testing.assert_allclose(launch(device, wp.quat_to_rpy, wp.vec3d, a), e, atol=1e-13)


def test_axis_angle_and_twist(device):
    @wp.kernel
    def turn(
        axis: wp.array(dtype=wp.vec3d),
        angle: wp.array(dtype=wp.float64),
        out: wp.array2d(dtype=wp.float64),
        twist: wp.array(dtype=wp.quatd),
    ):
        i = wp.tid()
        q = wp.quat_from_axis_angle(axis[i], angle[i])
        n, a = wp.quat_to_axis_angle(q)
        out[i, 0] = a
        out[i, 1] = wp.dot(n, axis[i])
        out[i, 2] = wp.quat_twist_angle(axis[i], q)
        out[i, 3] = wp.quat_twist_angle_signed(axis[i], q)
        twist[i] = wp.quat_twist(axis[i], q)

    axis = np.random.default_rng(8).normal(size=(RNG_ROWS, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = np.linspace(-3.0, 3.0, RNG_ROWS)
    out, twist = wp.zeros((RNG_ROWS, 4), dtype=wp.float64), wp.zeros(RNG_ROWS, dtype=wp.quatd)
    inputs = [column(axis, wp.vec3d), column(angle, wp.float64), out, twist]
    wp.launch(turn, dim=RNG_ROWS, inputs=inputs, device=device)
    found = out.numpy()
    np.testing.assert_allclose(found[:, 0], np.abs(angle), atol=1e-14)
    np.testing.assert_allclose(found[:, 1], np.sign(angle), atol=1e-14)
    np.testing.assert_allclose(found[:, 2], np.abs(angle), atol=1e-14)
    np.testing.assert_allclose(found[:, 3], angle, atol=1e-14)
    expected = np.concatenate([axis * np.sin(angle / 2)[:, None], np.cos(angle / 2)[:, None]], -1)
    np.testing.assert_allclose(twist.numpy(), expected, atol=1e-14)


def transforms(seed):
    p = np.random.default_rng(seed).uniform(-2, 2, (RNG_ROWS, 3))
    return np.concatenate([p, rotations(RNG_ROWS, seed + 1)], -1)


def test_transforms_act_as_matrices_do(device):
    t, s = transforms(20), transforms(30)
    v = np.random.default_rng(40).uniform(-2, 2, (RNG_ROWS, 3))
    ct, cs, cv = column(t, wp.transformd), column(s, wp.transformd), column(v, wp.vec3d)
    moved = rotate(t[:, 3:], v) + t[:, :3]
    np.testing.assert_allclose(launch(device, wp.transform_point, wp.vec3d, ct, cv), moved, atol=1e-14)
    turned = rotate(t[:, 3:], v)
    np.testing.assert_allclose(launch(device, wp.transform_vector, wp.vec3d, ct, cv), turned, atol=1e-14)
    matrix = launch(device, wp.transform_to_matrix, wp.mat44d, ct)
    expected = np.zeros((RNG_ROWS, 4, 4))
    expected[:, :3, :3], expected[:, :3, 3], expected[:, 3, 3] = rotation_matrix(t[:, 3:]), t[:, :3], 1
    np.testing.assert_allclose(matrix, expected, atol=1e-14)
    other = launch(device, wp.transform_to_matrix, wp.mat44d, cs)
    both = column(launch(device, wp.transform_multiply, wp.transformd, ct, cs), wp.transformd)
    np.testing.assert_allclose(launch(device, wp.transform_to_matrix, wp.mat44d, both), matrix @ other, atol=1e-13)
    inverse = column(launch(device, wp.transform_inverse, wp.transformd, ct), wp.transformd)
    product = launch(device, wp.transform_to_matrix, wp.mat44d, inverse) @ matrix
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(4), matrix.shape), atol=1e-13)
    found = launch(device, wp.transform_from_matrix, wp.transformd, column(matrix, wp.mat44d))
    np.testing.assert_allclose(found[:, :3], t[:, :3], atol=1e-15)
    same_rotation(found[:, 3:], t[:, 3:])
    points = launch(device, wp.transform_point, wp.vec3d, column(matrix, wp.mat44d), cv)
    np.testing.assert_allclose(points, moved, atol=1e-14)


def test_compose_and_decompose(device):
    @wp.kernel
    def there_and_back(
        p: wp.array(dtype=wp.vec3d),
        q: wp.array(dtype=wp.quatd),
        s: wp.array(dtype=wp.vec3d),
        p2: wp.array(dtype=wp.vec3d),
        q2: wp.array(dtype=wp.quatd),
        s2: wp.array(dtype=wp.vec3d),
    ):
        i = wp.tid()
        position, rotation, scale = wp.transform_decompose(wp.transform_compose(p[i], q[i], s[i]))
        p2[i] = position
        q2[i] = rotation
        s2[i] = scale

    p, s = np.random.default_rng(50).uniform(0.1, 3, (2, RNG_ROWS, 3))
    q = rotations(RNG_ROWS, 51)
    types = [wp.vec3d, wp.quatd, wp.vec3d]
    outputs = [wp.zeros(RNG_ROWS, dtype=dtype) for dtype in types]
    inputs = [column(x, dtype) for x, dtype in zip((p, q, s), types, strict=True)]
    wp.launch(there_and_back, dim=RNG_ROWS, inputs=[*inputs, *outputs], device=device)
    np.testing.assert_array_equal(outputs[0].numpy(), p)
    same_rotation(outputs[1].numpy(), q)
    np.testing.assert_allclose(outputs[2].numpy(), s, rtol=1e-13)


def test_setting_a_part_of_a_transform_changes_the_variable(device):
    @wp.kernel
    def change(out: wp.array(dtype=wp.transform)):
        t = wp.transform_identity()
        wp.transform_set_translation(t, wp.vec3(1.0, 2.0, 3.0))
        for i in range(2):
            wp.transform_set_rotation(t, wp.quat(0.0, 0.0, float(i), 0.0))
        out[0] = t

    out = wp.zeros(1, dtype=wp.transform)
    wp.launch(change, dim=1, inputs=[out], device=device)
    assert out.numpy().tolist() == [[1, 2, 3, 0, 0, 1, 0]]


def test_spatial_algebra(device):
    a, b = np.random.default_rng(60).uniform(-2, 2, (2, RNG_ROWS, 6))
    r = np.random.default_rng(61).uniform(-2, 2, (RNG_ROWS, 3))
    t = transforms(62)
    v6 = wp.spatial_vectord
    ca, cb, cr, ct = column(a, v6), column(b, v6), column(r, wp.vec3d), column(t, wp.transformd)
    w, v, w2, v2 = a[:, :3], a[:, 3:], b[:, :3], b[:, 3:]
    motion = np.concatenate([np.cross(w, w2), np.cross(v, w2) + np.cross(w, v2)], -1)
    force = np.concatenate([np.cross(w, w2) + np.cross(v, v2), np.cross(w, v2)], -1)
    np.testing.assert_allclose(launch(device, wp.spatial_cross, v6, ca, cb), motion, atol=1e-14)
    np.testing.assert_allclose(launch(device, wp.spatial_cross_dual, v6, ca, cb), force, atol=1e-14)
    np.testing.assert_allclose(launch(device, wp.spatial_dot, wp.float64, ca, cb), (a * b).sum(-1), atol=1e-14)
    np.testing.assert_allclose(launch(device, wp.spatial_top, wp.vec3d, ca), w)
    np.testing.assert_allclose(launch(device, wp.spatial_bottom, wp.vec3d, ca), v)
    np.testing.assert_allclose(launch(device, wp.velocity_at_point, wp.vec3d, ca, cr), v + np.cross(w, r), atol=1e-14)
    turn = lambda x: rotate(t[:, 3:], x)  # noqa: E731
    twist = np.concatenate([turn(w), turn(v) + np.cross(t[:, :3], turn(w))], -1)
    wrench = np.concatenate([turn(w) + np.cross(t[:, :3], turn(v)), turn(v)], -1)
    np.testing.assert_allclose(launch(device, wp.transform_twist, v6, ct, ca), twist, atol=1e-13)
    np.testing.assert_allclose(launch(device, wp.transform_wrench, v6, ct, ca), wrench, atol=1e-13)
