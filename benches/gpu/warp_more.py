"""Eight kernels of many kinds in Warp's style, which nobody tuned the compiler for."""

import inputs


def run(wp, bench, clock):
    sums(wp, bench, clock)
    stencils(wp, bench, clock)
    divergent(wp, bench, clock)
    moving(wp, bench, clock)


def sums(wp, bench, clock):
    @wp.kernel(enable_backward=False, module="unique")
    def histogram(x: wp.array(dtype=float), bins: wp.array(dtype=int)):
        i = wp.tid()
        b = wp.clamp(int(x[i] * 256.0), 0, 255)
        wp.atomic_add(bins, b, 1)

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

    if bench.wants("histogram"):
        n = bench.size(1 << 26, 1 << 12)
        x, bins = wp.array(inputs.noise(n)), wp.zeros(256, dtype=int)
        run = lambda: wp.launch(histogram, dim=n, inputs=[x, bins])  # noqa: E731
        bench.rate("histogram", run, clock, 1e-9 * n, "Gelem/s", bins.numpy, n=5)
    if bench.wants("spmv"):
        n = bench.size(1 << 21, 1 << 10)
        rows, cols, values = map(wp.array, inputs.matrix(n))
        x, y = wp.array(inputs.noise(n, 5)), wp.zeros(n, dtype=float)
        run = lambda: wp.launch(spmv, dim=n, inputs=[rows, cols, values, x, y])  # noqa: E731
        bench.rate("sparse matrix", run, clock, 32e-9 * n, "GFLOP/s", y.numpy)


def stencils(wp, bench, clock):
    @wp.kernel(enable_backward=False, module="unique")
    def diffuse(u: wp.array3d(dtype=float), k: wp.array3d(dtype=float), v: wp.array3d(dtype=float)):
        z, y, x = wp.tid()
        if z > 0 and y > 0 and x > 0 and z < u.shape[0] - 1 and y < u.shape[1] - 1 and x < u.shape[2] - 1:
            c = u[z, y, x]
            s = u[z - 1, y, x] + u[z + 1, y, x] + u[z, y - 1, x] + u[z, y + 1, x] + u[z, y, x - 1] + u[z, y, x + 1]
            v[z, y, x] = c + k[z, y, x] * (s - 6.0 * c)

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

    if bench.wants("diffuse"):
        n = bench.size(512, 16)
        u, k, v = (wp.array(inputs.noise((n, n, n), seed)) for seed in (1, 2, 3))
        run = lambda: wp.launch(diffuse, dim=(n, n, n), inputs=[u, k, v])  # noqa: E731
        bench.rate("varying stencil", run, clock, 12e-9 * n**3, "GB/s", v.numpy)
    if bench.wants("cloth"):
        n = bench.size(4096, 32)
        x = wp.array(inputs.noise((n, n, 3)), dtype=wp.vec3)
        v, o = wp.zeros((n, n), dtype=wp.vec3), wp.zeros((n, n), dtype=wp.vec3)
        run = lambda: wp.launch(cloth, dim=(n, n), inputs=[x, v, o, 0.01])  # noqa: E731
        bench.rate("cloth", run, clock, 36e-9 * n * n, "GB/s", o.numpy)


def divergent(wp, bench, clock):
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

    if bench.wants("bitonic"):
        n = bench.size(1 << 24, 1 << 10)
        keys = wp.array(inputs.keys(n))

        def sort():
            k = 2
            while k <= n:
                j = k // 2
                while j:
                    wp.launch(bitonic, dim=n, inputs=[keys, j, k])
                    j //= 2
                k *= 2

        bench.rate("bitonic sort", sort, clock, 1e-6 * n, "Mkeys/s", keys.numpy, n=1, warm=1)
    if bench.wants("mandelbrot"):
        n = bench.size(4096, 64)
        out = wp.zeros((n, n), dtype=int)
        run = lambda: wp.launch(mandelbrot, dim=(n, n), inputs=[out, 500])  # noqa: E731
        bench.rate("mandelbrot", run, clock, 1e-6 * n * n, "Mpixel/s", out.numpy, n=5)


def moving(wp, bench, clock):
    @wp.kernel(enable_backward=False, module="unique")
    def spin(q: wp.array(dtype=wp.quat), w: wp.array(dtype=wp.vec3), dt: float):
        i = wp.tid()
        r = q[i]
        v = w[i]
        d = wp.quat(v[0], v[1], v[2], 0.0) * r
        q[i] = wp.normalize(r + d * (0.5 * dt))

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

    if bench.wants("quaternions"):
        n = bench.size(1 << 25, 1 << 10)
        q, w = wp.array(inputs.quaternions(n), dtype=wp.quat), wp.array(inputs.noise((n, 3), 2), dtype=wp.vec3)
        run = lambda: wp.launch(spin, dim=n, inputs=[q, w, 0.01])  # noqa: E731
        bench.rate("quaternions", run, clock, 44e-9 * n, "GB/s", q.numpy)
    if bench.wants("density"):
        n = bench.size(1 << 20, 1 << 8)
        x, rho = wp.array(4 * inputs.noise((n, 3)), dtype=wp.vec3), wp.zeros(n, dtype=float)
        cells = wp.array(inputs.cells(n))
        run = lambda: wp.launch(density, dim=n, inputs=[x, cells, rho, 4])  # noqa: E731
        bench.rate("density", run, clock, 108e-9 * n, "Gpair/s", rho.numpy)
