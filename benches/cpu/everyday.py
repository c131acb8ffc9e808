"""Kernels of everyday programs that the compiler was not tuned for, beside plain C and Warp.

    python benches/cpu/everyday.py [WORK ...] [options as for run.py]

The kernels are in everyday_text.py and everyday.c; how they are compared is in untuned.py.
"""

import numpy as np
import run
from untuned import Work, contenders, floats, rng
from untuned import check as check_mean

SIDE, PIXELS, HALF_SIDE = 2048, 2048 * 2048, 1024
SQUARE = (SIDE, SIDE)


def noise(shape, top, dtype=np.uint8):
    return rng().integers(0, top, shape).astype(dtype)


# ---- waves, relaxation, pictures


def waves():
    return {"now": floats(PIXELS), "before": floats(PIXELS), "after": np.zeros(PIXELS, np.float32)}


def after(d):
    now = d["now"].reshape(SQUARE)
    inside = np.s_[1:-1]
    laplace = now[:-2, inside] + now[2:, inside] + now[inside, :-2] + now[inside, 2:] - 4 * now[inside, inside]
    out = np.zeros(SQUARE)
    out[inside, inside] = 2 * now[inside, inside] - d["before"].reshape(SQUARE)[inside, inside] + 0.1 * laplace
    return out.ravel()


def relaxed(d):
    p = d["p"].copy()
    i, j = np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")
    inside = np.s_[1:-1, 1:-1]
    new = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - d["f"][inside])
    p[inside] = np.where((i + j)[inside] % 2 == 1, new, p[inside])
    return p


def smoothed(d, rows=64):
    image, n = d["image"], HALF_SIDE
    total, weights = np.zeros((rows, n)), np.zeros((rows, n))
    for a in range(-2, 3):
        for b in range(-2, 3):
            u, v = np.arange(rows)[:, None] + a, np.arange(n)[None] + b
            inside = (u >= 0) & (u < n) & (v >= 0) & (v < n)
            value = image[np.clip(u, 0, n - 1), np.clip(v, 0, n - 1)]
            weight = np.where(inside, np.exp(-(a * a + b * b) * 0.2 - (value - image[:rows]) ** 2 * 4.0), 0)
            total, weights = total + weight * value, weights + weight
    return total / weights


