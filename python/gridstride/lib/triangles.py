"""Triangles and edges: closest points, rays, overlap.

In: corners. Out: barycentric coordinates (weights of the first two corners), distances.

Sources: C. Ericson, "Real-Time Collision Detection" (2005), 5.1.5 (closest point of a triangle), 5.1.9 (of two
segments), 5.2 (separating axes); J. Amanatides and K. Choi, "Ray tracing triangular meshes" (1997), for volumes with
edges; A. Van Oosterom and J. Strackee, "The solid angle of a plane triangle" (1983).
"""


# The weights of a, b and c; exactly 0 where the closest point is on an edge or a corner.
def _closest_weights(a: vec3, b: vec3, c: vec3, p: vec3):
    ab = b - a
    ac = c - a
    ap = p - a
    d1 = dot(ab, ap)
    d2 = dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return vec3(1.0, 0.0, 0.0)
    bp = p - b
    d3 = dot(ab, bp)
    d4 = dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return vec3(0.0, 1.0, 0.0)
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0 and d1 > d3:
        v = d1 / (d1 - d3)
        return vec3(1.0 - v, v, 0.0)
    cp = p - c
    d5 = dot(ab, cp)
    d6 = dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return vec3(0.0, 0.0, 1.0)
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0 and d2 > d6:
        w = d2 / (d2 - d6)
        return vec3(1.0 - w, 0.0, w)
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0 and (d4 - d3) + (d5 - d6) > 0.0:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return vec3(0.0, 1.0 - w, w)
    # Rounding may leave nothing of a sliver's area.
    scale = 1.0 / (va + vb + vc)
    v = clamp(vb * scale, 0.0, 1.0)
    w = clamp(vc * scale, 0.0, 1.0 - v)
    return vec3(1.0 - v - w, v, w)


def _weighted(a: vec3, b: vec3, c: vec3, weights: vec3):
    return a * weights[0] + b * weights[1] + c * weights[2]


def _distance_sq_to_triangle(a: vec3, b: vec3, c: vec3, p: vec3):
    return length_sq(_weighted(a, b, c, _closest_weights(a, b, c, p)) - p)


# Twice the volumes that the direction spans with the edges opposite to a, b and c, all relative to the start of a ray.
# Triangles that share an edge get opposite numbers for it, bit for bit: no ray passes between them.
def _ray_volumes(a: vec3, b: vec3, c: vec3, dir: vec3):
    u = dot(cross(b + c, c - b), dir)
    v = dot(cross(c + a, a - c), dir)
    w = dot(cross(a + b, b - a), dir)
    return vec3(u, v, w)


# Where along a ray a triangle is hit; -1 where it is not.
def _ray_hits_triangle(start: vec3, dir: vec3, a: vec3, b: vec3, c: vec3):
    a = a - start
    b = b - start
    c = c - start
    volumes = _ray_volumes(a, b, c, dir)
    least = where(volumes[0] < volumes[1], volumes[0], volumes[1])
    least = where(volumes[2] < least, volumes[2], least)
    most = where(volumes[0] > volumes[1], volumes[0], volumes[1])
    most = where(volumes[2] > most, volumes[2], most)
    t = float(-1.0)
    if least >= 0.0 or most <= 0.0:
        normal = cross(b - a, c - a)
        along = dot(normal, dir)
        if along != 0.0:
            t = dot(normal, a) / along
    return t


# The same for a triangle that is hit: where, the weights of a and b, and the front: positive where it faces the start.
def _ray_on_triangle(start: vec3, dir: vec3, a: vec3, b: vec3, c: vec3):
    a = a - start
    b = b - start
    c = c - start
    volumes = _ray_volumes(a, b, c, dir)
    whole = volumes[0] + volumes[1] + volumes[2]
    normal = cross(b - a, c - a)
    t = dot(normal, a) / dot(normal, dir)
    return t, volumes[0] / whole, volumes[1] / whole, -whole, normalize(normal)


