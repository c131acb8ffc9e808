"""Threads of a block together: shared memory, barriers, warps, atomics, the whole grid."""

import numpy as np
import pytest

from gridstride.numba import cuda, float32, int32


def test_positions_of_a_grid_of_three_dimensions():
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        if x < out.shape[2] and y < out.shape[1] and z < out.shape[0]:
            out[z, y, x] = x + 10 * y + 100 * z + 1000 * cuda.blockIdx.x + cuda.gridDim.y

    out = np.zeros((3, 4, 6))
    kernel[(2, 2, 2), (3, 2, 2)](out)
    z, y, x = np.indices(out.shape)
    assert np.array_equal(out, x + 10 * y + 100 * z + 1000 * (x // 3) + 2)


def test_a_scan_in_shared_memory():
    @cuda.jit
    def scan(data, output):
        shared = cuda.shared.array(64, dtype=float32)
        thread, i = cuda.threadIdx.x, cuda.grid(1)
        shared[thread] = data[i] if i < data.size else 0
        cuda.syncthreads()
        offset = 1
        while offset < cuda.blockDim.x:
            addend = float32(0.0)
            if thread >= offset:
                addend = shared[thread - offset]
            cuda.syncthreads()
            shared[thread] += addend
            cuda.syncthreads()
            offset *= 2
        if i < data.size:
            output[i] = shared[thread]

    data = np.arange(130, dtype=np.float32)
    output = np.zeros_like(data)
    scan[3, 64](data, output)
    expected = np.concatenate([np.cumsum(data[k : k + 64]) for k in range(0, 130, 64)])
    assert np.array_equal(output, expected)


def test_slices_of_dynamic_shared_memory_lie_apart():
    @cuda.jit
    def kernel(out, n):
        pool = cuda.shared.array(0, dtype=float32)
        head, tail = pool[:n], pool[n : n + 1]
        for k in range(n):
            head[k] = 7.0 + k
        tail[0] = 40.0
        for k in range(n):
            out[k] = head[k]
        out[n] = tail[0]

    out = np.zeros(4, np.float32)
    kernel[1, 1, 0, 16](out, 3)
    assert out.tolist() == [7, 8, 9, 40]


def test_a_warp_sums_by_shuffles():
    @cuda.jit
    def kernel(values, sums, ballots):
        i = cuda.grid(1)
        value = values[i]
        offset = 16
        while offset > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
            offset //= 2
        ballot = cuda.ballot_sync(0xFFFFFFFF, values[i] % 2 == 0)
        if cuda.laneid == 0:
            sums[i // 32] = value
            ballots[i // 32] = cuda.popc(ballot)

    values = np.arange(64, dtype=np.int32)
    sums, ballots = np.zeros(2, np.int64), np.zeros(2, np.int32)
    kernel[1, 64](values, sums, ballots)
    assert sums.tolist() == [values[:32].sum(), values[32:].sum()]
    assert ballots.tolist() == [16, 16]


def test_the_lane_within_a_branch():
    @cuda.jit
    def kernel(flags, out):
        held = cuda.shared.array(64, dtype=np.int32)
        i = cuda.threadIdx.x
        if flags[i]:
            held[i] = cuda.laneid + 1
            held[i] += cuda.popc(cuda.lanemask_lt())
        cuda.syncthreads()
        out[i] = held[63 - i]

    flags, out = np.ones(64, np.int32), np.zeros(64, np.int32)
    kernel[1, 64](flags, out)
    lanes = np.arange(64) % 32
    assert out.tolist() == (2 * lanes + 1)[::-1].tolist()


def test_barriers_count():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        n = cuda.syncthreads_count(i < 5)
        every = cuda.syncthreads_and(i < 100)
        some = cuda.syncthreads_or(i == 63)
        out[i] = n + 100 * (every != 0) + 1000 * (some != 0)

    out = np.zeros(64)
    kernel[1, 64](out)
    assert (out == 1105).all()


def test_atomics_give_what_was_there():
    @cuda.jit
    def kernel(a, seen):
        i = cuda.grid(1)
        seen[cuda.atomic.add(a, 0, 1)] = 1
        cuda.atomic.max(a, 1, i)
        cuda.atomic.min(a, 2, -i)
        cuda.atomic.xor(a, 3, 1)
        cuda.atomic.inc(a, 4, 9)
        cuda.atomic.cas(a, 5, 0, i + 1)
        cuda.atomic.exch(a, -1, 7)

    a, seen = np.zeros(7, np.int32), np.zeros(256)
    kernel[4, 64](a, seen)
    assert a[:5].tolist() == [256, 255, -255, 0, 256 % 10]
    assert 1 <= a[5] <= 256 and a[6] == 7 and seen.all()


def test_the_grid_waits_for_itself():
    @cuda.jit
    def kernel(rows):
        column = cuda.grid(1)
        group = cuda.cg.this_grid()
        for row in range(1, rows.shape[0]):
            other = rows.shape[1] - column - 1
            rows[row, column] = rows[row - 1, other] + 1
            group.sync()

    rows = np.zeros((6, 64), np.int32)
    kernel[2, 32](rows)
    assert np.array_equal(rows, np.repeat(np.arange(6)[:, None], 64, 1))


def test_local_and_constant_arrays():
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        mine = cuda.local.array(4, dtype=int32)
        table = cuda.const.array_like(weights)
        for k in range(4):
            mine[k] = i * k
        out[i] = mine[3] + table[i % 2, 1]

    out = np.zeros(8)
    kernel[2, 4](out)
    assert out.tolist() == [3 * i + weights[i % 2, 1] for i in range(8)]


def test_an_index_out_of_range_is_found_in_debug_mode():
    @cuda.jit(debug=True, opt=False)
    def kernel(a):
        a[cuda.grid(1)] = 1.0

    with pytest.raises(IndexError, match="a"):
        kernel[1, 32](np.zeros(10))
