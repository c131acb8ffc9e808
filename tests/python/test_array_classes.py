"""Classes derived from arrays, and attributes of vectors that are the program's own."""

import pytest

import gridstride as wp


class Tagged(wp.array):
    def __init__(self, *args, tag, **options):
        self.tag = tag
        super().__init__(*args, **options)


def test_a_derived_class_takes_arguments_of_its_own():
    a = Tagged([1.0, 2.0], dtype=float, tag="x")
    assert a.tag == "x" and a.list() == [1.0, 2.0]
    with pytest.raises(TypeError, match="unexpected keyword argument `tag`"):
        wp.array([1.0], tag="x")


def test_vectors_keep_attributes_but_no_missing_component():
    v = wp.vec2(1.0, 2.0)
    v.name = "velocity"
    assert v.name == "velocity" and not hasattr(v, "z")
    with pytest.raises(AttributeError, match="no attribute 'z'"):
        v.z = 1.0
    with pytest.raises(KeyError, match="expected int or slice"):
        v[None]
    with pytest.raises(TypeError, match="got `str` instead"):
        v[0] = "1"
    with pytest.raises(RuntimeError, match="NULL"):
        wp.vec2.from_ptr(0)
