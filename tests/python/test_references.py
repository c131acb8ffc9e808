"""Parameters of functions that are passed by reference: `x: wp.ref[T]`."""

import pytest

import gridstride as wp


@wp.func
def double(x: wp.ref[float]):
    x = x * 2.0  # noqa: F841 - the caller sees it


@wp.func
def swap(a: wp.ref[wp.vec2], b: wp.ref[wp.vec2]) -> bool:
    a, b = b, a
    return True


@wp.func
def twice(x: wp.ref[float]):
    double(x)
    double(x)


@wp.struct
class Body:
    mass: float


def test_what_a_function_assigns_reaches_its_caller():
    @wp.kernel
    def kernel(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
        double(a[1])
        twice(v[0].y)
        body = Body()
        body.mass = 3.0
        double(body.mass)
        x = float(1.0)  # noqa: UP018 - a variable, not a literal
        for _ in range(4):
            double(x)
        p = wp.vec2(1.0, 2.0)
        q = wp.vec2(3.0, 4.0)
        if swap(p, b=q):
            out[0] = body.mass
            out[1] = x
            out[2] = p[0]

    a, v, out = wp.array([1.0, 5.0], dtype=float), wp.array([[1.0, 1.0]], dtype=wp.vec2), wp.zeros(3)
    wp.launch(kernel, dim=1, inputs=[a, v, out])
    assert a.list() == [1.0, 10.0] and v.list() == [wp.vec2(1.0, 4.0)]
    assert out.list() == [6.0, 16.0, 3.0]


def test_a_literal_or_a_result_is_no_variable():
    @wp.kernel
    def literal(out: wp.array(dtype=float)):
        x = 1.0
        double(x)
        out[0] = x

    @wp.kernel
    def result(out: wp.array(dtype=float)):
        double(out[0] + 1.0)

    with pytest.raises(wp.CompileError, match=r"x = wp\.float32\(1\.0\)"):
        wp.launch(literal, dim=1, inputs=[wp.zeros(1)])
    with pytest.raises(wp.CompileError, match="needs a variable"):
        wp.launch(result, dim=1, inputs=[wp.zeros(1)])


def test_references_are_for_functions():
    assert wp.ref[int] == wp.ref[wp.int32] and wp.ref[int].dtype is wp.int32
    with pytest.raises(TypeError, match="by reference"):

        @wp.kernel
        def kernel(x: wp.ref[float]):
            pass
