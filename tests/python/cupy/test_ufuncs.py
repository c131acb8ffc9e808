"""Every function over elements against NumPy's of the same name: types, values at the edges, shapes, `out`, `where`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import gridstride.cupy as cp
from gridstride.cupy import _ufunc_table

DTYPES = [np.dtype(kind) for kind in "?bBhHiIqQefdFD"]
FEW = [np.dtype(kind) for kind in "?bIqefD"]
NAMES = [name for name in _ufunc_table.ROWS if hasattr(np, name)]
# Results of these are roundings of the same number; the others are the same to the last bit.
INEXACT = {
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
}
INEXACT |= {
    "arcsinh",
    "arccosh",
    "arctanh",
    "hypot",
    "cbrt",
    "power",
    "float_power",
    "logaddexp",
    "logaddexp2",
    "degrees",
    "radians",
}
INEXACT |= {"rad2deg", "deg2rad", "absolute", "sqrt", "sign", "reciprocal", "divide", "square", "multiply"}


def values(dtype):
    """Numbers of a dtype, those at the edges among them."""
    if dtype.kind == "b":
        return np.array([False, True, True, False])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        found = {0, 1, 2, 3, 5, 7, 12, 100, limits.max, limits.max - 1, limits.min, limits.min + 1}
        found |= {-1, -2, -3, -7, -100} if dtype.kind == "i" else set()
        return np.array(sorted(found), dtype)
    real = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.7, 10.25, 100.0, np.inf, -np.inf, np.nan, 1e-3]
    if dtype.kind == "f":
        return np.array(real, dtype)
    parts = [0.0, 1.0, -1.0, 0.5, -2.5, 3.25]
    return np.array([complex(a, b) for a in parts for b in parts], dtype)


def check(found, wanted, rtol=0.0):
    assert isinstance(found, cp.ndarray)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if rtol and wanted.dtype.kind in "fc":
        tiny = np.finfo(wanted.dtype).tiny
        np.testing.assert_allclose(found.get(), wanted, rtol=rtol, atol=tiny if wanted.dtype.kind == "f" else rtol)
    else:
        np.testing.assert_array_equal(found.get(), wanted)


def tolerance(name, dtype):
    if name not in INEXACT:
        return 0.0
    return {"e": 2e-3, "f": 2e-6, "d": 4e-14, "F": 2e-5, "D": 1e-12}.get(dtype.char, 0.0)


def both(name, *operands):
    """What NumPy and we give, or the kind of exception that both raise."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = getattr(np, name)(*operands)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(cp, name)(*map(cp.asarray, operands))
            return []
    found = getattr(cp, name)(*map(cp.asarray, operands))
    pairs = [(found, wanted)] if not isinstance(wanted, tuple) else list(zip(found, wanted, strict=True))
    return [(ours, np.asarray(theirs)) for ours, theirs in pairs]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if getattr(np, name).nin == 1])
def test_of_one_operand(name, dtype, interpreted):
    x = values(dtype)
    if name == "reciprocal" and dtype.kind in "iu":
        x = x[x != 0]
    for found, wanted in both(name, x):
        if name == "spacing" and found.dtype == np.float16:
            # NumPy's of negative numbers is positive for this type alone.
            found, wanted = found[x > 0], wanted[x > 0]
        check(found, wanted, tolerance(name, wanted.dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if getattr(np, name).nin == 2])
def test_of_two_operands_of_one_type(name, dtype, interpreted):
    x = values(dtype)
    a, b = np.repeat(x, x.size), np.tile(x, x.size)
    if name == "ldexp":
        b = np.tile(np.arange(-3, 4, dtype=np.int32), a.size)[: a.size]
    if name in ("power", "float_power") and dtype.kind in "iu":
        a, b = a[b >= 0], np.minimum(b[b >= 0], 12)
    if dtype.kind == "c" and name in ("divide", "power", "float_power"):
        # What a complex number divided by zero is, and powers of zero, NumPy leaves to the C library.
        a, b = a[(a != 0) & (b != 0)], b[(a != 0) & (b != 0)]
    for found, wanted in both(name, a, b):
        check(found, wanted, tolerance(name, wanted.dtype))


@pytest.mark.parametrize("right", FEW, ids=str)
@pytest.mark.parametrize("left", FEW, ids=str)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "less", "equal", "logical_and"])
def test_of_two_types(name, left, right, interpreted):
    x, y = values(left), values(right)
    n = min(x.size, y.size)
    if name == "divide" and "c" in left.kind + right.kind:
        y = np.where(y == 0, y.dtype.type(3), y)
    for found, wanted in both(name, x[:n], y[:n]):
        check(found, wanted, tolerance(name, wanted.dtype))


@pytest.mark.parametrize("number", [2, -1, True, 0.5, 2 + 1j, np.float32(3), np.int8(-3)], ids=repr)
@pytest.mark.parametrize("dtype", FEW, ids=str)
@pytest.mark.parametrize("name", ["add", "multiply", "greater"])
def test_numbers_beside_arrays_follow_numpy(name, dtype, number, interpreted):
    x = values(dtype)
    with np.errstate(all="ignore"):
        try:
            wanted = getattr(np, name)(x, number)
        except OverflowError:
            with pytest.raises(OverflowError):
                getattr(cp, name)(cp.asarray(x), number)
            return
    check(getattr(cp, name)(cp.asarray(x), number), wanted, tolerance(name, wanted.dtype))
    check(getattr(cp, name)(number, cp.asarray(x)), getattr(np, name)(number, x), tolerance(name, wanted.dtype))


