"""Arrays on the host: making, viewing, filling and copying them, with NumPy as the oracle."""

import copy
import gc
import itertools
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gridstride as wp

shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)
DTYPES = [wp.bool, wp.int8, wp.uint16, wp.int32, wp.uint64, wp.float16, wp.float32, wp.float64]


def counted(shape, dtype=np.float32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_numpy_in_and_out(dtype, data):
    x = data.draw(hnp.arrays(np.dtype(dtype.__name__), shapes))
    a = wp.array(x)
    assert (a.dtype, a.shape, a.ndim, a.size, len(a)) == (dtype, x.shape, x.ndim, x.size, x.shape[0])
    np.testing.assert_array_equal(a.numpy(), x)
    assert a.list() == x.ravel().tolist() or np.isnan(x.astype(float)).any()


@pytest.mark.cpu
@given(shape=shapes, data=st.data())
def test_views_are_those_of_numpy(shape, data):
    x = counted(shape)
    a = wp.array(x)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=False, allow_ellipsis=True))
    expected, found = x[index], a[index]
    if np.ndim(expected) == 0:
        assert found == expected
    else:
        np.testing.assert_array_equal(found.numpy(), expected)
        assert found.shape == expected.shape
        if expected.size:
            assert np.shares_memory(found.numpy(), a.numpy())


@given(shape=hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5), data=st.data())
def test_transposes_and_reshapes(shape, data):
    x = counted(shape)
    a = wp.array(x)
    axes = data.draw(st.permutations(range(len(shape))))
    t = a.transpose(axes)
    np.testing.assert_array_equal(t.numpy(), x.transpose(axes))
    np.testing.assert_array_equal(t.contiguous().numpy(), x.transpose(axes))
    assert t.contiguous().is_contiguous
    np.testing.assert_array_equal(a.T.numpy(), x.T)
    np.testing.assert_array_equal(a.flatten().numpy(), x.ravel())
    np.testing.assert_array_equal(a.reshape((-1, shape[-1])).numpy(), x.reshape((-1, shape[-1])))


@given(shape=shapes, data=st.data())
def test_copies_between_any_strides(shape, data):
    x, y = counted(shape), -counted(shape) - 1
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    if np.ndim(x[index]) == 0:
        return
    a, b = wp.array(x), wp.array(y)
    wp.copy(b[index], a[index])
    y[index] = x[index]
    np.testing.assert_array_equal(b.numpy(), y)


@given(n=st.integers(1, 20), data=st.data())
def test_copies_with_offsets(n, data):
    start, into = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    count = data.draw(st.integers(0, n - max(start, into)))
    x, y = counted(n), np.zeros(n, np.float32)
    a, b = wp.array(x), wp.array(y)
    if count:
        wp.copy(b, a, dest_offset=into, src_offset=start, count=count)
        y[into : into + count] = x[start : start + count]
    np.testing.assert_array_equal(b.numpy(), y)
    with pytest.raises(RuntimeError, match="do not fit"):
        wp.copy(b, a, count=n + 1)


def test_overlapping_copies():
    a = wp.array(counted(10))
    wp.copy(a[1:], a[:-1])
    assert a.numpy().tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_copies_carry_gradients_along():
    a, b = (wp.zeros(3, dtype=float, requires_grad=True) for _ in range(2))
    a.grad.assign([1.0, 2.0, 3.0])
    with wp.Tape():
        wp.copy(b, a)
    assert b.grad.list() == [0.0, 0.0, 0.0] and wp.clone(a).grad.list() == [0.0, 0.0, 0.0]
    wp.copy(b, a, dest_offset=1, count=2)
    assert b.grad.list() == [0.0, 1.0, 2.0]
    wp.copy(b, a)
    assert b.grad.list() == [1.0, 2.0, 3.0]


def test_copies_of_other_types_are_refused():
    with pytest.raises(RuntimeError, match="destination dtype=float32, source dtype=int32"):
        wp.copy(wp.zeros(3), wp.zeros(3, dtype=int))
    with pytest.raises(RuntimeError, match="must agree"):
        wp.copy(wp.zeros((2, 3)), wp.zeros((2, 3)).transpose())
    with pytest.raises(RuntimeError, match="do not fit"):
        wp.copy(wp.zeros(3)[::2], wp.zeros(3))
    for wrong in ({"src_offset": -1}, {"count": -1}, {"dest_offset": 1.5}):
        with pytest.raises(RuntimeError, match="must be"):
            wp.copy(wp.zeros(3), wp.zeros(3), **wrong)


