"""Meshes of the usual solids: vertices, normals, coordinates of the checkered pattern, triangles.

Everything round is a surface of revolution: a profile of radii and heights, turned around an axis.

    >>> from gridstride.render import shapes
    >>> mesh = shapes.sphere(2.0)
    >>> mesh.vertices.shape, mesh.corners.shape
    ((561, 3), (1024, 3))
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Around an axis, and of a quarter of a circle along it.
SEGMENTS = 32
RINGS = 8


class Geometry(NamedTuple):
    """A mesh: arrays of float32, (n, 3), (n, 3) and (n, 2), and int32, (n, 3). Corners turn left seen from outside."""

    vertices: np.ndarray
    normals: np.ndarray
    uvs: np.ndarray
    corners: np.ndarray


def _revolved(profile: np.ndarray, up_axis: int) -> Geometry:
    """A profile, (n, 4) of radius, height and the normal's two parts, turned around an axis."""
    angles = np.linspace(0.0, 2.0 * np.pi, SEGMENTS + 1)
    radius, height, outward, upward = (column[:, None] for column in profile.T)
    around = np.stack([np.sin(angles), np.cos(angles)])
    flat = np.ones_like(angles)
    vertices = np.stack([radius * around[0], height * flat, radius * around[1]], axis=-1)
    normals = np.stack([outward * around[0], upward * flat, outward * around[1]], axis=-1)
    n = len(profile)
    way = np.linspace(0.0, 4.0, n)
    uvs = np.stack(np.broadcast_arrays(angles[None] * (4.0 / np.pi), way[:, None]), axis=-1)
    ring, step = np.meshgrid(np.arange(n - 1), np.arange(SEGMENTS), indexing="ij")
    a = (ring * (SEGMENTS + 1) + step).ravel()
    b, c = a + 1, a + SEGMENTS + 1
    corners = np.concatenate([np.stack([a, b, c], 1), np.stack([b, c + 1, c], 1)])
    return _turned(Geometry(_rows(vertices), _rows(normals), _rows(uvs, 2), corners.astype(np.int32)), up_axis)


def _rows(values: np.ndarray, width: int = 3) -> np.ndarray:
    return np.ascontiguousarray(values.reshape(-1, width), np.float32)


def _turned(mesh: Geometry, up_axis: int) -> Geometry:
    """A mesh along y as one along another axis. All axes move on, so that left stays left."""
    order = [(1, 2, 0), (0, 1, 2), (2, 0, 1)][up_axis]
    return mesh._replace(vertices=_rows(mesh.vertices[:, order]), normals=_rows(mesh.normals[:, order]))


def _arc(radius: float, center: float, begin: float, end: float, n: int = RINGS) -> np.ndarray:
    """A part of a circle from one angle of height to another, as a profile."""
    angles = np.linspace(begin, end, n + 1)
    cosine, sine = np.cos(angles), np.sin(angles)
    return np.stack([radius * cosine, center + radius * sine, cosine, sine], axis=1)


def sphere(radius: float) -> Geometry:
    """A sphere around the origin."""
    return _revolved(_arc(radius, 0.0, -np.pi / 2, np.pi / 2, 2 * RINGS), 1)


def capsule(radius: float, half_height: float, up_axis: int = 1) -> Geometry:
    """A cylinder of that half height with half spheres on its ends."""
    lower = _arc(radius, -half_height, -np.pi / 2, 0.0)
    return _revolved(np.concatenate([lower, _arc(radius, half_height, 0.0, np.pi / 2)]), up_axis)


def cylinder(radius: float, half_height: float, up_axis: int = 1, top_radius: float | None = None) -> Geometry:
    """A cylinder; with another radius at its top a frustum."""
    return _revolved(_frustum(radius, radius if top_radius is None else top_radius, -half_height, half_height), up_axis)


def cone(radius: float, half_height: float, up_axis: int = 1) -> Geometry:
    """A cone whose tip is half its height above the origin."""
    return cylinder(radius, half_height, up_axis, 0.0)


def arrow(
    base_radius: float,
    base_height: float,
    cap_radius: float | None = None,
    cap_height: float | None = None,
    up_axis: int = 1,
) -> Geometry:
    """A shaft from the origin with a tip, by default 1.8 times as wide and 0.18 times as high."""
    cap_radius = 1.8 * base_radius if cap_radius is None else cap_radius
    cap_height = 0.18 * base_height if cap_height is None else cap_height
    shaft = _frustum(base_radius, base_radius, 0.0, base_height)
    tip = _frustum(cap_radius, 0.0, base_height, base_height + cap_height)
    return _revolved(np.concatenate([shaft, tip]), up_axis)


def _frustum(radius: float, top_radius: float, bottom: float, top: float) -> np.ndarray:
    """The profile of a frustum with its two lids; the edges are sharp."""
    slope = np.array([top - bottom, radius - top_radius]) / max(np.hypot(top - bottom, radius - top_radius), 1e-30)
    return np.array(
        [
            [0.0, bottom, 0.0, -1.0],
            [radius, bottom, 0.0, -1.0],
            [radius, bottom, *slope],
            [top_radius, top, *slope],
            [top_radius, top, 0.0, 1.0],
            [0.0, top, 0.0, 1.0],
        ]
    )


def box(extents: tuple[float, float, float]) -> Geometry:
    """A box around the origin that reaches as far as `extents` along each axis."""
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
    vertices, normals = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, axis] = sign
            face[:, (axis + 1) % 3], face[:, (axis + 2) % 3] = square[:, 0], square[:, 1] * sign
            vertices.append(face * np.asarray(extents, float))
            normals.append(np.eye(3)[[axis] * 4] * sign)
    corners = np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(6)[:, None, None]
    uvs = np.tile((square + 1.0) * 2.0, (6, 1))
    return Geometry(
        _rows(np.array(vertices)), _rows(np.array(normals)), _rows(uvs, 2), corners.reshape(-1, 3).astype(np.int32)
    )


def plane(width: float, length: float, u_scaling: float = 1.0, v_scaling: float = 1.0) -> Geometry:
    """A rectangle across y that reaches as far as `width` along x and `length` along z. Fields are a unit wide."""
    square = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]], float) * (width, length)
    vertices = np.stack([square[:, 0], np.zeros(4), square[:, 1]], axis=1)
    uvs = square * (u_scaling, v_scaling)
    corners = np.array([[0, 1, 2], [2, 3, 0]], np.int32)
    return Geometry(_rows(vertices), _rows(np.tile([0.0, 1.0, 0.0], (4, 1))), _rows(uvs, 2), corners)
