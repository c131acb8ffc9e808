"""The point of a mesh that is nearest to a point, or farthest from it.

In: a `Mesh`'s id, a point, a distance. Out: a `MeshQueryPoint`; its sign, which says whether the point is inside, comes
from `mesh_signs.py`.

As for rays, the traversal finds the face, and weights are computed once more for gradients; on a CPU `mesh_wide.py`
finds the nearest face.
"""


class MeshQueryPoint:
    result: bool
    # Negative for a point inside the mesh.
    sign: float32
    face: int32
    u: float32
    v: float32


def _face_distance_sq(corners: array(dtype=vec3), place: int, p: vec3):
    a = corners[3 * place]
    b = corners[3 * place + 1]
    c = corners[3 * place + 2]
    return _distance_sq_to_triangle(a, b, c, p)


def _bounds_distance_sq(corners: array(dtype=vec3), place: int, p: vec3):
    a = corners[3 * place]
    b = corners[3 * place + 1]
    c = corners[3 * place + 2]
    return _distance_sq_to_box(p, min(min(a, b), c), max(max(a, b), c))


# The place of the face nearest to a point; -1 where none is nearer than `max_dist`.
def _nearest_face(mesh: _Mesh, p: vec3, max_dist: float):
    place = int(-1)
    max_sq = min(max_dist * max_dist, 3.4028235e38)
    if _on_host() and mesh.wide.shape[0] > 0:
        place = _nearest_face_wide(mesh, p, max_sq)
    elif _is_point(p):
        place = _nearest_face_by_twos(mesh, p, max_sq)
    return place


def _nearest_face_by_twos(mesh: _Mesh, p: vec3, max_sq: float):
    nodes = mesh.bvh.nodes
    corners = mesh.corners
    waiting = zeros(shape=64, dtype=int32)
    apart = zeros(shape=64, dtype=float32)
    n_waiting = int(0)
    best = int(-1)
    best_face = int(-1)
    best_sq = float(max_sq)
    index = _first_node(mesh.bvh, -1)
    while index >= 0:
        node = nodes[index]
        next = int(-1)
        if node.end < 0:
            for place in range(node.first, -1 - node.end):
                apart_sq = _face_distance_sq(corners, place, p)
                if apart_sq <= best_sq:
                    at_least = _bounds_distance_sq(corners, place, p)
                    apart_sq = where(at_least > apart_sq, at_least, apart_sq)
                    if apart_sq <= best_sq:
                        face = mesh.bvh.items[place]
                        if apart_sq < best_sq or face < best_face:
                            best_sq = apart_sq
                            best = place
                            best_face = face
        else:
            left = nodes[index + 1]
            right = nodes[node.first]
            to_left = _distance_sq_to_box(p, left.lower, left.upper)
            to_right = _distance_sq_to_box(p, right.lower, right.upper)
            is_left_first = to_left <= to_right
            nearer = where(is_left_first, to_left, to_right)
            farther = where(is_left_first, to_right, to_left)
            if nearer <= best_sq:
                next = where(is_left_first, index + 1, node.first)
            if farther <= best_sq:
                waiting[n_waiting] = where(is_left_first, node.first, index + 1)
                apart[n_waiting] = farther
                n_waiting += 1
        while next < 0 and n_waiting > 0:
            n_waiting -= 1
            if apart[n_waiting] <= best_sq:
                next = waiting[n_waiting]
        index = next
    return best


def _farthest_sq_in_box(p: vec3, lower: vec3, upper: vec3):
    x = max(abs(p[0] - lower[0]), abs(p[0] - upper[0]))
    y = max(abs(p[1] - lower[1]), abs(p[1] - upper[1]))
    z = max(abs(p[2] - lower[2]), abs(p[2] - upper[2]))
    return x * x + y * y + z * z


# The place of the corner farthest from a point, three a face; -1 where none is farther than `min_dist`.
def _farthest_corner(mesh: _Mesh, p: vec3, min_dist: float):
    nodes = mesh.bvh.nodes
    corners = mesh.corners
    waiting = zeros(shape=64, dtype=int32)
    n_waiting = int(0)
    best = int(-1)
    best_sq = min_dist * min_dist
    index = _first_node(mesh.bvh, -1)
    while index >= 0:
        node = nodes[index]
        next = int(-1)
        if _farthest_sq_in_box(p, node.lower, node.upper) > best_sq:
            if node.end < 0:
                for place in range(3 * node.first, 3 * (-1 - node.end)):
                    apart_sq = length_sq(corners[place] - p)
                    if apart_sq > best_sq:
                        best_sq = apart_sq
                        best = place
            else:
                left = nodes[index + 1]
                right = nodes[node.first]
                in_left = _farthest_sq_in_box(p, left.lower, left.upper)
                is_left_first = in_left >= _farthest_sq_in_box(p, right.lower, right.upper)
                next = where(is_left_first, index + 1, node.first)
                waiting[n_waiting] = where(is_left_first, node.first, index + 1)
                n_waiting += 1
        if next < 0 and n_waiting > 0:
            n_waiting -= 1
            next = waiting[n_waiting]
        index = next
    return best


# The nearest point's weights; not those of the traversal, for gradients.
def _weights_at(mesh: _Mesh, place: int, p: vec3):
    a, b, c = _corners_of(mesh, mesh.bvh.items[place])
    return _closest_weights(a, b, c, p)


def mesh_query_point_no_sign(id: uint64, point: vec3, max_dist: float):
    mesh = _mesh(id)
    place = _nearest_face(mesh, point, max_dist)
    found = MeshQueryPoint()
    if place >= 0:
        weights = _weights_at(mesh, place, point)
        found = MeshQueryPoint(True, 0.0, mesh.bvh.items[place], weights[0], weights[1])
    return found


def mesh_query_point_no_sign(id: uint64, point: vec3, max_dist: float, face: int, bary_u: float, bary_v: float):
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result:
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result, face, bary_u, bary_v


def mesh_query_furthest_point_no_sign(id: uint64, point: vec3, min_dist: float):
    mesh = _mesh(id)
    place = _farthest_corner(mesh, point, min_dist)
    found = MeshQueryPoint()
    if place >= 0:
        corner = place % 3
        found = MeshQueryPoint(
            True, 0.0, mesh.bvh.items[place // 3], where(corner == 0, 1.0, 0.0), where(corner == 1, 1.0, 0.0)
        )
    return found


def mesh_query_furthest_point_no_sign(
    id: uint64, point: vec3, min_dist: float, face: int, bary_u: float, bary_v: float
):
    found = mesh_query_furthest_point_no_sign(id, point, min_dist)
    if found.result:
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result, face, bary_u, bary_v
