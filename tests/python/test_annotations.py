from __future__ import annotations

# Annotations of kernels, functions and structs. In this file every annotation is text, as PEP 563 makes it.
import enum
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridstride as wp
from gridstride import _native, _types

F32 = _native.Type.scalar("f32")
I32 = _native.Type.scalar("i32")


class Color(enum.IntEnum):
    RED = 1


def test_text_annotations_see_globals_and_locals():
    local = wp.vec2
    shape_only = 3

    @wp.kernel
    def k(a: wp.array(dtype=local), b: wp.array2d[wp.vec3], c: wp.types.vector(shape_only, float), d: Color):
        pass

    a, b, c, d = k._annotations.values()
    assert (a.kind, a.elem.shape, a.rank) == ("array", (2,), 1)
    assert (b.elem.shape, b.rank) == ((3,), 2)
    assert c == wp.vec3.__gs_type__
    assert d == I32


def test_quoted_annotations_are_evaluated_twice():
    @wp.kernel
    def k(a: "wp.array(dtype=float)"):  # noqa: UP037
        pass

    assert k._annotations["a"] == _native.Type.array(F32, 1)


def test_factories_keep_their_own_types():
    def make(dtype):
        @wp.kernel
        def k(a: wp.array(dtype=dtype)):
            pass

        return k

    for dtype in (wp.float64, wp.vec3, wp.int8):
        assert make(dtype)._annotations["a"].elem == dtype.__gs_type__


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (float, F32),
        (int, I32),
        (bool, _native.Type.scalar("bool")),
        (np.float64, _native.Type.scalar("f64")),
        (wp.mat22, _native.Type.matrix(F32, 2, 2)),
        (wp.quat, _native.Type.quat(F32)),
        (wp.transformd, _native.Type.transform(_native.Type.scalar("f64"))),
        (wp.array(dtype=float), _native.Type.array(F32, 1)),
        (wp.array(dtype=float, ndim=3), _native.Type.array(F32, 3)),
        (wp.array[float], _native.Type.array(F32, 1)),
        (wp.array4d(dtype=int), _native.Type.array(I32, 4)),
        (wp.array3d[int], _native.Type.array(I32, 3)),
        (wp.array[float, 2], _native.Type.array(F32, 2)),
        (Any, ("any",)),
        (wp.Scalar, ("scalar",)),
        (wp.Float, ("float",)),
        (wp.Int, ("int",)),
        (wp.array(dtype=Any), ("array", ("any",), 1)),
        (wp.array2d[wp.Float], ("array", ("float",), 2)),
        (wp.array, ("array", ("any",), 1)),
        (wp.array3d, ("array", ("any",), 3)),
        (wp.types.vector(length=Any, dtype=wp.Float), ("vector", ("float",), None)),
        (wp.types.vector(length=3, dtype=Any), ("vector", ("any",), 3)),
        (wp.types.matrix(shape=(2, Any), dtype=float), ("matrix", F32, 2, None)),
        (wp.types.quaternion(dtype=Any), ("quat", ("any",))),
        (wp.array(dtype=wp.types.vector(length=Any, dtype=float)), ("array", ("vector", F32, None), 1)),
        (Callable, ("callable",)),
        (typing.Callable, ("callable",)),
        (Callable[[float], float], ("callable",)),
        (wp.Function, ("callable",)),
        (tuple[float, wp.vec3], ("tuple", F32, wp.vec3.__gs_type__)),
    ],
)
def test_types_for_the_compiler(annotation, expected):
    assert _types.native_type(annotation) == expected


def test_return_annotations():
    @wp.func
    def f(x: float) -> float:
        return x

    @wp.func
    def g(x, y: Any = 1.0) -> None:
        pass

    assert f._annotations == {"x": F32, "return": F32}
    assert g._annotations == {"y": ("any",)}


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="parameter `b` of kernel `k` has no type annotation"):

        @wp.kernel
        def k(a: float, b):
            pass

    with pytest.raises(TypeError, match="`a` of `k2`.*`str` is not a data type"):

        @wp.kernel
        def k2(a: str):
            pass

    with pytest.raises(NameError, match=r"annotation `missing.thing` of `a` in .*k3"):

        @wp.kernel
        def k3(a: missing.thing):  # noqa: F821
            pass

    with pytest.raises(TypeError, match="`k4` takes `\\*` or `\\*\\*` parameters: name each one"):

        @wp.kernel
        def k4(*values: int):
            pass

    for what in (len, int, 5, wp.func(lambda x: x)):
        with pytest.raises(TypeError, match="only functions written in Python"):
            wp.kernel(what)
        with pytest.raises(TypeError, match="only functions written in Python"):
            wp.func(what)
    with pytest.raises(TypeError, match="an array cannot hold"):
        wp.array(dtype=wp.array(dtype=float))
    with pytest.raises(ValueError, match="1 to 4 dimensions"):
        wp.array(dtype=float, ndim=5)
    with pytest.raises(TypeError, match="unexpected keyword argument `enable_backwards`"):
        wp.kernel(enable_backwards=False)


def test_annotations_combine_with_none():
    assert typing.get_args(wp.array[float] | None)[1] is type(None)
    assert wp.array[float] == wp.array[wp.float32]
    assert hash(wp.array[float]) == hash(wp.array[wp.float32])


def test_an_annotation_makes_arrays():
    a = wp.array2d[wp.vec3](np.zeros((2, 4, 3)))
    assert (a.dtype, a.shape) == (wp.vec3, (2, 4))
    empty = wp.array(dtype=float)
    assert isinstance(empty, wp.array)
    assert empty.shape == (0,)


def test_text_annotations_of_structs():
    width = 5

    @wp.struct
    class S:
        v: wp.types.vector(width, float)
        a: wp.array2d(dtype=int)

    assert S.__gs_type__.fields[0][1].shape == (5,)
    assert S.__gs_type__.fields[1][1].rank == 2
