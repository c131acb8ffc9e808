"""Kernels of everyday programs, as users write them: run by Gridstride and by Warp, whichever `wp` is set to before."""

# Set by the loader.
wp = wp  # noqa: F821, PLW0127


@wp.kernel
def wave(
    now: wp.array(dtype=float), before: wp.array(dtype=float), after: wp.array(dtype=float), w: int, h: int, c: float
):
    # A flat index, and walls that let no wave through.
    i = wp.tid()
    x = i % w
    y = i // w
    if x == 0 or x == w - 1 or y == 0 or y == h - 1:
        after[i] = 0.0
    else:
        laplace = now[i - 1] + now[i + 1] + now[i - w] + now[i + w] - 4.0 * now[i]
        after[i] = 2.0 * now[i] - before[i] + c * laplace


@wp.kernel
def red_black(p: wp.array2d(dtype=float), f: wp.array2d(dtype=float), color: int, side: int):
    i, j = wp.tid()
    if i > 0 and i < side - 1 and j > 0 and j < side - 1 and (i + j) % 2 == color:
        p[i, j] = 0.25 * (p[i - 1, j] + p[i + 1, j] + p[i, j - 1] + p[i, j + 1] - f[i, j])


@wp.kernel
def bilateral(image: wp.array2d(dtype=float), out: wp.array2d(dtype=float), side: int, near: float, alike: float):
    i, j = wp.tid()
    here = image[i, j]
    total = float(0.0)
    weights = float(0.0)
    for a in range(-2, 3):
        for b in range(-2, 3):
            u = i + a
            v = j + b
            if u >= 0 and u < side and v >= 0 and v < side:
                value = image[u, v]
                d = value - here
                weight = wp.exp(-float(a * a + b * b) * near - d * d * alike)
                total += weight * value
                weights += weight
    out[i, j] = total / weights


@wp.kernel
def life(cells: wp.array2d(dtype=wp.uint8), out: wp.array2d(dtype=wp.uint8), side: int):
    # The world's edges meet.
    i, j = wp.tid()
    alive = int(0)
    for a in range(-1, 2):
        for b in range(-1, 2):
            if a != 0 or b != 0:
                alive += int(cells[(i + a + side) % side, (j + b + side) % side])
    if alive == 3 or (alive == 2 and cells[i, j] == wp.uint8(1)):
        out[i, j] = wp.uint8(1)
    else:
        out[i, j] = wp.uint8(0)


@wp.kernel
def nearest(
    points: wp.array2d(dtype=float), centers: wp.array2d(dtype=float), label: wp.array(dtype=int), k: int, n: int
):
    i = wp.tid()
    best = float(1.0e30)
    found = int(0)
    for c in range(k):
        distance = float(0.0)
        for d in range(n):
            e = points[i, d] - centers[c, d]
            distance += e * e
        if distance < best:
            best = distance
            found = c
    label[i] = found


@wp.kernel
def collide(low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3), n: int, hit: wp.array(dtype=int)):
    i = wp.tid()
    a = low[i]
    b = high[i]
    found = int(-1)
    for j in range(n):
        if j == i:
            continue
        c = low[j]
        d = high[j]
        if a[0] <= d[0] and b[0] >= c[0] and a[1] <= d[1] and b[1] >= c[1] and a[2] <= d[2] and b[2] >= c[2]:
            found = j
            break
    hit[i] = found


