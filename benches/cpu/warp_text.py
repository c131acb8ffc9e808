"""The work in the style of Warp, natural text: run by Gridstride and by Warp, whichever `wp` is set to before."""

from works import DAMP, DT, EPS2, EX, EY, EZ, GRAVITY, LID, OMEGA, OPPOSITE, PARTICLE_STEPS, REST, WEIGHT, A

# Set by the loader.
wp = wp  # noqa: F821, PLW0127
wp.set_module_options({"fast_math": FAST_MATH})  # noqa: F821


vec19i = wp.types.vector(19, int)
vec19f = wp.types.vector(19, float)
ex = wp.constant(vec19i(*EX))
ey = wp.constant(vec19i(*EY))
ez = wp.constant(vec19i(*EZ))
weight = wp.constant(vec19f(*WEIGHT))
opposite = wp.constant(vec19i(*OPPOSITE))


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def saxpy_out(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = a * x[i] + y[i]


@wp.kernel
def stencil3(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i > 0 and i < n - 1:
        b[i] = (a[i - 1] + a[i] + a[i + 1]) * (1.0 / 3.0)


@wp.kernel
def jacobi(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), n: int):
    i, j = wp.tid()
    if i > 0 and i < n - 1 and j > 0 and j < n - 1:
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])


@wp.kernel
def particles(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float, g: float, damp: float, rest: float):
    i = wp.tid()
    vi = (v[i] + wp.vec3(0.0, g * dt, 0.0)) * damp
    xi = x[i] + vi * dt
    for c in range(3):
        if xi[c] < 0.0:
            xi[c] = -xi[c]
            vi[c] = -vi[c] * rest
        elif xi[c] > 1.0:
            xi[c] = 2.0 - xi[c]
            vi[c] = -vi[c] * rest
    x[i] = xi
    v[i] = vi


@wp.kernel
def segments(start: wp.array(dtype=int), v: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(start[i], start[i + 1]):
        s += v[j]
    out[i] = s


@wp.kernel
def nbody(p: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), acc: wp.array(dtype=wp.vec3), n: int, eps2: float):
    i = wp.tid()
    pi = p[i]
    a = wp.vec3()
    for j in range(n):
        if j != i:
            d = p[j] - pi
            r2 = wp.dot(d, d) + eps2
            a += d * (m[j] / (r2 * wp.sqrt(r2)))
    acc[i] = a


@wp.kernel
def lattice(f: wp.array4d(dtype=float), g: wp.array4d(dtype=float), n: int, omega: float, lid: float):
    x, y, z = wp.tid()
    c = vec19f()
    rho = float(0.0)
    ux = float(0.0)
    uy = float(0.0)
    uz = float(0.0)
    for q in range(19):
        sx = x - ex[q]
        sy = y - ey[q]
        sz = z - ez[q]
        v = float(0.0)
        if sx >= 0 and sx < n and sy >= 0 and sy < n and sz >= 0 and sz < n:
            v = f[q, sx, sy, sz]
        else:
            v = f[opposite[q], x, y, z]
            if sy >= n:
                v += 6.0 * weight[q] * float(ex[q]) * lid
        c[q] = v
        rho += v
        ux += float(ex[q]) * v
        uy += float(ey[q]) * v
        uz += float(ez[q]) * v
    ux = ux / rho
    uy = uy / rho
    uz = uz / rho
    square = 1.5 * (ux * ux + uy * uy + uz * uz)
    for q in range(19):
        eu = float(ex[q]) * ux + float(ey[q]) * uy + float(ez[q]) * uz
        rest = weight[q] * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - square)
        g[q, x, y, z] = c[q] + omega * (rest - c[q])


def prepare(name, data):
    """A function that does the work once, and one that gives an array of it."""
    d = {}
    for key, array in data.items():
        is_vector = array.ndim == 2 and array.shape[1] == 3
        kind = {"dtype": wp.vec3} if is_vector else {}
        d[key] = wp.array(array, device="cpu", **kind)
    n = len(next(iter(data.values())))

    def run(kernel, dim, *inputs):
        return lambda: wp.launch(kernel, dim=dim, inputs=inputs, device="cpu")

    def lattice_run():
        n = data["f"].shape[1]
        for f, g in ("fg", "gf"):
            wp.launch(lattice, dim=(n, n, n), inputs=[d[f], d[g], n, OMEGA, LID], device="cpu")

    def particle_run():
        for _ in range(PARTICLE_STEPS):
            wp.launch(particles, dim=n, inputs=[d["x"], d["v"], DT, GRAVITY, DAMP, REST], device="cpu")

    runs = {
        "saxpy": lambda: run(saxpy, n, A, d["x"], d["y"]),
        "saxpy_out": lambda: run(saxpy_out, n, A, d["x"], d["y"], d["z"]),
        "stencil3": lambda: run(stencil3, n, d["a"], d["b"], n),
        "jacobi": lambda: run(jacobi, (n, n), d["a"], d["b"], n),
        "particles": lambda: particle_run,
        "segments": lambda: run(segments, n - 1, d["start"], d["v"], d["sum"]),
        "nbody": lambda: run(nbody, n, d["p"], d["m"], d["acc"], n, EPS2),
        "lattice": lambda: lattice_run,
    }
    return runs[name](), lambda key: d[key].numpy()
