"""The benchmarks in CUDA C++ written by hand (`kernels.cu`), compiled through CuPy, and CuPy's own where it has one."""

from pathlib import Path

import cupy as cp
import inputs
import numpy as np
from one import Clock

F, N = np.float32, np.int32
TEXT = Path(__file__).with_name("kernels.cu").read_text()


def run(bench):
    event, wait = cp.cuda.Event, cp.cuda.Device().synchronize
    clock = Clock(event, lambda one: one.record(), milliseconds, wait)
    text = cp.RawModule(code=TEXT)
    streaming(bench, clock, text.get_function)
    simulations(bench, clock, text.get_function)
    sums(bench, clock, text.get_function)
    stencils(bench, clock, text.get_function)
    others(bench, clock, text.get_function)
    whole_arrays(bench, clock)


def milliseconds(begin, end):
    end.synchronize()
    return cp.cuda.get_elapsed_time(begin, end)


def streaming(bench, clock, kernel):
    if bench.wants("saxpy"):
        n = bench.size(1 << 28, 1 << 16)
        x, y, o = (cp.ones(n, F) for _ in range(3))
        cold = cp.RawKernel(TEXT[TEXT.index('extern "C"') : TEXT.index('extern "C" __global__ void five')], "saxpy")
        bench.once("cold saxpy", lambda: cold((n // 1024,), (256,), (F(2), x, y, o)), clock)
        saxpy = kernel("saxpy")
        run = lambda: saxpy((n // 1024,), (256,), (F(2), x, y, o))  # noqa: E731
        bench.rate("saxpy", run, clock, 12e-9 * n, "GB/s", o.get)
    if bench.wants("launch"):
        a, b, c = (cp.zeros(1, F) for _ in range(3))
        five, arguments = kernel("five"), (a, b, c, F(2), N(3))
        bench.time("launch", lambda: five((1,), (32,), arguments), clock, n=bench.size(3000, 10))
    if bench.wants("jacobi"):
        n = bench.size(16384, 256)
        u, v, naive, wide = cp.asarray(inputs.noise((n, n))), cp.zeros((n, n), F), kernel("jacobi"), kernel("jacobi4")
        run = lambda: naive((n // 32, n // 8), (32, 8), (u, v, N(n)))  # noqa: E731
        bench.rate("jacobi, a thread a cell", run, clock, 8e-9 * n * n, "GB/s")
        v[...] = 0
        run = lambda: wide((n // 128, n // 8), (32, 8), (u, v, N(n)))  # noqa: E731
        bench.rate("jacobi", run, clock, 8e-9 * n * n, "GB/s", v.get)


def simulations(bench, clock, kernel):
    if bench.wants("nbody"):
        n = bench.size(131072, 512)
        p, acc = cp.ones((n, 4), F), cp.zeros((n, 4), F)
        p[:, :3] = cp.asarray(inputs.noise((n, 3)))
        nbody = cp.RawModule(code=TEXT, options=("--use_fast_math",)).get_function("nbody")
        run = lambda: nbody((n // 256,), (256,), (p, acc, N(n), F(1e-4)))  # noqa: E731
        result = lambda: acc.get()[:, :3]  # noqa: E731
        bench.rate("nbody, fast math", run, clock, 1e-9 * n * n, "Ginter/s", result, n=2, warm=1)
    if bench.wants("lbm"):
        n = bench.size(256, 64)
        f = cp.asarray(inputs.lattice(n))
        g, lbm = f.copy(), cp.RawKernel(lattice(n), "lbm")
        run = lambda: lbm((n // 64, n, n), (64,), (f, g, F(1.7), F(0.1)))  # noqa: E731
        bench.once("cold lbm", run, clock)
        bench.rate("lbm", run, clock, 1e-6 * n**3, "MLUPS", g.get)
    if bench.wants("segments"):
        n = bench.size(1 << 20, 1 << 8)
        for name, offsets in inputs.segments(n):
            x, o, at = cp.asarray(inputs.noise(offsets[-1])), cp.zeros(n, F), cp.asarray(offsets)
            run = lambda args=(x, at, o): kernel("segment_sum")((n // 16,), (256,), args)  # noqa: E731
            bench.rate(name, run, clock, 4e-9 * x.size, "GB/s", o.get)


def lattice(n):
    """Two-array pull scheme with every direction written out."""
    text = f"#define N {n}\n#define N3 ((size_t)N*N*N)\n"
    text += (
        'extern "C" __global__ void lbm(const float* __restrict__ f, float* __restrict__ g, float omega, float u) {\n'
    )
    text += "int i = blockIdx.x*blockDim.x + threadIdx.x, j = blockIdx.y, k = blockIdx.z, si, sj, sk;\n"
    text += "size_t me = ((size_t)k*N + j)*N + i; float h[19], rho = 0, ux = 0, uy = 0, uz = 0;\n"
    directions = list(zip(inputs.C, inputs.W, inputs.OPPOSITE, strict=True))
    for q, ((cx, cy, cz), w, opposite) in enumerate(directions):
        text += f"si = i-({cx}); sj = j-({cy}); sk = k-({cz});\n"
        text += "if ((unsigned)si < N && (unsigned)sj < N && (unsigned)sk < N) "
        text += f"h[{q}] = f[{q}*N3 + ((size_t)sk*N + sj)*N + si];\n"
        text += f"else {{ h[{q}] = f[{opposite}*N3 + me]; if (sk >= N) h[{q}] += 6.f*{w}f*({cx})*u; }}\n"
        text += f"rho += h[{q}]; ux += ({cx})*h[{q}]; uy += ({cy})*h[{q}]; uz += ({cz})*h[{q}];\n"
    text += "float ir = 1.f/rho, cu; ux *= ir; uy *= ir; uz *= ir; float uu = 1.5f*(ux*ux + uy*uy + uz*uz);\n"
    for q, ((cx, cy, cz), w, _) in enumerate(directions):
        text += f"cu = 3.f*(({cx})*ux + ({cy})*uy + ({cz})*uz);\n"
        text += f"g[{q}*N3+me] = h[{q}] - omega*(h[{q}] - {w}f*rho*(1.f + cu + 0.5f*cu*cu - uu));\n"
    return text + "}"


def sums(bench, clock, kernel):
    if bench.wants("histogram"):
        n = bench.size(1 << 26, 1 << 12)
        x, bins, histogram = cp.asarray(inputs.noise(n)), cp.zeros(256, N), kernel("histogram")
        blocks = cp.cuda.Device().attributes["MultiProcessorCount"] * 8
        run = lambda: histogram((blocks,), (256,), (x, N(n), bins))  # noqa: E731
        bench.rate("histogram", run, clock, 1e-9 * n, "Gelem/s", bins.get, n=5)
    if bench.wants("spmv"):
        n = bench.size(1 << 21, 1 << 10)
        matrix, spmv = [cp.asarray(one) for one in inputs.matrix(n)], kernel("spmv")
        x, y = cp.asarray(inputs.noise(n, 5)), cp.zeros(n, F)
        run = lambda: spmv((n // 32,), (256,), (*matrix, x, y))  # noqa: E731
        bench.rate("sparse matrix", run, clock, 32e-9 * n, "GFLOP/s", y.get)


def stencils(bench, clock, kernel):
    if bench.wants("diffuse"):
        n = bench.size(512, 64)
        u, k, v = (cp.asarray(inputs.noise((n, n, n), seed)) for seed in (1, 2, 3))
        diffuse = kernel("diffuse")
        run = lambda: diffuse((n // 32, n // 8, n // 16), (32, 8), (u, k, v, N(n)))  # noqa: E731
        bench.rate("varying stencil", run, clock, 12e-9 * n**3, "GB/s", v.get)
    if bench.wants("cloth"):
        n = bench.size(4096, 32)
        x, v, o, cloth = (
            cp.asarray(inputs.noise((n, n, 3))),
            *(cp.zeros((n, n, 3), F) for _ in range(2)),
            kernel("cloth"),
        )
        run = lambda: cloth((n // 32, n // 8), (32, 8), (x, v, o, N(n), F(0.01)))  # noqa: E731
        bench.rate("cloth", run, clock, 36e-9 * n * n, "GB/s", o.get)


def others(bench, clock, kernel):
    if bench.wants("bitonic"):
        n = bench.size(1 << 24, 1 << 10)
        keys, bitonic = cp.asarray(inputs.keys(n)), kernel("bitonic")

        def sort():
            k = 2
            while k <= n:
                j = k // 2
                while j:
                    bitonic((n // 512,), (256,), (keys, N(j), N(k)))
                    j //= 2
                k *= 2

        bench.rate("bitonic sort", sort, clock, 1e-6 * n, "Mkeys/s", keys.get, n=1, warm=1)
    if bench.wants("mandelbrot"):
        n = bench.size(4096, 64)
        out, mandelbrot = cp.zeros((n, n), N), kernel("mandelbrot")
        run = lambda: mandelbrot((n // 32, n // 8), (32, 8), (out, N(n), N(500)))  # noqa: E731
        bench.rate("mandelbrot", run, clock, 1e-6 * n * n, "Mpixel/s", out.get, n=5)
    if bench.wants("quaternions"):
        n = bench.size(1 << 25, 1 << 10)
        q, w, spin = cp.asarray(inputs.quaternions(n)), cp.asarray(inputs.noise((n, 3), 2)), kernel("spin")
        run = lambda: spin((n // 256,), (256,), (q, w, F(0.01)))  # noqa: E731
        bench.rate("quaternions", run, clock, 44e-9 * n, "GB/s", q.get)
    if bench.wants("density"):
        n = bench.size(1 << 20, 1 << 8)
        x, cells, rho = cp.asarray(4 * inputs.noise((n, 3))), cp.asarray(inputs.cells(n)), cp.zeros(n, F)
        density = kernel("density")
        run = lambda: density((n // 256,), (256,), (x, cells, rho, N(n), N(4)))  # noqa: E731
        bench.rate("density", run, clock, 108e-9 * n, "Gpair/s", rho.get)


def whole_arrays(bench, clock):
    """By CuPy, which is CUB's."""
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("sum"):
        x, out = cp.asarray(inputs.noise(n)), cp.zeros((), F)
        bench.rate("sum", lambda: cp.sum(x, out=out), clock, 4e-9 * n, "GB/s", out.get)
    if bench.wants("scan"):
        x, out = cp.asarray(inputs.few(n)), cp.zeros(n, N)
        bench.rate("scan", lambda: cp.cumsum(x, dtype=N, out=out), clock, 8e-9 * n, "GB/s", out.get)
