"""Rays and nearest points in a mesh on a CPU: a tree whose nodes have eight children, tested at once.

In: a mesh whose record has that tree (`crates/geometry/src/wide.rs`), a ray or a point. Out: the place of the face.

A child is a node, or one face with bounds of its own. What a query gives does not depend on the tree: a hit counts as
where the ray enters the face's bounds if rounding puts it before that, so that no bounds around the face leave it out;
of faces as near, that with the least number counts. The same holds for the tree of two that GPUs walk (`mesh_rays.py`,
`mesh_points.py`).

Source: H. Dammertz, J. Hanika and A. Keller, "Shallow bounding volume hierarchies for fast SIMD ray tracing of
incoherent rays" (2008).
"""


# NaN and infinity have no place among bounds.
def _is_point(p: vec3):
    return isfinite(p[0]) and isfinite(p[1]) and isfinite(p[2])


# The rows of a node in which a ray enters its children's bounds.
def _rows_of_entry(rcp: vec3):
    x = where(rcp[0] >= 0.0, uint64(0), uint64(3))
    y = where(rcp[1] >= 0.0, uint64(1), uint64(4))
    z = where(rcp[2] >= 0.0, uint64(2), uint64(5))
    return x, y, z


# Where a ray enters the bounds of a node's eight children, and a bit for each that it meets before `last`; as
# `_through_box`.
def _ray_through_eight(
    rows: array(dtype=Octet), row: uint64, x: uint64, y: uint64, z: uint64, start: vec3, rcp: vec3, last: float
):
    enter = _greater(cw_mul(rows[row + x] - _eight(start[0]), _eight(rcp[0])), _eight(0.0))
    enter = _greater(cw_mul(rows[row + y] - _eight(start[1]), _eight(rcp[1])), enter)
    enter = _greater(cw_mul(rows[row + z] - _eight(start[2]), _eight(rcp[2])), enter)
    grow = _eight(1.0000004)
    leave = cw_mul(cw_mul(rows[row + (uint64(3) - x)] - _eight(start[0]), _eight(rcp[0])), grow)
    leave = _lesser(leave, _eight(last))
    leave = _lesser(cw_mul(cw_mul(rows[row + (uint64(5) - y)] - _eight(start[1]), _eight(rcp[1])), grow), leave)
    leave = _lesser(cw_mul(cw_mul(rows[row + (uint64(7) - z)] - _eight(start[2]), _eight(rcp[2])), grow), leave)
    return enter, _mask_le(enter, leave)


# The place of the face that is hit first; -1 without a hit before `max_t`.
def _nearest_hit_wide(mesh: _Mesh, start: vec3, dir: vec3, max_t: float):
    rows = _contiguous(mesh.wide)
    children = _contiguous(mesh.wide_children)
    items = _contiguous(mesh.bvh.items)
    rcp = _one_over(dir)
    x, y, z = _rows_of_entry(rcp)
    waiting = zeros(shape=128, dtype=uint32)
    apart = zeros(shape=128, dtype=float32)
    keys = zeros(shape=8, dtype=float32)
    n_waiting = uint64(0)
    best = int(-1)
    best_face = int(-1)
    best_t = float(max_t)
    node = uint64(0)
    is_there = _is_point(start) and _is_point(dir)
    while is_there:
        enter, mask = _ray_through_eight(rows, uint64(18) * node, x, y, z, start, rcp, best_t)
        first = uint64(144) * node + uint64(48)
        inner = uint32(children[first + uint64(8)])
        hits = mask & ~inner
        mask = mask & inner
        if hits != uint32(0):
            t, are_hit = _ray_hits_eight(rows, uint64(18) * node + uint64(8), start, dir)
            t = _greater(enter, t)
            hits = hits & are_hit & _mask_le(t, _eight(best_t))
            if hits != uint32(0):
                for i in range(8):
                    keys[i] = t[i]
            while hits != uint32(0):
                k = _trailing_zeros(hits)
                hits = hits & (hits - uint32(1))
                place = -1 - children[first + k]
                face = items[uint64(place)]
                if keys[k] < best_t or (keys[k] == best_t and face < best_face):
                    best_t = keys[k]
                    best = place
                    best_face = face
        if mask != uint32(0):
            for i in range(8):
                keys[i] = enter[i]
        bottom = n_waiting
        while mask != uint32(0):
            k = _trailing_zeros(mask)
            mask = mask & (mask - uint32(1))
            # The nearest comes to lie on top.
            j = n_waiting
            while j > bottom and apart[j - uint64(1)] < keys[k]:
                apart[j] = apart[j - uint64(1)]
                waiting[j] = waiting[j - uint64(1)]
                j -= uint64(1)
            apart[j] = keys[k]
            waiting[j] = uint32(children[first + k])
            n_waiting += uint64(1)
        is_there = False
        while not is_there and n_waiting > uint64(0):
            n_waiting -= uint64(1)
            node = uint64(waiting[n_waiting])
            is_there = apart[n_waiting] <= best_t
    return best


