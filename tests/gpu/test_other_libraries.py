"""Memory and streams shared with PyTorch, CuPy and whatever speaks DLPack or the CUDA array interface."""

import numpy as np
import pytest

import gridstride as wp

N = 1 << 16


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def lengths(v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.length(v[i])


class Interface:
    """An array of another library: it only has the interface."""

    def __init__(self, array, **changes):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}
        self.array = array


def test_the_interface_both_ways():
    x, y = wp.ones(N), wp.zeros(N)
    wp.launch(double, N, [Interface(x), Interface(y, stream=1)])
    assert (y.numpy() == 2).all()
    view = wp.array(Interface(y[::2]), copy=False)
    assert (view.ptr, view.strides, view.device) == (y.ptr, (8,), wp.get_device())
    vectors = wp.array(Interface(wp.ones((4, 3))), dtype=wp.vec3, copy=False)
    assert (vectors.shape, vectors.dtype) == ((4,), wp.vec3)
    with pytest.raises(RuntimeError, match="expected array"):
        wp.launch(double, N, [Interface(wp.zeros(N, dtype=wp.int32)), y])
    with pytest.raises(RuntimeError, match="read-only"):
        wp.launch(double, N, [x, Interface(y, data=(y.ptr, True))])


def test_dlpack_with_itself():
    x = wp.array(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    assert x.__dlpack_device__() == (2, 0)
    for view in (x, x.transpose(), x[:, ::2], x[..., ::-1]):
        back = wp.from_dlpack(view)
        assert (back.ptr, back.shape, back.strides) == (view.ptr, view.shape, view.strides)
    vectors = wp.from_dlpack(wp.to_dlpack(wp.ones((5, 3))), dtype=wp.vec3)
    assert (vectors.shape, vectors.dtype) == ((5,), wp.vec3)


def test_torch():
    torch = pytest.importorskip("torch")
    t = torch.arange(N, dtype=torch.float32, device="cuda")
    out = torch.zeros_like(t)
    wp.launch(double, N, [t, out])
    assert torch.equal(out, 2 * t)
    a = wp.from_torch(t)
    assert a.ptr == t.data_ptr()
    assert wp.to_torch(a).data_ptr() == t.data_ptr()
    assert wp.from_torch(torch.ones(4, 3, device="cuda"), dtype=wp.vec3).dtype is wp.vec3
    half = torch.ones(8, dtype=torch.bfloat16, device="cuda")
    assert wp.from_torch(half).dtype is wp.bfloat16
    assert wp.to_torch(wp.from_torch(half)).dtype is torch.bfloat16
    with_grad = torch.ones(8, device="cuda", requires_grad=True)
    shared = wp.from_torch(with_grad)
    assert shared.grad.ptr == with_grad.grad.data_ptr()
    assert wp.dtype_from_torch(torch.float64) is wp.float64
    assert wp.device_from_torch(t.device) == "cuda:0"


def test_torch_streams_are_in_order():
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(stream):
            t = torch.zeros(1 << 22, device="cuda")
            for _ in range(10):
                t += 1.0
            out = torch.empty_like(t)
            wp.launch(double, t.numel(), [t, out])
            result = out.sum()
        stream.synchronize()
        assert result.item() == 20.0 * t.numel()
    with wp.ScopedStream(wp.stream_from_torch(stream)):
        x = wp.ones(N)
        y = wp.zeros(N)
        for _ in range(5):
            wp.launch(double, N, [x, y])
        assert (y.numpy() == 2).all()
    ours = wp.stream_to_torch(wp.Stream())
    with torch.cuda.stream(ours):
        assert torch.ones(4, device="cuda").sum().item() == 4


def test_cupy():
    cp = pytest.importorskip("cupy")
    x = cp.arange(N, dtype=cp.float32)
    y = cp.zeros_like(x)
    wp.launch(double, N, [x, y])
    assert bool((y == 2 * x).all())
    back = cp.asarray(wp.from_dlpack(y))
    assert back.data.ptr == y.data.ptr
    assert cp.from_dlpack(wp.ones(5)).sum() == 5
    v = cp.random.rand(100, 3, dtype=cp.float32)
    out = cp.zeros(100, dtype=cp.float32)
    wp.launch(lengths, 100, [v, out])
    np.testing.assert_allclose(out.get(), np.linalg.norm(v.get(), axis=1), rtol=1e-6)
    with cp.cuda.Stream(non_blocking=True):
        z = cp.zeros(1 << 22, dtype=cp.float32)
        z += 3
        out = cp.empty_like(z)
        wp.launch(double, z.size, [z, out])
        assert float(out.sum()) == 6.0 * z.size


def test_numba():
    cuda = pytest.importorskip("numba.cuda")
    x = wp.ones(N)
    seen = cuda.as_cuda_array(x)
    assert seen.copy_to_host().sum() == N
