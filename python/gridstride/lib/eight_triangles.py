"""Eight triangles at once, on a CPU: the functions of `triangles.py` that queries of meshes call most, bit for bit.

In: nine rows of eight numbers, x of the first corners, y, z, x of the second, and so on; a ray or a point. Out: eight
numbers, and masks with a bit for each triangle.
"""


class _Eight3:
    x: Octet
    y: Octet
    z: Octet


def _eight3(p: vec3):
    return _Eight3(_eight(p[0]), _eight(p[1]), _eight(p[2]))


def _corner_of_eight(rows: array(dtype=Octet), row: uint64):
    return _Eight3(rows[row], rows[row + uint64(1)], rows[row + uint64(2)])


def _sub3(a: _Eight3, b: _Eight3):
    return _Eight3(a.x - b.x, a.y - b.y, a.z - b.z)


def _dot3(a: _Eight3, b: _Eight3):
    return cw_mul(a.x, b.x) + cw_mul(a.y, b.y) + cw_mul(a.z, b.z)


def _cross3(a: _Eight3, b: _Eight3):
    x = cw_mul(a.y, b.z) - cw_mul(a.z, b.y)
    y = cw_mul(a.z, b.x) - cw_mul(a.x, b.z)
    z = cw_mul(a.x, b.y) - cw_mul(a.y, b.x)
    return _Eight3(x, y, z)


# As one of `_ray_volumes`.
def _volume3(a: _Eight3, b: _Eight3, dir: _Eight3):
    both = _Eight3(a.x + b.x, a.y + b.y, a.z + b.z)
    return _dot3(_cross3(both, _sub3(b, a)), dir)


# Where along a ray the triangles are hit, and which; as `_ray_hits_triangle`.
def _ray_hits_eight(rows: array(dtype=Octet), row: uint64, start: vec3, dir: vec3):
    origin = _eight3(start)
    along = _eight3(dir)
    zero = _eight(0.0)
    a = _sub3(_corner_of_eight(rows, row), origin)
    b = _sub3(_corner_of_eight(rows, row + uint64(3)), origin)
    c = _sub3(_corner_of_eight(rows, row + uint64(6)), origin)
    u = _volume3(b, c, along)
    v = _volume3(c, a, along)
    w = _volume3(a, b, along)
    least = _lesser(w, _lesser(u, v))
    most = _greater(w, _greater(u, v))
    normal = _cross3(_sub3(b, a), _sub3(c, a))
    slope = _dot3(normal, along)
    t = cw_div(_dot3(normal, a), slope)
    is_within = _mask_le(zero, least) | _mask_le(most, zero)
    is_flat = _mask_le(slope, zero) & _mask_le(zero, slope)
    return t, is_within & ~is_flat & _mask_le(zero, t)


# Squares of the distances of a point from the triangles; as `_distance_sq_to_triangle`.
def _distance_sq_to_eight(rows: array(dtype=Octet), row: uint64, p: vec3):
    zero = _eight(0.0)
    one = _eight(1.0)
    at = _eight3(p)
    a = _corner_of_eight(rows, row)
    b = _corner_of_eight(rows, row + uint64(3))
    c = _corner_of_eight(rows, row + uint64(6))
    ab = _sub3(b, a)
    ac = _sub3(c, a)
    ap = _sub3(at, a)
    bp = _sub3(at, b)
    cp = _sub3(at, c)
    d1 = _dot3(ab, ap)
    d2 = _dot3(ac, ap)
    d3 = _dot3(ab, bp)
    d4 = _dot3(ac, bp)
    d5 = _dot3(ab, cp)
    d6 = _dot3(ac, cp)
    vc = cw_mul(d1, d4) - cw_mul(d3, d2)
    vb = cw_mul(d5, d2) - cw_mul(d1, d6)
    va = cw_mul(d3, d6) - cw_mul(d5, d4)
    # At a corner, on an edge, or within: in the order of `_closest_weights`, of which the first that holds counts.
    on_a = _mask_le(d1, zero) & _mask_le(d2, zero)
    on_b = _mask_le(zero, d3) & _mask_le(d4, d3)
    on_ab = _mask_le(vc, zero) & _mask_le(zero, d1) & _mask_le(d3, zero) & ~_mask_le(d1, d3)
    on_c = _mask_le(zero, d6) & _mask_le(d5, d6)
    on_ac = _mask_le(vb, zero) & _mask_le(zero, d2) & _mask_le(d6, zero) & ~_mask_le(d2, d6)
    far_b = d4 - d3
    far_c = d5 - d6
    both = far_b + far_c
    on_bc = _mask_le(va, zero) & _mask_le(zero, far_b) & _mask_le(zero, far_c) & ~_mask_le(both, zero)
    part = _mask_select(on_ab, d1, _mask_select(on_ac, d2, _mask_select(on_bc, far_b, one)))
    whole = _mask_select(on_ac, d2 - d6, _mask_select(on_bc, both, va + vb + vc))
    share = cw_div(part, _mask_select(on_ab, d1 - d3, whole))
    rest = one - share
    v = _lesser(_greater(cw_mul(vb, share), zero), one)
    w = _lesser(_greater(cw_mul(vc, share), zero), one - v)
    u = one - v - w
    u = _mask_select(on_ab | on_ac, rest, _mask_select(on_bc, zero, u))
    v = _mask_select(on_ab, share, _mask_select(on_ac, zero, _mask_select(on_bc, rest, v)))
    w = _mask_select(on_ab, zero, _mask_select(on_ac | on_bc, share, w))
    # A corner comes before the edges behind it.
    on_c = on_c & ~on_ab
    u = _mask_select(on_c, zero, u)
    v = _mask_select(on_c, zero, v)
    w = _mask_select(on_c, one, w)
    u = _mask_select(on_a, one, _mask_select(on_b, zero, u))
    v = _mask_select(on_a, zero, _mask_select(on_b, one, v))
    w = _mask_select(on_a | on_b, zero, w)
    x = cw_mul(a.x, u) + cw_mul(b.x, v) + cw_mul(c.x, w) - at.x
    y = cw_mul(a.y, u) + cw_mul(b.y, v) + cw_mul(c.y, w) - at.y
    z = cw_mul(a.z, u) + cw_mul(b.z, v) + cw_mul(c.z, w) - at.z
    return cw_mul(x, x) + cw_mul(y, y) + cw_mul(z, z)
