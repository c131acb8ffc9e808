"""Colors for graphs, so that nodes of one color can be worked on in parallel: `wp.utils.graph_coloring_assign` …

In: edges as an int32 array of shape (n, 2) on the CPU. Out: an int32 array of a color per node; no edge joins two nodes
of one color.

Maximum cardinality search: Tarjan & Yannakakis, "Simple linear-time algorithms to test chordality of graphs" (1984).
"""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

from gridstride import _logger, _types
from gridstride._array import array


class GraphColoringAlgorithm(enum.IntEnum):
    """The order in which nodes get the smallest color that is free: see `graph_coloring_assign`."""

    MCS = 0
    GREEDY = 1


def graph_coloring_assign(
    edges: array, node_colors: array, algorithm: GraphColoringAlgorithm = GraphColoringAlgorithm.MCS
) -> int:
    """Writes a color for each node to `node_colors`; gives the number of colors.

    Args:
        edges: Pairs of nodes.
        node_colors: One int32 a node.
        algorithm: `GREEDY` takes the nodes in order; `MCS` next the node with most colored neighbors, which needs
            fewer colors.

    Raises:
        RuntimeError: Arrays of another shape or type, or an edge to no node.
    """
    failed = "Graph coloring failed"
    neighbors = _neighbors(edges, node_colors, failed)
    by_cardinality = GraphColoringAlgorithm(algorithm) is GraphColoringAlgorithm.MCS
    order = _search(neighbors) if by_cardinality else list(range(len(neighbors)))
    colors = [-1] * len(neighbors)
    for node in order:
        taken = {colors[other] for other in neighbors[node]}
        colors[node] = next(color for color in range(len(taken) + 1) if color not in taken)
    node_colors._np()[:] = colors
    return max(colors, default=-1) + 1


def graph_coloring_balance(
    edges: array,
    node_colors: array,
    color_count: int,
    target_max_min_ratio: float,
    max_iterations: int | None = None,
) -> float:
    """Moves nodes to rarer colors until no color has more than `target_max_min_ratio` times the nodes of another.

    Each step moves one node to the rarest color, from the most frequent color that has one free to go. The best
    coloring met stays. A warning says so where `max_iterations` steps were not enough. Gives the ratio reached.
    Raises `ValueError` or `TypeError` for a wrong limit, `RuntimeError` as `graph_coloring_assign`, and for a color
    that is none.
    """
    limit = _limit(max_iterations)
    failed = "Graph coloring balance failed"
    neighbors = _neighbors(edges, node_colors, failed)
    colors = node_colors._np().tolist()
    for node, color in enumerate(colors):
        if not 0 <= color < color_count:
            valid = f"valid colors are in the range [0, {color_count})"
            raise RuntimeError(f"{failed}: Node {node} has color {color}, but {valid}.")
    sizes = np.bincount(colors, minlength=color_count).tolist()
    best, best_ratio, seen, steps = list(colors), _ratio(sizes), {tuple(colors)}, 0
    while best_ratio > target_max_min_ratio:
        move = _move(neighbors, colors, sizes)
        if move is None:
            break
        if steps == limit:
            reached = f"achieved ratio {best_ratio:g}, target {target_max_min_ratio:g}"
            text = f"Graph coloring stopped because it reached the {limit}-iteration limit ({reached})."
            _logger.log_warning(text)
            break
        node, color = move
        sizes[colors[node]] -= 1
        sizes[color] += 1
        colors[node] = color
        steps += 1
        if _ratio(sizes) > best_ratio or tuple(colors) in seen:
            break
        seen.add(tuple(colors))
        if _ratio(sizes) < best_ratio:
            # What was seen on the way to a better ratio cannot come again.
            best, best_ratio, seen = list(colors), _ratio(sizes), {tuple(colors)}
    node_colors._np()[:] = best
    return best_ratio


def graph_coloring_get_groups(
    node_colors: array, color_count: int, return_wp_array: bool = False, device: Any = None
) -> list[Any]:
    """The nodes of each color, as NumPy arrays or, with `return_wp_array`, as arrays."""
    groups = [np.flatnonzero(node_colors.numpy() == color).astype(np.int32) for color in range(color_count)]
    return [array(group, dtype=_types.int32, device=device) for group in groups] if return_wp_array else groups


def _limit(max_iterations: Any) -> int | None:
    if max_iterations is None:
        return None
    if isinstance(max_iterations, bool):
        raise TypeError("max_iterations must be an integer, not a bool")
    limit = operator.index(max_iterations)
    if not 0 <= limit < 2**31:
        raise ValueError(f"max_iterations must be between 0 and 2**31 - 1, not {limit}")
    return limit


def _neighbors(edges: array, node_colors: array, failed: str) -> list[list[int]]:
    if edges.dtype is not _types.int32 or node_colors.dtype is not _types.int32:
        raise RuntimeError(f"{failed}: edges and colors are int32 arrays")
    if edges.ndim != 2 or edges.shape[1] != 2 or node_colors.ndim != 1:
        shapes = f"{edges.shape} and {node_colors.shape}"
        raise RuntimeError(f"{failed}: edges have the shape (n, 2), colors (nodes,), not {shapes}")
    n = node_colors.size
    neighbors: list[list[int]] = [[] for _ in range(n)]
    for index, (a, b) in enumerate(edges._np().tolist()):
        if not (0 <= a < n and 0 <= b < n):
            valid = f"valid node indices are in the range [0, {n})"
            raise RuntimeError(f"{failed}: Graph edge {index} has endpoints ({a}, {b}), but {valid}.")
        neighbors[a].append(b)
        neighbors[b].append(a)
    return neighbors


def _search(neighbors: list[list[int]]) -> list[int]:
    """Nodes so that each next one has the most neighbors among those before it."""
    counts = [0] * len(neighbors)
    buckets: list[dict[int, None]] = [dict.fromkeys(range(len(neighbors)))]
    order = []
    while len(order) < len(neighbors):
        while not buckets[-1]:
            buckets.pop()
        node = next(iter(buckets[-1]))
        del buckets[-1][node]
        counts[node] = -1
        order.append(node)
        for other in neighbors[node]:
            if counts[other] >= 0:
                del buckets[counts[other]][other]
                counts[other] += 1
                if counts[other] == len(buckets):
                    buckets.append({})
                buckets[counts[other]][other] = None
    return order


def _ratio(sizes: list[int]) -> float:
    return max(sizes) / min(sizes) if sizes and min(sizes) else float("inf")


def _move(neighbors: list[list[int]], colors: list[int], sizes: list[int]) -> tuple[int, int] | None:
    """A node and the rarest color, which the node may take; its own color is as frequent as can be."""
    rarest = min(range(len(sizes)), key=sizes.__getitem__)
    free: dict[int, int] = {}
    for node, color in enumerate(colors):
        if color != rarest and color not in free and all(colors[other] != rarest for other in neighbors[node]):
            free[color] = node
    if not free:
        return None
    return free[max(free, key=lambda color: (sizes[color], -color))], rarest
