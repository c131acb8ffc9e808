"""Linear hierarchies: trees over boxes that are made on the device where the boxes are.

In: bounds. Out: the nodes of `gridstride/lib/bvh.py`, the items in the order of leaves, the nodes by depth.

Boxes are sorted along a curve through their centers (Morton codes of 10 bits an axis, then the number of the box). Each
node of the tree over the codes' prefixes is found by itself; those of at most `leaf_size` items become leaves. A node's
place in the order of a walk is twice the leaves before it, and one for each ancestor of which it is on the left side.

Source: T. Karras, "Maximizing parallelism in the construction of BVHs, octrees, and k-d trees" (2012).
"""

from __future__ import annotations

from typing import Any

import gridstride as wp
from gridstride import _launch, utils
from gridstride._geometry import structs

# Threads that look for the extent of the centers.
_SCANNERS = 16384


def build(lowers: Any, uppers: Any, leaf_size: int, nodes: Any, items: Any) -> tuple[Any, list[int]]:
    """Writes items, and nodes but for their bounds.

    Gives the nodes' numbers by depth, an int32 array, and where each depth begins in it; the number of nodes last.
    """
    n, device = len(lowers), lowers.device
    if n == 0:
        return None, [0]

    def run(kernel: Any, size: int, inputs: list[Any], outputs: list[Any]) -> None:
        _launch.launch(kernel, size, inputs, outputs, device=device, record_tape=False)

    span = wp.array([wp.inf] * 3 + [-wp.inf] * 3, dtype=float, device=device)
    run(find_span, min(n, _SCANNERS), [lowers, uppers, min(n, _SCANNERS)], [span])
    keys, order = (wp.empty(2 * n, dtype=one, device=device) for one in (wp.uint32, int))
    run(make_keys, n, [lowers, uppers, span], [keys, order])
    utils.radix_sort_pairs(keys, order, n)
    wp.copy(items, order, count=n)
    # Of the node that splits behind item i: its first and last item; and the parents of nodes, then those of items.
    ranges = wp.empty(max(n - 1, 1), dtype=wp.vec3i, device=device)
    parents = wp.full(2 * n - 1, -1, dtype=int, device=device)
    run(find_ranges, n - 1, [keys, n], [ranges, parents])
    starts = wp.zeros(n + 1, dtype=int, device=device)
    run(mark_leaves, 2 * n - 1, [ranges, parents, n, leaf_size], [starts])
    n_before = wp.empty(n + 1, dtype=int, device=device)
    utils.array_scan(starts, n_before, inclusive=False)
    depths, numbers = (wp.empty(4 * n, dtype=one, device=device) for one in (wp.uint32, int))
    counts = wp.zeros(64, dtype=int, device=device)
    run(place_nodes, 2 * n - 1, [ranges, parents, n_before, n, leaf_size], [nodes, depths, numbers, counts])
    found = counts.numpy()
    sizes = found[found > 0].tolist()
    begins = [sum(sizes[:depth]) for depth in range(len(sizes) + 1)]
    utils.radix_sort_pairs(depths, numbers, begins[-1])
    return numbers[: begins[-1]], begins


@wp.kernel(enable_backward=False)
def find_span(
    lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), n_threads: int, span: wp.array(dtype=float)
):
    least = wp.vec3(wp.inf, wp.inf, wp.inf)
    most = -least
    for i in range(wp.tid(), lowers.shape[0], n_threads):
        center = lowers[i] + uppers[i]
        least = wp.min(least, center)
        most = wp.max(most, center)
    for k in range(3):
        wp.atomic_min(span, k, least[k])
        wp.atomic_max(span, 3 + k, most[k])


@wp.func
def spread(x: wp.uint32):
    """Two zeros before each of ten bits."""
    x = (x | x << wp.uint32(16)) & wp.uint32(0x030000FF)
    x = (x | x << wp.uint32(8)) & wp.uint32(0x0300F00F)
    x = (x | x << wp.uint32(4)) & wp.uint32(0x030C30C3)
    return (x | x << wp.uint32(2)) & wp.uint32(0x09249249)


@wp.kernel(enable_backward=False)
def make_keys(
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    span: wp.array(dtype=float),
    keys: wp.array(dtype=wp.uint32),
    order: wp.array(dtype=int),
):
    i = wp.tid()
    key = wp.uint32(0)
    for k in range(3):
        extent = span[3 + k] - span[k]
        cell = int(0)
        if extent > 0.0:
            cell = wp.clamp(int((lowers[i][k] + uppers[i][k] - span[k]) / extent * 1024.0), 0, 1023)
        key = key | spread(wp.uint32(cell)) << wp.uint32(k)
    keys[i] = key
    order[i] = i