@pytest.mark.parametrize("dtype", [*DTYPES, wp.vec3, wp.mat22d, wp.quat, wp.transform, wp.types.vector(7, wp.int16)])
def test_makers(dtype):
    inner = getattr(dtype, "_shape_", ())
    for shape in (3, (2, 3), (0,), (2, 0, 4, 1)):
        full_shape = (shape if isinstance(shape, tuple) else (shape,)) + inner
        assert wp.empty(shape, dtype=dtype).numpy().shape == full_shape
        assert not wp.zeros(shape, dtype=dtype).numpy().any()
        assert (wp.ones(shape, dtype=dtype).numpy() == 1).all()
        assert (wp.full(shape, 1, dtype=dtype).numpy() == 1).all()
        a = wp.ones(shape, dtype=dtype)
        assert (wp.zeros_like(a).numpy() == 0).all()
        assert (wp.ones_like(a).numpy() == 1).all()
        assert wp.empty_like(a).shape == a.shape
        assert (wp.full_like(a, 1).numpy() == 1).all()
        assert (wp.clone(a).numpy() == 1).all()
        assert wp.clone(a).dtype is a.dtype


def test_full_finds_its_type():
    assert wp.full(2, 3).dtype is wp.int32
    assert wp.full(2, 3.0).dtype is wp.float32
    assert wp.full(2, True).dtype is wp.bool
    assert wp.full(2, wp.vec3(1, 2, 3)).numpy().tolist() == [[1, 2, 3]] * 2
    assert wp.full(2, (1.0, 2.0)).dtype is wp.vec2
    assert wp.full(2, np.float64(2.0)).dtype is wp.float64


def test_memory_is_aligned():
    for n in (1, 3, 1000):
        assert wp.empty(n, dtype=wp.uint8).ptr % 64 == 0


def test_large_arrays_begin_at_different_places_of_a_page():
    # Loads from the place of a page that was just stored to wait for that store, on the CPU.
    made = [wp.empty(1 << 16, dtype=wp.uint8, device="cpu") for _ in range(9)]
    apart = [abs(a.ptr - b.ptr) % 4096 for a, b in itertools.pairwise(made)]
    assert all(1024 <= distance <= 4096 - 1024 for distance in apart)


@pytest.mark.parametrize("shape", [(), (1, 1, 1, 1, 1), -1, (2, -3), 2**31, 1.5, None])
def test_wrong_shapes(shape):
    with pytest.raises((ValueError, TypeError)):
        wp.zeros(shape)


def test_elements_by_index():
    a = wp.array([1.5, 2.5], dtype=float)
    assert (a[0], a[-1]) == (1.5, 2.5)
    assert list(a) == [1.5, 2.5]
    v = wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)
    assert v[1] == wp.vec3(4, 5, 6)
    assert [row.numpy().tolist() for row in wp.array(counted((2, 2)))] == [[0, 1], [2, 3]]
    for index in (2, -3):
        with pytest.raises(IndexError, match=f"index {index} is out of range for dimension 0 with extent 2"):
            a[index]
    with pytest.raises(IndexError, match="2 indices for an array of 1"):
        a[0, 0]
    with pytest.raises(TypeError, match="cannot be assigned by element"):
        a[0] = 1.0


def test_fill():
    a = wp.zeros((3, 4), dtype=wp.vec2)
    a[1:, ::-2].fill_(wp.vec2(1, 2))
    expected = np.zeros((3, 4, 2), np.float32)
    expected[1:, ::-2] = (1, 2)
    np.testing.assert_array_equal(a.numpy(), expected)
    a.fill_((3, 4))
    assert (a.numpy() == (3, 4)).all()
    a.fill_(5)
    assert (a.numpy() == 5).all()
    u = wp.zeros(2, dtype=wp.uint32)
    u.fill_(wp.uint32(-1))
    assert u.list() == [2**32 - 1] * 2
    a[1].zero_()
    assert not a.numpy()[1].any()
    m = wp.zeros(2, dtype=wp.mat22)
    m.fill_([[1, 2], [3, 4]])
    assert m[1] == wp.mat22(1, 2, 3, 4)
    with pytest.raises(ValueError, match="vec2f has 2 components"):
        wp.zeros(2, dtype=wp.vec2).fill_((1, 2, 3))


