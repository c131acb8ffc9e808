"""`warp._src.utils`: what `gridstride.utils` has, and questions about the machine."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridstride import _map
from gridstride.compat.absent import attribute
from gridstride.utils import *  # noqa: F403

# Kernels that `wp.map` has written.
map_cache = _map._kernels


def check_p2p() -> bool:
    """Whether GPUs can reach each other's memory: there is no second one to ask."""
    return False


class MeshEdge(NamedTuple):
    """An edge from `v0` to `v1` of the triangles `f0` and `f1`, whose other corners are `o0` and `o1`; -1: none."""

    v0: int
    v1: int
    o0: int
    o1: int
    f0: int
    f1: int


class MeshAdjacency:
    """The edges of a triangle mesh: `edges` by their two nodes, the smaller first."""

    def __init__(self, indices: Any, num_tris: int) -> None:
        self.num_tris = num_tris
        self.edges: dict[tuple[int, int], MeshEdge] = {}
        for face, (a, b, c) in enumerate(indices):
            for v0, v1, opposite in ((a, b, c), (b, c, a), (c, a, b)):
                self.add_edge(v0, v1, opposite, face)

    def add_edge(self, v0: int, v1: int, opposite: int, face: int) -> None:
        """Adds a triangle's side. A third triangle at one edge is reported and left out."""
        key = (min(v0, v1), max(v0, v1))
        found = self.edges.get(key)
        if found is None:
            self.edges[key] = MeshEdge(v0, v1, opposite, -1, face, -1)
        elif found.f1 == -1:
            self.edges[key] = found._replace(o1=opposite, f1=face)
        else:
            print("Detected non-manifold edge")


def __getattr__(name: str) -> Any:
    return attribute("utils", name)
