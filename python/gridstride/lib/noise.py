"""Gradient noise of one to four dimensions, its periodic form, and divergence-free fields made from it.

In: a random state (it is read, not moved on) and a point. Out: a float in about [-1, 1], or a vector.

    state = rand_init(seed)
    h = noise(state, vec2(x, y))
    v = curlnoise(state, vec3(x, y, z), octaves=3)

Every function computes the noise with its gradient; what is not used is removed by the compiler. The numbers are
those of Warp 1.19.

Sources: K. Perlin, "An image synthesizer", SIGGRAPH (1985), and "Improving noise", SIGGRAPH (2002), for the fade
polynomial; M. Teschner et al., "Optimized spatial hashing for collision detection of deformable objects", VMV (2003),
for the primes of the lattice hash; R. Bridson, J. Hourihan and M. Nordenstam, "Curl-noise for procedural fluid flow",
SIGGRAPH (2007).
"""


# The gradient at a lattice point.
def _lattice(state: uint32, p: int):
    s = uint32(p) * 73856093 + state
    return vector(randf(s, -1.0, 1.0), length=1)


def _lattice(state: uint32, p: vec2i):
    s = (uint32(p[0]) * 73856093) ^ (uint32(p[1]) * 19349663 + state)
    return normalize(sample_unit_square(s))


def _lattice(state: uint32, p: vec3i):
    s = (uint32(p[0]) * 73856093) ^ (uint32(p[1]) * 19349663) ^ (uint32(p[2]) * 53471161 + state)
    return normalize(sample_unit_cube(s))


def _lattice(state: uint32, p: vec4i):
    s = (
        (uint32(p[0]) * 73856093)
        ^ (uint32(p[1]) * 19349663)
        ^ (uint32(p[2]) * 53471161)
        ^ (uint32(p[3]) * 10000019 + state)
    )
    x = randf(s) - 0.5
    y = randf(s) - 0.5
    z = randf(s) - 0.5
    return normalize(vec4(x, y, z, randf(s) - 0.5))


# Between two values with their gradients, at t along the unit vector `axis`.
def _blend(v0: float, g0, v1: float, g1, t: float, axis):
    fade = t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
    slope = 30.0 * t * t * (t * (t - 2.0) + 1.0)
    return (v1 - v0) * fade + v0, (g1 - g0) * fade + (v1 - v0) * slope * axis + g0


# `p` and `q` are the lattice points around, `d` is the place from `p`.
def _noise1(state: uint32, p: int, q: int, d: float):
    g0 = _lattice(state, p)
    g1 = _lattice(state, q)
    return _blend(d * g0[0], g0, (d - 1.0) * g1[0], g1, d, vector(1.0, length=1))


def _line2(state: uint32, p: vec2i, x: int, d: vec2):
    g0 = _lattice(state, p)
    g1 = _lattice(state, vec2i(x, p[1]))
    return _blend(dot(d, g0), g0, dot(vec2(d[0] - 1.0, d[1]), g1), g1, d[0], vec2(1.0, 0.0))


def _noise2(state: uint32, p: vec2i, q: vec2i, d: vec2):
    v0, g0 = _line2(state, p, q[0], d)
    v1, g1 = _line2(state, vec2i(p[0], q[1]), q[0], vec2(d[0], d[1] - 1.0))
    return _blend(v0, g0, v1, g1, d[1], vec2(0.0, 1.0))


def _line3(state: uint32, p: vec3i, x: int, d: vec3):
    g0 = _lattice(state, p)
    g1 = _lattice(state, vec3i(x, p[1], p[2]))
    return _blend(dot(d, g0), g0, dot(vec3(d[0] - 1.0, d[1], d[2]), g1), g1, d[0], vec3(1.0, 0.0, 0.0))


def _plane3(state: uint32, p: vec3i, x: int, y: int, d: vec3):
    v0, g0 = _line3(state, p, x, d)
    v1, g1 = _line3(state, vec3i(p[0], y, p[2]), x, vec3(d[0], d[1] - 1.0, d[2]))
    return _blend(v0, g0, v1, g1, d[1], vec3(0.0, 1.0, 0.0))


def _noise3(state: uint32, p: vec3i, q: vec3i, d: vec3):
    v0, g0 = _plane3(state, p, q[0], q[1], d)
    v1, g1 = _plane3(state, vec3i(p[0], p[1], q[2]), q[0], q[1], vec3(d[0], d[1], d[2] - 1.0))
    return _blend(v0, g0, v1, g1, d[2], vec3(0.0, 0.0, 1.0))


def _line4(state: uint32, p: vec4i, x: int, d: vec4):
    g0 = _lattice(state, p)
    g1 = _lattice(state, vec4i(x, p[1], p[2], p[3]))
    d1 = vec4(d[0] - 1.0, d[1], d[2], d[3])
    return _blend(dot(d, g0), g0, dot(d1, g1), g1, d[0], vec4(1.0, 0.0, 0.0, 0.0))


def _plane4(state: uint32, p: vec4i, x: int, y: int, d: vec4):
    v0, g0 = _line4(state, p, x, d)
    v1, g1 = _line4(state, vec4i(p[0], y, p[2], p[3]), x, vec4(d[0], d[1] - 1.0, d[2], d[3]))
    return _blend(v0, g0, v1, g1, d[1], vec4(0.0, 1.0, 0.0, 0.0))