def test_assign():
    a = wp.zeros(3)
    a.assign([1, 2, 3])
    assert a.list() == [1.0, 2.0, 3.0]
    a.assign(np.array([4.0, 5.0, 6.0]))
    assert a.list() == [4.0, 5.0, 6.0]
    a.assign(np.broadcast_to(np.float32(1.0), 3))
    assert a.list() == [1.0, 1.0, 1.0]
    a.assign([4.0, 5.0, 6.0])
    a[::2].assign(wp.array([7.0, 8.0], dtype=float))
    assert a.list() == [7.0, 5.0, 8.0]
    with pytest.raises(RuntimeError):
        a.assign([1.0] * 4)


def test_sequences():
    assert wp.array([1, 2]).dtype is wp.int64
    assert wp.array([1.0, 2]).dtype is wp.float64
    assert wp.array([True]).dtype is wp.bool
    assert wp.array([wp.vec3(1), wp.vec3(2)]).dtype is wp.vec3
    assert wp.array([wp.float32(1), wp.float32(2)]).dtype is wp.float32
    assert wp.array([[1, 2], [3, 4]], dtype=int).shape == (2, 2)
    assert wp.array([0x80000000, 2**32 - 1], dtype=wp.uint32).list() == [0x80000000, 2**32 - 1]
    with pytest.raises(OverflowError):
        wp.array([-1, 2**64 - 1], dtype=wp.uint64)
    assert wp.array([], dtype=float).shape == (0,)
    assert wp.array([], dtype=wp.vec3).shape == (0,)
    assert wp.array(range(3), dtype=int).list() == [0, 1, 2]
    for wrong in (3.0, "text", {1: 2}, [[1, 2], [3]], ["a"], wp.float32(1)):
        with pytest.raises(RuntimeError):
            wp.array(wrong, dtype=float)


def test_components_fold_into_elements():
    x = counted((4, 6))
    assert wp.array(x, dtype=wp.vec3).shape == (4, 2)
    assert wp.array(x, dtype=wp.vec2).shape == (4, 3)
    assert wp.array(x.ravel(), dtype=wp.vec3).shape == (8,)
    assert wp.array(counted((5, 3, 3)), dtype=wp.mat33).shape == (5,)
    assert wp.array(counted((5, 9)), dtype=wp.mat33).shape == (5,)
    assert wp.array(counted(9), dtype=wp.mat33).shape == (1,)
    assert wp.array(counted(3), dtype=wp.vec3).shape == (1,)
    assert wp.array(counted(24), dtype=wp.vec3, shape=(2, 4)).shape == (2, 4)
    assert wp.array([[1, 2, 3], [4, 5, 6]], dtype=wp.vec3)[1] == wp.vec3(4, 5, 6)
    with pytest.raises(RuntimeError, match="multiple of 3"):
        wp.array(counted(4), dtype=wp.vec3)
    with pytest.raises(RuntimeError, match="do not fill"):
        wp.array(counted(4), dtype=float, shape=5)


@pytest.mark.cpu
def test_sharing_memory_with_numpy():
    x = counted((3, 4))
    a = wp.array(x, copy=False)
    a[1].fill_(9)
    assert (x[1] == 9).all()
    x[0, 0] = 5
    assert a.numpy()[0, 0] == 5
    assert a.numpy().ctypes.data == x.ctypes.data
    assert wp.array(x[::-1], copy=False).strides == (-16, 4)
    v = wp.array(counted((4, 3)), dtype=wp.vec3, copy=False)
    assert v.strides == (12,)
    # What cannot be shared is copied.
    assert wp.array(x, dtype=wp.float64, copy=False).dtype is wp.float64
    spread = counted((4, 6))[:, ::2]
    assert not np.shares_memory(wp.array(spread, dtype=wp.vec3, copy=False).numpy(), spread)
    x.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        wp.array(x, copy=False)
    assert wp.array(x).numpy().flags.writeable


