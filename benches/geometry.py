"""Hash grids and meshes on one core of a CPU beside Warp, where that is installed, in the same run.

    python benches/geometry.py [--points 100000 1000000] [--side 203] [--rounds 5]

Points are uniform in a cube, and the radius holds 30 of them; a kernel sums a weight over these. The mesh is a torus of
`2 side²` triangles; rays go from a sphere around it to points within, nearest points are asked for in its box. Systems
take turns at each work; the figures are the least of the rounds, in processor time. All results are compared.
"""

import argparse
import os
import time

# One thread, as Warp has on the CPU.
os.environ.setdefault("GRIDSTRIDE_NUM_THREADS", "1")

import numpy as np

CLOCK = time.process_time


def torus(side, inner=0.4):
    """Points and faces, with the front outside."""
    around, across = np.meshgrid(*[np.linspace(0, 2 * np.pi, side, endpoint=False)] * 2, indexing="ij")
    out = 1 + inner * np.cos(across)
    points = np.stack([out * np.cos(around), out * np.sin(around), inner * np.sin(across)], -1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    a, b, c, d = (((i + di) % side) * side + (j + dj) % side for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)))
    faces = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)]).reshape(-1, 3)
    return points.astype(np.float32), faces.astype(np.int32)


def kernels(wp):
    """The kernels of a system in Warp's style."""

    @wp.kernel
    def weigh(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, out: wp.array(dtype=float)):
        i = wp.hash_grid_point_id(grid, wp.tid())
        x = points[i]
        total = float(0.0)
        for j in wp.hash_grid_query(grid, x, radius):
            d = x - points[j]
            w = radius * radius - wp.dot(d, d)
            if w > 0.0:
                total += w * w * w
        out[i] = total

    @wp.kernel
    def cast(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), dir: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        found = wp.mesh_query_ray(mesh, start[i], dir[i], 1.0e6)
        out[i] = wp.where(found.result, found.t, -1.0)

    @wp.kernel
    def nearest(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        found = wp.mesh_query_point_no_sign(mesh, p[i], 1.0e6)
        out[i] = wp.length(wp.mesh_eval_position(mesh, found.face, found.u, found.v) - p[i])

    return weigh, cast, nearest


def works(wp, args):
    """What a system does: functions by name that run a work and give its result as a NumPy array; its size."""
    weigh, cast, nearest = kernels(wp)
    rng = np.random.default_rng(0)

    def array(values, dtype=None):
        return wp.array(values, dtype=dtype or wp.vec3, device="cpu")

    for n in args.points:
        points = array(rng.random((n, 3), dtype=np.float32))
        radius = float((30 / (n * 4 / 3 * np.pi)) ** (1 / 3))
        grid, out = wp.HashGrid(128, 128, 128, device="cpu"), wp.zeros(n, dtype=float, device="cpu")

        def build(grid=grid, points=points, radius=radius):
            grid.build(points, radius)

        def query(grid=grid, points=points, radius=radius, out=out, n=n):
            wp.launch(weigh, n, [grid.id, points, radius, out], device="cpu")
            return out.numpy()

        yield f"hash grid of {n} points, build", n, build
        yield f"hash grid of {n} points, 30 neighbors", n, query
    points, faces = (array(one, dtype) for one, dtype in zip(torus(args.side), (None, int), strict=True))
    faces = array(torus(args.side)[1].ravel(), int)
    mesh = wp.Mesh(points, faces)
    n = args.queries
    ends = rng.uniform(-1.4, 1.4, (n, 3)) * [1, 1, 0.3]
    start = rng.normal(size=(n, 3))
    start *= 3 / np.linalg.norm(start, axis=1, keepdims=True)
    given = [array(start.astype(np.float32)), array((ends - start).astype(np.float32))]
    inside, out = array(ends.astype(np.float32)), wp.zeros(n, dtype=float, device="cpu")

    def rays():
        wp.launch(cast, n, [mesh.id, *given, out], device="cpu")
        return out.numpy()

    def closest():
        wp.launch(nearest, n, [mesh.id, inside, out], device="cpu")
        return out.numpy()

    yield f"mesh of {len(faces) // 3} faces, build", 1, lambda: wp.Mesh(points, faces) and None
    yield f"mesh of {len(faces) // 3} faces, rays", n, rays
    yield f"mesh of {len(faces) // 3} faces, nearest points", n, closest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--side", type=int, default=203)
    parser.add_argument("--queries", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    import gridstride

    systems = {"gridstride": gridstride}
    try:
        import warp

        warp.config.quiet = True
        warp.init()
        systems["warp"] = warp
    except ImportError:
        pass
    for rows in zip(*[works(module, args) for module in systems.values()], strict=True):
        least, results = [], []
        for _, _, run in rows:
            results.append(run())
        for _ in range(args.rounds):
            times = []
            for _, _, run in rows:
                begin = CLOCK()
                run()
                times.append(CLOCK() - begin)
            least = [min(pair) for pair in zip(least or times, times, strict=True)]
        for other in results[1:]:
            if other is not None:
                np.testing.assert_allclose(results[0], other, rtol=1e-3, atol=1e-4)
        name, n, _ = rows[0]
        cells = [f"{system} {t * 1e3:9.2f} ms {n / t / 1e6:8.3f} M/s" for system, t in zip(systems, least, strict=True)]
        print(f"{name:40}", " ".join(cells), f" x{least[-1] / least[0]:.2f}", flush=True)


if __name__ == "__main__":
    main()