@wp.kernel
def solve4(matrix: wp.array(dtype=wp.mat44), right: wp.array(dtype=wp.vec4), x: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    m = matrix[i]
    b = right[i]
    for k in range(4):
        for r in range(k + 1, 4):
            factor = m[r, k] / m[k, k]
            for c in range(k, 4):
                m[r, c] = m[r, c] - factor * m[k, c]
            b[r] = b[r] - factor * b[k]
    for s in range(4):
        r = 3 - s
        total = b[r]
        for c in range(r + 1, 4):
            total = total - m[r, c] * b[c]
        b[r] = total / m[r, r]
    x[i] = b


@wp.kernel
def march(depth: wp.array2d(dtype=float), side: int, most: int):
    # A sphere on a wavy floor.
    i, j = wp.tid()
    scale = 2.0 / float(side)
    d = wp.normalize(wp.vec3(float(j) * scale - 1.0, 1.0 - float(i) * scale, 1.5))
    t = float(0.0)
    for _k in range(most):
        p = wp.vec3(0.0, 0.5, -3.0) + d * t
        sphere = wp.length(p) - 1.0
        floor = p[1] + 1.0
        distance = wp.min(sphere, floor)
        if distance < 0.001 or t > 20.0:
            break
        t += distance
    depth[i, j] = t


@wp.kernel
def prefix(rows: wp.array2d(dtype=float), out: wp.array2d(dtype=float), n: int):
    i = wp.tid()
    total = float(0.0)
    for k in range(n):
        total += rows[i, k]
        out[i, k] = total


@wp.kernel
def pcg(out: wp.array(dtype=wp.uint32), rounds: int):
    i = wp.tid()
    state = wp.uint32(i)
    for _k in range(rounds):
        state = state * wp.uint32(747796405) + wp.uint32(2891336453)
        word = ((state >> ((state >> wp.uint32(28)) + wp.uint32(4))) ^ state) * wp.uint32(277803737)
        state = (word >> wp.uint32(22)) ^ word
    out[i] = state


@wp.kernel
def butterfly(x: wp.array(dtype=wp.vec2), twiddle: wp.array(dtype=wp.vec2), half: int, stride: int):
    i = wp.tid()
    k = i % half
    a = (i // half) * 2 * half + k
    b = a + half
    w = twiddle[k * stride]
    u = x[a]
    v = x[b]
    v = wp.vec2(v[0] * w[0] - v[1] * w[1], v[0] * w[1] + v[1] * w[0])
    x[a] = u + v
    x[b] = u - v


@wp.kernel
def resize(image: wp.array3d(dtype=wp.uint8), out: wp.array3d(dtype=wp.uint8), ratio: float, side: int):
    i, j, c = wp.tid()
    x = (float(j) + 0.5) * ratio - 0.5
    y = (float(i) + 0.5) * ratio - 0.5
    u = wp.clamp(int(wp.floor(x)), 0, side - 2)
    v = wp.clamp(int(wp.floor(y)), 0, side - 2)
    s = x - float(u)
    t = y - float(v)
    top = (1.0 - s) * float(image[v, u, c]) + s * float(image[v, u + 1, c])
    bottom = (1.0 - s) * float(image[v + 1, u, c]) + s * float(image[v + 1, u + 1, c])
    out[i, j, c] = wp.uint8(wp.clamp((1.0 - t) * top + t * bottom + 0.5, 0.0, 255.0))


@wp.kernel
def threshold(image: wp.array2d(dtype=wp.uint8), out: wp.array2d(dtype=wp.uint8), low: int, gain: int):
    i, j = wp.tid()
    value = (int(image[i, j]) - low) * gain / 16
    out[i, j] = wp.uint8(wp.clamp(value, 0, 255))


@wp.kernel
def gray(image: wp.array3d(dtype=wp.uint8), out: wp.array2d(dtype=wp.uint8)):
    i, j = wp.tid()
    r = int(image[i, j, 0])
    g = int(image[i, j, 1])
    b = int(image[i, j, 2])
    out[i, j] = wp.uint8((77 * r + 150 * g + 29 * b) >> 8)


@wp.kernel
def darts(count: wp.array(dtype=int), seed: int, n: int):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    inside = int(0)
    for _k in range(n):
        x = wp.randf(state)
        y = wp.randf(state)
        if x * x + y * y < 1.0:
            inside += 1
    count[i] = inside


KERNELS = {
    kernel.key: kernel
    for kernel in (
        wave,
        red_black,
        bilateral,
        life,
        nearest,
        collide,
        solve4,
        march,
        prefix,
        pcg,
        butterfly,
        resize,
        threshold,
        gray,
        darts,
    )
}

# What an array's elements are, where not scalars.
TYPES = {
    "collide": {"low": wp.vec3, "high": wp.vec3},
    "solve4": {"matrix": wp.mat44, "right": wp.vec4, "x": wp.vec4},
    "butterfly": {"x": wp.vec2, "twiddle": wp.vec2},
}


def prepare(work, data):
    """A function that launches the work's kernel once, and one that gives an array of it."""
    types = TYPES.get(work.name, {})
    d = {
        key: wp.array(array, device="cpu", dtype=types.get(key, wp.dtype_from_numpy(array.dtype)))
        for key, array in data.items()
    }
    inputs = [d[argument] if isinstance(argument, str) else argument for argument in work.arguments]
    kernel = KERNELS[work.name]
    return lambda: wp.launch(kernel, dim=work.dim, inputs=inputs, device="cpu"), lambda key: d[key].numpy()
