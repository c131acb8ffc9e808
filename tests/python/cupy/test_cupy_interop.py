"""Arrays of CuPy's style beside those of Warp's and numba's: one memory, no copies."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as wp
import gridstride.cupy as cp
from gridstride.numba import cuda


@cuda.jit
def plus_one(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


def test_kernels_of_all_styles_work_on_one_array():
    x = cp.arange(64, dtype=cp.float32)
    y = cp.empty_like(x)
    plus_one[1, 64](x, y)
    wp.launch(double, dim=y.size, inputs=[y])
    np.testing.assert_array_equal((y - 2).get(), 2 * np.arange(64))


def test_arrays_of_vectors_are_seen_with_a_dimension_more():
    points = wp.zeros((4,), dtype=wp.vec3)
    seen = cp.asarray(points)
    assert seen.shape == (4, 3)
    seen[:, 1] = 5
    np.testing.assert_array_equal(points.numpy()[:, 1], [5, 5, 5, 5])


def test_numbas_arrays_are_seen_without_a_copy():
    there = cuda.to_device(np.arange(6.0).reshape(2, 3))
    cp.asarray(there)[1] += 1
    np.testing.assert_array_equal(there.copy_to_host(), [[0, 1, 2], [4, 5, 6]])


def test_numpy_sees_the_memory_by_dlpack_and_no_other_way():
    x = cp.zeros(3)
    if wp.get_device().is_cpu:
        np.from_dlpack(x)[1] = 7
        assert x[1] == 7
    else:
        with pytest.raises(BufferError):
            np.from_dlpack(x)
    with pytest.raises(TypeError, match=r"use `\.get\(\)`"):
        np.asarray(x)
    with pytest.raises(TypeError, match="Unsupported type"):
        x + np.ones(3)


def test_functions_of_numpy_run_as_ours():
    x = cp.arange(5.0)
    assert isinstance(np.sin(x), cp.ndarray)
    assert isinstance(np.sum(x), cp.ndarray)
    assert isinstance(np.float64(2) * x, cp.ndarray)


def test_arrays_of_warps_style_over_ours():
    x = cp.arange(6, dtype=cp.float32)
    seen = wp.array(x, dtype=float, copy=False)
    wp.launch(double, dim=6, inputs=[seen])
    assert float(x.sum()) == 30
    copied = wp.array(x, dtype=float)
    wp.launch(double, dim=6, inputs=[copied])
    assert float(x.sum()) == 30
    assert wp.array(cp.arange(3, dtype=cp.uint8)).dtype is wp.uint8
    if wp.get_device().is_cpu:
        with pytest.raises(RuntimeError, match="at most 4 dimensions"):
            wp.array(cp.zeros((1, 1, 1, 1, 1)))


def test_an_array_of_more_dimensions_than_kernels_take_is_refused_by_name():
    with pytest.raises(RuntimeError, match="array_of_more_than_4_dimensions"):
        wp.launch(double, dim=1, inputs=[cp.zeros((1, 1, 1, 1, 1), dtype=cp.float32)])
