"""Whether a point is inside a mesh, by four ways, with the nearest point.

In: a `Mesh`'s id, a point, a distance. Out: a `MeshQueryPoint` whose sign is -1 inside and 1 outside.

- `mesh_query_point`: two of three rays along the axes first hit the back of a face.
- `…_sign_parity`: rays hit an odd number of faces.
- `…_sign_normal`: the point is behind the mesh at the nearest point. On an edge or a corner the normals of all faces
  there count by their angles; those faces are the ones that have the very corners. Right for closed meshes without
  error.
- `…_sign_winding_number`: how often the mesh goes around the point; for meshes with holes. Far faces count together.

Sources: J. Baerentzen and H. Aanaes, "Signed distance computation using the angle weighted pseudonormal", IEEE TVCG 11
(2005); G. Barill et al., "Fast winding numbers for soups and clouds", ACM TOG 37 (2018).
"""


def _sign_by_rays(mesh: _Mesh, p: vec3):
    votes = int(0)
    for axis in range(3):
        dir = vec3(float(axis == 0), float(axis == 1), float(axis == 2))
        place = _nearest_hit(mesh, p, dir, 3.4028235e38, -1)
        if place >= 0:
            a = mesh.corners[3 * place]
            normal = cross(mesh.corners[3 * place + 1] - a, mesh.corners[3 * place + 2] - a)
            if dot(normal, dir) > 0.0:
                votes += 1
    return where(votes >= 2, -1.0, 1.0)


def _sign_by_parity(mesh: _Mesh, p: vec3, n_sample: int, scale: float):
    votes = int(0)
    state = rand_init(42)
    for _ in range(n_sample):
        x = randf(state, -scale, scale)
        y = randf(state, -scale, scale)
        z = randf(state, -scale, scale)
        dir = vec3(1.0 + x, 1.0 + y, 1.0 + z)
        n = _count_hits(mesh, p, dir, 3.4028235e38, 2147483647, -1)
        votes += n % 2
    return where(votes * 2 >= n_sample, -1.0, 1.0)


# The angle at the first corner of a triangle.
def _angle(at: vec3, b: vec3, c: vec3):
    return atan2(length(cross(b - at, c - at)), dot(b - at, c - at))


def _is_same(a: vec3, b: vec3):
    return a[0] == b[0] and a[1] == b[1] and a[2] == b[2]


# The sum of the normals of all faces at the corner `x`, by angle; with an edge from `x` to `y`, of those at the edge.
def _normal_around(mesh: _Mesh, x: vec3, y: vec3, is_edge: bool):
    total = vec3()
    query = _bvh_query(mesh.bvh, -1, 0, x, x, 0.0)
    index = query.node
    while index < query.last:
        node = query.bvh.nodes[index]
        is_met = _do_boxes_meet(x, x, node.lower, node.upper)
        if node.end >= 0:
            index = where(is_met, index + 1, node.end)
        else:
            index += 1
            if is_met:
                for place in range(node.first, -1 - node.end):
                    total += _share_of_normal(mesh, place, x, y, is_edge)
    return total


def _share_of_normal(mesh: _Mesh, place: int, x: vec3, y: vec3, is_edge: bool):
    a = mesh.corners[3 * place]
    b = mesh.corners[3 * place + 1]
    c = mesh.corners[3 * place + 2]
    angle = float(0.0)
    if is_edge:
        has_x = _is_same(a, x) or _is_same(b, x) or _is_same(c, x)
        has_y = _is_same(a, y) or _is_same(b, y) or _is_same(c, y)
        angle = where(has_x and has_y, 1.0, 0.0)
    elif _is_same(a, x):
        angle = _angle(a, b, c)
    elif _is_same(b, x):
        angle = _angle(b, c, a)
    elif _is_same(c, x):
        angle = _angle(c, a, b)
    return normalize(cross(b - a, c - a)) * angle


def _sign_by_normal(mesh: _Mesh, place: int, weights: vec3, p: vec3):
    a = mesh.corners[3 * place]
    b = mesh.corners[3 * place + 1]
    c = mesh.corners[3 * place + 2]
    normal = cross(b - a, c - a)
    n_zeros = int(weights[0] == 0.0) + int(weights[1] == 0.0) + int(weights[2] == 0.0)
    if n_zeros > 0:
        x = where(weights[0] != 0.0, a, where(weights[1] != 0.0, b, c))
        y = where(weights[2] != 0.0, c, b)
        normal = _normal_around(mesh, x, y, n_zeros == 1)
    return where(dot(normal, p - _weighted(a, b, c, weights)) > 0.0, 1.0, -1.0)


