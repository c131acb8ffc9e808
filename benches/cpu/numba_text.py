"""The work in Numba, natural text."""

import numpy as np
from numba import njit, prange
from works import DAMP, DT, EPS2, EX, EY, EZ, GRAVITY, LID, OMEGA, OPPOSITE, PARTICLE_STEPS, REST, WEIGHT, A

f4 = np.float32
ex, ey, ez, opposite = (np.array(values, np.int32) for values in (EX, EY, EZ, OPPOSITE))
weight = np.array(WEIGHT, f4)
parallel = njit(parallel=True)


@parallel
def saxpy(a, x, y):
    for i in prange(x.shape[0]):
        y[i] = a * x[i] + y[i]


@parallel
def saxpy_out(a, x, y, z):
    for i in prange(x.shape[0]):
        z[i] = a * x[i] + y[i]


@parallel
def stencil3(a, b):
    n = a.shape[0]
    for i in prange(n):
        if i > 0 and i < n - 1:
            b[i] = (a[i - 1] + a[i] + a[i + 1]) * f4(1 / 3)


@parallel
def jacobi(a, b):
    n = a.shape[0]
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            b[i, j] = f4(0.25) * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@parallel
def particles(x, v, dt, g, damp, rest):
    for i in prange(x.shape[0]):
        v[i, 1] += g * dt
        for c in range(3):
            vc = v[i, c] * damp
            xc = x[i, c] + vc * dt
            if xc < f4(0):
                xc = -xc
                vc = -vc * rest
            elif xc > f4(1):
                xc = f4(2) - xc
                vc = -vc * rest
            x[i, c] = xc
            v[i, c] = vc


@parallel
def segments(start, v, out):
    for i in prange(out.shape[0]):
        s = f4(0)
        for j in range(start[i], start[i + 1]):
            s += v[j]
        out[i] = s


@parallel
def nbody(p, m, acc, eps2):
    n = p.shape[0]
    for i in prange(n):
        px, py, pz = p[i, 0], p[i, 1], p[i, 2]
        ax, ay, az = f4(0), f4(0), f4(0)
        for j in range(n):
            if j != i:
                dx, dy, dz = p[j, 0] - px, p[j, 1] - py, p[j, 2] - pz
                r2 = dx * dx + dy * dy + dz * dz + eps2
                w = m[j] / (r2 * np.sqrt(r2))
                ax += dx * w
                ay += dy * w
                az += dz * w
        acc[i, 0], acc[i, 1], acc[i, 2] = ax, ay, az


@parallel
def lattice(f, g, omega, lid):
    n = f.shape[1]
    for x in prange(n):
        c = np.empty(19, f4)
        for y in range(n):
            for z in range(n):
                rho, ux, uy, uz = f4(0), f4(0), f4(0), f4(0)
                for q in range(19):
                    sx, sy, sz = x - ex[q], y - ey[q], z - ez[q]
                    if sx >= 0 and sx < n and sy >= 0 and sy < n and sz >= 0 and sz < n:
                        v = f[q, sx, sy, sz]
                    else:
                        v = f[opposite[q], x, y, z]
                        if sy >= n:
                            v += f4(6) * weight[q] * f4(ex[q]) * lid
                    c[q] = v
                    rho += v
                    ux += f4(ex[q]) * v
                    uy += f4(ey[q]) * v
                    uz += f4(ez[q]) * v
                ux /= rho
                uy /= rho
                uz /= rho
                square = f4(1.5) * (ux * ux + uy * uy + uz * uz)
                for q in range(19):
                    eu = f4(ex[q]) * ux + f4(ey[q]) * uy + f4(ez[q]) * uz
                    rest = weight[q] * rho * (f4(1) + f4(3) * eu + f4(4.5) * eu * eu - square)
                    g[q, x, y, z] = c[q] + omega * (rest - c[q])


def prepare(name, data):
    d = {key: array.copy() for key, array in data.items()}

    def particle_run():
        for _ in range(PARTICLE_STEPS):
            particles(d["x"], d["v"], f4(DT), f4(GRAVITY), f4(DAMP), f4(REST))

    def lattice_run():
        for f, g in ("fg", "gf"):
            lattice(d[f], d[g], f4(OMEGA), f4(LID))

    runs = {
        "saxpy": lambda: saxpy(f4(A), d["x"], d["y"]),
        "saxpy_out": lambda: saxpy_out(f4(A), d["x"], d["y"], d["z"]),
        "stencil3": lambda: stencil3(d["a"], d["b"]),
        "jacobi": lambda: jacobi(d["a"], d["b"]),
        "particles": particle_run,
        "segments": lambda: segments(d["start"], d["v"], d["sum"]),
        "nbody": lambda: nbody(d["p"], d["m"], d["acc"], f4(EPS2)),
        "lattice": lattice_run,
    }
    return runs[name], lambda key: d[key]