# The angle of a triangle as seen from a point; positive from behind.
def _solid_angle(a: vec3, b: vec3, c: vec3, p: vec3):
    a = a - p
    b = b - p
    c = c - p
    la = length(a)
    lb = length(b)
    lc = length(c)
    below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return 2.0 * atan2(dot(a, cross(b, c)), below)


# The places of the closest points on two segments, from 0 to 1, and their distance.
def closest_point_edge_edge(p1: vec3, q1: vec3, p2: vec3, q2: vec3, epsilon: float):
    d1 = q1 - p1
    d2 = q2 - p2
    r = p1 - p2
    a = dot(d1, d1)
    e = dot(d2, d2)
    f = dot(d2, r)
    s = float(0.0)
    t = float(0.0)
    if a <= epsilon and e <= epsilon:
        return vec3(s, t, length(r))
    if a <= epsilon:
        t = clamp(f / e, 0.0, 1.0)
    else:
        c = dot(d1, r)
        if e <= epsilon:
            s = clamp(-c / a, 0.0, 1.0)
        else:
            b = dot(d1, d2)
            apart = a * e - b * b
            if apart != 0.0:
                s = clamp((b * f - c * e) / apart, 0.0, 1.0)
            t = (b * s + f) / e
            if t < 0.0:
                t = float(0.0)
                s = clamp(-c / a, 0.0, 1.0)
            elif t > 1.0:
                t = float(1.0)
                s = clamp((b - c) / a, 0.0, 1.0)
    return vec3(s, t, length(p1 + d1 * s - (p2 + d2 * t)))


# Whether a plane with this normal has the two triangles on different sides. A normal of zero has not.
def _is_separated(axis: Vector3, a0: Vector3, a1: Vector3, a2: Vector3, b0: Vector3, b1: Vector3, b2: Vector3):
    x0 = dot(axis, a0)
    x1 = dot(axis, a1)
    x2 = dot(axis, a2)
    y0 = dot(axis, b0)
    y1 = dot(axis, b1)
    y2 = dot(axis, b2)
    is_before = max(max(x0, x1), x2) < min(min(y0, y1), y2)
    is_behind = max(max(y0, y1), y2) < min(min(x0, x1), x2)
    return is_before or is_behind


# 1 where the triangles meet, touching included, else 0: two convex bodies are apart only where a plane along a face, or
# along an edge of each, separates them; for triangles in one plane an edge and the normal.
def intersect_tri_tri(v0: Vector3, v1: Vector3, v2: Vector3, u0: Vector3, u1: Vector3, u2: Vector3):
    # Relative to one corner the numbers are as small as the triangles.
    a1 = v1 - v0
    a2 = v2 - v0
    a0 = v0 - v0
    b0 = u0 - v0
    b1 = u1 - v0
    b2 = u2 - v0
    n = cross(a1, a2)
    m = cross(b1 - b0, b2 - b0)
    is_apart = _is_separated(n, a0, a1, a2, b0, b1, b2) or _is_separated(m, a0, a1, a2, b0, b1, b2)
    for i in range(3):
        e = a1
        if i == 1:
            e = a2 - a1
        if i == 2:
            e = -a2
        is_apart = is_apart or _is_separated(cross(n, e), a0, a1, a2, b0, b1, b2)
        is_apart = is_apart or _is_separated(cross(e, b1 - b0), a0, a1, a2, b0, b1, b2)
        is_apart = is_apart or _is_separated(cross(e, b2 - b1), a0, a1, a2, b0, b1, b2)
        is_apart = is_apart or _is_separated(cross(e, b0 - b2), a0, a1, a2, b0, b1, b2)
    is_apart = is_apart or _is_separated(cross(m, b1 - b0), a0, a1, a2, b0, b1, b2)
    is_apart = is_apart or _is_separated(cross(m, b2 - b1), a0, a1, a2, b0, b1, b2)
    is_apart = is_apart or _is_separated(cross(m, b0 - b2), a0, a1, a2, b0, b1, b2)
    return where(is_apart, 0, 1)
