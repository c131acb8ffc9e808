"""The work in Taichi, natural text, on arrays of its own."""

import numpy as np
import taichi as ti
from works import DAMP, DT, EPS2, EX, EY, EZ, GRAVITY, LID, OMEGA, OPPOSITE, PARTICLE_STEPS, REST, WEIGHT, A

vec3 = ti.types.vector(3, ti.f32)
floats = ti.types.ndarray(dtype=ti.f32, ndim=1)
grid = ti.types.ndarray(dtype=ti.f32, ndim=2)
field4 = ti.types.ndarray(dtype=ti.f32, ndim=4)
ints = ti.types.ndarray(dtype=ti.i32, ndim=1)
vectors = ti.types.ndarray(dtype=vec3, ndim=1)


def start(threads):
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads, fast_math=False, log_level=ti.ERROR)


@ti.kernel
def saxpy(a: ti.f32, x: floats, y: floats):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@ti.kernel
def saxpy_out(a: ti.f32, x: floats, y: floats, z: floats):
    for i in range(x.shape[0]):
        z[i] = a * x[i] + y[i]


@ti.kernel
def stencil3(a: floats, b: floats):
    n = a.shape[0]
    for i in range(n):
        if i > 0 and i < n - 1:
            b[i] = (a[i - 1] + a[i] + a[i + 1]) * (1.0 / 3.0)


@ti.kernel
def jacobi(a: grid, b: grid):
    n = a.shape[0]
    for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@ti.kernel
def particles(x: vectors, v: vectors, dt: ti.f32, g: ti.f32, damp: ti.f32, rest: ti.f32):
    for i in range(x.shape[0]):
        vi = (v[i] + ti.Vector([0.0, g * dt, 0.0])) * damp
        xi = x[i] + vi * dt
        for c in ti.static(range(3)):
            if xi[c] < 0.0:
                xi[c] = -xi[c]
                vi[c] = -vi[c] * rest
            elif xi[c] > 1.0:
                xi[c] = 2.0 - xi[c]
                vi[c] = -vi[c] * rest
        x[i] = xi
        v[i] = vi


@ti.kernel
def segments(start: ints, v: floats, out: floats):
    for i in range(out.shape[0]):
        s = 0.0
        for j in range(start[i], start[i + 1]):
            s += v[j]
        out[i] = s


@ti.kernel
def nbody(p: vectors, m: floats, acc: vectors, eps2: ti.f32):
    n = p.shape[0]
    for i in range(n):
        pi = p[i]
        a = ti.Vector([0.0, 0.0, 0.0])
        for j in range(n):
            if j != i:
                d = p[j] - pi
                r2 = d.dot(d) + eps2
                a += d * (m[j] / (r2 * ti.sqrt(r2)))
        acc[i] = a


@ti.kernel
def lattice(f: field4, g: field4, n: ti.i32, omega: ti.f32, lid: ti.f32):
    for x, y, z in ti.ndrange(n, n, n):
        c = ti.Vector([0.0] * 19)
        rho, ux, uy, uz = 0.0, 0.0, 0.0, 0.0
        for q in ti.static(range(19)):
            sx, sy, sz = x - EX[q], y - EY[q], z - EZ[q]
            v = 0.0
            if sx >= 0 and sx < n and sy >= 0 and sy < n and sz >= 0 and sz < n:
                v = f[q, sx, sy, sz]
            else:
                v = f[OPPOSITE[q], x, y, z]
                if sy >= n:
                    v += 6.0 * WEIGHT[q] * EX[q] * lid
            c[q] = v
            rho += v
            ux += EX[q] * v
            uy += EY[q] * v
            uz += EZ[q] * v
        ux /= rho
        uy /= rho
        uz /= rho
        square = 1.5 * (ux * ux + uy * uy + uz * uz)
        for q in ti.static(range(19)):
            eu = EX[q] * ux + EY[q] * uy + EZ[q] * uz
            rest = WEIGHT[q] * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - square)
            g[q, x, y, z] = c[q] + omega * (rest - c[q])


def prepare(name, data):
    d = {}
    for key, array in data.items():
        kind = {np.dtype("float32"): ti.f32, np.dtype("int32"): ti.i32}[array.dtype]
        is_vector = array.ndim == 2 and array.shape[1] == 3
        d[key] = ti.Vector.ndarray(3, kind, array.shape[:1]) if is_vector else ti.ndarray(kind, array.shape)
        d[key].from_numpy(array)

    def particle_run():
        for _ in range(PARTICLE_STEPS):
            particles(d["x"], d["v"], DT, GRAVITY, DAMP, REST)

    def lattice_run():
        for f, g in ("fg", "gf"):
            lattice(d[f], d[g], data["f"].shape[1], OMEGA, LID)

    runs = {
        "saxpy": lambda: saxpy(A, d["x"], d["y"]),
        "saxpy_out": lambda: saxpy_out(A, d["x"], d["y"], d["z"]),
        "stencil3": lambda: stencil3(d["a"], d["b"]),
        "jacobi": lambda: jacobi(d["a"], d["b"]),
        "particles": particle_run,
        "segments": lambda: segments(d["start"], d["v"], d["sum"]),
        "nbody": lambda: nbody(d["p"], d["m"], d["acc"], EPS2),
        "lattice": lattice_run,
    }
    return runs[name], lambda key: d[key].to_numpy()
