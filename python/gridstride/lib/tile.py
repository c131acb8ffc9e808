"""Linear algebra, transforms and random numbers of tiles.

In: tiles. Out: tiles. `_tile_build(f, t, *args)` is the tile of t's shape whose element (i, j, ...) is
f(i, j, ..., *args), where f gets tiles as a whole.

    L = tile_cholesky(A)          A == L * transpose(L), L lower triangular; the lower triangle of A alone is read
    z = tile_lower_solve(L, y)    L * z == y
    x = tile_upper_solve(U, z)    U * x == z
    X = tile_fft(x)               row by row, elements are (real, imaginary)

Every step makes the whole tile anew, all elements at once.

Sources: G. H. Golub and C. F. Van Loan, "Matrix Computations" (2013), chapters 3 and 4, in the form by columns; C. Van
Loan, "Computational Frameworks for the Fast Fourier Transform" (1992), 1.7, for the transform in Stockham's order.
"""


def _cholesky_step(i: int, j: int, a, k: int):
    value = a[i, j]
    root = sqrt(a[k, k])
    if j == k:
        if i == k:
            value = root
        elif i > k:
            value = value / root
    elif j > k and i >= j:
        value = value - (a[i, k] / root) * (a[j, k] / root)
    return value


def _lower_element(i: int, j: int, a):
    value = a[i, j]
    if j > i:
        value = type(value)(0.0)
    return value


def _tile_cholesky(a):
    for k in range(len(a)):
        a = _tile_build(_cholesky_step, a, a, k)
    return _tile_build(_lower_element, a, a)


def _eliminate_below(i: int, t, z, k: int):
    value = z[i]
    if i == k:
        value = value / t[k, k]
    elif i > k:
        value = value - t[i, k] * (z[k] / t[k, k])
    return value


def _eliminate_below(i: int, j: int, t, z, k: int):
    value = z[i, j]
    if i == k:
        value = value / t[k, k]
    elif i > k:
        value = value - t[i, k] * (z[k, j] / t[k, k])
    return value


def _tile_lower_solve(t, z):
    for k in range(len(t)):
        z = _tile_build(_eliminate_below, z, t, z, k)
    return z


def _eliminate_above(i: int, t, z, k: int):
    value = z[i]
    if i == k:
        value = value / t[k, k]
    elif i < k:
        value = value - t[i, k] * (z[k] / t[k, k])
    return value


def _eliminate_above(i: int, j: int, t, z, k: int):
    value = z[i, j]
    if i == k:
        value = value / t[k, k]
    elif i < k:
        value = value - t[i, k] * (z[k, j] / t[k, k])
    return value


def _tile_upper_solve(t, z):
    n = len(t)
    for k in range(n):
        z = _tile_build(_eliminate_above, z, t, z, n - 1 - k)
    return z


# One step of the transform: s transforms of length 2 m side by side become 2 s of length m.
def _fft_step(i: int, j: int, x, s: int, m: int, turn):
    q = j % s
    r = j // s
    p = r // 2
    a = x[i, q + s * p]
    b = x[i, q + s * (p + m)]
    value = a + b
    if r % 2 == 1:
        d = a - b
        angle = turn * type(turn)(p) / type(turn)(m)
        c = cos(angle)
        w = sin(angle)
        value[0] = d[0] * c - d[1] * w
        value[1] = d[0] * w + d[1] * c
    return value


def _tile_fft(x, turn):
    s = int(1)
    m = x.shape[1] // 2
    while m > 0:
        x = _tile_build(_fft_step, x, x, s, m, turn)
        s = s * 2
        m = m // 2
    return x


def _random_float(i: int, rng: uint32, low: float, high: float):
    state = rand_init(rng, i)
    return randf(state, low, high)


def _random_int(i: int, rng: uint32):
    state = rand_init(rng, i)
    return randi(state)


def _random_int(i: int, rng: uint32, low: int, high: int):
    state = rand_init(rng, i)
    return randi(state, low, high)
