"""The benchmarks in Warp's style, for Gridstride and for Warp itself: the same text, another import."""

import numpy as np

# D3Q19: directions, weights, opposite directions.
C = [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (1, 1, 0), (-1, -1, 0), (1, -1, 0)]
C += [(-1, 1, 0), (1, 0, 1), (-1, 0, -1), (1, 0, -1), (-1, 0, 1), (0, 1, 1), (0, -1, -1), (0, 1, -1), (0, -1, 1)]
W = [1 / 3] + [1 / 18] * 6 + [1 / 36] * 12
OPPOSITE = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15, 18, 17]


def run(wp, bench):
    wait = wp.synchronize
    wp.set_device("cuda:0")
    wp.config.max_unroll = 32
    streaming(wp, bench, wait)
    launches(wp, bench, wait)
    bodies(wp, bench, wait)
    lattice(wp, bench, wait)
    segments(wp, bench, wait)
    for kernels in (sparse, divergent, moving):
        if bench.wants("others"):
            kernels(wp, bench, wait)


def streaming(wp, bench, wait):
    @wp.kernel(enable_backward=False, module="unique")
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a * x[i] + y[i]

    @wp.kernel(enable_backward=False, module="unique")
    def jacobi(u: wp.array2d(dtype=float), v: wp.array2d(dtype=float)):
        i, j = wp.tid()
        if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    n = bench.size(1 << 28, 1 << 16)
    if bench.wants("saxpy") or bench.wants("copy"):
        x, y, o = wp.ones(n, dtype=float), wp.ones(n, dtype=float), wp.zeros(n, dtype=float)
        bench.once("cold saxpy", lambda: wp.launch(saxpy, dim=n, inputs=[2.0, x, y], outputs=[o]), wait)
        bench.rate("copy", lambda: wp.copy(o, x), wait, 8e-9 * n, "GB/s")
        bench.rate("saxpy", lambda: wp.launch(saxpy, dim=n, inputs=[2.0, x, y], outputs=[o]), wait, 12e-9 * n, "GB/s")
        assert (o.numpy()[::997] == 3).all()
    if bench.wants("jacobi"):
        n = bench.size(16384, 256)
        u, v = wp.array(np.random.rand(n, n).astype(np.float32)), wp.zeros((n, n), dtype=float)
        bench.rate("jacobi", lambda: wp.launch(jacobi, dim=(n, n), inputs=[u, v]), wait, 8e-9 * n * n, "GB/s")


def launches(wp, bench, wait):
    @wp.kernel(enable_backward=False, module="unique")
    def five(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), s: float, n: int):
        i = wp.tid()
        c[i] = a[i] + s * b[i] + float(n)

    @wp.kernel(enable_backward=False, module="unique")
    def other(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), s: float, n: int):
        i = wp.tid()
        c[i] = a[i] - s * b[i] + float(n)

    if not bench.wants("launch"):
        return
    a, b, c = wp.zeros(1, dtype=float), wp.zeros(1, dtype=float), wp.zeros(1, dtype=float)
    steps = [float(k) for k in range(7)]

    def changing():
        for s in steps:
            wp.launch(five, dim=1, inputs=[a, b, c, s, 3])

    def alternating():
        wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3])
        wp.launch(other, dim=1, inputs=[a, b, c, 2.0, 3])

    n = bench.size(3000, 10)
    bench.time("launch", lambda: wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3]), wait, n=n)
    bench.time("launch, other values", changing, wait, 1e6 / len(steps), n=n // 7 + 1)
    bench.time("launch, two kernels", alternating, wait, 1e6 / 2, n=n // 2)
    recorded = wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3], record_cmd=True)
    bench.time("launch, recorded", recorded.launch, wait, n=n)
    with wp.ScopedCapture() as capture:
        for _ in range(1000):
            wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3])
    bench.time("launch, in a graph", lambda: wp.capture_launch(capture.graph), wait, 1e3, n=bench.size(20, 1))


