"""Arrays two of whose elements are one place in memory: what threads add to them is not lost."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import gridstride as wp
from gridstride import cupy as cp
from gridstride.numba import cuda

# More threads than one core takes.
N = 500_000


@wp.kernel
def count(a: wp.array(dtype=wp.int32)):
    a[wp.tid()] += 1


@wp.kernel
def count_both(a: wp.array(dtype=wp.int32), b: wp.array(dtype=wp.int32)):
    i = wp.tid()
    a[i] += 1
    b[i] += 2


@wp.kernel
def count_in_rows(a: wp.array(dtype=wp.int32, ndim=2)):
    i, j = wp.tid()
    a[i, j] += 1


@wp.struct
class Counters:
    count: wp.array(dtype=wp.int32)


@wp.kernel
def count_in_struct(counters: Counters):
    counters.count[wp.tid()] += 1


def repeated(one):
    """An array of N elements, all of them the only one of another."""
    return wp.array(ptr=one.ptr, shape=(N,), strides=(0,), dtype=one.dtype, device=one.device)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_stride_of_zero(device, recorded):
    one = wp.zeros(1, dtype=wp.int32, device=device)
    own = wp.zeros(N, dtype=wp.int32, device=device)
    # In turns, so that neither runs the other's code; and so often that several cores take part.
    n_rounds = 1 if device == "interp" else 40
    for _ in range(n_rounds):
        for a in own, repeated(one):
            launch = wp.launch(count, N, [a], device=device, record_cmd=recorded)
            if recorded:
                launch.launch()
    assert one.numpy().tolist() == [n_rounds * N]
    assert (own.numpy() == n_rounds).all()


def test_a_stride_of_zero_beside_another_array(device):
    one = wp.zeros(1, dtype=wp.int32, device=device)
    own = wp.zeros(N, dtype=wp.int32, device=device)
    wp.launch(count_both, N, [own, repeated(one)], device=device)
    wp.launch(count_both, N, [own, own], device=device)
    assert one.numpy().tolist() == [2 * N]
    assert (own.numpy() == 4).all()


def test_a_stride_of_zero_within_a_struct(device):
    one = wp.zeros(1, dtype=wp.int32, device=device)
    counters = Counters()
    counters.count = repeated(one)
    wp.launch(count_in_struct, N, [counters], device=device)
    assert one.numpy().tolist() == [N]


def test_rows_that_overlap(device):
    n, width = 20_000, 64
    memory = wp.zeros(n + width - 1, dtype=wp.int32, device=device)
    rows = wp.array(ptr=memory.ptr, shape=(n, width), strides=(4, 4), dtype=wp.int32, device=device)
    for _ in range(3):
        wp.launch(count_in_rows, (n, width), [rows], device=device)
    expected = np.convolve(np.ones(n, int), np.ones(width, int))
    np.testing.assert_array_equal(memory.numpy(), 3 * expected)


@pytest.mark.cpu
def test_views_of_numpy():
    one = np.zeros(1, np.int32)
    for _ in range(5):
        wp.launch(count, N, [as_strided(one, (N,), (0,))], device="cpu")
    assert one.tolist() == [5 * N]


@cuda.jit
def count_cuda(a):
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(a, i, 1)


def test_in_the_style_of_numba():
    one = wp.zeros(1, dtype=wp.int32)
    count_cuda[(N + 255) // 256, 256](repeated(one))
    assert one.numpy().tolist() == [N]


def test_in_the_style_of_cupy():
    one = cp.zeros(1, dtype=cp.int32)
    kernel = cp.ElementwiseKernel("", "raw int32 y", "atomicAdd(&y[i], 1)", "count_shared")
    kernel(cp.broadcast_to(one, (N,)), size=N)
    assert one.get().tolist() == [N]


@pytest.mark.cpu
def test_a_gradient_whose_elements_are_one():
    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    n = 200_000
    x, grad = wp.full(1, 3.0, dtype=float, device="cpu"), wp.zeros(1, dtype=float, device="cpu")
    y = wp.zeros(n, dtype=float, device="cpu", requires_grad=True)
    views = [wp.array(ptr=a.ptr, shape=(n,), strides=(0,), dtype=float, device="cpu") for a in (x, grad)]
    views[0].requires_grad = True
    views[0].grad = views[1]
    with wp.Tape() as tape:
        wp.launch(square, n, [views[0], y], device="cpu")
    tape.backward(grads={y: wp.full(n, 1.0, dtype=float, device="cpu")})
    assert grad.numpy().tolist() == [6.0 * n]
