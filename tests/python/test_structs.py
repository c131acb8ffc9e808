"""`@wp.struct`: fields, layout in memory, arrays of structs."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as wp

SCALARS = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@wp.struct
class Inner:
    flag: wp.bool
    v: wp.vec3


@wp.struct
class Outer:
    n: int
    inner: Inner
    d: wp.float64
    m: wp.mat22


@wp.struct
class Holder:
    scale: float
    a: wp.array(dtype=float)
    b: wp.array2d[wp.vec3]


def test_new_instances_are_zero():
    s = Outer()
    assert (s.n, s.d, s.inner.flag) == (0, 0.0, False)
    assert s.inner.v == wp.vec3()
    assert Holder().a is None


def test_fields_convert_what_is_assigned():
    s = Outer()
    s.n = wp.int32(5)
    s.m = ((1, 2), (3, 4))
    s.inner.v.y = 2.5
    s.inner.flag = 1
    assert (s.n, s.m, s.inner.v, s.inner.flag) == (5, wp.mat22(1, 2, 3, 4), wp.vec3(0, 2.5, 0), True)
    assert repr(s.inner) == "Inner(flag=True, v=vec3f([0.0, 2.5, 0.0]))"
    with pytest.raises(AttributeError, match="no field `nn`; it has n, inner"):
        s.nn = 1
    with pytest.raises(TypeError, match="Struct field 'inner' expects Inner, got int"):
        s.inner = 3


def test_a_number_in_a_field_keeps_the_class_that_it_was_given_with():
    @wp.struct
    class Numbers:
        n: wp.uint8
        x: float

    numbers = Numbers()
    assert (type(numbers.n), type(numbers.x), repr(numbers)) == (wp.uint8, wp.float32, "Numbers(n=0, x=0.0)")
    numbers.n, numbers.x = 3, wp.float64(0.5)
    assert (type(numbers.n), type(numbers.x), numbers.x) == (int, wp.float32, 0.5)
    numbers.n = wp.uint8(4)
    assert wp.array([numbers], dtype=Numbers, device="cpu").numpy().tolist() == [(4, 0.5)]
    with pytest.raises(TypeError, match="Struct field 'n' 'float' object"):
        numbers.n = 3.5


def test_an_assigned_value_is_a_copy():
    v = wp.vec3(1, 2, 3)
    inner = Inner(v=v)
    v.x = 9.0
    outer = Outer(inner=inner)
    inner.v.y = 9.0
    assert outer.inner.v == wp.vec3(1, 2, 3)
    copied = copy.copy(outer)
    copied.inner.v.z = 9.0
    assert outer.inner.v == wp.vec3(1, 2, 3)
    assert copy.deepcopy(outer).inner.v == wp.vec3(1, 2, 3)


def test_constructor_takes_fields():
    assert Inner(True, wp.vec3(1)).v == wp.vec3(1)
    with pytest.raises(TypeError, match="no field"):
        Inner(wrong=1)
    with pytest.raises(TypeError, match="given twice"):
        Inner(True, flag=True)


@given(names=st.lists(st.sampled_from(SCALARS), min_size=1, max_size=8))
def test_layout_is_that_of_c(names):
    cls = type("S", (), {"__annotations__": {f"f{i}": getattr(wp, name) for i, name in enumerate(names)}})
    cls = wp.struct(cls)
    expected = np.dtype([(f"f{i}", name) for i, name in enumerate(names)], align=True)
    record = np.dtype(cls.numpy_dtype())
    assert record.fields == expected.fields
    assert record.itemsize == expected.itemsize == wp.type_size_in_bytes(cls)


def test_bytes_are_those_of_the_record():
    s = Outer(n=7, inner=Inner(True, (1, 2, 3)), d=0.5, m=((1, 2), (3, 4)))
    record = np.frombuffer(s.__gs_bytes__(), dtype=Outer.numpy_dtype())[0]
    assert (record["n"], record["inner"]["flag"], record["d"]) == (7, True, 0.5)
    np.testing.assert_array_equal(record["inner"]["v"], [1, 2, 3])
    np.testing.assert_array_equal(record["m"], [[1, 2], [3, 4]])
    again = Outer.from_bytes(s.__gs_bytes__())
    assert repr(again) == repr(s)


@pytest.mark.cpu
def test_arrays_of_structs_are_record_arrays():
    a = wp.array([Outer(n=i, d=i / 2) for i in range(4)], dtype=Outer)
    assert a.numpy()["n"].tolist() == [0, 1, 2, 3]
    a.numpy()["inner"]["v"][2] = (7, 8, 9)
    assert a.list()[2].inner.v == wp.vec3(7, 8, 9)
    assert a[2].d == 1.0
    z = wp.zeros((2, 3), dtype=Outer)
    z.fill_(Outer(n=3))
    assert z.numpy()["n"].tolist() == [[3, 3, 3], [3, 3, 3]]
    z[0].zero_()
    assert z.numpy()["n"].tolist() == [[0, 0, 0], [3, 3, 3]]
    records = np.zeros(3, dtype=Outer.numpy_dtype())
    shared = wp.array(records, dtype=Outer, copy=False)
    records["n"][1] = 5
    assert shared[1].n == 5


@pytest.mark.cpu
def test_structs_with_arrays():
    a = wp.array([1.0, 2.0], dtype=float)
    h = Holder(scale=2.0, a=a)
    again = Holder.from_bytes(h.__gs_bytes__())
    assert again.a.numpy().tolist() == [1.0, 2.0]
    assert again.b is None
    with pytest.raises(TypeError, match="Struct field 'a' expects dtype float32, got int32"):
        h.a = wp.zeros(3, dtype=int)
    with pytest.raises(TypeError, match="Struct field 'a' expects a Warp array, got list"):
        h.a = [1.0]
    many = wp.array([h, h], dtype=Holder)
    del a, h
    assert many.list()[1].a.numpy().tolist() == [1.0, 2.0]


@pytest.mark.cpu
def test_nested_lists_of_structs():
    a = wp.array([[Inner(True), Inner()], [Inner(), Inner(True)]], dtype=Inner)
    assert a.numpy()["flag"].tolist() == [[True, False], [False, True]]


def test_open_fields_are_refused():
    from typing import Any

    with pytest.raises(TypeError, match="field `x` of struct `Open` must have one fixed type"):

        @wp.struct
        class Open:
            x: Any

    with pytest.raises(TypeError, match="field `x` of struct `Wrong`"):

        @wp.struct
        class Wrong:
            x: dict


def test_methods_stay():
    @wp.struct
    class Ray:
        o: wp.vec3
        t: float

        def at(self, t):
            return self.o + wp.vec3(t)

    assert Ray(o=(1, 2, 3)).at(1.0) == wp.vec3(2, 3, 4)


def test_a_struct_is_derived_from_nothing():
    with pytest.raises(RuntimeError, match="`Child` is derived from `Parent`"):

        @wp.struct
        class Parent:
            x: float

        @wp.struct
        class Child(Parent):
            y: float
