"""Kernels that the compiler was not tuned for, beside plain C and Warp.

    python benches/cpu/untuned.py [WORK ...] [options as for run.py]

The kernels are in untuned_text.py and untuned.c; what is measured how is in run.py. Floats are compared by the mean of
their errors: where a branch depends on a rounding, single elements may differ.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import run
from c_text import aligned, build


@dataclass
class Work:
    name: str
    unit: str
    # Of the unit, in one run.
    amount: float
    dim: int | tuple[int, ...]
    # Fresh arrays, by name; those of rank 2 with rows of 3 or 4 are arrays of vectors and quaternions.
    arrays: Callable[[], dict]
    # The kernel's, arrays by name.
    arguments: list
    # C's function takes the number of threads, or the extent of a dimension, before the arrays.
    size: int
    # From the arrays as they were, in double precision: the array named `out` after one run.
    expected: Callable[[dict], np.ndarray]
    out: str
    # Rows of the result that are compared.
    rows: int | None = None
    # C's size is an int.
    is_size_short: bool = False


def rng():
    return np.random.default_rng(11)


def floats(*shape):
    return rng().random(shape, np.float32)


# ---- particles in cells

N_PARTICLES, CELLS = 200_000, 32


def particles():
    x = floats(N_PARTICLES, 3)
    cell = (x * np.float32(CELLS)).astype(np.int32) @ np.array([CELLS * CELLS, CELLS, 1], np.int32)
    order = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[order], np.arange(CELLS**3 + 1)).astype(np.int32)
    return {"x": x[order], "start": start, "density": np.zeros(N_PARTICLES, np.float32)}


def densities(d, rows=64):
    distance2 = ((d["x"][None] - d["x"][:rows, None]) ** 2).sum(-1)
    return (np.maximum(CELLS**-2 - distance2, 0) ** 3).sum(1)


# ---- a sparse matrix

N_ROWS = 200_000


def sparse():
    r = rng()
    start = np.zeros(N_ROWS + 1, np.int32)
    start[1:] = np.cumsum(r.integers(4, 28, N_ROWS))
    # Near the diagonal, as a mesh has them.
    row = np.repeat(np.arange(N_ROWS), np.diff(start))
    column = np.clip(row + r.integers(-2000, 2001, row.size), 0, N_ROWS - 1).astype(np.int32)
    value = r.random(row.size, np.float32)
    return {"start": start, "column": column, "value": value, "x": floats(N_ROWS), "y": np.zeros(N_ROWS, np.float32)}


def product(d):
    sums = np.concatenate([[0], np.cumsum(d["value"] * d["x"][d["column"]])])
    return sums[d["start"][1:]] - sums[d["start"][:-1]]


# ---- images

SIDE, MOST = 2048, 200
ANGLE = 0.3


def mandelbrot(_, rows=64):
    i, j = np.meshgrid(np.arange(rows) + 0.0, np.arange(SIDE) + 0.0, indexing="ij")
    c = -2 + 3 * j / SIDE + 1j * (-1.5 + 3 * i / SIDE)
    z, count = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(MOST):
        inside = np.abs(z) < 2
        count += inside
        z = np.where(inside, z * z + c, z)
    return count


def bilinear(d):
    middle = SIDE / 2
    u, v = np.meshgrid(np.arange(SIDE) - middle, np.arange(SIDE) - middle, indexing="ij")
    x = np.cos(ANGLE) * u - np.sin(ANGLE) * v + middle
    y = np.sin(ANGLE) * u + np.cos(ANGLE) * v + middle
    a, b = np.floor(x).astype(int), np.floor(y).astype(int)
    inside = (a >= 0) & (a < SIDE - 1) & (b >= 0) & (b < SIDE - 1)
    s, t, p = x - a, y - b, d["image"]
    a, b = np.where(inside, a, 0), np.where(inside, b, 0)
    top, bottom = (1 - t) * p[a, b] + t * p[a, b + 1], (1 - t) * p[a + 1, b] + t * p[a + 1, b + 1]
    return np.where(inside, (1 - s) * top + s * bottom, 0)


def convolution(d):
    image = np.pad(d["image"], 2, mode="edge")
    return sum(d["weight"][a, b] * image[a : a + SIDE, b : b + SIDE] for a in range(5) for b in range(5))


# ---- fields, springs, rotations

GRID, COURANT = 128, 0.5
N_QUATERNIONS, STEP = 1_000_000, 0.01
CLOTH = 512


def fields():
    r = rng()
    return {f + axis: r.random((GRID, GRID, GRID), np.float32) for f in "eh" for axis in "xyz"}


def electric(d):
    hy, hz = d["hy"], d["hz"]
    e = d["ex"].copy()
    here, back = np.s_[1:], np.s_[:-1]
    curl = (hz[here, here, here] - hz[here, back, here]) - (hy[here, here, here] - hy[here, here, back])
    e[here, here, here] += COURANT * curl
    return e


def cloth():
    i = np.arange(CLOTH * CLOTH, dtype=np.int32).reshape(CLOTH, CLOTH)
    place = np.stack([*np.meshgrid(np.arange(CLOTH), np.arange(CLOTH), indexing="ij"), np.zeros((CLOTH, CLOTH))], -1)
    first = np.concatenate([i[:, :-1].ravel(), i[:-1].ravel()])
    second = np.concatenate([i[:, 1:].ravel(), i[1:].ravel()])
    x = place.reshape(-1, 3).astype(np.float32) + floats(CLOTH * CLOTH, 3)
    length = np.ones(first.size, np.float32)
    return {"x": x, "first": first, "second": second, "length": length, "force": np.zeros_like(x)}


def forces(d):
    x, i, j = d["x"], d["first"], d["second"]
    to = x[j] - x[i]
    size = np.linalg.norm(to, axis=1)
    f = to * (10 * (size - d["length"]) / size)[:, None]
    force = np.zeros_like(x)
    np.add.at(force, i, f)
    np.subtract.at(force, j, f)
    return force


def quaternions():
    q = rng().random((N_QUATERNIONS, 4), np.float32)
    return {"q": q / np.linalg.norm(q, axis=1, keepdims=True), "omega": floats(N_QUATERNIONS, 3)}


def rotated(d):
    q, o = d["q"], d["omega"]
    v, w = q[:, :3], q[:, 3:]
    r = q + STEP / 2 * np.concatenate([o * w + np.cross(o, v), -(o * v).sum(1, keepdims=True)], 1)
    return r / np.linalg.norm(r, axis=1, keepdims=True)


# ---- counts, rays, systems

N_SAMPLES, BINS = 10_000_000, 256
N_RAYS, SPHERES = 500_000, 128
N_SYSTEMS, UNKNOWNS = 100_000, 32


def rays():
    r = rng()
    direction = r.normal(size=(N_RAYS, 3)).astype(np.float32)
    return {
        "origin": floats(N_RAYS, 3),
        "direction": direction / np.linalg.norm(direction, axis=1, keepdims=True),
        "center": r.random((SPHERES, 3), np.float32) * 4 - np.float32(1.5),
        "radius": np.full(SPHERES, 0.2, np.float32),
        "hit": np.zeros(N_RAYS, np.int32),
    }


def first_hits(d, rows=4096):
    x = d["origin"][:rows, None] - d["center"][None]
    b = (x * d["direction"][:rows, None]).sum(-1)
    e = b * b - ((x * x).sum(-1) - d["radius"] ** 2)
    hits = (e > 0) & (-b - np.sqrt(np.maximum(e, 0)) > 0)
    return np.where(hits.any(1), hits.argmax(1), -1)


def systems():
    r = rng()
    d = {name: r.random((N_SYSTEMS, UNKNOWNS), np.float32) for name in ("low", "mid", "high", "right")}
    d["mid"] += 3
    return d | {"x": np.zeros((N_SYSTEMS, UNKNOWNS), np.float32)}


def solutions(d, rows=64):
    x = np.zeros((rows, UNKNOWNS))
    for i in range(rows):
        matrix = np.diag(d["mid"][i]) + np.diag(d["low"][i, 1:], -1) + np.diag(d["high"][i, :-1], 1)
        x[i] = np.linalg.solve(matrix, d["right"][i])
    return x


def image(**more):
    return lambda: {"image": floats(SIDE, SIDE), **more, "out": np.zeros((SIDE, SIDE), np.float32)}


def count_pixels():
    return {"count": np.zeros((SIDE, SIDE), np.int32)}


def samples():
    return {"x": floats(N_SAMPLES), "count": np.zeros(BINS, np.int32)}


def counts(d):
    return np.bincount((d["x"].astype(np.float32) * np.float32(BINS)).astype(int), minlength=BINS)


MPIXELS, SQUARE, CUBE = 1e-6 * SIDE * SIDE, (SIDE, SIDE), (GRID, GRID, GRID)
TURN = [float(np.cos(ANGLE)), float(np.sin(ANGLE))]
N_SPRINGS = 2 * CLOTH * (CLOTH - 1)
WEIGHT = floats(5, 5) / 12
SPH_ARGUMENTS = ["x", "start", "density", CELLS, 1 / CELLS]
FDTD_ARGUMENTS = ["ex", "ey", "ez", "hx", "hy", "hz", COURANT]
SPRING_ARGUMENTS = ["x", "first", "second", "length", "force", 10.0]
RAY_ARGUMENTS = ["origin", "direction", "center", "radius", SPHERES, "hit"]

WORKS = [
    Work("sph", "M/s", 0.2, N_PARTICLES, particles, SPH_ARGUMENTS, N_PARTICLES, densities, "density", 64),
    Work("spmv", "Mrows/s", 0.2, N_ROWS, sparse, ["start", "column", "value", "x", "y"], N_ROWS, product, "y"),
    Work(
        "mandelbrot", "Mpixels/s", MPIXELS, SQUARE, count_pixels, ["count", SIDE, MOST], SIDE, mandelbrot, "count", 64
    ),
    Work("warp", "Mpixels/s", MPIXELS, SQUARE, image(), ["image", "out", SIDE, *TURN], SIDE, bilinear, "out"),
    Work("fdtd", "Mcells/s", 1e-6 * GRID**3, CUBE, fields, FDTD_ARGUMENTS, GRID, electric, "ex", None, True),
    Work("springs", "M/s", 1e-6 * N_SPRINGS, N_SPRINGS, cloth, SPRING_ARGUMENTS, N_SPRINGS, forces, "force"),
    Work("rotations", "M/s", 1.0, N_QUATERNIONS, quaternions, ["q", "omega", STEP], N_QUATERNIONS, rotated, "q"),
    Work("histogram", "M/s", 10.0, N_SAMPLES, samples, ["x", "count", BINS], N_SAMPLES, counts, "count"),
    Work("shadow", "Mrays/s", 0.5, N_RAYS, rays, RAY_ARGUMENTS, N_RAYS, first_hits, "hit", 4096),
    Work(
        "tridiagonal",
        "M/s",
        0.1,
        N_SYSTEMS,
        systems,
        ["low", "mid", "high", "right", "x"],
        N_SYSTEMS,
        solutions,
        "x",
        64,
    ),
    Work(
        "convolution",
        "Mpixels/s",
        MPIXELS,
        SQUARE,
        image(weight=WEIGHT),
        ["image", "weight", "out", SIDE],
        SIDE,
        convolution,
        "out",
    ),
]
BY_NAME = {work.name: work for work in WORKS}


class C:
    """A text in C by way of a library; `works` by name."""

    def __init__(self, source="untuned.c", works=BY_NAME):
        self.library, self.works = build(source=source), works

    def prepare(self, name, data):
        work, d = self.works[name], {key: aligned(array) for key, array in data.items()}

        def argument(value):
            if isinstance(value, str):
                return ctypes.c_void_p(d[value].ctypes.data)
            return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int(value)

        # Where the extent is the kernel's own argument, C has it in front.
        own = [value for value in work.arguments if not (value == work.size and isinstance(value, int))]
        size = ctypes.c_int(work.size) if work.is_size_short else ctypes.c_long(work.size)
        arguments = [size, *map(argument, own)]
        function = getattr(self.library, name)
        return lambda: function(*arguments), lambda key: d[key]


class Text:
    """A text in the style of Warp by way of one package."""

    def __init__(self, package, file="untuned_text.py", works=BY_NAME):
        self.text, self.works = run.warp_style(package, False, file), works

    def prepare(self, name, data):
        return self.text.prepare(self.works[name], data)


def check(work, data, got, name):
    want = work.expected({k: a.astype(float) if a.dtype == np.float32 else a for k, a in data.items()})
    error = float(np.mean(np.abs(np.asarray(got, float)[: work.rows] - want)) / np.mean(np.abs(want)))
    if not error < 1e-3:
        raise SystemExit(f"{name} computes {work.name} wrong: off by {error:.3g}")


def contenders(file, works):
    """C, Gridstride and Warp for `file`.c and `file`_text.py."""
    return {
        "C": (lambda: C(f"{file}.c", works), None),
        "Gridstride": (lambda: Text("gridstride", f"{file}_text.py", works), None),
        "Warp": (lambda: Text("warp", f"{file}_text.py", works), None),
    }


if __name__ == "__main__":
    run.main(WORKS, contenders("untuned", BY_NAME), check)