@wp.func
def differ(keys: wp.array(dtype=wp.uint32), n: int, i: int, j: int):
    """The bits in which two places differ; all where one is none."""
    found = wp.uint64(0xFFFFFFFFFFFFFFFF)
    if j >= 0 and j < n:
        found = wp.uint64(keys[i] ^ keys[j]) << wp.uint64(32) | wp.uint64(i ^ j)
    return found


@wp.func
def is_longer(x: wp.uint64, y: wp.uint64):
    """Whether x begins with more zeros than y."""
    return x < y and x < (x ^ y)


@wp.kernel(enable_backward=False)
def find_ranges(
    keys: wp.array(dtype=wp.uint32), n: int, ranges: wp.array(dtype=wp.vec3i), parents: wp.array(dtype=int)
):
    i = wp.tid()
    step = int(-1)
    if is_longer(differ(keys, n, i, i + 1), differ(keys, n, i, i - 1)):
        step = 1
    outside = differ(keys, n, i, i - step)
    reach = int(2)
    while is_longer(differ(keys, n, i, i + reach * step), outside):
        reach *= 2
    length = int(0)
    part = reach // 2
    while part > 0:
        if is_longer(differ(keys, n, i, i + (length + part) * step), outside):
            length += part
        part = part // 2
    inside = differ(keys, n, i, i + length * step)
    offset = int(0)
    part = length
    is_last = bool(False)
    while not is_last:
        part = (part + 1) // 2
        is_last = part <= 1
        if is_longer(differ(keys, n, i, i + (offset + part) * step), inside):
            offset += part
    split = i + offset * step + wp.min(step, 0)
    first = wp.min(i, i + length * step)
    last = wp.max(i, i + length * step)
    ranges[i] = wp.vec3i(first, last, split)
    parents[wp.where(first == split, n - 1 + split, split)] = i
    parents[wp.where(last == split + 1, n + split, split + 1)] = i


@wp.func
def range_of(ranges: wp.array(dtype=wp.vec3i), n: int, index: int):
    """The items of a node, or the one item, and behind which they split."""
    found = wp.vec3i(index - n + 1, index - n + 1, index - n + 1)
    if index < n - 1:
        found = ranges[index]
    return found


@wp.func
def is_leaf(ranges: wp.array(dtype=wp.vec3i), parents: wp.array(dtype=int), n: int, leaf_size: int, index: int):
    """Whether a node has few enough items to be a leaf, and the one above it too many."""
    items = range_of(ranges, n, index)
    above = parents[index]
    is_top = above < 0
    if not is_top:
        around = ranges[above]
        is_top = around[1] - around[0] >= leaf_size
    return items[1] - items[0] < leaf_size and is_top


@wp.kernel(enable_backward=False)
def mark_leaves(
    ranges: wp.array(dtype=wp.vec3i),
    parents: wp.array(dtype=int),
    n: int,
    leaf_size: int,
    starts: wp.array(dtype=int),
):
    index = wp.tid()
    if is_leaf(ranges, parents, n, leaf_size, index):
        starts[range_of(ranges, n, index)[0]] = 1


@wp.kernel(enable_backward=False)
def place_nodes(
    ranges: wp.array(dtype=wp.vec3i),
    parents: wp.array(dtype=int),
    n_before: wp.array(dtype=int),
    n: int,
    leaf_size: int,
    nodes: wp.array(dtype=structs.BvhNode),
    depths: wp.array(dtype=wp.uint32),
    numbers: wp.array(dtype=int),
    counts: wp.array(dtype=int),
):
    index = wp.tid()
    items = range_of(ranges, n, index)
    is_inner = items[1] - items[0] >= leaf_size
    if is_inner or is_leaf(ranges, parents, n, leaf_size, index):
        depth = int(0)
        n_left = int(0)
        first = items[0]
        above = parents[index]
        while above >= 0:
            around = ranges[above]
            depth += 1
            if around[2] >= items[1]:
                n_left += 1
            above = parents[above]
        place = 2 * n_before[first] + n_left
        node = structs.BvhNode()
        node.first = first
        node.end = -2 - items[1]
        if is_inner:
            node.first = place + 2 * (n_before[items[2] + 1] - n_before[first])
            node.end = place + 2 * (n_before[items[1] + 1] - n_before[first]) - 1
        nodes[place] = node
        depths[place] = wp.uint32(depth)
        numbers[place] = place
        wp.atomic_add(counts, depth, 1)
