"""Random numbers from a state of 32 bits, which every call moves on.

In: a variable that holds a state. Out: a number, and the next state in that variable.

    state = rand_init(seed, i)
    x = randf(state)              in [0, 1), a multiple of 2**-24
    y = randf(state)              another one

The numbers are those of Warp 1.19. A function here returns its result and then the new state; the compiler stores
the state back into the caller's variable.

Sources: the PCG hash of M. Jarzynski and M. Olano, "Hash functions for GPU rendering", Journal of Computer Graphics
Techniques 9 (2020); G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of
Mathematical Statistics 29 (1958); inverse transform sampling on spheres and triangles, M. Pharr, W. Jakob and
G. Humphreys, "Physically Based Rendering" (2016), chapter 13; W. Hoermann, "The transformed rejection method for
generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993); D. E. Knuth, "The Art of
Computer Programming" 2, 3.4.1, for small means; S. Zhang and J. Jin, "Computation of Special Functions" (1996), for
log gamma.
"""


def _pcg(state: uint32):
    b = state * 747796405 + 2891336453
    c = ((b >> ((b >> 28) + 4)) ^ b) * 277803737
    return (c >> 22) ^ c


def rand_init(seed: Int):
    return _pcg(uint32(seed))


def rand_init(seed: Int, offset: Int):
    return _pcg(uint32(seed) + _pcg(uint32(offset)))


def randi(state: uint32):
    state = _pcg(state)
    return int(state), state


# In [low, high).
def randi(state: uint32, low: int, high: int):
    state = _pcg(state)
    return int(state % uint32(high - low) + uint32(low)), state


def randu(state: uint32):
    state = _pcg(state)
    return state, state


def randu(state: uint32, low: uint32, high: uint32):
    state = _pcg(state)
    return state % (high - low) + low, state


def randf(state: uint32):
    state = _pcg(state)
    return float(state >> 8) * 5.9604644775390625e-08, state


def randf(state: uint32, low: float, high: float):
    u = randf(state)
    return (high - low) * u + low, state


# Normal with mean 0 and variance 1.
def randn(state: uint32):
    radius = sqrt(-2.0 * log(randf(state) + 5.96e-08))
    return radius * cos(float(6.2831854820251465) * randf(state)), state


# The place of a random number in a cumulative distribution.
def sample_cdf(state: uint32, cdf: FloatArray):
    u = randf(state)
    return lower_bound(cdf, u), state


# The first two barycentric coordinates of a point in a triangle.
def sample_triangle(state: uint32):
    r = sqrt(randf(state))
    return vec2(1.0 - r, randf(state) * r), state


def _turn(state: uint32):
    angle = randf(state, 0.0, 6.2831854820251465)
    return angle, state


def sample_unit_ring(state: uint32):
    angle, state = _turn(state)
    return vec2(cos(angle), sin(angle)), state


def sample_unit_disk(state: uint32):
    r = sqrt(randf(state))
    angle, state = _turn(state)
    return vec2(r * cos(angle), r * sin(angle)), state


def _sphere_point(r: float, phi: float, theta: float):
    return vec3(r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi))


def sample_unit_sphere_surface(state: uint32):
    phi = acos(1.0 - 2.0 * randf(state))
    theta, state = _turn(state)
    return _sphere_point(1.0, phi, theta), state


def sample_unit_sphere(state: uint32):
    phi = acos(1.0 - 2.0 * randf(state))
    theta, state = _turn(state)
    return _sphere_point(pow(randf(state), 0.3333333432674408), phi, theta), state


def sample_unit_hemisphere_surface(state: uint32):
    phi = acos(1.0 - randf(state))
    theta, state = _turn(state)
    return _sphere_point(1.0, phi, theta), state


def sample_unit_hemisphere(state: uint32):
    phi = acos(1.0 - randf(state))
    theta, state = _turn(state)
    return _sphere_point(pow(randf(state), 0.3333333432674408), phi, theta), state


def _centered(state: uint32):
    x = randf(state) - 0.5
    return x, state


def sample_unit_square(state: uint32):
    x, state = _centered(state)
    y, state = _centered(state)
    return vec2(x, y), state


def sample_unit_cube(state: uint32):
    x, state = _centered(state)
    y, state = _centered(state)
    z, state = _centered(state)
    return vec3(x, y, z), state


def _log_gamma(x: float):
    if x == 1.0 or x == 2.0:
        return 0.0
    n = 0
    if x < 7.0:
        n = int(7.0 - x)
    top = x + float(n)
    inverse_square = (1.0 / top) * (1.0 / top)
    # Stirling's series.
    series = float(-1.39243221690590)
    series = series * inverse_square + 1.796443723688307e-01
    series = series * inverse_square - 2.955065359477124e-02
    series = series * inverse_square + 6.410256410256410e-03
    series = series * inverse_square - 1.917526917526918e-03
    series = series * inverse_square + 8.417508417508418e-04
    series = series * inverse_square - 5.952380952380952e-04
    series = series * inverse_square + 7.936507936507937e-04
    series = series * inverse_square - 2.777777777777778e-03
    series = series * inverse_square + 8.333333333333333e-02
    result = series / top + 0.5 * 1.8378770664093453 + (top - 0.5) * log(top) - top
    for i in range(n):
        result = result - log(top - 1.0)
        top = top - 1.0
    return result


# Counts how many uniform numbers it takes to multiply down to exp(-lam).
def _poisson_small(state: uint32, lam: float):
    limit = exp(-lam)
    count = uint32(0)
    product = randf(state)
    while product > limit:
        count = count + 1
        product = product * randf(state)
    return count, state


def _poisson_large(state: uint32, lam: float):
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    vr = 0.9277 - 3.6224 / (b - 2.0)
    k = float(0.0)
    while True:
        u = randf(state) - 0.5
        v = randf(state)
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + lam + 0.43)
        if us >= 0.07 and v <= vr:
            break
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        if log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log(lam) - lam - _log_gamma(k + 1.0):
            break
    return uint32(k), state


def poisson(state: uint32, lam: float):
    count = uint32(0)
    if lam >= 10.0:
        count, state = _poisson_large(state, lam)
    elif lam != 0.0:
        count, state = _poisson_small(state, lam)
    return count, state