def _space4(state: uint32, p: vec4i, x: int, y: int, z: int, d: vec4):
    v0, g0 = _plane4(state, p, x, y, d)
    v1, g1 = _plane4(state, vec4i(p[0], p[1], z, p[3]), x, y, vec4(d[0], d[1], d[2] - 1.0, d[3]))
    return _blend(v0, g0, v1, g1, d[2], vec4(0.0, 0.0, 1.0, 0.0))


def _noise4(state: uint32, p: vec4i, q: vec4i, d: vec4):
    v0, g0 = _space4(state, p, q[0], q[1], q[2], d)
    v1, g1 = _space4(state, vec4i(p[0], p[1], p[2], q[3]), q[0], q[1], q[2], vec4(d[0], d[1], d[2], d[3] - 1.0))
    return _blend(v0, g0, v1, g1, d[3], vec4(0.0, 0.0, 0.0, 1.0))


# The lattice point below, and the place from it.
def _cell(x: float):
    return int(floor(x)), x - floor(x)


def _cell(x: vec2):
    f = vec2(floor(x[0]), floor(x[1]))
    return vec2i(int(f[0]), int(f[1])), x - f


def _cell(x: vec3):
    f = vec3(floor(x[0]), floor(x[1]), floor(x[2]))
    return vec3i(int(f[0]), int(f[1]), int(f[2])), x - f


def _cell(x: vec4):
    f = vec4(floor(x[0]), floor(x[1]), floor(x[2]), floor(x[3]))
    return vec4i(int(f[0]), int(f[1]), int(f[2]), int(f[3])), x - f


def noise(state: uint32, x: float):
    p, d = _cell(x)
    v, g = _noise1(state, p, p + 1, d)
    return v


def noise(state: uint32, xy: vec2):
    p, d = _cell(xy)
    v, g = _noise2(state, p, p + vec2i(1), d)
    return v


def noise(state: uint32, xyz: vec3):
    p, d = _cell(xyz)
    v, g = _noise3(state, p, p + vec3i(1), d)
    return v


def noise(state: uint32, xyzt: vec4):
    p, d = _cell(xyzt)
    v, g = _noise4(state, p, p + vec4i(1), d)
    return v


def pnoise(state: uint32, x: float, px: int):
    p, d = _cell(x)
    p = p % px
    v, g = _noise1(state, p, (p + 1) % px, d)
    return v


def pnoise(state: uint32, xy: vec2, px: int, py: int):
    p, d = _cell(xy)
    period = vec2i(px, py)
    p = p % period
    v, g = _noise2(state, p, (p + vec2i(1)) % period, d)
    return v


def pnoise(state: uint32, xyz: vec3, px: int, py: int, pz: int):
    p, d = _cell(xyz)
    period = vec3i(px, py, pz)
    p = p % period
    v, g = _noise3(state, p, (p + vec3i(1)) % period, d)
    return v


def pnoise(state: uint32, xyzt: vec4, px: int, py: int, pz: int, pt: int):
    p, d = _cell(xyzt)
    period = vec4i(px, py, pz, pt)
    p = p % period
    v, g = _noise4(state, p, (p + vec4i(1)) % period, d)
    return v


def curlnoise(state: uint32, xy: vec2, octaves: uint32 = 1, lacunarity: float = 2.0, gain: float = 0.5):
    total = vec2()
    frequency = float(1.0)
    amplitude = float(1.0)
    for i in range(int(octaves)):
        p, d = _cell(frequency * xy)
        v, g = _noise2(state, p, p + vec2i(1), d)
        total = total + amplitude * g
        amplitude = amplitude * gain
        frequency = frequency * lacunarity
    return vec2(-total[1], total[0])


# The curl of the field whose components have these gradients.
def _curl(g1, g2, g3):
    return vec3(g3[1] - g2[2], g1[2] - g3[0], g2[0] - g1[1])


def curlnoise(state: uint32, xyz: vec3, octaves: uint32 = 1, lacunarity: float = 2.0, gain: float = 0.5):
    s1 = vec3()
    s2 = vec3()
    s3 = vec3()
    frequency = float(1.0)
    amplitude = float(1.0)
    for i in range(int(octaves)):
        p, d = _cell(frequency * xyz)
        q = p + vec3i(1)
        v, g = _noise3(state, p, q, d)
        s1 = s1 + amplitude * g
        state = rand_init(state, 10019689)
        v, g = _noise3(state, p, q, d)
        s2 = s2 + amplitude * g
        state = rand_init(state, 13112221)
        v, g = _noise3(state, p, q, d)
        s3 = s3 + amplitude * g
        amplitude = amplitude * gain
        frequency = frequency * lacunarity
    return _curl(s1, s2, s3)


def curlnoise(state: uint32, xyzt: vec4, octaves: uint32 = 1, lacunarity: float = 2.0, gain: float = 0.5):
    s1 = vec4()
    s2 = vec4()
    s3 = vec4()
    frequency = float(1.0)
    amplitude = float(1.0)
    for i in range(int(octaves)):
        p, d = _cell(frequency * xyzt)
        q = p + vec4i(1)
        v, g = _noise4(state, p, q, d)
        s1 = s1 + amplitude * g
        state = rand_init(state, 10019689)
        v, g = _noise4(state, p, q, d)
        s2 = s2 + amplitude * g
        state = rand_init(state, 13112221)
        v, g = _noise4(state, p, q, d)
        s3 = s3 + amplitude * g
        amplitude = amplitude * gain
        frequency = frequency * lacunarity
    return _curl(s1, s2, s3)
