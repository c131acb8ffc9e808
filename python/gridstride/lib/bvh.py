"""Queries of a bounding volume hierarchy: the items whose bounds meet a box, a ray, a capsule or a sphere.

In: a `Bvh`'s id and what is asked for. Out: indices of items, one after the other, in the order of the tree.

    query = bvh_query_aabb(bvh, lower, upper)
    while bvh_query_next(query, index): ...

Nodes are in the order of a walk, left child first, and each inner node says where a walk goes on that leaves it out
(`crates/geometry/src/tree.rs`): a query is the number of the next node, and needs no stack. Traversals that go to the
nearer child first have one (`mesh_rays.py`).

Sources: C. Ericson, "Real-Time Collision Detection" (2005), 5.1 and 6.6; T. Ize, "Robust BVH ray traversal", Journal of
Computer Graphics Techniques 2 (2013).
"""


# Of an inner node `first` is the right child, and `end` where a walk goes on that leaves it out. Of a leaf `first` is
# the place of its first item, and `-1 - end` that after its last.
class _BvhNode:
    lower: vec3
    first: int32
    upper: vec3
    end: int32


# What the host writes at the id's address (_geometry/bvh.py).
class _Bvh:
    id: uint64
    n_nodes: int32
    nodes: array(dtype=_BvhNode)
    # Items by their place in the leaves.
    items: array(dtype=int32)
    lowers: array(dtype=vec3)
    uppers: array(dtype=vec3)
    # Ascending, and the root of each.
    groups: array(dtype=int32)
    roots: array(dtype=int32)


# `kind`: 0 a box from a to b, 1 a ray from a, 2 the same with a radius, 3 a sphere around a. Of rays b is one over the
# direction.
class BvhQuery:
    bvh: _Bvh
    kind: int32
    a: vec3
    b: vec3
    radius: float32
    # The next node, and the one after the last.
    node: int32
    last: int32
    # What is left of the present leaf's items.
    place: int32
    end: int32


def _bvh(id: uint64):
    address = _record_of(id, uint64(2))
    bvh = _Bvh()
    if address != uint64(0):
        bvh = _at(_Bvh, address)
    return bvh


def _do_boxes_meet(a_lower: vec3, a_upper: vec3, b_lower: vec3, b_upper: vec3):
    is_x = a_lower[0] <= b_upper[0] and b_lower[0] <= a_upper[0]
    is_y = a_lower[1] <= b_upper[1] and b_lower[1] <= a_upper[1]
    is_z = a_lower[2] <= b_upper[2] and b_lower[2] <= a_upper[2]
    return is_x and is_y and is_z


# How far x is outside of an interval. One instruction each, which `max` with its rule for NaN is not.
def _outside(x: float, lower: float, upper: float):
    below = lower - x
    above = x - upper
    most = where(below > above, below, above)
    return where(most > 0.0, most, 0.0)


def _distance_sq_to_box(p: vec3, lower: vec3, upper: vec3):
    x = _outside(p[0], lower[0], upper[0])
    y = _outside(p[1], lower[1], upper[1])
    z = _outside(p[2], lower[2], upper[2])
    return x * x + y * y + z * z


# Where a ray enters a box, and where it leaves it or ends; the latter is before the former where it misses the box.
# `rcp` is one over the direction. Along a plane of the box 0 * inf is no bound: a NaN is neither more nor less than the
# bound before. Rounding may not lose a hit.
def _through_box(start: vec3, rcp: vec3, lower: vec3, upper: vec3, first: float, last: float):
    x0 = (where(rcp[0] >= 0.0, lower[0], upper[0]) - start[0]) * rcp[0]
    y0 = (where(rcp[1] >= 0.0, lower[1], upper[1]) - start[1]) * rcp[1]
    z0 = (where(rcp[2] >= 0.0, lower[2], upper[2]) - start[2]) * rcp[2]
    enter = where(x0 > first, x0, first)
    enter = where(y0 > enter, y0, enter)
    enter = where(z0 > enter, z0, enter)
    x1 = (where(rcp[0] >= 0.0, upper[0], lower[0]) - start[0]) * rcp[0] * 1.0000004
    y1 = (where(rcp[1] >= 0.0, upper[1], lower[1]) - start[1]) * rcp[1] * 1.0000004
    z1 = (where(rcp[2] >= 0.0, upper[2], lower[2]) - start[2]) * rcp[2] * 1.0000004
    leave = where(x1 < last, x1, last)
    leave = where(y1 < leave, y1, leave)
    leave = where(z1 < leave, z1, leave)
    return enter, leave


