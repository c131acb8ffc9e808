"""Vectors, matrices, quaternions and transforms on the host."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as wp
from gridstride import _logger

f32 = st.floats(-1e6, 1e6, width=32)
LETTERS = {"b": "int8", "ub": "uint8", "s": "int16", "us": "uint16", "i": "int32", "ui": "uint32"}
LETTERS |= {"l": "int64", "ul": "uint64", "h": "float16", "f": "float32", "d": "float64"}


@wp.struct
class Narrow:
    x: wp.int8


def test_named_types():
    for letter, scalar in LETTERS.items():
        for n in (2, 3, 4):
            cls = getattr(wp, f"vec{n}{letter}")
            assert (cls.__name__, cls._length_, cls._wp_scalar_type_.__name__) == (f"vec{n}{letter}", n, scalar)
    for letter in "hfd":
        for n in (2, 3, 4):
            assert getattr(wp, f"mat{n}{n}{letter}")._shape_ == (n, n)
        assert getattr(wp, f"spatial_matrix{letter}")._shape_ == (6, 6)
    assert wp.vec3 is wp.vec3f
    assert wp.quat is wp.quatf
    assert wp.transform is wp.transformf
    assert wp.types.vector(3, wp.float32) is wp.vec3
    assert wp.types.matrix((2, 2), float) is wp.mat22


@given(a=st.tuples(f32, f32, f32), b=st.tuples(f32, f32, f32), s=f32)
def test_vector_arithmetic_is_float32(a, b, s):
    x, y, k = np.float32(a), np.float32(b), np.float32(s)
    v, w = wp.vec3(*a), wp.vec3(b)
    with np.errstate(all="ignore"):
        for found, expected in (
            (v + w, x + y),
            (v - w, x - y),
            (v * s, x * k),
            (s * v, x * k),
            (-v, -x),
            (v / s, x / k),
        ):
            np.testing.assert_array_equal(np.array(found), expected)
            assert type(found) is wp.vec3


def test_constructors():
    assert wp.vec3() == (0.0, 0.0, 0.0)
    assert wp.vec3(2) == (2.0, 2.0, 2.0)
    assert wp.vec3([1, 2, 3]) == wp.vec3(1, 2, 3) == wp.vec3(np.array([1, 2, 3])) == wp.vec3(wp.vec3d(1, 2, 3))
    assert wp.vec2i(-1, 2**32 + 5) == (-1, 5)
    assert wp.spatial_vector(wp.vec3(1, 2, 3), wp.vec3(4, 5, 6)) == (1, 2, 3, 4, 5, 6)
    assert (
        wp.mat22(1, 2, 3, 4)
        == wp.mat22([[1, 2], [3, 4]])
        == wp.mat22((1, 2), (3, 4))
        == wp.mat22(np.array([[1, 2], [3, 4]]))
    )
    assert wp.mat33(1.0) == [[1, 1, 1]] * 3
    with pytest.raises(ValueError, match="vec3f has 3 components, not 2"):
        wp.vec3(1.0, 2.0)
    for text in (("abc",), (1.0, "2", 3.0)):
        with pytest.raises(TypeError, match="components are numbers, not '"):
            wp.vec3(*text)
    with pytest.raises(TypeError, match="rows of 3"):
        wp.mat33((1, 2), (3, 4), (5, 6))


def test_components_by_name_index_and_slice():
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    assert (v.x, v.y, v.z, v.w) == (1.0, 2.0, 3.0, 4.0)
    assert v[-1] == 4.0
    assert repr(v[1:3]) == "vec2f([2.0, 3.0])"
    v.y = 7
    v[0] = 5.0
    v[2:] = (8.0, 9.0)
    assert list(v) == [5.0, 7.0, 8.0, 9.0]
    with pytest.raises(IndexError):
        v[4]
    with pytest.raises(AttributeError):
        wp.vec2().z  # noqa: B018


def test_components_of_a_vector_are_rounded():
    v = wp.vec3(0.1, 1e300, -1e300)
    assert v[0] == np.float32(0.1)
    assert v[1] == np.inf
    assert v[2] == -np.inf
    v.x = 0.2
    assert v.x == np.float32(0.2)


def test_matrix_indexing():
    m = wp.mat33(*range(9))
    assert m[1] == wp.vec3(3, 4, 5)
    assert m[-1, 0] == 6.0
    assert m[:, 1] == wp.vec3(1, 4, 7)
    assert repr(m[0:2, 1:]) == "mat22f([[1.0, 2.0], [4.0, 5.0]])"
    assert [row[0] for row in m] == [0.0, 3.0, 6.0]
    m[0] = wp.vec3(9, 9, 9)
    m[2, 2] = -1.0
    m[:, 0] = (1, 2, 3)
    np.testing.assert_array_equal(np.array(m), [[1, 9, 9], [2, 4, 5], [3, 7, -1]])
    with pytest.raises(IndexError):
        m[3, 0]


def test_text_forms():
    assert str(wp.vec3(1, 2, 3)) == "[1.0, 2.0, 3.0]"
    assert repr(wp.vec3i(1, 2, 3)) == "vec3i([1, 2, 3])"
    assert str(wp.mat22(1, 2, 3, 4)) == "[[1.0, 2.0],\n [3.0, 4.0]]"
    assert repr(wp.types.vector(5, int)(1)) == "vector(length=5, dtype=int32)([1, 1, 1, 1, 1])"


def test_transforms():
    assert list(wp.transform()) == [0, 0, 0, 0, 0, 0, 1]
    t = wp.transform((1.0, 2.0, 3.0), wp.quat(0.0, 0.0, 1.0, 0.0))
    assert t.p == wp.vec3(1, 2, 3)
    assert repr(t.q) == "quatf([0.0, 0.0, 1.0, 0.0])"
    t.p = (4.0, 5.0, 6.0)
    assert t == wp.transform(p=(4, 5, 6), q=(0, 0, 1, 0)) == wp.transform(4, 5, 6, 0, 0, 1, 0)
    assert wp.transform_identity(dtype=wp.float64) == wp.transformd()
    wp.transform_set_translation(t, wp.vec3(7, 8, 9))
    assert t.p == (7, 8, 9)
    assert list(wp.transform(np.float16(1.5))) == [1.5] * 7
    with pytest.raises(TypeError, match="expected a scalar value, got object"):
        wp.transform(object())
    with pytest.raises(TypeError, match="'q' in transformation constructor"):
        wp.transform((1.0, 2.0, 3.0), 4.0)
    with pytest.raises(ValueError, match="position of 3"):
        wp.transform((1.0, 2.0), (0.0, 0.0, 0.0, 1.0))


def test_integer_division_truncates_and_wraps():
    assert wp.vec2i(-7, 7) / 2 == (-3, 3)
    assert wp.vec2i(-7, 7) % 4 == (-3, 3)
    assert wp.vec2ub(250, 1) + wp.vec2ub(10, 1) == (4, 2)


def test_operands_of_other_types_are_refused():
    with pytest.raises(TypeError):
        wp.vec3() + wp.vec2()
    with pytest.raises(TypeError):
        wp.vec3() + 1.0
    with pytest.raises(TypeError):
        wp.vec3() * wp.float64(2.0)


def test_numpy_sees_components():
    assert np.array(wp.vec3d(1, 2, 3)).dtype == np.float64
    assert np.array(wp.mat22i() if hasattr(wp, "mat22i") else wp.mat22()).shape == (2, 2)
    assert np.asarray([wp.vec2(1, 2), wp.vec2(3, 4)]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("make", [lambda: wp.types.vector(-1, float), lambda: wp.types.matrix((2, -1), float)])
def test_negative_sizes_are_refused(make):
    with pytest.raises(ValueError, match="cannot have"):
        make()


def test_values_without_components_stay_on_the_host():
    assert list(wp.types.vector(0, float)()) == []
    with pytest.raises(TypeError, match="not a data type"):
        wp.zeros(3, dtype=wp.types.vector(0, float))


def test_generic_types_make_no_values():
    from typing import Any

    with pytest.raises(TypeError, match="stands for several types"):
        wp.types.vector(length=Any, dtype=float)()
    with pytest.raises(TypeError, match="scalars"):
        wp.types.vector(3, wp.vec3)


@pytest.mark.parametrize(
    "store",
    [
        lambda: setattr(wp.vec2ub(), "x", -1),
        lambda: wp.vec2ub().__setitem__(slice(None), 256),
        lambda: wp.zeros(2, dtype=wp.uint8).fill_(256),
        lambda: wp.full(2, -1, dtype=wp.uint32),
        lambda: wp.array([300], dtype=wp.uint8),
        lambda: Narrow(x=128),
        lambda: setattr(Narrow(), "x", -129),
    ],
)
def test_an_int_out_of_range_is_refused_wherever_it_is_stored(store):
    with pytest.raises(OverflowError, match=r"out of (range|bounds) for u?int(8|32)"):
        store()


@pytest.mark.parametrize("value", [1.5, 2.0, np.float32(2.0), wp.float32(2.0)])
def test_a_float_is_no_int_wherever_it_is_stored(value):
    for store in (
        lambda: setattr(wp.vec2i(), "x", value),
        lambda: wp.vec2i().__setitem__(1, value),
        lambda: wp.zeros(2, dtype=int).fill_(value),
        lambda: wp.full(2, value, dtype=wp.uint32),
    ):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            store()
    assert (wp.int32(1.5), wp.vec2i(1.5, 2)) == (1, (1, 2))


def test_conversions_and_arithmetic_wrap():
    assert wp.vec2ub(300, -1) == (44, 255)
    assert wp.vec2ub(200, 1) + wp.vec2ub(100, 1) == (44, 2)
    assert wp.full(1, wp.uint8(300)).list() == [44]
    assert wp.array(np.array([300]), dtype=wp.uint8).list() == [44]


def test_swizzles_are_no_attributes_on_the_host():
    v = wp.vec3(1.0, 2.0, 3.0)
    with pytest.raises(AttributeError, match="no attribute 'xy'"):
        v.xy = wp.vec2(1.0, 2.0)


@wp.kernel
def give_composites(v: wp.vec3, m: wp.mat22d, a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.mat22d)):
    a[0] = v
    b[0] = m


@pytest.mark.parametrize("value", [True, np.bool_(True), wp.bool(True), np.float32(1.5), np.int64(3)])
def test_a_flag_or_a_number_of_numpys_fills_a_vector_with_a_warning(value, monkeypatch, capsys):
    monkeypatch.setattr(_logger, "_warnings_seen", set())
    a, b = wp.zeros(1, dtype=wp.vec3), wp.zeros(1, dtype=wp.mat22d)
    wp.launch(give_composites, dim=1, inputs=[value, value, a, b])
    told, name = capsys.readouterr().err, type(value).__name__
    for target in ("`vec3f` of kernel parameter 'v'", "`mat22d` of kernel parameter 'm'"):
        assert f"DeprecationWarning: a value of type `{name}` for the {target} fills its components" in told
    assert (a.numpy() == float(value)).all() and (b.numpy() == float(value)).all()


@pytest.mark.parametrize("value", [1.5, 3, wp.float32(2.0), None])
def test_a_number_alone_is_no_vector(value):
    with pytest.raises(ValueError, match=r"argument 1 `v`: expected vec3f, got"):
        wp.launch(give_composites, dim=1, inputs=[value, wp.mat22d(), None, None])
