"""Edges and triangles by themselves."""

import numpy as np
import pytest

import gridstride as wp


@pytest.mark.parametrize("case", range(40))
def test_closest_points_of_edges(case):
    rng = np.random.default_rng(case)
    p1, q1, p2, q2 = rng.integers(-2, 3, (4, 3)).astype(np.float32)
    s, t, apart = wp.closest_point_edge_edge(*[wp.vec3(*one) for one in (p1, q1, p2, q2)], 1e-6)
    assert 0 <= s <= 1 and 0 <= t <= 1
    at = np.linalg.norm(p1 + (q1 - p1) * s - p2 - (q2 - p2) * t)
    steps = np.linspace(0, 1, 81)
    first, second = (a + steps[:, None] * (b - a) for a, b in ((p1, q1), (p2, q2)))
    least = np.linalg.norm(first[:, None] - second[None], axis=-1).min()
    np.testing.assert_allclose(apart, at, atol=1e-5)
    assert apart <= least + 1e-5


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_triangles_that_meet(dtype):
    vec3 = wp.types.vector(3, dtype)

    def meet(a, b):
        return wp.intersect_tri_tri(*[vec3(*map(float, one)) for one in (*a, *b)])

    flat = [(0, 0, 0), (2, 0, 0), (0, 2, 0)]
    for other, wanted in (
        ([(0.5, 0.5, -1), (0.5, 0.5, 1), (0.6, 0.7, 1)], 1),  # through the face
        ([(0.5, 0.5, 0.1), (0.5, 0.5, 1), (0.6, 0.7, 1)], 0),  # above it
        ([(5, 5, -1), (5, 5, 1), (6, 5, 1)], 0),
        ([(0.1, 0.1, 0), (0.2, 0.1, 0), (0.1, 0.2, 0)], 1),  # inside, in the plane
        ([(1.5, 1.5, 0), (3, 1.5, 0), (1.5, 3, 0)], 0),  # beside, in the plane
        ([(1, 1, 0), (3, 1, 0), (1, 3, 0)], 1),  # touching an edge
        ([(2, 0, 0), (3, 0, 1), (3, 0, -1)], 1),  # touching a corner
        ([(0.9, 0.9, -1), (3, 3, 0), (0.9, 0.9, 1)], 1),
        ([(1.1, 1.1, -1), (3, 3, 0), (1.1, 1.1, 1)], 0),
    ):
        assert meet(flat, other) == wanted
        assert meet(other, flat) == wanted
