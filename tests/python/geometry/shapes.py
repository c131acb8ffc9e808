"""Closed meshes, and queries of all their faces in float64."""

import numpy as np


def torus(n, m, inner=0.4):
    """Points and faces of a torus around z, with the front outside."""
    around, across = np.meshgrid(*[np.linspace(0, 2 * np.pi, k, endpoint=False) for k in (n, m)], indexing="ij")
    out = 1 + inner * np.cos(across)
    points = np.stack([out * np.cos(around), out * np.sin(around), inner * np.sin(across)], -1)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")

    def at(i, j):
        return i % n * m + j % m

    a, b, c, d = at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)
    faces = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    return points.reshape(-1, 3).astype(np.float32), faces.astype(np.int32)


def closest(points, faces, p):
    """Distances from points to the nearest face."""
    tri = points[faces].astype(float)
    a, b, c = (tri[None, :, k] for k in range(3))
    p = p[:, None].astype(float)
    normal = np.cross(b - a, c - a)
    size = np.einsum("...k,...k", normal, normal)
    with np.errstate(all="ignore"):
        w = [np.einsum("...k,...k", np.cross(y - x, p - x), normal) / size for x, y in ((b, c), (c, a), (a, b))]
        height = np.einsum("...k,...k", p - a, normal) ** 2 / size
    best = np.where((np.minimum(np.minimum(*w[:2]), w[2]) >= 0) & (size > 0), height, np.inf)
    for x, y in ((a, b), (b, c), (c, a)):
        length = np.einsum("...k,...k", y - x, y - x)
        with np.errstate(all="ignore"):
            t = np.clip(np.nan_to_num(np.einsum("...k,...k", p - x, y - x) / length), 0, 1)
        off = p - x - t[..., None] * (y - x)
        best = np.minimum(best, np.einsum("...k,...k", off, off))
    return np.sqrt(best.min(1))


def hits(points, faces, start, dir):
    """Where each ray hits each face, infinity where it does not; and how near it passes to an edge, relatively."""
    a, b, c = (points[faces][None, :, k].astype(float) - start[:, None] for k in range(3))
    d = dir[:, None].astype(float)
    w = np.stack([np.einsum("...k,...k", np.cross(x, y), d) for x, y in ((b, c), (c, a), (a, b))], -1)
    whole = w.sum(-1)
    with np.errstate(all="ignore"):
        w = w / whole[..., None]
        normal = np.cross(b - a, c - a)
        t = np.einsum("...k,...k", normal, a) / np.einsum("...k,...k", normal, d)
    is_hit = (w.min(-1) >= 0) & (t >= 0)
    return np.where(is_hit, t, np.inf), np.abs(np.nan_to_num(w, nan=1.0)).min(-1)