def bodies(wp, bench, wait):
    def gravity(
        positions: wp.array(dtype=wp.vec3),
        masses: wp.array(dtype=float),
        acc: wp.array(dtype=wp.vec3),
        G: float,
        eps: float,
    ):
        p = wp.tid()
        n = positions.shape[0]
        pos = positions[p]
        a = wp.vec3(0.0, 0.0, 0.0)
        for j in range(n):
            if j != p:
                r = positions[j] - pos
                d2 = wp.dot(r, r) + eps
                inv = 1.0 / wp.sqrt(d2)
                a += G * masses[j] * (inv * inv * inv) * r
        acc[p] = a

    n = bench.size(131072, 512)
    for name, fast in (("nbody", False), ("nbody, fast math", True)):
        if not bench.wants("nbody"):
            continue
        kernel = wp.kernel(gravity, enable_backward=False, module="unique", module_options={"fast_math": fast})
        x = wp.array(np.random.rand(n, 3).astype(np.float32), dtype=wp.vec3)
        m, acc = wp.ones(n, dtype=float), wp.zeros(n, dtype=wp.vec3)
        args = [x, m, acc, 1.0, 1e-4]
        run = lambda kernel=kernel, args=args: wp.launch(kernel, dim=n, inputs=args)  # noqa: E731
        bench.rate(name, run, wait, 1e-9 * n * n, "Ginter/s", n=2, warm=1)


def lattice(wp, bench, wait):
    if not bench.wants("lbm"):
        return
    vec19, vec19i = wp.types.vector(19, wp.float32), wp.types.vector(19, wp.int32)
    CX, CY, CZ = (wp.constant(vec19i(*[c[d] for c in C])) for d in range(3))
    WEIGHT, OPP = wp.constant(vec19(*W)), wp.constant(vec19i(*OPPOSITE))

    @wp.kernel(enable_backward=False, module="unique")
    def lbm(f: wp.array4d(dtype=float), g: wp.array4d(dtype=float), omega: float, ulid: float):
        k, j, i = wp.tid()
        nz = f.shape[1]
        ny = f.shape[2]
        nx = f.shape[3]
        h = vec19()
        rho = float(0.0)
        ux = float(0.0)
        uy = float(0.0)
        uz = float(0.0)
        for q in range(19):
            si = i - CX[q]
            sj = j - CY[q]
            sk = k - CZ[q]
            v = float(0.0)
            if si >= 0 and si < nx and sj >= 0 and sj < ny and sk >= 0 and sk < nz:
                v = f[q, sk, sj, si]
            else:
                v = f[OPP[q], k, j, i]
                if sk >= nz:
                    v += 6.0 * WEIGHT[q] * float(CX[q]) * ulid
            h[q] = v
            rho += v
            ux += float(CX[q]) * v
            uy += float(CY[q]) * v
            uz += float(CZ[q]) * v
        ux = ux / rho
        uy = uy / rho
        uz = uz / rho
        uu = 1.5 * (ux * ux + uy * uy + uz * uz)
        for q in range(19):
            cu = 3.0 * (float(CX[q]) * ux + float(CY[q]) * uy + float(CZ[q]) * uz)
            feq = WEIGHT[q] * rho * (1.0 + cu + 0.5 * cu * cu - uu)
            g[q, k, j, i] = h[q] - omega * (h[q] - feq)

    n = bench.size(256, 16)
    start = np.broadcast_to(np.array(W, np.float32)[:, None, None, None], (19, n, n, n)).copy()
    f, g = wp.array(start), wp.array(start)
    bench.once("cold lbm", lambda: wp.launch(lbm, dim=(n, n, n), inputs=[f, g, 1.7, 0.1]), wait)
    run = lambda: wp.launch(lbm, dim=(n, n, n), inputs=[f, g, 1.7, 0.1])  # noqa: E731
    bench.rate("lbm", run, wait, 1e-6 * n**3, "MLUPS")


def segments(wp, bench, wait):
    @wp.kernel(enable_backward=False, module="unique")
    def segment_sum(x: wp.array(dtype=float), offsets: wp.array(dtype=int), o: wp.array(dtype=float)):
        i = wp.tid()
        t = float(0.0)
        for j in range(offsets[i], offsets[i + 1]):
            t += x[j]
        o[i] = t

    n = bench.size(1 << 20, 1 << 8)
    rng = np.random.default_rng(1)
    for name, lengths in (("segments of 64", np.full(n, 64)), ("segments of 32 to 96", rng.integers(32, 97, n))):
        if not bench.wants("segments"):
            continue
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        x, o = wp.array(rng.random(offsets[-1], dtype=np.float32)), wp.zeros(n, dtype=float)
        args = [x, wp.array(offsets), o]
        run = lambda args=args: wp.launch(segment_sum, dim=n, inputs=args)  # noqa: E731
        bench.rate(name, run, wait, 4e-9 * x.size, "GB/s")


