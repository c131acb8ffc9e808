"""The benchmarks in Warp's style, for Gridstride and for Warp itself: the same text, another import."""

import inputs
import warp_arrays
import warp_more
from one import Clock, HostClock


def run(wp, bench, device="cuda:0"):
    wp.config.quiet = True
    wp.init()
    wp.set_device(device)
    wp.config.max_unroll = 32
    wp.zeros(1)
    wp.synchronize()
    clock = clock_of(wp)
    streaming(wp, bench, clock)
    launches(wp, bench, clock)
    bodies(wp, bench, clock)
    lattice(wp, bench, clock)
    segments(wp, bench, clock)
    warp_more.run(wp, bench, clock)
    warp_arrays.run(wp, bench, clock)


def clock_of(wp):
    if not wp.get_device().is_cuda:
        return HostClock(wp.synchronize)
    return Clock(lambda: wp.Event(enable_timing=True), wp.record_event, wp.get_event_elapsed_time, wp.synchronize)


def streaming(wp, bench, clock):
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
    if bench.wants("copy", "saxpy"):
        x, y, o = wp.ones(n, dtype=float), wp.ones(n, dtype=float), wp.zeros(n, dtype=float)
        bench.once("cold saxpy", lambda: wp.launch(saxpy, dim=n, inputs=[2.0, x, y], outputs=[o]), clock)
        bench.rate("copy", lambda: wp.copy(o, x), clock, 8e-9 * n, "GB/s")
        run = lambda: wp.launch(saxpy, dim=n, inputs=[2.0, x, y], outputs=[o])  # noqa: E731
        bench.rate("saxpy", run, clock, 12e-9 * n, "GB/s", o.numpy)
    if bench.wants("jacobi"):
        n = bench.size(16384, 256)
        u, v = wp.array(inputs.noise((n, n))), wp.zeros((n, n), dtype=float)
        run = lambda: wp.launch(jacobi, dim=(n, n), inputs=[u, v])  # noqa: E731
        bench.rate("jacobi", run, clock, 8e-9 * n * n, "GB/s", v.numpy)


def launches(wp, bench, clock):
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
    bench.time("launch", lambda: wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3]), clock, n=n)
    bench.time("launch, other values", changing, clock, 1e6 / len(steps), n=n // 7 + 1)
    bench.time("launch, two kernels", alternating, clock, 1e6 / 2, n=n // 2)
    recorded = wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3], record_cmd=True)
    bench.time("launch, recorded", recorded.launch, clock, n=n)
    if not wp.get_device().is_cuda:
        return
    with wp.ScopedCapture() as capture:
        for _ in range(1000):
            wp.launch(five, dim=1, inputs=[a, b, c, 2.0, 3])
    bench.time("launch, in a graph", lambda: wp.capture_launch(capture.graph), clock, 1e3, n=bench.size(20, 1))


def bodies(wp, bench, clock):
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

    if not bench.wants("nbody"):
        return
    n = bench.size(131072, 512)
    for name, fast in (("nbody", False), ("nbody, fast math", True)):
        kernel = wp.kernel(gravity, enable_backward=False, module="unique", module_options={"fast_math": fast})
        x = wp.array(inputs.noise((n, 3)), dtype=wp.vec3)
        m, acc = wp.ones(n, dtype=float), wp.zeros(n, dtype=wp.vec3)
        args = [x, m, acc, 1.0, 1e-4]
        run = lambda kernel=kernel, args=args: wp.launch(kernel, dim=n, inputs=args)  # noqa: E731
        bench.rate(name, run, clock, 1e-9 * n * n, "Ginter/s", acc.numpy, n=2, warm=1)


def lattice(wp, bench, clock):
    if not bench.wants("lbm"):
        return
    vec19, vec19i = wp.types.vector(19, wp.float32), wp.types.vector(19, wp.int32)
    CX, CY, CZ = (wp.constant(vec19i(*[c[d] for c in inputs.C])) for d in range(3))
    WEIGHT, OPP = wp.constant(vec19(*inputs.W)), wp.constant(vec19i(*inputs.OPPOSITE))

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
    start = inputs.lattice(n)
    f, g = wp.array(start), wp.array(start)
    bench.once("cold lbm", lambda: wp.launch(lbm, dim=(n, n, n), inputs=[f, g, 1.7, 0.1]), clock)
    run = lambda: wp.launch(lbm, dim=(n, n, n), inputs=[f, g, 1.7, 0.1])  # noqa: E731
    bench.rate("lbm", run, clock, 1e-6 * n**3, "MLUPS", g.numpy)


def segments(wp, bench, clock):
    @wp.kernel(enable_backward=False, module="unique")
    def segment_sum(x: wp.array(dtype=float), offsets: wp.array(dtype=int), o: wp.array(dtype=float)):
        i = wp.tid()
        t = float(0.0)
        for j in range(offsets[i], offsets[i + 1]):
            t += x[j]
        o[i] = t

    if not bench.wants("segments"):
        return
    n = bench.size(1 << 20, 1 << 8)
    for name, offsets in inputs.segments(n):
        x, o = wp.array(inputs.noise(offsets[-1])), wp.zeros(n, dtype=float)
        args = [x, wp.array(offsets), o]
        run = lambda args=args: wp.launch(segment_sum, dim=n, inputs=args)  # noqa: E731
        bench.rate(name, run, clock, 4e-9 * x.size, "GB/s", o.numpy)
