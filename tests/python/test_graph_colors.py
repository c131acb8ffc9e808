"""Graph coloring: no edge joins two nodes of one color, and balancing keeps that."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridstride as wp

ALGORITHMS = list(wp.utils.GraphColoringAlgorithm)


def is_valid(edges, colors):
    return all(colors[a] != colors[b] for a, b in edges)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(n=st.integers(2, 30), seed=st.integers(0, 1000), n_edges=st.integers(0, 80))
@settings(max_examples=20, deadline=None)
def test_colorings_are_valid_and_stay_so(algorithm, n, seed, n_edges):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, n, (n_edges, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]].astype(np.int32)
    edges = wp.array(pairs.reshape(-1, 2), dtype=wp.int32, device="cpu")
    colors = wp.zeros(n, dtype=wp.int32, device="cpu")
    n_colors = wp.utils.graph_coloring_assign(edges, colors, algorithm)
    assert is_valid(pairs, colors.numpy()) and set(colors.list()) == set(range(n_colors))
    groups = wp.utils.graph_coloring_get_groups(colors, n_colors)
    before = max(map(len, groups)) / min(map(len, groups))
    after = wp.utils.graph_coloring_balance(edges, colors, n_colors, 1.1, max_iterations=100)
    assert is_valid(pairs, colors.numpy()) and after <= before


def test_a_cycle_of_even_length_needs_two_colors():
    edges = wp.array([[0, 1], [1, 2], [2, 3], [3, 0]], dtype=wp.int32, device="cpu")
    colors = wp.zeros(4, dtype=wp.int32, device="cpu")
    assert wp.utils.graph_coloring_assign(edges, colors) == 2


def test_an_edge_to_no_node_is_refused():
    edges = wp.array([[0, 4]], dtype=wp.int32, device="cpu")
    with pytest.raises(RuntimeError, match=r"Graph edge 0 has endpoints \(0, 4\)"):
        wp.utils.graph_coloring_assign(edges, wp.zeros(4, dtype=wp.int32, device="cpu"))