# How many faces are hit before `max_t`, up to a number of them.
def _count_hits_wide(mesh: _Mesh, start: vec3, dir: vec3, max_t: float, most: int):
    rows = _contiguous(mesh.wide)
    children = _contiguous(mesh.wide_children)
    rcp = _one_over(dir)
    x, y, z = _rows_of_entry(rcp)
    waiting = zeros(shape=128, dtype=uint32)
    n_waiting = uint64(0)
    if _is_point(start) and _is_point(dir):
        n_waiting = uint64(1)
    n = int(0)
    while n_waiting > uint64(0) and n < most:
        n_waiting -= uint64(1)
        node = uint64(waiting[n_waiting])
        enter, mask = _ray_through_eight(rows, uint64(18) * node, x, y, z, start, rcp, max_t)
        first = uint64(144) * node + uint64(48)
        inner = uint32(children[first + uint64(8)])
        hits = mask & ~inner
        mask = mask & inner
        if hits != uint32(0):
            t, are_hit = _ray_hits_eight(rows, uint64(18) * node + uint64(8), start, dir)
            # Before the end, not at it.
            n += _count_bits(hits & are_hit & ~_mask_le(_eight(max_t), _greater(enter, t)))
        while mask != uint32(0):
            k = _trailing_zeros(mask)
            mask = mask & (mask - uint32(1))
            waiting[n_waiting] = uint32(children[first + k])
            n_waiting += uint64(1)
    return min(n, most)


# How far eight intervals are from a number; as `_outside`.
def _outside_eight(x: float, lower: Octet, upper: Octet):
    below = lower - _eight(x)
    above = _eight(x) - upper
    return _greater(_greater(below, above), _eight(0.0))


# The place of the face nearest to a point; -1 where none is nearer than the root of `max_sq`.
def _nearest_face_wide(mesh: _Mesh, p: vec3, max_sq: float):
    rows = _contiguous(mesh.wide)
    children = _contiguous(mesh.wide_children)
    items = _contiguous(mesh.bvh.items)
    waiting = zeros(shape=128, dtype=uint32)
    apart = zeros(shape=128, dtype=float32)
    keys = zeros(shape=8, dtype=float32)
    n_waiting = uint64(0)
    best = int(-1)
    best_face = int(-1)
    best_sq = float(max_sq)
    node = uint64(0)
    is_there = _is_point(p)
    while is_there:
        row = uint64(18) * node
        x = _outside_eight(p[0], rows[row], rows[row + uint64(3)])
        y = _outside_eight(p[1], rows[row + uint64(1)], rows[row + uint64(4)])
        z = _outside_eight(p[2], rows[row + uint64(2)], rows[row + uint64(5)])
        away = cw_mul(x, x) + cw_mul(y, y) + cw_mul(z, z)
        mask = _mask_le(away, _eight(best_sq))
        first = uint64(144) * node + uint64(48)
        inner = uint32(children[first + uint64(8)])
        near = mask & ~inner
        mask = mask & inner
        if near != uint32(0):
            apart_sq = _distance_sq_to_eight(rows, uint64(18) * node + uint64(8), p)
            apart_sq = _greater(away, apart_sq)
            near = near & _mask_le(apart_sq, _eight(best_sq))
            if near != uint32(0):
                for i in range(8):
                    keys[i] = apart_sq[i]
            while near != uint32(0):
                k = _trailing_zeros(near)
                near = near & (near - uint32(1))
                if keys[k] <= best_sq:
                    place = -1 - children[first + k]
                    face = items[uint64(place)]
                    if keys[k] < best_sq or face < best_face:
                        best_sq = keys[k]
                        best = place
                        best_face = face
        if mask != uint32(0):
            for i in range(8):
                keys[i] = away[i]
        bottom = n_waiting
        while mask != uint32(0):
            k = _trailing_zeros(mask)
            mask = mask & (mask - uint32(1))
            # The nearest comes to lie on top.
            j = n_waiting
            while j > bottom and apart[j - uint64(1)] < keys[k]:
                apart[j] = apart[j - uint64(1)]
                waiting[j] = waiting[j - uint64(1)]
                j -= uint64(1)
            apart[j] = keys[k]
            waiting[j] = uint32(children[first + k])
            n_waiting += uint64(1)
        is_there = False
        while not is_there and n_waiting > uint64(0):
            n_waiting -= uint64(1)
            node = uint64(waiting[n_waiting])
            is_there = apart[n_waiting] <= best_sq
    return best
