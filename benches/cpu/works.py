"""The work that everybody does: its arrays, how much it is, and what NumPy says comes out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

EX = [0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0]
EY = [0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1]
EZ = [0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1]
OPPOSITE = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17]
WEIGHT = [1 / 3] + [1 / 18] * 6 + [1 / 36] * 12

A = 0.9
EPS2 = 1e-4
OMEGA, LID = 1.6, 0.05
DT, GRAVITY, DAMP, REST = 0.005, -9.81, 0.999, 0.7
PARTICLE_STEPS = 20


@dataclass
class Work:
    name: str
    unit: str
    # Of the unit, in one run.
    amount: float
    # Fresh arrays, by name; those of rank 2 with a row length of 3 are arrays of vectors.
    arrays: Callable[[], dict]
    # From the arrays as they were: the array that a run leaves in the first place of `out`.
    expected: Callable[[dict], np.ndarray]
    # The name of that array.
    out: str
    # Rows of the result that are compared.
    rows: int | None = None
    # Largest error, as a part of the largest element.
    tolerance: float = 1e-4


def rng():
    return np.random.default_rng(7)


def floats(*shape):
    return rng().random(shape, np.float32)


def double(arrays):
    return {name: array.astype(float) if array.dtype == np.float32 else array for name, array in arrays.items()}


def jacobi(d):
    b, a = d["b"].copy(), d["a"]
    b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return b


def stencil3(d):
    b, a = d["b"].copy(), d["a"]
    b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
    return b


def nbody(d, rows=64):
    p, m = d["p"], d["m"]
    to = p[None] - p[:rows, None]
    r2 = (to * to).sum(-1) + EPS2
    w = m[None] / (r2 * np.sqrt(r2))
    w[np.arange(rows), np.arange(rows)] = 0
    return (to * w[..., None]).sum(1)


def bodies(n=10_000):
    r = rng()
    return {
        "p": r.random((n, 3), np.float32) * 2 - 1,
        "m": (r.random(n, np.float32) + np.float32(0.5)) / n,
        "acc": np.zeros((n, 3), np.float32),
    }


def segments(n=1_000_000):
    r = rng()
    start = np.zeros(n + 1, np.int32)
    start[1:] = np.cumsum(r.integers(0, 33, n))
    return {"start": start, "v": r.random(int(start[-1]), np.float32), "sum": np.zeros(n, np.float32)}


def segment_sums(d):
    sums = np.concatenate([[0], np.cumsum(d["v"])])
    return sums[d["start"][1:]] - sums[d["start"][:-1]]


def cloud(n=1_000_000):
    r = rng()
    return {"x": r.random((n, 3), np.float32), "v": (r.random((n, 3), np.float32) - np.float32(0.5)) * 4}


def particle_step(x, v):
    v[:, 1] += GRAVITY * DT
    v *= DAMP
    x += v * DT
    low, high = x < 0, x > 1
    np.copyto(x, -x, where=low)
    np.copyto(x, 2 - x, where=high)
    np.copyto(v, -v * REST, where=low | high)


def particles(d):
    x, v = d["x"].copy(), d["v"].copy()
    for _ in range(PARTICLE_STEPS):
        particle_step(x, v)
    return x


def lattice_step(f):
    """Lid-driven cavity: bounce back at six walls, the one at the end of y moves along x."""
    n = f.shape[1]
    g = np.empty_like(f)
    for q in range(19):
        g[q] = np.roll(f[q], (EX[q], EY[q], EZ[q]), (0, 1, 2))
        for axis, e in enumerate((EX[q], EY[q], EZ[q])):
            if e:
                wall = [slice(None)] * 3
                wall[axis] = 0 if e > 0 else n - 1
                g[q][tuple(wall)] = f[OPPOSITE[q]][tuple(wall)]
        if EY[q] < 0:
            g[q][:, n - 1, :] += f.dtype.type(6 * WEIGHT[q] * EX[q] * LID)
    rho = g.sum(0)
    ux, uy, uz = (sum(e[q] * g[q] for q in range(19) if e[q]) / rho for e in (EX, EY, EZ))
    square = f.dtype.type(1.5) * (ux * ux + uy * uy + uz * uz)
    for q in range(19):
        eu = EX[q] * ux + EY[q] * uy + EZ[q] * uz
        rest = f.dtype.type(WEIGHT[q]) * rho * (1 + 3 * eu + f.dtype.type(4.5) * eu * eu - square)
        g[q] += f.dtype.type(OMEGA) * (rest - g[q])
    return g


def lattice(n=96):
    f = np.array(WEIGHT, np.float32)[:, None, None, None] * (1 + np.float32(0.1) * floats(19, n, n, n))
    return {"f": f, "g": np.zeros_like(f)}


N, SIDE = 10_000_000, 4096

WORKS = [
    Work("saxpy", "GB/s", 12e-9 * N, lambda: {"x": floats(N), "y": floats(N)}, lambda d: A * d["x"] + d["y"], "y"),
    Work(
        "saxpy_out",
        "GB/s",
        12e-9 * N,
        lambda: {"x": floats(N), "y": floats(N), "z": np.zeros(N, np.float32)},
        lambda d: A * d["x"] + d["y"],
        "z",
    ),
    Work("stencil3", "GB/s", 8e-9 * N, lambda: {"a": floats(N), "b": np.zeros(N, np.float32)}, stencil3, "b"),
    Work(
        "jacobi",
        "Mcells/s",
        1e-6 * SIDE * SIDE,
        lambda: {"a": floats(SIDE, SIDE), "b": np.zeros((SIDE, SIDE), np.float32)},
        jacobi,
        "b",
    ),
    # Who bounces one step later for a rounding error is elsewhere for that step.
    Work("particles", "M/s", 1.0 * PARTICLE_STEPS, cloud, particles, "x", tolerance=1e-2),
    Work("segments", "Melem/s", 16.0, segments, segment_sums, "sum"),
    Work("nbody", "Ginter/s", 0.1, bodies, nbody, "acc", rows=64),
    # There and back: two steps a run.
    Work("lattice", "Mcells/s", 2e-6 * 96**3, lattice, lambda d: lattice_step(lattice_step(d["f"])), "f"),
]
