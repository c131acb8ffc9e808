"""`wp.Mesh`: a triangle mesh for rays and nearest points.

    >>> points = wp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=wp.vec3)
    >>> mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))

Kernels query it by `mesh.id`; the queries are in `gridstride/lib/mesh*.py`. A mesh is a tree over the bounds of its
faces (`bvh.py`), corners in the order of leaves, and, for winding numbers, sums over the faces of each node.
"""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride import _launch, _memory, _native, _runtime_tape, utils
from gridstride._geometry import records, structs
from gridstride._geometry.bvh import BvhConstructor, Tree, check_groups, chosen, in_order

# One bound of eight children.
vec8 = wp.types.vector(8, wp.float32)
# Of a face: its center by area, its area, and its normal by area; then a sum of them.
vec7d = wp.types.vector(7, wp.float64)


class Mesh:
    """A mesh of triangles that kernels query by rays, points, boxes and spheres.

    Args:
        points: Vertices, a contiguous array of `vec3`.
        indices: Three int32 a face.
        velocities: Of the vertices, for `mesh_eval_velocity`.
        support_winding_number: Keep what `mesh_query_point_sign_winding_number` needs.
        bvh_constructor: As `Bvh`'s `constructor`.
        bvh_leaf_size: Most faces of a leaf, 4 by default.
        groups: An int32 a face: rays may start at `mesh_get_group_root(id, group)`.

    Attributes: `id` (an int, for kernels), `device`, `indices`, `groups`, `points`, `velocities`,
    `support_winding_number`. Assigning other `points` of the same shape refits the mesh.

    Raises:
        IndexError: A corner that is none of the points; on the CPU, where that is seen at once.
        RuntimeError: Arrays of other types, shapes or devices; groups or winding numbers with "cubql".
        ValueError: Another constructor; a leaf size below 1.
    """

    id: Any = None

    @_memory.made_for("mesh")
    def __init__(
        self,
        points: Any,
        indices: Any,
        velocities: Any = None,
        support_winding_number: bool = False,
        bvh_constructor: Any = None,
        bvh_leaf_size: int | None = None,
        groups: Any = None,
    ) -> None:
        _check(points, indices, velocities)
        check_groups(groups, len(indices) // 3, points.device, "points", "indices / 3")
        self.device = points.device
        constructor = chosen(bvh_constructor, self.device)
        least = 1
        if constructor is BvhConstructor.CUBQL:
            least = 0
            if groups is not None:
                raise RuntimeError("Grouped mesh queries are not supported with bvh_constructor='cubql'")
            if support_winding_number:
                raise RuntimeError("support_winding_number=True is not supported with bvh_constructor='cubql'")
        if bvh_leaf_size is not None and bvh_leaf_size < least:
            raise ValueError(f"bvh_leaf_size must be greater than or equal to {least}, current value: {bvh_leaf_size}")
        self._points, self._velocities, self.indices, self.groups = points, velocities, indices, groups
        self.support_winding_number = support_winding_number
        n = len(indices) // 3
        self._lowers, self._uppers = (wp.empty(n, dtype=wp.vec3, device=self.device) for _ in range(2))
        self._corners = wp.empty(3 * n, dtype=wp.vec3, device=self.device)
        self._tree = Tree(self._lowers, self._uppers, groups, bvh_leaf_size or 4)
        self._clusters = None
        # On a CPU: a tree of eight children a node, and its rows.
        self._wide: Any = None
        self._wide_rows: Any = None
        self._record = records.Record(records.MESH, self.device)
        self._bvh_record = records.Record(records.BVH, self.device)
        self.id = self._record.id
        _runtime_tape.meshes[self.id] = self
        self._bound_faces()
        self._tree.build(constructor)
        self._order_faces()
        self._widen()
        self._write()

    @property
    def points(self) -> Any:
        """Vertices. Whoever changes them in place calls `refit`; another array of the same shape may be assigned."""
        return self._points

    @points.setter
    def points(self, points: Any) -> None:
        self._check_new("points", points, self._points)
        self._points = points
        self.refit()
        self._write()

    @property
    def velocities(self) -> Any:
        """Of the vertices, or None; may be changed in place, and another array of the same shape may be assigned."""
        return self._velocities

    @velocities.setter
    def velocities(self, velocities: Any) -> None:
        self._check_new("velocities", velocities, self._velocities)
        self._velocities = velocities
        self._record.note_change()
        self._write()

    def refit(self) -> None:
        """Renews bounds after `points` changed; which faces are together stays as it is."""
        in_order("Mesh.refit", self.device, self._refit)

    def _check_new(self, name: str, new: Any, old: Any) -> None:
        if old is not None and new.device is not old.device:
            raise RuntimeError(
                f"The new points and the original points must live on the same device, the new {name} are on "
                f"{new.device} while the old {name} are on {old.device}."
            )
        if old is not None and (new.ndim != 1 or new.shape[0] != old.shape[0]):
            raise RuntimeError(
                f"The new points and the original points must have the same shape, the new {name}' shape is "
                f"{new.shape}, while the old {name}' shape is {old.shape}."
            )

    def _refit(self) -> None:
        self._record.note_change()
        self._bound_faces()
        self._tree.refit()
        self._order_faces()
        self._fill_wide()

    def _bound_faces(self) -> None:
        self._run(bound_faces, self._lowers.size, [self._points, self.indices], [self._lowers, self._uppers])

    def _widen(self) -> None:
        if self.device.is_cuda:
            return
        tree = self._tree
        self._wide = _native.WideTree.of((tree.lowers, tree.uppers), (tree.nodes, tree.items), tree.n_nodes)
        if self._wide is not None:
            self._wide_rows = wp.empty(18 * self._wide.n_nodes, dtype=vec8, device=self.device)
        self._fill_wide()

    def _fill_wide(self) -> None:
        if self._wide is not None:
            self._wide.fill(self._corners, self._wide_rows)

    def _order_faces(self) -> None:
        n = self._lowers.size
        self._run(order_faces, n, [self._tree.items, self._points, self.indices], [self._corners])
        if not self.support_winding_number or n == 0:
            return
        sums = wp.empty(n, dtype=vec7d, device=self.device)
        self._run(weigh_faces, n, [self._corners], [sums])
        utils.array_scan(sums, sums, inclusive=True)
        if self._clusters is None:
            self._clusters = wp.empty(self._tree.nodes.size, dtype=structs.Cluster, device=self.device)
        self._run(make_clusters, self._tree.n_nodes, [self._tree.nodes, sums], [self._clusters])

    def _write(self) -> None:
        tree = self._tree.values()
        self._bvh_record.write(tree)
        value = structs.MeshData()
        value.bvh_id, value.bvh = self._bvh_record.id, tree
        value.points, value.indices, value.velocities = self._points, self.indices, self._velocities
        value.adj_points = self._points.grad
        value.adj_velocities = None if self._velocities is None else self._velocities.grad
        if self._wide is not None:
            n = 8 * self._wide_rows.size
            value.wide = self._wide_rows
            value.wide_children = wp.array(ptr=self._wide_rows.ptr, dtype=int, shape=n, device=self.device)
        value.corners, value.clusters = self._corners, self._clusters
        self._record.write(value)

    def _run(self, kernel: Any, n: int, inputs: list[Any], outputs: list[Any]) -> None:
        _launch.launch(kernel, n, inputs, outputs, device=self.device, record_tape=False)

    def __del__(self) -> None:
        if self.id is not None:
            self._record.release()
            self._bvh_record.release()


def _check(points: Any, indices: Any, velocities: Any) -> None:
    if points.device is not indices.device:
        raise RuntimeError("Mesh points and indices must live on the same device")
    if points.dtype is not wp.vec3 or not points.is_contiguous:
        raise RuntimeError("Mesh points should be a contiguous array of type wp.vec3")
    if velocities is not None and (velocities.dtype is not wp.vec3 or not velocities.is_contiguous):
        raise RuntimeError("Mesh velocities should be a contiguous array of type wp.vec3")
    if indices.dtype is not wp.int32 or not indices.is_contiguous:
        raise RuntimeError("Mesh indices should be a contiguous array of type wp.int32")
    if indices.ndim > 1:
        raise RuntimeError("Mesh indices should be a flattened 1d array of indices")
    if not indices.device.is_cuda and indices.size:
        found = indices.numpy()
        if found.min() < 0 or found.max() >= len(points):
            worst = int(found.min() if found.min() < 0 else found.max())
            raise IndexError(f"a corner of a face is point {worst}, and there are {len(points)} points")


@wp.kernel(enable_backward=False)
def bound_faces(
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    p = points[indices[3 * i]]
    q = points[indices[3 * i + 1]]
    r = points[indices[3 * i + 2]]
    lowers[i] = wp.min(wp.min(p, q), r)
    uppers[i] = wp.max(wp.max(p, q), r)


@wp.kernel(enable_backward=False)
def order_faces(
    items: wp.array(dtype=int),
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3),
):
    place = wp.tid()
    face = items[place]
    corners[3 * place] = points[indices[3 * face]]
    corners[3 * place + 1] = points[indices[3 * face + 1]]
    corners[3 * place + 2] = points[indices[3 * face + 2]]


@wp.kernel(enable_backward=False)
def weigh_faces(corners: wp.array(dtype=wp.vec3), sums: wp.array(dtype=vec7d)):
    i = wp.tid()
    p = wp.vec3d(corners[3 * i])
    q = wp.vec3d(corners[3 * i + 1])
    r = wp.vec3d(corners[3 * i + 2])
    normal = wp.cross(q - p, r - p) * wp.float64(0.5)
    area = wp.length(normal)
    center = (p + q + r) * (area / wp.float64(3.0))
    sums[i] = vec7d(center[0], center[1], center[2], area, normal[0], normal[1], normal[2])


@wp.kernel(enable_backward=False)
def make_clusters(
    nodes: wp.array(dtype=structs.BvhNode), sums: wp.array(dtype=vec7d), clusters: wp.array(dtype=structs.Cluster)
):
    index = wp.tid()
    # From the first item of the first leaf to the last of the last.
    left = index
    while nodes[left].end >= 0:
        left += 1
    right = index
    while nodes[right].end >= 0:
        right = nodes[right].first
    total = sums[-2 - nodes[right].end]
    if nodes[left].first > 0:
        total = total - sums[nodes[left].first - 1]
    node = nodes[index]
    center = (wp.vec3d(node.lower) + wp.vec3d(node.upper)) * wp.float64(0.5)
    if total[3] > wp.float64(0.0):
        center = wp.vec3d(total[0], total[1], total[2]) / total[3]
    cluster = structs.Cluster()
    cluster.center = wp.vec3(center)
    cluster.normal = wp.vec3(wp.float32(total[4]), wp.float32(total[5]), wp.float32(total[6]))
    cluster.radius = wp.length(wp.max(node.upper - cluster.center, cluster.center - node.lower))
    clusters[index] = cluster
