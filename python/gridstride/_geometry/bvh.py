"""`wp.Bvh`: a bounding volume hierarchy over boxes.

    >>> lowers = wp.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]], dtype=wp.vec3)
    >>> uppers = wp.array([[1.0, 1.0, 1.0], [3.0, 1.0, 1.0]], dtype=wp.vec3)
    >>> bvh = wp.Bvh(lowers, uppers)

Kernels query it by `bvh.id`; the queries are in `gridstride/lib/bvh.py`. On a GPU trees are linear, and built there
(`linear.py`), unless others are asked for: those the host's threads build (`crates/geometry`), to which the boxes come
and from which the tree goes back.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

import gridstride as wp
from gridstride import _host_graph, _launch, _logger, _memory, _native
from gridstride._geometry import records, structs


class BvhConstructor(enum.IntEnum):
    """How a tree is built: see `Bvh`."""

    SAH = 0
    MEDIAN = 1
    LBVH = 2
    CUBQL = -1

    @classmethod
    def from_str(cls, value: str) -> BvhConstructor:
        """The constructor of that name. Raises `ValueError` where there is none."""
        try:
            return cls[value.upper()]
        except KeyError:
            known = ", ".join(one.name.lower() for one in cls)
            raise ValueError(f"Unknown BVH constructor '{value}', expected one of: {known}") from None


def is_cubql_available() -> bool:
    """Whether trees can be asked for by "cubql": they can, and are built as by "sah"."""
    return True


class Tree:
    """The tree over boxes on one device: its arrays, and how they are made."""

    def __init__(self, lowers: Any, uppers: Any, groups: Any, leaf_size: int) -> None:
        n, device = len(lowers), lowers.device
        self.device, self.leaf_size = device, leaf_size
        self.lowers, self.uppers, self.groups = lowers, uppers, groups
        self.nodes = wp.empty(max(2 * n - 1, 0), dtype=structs.BvhNode, device=device)
        self.items = wp.empty(n, dtype=int, device=device)
        self.n_nodes = 0
        self._roots: Any = (None, None)
        # On a GPU: nodes by their depth, and where each depth begins.
        self._levels: Any = None
        self._starts: list[int] = []

    def build(self, constructor: BvhConstructor) -> None:
        """Makes the tree anew, in the memory that it has."""
        if constructor is BvhConstructor.LBVH and self.groups is None:
            self._build_linear()
            return
        boxes, groups = (self.lowers, self.uppers), self.groups
        nodes, items = self.nodes, self.items
        if self.device.is_cuda:
            boxes, groups = tuple(one.to("cpu") for one in boxes), None if groups is None else groups.to("cpu")
            nodes, items = wp.empty(nodes.size, dtype=structs.BvhNode, device="cpu"), wp.empty(items.size, int, "cpu")
        is_median = constructor is BvhConstructor.MEDIAN
        self.n_nodes, roots = _native.build_bvh(boxes, groups, (nodes, items), self.leaf_size, is_median)
        if self.device.is_cuda:
            wp.copy(self.nodes, nodes)
            wp.copy(self.items, items)
            self._set_levels(nodes.numpy()[: self.n_nodes])
        if roots:
            columns = np.array(roots, dtype=np.int32).T
            self._roots = tuple(wp.array(one.copy(), dtype=int, device=self.device) for one in columns)

    def _build_linear(self) -> None:
        from gridstride._geometry import linear

        leaf_size, nodes, items = self.leaf_size, self.nodes, self.items
        self._levels, self._starts = linear.build(self.lowers, self.uppers, leaf_size, nodes, items)
        self.n_nodes = self._starts[-1]
        self.refit()

    def refit(self) -> None:
        """Renews the bounds of all nodes."""
        if not self.device.is_cuda:
            _native.refit_bvh((self.lowers, self.uppers), (self.nodes, self.items), self.n_nodes)
            return
        for begin, end in reversed(list(zip(self._starts, self._starts[1:], strict=False))):
            level = self._levels[begin:end]
            inputs = [level, self.items, self.lowers, self.uppers, self.nodes]
            _launch.launch(refit_level, end - begin, inputs, device=self.device, record_tape=False)

    def values(self) -> Any:
        """What kernels read."""
        value = structs.BvhData()
        value.n_nodes = self.n_nodes
        value.nodes, value.items, value.lowers, value.uppers = self.nodes, self.items, self.lowers, self.uppers
        value.groups, value.roots = self._roots
        return value

    def _set_levels(self, nodes: Any) -> None:
        level, levels = np.zeros(min(1, len(nodes)), dtype=np.int32), []
        while level.size:
            levels.append(level)
            inner = level[nodes["end"][level] >= 0]
            level = np.concatenate([inner + 1, nodes["first"][inner]])
        self._starts = [0, *np.cumsum([len(one) for one in levels]).tolist()]
        if levels:
            self._levels = wp.array(np.concatenate(levels), dtype=int, device=self.device)


def chosen(constructor: Any, device: Any) -> BvhConstructor:
    """The constructor that is meant, or that is used in its place."""
    if constructor is None:
        return BvhConstructor.LBVH if device.is_cuda else BvhConstructor.SAH
    found = constructor if isinstance(constructor, BvhConstructor) else BvhConstructor.from_str(constructor)
    if found is BvhConstructor.LBVH and not device.is_cuda:
        _logger.log_warning(
            "LBVH constructor is not available for a CPU tree. Falling back to SAH constructor.", stacklevel=3
        )
        return BvhConstructor.SAH
    return found


def check_groups(groups: Any, n: int, device: Any, of: str, length: str) -> None:
    """Raises `RuntimeError` for groups that are not one int32 an item."""
    if groups is None:
        return
    if groups.dtype is not wp.int32 or not groups.is_contiguous:
        raise RuntimeError("groups should be a contiguous array of type wp.int32")
    if groups.device is not device:
        raise RuntimeError(f"groups must live on the same device as {of}")
    if len(groups) != n:
        raise RuntimeError(f"groups must have the same length as {length}")


def in_order(name: str, device: Any, run: Any) -> None:
    """Runs work of the host, or notes it in the graph that is captured on the CPU."""
    graph = _host_graph.active
    if graph is not None and not device.is_cuda:
        graph.add(name, run)
    else:
        run()


class Bvh:
    """A tree over boxes: which of them meet a box, a ray, a capsule or a sphere.

    Args:
        lowers, uppers: Corners of the boxes, contiguous arrays of `vec3`. The tree reads them in queries, too.
        constructor: "sah" (the surface area heuristic, the default on the CPU), "median", "lbvh" (along a curve through
            space: built fast on a GPU, where it is the default; with groups, and on the CPU, "sah" takes its place) or
            "cubql", which is built as "sah".
        groups: An int32 a box: all boxes of a group are under one node, `bvh_get_group_root(id, group)`.
        leaf_size: Most boxes of a leaf.

    Attributes: `id` (an int, for kernels), `device`, `lowers`, `uppers`, `groups`.

    Raises:
        RuntimeError: Arrays of other types, lengths or devices; groups with "cubql".
        ValueError: Another constructor; a `leaf_size` below 1.
    """

    id: Any = None

    @_memory.made_for("bvh")
    def __init__(
        self, lowers: Any, uppers: Any, constructor: Any = None, groups: Any = None, leaf_size: int = 1
    ) -> None:
        if len(lowers) != len(uppers):
            raise RuntimeError("The same number of lower and upper bounds must be provided")
        if lowers.device is not uppers.device:
            raise RuntimeError("Lower and upper bounds must live on the same device")
        for name, one in (("lowers", lowers), ("uppers", uppers)):
            if one.dtype is not wp.vec3 or not one.is_contiguous:
                raise RuntimeError(f"{name} should be a contiguous array of type wp.vec3")
        check_groups(groups, len(lowers), lowers.device, "lowers/uppers", "lowers/uppers")
        self.device = lowers.device
        self._constructor = chosen(constructor, self.device)
        if self._constructor is BvhConstructor.CUBQL and groups is not None:
            raise RuntimeError("Grouped BVHs are not supported with constructor='cubql'")
        if leaf_size < 1:
            raise ValueError(f"leaf_size must be greater than or equal to 1, current value: {leaf_size}")
        self.lowers, self.uppers, self.groups = lowers, uppers, groups
        self._record = records.Record(records.BVH, self.device)
        self._tree = Tree(lowers, uppers, groups, leaf_size)
        self.id = self._record.id
        self._build()

    def refit(self) -> None:
        """Renews all bounds after `lowers` and `uppers` changed; the tree stays as it is."""
        in_order("Bvh.refit", self.device, self._refit)

    def rebuild(self, constructor: Any = None) -> None:
        """Builds the tree anew after `lowers` and `uppers` changed much, in the same memory and with the same id.

        Args:
            constructor: As for the class; by default that of the device, or "cubql" for a tree that has it.

        Raises:
            ValueError: Another constructor; "cubql" for a tree without it, or another for one with it.
        """
        if constructor is None and self._constructor is BvhConstructor.CUBQL:
            constructor = BvhConstructor.CUBQL
        found = chosen(constructor, self.device)
        if found is BvhConstructor.CUBQL and self._constructor is not found:
            raise ValueError("Cannot rebuild a non-cuBQL BVH with constructor='cubql'; create a new BVH instead")
        if self._constructor is BvhConstructor.CUBQL and self._constructor is not found:
            raise ValueError("Cannot rebuild a cuBQL BVH with a different constructor; create a new BVH instead")
        if self.device.is_cuda and found not in (BvhConstructor.LBVH, BvhConstructor.CUBQL):
            _logger.log_warning(
                "In-place rebuild method on the CUDA device only supports LBVH constructor. Falling back to LBVH "
                "constructor.",
                stacklevel=2,
            )
            found = BvhConstructor.LBVH
        self._constructor = found
        in_order("Bvh.rebuild", self.device, self._build)

    def _refit(self) -> None:
        self._record.note_change()
        self._tree.refit()

    def _build(self) -> None:
        self._record.note_change()
        self._tree.build(self._constructor)
        self._record.write(self._tree.values())

    def __del__(self) -> None:
        if self.id is not None:
            self._record.release()


@wp.kernel(enable_backward=False)
def refit_level(
    level: wp.array(dtype=int),
    items: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    nodes: wp.array(dtype=structs.BvhNode),
):
    index = level[wp.tid()]
    node = nodes[index]
    lower = wp.vec3(wp.inf, wp.inf, wp.inf)
    upper = wp.vec3(-wp.inf, -wp.inf, -wp.inf)
    if node.end < 0:
        for place in range(node.first, -1 - node.end):
            lower = wp.min(lower, lowers[items[place]])
            upper = wp.max(upper, uppers[items[place]])
    else:
        lower = wp.min(nodes[index + 1].lower, nodes[node.first].lower)
        upper = wp.max(nodes[index + 1].upper, nodes[node.first].upper)
    nodes[index].lower = lower
    nodes[index].upper = upper
