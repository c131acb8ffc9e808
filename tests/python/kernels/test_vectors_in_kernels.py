"""Vectors, matrices, quaternions and transforms in kernels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gridstride as wp

few = settings(max_examples=15, deadline=None)
small = {"min_value": -100, "max_value": 100}
vec5 = wp.types.vector(5, float)
mat23 = wp.types.matrix((2, 3), float)


@wp.kernel
def vector_ops(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), s: float, out: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    out[0, i] = a[i] + b[i]
    out[1, i] = a[i] - b[i]
    out[2, i] = a[i] * s
    out[3, i] = s * a[i]
    out[4, i] = -a[i]
    out[5, i] = wp.cw_mul(a[i], b[i])
    out[6, i] = wp.cross(a[i], b[i])


@few
@given(data=st.data())
def test_vector_arithmetic(device, data):
    n = data.draw(st.integers(1, 10))
    a, b = (data.draw(hnp.arrays(np.float32, (n, 3), elements=small)) for _ in range(2))
    out = wp.zeros((7, n), dtype=wp.vec3)
    wp.launch(
        vector_ops, dim=n, inputs=[wp.array(a, dtype=wp.vec3), wp.array(b, dtype=wp.vec3), 2.5, out], device=device
    )
    s = np.float32(2.5)
    found = out.numpy()
    np.testing.assert_array_equal(found[:6], [a + b, a - b, a * s, s * a, -a, a * b])
    np.testing.assert_allclose(found[6], np.cross(a, b), rtol=1e-4, atol=1e-2)


@wp.kernel
def reductions(a: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    v = a[i]
    out[i, 0] = wp.dot(v, v)
    out[i, 1] = wp.length(v)
    out[i, 2] = wp.length_sq(v)
    out[i, 3] = v[0] + v.y + v[-1]
    n = wp.normalize(v)
    out[i, 4] = wp.length(n)


def test_reductions(device):
    a = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    out = wp.zeros((20, 5))
    wp.launch(reductions, dim=20, inputs=[wp.array(a, dtype=wp.vec3), out], device=device)
    squares = (a.astype(float) ** 2).sum(1)
    expected = np.stack([squares, np.sqrt(squares), squares, a.sum(1), np.ones(20)], axis=1)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-6)


@wp.kernel
def components(out: wp.array(dtype=vec5)):
    v = vec5()
    for k in range(5):
        v[k] = float(k) * 2.0
    v[1] += 10.0
    v[-1] = -1.0
    out[0] = v
    w = wp.vec3(1.0, 2.0, 3.0)
    w.x = 9.0
    w[1] *= 4.0
    u = vec5(w[0], w[1], w[2], v[4], 1.0)
    out[1] = u


def test_components_can_be_assigned(device):
    out = wp.zeros(2, dtype=vec5)
    wp.launch(components, dim=1, inputs=[out], device=device)
    assert out.numpy().tolist() == [[0, 12, 4, 6, -1], [9, 8, 3, -1, 1]]


@wp.kernel
def products(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3),
             mm: wp.array(dtype=wp.mat33), mv: wp.array(dtype=wp.vec3), t: wp.array(dtype=wp.mat33),
             d: wp.array(dtype=float)):  # fmt: skip
    i = wp.tid()
    mm[i] = a[i] * b[i]
    mv[i] = a[i] @ v[i]
    t[i] = wp.transpose(a[i])
    d[i] = wp.determinant(a[i]) + wp.trace(a[i])


def test_matrix_products(device):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 8, 3, 3)).astype(np.float32)
    v = rng.normal(size=(8, 3)).astype(np.float32)
    mm, mv = wp.zeros(8, dtype=wp.mat33), wp.zeros(8, dtype=wp.vec3)
    t, d = wp.zeros(8, dtype=wp.mat33), wp.zeros(8)
    inputs = [wp.array(a, dtype=wp.mat33), wp.array(b, dtype=wp.mat33), wp.array(v, dtype=wp.vec3)]
    wp.launch(products, dim=8, inputs=inputs, outputs=[mm, mv, t, d], device=device)
    np.testing.assert_allclose(mm.numpy(), a @ b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mv.numpy(), np.einsum("nij,nj->ni", a, v), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(t.numpy(), a.swapaxes(1, 2))
    np.testing.assert_allclose(d.numpy(), np.linalg.det(a) + a.trace(axis1=1, axis2=2), rtol=1e-3, atol=1e-4)


@wp.kernel
def matrix_parts(m: wp.array(dtype=mat23), out: wp.array(dtype=float), rows: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x = m[i]
    rows[i] = x[1]
    out[i] = x[0, 2] + x[1, 0]
    x[0, 0] = 100.0
    x[1] = wp.vec3(1.0, 2.0, 3.0)
    m[i] = x


def test_matrix_rows_and_elements(device):
    m = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    a, out, rows = wp.array(m, dtype=mat23), wp.zeros(2), wp.zeros(2, dtype=wp.vec3)
    wp.launch(matrix_parts, dim=2, inputs=[a, out, rows], device=device)
    assert out.numpy().tolist() == [2 + 3, 8 + 9]
    assert rows.numpy().tolist() == m[:, 1].tolist()
    assert a.numpy()[1].tolist() == [[100, 7, 8], [1, 2, 3]]


@wp.kernel
def rotations(axis: wp.vec3, angles: wp.array(dtype=float), v: wp.vec3, out: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    q = wp.quat_from_axis_angle(axis, angles[i])
    out[0, i] = wp.quat_rotate(q, v)
    out[1, i] = wp.quat_rotate_inv(q, wp.quat_rotate(q, v))
    out[2, i] = wp.quat_to_matrix(q) * v
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), q)
    out[3, i] = wp.transform_point(t, v)
    out[4, i] = wp.transform_point(wp.transform_inverse(t), wp.transform_point(t, v))
    out[5, i] = wp.transform_point(t * t, v)


def test_rotations_and_transforms(device):
    axis = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    v = np.array([0.5, -1.0, 2.0])
    angles = np.linspace(-3, 3, 7)
    out = wp.zeros((6, 7), dtype=wp.vec3)
    wp.launch(rotations, dim=7, inputs=[axis.tolist(), wp.array(angles, dtype=float), v.tolist(), out], device=device)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    for i, angle in enumerate(angles):
        r = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
        p = np.array([1.0, 2.0, 3.0])
        expected = [r @ v, v, r @ v, r @ v + p, v, r @ (r @ v + p) + p]
        np.testing.assert_allclose(out.numpy()[:, i], expected, rtol=1e-4, atol=1e-4)


@wp.kernel
def generic_vectors(a: wp.array(dtype=wp.types.vector(length=Any, dtype=wp.Float)), out: wp.array(dtype=wp.Float)):
    i = wp.tid()
    out[i] = wp.dot(a[i], a[i])


@pytest.mark.parametrize("dtype", [wp.vec2, wp.vec4d, wp.types.vector(7, wp.float64)])
def test_vectors_of_any_length(device, dtype):
    a = np.arange(3 * dtype._length_, dtype=dtype._wp_scalar_type_.__name__).reshape(3, -1)
    out = wp.zeros(3, dtype=dtype._wp_scalar_type_)
    wp.launch(generic_vectors, dim=3, inputs=[wp.array(a, dtype=dtype), out], device=device)
    np.testing.assert_array_equal(out.numpy(), (a * a).sum(1))


def test_products_on_the_host():
    m = wp.mat33(*np.random.default_rng(4).normal(size=9).tolist())
    v = wp.vec3(1.0, 2.0, 3.0)
    np.testing.assert_allclose(np.array(m * v), np.array(m) @ np.array(v), rtol=1e-6)
    np.testing.assert_allclose(np.array(m @ m), np.array(m) @ np.array(m), rtol=1e-5)
    q = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), np.pi / 2)
    np.testing.assert_allclose(np.array(wp.quat_rotate(q, wp.vec3(1.0, 0.0, 0.0))), [0, 1, 0], atol=1e-6)
    assert isinstance(q * q, wp.quat)
    assert wp.dot(v, v) == 14.0
    assert wp.length(wp.vec3(2.0, 3.0, 6.0)) == 7.0
    assert wp.cross(wp.vec3(1, 0, 0), wp.vec3(0, 1, 0)) == wp.vec3(0, 0, 1)