def _is_in_query(query: BvhQuery, lower: vec3, upper: vec3, max_dist: float):
    if query.kind == 0:
        return _do_boxes_meet(query.a, query.b, lower, upper)
    if query.kind == 3:
        return _distance_sq_to_box(query.a, lower, upper) <= query.radius * query.radius
    r = vec3(query.radius, query.radius, query.radius)
    enter, leave = _through_box(query.a, query.b, lower - r, upper + r, -3.4028235e38, 3.4028235e38)
    is_near = enter < max_dist or max_dist >= 3.4028235e38 or (query.kind == 2 and enter == max_dist)
    return leave >= enter and leave >= 0.0 and is_near


def _bvh_query(bvh: _Bvh, root: int, kind: int, a: vec3, b: vec3, radius: float):
    query = BvhQuery()
    query.bvh = bvh
    query.kind = kind
    query.a = a
    query.b = b
    query.radius = radius
    if root == -1:
        query.last = bvh.n_nodes
    elif root >= 0 and root < bvh.n_nodes:
        query.node = root
        end = bvh.nodes[root].end
        query.last = where(end < 0, root + 1, end)
    return query


def _one_over(direction: vec3):
    return vec3(1.0 / direction[0], 1.0 / direction[1], 1.0 / direction[2])


def bvh_query_aabb(id: uint64, low: vec3, high: vec3, root: int = -1):
    return _bvh_query(_bvh(id), root, 0, low, high, 0.0)


def bvh_query_ray(id: uint64, start: vec3, dir: vec3, root: int = -1):
    return _bvh_query(_bvh(id), root, 1, start, _one_over(dir), 0.0)


def bvh_query_capsule(id: uint64, start: vec3, dir: vec3, radius: float, root: int = -1):
    return _bvh_query(_bvh(id), root, 2, start, _one_over(dir), max(radius, 0.0))


def bvh_query_sphere(id: uint64, center: vec3, radius: float, root: int = -1):
    return _bvh_query(_bvh(id), root, 3, center, center, max(radius, 0.0))


# The next item, or -1, and the query behind it. The items of a leaf with several are tested by themselves.
def _next_item(query: BvhQuery, max_dist: float):
    found = int(-1)
    while found < 0 and (query.place < query.end or query.node < query.last):
        if query.place < query.end:
            item = query.bvh.items[query.place]
            query.place += 1
            if _is_in_query(query, query.bvh.lowers[item], query.bvh.uppers[item], max_dist):
                found = item
        else:
            node = query.bvh.nodes[query.node]
            is_met = _is_in_query(query, node.lower, node.upper, max_dist)
            if node.end >= 0:
                query.node = where(is_met, query.node + 1, node.end)
            else:
                query.node += 1
                if is_met:
                    query.place = node.first
                    query.end = -1 - node.end
                    if query.end - query.place == 1:
                        found = query.bvh.items[query.place]
                        query.place += 1
    return found, query


def _next(query: BvhQuery):
    found, query = _next_item(query, 3.4028235e38)
    return found >= 0, found, query


def bvh_query_next(query: BvhQuery, index: int, max_dist: float):
    found, query = _next_item(query, max_dist)
    if found >= 0:
        index = found
    return found >= 0, query, index


def bvh_query_next(query: BvhQuery, index: int):
    found, query = _next_item(query, 3.4028235e38)
    if found >= 0:
        index = found
    return found >= 0, query, index


# The node under which all items of a group are; -1 without such a group.
def _root_of_group(bvh: _Bvh, group: int):
    lo = int(0)
    hi = bvh.groups.shape[0]
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if bvh.groups[mid] < group:
            lo = mid + 1
        else:
            hi = mid
    root = int(-1)
    if lo < bvh.groups.shape[0] and bvh.groups[lo] == group:
        root = bvh.roots[lo]
    return root


def bvh_get_group_root(id: uint64, group: int):
    return _root_of_group(_bvh(id), group)
