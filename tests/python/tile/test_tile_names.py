"""What several names of one tile, and views of it, see of a change."""

import numpy as np
import pytest

import gridstride as wp


def result(kernel, *args, device):
    out = np.zeros((2, 3), np.float32)
    wp.launch_tiled(kernel, dim=1, inputs=[out, *args], block_dim=32, device=device)
    return out.tolist()


@wp.kernel
def view_before_a_loop(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    row = b[0]
    for _ in range(n):
        row += wp.tile_ones(shape=3, dtype=float)
    wp.tile_store(out, b)


@wp.kernel
def other_name_in_a_loop(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    c = b
    for _ in range(n):
        c += wp.tile_ones(shape=(2, 3), dtype=float)
    wp.tile_store(out, b)


@wp.kernel
def view_in_a_branch(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    row = b[0]
    if n > 1:
        row += wp.tile_ones(shape=3, dtype=float)
    row[2] = 5.0
    wp.tile_store(out, b)


@wp.kernel
def view_in_a_loop(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    for i in range(n):
        row = b[i]
        end = wp.tile_view(row, 1, (2,))
        wp.tile_assign(end, wp.tile_full(2, float(i + 1), dtype=float))
        row[0] = 7.0
    wp.tile_store(out, b)


@wp.func
def bump(t: wp.tile(dtype=float, shape=3)):
    u = t[0:2]
    u += wp.tile_ones(shape=2, dtype=float)
    t = t * 100.0


@wp.kernel
def function_of_views(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    for _ in range(n):
        row = b[1]
        bump(row)
        bump(wp.tile_view(b, (0, 0), (3,)))
        bump(b[0])
    wp.tile_store(out, b)


@wp.kernel
def pair(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    c = wp.tile_ones(shape=(2, 3), dtype=float)
    both = (b, c)
    if n > 1:
        c = c + c
        b[0, 0] = 5.0
    else:
        b += c
    wp.tile_store(out, both[0] + c)


@wp.kernel
def spread(out: wp.array2d(dtype=float), n: int):
    d = wp.tile_broadcast(wp.tile_arange(3), (2, 3))
    d += wp.tile_ones(shape=(2, 3), dtype=float)
    wp.tile_axpy(float(n), wp.tile_ones(shape=(2, 3), dtype=float), d)
    wp.tile_store(out, d)


@wp.kernel
def copy(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    c = wp.tile_astype(b, float)
    c += wp.tile_ones(shape=(2, 3), dtype=float)
    wp.tile_store(out, b + c)


@pytest.mark.parametrize(
    ("kernel", "n", "expected"),
    [
        (view_before_a_loop, 3, [[3, 3, 3], [0, 0, 0]]),
        (other_name_in_a_loop, 3, [[3, 3, 3], [3, 3, 3]]),
        (view_in_a_branch, 2, [[1, 1, 5], [0, 0, 0]]),
        (view_in_a_branch, 1, [[0, 0, 5], [0, 0, 0]]),
        (view_in_a_loop, 2, [[7, 1, 1], [7, 2, 2]]),
        (function_of_views, 2, [[4, 4, 0], [2, 2, 0]]),
        (pair, 2, [[7, 2, 2], [2, 2, 2]]),
        (pair, 1, [[2, 2, 2], [2, 2, 2]]),
        (spread, 2, [[6, 7, 8], [6, 7, 8]]),
        (copy, 0, [[1, 1, 1], [1, 1, 1]]),
    ],
)
def test_a_change_is_seen_under_every_name(kernel, n, expected, device):
    assert result(kernel, n, device=device) == expected


@wp.kernel
def one_of_two(out: wp.array2d(dtype=float), n: int):
    b = wp.tile_zeros(shape=(2, 3), dtype=float)
    row = b[0]
    for _ in range(n):
        row += wp.tile_ones(shape=3, dtype=float)
        row = b[1]
    wp.tile_store(out, b)


def test_a_tile_that_may_be_one_of_two_is_not_changed():
    with pytest.raises(wp.CompileError, match="that of one name or of another"):
        result(one_of_two, 2, device="cpu")


@wp.kernel
def times_spread(out: wp.array2d(dtype=float)):
    d = wp.tile_broadcast(wp.tile_arange(3), (2, 3))
    d *= 2.0
    wp.tile_store(out, d)


def test_a_spread_tile_is_only_added_to():
    with pytest.raises(wp.CompileError, match="several of its elements are one"):
        result(times_spread, device="cpu")
