"""Memory shared with other systems: the array interface, DLPack, the buffer of NumPy."""

import gc
import sys

import numpy as np
import pytest

import gridstride as wp
from gridstride import _dlpack

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint64, wp.float16, wp.float32, wp.bool, wp.vec3, wp.mat22d])
def test_array_interface_shares_memory(dtype):
    a = wp.zeros((2, 3), dtype=dtype)
    x = np.asarray(a)
    assert x.shape == (2, 3, *getattr(dtype, "_shape_", ()))
    x[1, 2] = 1
    assert a.numpy()[1, 2].all()
    assert a.__array_interface__["data"] == (a.ptr, False)


def test_numpy_copies_when_asked():
    a = wp.array([1.0, 2.0], dtype=float)
    assert np.array(a).ctypes.data != a.ptr
    assert np.asarray(a, dtype=np.float64).tolist() == [1.0, 2.0]
    assert np.array(a, dtype=np.int32).tolist() == [1, 2]


def test_dlpack_both_ways():
    a = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert a.__dlpack_device__() == (1, 0)
    x = np.from_dlpack(a)
    x[0, 0] = 9
    assert a.numpy()[0, 0] == 9
    np.testing.assert_array_equal(np.from_dlpack(a.transpose()), a.numpy().T)
    np.testing.assert_array_equal(np.from_dlpack(a[:, ::-1]), a.numpy()[:, ::-1])
    y = np.arange(6.0)
    b = wp.from_dlpack(y)
    b.fill_(1.0)
    assert (y == 1).all()
    v = wp.from_dlpack(np.zeros((4, 3), np.float32), dtype=wp.vec3)
    assert (v.shape, v.dtype) == ((4,), wp.vec3)
    assert wp.from_dlpack(a).ptr == a.ptr


def test_a_damaged_dlpack_tensor_is_refused():
    values = np.zeros(4, np.float32)
    for field, damage, words in (
        ("data", None, "its memory is at address 0x0"),
        ("ndim", -1, "-1 dimensions"),
        ("byte_offset", 2**64 - 1, "its memory is at address"),
    ):
        capsule = wp.to_dlpack(wp.array(values, dtype=float, device="cpu"))
        tensor = _dlpack._Managed.from_address(_dlpack._get_pointer(capsule, b"dltensor")).tensor
        setattr(tensor, field, damage)
        with pytest.raises(ValueError, match=words):
            wp.from_dlpack(capsule)
    with pytest.raises(TypeError, match="not int"):
        wp.from_dlpack(5)


def test_dlpack_capsules():
    a = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    b = wp.from_dlpack(wp.to_dlpack(a))
    assert (b.ptr, b.shape, b.strides, b.dtype) == (a.ptr, a.shape, a.strides, a.dtype)
    capsule = wp.to_dlpack(a.transpose())
    assert wp.from_dlpack(capsule).strides == (4, 12)
    with pytest.raises(RuntimeError, match="taken before"):
        wp.from_dlpack(capsule)
    flags = wp.array([True, False])
    assert wp.from_dlpack(flags, dtype=wp.uint8).list() == [1, 0]
    assert wp.from_dlpack(flags).dtype is wp.bool
    with pytest.raises(RuntimeError, match="DLPack bool8 and Warp float32"):
        wp.from_dlpack(flags, dtype=float)


def test_dlpack_memory_goes_back_to_its_producer():
    x = np.arange(4.0)
    before = sys.getrefcount(x)
    view = wp.from_dlpack(x)[1:]
    assert sys.getrefcount(x) > before
    del view
    gc.collect()
    assert sys.getrefcount(x) == before


def test_dlpack_refusals(monkeypatch):
    x = np.arange(3.0)
    x.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        wp.from_dlpack(x)

    class Elsewhere(Foreign):
        device = (2, 0)

        def __dlpack_device__(self):
            return self.device

    monkeypatch.setattr("gridstride._device.is_cuda_available", lambda: False)
    with pytest.raises(RuntimeError, match="no CUDA device"):
        wp.from_dlpack(Elsewhere(x))
    Elsewhere.device = (123, 7)
    with pytest.raises(TypeError, match="device_type=123, device_id=7"):
        wp.from_dlpack(Elsewhere(x))
    with pytest.raises(RuntimeError, match="complex|no type"):
        wp.from_dlpack(np.zeros(2, np.complex64))
    # The words are handed out as what they are, and NumPy has no such numbers.
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(wp.zeros(2, dtype=wp.bfloat16))
    with pytest.raises(TypeError, match="stream must be None or -1"):
        wp.zeros(2).__dlpack__(stream=1)
    with pytest.raises(TypeError, match="Expected a valid DLPack capsule, got object"):
        wp.from_dlpack(NoCapsule())


class NoCapsule:
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return object()


def test_bfloat16_goes_by_dlpack():
    a = wp.array([1.0, 2.5], dtype=wp.bfloat16, device="cpu")
    b = wp.from_dlpack(wp.to_dlpack(a))
    assert b.dtype is wp.bfloat16 and b.ptr == a.ptr and b.list() == [1.0, 2.5]


class Foreign:
    """An array of another library: it only speaks DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OnlyInterface:
    def __init__(self, values):
        self.__array_interface__ = values.__array_interface__
        self.values = values


@pytest.mark.parametrize("wrap", [Foreign, OnlyInterface])
def test_foreign_arrays(wrap):
    x = np.arange(4, dtype=np.float32)
    shared = wp.array(wrap(x), copy=False)
    shared.fill_(2.0)
    assert (x == 2).all()
    assert wp.array(wrap(x), dtype=wp.float64).dtype is wp.float64


def test_device_memory_of_others_is_refused():
    class OnDevice:
        __cuda_array_interface__ = {"data": (1, False), "shape": (1,), "typestr": "<f4", "version": 3}

        def __len__(self):
            return 1

    with pytest.raises(RuntimeError, match="CUDA"):
        wp.array(OnDevice(), dtype=float)


def test_from_numpy():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    a = wp.from_numpy(x, dtype=wp.vec3, requires_grad=True)
    assert (a.shape, a.dtype, a.requires_grad) == ((2,), wp.vec3, True)
    assert wp.from_numpy(x).shape == (2, 3)


def test_non_native_byte_order_is_converted():
    x = np.arange(3, dtype=">f4")
    assert wp.array(x, dtype=float, copy=False).list() == [0, 1, 2]
    assert wp.array(x).list() == [0, 1, 2]


def test_unaligned_memory_is_copied():
    raw = np.zeros(13, np.uint8)
    x = raw[1:].view(np.float32)
    a = wp.array(x, copy=False)
    assert a.ptr % 4 == 0
    assert a.list() == [0.0] * 3
