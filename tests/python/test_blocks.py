"""Kernels over thread blocks on the CPU and the interpreter: shared memory, barriers, warps, the grid, mistakes."""

import numpy as np
import pytest

import gridstride as wp
from gridstride.numba import cuda, float32, int32
from gridstride.numba.cuda import _devices


@pytest.fixture(params=["interp", "cpu"])
def blocks(request, monkeypatch):
    """The device on which kernels over blocks run."""
    monkeypatch.setattr(_devices, "_launch_device", request.param)
    monkeypatch.setenv("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    return request.param


@pytest.fixture
def interp(monkeypatch):
    monkeypatch.setattr(_devices, "_launch_device", "interp")
    monkeypatch.setattr(wp.config, "mode", "debug")


pytestmark = [
    pytest.mark.cpu,
    pytest.mark.filterwarnings("ignore:Grid size", "ignore:Host array"),
]


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((8, 8), dtype=float32)
    sb = cuda.shared.array((8, 8), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for tile in range((a.shape[1] + 7) // 8):
        col, row = tx + tile * 8, ty + tile * 8
        sa[ty, tx] = a[y, col] if y < a.shape[0] and col < a.shape[1] else 0
        sb[ty, tx] = b[row, x] if x < b.shape[1] and row < b.shape[0] else 0
        cuda.syncthreads()
        for k in range(8):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def test_tiles_of_matrices(blocks):
    rng = np.random.default_rng(1)
    a, b = (rng.random(shape, dtype=np.float32) for shape in [(19, 13), (13, 21)])
    c = np.zeros((19, 21), np.float32)
    matmul[(3, 3), (8, 8)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@cuda.jit
def scan(data, out):
    shared = cuda.shared.array(64, dtype=float32)
    tid = cuda.threadIdx.x
    shared[tid] = data[cuda.grid(1)]
    cuda.syncthreads()
    offset = 1
    while offset < cuda.blockDim.x:
        addend = shared[tid - offset] if tid >= offset else float32(0.0)
        cuda.syncthreads()
        shared[tid] += addend
        cuda.syncthreads()
        offset *= 2
    out[cuda.grid(1)] = shared[tid]


@pytest.mark.parametrize("size", [1, 5, 32, 64])
def test_scan(blocks, size):
    x = np.arange(3 * size, dtype=np.float32)
    out = np.zeros_like(x)
    scan[3, size](x, out)
    np.testing.assert_array_equal(out.reshape(3, size), np.cumsum(x.reshape(3, size), axis=1))


@cuda.jit
def early(data, out):
    shared = cuda.shared.array(64, dtype=float32)
    i = cuda.threadIdx.x
    if i >= data.size:
        return
    shared[i] = data[i]
    cuda.syncthreads()
    out[i] = shared[data.size - 1 - i]


def test_threads_that_return_early_are_not_waited_for(blocks):
    x = np.arange(37, dtype=np.float32)
    out = np.zeros(64, np.float32)
    early[1, 64](x, out)
    np.testing.assert_array_equal(out, np.append(x[::-1], np.zeros(27)))


@cuda.jit
def local_across(data, out):
    own = cuda.local.array(4, dtype=int32)
    i = cuda.grid(1)
    for k in range(4):
        own[k] = data[i] * k
    cuda.syncthreads()
    out[i] = own[data[i] & 3]


def test_local_arrays_live_across_barriers(blocks):
    x = np.arange(50, dtype=np.int32)
    out = np.zeros_like(x)
    local_across[2, 25](x, out)
    np.testing.assert_array_equal(out, x * (x & 3))


@cuda.jit
def uneven(counts, out):
    i = cuda.threadIdx.x
    total = 0
    for k in range(counts[i]):
        total += cuda.syncthreads_count(i > k)
    out[i] = total


def test_loops_that_all_leave_together_need_not_be_known_to(blocks):
    out = np.zeros(20, np.int64)
    uneven[1, 20](np.full(20, 3), out)
    np.testing.assert_array_equal(out, 19 + 18 + 17)


@cuda.jit
def warps(data, out):
    i = cuda.grid(1)
    value = data[i]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    total = cuda.shfl_sync(0xFFFFFFFF, value, 0)
    out[i] = total + cuda.ballot_sync(0xFFFFFFFF, data[i] > 40)


def test_sums_over_warps(blocks):
    x = np.arange(96, dtype=np.int64)
    out = np.zeros_like(x)
    warps[1, 96](x, out)
    # A ballot is an int32, as numba-cuda has it.
    expected = x.reshape(3, 32).sum(axis=1) + [0, ~0x1FF, -1]
    np.testing.assert_array_equal(out, np.repeat(expected, 32))


@cuda.jit
def relax(data):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(5):
        value = data[(i + 1) % data.size]
        grid.sync()
        data[i] = value
        grid.sync()


def test_blocks_that_wait_for_the_grid(blocks):
    x = np.arange(40, dtype=np.int64)
    relax[5, 8](x)
    np.testing.assert_array_equal(x, (np.arange(40) + 5) % 40)


@cuda.jit
def parted(data):
    i = cuda.threadIdx.x
    if data[i] > 0:
        cuda.syncthreads()
    data[i] = 5


def test_a_barrier_that_some_pass_by_is_reported_with_both_lines(blocks):
    with pytest.raises(wp.KernelFault) as caught:
        parted[1, 8](np.array([1, 1, 1, 0, 1, 1, 1, 1]))
    text = str(caught.value)
    assert caught.value.kind == "divergence"
    assert "cuda.syncthreads()" in text and "waits" in text
    assert "thread (3, 0, 0)" in text
    if blocks == "cpu":
        assert "if data[i] > 0" in text


@cuda.jit
def unequal(data):
    i = cuda.threadIdx.x
    for _ in range(data[i]):
        cuda.syncthreads()


def test_unequal_numbers_of_barriers_are_reported(blocks):
    unequal[1, 4](np.array([2, 2, 2, 2]))
    with pytest.raises(wp.KernelFault, match="not all threads of the block reach this barrier"):
        unequal[1, 4](np.array([2, 2, 3, 2]))


@cuda.jit
def race(out):
    shared = cuda.shared.array(8, dtype=int32)
    i = cuda.threadIdx.x
    shared[i] = i
    out[i] = shared[max(i - 1, 0)]


def test_races_are_found_with_both_lines(interp):
    with pytest.raises(wp.KernelFault) as caught:
        race[1, 8](np.zeros(8, np.int32))
    text = str(caught.value)
    assert caught.value.kind == "race"
    assert "shared[i] = i" in text and "out[i] = shared[max(i - 1, 0)]" in text


@cuda.jit
def between_blocks(out):
    out[0] = cuda.blockIdx.x


def test_races_between_blocks_are_found(interp):
    with pytest.raises(wp.KernelFault) as caught:
        between_blocks[4, 1](np.zeros(1, np.int64))
    assert caught.value.kind == "race"


@cuda.jit
def unstored(out):
    shared = cuda.shared.array(8, dtype=int32)
    i = cuda.threadIdx.x
    if i == 0:
        shared[0] = 7
    cuda.syncthreads()
    out[i] = shared[i]


def test_reads_of_shared_memory_that_nobody_stored_are_found(interp):
    unstored[1, 1](np.zeros(1, np.int32))
    with pytest.raises(wp.KernelFault, match="shared memory that no thread has stored to"):
        unstored[1, 2](np.zeros(2, np.int32))


@cuda.jit
def beyond(out, at):
    shared = cuda.shared.array(8, dtype=int32)
    i = cuda.threadIdx.x
    shared[i] = i
    cuda.syncthreads()
    out[i] = shared[at]


def test_checked_mode_finds_indices_outside_shared_memory(blocks, monkeypatch):
    monkeypatch.setattr(wp.config, "mode", "debug")
    beyond[2, 4](np.zeros(4, np.int32), 3)
    with pytest.raises(wp.KernelFault) as caught:
        beyond[1, 4](np.zeros(4, np.int32), 8)
    assert caught.value.kind == "bounds"
    assert "of block (0, 0, 0)" in str(caught.value)


def test_a_block_has_at_most_1024_threads(blocks):
    with pytest.raises(ValueError, match="at most 1024"):
        scan[1, 2048](np.zeros(2048, np.float32), np.zeros(2048, np.float32))