def test_an_int_beyond_a_type_compares_as_in_python():
    x = cp.array([1, 255], dtype=cp.uint8)
    assert (x < 300).get().tolist() == [True, True]
    assert (x == -1).get().tolist() == [False, False]
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        x + 300


SHAPES = npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=6, max_side=4)


@st.composite
def laid_out(draw, shape):
    """A NumPy array of a shape that lies in memory in one of many ways."""
    rank = len(shape)
    axes = draw(st.permutations(range(rank)))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 2, -1, -2]), min_size=rank, max_size=rank))
    base = [0] * rank
    for place, axis in enumerate(axes):
        base[place] = shape[axis] * abs(steps[axis])
    source = np.arange(int(np.prod(base, dtype=int)), dtype=np.float64).reshape(base)
    moved = source.transpose(np.argsort(axes)) if rank else source
    return moved[tuple(slice(None, None, step) for step in steps)] if rank else moved, axes, steps, base


def ours(layout):
    """The same array of ours, by the same views."""
    array, axes, steps, base = layout
    source = cp.arange(int(np.prod(base, dtype=int)), dtype=np.float64).reshape(tuple(base))
    if not base:
        return source
    return source.transpose(tuple(np.argsort(axes).tolist()))[tuple(slice(None, None, step) for step in steps)]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_shapes_and_strides(data):
    shapes = data.draw(SHAPES)
    layouts = [data.draw(laid_out(shape)) for shape in shapes.input_shapes]
    a, b = (layout[0] for layout in layouts)
    x, y = map(ours, layouts)
    check(x, a)
    check(x + y, np.asarray(a + b))
    check(x.copy(), a)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_out_and_where(data):
    shape = data.draw(npst.array_shapes(max_dims=3, max_side=5))
    layout = data.draw(laid_out(shape))
    mask = data.draw(npst.arrays(bool, shape))
    a, x = layout[0], ours(layout)
    wanted = np.full(shape, -1.0)
    found = cp.full(shape, -1.0)
    result = cp.add(x, 1, out=found, where=cp.asarray(mask))
    np.add(a, 1, out=wanted, where=mask)
    assert result is found
    check(found, wanted)


def test_results_may_be_written_over_operands():
    a = np.arange(10.0)
    x = cp.asarray(a)
    x[1:] += x[:-1]
    a[1:] += a[:-1].copy()
    check(x, a)
    x = cp.asarray(a)
    cp.negative(x, out=x[::-1])
    check(x, -a[::-1])


def test_mistakes():
    x = cp.arange(3)
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3,\) \(2,\)"):
        x + cp.arange(2)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        x += 0.5
    with pytest.raises(TypeError):
        cp.bitwise_and(x, 1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'subok'"):
        cp.add(x, x, subok=False)
    with pytest.raises(TypeError, match="Unsupported dtype"):
        cp.array(["text"])


def test_methods_of_functions():
    a = np.arange(1.0, 7.0).reshape(2, 3)
    x = cp.asarray(a)
    check(cp.add.reduce(x, axis=1), np.add.reduce(a, axis=1))
    check(cp.multiply.accumulate(x, axis=1), np.multiply.accumulate(a, axis=1))
    check(cp.multiply.outer(x[0], x[1]), np.multiply.outer(a[0], a[1]))
    cp.add.at(x, (cp.array([0, 0]), cp.array([1, 1])), 1.0)
    np.add.at(a, ([0, 0], [1, 1]), 1.0)
    check(x, a)


def test_an_array_without_gaps_stays_one_when_its_strides_are_read():
    x = cp.ones((2, 3))
    assert x.strides == (24, 8) and x.T.strides == (8, 24)
    x += 1
    assert x.is_flat and x._strides is None


def test_results_go_to_arrays_of_every_kind():
    x, y = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32)[::-1].copy()
    for _ in range(3):
        a, b = cp.asarray(x), cp.asarray(y)
        for out in (cp.zeros(6, np.float32), cp.zeros(6), cp.zeros((6, 2), np.float32)[:, 1], cp.zeros((2, 6))):
            assert cp.subtract(a, b, out=out) is out
            np.testing.assert_array_equal(out.get(), np.broadcast_to(x - y, out.shape))
        # Over what is read.
        assert cp.subtract(a, b, out=b) is b
        np.testing.assert_array_equal(b.get(), x - y)
        a = cp.arange(7, dtype=np.float32)
        cp.add(a[:-1], a[1:], out=a[1:])
        np.testing.assert_array_equal(a.get()[1:], x * 2 + 1)
        with pytest.raises(ValueError, match="broadcast"):
            cp.add(a, a, out=cp.zeros(3, np.float32))
        with pytest.raises(TypeError, match="Cannot cast"):
            cp.add(a, 1.5, out=cp.zeros(7, np.int32))


def test_a_type_to_compute_in_loses_nothing_silently():
    x = cp.array([1.5 + 2j])
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' input 0 from"):
        cp.add(x, 1, dtype="float64")
    assert cp.add(x, 1, dtype="float64", casting="unsafe").tolist() == [2.5]
    assert cp.add(cp.array([1.5]), 1, dtype="float32").tolist() == [2.5]


def test_bounds_beyond_the_type_are_none():
    x = cp.array([0, 3, 200], cp.uint8)
    assert cp.clip(x, -5, 100).tolist() == [0, 3, 100]
    assert cp.clip(x, 2, 999).tolist() == [2, 3, 200]