def sparse(wp, bench, wait):
    """Sums over many places. Nobody tuned for these."""
    rng = np.random.default_rng(2)

    @wp.kernel(enable_backward=False, module="unique")
    def histogram(x: wp.array(dtype=float), bins: wp.array(dtype=int)):
        i = wp.tid()
        b = wp.clamp(int(x[i] * 256.0), 0, 255)
        wp.atomic_add(bins, b, 1)

    @wp.kernel(enable_backward=False, module="unique")
    def diffuse(u: wp.array3d(dtype=float), k: wp.array3d(dtype=float), v: wp.array3d(dtype=float)):
        z, y, x = wp.tid()
        if z > 0 and y > 0 and x > 0 and z < u.shape[0] - 1 and y < u.shape[1] - 1 and x < u.shape[2] - 1:
            c = u[z, y, x]
            s = u[z - 1, y, x] + u[z + 1, y, x] + u[z, y - 1, x] + u[z, y + 1, x] + u[z, y, x - 1] + u[z, y, x + 1]
            v[z, y, x] = c + k[z, y, x] * (s - 6.0 * c)

    @wp.kernel(enable_backward=False, module="unique")
    def spmv(
        rows: wp.array(dtype=int),
        cols: wp.array(dtype=int),
        values: wp.array(dtype=float),
        x: wp.array(dtype=float),
        y: wp.array(dtype=float),
    ):
        i = wp.tid()
        t = float(0.0)
        for j in range(rows[i], rows[i + 1]):
            t += values[j] * x[cols[j]]
        y[i] = t

    n = bench.size(1 << 26, 1 << 12)
    x, bins = wp.array(rng.random(n, dtype=np.float32)), wp.zeros(256, dtype=int)
    bench.rate("histogram", lambda: wp.launch(histogram, dim=n, inputs=[x, bins]), wait, 1e-9 * n, "Gelem/s", n=5)
    n = bench.size(512, 16)
    u, k, v = (wp.array(rng.random((n, n, n), dtype=np.float32)) for _ in range(3))
    run = lambda: wp.launch(diffuse, dim=(n, n, n), inputs=[u, k, v])  # noqa: E731
    bench.rate("varying stencil", run, wait, 12e-9 * n**3, "GB/s")
    n = bench.size(1 << 21, 1 << 8)
    rows = wp.array(np.arange(0, 16 * n + 1, 16, dtype=np.int32))
    near = (np.repeat(np.arange(n), 16) + rng.integers(-500, 500, 16 * n)) % n
    cols, values = wp.array(near.astype(np.int32)), wp.array(rng.random(16 * n, dtype=np.float32))
    x, y = wp.ones(n, dtype=float), wp.zeros(n, dtype=float)
    run = lambda: wp.launch(spmv, dim=n, inputs=[rows, cols, values, x, y])  # noqa: E731
    bench.rate("sparse matrix", run, wait, 32e-9 * n, "GFLOP/s")


def divergent(wp, bench, wait):
    """Threads that part. Nobody tuned for these."""
    rng = np.random.default_rng(2)

    @wp.kernel(enable_backward=False, module="unique")
    def bitonic(keys: wp.array(dtype=int), j: int, k: int):
        i = wp.tid()
        other = i ^ j
        if other > i:
            a = keys[i]
            b = keys[other]
            if (i & k) == 0:
                keys[i] = wp.min(a, b)
                keys[other] = wp.max(a, b)
            else:
                keys[i] = wp.max(a, b)
                keys[other] = wp.min(a, b)

    @wp.kernel(enable_backward=False, module="unique")
    def mandelbrot(out: wp.array2d(dtype=int), limit: int):
        i, j = wp.tid()
        cx = -2.0 + 3.0 * float(j) / float(out.shape[1])
        cy = -1.5 + 3.0 * float(i) / float(out.shape[0])
        x = float(0.0)
        y = float(0.0)
        n = int(0)
        while x * x + y * y < 4.0 and n < limit:
            t = x * x - y * y + cx
            y = 2.0 * x * y + cy
            x = t
            n += 1
        out[i, j] = n

    n = bench.size(1 << 22, 1 << 10)
    keys = wp.array(rng.integers(0, 1 << 30, n).astype(np.int32))

    def sort():
        k = 2
        while k <= n:
            j = k // 2
            while j:
                wp.launch(bitonic, dim=n, inputs=[keys, j, k])
                j //= 2
            k *= 2

    bench.rate("bitonic sort", sort, wait, 1e-6 * n, "Mkeys/s", n=1, warm=1)
    n = bench.size(4096, 64)
    out = wp.zeros((n, n), dtype=int)
    run = lambda: wp.launch(mandelbrot, dim=(n, n), inputs=[out, 500])  # noqa: E731
    bench.rate("mandelbrot", run, wait, 1e-6 * n * n, "Mpixel/s", n=5)


