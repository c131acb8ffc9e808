"""Kernels over blocks of threads in Numba's style, beside numba-cuda's simulator: the only way that its users have to
run them without a GPU.

    python benches/numba_blocks.py

Prints for each kernel the seconds of one launch, the least of many, on either, and their ratio. The simulator starts an
OS thread a CUDA thread and runs a block at a time; its time is measured on a few blocks and is proportional to their
number. Needs numba-cuda; each side runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

# Blocks of each side's launch.
OURS, SIMULATED = 4096, 4


# Globals: the simulator puts its own `cuda` into a kernel's globals while that runs.
cuda = float32 = None


def kernels():
    """Name, kernel, threads of a block, and the arrays of a launch over `n` blocks."""
    import numpy as np

    @cuda.jit
    def matmul(a, b, c):
        sa = cuda.shared.array((16, 16), dtype=float32)
        sb = cuda.shared.array((16, 16), dtype=float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0.0)
        for k in range(a.shape[1] // 16):
            sa[ty, tx] = a[y, tx + k * 16]
            sb[ty, tx] = b[ty + k * 16, x]
            cuda.syncthreads()
            for j in range(16):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        c[y, x] = total

    @cuda.jit
    def scan(data, output):
        shared = cuda.shared.array(256, dtype=float32)
        thread, i = cuda.threadIdx.x, cuda.grid(1)
        shared[thread] = data[i]
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
        output[i] = shared[thread]

    @cuda.jit
    def reduce(data, sums):
        shared = cuda.shared.array(256, dtype=float32)
        thread = cuda.threadIdx.x
        shared[thread] = data[cuda.grid(1)]
        cuda.syncthreads()
        half = cuda.blockDim.x // 2
        while half > 0:
            if thread < half:
                shared[thread] += shared[thread + half]
            cuda.syncthreads()
            half //= 2
        if thread == 0:
            sums[cuda.blockIdx.x] = shared[0]

    @cuda.jit
    def stencil(data, output):
        shared = cuda.shared.array(258, dtype=float32)
        thread, i = cuda.threadIdx.x, cuda.grid(1)
        shared[thread + 1] = data[i]
        if thread == 0:
            shared[0] = data[i - 1] if i > 0 else float32(0.0)
        if thread == 255:
            shared[257] = data[i + 1] if i + 1 < data.size else float32(0.0)
        cuda.syncthreads()
        output[i] = (shared[thread] + shared[thread + 1] + shared[thread + 2]) * float32(1 / 3)

    def line(n):
        return [np.ones(n * 256, np.float32), np.zeros(n * 256, np.float32)]

    def square(n):
        side = int(n**0.5) * 16
        return [np.ones((side, 64), np.float32), np.ones((64, side), np.float32), np.zeros((side, side), np.float32)]

    yield "matmul 16x16, 64 deep", matmul, (16, 16), square, lambda n: (int(n**0.5), int(n**0.5))
    for name, kernel in (("scan", scan), ("reduce", reduce), ("stencil", stencil)):
        yield name, kernel, 256, line, lambda n: n


def measure(n_blocks, seconds):
    """Seconds a block of each kernel."""
    found = {}
    for name, kernel, threads, arrays, grid in kernels():
        args = [cuda.to_device(array) for array in arrays(n_blocks)]
        launch = kernel[grid(n_blocks), threads]
        launch(*args)
        least, end = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            launch(*args)
            least = min(least, time.perf_counter() - start)
        found[name] = least / n_blocks
    return found


def main() -> None:
    """Measures both and prints a table; with an argument, measures one and prints it as JSON."""
    global cuda, float32
    if len(sys.argv) > 1:
        if sys.argv[1] == "simulator":
            from numba import cuda, float32
        else:
            from gridstride.numba import cuda, float32
        print(json.dumps(measure(int(sys.argv[2]), 2.0)))
        return
    sides = {}
    for side, n_blocks in (("gridstride", OURS), ("simulator", SIMULATED)):
        env = dict(os.environ, NUMBA_ENABLE_CUDASIM="1", PYTHONWARNINGS="ignore")
        command = [sys.executable, __file__, side, str(n_blocks)]
        sides[side] = json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)
    print(f"{'':24}{'ns a block':>12}{'simulator':>14}{'ratio':>10}")
    for name, ours in sides["gridstride"].items():
        theirs = sides["simulator"][name]
        print(f"{name:24}{ours * 1e9:12.0f}{theirs * 1e9:14.0f}{theirs / ours:10.0f}")


if __name__ == "__main__":
    main()
