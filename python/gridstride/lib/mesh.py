"""Triangle meshes: their arrays, points on faces, and the faces that meet a box or a sphere.

In: a `Mesh`'s id. Out: positions, velocities, normals; indices of faces.

    query = mesh_query_aabb(mesh, lower, upper)
    while mesh_query_next(query, face): ...

A face's point has the barycentric coordinates u and v: the weights of its first two corners. Queries by rays and points
are in `mesh_rays.py`, `mesh_points.py` and `mesh_signs.py`.
"""


# Faces seen from afar, for each inner node: the mean of their centers by area, how far they reach from it, and the sum
# of their normals by area.
class _Cluster:
    center: vec3
    radius: float32
    normal: vec3


# What the host writes at the id's address (_geometry/mesh.py).
class _Mesh:
    id: uint64
    bvh_id: uint64
    bvh: _Bvh
    points: array(dtype=vec3)
    indices: array(dtype=int32)
    velocities: array(dtype=vec3)
    # Gradients of the two; null where there is none.
    adj_points: array(dtype=vec3)
    adj_velocities: array(dtype=vec3)
    # Three corners for each place of a leaf, as they were at the last build or refit.
    corners: array(dtype=vec3)
    # On a CPU: a tree of eight children a node (mesh_wide.py), 18 rows each, and the same memory as integers.
    wide: array(dtype=Octet)
    wide_children: array(dtype=int32)
    # By node; null for a mesh without support of winding numbers.
    clusters: array(dtype=_Cluster)


# What `mesh_get` gives.
class Mesh:
    id: uint64
    points: array(dtype=vec3)
    velocities: array(dtype=vec3)
    indices: array(dtype=int32)


# A walk over faces: those whose bounds meet a box, or those that come into a sphere.
class MeshQuery:
    query: BvhQuery
    corners: array(dtype=vec3)


def _mesh(id: uint64):
    address = _record_of(id, uint64(3))
    mesh = _Mesh()
    if address != uint64(0):
        mesh = _at(_Mesh, address)
    mesh.points = _with_adjoint(mesh.points, mesh.adj_points)
    mesh.velocities = _with_adjoint(mesh.velocities, mesh.adj_velocities)
    return mesh


# Arrays that are not there, those of an id of no mesh among them, may be indexed: there is one element for all indices.
def mesh_get(id: uint64):
    mesh = _mesh(id)
    points = _with_adjoint(_or_spare(mesh.points), mesh.adj_points)
    velocities = _with_adjoint(_or_spare(mesh.velocities), mesh.adj_velocities)
    return Mesh(mesh.id, points, velocities, _or_spare(mesh.indices))


def mesh_get_bvh(id: uint64):
    return _mesh(id).bvh_id


def mesh_get_group_root(id: uint64, group: int):
    return _root_of_group(_mesh(id).bvh, group)


def mesh_get_index(id: uint64, index: int):
    mesh = _mesh(id)
    found = int(-1)
    if index >= 0 and index < mesh.indices.shape[0]:
        found = mesh.indices[index]
    return found


# What a corner of a face, or the face's corner 0, 1 or 2, has in an array of points; zero for one that is not there.
def _of_corner(values: array(dtype=vec3), indices: array(dtype=int32), corner: int):
    found = vec3()
    if values.shape[0] > 0 and corner >= 0 and corner < indices.shape[0]:
        found = values[indices[corner]]
    return found


def mesh_get_point(id: uint64, index: int):
    mesh = _mesh(id)
    return _of_corner(mesh.points, mesh.indices, index)


def mesh_get_velocity(id: uint64, index: int):
    mesh = _mesh(id)
    return _of_corner(mesh.velocities, mesh.indices, index)


# From the points themselves, to which gradients go.
def _corners_of(mesh: _Mesh, face: int):
    i = mesh.indices[3 * face]
    j = mesh.indices[3 * face + 1]
    k = mesh.indices[3 * face + 2]
    return mesh.points[i], mesh.points[j], mesh.points[k]


def _on_face(values: array(dtype=vec3), indices: array(dtype=int32), face: int, u: float, v: float):
    p = _of_corner(values, indices, 3 * face)
    q = _of_corner(values, indices, 3 * face + 1)
    r = _of_corner(values, indices, 3 * face + 2)
    return p * u + q * v + r * (1.0 - u - v)


def mesh_eval_position(id: uint64, face: int, bary_u: float, bary_v: float):
    mesh = _mesh(id)
    return _on_face(mesh.points, mesh.indices, face, bary_u, bary_v)


def mesh_eval_velocity(id: uint64, face: int, bary_u: float, bary_v: float):
    mesh = _mesh(id)
    return _on_face(mesh.velocities, mesh.indices, face, bary_u, bary_v)


def mesh_eval_face_normal(id: uint64, face: int):
    mesh = _mesh(id)
    p = _of_corner(mesh.points, mesh.indices, 3 * face)
    q = _of_corner(mesh.points, mesh.indices, 3 * face + 1)
    r = _of_corner(mesh.points, mesh.indices, 3 * face + 2)
    return normalize(cross(q - p, r - p))


def mesh_query_aabb(id: uint64, low: vec3, high: vec3):
    mesh = _mesh(id)
    return MeshQuery(_bvh_query(mesh.bvh, -1, 0, low, high, 0.0), mesh.corners)


def mesh_query_sphere(id: uint64, center: vec3, radius: float):
    mesh = _mesh(id)
    return MeshQuery(_bvh_query(mesh.bvh, -1, 3, center, center, max(radius, 0.0)), mesh.corners)


# Whether the face at a place of a leaf comes into the sphere.
def _is_in_sphere(query: MeshQuery, place: int):
    a = query.corners[3 * place]
    b = query.corners[3 * place + 1]
    c = query.corners[3 * place + 2]
    center = query.query.a
    nearest = _weighted(a, b, c, _closest_weights(a, b, c, center))
    return length_sq(nearest - center) <= query.query.radius * query.query.radius


def _next(query: MeshQuery):
    found, inner = _next_item(query.query, 3.4028235e38)
    if inner.kind == 3:
        # The place of what was found is the one before the next.
        while found >= 0 and not _is_in_sphere(query, inner.place - 1):
            found, inner = _next_item(inner, 3.4028235e38)
    query.query = inner
    return found >= 0, found, query


def mesh_query_next(query: MeshQuery, index: int):
    is_there, found, query = _next(query)
    if is_there:
        index = found
    return is_there, query, index


def mesh_query_aabb_next(query: MeshQuery, index: int):
    is_there, found, query = _next(query)
    if is_there:
        index = found
    return is_there, query, index
