"""What runs on GPUs alone, here on whatever device there is: reductions by blocks, sorts, scans and selections."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride.cupy as cp
from gridstride.cupy import _array, _block_reduce, _reduce, _whole

RNG = np.random.default_rng(0)


@pytest.fixture
def by_blocks(monkeypatch):
    def step(fold, arrays, extents, n):
        return _block_reduce.step(fold, True, arrays, extents, n)

    monkeypatch.setattr(_reduce, "_step", step)
    monkeypatch.setattr(_array, "FEW", 0)


SHAPES = [
    ((1,), 0),
    ((3000,), 0),
    ((70_000,), 0),
    ((7, 300), 1),
    ((9, 7), 1),
    ((9, 40), 1),
    ((50, 100), 0),
    ((2, 3, 300), 1),
    ((2, 9000, 3), 1),
]


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, bool, np.complex64], ids=str)
def test_reductions_by_blocks(by_blocks, shape, axis, dtype):
    a = RNG.integers(-3, 90, shape)
    a = a > 80 if dtype is bool else a.astype(dtype)
    if dtype is np.float32 and a.size > 20:
        a.ravel()[7] = np.nan
    for name in ("sum", "max", "argmin", "any", "var", "nansum", "nanmax"):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(a, axis)
        found = getattr(cp, name)(cp.asarray(a), axis).get()
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16, bool], ids=str)
def test_sorts_by_digits(dtype):
    a = RNG.integers(-50, 50, (3, 700)).astype(dtype)
    if dtype is np.float32:
        a[0, 3], a[1, 4], a[1, 5] = np.nan, -0.0, 0.0
    keys, order = _whole.order_of_rows(cp.asarray(a))
    assert keys.dtype == a.dtype and order.dtype == np.int64
    np.testing.assert_array_equal(keys.get(), np.sort(a))
    np.testing.assert_array_equal(order.get(), np.argsort(a, kind="stable"))


@pytest.mark.parametrize("n", [1, 2048, 5000])
def test_what_flags_select(n):
    flags, values = RNG.random(n) > 0.7, RNG.random(n).astype(np.float32)
    np.testing.assert_array_equal(_whole.selected(cp.asarray(flags)).get(), np.flatnonzero(flags))
    np.testing.assert_array_equal(_whole.selected(cp.asarray(flags), cp.asarray(values)).get(), values[flags])


@pytest.mark.parametrize("made", [np.float64, np.int32], ids=str)
def test_running_sums(made):
    a = RNG.integers(0, 9, 70_000).astype(np.int16)
    np.testing.assert_array_equal(_whole.running_sums(cp.asarray(a), np.dtype(made)).get(), np.cumsum(a, dtype=made))
