"""Kernels that nobody has tuned the compiler for, as users write them: run by Gridstride and by Warp, whichever `wp` is
set to before."""

# Set by the loader.
wp = wp  # noqa: F821, PLW0127

M = wp.constant(32)


@wp.kernel
def sph(x: wp.array(dtype=wp.vec3), start: wp.array(dtype=int), density: wp.array(dtype=float), side: int, h: float):
    i = wp.tid()
    p = x[i]
    cx = int(p[0] * float(side))
    cy = int(p[1] * float(side))
    cz = int(p[2] * float(side))
    total = float(0.0)
    for a in range(-1, 2):
        for b in range(-1, 2):
            for c in range(-1, 2):
                u = cx + a
                v = cy + b
                w = cz + c
                if u >= 0 and u < side and v >= 0 and v < side and w >= 0 and w < side:
                    cell = (u * side + v) * side + w
                    for j in range(start[cell], start[cell + 1]):
                        d = x[j] - p
                        q = h * h - wp.dot(d, d)
                        if q > 0.0:
                            total += q * q * q
    density[i] = total


@wp.kernel
def spmv(
    start: wp.array(dtype=int),
    column: wp.array(dtype=int),
    value: wp.array(dtype=float),
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    i = wp.tid()
    total = float(0.0)
    for k in range(start[i], start[i + 1]):
        total += value[k] * x[column[k]]
    y[i] = total


@wp.kernel
def mandelbrot(count: wp.array2d(dtype=int), side: int, most: int):
    i, j = wp.tid()
    cx = -2.0 + 3.0 * float(j) / float(side)
    cy = -1.5 + 3.0 * float(i) / float(side)
    x = float(0.0)
    y = float(0.0)
    k = int(0)
    while k < most and x * x + y * y < 4.0:
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
        k += 1
    count[i, j] = k


@wp.kernel
def warp(image: wp.array2d(dtype=float), out: wp.array2d(dtype=float), side: int, cosine: float, sine: float):
    i, j = wp.tid()
    middle = 0.5 * float(side)
    u = float(i) - middle
    v = float(j) - middle
    x = cosine * u - sine * v + middle
    y = sine * u + cosine * v + middle
    fx = wp.floor(x)
    fy = wp.floor(y)
    a = int(fx)
    b = int(fy)
    value = float(0.0)
    if a >= 0 and a < side - 1 and b >= 0 and b < side - 1:
        s = x - fx
        t = y - fy
        value = (1.0 - s) * ((1.0 - t) * image[a, b] + t * image[a, b + 1]) + s * (
            (1.0 - t) * image[a + 1, b] + t * image[a + 1, b + 1]
        )
    out[i, j] = value


@wp.kernel
def fdtd(
    ex: wp.array3d(dtype=float),
    ey: wp.array3d(dtype=float),
    ez: wp.array3d(dtype=float),
    hx: wp.array3d(dtype=float),
    hy: wp.array3d(dtype=float),
    hz: wp.array3d(dtype=float),
    c: float,
):
    i, j, k = wp.tid()
    if i > 0 and j > 0 and k > 0:
        ex[i, j, k] += c * ((hz[i, j, k] - hz[i, j - 1, k]) - (hy[i, j, k] - hy[i, j, k - 1]))
        ey[i, j, k] += c * ((hx[i, j, k] - hx[i, j, k - 1]) - (hz[i, j, k] - hz[i - 1, j, k]))
        ez[i, j, k] += c * ((hy[i, j, k] - hy[i - 1, j, k]) - (hx[i, j, k] - hx[i, j - 1, k]))


@wp.kernel
def springs(
    x: wp.array(dtype=wp.vec3),
    first: wp.array(dtype=int),
    second: wp.array(dtype=int),
    length: wp.array(dtype=float),
    force: wp.array(dtype=wp.vec3),
    stiffness: float,
):
    s = wp.tid()
    i = first[s]
    j = second[s]
    d = x[j] - x[i]
    size = wp.length(d)
    f = d * (stiffness * (size - length[s]) / size)
    wp.atomic_add(force, i, f)
    wp.atomic_sub(force, j, f)


@wp.kernel
def rotations(q: wp.array(dtype=wp.quat), omega: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    r = q[i]
    o = omega[i]
    q[i] = wp.normalize(r + wp.quat(o[0], o[1], o[2], 0.0) * r * (0.5 * dt))


@wp.kernel
def histogram(x: wp.array(dtype=float), count: wp.array(dtype=int), bins: int):
    i = wp.tid()
    wp.atomic_add(count, wp.clamp(int(x[i] * float(bins)), 0, bins - 1), 1)


@wp.kernel
def shadow(
    origin: wp.array(dtype=wp.vec3),
    direction: wp.array(dtype=wp.vec3),
    center: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    spheres: int,
    hit: wp.array(dtype=int),
):
    i = wp.tid()
    o = origin[i]
    d = direction[i]
    found = int(-1)
    for s in range(spheres):
        x = o - center[s]
        b = wp.dot(x, d)
        e = b * b - (wp.dot(x, x) - radius[s] * radius[s])
        if e > 0.0 and -b - wp.sqrt(e) > 0.0:
            found = s
            break
    hit[i] = found


vec32 = wp.types.vector(32, float)


@wp.kernel
def tridiagonal(
    low: wp.array2d(dtype=float),
    mid: wp.array2d(dtype=float),
    high: wp.array2d(dtype=float),
    right: wp.array2d(dtype=float),
    x: wp.array2d(dtype=float),
):
    i = wp.tid()
    c = vec32()
    d = vec32()
    c[0] = high[i, 0] / mid[i, 0]
    d[0] = right[i, 0] / mid[i, 0]
    for k in range(1, M):
        m = 1.0 / (mid[i, k] - low[i, k] * c[k - 1])
        c[k] = high[i, k] * m
        d[k] = (right[i, k] - low[i, k] * d[k - 1]) * m
    last = d[M - 1]
    x[i, M - 1] = last
    for r in range(1, M):
        k = M - 1 - r
        last = d[k] - c[k] * last
        x[i, k] = last


@wp.kernel
def convolution(
    image: wp.array2d(dtype=float), weight: wp.array2d(dtype=float), out: wp.array2d(dtype=float), side: int
):
    i, j = wp.tid()
    total = float(0.0)
    for a in range(-2, 3):
        for b in range(-2, 3):
            u = wp.clamp(i + a, 0, side - 1)
            v = wp.clamp(j + b, 0, side - 1)
            total += weight[a + 2, b + 2] * image[u, v]
    out[i, j] = total


KERNELS = {
    kernel.key: kernel
    for kernel in (
        sph,
        spmv,
        mandelbrot,
        warp,
        fdtd,
        springs,
        rotations,
        histogram,
        shadow,
        tridiagonal,
        convolution,
    )
}
VECTORS = {3: wp.vec3, 4: wp.quat}


def prepare(work, data):
    """A function that launches the work's kernel once, and one that gives an array of it."""
    d = {}
    for key, array in data.items():
        is_vector = array.ndim == 2 and array.shape[1] in VECTORS
        d[key] = wp.array(array, device="cpu", **({"dtype": VECTORS[array.shape[1]]} if is_vector else {}))
    inputs = [d[argument] if isinstance(argument, str) else argument for argument in work.arguments]
    kernel = KERNELS[work.name]
    return lambda: wp.launch(kernel, dim=work.dim, inputs=inputs, device="cpu"), lambda key: d[key].numpy()