# How often the mesh goes around a point: 1 inside, 0 outside where it has no holes.
def _winding_number(mesh: _Mesh, p: vec3, accuracy: float):
    nodes = mesh.bvh.nodes
    angle = float(0.0)
    index = int(0)
    while index < mesh.bvh.n_nodes:
        node = nodes[index]
        if node.end < 0:
            index += 1
            for place in range(node.first, -1 - node.end):
                angle += _solid_angle(
                    mesh.corners[3 * place], mesh.corners[3 * place + 1], mesh.corners[3 * place + 2], p
                )
        else:
            cluster = mesh.clusters[index]
            away = cluster.center - p
            apart_sq = length_sq(away)
            reach = accuracy * cluster.radius
            if apart_sq > reach * reach:
                angle += dot(cluster.normal, away) / (apart_sq * sqrt(apart_sq))
                index = node.end
            else:
                index += 1
    return angle * 0.07957747154594767


def mesh_query_point(id: uint64, point: vec3, max_dist: float):
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result:
        found.sign = _sign_by_rays(_mesh(id), point)
    return found


def mesh_query_point_sign_parity(
    id: uint64, point: vec3, max_dist: float, n_sample: int = 1, perturbation_scale: float = 0.1
):
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result:
        found.sign = _sign_by_parity(_mesh(id), point, n_sample, perturbation_scale)
    return found


# `epsilon` is Warp's: corners are told apart here by their coordinates.
def mesh_query_point_sign_normal(id: uint64, point: vec3, max_dist: float, epsilon: float = 0.001):
    mesh = _mesh(id)
    place = _nearest_face(mesh, point, max_dist)
    found = MeshQueryPoint()
    if place >= 0:
        weights = _weights_at(mesh, place, point)
        sign = _sign_by_normal(mesh, place, weights, point)
        found = MeshQueryPoint(True, sign, mesh.bvh.items[place], weights[0], weights[1])
    return found


def mesh_query_point_sign_winding_number(
    id: uint64, point: vec3, max_dist: float, accuracy: float = 2.0, threshold: float = 0.5
):
    found = mesh_query_point_no_sign(id, point, max_dist)
    if found.result:
        mesh = _mesh(id)
        if mesh.clusters.shape[0] > 0:
            found.sign = where(_winding_number(mesh, point, accuracy) > threshold, -1.0, 1.0)
        else:
            found.sign = _sign_by_rays(mesh, point)
    return found


# The forms that write to their arguments.
def mesh_query_point(id: uint64, point: vec3, max_dist: float, inside: float, face: int, bary_u: float, bary_v: float):
    found = mesh_query_point(id, point, max_dist)
    return _written(found, inside, face, bary_u, bary_v)


def mesh_query_point_sign_parity(
    id: uint64,
    point: vec3,
    max_dist: float,
    inside: float,
    face: int,
    bary_u: float,
    bary_v: float,
    n_sample: int = 1,
    perturbation_scale: float = 0.1,
):
    found = mesh_query_point_sign_parity(id, point, max_dist, n_sample, perturbation_scale)
    return _written(found, inside, face, bary_u, bary_v)


def mesh_query_point_sign_normal(
    id: uint64,
    point: vec3,
    max_dist: float,
    inside: float,
    face: int,
    bary_u: float,
    bary_v: float,
    epsilon: float = 0.001,
):
    found = mesh_query_point_sign_normal(id, point, max_dist, epsilon)
    return _written(found, inside, face, bary_u, bary_v)


def mesh_query_point_sign_winding_number(
    id: uint64,
    point: vec3,
    max_dist: float,
    inside: float,
    face: int,
    bary_u: float,
    bary_v: float,
    accuracy: float = 2.0,
    threshold: float = 0.5,
):
    found = mesh_query_point_sign_winding_number(id, point, max_dist, accuracy, threshold)
    return _written(found, inside, face, bary_u, bary_v)


def _written(found: MeshQueryPoint, inside: float, face: int, bary_u: float, bary_v: float):
    if found.result:
        inside = found.sign
        face = found.face
        bary_u = found.u
        bary_v = found.v
    return found.result, inside, face, bary_u, bary_v
