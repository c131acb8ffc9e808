"""`cupyx.jit`: kernels in Python, in CuPy's words."""

import math

import numpy as np
import pytest

import gridstride as wp
import gridstride.cupy as cp
from gridstride.cupyx import jit

SCALE = np.float32(0.5)


@jit.rawkernel()
def double(x, n):
    for i in range(jit.grid(1), n, jit.gridsize(1)):
        x[i] *= 2


@jit.rawkernel(device=True)
def clamped(v, lo, hi):
    return min(max(v, lo), hi)


def test_a_grid_stride_loop():
    x = cp.arange(1000, dtype=cp.float32)
    double[3, 64](x, 1000)
    double((2,), (32,), (x, x.size))
    np.testing.assert_array_equal(x.get(), 4 * np.arange(1000, dtype=np.float32))


def test_arrays_of_two_dimensions_lie_as_they_do():
    @jit.rawkernel()
    def transposed(x, y):
        i, j = jit.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            y[j, i] = clamped(x[i, j], -3, 3) * SCALE

    x = np.random.default_rng(0).integers(-9, 9, (13, 21)).astype(np.float32)
    y = cp.zeros((21, 13), cp.float32)
    transposed[(2, 3), (8, 8)](cp.asarray(x), y)
    np.testing.assert_array_equal(y.get(), np.clip(x, -3, 3).T * SCALE)
    y = cp.zeros((13, 21), cp.float32)
    transposed[(3, 2), (8, 8)](cp.asarray(x).T, y)
    np.testing.assert_array_equal(y.get(), np.clip(x, -3, 3) * SCALE)


def test_blocks_share_memory_and_add_to_one_element():
    @jit.rawkernel()
    def total(x, out):
        part = jit.shared_memory(np.int32, 64)
        t = jit.threadIdx.x
        i = t + jit.blockIdx.x * jit.blockDim.x
        part[t] = x[i] if i < x.size else 0
        jit.syncthreads()
        k = 32
        while k > 0:
            if t < k:
                part[t] += part[t + k]
            jit.syncthreads()
            k //= 2
        if t == 0:
            jit.atomic_add(out, 0, part[0])

    x = cp.arange(500, dtype=cp.int32)
    out = cp.zeros(1, cp.int32)
    total[8, 64](x, out)
    assert out.item() == 124750


def test_lanes_exchange_values():
    @jit.rawkernel()
    def sums(x):
        v = x[jit.threadIdx.x]
        for k in (0,) if False else jit.range(5):
            v += jit.shfl_xor_sync(0xFFFFFFFF, v, 1 << k)
        x[jit.threadIdx.x] = v

    with pytest.raises(wp.CompileError, match=r"a loop goes over a range[\s\S]*test_jit_kernels.py"):
        sums[1, 32](cp.arange(32, dtype=cp.int32))

    @jit.rawkernel()
    def sums(x):
        v = x[jit.threadIdx.x]
        for k in jit.range(5, unroll=True):
            v += jit.shfl_xor_sync(0xFFFFFFFF, v, 1 << k)
        x[jit.threadIdx.x] = v

    x = cp.arange(32, dtype=cp.int32)
    sums[1, 32](x)
    assert x.tolist() == [496] * 32


def test_numbers_are_those_of_c():
    @jit.rawkernel()
    def k(o):
        o[jit.threadIdx.x] = jit.threadIdx.x + 1

    o = cp.zeros(4, cp.uint32)
    k[1, 4](o)
    assert o.tolist() == [1, 2, 3, 4]
    assert "long long" not in next(iter(k.cached_codes.values())).split("{", 1)[1]

    @jit.rawkernel()
    def arithmetic(y, a, b):
        y[0] = -7 // 2
        y[1] = -7 % 3
        y[2] = a / b
        y[3] = a**2 + math.sqrt(b) - abs(-3)
        y[4] = 1 if a < b < 10 and not a > 5 else 0
        y[5], y[6] = y[1], y[0]
        y[7] = np.float64(a) + np.exp(np.float32(0))

    y = cp.zeros(8, cp.float64)
    arithmetic[1, 1](y, 3, 4)
    assert y.tolist() == [-4, 2, 0.75, 8, 1, 2, -4, 4]


def test_what_cannot_be_a_kernel():
    @jit.rawkernel()
    def unknown(x):
        x[0] = nothing  # noqa: F821

    with pytest.raises(wp.CompileError, match="`nothing` is not set here"):
        unknown[1, 1](cp.zeros(1))

    @jit.rawkernel()
    def with_(x):
        with x:
            pass

    with pytest.raises(wp.CompileError, match="`with` is not supported"):
        with_[1, 1](cp.zeros(1))
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        double[1, 1](cp.zeros(1))
    with pytest.raises(RuntimeError, match="only be called in a kernel"):
        jit.grid(1)
