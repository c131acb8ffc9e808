"""Tiles on the CPU beside Warp: products of matrices, and sums of tiles.

    python benches/tiles.py [--size 1024] [--rounds 5]

Without Warp it shows Gridstride alone. Both systems run the same kernel text in turn in one process; Warp runs a
launch on one core, so Gridstride is shown on one core and on all. The least time of the rounds, and that of the first
launch, compilation included.
"""

import argparse
import importlib
import os
import sys
import tempfile
import time

import numpy as np

TILE = 64

TEXT = """
import {module} as wp

TILE = {tile}


@wp.kernel(enable_backward=False)
def gemm(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(TILE, TILE), dtype=float)
    for k in range(int(a.shape[1] / TILE)):
        x = wp.tile_load(a, shape=(TILE, TILE), offset=(i * TILE, k * TILE))
        y = wp.tile_load(b, shape=(TILE, TILE), offset=(k * TILE, j * TILE))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * TILE, j * TILE))


@wp.kernel(enable_backward=False)
def sums(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(a[i], shape=1024)
    wp.tile_store(out, wp.tile_sum(t), offset=i)
"""


def load(module):
    """The kernels as a module of their own system's, or nothing where that is not installed."""
    try:
        wp = importlib.import_module(module)
    except ImportError:
        return None, None
    folder = tempfile.mkdtemp()
    name = f"tile_kernels_{module}"
    with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
        file.write(TEXT.format(module=module, tile=TILE))
    sys.path.insert(0, folder)
    if module == "warp":
        wp.config.quiet = True
        wp.config.kernel_cache_dir = tempfile.mkdtemp()
        wp.init()
    return wp, importlib.import_module(name)


def measure(run, rounds):
    start = time.perf_counter()
    run()
    first = time.perf_counter() - start
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return first, min(times)


def show(name, wp, kernels, cores, data, rounds):
    """Measures both works of a system and checks their results."""
    a, b, rows = data
    n = len(a)
    x, y, z = (wp.array(one, dtype=float, device="cpu") for one in (a, b, np.zeros_like(a)))
    r, s = wp.array(rows, dtype=float, device="cpu"), wp.zeros(len(rows), dtype=float, device="cpu")
    options = {"block_dim": 64, "device": "cpu"}

    def gemm():
        wp.launch_tiled(kernels.gemm, dim=[n // TILE, n // TILE], inputs=[x, y, z], **options)

    def sums():
        wp.launch_tiled(kernels.sums, dim=[len(rows)], inputs=[r, s], **options)

    for run in (gemm, sums):
        first, least = measure(run, rounds)
        print(f"{run.__name__:10} {name + ', ' + cores:24} {first:8.3f} {least * 1e3:9.2f}")
    np.testing.assert_allclose(z.numpy(), a @ b, rtol=1e-4)
    np.testing.assert_allclose(s.numpy(), rows.sum(1), rtol=1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    rng = np.random.default_rng(0)
    n = args.size
    data = (
        rng.random((n, n), dtype=np.float32),
        rng.random((n, n), dtype=np.float32),
        rng.random((16384, 1024), dtype=np.float32),
    )
    print(f"{'work':10} {'system':24} {'first s':>8} {'least ms':>9}")
    for name in ("warp", "gridstride"):
        wp, kernels = load(name)
        if wp is None:
            continue
        if name == "warp":
            show(name, wp, kernels, "1 core", data, args.rounds)
            continue
        for n_threads in dict.fromkeys((1, os.cpu_count())):
            wp.set_num_threads(n_threads)
            show(name, wp, kernels, f"{n_threads} threads", data, args.rounds)


if __name__ == "__main__":
    main()