def next_cells(d):
    cells = d["cells"].astype(int)
    alive = sum(np.roll(cells, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
    return (alive == 3) | ((alive == 2) & (cells == 1))


def resized(d):
    c = (np.arange(SIDE) + 0.5) * RATIO - 0.5
    u = np.clip(np.floor(c).astype(int), 0, HALF_SIDE - 2)
    s, image = c - u, d["image"].astype(float)
    top, bottom = image[u], image[u + 1]
    rows = (1 - s)[:, None, None] * top + s[:, None, None] * bottom
    out = (1 - s)[None, :, None] * rows[:, u] + s[None, :, None] * rows[:, u + 1]
    return np.floor(np.clip(out + 0.5, 0, 255))


def stretched(d):
    return np.clip(np.trunc((d["image"].astype(int) - 30) * 21 / 16), 0, 255)


def grays(d):
    return (d["image"].astype(int) @ np.array([77, 150, 29])) >> 8


RATIO = HALF_SIDE / SIDE


# ---- points, boxes, systems, rays

N_POINTS, CENTERS, DIMENSIONS = 200_000, 16, 8
N_BOXES = 8192
N_SYSTEMS = 500_000
N_ROWS, LENGTH = 200_000, 16
MOST = 64


def points():
    label = np.zeros(N_POINTS, np.int32)
    return {"points": floats(N_POINTS, DIMENSIONS), "centers": floats(CENTERS, DIMENSIONS), "label": label}


def labels(d, rows=4096):
    return ((d["points"][:rows, None] - d["centers"][None]) ** 2).sum(-1).argmin(1)


def boxes():
    low = floats(N_BOXES, 3) * 10
    return {"low": low, "high": low + np.float32(0.2), "hit": np.zeros(N_BOXES, np.int32)}


def first_overlaps(d):
    low, high = d["low"], d["high"]
    hits = ((low[:, None] <= high[None]) & (high[:, None] >= low[None])).all(-1)
    np.fill_diagonal(hits, False)
    return np.where(hits.any(1), hits.argmax(1), -1)


def systems():
    matrix = floats(N_SYSTEMS, 4, 4) + 4 * np.eye(4, dtype=np.float32)
    return {"matrix": matrix, "right": floats(N_SYSTEMS, 4), "x": np.zeros((N_SYSTEMS, 4), np.float32)}


def solved(d):
    return np.linalg.solve(d["matrix"], d["right"][..., None])[..., 0]


def depths(_, rows=64):
    i, j = np.meshgrid(np.arange(rows) + 0.0, np.arange(HALF_SIDE) + 0.0, indexing="ij")
    d = np.stack([j * 2 / HALF_SIDE - 1, 1 - i * 2 / HALF_SIDE, np.full_like(i, 1.5)], -1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    t, marches = np.zeros(i.shape), np.ones(i.shape, bool)
    for _ in range(MOST):
        p = np.array([0, 0.5, -3]) + d * t[..., None]
        distance = np.minimum(np.linalg.norm(p, axis=-1) - 1, p[..., 1] + 1)
        marches &= ~((distance < 0.001) | (t > 20))
        t += np.where(marches, distance, 0)
    return t


def sums(d):
    return np.cumsum(d["rows"], 1)


# ---- numbers at random, transforms

N_HASHES, ROUNDS = 1_000_000, 16
N_COMPLEX, HALF = 1 << 20, 1 << 9
N_THROWERS, THROWS = 100_000, 64


def mixed(x):
    state = (x * np.uint32(747796405) + np.uint32(2891336453)).astype(np.uint32)
    word = ((state >> ((state >> np.uint32(28)) + np.uint32(4))) ^ state) * np.uint32(277803737)
    return (word >> np.uint32(22)) ^ word


def hashes(_):
    state = np.arange(N_HASHES, dtype=np.uint32)
    for _ in range(ROUNDS):
        state = mixed(state)
    return state.astype(float)


def complexes():
    angle = -np.pi * np.arange(HALF) / HALF
    return {"x": floats(N_COMPLEX, 2), "twiddle": np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)}


def transformed(d):
    x, w = d["x"].reshape(-1, 2, HALF, 2) @ [1, 1j], d["twiddle"] @ [1, 1j]
    u, v = x[:, 0], x[:, 1] * w
    out = np.stack([u + v, u - v], 1).reshape(-1)
    return np.stack([out.real, out.imag], 1)


def counts(_):
    state = mixed(np.uint32(7) + mixed(np.arange(N_THROWERS, dtype=np.uint32)))
    inside = np.zeros(N_THROWERS, int)
    for _ in range(THROWS):
        x = mixed(state)
        state = mixed(x)
        inside += (x >> np.uint32(8)) ** 2.0 + (state >> np.uint32(8)) ** 2.0 < 2.0**48
    return inside


def with_out(out, **arrays):
    return lambda: {**{name: make() for name, make in arrays.items()}, out[0]: np.zeros(*out[1:])}


FLOATS, BYTES = np.float32, np.uint8
MPIXELS = 1e-6 * PIXELS
WAVE = ["now", "before", "after", SIDE, SIDE, 0.1]
relaxation = with_out(("unused", 1), p=lambda: floats(*SQUARE), f=lambda: floats(*SQUARE))
picture = with_out(("out", (HALF_SIDE, HALF_SIDE), FLOATS), image=lambda: floats(HALF_SIDE, HALF_SIDE))
cells = with_out(("out", SQUARE, BYTES), cells=lambda: noise(SQUARE, 2))
small = with_out(("out", (SIDE, SIDE, 3), BYTES), image=lambda: noise((HALF_SIDE, HALF_SIDE, 3), 256))
bytes_ = with_out(("out", SQUARE, BYTES), image=lambda: noise(SQUARE, 256))
colors = with_out(("out", SQUARE, BYTES), image=lambda: noise((*SQUARE, 3), 256))
depth = with_out(("depth", (HALF_SIDE, HALF_SIDE), FLOATS))
rows = with_out(("out", (N_ROWS, LENGTH), FLOATS), rows=lambda: floats(N_ROWS, LENGTH))
integers = with_out(("out", N_HASHES, np.uint32))
throws = with_out(("count", N_THROWERS, np.int32))
NEAREST = ["points", "centers", "label", CENTERS, DIMENSIONS]

WORKS = [
    Work("wave", "Mcells/s", MPIXELS, PIXELS, waves, WAVE, SIDE, after, "after", None, True),
    Work("red_black", "Mcells/s", MPIXELS, SQUARE, relaxation, ["p", "f", 1, SIDE], SIDE, relaxed, "p"),
    Work(
        "bilateral",
        "Mpixels/s",
        MPIXELS / 4,
        (HALF_SIDE, HALF_SIDE),
        picture,
        ["image", "out", HALF_SIDE, 0.2, 4.0],
        HALF_SIDE,
        smoothed,
        "out",
        64,
    ),
    Work("life", "Mcells/s", MPIXELS, SQUARE, cells, ["cells", "out", SIDE], SIDE, next_cells, "out", None, True),
    Work("nearest", "M/s", 0.2, N_POINTS, points, NEAREST, N_POINTS, labels, "label", 4096),
    Work(
        "collide",
        "M/s",
        1e-6 * N_BOXES,
        N_BOXES,
        boxes,
        ["low", "high", N_BOXES, "hit"],
        N_BOXES,
        first_overlaps,
        "hit",
    ),
    Work("solve4", "M/s", 0.5, N_SYSTEMS, systems, ["matrix", "right", "x"], N_SYSTEMS, solved, "x"),
    Work(
        "march",
        "Mrays/s",
        MPIXELS / 4,
        (HALF_SIDE, HALF_SIDE),
        depth,
        ["depth", HALF_SIDE, MOST],
        HALF_SIDE,
        depths,
        "depth",
        64,
    ),
    Work("prefix", "Mrows/s", 0.2, N_ROWS, rows, ["rows", "out", LENGTH], N_ROWS, sums, "out"),
    Work("pcg", "M/s", 1e-6 * N_HASHES, N_HASHES, integers, ["out", ROUNDS], N_HASHES, hashes, "out"),
    Work(
        "butterfly",
        "M/s",
        5e-7 * N_COMPLEX,
        N_COMPLEX // 2,
        complexes,
        ["x", "twiddle", HALF, 1],
        N_COMPLEX // 2,
        transformed,
        "x",
    ),
    Work(
        "resize",
        "Mpixels/s",
        MPIXELS,
        (SIDE, SIDE, 3),
        small,
        ["image", "out", RATIO, HALF_SIDE],
        SIDE,
        resized,
        "out",
    ),
    Work("threshold", "Mpixels/s", MPIXELS, SQUARE, bytes_, ["image", "out", 30, 21], SIDE, stretched, "out"),
    Work("gray", "Mpixels/s", MPIXELS, SQUARE, colors, ["image", "out"], SIDE, grays, "out"),
    Work("darts", "M/s", 0.1, N_THROWERS, throws, ["count", 7, THROWS], N_THROWERS, counts, "count"),
]


if __name__ == "__main__":
    run.main(WORKS, contenders("everyday", {work.name: work for work in WORKS}), check_mean)
