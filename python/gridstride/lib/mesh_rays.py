"""Rays through a mesh: the nearest hit, any hit, the number of hits.

In: a `Mesh`'s id, start and direction, which need not be of length 1; `t` counts in directions. Out: a `MeshQueryRay`.

The traversal goes to the nearer child first and keeps the other one with where the ray enters it; on a CPU that of
`mesh_wide.py` takes its place, which also says what is found where faces are hit at one place. It only finds the face;
where that is hit is computed once more from the points, so that its gradient is that of one triangle.
"""


class MeshQueryRay:
    result: bool
    # Positive where the front of the face is hit.
    sign: float32
    face: int32
    t: float32
    u: float32
    v: float32
    normal: vec3


# Where a traversal begins; -1 for a tree without nodes, or a root that is none.
def _first_node(bvh: _Bvh, root: int):
    first = max(root, 0)
    if root < -1 or first >= bvh.n_nodes:
        first = int(-1)
    return first


def _ray_hits_face(corners: array(dtype=vec3), place: int, start: vec3, dir: vec3):
    return _ray_hits_triangle(start, dir, corners[3 * place], corners[3 * place + 1], corners[3 * place + 2])


# Where a ray enters a face's bounds, and where it leaves them or ends.
def _ray_through_bounds(corners: array(dtype=vec3), place: int, start: vec3, rcp: vec3, last: float):
    a = corners[3 * place]
    b = corners[3 * place + 1]
    c = corners[3 * place + 2]
    return _through_box(start, rcp, min(min(a, b), c), max(max(a, b), c), 0.0, last)


# The place of the face that is hit first, in the tree under `root`; -1 without a hit before `max_t`.
def _nearest_hit(mesh: _Mesh, start: vec3, dir: vec3, max_t: float, root: int):
    place = int(-1)
    if _on_host() and (root == -1 or root == 0) and mesh.wide.shape[0] > 0:
        place = _nearest_hit_wide(mesh, start, dir, max_t)
    elif _is_point(start) and _is_point(dir):
        place = _nearest_hit_by_twos(mesh, start, dir, max_t, root)
    return place


def _nearest_hit_by_twos(mesh: _Mesh, start: vec3, dir: vec3, max_t: float, root: int):
    nodes = mesh.bvh.nodes
    corners = mesh.corners
    rcp = _one_over(dir)
    waiting = zeros(shape=64, dtype=int32)
    enters = zeros(shape=64, dtype=float32)
    n_waiting = int(0)
    best = int(-1)
    best_face = int(-1)
    best_t = float(max_t)
    index = _first_node(mesh.bvh, root)
    while index >= 0:
        node = nodes[index]
        next = int(-1)
        if node.end < 0:
            for place in range(node.first, -1 - node.end):
                t = _ray_hits_face(corners, place, start, dir)
                if t >= 0.0 and t <= best_t:
                    enter, leave = _ray_through_bounds(corners, place, start, rcp, best_t)
                    t = where(enter > t, enter, t)
                    if enter <= leave and t <= best_t:
                        face = mesh.bvh.items[place]
                        if t < best_t or face < best_face:
                            best_t = t
                            best = place
                            best_face = face
        else:
            left = nodes[index + 1]
            right = nodes[node.first]
            enter_left, leave_left = _through_box(start, rcp, left.lower, left.upper, 0.0, best_t)
            enter_right, leave_right = _through_box(start, rcp, right.lower, right.upper, 0.0, best_t)
            is_left = enter_left <= leave_left
            is_right = enter_right <= leave_right
            is_left_first = is_left and (not is_right or enter_left <= enter_right)
            if is_left or is_right:
                next = where(is_left_first, index + 1, node.first)
            if is_left and is_right:
                waiting[n_waiting] = where(is_left_first, node.first, index + 1)
                enters[n_waiting] = where(is_left_first, enter_right, enter_left)
                n_waiting += 1
        while next < 0 and n_waiting > 0:
            n_waiting -= 1
            if enters[n_waiting] <= best_t:
                next = waiting[n_waiting]
        index = next
    return best


def mesh_query_ray(id: uint64, start: vec3, dir: vec3, max_t: float, root: int = -1):
    mesh = _mesh(id)
    place = _nearest_hit(mesh, start, dir, max_t, root)
    found = MeshQueryRay()
    if place >= 0:
        face = mesh.bvh.items[place]
        a, b, c = _corners_of(mesh, face)
        t, u, v, sign, normal = _ray_on_triangle(start, dir, a, b, c)
        found = MeshQueryRay(True, sign, face, t, u, v, normal)
    return found


def mesh_query_ray(
    id: uint64,
    start: vec3,
    dir: vec3,
    max_t: float,
    t: float,
    bary_u: float,
    bary_v: float,
    sign: float,
    normal: vec3,
    face: int,
    root: int = -1,
):
    found = mesh_query_ray(id, start, dir, max_t, root)
    if found.result:
        t = found.t
        bary_u = found.u
        bary_v = found.v
        sign = found.sign
        normal = found.normal
        face = found.face
    return found.result, t, bary_u, bary_v, sign, normal, face


# How many faces are hit before `max_t`, up to a number of them.
def _count_hits(mesh: _Mesh, start: vec3, dir: vec3, max_t: float, most: int, root: int):
    n = int(0)
    if _on_host() and (root == -1 or root == 0) and mesh.wide.shape[0] > 0:
        n = _count_hits_wide(mesh, start, dir, max_t, most)
    elif _is_point(start) and _is_point(dir):
        n = _count_hits_by_twos(mesh, start, dir, max_t, most, root)
    return n


def _count_hits_by_twos(mesh: _Mesh, start: vec3, dir: vec3, max_t: float, most: int, root: int):
    query = _bvh_query(mesh.bvh, root, 1, start, _one_over(dir), 0.0)
    corners = mesh.corners
    n = int(0)
    index = query.node
    while index < query.last and n < most:
        node = query.bvh.nodes[index]
        enter, leave = _through_box(start, query.b, node.lower, node.upper, 0.0, max_t)
        is_met = enter <= leave
        if node.end >= 0:
            index = where(is_met, index + 1, node.end)
        else:
            index += 1
            if is_met:
                for place in range(node.first, -1 - node.end):
                    t = _ray_hits_face(corners, place, start, dir)
                    if t >= 0.0 and t < max_t:
                        enter, leave = _ray_through_bounds(corners, place, start, query.b, max_t)
                        if enter <= leave and enter < max_t:
                            n += 1
    return min(n, most)


def mesh_query_ray_anyhit(id: uint64, start: vec3, dir: vec3, max_t: float, root: int = -1):
    return _count_hits(_mesh(id), start, dir, max_t, 1, root) > 0


def mesh_query_ray_count_intersections(id: uint64, start: vec3, dir: vec3, root: int = -1):
    return _count_hits(_mesh(id), start, dir, 3.4028235e38, 2147483647, root)
