"""The benchmarks in CUDA C++ as one writes it by hand, compiled through CuPy, and CuPy's own where it has one."""

import cupy as cp
import numpy as np
from warp_style import OPPOSITE, C, W

SAXPY = r"""
extern "C" __global__ void k(float a, const float4* __restrict__ x, const float4* __restrict__ y, float4* o) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; float4 p = x[i], q = y[i];
  o[i] = make_float4(a*p.x+q.x, a*p.y+q.y, a*p.z+q.z, a*p.w+q.w); }"""
FIVE = r"""extern "C" __global__ void k(const float* a, const float* b, float* c, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 1) c[i] = a[i] + s * b[i] + (float)n; }"""
JACOBI = r"""extern "C" __global__ void k(const float* __restrict__ u, float* v, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1) { size_t i = (size_t)y * n + x;
    v[i] = 0.25f * (u[i-1] + u[i+1] + u[i-n] + u[i+n]); } }"""
NBODY = r"""extern "C" __global__ void k(const float4* __restrict__ p, float4* acc, int n, float eps) {
  __shared__ float4 sh[256]; int i = blockIdx.x * 256 + threadIdx.x; float4 me = p[i]; float ax = 0, ay = 0, az = 0;
  for (int t = 0; t < n; t += 256) { sh[threadIdx.x] = p[t + threadIdx.x]; __syncthreads();
    #pragma unroll 32
    for (int j = 0; j < 256; j++) { float dx = sh[j].x-me.x, dy = sh[j].y-me.y, dz = sh[j].z-me.z;
      float inv = rsqrtf(dx*dx + dy*dy + dz*dz + eps), s = sh[j].w*inv*inv*inv; ax += s*dx; ay += s*dy; az += s*dz; }
    __syncthreads(); } acc[i] = make_float4(ax, ay, az, 0); }"""


def lattice(n):
    """Two-array pull scheme with every direction written out."""
    text = f"#define N {n}\n#define N3 ((size_t)N*N*N)\n"
    text += (
        'extern "C" __global__ void k(const float* __restrict__ f, float* __restrict__ g, float omega, float ulid) {\n'
    )
    text += "int i = blockIdx.x*blockDim.x + threadIdx.x, j = blockIdx.y, k = blockIdx.z, si, sj, sk;\n"
    text += "size_t me = ((size_t)k*N + j)*N + i; float h[19], rho = 0, ux = 0, uy = 0, uz = 0;\n"
    for q, (cx, cy, cz) in enumerate(C):
        text += f"si = i-({cx}); sj = j-({cy}); sk = k-({cz});\n"
        text += "if ((unsigned)si < N && (unsigned)sj < N && (unsigned)sk < N) "
        text += f"h[{q}] = f[{q}*N3 + ((size_t)sk*N + sj)*N + si];\n"
        text += f"else {{ h[{q}] = f[{OPPOSITE[q]}*N3 + me]; if (sk >= N) h[{q}] += 6.f*{W[q]}f*({cx})*ulid; }}\n"
        text += f"rho += h[{q}]; ux += ({cx})*h[{q}]; uy += ({cy})*h[{q}]; uz += ({cz})*h[{q}];\n"
    text += "float ir = 1.f/rho, cu; ux *= ir; uy *= ir; uz *= ir; float uu = 1.5f*(ux*ux + uy*uy + uz*uz);\n"
    for q, (cx, cy, cz) in enumerate(C):
        text += f"cu = 3.f*(({cx})*ux + ({cy})*uy + ({cz})*uz);\n"
        text += f"g[{q}*N3+me] = h[{q}] - omega*(h[{q}] - {W[q]}f*rho*(1.f + cu + 0.5f*cu*cu - uu));\n"
    return text + "}"


def kernel(text, *options):
    return cp.RawKernel(text, "k", options=options)


def run(bench):
    wait = cp.cuda.Device().synchronize
    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("saxpy"):
        saxpy = kernel(SAXPY)
        x, y, o = (cp.ones(n, cp.float32) for _ in range(3))
        run = lambda: saxpy((n // 1024,), (256,), (np.float32(2), x, y, o))  # noqa: E731
        bench.once("cold saxpy", run, wait)
        bench.rate("saxpy", run, wait, 12e-9 * n, "GB/s")
        del x, y, o
    if bench.wants("launch"):
        five = kernel(FIVE)
        a, b, c = (cp.zeros(1, cp.float32) for _ in range(3))
        two, three = np.float32(2), np.int32(3)
        bench.time("launch", lambda: five((1,), (32,), (a, b, c, two, three)), wait, n=bench.size(3000, 10))
    if bench.wants("jacobi"):
        n = bench.size(16384, 256)
        u, v, jacobi = cp.random.rand(n, n, dtype=cp.float32), cp.zeros((n, n), cp.float32), kernel(JACOBI)
        run = lambda: jacobi((n // 32, n // 8), (32, 8), (u, v, np.int32(n)))  # noqa: E731
        bench.rate("jacobi", run, wait, 8e-9 * n * n, "GB/s")
        del u, v
    if bench.wants("nbody"):
        n = bench.size(131072, 512)
        p, acc, nbody = (
            cp.random.rand(n, 4, dtype=cp.float32),
            cp.zeros((n, 4), cp.float32),
            kernel(NBODY, "--use_fast_math"),
        )
        run = lambda: nbody((n // 256,), (256,), (p, acc, np.int32(n), np.float32(1e-4)))  # noqa: E731
        bench.rate("nbody, fast math", run, wait, 1e-9 * n * n, "Ginter/s", n=2, warm=1)
    if bench.wants("lbm"):
        n = bench.size(256, 64)
        f = cp.ones((19, n, n, n), cp.float32) * cp.array(W, cp.float32)[:, None, None, None]
        g, lbm = f.copy(), kernel(lattice(n))
        run = lambda: lbm((n // 64, n, n), (64,), (f, g, np.float32(1.7), np.float32(0.1)))  # noqa: E731
        bench.once("cold lbm", run, wait)
        bench.rate("lbm", run, wait, 1e-6 * n**3, "MLUPS")
    if bench.wants("segments"):
        x = cp.random.rand(bench.size(1 << 20, 1 << 8), 64, dtype=cp.float32)
        bench.rate("segments of 64", lambda: x.sum(1), wait, 4e-9 * x.size, "GB/s")