@pytest.mark.cpu
def test_views_keep_memory_alive():
    a = wp.array(counted(1000))
    tail = a[500:].numpy()
    del a
    gc.collect()
    assert tail.sum() == counted(1000)[500:].sum()
    x = counted(10)
    owner = weakref.ref(x)
    b = wp.array(x, copy=False)[3:]
    del x
    gc.collect()
    assert owner() is not None
    del b
    gc.collect()
    assert owner() is None


@pytest.mark.cpu
def test_pointers_and_deleters():
    x = counted(6)
    freed = []
    a = wp.array(ptr=x.ctypes.data, shape=(2, 3), dtype=float, deleter=lambda ptr, size: freed.append((ptr, size)))
    assert a.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    view = a[1]
    del a
    gc.collect()
    assert freed == []
    del view
    gc.collect()
    assert freed == [(x.ctypes.data, 24)]
    strided = wp.array(ptr=x.ctypes.data, shape=3, strides=(8,), dtype=float, capacity=24)
    assert strided.numpy().tolist() == [0, 2, 4]
    assert wp.from_ptr(x.ctypes.data, 2, dtype=float).list() == [0, 1]
    with pytest.raises(RuntimeError, match="spans 32 bytes"):
        wp.array(ptr=x.ctypes.data, shape=8, dtype=float, capacity=24)


def test_views_of_other_types():
    a = wp.array([1.0, -2.0], dtype=float)
    assert a.view(wp.uint32).list() == [0x3F800000, 0xC0000000]
    with pytest.raises(TypeError, match="source dtype has size 4 bytes, but target dtype has size 8"):
        a.view(wp.float64)
    m = wp.array(counted((4, 2, 2)), dtype=wp.mat22)
    assert m.view(float).shape == (4, 2, 2)
    assert m.view(float).view(wp.mat22)[3] == m[3]
    assert m.view(wp.vec4)[1] == (4, 5, 6, 7)
    assert wp.array(counted(4)).view(wp.quat).shape == (1,)
    with pytest.raises(TypeError, match="scalar dtype float32 has size 4"):
        m.view(wp.float64)


def test_arithmetic_by_element():
    x = counted((2, 3)) + 1
    a = wp.array(x)
    np.testing.assert_array_equal((a + a * 2.0 - 1.0).numpy(), x + x * 2 - 1)
    np.testing.assert_array_equal((1.0 / a).numpy(), np.float32(1) / x)
    np.testing.assert_array_equal((-a).numpy(), -x)
    np.testing.assert_array_equal((a + a[0]).numpy(), x + x[0])
    i = wp.array([5, 6, 7], dtype=wp.uint8)
    assert ((i << 6) | 1).list() == [65, 129, 193]
    assert (wp.uint8(3) - i).list() == [254, 253, 252]
    before = a.ptr
    a += a
    assert a.ptr == before
    np.testing.assert_array_equal(a.numpy(), 2 * x)
    v = wp.array(counted((4, 3)), dtype=wp.vec3)
    np.testing.assert_array_equal((v * 2.0).numpy(), counted((4, 3)) * 2)
    with pytest.raises(RuntimeError):
        wp.zeros(3) + wp.zeros(3, dtype=int)


def test_shapes_that_do_not_fit():
    a = wp.zeros((2, 3))
    for shape in (5, (-1, 4), (2, 2, 2, 2)):
        with pytest.raises(RuntimeError, match="cannot reshape"):
            a.reshape(shape)
    with pytest.raises(RuntimeError, match="non-contiguous"):
        a.transpose().reshape(6)
    with pytest.raises(ValueError, match="permutation"):
        a.transpose((0, 0))


def test_gradients_follow_views():
    a = wp.zeros((2, 3), requires_grad=True)
    assert a.requires_grad
    a[1].grad.fill_(2.0)
    a.reshape(6).grad[0:1].fill_(1.0)
    assert a.grad.numpy().tolist() == [[1, 0, 0], [2, 2, 2]]
    a.requires_grad = False
    assert a.grad is None
    assert wp.zeros_like(wp.zeros(3, requires_grad=True)).requires_grad
    assert not wp.clone(wp.zeros(3, requires_grad=True), requires_grad=False).requires_grad


