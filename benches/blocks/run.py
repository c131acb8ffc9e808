"""Kernels over thread blocks on the CPU, beside C with OpenMP for the same algorithms.

    python benches/blocks/run.py [threads]

C is compiled with `gcc -O3 -march=native -fopenmp` into a temporary folder. Rounds are interleaved, and since the
machine may be busy, times are those that the processors worked, summed over the threads; each is the least of many
rounds, and the ratio is what to compare. Results are checked first.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("GRIDSTRIDE_DEVICE", "cpu")
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
os.environ["GRIDSTRIDE_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)
# Threads that wait do not count as work.
os.environ["OMP_WAIT_POLICY"] = "passive"

import numpy as np  # noqa: E402

from gridstride.numba import cuda, float32, int32  # noqa: E402

TPB = 16
BLOCK = 256
ROUNDS = 30


@cuda.jit
def matmul(A, B, C):
    sA = cuda.shared.array((TPB, TPB), dtype=float32)
    sB = cuda.shared.array((TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tmp = float32(0.0)
    for tile in range((A.shape[1] + TPB - 1) // TPB):
        col = tx + tile * TPB
        row = ty + tile * TPB
        sA[ty, tx] = A[y, col] if (y < A.shape[0] and col < A.shape[1]) else 0
        sB[ty, tx] = B[row, x] if (x < B.shape[1] and row < B.shape[0]) else 0
        cuda.syncthreads()
        for k in range(TPB):
            tmp += sA[ty, k] * sB[k, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@cuda.jit
def scan(data, output):
    shared = cuda.shared.array(BLOCK, dtype=float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = data[i] if i < data.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < cuda.blockDim.x:
        addend = float32(0.0)
        if tid >= offset:
            addend = shared[tid - offset]
        cuda.syncthreads()
        if tid >= offset:
            shared[tid] += addend
        cuda.syncthreads()
        offset *= 2
    if i < data.size:
        output[i] = shared[tid]


@cuda.jit
def reduce(data, sums):
    shared = cuda.shared.array(BLOCK, dtype=float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = data[i] if i < data.size else 0.0
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        s //= 2
        cuda.syncthreads()
    if tid == 0:
        sums[cuda.blockIdx.x] = shared[0]


@cuda.jit
def stencil(data, output, radius):
    shared = cuda.shared.array(BLOCK + 32, dtype=float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid + radius] = data[i] if i < data.size else 0
    if tid < radius:
        shared[tid] = data[i - radius] if i >= radius else 0
        shared[tid + cuda.blockDim.x + radius] = data[i + cuda.blockDim.x] if i + cuda.blockDim.x < data.size else 0
    cuda.syncthreads()
    if i < data.size:
        total = float32(0.0)
        for j in range(-radius, radius + 1):
            total += shared[tid + radius + j]
        output[i] = total / float32(2 * radius + 1)


@cuda.jit
def histogram(data, bins, lo, hi):
    shared = cuda.shared.array(64, dtype=int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < 64:
        shared[tid] = 0
    cuda.syncthreads()
    if i < data.size:
        bin = int32((data[i] - lo) * float32(64) / (hi - lo))
        cuda.atomic.add(shared, min(max(bin, 0), 63), 1)
    cuda.syncthreads()
    if tid < 64 and shared[tid] != 0:
        cuda.atomic.add(bins, tid, shared[tid])


@cuda.jit
def warp_sums(data, sums):
    i = cuda.grid(1)
    value = data[i] if i < data.size else float32(0.0)
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if cuda.laneid == 0:
        sums[i // 32] = value


def build():
    folder = tempfile.mkdtemp()
    library = f"{folder}/blocks.so"
    source = Path(__file__).with_name("blocks.c")
    flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(source), "-o", library], check=True)
    return ctypes.CDLL(library)


def cases(c):
    """Name, our run, the C run, and the arrays that both fill."""
    rng = np.random.default_rng(1)
    n = 1 << 22
    x = rng.random(n, dtype=np.float32)
    grid = (n + BLOCK - 1) // BLOCK
    side = 1024
    a, b = (rng.random((side, side), dtype=np.float32) for _ in range(2))

    def pair(name, kernel, shape, inputs, outs, c_args):
        ours, theirs = outs
        function = getattr(c, name)
        d_inputs = [cuda.to_device(value) if isinstance(value, np.ndarray) else value for value in inputs]
        d_out = cuda.to_device(ours)
        order = {"matmul": lambda: (*d_inputs, d_out)}.get(name, lambda: (d_inputs[0], d_out, *d_inputs[1:]))
        launch = kernel[shape]
        pointers = [
            value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, np.ndarray) else value for value in c_args
        ]
        return name, lambda: launch(*order()), lambda: function(*pointers), d_out, theirs

    out = lambda shape, dtype=np.float32: (np.zeros(shape, dtype), np.zeros(shape, dtype))  # noqa: E731
    long = ctypes.c_int64
    o = out((side, side))
    blocks = (side // TPB, side // TPB)
    yield pair("matmul", matmul, (blocks, (TPB, TPB)), [a, b], o, [a, b, o[1], long(side), long(side), long(side)])
    o = out(n)
    yield pair("scan", scan, (grid, BLOCK), [x], o, [x, o[1], long(n)])
    o = out(grid)
    yield pair("reduce", reduce, (grid, BLOCK), [x], o, [x, o[1], long(n)])
    o = out(n)
    yield pair("stencil", stencil, (grid, BLOCK), [x, 5], o, [x, o[1], long(n), long(5)])
    o = out(64, np.int32)
    lo, hi = np.float32(0), np.float32(1)
    c_args = [x, o[1], long(n), ctypes.c_float(0), ctypes.c_float(1)]
    yield pair("histogram", histogram, (grid, BLOCK), [x, lo, hi], o, c_args)
    o = out(n // 32)
    yield pair("warp_sums", warp_sums, (grid, BLOCK), [x], o, [x, o[1], long(n)])


def main():
    c = build()
    print(f"{THREADS} threads, milliseconds of processor time, least of {ROUNDS} interleaved rounds")
    print(f"{'':12}{'gridstride':>12}{'C, OpenMP':>12}{'C / ours':>10}")
    for name, ours, theirs, d_out, expected in cases(c):
        ours()
        theirs()
        found = d_out.copy_to_host()
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            for at, run in enumerate((ours, theirs)):
                start = time.process_time()
                run()
                best[at] = min(best[at], time.process_time() - start)
        print(f"{name:12}{best[0] * 1e3:12.3f}{best[1] * 1e3:12.3f}{best[1] / best[0]:10.2f}")


if __name__ == "__main__":
    main()
