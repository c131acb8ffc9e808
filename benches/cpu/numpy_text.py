"""The work in NumPy, as array expressions that reuse their memory where that is usual."""

import numpy as np
from works import EPS2, PARTICLE_STEPS, A, lattice_step, particle_step

f4 = np.float32


def nbody(d):
    p, m, acc = d["p"], d["m"], d["acc"]
    block = 64
    for start in range(0, len(p), block):
        to = p[None] - p[start : start + block, None]
        r2 = np.einsum("ijk,ijk->ij", to, to) + f4(EPS2)
        w = m[None] / (r2 * np.sqrt(r2))
        acc[start : start + block] = np.einsum("ij,ijk->ik", w, to)


def jacobi(d):
    a, out = d["a"], d["b"][1:-1, 1:-1]
    np.add(a[:-2, 1:-1], a[2:, 1:-1], out=out)
    np.add(out, a[1:-1, :-2], out=out)
    np.add(out, a[1:-1, 2:], out=out)
    np.multiply(out, f4(0.25), out=out)


def stencil3(d):
    a, out = d["a"], d["b"][1:-1]
    np.add(a[:-2], a[1:-1], out=out)
    np.add(out, a[2:], out=out)
    np.multiply(out, f4(1 / 3), out=out)


def prepare(name, data):
    d = {key: array.copy() for key, array in data.items()}

    def saxpy(out, scratch):
        np.multiply(d["x"], f4(A), out=scratch)
        np.add(scratch, d["y"], out=out)

    def segments():
        filled = np.flatnonzero(d["start"][1:] > d["start"][:-1])
        d["sum"][filled] = np.add.reduceat(d["v"], d["start"][:-1][filled])

    def particles():
        for _ in range(PARTICLE_STEPS):
            particle_step(d["x"], d["v"])

    def lattice():
        d["g"] = lattice_step(d["f"])
        d["f"] = lattice_step(d["g"])

    def saxpy_in_place():
        scratch = np.empty_like(d["x"])
        return lambda: saxpy(d["y"], scratch)

    runs = {
        "saxpy": saxpy_in_place,
        "saxpy_out": lambda: lambda: saxpy(d["z"], d["z"]),
        "stencil3": lambda: lambda: stencil3(d),
        "jacobi": lambda: lambda: jacobi(d),
        "particles": lambda: particles,
        "segments": lambda: segments,
        "nbody": lambda: lambda: nbody(d),
        "lattice": lambda: lattice,
    }
    return runs[name](), lambda key: d[key]
