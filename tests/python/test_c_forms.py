"""Arrays and structs as ctypes structures."""

import ctypes

import pytest

import gridstride as wp

pytestmark = pytest.mark.cpu


@wp.struct
class Inner:
    flag: wp.bool
    m: wp.mat22


@wp.struct
class Outer:
    small: wp.int8
    inner: Inner
    v: wp.vec3d
    values: wp.array(dtype=float)


@wp.kernel
def read(outer: Outer, a: wp.array(dtype=float), scale: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = (outer.values[i] + a[i] + outer.inner.m[0, 1]) * scale


def outer():
    made = Outer()
    made.small = -3
    made.inner.flag = True
    made.inner.m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    made.v = wp.vec3d(5.0, 6.0, 7.0)
    made.values = wp.array([10.0, 20.0], dtype=float)
    return made


def test_a_struct_has_the_layout_that_kernels_know():
    made = outer()
    form = made.__ctype__()
    assert ctypes.sizeof(form) == Outer.__gs_type__.size and bytes(form) == made.__gs_bytes__()
    assert form.small == -3 and form.inner.flag and list(form.inner.m[1]) == [3.0, 4.0] and list(form.v) == [5, 6, 7]
    assert form.values.data == made.values.ptr and form.values.shape[0] == 2


def test_an_array_says_where_it_is():
    a = wp.zeros((2, 3), dtype=float, requires_grad=True)[:, 1:]
    form = a.__ctype__()
    assert (form.data, form.grad, form.ndim) == (a.ptr, a.grad.ptr, 2)
    assert list(form.shape) == [2, 2, 0, 0] and list(form.strides) == [12, 4, 0, 0]


def test_an_indexed_array_says_where_its_indices_are():
    a, indices = wp.zeros(3, dtype=float), wp.array([2, 0], dtype=int)
    form = a[indices].__ctype__()
    assert (form.data.data, form.indices0.data, form.indices0.shape[0]) == (a.ptr, indices.ptr, 2)


def test_a_pointer_reads_elements():
    array = wp.array([outer(), outer()], dtype=Outer)
    assert array.cptr()[1].v[2] == 7.0 and wp.zeros(0, dtype=float).cptr() is None
    numbers = wp.array([1.0, 2.5], dtype=float)
    assert numbers.cptr()[1] == 2.5


def test_a_recorded_launch_takes_them():
    made, a, out = outer(), wp.array([1.0, 2.0], dtype=float), wp.zeros(2, dtype=float)
    command = wp.launch(read, dim=2, inputs=[Outer(), None, 0.0], outputs=[None], record_cmd=True)
    command.set_param_at_index_from_ctype(0, made.__ctype__())
    command.set_param_by_name_from_ctype("a", a.__ctype__())
    command.set_param_at_index_from_ctype(2, ctypes.c_float(2.0))
    command.set_param_by_name_from_ctype("out", out.__ctype__())
    command.launch()
    assert out.list() == [26.0, 48.0]
    with pytest.raises(TypeError, match="2 dimensions"):
        command.set_param_by_name_from_ctype("a", wp.zeros((1, 1), dtype=float).__ctype__())
    with pytest.raises(TypeError, match="bytes"):
        command.set_param_at_index_from_ctype(0, Inner().__ctype__())
    with pytest.raises(RuntimeError, match="no parameter `b`"):
        command.set_param_by_name_from_ctype("b", 1.0)
    with pytest.raises(IndexError, match="none at 4"):
        command.set_param_at_index_from_ctype(4, 1.0)
