"""Hierarchies against all boxes, on every device."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import gridstride as wp
from gridstride._geometry.bvh import Tree

BOX, RAY, CAPSULE, SPHERE = range(4)


@wp.kernel
def by_next(
    bvh: wp.uint64, kind: int, a: wp.vec3, b: wp.vec3, radius: float, reach: float, root: int, n_seen: wp.array[int]
):
    j = int(0)
    query = wp.bvh_query_aabb(bvh, a, b, root)
    if kind == 1:
        query = wp.bvh_query_ray(bvh, a, b, root)
    if kind == 2:
        query = wp.bvh_query_capsule(bvh, a, b, radius, root)
    if kind == 3:
        query = wp.bvh_query_sphere(bvh, a, radius, root)
    while wp.bvh_query_next(query, j, reach):
        n_seen[j] += 1


@wp.kernel
def by_loop(bvh: wp.uint64, low: wp.vec3, high: wp.vec3, n_seen: wp.array[int]):
    for i in wp.bvh_query_aabb(bvh, low, high):
        n_seen[i] += 1


@wp.kernel
def group_roots(bvh: wp.uint64, groups: wp.array[int], roots: wp.array[int]):
    i = wp.tid()
    roots[i] = wp.bvh_get_group_root(bvh, groups[i])


def vec3s(values):
    return wp.array(np.asarray(values, np.float32), dtype=wp.vec3)


def seen(bvh, n, kind, a, b, device, radius=0.0, reach=3.4028235e38, root=-1):
    out = wp.zeros(n, dtype=int)
    wp.launch(by_next, 1, [bvh.id, kind, wp.vec3(*a), wp.vec3(*b), radius, reach, root, out], device=device)
    return out.numpy()


whole = st.integers(-6, 6).map(float)


@settings(max_examples=25, deadline=None)
@given(
    boxes=st.integers(1, 40).flatmap(lambda n: arrays(np.float32, (2, n, 3), elements=whole)),
    a=st.tuples(whole, whole, whole),
    b=st.tuples(whole, whole, whole),
    leaf_size=st.integers(1, 5),
    constructor=st.sampled_from(["sah", "median", None]),
)
def test_queries_find_what_all_boxes_say(device, boxes, a, b, leaf_size, constructor):
    lower, upper = boxes.min(0), boxes.max(0)
    n = len(lower)
    bvh = wp.Bvh(vec3s(lower), vec3s(upper), constructor, leaf_size=leaf_size)
    low, high, a = np.minimum(a, b), np.maximum(a, b), np.array(a)
    wanted = ((lower <= high) & (upper >= low)).all(1)
    np.testing.assert_array_equal(seen(bvh, n, BOX, low, high, device), wanted)
    out = wp.zeros(n, dtype=int)
    wp.launch(by_loop, 1, [bvh.id, wp.vec3(*low), wp.vec3(*high), out], device=device)
    np.testing.assert_array_equal(out.numpy(), wanted)
    apart = np.maximum(np.maximum(lower - a, a - upper), 0.0)
    np.testing.assert_array_equal(seen(bvh, n, SPHERE, a, a, device, 3.0), (apart**2).sum(1) <= 9.0)
    # Along an axis: planes of boxes count as inside.
    for axis in range(3):
        others = [k for k in range(3) if k != axis]
        is_along = ((lower <= a) & (a <= upper))[:, others].all(1)
        for sign in (1.0, -1.0):
            dir = np.eye(3)[axis] * sign
            near, far = (lower - a)[:, axis] * sign, (upper - a)[:, axis] * sign
            near, far = np.minimum(near, far), np.maximum(near, far)
            np.testing.assert_array_equal(seen(bvh, n, RAY, a, dir, device), is_along & (far >= 0))
            wanted = is_along & (far >= 0) & (near < 2.0)
            np.testing.assert_array_equal(seen(bvh, n, RAY, a, dir, device, reach=2.0), wanted)


def test_slanted_rays_find_boxes(device):
    rng = np.random.default_rng(1)
    lower = rng.uniform(-4, 4, (300, 3))
    upper = lower + rng.uniform(0.1, 1, (300, 3))
    bvh = wp.Bvh(vec3s(lower), vec3s(upper), leaf_size=2)
    n_found = 0
    for _ in range(20):
        start, dir = rng.uniform(-6, 6, 3), rng.normal(size=3)
        for kind, r in ((RAY, 0.0), (CAPSULE, 0.5)):
            t = np.sort([(lower - r - start) / dir, (upper + r - start) / dir], axis=0)
            enter, leave = t[0].max(1), t[1].min(1)
            found = seen(bvh, 300, kind, start, dir, device, r)
            is_sure = np.abs(leave - np.maximum(enter, 0)) > 1e-4
            np.testing.assert_array_equal(found[is_sure], ((leave >= enter) & (leave >= 0))[is_sure])
            n_found += found.sum()
    assert n_found > 50


def test_groups_have_roots_of_their_own(device):
    rng = np.random.default_rng(2)
    lower = rng.uniform(-4, 4, (200, 3))
    groups = rng.choice([-5, 0, 3, 9], 200).astype(np.int32)
    bvh = wp.Bvh(vec3s(lower), vec3s(lower + 0.5), groups=wp.array(groups, dtype=int), leaf_size=3)
    asked = np.array([-5, 0, 3, 9, 4, 100], np.int32)
    roots = wp.zeros(6, dtype=int)
    wp.launch(group_roots, 6, [bvh.id, wp.array(asked), roots], device=device)
    roots = roots.numpy()
    assert roots[4] == roots[5] == -1
    for group, root in zip(asked[:4], roots[:4], strict=True):
        found = seen(bvh, 200, BOX, (-9, -9, -9), (9, 9, 9), device, root=int(root))
        np.testing.assert_array_equal(found, groups == group)
    assert seen(bvh, 200, BOX, (-9, -9, -9), (9, 9, 9), device).sum() == 200
    assert seen(bvh, 200, BOX, (-9, -9, -9), (9, 9, 9), device, root=100000).sum() == 0


@pytest.mark.parametrize("verb", ["refit", "rebuild"])
def test_bounds_are_renewed(device, verb):
    lowers, uppers = wp.zeros(50, dtype=wp.vec3), wp.zeros(50, dtype=wp.vec3)
    bvh = wp.Bvh(lowers, uppers, leaf_size=2)
    lower = np.random.default_rng(3).uniform(-4, 4, (50, 3)).astype(np.float32)
    lowers.assign(lower)
    uppers.assign(lower + np.float32(0.5))
    getattr(bvh, verb)()
    wanted = ((lower <= 1) & (lower + np.float32(0.5) >= -1)).all(1)
    np.testing.assert_array_equal(seen(bvh, 50, BOX, (-1, -1, -1), (1, 1, 1), device), wanted)


@pytest.mark.cpu
def test_a_graph_refits_again():
    lowers, uppers = wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=wp.vec3)
    bvh, out = wp.Bvh(lowers, uppers), wp.zeros(1, dtype=int)
    with wp.ScopedCapture() as capture:
        bvh.refit()
        wp.launch(by_loop, 1, [bvh.id, wp.vec3(5.0, 5.0, 5.0), wp.vec3(7.0, 7.0, 7.0), out])
    lowers.fill_(wp.vec3(6.0, 6.0, 6.0))
    uppers.fill_(wp.vec3(8.0, 8.0, 8.0))
    wp.capture_launch(capture.graph)
    assert out.numpy()[0] == 1


def test_a_tree_of_nothing_and_ids_of_nothing(device):
    empty = wp.Bvh(vec3s(np.zeros((0, 3))), vec3s(np.zeros((0, 3))))
    grid = wp.HashGrid(2, 2, 2)
    gone = wp.Bvh(vec3s([[0, 0, 0]]), vec3s([[1, 1, 1]])).id
    gc.collect()
    for wrong in (empty.id, grid.id, gone, 0, 77):
        holder = wp.Bvh(vec3s([[0, 0, 0]]), vec3s([[1, 1, 1]]))
        out = wp.zeros(1, dtype=int)
        wp.launch(by_loop, 1, [wrong, wp.vec3(-9.0), wp.vec3(9.0), out], device=device)
        assert out.numpy()[0] == 0
        assert holder.id != wrong


def test_mistakes_are_refused():
    one = vec3s([[0, 0, 0]])
    with pytest.raises(RuntimeError, match="same number"):
        wp.Bvh(one, vec3s(np.zeros((2, 3))))
    with pytest.raises(RuntimeError, match="vec3"):
        wp.Bvh(wp.zeros(1, dtype=float), wp.zeros(1, dtype=float))
    with pytest.raises(ValueError, match="Unknown BVH constructor"):
        wp.Bvh(one, one, constructor="best")
    with pytest.raises(ValueError, match="leaf_size"):
        wp.Bvh(one, one, leaf_size=0)
    with pytest.raises(RuntimeError, match="same length"):
        wp.Bvh(one, one, groups=wp.zeros(2, dtype=int))


@pytest.mark.parametrize("leaf_size", [1, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 700])
def test_linear_trees_are_whole(n, leaf_size):
    """Kernels build them, which run on any device; with several boxes at one place, too."""
    rng = np.random.default_rng(n)
    lowers = rng.integers(0, 5, (n, 3)).astype(np.float32)
    uppers = lowers + rng.random((n, 3), dtype=np.float32)
    tree = Tree(*(wp.array(one, dtype=wp.vec3) for one in (lowers, uppers)), None, leaf_size)
    tree.build(wp.BvhConstructor.LBVH)
    nodes, items = tree.nodes.numpy()[: tree.n_nodes], tree.items.numpy()
    assert sorted(items) == list(range(n))
    places = []

    def check(index, end):
        node = nodes[index]
        if node["end"] < 0:
            first, last = node["first"], -1 - node["end"]
            assert index + 1 == end and 0 < last - first <= leaf_size
            places.extend(range(first, last))
            found = items[first:last]
            bounds = lowers[found].min(0), uppers[found].max(0)
        else:
            assert node["end"] == end
            left, right = check(index + 1, node["first"]), check(node["first"], end)
            bounds = np.minimum(left[0], right[0]), np.maximum(left[1], right[1])
        np.testing.assert_array_equal([node["lower"], node["upper"]], bounds)
        return bounds

    if n:
        check(0, len(nodes))
    assert places == list(range(n))
