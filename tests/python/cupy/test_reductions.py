"""Sums, extremes, means and running sums against NumPy's, along any axes of arrays that lie in any way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import gridstride.cupy as cp
from gridstride.cupy import _array


@pytest.fixture(autouse=True, scope="module", params=[_array.FEW, 0], ids=["by NumPy", "by kernels"])
def few(request):
    """Few elements of the host's memory are left to NumPy."""
    before, _array.FEW = _array.FEW, request.param
    yield
    _array.FEW = before


DTYPES = [np.dtype(kind) for kind in "?bBhIqefdFD"]
NAMES = [
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmax",
    "argmin",
    "ptp",
    "cumsum",
    "cumprod",
    "count_nonzero",
]
NAN_NAMES = [
    "nansum",
    "nanprod",
    "nanmax",
    "nanmin",
    "nanmean",
    "nanvar",
    "nanstd",
    "nanargmax",
    "nanargmin",
    "nancumsum",
    "nancumprod",
]
TOLERANCE = {"e": 4e-3, "f": 1e-5, "F": 1e-5, "d": 1e-12, "D": 1e-12}


def numbers(dtype, n=24):
    rng = np.random.default_rng(3)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, 5, n).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    return rng.normal(1.0, 0.3, n).astype(dtype)


def check(found, wanted):
    wanted = np.asarray(wanted)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    rtol = TOLERANCE.get(wanted.dtype.char, 0)
    np.testing.assert_allclose(found.get(), wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_of_all_types(name, dtype, axis, interpreted):
    a = numbers(dtype).reshape(2, 3, 4)
    if name == "ptp" and dtype.kind == "b":
        with pytest.raises(TypeError):
            cp.ptp(cp.asarray(a), axis)
        return
    check(getattr(cp, name)(cp.asarray(a), axis), getattr(np, name)(a, axis))


@pytest.mark.parametrize("name", NAN_NAMES)
def test_of_arrays_with_nans(name, interpreted):
    a = numbers(np.dtype(float), 20).reshape(4, 5)
    a[1, 2] = a[3, 0] = a[3, 4] = np.nan
    check(getattr(cp, name)(cp.asarray(a), 1), getattr(np, name)(a, 1))
    check(getattr(cp, name)(cp.asarray(a)), getattr(np, name)(a))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sum"])
def test_nan_goes_through(name):
    a = np.array([1.0, np.nan, 3.0, np.nan])
    check(getattr(cp, name)(cp.asarray(a)), getattr(np, name)(a))


@pytest.mark.parametrize("shape", [(100_003,), (7, 30_001), (30_001, 7), (300, 400), (2, 3, 5000), (1, 1, 1), (65, 64)])
@pytest.mark.parametrize("name", ["sum", "max", "argmin", "var", "cumsum"])
def test_of_large_arrays(name, shape):
    a = np.random.default_rng(1).integers(0, 1000, shape).astype(float)
    x = cp.asarray(a)
    for axis in (None, *range(a.ndim)):
        check(getattr(cp, name)(x, axis), getattr(np, name)(a, axis))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_axes_of_any_layout(data):
    a = data.draw(npst.arrays(np.int64, npst.array_shapes(max_dims=5, max_side=4), elements=st.integers(-9, 9)))
    order = data.draw(st.permutations(range(a.ndim)))
    step = data.draw(st.sampled_from([1, 2, -1]))
    axes = data.draw(st.lists(st.sampled_from(range(a.ndim)), unique=True, max_size=a.ndim))
    keepdims = data.draw(st.booleans())
    x, a = cp.asarray(a).transpose(order)[::step], a.transpose(order)[::step]
    for name in ("sum", "max"):
        wanted = getattr(np, name)(a, axis=tuple(axes), keepdims=keepdims)
        check(getattr(cp, name)(x, axis=tuple(axes), keepdims=keepdims), wanted)


def test_out_dtype_and_nothing():
    x = cp.arange(6, dtype=cp.int32).reshape(2, 3)
    out = cp.empty(3, dtype=cp.float64)
    assert x.sum(0, out=out) is out
    assert out.tolist() == [3, 5, 7]
    assert x.sum(dtype=cp.float32).dtype == np.float32
    assert x.sum().dtype == np.int64
    assert cp.zeros((0, 3)).sum(0).tolist() == [0, 0, 0]
    assert cp.zeros((0, 3)).prod(0).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="zero-size array to reduction operation max"):
        cp.zeros(0).max()
    with pytest.raises(np.exceptions.AxisError):
        x.sum(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(float(cp.zeros(0).mean()))


def test_where_elements_are_true():
    a = np.random.default_rng(2).random((300, 41)) < 0.1
    for found, wanted in zip(cp.nonzero(cp.asarray(a)), np.nonzero(a), strict=True):
        check(found, wanted)
    check(cp.argwhere(cp.asarray(a)), np.argwhere(a))
    check(cp.flatnonzero(cp.asarray(a)), np.flatnonzero(a))
