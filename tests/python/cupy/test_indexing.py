"""Indices of all kinds against NumPy's: what they select, what they set, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import gridstride.cupy as cp

A = np.arange(60).reshape(3, 4, 5)
MASK = A % 3 == 0
FIRST, SECOND = np.array([0, 2, -1]), np.array([[1], [3]])
KEYS = [
    0,
    -1,
    slice(1, None),
    (slice(None, None, -1), 1),
    (Ellipsis, 2),
    (None, 1),
    (1, None, slice(None), 2),
    (1, 2, 3),
    Ellipsis,
    (),
    FIRST,
    (FIRST,),
    (slice(None), FIRST),
    (Ellipsis, FIRST),
    (FIRST, FIRST),
    (FIRST, slice(None), FIRST),
    (slice(None), FIRST, FIRST),
    (slice(None), SECOND, FIRST),
    (1, FIRST),
    (FIRST, 1),
    (1, slice(None), FIRST),
    (None, FIRST),
    MASK,
    (MASK[:, 0, 0],),
    (slice(None), MASK[0, :, 0]),
    MASK[:, :, 0],
    (0, MASK[0]),
    [0, 2],
    ([0, 1], [1, 2]),
    np.array([], dtype=int),
    (FIRST, None, SECOND),
    True,
    (slice(0, 0), FIRST),
    MASK & False,
]


def on_device(key):
    if isinstance(key, tuple):
        return tuple(map(on_device, key))
    return cp.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key).replace("\n", "")[:40])
def test_selects(key):
    found, wanted = cp.asarray(A)[on_device(key)], A[key]
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.get(), wanted)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("key", KEYS, ids=lambda key: str(key).replace("\n", "")[:40])
def test_sets(key, order):
    for value in (-7, A[key] * 10):
        a, x = np.array(A, order=order), cp.array(A, order=order)
        a[key] = value
        x[on_device(key)] = cp.asarray(value) if isinstance(value, np.ndarray) else value
        np.testing.assert_array_equal(x.get(), a)


def test_an_element_is_an_array_without_dimensions_that_shares_memory():
    x = cp.arange(4)
    one = x[2]
    assert isinstance(one, cp.ndarray) and one.shape == ()
    x[2] = 9
    assert one == 9 and int(one) == 9


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_slices_are_views(data):
    shape = data.draw(npst.array_shapes(max_dims=4, max_side=5))
    key = data.draw(npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    a, x = np.zeros(shape), cp.zeros(shape)
    a[key] = 1
    x[key] = 1
    np.testing.assert_array_equal(x.get(), a)
    np.testing.assert_array_equal(x[key].get(), a[key])


def test_refuses():
    x = cp.arange(6).reshape(2, 3)
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis( 0)? with size 2"):
        x[cp.array([0, 2])]
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(IndexError, match="too many indices"):
        x[cp.array([0]), 0, 0]
    with pytest.raises(IndexError, match="boolean index did not match"):
        x[cp.array([True])]
    with pytest.raises(IndexError, match="must be of integer"):
        x[cp.array([0.5])]
    with pytest.raises(IndexError, match="only integers, slices"):
        x["a"]
    with pytest.raises(ValueError, match="could not be broadcast"):
        x[0] = cp.arange(2)
    with pytest.raises(ValueError, match="cannot assign 2 input values to the 3 output values"):
        x[x > 2] = cp.arange(2)


def test_take_choose_put():
    a = np.arange(12.0).reshape(3, 4)
    x = cp.asarray(a)
    np.testing.assert_array_equal(x.take([3, 0], axis=1).get(), a.take([3, 0], axis=1))
    np.testing.assert_array_equal(cp.take(x, cp.array([5, 14]), mode="wrap").get(), np.take(a, [5, 14], mode="wrap"))
    np.testing.assert_array_equal(cp.take(x, cp.array([-5, 14]), mode="clip").get(), np.take(a, [-5, 14], mode="clip"))
    order = np.argsort(-a, axis=1)
    found = cp.take_along_axis(x, cp.asarray(order), 1)
    np.testing.assert_array_equal(found.get(), np.take_along_axis(a, order, 1))
    index = np.array([0, 1, 0])
    np.testing.assert_array_equal(
        cp.choose(cp.asarray(index), [x[:, 0], x[:, 1]]).get(), np.choose(index, [a[:, 0], a[:, 1]])
    )
    x.put([0, 5], [-1, -2])
    a.put([0, 5], [-1, -2])
    np.testing.assert_array_equal(x.get(), a)