def test_bfloat16_arrays():
    a = wp.array([1.0, 2.5, np.nan, 1e30, 3.14159], dtype=wp.bfloat16)
    found = np.asarray(a.numpy(), dtype=np.float32)
    np.testing.assert_array_equal(found[[0, 1]], [1.0, 2.5])
    assert np.isnan(found[2])
    np.testing.assert_allclose(found[3:], [1e30, 3.14159], rtol=2**-8)
    a.fill_(1.5)
    assert a.list() == [1.5] * 5
    v = wp.zeros(2, dtype=wp.types.vector(3, wp.bfloat16))
    v.fill_(0.5)
    assert v.numpy().shape == (2, 3)


def test_indexed_arrays():
    x = counted((4, 5))
    a = wp.array(x)
    rows, cols = wp.array([2, 0], dtype=int), wp.array([4, 1, 1], dtype=int)
    picked = wp.indexedarray(a, [rows, cols])
    assert (picked.shape, picked.ndim, picked.dtype) == ((2, 3), 2, wp.float32)
    np.testing.assert_array_equal(picked.numpy(), x[np.ix_([2, 0], [4, 1, 1])])
    np.testing.assert_array_equal(a[rows].numpy(), x[[2, 0]])
    np.testing.assert_array_equal(a[:, cols].numpy(), x[:, [4, 1, 1]])
    np.testing.assert_array_equal(wp.clone(a[rows]).numpy(), x[[2, 0]])
    a[rows].fill_(9.0)
    x[[2, 0]] = 9.0
    np.testing.assert_array_equal(a.numpy(), x)
    with pytest.raises(RuntimeError, match="int32 arrays of one dimension"):
        wp.indexedarray(a, [wp.zeros(3)])
    with pytest.raises(RuntimeError, match="3 index arrays for 2"):
        wp.indexedarray(a, [rows, rows, rows])


def test_copies_by_python():
    a = wp.array(counted((2, 3)))
    b = copy.deepcopy(a)
    a.fill_(0)
    assert b.numpy()[1, 2] == 5
    c = pickle.loads(pickle.dumps(b))
    np.testing.assert_array_equal(c.numpy(), b.numpy())
    assert copy.copy(b).ptr == b.ptr


def test_text_forms():
    assert repr(wp.zeros((2, 3), dtype=wp.vec3)) == "array(shape=(2, 3), dtype=vec3f)"
    assert str(wp.zeros(2)) == "[0. 0.]"
    assert repr(wp.array2d[wp.vec3]) == "wp.array2d[wp.vec3f]"
    assert "Any" in repr(wp.array[Any])


def test_matrix_product_is_refused():
    with pytest.raises(TypeError, match="no matrix product"):
        wp.zeros(3) @ wp.zeros(3)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="unexpected keyword argument `dtyp`"):
        wp.array([1.0], dtyp=float)
    with pytest.raises(TypeError, match="not a data type"):
        wp.zeros(3, dtype=str)
    with pytest.raises(RuntimeError, match="is not available"):
        wp.zeros(3, device="cuda:99")
    with pytest.raises(RuntimeError, match="expected 2 dimensions, the data has 1"):
        wp.array2d([1.0, 2.0], dtype=float)


def test_overlapping_copies_of_other_strides():
    a = wp.array([0, 1, 2, 3, 4, 5], dtype=int)
    wp.copy(a[::2], a[:3])
    assert a.list() == [0, 1, 1, 3, 2, 5]


@wp.kernel
def every(a: wp.array(dtype=int), step: int, out: wp.array(dtype=int)):
    out[0] = a[::step].shape[0]


def test_a_step_of_zero_is_reported_in_every_mode(device):
    out = wp.zeros(1, dtype=int, device=device)
    wp.launch(every, 1, inputs=[wp.zeros(5, dtype=int, device=device), -2, out], device=device)
    assert out.list() == [3]
    with pytest.raises(wp.KernelFault, match="slice step cannot be zero"):
        wp.launch(every, 1, inputs=[wp.zeros(5, dtype=int, device=device), 0, out], device=device)
        wp.synchronize()