def moving(wp, bench, wait):
    """Vectors, quaternions, neighbors. Nobody tuned for these."""
    rng = np.random.default_rng(2)

    @wp.kernel(enable_backward=False, module="unique")
    def spin(q: wp.array(dtype=wp.quat), w: wp.array(dtype=wp.vec3), dt: float):
        i = wp.tid()
        r = q[i]
        v = w[i]
        d = wp.quat(v[0], v[1], v[2], 0.0) * r
        q[i] = wp.normalize(r + d * (0.5 * dt))

    @wp.kernel(enable_backward=False, module="unique")
    def cloth(x: wp.array2d(dtype=wp.vec3), v: wp.array2d(dtype=wp.vec3), o: wp.array2d(dtype=wp.vec3), dt: float):
        i, j = wp.tid()
        p = x[i, j]
        f = wp.vec3(0.0, -9.8, 0.0) - v[i, j] * 0.1
        for d in range(4):
            a = i + wp.where(d == 0, 1, wp.where(d == 1, -1, 0))
            b = j + wp.where(d == 2, 1, wp.where(d == 3, -1, 0))
            if a >= 0 and a < x.shape[0] and b >= 0 and b < x.shape[1]:
                r = x[a, b] - p
                length = wp.length(r) + 1.0e-6
                f += r * (100.0 * (length - 1.0) / length)
        o[i, j] = p + (v[i, j] + f * dt) * dt

    @wp.kernel(enable_backward=False, module="unique")
    def density(x: wp.array(dtype=wp.vec3), cells: wp.array(dtype=int), rho: wp.array(dtype=float), per_cell: int):
        i = wp.tid()
        p = x[i]
        first = cells[i]
        t = float(0.0)
        for c in range(27):
            for j in range(per_cell):
                r = x[(first + c * per_cell + j) % x.shape[0]] - p
                d2 = wp.dot(r, r)
                if d2 < 1.0:
                    q = 1.0 - d2
                    t += q * q * q
        rho[i] = t

    n = bench.size(1 << 25, 1 << 10)
    q, w = wp.full(n, wp.quat(0.0, 0.0, 0.0, 1.0), dtype=wp.quat), wp.full(n, wp.vec3(1.0, 2.0, 3.0), dtype=wp.vec3)
    bench.rate("quaternions", lambda: wp.launch(spin, dim=n, inputs=[q, w, 0.01]), wait, 44e-9 * n, "GB/s")
    n = bench.size(4096, 32)
    x = wp.array(rng.random((n, n, 3), dtype=np.float32), dtype=wp.vec3)
    v, o = wp.zeros((n, n), dtype=wp.vec3), wp.zeros((n, n), dtype=wp.vec3)
    run = lambda: wp.launch(cloth, dim=(n, n), inputs=[x, v, o, 0.01])  # noqa: E731
    bench.rate("cloth", run, wait, 36e-9 * n * n, "GB/s")
    n = bench.size(1 << 20, 1 << 8)
    x, rho = wp.array(4 * rng.random((n, 3), dtype=np.float32), dtype=wp.vec3), wp.zeros(n, dtype=float)
    cells = wp.array((np.arange(n) // 4 * 4).astype(np.int32))
    run = lambda: wp.launch(density, dim=n, inputs=[x, cells, rho, 4])  # noqa: E731
    bench.rate("density", run, wait, 108e-9 * n, "Gpair/s")
