"""The benchmarks in Numba-CUDA."""

import math
import warnings

import inputs
import numpy as np

# Its releases so far use the name, which NumPy has dropped.
if not hasattr(np, "row_stack"):
    np.row_stack = np.vstack

from numba import cuda, float32
from one import Clock


@cuda.jit
def saxpy(a, x, y, o):
    i = cuda.grid(1)
    if i < o.size:
        o[i] = a * x[i] + y[i]


@cuda.jit
def five(a, b, c, s, n):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + s * b[i] + float32(n)


@cuda.jit
def jacobi(u, v):
    j, i = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        v[i, j] = float32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def gravity(positions, masses, acc, G, eps):
    p = cuda.grid(1)
    n = positions.shape[0]
    if p >= n:
        return
    px, py, pz = positions[p, 0], positions[p, 1], positions[p, 2]
    ax = ay = az = float32(0.0)
    for j in range(n):
        if j != p:
            dx, dy, dz = positions[j, 0] - px, positions[j, 1] - py, positions[j, 2] - pz
            inv = float32(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz + eps)
            s = G * masses[j] * inv * inv * inv
            ax += s * dx
            ay += s * dy
            az += s * dz
    acc[p, 0], acc[p, 1], acc[p, 2] = ax, ay, az


@cuda.jit
def segment_sum(x, offsets, o):
    i = cuda.grid(1)
    if i < o.size:
        t = float32(0.0)
        for j in range(offsets[i], offsets[i + 1]):
            t += x[j]
        o[i] = t


def run(bench):
    warnings.filterwarnings("ignore")
    cuda.current_context()
    event = lambda: cuda.event(timing=True)  # noqa: E731
    clock = Clock(event, lambda one: one.record(), milliseconds, cuda.synchronize)
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("saxpy"):
        x = cuda.to_device(np.ones(n, np.float32))
        y, o = cuda.to_device(np.ones(n, np.float32)), cuda.device_array_like(x)
        two = np.float32(2)
        bench.once("cold saxpy", lambda: saxpy[n // 256, 256](two, x, y, o), clock)
        bench.rate("saxpy", lambda: saxpy[n // 256, 256](two, x, y, o), clock, 12e-9 * n, "GB/s", o.copy_to_host)
        del x, y, o
    if bench.wants("launch"):
        a, b, c = (cuda.to_device(np.zeros(1, np.float32)) for _ in range(3))
        bench.time("launch", lambda: five[1, 32](a, b, c, np.float32(2), 3), clock, n=bench.size(3000, 10))
    if bench.wants("jacobi"):
        n = bench.size(16384, 256)
        u = cuda.to_device(inputs.noise((n, n)))
        v = cuda.to_device(np.zeros((n, n), np.float32))
        run = lambda: jacobi[(n // 32, n // 8), (32, 8)](u, v)  # noqa: E731
        bench.rate("jacobi", run, clock, 8e-9 * n * n, "GB/s", v.copy_to_host)
    if bench.wants("nbody"):
        n = bench.size(131072, 512)
        x, m = cuda.to_device(inputs.noise((n, 3))), cuda.to_device(np.ones(n, np.float32))
        acc = cuda.device_array_like(x)
        for name, fast in (("nbody", False), ("nbody, fast math", True)):
            kernel = cuda.jit(fastmath=fast)(gravity)
            args = (x, m, acc, np.float32(1), np.float32(1e-4))
            run = lambda kernel=kernel, args=args: kernel[n // 256, 256](*args)  # noqa: E731
            bench.rate(name, run, clock, 1e-9 * n * n, "Ginter/s", acc.copy_to_host, n=2, warm=1)
    if bench.wants("segments"):
        n = bench.size(1 << 20, 1 << 8)
        for name, offsets in inputs.segments(n):
            x, o = cuda.to_device(inputs.noise(offsets[-1])), cuda.to_device(np.zeros(n, np.float32))
            args = (x, cuda.to_device(offsets), o)
            run = lambda args=args: segment_sum[n // 256, 256](*args)  # noqa: E731
            bench.rate(name, run, clock, 4e-9 * x.size, "GB/s", o.copy_to_host)


def milliseconds(begin, end):
    end.synchronize()
    return cuda.event_elapsed_time(begin, end)
